use anyhow::{Context, Result, ensure};
use os::Win32;
use os_sim::{Arrives, Effect};
use wire::disk::v1::rpc;
use wire::disk::v1alpha1;

use crate::{CostedCall, Counted, TestNode, row};

use Arrives::{Offline, Online};

// In a row: queries, methods, handles, calls, waits; csi-proxy's queries and methods.
#[rustfmt::skip]
pub(super) const CALLS: &[CostedCall] = &[
    CostedCall("disk.ListDiskLocations", &[
        row("", [1, 0, 0, 0, 0], [1, 0], |node| node.cost::<rpc::ListDiskLocations>(|_| {})),
    ]),
    CostedCall("disk.PartitionDisk", &[
        row("a raw disk", [3, 4, 54, 4, 4], [3, 4], |node| partition(node, Online)),
        row("a raw disk that is offline", [3, 4, 54, 4, 4], [3, 4],
            |node| partition(node, Offline)),
        row("an initialised disk without a partition", [3, 3, 45, 4, 4], [3, 3], initialised),
        row("it has its partition", [1, 0, 11, 4, 0], [2, 0], partitioned),
    ]),
    CostedCall("disk.Rescan", &[
        row("", [0, 1, 0, 0, 0], [0, 1], |node| node.cost::<rpc::Rescan>(|_| {})),
    ]),
    CostedCall("disk.GetDiskNumberByName", &[row("", [1, 0, 5, 4, 0], [1, 0], by_name)]),
    CostedCall("disk.ListDiskIDs", &[
        row("", [1, 0, 4, 0, 0], [1, 0], |node| node.cost::<rpc::ListDiskIds>(|_| {})),
    ]),
    CostedCall("disk.GetDiskStats", &[row("", [0, 0, 1, 0, 0], [1, 0],
        |node| node.cost::<rpc::GetDiskStats>(|get| get.disk_number = node.volume().disk))]),
    CostedCall("disk.SetDiskState", &[
        row("from online to offline", [1, 1, 6, 4, 0], [1, 1],
            |node| switched(node, Online, &[false])),
        row("from offline to online", [1, 1, 7, 4, 0], [1, 1],
            |node| switched(node, Online, &[false, true])),
        row("from offline and read-only to online", [1, 2, 8, 4, 0], [1, 1],
            |node| switched(node, Offline, &[true])).because(READ_ONLY),
        row("it is online", [0, 0, 1, 0, 0], [1, 0], |node| switched(node, Online, &[true])),
        row("it is offline", [0, 0, 1, 0, 0], [1, 0], |node| switched(node, Offline, &[false])),
    ]),
    CostedCall("disk.GetDiskState", &[row("", [0, 0, 1, 0, 0], [1, 0],
        |node| node.cost::<rpc::GetDiskState>(|get| get.disk_number = node.volume().disk))]),
];

const READ_ONLY: &str = "\
    SetAttributes makes the disk writable: clones, snapshots and disks of some controllers arrive read-only \
    (csi-proxy issues 288 and 437). csi-proxy answers success and leaves it so: PartitionDisk and FormatVolume \
    fail until somebody clears the attribute by hand. Online has no parameter for it, and after \
    IOCTL_DISK_SET_DISK_ATTRIBUTES the provider would need Refresh";

fn partition(node: &TestNode, arrives: Arrives) -> Result<Counted> {
    node.with_spare(arrives, |spare| partition_disk(node, spare.number))
}

/// As an earlier call left it that failed half-way.
fn initialised(node: &TestNode) -> Result<Counted> {
    node.with_spare(Online, |spare| {
        let fails = Effect::fail(Win32::GEN_FAILURE);
        let partition = || partition_disk(node, spare.number);
        let first = node.failing("*CreatePartition", fails, partition);
        ensure!(first.is_err(), "it has its partition");
        partition()
    })
}

fn partitioned(node: &TestNode) -> Result<Counted> {
    partition_disk(node, node.volume().disk)
}

fn partition_disk(node: &TestNode, number: u32) -> Result<Counted> {
    node.cost::<rpc::PartitionDisk>(|partition| partition.disk_number = number)
}

fn by_name(node: &TestNode) -> Result<Counted> {
    let listed = node.call::<rpc::ListDiskIds>(|_| {})?;
    let ids = listed.disk_ids.get(&node.volume().disk);
    let name = ids.context("the data disk")?.page83.clone();
    node.cost::<v1alpha1::rpc::GetDiskNumberByName>(|get| get.disk_name = name)
}

/// What the last of the switches takes.
fn switched(node: &TestNode, arrives: Arrives, to: &[bool]) -> Result<Counted> {
    node.with_spare(arrives, |spare| {
        let switch = |is_online: &bool| {
            node.cost::<rpc::SetDiskState>(|set| {
                set.disk_number = spare.number;
                set.is_online = *is_online;
            })
        };
        let switches: Result<Vec<_>> = to.iter().map(switch).collect();
        switches?.pop().context("a switch")
    })
}
