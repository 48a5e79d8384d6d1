//! Standard error may be a pipe without a reader, or a console with selected text: a write can take for ever. So one
//! thread writes, from a bounded queue, and lines beyond its room are dropped.

use std::io::{self, Write};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{mem, thread};

/// A line was dropped: too much waits already.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Dropped;

/// Has a line written, in the order of the calls. The first one starts the thread.
pub(super) fn write(line: &[u8]) -> Result<(), Dropped> {
    QUEUE.write(line, || {
        let thread = thread::Builder::new().name(String::from("standard error"));
        let writer = || QUEUE.drain(io::stderr(), report_lost);
        thread.spawn(writer).map(drop)
    })
}

/// Shows people a text beside the log, and waits as [`flush`] does.
pub fn say(text: &str) {
    // There is no other place to report it.
    let _ = write(text.as_bytes());
    flush();
}

/// Waits until standard error has all lines, but no longer than a second.
pub fn flush() {
    QUEUE.flush();
}

static QUEUE: Queue = Queue::new(256 << 10);

/// How long the last lines of a process may take.
const LAST_WORDS: Duration = Duration::from_secs(1);

fn report_lost(lines: u64) {
    tracing::warn!(lines, "standard error was not read: lines are missing here");
}

/// Lines on their way to a sink.
struct Queue {
    /// How many bytes may wait.
    room: usize,
    state: Mutex<State>,
    filled: Condvar,
    emptied: Condvar,
}

struct State {
    lines: Vec<u8>,
    dropped: u64,
    writer: Writer,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Writer {
    /// There was nothing to be written yet, or no thread was to be had.
    Absent,
    Waiting,
    Writing,
}

impl Queue {
    const fn new(room: usize) -> Self {
        Self {
            room,
            state: Mutex::new(State {
                lines: Vec::new(),
                dropped: 0,
                writer: Writer::Absent,
            }),
            filled: Condvar::new(),
            emptied: Condvar::new(),
        }
    }

    /// Without a thread the lines wait, and the next one tries to start it again.
    fn write(&self, line: &[u8], start: impl FnOnce() -> io::Result<()>) -> Result<(), Dropped> {
        let mut state = self.state();
        state.push(line, self.room)?;
        if state.writer == Writer::Absent && start().is_err() {
            return Ok(());
        }
        if mem::replace(&mut state.writer, Writer::Writing) == Writer::Waiting {
            self.filled.notify_one();
        }
        Ok(())
    }

    /// Writes queued lines, for ever. Lines refused by the sink are lost: there is no other place for them.
    fn drain(&self, mut sink: impl Write, report_lost: impl Fn(u64)) {
        loop {
            let (lines, dropped) = self.take();
            // First, at the place of the missing lines.
            if dropped > 0 {
                report_lost(dropped);
            }
            let _ = sink.write_all(&lines);
        }
    }

    fn take(&self) -> (Vec<u8>, u64) {
        let mut state = self.state();
        if state.lines.is_empty() {
            state.writer = Writer::Waiting;
            self.emptied.notify_all();
        }
        while state.lines.is_empty() {
            let woken = self.filled.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
        (mem::take(&mut state.lines), mem::take(&mut state.dropped))
    }

    fn flush(&self) {
        let is_busy =
            |state: &mut State| state.writer == Writer::Writing || !state.lines.is_empty();
        let waited = self
            .emptied
            .wait_timeout_while(self.state(), LAST_WORDS, is_busy);
        drop(waited);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// After a dropped line all are dropped, until the writer takes the waiting ones: so the gap is behind them.
    fn push(&mut self, line: &[u8], room: usize) -> Result<(), Dropped> {
        let is_full = !self.lines.is_empty() && self.lines.len() + line.len() > room;
        if is_full || self.dropped > 0 {
            self.dropped += 1;
            return Err(Dropped);
        }
        self.lines.extend_from_slice(line);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::{self, Sender};
    use std::time::Duration;
    use std::{io, thread};

    use super::{Dropped, Queue};

    const TIMEOUT: Duration = Duration::from_secs(60);

    #[test]
    fn lines_without_room_are_dropped_and_counted_until_the_writer_comes() {
        let queue = Queue::new(8);
        let write = |line: &str| queue.write(line.as_bytes(), || Ok(()));
        assert_eq!(write("longer than the room\n"), Ok(()), "nothing waits");
        assert_eq!(queue.take(), (b"longer than the room\n".to_vec(), 0));
        assert_eq!([write("one\n"), write("two\n")], [Ok(()), Ok(())]);
        assert_eq!(write("three\n"), Err(Dropped));
        assert_eq!(queue.take(), (b"one\ntwo\n".to_vec(), 1));
        assert_eq!(write("four\n"), Ok(()));
        assert_eq!(write("fifth\n"), Err(Dropped));
        assert_eq!(
            write("6\n"),
            Err(Dropped),
            "else the gap would be before it"
        );
        assert_eq!(queue.take(), (b"four\n".to_vec(), 2));
    }

    #[test]
    fn a_thread_that_was_not_to_be_had_is_asked_for_again() {
        let queue = Queue::new(8);
        let none = || Err(io::Error::other("on purpose"));
        assert_eq!(queue.write(b"a\n", none), Ok(()));
        let mut started = 0;
        for line in [b"b\n", b"c\n"] {
            let start = || {
                started += 1;
                Ok(())
            };
            assert_eq!(queue.write(line, start), Ok(()));
        }
        assert_eq!(started, 1);
        assert_eq!(queue.take(), (b"a\nb\nc\n".to_vec(), 0));
    }

    /// Passes on the written bytes.
    struct Sink(Sender<Vec<u8>>);

    impl io::Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.0.send(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_flush_ends_when_all_is_written() {
        let queue = Arc::new(Queue::new(100));
        let (sender, written) = mpsc::channel();
        for line in [b"one\n", b"two\n"] {
            let (writers, sender) = (Arc::clone(&queue), sender.clone());
            let start = move || {
                thread::spawn(move || writers.drain(Sink(sender), |_| ()));
                Ok(())
            };
            assert_eq!(queue.write(line, start), Ok(()));
            queue.flush();
            let line = line.to_vec();
            assert_eq!(written.recv_timeout(TIMEOUT), Ok(line));
        }
    }
}
