//! The removal of a mounted folder, cut off at every operation of the system that it makes, and called
//! again; how is in `support::crash`.
//!
//! Of all that is done to paths this is short enough for Wine.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use crate::support::crash::{Scenario, check_with_any_reach, with_text_error};
use crate::support::{NodeFixture, STAGING};

#[test]
fn remove_a_mounted_folder() {
    check_with_any_reach(&Scenario {
        name: "rmdir of a mounted folder",
        prepare: NodeFixture::with_mounted_volume,
        act: |fixture| {
            let staging = with_text_error(fixture.resolved(STAGING))?;
            with_text_error(fixture.filesystem().remove_entry(staging, fixture.soon()))
        },
        done_already: &["The system cannot find the file specified."],
    });
}
