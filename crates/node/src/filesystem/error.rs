use os::ReparseTag;
use os::WinPath;

use crate::Unfinished;
use crate::WayError;

/// An operation on files, directories or links failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FilesystemError {
    /// A directory became a reparse point after it was found: what was listed may be somebody
    /// else's.
    #[error("remove {path}: it has become a reparse point, which is not entered")]
    BecameReparsePoint {
        /// The directory.
        path: String,
    },
    /// A directory could not be created.
    #[error("mkdir {path}: {}", .source.cause)]
    CreateDirectory {
        /// The directory.
        path: String,
        /// Why.
        source: os::Error,
    },
    /// A link could not be created.
    #[error("symlink {target} {link}: {}", .source.cause)]
    CreateLink {
        /// The link.
        link: String,
        /// What it was to lead to.
        target: String,
        /// Why.
        source: os::Error,
    },
    /// An entry could not be looked at.
    #[error("look at {path}: {}", .source.cause)]
    Inspect {
        /// The entry.
        path: String,
        /// Why.
        source: os::Error,
    },
    /// Something other than a directory has the name.
    #[error("mkdir {path}: exists and is not a directory")]
    NotADirectory {
        /// The entry.
        path: String,
    },
    /// What was to be emptied leads elsewhere: it is not entered.
    #[error("remove contents of {path}: it is a reparse point ({tag:?}), which is not entered")]
    NotEntered {
        /// The link, junction or mounted folder.
        path: String,
        /// Its tag.
        tag: ReparseTag,
    },
    /// An entry could not be removed.
    #[error("remove {path}: {}", .source.cause)]
    Remove {
        /// The entry.
        path: String,
        /// Why.
        source: os::Error,
    },
    /// A directory lies deeper below what was to be removed than any path can lead.
    #[error("remove {path}: too deep")]
    TooDeep {
        /// The directory.
        path: String,
    },
    /// It did not end, or did not begin.
    #[error(transparent)]
    Unfinished(#[from] Unfinished),
    /// A link at the end of the path cannot be followed.
    #[error(transparent)]
    Way(#[from] WayError),
}

impl FilesystemError {
    pub(super) fn mkdir(path: &WinPath) -> impl FnOnce(os::Error) -> Self {
        let path = path.to_string();
        |source| Self::CreateDirectory { path, source }
    }

    pub(super) fn is_missing_parent(&self) -> bool {
        matches!(self, Self::CreateDirectory { source, .. } if source.is_not_found())
    }

    pub(super) fn inspect(path: &WinPath) -> impl FnOnce(os::Error) -> Self {
        let path = path.to_string();
        |source| Self::Inspect { path, source }
    }

    pub(super) fn remove(path: &WinPath) -> impl FnOnce(os::Error) -> Self {
        let path = path.to_string();
        |source| Self::Remove { path, source }
    }
}
