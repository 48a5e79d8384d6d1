//! The end of a path, read so that no other process can redirect the read.
//!
//! Each directory is held before anything in it is read: if a process turns it into a link meanwhile, for
//! example to a foreign server, nothing is read there.

use os::{Entry, Os, Pin, Root, Win32, WinPath};

use super::ResolveError;
use super::canonical::{below, not_followed, unreadable, volume_root};
use super::resolve::{self, MOST_LINKS, Next};
use crate::link::Leads;

/// The entry at the end of a path; a link there is followed as well.
pub(crate) enum End {
    Nothing,
    /// It is on a volume of this node.
    Entry(Entry),
    /// On a share, or on a drive that the node has not, by this path. Neither is looked at.
    Elsewhere(WinPath),
}

/// The first entry on a path.
enum Found {
    Link(WinPath),
    End(End),
}

/// Looks at where a path ends.
///
/// # Errors
/// A part of the path cannot be followed, or became a link after it was looked at.
pub(crate) fn resolve_end(os: &Os, path: &WinPath) -> Result<End, ResolveError> {
    let mut at = path.clone();
    for _ in 0..=MOST_LINKS {
        let root = volume_root(os, &at).map_err(unreadable(path, &at))?;
        if root.is_none() {
            return Ok(End::Elsewhere(at));
        }
        match walk(os, path, &at)? {
            Found::Link(target) => at = target,
            Found::End(end) => return Ok(end),
        }
    }
    let path = path.to_string();
    Err(ResolveError::TooManyLinks { path })
}

/// Walks to the first link, or to the end.
fn walk(os: &Os, asked: &WinPath, at: &WinPath) -> Result<Found, ResolveError> {
    let mut pins = Vec::new();
    for names in 1..at.components().len() {
        let here = at.prefix(names);
        match resolve::next(os, &here).map_err(unreadable(asked, &here))? {
            Next::Directory => {
                let pin = hold(os, pins.last(), &here);
                pins.push(pin.map_err(unreadable(asked, &here))?);
            }
            Next::To(target) => return Ok(Found::Link(below(target, at, names))),
            Next::Opaque(tag) => return Err(not_followed(asked, &here, tag)),
            Next::Missing => return Ok(Found::End(End::Nothing)),
        }
    }
    last(os, at).map_err(unreadable(asked, at))
}

fn hold(os: &Os, above: Option<&Pin>, directory: &WinPath) -> os::Result<Pin> {
    let held = match (above, directory.name()) {
        (Some(above), Some(name)) => above.pin(name),
        _ => os.files.pin(directory),
    };
    held.map_err(|error| match error.win32() {
        Some(Win32::DIRECTORY) => os::Error {
            cause: Win32::REPARSE_POINT_ENCOUNTERED.into(),
            ..error
        },
        _ => error,
    })
}

fn last(os: &Os, at: &WinPath) -> os::Result<Found> {
    Ok(match resolve::read_entry(os, at) {
        Err(error) if error.is_not_found() => Found::End(End::Nothing),
        Err(error) => return Err(error),
        Ok((_, Leads::To(target))) => Found::Link(target),
        Ok((_, Leads::ToVolume(volume))) => Found::Link(WinPath::of_root(Root::Volume(volume))),
        Ok((entry, Leads::Nowhere)) => Found::End(End::Entry(entry)),
    })
}
