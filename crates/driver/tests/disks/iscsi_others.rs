//! iSCSI volumes beside persons and other volumes' authors.

use std::collections::BTreeMap;

use os::Cause;
use transport::Code;
use wincsi::NodeApi;
use wincsi::disks::{Criterion, DiskQuery, FoundDisk};
use wincsi::iscsi::TargetName;
use wincsi::sim::{Effect, Rule};
use wincsi_driver::kubelet::Request;
use wincsi_driver::life::CallError;
use wire::csi::v1::volume_capability::AccessMode;
use wire::csi::v1::volume_capability::access_mode::Mode;

use crate::fixture::STAGING;
use crate::iscsi::{
    ADDRESS, Fixture, IQN, Lasts, OTHER, log_in_as, log_in_by_hand, request, request_by, session,
};

/// A login that ran out of time, or whose process died, may not be there: then a person logs in, for good. One that was
/// never sent leaves no doubt.
/// Guards: P84
#[test]
fn a_persons_session_is_not_taken_for_a_login_in_doubt() {
    for (operation, lasts) in [
        ("MSFT_iSCSITarget.Connect", Lasts::OverBoots),
        ("MSFT_iSCSITargetPortal.New", Lasts::UntilBoot),
    ] {
        let fixture = Fixture::new();
        fixture.fault(Rule::on(operation, Effect::Fail(Cause::TimedOut)));
        fixture.stage().unwrap_err();
        fixture.heal();
        log_in_as(&fixture, ADDRESS, IQN, lasts);
        let theirs = session(&fixture);
        fixture.stage().unwrap();
        fixture.unstage().unwrap();
        assert!(
            theirs.is_some() && session(&fixture) == theirs,
            "{operation}"
        );
    }
}

/// Who writes a PersistentVolume may name the target of another's, and a server of his own.
/// Guards: P85
#[test]
fn a_session_by_another_volumes_portal_does_not_serve() {
    for is_in_doubt in [false, true] {
        let fixture = Fixture::new();
        if is_in_doubt {
            let late = Rule::on("MSFT_iSCSITarget.Connect", Effect::Overrun);
            fixture.fault(late.times(1));
        }
        assert_eq!(fixture.stage().is_err(), is_in_doubt);
        let refused = stage_by_another_portal(&fixture, "1").unwrap_err();
        assert_eq!(refused.code(), Code::FailedPrecondition, "{refused}");
        assert!(
            refused.to_string().contains("goes by portal 10.0.0.9:3260"),
            "{refused}"
        );
    }
}

/// An administrator has the LUN online by a session of his own, and readers on many nodes want it.
#[test]
fn a_refused_stage_leaves_a_strangers_disk_online() {
    let fixture = Fixture::new();
    log_in_by_hand(&fixture);
    let (disks, soon) = (NodeApi::disks(&fixture.hand), fixture.soon());
    let disk = lun_by_hand(&fixture, 0);
    disks.bring_online(&disk, soon).unwrap();
    for _ in 0..2 {
        let call = fixture.call();
        let none = BTreeMap::new();
        let refused = request(("v", STAGING), (IQN, "0"), &none, |request| {
            let mut capability = request.capability.unwrap().clone();
            let mode = Mode::MultiNodeReaderOnly.into();
            capability.access_mode = Some(AccessMode { mode });
            call.stage(&Request {
                volume: request.volume.clone(),
                capability: Some(&capability),
                ..*request
            })
        });
        assert!(
            refused
                .unwrap_err()
                .to_string()
                .contains("came online writable")
        );
        assert!(disk.is_online(&fixture.hand, soon).unwrap());
    }
}

/// A person has another LUN of the target in use: the session stays, is served by its own portal alone, and ends with a
/// later volume.
/// Guards: P85
#[test]
fn a_session_in_use_is_known_on_and_ends_later() {
    for is_started_again in [false, true] {
        let mut fixture = Fixture::new();
        fixture.stage().unwrap();
        let made = session(&fixture);
        let theirs = lun_by_hand(&fixture, 1);
        let soon = fixture.soon();
        NodeApi::disks(&fixture.hand)
            .bring_online(&theirs, soon)
            .unwrap();
        fixture.unstage().unwrap();
        assert_eq!(session(&fixture), made, "it brings their disk");
        if is_started_again {
            fixture.restart_driver();
        }
        let refused = stage_by_another_portal(&fixture, "0").unwrap_err();
        assert!(refused.to_string().contains("goes by portal"), "{refused}");
        NodeApi::disks(&fixture.hand)
            .take_offline(&theirs, soon)
            .unwrap();
        fixture.stage().unwrap();
        assert_eq!(session(&fixture), made);
        fixture.unstage().unwrap();
        fixture.assert_put_away("nobody uses it");
    }
}

/// Stages another volume on this LUN.
fn stage_by_another_portal(fixture: &Fixture, lun: &str) -> Result<(), CallError> {
    let (call, none) = (fixture.call(), BTreeMap::new());
    let by = "10.0.0.8:3260";
    request_by(by, ("w", OTHER), (IQN, lun), &none, |request| {
        call.stage(request)
    })
}

pub(crate) fn lun_by_hand(fixture: &Fixture, lun: u32) -> FoundDisk {
    let (disks, soon) = (NodeApi::disks(&fixture.hand), fixture.soon());
    disks.rescan(soon).unwrap();
    let target = Criterion::IscsiSession(TargetName::parse(IQN).unwrap());
    let query = DiskQuery::all([target, Criterion::Lun(lun)]).unwrap();
    disks.find(&query, soon).unwrap()
}
