use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::Condvar;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::sync::mpsc::RecvTimeoutError;
use std::thread;
use std::time::Duration;

use automation::Fault;
use os::Cause;

use super::Connect;
use super::com::Apartment;
use super::com::Called;
use super::session::Answer;
use super::session::Ask;
use super::session::Running;
use super::session::Session;

/// A few threads in the multithreaded apartment that ask WMI for everybody. They start when they are
/// needed and stay, with their connections, until the pool is dropped.
pub(super) struct Pool(Arc<Shared>);

impl Pool {
    pub(super) fn new(connect: Arc<dyn Connect>) -> Self {
        Self(Arc::new(Shared {
            connect,
            queue: Mutex::default(),
            arrived: Condvar::new(),
        }))
    }

    /// The answer, or [`Cause::TimedOut`] after that long. Then a query is given up; a method that has
    /// begun goes on in the provider, one that has not never will.
    pub(super) fn ask(&self, ask: Ask, patience: Duration) -> Called<Answer> {
        let (reply, answer) = mpsc::channel();
        let abandoned = Arc::new(AtomicBool::new(false));
        self.submit(Request {
            ask,
            abandoned: Arc::clone(&abandoned),
            reply,
        })?;
        match answer.recv_timeout(patience) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout) => {
                abandoned.store(true, Ordering::Relaxed);
                Err(Cause::TimedOut.into())
            }
            Err(RecvTimeoutError::Disconnected) => Err(died()),
        }
    }

    /// How many threads it has.
    #[cfg(test)]
    pub(super) fn threads(&self) -> usize {
        self.0.lock().threads
    }

    fn submit(&self, request: Request) -> Called<()> {
        let mut queue = self.0.lock();
        queue.waiting.push_back(request);
        if queue.idle < queue.waiting.len() && queue.threads < MOST_THREADS {
            match start(&self.0) {
                Ok(()) => queue.threads += 1,
                Err(fault) if queue.threads == 0 => {
                    queue.waiting.pop_back();
                    return Err(fault);
                }
                Err(_) => {}
            }
        }
        drop(queue);
        self.0.arrived.notify_one();
        Ok(())
    }
}

impl Drop for Pool {
    /// The threads end by themselves: one may hang in a call to the system.
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.arrived.notify_all();
    }
}

/// A thread serves several calls, so this bounds how many calls that cannot be waited for with a bound
/// (connecting, above all) may hang before others wait for them.
pub(super) const MOST_THREADS: usize = 4;

/// How long a thread that has calls under way waits for their ends, in all, before it looks for new ones.
const TURN_MILLISECONDS: usize = 20;

struct Shared {
    connect: Arc<dyn Connect>,
    queue: Mutex<Queue>,
    arrived: Condvar,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Request>,
    /// Threads that wait for a request and have nothing else to do.
    idle: usize,
    threads: usize,
    closed: bool,
}

struct Request {
    ask: Ask,
    /// Nobody waits for the answer any more.
    abandoned: Arc<AtomicBool>,
    reply: mpsc::Sender<Called<Answer>>,
}

impl Request {
    fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Relaxed)
    }

    fn answer(&self, answer: Called<Answer>) {
        // Whoever asked may have gone meanwhile.
        let _ = self.reply.send(answer);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a request; `None` when there will be no more.
    fn wait(&self) -> Option<Request> {
        let mut queue = self.lock();
        loop {
            if let Some(request) = queue.waiting.pop_front() {
                return Some(request);
            }
            if queue.closed {
                return None;
            }
            queue.idle += 1;
            queue = self
                .arrived
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
            queue.idle -= 1;
        }
    }

    /// A request that no idle thread will take.
    fn spare(&self) -> Option<Request> {
        let mut queue = self.lock();
        let is_spare = queue.waiting.len() > queue.idle;
        is_spare.then(|| queue.waiting.pop_front()).flatten()
    }
}

fn start(shared: &Arc<Shared>) -> Called<()> {
    let place = Place(Arc::clone(shared));
    let started = thread::Builder::new()
        .name("wmi".to_owned())
        .spawn(move || work(&place.0));
    started
        .map(drop)
        .map_err(|_| Cause::Unavailable("a thread for WMI").into())
}

/// A thread's place in the pool, which is free again when it ends, in whatever way.
struct Place(Arc<Shared>);

impl Drop for Place {
    fn drop(&mut self) {
        let mut queue = self.0.lock();
        queue.threads = queue.threads.saturating_sub(1);
        if queue.threads == 0 {
            // Their askers see that their answers will not come.
            queue.waiting.clear();
        }
    }
}

fn work(shared: &Shared) {
    // Dropped last: all that came from COM has to be gone by then.
    let apartment = match Apartment::enter() {
        Ok(apartment) => apartment,
        Err(fault) => return refuse(shared, &fault),
    };
    let mut session = Session::new(Arc::clone(&shared.connect));
    let mut active = Vec::new();
    loop {
        let request = match active.is_empty() {
            true => match shared.wait() {
                Some(request) => Some(request),
                None => break,
            },
            false => shared.spare(),
        };
        active.extend(request.and_then(|request| Active::begin(request, &mut session)));
        let wait = TURN_MILLISECONDS / active.len().max(1);
        let wait = i32::try_from(wait.max(1)).unwrap_or(1);
        active.retain_mut(|call: &mut Active| call.turn(&mut session, wait) == Stage::UnderWay);
    }
    drop(active);
    drop(session);
    drop(apartment);
}

fn refuse(shared: &Shared, fault: &Fault) {
    while let Some(request) = shared.spare() {
        request.answer(Err(fault.clone()));
    }
}

fn died() -> Fault {
    Cause::Malformed("the thread that asked WMI ended".to_owned()).into()
}

/// A call under way.
struct Active {
    request: Request,
    running: Running,
    repeated: bool,
}

#[derive(PartialEq, Eq)]
enum Stage {
    Over,
    UnderWay,
}

impl Active {
    /// `None` when there is nothing to wait for: nobody asks any more, or it failed at once.
    fn begin(request: Request, session: &mut Session) -> Option<Self> {
        if request.is_abandoned() {
            return None;
        }
        match session.begin(&request.ask) {
            Ok(running) => Some(Self {
                request,
                running,
                repeated: false,
            }),
            Err(fault) => {
                request.answer(Err(fault));
                None
            }
        }
    }

    fn turn(&mut self, session: &mut Session, wait: i32) -> Stage {
        if self.request.is_abandoned() {
            return Stage::Over;
        }
        match self.running.advance(&self.request.ask, wait) {
            Ok(None) => return Stage::UnderWay,
            Ok(Some(answer)) => self.request.answer(Ok(answer)),
            Err(fault) => return self.failed(session, fault),
        }
        Stage::Over
    }

    /// The connection may have died since it was last used: that much is worth a second attempt.
    fn failed(&mut self, session: &mut Session, fault: Fault) -> Stage {
        let may_repeat = session.may_repeat(&self.request.ask, &self.running, &fault);
        if !may_repeat || self.repeated {
            self.request.answer(Err(fault));
            return Stage::Over;
        }
        self.repeated = true;
        match session.begin(&self.request.ask) {
            Ok(running) => {
                self.running = running;
                Stage::UnderWay
            }
            Err(fault) => {
                self.request.answer(Err(fault));
                Stage::Over
            }
        }
    }
}
