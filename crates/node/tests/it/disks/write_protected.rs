//! Disks whose device refuses writes, whatever Windows's attribute of the disk is.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use os::Win32;
use wincsi_node::api::{Condition, Error, NodeApi};
use wincsi_node::{Criterion, DiskQuery, FormatOptions, FoundDisk, NewSize, SerialNumber};

use crate::support::{DATA, GIB, NodeFixture};

const ASKED: &str = "IOCTL_DISK_IS_WRITABLE";

fn protect(fixture: &NodeFixture) {
    let hardware = fixture.hardware();
    hardware.set_write_protected(DATA, true).unwrap();
}

fn found(fixture: &NodeFixture) -> FoundDisk {
    let serial = SerialNumber::parse(DATA).unwrap();
    let wanted = DiskQuery::all([Criterion::Serial(serial)]).unwrap();
    fixture.disks().find(&wanted, fixture.soon()).unwrap()
}

fn is_write_protected(fixture: &NodeFixture) -> Result<bool, Error> {
    let disks = NodeApi::disks(&fixture.node);
    disks.is_write_protected(fixture.disk(), fixture.soon())
}

/// Says so, and has not begun.
fn refused<T>(refused: Result<T, Error>) {
    let error = refused.map(drop).unwrap_err();
    assert!(error.is(Condition::ReadOnly), "{error}");
    assert!(error.to_string().contains("write-protected"), "{error}");
}

#[test]
fn a_device_says_whether_it_is_protected_and_not_by_windows_attribute() {
    let fixture = NodeFixture::with_volume();
    assert_eq!(is_write_protected(&fixture), Ok(false));
    fixture.make_read_only();
    assert_eq!(is_write_protected(&fixture), Ok(false));
    protect(&fixture);
    assert_eq!(is_write_protected(&fixture), Ok(true));
}

#[test]
fn what_would_write_is_refused_by_name_before_it_begins() {
    let fixture = NodeFixture::with_data_disk();
    protect(&fixture);
    let api: &dyn NodeApi = &fixture.node;
    let disk = found(&fixture);
    refused(api.disks().partition(&disk, fixture.soon()));

    let fixture = NodeFixture::with_data_disk();
    let api: &dyn NodeApi = &fixture.node;
    let (disk, soon) = (found(&fixture), fixture.soon());
    api.disks().partition(&disk, soon).unwrap();
    protect(&fixture);
    let volume = api.volumes().find_on(&disk, soon).unwrap();
    let ntfs = FormatOptions::default();
    refused(api.volumes().ensure_formatted(&volume, &ntfs, soon));

    let fixture = NodeFixture::with_volume();
    protect(&fixture);
    fixture.grow(DATA, 8 * GIB);
    fixture.rescan();
    let (api, soon): (&dyn NodeApi, _) = (&fixture.node, fixture.soon());
    let volume = api.volumes().find_on(&found(&fixture), soon).unwrap();
    refused(api.volumes().resize(&volume, NewSize::Maximum, soon));
}

#[test]
fn a_protected_disk_comes_online_and_goes_offline() {
    let fixture = NodeFixture::with_volume();
    protect(&fixture);
    let api: &dyn NodeApi = &fixture.node;
    let (disk, soon) = (found(&fixture), fixture.soon());
    api.disks().take_offline(&disk, soon).unwrap();
    api.disks().bring_online(&disk, soon).unwrap();
    assert_eq!(api.disks().is_online(disk.number(), soon), Ok(true));
    api.disks().take_offline(&disk, soon).unwrap();
    api.disks().bring_online_read_only(&disk, soon).unwrap();
    assert_eq!(api.disks().is_online(disk.number(), soon), Ok(true));
}

/// A controller that refuses MODE SENSE is such a device, and takes writes.
#[test]
fn a_device_that_does_not_say_is_written() {
    let fixture = NodeFixture::with_data_disk();
    fixture.fail(ASKED, Win32::IO_DEVICE);
    assert!(is_write_protected(&fixture).is_err());
    let (api, soon): (&dyn NodeApi, _) = (&fixture.node, fixture.soon());
    let disk = found(&fixture);
    api.disks().partition(&disk, soon).unwrap();
    let volume = api.volumes().find_on(&disk, soon).unwrap();
    api.volumes().format(&volume, soon).unwrap();
}
