//! Every mutating operation on the initiator, cut off at every operation of the system that it
//! makes, and called again; how is in `support::crash`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use os_sim::iscsi::TargetSpec;
use wincsi_node::Authentication;

use crate::support::Rig;
use crate::support::crash::{Scenario, check, told};
use crate::support::initiator::{ADDRESS, GUARDED, OPEN, PROOF, at, chap, named, secret};

#[test]
fn add_a_portal() {
    check(&Scenario {
        name: "add portal",
        prepare: Rig::with_array,
        act: |rig| told(rig.add_portal()),
        done_already: &[],
    });
}

#[test]
fn remove_a_portal() {
    check(&Scenario {
        name: "remove portal",
        prepare: Rig::with_portal,
        act: |rig| told(rig.iscsi().remove_portal(&at(ADDRESS), rig.soon())),
        done_already: &["error: not found"],
    });
}

#[test]
fn discover_what_came_later() {
    check(&Scenario {
        name: "discover",
        prepare: with_a_later_target,
        act: |rig| told(rig.iscsi().discover(&at(ADDRESS), rig.soon())).map(drop),
        done_already: &[],
    });
}

#[test]
fn connect_a_target() {
    check(&Scenario {
        name: "connect",
        prepare: Rig::with_portal,
        act: |rig| told(rig.connect(OPEN, &Authentication::None)).map(drop),
        done_already: &[],
    });
}

#[test]
fn connect_a_target_that_came_later() {
    check(&Scenario {
        name: "connect what came later",
        prepare: with_a_later_target,
        act: |rig| told(rig.connect(LATER, &Authentication::None)).map(drop),
        done_already: &[],
    });
}

#[test]
fn connect_a_target_that_proves_itself() {
    check(&Scenario {
        name: "connect with mutual CHAP",
        prepare: Rig::with_portal,
        act: |rig| {
            let iscsi = rig.iscsi();
            told(iscsi.set_mutual_chap_secret(&secret(PROOF), rig.soon()))?;
            told(rig.connect(GUARDED, &Authentication::MutualChap(chap()))).map(drop)
        },
        done_already: &[],
    });
}

#[test]
fn disconnect_a_target_with_several_sessions() {
    check(&Scenario {
        name: "disconnect",
        prepare: || {
            let rig = Rig::with_portal();
            rig.connect(OPEN, &Authentication::None).unwrap();
            rig.log_in_again(OPEN);
            rig
        },
        act: |rig| told(rig.disconnect(OPEN)),
        done_already: &[],
    });
}

#[test]
fn stage_and_unstage_as_democratic_csi_does() {
    check(&Scenario {
        name: "stage and unstage",
        prepare: Rig::with_array,
        act: |rig| {
            let (iscsi, soon) = (rig.iscsi(), rig.soon());
            told(rig.add_portal())?;
            told(rig.connect(OPEN, &Authentication::None))?;
            told(rig.disks().rescan(soon))?;
            let disks = told(iscsi.disks(&at(ADDRESS), &named(OPEN), soon))?;
            let disk = disks.first().ok_or("the disk is not there")?;
            told(rig.disks().set_online(*disk, soon))?;
            told(rig.disconnect(OPEN))
        },
        done_already: &[],
    });
}

const LATER: &str = "iqn.2026-01.com.example:later";

/// A node whose portal was asked before the target came.
fn with_a_later_target() -> Rig {
    let rig = Rig::with_portal();
    let array = rig.array();
    array
        .change_server("array", |server| {
            server.target.push(TargetSpec::named(LATER));
        })
        .unwrap();
    rig
}
