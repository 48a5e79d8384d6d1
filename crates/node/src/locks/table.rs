use std::collections::VecDeque;
use std::iter;
use std::thread::{self, ThreadId};
use std::time::Duration;

use os::Moment;

use super::Key;
use crate::{Crowd, Crowded};

/// Operations that wait for the same object; a driver that mounts a hundred volumes of one share is served.
pub(super) const MOST_FOR_ONE: usize = 128;

/// Operations that wait in all. Each has a thread.
pub(super) const MOST: usize = 4 * MOST_FOR_ONE;

/// The calls that hold a lock or wait for one, in the order of their arrival.
#[derive(Default)]
pub(super) struct Table {
    pub(super) queue: VecDeque<Entry>,
    next: u64,
}

pub(super) struct Entry {
    pub(super) ticket: u64,
    key: Key,
    pub(super) by: Option<ThreadId>,
    operation: &'static str,
    state: LockState,
}

pub(super) enum LockState {
    /// Came just now.
    New,
    Waits,
    Holds(Moment),
}

impl Table {
    pub(super) fn enqueue(&mut self, operation: &'static str, key: &Key) -> u64 {
        let ticket = self.next;
        self.next = self.next.wrapping_add(1);
        self.queue.push_back(Entry {
            ticket,
            key: key.clone(),
            by: Some(thread::current().id()),
            operation,
            state: LockState::New,
        });
        ticket
    }

    /// The first that has to leave before this ticket is served, and whose it is.
    pub(super) fn ahead_of(&self, ticket: u64, key: &Key) -> Option<(u64, Option<ThreadId>)> {
        let first = self.first_before(ticket, key);
        first.map(|it| (it.ticket, it.by))
    }

    fn first_before(&self, ticket: u64, key: &Key) -> Option<&Entry> {
        let mut before = self.queue.iter().take_while(|it| it.ticket != ticket);
        before.find(|it| it.key.excludes(key))
    }

    pub(super) fn set_state(&mut self, ticket: u64, state: LockState) {
        if let Some(it) = self.queue.iter_mut().find(|it| it.ticket == ticket) {
            it.state = state;
        }
    }

    /// Those who wait already, if they are too many for this ticket to wait as well.
    pub(super) fn crowd_around(&self, ticket: u64) -> Option<Crowd> {
        let ahead = self.blocker_of(ticket)?;
        // Paths that differ wait for one that all of them lie below.
        let its = self.waiting().filter(|it| it.key.excludes(&ahead.key));
        if its.count() >= MOST_FOR_ONE {
            return Some(Crowd::Object(MOST_FOR_ONE));
        }
        (self.waiting().count() >= MOST).then_some(Crowd::Node(MOST))
    }

    /// Those who wait.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &Entry> {
        let waits = |it: &&Entry| matches!(it.state, LockState::Waits);
        self.queue.iter().filter(waits)
    }

    /// The refusal to let this ticket wait, with the call that it would wait for.
    pub(super) fn crowded(&self, ticket: u64, crowd: Crowd, now: Moment) -> Crowded {
        let (holder, held) = self.holder_before(ticket, now);
        Crowded {
            holder,
            held,
            crowd,
        }
    }

    /// The operation for which this ticket waits in the end, and for how long it has what it holds.
    pub(super) fn holder_before(&self, ticket: u64, now: Moment) -> (&'static str, Duration) {
        let holders = iter::successors(self.blocker_of(ticket), |it| self.blocker_of(it.ticket));
        let holder = holders.last();
        let held = |it: &Entry| match it.state {
            LockState::Holds(since) => since.until(now),
            _ => Duration::ZERO,
        };
        (
            holder.map_or("nobody", |it| it.operation),
            holder.map_or(Duration::ZERO, held),
        )
    }

    /// The entry that this ticket has to wait for.
    fn blocker_of(&self, ticket: u64) -> Option<&Entry> {
        let own = self.queue.iter().find(|it| it.ticket == ticket)?;
        self.first_before(ticket, &own.key)
    }

    pub(super) fn leave(&mut self, ticket: u64) {
        self.queue.retain(|it| it.ticket != ticket);
    }
}
