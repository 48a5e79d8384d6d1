//! The storage operations of a Windows node, each algorithm once, as pure logic over [`os`].
//!
//! Partition a disk, format and mount a volume, map a share, delete a tree: what csi-proxy serves
//! and what a CSI driver does is here, and nowhere else. The crate does no I/O of its own: all that
//! it knows of the world came through an [`Os`], so the code that runs on a node is the code that
//! runs in every test on a simulated one.
//!
//! Drivers use it through the crate `wincsi`, whose page has a first look, and whose features are csi-proxy's pipes and
//! the simulated node. The project's `docs/guide.md` goes from an empty cargo project to a driver with tests of faults,
//! deaths and reboots; `examples/driver` has its files.
//!
//! # Calls
//! Everything is synchronous and reached through a [`Node`]: a driver's calls as [`api::NodeApi`], csi-proxy's by
//! [`Node::operations`]. Each operation takes a [`Deadline`]. Nothing begins after it, and no wait goes on beyond it; but a change that has begun is seen to its end, because the
//! locks may not be given up while Windows still works. A caller that must have its answer by the
//! deadline runs the operation with [`Node::bounded`].
//!
//! A read of a disk or volume that hangs keeps its thread until it ends. One read (or flush) of each runs at a time: other
//! calls wait for it up to ten seconds (ten minutes for a flush), whatever their deadline. Then they leave the object
//! out or fail with [`api::Condition::NotAnswering`]. Reads of what a path names (whether it exists, where it leads,
//! its access control list, the size and free space below it) run side by side, eight for each path, or for each
//! volume that paths name by its id. Once one of them is ten seconds old, further ones fail with the same condition. The
//! list of a directory and changes of entries have no such limit: the path's lock lets one run at a time.
//!
//! # Errors
//! Each group has an error of its own that says what was attempted on what ([`DiskError`],
//! [`VolumeError`], [`SmbError`]...), with Windows's code where there is one. By [`api`] they are one type,
//! [`api::Error`], with the [`api::Condition`] that a driver branches on. Texts are for people; what csi-proxy's
//! clients match on is in [`driver_texts`].
//!
//! # Paths
//! An operation on an entry takes a [`ResolvedPath`]: a bare path of a caller who answers for it, or what
//! [`AllowedRoots::resolve`] made of a path that somebody else named. Of the latter, every link on the way
//! was followed within the bounds, nothing is followed any more, and what lies between is held in
//! place while something is changed.
//!
//! # Locks
//! An operation holds a lock on exactly the objects that it changes: a disk, a volume, a target
//! path, an SMB share or server, an iSCSI target or portal, a service. Locks are taken in one fixed order, so two
//! operations cannot wait for each other, and two operations on different objects never meet. They hold
//! among the clones of one [`Node`]; between processes nothing is locked.
//!
//! At most 128 operations wait for the same object, and 512 in all. More fail ([`api::Condition::Crowded`]), with the
//! object and the operation that has it in the text; one that need not wait never does.
//!
//! # Crash safety
//! Every operation may be cut off at any point, by a crash or a power failure, and is then simply
//! called again: it reads what is there and goes on from it. Where csi-proxy answers a repeated
//! call with an error (deleting what is gone, unmounting what is not mounted), so do we; what the
//! call asked for holds all the same. A link that was being made leaves an entry beside its name, `.wincsi-link-` and
//! a number, which stands for nothing and goes with the next operation that makes or removes something there, or by
//! [`Filesystem::clear_noted`] at the next start.
//!
//! # In this process or over pipes
//! [`api`] has the same operations as traits, which the crate `wincsi-client` implements too.
//!
//! # Which disk
//! A driver changes only a disk that it identified by everything that it knows of it ([`DiskQuery`],
//! [`api::Disks::find`]); the [`FoundDisk`] is proved once more right before the change. Numbers name disks
//! for csi-proxy alone, whose clients say them. In the same way it has a [`FoundVolume`] formatted and
//! resized, which lies on a found disk ([`api::Volumes::find_on`]) or is mounted at a path of the driver's own
//! ([`api::Volumes::find_at`]); the disk behind such a path is found as well
//! ([`api::Disks::find_at`]). csi-proxy's clients say a bare id.
//!
//! # What is never written
//! A disk that Windows runs from (boot, system, page file, crash dump), or that is pooled, clustered
//! or dynamic, is refused by everything that writes, however it is named. Where Windows does not report page files and
//! crash dumps, only operations that could touch one are refused ([`DiskGuard`]). Lists that only report
//! (ids, locations) still show it, as csi-proxy's do. And before a disk is initialised, a partition
//! created or a volume formatted, what they overwrite is proved blank under the lock; see
//! [`FormatGuard`].
//!
//! # Features and targets
//! There are no features and no code for one system: it is the [`Os`] that is simulated or native, so a driver
//! is built and tested on Linux. `wincsi-os-windows` is for `x86_64-pc-windows-gnu` and
//! `x86_64-pc-windows-msvc`; it has not run on Windows Server yet, see the project's table of what ran where.
//!
//! # Time and threads
//! All that the node does goes by [`os::Clock`], which is virtual in tests, so that waits cost them nothing. A thread that
//! waits reads the clock again after a tenth of a second at most (`poll::SLICE`), because a virtual clock wakes nobody.
//!
//! The node starts a thread only where an answer is due by a deadline and Windows cannot interrupt the call: in
//! [`Node::bounded`], for the look at a share that may not answer, one for the rescans of all who wait for a disk
//! (`api::attached`), and for looks at the disks and volumes of others (`in_flight`): one for each that hangs, however often
//! callers repeat, and up to 64 for a loop that meets one.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod api;

mod blank;
mod bounded;
mod disks;
pub mod driver_texts;
mod filesystem;
mod firmware;
mod in_flight;
mod iscsi;
mod leftover;
mod link;
mod local_rows;
mod locks;
mod new_link;
mod notes;
mod outcomes;
mod poll;
mod provider;
mod resolved_path;
mod services;
mod setters;
mod smb;
mod storage;
mod system;
mod text;
mod unpoisoned;
mod volumes;
mod waits;
mod workers;

use std::sync::Arc;

pub use formats::blank::{ExtentError, Refusal, ShortRead};
pub use formats::location::Location;
pub use formats::smbios::SmbiosError;
use os::{Deadline, Os, WinPath};

use self::api::sealed::Rescans;
pub use self::blank::{BlankError, Unread};
pub use self::bounded::Unfinished;
use self::disks::PagingReads;
pub use self::disks::{
    Criterion, DiskError, DiskIds, DiskQuery, Excluded, FoundDisk, Guarded, Named,
    NamespaceConvention, NotEnough, NotIdentified, Obstacle, OfflineReason, Page83, PagingUnknown,
    RecordError, SeenDisk, SerialNumber, TrivialName, Verdict,
};
pub use self::filesystem::{
    EntryKind, FilesystemError, LeadsTo, Link, LinkForm, LinkTarget, ListedEntry, Listing, Look,
};
pub use self::firmware::{FirmwareError, Identity};
use self::in_flight::InFlight;
pub use self::iscsi::{
    Authentication, Chap, ChapSecret, Connected, IscsiError, LoginOptions, Portal, SessionInfo,
    TargetName,
};
use self::locks::{Key, LockGuard, Locks, Wait};
use self::notes::Notes;
pub use self::provider::ProviderError;
pub use self::resolved_path::{AllowedRoots, LookupPath, ResolveError, ResolvedPath};
pub use self::services::{Dependents, ServiceError, ServiceName};
pub use self::smb::{
    Credentials, Ipv6Server, MapOutcome, MapRequest, MappingOptions, MappingStatus, RemotePath,
    ShareMapping, SmbError, Transport, UnmapOutcome,
};
pub use self::system::SystemError;
pub use self::volumes::{
    AllocationUnit, Evidence, FileSystemType, FormatOptions, FormatOptionsError, Formatted,
    FoundVolume, Kept, NamedVolume, NewSize, NotReleased, Replaced, Resized, TargetError,
    VisibilityError, VolumeError,
};
use self::waits::Uncounted;
pub use self::waits::{Crowd, Crowded, Waits};

/// A node and the operations on it. Cheap to clone; clones share their locks.
#[derive(Clone)]
pub struct Node {
    state: Arc<NodeState>,
    options: Options,
}

/// The operations as csi-proxy's calls want them, group by group.
///
/// Here disks go by number and volumes by id alone, each group has errors of its own, and an operation runs on the
/// caller's thread for as long as it takes ([`Node::bounded`] runs one on another). [`api`] says what each does.
#[derive(Clone, Copy)]
pub struct Operations<'a> {
    node: &'a Node,
}

macro_rules! groups {
    ($($(#[$about:meta])+ $name:ident $group:ident;)+) => {
        $(
            $(#[$about])+
            pub struct $group<'a> {
                node: &'a Node,
            }
        )+

        impl<'a> Operations<'a> {
            $(
                $(#[$about])+
                #[must_use]
                pub fn $name(self) -> $group<'a> {
                    $group { node: self.node }
                }
            )+
        }
    };
}

groups! {
    /// Disks.
    disks Disks;
    /// Files, directories and links. Whether a client may name a path is for the caller to decide, by
    /// [`AllowedRoots`].
    filesystem Filesystem;
    /// The firmware's tables.
    firmware Firmware;
    /// The iSCSI initiator. Nothing of it works while Windows's initiator service (`MSiSCSI`) does not run; starting it
    /// is for the node's administrator, or [`Services`].
    iscsi Iscsi;
    /// Windows services.
    services Services;
    /// SMB mappings.
    smb Smb;
    /// Windows's information about the machine and its boot.
    system System;
    /// Volumes.
    volumes Volumes;
}

/// What the clones of a node share.
struct NodeState {
    os: Os,
    history: volumes::History,
    kept: Option<volumes::KeptPaths>,
    locks: Locks,
    in_flight: InFlight,
    smb: smb::Memory,
    logins: iscsi::Logins,
    notes: Option<Notes>,
    paging_reads: PagingReads,
    rescans: Rescans,
}

/// Settings of the server in front of a node.
pub struct Server {
    /// The server's own paths, if it may format volumes that hold a filesystem: see [`Kept`]. Without them a
    /// known signature always refuses, unless the guard is off.
    pub kept: Option<Kept>,
    /// Hears which operations wait.
    pub waits: Arc<dyn Waits>,
    /// The folder in which the node notes where links are being made. From these notes
    /// [`Filesystem::clear_noted`] finds the leftovers of a death. The node creates it when needed, only
    /// for SYSTEM and Administrators; nobody else may be able to write to its parent.
    pub notes: Option<WinPath>,
}

impl Default for Server {
    /// Nothing hears of waits, nothing is noted, and no volume with a filesystem is formatted.
    fn default() -> Self {
        Self {
            kept: None,
            waits: Arc::new(Uncounted),
            notes: None,
        }
    }
}

impl Node {
    /// The operations on the node that `os` is. There must be one `Node` per machine and process,
    /// and clones of it: locks hold only among clones.
    #[must_use]
    pub fn new(os: Os, options: Options) -> Self {
        Self::in_server(os, options, Server::default())
    }

    /// As [`Node::new`], for a server: it hears which operations wait, and keeps notes of unfinished links.
    #[must_use]
    pub fn in_server(os: Os, options: Options, server: Server) -> Self {
        let Server { kept, waits, notes } = server;
        let in_flight = InFlight::new(Arc::clone(&os.clock), Arc::clone(&waits));
        let locks = Locks::new(Arc::clone(&os.clock), in_flight.clone(), waits);
        let notes = notes.map(|folder| Notes { folder });
        let rescans = Rescans::new(Arc::clone(&os.clock));
        let os = in_flight::guarded(os, &in_flight);
        let kept = kept.map(|kept| volumes::KeptPaths::resolve(&os, kept));
        Self {
            options,
            state: Arc::new(NodeState {
                os,
                history: volumes::History::default(),
                kept,
                locks,
                in_flight,
                smb: smb::Memory::default(),
                logins: iscsi::Logins::default(),
                notes,
                paging_reads: PagingReads::default(),
                rescans,
            }),
        }
    }

    /// The system under the operations: the node's own, with one query of each disk and volume, and a few of each
    /// path, under way at a time.
    #[must_use]
    pub fn os(&self) -> &Os {
        &self.state.os
    }

    /// How the operations were told to behave.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The same node, under the same locks, whose operations behave as these options say.
    #[must_use]
    pub fn with_options(&self, options: Options) -> Self {
        Self {
            state: Arc::clone(&self.state),
            options,
        }
    }

    /// csi-proxy's operations, for a server of its calls. Drivers have [`api::NodeApi`].
    #[must_use]
    pub fn operations(&self) -> Operations<'_> {
        Operations { node: self }
    }

    fn in_flight(&self) -> &InFlight {
        &self.state.in_flight
    }

    /// Takes the locks of all these objects, or of none.
    fn lock(
        &self,
        operation: &'static str,
        keys: impl IntoIterator<Item = Key>,
        wait: impl Into<Wait>,
    ) -> Result<LockGuard, Unfinished> {
        self.state.locks.take(operation, keys, wait)
    }

    /// Refuses to go on when the deadline has passed.
    fn check(
        &self,
        deadline: Deadline,
        operation: &'static str,
        object: &dyn std::fmt::Display,
    ) -> Result<(), Unfinished> {
        match deadline.left(&*self.os().clock) {
            Some(_) => Ok(()),
            None => Err(Unfinished::deadline(operation, object)),
        }
    }
}

/// How a [`Node`] behaves where operators may choose: made by [`Options::default`], and changed field by
/// field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// The action while page files and crash dumps are not known.
    pub disk_guard: DiskGuard,
    /// The action for bytes of no known format, before they are overwritten.
    pub format_guard: FormatGuard,
    /// The SMB mappings that must be encrypted, unless [`MappingOptions::privacy`] decides.
    pub privacy: Privacy,
}

impl Default for Options {
    /// Encryption is demanded of all mappings, and nothing is overwritten that is not blank. csi-proxy's own options
    /// differ in both: see its flags `-require-privacy` and `-format-guard`.
    fn default() -> Self {
        Self {
            disk_guard: DiskGuard::Refuse,
            format_guard: FormatGuard::Strict,
            privacy: Privacy::All,
        }
    }
}

/// The action while Windows does not report the places of all page files and crash dumps: any disk may hold one
/// then.
///
/// It only affects taking a disk offline, growing a volume and wiping one. In both cases, bringing a disk online
/// and overwriting content that is proved blank go on. Every other guard of a disk refuses in both cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DiskGuard {
    /// It is refused.
    Refuse,
    /// It is done, with a warning in the log.
    Warn,
}

/// The action for nonzero bytes without a known signature, before a partition table or a filesystem is
/// written; and for a blank partition with the type of another system, before it is formatted. A known
/// signature refuses, except for a filesystem that its owner released ([`Kept`]).
///
/// A type does not count as a signature: it names the partition's system and proves no content, and csi-proxy,
/// which checks no type, formats it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FormatGuard {
    /// Nothing is inspected, not even known signatures and mounted filesystems, as in csi-proxy. Disks that the disk
    /// guard protects stay protected.
    Off,
    /// Unknown bytes are logged and overwritten; known signatures refuse.
    Signatures,
    /// Unknown bytes refuse, and so does every filesystem.
    Strict,
}

/// The SMB mappings that must be encrypted (`RequirePrivacy`). An existing mapping that does not report it
/// is reused, with a warning in the log; [`MappingOptions::privacy`] refuses it instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Privacy {
    /// All: one that is there and says that it is not is refused.
    All,
    /// Those that are made. One that is there is reused, with a warning in the log, as csi-proxy reuses it.
    New,
    /// None.
    Unasked,
}
