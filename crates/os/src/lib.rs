//! What a Windows node offers to storage code, as traits and types: the seam of the project.
//!
//! Everything above this crate (`node`, `proxy`, drivers) learns about the world only through the
//! traits here; everything below implements them: `os-windows` with Win32, IOCTLs and WMI,
//! `os-sim` with a simulated node that lives in a folder. One suite of cases, `conformance`, runs
//! against both. There is no call to an operating system here, and no logic but the forwarding of layers
//! ([`layer`]): code around each operation, such as metrics.
//!
//! A driver's author meets it as the types that `wincsi-node` and `wincsi-client` speak of: paths, disk
//! numbers, volume ids, deadlines. They are parsed once, and cannot hold a bad value:
//! ```
//! # extern crate wincsi_os as os;
//! use os::VolumeId;
//! use os::WinPath;
//!
//! let staging: WinPath = r"C:\var/lib/kubelet".parse()?;
//! assert_eq!(staging.to_string(), r"C:\var\lib\kubelet");
//! assert!(r"C:\var\..\Windows".parse::<WinPath>().is_err());
//!
//! let volume: VolumeId = r"\\?\Volume{6a5cbf4c-0bd5-4d1a-8c6b-64a0ef0f4b9e}\".parse()?;
//! assert_eq!(volume.to_string().len(), r"\\?\Volume{}\".len() + 36);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Shape
//! A node is an [`Os`]: one trait object per [`Facility`], so that each can be simulated or native
//! on its own (simulated disks beside real files). The traits mirror what Windows has, not what the
//! operations need: a mounted folder is a reparse point in [`Files`] and a row of the mount manager
//! in [`Volumes`]; a disk is a device in [`Disks`] and an `MSFT_Disk` object in [`Provider`]. The
//! two views of a disk may differ until the provider is refreshed, as on a real node.
//!
//! # Calls
//! Calls block the calling thread. Calls that Windows lets us bound take a [`Deadline`]; the
//! others (a file system call on a dead share) end when the system ends them, and a caller that must not
//! wait for them runs them on a thread of their own.
//!
//! # Errors
//! One [`Error`] for all facilities: the operation, the object, and the [`Cause`] with Windows's own
//! code. Texts are ours and English on every node; the system's localised text is carried as data.
//!
//! # Targets and names
//! There are no features and no code for one system: the crate is the same on Linux and on Windows. Pages
//! and code of the project call it `os`: `os = { package = "wincsi-os", version = "0.1" }`.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod boot;
mod clock;
mod dacl;
mod disks;
mod error;
mod facility;
mod files;
mod ids;
pub mod layer;
mod path;
mod provider;
mod secret;
mod services;
mod system_text;
mod value;
mod volumes;

#[allow(
    missing_docs,
    reason = "rows and their fields bear Windows's own names, and each row says its source"
)]
pub mod schema;

pub use boot::{AfUnix, Boot, BootId, Event, EventLevel, EventLog, Firmware, Paging};
pub use clock::{Clock, Deadline, Moment};
pub use dacl::{Dacl, DaclError, EntryError};
pub use disks::{
    BusType, DeviceDescriptor, DiskAccess, DiskAttributes, DiskFacts, Disks, DriveLayout,
    PartitionEntry, PartitionStyle, ScsiAddress,
};
pub use error::{Cause, Error, Hresult, Result, Win32};
pub use facility::{Facility, Os, UnknownFacility};
pub use files::{
    DirEntry, Entry, FileAttributes, Files, Held, LinkKind, Pin, Placeholder, ReparseTag,
};
pub use ids::{DiskNumber, ParseVolumeIdError, PartitionNumber, VolumeId};
pub use path::{Component, PathError, Root, WinPath};
pub use provider::{
    Arguments, Comparison, Instance, ObjectPath, Outcome, Predicate, Provider, Query, Returned,
    Target,
};
pub use services::{ServiceInfo, ServiceState, Services, StartType};
pub use system_text::SystemText;
pub use value::{Value, ValueError};
pub use volumes::{Extent, FileSystem, Space, VolumeLock, Volumes};
