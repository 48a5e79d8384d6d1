//! A simulated Windows node: everything that `os` names, kept in a folder of the host.
//!
//! It is stateful and behaves as Windows does: disks have partition tables that are really written,
//! providers answer from caches that lag, volumes appear late, a pulled-out disk takes its volumes
//! along. Tests, the demonstration and operators' experiments run on it, so a difference between it
//! and Windows is a fault here.
//!
//! A driver's tests plug in a disk, let something go wrong, and look at what the driver made of it; the
//! project's `docs/guide.md` goes through it step by step. [`testing`] has a node for them.
//!
//! The crate `wincsi` has it as the module `sim`, with examples.
//!
//! # A node's folder
//! ```text
//! node.toml             what somebody set up: name, firmware, SAN policy, services (NodeSpec)
//! disks/<name>.toml     a disk that is plugged in (DiskSpec) ...
//! disks/<name>.img      ... and its bytes, a sparse file
//! volumes/<guid>/       the files of a volume, as files
//! iscsi/<server>.toml   an iSCSI server near the node (iscsi::ServerSpec) ...
//! iscsi/<image>.img     ... and the bytes of its disks
//! smb/<server>.toml     an SMB server near the node (smb::ServerSpec) ...
//! smb/<server>/<share>/ ... and what its shares hold
//! faults.toml           optional: what goes wrong, see below
//! state.json            what the node knows; do not edit it
//! events.log            the event log, one event a line
//! node.lock             held by the process that has the node open
//! ```
//! All of it can be read at any time. `disks/` can be edited at any time, too, while a server has the
//! node open: put a `.img` and then a `.toml` there and a disk is plugged in, enlarge the image and
//! the disk has grown, delete the files and it is pulled out. [`HardwareControl`] does just that.
//!
//! A process that is killed leaves a folder that opens; several nodes live side by side.
//!
//! # Two views of a disk
//! The kernel ([`os::Disks`], [`os::Volumes`]) notices at once that a disk comes or goes, and a new
//! length when it is told to look (`update_properties`, or a rescan). The storage provider
//! ([`os::Os::storage`]) answers from its cache, which changes by its own methods,
//! `MSFT_Disk.Refresh` and `MSFT_StorageSetting.UpdateHostStorageCache` alone, but for a disk that came a while ago
//! ([`Arrivals`]). That is no fault but how Windows is. It leaves out dynamic disks, and a clone beside its original where [`Collision::Hidden`] is set.
//!
//! # Volumes on several disks
//! A dynamic disk's file says which parts of which volumes it holds ([`VolumeExtent`], a table `[[extent]]` each):
//! what Windows reads in the database on the disk. [`HardwareControl::span_disks`] makes dynamic disks and a volume over
//! all of them, and a node can come with one ([`SpannedSpec`]). [`os::Volumes`] has such a volume, with each of its
//! extents, while all of its disks are there and online. The storage provider has neither the disks nor
//! what lies on them.
//! ```
//! # extern crate wincsi_os_sim as os_sim;
//! use os_sim::{ClockMode, NodeSpec, SimNode, SpannedSpec};
//!
//! # let folder = tempfile::tempdir()?;
//! let spanned = SpannedSpec { letter: 'S', disks: 2, disk_bytes: 1 << 30 };
//! let spec = NodeSpec::named("node-1").spanned(spanned);
//! let node = SimNode::create(folder.path(), &spec, ClockMode::Virtual)?;
//! let volume = node.os().volumes.mounted_at(&r"S:\".parse()?)?;
//! assert_eq!(node.os().volumes.extents(volume)?.len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Profiles
//! A node that is made with a [`Profile`] answers as machines of one cloud did: the disk that it runs from, what its
//! firmware says, its policy for new disks, and data disks that [`Profile::disk`] builds. What such machines answered
//! is recorded in `formats::fixtures::field`, with sources; a test compares each recorded property with the profile's
//! object. What no record has is the simulator's own: `tests/it/profiles/unbacked.txt` lists it.
//!
//! # The gate
//! Every operation of every facility passes one gate, which records it ([`SimNode::take_trace`]) and
//! lets faults in ([`SimNode::faults`]). Only looking at the clock does not: nothing can go wrong with
//! it. The same faults can be scripted in `faults.toml`, which is followed whenever it changes:
//! ```toml
//! [[fault]]
//! operation = "MSFT_Disk.CreatePartition"   # `*` stands for anything; all when left out
//! object = "*disk*"                         # likewise
//! facility = "storage"                      # any when left out
//! from-nth = 2                              # the first matching operation that it applies to: 1
//! times = 1                                 # how many it applies to: all
//! text = "Zugriff verweigert"               # the system's text for a failure: none
//! effect = { fail = { win32 = 1117 } }
//! # or { fail-after = { hresult = 0x800706BA } }, { answer = { code = 40003, text = "..." } },
//! # { answer-after = { code = 42002 } }, { delay-ms = 1500 }, { detach-disk = "data1" },
//! # { take-server-down = "fs1" }, "hang", "overrun", "half-way", "half-way-from-end", "kill-before", "kill-after",
//! # { unsettled-ms = 1500 }
//! ```
//! An answer without a code is one whose `ReturnValue` is null.
//!
//! `half-way` stops a method after its first step: `MSFT_Disk.Initialize` before the reserved
//! partition, `MSFT_Partition.Resize` before the filesystem, `MSFT_Volume.Format` with one copy of NTFS's
//! boot sector written and nothing else: the first, or with `half-way-from-end` the one in the last sector.
//! Other operations have one step, and neither does anything to them. `unsettled-ms` has
//! `MSFT_Volume.Format` answer that a parameter is invalid until the volume has been there for so long, or has
//! a letter. In which order Windows writes a boot sector, and when it formats a new partition, nobody has
//! recorded.
//!
//! # Time
//! With [`ClockMode::Virtual`] time passes by sleeping alone, and at once. Whatever comes late (a
//! volume, a service) is due at a moment of the node's clock and is there once that has passed.
//!
//! # What it is not
//! No file content passes the gate: workloads write to `volumes/` directly. Storage Spaces and clusters do not exist
//! here: a disk's file can merely say that it belongs to a cluster. Of dynamic disks there are simple and spanned
//! volumes, none that are striped or mirrored, and no method that makes one. Partitions are created on GPT disks alone.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod demo;
pub mod files;
pub mod iscsi;
pub mod smb;
pub mod testing;

mod clock;
mod conditions;
mod disks;
mod files_gate;
mod folder;
mod gate;
mod hardware;
mod inventory;
mod latency;
mod machine;
mod node;
mod ondisk;
mod processes;
mod profile;
mod provider;
mod roots;
mod secret;
mod services;
mod shared_node;
mod smbios;
mod spanned;
mod spec;
mod spec_files;
mod storage;
mod system;
mod system_disk;
mod volumes;

pub use clock::ClockMode;
pub use conditions::{Arrivals, Collision, OfflineAttributes, ProtectionAnswer, StorageConditions};
pub use gate::{Effect, Faults, Kill, Op, Pattern, Rule, RuleId, ScriptError};
pub use hardware::{
    Address, Arrives, Association, Bus, Content, DiskSpec, HardwareControl, HardwareError,
    Identifier, IdentifierKind, IdentifierPage, PciFunction, Role, SectorSize, Stretch,
    VolumeExtent,
};
pub use inventory::Inventory;
pub use latency::Latency;
pub use node::{CreateError, SimNode, VolumeHold};
pub use profile::{Profile, UnknownProfile};
pub use secret::Secret;
pub use spanned::SpannedSpec;
pub use spec::{NodeSpec, ProcessSpec, SanPolicy, ServiceSpec, Start};
