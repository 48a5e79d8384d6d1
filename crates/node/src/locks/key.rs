use std::fmt;

use os::{DiskNumber, VolumeId};

use crate::ResolvedPath;
use crate::iscsi::{Portal, TargetName};

/// An object that an operation changes. The order of the variants is the order in which locks are
/// taken: an operation learns a target's volume, and a volume's disk, while it holds the former.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    /// The initiator's own settings: the secret by which targets prove themselves.
    IscsiInitiator,
    IscsiTarget(TargetName),
    IscsiPortal(Portal),
    /// By its name in lower case.
    Service(String),
    /// `\\server\share` in lower case.
    SmbShare(String),
    Target(PathKey),
    /// A server: its mappings are made one at a time, as Windows may refuse one for the user of another.
    SmbServer(String),
    Volume(VolumeId),
    Disk(DiskNumber),
    /// A read of a share, which may outlive the call that began it.
    SmbProbe(String),
}

impl Key {
    /// One entry of a directory.
    pub(crate) fn target(resolved: &ResolvedPath) -> Self {
        Self::Target(PathKey::of(resolved, LockScope::Entry))
    }

    /// An entry and everything below it, as far as paths tell.
    pub(crate) fn subtree(resolved: &ResolvedPath) -> Self {
        Self::Target(PathKey::of(resolved, LockScope::Subtree))
    }

    pub(super) fn excludes(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Target(one), Self::Target(other)) => one.covers(other) || other.covers(one),
            (one, other) => one == other,
        }
    }
}

/// A path as a lock's key, by its folded names: paths that Windows distinguishes may share a lock,
/// but a path that Windows treats as one never has two.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PathKey {
    names: Vec<String>,
    scope: LockScope,
    /// Its name in errors: the folded names may be a link's.
    asked: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LockScope {
    Entry,
    Subtree,
}

impl PathKey {
    fn of(resolved: &ResolvedPath, scope: LockScope) -> Self {
        let names = resolved.path().folded();
        Self {
            names: names.split('\\').map(str::to_owned).collect(),
            scope,
            asked: resolved.asked().to_string(),
        }
    }

    fn covers(&self, other: &Self) -> bool {
        match self.scope {
            LockScope::Entry => self.names == other.names,
            LockScope::Subtree => other.names.starts_with(&self.names),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disk(disk) => write!(f, "disk {disk}"),
            Self::IscsiInitiator => f.write_str("the iSCSI initiator"),
            Self::IscsiPortal(portal) => write!(f, "portal {portal}"),
            Self::IscsiTarget(target) => write!(f, "target {target}"),
            Self::Service(service) => write!(f, "service {service}"),
            Self::SmbProbe(share) => write!(f, "the look at SMB share {share}"),
            Self::SmbServer(server) => write!(f, "SMB server {server}"),
            Self::SmbShare(share) => write!(f, "SMB share {share}"),
            Self::Target(place) => write!(f, "path {}", place.asked),
            Self::Volume(volume) => write!(f, "volume {volume}"),
        }
    }
}
