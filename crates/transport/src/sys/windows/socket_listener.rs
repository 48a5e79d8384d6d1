//! A socket waiting for clients.

use std::io;
use std::os::windows::io::OwnedSocket;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::folder::{self, Unfit};
use super::super::{Accepts, Interest};
use super::end::{End, Family};
use super::socket_file::{SocketFile, hold_folder};
use super::winsock::{self, Address};
use super::{Handles, Stream};
use crate::{LoopbackAddress, ServerOptions, SocketAtEnd, SocketFolder};

/// The most time for an existing socket to answer.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Waits for one client after the other.
#[derive(Debug)]
pub(super) struct SocketListener {
    /// Removed at the end; none for a tcp port or a socket to be left.
    file: Option<SocketFile>,
    socket: OwnedSocket,
    handles: Handles,
    family: Family,
}

impl SocketListener {
    pub(super) fn at_path(path: &Path, options: &ServerOptions) -> io::Result<Self> {
        let address = Address::unix(path)?;
        let held = hold_folder(folder::of(path), options.socket_folder)?;
        remove_stale(path, &address, options.socket_folder)?;
        let socket = winsock::bound(&address)?;
        let mut listener = Self::new(SocketFile::made_at(path)?, socket, Family::Unix)?;
        // Until it listens, another starting server would take the socket for an unserved one.
        held.check_place()?;
        if options.socket_at_end == SocketAtEnd::Left {
            listener.file = None;
        }
        Ok(listener)
    }

    pub(super) fn at_port(address: LoopbackAddress, buffer_bytes: u32) -> io::Result<Self> {
        let socket = winsock::bound(&Address::tcp(address))?;
        winsock::limit_buffers(&socket, buffer_bytes)?;
        Self::new(None, socket, Family::Tcp)
    }

    fn new(file: Option<SocketFile>, socket: OwnedSocket, family: Family) -> io::Result<Self> {
        let handles = Handles::new()?;
        winsock::listen_for(&socket, handles.read())?;
        Ok(Self {
            file,
            socket,
            handles,
            family,
        })
    }
}

impl Accepts for SocketListener {
    fn handles(&self) -> Handles {
        self.handles.clone()
    }

    fn interest(&self) -> Interest {
        Interest {
            read: true,
            write: false,
        }
    }

    /// The next client, or None when there is none yet.
    fn accept(&mut self) -> io::Result<Option<Stream>> {
        let client = winsock::next(&self.socket, self.handles.read(), self.family)?;
        let stream = |socket| {
            let end = End::Socket(socket, self.family);
            Ok(Stream::new(Arc::new(end), Handles::new()?))
        };
        client.map(stream).transpose()
    }
}

impl Drop for SocketListener {
    /// As long as the socket is open, no other takes its place: so the file goes first.
    fn drop(&mut self) {
        if let Some(Err(error)) = self.file.as_ref().map(SocketFile::remove) {
            tracing::debug!(file = ?self.file, %error, "cannot remove the socket");
        }
    }
}

/// Removes a dead server's socket, and refuses a served one.
fn remove_stale(path: &Path, address: &Address, whose: SocketFolder) -> io::Result<()> {
    let Some(file) = SocketFile::stale_at(path, whose)? else {
        return Ok(());
    };
    if let Some(owner) = file.foreign_owner() {
        return Err(Unfit::ForeignSocket(owner).into());
    }
    match winsock::connected(address, Instant::now() + TIMEOUT) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => file.remove(),
        _ => Err(io::ErrorKind::AddrInUse.into()),
    }
}
