//! The operations of a node as traits, so that a driver does not know whose process does them.
//!
//! A driver in a HostProcess container does the work itself, through [`crate::Node`]; a driver in an
//! ordinary container asks csi-proxy for it, through the crate `wincsi-client`. Both are a
//! [`NodeApi`], with the same types, deadlines and errors, so that the switch is the line that makes
//! the handle:
//!
//! ```
//! # extern crate wincsi_node as node;
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use node::Node;
//! use node::Options;
//! use node::api::Condition;
//! use node::api::NodeApi;
//!
//! /// What a driver does does not depend on who does it.
//! fn is_staged(node: &dyn NodeApi, target: &str) -> Result<bool, Box<dyn std::error::Error>> {
//!     let deadline = node.deadline(Duration::from_secs(30));
//!     match node.volumes().of_target(&target.parse()?, deadline) {
//!         Ok(_) => Ok(true),
//!         Err(error) => match error.condition() {
//!             Some(Condition::NotFound | Condition::NotAMountedFolder) => Ok(false),
//!             _ => Err(error.into()),
//!         },
//!     }
//! }
//!
//! # let folder = tempfile::tempdir()?;
//! # let simulated = os_sim::demo::create(folder.path(), os_sim::ClockMode::Virtual)?;
//! # let os = simulated.os();
//! let node: Arc<dyn NodeApi> = Arc::new(Node::new(os, Options::default()));
//! // or: Arc::new(client::Node::local("csi-proxy"))
//! assert!(!is_staged(&*node, r"C:\var\lib\kubelet\plugins\demo\globalmount")?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Deadlines
//! Every operation takes an [`os::Deadline`] by the clock of its node, made with
//! [`NodeApi::deadline`], and answers by then. What has begun on the node may go on, under its
//! locks, to its real end.
//!
//! # Errors
//! One [`Error`] for all: the operation, the object and the [`Cause`]. A driver branches on the
//! cause, and on the [`Condition`] of a failure, never on texts; those are for people. What Windows says in
//! its own language stands beside the text ([`Error::system_text`]). Only [`Cause::Deadline`] and
//! [`Cause::Lost`] leave open whether the operation took effect: the driver answers with an error, is
//! called again, and calls again, since every operation may be repeated.
//!
//! # Not to be implemented
//! The traits are sealed: operations are added in minor versions. A driver is tested on a simulated node
//! instead, which fails as Windows does.

mod attached;
mod codes;
mod conditions;
mod error;
mod groups;
mod in_process;
/// What keeps the traits ours: `wincsi-client` alone implements them beside this crate.
#[doc(hidden)]
pub mod sealed {
    pub use super::attached::{Rescans, Wait};

    /// Implemented where the operations are.
    pub trait Sealed {}
}

use std::time::Duration;

use os::Deadline;

pub use self::error::{Cause, Code, Condition, Error, Result, Unreachable};
pub use self::groups::{Disks, Filesystem, Iscsi, Smb, System, Volumes};
use self::sealed::Sealed;

/// A node and the operations on it, whoever does them.
pub trait NodeApi: Sealed + Send + Sync {
    /// The deadline `within` from now, by the node's clock. One deadline may bound many calls.
    fn deadline(&self, within: Duration) -> Deadline;

    /// Disks.
    fn disks(&self) -> &dyn Disks;

    /// Files, directories and links.
    fn filesystem(&self) -> &dyn Filesystem;

    /// iSCSI portals, targets and sessions.
    fn iscsi(&self) -> &dyn Iscsi;

    /// SMB mappings.
    fn smb(&self) -> &dyn Smb;

    /// The computer and its services.
    fn system(&self) -> &dyn System;

    /// Volumes.
    fn volumes(&self) -> &dyn Volumes;
}
