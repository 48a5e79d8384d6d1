//! The bytes between h2 and a stream: h2's I/O object.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::{fmt, io, mem};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The capacity that even an almost empty buffer keeps, in bytes.
const KEPT: usize = 8 << 10;

/// Both ends' view of two buffers. h2 polls it and is polled again whenever a buffer has changed,
/// so it never has to remember a waker.
#[derive(Clone, Debug)]
pub(crate) struct Port {
    buffers: Arc<Mutex<Buffers>>,
    /// Pending output at which h2 has to wait as well, in bytes.
    most_output: usize,
}

/// The buffers between h2 and the stream.
#[derive(Default)]
pub(crate) struct Buffers {
    /// From the peer, for h2; read up to `taken`.
    pub(crate) input: Vec<u8>,
    taken: usize,
    /// From h2, for the peer.
    pub(crate) output: Vec<u8>,
    /// Nothing more will come.
    pub(crate) at_end: bool,
    /// h2 had more output than there was room for.
    blocked: bool,
}

impl Port {
    pub(crate) fn new(most_output: usize) -> Self {
        Self {
            buffers: Arc::default(),
            most_output,
        }
    }

    pub(crate) fn buffers(&self) -> MutexGuard<'_, Buffers> {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Buffers {
    /// Whether h2 has taken all input.
    pub(crate) fn is_drained(&self) -> bool {
        self.taken == self.input.len()
    }

    /// The memory of the bytes waiting for h2, and of both buffers' capacity beyond `KEPT`, in
    /// bytes. Bytes waiting for the stream are counted with their calls.
    pub(crate) fn held(&self) -> usize {
        let spare = |buffer: &Vec<u8>| buffer.capacity().saturating_sub(buffer.len().max(KEPT));
        self.input.len() + spare(&self.input) + spare(&self.output)
    }

    /// Gives back unneeded capacity.
    pub(crate) fn shrink(&mut self) {
        for buffer in [&mut self.input, &mut self.output] {
            if buffer.is_empty() && buffer.capacity() > KEPT {
                *buffer = Vec::new();
            }
        }
    }

    /// Whether h2 has more output than there was room for.
    pub(crate) fn is_blocked(&self) -> bool {
        self.blocked
    }

    /// Whether h2 waits for room in the output and there is room now. h2 does not retry by itself,
    /// so it has to be polled.
    pub(crate) fn unblock(&mut self) -> bool {
        self.output.is_empty() && mem::take(&mut self.blocked)
    }
}

impl fmt::Debug for Buffers {
    /// Without the bytes: they may be a password's.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffers")
            .field("input_bytes", &(self.input.len() - self.taken))
            .field("output_bytes", &self.output.len())
            .field("at_end", &self.at_end)
            .finish_non_exhaustive()
    }
}

impl AsyncRead for Port {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut buffers = self.buffers();
        if buffers.is_drained() {
            return if buffers.at_end {
                Poll::Ready(Ok(()))
            } else {
                Poll::Pending
            };
        }
        let rest = &buffers.input[buffers.taken..];
        let count = rest.len().min(buf.remaining());
        buf.put_slice(&rest[..count]);
        buffers.taken += count;
        if buffers.is_drained() {
            buffers.input.clear();
            buffers.taken = 0;
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Port {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut buffers = self.buffers();
        let room = self.most_output.saturating_sub(buffers.output.len());
        if room == 0 {
            buffers.blocked = true;
            return Poll::Pending;
        }
        let count = room.min(buf.len());
        buffers.output.extend_from_slice(&buf[..count]);
        Poll::Ready(Ok(count))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
