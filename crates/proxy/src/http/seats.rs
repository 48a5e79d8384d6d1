//! Who has a connection, and who makes room for others.

use std::collections::VecDeque;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// Connections whose request has not come whole, and as many that are being answered.
pub(super) const MOST: usize = 16;

const STACK_BYTES: usize = 256 << 10;

/// The connections of a server, each with a thread for its short life.
///
/// When one comes and [`MOST`] have not sent a request, the oldest of them is closed: who has something to ask has
/// asked by then, and those who only keep connections open keep nobody out.
#[derive(Default)]
pub(super) struct Seats {
    reading: Mutex<VecDeque<Reader>>,
    answering: AtomicUsize,
}

struct Reader {
    client: Arc<Client>,
    thread: JoinHandle<()>,
}

struct Client {
    stream: TcpStream,
    is_shed: AtomicBool,
}

/// A connection's seat, until this is dropped.
pub(super) struct Seat {
    seats: Arc<Seats>,
    client: Arc<Client>,
    is_answering: bool,
}

impl Seats {
    /// Serves a client on a thread.
    pub(super) fn take(
        self: &Arc<Self>,
        stream: TcpStream,
        serve: impl FnOnce(&TcpStream, Seat) + Send + 'static,
    ) -> io::Result<()> {
        self.make_room();
        let client = Arc::new(Client {
            stream,
            is_shed: AtomicBool::new(false),
        });
        let (seats, its) = (Arc::clone(self), Arc::clone(&client));
        // The thread finds itself among the readers when it looks.
        let mut reading = self.reading();
        let thread = thread::Builder::new()
            .name(String::from("http-client"))
            .stack_size(STACK_BYTES)
            .spawn(move || serve(&Arc::clone(&its).stream, Seat::new(seats, its)))?;
        reading.push_back(Reader { client, thread });
        Ok(())
    }

    /// Closes the oldest of those who have not asked, and waits for its thread, so that there are no more threads
    /// than seats.
    fn make_room(&self) {
        let mut reading = self.reading();
        if reading.len() < MOST {
            return;
        }
        let oldest = reading.pop_front();
        drop(reading);
        let Some(Reader { client, thread }) = oldest else {
            return;
        };
        client.is_shed.store(true, Ordering::Release);
        // It may be closed already.
        let _ = client.stream.shutdown(Shutdown::Both);
        // A panic of its page was its own.
        let _ = thread.join();
    }

    fn reading(&self) -> MutexGuard<'_, VecDeque<Reader>> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seat {
    fn new(seats: Arc<Seats>, client: Arc<Client>) -> Self {
        Self {
            seats,
            client,
            is_answering: false,
        }
    }

    /// Whether the connection was closed to make room.
    pub(super) fn is_shed(&self) -> bool {
        self.client.is_shed.load(Ordering::Acquire)
    }

    /// Goes over to those who are answered; false when they are too many.
    pub(super) fn begin_answer(&mut self) -> bool {
        let before = self.seats.answering.fetch_add(1, Ordering::AcqRel);
        if before >= MOST {
            self.seats.answering.fetch_sub(1, Ordering::AcqRel);
            return false;
        }
        self.leave_readers();
        self.is_answering = true;
        true
    }

    fn leave_readers(&self) {
        let mut reading = self.seats.reading();
        reading.retain(|reader| !Arc::ptr_eq(&reader.client, &self.client));
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if self.is_answering {
            self.seats.answering.fetch_sub(1, Ordering::AcqRel);
        } else {
            self.leave_readers();
        }
    }
}
