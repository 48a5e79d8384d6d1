//! One trait for each group of operations.
//!
//! What each operation does, and what it refuses, is said in full at the method of the same name in
//! [`crate::Disks`], [`crate::Filesystem`], [`crate::Firmware`], [`crate::Services`],
//! [`crate::Smb`], [`crate::System`] and [`crate::Volumes`].

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
    /// Where each disk is plugged in; disks whose location says nothing usable are left out.
    ///
    /// # Errors
    /// [`NotReady`](super::Condition::NotReady), [`AccessDenied`](super::Condition::AccessDenied).
    fn locations(&self, deadline: Deadline) -> Result<BTreeMap<DiskNumber, Location>>;

    /// By what each disk is told from the others.
    ///
    /// # Errors
    /// [`NotReady`](super::Condition::NotReady), [`AccessDenied`](super::Condition::AccessDenied).
    fn ids(&self, deadline: Deadline) -> Result<BTreeMap<DiskNumber, DiskIds>>;

    /// The one disk with this page 0x83 identifier, exactly as [`Disks::ids`] spells it.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound), [`Ambiguous`](super::Condition::Ambiguous).
    fn by_page83(&self, page83: &str, deadline: Deadline) -> Result<DiskNumber>;

    /// The one disk that all of this is true of. What changes a disk for a driver takes what this finds, and
    /// makes sure of it again right before.
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

    /// The disk of the volume that is mounted where a path leads to by links, by the names and the place that it
    /// tells: for unstaging without a record. Once it is found the volume can be unmounted, and
    /// [`Disks::take_offline`] takes the disk that was found.
    ///
    /// # Errors
    /// As [`Volumes::of_target`], so that the disk of a plain directory is never found. [`Changed`](super::Condition::Changed),
    /// [`Ambiguous`](super::Condition::Ambiguous), [`Guarded`](super::Condition::Guarded);
    /// [`Uncertain`](super::Condition::Uncertain) of a disk that does not tell enough of itself;
    /// [`NotAnswering`](super::Condition::NotAnswering); [`Other`](super::Condition::Other) of a volume on several
    /// disks.
    fn find_at(&self, path: &WinPath, deadline: Deadline) -> Result<FoundDisk>;

    /// [`Disks::find`], of a disk that has just been attached and may not be there yet: it is looked for, and while
    /// none is found, or one does not say enough, the node rescans and it is looked for again.
    ///
    /// All who wait on one handle and its clones share the rescans: one that began after a call came serves it, and
    /// one is under way at a time. A call that finds its disk goes on at once, also while a rescan hangs. The next
    /// rescan begins half a second after one that showed no disk, later ones after up to five seconds.
    ///
    /// `poll` is how long a disk that is not there is waited for; it should be shorter than what the deadline
    /// leaves, after which the error tells nothing of the disks. It is rescanned once at least, however short it is.
    ///
    /// # Errors
    /// As [`Disks::find`], after the patience where the disk is not found or not told for certain; as
    /// [`Disks::rescan`], where its failure is not transient or the patience is over;
    /// [`NotAnswering`](super::Condition::NotAnswering) after the patience where a rescan hangs and none has ended
    /// that began after the call.
    fn find_attached(
        &self,
        wanted: &DiskQuery,
        patience: Duration,
        deadline: Deadline,
    ) -> Result<FoundDisk>;

    /// Makes Windows look for disks that came, went or grew.
    ///
    /// # Errors
    /// [`NotReady`](super::Condition::NotReady), [`AccessDenied`](super::Condition::AccessDenied).
    fn rescan(&self, deadline: Deadline) -> Result<()>;

    /// Sees to it that the disk has a partition table and a partition with a volume.
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

    /// Whether the device itself refuses writes: a locked card, a read-only export, a write-protected unit. This is not
    /// the read-only attribute, which is Windows's own and which [`Disks::bring_online`] clears. What a writable device
    /// answers while that attribute is set is not known, so ask while [`Disks::is_read_only`] is false.
    ///
    /// What would have to write to such a disk fails with [`ReadOnly`](super::Condition::ReadOnly), as after
    /// [`Disks::bring_online_read_only`].
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound), [`NotAnswering`](super::Condition::NotAnswering),
    /// [`DeviceFailed`](super::Condition::DeviceFailed) and others where the device does not say.
    /// [`Cause::Unsupported`](super::Cause::Unsupported) without
    /// [`Feature::WriteProtection`](super::Feature::WriteProtection).
    fn is_write_protected(&self, disk: DiskNumber, deadline: Deadline) -> Result<bool>;

    /// Makes the disk writable and brings it online: what it needs to be staged. csi-proxy's pipes cannot
    /// tell whether a disk that is online is writable.
    ///
    /// # Errors
    /// [`Changed`](super::Condition::Changed), [`NotFound`](super::Condition::NotFound),
    /// [`Guarded`](super::Condition::Guarded); [`Offline`](super::Condition::Offline) and
    /// [`ReadOnly`](super::Condition::ReadOnly) where Windows says that it is done and the disk stays so.
    fn bring_online(&self, disk: &FoundDisk, deadline: Deadline) -> Result<()>;

    /// Brings the disk online for readers alone: it is read-only before it comes online, and stays so over restarts.
    /// A disk that is both already is left as it is; one that is online and writable goes offline first, if nobody
    /// uses it. [`Disks::bring_online`] makes it writable again. What would have to write to it fails with
    /// [`ReadOnly`](super::Condition::ReadOnly): [`Disks::partition`] unless there is a partition,
    /// [`Volumes::ensure_formatted`] unless there is a filesystem, [`Volumes::resize`].
    ///
    /// # Errors
    /// [`OnlineWritable`](super::Condition::OnlineWritable), then nothing was changed;
    /// [`Changed`](super::Condition::Changed), [`NotFound`](super::Condition::NotFound),
    /// [`Guarded`](super::Condition::Guarded), [`Offline`](super::Condition::Offline) where Windows says that it is
    /// done and the disk stays so. A disk that was online and writable is so again where Windows refuses to make it
    /// read-only. [`Cause::Unsupported`](super::Cause::Unsupported) without
    /// [`Feature::ReadOnlyDisks`](super::Feature::ReadOnlyDisks).
    fn bring_online_read_only(&self, disk: &FoundDisk, deadline: Deadline) -> Result<()>;

    /// Takes a disk offline when nothing on it is in use any more: the last step of unstaging. Every volume on it
    /// is flushed, locked and dismounted before, and stays locked until the disk is offline; a disk that is
    /// offline is left as it is. A volume with an access path is in use. There is no way to force it, as a process with
    /// an open file would lose what it has
    /// not written.
    ///
    /// See [`Feature::CheckedOffline`](super::Feature::CheckedOffline).
    ///
    /// # Errors
    /// [`InUse`](super::Condition::InUse); [`Changed`](super::Condition::Changed),
    /// [`NotFound`](super::Condition::NotFound), [`Guarded`](super::Condition::Guarded),
    /// [`DeviceFailed`](super::Condition::DeviceFailed). [`Needs::Version`](super::Needs::Version) of a csi-proxy that is
    /// too old to write what is cached.
    fn take_offline(&self, disk: &FoundDisk, deadline: Deadline) -> Result<()>;
}

/// The operations on files, directories and links.
pub trait Filesystem: Sealed + Send + Sync {
    /// Whether an entry of this name exists; a dangling link does.
    ///
    /// # Errors
    /// [`AccessDenied`](super::Condition::AccessDenied), [`PathRefused`](super::Condition::PathRefused),
    /// [`OutOfReach`](super::Condition::OutOfReach); never [`NotFound`](super::Condition::NotFound).
    fn path_exists(&self, path: &WinPath, deadline: Deadline) -> Result<bool>;

    /// Creates a directory and those above it; one that is there already is success. So is a mounted folder whose
    /// volume is gone, which [`Volumes::mount`] replaces, with
    /// [`Feature::StaleMounts`](super::Feature::StaleMounts).
    ///
    /// # Errors
    /// [`AlreadyExists`](super::Condition::AlreadyExists) of something other than a directory;
    /// [`AccessDenied`](super::Condition::AccessDenied), [`PathRefused`](super::Condition::PathRefused),
    /// [`OutOfReach`](super::Condition::OutOfReach), [`DanglingLink`](super::Condition::DanglingLink).
    fn make_directory(&self, path: &WinPath, deadline: Deadline) -> Result<()>;

    /// Removes one entry: a file, an empty directory, or a link, whose target stays untouched.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound), [`NotEmpty`](super::Condition::NotEmpty),
    /// [`InUse`](super::Condition::InUse), [`AccessDenied`](super::Condition::AccessDenied),
    /// [`PathRefused`](super::Condition::PathRefused), [`OutOfReach`](super::Condition::OutOfReach).
    fn remove_entry(&self, path: &WinPath, deadline: Deadline) -> Result<()>;

    /// Removes an entry and, if it is a plain directory, everything in it; no link is entered. What is
    /// missing already is success.
    ///
    /// # Errors
    /// [`InUse`](super::Condition::InUse), [`AccessDenied`](super::Condition::AccessDenied),
    /// [`PathRefused`](super::Condition::PathRefused), [`OutOfReach`](super::Condition::OutOfReach). What was
    /// removed before the entry that fails is gone.
    fn remove_tree(&self, path: &WinPath, deadline: Deadline) -> Result<()>;

    /// Empties a plain directory and keeps it.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound), [`InUse`](super::Condition::InUse),
    /// [`AccessDenied`](super::Condition::AccessDenied), [`PathRefused`](super::Condition::PathRefused),
    /// [`OutOfReach`](super::Condition::OutOfReach). What was removed before the entry that fails is gone.
    fn remove_contents(&self, path: &WinPath, deadline: Deadline) -> Result<()>;

    /// Creates a symbolic link at `link` that leads to `source`.
    ///
    /// # Errors
    /// [`AlreadyExists`](super::Condition::AlreadyExists); also for a link that leads there already, when an
    /// older csi-proxy is asked. [`NotFound`](super::Condition::NotFound) where the folder of the link is
    /// missing; [`AccessDenied`](super::Condition::AccessDenied),
    /// [`PathRefused`](super::Condition::PathRefused), [`OutOfReach`](super::Condition::OutOfReach).
    fn create_symlink(&self, source: &WinPath, link: &WinPath, deadline: Deadline) -> Result<()>;

    /// Creates a directory link at `at` that leads to `to`, which may be away now, or a share that is not mapped yet:
    /// nothing is looked at there. A directory link that leads there already is success, and a file link that leads
    /// there is replaced, as Windows opens no directory through one. [`Filesystem::create_symlink`] makes such file
    /// links of what is away.
    ///
    /// # Errors
    /// [`AlreadyExists`](super::Condition::AlreadyExists) of anything else, also of a link that leads elsewhere;
    /// [`NotFound`](super::Condition::NotFound) where the folder of the link is missing;
    /// [`AccessDenied`](super::Condition::AccessDenied), [`OutOfReach`](super::Condition::OutOfReach).
    /// [`Cause::Unsupported`](super::Cause::Unsupported) without
    /// [`Feature::DirectoryLinks`](super::Feature::DirectoryLinks).
    fn link_directory(&self, to: &WinPath, at: &WinPath, deadline: Deadline) -> Result<()>;

    /// Whether the entry is a link of any kind, and what it leads to exists.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound), [`AccessDenied`](super::Condition::AccessDenied),
    /// [`PathRefused`](super::Condition::PathRefused), [`OutOfReach`](super::Condition::OutOfReach).
    fn is_symlink(&self, path: &WinPath, deadline: Deadline) -> Result<bool>;

    /// What is at a path, and where it leads if it is a link: hop by hop, onto no share, whose mapping counts instead.
    ///
    /// # Errors
    /// [`AccessDenied`](super::Condition::AccessDenied), [`OutOfReach`](super::Condition::OutOfReach),
    /// [`NotAnswering`](super::Condition::NotAnswering); never [`NotFound`](super::Condition::NotFound), which is
    /// [`Look::Missing`]. [`Cause::Unsupported`](super::Cause::Unsupported) without
    /// [`Feature::EntryLooks`](super::Feature::EntryLooks).
    fn look(&self, path: &WinPath, deadline: Deadline) -> Result<Look>;

    /// Where a link, a junction or a mounted folder leads, by its own word; `None` of another entry.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound), [`AccessDenied`](super::Condition::AccessDenied),
    /// [`NotAnswering`](super::Condition::NotAnswering).
    /// [`Cause::Unsupported`](super::Cause::Unsupported) without
    /// [`Feature::EntryLooks`](super::Feature::EntryLooks).
    fn read_link(&self, path: &WinPath, deadline: Deadline) -> Result<Option<LinkTarget>>;

    /// The entries of a directory, at most so many. Processes that may write there chose their names, and may have made
    /// other things of them since; a name belongs in no error and no log line as it is.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound), [`AccessDenied`](super::Condition::AccessDenied);
    /// [`Crowded`](super::Condition::Crowded) while others list or change the path.
    /// [`Cause::Unsupported`](super::Cause::Unsupported) without
    /// [`Feature::EntryLooks`](super::Feature::EntryLooks).
    fn list(&self, directory: &WinPath, most: usize, deadline: Deadline) -> Result<Listing>;

    /// Size and free space of the filesystem that a directory lies on, in bytes; links and mounted folders are
    /// followed, onto shares as well. [`Volumes::stats`] has those of a volume.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound), [`AccessDenied`](super::Condition::AccessDenied),
    /// [`DeviceFailed`](super::Condition::DeviceFailed), [`ServerNotFound`](super::Condition::ServerNotFound),
    /// [`NotMapped`](super::Condition::NotMapped); [`NotAnswering`](super::Condition::NotAnswering) of a share on which
    /// a call from before hangs. [`Cause::Unsupported`](super::Cause::Unsupported) without
    /// [`Feature::SpaceByPath`](super::Feature::SpaceByPath).
    fn space(&self, directory: &WinPath, deadline: Deadline) -> Result<Space>;
}

/// The operations on volumes.
pub trait Volumes: Sealed + Send + Sync {
    /// The volumes on a disk, or on one of its partitions, in the order of where they begin: to look at. What
    /// changes a volume takes one that [`Volumes::find_on`] or [`Volumes::find_at`] found; where a disk is to have
    /// several, [`FoundVolume::on_disk`] of one of these.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound) when there is no such disk or partition; over csi-proxy's pipes
    /// that is an empty list. [`NotReady`](super::Condition::NotReady),
    /// [`NotAnswering`](super::Condition::NotAnswering).
    fn list_on_disk(
        &self,
        disk: DiskNumber,
        partition: Option<PartitionNumber>,
        deadline: Deadline,
    ) -> Result<Vec<VolumeId>>;

    /// The one volume on a disk that was found. What formats or resizes a volume for a driver takes what this
    /// or [`Volumes::find_at`] finds, and makes sure of it again right before.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound) when there is none, [`Ambiguous`](super::Condition::Ambiguous)
    /// when there are several; [`Changed`](super::Condition::Changed), [`NotReady`](super::Condition::NotReady).
    fn find_on(&self, disk: &FoundDisk, deadline: Deadline) -> Result<FoundVolume>;

    /// The volume that is mounted where a path leads to by links: the one that a driver mounted there.
    ///
    /// # Errors
    /// As [`Volumes::of_target`].
    fn find_at(&self, path: &WinPath, deadline: Deadline) -> Result<FoundVolume>;

    /// Mounts a volume at an existing empty folder; where it is mounted already, nothing is done. A mounted
    /// folder whose volume is gone for certain, as after its disk was pulled out, gives way.
    ///
    /// See [`Feature::StaleMounts`](super::Feature::StaleMounts).
    ///
    /// # Errors
    /// [`Changed`](super::Condition::Changed) of a volume that is not where it was found;
    /// [`TargetInUse`](super::Condition::TargetInUse), [`NotEmpty`](super::Condition::NotEmpty),
    /// [`NotFound`](super::Condition::NotFound), [`DeviceFailed`](super::Condition::DeviceFailed),
    /// [`PathRefused`](super::Condition::PathRefused), [`OutOfReach`](super::Condition::OutOfReach).
    fn mount(&self, volume: &FoundVolume, folder: &WinPath, deadline: Deadline) -> Result<()>;

    /// Flushes a volume and unmounts it from a folder, which stays as an empty one.
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

    /// Sees to it that a volume has the filesystem that is asked for: a blank one is formatted, one that
    /// has it is left as it is.
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

    /// Grows a volume, and tells whether it did. Nothing shrinks; sizes are taken down to whole MiB, and a growth of
    /// less than one is none. Without [`Feature::SmallGrowth`](super::Feature::SmallGrowth) one of less than 100 MiB
    /// is none.
    ///
    /// A driver that is to expand a volume finds it by the path that it mounted it at. By a disk it is found
    /// too; but one that was itself found by its size has to be found anew once it has grown. Without
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

    /// The volume that is mounted where a path leads to by links.
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
    /// Maps a share for the whole node, and makes a directory link to it. A mapping that answers is
    /// reused as it is, whatever the credentials, and [`MapOutcome`] tells what is known of it; but see
    /// [`crate::Smb::map`] of options. Without [`Feature::Outcomes`](super::Feature::Outcomes) it is
    /// [`MapOutcome::Unreported`]. A folder below the share that is asked for has to be there: else no link is made.
    ///
    /// With [`Feature::FolderCheck`](super::Feature::FolderCheck) a share that was not mapped before is not after a call
    /// that failed, unless another process mapped it or has files open there, the call did not end before its deadline,
    /// or it ends with [`NotReady`](super::Condition::NotReady).
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

    /// The mappings of the node, also those that others made, sorted by their remote paths. Nothing is asked of
    /// any server.
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

    /// As [`Smb::unmap`], unless somebody uses the share: `used` tells, by the driver's own records, say. It is asked
    /// under the share's lock, last before the removal, so that no [`Smb::map`] for this share comes between. A driver
    /// that records each use before it maps, and drops the record before it calls this, removes no mapping that
    /// another call of its own counts on.
    ///
    /// `used` says `true` where it cannot tell. It is asked once at most, on another thread, perhaps after the caller
    /// was answered at the deadline. It must not call the node, whose calls for this share wait for it, nor wait for
    /// a lock that the driver holds while it calls the node; and it should be quick.
    ///
    /// # Errors
    /// As [`Smb::unmap`], then without `used` being asked. [`Cause::Unsupported`](super::Cause::Unsupported) without
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
    /// Tells this boot from every other one: what a driver noted of disk numbers and mappings under another id is of
    /// before. It is the same to every process. Nothing but equality is to be read from it.
    ///
    /// # Errors
    /// [`AccessDenied`](super::Condition::AccessDenied) of who is no administrator.
    /// [`Cause::Unsupported`](super::Cause::Unsupported) without
    /// [`Feature::SystemIdentity`](super::Feature::SystemIdentity).
    fn boot_id(&self, deadline: Deadline) -> Result<BootId>;

    /// The machine's DNS host name in lower case, without its domain: what kubelet calls its node unless it is told
    /// another name.
    ///
    /// # Errors
    /// [`Other`](super::Condition::Other) where Windows does not say.
    /// [`Cause::Unsupported`](super::Cause::Unsupported) without
    /// [`Feature::SystemIdentity`](super::Feature::SystemIdentity).
    fn computer_name(&self, deadline: Deadline) -> Result<String>;

    /// The serial number in the firmware, without blanks around it; virtual machines are known by it.
    ///
    /// # Errors
    /// [`Other`](super::Condition::Other) where the firmware has none.
    fn serial_number(&self, deadline: Deadline) -> Result<String>;

    /// What is known of a service.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound), [`AccessDenied`](super::Condition::AccessDenied).
    fn service(&self, name: &ServiceName, deadline: Deadline) -> Result<ServiceInfo>;

    /// Starts a service and waits until it runs; one that runs is left as it is.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound), [`AccessDenied`](super::Condition::AccessDenied);
    /// [`NotReady`](super::Condition::NotReady) where it does not run in time.
    fn start_service(&self, name: &ServiceName, deadline: Deadline) -> Result<()>;

    /// Stops a service and waits until it has stopped; one that is stopped is left as it is.
    ///
    /// # Errors
    /// [`NotFound`](super::Condition::NotFound), [`AccessDenied`](super::Condition::AccessDenied),
    /// [`InUse`](super::Condition::InUse); [`NotReady`](super::Condition::NotReady) where it does not stop in
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
    /// [`Other`](super::Condition::Other) where the firmware has none.
    /// [`Cause::Unsupported`](super::Cause::Unsupported) without
    /// [`Feature::SystemIdentity`](super::Feature::SystemIdentity).
    fn uuid(&self, deadline: Deadline) -> Result<String>;
}
