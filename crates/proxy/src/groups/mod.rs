//! The groups: each operation once, each version a typed conversion to and from it.

mod disk;
mod filesystem;
mod iscsi;
mod smb;
mod system;
mod volume;

use crate::registry::Registry;

/// The table of all methods.
#[must_use]
pub fn registry() -> Registry {
    let mut registry = Registry::default();
    filesystem::register(&mut registry);
    disk::register(&mut registry);
    volume::register(&mut registry);
    smb::register(&mut registry);
    system::register(&mut registry);
    iscsi::register(&mut registry);
    registry
}
