//! The storage of a Windows node, for authors of CSI drivers.
//!
//! A driver finds its disk, partitions, formats and mounts it, maps a share, logs in to a target: through
//! [`NodeApi`], whatever does the work. In a HostProcess container that is this process, on Windows itself
//! ([`native`]); in an ordinary container csi-proxy, over its named pipes (`pipes`); in a test, on any system, a
//! simulated node in a folder (`sim`). The switch is the line that makes the handle.
//!
//! ```toml
//! [dependencies]
//! wincsi = { version = "0.1", features = ["pipes"] }
//!
//! [dev-dependencies]
//! wincsi = { version = "0.1", features = ["simulated"] }
//! ```
//!
//! # A first look
//! A disk is staged and unstaged.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # #[cfg(feature = "simulated")] {
//! use std::time::Duration;
//!
//! use wincsi::disks::{Criterion, DiskQuery, Page83};
//! use wincsi::sim::{ClockMode, demo};
//! use wincsi::volumes::FormatOptions;
//! use wincsi::{Condition, Node, NodeApi, Options, WinPath};
//!
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path();
//! let simulated = demo::create(folder, ClockMode::Virtual)?;
//! let node: &dyn NodeApi = &Node::new(simulated.os(), Options::default());
//!
//! // One deadline for all of it. A disk is named by what tells it from others, never by its number. It may come late.
//! let deadline = node.deadline(Duration::from_secs(110));
//! let identifier = Criterion::Page83(Page83::parse(demo::DISK_PAGE83)?);
//! let wanted = DiskQuery::all([identifier, Criterion::Lun(1)])?;
//! let patience = Duration::from_secs(60);
//! let disk = node.disks().find_attached(&wanted, patience, deadline)?;
//!
//! // Each of these leaves alone what is as it should be, so that all may be repeated.
//! node.disks().bring_online(&disk, deadline)?;
//! node.disks().partition(&disk, deadline)?;
//! let volume = node.volumes().find_on(&disk, deadline)?;
//! let ntfs = FormatOptions::default();
//! node.volumes().ensure_formatted(&volume, &ntfs, deadline)?;
//! let staging: WinPath = r"C:\var\lib\kubelet\plugins\demo\globalmount".parse()?;
//! node.filesystem().make_directory(&staging, deadline)?;
//! node.volumes().mount(&volume, &staging, deadline)?;
//! assert_eq!(node.volumes().of_target(&staging, deadline)?, volume.id());
//!
//! // Formatted now, and so refused: by its condition, whatever does the work and whatever its text.
//! let refused = node.volumes().format(&volume, deadline).unwrap_err();
//! assert!(refused.is(Condition::NotBlank));
//!
//! node.volumes().unmount(volume.id(), &staging, deadline)?;
//! node.filesystem().remove_entry(&staging, deadline)?;
//! node.disks().take_offline(&disk, deadline)?;
//! # }
//! # Ok(())
//! # }
//! ```
//!
//! The project's `docs/guide.md` goes from an empty cargo project to a driver with tests of faults, deaths and reboots;
//! `examples/driver` has its files.
//!
//! # Deadlines
//! Every operation takes a [`Deadline`] by the clock of its node, made with [`NodeApi::deadline`], and returns by
//! then. What has begun on the node goes on, under its locks, to its real end, since Windows still works. So every
//! operation may be repeated, and a driver that is called again simply calls again.
//!
//! # Errors
//! One [`Error`] for all: the operation, the object and the [`Cause`]. A driver branches on the [`Condition`], never
//! on texts:
//!
//! ```
//! use wincsi::{Condition, Deadline, NodeApi, Result, ResultExt, WinPath};
//!
//! fn unpublish(node: &dyn NodeApi, target: &WinPath, deadline: Deadline) -> Result<()> {
//!     let removed = node.filesystem().remove_entry(target, deadline);
//!     removed.ok_if(Condition::NotFound)
//! }
//! ```
//!
//! [`Error::is_transient`] says which errors the same call may not meet later. Only [`Cause::Deadline`] and
//! [`Cause::Lost`] leave open whether the operation took effect.
//!
//! # What a backend cannot do
//! [`NodeApi::supports`] answers beforehand, by a [`Feature`]; the call itself fails with [`Cause::Unsupported`].
//!
//! # What is never written
//! A disk that Windows runs from, or that is pooled, clustered or dynamic, is refused by everything that writes. Before
//! a disk is initialised, a partition created or a volume formatted, what they overwrite is proved blank. What a
//! driver changes it has found by all that it knows of it ([`disks::FoundDisk`], [`volumes::FoundVolume`]), and it is
//! verified again right before the change.
//!
//! # Locks
//! In process an operation locks exactly the objects that it changes, among the clones of one [`Node`]: one for the
//! whole process. The modules of the crate `wincsi-node`, where the operations are, say more of locks, hangs and
//! deaths.
//!
//! # Features and targets
//! `pipes` and `simulated`, as above; neither is a default. The native node is there on Windows
//! (`x86_64-pc-windows-gnu`, `x86_64-pc-windows-msvc`) without a feature. It has not run on Windows Server yet: the
//! project's table says what ran where.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod disks;
pub mod filesystem;
pub mod iscsi;
mod native;
#[cfg(feature = "pipes")]
pub mod pipes;
#[cfg(feature = "simulated")]
pub mod sim;
pub mod smb;
pub mod system;
pub mod volumes;

pub use node::api::{
    Cause, Code, Condition, Error, Feature, Needs, NodeApi, Result, ResultExt, Unreachable,
};
pub use node::{DiskGuard, FormatGuard, Node, Options};
pub use os::{Deadline, Hresult, Os, PathError, SystemText, Win32, WinPath};
pub use zeroize::Zeroizing;

pub use self::native::{NotWindows, native};
