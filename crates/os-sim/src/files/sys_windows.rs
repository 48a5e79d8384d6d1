//! The node's attributes on a Windows host.

use std::fs::{self, FileType, Metadata};
use std::io;
use std::path::Path;

use os::ReparseTag;

pub(super) fn is_read_only(metadata: &Metadata) -> bool {
    metadata.permissions().readonly()
}

pub(super) fn set_read_only(path: &Path, read_only: bool) -> io::Result<()> {
    let mut permissions = fs::symlink_metadata(path)?.permissions();
    permissions.set_readonly(read_only);
    fs::set_permissions(path, permissions)
}

/// Whether a directory holds directories for sure: nothing tells it without a look into it.
pub(super) fn has_directories(_metadata: &Metadata) -> bool {
    false
}

/// The host's own links are opaque to the node: it must not be led out of its folder.
pub(super) fn special(kind: FileType) -> Option<ReparseTag> {
    kind.is_symlink().then_some(ReparseTag(0xA000_001D))
}
