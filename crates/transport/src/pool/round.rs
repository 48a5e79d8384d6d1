//! A driver's rounds: take queued tasks, read, wait, serve.
//!
//! Reads begin as late as possible: not after each call, but when the driver has served all ready
//! connections. On Windows a read with its data already there costs one system call and no wait; a
//! pending one costs both and an event besides. Under load most requests are found without a wait.

use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{mem, thread};

use super::slice::{Others, SLICE, Shares, Slice};
use super::{Pool, Slot, Task, Worker};
use crate::conn::{Connection, Served};
use crate::server::Client;
use crate::sys::{self, Interest};

/// The thread has no connections any more: they were taken, or it gave them up.
struct Dismissed;

/// The pause of a thread that cannot wait, so it does not spin.
const PAUSE: Duration = Duration::from_millis(1);
/// The most rounds without a check of connections with a pending read.
const UNWAITED: u32 = 4;

/// A driver's state from round to round.
struct Round<'a> {
    pool: &'a Arc<Pool>,
    worker: &'a Arc<Worker>,
    linger: Duration,
    /// By slot: the result of the last wait.
    ready: Vec<Interest>,
    /// Connections to serve in this round, and when each was last served.
    due: Vec<(Instant, Arc<Connection>)>,
    /// Rounds since the last wait.
    unwaited: u32,
    shares: Shares,
    /// The driver has connections of several processes.
    is_mixed: bool,
}

/// Drives until the thread has no connections.
pub(super) fn drive(pool: &Arc<Pool>, worker: &Arc<Worker>) {
    let mut round = Round::new(pool, worker, SLICE);
    while let Ok(()) = round.go()
        && worker.load() > 0
    {}
}

impl<'a> Round<'a> {
    fn new(pool: &'a Arc<Pool>, worker: &'a Arc<Worker>, slice: Duration) -> Self {
        Self {
            pool,
            worker,
            linger: pool.linger,
            ready: Vec::new(),
            due: Vec::new(),
            unwaited: 0,
            shares: Shares::new(slice),
            is_mixed: false,
        }
    }

    fn go(&mut self) -> Result<(), Dismissed> {
        self.take_queued()?;
        let has_input = self.begin_reads()?;
        // Connections with immediate input may have more; the others get their turn as well.
        self.unwaited = if has_input { self.unwaited + 1 } else { 0 };
        if has_input && self.unwaited < UNWAITED {
            return Ok(());
        }
        self.unwaited = 0;
        self.wait(has_input);
        self.serve_due()
    }

    /// Takes at most as many tasks as there can be connections, so clients being turned away do not keep the thread
    /// from its own.
    fn take_queued(&mut self) -> Result<(), Dismissed> {
        for _ in 0..Worker::MOST {
            if !self.worker.has_room() {
                break;
            }
            let connection = match self.pool.take() {
                None => break,
                Some(Task::Serve(connection)) => Some(connection),
                Some(Task::Accept(acceptor)) => acceptor.accept(),
            };
            if let Some(connection) = connection {
                self.add(&connection);
                connection.note_ready(Interest::BOTH);
                self.serve(&connection)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, connection: &Arc<Connection>) {
        connection.set_worker(self.worker);
        let slot = Slot::new(connection);
        self.is_mixed = self.worker.change(|slots| {
            slots.push(slot);
            is_mixed(slots)
        });
    }

    /// Begins the reads of connections served since the last wait, and serves those with input
    /// already there; false if there is none.
    fn begin_reads(&mut self) -> Result<bool, Dismissed> {
        let mut due = mem::take(&mut self.due);
        self.worker.change(|slots| {
            for slot in slots.iter_mut().filter(|slot| slot.stale && !slot.late) {
                match slot.connection.begin_wait() {
                    Some(wait) => (slot.wait, slot.stale) = (wait, false),
                    None => due.push(slot.due()),
                }
            }
        });
        self.due = due;
        let has_input = !self.due.is_empty();
        self.serve_due()?;
        Ok(has_input)
    }

    /// Waits until a connection wants something or is idle for too long, and notes the due ones;
    /// only polls if one has input already.
    fn wait(&mut self, has_input: bool) {
        self.worker.begin_wait();
        let mut slots = self.worker.slots();
        let now = Instant::now();
        let is_late = slots.iter().any(|slot| slot.late);
        let is_full = slots.len() == Worker::MOST;
        // An idle connection is served sooner through the queue, by any thread, than on a flooded thread.
        let linger = match is_late || is_full && self.pool.has_queued() {
            true => Duration::ZERO,
            false => self.linger,
        };
        let next = slots.iter().map(|slot| slot.next(linger)).min();
        let timeout = match has_input || is_late || self.pool.has_queued() {
            true => Duration::ZERO,
            false => next.map_or(linger, |next| next.saturating_duration_since(now)),
        };
        if let Err(error) = sys::wait(self.worker.wakeup(), &slots, Some(timeout), &mut self.ready)
        {
            if let Some(held_back) = self.pool.may_log_failure() {
                tracing::warn!(%error, held_back, "cannot wait");
            }
            // A read reports the error of one of them, and the others are served meanwhile.
            self.ready.clear();
            self.ready.resize(slots.len(), Interest::BOTH);
            thread::sleep(PAUSE);
        }
        self.worker.end_wait();
        self.shares.begin_round();
        let now = Instant::now();
        let gives_back = is_full && self.pool.has_queued();
        let mut given_back = Vec::new();
        let mut ready = self.ready.iter().copied();
        slots.retain(|slot| {
            let ready = ready.next().unwrap_or_default();
            if gives_back && slot.late && slot.connection.ownership().claim() {
                given_back.push(Arc::clone(&slot.connection));
                return false;
            }
            if slot.wants_service(ready, now) {
                self.due.push(slot.due());
                return true;
            }
            // A connection served just now has no read pending: nothing would wake it.
            slot.stale || slot.next(linger) > now || !slot.park()
        });
        self.worker.set_load(slots.len());
        self.is_mixed = is_mixed(&slots);
        drop(slots);
        // A full thread takes nothing from the queue, in which processes take turns.
        for connection in given_back {
            self.pool.push(Task::Serve(connection));
        }
        // The idle ones have just made room for queued tasks.
        if !self.worker.has_room() && self.pool.has_queued() {
            self.pool.help();
        }
    }

    /// If processes compete, the longest unserved come first.
    fn serve_due(&mut self) -> Result<(), Dismissed> {
        let mut due = mem::take(&mut self.due);
        if self.is_mixed {
            due.sort_unstable_by_key(|(since, _)| *since);
        }
        let served = due
            .drain(..)
            .try_for_each(|(_, connection)| self.serve(&connection));
        self.due = due;
        served
    }

    /// Serves a connection, unless its process has used up its slice and others may wait.
    fn serve(&mut self, connection: &Arc<Connection>) -> Result<(), Dismissed> {
        let Some(mut slice) = self.slice(connection.client()) else {
            self.postpone(connection);
            return Ok(());
        };
        let served = connection.serve(self.pool, self.worker, &mut slice);
        if let Served::Reassigned = served {
            return Err(Dismissed);
        }
        if let Some(used) = slice.used() {
            self.shares.add(connection.client(), used);
        }
        match served {
            Served::Waits(since) => self.change(connection, |slot| {
                (slot.since, slot.stale, slot.late) = (since, true, false);
            }),
            Served::Pauses(since) => self.change(connection, |slot| {
                (slot.since, slot.stale, slot.late) = (since, true, true);
            }),
            Served::Gone | Served::Reassigned => self
                .worker
                .change(|slots| slots.retain(|slot| !slot.is_of(connection))),
        }
        Ok(())
    }

    /// Leaves a connection to the next round, with any wish.
    fn postpone(&self, connection: &Arc<Connection>) {
        connection.ownership().pause();
        self.change(connection, |slot| slot.late = true);
    }

    /// None when others come before `client`.
    fn slice(&self, client: &Arc<Client>) -> Option<Slice<'a>> {
        let others = match self.is_mixed {
            true => Others::OnDriver,
            false => Others::InQueue(self.pool),
        };
        self.shares.next(client, others)
    }

    fn change(&self, connection: &Arc<Connection>, change: impl FnOnce(&mut Slot)) {
        self.worker.change(|slots| {
            if let Some(slot) = slots.iter_mut().find(|slot| slot.is_of(connection)) {
                change(slot);
            }
        });
    }
}

/// Whether these are of more than one process.
fn is_mixed(slots: &[Slot]) -> bool {
    let mut clients = slots.iter().map(|slot| slot.connection.client());
    let first = clients.next();
    clients.any(|client| first.is_some_and(|first| !Arc::ptr_eq(client, first)))
}

#[cfg(test)]
mod tests {
    use std::iter;
    use std::sync::Mutex;
    use std::sync::atomic::Ordering::SeqCst;

    use super::*;
    use crate::pool::queue::Queue;
    use crate::server::{Binding, Groups, Shared};
    use crate::sys::{Listener, Stream};
    use crate::{Call, Endpoint, Peer, ServerOptions, Service, Status};

    const TIMEOUT: Duration = Duration::from_secs(30);
    const CALLS: usize = 10;
    const BUSY: u32 = 1;
    const INNOCENT: u32 = 2;

    /// Notes the clients of the calls it ran.
    #[derive(Default)]
    struct Order(Mutex<Vec<u32>>);

    impl Service for Order {
        fn call(&self, call: &Call) -> Result<Vec<u8>, Status> {
            self.0.lock().unwrap().push(call.peer.pid.unwrap());
            Ok(Vec::new())
        }
    }

    fn client(pid: u32) -> Arc<Client> {
        Arc::new(Client::of(Peer { pid: Some(pid) }))
    }

    fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
        let length = u8::try_from(payload.len()).unwrap();
        [&[0, 0, length, kind, flags, 0, 0, 0, stream], payload].concat()
    }

    /// The bytes of a client that makes all its calls at once.
    fn requests() -> Vec<u8> {
        let mut block = vec![0x83, 0x86];
        for (name, value) in [
            (":path", "/v1.Test/Order"),
            (":authority", "a"),
            ("content-type", "application/grpc"),
            ("te", "trailers"),
        ] {
            block.push(0);
            for text in [name, value] {
                block.push(u8::try_from(text.len()).unwrap());
                block.extend(text.as_bytes());
            }
        }
        let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        bytes.extend(frame(4, 0, 0, &[]));
        for call in 0..CALLS {
            let stream = u8::try_from(2 * call + 1).unwrap();
            bytes.extend(frame(1, 4, stream, &block));
            bytes.extend(frame(0, 1, stream, &[0; 5]));
        }
        bytes
    }

    struct RoundFixture {
        endpoint: Endpoint,
        listeners: Vec<Listener>,
        order: Arc<Order>,
        binding: Arc<Binding>,
        shared: Arc<Shared>,
        clients: Vec<Stream>,
    }

    impl RoundFixture {
        fn new(endpoint: Endpoint) -> Self {
            let options = ServerOptions::default();
            let listeners = sys::listen(&endpoint, &options).unwrap();
            let (order, mut groups) = (Arc::new(Order::default()), Groups::default());
            let service = Arc::clone(&order) as Arc<dyn Service>;
            Self {
                listeners,
                order,
                binding: Arc::new(Binding::new(endpoint.clone(), service, &mut groups)),
                shared: Arc::new(Shared::new(options, &groups).unwrap()),
                clients: Vec::new(),
                endpoint,
            }
        }

        /// The server's side of a connection of `client` with all its calls made.
        fn connection(&mut self, client: &Arc<Client>) -> Arc<Connection> {
            let end = Instant::now() + TIMEOUT;
            let mut stream = Stream::connect(&self.endpoint, end).unwrap();
            stream.write(&mut requests()).unwrap();
            self.clients.push(stream);
            let id = self.clients.len() as u64;
            let stream = self.accept(end);
            Connection::new(id, stream, client, &self.binding, &self.shared).unwrap()
        }

        fn accept(&mut self, end: Instant) -> Stream {
            loop {
                let mut accepted = self.listeners.iter_mut().map(|it| it.accept().unwrap());
                if let Some(stream) = accepted.find_map(|stream| stream) {
                    return stream;
                }
                assert!(Instant::now() < end, "nobody is let in");
            }
        }
    }

    /// However many connections and calls the other has.
    /// Guards: P30
    #[test]
    fn between_two_turns_of_a_process_another_has_one_slice_in_all() {
        let folder = tempfile::tempdir().unwrap();
        let name = format!("transport-test-{}-fair", std::process::id());
        let mut fixture = RoundFixture::new(Endpoint::local(folder.path(), &name).unwrap());
        let (busy, innocent) = (client(BUSY), client(INNOCENT));
        let worker = Arc::new(Worker::new().unwrap());
        worker.enter();
        let pool = Arc::clone(&fixture.shared.pool);
        // Each turn then uses it up.
        let mut round = Round::new(&pool, &worker, Duration::ZERO);
        for owner in [vec![&busy; 20], vec![&innocent]].concat() {
            let connection = fixture.connection(owner);
            round.add(&connection);
            round.postpone(&connection);
        }
        let end = Instant::now() + TIMEOUT;
        let order = Arc::clone(&fixture.order);
        while order.0.lock().unwrap().len() < 21 * CALLS {
            assert!(
                Instant::now() < end && round.go().is_ok(),
                "not all are served"
            );
        }
        let order = order.0.lock().unwrap();
        let mut turns = order.split(|&pid| pid == INNOCENT).map(<[u32]>::len);
        let last = turns.next_back().unwrap();
        assert_eq!(turns.clone().count(), CALLS);
        assert!(turns.all(|between| between <= 2), "{order:?}");
        assert!(last > 2, "the others have their turns afterwards");
    }

    /// Only a full thread does, and only for the queue: it could take no other process's connection from it.
    /// Guards: P30
    #[test]
    fn a_full_thread_gives_late_connections_back() {
        let cases = [
            (Worker::MOST, 1, 0),
            (Worker::MOST, 0, Worker::MOST),
            (Worker::MOST - 1, 1, Worker::MOST - 1),
        ];
        for (connections, queued, stay) in cases {
            let folder = tempfile::tempdir().unwrap();
            let name = format!("transport-test-{}-full-{stay}", std::process::id());
            let mut fixture = RoundFixture::new(Endpoint::local(folder.path(), &name).unwrap());
            let busy = client(BUSY);
            let worker = Arc::new(Worker::new().unwrap());
            worker.enter();
            let pool = Arc::clone(&fixture.shared.pool);
            let mut round = Round::new(&pool, &worker, Duration::ZERO);
            for _ in 0..connections {
                let connection = fixture.connection(&busy);
                round.add(&connection);
                round.postpone(&connection);
            }
            // Counted but not there, so the pool's own threads take it from nobody.
            pool.queued.fetch_add(queued, SeqCst);
            assert!(round.go().is_ok());
            assert_eq!(worker.load(), stay, "of {connections}, {queued} queued");
            pool.queued.fetch_sub(queued, SeqCst);
            let end = Instant::now() + TIMEOUT;
            while fixture.order.0.lock().unwrap().len() < connections * CALLS {
                assert!(Instant::now() < end, "not all are served");
                assert!(worker.load() == 0 || round.go().is_ok());
            }
        }
    }

    /// Guards: P30
    #[test]
    fn in_the_queue_a_process_waits_for_one_connection_of_another() {
        let folder = tempfile::tempdir().unwrap();
        let name = format!("transport-test-{}-queue", std::process::id());
        let mut fixture = RoundFixture::new(Endpoint::local(folder.path(), &name).unwrap());
        let (busy, innocent) = (client(BUSY), client(INNOCENT));
        let mut queue = Queue::default();
        for owner in [&busy, &busy, &busy, &innocent] {
            queue.push(Task::Serve(fixture.connection(owner)));
        }
        let next = || match queue.pop()? {
            Task::Serve(connection) => connection.client().peer().pid,
            Task::Accept(_) => None,
        };
        let order: Vec<_> = iter::from_fn(next).collect();
        assert_eq!(order, [BUSY, INNOCENT, BUSY, BUSY]);
    }
}
