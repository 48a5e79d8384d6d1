//! Which calls run in this process.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::Instant;

use smb::Server;

use super::{Base, Create, Delete, Deleted, Error, Snapshot, Take, WholeSnapshot};

/// The most that go on at a time: each has a thread and a connection.
const MOST_DELETES: usize = 256;
const MOST_CLONES: usize = 16;
/// One server that hangs leaves places to the others.
const MOST_CLONES_ON_SERVER: usize = 8;
/// How many work in a base folder at a time. Each needs its lock for half of its requests, and Samba does each request slower
/// for more connections: 16 at a time made a tenth fewer volumes.
const LANES: u64 = 4;
/// How many failures are kept: each waits for its caller.
pub(super) const MOST_FAILED: usize = 1_000;

/// What calls work on, by names: volumes, or base folders in which something is decided.
#[derive(Default)]
pub(super) struct Turns(Mutex<Taken>);

#[derive(Default)]
struct Taken {
    names: HashMap<String, Option<Arc<Job>>>,
    /// Copies that were given up. The next call for each has the reason, where none waited for it.
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
    Take(Take),
    DeleteSnapshot(Snapshot),
}

#[derive(Debug)]
pub(super) enum Done {
    Deleted(Deleted),
    Cloned,
    Taken(WholeSnapshot),
    SnapshotDeleted,
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

    /// Waits until the call for a volume may connect to the server.
    pub(super) fn lane(
        self: &Arc<Self>,
        base: &Base,
        volume: &str,
        by: Instant,
    ) -> Result<Turn, Error> {
        let mut hasher = DefaultHasher::new();
        volume.hash(&mut hasher);
        let lane = format!("{} of {}", hasher.finish() % LANES, base.key());
        let before = |_| Error::GoesOn(format!("a call before this one in {base}"));
        self.wait(&lane, by).map_err(before)
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
        if let Some(job) = failed.filter(|job| job.work == *work && !job.has_answered()) {
            return Ok((job, None));
        }
        let jobs = taken.names.values().flatten();
        work.expect_room(jobs.map(|job| &job.work))?;
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
            && job.work.copies_on().is_some()
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
    /// Whether it may go on beside these.
    fn expect_room<'a>(&self, others: impl Iterator<Item = &'a Self>) -> Result<(), Error> {
        let (mut of_kind, mut on_server) = (0, 0);
        for other in others {
            match (self.copies_on(), other.copies_on()) {
                (None, None) => of_kind += 1,
                (Some(one), Some(other)) => {
                    of_kind += 1;
                    let is_same = one.host.eq_ignore_ascii_case(&other.host);
                    on_server += usize::from(is_same && one.port == other.port);
                }
                (None, Some(_)) | (Some(_), None) => {}
            }
        }
        let waits = "the most at a time: this one waits";
        let text = match self.copies_on() {
            None if of_kind >= MOST_DELETES => format!("{of_kind} deletes run, {waits}"),
            Some(_) if of_kind >= MOST_CLONES => format!("{of_kind} copies run, {waits}"),
            Some(server) if on_server >= MOST_CLONES_ON_SERVER => {
                let host = server.host.escape_debug();
                format!("{on_server} copies run on {host}, {waits}")
            }
            None | Some(_) => return Ok(()),
        };
        Err(Error::Busy(text))
    }

    /// The server on which it copies, if it does.
    fn copies_on(&self) -> Option<&Server> {
        match self {
            Self::Clone(volume) => Some(&volume.base.server),
            Self::Take(take) => Some(&take.snapshot.base.server),
            Self::Delete(_) | Self::DeleteSnapshot(_) => None,
        }
    }
}

impl Job {
    fn has_answered(&self) -> bool {
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
                    Work::Delete(_) | Work::DeleteSnapshot(_) => "deleting",
                    Work::Clone(_) => "cloning to",
                    Work::Take(_) => "copying to",
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

    use smb::{Name, Server, SharePath};
    use transport::Code;

    use super::super::{Base, Create, Error, Folder};
    use super::{Done, Turn, Turns, Work, lock};

    fn clone_on(host: &str) -> Work {
        let name = Name::new("pvc-1").unwrap();
        let path = SharePath::root().join(&name).unwrap();
        Work::Clone(Create {
            base: Base {
                server: Server {
                    host: host.to_owned(),
                    port: 445,
                },
                share: name.clone(),
                path: SharePath::root(),
            },
            name,
            folder: Folder::new(path).unwrap(),
            size: 0,
            parameters: Default::default(),
            source: None,
        })
    }

    fn begin(turns: &Arc<Turns>, name: usize, work: &Work) -> Result<Turn, String> {
        let begun = turns.begin(&name.to_string(), work);
        begun
            .map(|(_, turn)| turn.unwrap())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn no_server_has_all_places_of_clones() {
        let turns = Arc::new(Turns::default());
        let mut held = Vec::new();
        for (host, same) in [("a", "A"), ("b", "b")] {
            for _ in 0..8 {
                held.push(begin(&turns, held.len(), &clone_on(host)).unwrap());
            }
            let error = begin(&turns, 99, &clone_on(same)).err().unwrap();
            let words = [
                format!("8 copies run on {same},"),
                "16 copies run,".to_owned(),
            ];
            assert!(error.starts_with(&words[held.len() / 16]), "{error}");
        }
        let error = begin(&turns, 99, &clone_on("c")).err().unwrap();
        assert!(error.starts_with("16 copies run,"), "{error}");
        held.pop();
        begin(&turns, 99, &clone_on("c")).unwrap();
    }

    #[test]
    fn few_calls_work_in_a_base_at_a_time() {
        let turns = Arc::new(Turns::default());
        let base = |host| match clone_on(host) {
            Work::Clone(volume) => volume.base,
            _ => unreachable!(),
        };
        let lanes = |host| {
            let names = (0..40).map(|number| format!("pvc-{number}"));
            let base = base(host);
            names
                .map(|name| turns.lane(&base, &name, Instant::now()))
                .collect::<Vec<_>>()
        };
        let (one, other) = (lanes("a"), lanes("b"));
        for lanes in [&one, &other] {
            assert_eq!(lanes.iter().flatten().count(), 4);
        }
        let error = one.iter().find_map(|lane| lane.as_ref().err()).unwrap();
        assert_eq!(error.code(), Code::DeadlineExceeded, "{error}");
        drop((one, other));
        assert_eq!(lanes("a").iter().flatten().count(), 4);
    }

    /// A clone that ended while no call waited for it: the next one has the reason, and after that it is tried once more.
    #[test]
    fn a_failure_waits_for_its_caller() {
        let turns = Arc::new(Turns::default());
        let (work, by) = (clone_on("a"), Instant::now());
        for may_pass in [false, true] {
            let (first, turn) = turns.begin("x", &work).unwrap();
            assert!(matches!(first.wait("x", by), Err(Error::GoesOn(_))));
            let why = "why".to_owned();
            let error = if may_pass {
                Error::Busy(why)
            } else {
                Error::Exists(why)
            };
            turn.unwrap().end(Err(error));
            let (job, turn) = turns.begin("x", &work).unwrap();
            assert_eq!(turn.is_some(), may_pass);
            if turn.is_none() {
                assert!(matches!(job.wait("x", by), Err(Error::Exists(_))));
                let (_, turn) = turns.begin("x", &work).unwrap();
                turn.unwrap().end(Ok(Done::Cloned));
            }
        }
    }

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
