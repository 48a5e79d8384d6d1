//! Why a Unix socket cannot be served, in words for both systems.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;

/// How long a server waits for another one starting in the same folder. A starting server inspects, binds and listens
/// in almost no time: a longer holder is no starting server, and must not block one.
pub(super) const TIMEOUT: Duration = Duration::from_secs(5);

/// The pause between two tries: the system does not announce a free folder.
pub(super) const PAUSE: Duration = Duration::from_millis(2);

/// The most of `sun_path` for a path, in bytes: a NUL follows it.
const MOST_BYTES: usize = 107;

/// Why a path cannot be served or dialled as a socket.
#[derive(Debug, Error)]
pub(super) enum Unfit {
    #[error("a socket's path has at most {MOST_BYTES} bytes, and this has {0}")]
    Length(usize),
    #[error("a socket's path has no NUL, and is absolute and Unicode where there are drives")]
    Form,
    #[error("its folder {} is a link or no folder", .0.display())]
    NoFolder(PathBuf),
    #[error("its folder {} belongs to {owner}", folder.display())]
    ForeignFolder { folder: PathBuf, owner: String },
    #[error("its folder {} is open to others, and is left as it is because it holds more than sockets", .0.display())]
    SharedFolder(PathBuf),
    #[error("its folder {} is open to others, who have files in it", .0.display())]
    StrangersFolder(PathBuf),
    #[error("its folder {} was replaced while the socket was made", .0.display())]
    MovedFolder(PathBuf),
    #[error("the socket that is there already belongs to {0}")]
    ForeignSocket(String),
}

impl From<Unfit> for io::Error {
    fn from(unfit: Unfit) -> Self {
        let kind = match unfit {
            Unfit::Length(_) | Unfit::Form => io::ErrorKind::InvalidInput,
            Unfit::NoFolder(_) => io::ErrorKind::NotADirectory,
            Unfit::ForeignFolder { .. }
            | Unfit::SharedFolder(_)
            | Unfit::StrangersFolder(_)
            | Unfit::MovedFolder(_)
            | Unfit::ForeignSocket(_) => io::ErrorKind::PermissionDenied,
        };
        Self::new(kind, unfit)
    }
}

/// The content that a folder open to others may have before it is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contents {
    /// Only sockets.
    Sockets,
    /// Files of this server.
    OwnFiles,
}

impl Contents {
    /// Why a folder with anything else is not closed.
    pub(super) fn refuse(self, folder: &Path) -> Unfit {
        match self {
            Self::Sockets => Unfit::SharedFolder(folder.to_owned()),
            Self::OwnFiles => Unfit::StrangersFolder(folder.to_owned()),
        }
    }
}

/// The path as a socket's address has it.
pub(super) fn sun_path(path: &Path) -> Result<&[u8], Unfit> {
    let bytes = path.as_os_str().as_encoded_bytes();
    match bytes.len() {
        0 => Err(Unfit::Form),
        _ if bytes.contains(&0) => Err(Unfit::Form),
        1..=MOST_BYTES => Ok(bytes),
        length => Err(Unfit::Length(length)),
    }
}

/// The folder of a socket.
pub(super) fn of(path: &Path) -> &Path {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Logs that a server goes on although another process holds its folder.
pub(super) fn tell_of_holder(folder: &Path) {
    let folder = folder.display();
    tracing::warn!(%folder, "somebody keeps the folder of a socket locked; serving all the same");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_fits_with_its_nul_or_is_refused_with_its_length() {
        let longest = format!("/{}", "a".repeat(106));
        assert_eq!(sun_path(Path::new(&longest)).unwrap(), longest.as_bytes());
        let umlauts = format!("/{}", "\u{e4}".repeat(54));
        let refused = sun_path(Path::new(&umlauts)).unwrap_err();
        assert!(refused.to_string().ends_with("this has 109"), "{refused}");
        for path in ["", "/a\0b"] {
            assert!(sun_path(Path::new(path)).is_err());
        }
    }

    #[test]
    fn a_socket_without_a_folder_lies_in_the_current_one() {
        assert_eq!(of(Path::new("a.sock")), Path::new("."));
        assert_eq!(of(Path::new("/run/x/a.sock")), Path::new("/run/x"));
    }
}
