//! The memory that all clients together can make the server hold.
//!
//! Each connection accounts for its incomplete and waiting requests, and for output that the client
//! has not taken. Running requests count as well. When the sum is over the budget, the connection
//! with the most bytes makes room: it refuses its largest request until the sum fits. So a flooding
//! client pays for it itself, however many others there are, and the others' small calls go on: a
//! connection with at most [`Budget::DUE`] never has to make room.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

/// The bytes held by all connections, and their limit.
#[derive(Debug)]
pub(crate) struct Budget {
    most: usize,
    used: AtomicUsize,
}

/// The bytes held by one connection.
#[derive(Debug, Default)]
pub(crate) struct Account(AtomicUsize);

/// Bytes, counted until this is dropped.
pub(crate) struct Reservation<'a> {
    budget: &'a Budget,
    bytes: usize,
}

impl Budget {
    /// The bytes that each connection may always hold.
    // After its first call a connection also costs up to 50 KiB uncounted, most of it h2's buffers. On Linux, glibc
    // keeps freed memory in each arena: after seven crowds of 1,000 connections the process had 150 MB, with
    // MALLOC_ARENA_MAX=1 57 MB. Windows's heap has not been measured.
    pub(crate) const DUE: usize = 16 << 10;

    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            used: AtomicUsize::new(0),
        }
    }

    /// Sets the bytes that a connection holds now; for the thread serving it.
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

    /// Counts a running request.
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

    /// By a quarter: the connection with the most bytes cannot make room fast enough.
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
