//! LUNs of targets: the first stage of each logs in, the last unstage logs out.

use std::time::Duration;

use anyhow::ensure;
use os_meter::Counts;
use wincsi::sim::iscsi::{ServerSpec, TargetSpec};
use wincsi::sim::{Bus, DiskSpec, Effect, IdentifierKind, Inventory, Latency, Rule};
use wincsi_trial_driver::Volume;

use crate::node::{LENGTH, TestNode};
use crate::side_by_side::live;

/// How many LUNs a target has.
pub(crate) const LUNS: u32 = 20;

const LIVING: &str = "10.0.0.9";

/// How long the server takes to answer a login. No record has it.
const LOGIN_MS: u64 = 1_000;

/// Longer than a probe waits.
const SILENCE: Duration = Duration::from_secs(4);

pub(crate) fn run(volumes: u32, alone: u32, first_portals_dead: bool) -> anyhow::Result<()> {
    let (node, tally) = TestNode::new(Latency::Recorded, Inventory::of(0))?.counted();
    // Each volume that is alone logs in; those at a time do so in two groups.
    let targets = alone + 2 * volumes.div_ceil(LUNS);
    add_array(&node, targets)?;
    if first_portals_dead {
        let silent = Rule::on("connect", Effect::Delay(SILENCE)).object("10.1.*");
        node.sim.faults().add(silent);
    }
    let volume = |target: u32, lun: u32| {
        let dead = format!("10.1.0.{target}");
        let portals = match first_portals_dead {
            true => [dead.as_str(), LIVING],
            false => [LIVING, dead.as_str()],
        };
        Volume::lun(&iqn(target), lun, portals)
    };
    let alone_each = (0..alone).map(|target| volume(target, 0));
    let groups = (0..2 * volumes).map(|at| volume(alone + at / LUNS, at % LUNS));
    let all = Vec::from_iter(alone_each.chain(groups));
    let luns = u64::try_from(all.len())?;
    live(&node, all, usize::try_from(alone)?, &|_| Ok(()))?;
    check(&tally.take(), u64::from(targets), luns)
}

/// Each target is logged in to once, and its session ends once. Had it ended early, a LUN would not have gone offline.
fn check(counts: &Counts, targets: u64, luns: u64) -> anyhow::Result<()> {
    for (method, expected) in [
        ("Connect", targets),
        ("Disconnect", targets),
        ("Offline", luns),
    ] {
        let calls = counts.iter().filter(|(call, _)| call.subject == method);
        let calls: u64 = calls.map(|(_, count)| count).sum();
        ensure!(
            calls == expected,
            "{method}: {calls} calls in place of {expected}"
        );
    }
    Ok(())
}

pub(crate) fn add_array(node: &TestNode, targets: u32) -> anyhow::Result<()> {
    let mut server = ServerSpec {
        answers_after_ms: LOGIN_MS,
        ..ServerSpec::at(LIVING)
    };
    for target in 0..targets {
        let mut spec = TargetSpec::named(&iqn(target));
        for lun in 0..LUNS {
            let image = format!("{target}-{lun}");
            let identifier = format!("600140500{target:010}{lun:013}");
            let disk = DiskSpec::on(Bus::Iscsi).identified(IdentifierKind::Naa, &identifier);
            spec = spec.with_disk(&image, disk);
            node.arrays().set_image(&image, LENGTH)?;
        }
        server.target.push(spec);
    }
    Ok(node.arrays().add_server("array", &server)?)
}

/// A LUN whose first portal answers.
pub(crate) fn volume(target: u32, lun: u32) -> Volume {
    Volume::lun(&iqn(target), lun, [LIVING, LIVING])
}

fn iqn(target: u32) -> String {
    format!("iqn.2026-01.com.example:{target}")
}
