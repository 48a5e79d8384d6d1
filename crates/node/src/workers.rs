//! Threads for operations that may hang.
//!
//! Each operation has a thread alone until it ends. A thread that ended one waits a while for the next: a start looks at
//! thousands of volumes, and a thread for each look costs more than many a look does.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread::{self, ThreadId};
use std::time::Duration;

use crate::Unfinished;
use crate::unpoisoned::Unpoisoned;

/// How long a thread waits for its next operation.
const IDLE: Duration = Duration::from_secs(1);

/// How many wait at most: more end at once.
const MOST_IDLE: usize = 64;

/// An operation. It does not panic.
type Work = Box<dyn FnOnce() + Send>;

/// The threads that wait, the last to come first to go.
static WAITING: Unpoisoned<Vec<Waiting>> = Unpoisoned::new(Vec::new());

struct Waiting {
    thread: ThreadId,
    /// Takes one operation, and the thread receives it before it ends.
    next: SyncSender<Work>,
}

/// Runs an operation on a thread that runs nothing else meanwhile.
///
/// # Errors
/// The system has no thread to spare; then the operation does not run.
pub(crate) fn run(operation: &'static str, work: Work) -> Result<(), Unfinished> {
    let waiting = WAITING.lock().pop();
    let work = match waiting {
        Some(waiting) => match waiting.next.send(work) {
            Ok(()) => return Ok(()),
            Err(mpsc::SendError(work)) => work,
        },
        None => work,
    };
    let thread = thread::Builder::new().name(operation.to_owned());
    let started = thread.spawn(move || serve(work));
    started
        .map(drop)
        .map_err(|error| Unfinished::no_thread(operation, &error))
}

fn serve(first: Work) {
    let mut next = Some(first);
    while let Some(work) = next {
        work();
        next = wait();
    }
}

/// The next operation; none if there are threads enough, or nothing is to do.
fn wait() -> Option<Work> {
    let (sender, receiver) = mpsc::sync_channel(1);
    let thread = thread::current().id();
    let mut waiting = WAITING.lock();
    if waiting.len() >= MOST_IDLE {
        return None;
    }
    let next = sender;
    waiting.push(Waiting { thread, next });
    drop(waiting);
    match receiver.recv_timeout(IDLE) {
        Ok(work) => Some(work),
        Err(RecvTimeoutError::Timeout) => withdraw(thread, &receiver),
        Err(RecvTimeoutError::Disconnected) => None,
    }
}

/// The thread waits no more. One that was taken off the list meanwhile has an operation coming.
fn withdraw(thread: ThreadId, receiver: &Receiver<Work>) -> Option<Work> {
    let mut waiting = WAITING.lock();
    let place = waiting.iter().position(|one| one.thread == thread);
    match place {
        Some(place) => {
            waiting.remove(place);
            None
        }
        None => {
            drop(waiting);
            receiver.recv().ok()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The thread on which an operation ran that has ended.
    fn thread_of_one() -> ThreadId {
        let (send, received) = mpsc::channel();
        let work = move || send.send(thread::current().id()).unwrap();
        run("note", Box::new(work)).unwrap();
        received.recv().unwrap()
    }

    #[test]
    fn operations_one_after_another_share_threads() {
        let threads: BTreeSet<_> = (0..200).map(|_| format!("{:?}", thread_of_one())).collect();
        assert!(threads.len() < 100, "{} threads", threads.len());
    }

    #[test]
    fn an_operation_that_hangs_keeps_no_other_waiting() {
        let mut releases = Vec::new();
        let (begin, begun) = mpsc::channel();
        for _ in 0..MOST_IDLE + 10 {
            let (release, released) = mpsc::channel::<()>();
            let begin = begin.clone();
            let hang = move || {
                begin.send(()).unwrap();
                let _ = released.recv();
            };
            run("hang", Box::new(hang)).unwrap();
            releases.push(release);
        }
        for _ in &releases {
            begun.recv_timeout(Duration::from_secs(60)).unwrap();
        }
        thread_of_one();
    }
}
