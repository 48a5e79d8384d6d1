//! Leaks of thousands of calls.

use os::WinPath;

use super::{Play, declare};
use crate::failure::holds;
use crate::{CaseResult, NodeFixture};

declare!("counts";
    a_thousand_calls_leave_no_handle_open,
);

const CALLS: u32 = 1_000;

/// Handles that the system opens and closes in a process by itself, such as pools' threads.
const NOISE: u64 = 50;

/// Each round is five operations that open, query and close: less than one handle each would show.
fn a_thousand_calls_leave_no_handle_open(fixture: &dyn NodeFixture) -> CaseResult {
    let play = Play::on(fixture);
    let (_, _, target) = play.mounted("target")?;
    for _ in 0..CALLS / 50 {
        ask(&play, &target)?;
    }
    let before = fixture.handles()?;
    for _ in 0..CALLS / 5 {
        ask(&play, &target)?;
    }
    let after = fixture.handles()?;
    let statement = format!("{after} handles are no more than {before} and {NOISE}");
    holds(&statement, after <= before + NOISE)
}

fn ask(play: &Play<'_>, target: &WinPath) -> CaseResult {
    let volumes = play.node.volumes();
    let volume = volumes.of_target(target, play.deadline())?;
    volumes.stats(volume, play.deadline())?;
    let disk = volumes.disk_number(volume, play.deadline())?;
    play.node.disks().is_online(disk, play.deadline())?;
    play.node.disks().ids(play.deadline())?;
    Ok(())
}
