use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;
use std::{fmt, io};

use os::{Clock, Deadline};

use crate::poll::SLICE;
use crate::{Crowded, Node, workers};

/// An operation has not ended, or not begun.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each field is named for what it holds")]
pub enum Unfinished {
    /// It waited for another operation as long as it may for its turn, and that one still has the object. Nothing
    /// was done by this step of it.
    #[error("{operation} {object}: {holder} has had it for {} s", .held.as_secs())]
    Busy {
        operation: &'static str,
        object: String,
        /// The operation that has it.
        holder: &'static str,
        /// For how long, by the node's clock.
        held: Duration,
    },
    /// Too many others wait already, for the object or on the node. Nothing was done by this step of it.
    #[error("{operation} {object}: {source}")]
    Crowded {
        operation: &'static str,
        object: String,
        /// The holder and the waiting calls.
        source: Crowded,
    },
    /// The deadline passed: before the operation could begin, while it waited, or while it ran in
    /// [`Node::bounded`], where it still runs and keeps its locks.
    #[error("{operation} {object}: did not end before its deadline")]
    Deadline {
        operation: &'static str,
        object: String,
    },
    /// It waited for another operation, which is lost in a look that does not end. Nothing was done.
    #[error("{operation}: look at {object}: does not answer: a call from before has not ended")]
    NotAnswering {
        operation: &'static str,
        /// The object that the other one queries.
        object: String,
    },
    /// The system has no thread to spare, so nothing was done.
    #[error("{operation}: no thread to run on: {reason}")]
    NoThread {
        operation: &'static str,
        reason: String,
    },
}

impl Unfinished {
    pub(crate) fn deadline(operation: &'static str, object: &dyn fmt::Display) -> Self {
        Self::Deadline {
            operation,
            object: object.to_string(),
        }
    }

    pub(crate) fn not_answering(operation: &'static str, object: &dyn fmt::Display) -> Self {
        Self::NotAnswering {
            operation,
            object: object.to_string(),
        }
    }

    pub(crate) fn no_thread(operation: &'static str, error: &io::Error) -> Self {
        Self::NoThread {
            operation,
            reason: error.to_string(),
        }
    }
}

impl Node {
    /// Runs an operation on a thread of its own and answers by the deadline at the latest. What has
    /// not ended by then goes on, and keeps its locks until it has really ended.
    ///
    /// # Errors
    /// Those of the operation; [`Unfinished`] at the deadline or when there is no thread.
    ///
    /// # Panics
    /// As the operation does.
    pub fn bounded<T, E>(
        &self,
        operation: &'static str,
        deadline: Deadline,
        run: impl FnOnce(&Self) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Unfinished> + Send + 'static,
    {
        let node = self.clone();
        race(&*self.os().clock, operation, deadline, move || run(&node))?
    }
}

/// Runs `run` on a thread of its own and waits for it until the deadline.
pub(crate) fn race<T: Send + 'static>(
    clock: &dyn Clock,
    operation: &'static str,
    deadline: Deadline,
    run: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Unfinished> {
    let (answer, answered) = mpsc::sync_channel(1);
    let work = move || {
        let done = panic::catch_unwind(AssertUnwindSafe(run));
        // Nobody listens any more after the deadline.
        let _ = answer.send(done);
    };
    workers::run(operation, Box::new(work))?;
    loop {
        let left = deadline.left(clock);
        match answered.recv_timeout(left.unwrap_or_default().min(SLICE)) {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(panicked)) => panic::resume_unwind(panicked),
            Err(RecvTimeoutError::Timeout) if left.is_some() => {}
            Err(RecvTimeoutError::Timeout) => {
                return Err(Unfinished::deadline(operation, &"in the background"));
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Unfinished::deadline(operation, &"without an answer"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::poll::tests::HandClock;

    #[test]
    fn an_answer_before_the_deadline_is_the_answer() {
        let clock = HandClock::default();
        assert_eq!(race(&clock, "add", Deadline::NEVER, || 1 + 1), Ok(2));
    }

    /// Guards: P38
    #[test]
    fn at_the_deadline_the_caller_goes_and_the_work_goes_on() {
        let clock = Arc::new(HandClock::default());
        let deadline = Deadline::within(&*clock, Duration::from_secs(1));
        let (release, released) = mpsc::channel();
        let (done, ended) = mpsc::channel();
        let worker = Arc::clone(&clock);
        let answer = race(&*clock, "hang", deadline, move || {
            worker.advance(Duration::from_secs(2));
            released.recv().unwrap();
            done.send(()).unwrap();
        });
        assert!(matches!(
            answer,
            Err(Unfinished::Deadline {
                operation: "hang",
                ..
            })
        ));
        release.send(()).unwrap();
        ended.recv().unwrap();
    }

    #[test]
    fn a_panic_reaches_the_caller() {
        let caught = panic::catch_unwind(|| {
            let clock = HandClock::default();
            race(&clock, "fall", Deadline::NEVER, || -> u8 { panic!("fell") })
        });
        assert!(caught.is_err());
    }
}
