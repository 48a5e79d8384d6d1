//! Where a server listens and a client dials.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::{fmt, io};

use thiserror::Error;

use crate::SocketId;

/// The address of a server: a named pipe on Windows, a Unix socket, or a tcp port of the loopback interface.
///
/// All forms parse on every system, so configuration can be checked anywhere; serving and dialling need the right
/// system. Windows has Unix sockets since 10.0.17063, older than Windows Server 2019
/// (<https://devblogs.microsoft.com/commandline/af_unix-comes-to-windows/>).
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Endpoint {
    /// A local named pipe, `\\.\pipe\<name>`.
    Pipe(PipeName),
    /// A Unix domain socket's path, at most 107 bytes of UTF-8.
    Socket(PathBuf),
    /// A loopback tcp port. Every process of this machine reaches it, under any account, so it is for tests.
    Tcp(LoopbackAddress),
}

/// The part of a local pipe's path behind `\\.\pipe\`.
///
/// Pipe names are compared without regard to case; the spelling is kept for messages.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct PipeName(String);

/// A port of an address in 127.0.0.0/8, or of `[::1]`.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct LoopbackAddress(SocketAddr);

/// Why a text is no endpoint.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum EndpointError {
    /// Neither a pipe's path nor an absolute path of a socket.
    #[error(
        "`{0}` is neither \\\\.\\pipe\\<name> nor an absolute socket path nor tcp://<address>:<port>"
    )]
    Form(String),
    /// CreateNamedPipeW allows 256 characters for the whole path and no backslash in the name.
    #[error("pipe name `{0}` must have 1 to 247 characters and no backslash")]
    PipeName(String),
    /// Another machine could reach it, or it has no port.
    #[error(
        "`{0}` must be a loopback address (127.0.0.0/8, [::1], localhost) with a port of 1 to 65535"
    )]
    Loopback(String),
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

    /// The tcp port at `address`.
    ///
    /// # Errors
    /// When the address is not a loopback one, or the port is 0.
    pub fn tcp(address: SocketAddr) -> Result<Self, EndpointError> {
        LoopbackAddress::new(address).map(Self::Tcp)
    }

    /// The identity of the Unix socket at the path now, served or not; `None` if nothing is there. Links are not
    /// followed. Pipes and ports have none.
    ///
    /// # Errors
    /// Something else than a socket has the path (`AlreadyExists`), or the system refuses.
    pub fn socket_id(&self) -> io::Result<Option<SocketId>> {
        match self {
            Self::Socket(path) => crate::sys::socket_id(path),
            Self::Pipe(_) | Self::Tcp(_) => Ok(None),
        }
    }

    /// Removes the file of a Unix socket, served or not, and returns whether there was one. Links are not followed.
    /// Pipes and ports leave nothing.
    ///
    /// # Errors
    /// Something else than a socket has the path (`AlreadyExists`), the socket is another account's
    /// (`PermissionDenied`), or the system refuses. Nothing was removed then.
    pub fn remove_socket(&self) -> io::Result<bool> {
        match self {
            Self::Socket(path) => crate::sys::remove_socket(path),
            Self::Pipe(_) | Self::Tcp(_) => Ok(false),
        }
    }
}

impl FromStr for Endpoint {
    type Err = EndpointError;

    /// Reads `\\.\pipe\name` (separators may be doubled or forward, as csi-proxy's Go client writes them and Windows
    /// folds them), `unix:path`, `unix://path` or an absolute path, of Windows too (`unix:///C:/x/csi.sock`,
    /// `unix://C:\\x\\csi.sock`, `C:\x\csi.sock`), and `tcp://address:port`, where `localhost` is 127.0.0.1, without a
    /// name query.
    fn from_str(text: &str) -> Result<Self, EndpointError> {
        if let Some(name) = pipe_part(text) {
            return Self::pipe(&name);
        }
        if let Some(address) = text.strip_prefix("tcp://") {
            return LoopbackAddress::read(address).map(Self::Tcp);
        }
        let path = socket_part(text).ok_or_else(|| EndpointError::Form(text.to_owned()))?;
        Ok(Self::socket(path))
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pipe(name) => name.fmt(f),
            Self::Socket(path) => path.display().fmt(f),
            Self::Tcp(address) => write!(f, "tcp://{}", address.0),
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

impl LoopbackAddress {
    /// # Errors
    /// When the address is not a loopback one, or the port is 0.
    pub fn new(address: SocketAddr) -> Result<Self, EndpointError> {
        match address.ip().is_loopback() && address.port() != 0 {
            true => Ok(Self(address)),
            false => Err(EndpointError::Loopback(address.to_string())),
        }
    }

    /// The address, for calls of the system.
    pub fn get(self) -> SocketAddr {
        self.0
    }

    fn read(text: &str) -> Result<Self, EndpointError> {
        let refused = || EndpointError::Loopback(text.to_owned());
        let address = match text.rsplit_once(':') {
            Some((host, port)) if host.eq_ignore_ascii_case("localhost") => {
                let port = port.parse().map_err(|_| refused())?;
                SocketAddr::from((Ipv4Addr::LOCALHOST, port))
            }
            _ => text.parse().map_err(|_| refused())?,
        };
        Self::new(address)
    }
}

/// The path in a socket's text, or None when `text` is no socket's.
fn socket_part(text: &str) -> Option<String> {
    let target = text
        .strip_prefix("unix://")
        .or_else(|| text.strip_prefix("unix:"));
    // The path of a URL begins with a slash, also where a drive follows.
    let drive = target.and_then(|path| path.strip_prefix('/'));
    let path = target.unwrap_or(text);
    drive
        .and_then(drive_path)
        .or_else(|| drive_path(path))
        .or_else(|| path.starts_with('/').then(|| path.to_owned()))
}

/// A path with a drive, with single backslashes.
pub(crate) fn drive_path(path: &str) -> Option<String> {
    let (drive, rest) = path.split_at_checked(2)?;
    let is_drive =
        drive.ends_with(':') && drive.starts_with(|letter: char| letter.is_ascii_alphabetic());
    let is_absolute = rest.starts_with(['\\', '/']);
    let names: Vec<_> = rest
        .split(['\\', '/'])
        .filter(|name| !name.is_empty())
        .collect();
    (is_drive && is_absolute && !names.is_empty()).then(|| format!("{drive}\\{}", names.join("\\")))
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
    use proptest::prelude::*;

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
    fn reads_sockets_of_windows_as_kubelet_and_sidecars_write_them() {
        for text in [
            r"C:\csi\csi.sock",
            "C:/csi/csi.sock",
            r"unix:C:\csi\csi.sock",
            r"unix://C:\csi\csi.sock",
            r"unix://C:\\csi\\csi.sock",
            "unix:///C:/csi/csi.sock",
        ] {
            let endpoint: Endpoint = text.parse().unwrap();
            assert_eq!(endpoint, Endpoint::socket(r"C:\csi\csi.sock"), "{text}");
        }
        let plain: Endpoint = "/C:/csi.sock".parse().unwrap();
        assert_eq!(plain, Endpoint::socket("/C:/csi.sock"), "no URL");
    }

    /// Guards: P9
    #[test]
    fn reads_tcp_of_this_machine_alone() {
        for (text, shown) in [
            ("tcp://127.0.0.1:8080", "tcp://127.0.0.1:8080"),
            ("tcp://127.200.3.4:1", "tcp://127.200.3.4:1"),
            ("tcp://[::1]:65535", "tcp://[::1]:65535"),
            ("tcp://LocalHost:8080", "tcp://127.0.0.1:8080"),
        ] {
            assert_eq!(text.parse::<Endpoint>().unwrap().to_string(), shown);
        }
        for text in [
            "tcp://0.0.0.0:8080",
            "tcp://:8080",
            "tcp://[::]:8080",
            "tcp://128.0.0.1:8080",
            "tcp://10.0.0.1:8080",
            "tcp://[::ffff:127.0.0.1]:8080",
            "tcp://localhost.example:8080",
            "tcp://node:8080",
            "tcp://127.1:8080",
            "tcp://127.0.0.1",
            "tcp://127.0.0.1:0",
            "tcp://localhost:0",
            "tcp://localhost:65536",
            "tcp://",
        ] {
            let refused = text.parse::<Endpoint>();
            assert!(matches!(refused, Err(EndpointError::Loopback(_))), "{text}");
        }
    }

    #[test]
    fn refuses_what_is_neither() {
        for text in [
            "",
            "a.sock",
            "unix:a.sock",
            "unix:",
            "C:",
            r"C:\",
            "C:a.sock",
            r"\\server\pipe\x",
            r"\\.\mailslot\x",
            "http://127.0.0.1:80",
        ] {
            let refused = text.parse::<Endpoint>();
            assert!(matches!(refused, Err(EndpointError::Form(_))), "{text}");
        }
        for text in [r"\\.\pipe\", r"\\.\pipe\a\b"] {
            assert!(
                matches!(text.parse::<Endpoint>(), Err(EndpointError::PipeName(_))),
                "{text}"
            );
        }
    }

    proptest! {
        #[test]
        fn what_is_read_is_shown_so_that_it_is_read_the_same(
            text in r"(unix:|unix://|unix:///|tcp://|\\\\.\\pipe\\|)([A-Z]:)?[/\\a-z0-9.:\[\]]{0,20}"
        ) {
            if let Ok(endpoint) = text.parse::<Endpoint>() {
                prop_assert_eq!(endpoint.to_string().parse(), Ok(endpoint));
            }
        }
    }
}
