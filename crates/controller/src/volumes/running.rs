//! Which calls run in this process.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::Instant;

use super::{Create, Delete, Deleted, Error};

/// The most that go on at a time: each has a thread and a connection, a clone perhaps two.
const MOST_DELETES: usize = 256;
const MOST_CLONES: usize = 32;
/// How many failures wait for their callers.
const MOST_FAILED: usize = 1_000;

/// What calls work on, by names: volumes, or base folders in which something is decided.
#[derive(Default)]
pub(super) struct Turns(Mutex<Taken>);

#[derive(Default)]
struct Taken {
    names: HashMap<String, Option<Arc<Job>>>,
    /// Clones that were given up. The next call for each has the reason, where none waited for it.
    failed: HashMap<String, Arc<Job>>,
    /// Who waits for a name: its end wakes one of them.
    waiting: Vec<(String, Thread)>,
}

/// A call that works on something; dropped, it does no more.
pub(super) struct Turn {
    turns: Arc<Turns>,
    name: String,
    job: Option<Arc<Job>>,
}

/// What may outlast its call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Work {
    Delete(Delete),
    Clone(Create),
}

#[derive(Debug)]
pub(super) enum Done {
    Deleted(Deleted),
    Cloned,
}

pub(super) struct Job {
    work: Work,
    result: Mutex<Outcome>,
    ended: Condvar,
}

enum Outcome {
    Running,
    Ended(Result<Done, Error>),
    /// A caller has the result.
    Taken,
}

impl Turns {
    /// Begins work on something, as soon as no other call works on it.
    pub(super) fn wait(self: &Arc<Self>, name: &str, by: Instant) -> Result<Turn, Error> {
        let current = thread::current();
        loop {
            let mut taken = lock(&self.0);
            taken
                .waiting
                .retain(|(_, thread)| thread.id() != current.id());
            if !taken.names.contains_key(name) {
                return Ok(self.take(&mut taken, name, None));
            }
            let left = by.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(busy(name));
            }
            taken.waiting.push((name.to_owned(), current.clone()));
            drop(taken);
            thread::park_timeout(left);
        }
    }

    /// Begins something, or finds that the same runs, or failed: then there is no turn.
    pub(super) fn begin(
        self: &Arc<Self>,
        name: &str,
        work: &Work,
    ) -> Result<(Arc<Job>, Option<Turn>), Error> {
        let mut taken = lock(&self.0);
        match taken.names.get(name) {
            Some(Some(job)) if job.work == *work => return Ok((Arc::clone(job), None)),
            Some(_) => return Err(busy(name)),
            None => {}
        }
        let failed = taken.failed.remove(name);
        if let Some(job) = failed.filter(|job| job.work == *work && !job.is_told()) {
            return Ok((job, None));
        }
        let (most, what) = work.most();
        let jobs = taken.names.values().flatten();
        if jobs.filter(|job| job.work.most().1 == what).count() >= most {
            return Err(Error::Busy(format!("{most} {what} go on")));
        }
        let job = Arc::new(Job {
            work: work.clone(),
            result: Mutex::new(Outcome::Running),
            ended: Condvar::new(),
        });
        let turn = self.take(&mut taken, name, Some(Arc::clone(&job)));
        Ok((job, Some(turn)))
    }

    fn take(self: &Arc<Self>, taken: &mut Taken, name: &str, job: Option<Arc<Job>>) -> Turn {
        taken.names.insert(name.to_owned(), job.clone());
        Turn {
            turns: Arc::clone(self),
            name: name.to_owned(),
            job,
        }
    }
}

impl Turn {
    /// Ends it: first another call for its name may begin, then who waits has the result.
    pub(super) fn end(mut self, result: Result<Done, Error>) {
        let job = self.job.take();
        if let (Some(job), Err(error)) = (&job, &result)
            && matches!(job.work, Work::Clone(_))
            && !error.may_pass()
        {
            let mut taken = lock(&self.turns.0);
            if taken.failed.len() >= MOST_FAILED {
                taken.failed.clear();
            }
            taken.failed.insert(self.name.clone(), Arc::clone(job));
        }
        drop(self);
        if let Some(job) = job {
            job.end(result);
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut taken = lock(&self.turns.0);
        taken.names.remove(&self.name);
        let mut waiting = taken.waiting.iter();
        if let Some(next) = waiting.position(|(name, _)| *name == self.name) {
            taken.waiting.remove(next).1.unpark();
        }
        drop(taken);
        // Only a panic leaves it here.
        if let Some(job) = self.job.take() {
            job.end(Err(busy(&self.name)));
        }
    }
}

impl Work {
    /// How many of its kind may go on, and the kind.
    fn most(&self) -> (usize, &'static str) {
        match self {
            Self::Delete(_) => (MOST_DELETES, "deletes"),
            Self::Clone(_) => (MOST_CLONES, "clones"),
        }
    }
}

impl Job {
    fn is_told(&self) -> bool {
        matches!(*lock(&self.result), Outcome::Taken)
    }

    fn end(&self, result: Result<Done, Error>) {
        *lock(&self.result) = Outcome::Ended(result);
        self.ended.notify_all();
    }

    /// Waits for the result, which only one caller gets.
    pub(super) fn wait(&self, name: &str, by: Instant) -> Result<Done, Error> {
        let mut result = lock(&self.result);
        loop {
            match std::mem::replace(&mut *result, Outcome::Taken) {
                Outcome::Ended(ended) => return ended,
                Outcome::Taken => return Err(busy(name)),
                Outcome::Running => *result = Outcome::Running,
            }
            let left = by.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let doing = match self.work {
                    Work::Delete(_) => "deleting",
                    Work::Clone(_) => "cloning to",
                };
                return Err(Error::GoesOn(format!("{doing} {name}")));
            }
            let waited = self.ended.wait_timeout(result, left);
            result = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn busy(name: &str) -> Error {
    Error::Busy(format!("another call works on {name}"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;
    use std::time::{Duration, Instant};

    use super::{Turns, lock};

    /// Who waits for another name must not be woken in the place of who waits for this one.
    #[test]
    fn the_end_of_a_turn_wakes_one_of_its_name() {
        let turns = Arc::new(Turns::default());
        let long = Duration::from_secs(120);
        let by = Instant::now() + long;
        let [x, y] = ["x", "y"].map(|name| turns.wait(name, by).unwrap());
        thread::scope(|scope| {
            let waiting = ["x", "y"].map(|name| {
                let before = lock(&turns.0).waiting.len();
                let (turns, ours) = (Arc::clone(&turns), Arc::clone(&turns));
                let thread = scope.spawn(move || turns.wait(name, by).map(drop).is_ok());
                while lock(&ours.0).waiting.len() == before {
                    thread::yield_now();
                }
                thread
            });
            let [for_x, for_y] = waiting;
            drop(y);
            assert!(for_y.join().unwrap());
            assert!(by.saturating_duration_since(Instant::now()) > long / 2);
            drop(x);
            assert!(for_x.join().unwrap());
        });
    }
}
