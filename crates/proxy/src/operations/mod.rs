//! What the groups do, once for all versions: parse what a client sent, call `node`.

mod disk;
pub(crate) mod disk_id;
mod filesystem;
mod iscsi;
mod smb;
mod system;
mod volume;

use std::time::Instant;

use node::Node;
use os::Deadline;

use crate::paths::WorkingDirs;

pub(crate) use disk::DiskState;
pub(crate) use disk_id::DiskIdError;
pub(crate) use filesystem::Force;
pub(crate) use iscsi::LoginRequest;
pub(crate) use iscsi::PortalRequest;
pub(crate) use iscsi::TargetRequest;
pub(crate) use smb::MappingRequest;
pub(crate) use volume::Forwarded;

/// The operations of one node as clients of the pipes may call them.
pub struct Operations {
    node: Node,
    working_dirs: WorkingDirs,
}

impl Operations {
    /// The operations on `node`, with paths confined to the working folders.
    #[must_use]
    pub fn new(node: Node, working_dirs: WorkingDirs) -> Self {
        Self { node, working_dirs }
    }

    /// A call's deadline in the node's own time.
    pub(crate) fn deadline(&self, at: Instant) -> Deadline {
        let left = at.saturating_duration_since(Instant::now());
        Deadline::within(&*self.node.os().clock, left)
    }
}
