//! A TCP connection that carries messages with their length before them (MS-SMB2 2.1), each bounded by a deadline.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::Server;
use crate::error::{Failure, Outcome};

const LENGTH: usize = 4;

pub(super) struct Socket(TcpStream);

impl Socket {
    /// Tries each address of the server, with an equal share of the time that is left.
    pub(super) fn connect(server: &Server, by: Instant) -> Outcome<Self> {
        let addresses = resolve(server, by)?;
        let mut failure = Failure::Unreachable("its name has no address".to_owned());
        for (tried, address) in addresses.iter().enumerate() {
            let others = u32::try_from(addresses.len() - tried).unwrap_or(u32::MAX);
            match TcpStream::connect_timeout(address, left(by)? / others) {
                Ok(stream) => {
                    stream.set_nodelay(true).map_err(|error| lost(&error))?;
                    return Ok(Self(stream));
                }
                Err(error) if is_timeout(&error) => failure = Failure::TimedOut,
                Err(error) => failure = Failure::Unreachable(error.to_string()),
            }
        }
        Err(failure)
    }

    pub(super) fn send(&mut self, messages: &[Vec<u8>], by: Instant) -> Outcome<()> {
        let mut frames = Vec::new();
        for message in messages {
            let len = u32::try_from(message.len()).map_err(|_| Failure::Malformed("length"))?;
            frames.extend_from_slice(&len.to_be_bytes());
            frames.extend_from_slice(message);
        }
        let mut rest = frames.as_slice();
        while !rest.is_empty() {
            let timeout = self.0.set_write_timeout(Some(left(by)?));
            timeout.map_err(|error| lost(&error))?;
            match self.0.write(rest) {
                Ok(0) => return Err(Failure::Lost("it takes no bytes".to_owned())),
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(lost(&error)),
            }
        }
        Ok(())
    }

    /// The next message; its memory is taken once its length is known to be allowed.
    pub(super) fn receive(&mut self, longest: usize, by: Instant) -> Outcome<Vec<u8>> {
        let mut length = [0; LENGTH];
        self.fill(&mut length, by)?;
        let len = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
        if len > longest {
            return Err(Failure::Malformed("length"));
        }
        let mut message = vec![0; len];
        self.fill(&mut message, by)?;
        Ok(message)
    }

    fn fill(&mut self, buffer: &mut [u8], by: Instant) -> Outcome<()> {
        let mut filled = 0;
        while filled < buffer.len() {
            let timeout = self.0.set_read_timeout(Some(left(by)?));
            timeout.map_err(|error| lost(&error))?;
            match self.0.read(&mut buffer[filled..]) {
                Ok(0) => return Err(Failure::Lost("the server ended it".to_owned())),
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(lost(&error)),
            }
        }
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
    let started = thread::Builder::new()
        .name("smb-lookup".to_owned())
        .spawn(lookup);
    started.map_err(|error| Failure::Unreachable(error.to_string()))?;
    match receiver.recv_timeout(left(by)?) {
        Ok(addresses) => addresses.map_err(|error| Failure::Unreachable(error.to_string())),
        Err(_) => Err(Failure::TimedOut),
    }
}

/// What is left until the deadline; sockets take no timeout of zero.
fn left(by: Instant) -> Outcome<Duration> {
    let left = by.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(Failure::TimedOut);
    }
    Ok(left)
}

fn lost(error: &io::Error) -> Failure {
    if is_timeout(error) {
        return Failure::TimedOut;
    }
    Failure::Lost(error.to_string())
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock
    )
}
