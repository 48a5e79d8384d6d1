//! A connected socket.

use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fmt, io, mem};

use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::sockopt::{Timeout, set_socket_timeout, set_tcp_nodelay, socket_peercred};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, connect, recv, send, socket_with,
};
use rustix::process::{Uid, geteuid};

use super::super::{Identity, Interest, Read, ServerOwner, UserId, Written};
use super::listener::address;
use super::{Family, Handles};
use crate::{Endpoint, LoopbackAddress};

const SMALL_BUFFER: usize = 4 << 10;
/// A read of frames without payload takes about half a millisecond.
const LARGE_BUFFER: usize = 16 << 10;

pub(crate) struct Stream {
    fd: Arc<OwnedFd>,
    family: Family,
    ready: Interest,
    input: Vec<u8>,
    /// The input is to have less room from the next wait on.
    is_roomy: bool,
    output: Vec<u8>,
    sent: usize,
}

impl Stream {
    pub(crate) fn connect(endpoint: &Endpoint, deadline: Instant) -> io::Result<Self> {
        match endpoint {
            Endpoint::Socket(path) => Self::new(at_path(path, deadline)?, Family::Unix),
            Endpoint::Tcp(address) => Self::new(at_port(*address, deadline)?, Family::Tcp),
            Endpoint::Pipe(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Takes over a connected, non-blocking socket.
    pub(super) fn new(fd: OwnedFd, family: Family) -> io::Result<Self> {
        match family {
            // One write sends all queued output: there is nothing to wait for.
            Family::Tcp => set_tcp_nodelay(&fd, true)?,
            Family::Unix => {}
        }
        Ok(Self {
            fd: Arc::new(fd),
            family,
            ready: Interest {
                read: true,
                write: true,
            },
            input: vec![0; SMALL_BUFFER],
            is_roomy: false,
            output: Vec::new(),
            sent: 0,
        })
    }

    pub(crate) fn handles(&self) -> Handles {
        Handles(Arc::clone(&self.fd))
    }

    pub(crate) fn identity(&self) -> Identity {
        match self.family {
            Family::Tcp => Identity::Tcp,
            Family::Unix => socket_peercred(&self.fd)
                .ok()
                .and_then(|credentials| u32::try_from(credentials.pid.as_raw_nonzero().get()).ok())
                .into(),
        }
    }

    /// The account of that process.
    pub(crate) fn user(&self) -> Option<UserId> {
        if matches!(self.family, Family::Tcp) {
            return None;
        }
        let credentials = socket_peercred(&self.fd).ok()?;
        Some(UserId::new(&credentials.uid.as_raw().to_ne_bytes()))
    }

    /// The owner of the other end, at any path: a client's peer is the process that called `listen`
    /// (<https://man7.org/linux/man-pages/man7/unix.7.html>).
    pub(crate) fn server_owner(&self, _endpoint: &Endpoint) -> io::Result<ServerOwner> {
        if matches!(self.family, Family::Tcp) {
            return Ok(ServerOwner::unknown());
        }
        let uid = socket_peercred(&self.fd)?.uid;
        Ok(owner(uid, geteuid()))
    }

    /// Takes the result of a wait; whether anything is ready.
    pub(crate) fn note_ready(&mut self, ready: Interest) -> bool {
        self.ready.read |= ready.read;
        self.ready.write |= ready.write;
        ready.read || ready.write
    }

    /// The events for the next wait, with or without room for input.
    pub(crate) fn interest(&self, wants_input: bool) -> Interest {
        Interest {
            read: wants_input,
            write: self.has_pending_output(),
        }
    }

    /// Prepares a wait for input; true if some is there already.
    pub(crate) fn begin_read(&mut self) -> bool {
        if mem::take(&mut self.is_roomy) {
            self.input = vec![0; SMALL_BUFFER];
        }
        self.ready.read
    }

    /// Takes the received bytes.
    pub(crate) fn read(&mut self) -> io::Result<Read<'_>> {
        if !self.ready.read {
            return Ok(Read::Pending);
        }
        match recv(&self.fd, self.input.as_mut_slice(), RecvFlags::empty()) {
            Ok((0, _)) => Ok(Read::Closed),
            Ok((count, _)) if count < self.input.len() => {
                self.ready.read = false;
                self.is_roomy = count < SMALL_BUFFER && self.input.len() > SMALL_BUFFER;
                Ok(Read::Data(&self.input[..count]))
            }
            Ok((count, _)) => {
                if count < LARGE_BUFFER {
                    self.input.resize(count * 2, 0);
                }
                Ok(Read::Data(&self.input[..count]))
            }
            Err(Errno::AGAIN | Errno::INTR) => {
                self.ready.read = false;
                Ok(Read::Pending)
            }
            Err(Errno::CONNRESET) => Ok(Read::Closed),
            Err(error) => Err(error.into()),
        }
    }

    /// Hands `output` to the system as far as it takes it; the rest stays here.
    pub(crate) fn write(&mut self, output: &mut Vec<u8>) -> io::Result<Written> {
        let mut progress = false;
        loop {
            if !self.has_pending_output() {
                self.take_output(output);
                if self.output.is_empty() {
                    return Ok(Written::All);
                }
            }
            if !self.ready.write {
                return Ok(Written::Pending { progress });
            }
            match send(&self.fd, &self.output[self.sent..], SendFlags::NOSIGNAL) {
                Ok(count) => {
                    self.sent += count;
                    progress = true;
                }
                Err(Errno::AGAIN | Errno::INTR) => self.ready.write = false,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Output not yet taken by the system, in bytes.
    pub(crate) fn unsent(&self) -> usize {
        self.output.len() - self.sent
    }

    /// The memory of its buffers beyond every connection's minimum, in bytes.
    pub(crate) fn held(&self) -> usize {
        let output = self.output.capacity().saturating_sub(SMALL_BUFFER);
        self.input.len() - SMALL_BUFFER + output.max(self.unsent())
    }

    /// Whether output waits for the peer to make room.
    pub(crate) fn has_pending_output(&self) -> bool {
        self.unsent() > 0
    }

    fn take_output(&mut self, output: &mut Vec<u8>) {
        self.sent = 0;
        self.output.clear();
        if self.output.capacity() > LARGE_BUFFER {
            self.output = Vec::new();
        }
        mem::swap(&mut self.output, output);
    }
}

/// While more clients wait for the server than it has room for, `connect` waits as long as the socket's sending may
/// take (SO_SNDTIMEO of <https://man7.org/linux/man-pages/man7/socket.7.html>).
fn at_path(path: &Path, deadline: Instant) -> io::Result<OwnedFd> {
    let address = address(path)?;
    let socket = socket_with(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    loop {
        set_socket_timeout(&socket, Timeout::Send, Some(left(deadline)))?;
        match connect(&socket, &address) {
            Ok(()) => break,
            Err(Errno::INTR) if Instant::now() < deadline => {}
            Err(Errno::AGAIN | Errno::INTR) => return Err(io::ErrorKind::TimedOut.into()),
            Err(error) => return Err(error.into()),
        }
    }
    ioctl_fionbio(&socket, true)?;
    Ok(socket)
}

fn at_port(address: LoopbackAddress, deadline: Instant) -> io::Result<OwnedFd> {
    let socket = TcpStream::connect_timeout(&address.get(), left(deadline))?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// The time until `deadline`; never zero, as the system takes that for no limit.
fn left(deadline: Instant) -> Duration {
    let left = deadline.saturating_duration_since(Instant::now());
    left.max(Duration::from_millis(1))
}

/// The owner of a socket as a client of the user `own` judges it.
fn owner(uid: Uid, own: Uid) -> ServerOwner {
    ServerOwner {
        name: format!("user {}", uid.as_raw()),
        is_trusted: uid.is_root() || uid == own,
        is_own_user: uid == own,
    }
}

impl fmt::Debug for Stream {
    /// Without the bytes: they may be a password's.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("fd", &self.fd)
            .field("unsent", &self.unsent())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};
    use std::thread;

    use rustix::net::{accept, bind, listen};
    use tempfile::TempDir;

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(30);

    /// A listening socket without room for another client.
    struct Full {
        listener: OwnedFd,
        endpoint: Endpoint,
        _clients: Vec<OwnedFd>,
        _home: TempDir,
    }

    impl Full {
        fn new() -> Self {
            let home = tempfile::tempdir().unwrap();
            let path = home.path().join("full.sock");
            let address = address(&path).unwrap();
            let socket = || {
                let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
                socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap()
            };
            let listener = socket();
            bind(&listener, &address).unwrap();
            listen(&listener, 0).unwrap();
            let mut clients = Vec::new();
            loop {
                let client = socket();
                match connect(&client, &address) {
                    Ok(()) => clients.push(client),
                    Err(error) => {
                        assert_eq!(error, Errno::AGAIN);
                        break;
                    }
                }
            }
            Self {
                listener,
                endpoint: Endpoint::socket(path),
                _clients: clients,
                _home: home,
            }
        }

        /// Dials on a thread of its own, as a dial that never ends is the expected defect.
        fn dial(&self, within: Duration) -> Receiver<io::Result<Stream>> {
            let (sender, receiver) = channel();
            let endpoint = self.endpoint.clone();
            thread::spawn(move || {
                let _ = sender.send(Stream::connect(&endpoint, Instant::now() + within));
            });
            receiver
        }
    }

    #[test]
    fn a_dial_keeps_its_deadline_where_the_server_takes_nobody() {
        let full = Full::new();
        let dialled = full.dial(Duration::from_millis(50));
        let refused = dialled.recv_timeout(TIMEOUT).expect("an end").unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::TimedOut, "{refused}");
    }

    #[test]
    fn a_dial_is_through_once_the_server_has_room() {
        let full = Full::new();
        let dialled = full.dial(TIMEOUT);
        accept(&full.listener).unwrap();
        dialled.recv_timeout(TIMEOUT).expect("an end").unwrap();
    }

    /// Guards: P4
    #[test]
    fn root_and_the_clients_own_user_are_trusted_to_serve_and_no_other() {
        let user = Uid::from_raw;
        for (uid, own, is_trusted) in [
            (0, 0, true),
            (0, 1000, true),
            (1000, 1000, true),
            (1001, 1000, false),
            (1000, 0, false),
        ] {
            let found = owner(user(uid), user(own));
            assert_eq!(found.name, format!("user {uid}"));
            assert_eq!(found.is_trusted, is_trusted, "{uid} seen by {own}");
        }
    }
}
