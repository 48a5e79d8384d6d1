//! Mounted folders whose volume is gone.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::sync::Arc;

use os::{VolumeId, Win32};
use os_sim::{Effect, Kill, Rule};
use wincsi_node::api::{Condition, Error, NodeApi};
use wincsi_node::{Criterion, DiskQuery, FoundVolume, SerialNumber, VolumeError};

use crate::support::{DATA, KUBELET, Rig, STAGING, meddle, path};

const DELETE: &str = "DeleteVolumeMountPointW";
const DELETE_POINT: &str = "FSCTL_DELETE_REPARSE_POINT";

/// Codes that Windows might fail to unmount a volume with that is gone. Nothing has shown which.
const GONE: [Win32; 4] = [
    Win32::FILE_NOT_FOUND,
    Win32::INVALID_PARAMETER,
    Win32::NO_SUCH_DEVICE,
    Win32::NOT_READY,
];

/// What was staged is mounted, and there is another volume.
fn two_volumes() -> (Rig, VolumeId) {
    let rig = Rig::with_mounted_volume();
    let other = rig.other_volume();
    (rig, other)
}

/// The disk of what was staged is pulled out before anybody unmounted it.
fn stale() -> (Rig, VolumeId) {
    let (rig, other) = two_volumes();
    rig.sim.hardware().detach_disk(DATA).unwrap();
    (rig, other)
}

/// As a driver stages a volume.
fn stage(rig: &Rig, volume: VolumeId) -> Result<(), Error> {
    let (node, staging): (&dyn NodeApi, _) = (&rig.node, rig.staging());
    node.filesystem().make_directory(&staging, rig.soon())?;
    let volume = on_its_disk(rig, volume);
    node.volumes().mount(&volume, &staging, rig.soon())
}

fn on_its_disk(rig: &Rig, volume: VolumeId) -> FoundVolume {
    let serial = Criterion::Serial(SerialNumber::parse("other").unwrap());
    let wanted = DiskQuery::all([serial]).unwrap();
    rig.disks().rescan(rig.soon()).unwrap();
    let disk = rig.disks().find(&wanted, rig.soon()).unwrap();
    FoundVolume::on_disk(volume, disk)
}

#[track_caller]
fn is_mounted(rig: &Rig, volume: VolumeId) {
    let mounted = rig.volumes().of_target(&rig.staging(), rig.soon());
    assert_eq!(mounted, Ok(volume));
}

#[test]
fn a_mounted_folder_whose_volume_is_gone_gives_way_to_the_next() {
    let (rig, other) = stale();
    stage(&rig, other).unwrap();
    is_mounted(&rig, other);
    stage(&rig, other).unwrap();
    is_mounted(&rig, other);
}

/// csi-proxy's clients are answered as csi-proxy answers.
#[test]
fn a_mounted_folder_whose_volume_is_gone_is_not_empty_to_csi_proxys_clients() {
    let (rig, other) = stale();
    let staging = rig.staging();
    let refused = rig.volumes().mount(other, &staging, rig.soon());
    let text = refused.unwrap_err().to_string();
    assert!(text.ends_with("The directory is not empty."), "{text}");
    assert!(rig.os().files.entry(&staging).unwrap().tag.is_some());
}

#[test]
fn a_mounted_folder_whose_volume_is_there_stays() {
    let (rig, other) = two_volumes();
    let (volume, staging) = (rig.volume(), rig.staging());
    let refused = stage(&rig, other).unwrap_err();
    assert_eq!(refused.condition(), Some(Condition::TargetInUse));
    is_mounted(&rig, volume);
    let refused = rig.volumes().mount_over_stale(other, &staging, rig.soon());
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
        let (rig, other) = two_volumes();
        let silent = Rule::on("GetVolumeNameForVolumeMountPointW", Effect::fail(code));
        let silent = rig.sim.faults().add(silent);
        let done = rig.trace(|| {
            let refused = stage(&rig, other).unwrap_err();
            let condition = refused.condition();
            assert_eq!(condition, Some(Condition::NotEmpty), "{refused}");
        });
        assert!(done.iter().all(|op| op.operation != DELETE), "{code}");
        rig.sim.faults().remove(silent);
        is_mounted(&rig, rig.volume());
    }
    let (rig, other) = stale();
    let unlisted = Rule::on("FindFirstVolumeW", Effect::fail(Win32::IO_DEVICE));
    rig.sim.faults().add(unlisted);
    stage(&rig, other).unwrap_err();
    assert!(rig.os().files.entry(&rig.staging()).unwrap().tag.is_some());
}

#[test]
fn a_folder_with_files_and_a_link_stay() {
    let (rig, other) = stale();
    let full = path(r"C:\var\full");
    let node: &dyn NodeApi = &rig.node;
    let within = path(r"C:\var\full\x");
    node.filesystem()
        .make_directory(&within, rig.soon())
        .unwrap();
    let other = on_its_disk(&rig, other);
    let refused = node.volumes().mount(&other, &full, rig.soon());
    let refused = refused.unwrap_err();
    assert_eq!(refused.condition(), Some(Condition::NotEmpty));
    rig.junction(r"C:\var\junction", r"C:\var\full");
    let junction = path(r"C:\var\junction");
    node.volumes()
        .mount(&other, &junction, rig.soon())
        .unwrap_err();
    assert!(rig.os().files.entry(&junction).unwrap().tag.is_some());
}

fn fail_to_unmount(rig: &Rig, effect: Effect) {
    rig.sim.faults().add(Rule::on(DELETE, effect));
}

fn is_plain(rig: &Rig) -> bool {
    rig.os().files.entry(&rig.staging()).unwrap().tag.is_none()
}

#[test]
fn a_folder_that_windows_does_not_unmount_as_its_volume_is_gone_is_unmounted() {
    for code in GONE {
        for effect in [Effect::fail(code), Effect::FailAfter(code.into())] {
            let rig = Rig::with_mounted_volume();
            let volume = rig.volume();
            rig.sim.hardware().detach_disk(DATA).unwrap();
            fail_to_unmount(&rig, effect);
            let unmounted = rig.volumes().unmount(volume, &rig.staging(), rig.soon());
            assert_eq!(unmounted, Ok(()), "{code}");
            assert!(is_plain(&rig), "{code}");
        }
    }
}

#[test]
fn a_folder_that_windows_does_not_unmount_as_its_volume_is_gone_gives_way_to_the_next() {
    for code in GONE {
        for effect in [Effect::fail(code), Effect::FailAfter(code.into())] {
            let (rig, other) = stale();
            fail_to_unmount(&rig, effect);
            stage(&rig, other).unwrap();
            is_mounted(&rig, other);
        }
    }
}

/// The mount manager would go on to name a plain folder as a path of the volume.
#[test]
fn a_folder_that_the_mount_manager_may_name_keeps_its_reparse_point() {
    for unsure in [None, Some(Win32::ACCESS_DENIED), Some(Win32::IO_DEVICE)] {
        let rig = Rig::with_mounted_volume();
        let (volume, staging) = (rig.volume(), rig.staging());
        if let Some(code) = unsure {
            rig.sim.hardware().detach_disk(DATA).unwrap();
            let silent = Rule::on("GetVolumePathNamesForVolumeNameW", Effect::fail(code));
            rig.sim.faults().add(silent);
        }
        fail_to_unmount(&rig, Effect::fail(Win32::NOT_READY));
        let trace = rig.trace(|| {
            let refused = rig.volumes().unmount(volume, &staging, rig.soon());
            assert!(
                matches!(&refused, Err(VolumeError::Failed { source, .. }) if source.win32() == Some(Win32::NOT_READY)),
                "{refused:?}"
            );
        });
        assert!(trace.iter().all(|op| op.operation != DELETE_POINT));
        assert!(!is_plain(&rig));
    }
}

/// A way begins with the volume that is mounted at the working folder, the mount manager's path with a drive.
#[test]
fn a_folder_that_the_mount_manager_names_otherwise_keeps_its_reparse_point() {
    let rig = Rig::with_volume();
    let (volume, other, soon) = (rig.volume(), rig.other_volume(), rig.soon());
    for (volume, folder) in [(other, KUBELET), (volume, STAGING)] {
        let files = rig.filesystem();
        files.make_directory(&path(folder), soon).unwrap();
        rig.volumes().mount(volume, &path(folder), soon).unwrap();
    }
    let node = meddle::node(&rig, |os| {
        os.volumes = Arc::new(meddle::Named {
            volumes: Arc::clone(&os.volumes),
            place: path(&other.to_string()),
            named: path(KUBELET),
        });
    });
    let way = rig.way(STAGING).unwrap();
    assert!(way.path().to_string().starts_with(&other.to_string()));
    fail_to_unmount(&rig, Effect::fail(Win32::NOT_READY));
    let trace = rig.trace(|| {
        let volumes = node.operations().volumes();
        volumes.unmount(volume, &way, soon).unwrap_err();
    });
    assert!(trace.iter().all(|op| op.operation != DELETE_POINT));
    assert!(!is_plain(&rig));
}

#[test]
fn after_a_death_at_the_reparse_point_the_next_call_mounts() {
    for when in [Kill::Before, Kill::After] {
        let (rig, other) = stale();
        fail_to_unmount(&rig, Effect::fail(Win32::NO_SUCH_DEVICE));
        let death = Rule::on(DELETE_POINT, Effect::Kill(when));
        rig.sim.faults().add(death);
        stage(&rig, other).unwrap_err();
        assert!(rig.sim.is_killed());
        let rig = rig.reopened();
        fail_to_unmount(&rig, Effect::fail(Win32::NO_SUCH_DEVICE));
        stage(&rig, other).unwrap();
        is_mounted(&rig, other);
    }
}

#[test]
fn whoever_dies_between_the_two_mounts_next_time() {
    for (step, when) in [
        (DELETE, Kill::Before),
        (DELETE, Kill::After),
        ("SetVolumeMountPointW", Kill::Before),
        ("SetVolumeMountPointW", Kill::After),
    ] {
        let (rig, other) = stale();
        rig.sim.faults().add(Rule::on(step, Effect::Kill(when)));
        stage(&rig, other).unwrap_err();
        assert!(rig.sim.is_killed(), "{step}");
        let rig = rig.reopened();
        stage(&rig, other).unwrap();
        is_mounted(&rig, other);
    }
}
