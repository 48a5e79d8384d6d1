use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use os::{Facility, Os, WinPath};

/// This machine is no Windows node.
pub(super) fn node() -> Option<Os> {
    None
}

/// No facility of a Windows node is native here.
pub(super) fn take(_simulated: Os, _facility: Facility) -> Option<Os> {
    None
}

/// The folder for sockets, closed to all but its owner.
pub(super) fn socket_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// No file of this machine is on a volume of a simulated node.
pub(super) fn on_node(_path: &Path) -> io::Result<Option<WinPath>> {
    Ok(None)
}
