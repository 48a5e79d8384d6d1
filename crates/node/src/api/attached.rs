//! Looks for disks that are on their way, and the rescans that all who wait share.
//!
//! Each caller looks on its own thread. All callers share one sequence of rescans, on one thread; a rescan serves those
//! callers that came before it began.

use std::sync::{Arc, Condvar, MutexGuard};
use std::thread;
use std::time::Duration;

use os::{Clock, Deadline, Moment};

use super::{Cause, Condition, Disks, Error, Result};
use crate::poll::SLICE;
use crate::unpoisoned::{self, Unpoisoned};
use crate::{DiskError, DiskQuery, FoundDisk, Node, Unfinished};

/// The name of a rescan in errors and threads.
const RESCAN: &str = "rescan";

/// How long after a rescan without the disk the next one begins, the first time; each time twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// How old a rescan may get before those who wait for it look all the same, and before it counts as one that hangs.
const RESCANNED_WITHIN: Duration = Duration::from_secs(10);

/// The rescans of one node. One is under way at a time, on a thread of its own that is there while somebody waits;
/// the caller waits on its own thread.
#[derive(Clone)]
pub struct Rescans {
    clock: Arc<dyn Clock>,
    sequence: Arc<Sequence>,
}

/// How long a disk is waited for.
#[derive(Clone, Copy)]
pub struct Wait {
    /// From when on a disk that is not there is an error.
    pub patience: Deadline,
    /// By when the call answers.
    pub deadline: Deadline,
}

impl Node {
    pub(super) fn find_once_attached(
        &self,
        wanted: &DiskQuery,
        patience: Duration,
        deadline: Deadline,
    ) -> Result<FoundDisk> {
        let wait = Wait {
            patience: Deadline::within(&*self.os().clock, patience),
            deadline,
        };
        let look = || Disks::find(self, wanted, deadline);
        let rescan = self.rescan_in_the_background();
        self.state.rescans.find(wait, look, rescan)
    }

    pub(super) fn rescan_for_all(&self, deadline: Deadline) -> Result<()> {
        let rescan = self.rescan_in_the_background();
        self.state.rescans.rescan(deadline, rescan)
    }

    /// A rescan that callers share, which outlasts each one's deadline.
    fn rescan_in_the_background(&self) -> impl Fn() -> Result<()> + Clone + Send + use<> {
        let node = self.clone();
        move || {
            let rescanned = node.operations().disks().rescan(Deadline::NEVER);
            rescanned.map_err(|error| Error::new(RESCAN, "disks", error))
        }
    }
}

/// The rescans of all callers.
#[derive(Default)]
struct Sequence {
    state: Unpoisoned<State>,
    moved: Condvar,
}

#[derive(Default)]
struct State {
    /// How many rescans have begun.
    began: u64,
    /// When the latest one began, if it has not ended.
    under_way: Option<Moment>,
    /// Which rescan failed, and how, if it is the latest that ended.
    failed: Option<(u64, Error)>,
    /// When the next one is to begin.
    due: Option<Moment>,
    waiting: usize,
    has_thread: bool,
}

impl Rescans {
    /// No rescan yet.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            sequence: Arc::default(),
        }
    }

    /// Looks until the disk is there, after each rescan that ends, also one of another call.
    ///
    /// # Errors
    /// The last of `look`, which is returned at once unless the disk may be on its way; that of a `rescan` that began
    /// after the call, unless it is transient; that a rescan hangs.
    pub fn find(
        &self,
        wait: Wait,
        look: impl Fn() -> Result<FoundDisk>,
        rescan: impl Fn() -> Result<()> + Clone + Send + 'static,
    ) -> Result<FoundDisk> {
        let mut caller = Caller {
            rescans: self,
            wait,
            came: self.state().began,
            pause: FIRST_PAUSE,
        };
        loop {
            let ended = self.state().ended();
            match look() {
                Err(error) if may_come(&error) => caller.await_next(ended, error, &rescan)?,
                answered => return answered,
            }
        }
    }

    /// Rescans, or shares a rescan with others that began after the call.
    ///
    /// # Errors
    /// That of the latest rescan, if it began after the call; the deadline passed.
    pub fn rescan(
        &self,
        deadline: Deadline,
        rescan: impl Fn() -> Result<()> + Clone + Send + 'static,
    ) -> Result<()> {
        let mut state = self.state();
        let came = state.began;
        let due = self.clock.now();
        state = self.wait(state, came, (due, deadline), &rescan)?;
        match &state.failed {
            Some((number, error)) if *number > came => Err(error.clone()),
            _ if state.ended() > came => Ok(()),
            _ => {
                let late = Unfinished::deadline(RESCAN, &"disks");
                Err(Error::new(RESCAN, "disks", DiskError::from(late)))
            }
        }
    }

    /// Waits until more rescans have ended than `ended`, of which the next is due then, or until a deadline.
    fn wait<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        ended: u64,
        (due, until): (Moment, Deadline),
        rescan: &(impl Fn() -> Result<()> + Clone + Send + 'static),
    ) -> Result<MutexGuard<'a, State>> {
        state.waiting += 1;
        while state.ended() <= ended && until.left(&*self.clock).is_some() {
            if state.under_way.is_none() {
                state.due = Some(state.due.map_or(due, |other| other.min(due)));
                if let Err(error) = self.work(&mut state, rescan) {
                    state.waiting -= 1;
                    return Err(error);
                }
            }
            (state, _) = unpoisoned::wait(&self.sequence.moved, state, SLICE);
        }
        state.waiting -= 1;
        Ok(state)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.sequence.state.lock()
    }
}

/// Whether the disk may be arriving, or may not yet report what it is.
fn may_come(error: &Error) -> bool {
    let condition = error.condition();
    matches!(error.cause, Cause::NotIdentified(_))
        && matches!(condition, Some(Condition::NotFound | Condition::Uncertain))
}

/// One that waits for a disk.
struct Caller<'a> {
    rescans: &'a Rescans,
    wait: Wait,
    /// How many rescans had begun: of those it cannot be told whether they saw the disk.
    came: u64,
    pause: Duration,
}

impl Caller<'_> {
    /// Waits until a rescan has ended since so many had, or until it is time to look all the same.
    ///
    /// # Errors
    /// There is no more waiting: `missing`, or why it could not be rescanned.
    fn await_next(
        &mut self,
        ended: u64,
        missing: Error,
        rescan: &(impl Fn() -> Result<()> + Clone + Send + 'static),
    ) -> Result<()> {
        let state = self.rescans.state();
        self.refuse(&state, missing)?;
        let (due, until) = (self.next_due(&state), self.until());
        let waited = self.rescans.wait(state, ended, (due, until), rescan);
        waited.map(drop)
    }

    fn refuse(&self, state: &State, missing: Error) -> Result<()> {
        let is_over = self.wait.patience.left(&*self.rescans.clock).is_none();
        let hangs = state.hangs(self.rescans.clock.now());
        match &state.failed {
            Some((number, error)) if *number > self.came => {
                match is_over || !error.is_transient() {
                    true => Err(error.clone()),
                    false => Ok(()),
                }
            }
            _ if is_over && hangs && !self.is_served(state) => Err(not_answering(&missing)),
            _ if is_over && (hangs || self.is_served(state)) => Err(missing),
            _ => Ok(()),
        }
    }

    /// Whether a rescan has ended that began after the call came.
    fn is_served(&self, state: &State) -> bool {
        state.ended() > self.came
    }

    /// At once the first time.
    fn next_due(&mut self, state: &State) -> Moment {
        let now = self.rescans.clock.now();
        if !self.is_served(state) {
            return now;
        }
        let due = now.after(self.pause);
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        due
    }

    /// Patience that is over is waited beyond, for the first rescan.
    fn until(&self) -> Deadline {
        let clock = &*self.rescans.clock;
        let Wait { patience, deadline } = self.wait;
        let until = Deadline::within(clock, RESCANNED_WITHIN).min(deadline);
        match patience.left(clock) {
            Some(_) => until.min(patience),
            None => until,
        }
    }
}

fn not_answering(missing: &Error) -> Error {
    let text = format!(
        "a rescan from before has not ended, and without it there is {}",
        missing.cause
    );
    Error {
        cause: Cause::failed(Condition::NotAnswering, text),
        ..missing.clone()
    }
}

impl State {
    fn ended(&self) -> u64 {
        self.began - u64::from(self.under_way.is_some())
    }

    fn hangs(&self, now: Moment) -> bool {
        let since = self.under_way;
        since.is_some_and(|since| since.until(now) >= RESCANNED_WITHIN)
    }

    fn end(&mut self, failure: Option<Error>) {
        self.under_way = None;
        self.failed = failure.map(|error| (self.began, error));
    }
}

impl Rescans {
    /// Sees to it that there is a thread that rescans when one is due.
    fn work(
        &self,
        state: &mut State,
        rescan: &(impl Fn() -> Result<()> + Clone + Send + 'static),
    ) -> Result<()> {
        if state.has_thread {
            return Ok(());
        }
        let worker = Worker(self.clone());
        let rescan = rescan.clone();
        let spawned = thread::Builder::new()
            .name(RESCAN.to_owned())
            .spawn(move || worker.run(rescan));
        let failed = |error| DiskError::from(Unfinished::no_thread(RESCAN, &error));
        spawned.map_err(|error| Error::new(RESCAN, "disks", failed(error)))?;
        state.has_thread = true;
        Ok(())
    }
}

/// The thread that rescans.
struct Worker(Rescans);

impl Worker {
    fn run(self, rescan: impl Fn() -> Result<()>) {
        while self.begins() {
            let failure = rescan().err();
            self.0.state().end(failure);
            self.0.sequence.moved.notify_all();
        }
    }

    /// Sleeps until a rescan is due, which begins then; none is due while no call waits. One is also due if time has
    /// stopped, as on a dead simulated node: the rescan reports that to all waiting calls.
    fn begins(&self) -> bool {
        let clock = &*self.0.clock;
        while let Some(due) = self.due() {
            let now = clock.now();
            let left = Deadline(due).left(clock).unwrap_or_default();
            let stands_still = || {
                clock.sleep(left.min(SLICE));
                clock.now() == now
            };
            if left.is_zero() || stands_still() {
                self.begin(now);
                return true;
            }
        }
        false
    }

    /// Without one the thread is no more.
    fn due(&self) -> Option<Moment> {
        let mut state = self.0.state();
        let due = state.due.filter(|_| state.waiting > 0);
        if due.is_none() {
            state.due = None;
            state.has_thread = false;
        }
        due
    }

    fn begin(&self, now: Moment) {
        let mut state = self.0.state();
        state.due = None;
        state.began += 1;
        state.under_way = Some(now);
    }
}

impl Drop for Worker {
    /// A rescan that panicked has ended.
    fn drop(&mut self) {
        if thread::panicking() {
            let mut state = self.0.state();
            state.has_thread = false;
            state.end(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Mutex, mpsc};

    use super::*;
    use crate::poll::tests::HandClock;

    const CALLERS: usize = 8;

    /// An unstage rescans, and on a node that is drained a hundred come at once.
    #[test]
    fn callers_that_wait_for_one_rescan_share_the_next() {
        let rescans = Rescans::new(Arc::new(HandClock::default()));
        let (release, released) = mpsc::channel::<()>();
        let (count, released) = (
            Arc::<AtomicUsize>::default(),
            Arc::new(Mutex::new(released)),
        );
        let rescan = {
            let count = Arc::clone(&count);
            move || {
                count.fetch_add(1, Ordering::SeqCst);
                let _ = released.lock().unwrap().recv();
                Ok(())
            }
        };
        let call = || {
            let (rescans, rescan) = (rescans.clone(), rescan.clone());
            thread::spawn(move || rescans.rescan(Deadline::NEVER, rescan))
        };
        let first = call();
        while rescans.state().under_way.is_none() {
            thread::yield_now();
        }
        let others: Vec<_> = (0..CALLERS).map(|_| call()).collect();
        while rescans.state().waiting < CALLERS + 1 {
            thread::yield_now();
        }
        drop(release);
        for caller in others.into_iter().chain([first]) {
            caller.join().unwrap().unwrap();
        }
        assert_eq!(count.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn a_rescan_that_hangs_keeps_nobody_beyond_the_deadline() {
        let clock = Arc::new(HandClock::default());
        let rescans = Rescans::new(Arc::clone(&clock) as Arc<dyn Clock>);
        let deadline = Deadline::within(&*clock, Duration::from_secs(5));
        let (release, released) = mpsc::channel::<()>();
        let released = Arc::new(Mutex::new(released));
        let rescan = move || {
            let _ = released.lock().unwrap().recv();
            Ok(())
        };
        let caller = {
            let rescans = rescans.clone();
            thread::spawn(move || rescans.rescan(deadline, rescan))
        };
        while rescans.state().under_way.is_none() {
            thread::yield_now();
        }
        clock.advance(Duration::from_secs(5));
        let refused = caller.join().unwrap().unwrap_err();
        assert!(refused.to_string().contains("deadline"), "{refused}");
        drop(release);
    }
}
