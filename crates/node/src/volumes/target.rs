//! From a path to the volume that it leads to, without the provider.

use os::{Os, ReparseTag, Root, VolumeId, WinPath};

use crate::link::{self, Leads};
use crate::resolved_path::is_absent;
use crate::{ResolveError, ResolvedPath, driver_texts};

/// The most links that one look-up follows, and folders above that it checks. The number is
/// csi-proxy's.
const MAX_STEPS: usize = 256;

/// A path does not lead to a volume.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each field is named for what it holds")]
pub enum TargetError {
    /// A link on the way leads to something that does not exist. The error's text leaves the link's
    /// target out: its author could write there a text that drivers match on.
    #[error("{path} leads to something that is not there")]
    Dangling { path: String, to: String },
    /// The path itself does not exist. The first text is Windows's, the second PowerShell's: aws-ebs
    /// reads it as "nothing is mounted", so no other error has it.
    #[error(
        "{path}: {}. (Cannot find path '{path}' {}.)",
        driver_texts::FILE_NOT_FOUND,
        driver_texts::MISSING
    )]
    Missing { path: String },
    /// The path is on something without a volume, such as a share.
    #[error("{path} is on no volume of this node")]
    NoVolume { path: String },
    /// The path leads to something other than a mounted folder.
    #[error("{path} leads to something that is not a mounted folder")]
    NotAMountedFolder {
        path: String,
        /// The target, unless it is a mounted folder.
        to: String,
    },
    /// A folder on the way, or its volume, cannot be reached.
    #[error("{path} cannot be reached: {}", .source.cause)]
    OutOfReach { path: String, source: os::Error },
    /// The path is a plain directory. The first text is csi-proxy 1.3's, the second 1.2's: aws-ebs
    /// reads it as "nothing is mounted", so no other error has it.
    #[error(
        "{path}: not a mounted folder (cmd: {})",
        driver_texts::PLAIN_DIRECTORY
    )]
    PlainDirectory { path: String },
    /// The links form a loop, or are too many.
    #[error("{path} leads from link to link without an end")]
    TooManyLinks { path: String },
    /// A link on the way cannot be followed, or must not be.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
}

impl TargetError {
    /// Whether the target does not exist (and not: cannot be reached).
    pub(crate) fn is_missing(&self) -> bool {
        match self {
            Self::Missing { .. } => true,
            Self::OutOfReach { source, .. } => source.is_not_found(),
            _ => false,
        }
    }

    fn out_of_reach(path: &WinPath) -> impl FnOnce(os::Error) -> Self {
        let path = path.to_string();
        |source| Self::OutOfReach { path, source }
    }
}

/// The volume of the mounted folder that `target` is, or leads to by symbolic links and junctions.
pub(crate) fn mounted(os: &Os, resolved: &ResolvedPath) -> Result<VolumeId, TargetError> {
    let target = resolved.asked();
    let mut at = resolved.clone();
    for step in 0..MAX_STEPS {
        let entry = match os.files.entry(at.path()) {
            Ok(entry) => entry,
            Err(error) if !error.is_not_found() => {
                return Err(TargetError::out_of_reach(target)(error));
            }
            Err(error) if step == 0 => return Err(missing(os, resolved, error)),
            Err(_) => return Err(dangling(target, at.path())),
        };
        let leads = link::leads(&*os.files, at.path(), &entry);
        match leads.map_err(TargetError::out_of_reach(target))? {
            Leads::To(next) => at = at.next(os, &next)?,
            Leads::ToVolume(volume) => {
                return mounted_at(os, target, at.path(), entry.tag, volume);
            }
            // A link to a drive: its root is where its volume is mounted.
            Leads::Nowhere if step > 0 && is_drive(at.path()) => {
                return volume_of_root(os, target, at.path());
            }
            Leads::Nowhere if step == 0 && entry.is_directory() && entry.tag.is_none() => {
                let path = target.to_string();
                return Err(TargetError::PlainDirectory { path });
            }
            Leads::Nowhere => {
                return Err(TargetError::NotAMountedFolder {
                    path: target.to_string(),
                    to: at.path().to_string(),
                });
            }
        }
    }
    Err(TargetError::TooManyLinks {
        path: target.to_string(),
    })
}

/// How to handle a folder that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// Return an error.
    Fails,
    /// Use the folder above it.
    LookAbove,
}

/// The volume that holds the entry: that of the nearest mounted folder or drive above it, links
/// followed.
pub(crate) fn closest(
    os: &Os,
    resolved: &ResolvedPath,
    absent: Missing,
) -> Result<VolumeId, TargetError> {
    let path = resolved.asked();
    let mut at = resolved.clone();
    for step in 0..MAX_STEPS {
        let Some(above) = at.above() else {
            return volume_of_root(os, path, at.path());
        };
        let entry = match os.files.entry(at.path()) {
            Ok(entry) => entry,
            Err(error) if !error.is_not_found() => {
                return Err(TargetError::out_of_reach(path)(error));
            }
            Err(_) if absent == Missing::LookAbove => {
                at = above;
                continue;
            }
            Err(error) if step == 0 => return Err(missing(os, resolved, error)),
            Err(_) => return Err(dangling(path, at.path())),
        };
        let leads = link::leads(&*os.files, at.path(), &entry);
        match leads.map_err(TargetError::out_of_reach(path))? {
            Leads::Nowhere => at = above,
            Leads::To(next) => at = at.next(os, &next)?,
            Leads::ToVolume(volume) => {
                return mounted_at(os, path, at.path(), entry.tag, volume);
            }
        }
    }
    Err(TargetError::TooManyLinks {
        path: path.to_string(),
    })
}

/// The mount manager's name for a volume: a volume may have several names, and a folder may store
/// any of them.
fn mounted_at(
    os: &Os,
    asked: &WinPath,
    folder: &WinPath,
    tag: Option<ReparseTag>,
    stored: VolumeId,
) -> Result<VolumeId, TargetError> {
    match tag {
        Some(ReparseTag::MOUNT_POINT) => {
            let volume = os.volumes.mounted_at(folder);
            volume.map_err(TargetError::out_of_reach(asked))
        }
        _ => Ok(stored),
    }
}

fn volume_of_root(os: &Os, asked: &WinPath, root: &WinPath) -> Result<VolumeId, TargetError> {
    match root.root() {
        Root::Drive(_) => os
            .volumes
            .mounted_at(root)
            .map_err(TargetError::out_of_reach(asked)),
        Root::Share { .. } => Err(TargetError::NoVolume {
            path: asked.to_string(),
        }),
        Root::Volume(volume) => Ok(*volume),
    }
}

fn is_drive(path: &WinPath) -> bool {
    path.name().is_none() && matches!(path.root(), Root::Drive(_))
}

/// Distinguishes a missing path from one behind a dangling link or a vanished volume: Windows
/// returns the same code for both.
fn missing(os: &Os, resolved: &ResolvedPath, source: os::Error) -> TargetError {
    let path = resolved.asked();
    if resolved.led_through_links() {
        return dangling(path, resolved.path());
    }
    let mut above = resolved.path().parent();
    while let Some(folder) = above {
        match os.files.leads_to_directory(&folder) {
            Ok(true) => return missing_as_such(path),
            Err(error) if error.is_not_found() && is_absent(os, &folder) => {
                above = folder.parent();
            }
            // It appeared during the search, or it is a dangling link.
            Err(error) if error.is_not_found() => match os.files.leads_to_directory(&folder) {
                Ok(true) => return missing_as_such(path),
                _ => break,
            },
            _ => break,
        }
    }
    TargetError::out_of_reach(path)(source)
}

fn missing_as_such(path: &WinPath) -> TargetError {
    TargetError::Missing {
        path: path.to_string(),
    }
}

fn dangling(path: &WinPath, to: &WinPath) -> TargetError {
    TargetError::Dangling {
        path: path.to_string(),
        to: to.to_string(),
    }
}
