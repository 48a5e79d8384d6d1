//! Where a server listens and a client dials.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use thiserror::Error;

/// The address of a server: a named pipe on Windows, a Unix socket elsewhere.
///
/// Both forms parse on every system, so that configuration can be checked anywhere; only serving
/// and dialling need the system that has them.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Endpoint {
    /// A local named pipe, `\\.\pipe\<name>`.
    Pipe(PipeName),
    /// A Unix domain socket's path.
    Socket(PathBuf),
}

/// The part of a local pipe's path behind `\\.\pipe\`.
///
/// Pipe names are compared without regard to case; the spelling is kept for messages.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct PipeName(String);

/// Why a text is no endpoint.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum EndpointError {
    /// Neither a pipe's path nor an absolute path of a socket.
    #[error("`{0}` is neither \\\\.\\pipe\\<name> nor an absolute socket path")]
    Form(String),
    /// CreateNamedPipeW allows 256 characters for the whole path and no backslash in the name.
    #[error("pipe name `{0}` must have 1 to 247 characters and no backslash")]
    PipeName(String),
}

impl Endpoint {
    /// The pipe called `name`, given without `\\.\pipe\`.
    ///
    /// # Errors
    /// When the name is empty, too long or holds a backslash.
    pub fn pipe(name: &str) -> Result<Self, EndpointError> {
        PipeName::new(name).map(Self::Pipe)
    }

    /// Where a server called `name` listens on this system: the pipe `\\.\pipe\<name>` on Windows,
    /// elsewhere the socket `<name>.sock` in `folder`.
    ///
    /// # Errors
    /// As [`Endpoint::pipe`].
    pub fn local(folder: &Path, name: &str) -> Result<Self, EndpointError> {
        crate::sys::local_endpoint(folder, name)
    }

    /// The socket at `path`.
    pub fn socket(path: impl AsRef<Path>) -> Self {
        Self::Socket(path.as_ref().to_owned())
    }
}

impl FromStr for Endpoint {
    type Err = EndpointError;

    /// Reads `\\.\pipe\name` (separators may be doubled or forward, as csi-proxy's Go client
    /// writes them and Windows folds them), `unix:path`, `unix://path` or an absolute path.
    fn from_str(text: &str) -> Result<Self, EndpointError> {
        if let Some(name) = pipe_part(text) {
            return Self::pipe(&name);
        }
        let path = text
            .strip_prefix("unix://")
            .or_else(|| text.strip_prefix("unix:"))
            .unwrap_or(text);
        match path.starts_with('/') {
            true => Ok(Self::socket(path)),
            false => Err(EndpointError::Form(text.to_owned())),
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pipe(name) => name.fmt(f),
            Self::Socket(path) => path.display().fmt(f),
        }
    }
}

impl PipeName {
    /// # Errors
    /// When the name is empty, too long or holds a backslash.
    pub fn new(name: &str) -> Result<Self, EndpointError> {
        let length = name.encode_utf16().count();
        match (1..=247).contains(&length) && !name.contains(['\\', '\0']) {
            true => Ok(Self(name.to_owned())),
            false => Err(EndpointError::PipeName(name.to_owned())),
        }
    }
}

impl fmt::Display for PipeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, r"\\.\pipe\{}", self.0)
    }
}

/// The name in a pipe's path, or None when `text` is no pipe's path.
fn pipe_part(text: &str) -> Option<String> {
    let rest = text
        .strip_prefix(r"\\")
        .or_else(|| text.strip_prefix("//"))?;
    let mut parts = rest.split(['\\', '/']).filter(|part| !part.is_empty());
    let host = parts.next()?;
    let kind = parts.next()?;
    let is_pipe = host == "." && kind.eq_ignore_ascii_case("pipe");
    is_pipe.then(|| parts.collect::<Vec<_>>().join("\\"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_pipes_as_go_clients_write_them() {
        let plain: Endpoint = r"\\.\pipe\csi-proxy-disk-v1".parse().unwrap();
        let doubled: Endpoint = r"\\.\\pipe\\csi-proxy-disk-v1".parse().unwrap();
        assert_eq!(plain, doubled);
        assert_eq!(plain.to_string(), r"\\.\pipe\csi-proxy-disk-v1");
    }

    #[test]
    fn reads_sockets_in_their_three_forms() {
        for text in ["/run/a.sock", "unix:/run/a.sock", "unix:///run/a.sock"] {
            assert_eq!(
                text.parse::<Endpoint>().unwrap(),
                Endpoint::socket("/run/a.sock")
            );
        }
    }

    #[test]
    fn refuses_what_is_neither() {
        for text in ["", "a.sock", r"\\server\pipe\x", r"\\.\mailslot\x"] {
            assert!(
                matches!(text.parse::<Endpoint>(), Err(EndpointError::Form(_))),
                "{text}"
            );
        }
        for text in [r"\\.\pipe\", r"\\.\pipe\a\b"] {
            assert!(
                matches!(text.parse::<Endpoint>(), Err(EndpointError::PipeName(_))),
                "{text}"
            );
        }
    }
}
