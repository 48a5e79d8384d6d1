use std::collections::BTreeMap;
use std::time::Duration;

use formats::location::Location;
use node::api::sealed::Wait;
use node::api::{Cause, Condition, Disks, Error, Feature, NodeApi, Result, Volumes};
use node::{DiskIds, DiskQuery, FileSystemType, FoundDisk, OfflineReason};
use os::{Deadline, DiskNumber, VolumeId, WinPath};

use super::{Read, bytes, disk_of_text, find, is_too_old, unsupported};
use crate::Node;
use crate::dialect::dialects;

/// The keys of a disk's identifiers before they became fields.
const PAGE83: &str = "page83";
const SERIAL: &str = "serialNumber";

/// How long a rescan may take that several calls wait for, each with a deadline of its own.
const RESCAN_WITHIN: Duration = Duration::from_secs(120);

const OFFLINE: &str = "offline disk";

impl Disks for Node {
    fn locations(&self, deadline: Deadline) -> Result<BTreeMap<DiskNumber, Location>> {
        let spoken = dialects![
            disk[v1 v1beta3] ListDiskLocations: ListDiskLocationsRequest {} => |answer| {
                let rows = answer.disk_locations.into_iter();
                Ok(rows.map(|(disk, at)| {
                    (DiskNumber(disk), location([at.adapter, at.bus, at.target, at.lun_id]))
                }).collect())
            };
            disk[v1beta2 v1beta1 v1alpha1] ListDiskLocations: ListDiskLocationsRequest {} => |answer| {
                let rows = answer.disk_locations.into_iter();
                rows.map(|(disk, at)| {
                    Ok((disk_of_text(&disk)?, location([at.adapter, at.bus, at.target, at.lun_id])))
                }).collect()
            };
        ];
        self.look("list the locations of disks", &[], deadline, &spoken)
    }

    fn ids(&self, deadline: Deadline) -> Result<BTreeMap<DiskNumber, DiskIds>> {
        let spoken = dialects![
            disk[v1 v1beta3] ListDiskIds: ListDiskIdsRequest {} => |answer| {
                let rows = answer.disk_ids.into_iter();
                Ok(rows.map(|(disk, ids)| {
                    (DiskNumber(disk), disk_ids(ids.page83, &ids.serial_number))
                }).collect())
            };
            disk[v1beta2 v1beta1] ListDiskIds: ListDiskIdsRequest {} => |answer| {
                let rows = answer.disk_ids.into_iter();
                rows.map(|(disk, ids)| Ok((disk_of_text(&disk)?, keyed_ids(ids.identifiers)))).collect()
            };
        ];
        self.look("list the ids of disks", &[], deadline, &spoken)
    }

    /// Only the first version has an RPC for it; for the others the client searches the list.
    fn by_page83(&self, page83: &str, deadline: Deadline) -> Result<DiskNumber> {
        let listed = |disks: &BTreeMap<DiskNumber, DiskIds>| sole(page83, disks);
        let failed = |cause| Error::new("find disk", page83, cause);
        match self.ids(deadline) {
            Ok(disks) => listed(&disks).map_err(failed),
            Err(error) if is_too_old(&error) => {
                let spoken = dialects![
                    disk[v1alpha1] GetDiskNumberByName: GetDiskNumberByNameRequest {
                        disk_name: page83.to_owned(),
                    } => |answer| disk_of_text(&answer.disk_number);
                ];
                self.look("find disk", &[&page83], deadline, &spoken)
            }
            Err(error) => Err(failed(error.cause)),
        }
    }

    fn find(&self, wanted: &DiskQuery, deadline: Deadline) -> Result<FoundDisk> {
        find::find(self, wanted, deadline)
    }

    fn find_at(&self, path: &WinPath, deadline: Deadline) -> Result<FoundDisk> {
        find::find_at(self, path, deadline)
    }

    fn find_attached(
        &self,
        wanted: &DiskQuery,
        patience: Duration,
        deadline: Deadline,
    ) -> Result<FoundDisk> {
        let node = self.clone();
        let wait = Wait {
            patience: self.deadline(patience),
            deadline,
        };
        let rescan = move || Disks::rescan(&node, node.deadline(RESCAN_WITHIN));
        self.rescans()
            .find(wait, || find::find(self, wanted, deadline), rescan)
    }

    fn rescan(&self, deadline: Deadline) -> Result<()> {
        let spoken = dialects![
            disk[v1 v1beta3 v1beta2 v1beta1 v1alpha1] Rescan: RescanRequest {} => |_| Ok(());
        ];
        self.change("rescan disks", &[], deadline, &spoken)
    }

    fn partition(&self, disk: &FoundDisk, deadline: Deadline) -> Result<()> {
        find::require(self, "partition disk", disk, deadline)?;
        let disk = disk.number();
        let spoken = dialects![
            disk[v1 v1beta3] PartitionDisk: PartitionDiskRequest {
                disk_number: disk.0,
            } => |_| Ok(());
            disk[v1beta2 v1beta1 v1alpha1] PartitionDisk: PartitionDiskRequest {
                disk_id: disk.to_string(),
            } => |_| Ok(());
        ];
        self.change("partition disk", &[&disk], deadline, &spoken)
    }

    fn size(&self, disk: DiskNumber, deadline: Deadline) -> Result<u64> {
        let spoken = dialects![
            disk[v1 v1beta3] GetDiskStats: GetDiskStatsRequest {
                disk_number: disk.0,
            } => |answer| bytes(answer.total_bytes);
            disk[v1beta2 v1beta1] DiskStats: DiskStatsRequest {
                disk_id: disk.to_string(),
            } => |answer| bytes(answer.disk_size);
        ];
        self.look("look at disk", &[&disk], deadline, &spoken)
    }

    fn is_online(&self, disk: DiskNumber, deadline: Deadline) -> Result<bool> {
        let spoken = dialects![
            disk[v1 v1beta3] GetDiskState: GetDiskStateRequest {
                disk_number: disk.0,
            } => |answer| Ok(answer.is_online);
            disk[v1beta2] GetAttachState: GetAttachStateRequest {
                disk_id: disk.to_string(),
            } => |answer| Ok(answer.is_online);
        ];
        self.look("look at disk", &[&disk], deadline, &spoken)
    }

    /// The protocol reads no disk: [`Feature::ContentLooks`].
    fn check_content(
        &self,
        _disk: &FoundDisk,
        _wanted: Option<FileSystemType>,
        _deadline: Deadline,
    ) -> Result<()> {
        Ok(())
    }

    fn bring_online(&self, disk: &FoundDisk, deadline: Deadline) -> Result<()> {
        find::require(self, "online disk", disk, deadline)?;
        switch(self, "online disk", disk, State::Online, deadline)
    }

    fn offline_reason(
        &self,
        disk: DiskNumber,
        _deadline: Deadline,
    ) -> Result<Option<OfflineReason>> {
        let cause = unsupported("why a disk is offline", Feature::OfflineReasons);
        Err(Error::new("look at disk", disk, cause))
    }

    fn is_read_only(&self, disk: DiskNumber, _deadline: Deadline) -> Result<bool> {
        let cause = unsupported("whether a disk is read-only", Feature::ReadOnlyDisks);
        Err(Error::new("look at disk", disk, cause))
    }

    fn is_write_protected(&self, disk: DiskNumber, _deadline: Deadline) -> Result<bool> {
        let what = "whether a device is write-protected";
        let cause = unsupported(what, Feature::WriteProtection);
        Err(Error::new("look at disk", disk, cause))
    }

    fn bring_online_read_only(&self, disk: &FoundDisk, _deadline: Deadline) -> Result<()> {
        let cause = unsupported("a disk for readers alone", Feature::ReadOnlyDisks);
        Err(Error::new("online disk read-only", disk.number(), cause))
    }

    fn take_offline(&self, disk: &FoundDisk, deadline: Deadline) -> Result<()> {
        find::require(self, OFFLINE, disk, deadline)?;
        if !self.is_online(disk.number(), deadline)? {
            return Ok(());
        }
        for volume in disk.volumes(self, deadline)? {
            let written = write_cache(self, volume, deadline);
            written.map_err(|error| Error::new(OFFLINE, disk.number(), error.cause))?;
        }
        find::require(self, OFFLINE, disk, deadline)?;
        switch(self, OFFLINE, disk, State::Offline, deadline)
    }
}

/// A volume that is read-only, or has no filesystem, has nothing cached.
fn write_cache(node: &Node, volume: VolumeId, deadline: Deadline) -> Result<()> {
    match node.flush(volume, deadline) {
        Err(error) if error.is(Condition::ReadOnly) => Ok(()),
        Err(_) if node.is_formatted(volume, deadline) == Ok(false) => Ok(()),
        flushed => flushed,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Offline,
    Online,
}

fn switch(
    node: &Node,
    operation: &'static str,
    disk: &FoundDisk,
    state: State,
    deadline: Deadline,
) -> Result<()> {
    let disk = disk.number();
    let is_online = state == State::Online;
    let spoken = dialects![
        disk[v1 v1beta3] SetDiskState: SetDiskStateRequest {
            disk_number: disk.0,
            is_online,
        } => |_| Ok(());
        disk[v1beta2] SetAttachState: SetAttachStateRequest {
            disk_id: disk.to_string(),
            is_online,
        } => |_| Ok(());
    ];
    node.change(operation, &[&disk], deadline, &spoken)
}

fn location(parts: [String; 4]) -> Location {
    let [adapter, bus, target, lun] = parts.map(|part| (!part.is_empty()).then_some(part));
    Location {
        adapter,
        bus,
        target,
        lun,
        ..Location::default()
    }
}

/// csi-proxy hands the serial number on as the disk has it, blanks included.
fn disk_ids(page83: String, serial: &str) -> DiskIds {
    DiskIds::new(page83, serial.trim())
}

fn keyed_ids(mut identifiers: BTreeMap<String, String>) -> DiskIds {
    let page83 = identifiers.remove(PAGE83).unwrap_or_default();
    disk_ids(page83, identifiers.get(SERIAL).map_or("", String::as_str))
}

fn sole(page83: &str, disks: &BTreeMap<DiskNumber, DiskIds>) -> Read<DiskNumber> {
    let same = disks.iter().filter(|(_, ids)| ids.page83 == page83);
    let found: Vec<_> = same.map(|(number, _)| *number).collect();
    match found.as_slice() {
        [one] => Ok(*one),
        [] => Err(Cause::failed(Condition::NotFound, "no disk has it")),
        several => {
            let text = format!("not one disk but {several:?} have it");
            Err(Cause::failed(Condition::Ambiguous, text))
        }
    }
}
