//! One overlapped operation with its buffer, on a pipe or a socket.
//!
//! Without overlapped I/O all operations on a pipe handle are serialised: a pending read would
//! block every write. So every operation here has an OVERLAPPED with an event of its own.
//!
//! Windows takes sockets for `ReadFile` and `WriteFile` as well; Wine 8 passes unset flags there, so a read may return
//! nothing although there is input. So sockets are read and written by Winsock's calls.

// UNSAFETY: the kernel writes into the buffer and the OVERLAPPED of a pending operation, unseen by
// the borrow checker. This module alone touches them, and keeps them alive until it is over.
#![expect(unsafe_code)]

use std::os::windows::io::AsRawHandle;
use std::sync::Arc;
use std::{fmt, io, ptr};

use windows_sys::Win32::Foundation::{ERROR_IO_INCOMPLETE, ERROR_IO_PENDING, ERROR_PIPE_CONNECTED};
use windows_sys::Win32::Networking::WinSock::{WSABUF, WSARecv, WSASend};
use windows_sys::Win32::Storage::FileSystem::{ReadFile, WriteFile};
use windows_sys::Win32::System::IO::{CancelIoEx, GetOverlappedResult, OVERLAPPED};
use windows_sys::Win32::System::Pipes::ConnectNamedPipe;

use super::Handles;
use super::end::End;
use super::event::Event;
use super::winsock::number;

/// An operation on one end, at most one at a time.
pub(super) struct OverlappedIo {
    end: Arc<End>,
    /// Keeps the event alive.
    _handles: Handles,
    /// Made by Box::into_raw, so no Rust reference to it exists while the kernel writes.
    overlapped: *mut OVERLAPPED,
    buffer: Vec<u8>,
    pending: bool,
}

// SAFETY: the OVERLAPPED belongs to this value alone, and the kernel does not care which thread
// asks for the result.
unsafe impl Send for OverlappedIo {}

impl OverlappedIo {
    /// An operation that will set `event`, one of `handles`.
    pub(super) fn new(end: &Arc<End>, handles: &Handles, event: &Event) -> Self {
        let overlapped = OVERLAPPED {
            hEvent: event.raw(),
            ..OVERLAPPED::default()
        };
        Self {
            end: Arc::clone(end),
            _handles: handles.clone(),
            overlapped: Box::into_raw(Box::new(overlapped)),
            buffer: Vec::new(),
            pending: false,
        }
    }

    pub(super) fn is_pending(&self) -> bool {
        self.pending
    }

    /// Whether the pending operation is over, so `poll` has its result.
    pub(super) fn is_done(&self) -> bool {
        if !self.pending {
            return false;
        }
        let mut count = 0;
        // SAFETY: the OVERLAPPED was given to an operation of this handle and is still alive.
        let done =
            unsafe { GetOverlappedResult(self.end.raw(), self.overlapped, &raw mut count, 0) };
        done != 0 || !is(&io::Error::last_os_error(), ERROR_IO_INCOMPLETE)
    }

    /// The buffer's length, in bytes.
    pub(super) fn length(&self) -> usize {
        self.buffer.len()
    }

    /// The buffer's capacity, in bytes.
    pub(super) fn capacity(&self) -> usize {
        self.buffer.capacity()
    }

    /// The buffer, while nothing is pending.
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        assert!(!self.pending, "the kernel has the buffer");
        &mut self.buffer
    }

    /// Reads into the whole buffer; Some when it was done at once.
    pub(super) fn read(&mut self) -> io::Result<Option<usize>> {
        let length = u32::try_from(self.buffer().len()).unwrap_or(u32::MAX);
        let mut count = 0;
        let start = self.buffer.as_mut_ptr();
        // SAFETY: the buffer has `length` bytes; it and the OVERLAPPED live and stay untouched
        // until the operation is over, see `pending` and Drop. What else is given is copied by the call.
        let done = unsafe {
            match &*self.end {
                End::Pipe(pipe) => {
                    let pipe = pipe.as_raw_handle();
                    ReadFile(pipe, start, length, &raw mut count, self.overlapped) != 0
                }
                End::Socket(socket, _) => {
                    let (socket, buffer) = (
                        number(socket),
                        WSABUF {
                            len: length,
                            buf: start,
                        },
                    );
                    let mut flags = 0;
                    let (buffer, flags) = (&raw const buffer, &raw mut flags);
                    let (count, overlapped) = (&raw mut count, self.overlapped);
                    WSARecv(socket, buffer, 1, count, flags, overlapped, None) == 0
                }
            }
        };
        self.begun(done, count)
    }

    /// Writes the buffer from `offset`; Some when it was done at once.
    pub(super) fn write(&mut self, offset: usize) -> io::Result<Option<usize>> {
        let rest = &self.buffer()[offset..];
        let length = u32::try_from(rest.len()).unwrap_or(u32::MAX);
        let start = rest.as_ptr();
        let mut count = 0;
        // SAFETY: as for `read`; of a socket's buffer nothing is written either.
        let done = unsafe {
            match &*self.end {
                End::Pipe(pipe) => {
                    let pipe = pipe.as_raw_handle();
                    WriteFile(pipe, start, length, &raw mut count, self.overlapped) != 0
                }
                End::Socket(socket, _) => {
                    let (len, buf) = (length, start.cast_mut());
                    let (socket, buffer) = (number(socket), WSABUF { len, buf });
                    let (count, overlapped) = (&raw mut count, self.overlapped);
                    WSASend(socket, &raw const buffer, 1, count, 0, overlapped, None) == 0
                }
            }
        };
        self.begun(done, count)
    }

    /// Begins to wait for a client; Some if it is there already.
    pub(super) fn connect(&mut self) -> io::Result<Option<usize>> {
        assert!(!self.pending, "one operation at a time");
        // SAFETY: the OVERLAPPED lives and stays untouched until the operation is over.
        let done = unsafe { ConnectNamedPipe(self.end.raw(), self.overlapped) };
        match self.begun(done != 0, 0) {
            Err(error) if is(&error, ERROR_PIPE_CONNECTED) => Ok(Some(0)),
            begun => begun,
        }
    }

    /// The result of the pending operation, or None when it still is.
    pub(super) fn poll(&mut self) -> io::Result<Option<usize>> {
        self.result(0)
    }

    /// A failed call's code is the thread's last error, for Winsock too.
    fn begun(&mut self, done: bool, count: u32) -> io::Result<Option<usize>> {
        if done {
            return Ok(usize::try_from(count).ok());
        }
        match io::Error::last_os_error() {
            error if is(&error, ERROR_IO_PENDING) => {
                self.pending = true;
                Ok(None)
            }
            error => Err(error),
        }
    }

    fn result(&mut self, wait: i32) -> io::Result<Option<usize>> {
        let mut count = 0;
        // SAFETY: the OVERLAPPED was given to an operation of this handle and is still alive.
        let done =
            unsafe { GetOverlappedResult(self.end.raw(), self.overlapped, &raw mut count, wait) };
        if done != 0 {
            self.pending = false;
            return Ok(usize::try_from(count).ok());
        }
        match io::Error::last_os_error() {
            error if is(&error, ERROR_IO_INCOMPLETE) => Ok(None),
            error => {
                self.pending = false;
                Err(error)
            }
        }
    }
}

impl Drop for OverlappedIo {
    /// Ends the operation and waits until the kernel has let go of the buffer.
    fn drop(&mut self) {
        if self.pending {
            // SAFETY: handle and OVERLAPPED are alive. It fails when the operation is over already.
            unsafe { CancelIoEx(self.end.raw(), self.overlapped) };
            let _ = self.result(1);
        }
        // SAFETY: made by Box::into_raw, and no operation uses it any more.
        drop(unsafe { Box::from_raw(self.overlapped) });
        self.overlapped = ptr::null_mut();
    }
}

impl fmt::Debug for OverlappedIo {
    /// Without the bytes: they may be a password's.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operation")
            .field("length", &self.length())
            .field("pending", &self.pending)
            .finish_non_exhaustive()
    }
}

/// Whether `error` is this Win32 error.
pub(super) fn is(error: &io::Error, code: u32) -> bool {
    error.raw_os_error().and_then(|raw| u32::try_from(raw).ok()) == Some(code)
}
