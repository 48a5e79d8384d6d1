//! Many threads making and removing directories by the parent's handle.

use std::collections::BTreeMap;
use std::time::Duration;
use std::{fmt, thread};

use os::{Component, Deadline, Os, Win32, WinPath};

use super::Sight;
use crate::{CaseResult, Failure};

/// How many threads, and how many directories each makes, until its time is over.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// Threads, side by side.
    pub threads: usize,
    /// Directories of each thread, one after the other.
    pub rounds: usize,
    /// After this no thread makes another.
    pub at_most: Duration,
}

/// The load of a run's case.
pub(super) const SHORT: Load = Load {
    threads: 8,
    rounds: 50,
    at_most: Duration::from_secs(60),
};

impl Load {
    /// For the fault of microsoft/Windows-Containers#635, seen when many threads do this at once.
    #[must_use]
    pub fn heavy(at_most: Duration) -> Self {
        Self {
            threads: 64,
            rounds: 1_000_000,
            at_most,
        }
    }
}

/// How often the calls succeeded, and by which codes they failed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Successful calls.
    pub done: usize,
    /// Failed calls, by the code; other errors by their text.
    pub failed: BTreeMap<String, usize>,
}

impl Counts {
    /// The result for the assumption: none fails by 87 or 4395.
    #[must_use]
    pub fn sight(&self) -> Sight {
        let assumed = [Win32::INVALID_PARAMETER, Win32::REPARSE_POINT_ENCOUNTERED];
        let has_failed = |code: &Win32| self.failed.contains_key(&code.0.to_string());
        Sight::of(!assumed.iter().any(has_failed), self)
    }

    fn count<T>(&mut self, done: os::Result<T>) -> Option<T> {
        match done {
            Ok(done) => {
                self.done += 1;
                Some(done)
            }
            Err(error) => {
                let code = error.win32().map(|code| code.0.to_string());
                let code = code.unwrap_or_else(|| error.to_string());
                *self.failed.entry(code).or_default() += 1;
                None
            }
        }
    }

    fn add(mut self, other: Self) -> Self {
        self.done += other.done;
        for (code, count) in other.failed {
            *self.failed.entry(code).or_default() += count;
        }
        self
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} calls by a handle succeeded", self.done)?;
        for (code, count) in &self.failed {
            write!(f, "; {count} failed with {code}")?;
        }
        Ok(())
    }
}

/// Each thread holds the folder, and makes, holds and removes its own directories in it.
///
/// # Errors
/// A thread cannot be started.
pub fn churn(os: &Os, folder: &WinPath, load: Load) -> CaseResult<Counts> {
    let deadline = Deadline::within(&*os.clock, load.at_most);
    thread::scope(|scope| {
        let mut threads = Vec::new();
        for thread in 0..load.threads {
            let work = move || worked(os, folder, thread, load.rounds, deadline);
            let started = thread::Builder::new().spawn_scoped(scope, work);
            threads.push(started.map_err(Failure::unexpected)?);
        }
        let mut counts = threads.into_iter().map(|thread| {
            let joined = thread.join();
            joined.map_err(|_| Failure::unexpected("a thread panicked"))
        });
        counts.try_fold(Counts::default(), |all, one| Ok(all.add(one?)))
    })
}

fn worked(os: &Os, folder: &WinPath, thread: usize, rounds: usize, deadline: Deadline) -> Counts {
    let mut counts = Counts::default();
    let is_time = |_: &usize| deadline.left(&*os.clock).is_some();
    for round in (0..rounds).take_while(is_time) {
        let Ok(name) = Component::parse(&format!("wincsi-{thread}-{round}")) else {
            continue;
        };
        let Some(held) = counts.count(os.files.pin(folder)) else {
            continue;
        };
        counts.count(held.create_directory(&name));
        let below = counts.count(held.pin(&name));
        drop(below);
        counts.count(held.remove(&name));
    }
    counts
}

#[cfg(test)]
mod tests {
    use os::{Error, Win32};

    use super::Counts;
    use crate::experiments::Verdict;

    fn counts(codes: &[Win32]) -> Counts {
        let mut counts = Counts::default();
        counts.count(Ok(()));
        for code in codes {
            counts.count(Err::<(), _>(Error::new("NtCreateFile", "a folder", *code)));
        }
        counts
    }

    #[test]
    fn the_two_codes_of_a_bound_folder_contradict_and_others_are_counted() {
        let other = counts(&[Win32::ACCESS_DENIED]).sight();
        assert_eq!(other.verdict, Verdict::Settled);
        assert_eq!(other.seen, "1 calls by a handle succeeded; 1 failed with 5");
        for code in [Win32::INVALID_PARAMETER, Win32::REPARSE_POINT_ENCOUNTERED] {
            let sight = counts(&[code, code]).add(counts(&[])).sight();
            assert_eq!(sight.verdict, Verdict::Contradicted);
            let wanted = format!("2 calls by a handle succeeded; 2 failed with {}", code.0);
            assert_eq!(sight.seen, wanted);
        }
    }
}
