//! A connected pipe or socket.

use std::sync::Arc;
use std::time::Instant;
use std::{fmt, io, mem};

use windows_sys::Win32::Foundation::{
    ERROR_BROKEN_PIPE, ERROR_CONNECTION_ABORTED, ERROR_HANDLE_EOF, ERROR_NETNAME_DELETED,
    ERROR_NO_DATA, ERROR_OPERATION_ABORTED, ERROR_PIPE_NOT_CONNECTED,
};
use windows_sys::Win32::Networking::WinSock::{WSAECONNABORTED, WSAECONNRESET};

use super::super::{Identity, Interest, Read, ServerOwner, UserId, Written};
use super::end::{End, Family};
use super::operation::{OverlappedIo, is};
use super::winsock::{self, Address};
use super::{Handles, owner, pipe, user};
use crate::Endpoint;

const SMALL_BUFFER: usize = 4 << 10;
/// A read of frames without payload takes about half a millisecond.
const LARGE_BUFFER: usize = 16 << 10;

pub(crate) struct Stream {
    end: Arc<End>,
    handles: Handles,
    read: OverlappedIo,
    /// The read's buffer is to have less room from the next read on.
    is_roomy: bool,
    /// How the last read ended, until it is taken.
    arrived: Option<io::Result<usize>>,
    /// Made with the first write.
    write: Option<OverlappedIo>,
    sent: usize,
}

impl Stream {
    pub(crate) fn connect(endpoint: &Endpoint, deadline: Instant) -> io::Result<Self> {
        let end = match endpoint {
            Endpoint::Pipe(name) => End::Pipe(pipe::open(name, deadline)?),
            Endpoint::Socket(path) => socket(&Address::unix(path)?, deadline)?,
            Endpoint::Tcp(address) => socket(&Address::tcp(*address), deadline)?,
        };
        Ok(Self::new(Arc::new(end), Handles::new()?))
    }

    pub(super) fn new(end: Arc<End>, handles: Handles) -> Self {
        let mut read = OverlappedIo::new(&end, &handles, handles.read());
        read.buffer().resize(SMALL_BUFFER, 0);
        Self {
            end,
            handles,
            read,
            is_roomy: false,
            arrived: None,
            write: None,
            sent: 0,
        }
    }

    pub(crate) fn handles(&self) -> Handles {
        self.handles.clone()
    }

    pub(crate) fn identity(&self) -> Identity {
        match &*self.end {
            End::Pipe(pipe) => pipe::client_pid(pipe).into(),
            End::Socket(socket, Family::Unix) => winsock::peer_pid(socket).into(),
            End::Socket(_, Family::Tcp) => Identity::Tcp,
        }
    }

    /// The account of that process.
    pub(crate) fn user(&self) -> Option<UserId> {
        user::of_process(self.identity().peer().pid?)
    }

    /// The owner of the pipe with all its instances, or of the socket and the listening process. `endpoint` is the one
    /// connected to.
    pub(crate) fn server_owner(&self, endpoint: &Endpoint) -> io::Result<ServerOwner> {
        match (&*self.end, endpoint) {
            (End::Pipe(pipe), _) => owner::of(pipe),
            (End::Socket(socket, Family::Unix), Endpoint::Socket(path)) => {
                owner::of_socket(path, winsock::peer_pid(socket))
            }
            (End::Socket(..), _) => Ok(ServerOwner::unknown()),
        }
    }

    /// Takes the result of a wait; whether anything is ready. A wait knows only what may be ready,
    /// the operations know.
    pub(crate) fn note_ready(&mut self, ready: Interest) -> bool {
        let has_read = ready.read && self.read.is_done();
        has_read || ready.write && self.write.as_ref().is_some_and(OverlappedIo::is_done)
    }

    /// The events for the next wait, with or without room for input.
    pub(crate) fn interest(&self, wants_input: bool) -> Interest {
        Interest {
            read: wants_input && self.read.is_pending(),
            write: self.write.as_ref().is_some_and(OverlappedIo::is_pending),
        }
    }

    /// Begins a read, so that a wait reports input; true if input or an error is there already.
    pub(crate) fn begin_read(&mut self) -> bool {
        if !self.read.is_pending() && self.arrived.is_none() {
            if mem::take(&mut self.is_roomy) {
                *self.read.buffer() = vec![0; SMALL_BUFFER];
            }
            self.arrived = self.read.read().transpose();
        }
        self.arrived.is_some()
    }

    /// Takes the received bytes.
    pub(crate) fn read(&mut self) -> io::Result<Read<'_>> {
        if self.read.is_pending() {
            self.arrived = self.read.poll().transpose();
        }
        match self.arrived.take() {
            None => Ok(Read::Pending),
            Some(Ok(0)) => Ok(self.without_bytes()),
            Some(Ok(count)) => Ok(Read::Data(self.taken(count))),
            // The thread of the read has ended. No byte was taken: read again.
            Some(Err(error)) if is(&error, ERROR_OPERATION_ABORTED) => Ok(Read::Pending),
            Some(Err(error)) if is_gone(&error) => Ok(Read::Closed),
            Some(Err(error)) => Err(error),
        }
    }

    /// An empty message means nothing on a pipe, and the end on a socket.
    fn without_bytes(&self) -> Read<'static> {
        match &*self.end {
            End::Pipe(_) => Read::Pending,
            End::Socket(..) => Read::Closed,
        }
    }

    /// Hands `output` to the system; the rest stays here until the system takes it.
    pub(crate) fn write(&mut self, output: &mut Vec<u8>) -> io::Result<Written> {
        let mut progress = false;
        loop {
            let Some(write) = &mut self.write else {
                if output.is_empty() {
                    return Ok(Written::All);
                }
                let event = self.handles.write()?;
                self.write = Some(OverlappedIo::new(&self.end, &self.handles, event));
                continue;
            };
            let written = if write.is_pending() {
                write.poll()?
            } else {
                if self.sent == write.buffer().len() {
                    self.sent = 0;
                    swap_output(write.buffer(), output);
                    if write.buffer().is_empty() {
                        return Ok(Written::All);
                    }
                }
                write.write(self.sent)?
            };
            let Some(count) = written else {
                return Ok(Written::Pending { progress });
            };
            self.sent += count;
            progress |= count > 0;
        }
    }

    /// Output not yet taken by the system, in bytes.
    pub(crate) fn unsent(&self) -> usize {
        self.write
            .as_ref()
            .map_or(0, |write| write.length().saturating_sub(self.sent))
    }

    /// The memory of its buffers beyond every connection's minimum, in bytes.
    pub(crate) fn held(&self) -> usize {
        let kept = |operation: &OverlappedIo| operation.capacity().saturating_sub(SMALL_BUFFER);
        let output = self.write.as_ref().map_or(0, kept);
        kept(&self.read) + output.max(self.unsent())
    }

    /// The bytes of a read. A read that filled its buffer gets a larger one next time.
    fn taken(&mut self, count: usize) -> &[u8] {
        let buffer = self.read.buffer();
        self.is_roomy = count < SMALL_BUFFER && buffer.len() > SMALL_BUFFER;
        if count == buffer.len() && count < LARGE_BUFFER {
            buffer.resize(count * 2, 0);
        }
        &self.read.buffer()[..count]
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("end", &self.end)
            .field("read", &self.read)
            .field("write", &self.write)
            .finish_non_exhaustive()
    }
}

fn socket(address: &Address, deadline: Instant) -> io::Result<End> {
    Ok(End::Socket(
        winsock::connected(address, deadline)?,
        address.family(),
    ))
}

fn swap_output(buffer: &mut Vec<u8>, output: &mut Vec<u8>) {
    buffer.clear();
    if buffer.capacity() > LARGE_BUFFER {
        *buffer = Vec::new();
    }
    mem::swap(buffer, output);
}

fn is_gone(error: &io::Error) -> bool {
    let of_pipes = [ERROR_BROKEN_PIPE, ERROR_NO_DATA, ERROR_PIPE_NOT_CONNECTED];
    // A reset has the code of files, or the one of sockets.
    let of_sockets = [
        ERROR_NETNAME_DELETED,
        ERROR_CONNECTION_ABORTED,
        ERROR_HANDLE_EOF,
        WSAECONNRESET.cast_unsigned(),
        WSAECONNABORTED.cast_unsigned(),
    ];
    let mut codes = of_pipes.iter().chain(&of_sockets);
    codes.any(|&code| is(error, code))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::time::Duration;

    use super::super::listen;
    use super::*;
    use crate::ServerOptions;

    const TIMEOUT: Duration = Duration::from_secs(30);

    #[test]
    fn a_dial_keeps_its_deadline_where_the_server_takes_nobody() {
        let deaf = TcpListener::bind("127.91.17.5:0").unwrap();
        let endpoint = Endpoint::tcp(deaf.local_addr().unwrap()).unwrap();
        let dial = || Stream::connect(&endpoint, Instant::now() + Duration::from_millis(200));
        // The system takes some of them before the server does.
        let mut dialled = Vec::new();
        let refused = loop {
            match dial() {
                Ok(stream) => dialled.push(stream),
                Err(refused) => break refused,
            }
        };
        assert_eq!(refused.kind(), io::ErrorKind::TimedOut, "{refused}");
    }

    #[test]
    fn a_write_that_nobody_takes_keeps_no_read_and_ends_with_its_stream() {
        let address: SocketAddr = "127.91.17.4:4711".parse().unwrap();
        let endpoint = Endpoint::tcp(address).unwrap();
        let mut listeners = listen(&endpoint, &ServerOptions::default()).unwrap();
        let mut deaf = TcpStream::connect(address).unwrap();
        let end = Instant::now() + TIMEOUT;
        let mut stream = loop {
            assert!(Instant::now() < end, "nobody came");
            if let Some(stream) = listeners[0].accept().unwrap() {
                break stream;
            }
        };
        assert!(!stream.begin_read());
        let mut output = vec![0; 4 << 20];
        let written = stream.write(&mut output).unwrap();
        assert_eq!(written, Written::Pending { progress: false });
        assert!(stream.interest(true).write && stream.unsent() > 0);
        // Sent bytes are still read, so both go on at the same time.
        deaf.write_all(b"one byte").unwrap();
        let end = Instant::now() + TIMEOUT;
        while !stream.note_ready(Interest::BOTH) {
            assert!(Instant::now() < end, "nothing comes");
        }
        assert!(matches!(stream.read(), Ok(Read::Data(b"one byte"))));
        drop(stream);
    }
}
