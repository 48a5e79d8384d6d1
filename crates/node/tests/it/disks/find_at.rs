//! The disk of a mounted folder, of which nothing else is known.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use os::{DiskNumber, WinPath};
use os_sim::{Bus, Content, DiskSpec};
use wincsi_node::api::{Condition, NodeApi};
use wincsi_node::{DiskError, FoundDisk, TargetError, VolumeError};

use crate::support::{DATA, GIB, NodeFixture, STAGING, path};

const LINK: &str = r"C:\var\pod";

fn find_at(fixture: &NodeFixture, at: &str) -> Result<FoundDisk, DiskError> {
    fixture.disks().find_at(&path(at), fixture.soon())
}

/// The error of a path that leads to no mounted folder.
fn refused(fixture: &NodeFixture, at: &str) -> TargetError {
    match find_at(fixture, at) {
        Err(DiskError::Volume(error)) => match *error {
            VolumeError::Target(error) => error,
            error => panic!("{at}: {error}"),
        },
        other => panic!("{at}: {other:?}"),
    }
}

/// Plugs a disk in that is like this, and mounts its volume.
fn mounted(spec: &DiskSpec, at: &str) -> NodeFixture {
    let fixture = NodeFixture::new();
    fixture.plug(spec, "only", 2 * GIB);
    let number = fixture.os().disks.list().unwrap()[1];
    mount(&fixture, number, at);
    fixture
}

fn mount(fixture: &NodeFixture, disk: DiskNumber, at: &str) {
    let soon = fixture.soon();
    fixture.disks().partition(disk, soon).unwrap();
    let volume = fixture.volumes().sole_on_disk(disk, soon).unwrap();
    fixture.volumes().format(volume, soon).unwrap();
    let folder: WinPath = path(at);
    fixture.filesystem().make_directory(&folder, soon).unwrap();
    fixture.volumes().mount(volume, &folder, soon).unwrap();
}

/// Kubelet's unstage has a path and the volume's handle, and the record is lost.
#[test]
fn who_unstages_without_a_record_takes_the_right_disk_offline() {
    let fixture = NodeFixture::with_mounted_volume();
    let (staging, soon) = (fixture.staging(), fixture.soon());
    let disk = find_at(&fixture, STAGING).unwrap();
    assert_eq!(disk.number(), fixture.disk());
    let volume = fixture.volumes().of_target(&staging, soon).unwrap();
    fixture.volumes().unmount(volume, &staging, soon).unwrap();
    fixture.filesystem().remove_entry(&staging, soon).unwrap();
    fixture.disks().take_offline(&disk, soon).unwrap();
    assert!(!fixture.disks().is_online(fixture.disk(), soon).unwrap());
}

#[test]
fn a_link_leads_to_the_disk_of_the_folder_and_a_plain_directory_to_none() {
    let fixture = NodeFixture::with_mounted_volume();
    let (filesystem, soon) = (fixture.filesystem(), fixture.soon());
    filesystem
        .link_directory(&fixture.staging(), &path(LINK), soon)
        .unwrap();
    assert_eq!(find_at(&fixture, LINK).unwrap().number(), fixture.disk());
    fixture.write(r"C:\var\file", "");
    let inside = format!(r"{STAGING}\below");
    fixture.make_directory(&inside);
    for plain in [r"C:\", r"C:\var", &inside] {
        let error = refused(&fixture, plain);
        assert!(
            matches!(error, TargetError::PlainDirectory { .. }),
            "{plain}: {error}"
        );
    }
    let file = refused(&fixture, r"C:\var\file");
    assert!(
        matches!(file, TargetError::NotAMountedFolder { .. }),
        "{file}"
    );
    let missing = refused(&fixture, r"C:\var\missing");
    assert!(matches!(missing, TargetError::Missing { .. }), "{missing}");
    filesystem
        .link_directory(&path(r"C:\gone"), &path(r"C:\var\dangling"), soon)
        .unwrap();
    let dangling = refused(&fixture, r"C:\var\dangling");
    assert!(
        matches!(dangling, TargetError::Dangling { .. }),
        "{dangling}"
    );
}

#[test]
fn the_disk_that_windows_runs_from_is_never_found() {
    let fixture = NodeFixture::with_mounted_volume();
    let filesystem = fixture.filesystem();
    filesystem
        .link_directory(&path(r"C:\"), &path(LINK), fixture.soon())
        .unwrap();
    let Err(DiskError::NotIdentified(error)) = find_at(&fixture, LINK) else {
        panic!("found");
    };
    assert_eq!(error.guarded().count(), 1, "{error}");
}

/// Its number went to another disk between the two calls.
#[test]
fn a_disk_that_took_the_number_is_left_alone() {
    let fixture = NodeFixture::with_mounted_volume();
    let (disk, soon) = (find_at(&fixture, STAGING).unwrap(), fixture.soon());
    let hardware = fixture.hardware();
    hardware.detach_disk(DATA).unwrap();
    fixture.os().disks.list().unwrap();
    let spec = DiskSpec::on(Bus::Sas).serial("other").lun(1);
    hardware
        .attach_disk("other", &spec, &Content::blank(4 * GIB))
        .unwrap();
    fixture.disks().rescan(soon).unwrap();
    assert_eq!(fixture.disk_of("other"), disk.number());
    let refused = fixture.disks().take_offline(&disk, soon);
    assert!(
        matches!(refused, Err(DiskError::NotTheFound { .. })),
        "{refused:?}"
    );
    assert!(fixture.disks().is_online(disk.number(), soon).unwrap());
}

/// All disks of some hypervisors have the serial number 0.
#[test]
fn a_disk_without_a_name_is_known_by_its_place() {
    let fixture = mounted(&DiskSpec::on(Bus::Sas).serial("0000").lun(3), STAGING);
    fixture.plug(
        &DiskSpec::on(Bus::Sas).serial("0000").lun(4),
        "beside",
        2 * GIB,
    );
    let disk = find_at(&fixture, STAGING).unwrap();
    let beside = disk.seen().location.clone();
    assert_eq!(beside.and_then(|place| place.lun).as_deref(), Some("3"));
    let (staging, soon) = (path(STAGING), fixture.soon());
    let volume = fixture.volumes().of_target(&staging, soon).unwrap();
    fixture.volumes().unmount(volume, &staging, soon).unwrap();
    fixture.disks().take_offline(&disk, fixture.soon()).unwrap();
}

/// Neither a name that is one nor a place.
#[test]
fn a_disk_that_tells_nothing_of_itself_is_not_taken() {
    let spec = DiskSpec {
        location: Some("Integrated".to_owned()),
        ..DiskSpec::on(Bus::Sas).serial("0000")
    };
    let fixture = mounted(&spec, STAGING);
    let error = find_at(&fixture, STAGING).unwrap_err();
    assert!(matches!(error, DiskError::Untold { .. }), "{error}");
    let error = NodeApi::disks(&fixture.node).find_at(&path(STAGING), fixture.soon());
    let error = error.unwrap_err();
    assert!(error.is(Condition::Uncertain), "{error}");
}

/// It is that of the disk in its slot before, of which the provider still tells: it takes no disk.
#[test]
fn a_serial_number_that_the_provider_alone_tells_is_not_looked_for() {
    let fixture = NodeFixture::with_mounted_volume();
    fixture.change_disk(DATA, |spec| spec.serial = None);
    let disk = find_at(&fixture, STAGING).unwrap();
    let names = disk.wanted().criteria().iter();
    assert_eq!(names.filter(|one| one.is_name()).count(), 0);
}
