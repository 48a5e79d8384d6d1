//! Who serves a connection, and how others reach that thread.
//!
//! At most one thread serves a connection at any time. One atomic word holds where the connection
//! stands, together with a flag (somebody wants a turn) and a generation (which server it is):
//!
//! ```text
//!              begin_call                     start_wait
//!   CALLING <------------- RUNNING ------------------------> WAITING
//!      |  \--------------^  ^  ^ ^----------------------------/  |
//!      |     end_call       |  |        end_wait, claim          |
//!      | steal              |  | queued by who wants a turn      | park
//!      v                    |  |                                 |
//!   RUNNING of the next ----/  PARKED <--------------------------/
//!   generation, queued
//! ```
//!
//! RUNNING: a thread makes turns, or the connection is in the pool's queue and one will. CALLING:
//! the thread is within the service. WAITING: the connection is one of those that a thread waits
//! for. PARKED: no thread has it; the system watches it.
//!
//! # Why no wake-up is lost
//! Every transition and every wish for a turn is a read-modify-write of that one word, so they fall
//! into one order, and each is acquire and release. Whoever has news (a response for h2, a socket
//! that became ready, a drain) first stores the news and then sets the flag. Looking at the state
//! that the flag was set upon:
//!
//! - RUNNING: the thread leaves this state for WAITING only by a compare-and-swap that expects the
//!   flag to be clear. That swap comes later in the order, so it fails, and the thread makes
//!   another turn; having read the flag it sees the news.
//! - CALLING: whoever leaves this state, the same thread or the thief, makes a whole turn next. Its
//!   read-modify-write comes later in the order and sees the news.
//! - WAITING: the one that set the flag looks up the worker and sets its event. A worker looks at
//!   the flags of all its connections after each wait, so one that is set before the event is seen;
//!   should the worker be busy elsewhere the event stays set and ends its next wait. Should the
//!   connection be handed to another worker meanwhile, the hand-over is a read-modify-write from
//!   WAITING to RUNNING that comes later in the order, and is followed by a turn.
//! - PARKED: the one that set the flag, and only that one, queues the connection to the pool; the
//!   thread that takes it makes a whole turn. The system's watch on a parked connection is armed
//!   *before* the swap to PARKED, which expects the flag to be clear, and fires into the same
//!   function: fired early it sets the flag upon WAITING and makes the swap fail.
//! - Flag already set: another is doing one of the above, and the turn that follows is ordered
//!   after this read-modify-write as well, since only a turn's beginning clears the flag.

use std::sync::atomic::{
    AtomicU64,
    Ordering::{AcqRel, Acquire},
};

const STATE: u64 = 0b011;
const RUNNING: u64 = 0b000;
const WAITING: u64 = 0b001;
const PARKED: u64 = 0b010;
const CALLING: u64 = 0b011;
const WANTED: u64 = 0b100;
const GENERATION: u64 = 0b1000;

/// The state word of one connection.
#[derive(Debug)]
pub(crate) struct Link(AtomicU64);

/// Which thread serves: it changes whenever a connection is taken from a thread within a call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Generation(u64);

/// What the one who asked for a turn has to do.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Wake {
    /// Nothing: a turn follows anyway.
    Nothing,
    /// Set the event of the worker that waits for it.
    Rouse,
    /// Queue the connection to the pool.
    Queue,
}

impl Link {
    /// The link of a connection that has been given to one thread.
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(RUNNING))
    }

    /// Asks for a turn.
    pub(crate) fn want(&self) -> Wake {
        let before = self.0.fetch_or(WANTED, AcqRel);
        match before & (STATE | WANTED) {
            WAITING => Wake::Rouse,
            PARKED => Wake::Queue,
            _ => Wake::Nothing,
        }
    }

    /// Whether a turn is wanted.
    pub(crate) fn is_wanted(&self) -> bool {
        self.0.load(Acquire) & WANTED != 0
    }

    /// To RUNNING from any state but CALLING, by the thread that has the connection: what was
    /// wanted until now is what its next turn sees to.
    pub(crate) fn begin_turn(&self) -> Generation {
        Generation(self.0.fetch_and(!(STATE | WANTED), AcqRel) & !(STATE | WANTED))
    }

    /// The thread is about to run the service; from now on the connection can be stolen.
    pub(crate) fn begin_call(&self) {
        self.0.fetch_or(CALLING, AcqRel);
    }

    /// Whether the thread still has the connection after its call.
    pub(crate) fn end_call(&self, generation: Generation) -> bool {
        self.change(|word| {
            let own = word & !(STATE | WANTED) == generation.0 && word & STATE == CALLING;
            own.then_some(word & !STATE)
        })
    }

    /// Takes the connection from a thread that is within a call; the taker has to queue it.
    pub(crate) fn steal(&self) -> bool {
        self.change(|word| (word & STATE == CALLING).then_some((word & !STATE) + GENERATION))
    }

    /// Takes the connection from a thread that waits for it, or would if it were not within
    /// another's call; the taker has to queue it.
    pub(crate) fn claim(&self) -> bool {
        self.change(|word| (word & STATE == WAITING).then_some(word & !STATE))
    }

    /// The thread is done with the connection for now; false when a turn is wanted instead.
    pub(crate) fn start_wait(&self) -> bool {
        self.change(|word| (word & (STATE | WANTED) == RUNNING).then_some(word | WAITING))
    }

    /// The thread leaves the connection to the armed watch; false when a turn is wanted instead.
    pub(crate) fn park(&self) -> bool {
        let quiet = |word| word & (STATE | WANTED) == WAITING;
        self.change(|word| quiet(word).then_some(word & !STATE | PARKED))
    }

    fn change(&self, next: impl FnMut(u64) -> Option<u64>) -> bool {
        self.0.fetch_update(AcqRel, Acquire, next).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_during_a_turn_forbids_to_wait() {
        let link = Link::new();
        link.begin_turn();
        assert_eq!(link.want(), Wake::Nothing);
        assert!(!link.start_wait());
        link.begin_turn();
        assert!(link.start_wait());
    }

    #[test]
    fn a_wish_during_a_wait_rouses_once_and_forbids_to_park() {
        let link = Link::new();
        link.begin_turn();
        assert!(link.start_wait());
        assert_eq!(link.want(), Wake::Rouse);
        assert_eq!(link.want(), Wake::Nothing);
        assert!(!link.park());
        assert!(link.is_wanted());
    }

    #[test]
    fn a_wish_for_a_parked_one_queues_once() {
        let link = Link::new();
        link.begin_turn();
        assert!(link.start_wait() && link.park());
        assert_eq!(link.want(), Wake::Queue);
        assert_eq!(link.want(), Wake::Nothing);
        link.begin_turn();
        assert!(!link.is_wanted());
        assert!(link.start_wait());
    }

    #[test]
    fn only_a_call_can_be_stolen_and_the_robbed_one_notices() {
        let link = Link::new();
        let first = link.begin_turn();
        assert!(!link.steal() && !link.claim());
        link.begin_call();
        assert_eq!(link.want(), Wake::Nothing);
        assert!(link.steal());
        assert!(!link.end_call(first));
        let second = link.begin_turn();
        link.begin_call();
        assert!(!link.end_call(first), "the robbed one comes late");
        assert!(link.end_call(second));
    }

    #[test]
    fn only_one_that_waits_can_be_claimed() {
        let link = Link::new();
        link.begin_turn();
        assert!(link.start_wait());
        assert_eq!(link.want(), Wake::Rouse);
        assert!(link.claim());
        assert!(!link.claim());
        assert!(!link.start_wait(), "the wish is still open");
    }
}
