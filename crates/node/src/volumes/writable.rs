//! Where a volume lies, under the locks of both volume and disk.

use std::collections::BTreeSet;

use os::{Deadline, DiskNumber, DriveLayout, Extent, Os, PartitionEntry, PartitionStyle, VolumeId};

use super::{NamedVolume, VolumeError};
use crate::disks::guard::{self, ChangeScope};
use crate::locks::{Key, LockGuard};
use crate::provider::ProviderError;
use crate::{DiskError, Node, storage};

/// The disks that hold extents of a volume.
pub(crate) fn disks_of(os: &Os, volume: VolumeId) -> os::Result<BTreeSet<DiskNumber>> {
    let extents = os.volumes.extents(volume)?;
    Ok(extents.iter().map(|extent| extent.disk).collect())
}

/// The one disk that holds all of a volume.
pub(crate) fn disk_of(os: &Os, volume: VolumeId) -> Result<DiskNumber, VolumeError> {
    let extents = os.volumes.extents(volume);
    let extents = extents.map_err(VolumeError::failed("look at", volume))?;
    let disks: BTreeSet<_> = extents.iter().map(|extent| extent.disk).collect();
    match disks.first() {
        Some(disk) if disks.len() == 1 => Ok(*disk),
        _ => Err(not_one_partition(volume, &extents)),
    }
}

/// A volume that is one partition of one disk and may be written.
pub(super) struct WritableVolume<'a> {
    node: &'a Node,
    named: NamedVolume<'a>,
    deadline: Deadline,
    pub(super) disk: storage::Disk,
    pub(super) layout: DriveLayout,
    pub(super) partition: PartitionEntry,
    pub(super) extent: Extent,
    _held: LockGuard,
}

impl<'a> WritableVolume<'a> {
    /// Locks the volume, then its disk. Refuses a disk that is never written, and a volume or disk that is
    /// not the one that was found.
    pub(super) fn take(
        node: &'a Node,
        operation: &'static str,
        named: NamedVolume<'a>,
        scope: ChangeScope,
        deadline: Deadline,
    ) -> Result<Self, VolumeError> {
        let volume = named.id();
        let mut held = node.lock(operation, [Key::Volume(volume)], deadline)?;
        let extent = sole_extent(node.os(), operation, volume)?;
        held.add(Key::Disk(extent.disk), deadline)?;
        let disk = named.disk(node, extent.disk)?.object(node, deadline)?;
        let layout = node.disk_layout(extent.disk)?;
        guard::refuse(node, &disk, &layout, scope, deadline)?;
        let partition = partition_at(&layout, extent, volume)?;
        Ok(Self {
            node,
            named,
            deadline,
            disk,
            layout,
            partition,
            extent,
            _held: held,
        })
    }

    /// Refuses a disk that is never written, for changes of this scope.
    pub(super) fn require(&self, scope: ChangeScope) -> Result<(), VolumeError> {
        let refused = guard::refuse(self.node, &self.disk, &self.layout, scope, self.deadline);
        refused.map_err(VolumeError::from)
    }

    /// Refuses a disk that a driver brought online read-only, or whose device refuses writes. csi-proxy's clients, who
    /// name volumes by id, get Windows's own error.
    pub(super) fn refuse_read_only(&self) -> Result<(), VolumeError> {
        match self.named {
            NamedVolume::Found(_) => Ok(guard::refuse_read_only(self.node, self.disk.number)?),
            NamedVolume::Id(_) => Ok(()),
        }
    }

    /// The provider's object of the partition, which must match the kernel's by offset and GUID.
    pub(super) fn row(&self) -> Result<storage::Partition, VolumeError> {
        let disk = self.disk.number;
        let rows = storage::Partition::list(self.node, &self.disk, self.deadline)?;
        let mut rows = rows.into_iter();
        let found = rows.find(|row| row.offset == self.partition.offset);
        let what = format!("partition {} of disk {disk}", self.partition.number);
        let row = found.ok_or_else(|| ProviderError::not_found(&what))?;
        let is_same = match self.layout.style {
            PartitionStyle::Gpt { .. } => row.guid == Some(self.partition.id),
            _ => row.guid.is_none(),
        };
        if is_same {
            return Ok(row);
        }
        Err(DiskError::ViewsDiffer {
            disk,
            kernel: format!("partition {}", self.partition.id),
            provider: format!("partition {:?}", row.guid),
        }
        .into())
    }

    /// Reads the layout again.
    pub(super) fn look_again(&mut self) -> Result<(), VolumeError> {
        self.layout = self.node.disk_layout(self.disk.number)?;
        let extent = self.extent_now()?;
        if extent.disk != self.disk.number {
            return Err(self.moved(extent));
        }
        self.partition = partition_at(&self.layout, extent, self.named.id())?;
        self.extent = extent;
        Ok(())
    }

    /// Refuses a volume that is not the one that was found, or has moved; the latter by the kernel only.
    /// The provider identifies a volume by the volume's own name, which is the kernel's too, so its object
    /// cannot mean another volume. The number of the disk still belongs to the device that the provider
    /// reported.
    pub(super) fn require_unmoved(&self) -> Result<(), VolumeError> {
        let disk = self.named.disk(self.node, self.disk.number)?;
        disk.require(self.node, self.deadline)?;
        let extent = self.extent_now()?;
        if extent != self.extent {
            return Err(self.moved(extent));
        }
        Ok(disk.require_same(self.node, &self.disk, self.deadline)?)
    }

    fn extent_now(&self) -> Result<Extent, VolumeError> {
        sole_extent(self.node.os(), "look at", self.named.id())
    }

    fn moved(&self, to: Extent) -> VolumeError {
        let (volume, from) = (self.named.id(), self.extent);
        VolumeError::Moved { volume, from, to }
    }
}

fn sole_extent(os: &Os, operation: &'static str, volume: VolumeId) -> Result<Extent, VolumeError> {
    let extents = os.volumes.extents(volume);
    let extents = extents.map_err(VolumeError::failed(operation, volume))?;
    match extents.as_slice() {
        [one] => Ok(*one),
        several => Err(not_one_partition(volume, several)),
    }
}

fn partition_at(
    layout: &DriveLayout,
    extent: Extent,
    volume: VolumeId,
) -> Result<PartitionEntry, VolumeError> {
    let mut partitions = layout.partitions.iter();
    let found = partitions.find(|partition| partition.offset == extent.offset);
    let found = found.ok_or_else(|| not_one_partition(volume, &[extent]));
    found.cloned()
}

fn not_one_partition(volume: VolumeId, extents: &[Extent]) -> VolumeError {
    let disks: BTreeSet<_> = extents.iter().map(|extent| extent.disk).collect();
    VolumeError::NotOnePartition {
        volume,
        extents: extents.len(),
        disks: disks.into_iter().collect(),
    }
}
