//! A listening Unix socket.

use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use rustix::fs::{Mode, chmod};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect, listen,
    socket_with,
};

use super::super::{Accepts, Interest};
use super::{Handles, Stream};
use crate::{Endpoint, ServerOptions};

const BACKLOG: i32 = 1024;

#[derive(Debug)]
pub(crate) struct Listener {
    fd: Arc<OwnedFd>,
    path: PathBuf,
    inode: u64,
}

impl Listener {
    /// Listeners for one endpoint; one serves any number of clients.
    pub(crate) fn bind(endpoint: &Endpoint, _options: &ServerOptions) -> io::Result<Vec<Self>> {
        let Endpoint::Socket(path) = endpoint else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        remove_stale(path)?;
        let fd = socket()?;
        bind(&fd, &SocketAddrUnix::new(path.as_path())?)?;
        // Nobody can connect before `listen`, so nobody gets in under the wider mode.
        chmod(path, Mode::RUSR | Mode::WUSR)?;
        let inode = fs::symlink_metadata(path)?.ino();
        listen(&fd, BACKLOG)?;
        Ok(vec![Self {
            fd: Arc::new(fd),
            path: path.clone(),
            inode,
        }])
    }
}

impl Accepts for Listener {
    fn handles(&self) -> Handles {
        Handles(Arc::clone(&self.fd))
    }

    fn interest(&self) -> Interest {
        Interest {
            read: true,
            write: false,
        }
    }

    /// The next client, or None when there is none yet.
    fn accept(&mut self) -> io::Result<Option<Stream>> {
        match accept_with(&self.fd, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            Ok(fd) => Ok(Some(Stream::new(fd))),
            Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let is_ours = fs::symlink_metadata(&self.path).is_ok_and(|meta| meta.ino() == self.inode);
        if is_ours && let Err(error) = fs::remove_file(&self.path) {
            tracing::debug!(path = %self.path.display(), %error, "cannot remove the socket");
        }
    }
}

fn socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socket_with(
        AddressFamily::UNIX,
        SocketType::STREAM,
        flags,
        None,
    )?)
}

/// Removes a socket that a server which died has left, and refuses one that is served.
fn remove_stale(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.file_type().is_socket() => {}
        Ok(_) => return Err(io::ErrorKind::AlreadyExists.into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    match connect(&socket()?, &SocketAddrUnix::new(path)?) {
        Err(Errno::CONNREFUSED) => fs::remove_file(path),
        _ => Err(io::ErrorKind::AddrInUse.into()),
    }
}
