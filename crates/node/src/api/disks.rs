use std::collections::BTreeMap;
use std::time::Duration;

use formats::location::Location;
use os::{Deadline, DiskNumber, WinPath};

use super::Result;
use super::operations::operations;
use super::sealed::Sealed;
use crate::{DiskIds, DiskQuery, FoundDisk, Node};

operations! {
by deadline;

/// The operations on disks.
pub trait Disks {
    /// The location of each disk; a disk without a usable location is left out.
    ///
    /// # Errors
    /// [`NotReady`](super::Condition::NotReady), [`AccessDenied`](super::Condition::AccessDenied).
    fn locations(&self, deadline: Deadline) -> Result<BTreeMap<DiskNumber, Location>>
        = disks.locations, "list locations of", "disks";

    /// The identifiers of each disk.
    ///
    /// # Errors
    /// [`NotReady`](super::Condition::NotReady), [`AccessDenied`](super::Condition::AccessDenied).
    fn ids(&self, deadline: Deadline) -> Result<BTreeMap<DiskNumber, DiskIds>>
        = disks.ids, "list ids of", "disks";

    /// The one disk with this page 0x83 identifier, exactly as [`Disks::ids`] spells it.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound), [`Ambiguous`](super::Condition::Ambiguous).
    fn by_page83(&self, page83: &str, deadline: Deadline) -> Result<DiskNumber>
        = disks.by_page83, "find disk", page83;

    /// The one disk that meets all of the query. Operations that change a disk for a driver take this
    /// result, and check it again right before the change.
    ///
    /// See [`Feature::GuardedDisks`](super::Feature::GuardedDisks) and
    /// [`Feature::HiddenClones`](super::Feature::HiddenClones).
    ///
    /// # Errors
    /// [`Cause::NotIdentified`](super::Cause::NotIdentified): no disk matches ([`NotFound`](super::Condition::NotFound)), several match
    /// ([`Ambiguous`](super::Condition::Ambiguous)), a candidate reports too little to decide
    /// ([`Uncertain`](super::Condition::Uncertain)), or the disk is never written ([`Guarded`](super::Condition::Guarded)).
    /// [`NotReady`](super::Condition::NotReady), [`AccessDenied`](super::Condition::AccessDenied).
    /// [`Cause::Unsupported`](super::Cause::Unsupported) without
    /// [`Feature::DeviceCriteria`](super::Feature::DeviceCriteria).
    fn find(&self, wanted: &DiskQuery, deadline: Deadline) -> Result<FoundDisk>
        = disks.find, "find the disk with", wanted;

    /// The disk of the volume that is mounted where a path leads by links, by all names and the location that it
    /// reports: for unstaging without a record. After that the volume can be unmounted, and
    /// [`Disks::take_offline`] takes the found disk.
    ///
    /// # Errors
    /// As [`Volumes::of_target`](super::Volumes::of_target), so that the disk of a plain directory is never found.
    /// [`Changed`](super::Condition::Changed), [`Ambiguous`](super::Condition::Ambiguous),
    /// [`Guarded`](super::Condition::Guarded); [`Uncertain`](super::Condition::Uncertain) if the disk reports too
    /// little about itself; [`NotAnswering`](super::Condition::NotAnswering); [`Other`](super::Condition::Other) for a
    /// volume on several disks.
    fn find_at(&self, path: &WinPath, deadline: Deadline) -> Result<FoundDisk>
        = disks.find_at, "find the disk at", path;

    /// [`Disks::find`] for a disk that was just attached and may not have arrived: while no disk matches, or one
    /// reports too little, the node rescans and searches again.
    ///
    /// All callers on one handle and its clones share the rescans: one rescan at a time is under way, and it serves
    /// every call that came before it began. A call that finds its disk goes on at once, even while a rescan hangs.
    /// The next rescan begins half a second after one that showed no disk, later ones after up to five seconds.
    ///
    /// `poll` is how long the call waits for a missing disk. It should be shorter than the rest of the deadline: a
    /// call that reaches its deadline reports nothing about the disks. There is at least one rescan, however short
    /// `poll` is.
    ///
    /// # Errors
    /// As [`Disks::find`], after `poll`, if the disk is not found or uncertain; as [`Disks::rescan`], if its
    /// failure is not transient or `poll` is over; [`NotAnswering`](super::Condition::NotAnswering) after `poll`,
    /// if a rescan hangs and none has ended that began after the call.
    fn find_attached(
        &self,
        wanted: &DiskQuery,
        patience: Duration,
        deadline: Deadline,
    ) -> Result<FoundDisk>
        = self.find_once_attached;

    /// Makes Windows look for disks that were added, removed or grew.
    ///
    /// # Errors
    /// [`NotReady`](super::Condition::NotReady), [`AccessDenied`](super::Condition::AccessDenied).
    fn rescan(&self, deadline: Deadline) -> Result<()>
        = self.rescan_for_all;

    /// Ensures that the disk has a partition table and a partition with a volume.
    ///
    /// # Errors
    /// [`Changed`](super::Condition::Changed), [`NotFound`](super::Condition::NotFound),
    /// [`NotBlank`](super::Condition::NotBlank), [`Guarded`](super::Condition::Guarded),
    /// [`OutOfDate`](super::Condition::OutOfDate), [`DeviceFailed`](super::Condition::DeviceFailed);
    /// [`NotReady`](super::Condition::NotReady) where its volume does not appear in time;
    /// [`Offline`](super::Condition::Offline) and [`ReadOnly`](super::Condition::ReadOnly) of a disk that
    /// [`Disks::bring_online`] has not been called for.
    fn partition(&self, disk: &FoundDisk, deadline: Deadline) -> Result<()>
        = disks.partition, "partition disk", disk.number();

    /// The length of the whole disk in bytes.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound), [`DeviceFailed`](super::Condition::DeviceFailed),
    /// [`NotAnswering`](super::Condition::NotAnswering).
    fn size(&self, disk: DiskNumber, deadline: Deadline) -> Result<u64>
        = disks.size, "look at disk", disk;

    /// Whether the disk is online.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound), [`NotAnswering`](super::Condition::NotAnswering).
    fn is_online(&self, disk: DiskNumber, deadline: Deadline) -> Result<bool>
        = disks.is_online, "look at disk", disk;

    /// Whether the disk has the read-only attribute.
    ///
    /// # Errors
    /// As [`Disks::is_online`]. [`Cause::Unsupported`](super::Cause::Unsupported) without
    /// [`Feature::ReadOnlyDisks`](super::Feature::ReadOnlyDisks).
    fn is_read_only(&self, disk: DiskNumber, deadline: Deadline) -> Result<bool>
        = disks.is_read_only, "look at disk", disk;

    /// Whether the device itself refuses writes: a locked card, a read-only export, a write-protected unit. The
    /// read-only attribute is another thing: Windows keeps it, and [`Disks::bring_online`] clears it. The answer of a
    /// writable device while that attribute is set is unknown, so call this while [`Disks::is_read_only`] is false.
    ///
    /// Operations that would write to such a disk fail with [`ReadOnly`](super::Condition::ReadOnly), as after
    /// [`Disks::bring_online_read_only`].
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound), [`NotAnswering`](super::Condition::NotAnswering),
    /// [`DeviceFailed`](super::Condition::DeviceFailed) and others if the device does not report
    /// it. [`Cause::Unsupported`](super::Cause::Unsupported) without
    /// [`Feature::WriteProtection`](super::Feature::WriteProtection).
    fn is_write_protected(&self, disk: DiskNumber, deadline: Deadline) -> Result<bool>
        = disks.is_write_protected, "look at disk", disk;

    /// Makes the disk writable and brings it online, as staging needs it. csi-proxy's pipes cannot report
    /// whether an online disk is writable.
    ///
    /// # Errors
    /// [`Changed`](super::Condition::Changed), [`NotFound`](super::Condition::NotFound),
    /// [`Guarded`](super::Condition::Guarded); [`Offline`](super::Condition::Offline) and
    /// [`ReadOnly`](super::Condition::ReadOnly) if Windows reports success and the disk stays so.
    fn bring_online(&self, disk: &FoundDisk, deadline: Deadline) -> Result<()>
        = disks.bring_online, "online disk", disk.number();

    /// Brings the disk online read-only: it is read-only before it comes online, and stays so over restarts. A disk
    /// that is both is left as it is; a disk that is online and writable goes offline first, if nobody uses it.
    /// [`Disks::bring_online`] makes it writable again. Operations that would write to it fail with
    /// [`ReadOnly`](super::Condition::ReadOnly): [`Disks::partition`] unless there is a partition,
    /// [`Volumes::ensure_formatted`](super::Volumes::ensure_formatted) unless there is a filesystem,
    /// [`Volumes::resize`](super::Volumes::resize).
    ///
    /// # Errors
    /// [`OnlineWritable`](super::Condition::OnlineWritable), with nothing changed;
    /// [`Changed`](super::Condition::Changed), [`NotFound`](super::Condition::NotFound),
    /// [`Guarded`](super::Condition::Guarded), [`Offline`](super::Condition::Offline) if Windows reports success
    /// and the disk stays offline. A disk that was online and writable is so again if Windows refuses to make it
    /// read-only. [`Cause::Unsupported`](super::Cause::Unsupported) without
    /// [`Feature::ReadOnlyDisks`](super::Feature::ReadOnlyDisks).
    fn bring_online_read_only(&self, disk: &FoundDisk, deadline: Deadline) -> Result<()>
        = disks.bring_online_read_only, "online disk read-only", disk.number();

    /// Takes a disk offline when nothing on it is in use: the last step of unstaging. Every volume on it is first
    /// flushed, locked and dismounted, and stays locked until the disk is offline. A disk that is offline is left as
    /// it is. A volume with an access path is in use. The call cannot be forced, as a process with an open file would
    /// lose unwritten data.
    ///
    /// See [`Feature::CheckedOffline`](super::Feature::CheckedOffline).
    ///
    /// # Errors
    /// [`InUse`](super::Condition::InUse); [`Changed`](super::Condition::Changed),
    /// [`NotFound`](super::Condition::NotFound), [`Guarded`](super::Condition::Guarded),
    /// [`DeviceFailed`](super::Condition::DeviceFailed). [`Needs::Version`](super::Needs::Version) if csi-proxy is too
    /// old to flush.
    fn take_offline(&self, disk: &FoundDisk, deadline: Deadline) -> Result<()>
        = disks.take_offline, "offline disk", disk.number();
}
}
