//! One trait for each group of operations.
//!
//! What each operation does, and what it refuses, is said in full at the method of the same name in
//! [`crate::Disks`], [`crate::Filesystem`], [`crate::Firmware`], [`crate::Iscsi`], [`crate::Services`],
//! [`crate::Smb`] and [`crate::Volumes`].

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use formats::location::Location;
use os::{Deadline, DiskNumber, PartitionNumber, ServiceInfo, Space, VolumeId, WinPath};

use super::Result;
use super::sealed::Sealed;
use crate::{
    Authentication, ChapSecret, Connected, Dependents, DiskIds, DiskQuery, FormatOptions,
    Formatted, FoundDisk, FoundVolume, LoginOptions, Mapped, MappedShare, Mapping, NewSize, Portal,
    RemotePath, Resized, ServiceName, SessionInfo, TargetName,
};

/// The operations on disks.
pub trait Disks: Sealed + Send + Sync {
    /// Where each disk is plugged in; disks whose location says nothing usable are left out.
    ///
    /// # Errors
    /// See [`super::Cause`], here and everywhere.
    fn locations(&self, deadline: Deadline) -> Result<BTreeMap<DiskNumber, Location>>;

    /// By what each disk is told from the others.
    ///
    /// # Errors
    /// As everywhere.
    fn ids(&self, deadline: Deadline) -> Result<BTreeMap<DiskNumber, DiskIds>>;

    /// The one disk with this page 0x83 identifier, exactly as [`Disks::ids`] spells it.
    ///
    /// # Errors
    /// [`super::Condition::NotFound`], [`super::Condition::Ambiguous`].
    fn by_page83(&self, page83: &str, deadline: Deadline) -> Result<DiskNumber>;

    /// The one disk that all of this is true of. What changes a disk for a driver takes what this finds, and
    /// makes sure of it again right before.
    ///
    /// Over csi-proxy's pipes the lists that it offers are searched; it keeps to itself which disks are
    /// never written, so that those are candidates there and refused when they are to be changed. In this process
    /// alone a clone is found that Windows's list leaves out for being read-only ([`crate::Disks::find`]).
    ///
    /// # Errors
    /// [`super::Cause::NotIdentified`]: there is none ([`super::Condition::NotFound`]), or there are several
    /// ([`super::Condition::Ambiguous`]), or one that does not say enough may be it
    /// ([`super::Condition::Uncertain`]), or it is never written ([`super::Condition::Guarded`]). [`super::Cause::Inexpressible`]: csi-proxy's lists do not have
    /// what is known of the disk (its namespace, port, PCI device or function).
    fn find(&self, wanted: &DiskQuery, deadline: Deadline) -> Result<FoundDisk>;

    /// [`Disks::find`], of a disk that has just been attached and may not be there yet: it is looked for, and while
    /// none is found, or one does not say enough, the node rescans and it is looked for again.
    ///
    /// All who wait on one handle and its clones share the rescans: one that began after a call came serves it, and
    /// one is under way at a time. A call that finds its disk goes on at once, also while a rescan hangs. The next
    /// rescan begins half a second after one that showed no disk, later ones after up to five seconds.
    ///
    /// `patience` is how long a disk that is not there is waited for; it should be shorter than what the deadline
    /// leaves, after which the error tells nothing of the disks. It is rescanned once at least, however short it is.
    ///
    /// # Errors
    /// As [`Disks::find`], after the patience where the disk is not found or not told for certain; as
    /// [`Disks::rescan`], where its failure is not transient or the patience is over;
    /// [`super::Condition::NotAnswering`] after the patience where a rescan hangs and none has ended that began after
    /// the call.
    fn find_attached(
        &self,
        wanted: &DiskQuery,
        patience: Duration,
        deadline: Deadline,
    ) -> Result<FoundDisk>;

    /// Makes Windows look for disks that came, went or grew.
    ///
    /// # Errors
    /// As everywhere.
    fn rescan(&self, deadline: Deadline) -> Result<()>;

    /// Sees to it that the disk has a partition table and a partition with a volume.
    ///
    /// # Errors
    /// [`super::Condition::Changed`], [`super::Condition::NotFound`], [`super::Condition::NotBlank`],
    /// [`super::Condition::Guarded`]; [`super::Condition::Offline`] and [`super::Condition::ReadOnly`] of a disk
    /// that [`Disks::bring_online`] has not been called for.
    fn partition(&self, disk: &FoundDisk, deadline: Deadline) -> Result<()>;

    /// The length of the whole disk in bytes.
    ///
    /// # Errors
    /// [`super::Condition::NotFound`].
    fn size(&self, disk: DiskNumber, deadline: Deadline) -> Result<u64>;

    /// Whether the disk is online.
    ///
    /// # Errors
    /// [`super::Condition::NotFound`].
    fn is_online(&self, disk: DiskNumber, deadline: Deadline) -> Result<bool>;

    /// Makes the disk writable and brings it online: what it needs to be staged. csi-proxy's pipes cannot
    /// tell whether a disk that is online is writable.
    ///
    /// # Errors
    /// [`super::Condition::Changed`], [`super::Condition::NotFound`], [`super::Condition::Guarded`].
    fn bring_online(&self, disk: &FoundDisk, deadline: Deadline) -> Result<()>;

    /// Takes a disk offline when nothing on it is in use any more: the last step of unstaging. Every volume on it
    /// is flushed, locked and dismounted before, and stays locked until the disk is offline; a disk that is
    /// offline is left as it is. There is no way to force it, as whoever has a file open would lose what they have
    /// not written.
    ///
    /// csi-proxy's pipes cannot lock a volume: over them what is cached is written, and the disk taken offline
    /// whoever has something open.
    ///
    /// # Errors
    /// [`super::Condition::InUse`], in this process alone; [`super::Condition::Changed`],
    /// [`super::Condition::NotFound`], [`super::Condition::Guarded`]. [`super::Cause::NeedsVersion`] of a
    /// csi-proxy that is too old to write what is cached.
    fn take_offline(&self, disk: &FoundDisk, deadline: Deadline) -> Result<()>;
}

/// The operations on files, directories and links.
pub trait Filesystem: Sealed + Send + Sync {
    /// Whether an entry of this name exists; a dangling link does.
    ///
    /// # Errors
    /// Never [`super::Condition::NotFound`].
    fn path_exists(&self, path: &WinPath, deadline: Deadline) -> Result<bool>;

    /// Creates a directory and those above it; one that is there already is success. In this process a mounted
    /// folder is one also when its volume is gone: [`Volumes::mount`] has it give way.
    ///
    /// # Errors
    /// As everywhere.
    fn make_directory(&self, path: &WinPath, deadline: Deadline) -> Result<()>;

    /// Removes one entry: a file, an empty directory, or a link, whose target stays untouched.
    ///
    /// # Errors
    /// [`super::Condition::NotFound`], [`super::Condition::NotEmpty`].
    fn remove_entry(&self, path: &WinPath, deadline: Deadline) -> Result<()>;

    /// Removes an entry and, if it is a plain directory, everything in it; no link is entered. What is
    /// missing already is success.
    ///
    /// # Errors
    /// As everywhere.
    fn remove_tree(&self, path: &WinPath, deadline: Deadline) -> Result<()>;

    /// Empties a plain directory and keeps it.
    ///
    /// # Errors
    /// [`super::Condition::NotFound`].
    fn remove_contents(&self, path: &WinPath, deadline: Deadline) -> Result<()>;

    /// Creates a symbolic link at `link` that leads to `source`.
    ///
    /// # Errors
    /// [`super::Condition::AlreadyExists`]; also for a link that leads there already, when an older
    /// csi-proxy is asked.
    fn create_symlink(&self, source: &WinPath, link: &WinPath, deadline: Deadline) -> Result<()>;

    /// Whether the entry is a link of any kind, and what it leads to exists.
    ///
    /// # Errors
    /// [`super::Condition::NotFound`].
    fn is_symlink(&self, path: &WinPath, deadline: Deadline) -> Result<bool>;
}

/// The operations on volumes.
pub trait Volumes: Sealed + Send + Sync {
    /// The volumes on a disk, or on one of its partitions, in the order of where they begin: to look at. What
    /// changes a volume takes one that [`Volumes::find_on`] or [`Volumes::find_at`] found; where a disk is to have
    /// several, [`FoundVolume::on_disk`] of one of these.
    ///
    /// # Errors
    /// [`super::Condition::NotFound`] when there is no such disk or partition; over csi-proxy's pipes
    /// that is an empty list.
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
    /// [`super::Condition::NotFound`] when there is none, [`super::Condition::Ambiguous`] when there
    /// are several; [`super::Condition::Changed`].
    fn find_on(&self, disk: &FoundDisk, deadline: Deadline) -> Result<FoundVolume>;

    /// The volume that is mounted where a path leads to by links: the one that a driver mounted there.
    ///
    /// # Errors
    /// As [`Volumes::of_target`].
    fn find_at(&self, path: &WinPath, deadline: Deadline) -> Result<FoundVolume>;

    /// Mounts a volume at an existing empty folder; where it is mounted already, nothing is done. A mounted
    /// folder whose volume is gone for certain, as after its disk was pulled out, gives way.
    ///
    /// csi-proxy's pipes do not tell such a folder from one that is not empty; there
    /// [`Filesystem::remove_entry`] removes it.
    ///
    /// # Errors
    /// [`super::Condition::TargetInUse`], [`super::Condition::NotEmpty`],
    /// [`super::Condition::NotFound`].
    fn mount(&self, volume: VolumeId, folder: &WinPath, deadline: Deadline) -> Result<()>;

    /// Flushes a volume and unmounts it from a folder, which stays as an empty one.
    ///
    /// # Errors
    /// [`super::Condition::NotAMountedFolder`], [`super::Condition::NotFound`].
    fn unmount(&self, volume: VolumeId, folder: &WinPath, deadline: Deadline) -> Result<()>;

    /// Whether the volume has a filesystem that Windows knows.
    ///
    /// # Errors
    /// [`super::Condition::NotFound`].
    fn is_formatted(&self, volume: VolumeId, deadline: Deadline) -> Result<bool>;

    /// Formats a blank volume with NTFS. Other proxies than ours format whatever they are given: ask
    /// [`Volumes::is_formatted`] before.
    ///
    /// # Errors
    /// [`super::Condition::Changed`], [`super::Condition::NotBlank`], [`super::Condition::Guarded`],
    /// [`super::Condition::NotFound`].
    fn format(&self, volume: &FoundVolume, deadline: Deadline) -> Result<()>;

    /// Sees to it that a volume has the filesystem that is asked for: a blank one is formatted, one that
    /// has it is left as it is.
    ///
    /// csi-proxy's pipes carry no options: NTFS alone, without allocation unit, label and access control
    /// list, can be asked for there, and a volume with any filesystem is [`Formatted::Unsaid`].
    ///
    /// # Errors
    /// [`super::Condition::OtherFileSystem`], and as [`Volumes::format`];
    /// [`super::Cause::Inexpressible`] for options that the node cannot be told.
    fn ensure_formatted(
        &self,
        volume: &FoundVolume,
        options: &FormatOptions,
        deadline: Deadline,
    ) -> Result<Formatted>;

    /// Grows a volume, and tells whether it did. Nothing shrinks, and a growth of less than 100 MiB is none.
    ///
    /// A driver that is to expand a volume finds it by the path that it mounted it at. By a disk it is found
    /// too; but one that was itself found by its size has to be found anew once it has grown.
    ///
    /// # Errors
    /// [`super::Condition::Changed`], [`super::Condition::NoRoom`], [`super::Condition::NotFound`]. csi-proxy's
    /// protocol has no answer beside the error: over pipes it is [`Resized::Unsaid`].
    fn resize(&self, volume: &FoundVolume, size: NewSize, deadline: Deadline) -> Result<Resized>;

    /// Size and free space of the volume's filesystem, in bytes. A volume without one is an error; over
    /// csi-proxy's pipes its filesystem has no size.
    ///
    /// # Errors
    /// [`super::Condition::NotFound`].
    fn stats(&self, volume: VolumeId, deadline: Deadline) -> Result<Space>;

    /// The disk that holds the volume.
    ///
    /// # Errors
    /// [`super::Condition::NotFound`].
    fn disk_number(&self, volume: VolumeId, deadline: Deadline) -> Result<DiskNumber>;

    /// The volume that is mounted where a path leads to by links.
    ///
    /// # Errors
    /// [`super::Condition::NotFound`] when the path itself is missing,
    /// [`super::Condition::NotAMountedFolder`], [`super::Condition::DanglingLink`],
    /// [`super::Condition::OutOfReach`]. The first two mean that nothing is mounted there; the others
    /// do not.
    fn of_target(&self, path: &WinPath, deadline: Deadline) -> Result<VolumeId>;

    /// The volume that holds the entry of this path, links followed.
    ///
    /// # Errors
    /// As [`Volumes::of_target`].
    fn closest(&self, path: &WinPath, deadline: Deadline) -> Result<VolumeId>;

    /// Writes everything cached for the volume to its disk.
    ///
    /// # Errors
    /// [`super::Condition::NotFound`], [`super::Condition::ReadOnly`].
    fn flush(&self, volume: VolumeId, deadline: Deadline) -> Result<()>;
}

/// The operations on SMB mappings.
pub trait Smb: Sealed + Send + Sync {
    /// Maps a share for the whole node, and makes a directory link to it. A mapping that answers is
    /// reused as it is, whatever the credentials, and [`Mapped`] tells what is known of it; but see
    /// [`crate::Smb::map`] of options. Over csi-proxy's pipes it is [`Mapped::Unsaid`].
    ///
    /// # Errors
    /// [`super::Condition::AlreadyExists`], [`super::Condition::LogonFailure`],
    /// [`super::Condition::ServerNotFound`], [`super::Condition::ServerAway`],
    /// [`super::Condition::CredentialsConflict`], [`super::Condition::OtherOptions`],
    /// [`super::Condition::UnknownOption`]. csi-proxy's protocol carries no option: over pipes each is
    /// [`super::Cause::Inexpressible`].
    fn map(&self, mapping: &Mapping<'_>, deadline: Deadline) -> Result<Mapped>;

    /// The mappings that the node has, whoever made them, sorted by their remote paths. Nothing is asked of
    /// any server.
    ///
    /// # Errors
    /// As everywhere. csi-proxy's protocol has no such call: over pipes it is
    /// [`super::Cause::Inexpressible`].
    fn mappings(&self, deadline: Deadline) -> Result<Vec<MappedShare>>;

    /// Removes the mapping of a share, whoever uses it. Links to it stay.
    ///
    /// # Errors
    /// [`super::Condition::NotMapped`].
    fn unmap(&self, remote: &RemotePath, deadline: Deadline) -> Result<()>;
}

/// The operations on iSCSI portals, targets and sessions.
pub trait Iscsi: Sealed + Send + Sync {
    /// Makes a portal known to the node; one that is known is left as it is.
    ///
    /// # Errors
    /// As everywhere.
    fn add_portal(&self, portal: &Portal, deadline: Deadline) -> Result<()>;

    /// Asks a known portal anew which targets it has.
    ///
    /// # Errors
    /// [`super::Condition::NotFound`]. csi-proxy's protocol has no such call: over pipes it is
    /// [`super::Cause::Inexpressible`].
    fn refresh(&self, portal: &Portal, deadline: Deadline) -> Result<()>;

    /// The qualified names of the targets that a known portal offers.
    ///
    /// # Errors
    /// [`super::Condition::NotFound`].
    fn discover(&self, portal: &Portal, deadline: Deadline) -> Result<Vec<String>>;

    /// Makes the node forget a portal.
    ///
    /// # Errors
    /// [`super::Condition::NotFound`].
    fn remove_portal(&self, portal: &Portal, deadline: Deadline) -> Result<()>;

    /// The portals that the node knows: address and port of each, as Windows spells them.
    ///
    /// # Errors
    /// As everywhere.
    fn portals(&self, deadline: Deadline) -> Result<Vec<(String, u32)>>;

    /// Logs in to a target through a portal; a target that is connected stays as it is, whatever it was
    /// connected with.
    ///
    /// # Errors
    /// [`super::Condition::NotFound`], [`super::Condition::AlreadyConnected`],
    /// [`super::Condition::LogonFailure`], [`super::Condition::AccessDenied`],
    /// [`super::Condition::ServerNotFound`], [`super::Condition::ServiceStopped`].
    fn connect(
        &self,
        portal: &Portal,
        target: &TargetName,
        authentication: &Authentication,
        deadline: Deadline,
    ) -> Result<()>;

    /// [`Iscsi::connect`] with a session that is like this. A session that is there already stays as it is,
    /// and in what it differs is told.
    ///
    /// # Errors
    /// As [`Iscsi::connect`]. csi-proxy's protocol carries no option: over pipes each is
    /// [`super::Cause::Inexpressible`], and without one the answer is [`Connected::Unsaid`].
    fn connect_with(
        &self,
        portal: &Portal,
        target: &TargetName,
        authentication: &Authentication,
        options: &LoginOptions,
        deadline: Deadline,
    ) -> Result<Connected>;

    /// All sessions of the node, whoever made them, sorted by their identifiers.
    ///
    /// # Errors
    /// As everywhere. csi-proxy's protocol has no such call: over pipes it is
    /// [`super::Cause::Inexpressible`].
    fn sessions(&self, deadline: Deadline) -> Result<Vec<SessionInfo>>;

    /// Logs out of a target; one that is not connected is left as it is.
    ///
    /// # Errors
    /// [`super::Condition::NotFound`]; [`super::Condition::InUse`] while somebody uses a disk of it.
    fn disconnect(&self, portal: &Portal, target: &TargetName, deadline: Deadline) -> Result<()>;

    /// The disks of a target; none while it is not connected. What changes a disk takes one that
    /// [`Disks::find`] found, by [`crate::Criterion::IscsiTarget`] say.
    ///
    /// # Errors
    /// [`super::Condition::NotFound`].
    fn disks(
        &self,
        portal: &Portal,
        target: &TargetName,
        deadline: Deadline,
    ) -> Result<BTreeSet<DiskNumber>>;

    /// Sets the secret by which targets prove themselves to this node, for all of them.
    ///
    /// # Errors
    /// As everywhere.
    fn set_mutual_chap_secret(&self, secret: &ChapSecret, deadline: Deadline) -> Result<()>;
}

/// The computer and its services.
pub trait System: Sealed + Send + Sync {
    /// The serial number in the firmware, without blanks around it; virtual machines are known by it.
    ///
    /// # Errors
    /// As everywhere.
    fn serial_number(&self, deadline: Deadline) -> Result<String>;

    /// What is known of a service.
    ///
    /// # Errors
    /// [`super::Condition::NotFound`].
    fn service(&self, name: &ServiceName, deadline: Deadline) -> Result<ServiceInfo>;

    /// Starts a service and waits until it runs; one that runs is left as it is.
    ///
    /// # Errors
    /// [`super::Condition::NotFound`].
    fn start_service(&self, name: &ServiceName, deadline: Deadline) -> Result<()>;

    /// Stops a service and waits until it has stopped; one that is stopped is left as it is.
    ///
    /// # Errors
    /// [`super::Condition::NotFound`].
    fn stop_service(
        &self,
        name: &ServiceName,
        dependents: Dependents,
        deadline: Deadline,
    ) -> Result<()>;
}
