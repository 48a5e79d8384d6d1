use anyhow::Context;
use anyhow::Result;
use anyhow::ensure;
use os::Win32;
use os_sim::Arrives;
use os_sim::Effect;
use os_sim::Rule;
use wire::disk::v1::*;
use wire::disk::v1alpha1;

use crate::Sample;
use crate::Scenario;
use crate::Stage;

/// The stage has two disks.
const DISKS: u64 = 2;

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario::of("disk.ListDiskLocations", locations)
        .asking(1, 0)
        .by("3.1", "MSFT_Disk (Number, Location)"),
    Scenario::of("disk.PartitionDisk", partition)
        .when("a raw disk")
        .asking(3, 4)
        .by(
            "3.2",
            "MSFT_Disk, MSFT_Partition, and MSFT_Partition again; Initialize, CreatePartition, \
             Refresh, Online",
        ),
    Scenario::of("disk.PartitionDisk", partition_offline)
        .when("a raw disk that is offline")
        .asking(3, 4)
        .by(
            "3.2",
            "MSFT_Disk, MSFT_Partition, and MSFT_Partition again; Initialize, CreatePartition, \
             Refresh, Online",
        ),
    Scenario::of("disk.PartitionDisk", partition_initialised)
        .when("an initialised disk without a partition")
        .asking(3, 3)
        .by(
            "3.2",
            "MSFT_Disk, MSFT_Partition, and MSFT_Partition again; CreatePartition, Refresh, Online",
        ),
    Scenario::of("disk.PartitionDisk", partition_again)
        .when("it has its partition")
        .asking(2, 0)
        .by("3.2", "MSFT_Disk, MSFT_Partition"),
    Scenario::of("disk.Rescan", rescan)
        .asking(0, 1)
        .by("3.3", "UpdateHostStorageCache"),
    Scenario::of("disk.GetDiskNumberByName", by_name)
        .asking(1, 0)
        .opening(DISKS)
        .by("3.4, 3.7", "MSFT_Disk; opens each disk up to the one that is meant, the second"),
    Scenario::of("disk.ListDiskIDs", ids)
        .asking(1, 0)
        .opening(DISKS)
        .by("3.4", "MSFT_Disk (Path, SerialNumber); opens each disk once"),
    Scenario::of("disk.GetDiskStats", stats)
        .asking(1, 0)
        .by("3.5", "MSFT_Disk.Size"),
    Scenario::of("disk.SetDiskState", offline)
        .when("from online to offline")
        .asking(1, 1)
        .by("3.6", "MSFT_Disk.IsOffline; Offline"),
    Scenario::of("disk.SetDiskState", online)
        .when("from offline to online")
        .asking(1, 1)
        .by("3.6", "MSFT_Disk.IsOffline; Online"),
    Scenario::of("disk.SetDiskState", online_read_only)
        .when("from offline and read-only to online")
        .asking(1, 1)
        .by("3.6", "MSFT_Disk.IsOffline; Online")
        .more_by(
            0,
            1,
            "SetAttributes clears read-only, on a disk that the kernel says is read-only. Clones, \
             snapshots and the disks of some controllers come so (csi-proxy issues 288 and 437): \
             csi-proxy answers success and leaves the disk so, and PartitionDisk and FormatVolume \
             fail after it until somebody clears it by hand, as no call of its pipes does. Online \
             has no parameter for it, and SetAttributes none for online. \
             IOCTL_DISK_SET_DISK_ATTRIBUTES saves nothing: the provider has to be told by Refresh, a \
             method too",
        ),
    Scenario::of("disk.SetDiskState", online_again)
        .when("it is online")
        .asking(1, 0)
        .by("3.6", "MSFT_Disk.IsOffline"),
    Scenario::of("disk.SetDiskState", offline_again)
        .when("it is offline")
        .asking(1, 0)
        .by("3.6", "MSFT_Disk.IsOffline"),
    Scenario::of("disk.GetDiskState", state)
        .asking(1, 0)
        .by("3.6", "MSFT_Disk.IsOffline"),
];

fn locations(stage: &Stage) -> Result<Sample> {
    stage.measured::<rpc::ListDiskLocations>(&ListDiskLocationsRequest {})
}

fn partition(stage: &Stage) -> Result<Sample> {
    partition_of(stage, Arrives::Online)
}

fn partition_offline(stage: &Stage) -> Result<Sample> {
    partition_of(stage, Arrives::Offline)
}

fn partition_of(stage: &Stage, arrives: Arrives) -> Result<Sample> {
    let spare = stage.plug(arrives)?;
    let disk_number = spare.number;
    let sample = stage.measured::<rpc::PartitionDisk>(&PartitionDiskRequest { disk_number })?;
    stage.pull(&spare)?;
    Ok(sample)
}

/// As an earlier call left it that failed half-way.
fn partition_initialised(stage: &Stage) -> Result<Sample> {
    let spare = stage.plug(Arrives::Online)?;
    let disk_number = spare.number;
    let request = PartitionDiskRequest { disk_number };
    let fails = Rule::on("*CreatePartition", Effect::fail(Win32::GEN_FAILURE));
    let fails = stage.faults().add(fails);
    let first = stage.call::<rpc::PartitionDisk>(&request);
    stage.faults().remove(fails);
    ensure!(first.is_err(), "it has its partition");
    let sample = stage.measured::<rpc::PartitionDisk>(&request)?;
    stage.pull(&spare)?;
    Ok(sample)
}

fn partition_again(stage: &Stage) -> Result<Sample> {
    let disk_number = stage.volume().disk;
    stage.measured::<rpc::PartitionDisk>(&PartitionDiskRequest { disk_number })
}

fn rescan(stage: &Stage) -> Result<Sample> {
    stage.measured::<rpc::Rescan>(&RescanRequest {})
}

fn by_name(stage: &Stage) -> Result<Sample> {
    let listed = stage.call::<rpc::ListDiskIds>(&ListDiskIdsRequest {})?;
    let ids = listed.disk_ids.get(&stage.volume().disk);
    let disk_name = ids.context("the data disk")?.page83.clone();
    stage.measured::<v1alpha1::rpc::GetDiskNumberByName>(&v1alpha1::GetDiskNumberByNameRequest {
        disk_name,
    })
}

fn ids(stage: &Stage) -> Result<Sample> {
    stage.measured::<rpc::ListDiskIds>(&ListDiskIdsRequest {})
}

fn stats(stage: &Stage) -> Result<Sample> {
    let disk_number = stage.volume().disk;
    stage.measured::<rpc::GetDiskStats>(&GetDiskStatsRequest { disk_number })
}

fn offline(stage: &Stage) -> Result<Sample> {
    switched(stage, Arrives::Online, &[false])
}

fn online(stage: &Stage) -> Result<Sample> {
    switched(stage, Arrives::Online, &[false, true])
}

fn online_read_only(stage: &Stage) -> Result<Sample> {
    switched(stage, Arrives::Offline, &[true])
}

fn online_again(stage: &Stage) -> Result<Sample> {
    switched(stage, Arrives::Online, &[true])
}

fn offline_again(stage: &Stage) -> Result<Sample> {
    switched(stage, Arrives::Offline, &[false])
}

/// What the last of the switches takes.
fn switched(stage: &Stage, arrives: Arrives, to: &[bool]) -> Result<Sample> {
    let spare = stage.plug(arrives)?;
    let mut last = None;
    for is_online in to {
        last = Some(stage.measured::<rpc::SetDiskState>(&SetDiskStateRequest {
            disk_number: spare.number,
            is_online: *is_online,
        })?);
    }
    stage.pull(&spare)?;
    last.context("a switch")
}

fn state(stage: &Stage) -> Result<Sample> {
    let disk_number = stage.volume().disk;
    stage.measured::<rpc::GetDiskState>(&GetDiskStateRequest { disk_number })
}
