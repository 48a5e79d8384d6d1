//! Disks that arrive read-only: online and writable, or an error.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use os::{DiskAttributes, Outcome, Win32};
use os_sim::{
    Bus, DiskSpec, Effect, NodeSpec, OfflineAttributes, Rule, SanPolicy, StorageConditions,
};
use wincsi_node::{Criterion, DiskError, DiskQuery, Options, SerialNumber};

use crate::support::{DATA, GIB, Rig};

const SET_ATTRIBUTES: &str = "MSFT_Disk.SetAttributes";
const ONLINE: &str = "MSFT_Disk.Online";
const PAST_THE_PROVIDER: &str = "IOCTL_DISK_SET_DISK_ATTRIBUTES";

/// Who brings the disk online.
#[derive(Clone, Copy, Debug)]
enum By {
    /// csi-proxy's SetDiskState.
    Number,
    /// A driver, with the disk that it found.
    Found,
}

/// A disk that is offline and read-only, and stays so until it is online.
fn down(offline_attributes: OfflineAttributes) -> Rig {
    let spec = NodeSpec {
        storage: StorageConditions {
            offline_attributes,
            ..StorageConditions::default()
        },
        ..NodeSpec::named("node-1").san_policy(SanPolicy::OfflineAll)
    };
    let rig = Rig::of(&spec, Options::default());
    rig.plug(&DiskSpec::on(Bus::Sas).serial(DATA).lun(1), DATA, GIB);
    rig
}

fn bring_online(rig: &Rig, by: By) -> Result<(), DiskError> {
    let serial = Criterion::Serial(SerialNumber::parse(DATA).unwrap());
    let wanted = DiskQuery::all([serial]).unwrap();
    match by {
        By::Number => rig.disks().set_online(rig.disk(), rig.soon()),
        By::Found => {
            let found = rig.disks().find(&wanted, rig.soon()).unwrap();
            rig.disks().bring_online(&found, rig.soon())
        }
    }
}

fn attributes(rig: &Rig) -> DiskAttributes {
    rig.os().disks.attributes(rig.disk()).unwrap()
}

/// Of all that happened, the calls that switch.
fn switches(rig: &Rig, act: impl FnOnce()) -> Vec<&'static str> {
    let trace = rig.trace(act);
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
        let rig = down(OfflineAttributes::Set);
        let done = switches(&rig, || bring_online(&rig, by).unwrap());
        assert_eq!(done, [SET_ATTRIBUTES, ONLINE], "{by:?}");
        assert_eq!(attributes(&rig), UP);
        let again = switches(&rig, || bring_online(&rig, by).unwrap());
        assert_eq!(again, [""; 0], "{by:?}");
    }
}

#[test]
fn read_only_that_the_provider_leaves_on_an_offline_disk_is_cleared_past_it() {
    for by in [By::Number, By::Found] {
        let rig = down(OfflineAttributes::Refused);
        let done = switches(&rig, || bring_online(&rig, by).unwrap());
        let expected = [SET_ATTRIBUTES, PAST_THE_PROVIDER, ONLINE];
        assert_eq!(done, expected, "{by:?}");
        assert_eq!(attributes(&rig), UP);
    }
}

#[test]
fn read_only_that_only_an_online_disk_lets_go_is_cleared_after() {
    for by in [By::Number, By::Found] {
        let rig = down(OfflineAttributes::Refused);
        let denied = Rule::on(PAST_THE_PROVIDER, Effect::fail(Win32::ACCESS_DENIED));
        rig.sim.faults().add(denied);
        let done = switches(&rig, || bring_online(&rig, by).unwrap());
        let expected = [SET_ATTRIBUTES, PAST_THE_PROVIDER, ONLINE, SET_ATTRIBUTES];
        assert_eq!(done, expected, "{by:?}");
        assert_eq!(attributes(&rig), UP);
    }
}

/// csi-proxy#437: the disk was online and read-only, and the pod that wrote crashed.
#[test]
fn a_disk_that_is_online_and_read_only_is_no_success_however_often_it_is_asked_for() {
    for by in [By::Number, By::Found] {
        let rig = down(OfflineAttributes::Set);
        let refused = Rule::on(SET_ATTRIBUTES, Effect::Answer(Outcome::of(40_001)));
        let refused = rig.sim.faults().add(refused);
        let stays = Err(DiskError::StaysReadOnly { disk: rig.disk() });
        for _ in 0..2 {
            assert_eq!(bring_online(&rig, by), stays, "{by:?}");
            assert!(!attributes(&rig).offline);
        }
        rig.sim.faults().remove(refused);
        bring_online(&rig, by).unwrap();
        assert_eq!(attributes(&rig), UP);
    }
}

/// A call that fails is no more than one that is refused: what the disk is in the end decides.
#[test]
fn read_only_that_an_offline_disk_fails_to_let_go_is_cleared_after() {
    for by in [By::Number, By::Found] {
        let rig = down(OfflineAttributes::default());
        let failing = Effect::fail(Win32::GEN_FAILURE);
        rig.sim
            .faults()
            .add(Rule::on(SET_ATTRIBUTES, failing).times(1));
        assert_eq!(bring_online(&rig, by), Ok(()), "{by:?}");
        assert!(!attributes(&rig).read_only && !attributes(&rig).offline);
    }
}
