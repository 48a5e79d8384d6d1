//! Every mutating operation on the initiator, cut off at every operation of the system that it
//! makes, and called again; how is in `support::crash`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use os_sim::iscsi::TargetSpec;
use wincsi_node::Authentication;

use crate::support::NodeFixture;
use crate::support::crash::{Scenario, check, with_text_error};
use crate::support::initiator::{ADDRESS, GUARDED, OPEN, PROOF, at, chap, named, secret};

#[test]
fn add_a_portal() {
    check(&Scenario {
        name: "add portal",
        prepare: NodeFixture::with_array,
        act: |fixture| with_text_error(fixture.add_portal()),
        done_already: &[],
    });
}

#[test]
fn remove_a_portal() {
    check(&Scenario {
        name: "remove portal",
        prepare: NodeFixture::with_portal,
        act: |fixture| with_text_error(fixture.iscsi().remove_portal(&at(ADDRESS), fixture.soon())),
        done_already: &["error: not found"],
    });
}

#[test]
fn discover_what_came_later() {
    check(&Scenario {
        name: "discover",
        prepare: with_a_later_target,
        act: |fixture| {
            with_text_error(fixture.iscsi().discover(&at(ADDRESS), fixture.soon())).map(drop)
        },
        done_already: &[],
    });
}

#[test]
fn connect_a_target() {
    check(&Scenario {
        name: "connect",
        prepare: NodeFixture::with_portal,
        act: |fixture| with_text_error(fixture.connect(OPEN, &Authentication::None)).map(drop),
        done_already: &[],
    });
}

#[test]
fn connect_a_target_that_came_later() {
    check(&Scenario {
        name: "connect what came later",
        prepare: with_a_later_target,
        act: |fixture| with_text_error(fixture.connect(LATER, &Authentication::None)).map(drop),
        done_already: &[],
    });
}

#[test]
fn connect_a_target_that_proves_itself() {
    check(&Scenario {
        name: "connect with mutual CHAP",
        prepare: NodeFixture::with_portal,
        act: |fixture| {
            let iscsi = fixture.iscsi();
            with_text_error(iscsi.set_mutual_chap_secret(&secret(PROOF), fixture.soon()))?;
            with_text_error(fixture.connect(GUARDED, &Authentication::MutualChap(chap()))).map(drop)
        },
        done_already: &[],
    });
}

#[test]
fn disconnect_a_target_with_several_sessions() {
    check(&Scenario {
        name: "disconnect",
        prepare: || {
            let fixture = NodeFixture::with_portal();
            fixture.connect(OPEN, &Authentication::None).unwrap();
            fixture.log_in_again(OPEN);
            fixture
        },
        act: |fixture| with_text_error(fixture.disconnect(OPEN)),
        done_already: &[],
    });
}

#[test]
fn log_out_of_a_session_that_would_come_back() {
    check(&Scenario {
        name: "log out",
        prepare: || {
            let fixture = NodeFixture::with_portal();
            fixture.log_in_again(OPEN);
            fixture.rescan();
            let disk = fixture.disk_of("open");
            fixture.disks().set_offline(disk, fixture.soon()).unwrap();
            fixture
        },
        act: |fixture| {
            let (iscsi, soon) = (fixture.iscsi(), fixture.soon());
            let sessions = with_text_error(iscsi.sessions(soon))?;
            let ended = sessions
                .iter()
                .map(|it| iscsi.log_out(&named(OPEN), &it.id, soon));
            with_text_error(ended.collect::<Result<Vec<_>, _>>()).map(drop)
        },
        done_already: &[],
    });
}

#[test]
fn stage_and_unstage_as_democratic_csi_does() {
    check(&Scenario {
        name: "stage and unstage",
        prepare: NodeFixture::with_array,
        act: |fixture| {
            let (iscsi, soon) = (fixture.iscsi(), fixture.soon());
            with_text_error(fixture.add_portal())?;
            with_text_error(fixture.connect(OPEN, &Authentication::None))?;
            with_text_error(fixture.disks().rescan(soon))?;
            let disks = with_text_error(iscsi.disks(&at(ADDRESS), &named(OPEN), soon))?;
            let disk = disks.first().ok_or("the disk is not there")?;
            with_text_error(fixture.disks().set_online(*disk, soon))?;
            with_text_error(fixture.disconnect(OPEN))
        },
        done_already: &[],
    });
}

const LATER: &str = "iqn.2026-01.com.example:later";

/// A node whose portal was asked before the target came.
fn with_a_later_target() -> NodeFixture {
    let fixture = NodeFixture::with_portal();
    let array = fixture.array();
    array
        .change_server("array", |server| {
            server.target.push(TargetSpec::named(LATER));
        })
        .unwrap();
    fixture
}
