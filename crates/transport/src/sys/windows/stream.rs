//! A connected pipe.

use std::os::windows::io::OwnedHandle;
use std::sync::Arc;
use std::time::Instant;
use std::{fmt, io, mem};

use windows_sys::Win32::Foundation::{
    ERROR_BROKEN_PIPE, ERROR_NO_DATA, ERROR_OPERATION_ABORTED, ERROR_PIPE_NOT_CONNECTED,
};

use super::super::{Interest, Read, ServerOwner, UserId, Written};
use super::operation::{Operation, is};
use super::{Handles, owner, pipe, user};
use crate::{Endpoint, Peer};

const SMALL_BUFFER: usize = 4 << 10;
/// A read of frames without payload takes about half a millisecond.
const LARGE_BUFFER: usize = 16 << 10;

pub(crate) struct Stream {
    pipe: Arc<OwnedHandle>,
    handles: Handles,
    read: Operation,
    /// The read's buffer is to have less room from the next read on.
    is_roomy: bool,
    /// How the last read ended, until it is taken.
    arrived: Option<io::Result<usize>>,
    /// Made with the first write.
    write: Option<Operation>,
    sent: usize,
}

impl Stream {
    pub(crate) fn connect(endpoint: &Endpoint, deadline: Instant) -> io::Result<Self> {
        let Endpoint::Pipe(name) = endpoint else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        Ok(Self::new(
            Arc::new(pipe::open(name, deadline)?),
            Handles::new()?,
        ))
    }

    pub(super) fn new(pipe: Arc<OwnedHandle>, handles: Handles) -> Self {
        let mut read = Operation::new(&pipe, &handles, handles.read());
        read.buffer().resize(SMALL_BUFFER, 0);
        Self {
            pipe,
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

    pub(crate) fn peer(&self) -> Peer {
        Peer {
            pid: pipe::client_pid(&self.pipe),
        }
    }

    /// Whose process that is.
    pub(crate) fn user(&self) -> Option<UserId> {
        user::of_process(self.peer().pid?)
    }

    /// Who owns the pipe, which is the owner of all its instances.
    pub(crate) fn server_owner(&self) -> io::Result<ServerOwner> {
        owner::of(&self.pipe)
    }

    /// Learns what a wait has found; whether that is anything. A wait knows only what may be
    /// ready, the operations know.
    pub(crate) fn look(&mut self, ready: Interest) -> bool {
        let has_read = ready.read && self.read.is_done();
        has_read || ready.write && self.write.as_ref().is_some_and(Operation::is_done)
    }

    /// What a wait would have to wait for, given that there is room for input or not.
    pub(crate) fn interest(&self, wants_input: bool) -> Interest {
        Interest {
            read: wants_input && self.read.is_pending(),
            write: self.write.as_ref().is_some_and(Operation::is_pending),
        }
    }

    /// Makes sure that a wait will tell of input; true when some is there already, or an error.
    pub(crate) fn begin_read(&mut self) -> bool {
        if !self.read.is_pending() && self.arrived.is_none() {
            if mem::take(&mut self.is_roomy) {
                *self.read.buffer() = vec![0; SMALL_BUFFER];
            }
            self.arrived = self.read.read().transpose();
        }
        self.arrived.is_some()
    }

    /// Takes what has come in.
    pub(crate) fn read(&mut self) -> io::Result<Read<'_>> {
        if self.read.is_pending() {
            self.arrived = self.read.poll().transpose();
        }
        match self.arrived.take() {
            // A message of no bytes tells nothing.
            None | Some(Ok(0)) => Ok(Read::Pending),
            Some(Ok(count)) => Ok(Read::Data(self.taken(count))),
            // The thread that began the read has ended. No byte was taken: read again.
            Some(Err(error)) if is(&error, ERROR_OPERATION_ABORTED) => Ok(Read::Pending),
            Some(Err(error)) if is_gone(&error) => Ok(Read::Closed),
            Some(Err(error)) => Err(error),
        }
    }

    /// Hands `output` to the system; what it has not taken by now stays here until it has.
    pub(crate) fn write(&mut self, output: &mut Vec<u8>) -> io::Result<Written> {
        let mut progress = false;
        loop {
            let Some(write) = &mut self.write else {
                if output.is_empty() {
                    return Ok(Written::All);
                }
                let event = self.handles.write()?;
                self.write = Some(Operation::new(&self.pipe, &self.handles, event));
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

    /// Output that the system has not taken, in bytes.
    pub(crate) fn unsent(&self) -> usize {
        self.write
            .as_ref()
            .map_or(0, |write| write.length().saturating_sub(self.sent))
    }

    /// The memory of its buffers beyond what each connection has, in bytes.
    pub(crate) fn held(&self) -> usize {
        let kept = |operation: &Operation| operation.capacity().saturating_sub(SMALL_BUFFER);
        let output = self.write.as_ref().map_or(0, kept);
        kept(&self.read) + output.max(self.unsent())
    }

    /// The bytes that a read has brought. One that filled its buffer gets a larger one next time.
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
            .field("pipe", &self.pipe)
            .field("read", &self.read)
            .field("write", &self.write)
            .finish_non_exhaustive()
    }
}

fn swap_output(buffer: &mut Vec<u8>, output: &mut Vec<u8>) {
    buffer.clear();
    if buffer.capacity() > LARGE_BUFFER {
        *buffer = Vec::new();
    }
    mem::swap(buffer, output);
}

fn is_gone(error: &io::Error) -> bool {
    [ERROR_BROKEN_PIPE, ERROR_NO_DATA, ERROR_PIPE_NOT_CONNECTED]
        .iter()
        .any(|&code| is(error, code))
}
