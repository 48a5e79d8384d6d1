//! A driver's time, shared out by client process.
//!
//! From one wait of a driver to the next, all connections of one process together are served for [`SLICE`], and for one
//! read or one call beyond it; the rest comes after the wait. So a flooding process delays another's connections on the
//! same driver only this long, however many connections it has.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Pool;
use crate::server::Client;

/// Some six fast calls. At 1 ms others waited twice to six times as long (`cargo xtask bench attack`, two rounds);
/// shorter slices cost more waits.
pub(super) const SLICE: Duration = Duration::from_micros(300);

/// How long one connection may be served.
#[derive(Debug)]
pub(crate) struct Slice<'a> {
    start: Instant,
    length: Duration,
    others: Others<'a>,
    has_run: bool,
}

/// The processes for which a slice ends.
#[derive(Debug)]
pub(super) enum Others<'a> {
    /// The driver has connections of several processes.
    OnDriver,
    /// All its connections are of one process; others' may be in the queue.
    InQueue(&'a Pool),
}

/// How long each process has been served since the driver last waited.
#[derive(Debug)]
pub(super) struct Shares {
    length: Duration,
    used: Vec<(Arc<Client>, Duration)>,
}

impl<'a> Slice<'a> {
    /// A slice that begins now.
    pub(super) fn new(length: Duration, others: Others<'a>) -> Self {
        Self {
            start: Instant::now(),
            length,
            others,
            has_run: false,
        }
    }

    /// For a connection served by itself.
    #[cfg(test)]
    pub(crate) fn of(length: Duration) -> Self {
        Self::new(length, Others::OnDriver)
    }

    /// The time since it began; None if nobody waits for its end.
    pub(super) fn used(&self) -> Option<Duration> {
        self.others.may_wait().then(|| self.start.elapsed())
    }

    /// The connection has run a call.
    pub(crate) fn has_run(&mut self) {
        self.has_run = true;
    }

    /// Whether others come before the connection's next read.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.start) >= self.length && self.others.may_wait()
    }

    /// Whether others come before the connection's next call; never before its first.
    pub(crate) fn ends_calls(&self, now: Instant) -> bool {
        self.has_run && self.is_over(now)
    }
}

impl Others<'_> {
    pub(super) fn may_wait(&self) -> bool {
        match self {
            Self::OnDriver => true,
            Self::InQueue(pool) => pool.has_queued(),
        }
    }
}

impl Shares {
    pub(super) fn new(length: Duration) -> Self {
        Self {
            length,
            used: Vec::new(),
        }
    }

    /// The driver has waited.
    pub(super) fn begin_round(&mut self) {
        self.used.clear();
    }

    /// The rest of a process's slice; None when it has used it up.
    fn left(&self, client: &Arc<Client>) -> Option<Duration> {
        match self.used.iter().find(|(of, _)| Arc::ptr_eq(of, client)) {
            None => Some(self.length),
            Some((_, used)) => self
                .length
                .checked_sub(*used)
                .filter(|left| !left.is_zero()),
        }
    }

    /// A slice for a connection of `client`; None when others come first.
    pub(super) fn next<'a>(&self, client: &Arc<Client>, others: Others<'a>) -> Option<Slice<'a>> {
        match self.left(client) {
            None if others.may_wait() => None,
            left => Some(Slice::new(left.unwrap_or(self.length), others)),
        }
    }

    pub(super) fn add(&mut self, client: &Arc<Client>, took: Duration) {
        match self.used.iter_mut().find(|(of, _)| Arc::ptr_eq(of, client)) {
            Some((_, used)) => *used += took,
            None => self.used.push((Arc::clone(client), took)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::SeqCst;

    use super::*;
    use crate::ServerOptions;

    fn shares_after(client: &Arc<Client>, took: Duration) -> Shares {
        let mut shares = Shares::new(SLICE);
        shares.add(client, took);
        shares
    }

    #[test]
    fn a_process_that_has_used_up_its_slice_waits_for_the_next_round_and_keeps_nobody_else() {
        let (busy, other) = (Arc::<Client>::default(), Arc::<Client>::default());
        let mut shares = shares_after(&busy, SLICE / 2);
        assert!(shares.next(&busy, Others::OnDriver).is_some());
        shares.add(&busy, SLICE / 2);
        assert!(shares.next(&busy, Others::OnDriver).is_none());
        assert!(shares.next(&other, Others::OnDriver).is_some());
        shares.begin_round();
        assert!(shares.next(&busy, Others::OnDriver).is_some());
    }

    #[test]
    fn a_slice_is_as_long_as_the_rest_of_the_processs() {
        let client = Arc::default();
        let shares = shares_after(&client, SLICE - Duration::from_micros(1));
        let slice = shares.next(&client, Others::OnDriver).unwrap();
        assert!(slice.is_over(slice.start + Duration::from_micros(1)));
        assert!(!slice.is_over(slice.start));
    }

    #[test]
    fn a_driver_of_one_process_goes_on_until_something_is_queued() {
        let pool = Pool::new(&ServerOptions::default()).unwrap();
        let client = Arc::default();
        let shares = shares_after(&client, SLICE);
        let slice = shares.next(&client, Others::InQueue(&pool)).unwrap();
        let end = slice.start + SLICE;
        assert!(!slice.is_over(end));
        pool.queued.fetch_add(1, SeqCst);
        assert!(slice.is_over(end));
        assert!(shares.next(&client, Others::InQueue(&pool)).is_none());
    }

    #[test]
    fn the_first_call_of_a_slice_is_run_however_late() {
        let mut slice = Slice::of(Duration::ZERO);
        assert!(!slice.ends_calls(slice.start));
        slice.has_run();
        assert!(slice.ends_calls(slice.start));
    }
}
