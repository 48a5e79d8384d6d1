//! From a path of the node to a place on the host, links followed.

use std::path::{Path, PathBuf};

use os::{Cause, LinkKind, ReparseTag, Win32, WinPath};

use super::host::{self, Node};
use super::marker::ReparsePoint;
use super::{FileTree, links, names};

/// How many reparse points Windows follows in one path. Source:
/// <https://learn.microsoft.com/windows/win32/fileio/symbolic-link-programming-considerations>.
const MOST_LINKS: usize = 63;

/// How to treat a link at the end of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Final {
    /// It is what the path names.
    Itself,
    /// It is followed like any other.
    Followed,
}

/// Where a path ends: its directory exists, the entry itself may not.
pub(super) struct Destination {
    /// The path free of links. Names have the host's spelling if the host is case-sensitive,
    /// otherwise the caller's.
    pub(super) path: WinPath,
    pub(super) host: PathBuf,
    pub(super) node: Option<Node>,
    /// The kinds of target that the symbolic links at the end of the path declare.
    promised: Vec<LinkKind>,
}

impl Destination {
    /// The entry that was found.
    pub(super) fn found(&self) -> Result<&Node, Cause> {
        self.node.as_ref().ok_or(Win32::FILE_NOT_FOUND.into())
    }
}

/// One walk ends at a place or at a link.
enum Step {
    Arrived(Destination),
    Led {
        to: WinPath,
        by: Option<LinkKind>,
        /// How many names follow the link.
        behind: usize,
    },
}

impl FileTree {
    /// Walks to the end of a path.
    pub(super) fn walk(&self, path: &WinPath, last: Final) -> Result<Destination, Cause> {
        let mut path = path.clone();
        let mut promised = Vec::new();
        let mut files = Vec::new();
        for _ in 0..=MOST_LINKS {
            match self.step(&path, last, &files)? {
                Step::Arrived(place) => return Ok(Destination { promised, ..place }),
                Step::Led { to, by, behind } => {
                    path = to;
                    match (by, behind) {
                        (kind, 0) => promised.extend(kind),
                        (Some(LinkKind::File), behind) => files.push(behind),
                        _ => {}
                    }
                }
            }
        }
        Err(Win32::CANT_RESOLVE_FILENAME.into())
    }

    /// Where a path leads once all links are followed. A link that promised the other kind is
    /// refused, as Windows does since version 1803 (git-for-windows/git#1646), the first of several
    /// links as well (golang/go#28432).
    pub(super) fn followed(&self, path: &WinPath) -> Result<Destination, Cause> {
        let place = self.walk(path, Final::Followed)?;
        let is_directory = match &place.node {
            Some(node) => node.entry().is_directory(),
            None => return Ok(place),
        };
        match is_directory {
            true if place.promised.contains(&LinkKind::File) => Err(Win32::ACCESS_DENIED.into()),
            false if place.promised.contains(&LinkKind::Directory) => Err(Win32::DIRECTORY.into()),
            _ => Ok(place),
        }
    }

    /// `files` has the numbers of names after those that must be no directory: see [`refuse_directory`].
    fn step(&self, path: &WinPath, last: Final, files: &[usize]) -> Result<Step, Cause> {
        let mut here = self.root(path)?;
        refuse_directory(path.components().len(), files)?;
        for (index, name) in path.components().iter().enumerate() {
            let rest = path.components().get(index + 1..).unwrap_or_default();
            let is_last = rest.is_empty();
            let below = here.enter(name)?;
            match &below.node {
                Some(Node::Reparse(point)) if !is_last || last == Final::Followed => {
                    return Ok(Step::Led {
                        to: links::follow(&point.data, &below.path.prefix(index), rest)?,
                        by: promise(point),
                        behind: rest.len(),
                    });
                }
                Some(Node::Directory { .. }) => refuse_directory(rest.len(), files)?,
                _ if is_last => {}
                _ => return Err(Win32::PATH_NOT_FOUND.into()),
            }
            here = below;
        }
        Ok(Step::Arrived(here))
    }

    fn root(&self, path: &WinPath) -> Result<Destination, Cause> {
        let host = self.folder(path.root())?;
        Ok(Destination::directory(path.prefix(0), host))
    }
}

impl Destination {
    /// A plain directory, whose path is free of links.
    pub(super) fn directory(path: WinPath, host: PathBuf) -> Self {
        Self {
            path,
            host,
            node: Some(Node::Directory { read_only: false }),
            promised: Vec::new(),
        }
    }

    /// The entry of this directory with the name, which may not exist.
    pub(super) fn enter(mut self, name: &os::Component) -> Result<Self, Cause> {
        if names::is_impossible(name.as_os_str()) {
            return Err(Win32::INVALID_NAME.into());
        }
        self.node = host::enter(&mut self.host, name.as_os_str())?;
        self.path.push(spelling(&self.host, name));
        Ok(self)
    }
}

/// The kind of target that a symbolic link declares.
fn promise(point: &ReparsePoint) -> Option<LinkKind> {
    (point.tag() == ReparseTag::SYMLINK).then_some(point.kind)
}

/// Refuses to follow a file link to a directory, as Windows refuses to open one. Nothing has shown what
/// Windows does if names follow the link: an experiment of the suite for Windows will.
fn refuse_directory(names_left: usize, files: &[usize]) -> Result<(), Cause> {
    match names_left > 0 && files.contains(&names_left) {
        true => Err(Win32::ACCESS_DENIED.into()),
        false => Ok(()),
    }
}

/// The name as it lies on the host.
fn spelling(host: &Path, asked: &os::Component) -> os::Component {
    let other = host.file_name().filter(|name| *name != asked.as_os_str());
    let other = other.and_then(|name| os::Component::listed(names::shown(name)).ok());
    other.unwrap_or_else(|| asked.clone())
}
