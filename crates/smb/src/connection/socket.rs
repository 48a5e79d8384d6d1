//! A TCP connection that carries messages with their length before them (MS-SMB2 2.1), each bounded by a deadline.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::Server;
use crate::error::{Failure, Outcome};

/// A connection, whose every read and write ends at a deadline.
pub(super) struct Socket {
    stream: TcpStream,
    pub(super) by: Instant,
}

impl Socket {
    /// Tries each address of the server, with an equal share of the time that is left.
    pub(super) fn connect(server: &Server, by: Instant) -> Outcome<Self> {
        let addresses = resolve(server, by)?;
        let mut failure = Failure::Unreachable("its name has no address".to_owned());
        for (tried, address) in addresses.iter().enumerate() {
            let others = u32::try_from(addresses.len() - tried).unwrap_or(u32::MAX);
            let timeout = left(by).map_err(lost)? / others;
            match TcpStream::connect_timeout(address, timeout) {
                Ok(stream) => {
                    stream.set_nodelay(true).map_err(lost)?;
                    return Ok(Self { stream, by });
                }
                Err(error) if is_timeout(&error) => failure = Failure::TimedOut,
                Err(error) => failure = Failure::Unreachable(error.to_string()),
            }
        }
        Err(failure)
    }

    pub(super) fn send(&mut self, messages: &[Vec<u8>]) -> Outcome<()> {
        let mut frames = Vec::new();
        for message in messages {
            let len = u32::try_from(message.len()).map_err(|_| Failure::Malformed("length"))?;
            frames.extend_from_slice(&len.to_be_bytes());
            frames.extend_from_slice(message);
        }
        self.write_all(&frames).map_err(lost)
    }

    /// The next message; its memory is taken once its length is known to be allowed.
    pub(super) fn receive(&mut self, longest: usize) -> Outcome<Vec<u8>> {
        let mut length = [0; 4];
        self.read_exact(&mut length).map_err(lost)?;
        let len = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
        if len > longest {
            return Err(Failure::Malformed("length"));
        }
        let mut message = vec![0; len];
        self.read_exact(&mut message).map_err(lost)?;
        Ok(message)
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(left(self.by)?))?;
        self.stream.read(buffer)
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(left(self.by)?))?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The resolver of the system knows no deadline: it has a thread of its own, which ends when the resolver does.
fn resolve(server: &Server, by: Instant) -> Outcome<Vec<SocketAddr>> {
    if let Ok(address) = server.host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, server.port)]);
    }
    let place = (server.host.clone(), server.port);
    let (sender, receiver) = mpsc::channel::<io::Result<Vec<SocketAddr>>>();
    let lookup = move || {
        let addresses = place.to_socket_addrs().map(Iterator::collect);
        // After the deadline the receiver is gone.
        let _ = sender.send(addresses);
    };
    let thread = thread::Builder::new().name("smb-lookup".to_owned());
    let started = thread.spawn(lookup);
    started.map_err(|error| Failure::Unreachable(error.to_string()))?;
    match receiver.recv_timeout(left(by).map_err(lost)?) {
        Ok(addresses) => addresses.map_err(|error| Failure::Unreachable(error.to_string())),
        Err(_) => Err(Failure::TimedOut),
    }
}

/// What is left until the deadline; sockets take no timeout of zero.
fn left(by: Instant) -> io::Result<Duration> {
    let left = Some(by.saturating_duration_since(Instant::now()));
    let left = left.filter(|left| !left.is_zero());
    left.ok_or_else(|| ErrorKind::TimedOut.into())
}

fn lost(error: io::Error) -> Failure {
    match error.kind() {
        _ if is_timeout(&error) => Failure::TimedOut,
        ErrorKind::UnexpectedEof => Failure::Lost("the server ended it".to_owned()),
        ErrorKind::WriteZero => Failure::Lost("it takes no bytes".to_owned()),
        _ => Failure::Lost(error.to_string()),
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock)
}
