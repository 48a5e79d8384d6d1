//! The groups' operations, once for all versions: parse the client's values, call `node`.

mod check;
mod disk;
pub(crate) mod disk_id;
mod filesystem;
mod iscsi;
mod smb;
mod system;
mod volume;

use std::time::Instant;

use node::{FormatGuard, LookupPath, Node, ResolvedPath};
use os::Deadline;

use crate::paths::{PathRule, WorkingDirs};

pub(crate) use check::Checked;
pub(crate) use disk::{DiskFailure, DiskState};
pub(crate) use disk_id::DiskIdError;
pub(crate) use filesystem::{FilesystemFailure, Force};
pub(crate) use iscsi::{IscsiFailure, LoginRequest, PortalRequest, TargetRequest};
pub(crate) use smb::{MappingRequest, SmbFailure};
pub(crate) use volume::{Forwarded, VolumeFailure};

/// The operations of one node as clients of the pipes may call them.
pub struct PipeOperations {
    node: Node,
    working_dirs: WorkingDirs,
}

impl PipeOperations {
    /// The operations on `node`, with paths confined to the working folders, resolved now.
    #[must_use]
    pub fn new(node: Node, working_dirs: WorkingDirs) -> Self {
        let working_dirs = working_dirs.resolved(node.os());
        let operations = Self { node, working_dirs };
        operations.warn_of_links_out();
        operations
    }

    /// A kubelet with its `pods` on another drive is refused every call there: the start logs how to allow it, since
    /// the first refusal comes with the first pod.
    fn warn_of_links_out(&self) {
        let allowed = self.working_dirs.allowed();
        for (link, target) in allowed
            .iter()
            .flat_map(|allowed| allowed.links_out(self.node.os()))
        {
            tracing::warn!(
                "{link} leads to {target}, out of the working directories: calls behind it are refused without -working-dir={target}"
            );
        }
    }

    /// The same operations, but they overwrite only blank disks, whatever the flag says.
    pub(crate) fn strict(&self) -> Self {
        let mut options = *self.node.options();
        options.format_guard = FormatGuard::Strict;
        Self {
            node: self.node.with_options(options),
            working_dirs: self.working_dirs.clone(),
        }
    }

    /// Removes leftovers of links that were being made when this program died. Without confined paths there are none.
    pub(crate) fn clear_leftovers(&self) {
        if let Some(allowed) = self.working_dirs.allowed() {
            self.node.operations().filesystem().clear_noted(allowed);
        }
    }

    /// Resolves a path under csi-proxy's rules.
    pub(crate) fn resolved_path(&self, path: &str) -> Result<ResolvedPath, PathRule> {
        let admitted = self.working_dirs.admit(path)?;
        self.working_dirs.follow(self.node.os(), admitted)
    }

    /// As [`PipeOperations::resolved_path`], for a removal.
    pub(crate) fn way_to_removal(&self, path: &str) -> Result<ResolvedPath, PathRule> {
        let admitted = self.working_dirs.admit_removal(path)?;
        self.working_dirs.follow_removal(self.node.os(), admitted)
    }

    /// Resolves a path for mounting or unmounting a volume, in any of the drivers' forms.
    pub(crate) fn mount_point(&self, path: &str) -> Result<ResolvedPath, PathRule> {
        self.working_dirs.mount_point(self.node.os(), path)
    }

    /// Resolves a path that csi-proxy's look-up uses unchecked, in any of these forms.
    pub(crate) fn lookup(&self, path: &str) -> Result<LookupPath, PathRule> {
        self.working_dirs.lookup(self.node.os(), path)
    }

    /// A call's deadline in the node's own time.
    pub(crate) fn deadline(&self, at: Instant) -> Deadline {
        let left = at.saturating_duration_since(Instant::now());
        Deadline::within(&*self.node.os().clock, left)
    }
}
