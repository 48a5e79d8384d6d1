//! Volumes with a filesystem that their owner has released.
//!
//! A provisioner of local volumes wipes a released one by `FormatVolume`
//! (sig-storage-local-static-provisioner, `pkg/util/volume_util_windows.go`). Its volumes are mounted where
//! the operator configured, outside of the folders in which drivers work. A staged volume of a driver is
//! mounted inside them.

use std::collections::BTreeSet;
use std::sync::Arc;

use os::{Deadline, Os, Root, VolumeId, WinPath};

use super::{TargetError, VolumeError, flush, target};
use crate::bounded::race;
use crate::in_flight::ANSWER_WITHIN;
use crate::resolved_path::canonical::{self, lies_in};
use crate::{AllowedRoots, Node, ResolvedPath, Unfinished};

/// The paths that a server uses and runs from. With them a node formats a volume with a filesystem, under
/// [`crate::FormatGuard::Signatures`], if the volume is mounted only outside of the working folders, holds
/// none of these paths and no other volume's mounted folder, and nothing on it is open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// The folders in which drivers work.
    pub working_folders: Vec<WinPath>,
    /// The server's own files and folders: its program, logs, policy, notes.
    pub files: Vec<WinPath>,
}

/// Why a volume with a filesystem is not formatted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each field is named for what it holds")]
pub enum NotReleased {
    /// One of the server's own files is on it.
    #[error("it holds {path}, which this server uses")]
    HoldsFile { path: String },
    /// Another volume is mounted on it.
    #[error("volume {volume} is mounted in a folder of it")]
    HoldsMount { volume: VolumeId },
    /// A working folder is on the volume, or a link on the way to one, or the target of a link right below
    /// one. The path is in the log only: a link may have supplied it.
    #[error("it holds a working folder, or a link on the way to one")]
    HoldsWorkingFolder {
        /// The folder, or where it leads.
        path: String,
    },
    /// The volume is mounted in a working folder, or that cannot be excluded: it may be staged. The
    /// path is in the log only: any caller may have named it.
    #[error("it is mounted within the working folders")]
    MountedInside { path: String },
    /// No folder or letter outside of the working folders leads to it.
    #[error("it is mounted nowhere outside of the working folders")]
    MountedNowhere,
    /// This process last reported that it has no filesystem. So its caller does not know the content.
    #[error("this server last answered that it is not formatted")]
    SaidUnformatted,
    /// A path of the server, or of another volume, cannot be followed. The log has the path.
    #[error("it is not known what it holds")]
    Unknown(#[from] TargetError),
    /// The mounts of volumes, or a working folder, cannot be read. The log has the cause.
    #[error("it is not known where volumes are mounted")]
    Unread(#[from] os::Error),
}

/// [`Kept`], with the targets of the working folders when the server started.
pub(crate) struct KeptPaths {
    kept: Kept,
    allowed: Arc<AllowedRoots>,
}

impl KeptPaths {
    pub(crate) fn resolve(os: &Os, kept: Kept) -> Self {
        let allowed = AllowedRoots::resolve_roots(os, &kept.working_folders);
        Self { kept, allowed }
    }

    /// Refuses a volume that may be in use. To be called under its lock.
    fn refuse(&self, os: &Os, volume: VolumeId) -> Result<(), NotReleased> {
        let now = AllowedRoots::resolve_roots(os, &self.kept.working_folders);
        let allowed = [&*self.allowed, &*now];
        refuse_mounts(os, volume, allowed)?;
        for path in allowed.into_iter().flat_map(AllowedRoots::paths) {
            if leads_through(os, &path, volume)? {
                let path = path.to_string();
                return Err(NotReleased::HoldsWorkingFolder { path });
            }
        }
        for file in &self.kept.files {
            if leads_through(os, file, volume)? {
                let path = file.to_string();
                return Err(NotReleased::HoldsFile { path });
            }
        }
        refuse_mounts_below(os, volume)
    }
}

/// Why a volume may still be needed, or is in use; `None` if it was released. To be called under the
/// volume's lock.
///
/// # Errors
/// [`VolumeError::InUse`]; the call timed out, or Windows's lock failed otherwise.
pub(super) fn objection(
    node: &Node,
    volume: VolumeId,
    deadline: Deadline,
) -> Result<Option<NotReleased>, VolumeError> {
    if node.state.history.last_answer(volume) == Some(false) {
        return Ok(Some(NotReleased::SaidUnformatted));
    }
    if let Err(reason) = refuse_in_time(node, volume, deadline)? {
        tracing::warn!(%volume, ?reason, "a volume with a filesystem is not formatted");
        return Ok(Some(reason));
    }
    // Windows's lock is released at once, as the provider needs it to format. It fails while anything on the volume is
    // open, and dismounts nothing by force
    // (<https://learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-fsctl_lock_volume>).
    flush::lock_unused(node, volume, deadline).map(|_lock| None)
}

/// Runs with a time limit: it reads disks of others, which may hang, while the caller holds this
/// disk's lock.
fn refuse_in_time(
    node: &Node,
    volume: VolumeId,
    deadline: Deadline,
) -> Result<Result<(), NotReleased>, Unfinished> {
    let clock = &*node.os().clock;
    let limit = deadline.min(Deadline::within(clock, ANSWER_WITHIN));
    let owned = node.clone();
    let look = move || match &owned.state.kept {
        Some(kept) => kept.refuse(owned.os(), volume),
        None => Err(NotReleased::MountedNowhere),
    };
    match race(clock, "format volume", limit, look) {
        Err(Unfinished::Deadline { .. }) if deadline.left(clock).is_some() => {
            let others = &"the other volumes of the node";
            Err(Unfinished::not_answering("format volume", others))
        }
        answered => answered,
    }
}

/// Refuses a volume that is mounted inside the working folders, or nowhere outside. It compares the texts of
/// paths and also their targets: the mount manager reports drive and folder, while a working folder's target
/// may begin with a volume.
fn refuse_mounts(
    os: &Os,
    volume: VolumeId,
    allowed: [&AllowedRoots; 2],
) -> Result<(), NotReleased> {
    let paths = os.volumes.access_paths(volume)?;
    if paths.is_empty() {
        return Err(NotReleased::MountedNowhere);
    }
    let is_named_inside = |path: &WinPath| {
        let is_on_a_drive = matches!(path.root(), Root::Drive(_));
        !is_on_a_drive || allowed.iter().any(|allowed| allowed.contain(path))
    };
    if let Some(path) = paths.iter().find(|path| is_named_inside(path)) {
        return Err(mounted_inside(path));
    }
    let inside = places_inside(os, allowed)?;
    let is_on_it = |place: &&WinPath| *place.root() == Root::Volume(volume);
    if let Some(place) = inside.iter().find(is_on_it) {
        let path = place.to_string();
        return Err(NotReleased::HoldsWorkingFolder { path });
    }
    refuse_places(os, &paths, &inside)
}

/// Refuses a volume if one of its paths is inside. A drive is in no folder.
fn refuse_places(os: &Os, paths: &[WinPath], inside: &[WinPath]) -> Result<(), NotReleased> {
    for path in paths.iter().filter(|path| path.name().is_some()) {
        let place = canonical::of_entry(os, path).map_err(TargetError::from)?;
        let is_inside = |place: &WinPath| inside.iter().any(|folder| lies_in(place, folder));
        if place.as_ref().is_none_or(is_inside) {
            return Err(mounted_inside(path));
        }
    }
    Ok(())
}

fn mounted_inside(path: &WinPath) -> NotReleased {
    let path = path.to_string();
    NotReleased::MountedInside { path }
}

/// The targets of the working folders and of the links right below them. No call of this server follows a
/// link that leads out, but other programs that stage do.
fn places_inside(os: &Os, allowed: [&AllowedRoots; 2]) -> Result<Vec<WinPath>, NotReleased> {
    let mut places = Vec::new();
    for allowed in allowed {
        let links = allowed.entries_that_lead_on(os)?;
        for path in allowed.paths().chain(links) {
            let place = canonical::of_target(os, &path).map_err(TargetError::from)?;
            places.extend(place);
        }
    }
    Ok(places)
}

/// Refuses a volume with a folder where another one is mounted.
fn refuse_mounts_below(os: &Os, volume: VolumeId) -> Result<(), NotReleased> {
    let mut others = os.volumes.list()?;
    others.retain(|other| *other != volume);
    for other in others {
        let paths = match os.volumes.access_paths(other) {
            Err(error) if error.is_not_found() => continue,
            paths => paths?,
        };
        for folder in paths.iter().filter_map(WinPath::parent) {
            if leads_through(os, &folder, volume)? {
                return Err(NotReleased::HoldsMount { volume: other });
            }
        }
    }
    Ok(())
}

/// Whether any part of the path is on the volume. A missing path, or one on a share, is not.
fn leads_through(os: &Os, path: &WinPath, volume: VolumeId) -> Result<bool, TargetError> {
    let mut on_the_way = BTreeSet::new();
    for depth in 0..=path.components().len() {
        let above = target::Missing::LookAbove;
        match target::closest(os, &ResolvedPath::from(&path.prefix(depth)), above) {
            Ok(found) => on_the_way.insert(found),
            Err(error) if error.is_missing() => break,
            Err(TargetError::NoVolume { .. }) => break,
            Err(error) => return Err(error),
        };
    }
    Ok(on_the_way.contains(&volume))
}
