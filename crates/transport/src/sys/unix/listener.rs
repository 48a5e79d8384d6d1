//! A listening Unix socket or tcp port.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{Mode, chmod};
use rustix::io::Errno;
use rustix::net::sockopt::{
    set_socket_recv_buffer_size, set_socket_reuseaddr, set_socket_send_buffer_size,
};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect, listen,
    socket_with,
};

use super::super::folder::{self, Unfit};
use super::super::{Accepts, Interest};
use super::socket_file::{SocketFile, hold_folder};
use super::{Family, Handles, Stream};
use crate::endpoint::drive_path;
use crate::{Endpoint, LoopbackAddress, ServerOptions, SocketAtEnd};

const BACKLOG: i32 = 1024;

#[derive(Debug)]
struct Listener {
    /// Removed at the end; none for a tcp port or a socket to be left.
    file: Option<SocketFile>,
    fd: Arc<OwnedFd>,
    family: Family,
}

/// Listeners for one endpoint; one serves any number of clients.
pub(crate) fn listen_at(
    endpoint: &Endpoint,
    options: &ServerOptions,
) -> io::Result<Vec<super::super::Listener>> {
    let listener = match endpoint {
        Endpoint::Socket(path) => Listener::at_path(path, options)?,
        Endpoint::Tcp(address) => Listener::at_port(*address, options.pipe_buffer_bytes)?,
        Endpoint::Pipe(_) => return Err(io::ErrorKind::Unsupported.into()),
    };
    Ok(vec![Box::new(listener)])
}

/// The address of a socket: a path of this system.
pub(super) fn address(path: &Path) -> io::Result<SocketAddrUnix> {
    let bytes = folder::sun_path(path)?;
    if path.to_str().and_then(drive_path).is_some() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    Ok(SocketAddrUnix::new(bytes)?)
}

impl Listener {
    fn at_path(path: &Path, options: &ServerOptions) -> io::Result<Self> {
        let address = address(path)?;
        let held = hold_folder(folder::of(path), options.socket_folder)?;
        remove_stale(path, &address)?;
        let fd = socket(AddressFamily::UNIX)?;
        bind(&fd, &address)?;
        // Nobody can connect before `listen`, so none does under the wider mode.
        chmod(path, Mode::RUSR | Mode::WUSR)?;
        let file = SocketFile::at(path)?;
        listen(&fd, BACKLOG)?;
        let mut listener = Self {
            file,
            fd: Arc::new(fd),
            family: Family::Unix,
        };
        // Until it listens, another starting server would take the socket for an unserved one.
        held.check_place()?;
        if options.socket_at_end == SocketAtEnd::Left {
            listener.file = None;
        }
        Ok(listener)
    }

    fn at_port(address: LoopbackAddress, buffer_bytes: u32) -> io::Result<Self> {
        let address = address.get();
        let fd = socket(match address.is_ipv4() {
            true => AddressFamily::INET,
            false => AddressFamily::INET6,
        })?;
        // Without it, ended connections block a port for a while; a served port stays taken.
        set_socket_reuseaddr(&fd, true)?;
        // Its connections inherit them. Otherwise the system buffers megabytes for a client that does not read.
        let bytes = usize::try_from(buffer_bytes).unwrap_or(usize::MAX);
        set_socket_recv_buffer_size(&fd, bytes)?;
        set_socket_send_buffer_size(&fd, bytes)?;
        bind(&fd, &address)?;
        listen(&fd, BACKLOG)?;
        Ok(Self {
            file: None,
            fd: Arc::new(fd),
            family: Family::Tcp,
        })
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
            Ok(fd) => Stream::new(fd, self.family).map(Some),
            Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for Listener {
    /// As long as the socket is open, no other takes its place: so the file goes first.
    fn drop(&mut self) {
        if let Some(Err(error)) = self.file.as_ref().map(SocketFile::remove) {
            tracing::debug!(file = ?self.file, %error, "cannot remove the socket");
        }
    }
}

fn socket(family: AddressFamily) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socket_with(family, SocketType::STREAM, flags, None)?)
}

/// Removes a dead server's socket, and refuses a served one.
fn remove_stale(path: &Path, address: &SocketAddrUnix) -> io::Result<()> {
    let Some(file) = SocketFile::at(path)? else {
        return Ok(());
    };
    if let Some(owner) = file.foreign_owner() {
        return Err(Unfit::ForeignSocket(owner).into());
    }
    match connect(&socket(AddressFamily::UNIX)?, address) {
        Err(Errno::CONNREFUSED) => file.remove(),
        _ => Err(io::ErrorKind::AddrInUse.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::{SocketAddr, TcpStream};
    use std::os::unix::fs::symlink;
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::sync::Barrier;
    use std::time::{Duration, Instant};
    use std::{fs, process, thread};

    use super::*;

    const STARTERS: usize = 4;

    /// Starts several servers at once, and returns their results.
    fn started_at_once(path: &Path) -> Vec<io::Result<Vec<super::super::super::Listener>>> {
        let endpoint = Endpoint::socket(path);
        let options = ServerOptions::default();
        let barrier = Barrier::new(STARTERS);
        let start = || {
            barrier.wait();
            listen_at(&endpoint, &options)
        };
        thread::scope(|scope| {
            let starters: Vec<_> = (0..STARTERS).map(|_| scope.spawn(start)).collect();
            let mut started = Vec::new();
            for one in starters {
                started.push(one.join().unwrap());
            }
            started
        })
    }

    fn assert_one_serves(path: &Path) {
        let mut serving = Vec::new();
        for started in started_at_once(path) {
            match started {
                Ok(listeners) => serving.push(listeners),
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::AddrInUse, "{error}"),
            }
        }
        assert_eq!(serving.len(), 1, "servers of one socket");
        UnixStream::connect(path).unwrap();
    }

    /// Guards: P7
    #[test]
    fn a_socket_that_is_left_is_replaced_by_the_next_server_and_by_none_while_it_is_served() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a.sock");
        let endpoint = Endpoint::socket(&path);
        let options = ServerOptions {
            socket_at_end: SocketAtEnd::Left,
            ..ServerOptions::default()
        };
        let first = listen_at(&endpoint, &options).unwrap();
        let taken = listen_at(&endpoint, &options).unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
        drop(first);
        let dialled = UnixStream::connect(&path).unwrap_err();
        assert_eq!(dialled.kind(), io::ErrorKind::ConnectionRefused);
        let second = listen_at(&endpoint, &options).unwrap();
        UnixStream::connect(&path).unwrap();
        drop(second);
        assert!(path.exists());
    }

    /// Guards: P7
    #[test]
    fn a_server_with_a_full_queue_keeps_its_socket() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a.sock");
        let address = SocketAddrUnix::new(&path).unwrap();
        let served = socket(AddressFamily::UNIX).unwrap();
        bind(&served, &address).unwrap();
        listen(&served, 0).unwrap();
        let waiting = UnixStream::connect(&path).unwrap();
        let options = ServerOptions::default();
        let taken = listen_at(&Endpoint::socket(&path), &options).unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
        assert!(path.exists());
        drop(waiting);
    }

    /// Guards: P7
    #[test]
    fn a_socket_is_removed_on_request_and_nothing_else_is() {
        let home = tempfile::tempdir().unwrap();
        let [socket, file, link] = ["a.sock", "file", "link"].map(|name| home.path().join(name));
        let removed = |path: &Path| Endpoint::socket(path).remove_socket();
        let _served = UnixListener::bind(&socket).unwrap();
        fs::write(&file, "of somebody").unwrap();
        symlink(&socket, &link).unwrap();
        for other in [&file, &link] {
            let refused = removed(other).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
            assert!(other.exists());
        }
        assert!(removed(&socket).unwrap());
        assert!(!removed(&socket).unwrap());
    }

    #[test]
    fn a_socket_that_is_served_shares_its_id_with_no_successor_at_its_path() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a.sock");
        let endpoint = Endpoint::socket(&path);
        let id = || endpoint.socket_id().unwrap();
        assert_eq!(id(), None);
        let _first = UnixListener::bind(&path).unwrap();
        let first = id();
        assert_eq!((first.is_some(), id()), (true, first));
        fs::remove_file(&path).unwrap();
        assert_eq!(id(), None);
        let _second = UnixListener::bind(&path).unwrap();
        assert!(id().is_some() && id() != first);
        fs::remove_file(&path).unwrap();
        fs::write(&path, "of somebody").unwrap();
        let refused = endpoint.socket_id().unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
    }

    /// Guards: P8
    #[test]
    fn of_servers_that_start_at_once_one_serves_and_keeps_its_socket() {
        for _ in 0..200 {
            let home = tempfile::tempdir().unwrap();
            let path = home.path().join("sockets").join("a.sock");
            // None has been there yet.
            assert_one_serves(&path);
            // A dead server left its own.
            drop(UnixListener::bind(&path).unwrap());
            assert!(fs::symlink_metadata(&path).is_ok());
            assert_one_serves(&path);
        }
    }

    #[test]
    fn a_port_is_had_again_although_a_connection_of_it_was_closed_here() {
        let [_, a, b, c] = process::id().to_be_bytes();
        let address = SocketAddr::from(([127, a, b, c.clamp(1, 254)], 4711));
        let endpoint = Endpoint::tcp(address).unwrap();
        let options = ServerOptions::default();
        let mut listeners = listen_at(&endpoint, &options).unwrap();
        let mut client = TcpStream::connect(address).unwrap();
        let end = Instant::now() + Duration::from_secs(30);
        while listeners[0].accept().unwrap().is_none() {
            assert!(Instant::now() < end, "nobody came");
        }
        assert_eq!(client.read(&mut [0]).unwrap(), 0);
        drop((client, listeners));
        assert!(listen_at(&endpoint, &options).is_ok());
    }
}
