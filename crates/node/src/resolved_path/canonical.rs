//! One name for one place, however a path leads there: a volume's own, and names that are no links.

use os::{Os, ReparseTag, Root, WinPath};

use super::ResolveError;
use super::resolve::{self, MOST_LINKS, Next};

/// The place of an entry: every link above it is followed, the entry itself is not. `None` is on no
/// volume: on a share, or on a drive that the node has not. What is missing is taken by its name.
pub(crate) fn of_entry(os: &Os, path: &WinPath) -> Result<Option<WinPath>, ResolveError> {
    let Some(name) = path.name() else {
        return of_target(os, path);
    };
    let folder = of_target(os, &path.prefix(path.components().len() - 1))?;
    Ok(folder.map(|folder| folder.join(name.clone())))
}

/// As [`of_entry`], with a link at the end followed as well.
pub(crate) fn of_target(os: &Os, path: &WinPath) -> Result<Option<WinPath>, ResolveError> {
    let mut at = path.clone();
    for _ in 0..=MOST_LINKS {
        let Some(root) = volume_root(os, &at).map_err(unreadable(path, &at))? else {
            return Ok(None);
        };
        match first_link(os, path, &at)? {
            Some(next) => at = next,
            None => return Ok(Some(below(root, &at, 0))),
        }
    }
    let path = path.to_string();
    Err(ResolveError::TooManyLinks { path })
}

/// Whether a place is this folder or lies in it. Case is no difference, in any script: joining what
/// Windows keeps apart is no harm where the answer refuses.
pub(crate) fn lies_in(place: &WinPath, folder: &WinPath) -> bool {
    let (place, folder) = (place.folded() + r"\", folder.folded() + r"\");
    place.starts_with(&folder)
}

/// Where the first link on the path leads, with the names behind it.
fn first_link(os: &Os, asked: &WinPath, at: &WinPath) -> Result<Option<WinPath>, ResolveError> {
    let depth = at.components().len();
    for names in 1..=depth {
        let here = at.prefix(names);
        match resolve::next(os, &here).map_err(unreadable(asked, &here))? {
            Next::Directory => {}
            Next::To(target) => return Ok(Some(below(target, at, names))),
            Next::Opaque(tag) if names < depth => {
                return Err(not_followed(asked, &here, tag));
            }
            Next::Missing | Next::Opaque(_) => break,
        }
    }
    Ok(None)
}

/// The root by the canonical name of its volume, which may have several: the name from a drive or a mounted folder
/// is looked up again (<https://learn.microsoft.com/windows/win32/fileio/naming-a-volume>).
pub(super) fn volume_root(os: &Os, path: &WinPath) -> os::Result<Option<WinPath>> {
    let named = match path.root() {
        Root::Share { .. } => return Ok(None),
        Root::Volume(volume) => *volume,
        Root::Drive(_) => match os.volumes.mounted_at(&path.prefix(0)) {
            Err(error) if error.is_not_found() => return Ok(None),
            volume => volume?,
        },
    };
    let named = WinPath::of_root(Root::Volume(named));
    let unique = os.volumes.mounted_at(&named)?;
    Ok(Some(WinPath::of_root(Root::Volume(unique))))
}

/// The names of a path but for the first `skipped`, below another one.
pub(super) fn below(mut folder: WinPath, path: &WinPath, skipped: usize) -> WinPath {
    for name in path.components().iter().skip(skipped) {
        folder.push(name.clone());
    }
    folder
}

pub(super) fn unreadable(path: &WinPath, at: &WinPath) -> impl FnOnce(os::Error) -> ResolveError {
    let (path, at) = (path.to_string(), at.to_string());
    move |source| ResolveError::Unreadable { path, at, source }
}

pub(super) fn not_followed(path: &WinPath, at: &WinPath, tag: ReparseTag) -> ResolveError {
    ResolveError::NotFollowed {
        path: path.to_string(),
        link: at.to_string(),
        tag,
    }
}
