//! Threads on which calls run as in another process. Under Wine a new one takes two milliseconds, forty
//! times what the rest of a call does, so they are used again.

use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;

/// Runs `act` on a thread that nothing else runs on, and sends what it returns; the waiter may have
/// gone. When `act` panics, the answer never comes.
pub(crate) fn run<T: Send + 'static>(
    act: impl FnOnce() -> T + Send + 'static,
) -> mpsc::Receiver<T> {
    let (reply, answer) = mpsc::channel();
    let job: Job = Box::new(move || {
        let done = act();
        Box::new(move || drop(reply.send(done)))
    });
    let known = idle().pop();
    let worker = known.unwrap_or_else(start);
    // A worker that is idle waits for this, and one that has just begun will.
    drop(worker.send(job));
    answer
}

/// What is done, and gives back the telling of it.
type Job = Box<dyn FnOnce() -> Answered + Send>;
type Answered = Box<dyn FnOnce() + Send>;

fn idle() -> MutexGuard<'static, Vec<mpsc::Sender<Job>>> {
    static IDLE: Mutex<Vec<mpsc::Sender<Job>>> = Mutex::new(Vec::new());
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn start() -> mpsc::Sender<Job> {
    let (worker, jobs) = mpsc::channel::<Job>();
    let own = worker.clone();
    thread::spawn(move || {
        for job in jobs {
            let answered = job();
            // Before the answer: whoever gets it and calls again finds this thread.
            idle().push(own.clone());
            answered();
        }
    });
    worker
}
