//! The operations of a node as traits, so that a driver does not know whose process does them.
//!
//! A driver in a HostProcess container does the work itself, through [`crate::Node`]; a driver in an
//! ordinary container asks csi-proxy for it, through the crate `wincsi-client`. Both are a
//! [`NodeApi`], with the same types, deadlines and errors, so that the switch is the line that makes
//! the handle. The crate `wincsi` has examples.
//!
//! # Deadlines
//! Every operation takes an [`os::Deadline`] by the clock of its node, and answers by then; after it none begins. A
//! driver makes one deadline for an RPC with [`NodeApi::deadline`], and hands it to each call. Each operation is bounded
//! by itself, and not the RPC as a whole: so the driver goes on at the deadline, and can record and undo. What has begun
//! on the node may go on, under its locks, to its real end.
//!
//! # Errors
//! One [`Error`] for all: the operation, the object and the [`Cause`]. A driver branches on the
//! cause, and on the [`Condition`] of a failure ([`Error::is`], [`ResultExt::ok_if`]), never on texts; those are
//! for people. Each operation names the conditions that a driver treats in a way of its own. Beside them every
//! operation may fail with [`Condition::AccessDenied`] (the driver or the proxy is no administrator),
//! [`Condition::Crowded`], [`Condition::NotAnswering`], [`Condition::NotReady`] (a provider that is not reached)
//! and [`Condition::Other`]; one that takes a path, with [`Condition::PathRefused`] and
//! [`Condition::OutOfReach`]. Each cause may come of each operation. What Windows says in
//! its own language stands beside the text ([`Error::system_text`]). Only [`Cause::Deadline`] and
//! [`Cause::Lost`] leave open whether the operation took effect: the driver answers with an error, is
//! called again, and calls again, since every operation may be repeated.
//!
//! # What a backend cannot do
//! One trait is for both backends. What csi-proxy's protocol does not carry is a [`Feature`]: a driver asks
//! [`NodeApi::supports`] before it begins, or meets [`Cause::Unsupported`] at the call. What a csi-proxy of an
//! older version lacks is the same cause, with the version that is needed ([`Needs::Version`]).
//!
//! # Threads
//! In this process each call runs on a thread of its own, so that its caller is answered at the deadline
//! ([`crate::Node::bounded`]). Over pipes it runs in the proxy.
//!
//! # Not to be implemented
//! The traits are sealed: operations are added in minor versions. A driver is tested on a simulated node
//! instead, which fails as Windows does.

mod attached;
mod by_found;
mod codes;
mod conditions;
mod disks;
mod error;
mod features;
mod filesystem;
mod iscsi;
mod names;
mod operations;
mod result_ext;
mod smb;
mod system;
mod volumes;
/// What the groups' pages link to.
#[allow(unused_imports, reason = "the pages link to them")]
mod links {
    pub(super) use super::Condition::*;
    pub(super) use super::{Cause, Disks, Feature, Needs, Volumes};
}

/// Seals the traits: besides this crate only `wincsi-client` implements them.
#[doc(hidden)]
pub mod sealed {
    pub use super::attached::{Rescans, Wait};

    /// Implemented where the operations are.
    pub trait Sealed {}
}

use std::time::Duration;

use os::Deadline;

pub use self::by_found::{WriteRefusal, disk_size_of, write_refusal_of};
pub use self::disks::Disks;
pub use self::error::{Cause, Code, Error, Needs, Result, Unreachable};
pub use self::features::Feature;
#[doc(hidden)]
pub use self::features::feature_table;
pub use self::filesystem::Filesystem;
pub use self::iscsi::Iscsi;
pub use self::names::Condition;
pub use self::result_ext::ResultExt;
use self::sealed::Sealed;
pub use self::smb::Smb;
pub use self::system::System;
pub use self::volumes::Volumes;
use crate::Node;

/// A node and the operations on it, by any backend.
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

    /// Whether calls that need this feature can succeed. It depends only on the backend, without a query.
    fn supports(&self, feature: Feature) -> bool;

    /// The computer and its services.
    fn system(&self) -> &dyn System;

    /// Volumes.
    fn volumes(&self) -> &dyn Volumes;
}

impl Sealed for Node {}

impl NodeApi for Node {
    fn deadline(&self, within: Duration) -> Deadline {
        Deadline::within(&*self.os().clock, within)
    }

    fn disks(&self) -> &dyn Disks {
        self
    }

    fn filesystem(&self) -> &dyn Filesystem {
        self
    }

    fn iscsi(&self) -> &dyn Iscsi {
        self
    }

    fn smb(&self) -> &dyn Smb {
        self
    }

    fn supports(&self, _feature: Feature) -> bool {
        true
    }

    fn system(&self) -> &dyn System {
        self
    }

    fn volumes(&self) -> &dyn Volumes {
        self
    }
}
