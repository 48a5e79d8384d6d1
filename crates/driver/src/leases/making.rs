use std::sync::PoisonError;
use std::time::Duration;

use super::{Inner, Leases};

/// A call that makes a thing, until it is dropped.
pub(crate) struct Making<'a, T> {
    pub(super) leases: &'a Leases<T>,
    pub(super) key: &'a str,
}

impl<T> Leases<T> {
    /// To be held by a call from before it makes a thing until it has noted the credential, or has failed.
    pub(crate) fn making<'a>(&'a self, key: &'a str) -> Making<'a, T> {
        self.inner.lock().makers.push(key.to_owned());
        Making { leases: self, key }
    }

    /// Waits while calls make the thing. Whether there was one.
    pub(crate) fn wait_for_makers(&self, key: &str, patience: Duration) -> bool {
        let is_made = |inner: &mut Inner<T>| inner.makers.iter().any(|made| made == key);
        let mut inner = self.inner.lock();
        let is_waited_for = is_made(&mut inner);
        drop(self.made.wait_timeout_while(inner, patience, is_made));
        is_waited_for
    }

    /// The turn to make or remove a thing; none if the calls before this one take too long.
    pub(crate) fn turn<'a>(&'a self, key: &'a str, patience: Duration) -> Option<Making<'a, T>> {
        let is_made = |inner: &mut Inner<T>| inner.makers.iter().any(|made| made == key);
        let inner = self.inner.lock();
        let waited = self.made.wait_timeout_while(inner, patience, is_made);
        let (mut inner, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() {
            return None;
        }
        inner.makers.push(key.to_owned());
        Some(Making { leases: self, key })
    }
}

impl<T> Drop for Making<'_, T> {
    fn drop(&mut self) {
        let mut inner = self.leases.inner.lock();
        if let Some(at) = inner.makers.iter().position(|made| made == self.key) {
            inner.makers.swap_remove(at);
        }
        self.leases.made.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::super::tests::Process;

    const LONG: Duration = Duration::from_secs(60);

    /// So often the processor goes to a thread that is about to wait.
    const YIELDS: u32 = 1_000;

    #[test]
    fn who_waits_for_makers_goes_on_after_the_last() {
        let process = Process::new();
        let leases = &process.0;
        assert!(!leases.wait_for_makers("s", LONG));
        let makers = [leases.making("s"), leases.making("s"), leases.making("t")];
        let [one, another, _of_t] = makers;
        let (sender, receiver) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(|| {
                sender.send(false).unwrap();
                sender.send(leases.wait_for_makers("s", 2 * LONG)).unwrap();
            });
            assert_eq!(receiver.recv_timeout(LONG), Ok(false));
            (0..YIELDS).for_each(|_| thread::yield_now());
            drop(one);
            assert!(leases.wait_for_makers("s", Duration::ZERO), "one is left");
            drop(another);
            assert_eq!(receiver.recv_timeout(LONG), Ok(true));
        });
    }
}
