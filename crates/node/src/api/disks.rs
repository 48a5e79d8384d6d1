use std::collections::BTreeMap;
use std::time::Duration;

use formats::location::Location;
use os::{Deadline, DiskNumber, WinPath};

use super::Result;
#[allow(unused_imports, reason = "the pages link to them")]
use super::links::*;
use super::operations::operations;
use crate::{DiskIds, DiskQuery, FileSystemType, FoundDisk, OfflineReason};

operations! {
by deadline;

/// The operations on disks.
pub trait Disks {
    /// The location of each disk; a disk without a usable location is left out. The list only reports: it includes
    /// disks that are never written.
    ///
    /// # Errors
    /// [`NotReady`], [`AccessDenied`].
    fn locations(&self, deadline: Deadline) -> Result<BTreeMap<DiskNumber, Location>>
        = disks.locations, "list locations of", "disks";

    /// The identifiers of each disk; a disk that does not answer is left out and logged. The list only reports: it
    /// includes disks that are never written.
    ///
    /// # Errors
    /// [`NotReady`], [`AccessDenied`].
    fn ids(&self, deadline: Deadline) -> Result<BTreeMap<DiskNumber, DiskIds>>
        = disks.ids, "list ids of", "disks";

    /// The one disk with this page 0x83 identifier, exactly as [`Disks::ids`] spells it. Disks that are never written
    /// are no candidates; one that does not answer is passed over and logged.
    ///
    /// # Errors
    /// [`NotFound`], [`Ambiguous`].
    fn by_page83(&self, page83: &str, deadline: Deadline) -> Result<DiskNumber>
        = disks.by_page83, "find disk", page83;

    /// The one disk that meets all of the query. Operations that change a disk for a driver take this result, and check
    /// it again right before the change. A new disk is found after a [`Disks::rescan`], or later. Disks that are never
    /// written are no candidates, and neither are disks that do not report for certain what they are: one dead disk
    /// must not keep all others from being found.
    ///
    /// The search may change one thing: Windows's storage provider may hide a read-only clone beside its original until
    /// the read-only attribute is cleared. The attribute is cleared if the query has a page 0x83 identifier that no
    /// other disk has, and partition table and node exclude the other disks that the provider hides (of a cluster or a
    /// pool, dynamic). The clone is found if the provider lists it then
    /// (<https://github.com/kubernetes-csi/csi-proxy/issues/287>).
    ///
    /// See [`Feature::GuardedDisks`] and [`Feature::HiddenClones`].
    ///
    /// # Errors
    /// [`Cause::NotIdentified`]: no disk matches ([`NotFound`]), several match ([`Ambiguous`]), a candidate reports too
    /// little to decide ([`Uncertain`]), or the disk is never written ([`Guarded`]). [`NotReady`], [`AccessDenied`].
    /// [`Cause::Unsupported`] without [`Feature::DeviceCriteria`].
    fn find(&self, wanted: &DiskQuery, deadline: Deadline) -> Result<FoundDisk>
        = disks.find, "find the disk with", wanted;

    /// The disk of the volume that is mounted where a path leads by links, by all names and the location that it
    /// reports: for unstaging without a record. After that the volume can be unmounted, and [`Disks::take_offline`]
    /// takes the found disk. The caller must trust the path.
    ///
    /// # Errors
    /// As [`Volumes::of_target`], so that the disk of a plain directory is never found. [`Changed`], [`Ambiguous`],
    /// [`Guarded`]; [`Uncertain`] if the disk reports too little about itself; [`NotAnswering`]; [`Other`] for a volume
    /// on several disks.
    fn find_at(&self, path: &WinPath, deadline: Deadline) -> Result<FoundDisk>
        = disks.find_at, "find the disk at", path;

    /// [`Disks::find`] for a disk that was just attached and may not have arrived: while no disk matches, or one
    /// reports too little, the node rescans and searches again.
    ///
    /// All callers on one handle and its clones share the rescans: one rescan at a time is under way, and it serves
    /// every call that came before it began. A call that finds its disk goes on at once, even while a rescan hangs. The
    /// next rescan begins half a second after one that showed no disk, later ones after up to five seconds.
    ///
    /// `patience` is how long the call waits for a missing disk. It should be shorter than the rest of the deadline: a
    /// call that reaches its deadline reports nothing about the disks. There is at least one rescan, however short
    /// `patience` is.
    ///
    /// # Errors
    /// As [`Disks::find`], after `patience`, if the disk is not found or uncertain; as [`Disks::rescan`], if its
    /// failure is not transient or `patience` is over; [`NotAnswering`] after `patience`, if a rescan hangs and none
    /// has ended that began after the call.
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
    /// [`NotReady`], [`AccessDenied`].
    fn rescan(&self, deadline: Deadline) -> Result<()>
        = self.rescan_for_all;

    /// Ensures that the disk has a partition table and a partition with a volume. A raw disk becomes a GPT disk; a GPT
    /// disk with only the reserved partition gets one basic data partition. A disk with any other partition stays as it
    /// is. On an online disk the call waits until the volumes are visible.
    ///
    /// # Errors
    /// [`Changed`], [`NotFound`], [`NotBlank`], [`Guarded`], [`OutOfDate`], [`DeviceFailed`]; [`NotReady`] where its
    /// volume does not appear in time; [`Offline`] and [`ReadOnly`] of a disk that [`Disks::bring_online`] has not been
    /// called for.
    fn partition(&self, disk: &FoundDisk, deadline: Deadline) -> Result<()>
        = disks.partition, "partition disk", disk.number();

    /// The length of the whole disk in bytes.
    ///
    /// # Errors
    /// [`NotFound`], [`DeviceFailed`], [`NotAnswering`].
    fn size(&self, disk: DiskNumber, deadline: Deadline) -> Result<u64>
        = disks.size, "look at disk", disk;

    /// Whether the disk is online.
    ///
    /// # Errors
    /// [`NotFound`], [`NotAnswering`].
    fn is_online(&self, disk: DiskNumber, deadline: Deadline) -> Result<bool>
        = disks.is_online, "look at disk", disk;

    /// Why Windows has the disk offline, as the storage provider knew it last: it is not made to look again. `None` of
    /// a disk that is online, or offline without a reason.
    ///
    /// # Errors
    /// As [`Disks::is_online`]. [`Cause::Unsupported`] without [`Feature::OfflineReasons`].
    fn offline_reason(&self, disk: DiskNumber, deadline: Deadline) -> Result<Option<OfflineReason>>
        = disks.offline_reason, "look at disk", disk;

    /// Whether the disk has the read-only attribute.
    ///
    /// # Errors
    /// As [`Disks::is_online`]. [`Cause::Unsupported`] without [`Feature::ReadOnlyDisks`].
    fn is_read_only(&self, disk: DiskNumber, deadline: Deadline) -> Result<bool>
        = disks.is_read_only, "look at disk", disk;

    /// Whether the device itself refuses writes: a locked card, a read-only export, a write-protected unit. The
    /// read-only attribute is another thing: Windows keeps it, and [`Disks::bring_online`] clears it. The answer of a
    /// writable device while that attribute is set is unknown, so call this while [`Disks::is_read_only`] is false.
    ///
    /// Operations that would write to such a disk fail with [`ReadOnly`], as after [`Disks::bring_online_read_only`].
    ///
    /// # Errors
    /// [`NotFound`], [`NotAnswering`], [`DeviceFailed`] and others if the device does not report it.
    /// [`Cause::Unsupported`] without [`Feature::WriteProtection`].
    fn is_write_protected(&self, disk: DiskNumber, deadline: Deadline) -> Result<bool>
        = disks.is_write_protected, "look at disk", disk;

    /// Fails if what the disk holds would be refused once it is online: for readers (`None`) by [`Volumes::find_on`],
    /// for writers by [`Disks::partition`] and [`Volumes::ensure_formatted`] too. It changes nothing, and success is no
    /// proof. A disk that is online and as writable as wanted is not looked at, nor any with the guard off. Real Windows
    /// has not run it.
    ///
    /// See [`Feature::ContentLooks`].
    ///
    /// # Errors
    /// [`NotBlank`], also of another filesystem; [`NotFound`], [`Ambiguous`], [`Changed`], [`NotAnswering`].
    fn check_content(
        &self,
        disk: &FoundDisk,
        wanted: Option<FileSystemType>,
        deadline: Deadline,
    ) -> Result<()>
        = disks.check_content, "look at disk", disk.number();

    /// Makes the disk writable and brings it online, as staging needs it. Read-only is cleared first: Windows writes a
    /// new signature to a clone whose original is online only if the clone is writable
    /// (<https://github.com/kubernetes-csi/csi-proxy/issues/287>,
    /// <https://github.com/hpe-storage/common-host-libs/pull/40>). Only both together are success: after a failure the
    /// next call goes on. csi-proxy's pipes cannot report whether an online disk is writable.
    ///
    /// # Errors
    /// [`Changed`], [`NotFound`], [`Guarded`]; [`Ambiguous`] of a second path to a disk, which stays offline as long as
    /// MPIO does not make one disk of both; [`Offline`] and [`ReadOnly`] if Windows reports success and the disk stays so.
    fn bring_online(&self, disk: &FoundDisk, deadline: Deadline) -> Result<()>
        = disks.bring_online, "online disk", disk.number();

    /// Brings the disk online read-only: neither pods nor Windows write to it. A disk that is both is left as it is. It
    /// is read-only before it comes online, and checked afterwards; a disk that is online and writable goes offline
    /// first, but only if no volume of it has an access path and all can be locked within ten seconds.
    /// [`Disks::bring_online`] makes it writable again. Operations that would write to it fail with [`ReadOnly`]:
    /// [`Disks::partition`] unless there is a partition, [`Volumes::ensure_formatted`] unless there is a filesystem,
    /// [`Volumes::resize`].
    ///
    /// By its page the attribute outlives a restart
    /// (<https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-set_disk_attributes>), which nobody has
    /// seen; a driver calls this again after one. Windows refuses a clone beside its original, as it would have to
    /// write another signature to the clone. A clone that [`Disks::find`] made writable, so that the provider lists it,
    /// becomes read-only again, and was offline all the time.
    ///
    /// # Errors
    /// [`OnlineWritable`], with nothing changed; [`Changed`], [`NotFound`], [`Guarded`], [`Offline`] if Windows reports
    /// success and the disk stays offline. A disk that was online and writable is so again if Windows refuses to make
    /// it read-only. [`Cause::Unsupported`] without [`Feature::ReadOnlyDisks`].
    fn bring_online_read_only(&self, disk: &FoundDisk, deadline: Deadline) -> Result<()>
        = disks.bring_online_read_only, "online disk read-only", disk.number();

    /// Takes a disk offline when nothing on it is in use: the last step of unstaging. Every volume on it, of any
    /// partition, is first flushed, locked and dismounted
    /// (<https://learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-fsctl_lock_volume>), and stays locked until
    /// the disk is offline, so that nothing is opened in between. A disk that is offline is left as it is. A volume
    /// with an access path (a drive letter or a mounted folder) is in use, even with nothing open on it.
    ///
    /// The call waits up to ten seconds for a volume on which a process has something open. After that it fails, having
    /// only flushed: it dismounts no volume without its lock, and cannot be forced, as a process with an open file
    /// would lose unwritten data. If Windows refuses after that, the volumes are mounted again at the next open.
    ///
    /// See [`Feature::CheckedOffline`].
    ///
    /// # Errors
    /// [`InUse`]; [`Changed`], [`NotFound`], [`Guarded`], [`DeviceFailed`]. [`Needs::Version`] if csi-proxy is too old
    /// to flush.
    fn take_offline(&self, disk: &FoundDisk, deadline: Deadline) -> Result<()>
        = disks.take_offline, "offline disk", disk.number();
}
}
