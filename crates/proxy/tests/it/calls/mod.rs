//! The served methods, and each call of each version, over the wire.

mod driver_texts;
mod filesystem_versions;
mod registry;
mod versions;
mod volumes;
mod wire;
