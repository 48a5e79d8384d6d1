//! A connection: how it is served, and how others reach its thread.
//!
//! The serving thread makes *turns*: it takes the input, lets h2 work on it, and sends all queued output in one write
//! ([`state`]). A turn that finds a whole request returns it, and the thread runs the service itself, outside the
//! connection's lock. If that takes long, another thread gets the connection ([`crate::pool`]); the first one posts its
//! answer when it has it and is free again. [`crate::ownership`] has the states and the argument why no wake-up is
//! lost.

mod calls;
mod ending;
mod exchange;
mod limits;
mod state;

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Wake, Waker};
use std::time::{Duration, Instant};

use self::ending::Why;
use self::exchange::Request;
use self::state::{State, Turn};
use crate::ownership::{self, Generation, Ownership};
use crate::panics::contain;
use crate::pool::{Pool, Slice, Task, Worker};
use crate::server::{Account, Binding, Calls, Client, Refusal, Shared, Whose};
use crate::sys::{self, Handles, Interest, Ready, Stream};
use crate::waiting::CallPermit;
use crate::{Call, Code, MethodPath, Status};

pub(crate) use self::state::{CloseReason, Wait};

/// How a thread left the connection that it served.
pub(crate) enum Served {
    /// It is to be waited for; when it was last served.
    Waits(Instant),
    /// Its slice is used up, and it has more to do; when it was last served.
    Pauses(Instant),
    /// It is closed.
    Gone,
    /// It was taken during a call, with all others of the thread.
    Reassigned,
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) id: u64,
    ownership: Ownership,
    /// The owning thread, for others to rouse it.
    worker: Mutex<Option<Arc<Worker>>>,
    handles: Handles,
    /// None once closed.
    state: Mutex<Option<State>>,
    account: Arc<Account>,
    /// When the last call ended, in microseconds since the server's start; [`BUSY`] while one runs.
    idle_since: AtomicU64,
    /// It is to end, as its place is needed.
    leaving: AtomicBool,
    client: Arc<Client>,
    binding: Arc<Binding>,
    shared: Arc<Shared>,
}

/// The value while the connection is not idle.
const BUSY: u64 = u64::MAX;

impl Connection {
    /// Takes over a client's stream; the caller has to drive it.
    pub(crate) fn new(
        id: u64,
        stream: Stream,
        client: &Arc<Client>,
        binding: &Arc<Binding>,
        shared: &Arc<Shared>,
    ) -> io::Result<Arc<Self>> {
        let connection = Arc::new(Self {
            id,
            ownership: Ownership::new(),
            worker: Mutex::new(None),
            handles: stream.handles(),
            state: Mutex::new(None),
            account: Arc::default(),
            idle_since: AtomicU64::new(shared.micros(Instant::now())),
            leaving: AtomicBool::new(false),
            client: Arc::clone(client),
            binding: Arc::clone(binding),
            shared: Arc::clone(shared),
        });
        let watch = shared
            .watcher
            .watch(Arc::clone(&connection) as sys::Target)?;
        let state = State::new(stream, watch, &connection.account, binding, shared);
        *connection.state() = Some(state);
        Ok(connection)
    }

    /// The bytes it holds of the server's budget.
    pub(crate) fn held(&self) -> usize {
        self.account.held()
    }

    /// Whether that is this connection's account.
    pub(crate) fn has_account(&self, account: &Arc<Account>) -> bool {
        Arc::ptr_eq(&self.account, account)
    }

    /// When it became idle, in microseconds since the server's start; None while a call runs.
    pub(crate) fn idle_since(&self) -> Option<u64> {
        Some(self.idle_since.load(Ordering::Relaxed)).filter(|&since| since != BUSY)
    }

    /// Whether it was asked to make room.
    pub(crate) fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::Acquire)
    }

    /// Has it make room for another; the caller has to see to a turn.
    pub(crate) fn leave(&self) {
        self.leaving.store(true, Ordering::Release);
    }

    fn end(&self) -> Option<Why> {
        match self.shared.draining.load(Ordering::Acquire) {
            true => Some(Why::Shutdown),
            false => self.is_leaving().then_some(Why::Room),
        }
    }

    /// Its client.
    pub(crate) fn client(&self) -> &Arc<Client> {
        &self.client
    }

    /// The counters of its calls, and its client and group.
    pub(crate) fn calls(&self) -> &Calls {
        &self.shared.calls
    }

    pub(crate) fn whose(&self) -> Whose<'_> {
        Whose {
            client: &self.client,
            group: &self.binding.group,
        }
    }

    pub(crate) fn handles(&self) -> &Handles {
        &self.handles
    }

    pub(crate) fn ownership(&self) -> &Ownership {
        &self.ownership
    }

    /// Ends the connection even within a call.
    pub(crate) fn sever(self: &Arc<Self>) {
        self.close(&CloseReason::Severed);
        self.want_turn();
    }

    /// Requests a turn; see [`crate::ownership`].
    pub(crate) fn want_turn(self: &Arc<Self>) {
        match self.ownership.want() {
            ownership::Wake::Nothing => {}
            ownership::Wake::Rouse => {
                let worker = self.worker().clone();
                if let Some(worker) = worker {
                    worker.wakeup().set();
                }
            }
            ownership::Wake::Queue => self.shared.pool.push(Task::Serve(Arc::clone(self))),
        }
    }

    /// Sets the thread to rouse when a turn is wanted.
    pub(crate) fn set_worker(&self, worker: &Arc<Worker>) {
        *self.worker() = Some(Arc::clone(worker));
    }

    /// Passes the result of a wait to the stream; whether anything is ready.
    pub(crate) fn note_ready(&self, ready: Interest) -> bool {
        let note = || {
            self.state()
                .as_mut()
                .is_none_or(|state| state.note_ready(ready))
        };
        self.or_closed(note, true)
    }

    /// Begins a read, so that a wait reports input; None if there is input already.
    pub(crate) fn begin_wait(&self) -> Option<Wait> {
        self.or_closed(|| self.state().as_mut()?.begin_wait(), None)
    }

    /// Makes turns until there is nothing more to do, or the slice is over.
    pub(crate) fn serve(
        self: &Arc<Self>,
        pool: &Arc<Pool>,
        worker: &Worker,
        slice: &mut Slice<'_>,
    ) -> Served {
        self.or_closed(|| self.make_turns(pool, worker, slice), Served::Gone)
    }

    /// Leaves the connection to the system's watch; false when a turn is wanted instead.
    pub(crate) fn park(&self, wait: &Wait) -> bool {
        let arm = || Some(self.state().as_ref()?.arm_watch(&self.handles, wait));
        match self.or_closed(arm, None) {
            None => true,
            Some(Ok(())) => self.ownership.park(),
            // Without a watch nothing would ever wake it.
            Some(Err(error)) => {
                self.close(&CloseReason::Io(error));
                true
            }
        }
    }

    /// Does `work` for the owning thread; a panic in it closes only this connection, and the result
    /// is `closed`.
    fn or_closed<T>(&self, work: impl FnOnce() -> T, closed: T) -> T {
        contain("serving a connection", work).unwrap_or_else(|| {
            self.abandon();
            closed
        })
    }

    fn make_turns(
        self: &Arc<Self>,
        pool: &Arc<Pool>,
        worker: &Worker,
        slice: &mut Slice<'_>,
    ) -> Served {
        let generation = self.ownership.begin_turn();
        let waker = Waker::from(Arc::clone(self));
        let mut context = Context::from_waker(&waker);
        loop {
            let end = self.end();
            let turn = match &mut *self.state() {
                Some(state) => {
                    let turn = state.turn(end, slice, &mut context);
                    let idle = state.idle_since();
                    let since = idle.map_or(BUSY, |since| self.shared.micros(since));
                    self.idle_since.store(since, Ordering::Relaxed);
                    turn
                }
                None => return Served::Gone,
            };
            match turn {
                Turn::Run(request) => {
                    if !self.run(*request, generation, pool, worker) {
                        return Served::Reassigned;
                    }
                    slice.has_run();
                }
                Turn::Wait(now) if self.ownership.start_wait() => return Served::Waits(now),
                Turn::Wait(_) => {}
                Turn::Pause(now) => {
                    self.ownership.pause();
                    return Served::Pauses(now);
                }
                Turn::Close(reason) => {
                    self.close(&reason);
                    return Served::Gone;
                }
            }
            self.ownership.begin_turn();
        }
    }

    /// Ends the connection after a panic in its thread.
    pub(crate) fn abandon(&self) {
        self.close(&CloseReason::Panic);
    }

    /// Runs one call; false when the connection is another thread's by now.
    fn run(
        self: &Arc<Self>,
        request: Request,
        generation: Generation,
        pool: &Arc<Pool>,
        worker: &Worker,
    ) -> bool {
        let id = request.id;
        // Before others can close the connection: a shutdown waits for connections, then for calls.
        let permit = CallPermit::to(self);
        // Before others can take the connection, and with it the next request.
        let held = (permit.is_ok()).then(|| self.shared.budget.hold(request.held()));
        let is_slow = permit.is_ok() && pool.pace().is_slow(request.method.as_str());
        if is_slow {
            worker.give_up(self, pool);
        } else {
            worker.begin_call();
            pool.monitor().rouse();
            self.ownership.begin_call();
        }
        let answer = self.answer(request, permit, pool);
        // The request is gone. Were it counted beside its response, the response could have to make room for it.
        drop(held);
        let is_own = !is_slow && self.ownership.end_call(generation);
        if !is_slow {
            worker.end_call();
        }
        let finish = || {
            if let Some(state) = &mut *self.state() {
                state.finish(id, answer);
            }
        };
        self.or_closed(finish, ());
        if !is_own {
            self.want_turn();
        }
        is_own
    }

    /// Calls the service, unless too many calls run.
    fn answer(
        &self,
        request: Request,
        permit: Result<CallPermit, Refusal>,
        pool: &Pool,
    ) -> Result<Vec<u8>, Status> {
        let permit = permit.map_err(|reason| self.refuse(&request.method, &reason))?;
        let call = Call {
            method: request.method,
            message: request.message,
            metadata: request.metadata,
            peer: self.client.peer(),
            deadline: request.deadline,
            endpoint: self.binding.endpoint.clone(),
        };
        let start = Instant::now();
        let serve = || contain(call.method.as_str(), || self.binding.service.call(&call));
        let answer = permit.run(serve);
        pool.pace().note(call.method.as_str(), start.elapsed());
        answer.unwrap_or_else(|| {
            let text = format!("{} failed unexpectedly", call.method);
            Err(Status::new(Code::Internal, text))
        })
    }

    /// The status of a refused call, also logged for the operator.
    fn refuse(&self, method: &MethodPath, reason: &Refusal) -> Status {
        self.shared.refused_calls.fetch_add(1, Ordering::Relaxed);
        contain("logging", || {
            if let Some(held_back) = self.binding.refusing.pass() {
                tracing::warn!(endpoint = %self.binding.endpoint, peer = %self.client.peer(), %method, %reason, held_back, "a call is refused");
            }
        });
        Status::new(Code::ResourceExhausted, reason.to_string())
    }

    fn close(&self, reason: &CloseReason) {
        // Dropped without the lock: a callback of the watch may be waiting for it. After a panic
        // within h2 its own drop panics as well.
        let state = self.state().take();
        contain("closing a connection", || drop(state));
        if !self.shared.connections.remove(self.id) {
            return;
        }
        if self.shared.options.quiet_clients && reason.is_hang_up() {
            return;
        }
        let (endpoint, peer) = (&self.binding.endpoint, self.client.peer());
        contain("logging", || match peer.is_this_process() {
            true => tracing::trace!(%endpoint, %peer, %reason, "connection closed"),
            false => tracing::debug!(%endpoint, %peer, %reason, "connection closed"),
        });
    }

    fn state(&self) -> MutexGuard<'_, Option<State>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn worker(&self) -> MutexGuard<'_, Option<Arc<Worker>>> {
        self.worker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Connection {
    fn wake(self: Arc<Self>) {
        self.want_turn();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.want_turn();
    }
}

impl Ready for Connection {
    fn ready(self: Arc<Self>) {
        self.want_turn();
    }
}

/// A time after `now`; a year ahead if the clock cannot represent it.
pub(crate) fn later(now: Instant, time: Duration) -> Instant {
    now.checked_add(time)
        .unwrap_or_else(|| now + Duration::from_secs(365 * 24 * 3600))
}
