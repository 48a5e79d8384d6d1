//! What clients can make the server hold, all together.
//!
//! Each connection accounts for what waits in it: requests that are not whole or do not run yet,
//! and output that the client has not taken. Requests that run are counted as well. When the sum
//! is over the budget, the connection that holds the most makes room: it refuses its largest
//! request until the sum fits. So one that floods the server pays for it itself, however many
//! others there are, and the small calls of the others go on: a connection that holds no more than
//! [`Budget::DUE`] never has to make room.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

/// What all connections hold, and what they may.
#[derive(Debug)]
pub(crate) struct Budget {
    most: usize,
    used: AtomicUsize,
}

/// What one connection holds.
#[derive(Debug, Default)]
pub(crate) struct Account(AtomicUsize);

/// Bytes that are counted until this is dropped.
pub(crate) struct Reservation<'a> {
    budget: &'a Budget,
    bytes: usize,
}

impl Budget {
    /// What each connection may hold whatever the others do, in bytes.
    // A connection that called once also costs up to 50 KiB that nobody counts, most of it h2's buffers. On Linux, glibc
    // keeps freed memory in each arena: after seven crowds of 1,000 connections the process had 150 MB, with
    // MALLOC_ARENA_MAX=1 57 MB. Windows's heap has not been measured.
    pub(crate) const DUE: usize = 16 << 10;

    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            used: AtomicUsize::new(0),
        }
    }

    /// Notes that a connection holds so many bytes now; for the thread that serves it.
    pub(crate) fn settle(&self, account: &Account, held: usize) {
        if account.held() == held {
            return;
        }
        // The difference alone, or others would see the sum of both for a moment.
        let before = account.0.swap(held, AcqRel);
        match held.checked_sub(before) {
            Some(more) => self.used.fetch_add(more, AcqRel),
            None => self.used.fetch_sub(before - held, AcqRel),
        };
    }

    /// Counts a request that runs.
    pub(crate) fn hold(&self, bytes: usize) -> Reservation<'_> {
        self.used.fetch_add(bytes, AcqRel);
        Reservation {
            budget: self,
            bytes,
        }
    }

    pub(crate) fn used(&self) -> usize {
        self.used.load(Acquire)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.used() > self.most
    }

    /// By a quarter: the connection that holds the most cannot make room fast enough.
    pub(crate) fn is_far_over(&self) -> bool {
        self.used() > self.most.saturating_add(self.most / 4)
    }
}

impl Account {
    pub(crate) fn held(&self) -> usize {
        self.0.load(Relaxed)
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_counted_is_uncounted_again() {
        let budget = Budget::new(100);
        let (one, two) = (Account::default(), Account::default());
        budget.settle(&one, 60);
        budget.settle(&two, 40);
        assert!(!budget.is_over());
        let running = budget.hold(26);
        assert!(budget.is_over() && budget.is_far_over());
        budget.settle(&one, 59);
        assert!(budget.is_over() && !budget.is_far_over());
        drop(running);
        budget.settle(&one, 0);
        budget.settle(&two, 0);
        assert_eq!(budget.used(), 0);
    }
}
