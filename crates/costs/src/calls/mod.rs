//! The table: every call, in the situations that decide what it has to do.

mod disk;
mod filesystem;
mod iscsi;
mod smb;
mod system;
mod volume;

use crate::CostedCall;

/// All calls, by group.
pub(crate) const TABLE: &[&[CostedCall]] = &[
    filesystem::CALLS,
    disk::CALLS,
    volume::CALLS,
    smb::CALLS,
    system::CALLS,
    iscsi::CALLS,
];
