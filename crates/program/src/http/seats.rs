//! Admits connections, and closes some to make room.

use std::collections::VecDeque;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::{io, thread};

/// The most connections with an incomplete request; also the most being answered, and the most closed to make room
/// whose threads have not noticed yet.
pub(super) const MOST: usize = 16;

const STACK_BYTES: usize = 256 << 10;

/// The connections of a server, each with a thread for its short life.
///
/// When one comes and [`MOST`] have not sent a request, the oldest of them is closed: honest clients have sent theirs
/// by then, and idle connections keep nobody out.
#[derive(Default)]
pub(super) struct Seats {
    taken: Mutex<Taken>,
    /// A connection has left `reading`, or the thread of a closed one has ended.
    left: Condvar,
}

#[derive(Default)]
struct Taken {
    /// The oldest first. A connection neither here nor being answered was closed.
    reading: VecDeque<Arc<TcpStream>>,
    answering: usize,
    /// Threads of closed connections. They answer nothing, and end with their read.
    shed: usize,
}

/// A connection's seat, until this is dropped.
pub(super) struct Seat {
    seats: Arc<Seats>,
    stream: Arc<TcpStream>,
    is_answering: bool,
}

/// Why a request is not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Too many are.
    Full,
    /// Its connection was closed to make room.
    Shed,
}

impl Seats {
    /// Serves a client on a thread.
    pub(super) fn take(
        self: &Arc<Self>,
        stream: TcpStream,
        serve: impl FnOnce(&TcpStream, Seat) + Send + 'static,
    ) -> io::Result<()> {
        let stream = Arc::new(stream);
        let (seats, its) = (Arc::clone(self), Arc::clone(&stream));
        // The thread finds itself among the readers when it looks.
        let mut taken = self.with_room();
        thread::Builder::new()
            .name(String::from("http-client"))
            .stack_size(STACK_BYTES)
            .spawn(move || serve(&Arc::clone(&its), Seat::new(seats, its)))?;
        taken.reading.push_back(stream);
        Ok(())
    }

    /// Closes the oldest connection without a request, if there are too many. Waits for its thread only if there are
    /// [`MOST`] such already: their number is bounded too.
    fn with_room(&self) -> MutexGuard<'_, Taken> {
        let is_full = |taken: &mut Taken| taken.reading.len() >= MOST && taken.shed >= MOST;
        let waited = self.left.wait_while(self.lock(), is_full);
        let mut taken = waited.unwrap_or_else(PoisonError::into_inner);
        if taken.reading.len() >= MOST
            && let Some(oldest) = taken.reading.pop_front()
        {
            taken.shed += 1;
            // It may be closed already.
            let _ = oldest.shutdown(Shutdown::Both);
        }
        taken
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    /// Takes a connection out of `reading`; false if it was closed to make room.
    fn leave_readers(&mut self, stream: &Arc<TcpStream>) -> bool {
        let mut reading = self.reading.iter();
        let found = reading.position(|reader| Arc::ptr_eq(reader, stream));
        found.and_then(|at| self.reading.remove(at)).is_some()
    }

    fn is_reading(&self, stream: &Arc<TcpStream>) -> bool {
        let mut reading = self.reading.iter();
        reading.any(|reader| Arc::ptr_eq(reader, stream))
    }
}

impl Seat {
    fn new(seats: Arc<Seats>, stream: Arc<TcpStream>) -> Self {
        Self {
            seats,
            stream,
            is_answering: false,
        }
    }

    /// Whether the connection was closed to make room.
    pub(super) fn is_shed(&self) -> bool {
        !self.is_answering && !self.seats.lock().is_reading(&self.stream)
    }

    /// Moves it to the answered ones. From then on the connection is not closed to make room.
    pub(super) fn begin_answer(&mut self) -> Result<(), Refusal> {
        let mut taken = self.seats.lock();
        if !taken.is_reading(&self.stream) {
            return Err(Refusal::Shed);
        }
        if taken.answering >= MOST {
            return Err(Refusal::Full);
        }
        taken.leave_readers(&self.stream);
        taken.answering += 1;
        self.is_answering = true;
        self.seats.left.notify_all();
        Ok(())
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = self.seats.lock();
        if self.is_answering {
            taken.answering -= 1;
            return;
        }
        if !taken.leave_readers(&self.stream) {
            taken.shed -= 1;
        }
        self.seats.left.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::{self, Receiver, Sender};
    use std::sync::{Arc, Mutex};
    use std::thread;
    use std::time::{Duration, Instant};

    use super::{MOST, Refusal, Seat, Seats};

    const TIMEOUT: Duration = Duration::from_secs(60);

    /// Seats with all connections to one silent client.
    struct Crowd {
        seats: Arc<Seats>,
        stream: TcpStream,
    }

    impl Crowd {
        fn new() -> Self {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
            let address = listener.local_addr().expect("it is bound");
            Self {
                seats: Arc::default(),
                stream: TcpStream::connect(address).expect("it listens"),
            }
        }

        fn take(&self, serve: impl FnOnce(Seat) + Send + 'static) {
            let stream = self.stream.try_clone().expect("a handle");
            let taken = self.seats.take(stream, |_, seat| serve(seat));
            taken.expect("a thread");
        }
    }

    fn eventually(is_so: impl Fn() -> bool) {
        let patience = Instant::now() + TIMEOUT;
        while !is_so() {
            assert!(Instant::now() < patience, "it never came to pass");
            thread::yield_now();
        }
    }

    /// The result if the oldest's request is complete just when room is made.
    fn outcome_of_the_oldest(newcomers: usize) -> Result<(), Refusal> {
        let (outcomes, outcome) = mpsc::channel();
        let (takes, taken) = mpsc::channel();
        thread::spawn(move || {
            let crowd = Crowd::new();
            let (asks, asked): (Sender<()>, Receiver<()>) = mpsc::channel();
            crowd.take(move |mut seat| {
                let _ = asked.recv();
                let _ = outcomes.send(seat.begin_answer());
            });
            let (_end, ended): (Sender<()>, Receiver<()>) = mpsc::channel();
            let ended = Arc::new(Mutex::new(ended));
            for _ in 0..newcomers {
                let ended = Arc::clone(&ended);
                crowd.take(move |_seat| drop(ended.lock().map(|ended| ended.recv())));
            }
            let _ = takes.send(());
            drop(asks);
            // The others stay until there is an outcome.
            eventually(|| crowd.seats.lock().shed == 0);
        });
        let taken = taken.recv_timeout(TIMEOUT);
        taken.expect("nobody waits for the thread of one that makes room");
        outcome.recv_timeout(TIMEOUT).expect("it began, or did not")
    }

    /// Guards: P34
    #[test]
    fn a_client_that_made_room_is_not_answered_and_nobody_waits_for_it() {
        assert_eq!(outcome_of_the_oldest(MOST - 1), Ok(()));
        assert_eq!(outcome_of_the_oldest(MOST), Err(Refusal::Shed));
    }

    #[test]
    fn threads_of_closed_connections_are_bounded() {
        let (running, most, begun) = (
            AtomicUsize::new(0),
            AtomicUsize::new(0),
            AtomicUsize::new(0),
        );
        let counts = Arc::new((running, most, begun));
        let (release, released): (Sender<()>, Receiver<()>) = mpsc::channel();
        let (released, its) = (Arc::new(Mutex::new(released)), Arc::clone(&counts));
        let taker = thread::spawn(move || {
            let crowd = Crowd::new();
            for _ in 0..4 * MOST {
                let (released, counts) = (Arc::clone(&released), Arc::clone(&its));
                crowd.take(move |_seat| {
                    let (running, most, begun) = &*counts;
                    most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    begun.fetch_add(1, Ordering::SeqCst);
                    let _ = released.lock().expect("nobody panics with it").recv();
                    running.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        let (_, most, begun) = &*counts;
        for expected in 2 * MOST..=4 * MOST {
            eventually(|| begun.load(Ordering::SeqCst) >= expected);
            release.send(()).expect("they wait");
        }
        drop(release);
        taker.join().expect("all are taken");
        assert_eq!(most.load(Ordering::SeqCst), 2 * MOST);
    }
}
