//! The served methods, and each call of each version, over the wire.

mod driver_texts;
mod filesystem_versions;
mod registry;
#[path = "../support/mod.rs"]
mod support;
mod versions;
mod volumes;
mod wire;
