//! Where the node's drives, volumes and shares lie on the host.

use std::path::PathBuf;
use std::sync::Arc;

use os::{Cause, Error, Result, Root, VolumeId, Win32, WinPath};

use crate::files::{MountWatcher, Roots};
use crate::machine::Machine;
use crate::shared_node::SharedNode;
use crate::volumes::mounted;
use crate::{folder, smb};

/// The file tree's view of the node.
pub(crate) struct NodeRoots(pub(crate) Arc<SharedNode>);

impl Roots for NodeRoots {
    fn folder(&self, root: &Root) -> Result<PathBuf> {
        self.0
            .with(|machine| folder_of(machine, root))
            .map_err(|cause| Error::new("CreateFileW", root, cause))
    }

    fn is_read_only(&self, root: &Root) -> bool {
        self.0
            .with(|machine| is_read_only(machine, root))
            .unwrap_or_default()
    }
}

impl MountWatcher for NodeRoots {
    fn forget(&self, folder: &WinPath, _volume: VolumeId) {
        let forgotten = self.0.with(|machine| {
            machine.forget_mount(folder);
            Ok(())
        });
        if let Err(error) = forgotten {
            tracing::warn!(%folder, %error, "the mount manager could not forget a folder");
        }
    }
}

fn folder_of(machine: &mut Machine, root: &Root) -> std::result::Result<PathBuf, Cause> {
    if let Root::Share { host, share } = root {
        return smb::share_folder(machine, host, share);
    }
    match volume(machine, root)? {
        Some(volume) => volume_folder(machine, volume),
        None => Err(Win32::BAD_NETPATH.into()),
    }
}

fn is_read_only(machine: &mut Machine, root: &Root) -> std::result::Result<bool, Cause> {
    let Some(volume) = volume(machine, root)? else {
        return Ok(false);
    };
    let home = machine.home(volume)?;
    Ok(machine.is_read_only(&home))
}

/// The volume that a root is on; `None` for a share.
fn volume(machine: &Machine, root: &Root) -> std::result::Result<Option<VolumeId>, Cause> {
    match root {
        Root::Drive(_) => machine
            .volume_of_letter(&WinPath::of_root(root.clone()))
            .map(Some),
        Root::Share { .. } => Ok(None),
        Root::Volume(volume) => Ok(Some(*volume)),
    }
}

fn volume_folder(machine: &Machine, volume: VolumeId) -> std::result::Result<PathBuf, Cause> {
    let home = machine.home(volume).map_err(|_| Win32::PATH_NOT_FOUND)?;
    mounted(machine, volume, &home)?;
    let folder = machine
        .files_of(volume)
        .ok_or(Cause::Unavailable("files: this node is held in memory"))?;
    folder::make(&folder)
        .map_err(|error| Cause::Malformed(format!("{}: {error}", folder.display())))?;
    Ok(folder)
}
