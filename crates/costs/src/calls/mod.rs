//! Every operation, in the situations that decide what it has to do.

mod disk;
mod filesystem;
mod iscsi;
mod smb;
mod system;
mod volume;

use crate::Scenario;

/// All scenarios, by group.
pub const SCENARIOS: &[&[Scenario]] = &[
    filesystem::SCENARIOS,
    disk::SCENARIOS,
    volume::SCENARIOS,
    smb::SCENARIOS,
    system::SCENARIOS,
    iscsi::SCENARIOS,
];
