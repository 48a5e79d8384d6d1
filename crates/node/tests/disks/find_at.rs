//! The disk of a mounted folder, of which nothing else is known.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::fs;

use os::{DiskNumber, WinPath};
use os_sim::{Bus, Content, DiskSpec};
use wincsi_node::api::{Condition, NodeApi};
use wincsi_node::{DiskError, FoundDisk, TargetError, VolumeError};

use crate::support::{DATA, GIB, Rig, STAGING, path};

const LINK: &str = r"C:\var\pod";

fn find_at(rig: &Rig, at: &str) -> Result<FoundDisk, DiskError> {
    rig.disks().find_at(&path(at), rig.soon())
}

/// The error of a path that leads to no mounted folder.
fn refused(rig: &Rig, at: &str) -> TargetError {
    match find_at(rig, at) {
        Err(DiskError::Volume(error)) => match *error {
            VolumeError::Target(error) => error,
            error => panic!("{at}: {error}"),
        },
        other => panic!("{at}: {other:?}"),
    }
}

/// Plugs a disk in that is like this, and mounts its volume.
fn mounted(spec: &DiskSpec, at: &str) -> Rig {
    let rig = Rig::new();
    rig.plug(spec, "only", 2 * GIB);
    let number = rig.os().disks.list().unwrap()[1];
    mount(&rig, number, at);
    rig
}

fn mount(rig: &Rig, disk: DiskNumber, at: &str) {
    let soon = rig.soon();
    rig.disks().partition(disk, soon).unwrap();
    let volume = rig.volumes().sole_on_disk(disk, soon).unwrap();
    rig.volumes().format(volume, soon).unwrap();
    let folder: WinPath = path(at);
    rig.filesystem().make_directory(&folder, soon).unwrap();
    rig.volumes().mount(volume, &folder, soon).unwrap();
}

/// Kubelet's unstage has a path and the volume's handle, and the record is lost.
#[test]
fn who_unstages_without_a_record_takes_the_right_disk_offline() {
    let rig = Rig::with_mounted_volume();
    let (staging, soon) = (rig.staging(), rig.soon());
    let disk = find_at(&rig, STAGING).unwrap();
    assert_eq!(disk.number(), rig.disk());
    let volume = rig.volumes().of_target(&staging, soon).unwrap();
    rig.volumes().unmount(volume, &staging, soon).unwrap();
    rig.filesystem().remove_entry(&staging, soon).unwrap();
    rig.disks().take_offline(&disk, soon).unwrap();
    assert!(!rig.disks().is_online(rig.disk(), soon).unwrap());
}

#[test]
fn a_link_leads_to_the_disk_of_the_folder_and_a_plain_directory_to_none() {
    let rig = Rig::with_mounted_volume();
    let (filesystem, soon) = (rig.filesystem(), rig.soon());
    filesystem
        .link_directory(&rig.staging(), &path(LINK), soon)
        .unwrap();
    assert_eq!(find_at(&rig, LINK).unwrap().number(), rig.disk());
    rig.write(r"C:\var\file", "");
    let inside = format!(r"{STAGING}\below");
    filesystem.make_directory(&path(&inside), soon).unwrap();
    for plain in [r"C:\", r"C:\var", &inside] {
        let error = refused(&rig, plain);
        assert!(
            matches!(error, TargetError::PlainDirectory { .. }),
            "{plain}: {error}"
        );
    }
    let file = refused(&rig, r"C:\var\file");
    assert!(
        matches!(file, TargetError::NotAMountedFolder { .. }),
        "{file}"
    );
    let missing = refused(&rig, r"C:\var\missing");
    assert!(matches!(missing, TargetError::Missing { .. }), "{missing}");
    filesystem
        .link_directory(&path(r"C:\gone"), &path(r"C:\var\dangling"), soon)
        .unwrap();
    let dangling = refused(&rig, r"C:\var\dangling");
    assert!(
        matches!(dangling, TargetError::Dangling { .. }),
        "{dangling}"
    );
}

#[test]
fn the_disk_that_windows_runs_from_is_never_found() {
    let rig = Rig::with_mounted_volume();
    let filesystem = rig.filesystem();
    filesystem
        .link_directory(&path(r"C:\"), &path(LINK), rig.soon())
        .unwrap();
    let Err(DiskError::NotIdentified(error)) = find_at(&rig, LINK) else {
        panic!("found");
    };
    assert_eq!(error.guarded().count(), 1, "{error}");
}

/// Its number went to another disk between the two calls.
#[test]
fn a_disk_that_took_the_number_is_left_alone() {
    let rig = Rig::with_mounted_volume();
    let (disk, soon) = (find_at(&rig, STAGING).unwrap(), rig.soon());
    let hardware = rig.sim.hardware();
    hardware.detach_disk(DATA).unwrap();
    rig.os().disks.list().unwrap();
    let spec = DiskSpec::on(Bus::Sas).serial("other").lun(1);
    hardware
        .attach_disk("other", &spec, &Content::blank(4 * GIB))
        .unwrap();
    rig.disks().rescan(soon).unwrap();
    assert_eq!(rig.disk_of("other"), disk.number());
    let refused = rig.disks().take_offline(&disk, soon);
    assert!(
        matches!(refused, Err(DiskError::NotTheFound { .. })),
        "{refused:?}"
    );
    assert!(rig.disks().is_online(disk.number(), soon).unwrap());
}

/// All disks of some hypervisors have the serial number 0.
#[test]
fn a_disk_without_a_name_is_known_by_its_place() {
    let rig = mounted(&DiskSpec::on(Bus::Sas).serial("0000").lun(3), STAGING);
    rig.plug(
        &DiskSpec::on(Bus::Sas).serial("0000").lun(4),
        "beside",
        2 * GIB,
    );
    let disk = find_at(&rig, STAGING).unwrap();
    let beside = disk.seen().location.clone();
    assert_eq!(beside.and_then(|place| place.lun).as_deref(), Some("3"));
    rig.disks().take_offline(&disk, rig.soon()).unwrap();
}

/// Neither a name that is one nor a place.
#[test]
fn a_disk_that_tells_nothing_of_itself_is_not_taken() {
    let spec = DiskSpec {
        location: Some("Integrated".to_owned()),
        ..DiskSpec::on(Bus::Sas).serial("0000")
    };
    let rig = mounted(&spec, STAGING);
    let error = find_at(&rig, STAGING).unwrap_err();
    assert!(matches!(error, DiskError::Untold { .. }), "{error}");
    let error = NodeApi::disks(&rig.node).find_at(&path(STAGING), rig.soon());
    let error = error.unwrap_err();
    assert!(error.is(Condition::Uncertain), "{error}");
}

/// It is that of the disk in its slot before, of which the provider still tells: it takes no disk.
#[test]
fn a_serial_number_that_the_provider_alone_tells_is_not_looked_for() {
    let rig = Rig::with_mounted_volume();
    let file = rig.home().join("disks").join(format!("{DATA}.toml"));
    let text = fs::read_to_string(&file).unwrap();
    let spec = DiskSpec {
        serial: None,
        ..toml::from_str(&text).unwrap()
    };
    fs::write(&file, toml::to_string(&spec).unwrap()).unwrap();
    let disk = find_at(&rig, STAGING).unwrap();
    let names = disk.wanted().criteria().iter();
    assert_eq!(names.filter(|one| one.is_name()).count(), 0);
}
