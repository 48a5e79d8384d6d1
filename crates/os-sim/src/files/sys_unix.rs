//! The node's attributes on a Unix host.

use std::fs::{self, FileType, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::Path;

use os::ReparseTag;

/// The sticky bit represents the read-only attribute: the owner of a directory may still change its
/// content, as on Windows; cleared write bits would forbid that.
const READ_ONLY: u32 = 0o1000;

pub(super) fn is_read_only(metadata: &Metadata) -> bool {
    metadata.permissions().mode() & READ_ONLY != 0
}

pub(super) fn set_read_only(path: &Path, read_only: bool) -> io::Result<()> {
    let mode = fs::symlink_metadata(path)?.permissions().mode();
    let mode = if read_only {
        mode | READ_ONLY
    } else {
        mode & !READ_ONLY
    };
    fs::set_permissions(path, Permissions::from_mode(mode))
}

/// Whether a directory certainly holds directories, and so is no reparse point: the link count shows it without
/// reading the directory, as each subdirectory has a link to it. Filesystems that do not count these links report 1.
pub(super) fn has_directories(metadata: &Metadata) -> bool {
    metadata.nlink() > 2
}

/// Windows's tag for entries that are neither file nor directory. Source: [MS-FSCC] 2.1.2.1.
pub(super) fn special(kind: FileType) -> Option<ReparseTag> {
    const LX_SYMLINK: ReparseTag = ReparseTag(0xA000_001D);
    const LX_FIFO: ReparseTag = ReparseTag(0x8000_0024);
    const LX_CHR: ReparseTag = ReparseTag(0x8000_0025);
    const LX_BLK: ReparseTag = ReparseTag(0x8000_0026);
    let kinds = [
        (kind.is_symlink(), LX_SYMLINK),
        (kind.is_socket(), ReparseTag::AF_UNIX),
        (kind.is_fifo(), LX_FIFO),
        (kind.is_char_device(), LX_CHR),
        (kind.is_block_device(), LX_BLK),
    ];
    kinds.into_iter().find_map(|(is, tag)| is.then_some(tag))
}
