//! Reads of this process's own disk, which may hang for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::notes::{Doubt, Provider};

/// One thread that reads: as long as it hangs, it stays the only one.
#[derive(Default)]
pub(super) struct Aside {
    is_busy: Arc<AtomicBool>,
}

impl Aside {
    /// What a read returns within this time.
    pub(super) fn ask<T: Send + 'static>(
        &self,
        within: Duration,
        read: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Doubt> {
        if self.is_busy.swap(true, Ordering::SeqCst) {
            return Err(Doubt::Hangs(Provider::OwnDisk));
        }
        let turn = Turn(Arc::clone(&self.is_busy));
        let (sender, answer) = mpsc::channel();
        let work = move || {
            let answer = read();
            // The next question may come as soon as this one is answered.
            drop(turn);
            sender.send(answer)
        };
        let spawned = thread::Builder::new().spawn(work);
        spawned.map_err(|error| Doubt::Unasked(format!("no thread: {error}")))?;
        let answer = answer.recv_timeout(within);
        answer.map_err(|_| Doubt::Hangs(Provider::OwnDisk))
    }
}

/// Ends with the read, or with the thread that could not be had.
struct Turn(Arc<AtomicBool>);

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(120);

    #[test]
    fn a_read_that_hangs_is_the_only_one() {
        let aside = Aside::default();
        let hangs = Err(Doubt::Hangs(Provider::OwnDisk));
        let (release, released) = mpsc::channel::<()>();
        let (over, ended) = mpsc::channel();
        let asked = aside.ask(Duration::ZERO, move || {
            let _ = released.recv();
            // Goes with the thread.
            over
        });
        assert_eq!(asked.map(drop), hangs);
        assert_eq!(aside.ask(LONG, || 1), Err(Doubt::Hangs(Provider::OwnDisk)));
        drop(release);
        assert_eq!(
            ended.recv_timeout(LONG),
            Err::<(), _>(mpsc::RecvTimeoutError::Disconnected)
        );
        assert_eq!(aside.ask(LONG, || 1), Ok(1));
    }
}
