//! The removal of a mounted folder, cut off at every operation of the system that it makes, and called
//! again; how is in `support::crash`.
//!
//! Of all that is done to paths this is short enough for Wine.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use crate::support::crash::{Scenario, check_with_any_reach, told};
use crate::support::{Rig, STAGING};

#[test]
fn remove_a_mounted_folder() {
    check_with_any_reach(&Scenario {
        name: "rmdir of a mounted folder",
        prepare: Rig::with_mounted_volume,
        act: |rig| {
            let staging = told(rig.way(STAGING))?;
            told(rig.filesystem().remove_entry(staging, rig.soon()))
        },
        done_already: &["The system cannot find the file specified."],
    });
}
