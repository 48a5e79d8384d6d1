use os::{ReparseTag, WinPath};

use crate::{ResolveError, Unfinished};

/// An operation on files, directories or links failed.
///
/// The texts name the path that was asked for (`path`), and no name that a directory holds: a process that writes
/// there must not be able to write what drivers look for in errors.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each field is named for what it holds")]
pub enum FilesystemError {
    /// A directory became a reparse point after it was found: what was listed may be somebody
    /// else's.
    #[error("remove {path}: a directory has become a reparse point, which is not entered")]
    BecameReparsePoint { path: String, at: String },
    /// A directory could not be created.
    #[error("mkdir {path}: {}", .source.cause)]
    CreateDirectory { path: String, source: os::Error },
    /// A link could not be created.
    #[error("symlink {target} {link}: {}", .source.cause)]
    CreateLink {
        link: String,
        target: String,
        source: os::Error,
    },
    /// An entry could not be looked at.
    #[error("look at {path}: {}", .source.cause)]
    Inspect { path: String, source: os::Error },
    /// Something other than a directory has the name.
    #[error("mkdir {path}: exists and is not a directory")]
    NotADirectory { path: String },
    /// The folder to be emptied leads elsewhere: it is not entered.
    #[error("remove contents of {path}: it is a reparse point ({tag:?}), which is not entered")]
    NotEntered { path: String, tag: ReparseTag },
    /// An entry could not be removed.
    #[error("remove {path}: {}", .source.cause)]
    Remove {
        path: String,
        /// The entry: that one, or one below it.
        at: String,
        source: os::Error,
    },
    /// A directory lies deeper below what was to be removed than any path can lead.
    #[error("remove {path}: too deep")]
    TooDeep { path: String, at: String },
    /// It did not end, or did not begin.
    #[error(transparent)]
    Unfinished(#[from] Unfinished),
    /// A link at the end of the path cannot be followed.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
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

    /// Of the entry `at`, which may lie below the path that was asked for.
    pub(super) fn remove(asked: &WinPath, at: &WinPath) -> impl FnOnce(os::Error) -> Self + use<> {
        let (path, at) = (asked.to_string(), at.to_string());
        |source| Self::Remove { path, at, source }
    }

    /// Logs the entry's escaped path, if it differs from the requested one. Only the log has it.
    pub(super) fn log_entry(&self) {
        match self {
            Self::BecameReparsePoint { path, at }
            | Self::Remove { path, at, .. }
            | Self::TooDeep { path, at }
                if path != at =>
            {
                tracing::warn!(error = %self, ?at, "an entry is not removed");
            }
            _ => {}
        }
    }
}
