//! A node whose `MSFT_Disk.Initialize` leaves an offline disk offline: no source says that Windows brings it
//! online, though drivers rely on it. The same, cut off at each operation, is in `crash.rs`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use os::Deadline;
use wincsi_node::api::{Error, NodeApi};
use wincsi_node::{
    Criterion, DiskError, DiskQuery, FormatOptions, Formatted, FoundDisk, NewSize, ProviderError,
    SerialNumber,
};

use crate::support::{DATA, NodeFixture};

fn find(fixture: &NodeFixture) -> Result<FoundDisk, DiskError> {
    let serial = SerialNumber::parse(DATA).unwrap();
    let wanted = DiskQuery::all([Criterion::Serial(serial)]).unwrap();
    fixture.disks().find(&wanted, fixture.soon())
}

/// In the order of the guide.
fn stage(fixture: &NodeFixture) -> Result<Formatted, Error> {
    let (node, soon): (&dyn NodeApi, Deadline) = (&fixture.node, fixture.soon());
    let (disk, staging) = (find(fixture).unwrap(), fixture.staging());
    node.disks().bring_online(&disk, soon)?;
    node.disks().partition(&disk, soon)?;
    let volume = node.volumes().find_on(&disk, soon)?;
    let plain = FormatOptions::default();
    let formatted = node.volumes().ensure_formatted(&volume, &plain, soon)?;
    node.filesystem().make_directory(&staging, soon)?;
    node.volumes().mount(&volume, &staging, soon)?;
    node.volumes().resize(&volume, NewSize::Maximum, soon)?;
    Ok(formatted)
}

fn unstage(fixture: &NodeFixture) -> Result<(), Error> {
    let (node, soon): (&dyn NodeApi, Deadline) = (&fixture.node, fixture.soon());
    let (disk, staging) = (find(fixture).unwrap(), fixture.staging());
    let volume = node.volumes().of_target(&staging, soon)?;
    node.volumes().unmount(volume, &staging, soon)?;
    node.filesystem().remove_entry(&staging, soon)?;
    node.disks().take_offline(&disk, soon)
}

#[track_caller]
fn is_refused(done: &Result<(), DiskError>) {
    let is_windows = matches!(
        done,
        Err(DiskError::Provider(ProviderError::Refused { .. }))
    );
    assert!(is_windows, "{done:?}");
}

#[test]
fn a_volume_is_staged_and_unstaged_and_staged_again() {
    let fixture = NodeFixture::whose_tables_leave_a_disk_offline();
    assert_eq!(stage(&fixture), Ok(Formatted::Now));
    fixture.write(&format!("{}data.txt", fixture.volume()), "precious");
    unstage(&fixture).unwrap();
    assert_eq!(
        fixture.disks().is_online(fixture.disk(), fixture.soon()),
        Ok(false)
    );
    assert_eq!(stage(&fixture), Ok(Formatted::Before));
    assert_eq!(fixture.precious(), "precious");
}

/// csi-proxy's clients do it in this order; where Windows refuses, they are told, and nothing is spoilt.
#[test]
fn a_disk_that_is_partitioned_before_it_is_online_is_refused_and_can_be_staged_after() {
    let fixture = NodeFixture::whose_tables_leave_a_disk_offline();
    let disks = fixture.disks();
    is_refused(&disks.partition(fixture.disk(), fixture.soon()));
    assert_eq!(stage(&fixture), Ok(Formatted::Now));
}

/// Writable and offline, it gets its table, and no partition.
#[test]
fn a_disk_that_got_no_further_than_its_table_is_staged_after() {
    let fixture = NodeFixture::whose_tables_leave_a_disk_offline();
    let disks = fixture.disks();
    disks.bring_online(fixture.disk(), fixture.soon()).unwrap();
    disks.set_offline(fixture.disk(), fixture.soon()).unwrap();
    is_refused(&disks.partition(fixture.disk(), fixture.soon()));
    let layout = fixture.layout();
    assert!(matches!(layout.style, os::PartitionStyle::Gpt { .. }));
    assert_eq!(stage(&fixture), Ok(Formatted::Now));
}
