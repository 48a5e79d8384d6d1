//! Where an operation acts: a path whose links were followed beforehand, each within bounds.
//!
//! # What holds for a path that a client named
//! - `AllowedRoots::resolve` makes it a [`ResolvedPath`] before anything acts on it. It follows each link by the link's own text, inside
//!   the working folders, and looks at nothing outside of them.
//! - A look-up that csi-proxy does not check becomes a [`LookupPath`] (`AllowedRoots::resolve_lookup`). It may lie anywhere on
//!   this node's own drives, and no operation that changes something takes it.
//! - An operation that changes something holds every directory on the way, from the working folder down, each opened
//!   relative to the one above. It makes directories and links, and removes entries, by the handle of their directory
//!   (`os::LockGuard`). A link is a reserved entry (`os::Placeholder`, `new_link`) until it has its name, so that its directory
//!   is never empty meanwhile. A directory link takes the name of a file link to the same target, through which Windows
//!   opens nothing, and of no other entry.
//! - Recursive deletion enters no reparse point. A process can make an empty directory a mounted folder or a junction
//!   while it is held, so a list of it is a hint, and a lock on the subtree keeps our own mounts out.

mod allowed_roots;
pub(crate) mod canonical;
pub(crate) mod end;
mod error;
mod resolve;

use std::sync::Arc;

use os::{Files, Os, Pin, Win32, WinPath};

pub use self::allowed_roots::AllowedRoots;
pub use self::error::ResolveError;
use self::resolve::Resolver;
pub(crate) use self::resolve::is_absent;

/// Where an operation acts.
///
/// Made by [`AllowedRoots::resolve`], its path is free of links but for the last name, and what lies
/// between is held in place while an operation changes something. Made from a bare path, it is that
/// path, with whatever links the system follows on it: for callers that answer for their paths.
#[derive(Clone, Debug)]
pub struct ResolvedPath {
    path: WinPath,
    confined: Option<Confined>,
}

/// The result of resolving a path.
#[derive(Clone, Debug)]
struct Confined {
    asked: WinPath,
    allowed: Arc<AllowedRoots>,
    scope: Scope,
    /// How many of the path's names lie above what clients can change.
    trusted: usize,
    followed: Followed,
}

/// Where the links of a path may lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// Into the folders, and onto volumes that are mounted inside.
    Inside,
    /// Also to every other drive and volume of this node.
    Local,
}

/// Whether a path led through a link on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Followed {
    Links,
    Nothing,
}

impl ResolvedPath {
    /// The path to act on.
    #[must_use]
    pub fn path(&self) -> &WinPath {
        &self.path
    }

    /// Whether a link changed the path from the requested one. An entry missing behind a link is not
    /// simply missing.
    pub(crate) fn led_through_links(&self) -> bool {
        matches!(&self.confined, Some(confined) if confined.followed == Followed::Links)
    }

    /// The way to what a link at the end of this one says.
    pub(crate) fn next(&self, os: &Os, target: &WinPath) -> Result<Self, ResolveError> {
        match &self.confined {
            None => Ok(Self::from(target)),
            Some(confined) => {
                let resolver = Resolver::follow_on(os, confined, (&self.path, target))?;
                resolver.run().map(Self::behind_a_link)
            }
        }
    }

    /// Whether this leads to a directory once the link at its end is followed, hop by hop and within
    /// bounds. What a link to a share leads to is not looked at: the link's own word counts.
    pub(crate) fn leads_to_directory(&self, os: &Os) -> Result<os::Result<bool>, ResolveError> {
        match &self.confined {
            None => Ok(os.files.leads_to_directory(&self.path)),
            Some(_) => resolve::ends_in_directory(os, self),
        }
    }

    /// Holds in place what lies between the trusted part of the path and its last name: until the
    /// pins are dropped, nobody can put a link there, but for the last of them, and that only while
    /// it is empty.
    ///
    /// The last of the pins is the directory of the entry, if there are any: a bare path has none.
    ///
    /// # Errors
    /// One of them became something else than a directory, or is missing: as for the entry itself,
    /// the path is not found then, for "file not found" says that the entry alone is missing.
    pub(crate) fn hold(&self, files: &dyn Files) -> os::Result<Vec<Pin>> {
        let mut pins = Vec::new();
        for depth in self.between() {
            let pin = self.hold_one(files, pins.last(), depth);
            pins.push(pin.map_err(as_of_the_entry)?);
        }
        Ok(pins)
    }

    /// As [`ResolvedPath::hold`], as far as there is something to hold; and how many names that covers.
    pub(crate) fn hold_what_is_there(&self, files: &dyn Files) -> os::Result<(Vec<Pin>, usize)> {
        let mut pins = Vec::new();
        for depth in self.between() {
            match self.hold_one(files, pins.last(), depth) {
                Ok(pin) => pins.push(pin),
                Err(error) if error.is_not_found() => return Ok((pins, depth.saturating_sub(1))),
                Err(error) => return Err(error),
            }
        }
        Ok((pins, self.path.components().len().saturating_sub(1)))
    }

    /// Holds the directory that the first `depth` names are, in the one above if that is held.
    pub(crate) fn hold_one(
        &self,
        files: &dyn Files,
        above: Option<&Pin>,
        depth: usize,
    ) -> os::Result<Pin> {
        let directory = self.path.prefix(depth);
        let pinned = match (above, directory.name()) {
            (Some(above), Some(name)) => above.pin(name),
            _ => files.pin(&directory),
        };
        let error = match pinned {
            Err(error) if error.win32() == Some(Win32::DIRECTORY) => error,
            pinned => return pinned,
        };
        let became = match files.entry(&directory)?.tag {
            Some(_) => Win32::REPARSE_POINT_ENCOUNTERED,
            None => Win32::PATH_NOT_FOUND,
        };
        Err(os::Error::new(error.operation, directory, became))
    }

    /// Whether directories are held for this way at all.
    pub(crate) fn is_confined(&self) -> bool {
        self.confined.is_some()
    }

    /// The way to the directory above; `None` for a root.
    pub(crate) fn above(&self) -> Option<Self> {
        Some(Self {
            path: self.path.parent()?,
            confined: self.confined.clone(),
        })
    }

    /// The path as the caller named it.
    pub(crate) fn asked(&self) -> &WinPath {
        match &self.confined {
            Some(confined) => &confined.asked,
            None => &self.path,
        }
    }

    /// The numbers of names that make the directories between what is trusted and the entry.
    fn between(&self) -> std::ops::Range<usize> {
        let depth = self.path.components().len();
        match &self.confined {
            Some(confined) => confined.trusted..depth,
            None => depth..depth,
        }
    }

    fn behind_a_link(mut self) -> Self {
        if let Some(confined) = &mut self.confined {
            confined.followed = Followed::Links;
        }
        self
    }
}

/// Of an entry, that a directory above it is missing.
fn as_of_the_entry(error: os::Error) -> os::Error {
    match error.win32() {
        Some(Win32::FILE_NOT_FOUND) => os::Error {
            cause: Win32::PATH_NOT_FOUND.into(),
            ..error
        },
        _ => error,
    }
}

impl From<&WinPath> for ResolvedPath {
    fn from(path: &WinPath) -> Self {
        Self {
            path: path.clone(),
            confined: None,
        }
    }
}

impl From<&Self> for ResolvedPath {
    fn from(resolved: &Self) -> Self {
        resolved.clone()
    }
}

/// Where a call that only looks acts: a [`ResolvedPath`] that may lead out of the working folders.
///
/// It is a type of its own so that nothing that was resolved for a look reaches an operation that
/// changes something: a way makes a lookup path, and never the other way round.
#[derive(Clone, Debug)]
pub struct LookupPath(ResolvedPath);

impl LookupPath {
    pub(crate) fn resolved(&self) -> &ResolvedPath {
        &self.0
    }
}

impl From<ResolvedPath> for LookupPath {
    fn from(resolved: ResolvedPath) -> Self {
        Self(resolved)
    }
}

impl From<&ResolvedPath> for LookupPath {
    fn from(resolved: &ResolvedPath) -> Self {
        Self(resolved.clone())
    }
}

impl From<&WinPath> for LookupPath {
    fn from(path: &WinPath) -> Self {
        Self(path.into())
    }
}

impl From<&Self> for LookupPath {
    fn from(path: &Self) -> Self {
        path.clone()
    }
}
