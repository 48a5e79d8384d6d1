//! Following a path name by name.

use std::sync::Arc;

use os::{Component, Os, ReparseTag, Root, WinPath};

use super::allowed_roots::Start;
use super::{AllowedRoots, Confined, Followed, ResolveError, ResolvedPath, Scope};
use crate::link::{self, Leads};

/// How many links one path may lead through; Windows's own number.
///
/// <https://learn.microsoft.com/windows/win32/fileio/symbolic-link-programming-considerations>
pub(super) const MOST_LINKS: usize = 63;

/// A path that is being followed.
pub(super) struct Resolver<'a> {
    os: &'a Os,
    allowed: &'a Arc<AllowedRoots>,
    scope: Scope,
    asked: &'a WinPath,
    /// As far as it is followed: free of links.
    at: WinPath,
    /// How many of its names are trusted.
    trusted: usize,
    /// The names that are left, the next one last.
    left: Vec<Component>,
    /// How many of the next names must not be links.
    plain: usize,
    links: usize,
}

impl<'a> Resolver<'a> {
    /// Begins with a path as it is asked for.
    pub(super) fn begin(
        os: &'a Os,
        (allowed, scope): (&'a Arc<AllowedRoots>, Scope),
        asked: &'a WinPath,
    ) -> Result<Self, ResolveError> {
        let mut resolver = Self::new(os, (allowed, scope), asked);
        resolver.turn(asked, asked)?;
        Ok(resolver)
    }

    /// Goes on at `target`, to which `link` leads at the end of what was followed before.
    pub(super) fn follow_on(
        os: &'a Os,
        followed: &'a Confined,
        (link, target): (&WinPath, &WinPath),
    ) -> Result<Self, ResolveError> {
        let mut resolver = Self::new(os, (&followed.allowed, followed.scope), &followed.asked);
        resolver.turn(link, target)?;
        Ok(resolver)
    }

    fn new(
        os: &'a Os,
        (allowed, scope): (&'a Arc<AllowedRoots>, Scope),
        asked: &'a WinPath,
    ) -> Self {
        Self {
            os,
            allowed,
            scope,
            asked,
            at: asked.clone(),
            trusted: 0,
            left: Vec::new(),
            plain: 0,
            links: 0,
        }
    }

    pub(super) fn run(mut self) -> Result<ResolvedPath, ResolveError> {
        while let Some(name) = self.left.pop() {
            let here = self.at.join(name);
            if self.left.is_empty() {
                self.at = here;
                break;
            }
            match next(self.os, &here).map_err(self.unreadable(&here))? {
                Next::Directory => {
                    self.at = here;
                    self.plain = self.plain.saturating_sub(1);
                }
                Next::Missing => {
                    let left = self.left.drain(..).rev();
                    self.at = left.fold(here, |path, name| path.join(name));
                }
                Next::Opaque(tag) => return Err(self.not_followed(&here, tag)),
                Next::To(target) => self.follow(&here, &target)?,
            }
        }
        Ok(self.arrived())
    }

    /// Goes on where a link leads.
    fn follow(&mut self, link: &WinPath, target: &WinPath) -> Result<(), ResolveError> {
        let path = self.asked.to_string();
        if self.plain > 0 && self.scope == Scope::Inside {
            tracing::warn!(path = %self.asked, %link, "a link was not there at the start");
            let link = link.to_string();
            return Err(ResolveError::LateLink { path, link });
        }
        self.links += 1;
        if self.links > MOST_LINKS {
            return Err(ResolveError::TooManyLinks { path });
        }
        self.turn(link, target)
    }

    fn turn(&mut self, link: &WinPath, target: &WinPath) -> Result<(), ResolveError> {
        let start = self.allowed.start(self.os, target, self.scope);
        let Some(start) = start.map_err(self.unreadable(link))? else {
            return Err(self.outside(link, target));
        };
        let Start { base, plain, names } = start;
        self.trusted = base.components().len();
        self.at = base;
        self.plain = plain;
        self.left.extend(names.into_iter().rev());
        Ok(())
    }

    fn arrived(self) -> ResolvedPath {
        ResolvedPath {
            path: self.at,
            confined: Some(Confined {
                asked: self.asked.clone(),
                allowed: Arc::clone(self.allowed),
                scope: self.scope,
                trusted: self.trusted,
                followed: match self.links {
                    0 => Followed::Nothing,
                    _ => Followed::Links,
                },
            }),
        }
    }

    fn outside(&self, link: &WinPath, target: &WinPath) -> ResolveError {
        let (path, at) = (self.asked.to_string(), link.to_string());
        if self.scope == Scope::Local {
            tracing::warn!(%path, %link, %target, "no drive or volume of this node");
            return ResolveError::NotLocal { path, at };
        }
        tracing::warn!(%path, %link, %target, "a link leads out of the working folders");
        match target.root() {
            Root::Volume(volume) => ResolveError::ForeignVolume {
                path,
                link: at,
                volume: *volume,
            },
            _ => ResolveError::Outside { path, link: at },
        }
    }

    fn not_followed(&self, at: &WinPath, tag: ReparseTag) -> ResolveError {
        tracing::warn!(path = %self.asked, %at, ?tag, "a reparse point on the way is not followed");
        ResolveError::NotFollowed {
            path: self.asked.to_string(),
            link: at.to_string(),
            tag,
        }
    }

    fn unreadable(&self, at: &WinPath) -> impl FnOnce(os::Error) -> ResolveError + use<> {
        let (path, at) = (self.asked.to_string(), at.to_string());
        |source| {
            tracing::warn!(%path, ?at, error = %source.cause, "a path cannot be followed");
            ResolveError::Unreadable { path, at, source }
        }
    }
}

/// Where a working folder leads, links of any kind followed, and the names of it that are missing.
/// There is nothing to confine it to.
pub(super) fn root(os: &Os, given: &WinPath) -> (WinPath, Vec<Component>) {
    let mut at = given.prefix(0);
    let mut left: Vec<_> = given.components().iter().rev().cloned().collect();
    let mut links = 0;
    while let Some(name) = left.pop() {
        let here = at.join(name.clone());
        match next(os, &here) {
            Ok(Next::Directory) => at = here,
            Ok(Next::To(target)) if links < MOST_LINKS => {
                links += 1;
                left.extend(target.components().iter().rev().cloned());
                at = target.prefix(0);
            }
            unknown => {
                if let Err(error) = unknown {
                    tracing::warn!(%given, %error, "a working folder cannot be followed");
                }
                left.push(name);
                break;
            }
        }
    }
    left.reverse();
    (at, left)
}

/// Whether a way ends in a directory, the links at its end followed within bounds.
pub(super) fn ends_in_directory(
    os: &Os,
    from: &ResolvedPath,
) -> Result<os::Result<bool>, ResolveError> {
    let mut resolved = from.clone();
    for _ in 0..=MOST_LINKS {
        let (entry, leads) = match read_entry(os, resolved.path()) {
            Ok(seen) => seen,
            Err(error) => return Ok(Err(error)),
        };
        let target = match leads {
            Leads::Nowhere => return Ok(Ok(entry.is_directory())),
            Leads::ToVolume(volume) => {
                let root = WinPath::of_root(Root::Volume(volume));
                return Ok(os.files.leads_to_directory(&root));
            }
            Leads::To(target) => target,
        };
        if matches!(target.root(), Root::Share { .. }) {
            return Ok(Ok(entry.is_directory()));
        }
        resolved = resolved.next(os, &target)?;
    }
    Err(ResolveError::TooManyLinks {
        path: from.asked().to_string(),
    })
}

/// The kind of a name in the middle of a path.
pub(super) enum Next {
    Directory,
    /// There is no entry of that name, or a file, which has no entries.
    Missing,
    /// A reparse point that nobody here can follow.
    Opaque(ReparseTag),
    /// A link, junction or mounted folder.
    To(WinPath),
}

pub(super) fn next(os: &Os, here: &WinPath) -> os::Result<Next> {
    let entry = match os.files.entry(here) {
        Err(error) if error.is_not_found() => return Ok(Next::Missing),
        seen => seen?,
    };
    let leads = match link::leads(&*os.files, here, &entry) {
        // The link itself went after it was seen.
        Err(error) if error.is_not_found() && is_absent(os, here) => return Ok(Next::Missing),
        leads => leads?,
    };
    Ok(match (leads, entry.tag) {
        (Leads::To(target), _) => Next::To(target),
        (Leads::ToVolume(volume), _) => Next::To(WinPath::of_root(Root::Volume(volume))),
        (Leads::Nowhere, Some(tag)) => Next::Opaque(tag),
        (Leads::Nowhere, None) if entry.is_directory() => Next::Directory,
        (Leads::Nowhere, None) => Next::Missing,
    })
}

pub(crate) fn is_absent(os: &Os, path: &WinPath) -> bool {
    matches!(os.files.entry(path), Err(error) if error.is_not_found())
}

pub(super) fn read_entry(os: &Os, here: &WinPath) -> os::Result<(os::Entry, Leads)> {
    let entry = os.files.entry(here)?;
    let leads = link::leads(&*os.files, here, &entry)?;
    Ok((entry, leads))
}
