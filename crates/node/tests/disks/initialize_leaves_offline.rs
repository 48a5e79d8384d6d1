//! A node whose `MSFT_Disk.Initialize` leaves an offline disk offline: no source says that Windows brings it
//! online, though drivers rely on it. The same, cut off at each operation, is in `crash.rs`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use os::Deadline;
use wincsi_node::api::{Error, NodeApi};
use wincsi_node::{
    Criterion, DiskError, DiskQuery, FormatOptions, Formatted, FoundDisk, NewSize, ProviderError,
    SerialNumber,
};

use crate::support::{DATA, Rig};

fn find(rig: &Rig) -> Result<FoundDisk, DiskError> {
    let serial = SerialNumber::parse(DATA).unwrap();
    let wanted = DiskQuery::all([Criterion::Serial(serial)]).unwrap();
    rig.disks().find(&wanted, rig.soon())
}

/// In the order of the guide.
fn stage(rig: &Rig) -> Result<Formatted, Error> {
    let (node, soon): (&dyn NodeApi, Deadline) = (&rig.node, rig.soon());
    let (disk, staging) = (find(rig).unwrap(), rig.staging());
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

fn unstage(rig: &Rig) -> Result<(), Error> {
    let (node, soon): (&dyn NodeApi, Deadline) = (&rig.node, rig.soon());
    let (disk, staging) = (find(rig).unwrap(), rig.staging());
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
    let rig = Rig::whose_tables_leave_a_disk_offline();
    assert_eq!(stage(&rig), Ok(Formatted::Now));
    rig.write(&format!("{}data.txt", rig.volume()), "precious");
    unstage(&rig).unwrap();
    assert_eq!(rig.disks().is_online(rig.disk(), rig.soon()), Ok(false));
    assert_eq!(stage(&rig), Ok(Formatted::Before));
    assert_eq!(rig.precious(), "precious");
}

/// csi-proxy's clients do it in this order; where Windows refuses, they are told, and nothing is spoilt.
#[test]
fn a_disk_that_is_partitioned_before_it_is_online_is_refused_and_can_be_staged_after() {
    let rig = Rig::whose_tables_leave_a_disk_offline();
    let disks = rig.disks();
    is_refused(&disks.partition(rig.disk(), rig.soon()));
    assert_eq!(stage(&rig), Ok(Formatted::Now));
}

/// Writable and offline, it gets its table, and no partition.
#[test]
fn a_disk_that_got_no_further_than_its_table_is_staged_after() {
    let rig = Rig::whose_tables_leave_a_disk_offline();
    let disks = rig.disks();
    disks.bring_online(rig.disk(), rig.soon()).unwrap();
    disks.set_offline(rig.disk(), rig.soon()).unwrap();
    is_refused(&disks.partition(rig.disk(), rig.soon()));
    let layout = rig.os().disks.layout(rig.disk()).unwrap();
    assert!(matches!(layout.style, os::PartitionStyle::Gpt { .. }));
    assert_eq!(stage(&rig), Ok(Formatted::Now));
}
