//! Mounted folders whose volume is gone.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::sync::Arc;

use os::{VolumeId, Win32};
use os_sim::{Effect, Kill, Rule};
use wincsi_node::api::{Condition, Error, NodeApi};
use wincsi_node::{Criterion, DiskQuery, FoundVolume, SerialNumber, VolumeError};

use crate::support::{DATA, KUBELET, NodeFixture, STAGING, inject, path};

const DELETE: &str = "DeleteVolumeMountPointW";
const DELETE_POINT: &str = "FSCTL_DELETE_REPARSE_POINT";

/// Codes that Windows might fail to unmount a volume with that is gone. Nothing has shown which.
const GONE: [Win32; 4] = [
    Win32::FILE_NOT_FOUND,
    Win32::INVALID_PARAMETER,
    Win32::NO_SUCH_DEVICE,
    Win32::NOT_READY,
];

/// A staged volume, mounted, and another volume.
fn two_volumes() -> (NodeFixture, VolumeId) {
    let fixture = NodeFixture::with_mounted_volume();
    let other = fixture.other_volume();
    (fixture, other)
}

/// The disk of what was staged is pulled out before anybody unmounted it.
fn stale() -> (NodeFixture, VolumeId) {
    let (fixture, other) = two_volumes();
    fixture.hardware().detach_disk(DATA).unwrap();
    (fixture, other)
}

/// As a driver stages a volume.
fn stage(fixture: &NodeFixture, volume: VolumeId) -> Result<(), Error> {
    let (node, staging): (&dyn NodeApi, _) = (&fixture.node, fixture.staging());
    node.filesystem().make_directory(&staging, fixture.soon())?;
    let volume = on_its_disk(fixture, volume);
    node.volumes().mount(&volume, &staging, fixture.soon())
}

fn on_its_disk(fixture: &NodeFixture, volume: VolumeId) -> FoundVolume {
    let serial = Criterion::Serial(SerialNumber::parse("other").unwrap());
    let wanted = DiskQuery::all([serial]).unwrap();
    fixture.rescan();
    let disk = fixture.disks().find(&wanted, fixture.soon()).unwrap();
    FoundVolume::on_disk(volume, disk)
}

#[track_caller]
fn is_mounted(fixture: &NodeFixture, volume: VolumeId) {
    let mounted = fixture
        .volumes()
        .of_target(&fixture.staging(), fixture.soon());
    assert_eq!(mounted, Ok(volume));
}

#[test]
fn a_mounted_folder_whose_volume_is_gone_gives_way_to_the_next() {
    let (fixture, other) = stale();
    stage(&fixture, other).unwrap();
    is_mounted(&fixture, other);
    stage(&fixture, other).unwrap();
    is_mounted(&fixture, other);
}

/// csi-proxy's clients are answered as csi-proxy answers.
#[test]
fn a_mounted_folder_whose_volume_is_gone_is_not_empty_to_csi_proxys_clients() {
    let (fixture, other) = stale();
    let staging = fixture.staging();
    let refused = fixture.volumes().mount(other, &staging, fixture.soon());
    let text = refused.unwrap_err().to_string();
    assert!(text.ends_with("The directory is not empty."), "{text}");
    assert!(fixture.os().files.entry(&staging).unwrap().tag.is_some());
}

#[test]
fn a_mounted_folder_whose_volume_is_there_stays() {
    let (fixture, other) = two_volumes();
    let (volume, staging) = (fixture.volume(), fixture.staging());
    let refused = stage(&fixture, other).unwrap_err();
    assert_eq!(refused.condition(), Some(Condition::TargetInUse));
    is_mounted(&fixture, volume);
    let refused = fixture
        .volumes()
        .mount_over_stale(other, &staging, fixture.soon());
    assert!(
        matches!(refused, Err(VolumeError::TargetInUse { .. })),
        "{refused:?}"
    );
}

/// Neither an answer that is none, nor a list that still has the volume, proves that it is gone.
#[test]
fn a_mounted_folder_stays_unless_its_volume_is_gone_for_certain() {
    for code in [
        Win32::ACCESS_DENIED,
        Win32::FILE_NOT_FOUND,
        Win32::NOT_READY,
    ] {
        let (fixture, other) = two_volumes();
        let silent = fixture.fail("GetVolumeNameForVolumeMountPointW", code);
        let done = fixture.trace(|| {
            let refused = stage(&fixture, other).unwrap_err();
            let condition = refused.condition();
            assert_eq!(condition, Some(Condition::NotEmpty), "{refused}");
        });
        assert!(done.iter().all(|op| op.operation != DELETE), "{code}");
        fixture.faults().remove(silent);
        is_mounted(&fixture, fixture.volume());
    }
    let (fixture, other) = stale();
    fixture.fail("FindFirstVolumeW", Win32::IO_DEVICE);
    stage(&fixture, other).unwrap_err();
    assert!(!is_plain(&fixture));
}

#[test]
fn a_folder_with_files_and_a_link_stay() {
    let (fixture, other) = stale();
    let full = path(r"C:\var\full");
    let node: &dyn NodeApi = &fixture.node;
    let within = path(r"C:\var\full\x");
    node.filesystem()
        .make_directory(&within, fixture.soon())
        .unwrap();
    let other = on_its_disk(&fixture, other);
    let refused = node.volumes().mount(&other, &full, fixture.soon());
    let refused = refused.unwrap_err();
    assert_eq!(refused.condition(), Some(Condition::NotEmpty));
    fixture.junction(r"C:\var\junction", r"C:\var\full");
    let junction = path(r"C:\var\junction");
    node.volumes()
        .mount(&other, &junction, fixture.soon())
        .unwrap_err();
    assert!(fixture.os().files.entry(&junction).unwrap().tag.is_some());
}

fn fail_to_unmount(fixture: &NodeFixture, effect: Effect) {
    fixture.fault(Rule::on(DELETE, effect));
}

fn is_plain(fixture: &NodeFixture) -> bool {
    fixture
        .os()
        .files
        .entry(&fixture.staging())
        .unwrap()
        .tag
        .is_none()
}

/// Guards: P43
#[test]
fn a_folder_that_windows_does_not_unmount_as_its_volume_is_gone_is_unmounted() {
    for code in GONE {
        for effect in [Effect::fail(code), Effect::FailAfter(code.into())] {
            let fixture = NodeFixture::with_mounted_volume();
            let volume = fixture.volume();
            fixture.hardware().detach_disk(DATA).unwrap();
            fail_to_unmount(&fixture, effect);
            let unmounted = fixture
                .volumes()
                .unmount(volume, &fixture.staging(), fixture.soon());
            assert_eq!(unmounted, Ok(()), "{code}");
            assert!(is_plain(&fixture), "{code}");
        }
    }
}

#[test]
fn a_folder_that_windows_does_not_unmount_as_its_volume_is_gone_gives_way_to_the_next() {
    for code in GONE {
        for effect in [Effect::fail(code), Effect::FailAfter(code.into())] {
            let (fixture, other) = stale();
            fail_to_unmount(&fixture, effect);
            stage(&fixture, other).unwrap();
            is_mounted(&fixture, other);
        }
    }
}

/// The mount manager would go on to name a plain folder as a path of the volume.
/// Guards: P43
#[test]
fn a_folder_that_the_mount_manager_may_name_keeps_its_reparse_point() {
    for unsure in [None, Some(Win32::ACCESS_DENIED), Some(Win32::IO_DEVICE)] {
        let fixture = NodeFixture::with_mounted_volume();
        let (volume, staging) = (fixture.volume(), fixture.staging());
        if let Some(code) = unsure {
            fixture.hardware().detach_disk(DATA).unwrap();
            fixture.fail("GetVolumePathNamesForVolumeNameW", code);
        }
        fail_to_unmount(&fixture, Effect::fail(Win32::NOT_READY));
        let trace = fixture.trace(|| {
            let refused = fixture.volumes().unmount(volume, &staging, fixture.soon());
            assert!(
                matches!(&refused, Err(VolumeError::Failed { source, .. }) if source.win32() == Some(Win32::NOT_READY)),
                "{refused:?}"
            );
        });
        assert!(trace.iter().all(|op| op.operation != DELETE_POINT));
        assert!(!is_plain(&fixture));
    }
}

/// A way begins with the volume that is mounted at the working folder, the mount manager's path with a drive.
/// Guards: P43
#[test]
fn a_folder_that_the_mount_manager_names_otherwise_keeps_its_reparse_point() {
    let fixture = NodeFixture::with_volume();
    let (volume, other, soon) = (fixture.volume(), fixture.other_volume(), fixture.soon());
    for (volume, folder) in [(other, KUBELET), (volume, STAGING)] {
        let files = fixture.filesystem();
        files.make_directory(&path(folder), soon).unwrap();
        fixture
            .volumes()
            .mount(volume, &path(folder), soon)
            .unwrap();
    }
    let node = inject::node(&fixture, |os| {
        os.volumes = Arc::new(inject::Named {
            volumes: Arc::clone(&os.volumes),
            place: path(&other.to_string()),
            named: path(KUBELET),
        });
    });
    let resolved = fixture.resolved(STAGING).unwrap();
    assert!(resolved.path().to_string().starts_with(&other.to_string()));
    fail_to_unmount(&fixture, Effect::fail(Win32::NOT_READY));
    let trace = fixture.trace(|| {
        let volumes = node.operations().volumes();
        volumes.unmount(volume, &resolved, soon).unwrap_err();
    });
    assert!(trace.iter().all(|op| op.operation != DELETE_POINT));
    assert!(!is_plain(&fixture));
}

#[test]
fn after_a_death_at_the_reparse_point_the_next_call_mounts() {
    for when in [Kill::Before, Kill::After] {
        let (fixture, other) = stale();
        fail_to_unmount(&fixture, Effect::fail(Win32::NO_SUCH_DEVICE));
        let death = Rule::on(DELETE_POINT, Effect::Kill(when));
        fixture.fault(death);
        stage(&fixture, other).unwrap_err();
        assert!(fixture.is_killed());
        let fixture = fixture.reopened();
        fail_to_unmount(&fixture, Effect::fail(Win32::NO_SUCH_DEVICE));
        stage(&fixture, other).unwrap();
        is_mounted(&fixture, other);
    }
}

#[test]
fn a_death_between_the_two_is_mended_by_the_next_mount() {
    for (step, when) in [
        (DELETE, Kill::Before),
        (DELETE, Kill::After),
        ("SetVolumeMountPointW", Kill::Before),
        ("SetVolumeMountPointW", Kill::After),
    ] {
        let (fixture, other) = stale();
        fixture.fault(Rule::on(step, Effect::Kill(when)));
        stage(&fixture, other).unwrap_err();
        assert!(fixture.is_killed(), "{step}");
        let fixture = fixture.reopened();
        stage(&fixture, other).unwrap();
        is_mounted(&fixture, other);
    }
}
