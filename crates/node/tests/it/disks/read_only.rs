//! Disks that arrive read-only: online and writable, or an error.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use os::{DiskAttributes, Outcome, Win32};
use os_sim::{
    Bus, DiskSpec, Effect, NodeSpec, OfflineAttributes, Rule, SanPolicy, StorageConditions,
};
use wincsi_node::api::Condition;
use wincsi_node::{Criterion, DiskError, DiskQuery, Options, SerialNumber};

use crate::support::{DATA, GIB, NodeFixture};

const SET_ATTRIBUTES: &str = "MSFT_Disk.SetAttributes";
const ONLINE: &str = "MSFT_Disk.Online";
const PAST_THE_PROVIDER: &str = "IOCTL_DISK_SET_DISK_ATTRIBUTES";

/// The caller that brings the disk online.
#[derive(Clone, Copy, Debug)]
enum By {
    /// csi-proxy's SetDiskState.
    Number,
    /// A driver, with the disk that it found.
    Found,
}

/// A disk that is offline and read-only, and stays so until it is online.
fn down(offline_attributes: OfflineAttributes) -> NodeFixture {
    let spec = NodeSpec {
        storage: StorageConditions {
            offline_attributes,
            ..StorageConditions::default()
        },
        ..NodeSpec::named("node-1").san_policy(SanPolicy::OfflineAll)
    };
    let fixture = NodeFixture::of(&spec, Options::default());
    fixture.plug(&DiskSpec::on(Bus::Sas).serial(DATA).lun(1), DATA, GIB);
    fixture
}

fn bring_online(fixture: &NodeFixture, by: By) -> Result<(), DiskError> {
    let serial = Criterion::Serial(SerialNumber::parse(DATA).unwrap());
    let wanted = DiskQuery::all([serial]).unwrap();
    match by {
        By::Number => fixture.disks().set_online(fixture.disk(), fixture.soon()),
        By::Found => {
            let found = fixture.disks().find(&wanted, fixture.soon()).unwrap();
            fixture.disks().bring_online(&found, fixture.soon())
        }
    }
}

fn attributes(fixture: &NodeFixture) -> DiskAttributes {
    fixture.attributes()
}

/// Of all that happened, the calls that switch.
fn switches(fixture: &NodeFixture, act: impl FnOnce()) -> Vec<&'static str> {
    let trace = fixture.trace(act);
    let names = trace.iter().map(|op| op.operation);
    names
        .filter(|name| [SET_ATTRIBUTES, ONLINE, PAST_THE_PROVIDER].contains(name))
        .collect()
}

const UP: DiskAttributes = DiskAttributes {
    offline: false,
    read_only: false,
};

#[test]
fn read_only_is_cleared_before_a_disk_comes_online_and_once() {
    for by in [By::Number, By::Found] {
        let fixture = down(OfflineAttributes::Set);
        let done = switches(&fixture, || bring_online(&fixture, by).unwrap());
        assert_eq!(done, [SET_ATTRIBUTES, ONLINE], "{by:?}");
        assert_eq!(attributes(&fixture), UP);
        let again = switches(&fixture, || bring_online(&fixture, by).unwrap());
        assert_eq!(again, [""; 0], "{by:?}");
    }
}

#[test]
fn read_only_that_the_provider_leaves_on_an_offline_disk_is_cleared_past_it() {
    for by in [By::Number, By::Found] {
        let fixture = down(OfflineAttributes::Refused);
        let done = switches(&fixture, || bring_online(&fixture, by).unwrap());
        let expected = [SET_ATTRIBUTES, PAST_THE_PROVIDER, ONLINE];
        assert_eq!(done, expected, "{by:?}");
        assert_eq!(attributes(&fixture), UP);
    }
}

#[test]
fn read_only_that_only_an_online_disk_lets_go_is_cleared_after() {
    for by in [By::Number, By::Found] {
        let fixture = down(OfflineAttributes::Refused);
        fixture.fail(PAST_THE_PROVIDER, Win32::ACCESS_DENIED);
        let done = switches(&fixture, || bring_online(&fixture, by).unwrap());
        let expected = [SET_ATTRIBUTES, PAST_THE_PROVIDER, ONLINE, SET_ATTRIBUTES];
        assert_eq!(done, expected, "{by:?}");
        assert_eq!(attributes(&fixture), UP);
    }
}

#[test]
fn a_disk_that_stays_offline_is_not_said_to_be_ready() {
    for by in [By::Number, By::Found] {
        let fixture = down(OfflineAttributes::Set);
        let nothing = Rule::on(ONLINE, Effect::Answer(Outcome::of(0)));
        fixture.sim.faults().add(nothing);
        let error = bring_online(&fixture, by).unwrap_err();
        assert_eq!(error.condition(), Some(Condition::Offline), "{by:?}");
    }
}

/// csi-proxy#437: the disk was online and read-only, and the pod that wrote crashed.
#[test]
fn a_disk_that_is_online_and_read_only_is_no_success_however_often_it_is_asked_for() {
    for by in [By::Number, By::Found] {
        let fixture = down(OfflineAttributes::Set);
        let refused = Rule::on(SET_ATTRIBUTES, Effect::Answer(Outcome::of(40_001)));
        let refused = fixture.fault(refused);
        let stays = Err(DiskError::StaysReadOnly {
            disk: fixture.disk(),
        });
        for _ in 0..2 {
            assert_eq!(bring_online(&fixture, by), stays, "{by:?}");
            assert!(!attributes(&fixture).offline);
        }
        fixture.faults().remove(refused);
        bring_online(&fixture, by).unwrap();
        assert_eq!(attributes(&fixture), UP);
    }
}

/// A call that fails is no more than one that is refused: what the disk is in the end decides.
#[test]
fn read_only_that_an_offline_disk_fails_to_let_go_is_cleared_after() {
    for by in [By::Number, By::Found] {
        let fixture = down(OfflineAttributes::default());
        let failing = Effect::fail(Win32::GEN_FAILURE);
        fixture.fault(Rule::on(SET_ATTRIBUTES, failing).times(1));
        assert_eq!(bring_online(&fixture, by), Ok(()), "{by:?}");
        assert!(!attributes(&fixture).read_only && !attributes(&fixture).offline);
    }
}
