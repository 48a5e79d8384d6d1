use std::cell::Cell;
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
                Ok(()) => {
                    queue.threads += 1;
                    queue.idle += 1;
                }
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
    /// Threads that have nothing to do, or are about to: one is counted before it gives its last answer,
    /// so that whoever asks again at once finds it.
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

    /// Waits for a request, as one that is idle; `None` when there will be no more.
    fn wait(&self, place: &Place) -> Option<Request> {
        let mut queue = self.lock();
        loop {
            if let Some(request) = queue.waiting.pop_front() {
                place.become_busy(&mut queue);
                return Some(request);
            }
            if queue.closed {
                return None;
            }
            queue = self
                .arrived
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
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
    let shared = Arc::clone(shared);
    let started = thread::Builder::new()
        .name("wmi".to_owned())
        .spawn(move || work(&Place::new(shared)));
    started
        .map(drop)
        .map_err(|_| Cause::Unavailable("a thread for WMI").into())
}

/// A thread's place in the pool, which is free again when it ends, in whatever way.
struct Place {
    shared: Arc<Shared>,
    is_idle: Cell<bool>,
}

impl Place {
    /// Of a thread that was counted, as an idle one.
    fn new(shared: Arc<Shared>) -> Self {
        let is_idle = Cell::new(true);
        Self { shared, is_idle }
    }

    fn become_busy(&self, queue: &mut Queue) {
        if self.is_idle.replace(false) {
            queue.idle -= 1;
        }
    }

    fn become_idle(&self) {
        let mut queue = self.shared.lock();
        if !self.is_idle.replace(true) {
            queue.idle += 1;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut queue = self.shared.lock();
        self.become_busy(&mut queue);
        queue.threads -= 1;
        if queue.threads == 0 {
            // Their askers see that their answers will not come.
            queue.waiting.clear();
        }
    }
}

fn work(place: &Place) {
    // Dropped last: all that came from COM has to be gone by then.
    let apartment = match Apartment::enter() {
        Ok(apartment) => apartment,
        Err(fault) => return refuse(place, &fault),
    };
    let shared = &place.shared;
    let mut session = Session::new(Arc::clone(&shared.connect));
    let mut active = Vec::new();
    loop {
        let request = match active.is_empty() {
            true => match shared.wait(place) {
                Some(request) => Some(request),
                None => break,
            },
            false => shared.spare(),
        };
        match request.map(|request| Active::begin(request, &mut session)) {
            Some(Begun::UnderWay(call)) => active.push(call),
            Some(Begun::Over(over)) => conclude(place, &active, over),
            None => {}
        }
        turn(place, &mut active, &mut session);
    }
    drop(active);
    drop(session);
    drop(apartment);
}

/// Asks each call for its end.
fn turn(place: &Place, active: &mut Vec<Active>, session: &mut Session) {
    let wait = TURN_MILLISECONDS / active.len().max(1);
    let wait = i32::try_from(wait.max(1)).unwrap_or(1);
    let mut at = 0;
    while let Some(call) = active.get_mut(at) {
        match call.turn(session, wait) {
            Stage::UnderWay => at += 1,
            Stage::Over(answer) => {
                let Active { request, .. } = active.remove(at);
                conclude(place, active, Over { request, answer });
            }
        }
    }
}

/// Gives an answer, after the thread that has nothing more to do was counted idle.
fn conclude(place: &Place, active: &[Active], over: Over) {
    if active.is_empty() {
        place.become_idle();
    }
    if let Some(answer) = over.answer {
        over.request.answer(answer);
    }
}

fn refuse(place: &Place, fault: &Fault) {
    place.become_busy(&mut place.shared.lock());
    while let Some(request) = place.shared.spare() {
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

enum Stage {
    /// With the answer, unless nobody asks any more.
    Over(Option<Called<Answer>>),
    UnderWay,
}

/// A request that there is nothing more to do for.
struct Over {
    request: Request,
    answer: Option<Called<Answer>>,
}

enum Begun {
    Over(Over),
    UnderWay(Active),
}

impl Active {
    /// Over is what nobody asks for any more, and what failed at once.
    fn begin(request: Request, session: &mut Session) -> Begun {
        if request.is_abandoned() {
            let answer = None;
            return Begun::Over(Over { request, answer });
        }
        match session.begin(&request.ask) {
            Ok(running) => Begun::UnderWay(Self {
                request,
                running,
                repeated: false,
            }),
            Err(fault) => {
                let answer = Some(Err(fault));
                Begun::Over(Over { request, answer })
            }
        }
    }

    fn turn(&mut self, session: &mut Session, wait: i32) -> Stage {
        if self.request.is_abandoned() {
            return Stage::Over(None);
        }
        match self.running.advance(&self.request.ask, wait) {
            Ok(None) => Stage::UnderWay,
            Ok(Some(answer)) => Stage::Over(Some(Ok(answer))),
            Err(fault) => self.failed(session, fault),
        }
    }

    /// The connection may have died since it was last used: that much is worth a second attempt.
    fn failed(&mut self, session: &mut Session, fault: Fault) -> Stage {
        let may_repeat = session.may_repeat(&self.request.ask, &self.running, &fault);
        if !may_repeat || self.repeated {
            return Stage::Over(Some(Err(fault)));
        }
        self.repeated = true;
        match session.begin(&self.request.ask) {
            Ok(running) => {
                self.running = running;
                Stage::UnderWay
            }
            Err(fault) => Stage::Over(Some(Err(fault))),
        }
    }
}
