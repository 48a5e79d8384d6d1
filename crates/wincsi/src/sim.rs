//! A simulated Windows node in a folder, for tests and experiments on any system.
//!
//! A test plugs in a disk, injects a fault, and looks at what the driver made of it.
//!
//! ```
//! use wincsi::sim::{Bus, ClockMode, Content, DiskSpec, Effect, NodeSpec, Rule, SimNode};
//! use wincsi::{Condition, Node, NodeApi, Options, Win32};
//!
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path();
//! let sim = SimNode::create(folder, &NodeSpec::named("node-1"), ClockMode::Virtual)?;
//! let disk = DiskSpec::on(Bus::Nvme).serial("S1");
//! sim.hardware().attach_disk("data", &disk, &Content::blank(1 << 30))?;
//!
//! let node = Node::new(sim.os(), Options::default());
//! let deadline = node.deadline(std::time::Duration::from_secs(60));
//! let full = Rule::on("CreateDirectoryW", Effect::fail(Win32::DISK_FULL)).times(1);
//! sim.faults().add(full);
//! let folder = r"C:\data".parse()?;
//! let refused = node.filesystem().make_directory(&folder, deadline).unwrap_err();
//! assert!(refused.is(Condition::NoRoom));
//! node.filesystem().make_directory(&folder, deadline)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A node of a [`Profile`] answers as machines of one cloud did.
//!
//! ```
//! use wincsi::sim::{ClockMode, Content, NodeSpec, Profile, SimNode};
//!
//! # let folder = tempfile::tempdir()?;
//! let spec = NodeSpec::named("node-1").profile(Profile::Ebs);
//! let sim = SimNode::create(folder.path(), &spec, ClockMode::Virtual)?;
//! let disk = Profile::Ebs.disk(1, "vol-0123456789abcdef0");
//! sim.hardware().attach_disk("data", &disk, &Content::blank(1 << 30))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The page of the crate `wincsi-os-sim` says what is in the folder, which faults there are, and what is not
//! simulated.

pub use os_sim::*;
