//! Which calls run in this process, and what it may have left on shares.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::{Delete, Deleted, Error};

/// The most deletes that go on at a time: each has a thread and a connection.
const MOST_DELETES: usize = 256;

/// The calls that run, by the names of their volumes.
#[derive(Default)]
pub(super) struct Running(Mutex<HashMap<String, Option<Arc<Job>>>>);

/// A call that runs; dropped, it runs no more.
pub(super) struct Turn {
    running: Arc<Running>,
    name: String,
    job: Option<Arc<Job>>,
}

/// A delete that may outlast its call.
pub(super) struct Job {
    volume: Delete,
    result: Mutex<Outcome>,
    ended: Condvar,
}

enum Outcome {
    Running,
    Ended(Result<Deleted, Error>),
    /// A caller has the result.
    Taken,
}

impl Running {
    /// Begins a call for a name that has none.
    pub(super) fn begin(self: &Arc<Self>, name: &str) -> Result<Turn, Error> {
        let mut all = lock(&self.0);
        if all.contains_key(name) {
            return Err(busy(name));
        }
        all.insert(name.to_owned(), None);
        Ok(self.turn(name, None))
    }

    /// Begins a delete, or finds that the same one runs: then there is no turn.
    pub(super) fn begin_delete(
        self: &Arc<Self>,
        name: &str,
        volume: &Delete,
    ) -> Result<(Arc<Job>, Option<Turn>), Error> {
        let mut all = lock(&self.0);
        match all.get(name) {
            Some(Some(job)) if job.volume == *volume => Ok((Arc::clone(job), None)),
            Some(_) => Err(busy(name)),
            None if all.values().flatten().count() >= MOST_DELETES => {
                Err(Error::Busy(format!("{MOST_DELETES} deletes go on")))
            }
            None => {
                let job = Arc::new(Job {
                    volume: volume.clone(),
                    result: Mutex::new(Outcome::Running),
                    ended: Condvar::new(),
                });
                all.insert(name.to_owned(), Some(Arc::clone(&job)));
                let turn = self.turn(name, Some(Arc::clone(&job)));
                Ok((job, Some(turn)))
            }
        }
    }

    fn turn(self: &Arc<Self>, name: &str, job: Option<Arc<Job>>) -> Turn {
        Turn {
            running: Arc::clone(self),
            name: name.to_owned(),
            job,
        }
    }
}

impl Turn {
    /// Ends a delete: first another call for its name may begin, then who waits has the result.
    pub(super) fn end(mut self, result: Result<Deleted, Error>) {
        let job = self.job.take();
        drop(self);
        if let Some(job) = job {
            job.end(result);
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        lock(&self.running.0).remove(&self.name);
        // Only a panic leaves it here.
        if let Some(job) = self.job.take() {
            job.end(Err(busy(&self.name)));
        }
    }
}

impl Job {
    pub(super) fn end(&self, result: Result<Deleted, Error>) {
        *lock(&self.result) = Outcome::Ended(result);
        self.ended.notify_all();
    }

    /// Waits for the result, which only one caller gets.
    pub(super) fn wait(&self, name: &str, by: Instant) -> Result<Deleted, Error> {
        let mut result = lock(&self.result);
        loop {
            match std::mem::replace(&mut *result, Outcome::Taken) {
                Outcome::Ended(ended) => return ended,
                Outcome::Taken => return Err(busy(name)),
                Outcome::Running => *result = Outcome::Running,
            }
            let left = by.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Error::GoesOn(name.to_owned()));
            }
            let waited = self.ended.wait_timeout(result, left);
            result = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// The base folders in which a call of this process decides something, or waits for the lock to do so.
#[derive(Default)]
pub(super) struct Turns {
    taken: Mutex<HashSet<String>>,
    ended: Condvar,
}

pub(super) struct BaseTurn<'a> {
    turns: &'a Turns,
    base: String,
}

impl Turns {
    pub(super) fn wait(&self, base: String, by: Instant) -> Result<BaseTurn<'_>, Error> {
        let mut taken = lock(&self.taken);
        while taken.contains(&base) {
            let left = by.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let text = format!("other calls work in the base folder {base}");
                return Err(Error::Busy(text));
            }
            let waited = self.ended.wait_timeout(taken, left);
            taken = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        taken.insert(base.clone());
        Ok(BaseTurn { turns: self, base })
    }
}

impl Drop for BaseTurn<'_> {
    fn drop(&mut self) {
        lock(&self.turns.taken).remove(&self.base);
        self.turns.ended.notify_all();
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn busy(name: &str) -> Error {
    Error::Busy(format!("another call works on volume {name}"))
}
