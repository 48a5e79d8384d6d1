//! One trait for each group of operations.
//!
//! The methods of the same names in [`crate::Disks`], [`crate::Filesystem`], [`crate::Firmware`],
//! [`crate::Services`], [`crate::Smb`], [`crate::System`] and [`crate::Volumes`] document in full
//! what each operation does and refuses.

use std::collections::BTreeMap;
use std::time::Duration;

use formats::location::Location;
use os::{BootId, Deadline, DiskNumber, PartitionNumber, ServiceInfo, Space, VolumeId, WinPath};

use super::Result;
use super::sealed::Sealed;
use crate::{
    Dependents, DiskIds, DiskQuery, FormatOptions, Formatted, FoundDisk, FoundVolume, LinkTarget,
    Listing, Look, MapOutcome, MapRequest, NewSize, RemotePath, Resized, ServiceName, ShareMapping,
    UnmapOutcome,
};

/// The operations on disks.
pub trait Disks: Sealed + Send + Sync {
    /// The location of each disk; a disk without a usable location is left out.
    ///
    /// # Errors
    /// [`NotReady`](super::Condition::NotReady), [`AccessDenied`](super::Condition::AccessDenied).
    fn locations(&self, deadline: Deadline) -> Result<BTreeMap<DiskNumber, Location>>;

    /// The identifiers of each disk.
    ///
    /// # Errors
    /// [`NotReady`](super::Condition::NotReady), [`AccessDenied`](super::Condition::AccessDenied).
    fn ids(&self, deadline: Deadline) -> Result<BTreeMap<DiskNumber, DiskIds>>;

    /// The one disk with this page 0x83 identifier, exactly as [`Disks::ids`] spells it.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound), [`Ambiguous`](super::Condition::Ambiguous).
    fn by_page83(&self, page83: &str, deadline: Deadline) -> Result<DiskNumber>;

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
    fn find(&self, wanted: &DiskQuery, deadline: Deadline) -> Result<FoundDisk>;

    /// The disk of the volume that is mounted where a path leads by links, by all names and the location that it
    /// reports: for unstaging without a record. After that the volume can be unmounted, and
    /// [`Disks::take_offline`] takes the found disk.
    ///
    /// # Errors
    /// As [`Volumes::of_target`], so that the disk of a plain directory is never found.
    /// [`Changed`](super::Condition::Changed), [`Ambiguous`](super::Condition::Ambiguous),
    /// [`Guarded`](super::Condition::Guarded); [`Uncertain`](super::Condition::Uncertain) if the disk reports too
    /// little about itself; [`NotAnswering`](super::Condition::NotAnswering); [`Other`](super::Condition::Other) for a
    /// volume on several disks.
    fn find_at(&self, path: &WinPath, deadline: Deadline) -> Result<FoundDisk>;

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
    ) -> Result<FoundDisk>;

    /// Makes Windows look for disks that were added, removed or grew.
    ///
    /// # Errors
    /// [`NotReady`](super::Condition::NotReady), [`AccessDenied`](super::Condition::AccessDenied).
    fn rescan(&self, deadline: Deadline) -> Result<()>;

    /// Ensures that the disk has a partition table and a partition with a volume.
    ///
    /// # Errors
    /// [`Changed`](super::Condition::Changed), [`NotFound`](super::Condition::NotFound),
    /// [`NotBlank`](super::Condition::NotBlank), [`Guarded`](super::Condition::Guarded),
    /// [`OutOfDate`](super::Condition::OutOfDate), [`DeviceFailed`](super::Condition::DeviceFailed);
    /// [`NotReady`](super::Condition::NotReady) where its volume does not appear in time;
    /// [`Offline`](super::Condition::Offline) and [`ReadOnly`](super::Condition::ReadOnly) of a disk that
    /// [`Disks::bring_online`] has not been called for.
    fn partition(&self, disk: &FoundDisk, deadline: Deadline) -> Result<()>;

    /// The length of the whole disk in bytes.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound), [`DeviceFailed`](super::Condition::DeviceFailed),
    /// [`NotAnswering`](super::Condition::NotAnswering).
    fn size(&self, disk: DiskNumber, deadline: Deadline) -> Result<u64>;

    /// Whether the disk is online.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound), [`NotAnswering`](super::Condition::NotAnswering).
    fn is_online(&self, disk: DiskNumber, deadline: Deadline) -> Result<bool>;

    /// Whether the disk has the read-only attribute.
    ///
    /// # Errors
    /// As [`Disks::is_online`]. [`Cause::Unsupported`](super::Cause::Unsupported) without
    /// [`Feature::ReadOnlyDisks`](super::Feature::ReadOnlyDisks).
    fn is_read_only(&self, disk: DiskNumber, deadline: Deadline) -> Result<bool>;

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
    fn is_write_protected(&self, disk: DiskNumber, deadline: Deadline) -> Result<bool>;

    /// Makes the disk writable and brings it online, as staging needs it. csi-proxy's pipes cannot report
    /// whether an online disk is writable.
    ///
    /// # Errors
    /// [`Changed`](super::Condition::Changed), [`NotFound`](super::Condition::NotFound),
    /// [`Guarded`](super::Condition::Guarded); [`Offline`](super::Condition::Offline) and
    /// [`ReadOnly`](super::Condition::ReadOnly) if Windows reports success and the disk stays so.
    fn bring_online(&self, disk: &FoundDisk, deadline: Deadline) -> Result<()>;

    /// Brings the disk online read-only: it is read-only before it comes online, and stays so over restarts. A disk
    /// that is both is left as it is; a disk that is online and writable goes offline first, if nobody uses it.
    /// [`Disks::bring_online`] makes it writable again. Operations that would write to it fail with
    /// [`ReadOnly`](super::Condition::ReadOnly): [`Disks::partition`] unless there is a partition,
    /// [`Volumes::ensure_formatted`] unless there is a filesystem, [`Volumes::resize`].
    ///
    /// # Errors
    /// [`OnlineWritable`](super::Condition::OnlineWritable), with nothing changed;
    /// [`Changed`](super::Condition::Changed), [`NotFound`](super::Condition::NotFound),
    /// [`Guarded`](super::Condition::Guarded), [`Offline`](super::Condition::Offline) if Windows reports success
    /// and the disk stays offline. A disk that was online and writable is so again if Windows refuses to make it
    /// read-only. [`Cause::Unsupported`](super::Cause::Unsupported) without
    /// [`Feature::ReadOnlyDisks`](super::Feature::ReadOnlyDisks).
    fn bring_online_read_only(&self, disk: &FoundDisk, deadline: Deadline) -> Result<()>;

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
    fn take_offline(&self, disk: &FoundDisk, deadline: Deadline) -> Result<()>;
}

/// The operations on files, directories and links.
pub trait Filesystem: Sealed + Send + Sync {
    /// Whether an entry of this name exists; a dangling link counts.
    ///
    /// # Errors
    /// [`AccessDenied`](super::Condition::AccessDenied), [`PathRefused`](super::Condition::PathRefused),
    /// [`OutOfReach`](super::Condition::OutOfReach); never [`NotFound`](super::Condition::NotFound).
    fn path_exists(&self, path: &WinPath, deadline: Deadline) -> Result<bool>;

    /// Creates a directory and its parents; an existing one is success. So is a mounted folder whose volume is
    /// gone, which [`Volumes::mount`] replaces, with [`Feature::StaleMounts`](super::Feature::StaleMounts).
    ///
    /// # Errors
    /// [`AlreadyExists`](super::Condition::AlreadyExists) if something other than a directory has the
    /// name; [`AccessDenied`](super::Condition::AccessDenied),
    /// [`PathRefused`](super::Condition::PathRefused), [`OutOfReach`](super::Condition::OutOfReach),
    /// [`DanglingLink`](super::Condition::DanglingLink).
    fn make_directory(&self, path: &WinPath, deadline: Deadline) -> Result<()>;

    /// Removes one entry: a file, an empty directory, or a link, whose target stays untouched.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound), [`NotEmpty`](super::Condition::NotEmpty),
    /// [`InUse`](super::Condition::InUse), [`AccessDenied`](super::Condition::AccessDenied),
    /// [`PathRefused`](super::Condition::PathRefused), [`OutOfReach`](super::Condition::OutOfReach).
    fn remove_entry(&self, path: &WinPath, deadline: Deadline) -> Result<()>;

    /// Removes an entry and, if it is a plain directory, everything in it; links are not followed. A missing
    /// entry is success.
    ///
    /// # Errors
    /// [`InUse`](super::Condition::InUse), [`AccessDenied`](super::Condition::AccessDenied),
    /// [`PathRefused`](super::Condition::PathRefused), [`OutOfReach`](super::Condition::OutOfReach). Entries
    /// removed before the failure stay removed.
    fn remove_tree(&self, path: &WinPath, deadline: Deadline) -> Result<()>;

    /// Empties a plain directory and keeps it.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound), [`InUse`](super::Condition::InUse),
    /// [`AccessDenied`](super::Condition::AccessDenied), [`PathRefused`](super::Condition::PathRefused),
    /// [`OutOfReach`](super::Condition::OutOfReach). Entries removed before the failure stay removed.
    fn remove_contents(&self, path: &WinPath, deadline: Deadline) -> Result<()>;

    /// Creates a symbolic link at `link` that leads to `source`.
    ///
    /// # Errors
    /// [`AlreadyExists`](super::Condition::AlreadyExists); from an older csi-proxy also for a link that
    /// leads there already. [`NotFound`](super::Condition::NotFound) if the folder of the link is missing;
    /// [`AccessDenied`](super::Condition::AccessDenied), [`PathRefused`](super::Condition::PathRefused),
    /// [`OutOfReach`](super::Condition::OutOfReach).
    fn create_symlink(&self, source: &WinPath, link: &WinPath, deadline: Deadline) -> Result<()>;

    /// Creates a directory link at `at` that leads to `to`. The target is not read, so it may be missing, or a share
    /// that is not mapped yet. A directory link that leads there already is success. A file link that leads there is
    /// replaced, as Windows opens no directory through one; [`Filesystem::create_symlink`] makes such file links if
    /// the target is missing.
    ///
    /// # Errors
    /// [`AlreadyExists`](super::Condition::AlreadyExists) for any other entry, also a link that leads elsewhere;
    /// [`NotFound`](super::Condition::NotFound) if the folder of the link is missing;
    /// [`AccessDenied`](super::Condition::AccessDenied), [`OutOfReach`](super::Condition::OutOfReach).
    /// [`Cause::Unsupported`](super::Cause::Unsupported) without
    /// [`Feature::DirectoryLinks`](super::Feature::DirectoryLinks).
    fn link_directory(&self, to: &WinPath, at: &WinPath, deadline: Deadline) -> Result<()>;

    /// Whether the entry is a link of any kind with an existing target.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound), [`AccessDenied`](super::Condition::AccessDenied),
    /// [`PathRefused`](super::Condition::PathRefused), [`OutOfReach`](super::Condition::OutOfReach).
    fn is_symlink(&self, path: &WinPath, deadline: Deadline) -> Result<bool>;

    /// The kind of entry at a path, and the target of a link: followed hop by hop, but onto no share, whose mapping
    /// counts instead.
    ///
    /// # Errors
    /// [`AccessDenied`](super::Condition::AccessDenied), [`OutOfReach`](super::Condition::OutOfReach),
    /// [`NotAnswering`](super::Condition::NotAnswering); never [`NotFound`](super::Condition::NotFound), which is
    /// [`Look::Missing`]. [`Cause::Unsupported`](super::Cause::Unsupported) without
    /// [`Feature::EntryLooks`](super::Feature::EntryLooks).
    fn look(&self, path: &WinPath, deadline: Deadline) -> Result<Look>;

    /// The stored target of a link, a junction or a mounted folder; `None` for another entry.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound), [`AccessDenied`](super::Condition::AccessDenied),
    /// [`NotAnswering`](super::Condition::NotAnswering).
    /// [`Cause::Unsupported`](super::Cause::Unsupported) without
    /// [`Feature::EntryLooks`](super::Feature::EntryLooks).
    fn read_link(&self, path: &WinPath, deadline: Deadline) -> Result<Option<LinkTarget>>;

    /// The entries of a directory, at most `most`. Processes that may write there chose the names, and may have
    /// replaced the entries since; a name must not go into an error or a log line unescaped.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound), [`AccessDenied`](super::Condition::AccessDenied);
    /// [`Crowded`](super::Condition::Crowded) while others list or change the path.
    /// [`Cause::Unsupported`](super::Cause::Unsupported) without
    /// [`Feature::EntryLooks`](super::Feature::EntryLooks).
    fn list(&self, directory: &WinPath, most: usize, deadline: Deadline) -> Result<Listing>;

    /// Size and free space of the filesystem under a directory, in bytes; links and mounted folders are
    /// followed, onto shares as well. [`Volumes::stats`] reports those of a volume.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound), [`AccessDenied`](super::Condition::AccessDenied),
    /// [`DeviceFailed`](super::Condition::DeviceFailed), [`ServerNotFound`](super::Condition::ServerNotFound),
    /// [`NotMapped`](super::Condition::NotMapped); [`NotAnswering`](super::Condition::NotAnswering) for a share on
    /// which an earlier call hangs. [`Cause::Unsupported`](super::Cause::Unsupported) without
    /// [`Feature::SpaceByPath`](super::Feature::SpaceByPath).
    fn space(&self, directory: &WinPath, deadline: Deadline) -> Result<Space>;
}

/// The operations on volumes.
pub trait Volumes: Sealed + Send + Sync {
    /// The volumes on a disk, or on one of its partitions, in the order of their offsets: a list to read.
    /// Operations that change a volume take a result of [`Volumes::find_on`] or [`Volumes::find_at`]; for a disk
    /// with several volumes, [`FoundVolume::on_disk`] of one of these.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound) without such a disk or partition; csi-proxy's pipes return an
    /// empty list instead. [`NotReady`](super::Condition::NotReady),
    /// [`NotAnswering`](super::Condition::NotAnswering).
    fn list_on_disk(
        &self,
        disk: DiskNumber,
        partition: Option<PartitionNumber>,
        deadline: Deadline,
    ) -> Result<Vec<VolumeId>>;

    /// The one volume on a found disk. Operations that format or resize a volume for a driver take the result
    /// of this or of [`Volumes::find_at`], and check it again right before the change.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound) for no volume, [`Ambiguous`](super::Condition::Ambiguous) for
    /// several; [`Changed`](super::Condition::Changed), [`NotReady`](super::Condition::NotReady).
    fn find_on(&self, disk: &FoundDisk, deadline: Deadline) -> Result<FoundVolume>;

    /// The volume that is mounted where a path leads by links: the one that a driver mounted there.
    ///
    /// # Errors
    /// As [`Volumes::of_target`].
    fn find_at(&self, path: &WinPath, deadline: Deadline) -> Result<FoundVolume>;

    /// Mounts a volume at an existing empty folder; if it is mounted there already, nothing is done. A
    /// mounted folder whose volume is certainly gone, as after its disk was pulled out, is replaced.
    ///
    /// See [`Feature::StaleMounts`](super::Feature::StaleMounts).
    ///
    /// # Errors
    /// [`Changed`](super::Condition::Changed) if the volume is no longer where it was found;
    /// [`TargetInUse`](super::Condition::TargetInUse), [`NotEmpty`](super::Condition::NotEmpty),
    /// [`NotFound`](super::Condition::NotFound), [`DeviceFailed`](super::Condition::DeviceFailed),
    /// [`PathRefused`](super::Condition::PathRefused), [`OutOfReach`](super::Condition::OutOfReach).
    fn mount(&self, volume: &FoundVolume, folder: &WinPath, deadline: Deadline) -> Result<()>;

    /// Flushes a volume and unmounts it from a folder, which stays, empty.
    ///
    /// # Errors
    /// [`NotAMountedFolder`](super::Condition::NotAMountedFolder), [`NotFound`](super::Condition::NotFound);
    /// [`TargetInUse`](super::Condition::TargetInUse) of another volume;
    /// [`DanglingLink`](super::Condition::DanglingLink), [`OutOfReach`](super::Condition::OutOfReach),
    /// [`PathRefused`](super::Condition::PathRefused), [`DeviceFailed`](super::Condition::DeviceFailed).
    fn unmount(&self, volume: VolumeId, folder: &WinPath, deadline: Deadline) -> Result<()>;

    /// Whether the volume has a filesystem that Windows knows.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound), [`NotAnswering`](super::Condition::NotAnswering),
    /// [`DeviceFailed`](super::Condition::DeviceFailed).
    fn is_formatted(&self, volume: VolumeId, deadline: Deadline) -> Result<bool>;

    /// Formats a blank volume with NTFS. See [`Feature::BlankProof`](super::Feature::BlankProof).
    ///
    /// # Errors
    /// [`Changed`](super::Condition::Changed), [`NotBlank`](super::Condition::NotBlank),
    /// [`Guarded`](super::Condition::Guarded), [`NotFound`](super::Condition::NotFound),
    /// [`Offline`](super::Condition::Offline), [`ReadOnly`](super::Condition::ReadOnly),
    /// [`NotReady`](super::Condition::NotReady), [`OutOfDate`](super::Condition::OutOfDate),
    /// [`DeviceFailed`](super::Condition::DeviceFailed).
    fn format(&self, volume: &FoundVolume, deadline: Deadline) -> Result<()>;

    /// Ensures that a volume has the requested filesystem: a blank volume is formatted, one that has it
    /// is left as it is.
    ///
    /// Without [`Feature::Outcomes`](super::Feature::Outcomes) a volume with any filesystem is
    /// [`Formatted::Unreported`].
    ///
    /// # Errors
    /// [`OtherFileSystem`](super::Condition::OtherFileSystem), and as [`Volumes::format`].
    /// [`Cause::Unsupported`](super::Cause::Unsupported) without
    /// [`Feature::FormatOptions`](super::Feature::FormatOptions).
    fn ensure_formatted(
        &self,
        volume: &FoundVolume,
        options: &FormatOptions,
        deadline: Deadline,
    ) -> Result<Formatted>;

    /// Grows a volume, and reports whether it did. Nothing shrinks; sizes are rounded down to whole MiB, and growth
    /// of less than 1 MiB does nothing. Without [`Feature::SmallGrowth`](super::Feature::SmallGrowth) the limit is
    /// 100 MiB.
    ///
    /// To expand a volume, a driver finds it by its mount path. A found disk leads to it too, but a disk that was
    /// found by its size must be found again after it has grown. Without
    /// [`Feature::Outcomes`](super::Feature::Outcomes) every success is [`Resized::Unreported`].
    ///
    /// # Errors
    /// [`Changed`](super::Condition::Changed), [`NoRoom`](super::Condition::NoRoom), [`NotFound`](super::Condition::NotFound),
    /// [`Guarded`](super::Condition::Guarded), [`ReadOnly`](super::Condition::ReadOnly), [`NotReady`](super::Condition::NotReady),
    /// [`DeviceFailed`](super::Condition::DeviceFailed).
    fn resize(&self, volume: &FoundVolume, size: NewSize, deadline: Deadline) -> Result<Resized>;

    /// Size and free space of the volume's filesystem, in bytes. A volume without one is an error; over
    /// csi-proxy's pipes its filesystem has no size.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound), [`NotAnswering`](super::Condition::NotAnswering),
    /// [`DeviceFailed`](super::Condition::DeviceFailed).
    fn stats(&self, volume: VolumeId, deadline: Deadline) -> Result<Space>;

    /// The disk that holds the volume.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound), [`NotAnswering`](super::Condition::NotAnswering);
    /// [`Other`](super::Condition::Other) of a volume on several disks.
    fn disk_number(&self, volume: VolumeId, deadline: Deadline) -> Result<DiskNumber>;

    /// The volume that is mounted where a path leads by links.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound) when the path itself is missing,
    /// [`NotAMountedFolder`](super::Condition::NotAMountedFolder), [`DanglingLink`](super::Condition::DanglingLink),
    /// [`OutOfReach`](super::Condition::OutOfReach). The first two mean that nothing is mounted there; the others
    /// do not.
    fn of_target(&self, path: &WinPath, deadline: Deadline) -> Result<VolumeId>;

    /// The volume that holds the entry of this path, links followed.
    ///
    /// # Errors
    /// As [`Volumes::of_target`], but never [`NotAMountedFolder`](super::Condition::NotAMountedFolder).
    fn closest(&self, path: &WinPath, deadline: Deadline) -> Result<VolumeId>;

    /// Writes everything cached for the volume to its disk.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound), [`ReadOnly`](super::Condition::ReadOnly),
    /// [`DeviceFailed`](super::Condition::DeviceFailed).
    fn flush(&self, volume: VolumeId, deadline: Deadline) -> Result<()>;
}

/// The operations on SMB mappings.
pub trait Smb: Sealed + Send + Sync {
    /// Maps a share for the whole node, and makes a directory link to it. A mapping that answers is reused as it is,
    /// whatever the credentials, and [`MapOutcome`] reports what is known about it; for options see
    /// [`crate::Smb::map`]. Without [`Feature::Outcomes`](super::Feature::Outcomes) the result is
    /// [`MapOutcome::Unreported`]. If the requested folder below the share does not exist, no link is made.
    ///
    /// With [`Feature::FolderCheck`](super::Feature::FolderCheck) a failed call leaves no mapping that was not there
    /// before, unless another process mapped the share or has files open there, the call passed its deadline, or it
    /// ends with [`NotReady`](super::Condition::NotReady).
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound) of the folder, with
    /// [`Feature::FolderCheck`](super::Feature::FolderCheck);
    /// [`AlreadyExists`](super::Condition::AlreadyExists), [`LogonFailure`](super::Condition::LogonFailure),
    /// [`AccessDenied`](super::Condition::AccessDenied), [`ServerNotFound`](super::Condition::ServerNotFound),
    /// [`NotReady`](super::Condition::NotReady), [`ServerAway`](super::Condition::ServerAway),
    /// [`CredentialsConflict`](super::Condition::CredentialsConflict),
    /// [`OtherOptions`](super::Condition::OtherOptions), [`UnknownOption`](super::Condition::UnknownOption).
    /// [`Cause::Unsupported`](super::Cause::Unsupported) without
    /// [`Feature::MapOptions`](super::Feature::MapOptions), for each option, and without
    /// [`Feature::FolderMappings`](super::Feature::FolderMappings) of a folder's own mapping.
    fn map(&self, mapping: &MapRequest<'_>, deadline: Deadline) -> Result<MapOutcome>;

    /// The mappings of the node, including foreign ones, sorted by their remote paths. No server is contacted.
    ///
    /// # Errors
    /// [`NotReady`](super::Condition::NotReady), [`AccessDenied`](super::Condition::AccessDenied).
    /// [`Cause::Unsupported`](super::Cause::Unsupported) without
    /// [`Feature::MappingList`](super::Feature::MappingList).
    fn mappings(&self, deadline: Deadline) -> Result<Vec<ShareMapping>>;

    /// Removes the mapping of a share, even one in use. Links to it stay.
    ///
    /// # Errors
    /// [`NotMapped`](super::Condition::NotMapped), [`InUse`](super::Condition::InUse),
    /// [`NotReady`](super::Condition::NotReady). [`Cause::Unsupported`](super::Cause::Unsupported) without
    /// [`Feature::FolderMappings`](super::Feature::FolderMappings) of a folder's own mapping.
    fn unmap(&self, remote: &RemotePath, deadline: Deadline) -> Result<()>;

    /// As [`Smb::unmap`], unless the share is in use, which `used` decides, for example by the driver's own records.
    /// It runs under the share's lock, last before the removal, so that no [`Smb::map`] for this share comes between.
    /// A driver that records each use before it maps, and drops the record before it calls this, removes no mapping
    /// that another of its calls relies on.
    ///
    /// `used` must return `true` if it cannot decide. It runs once at most, on another thread, perhaps after the
    /// caller received its answer at the deadline. It must not call the node, whose calls for this share wait for it,
    /// nor wait for a lock that the driver holds while it calls the node; and it should be quick.
    ///
    /// # Errors
    /// As [`Smb::unmap`], without a call of `used`. [`Cause::Unsupported`](super::Cause::Unsupported) without
    /// [`Feature::ConditionalUnmap`](super::Feature::ConditionalUnmap).
    fn unmap_unless(
        &self,
        remote: &RemotePath,
        used: Box<dyn FnOnce() -> bool + Send>,
        deadline: Deadline,
    ) -> Result<UnmapOutcome>;
}

/// The computer and its services.
pub trait System: Sealed + Send + Sync {
    /// An id of this boot, the same for every process: disk numbers and mappings that a driver recorded under
    /// another id are from an earlier boot. Ids can only be compared for equality.
    ///
    /// # Errors
    /// [`AccessDenied`](super::Condition::AccessDenied) for a caller who is no administrator.
    /// [`Cause::Unsupported`](super::Cause::Unsupported) without
    /// [`Feature::SystemIdentity`](super::Feature::SystemIdentity).
    fn boot_id(&self, deadline: Deadline) -> Result<BootId>;

    /// The machine's DNS host name in lower case, without its domain: kubelet's default name for its node.
    ///
    /// # Errors
    /// [`Other`](super::Condition::Other) if Windows does not report it.
    /// [`Cause::Unsupported`](super::Cause::Unsupported) without
    /// [`Feature::SystemIdentity`](super::Feature::SystemIdentity).
    fn computer_name(&self, deadline: Deadline) -> Result<String>;

    /// The serial number in the firmware, without blanks around it; it identifies virtual machines.
    ///
    /// # Errors
    /// [`Other`](super::Condition::Other) if the firmware has none.
    fn serial_number(&self, deadline: Deadline) -> Result<String>;

    /// The properties of a service.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound), [`AccessDenied`](super::Condition::AccessDenied).
    fn service(&self, name: &ServiceName, deadline: Deadline) -> Result<ServiceInfo>;

    /// Starts a service and waits until it runs; a running one is left as it is.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound), [`AccessDenied`](super::Condition::AccessDenied);
    /// [`NotReady`](super::Condition::NotReady) if it does not run in time.
    fn start_service(&self, name: &ServiceName, deadline: Deadline) -> Result<()>;

    /// Stops a service and waits until it has stopped; a stopped one is left as it is.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound), [`AccessDenied`](super::Condition::AccessDenied),
    /// [`InUse`](super::Condition::InUse); [`NotReady`](super::Condition::NotReady) if it does not stop in
    /// time.
    fn stop_service(
        &self,
        name: &ServiceName,
        dependents: Dependents,
        deadline: Deadline,
    ) -> Result<()>;

    /// The UUID in the firmware as `Win32_ComputerSystemProduct` has it: in upper case, with hyphens. Linux and
    /// hypervisors may spell the first three groups of the same machine the other way round.
    ///
    /// # Errors
    /// [`Other`](super::Condition::Other) if the firmware has none.
    /// [`Cause::Unsupported`](super::Cause::Unsupported) without
    /// [`Feature::SystemIdentity`](super::Feature::SystemIdentity).
    fn uuid(&self, deadline: Deadline) -> Result<String>;
}
