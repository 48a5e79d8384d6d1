//! Threads on which calls run as in another process. Under Wine a new one takes two milliseconds, forty times the rest
//! of a call, so they are reused.

use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;

/// Runs `act` on a thread of its own, and sends its result; the waiter may have gone. When `act`
/// panics, the answer never comes.
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
    // An idle worker waits for this, and a new one will.
    drop(worker.send(job));
    answer
}

/// The work; it returns the sending of its answer.
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
            // Before the answer: its receiver's next call finds this thread.
            idle().push(own.clone());
            answered();
        }
    });
    worker
}
