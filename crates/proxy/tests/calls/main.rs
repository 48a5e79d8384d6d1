//! What is served, and what each call of each version does and says, over the wire.

mod filesystem_versions;
mod registry;
#[path = "../support/mod.rs"]
mod support;
mod texts;
mod versions;
mod volumes;
mod wire;
