//! Ownership of connections: the owner, the states, and why no wake-up is lost.
//!
//! # The owner
//! At most one thread owns a connection at any time, and only its owner makes turns
//! ([`crate::conn`]). Any other thread with news for it (an answer, an event of the system, a
//! shutdown) stores the news and calls [`Ownership::want`], which reaches the owner or finds a new one.
//!
//! The state is one atomic word: the connection's state, a flag (WANTED: a turn is wanted) and a
//! generation (how often the connection was stolen).
//!
//! ```text
//!              begin_call                     start_wait
//!   CALLING <------------- RUNNING ------------------------> WAITING
//!      |  \--------------^  ^  ^ ^----------------------------/  |
//!      |     end_call       |  |     begin_turn, claim           |
//!      | steal              |  | want: Wake::Queue               | park
//!      v                    |  |                                 |
//!   RUNNING of the next ----/  PARKED <--------------------------/
//!   generation, queued
//! ```
//!
//! - RUNNING: a driver owns it and makes turns; or it is in the pool's queue until the next driver
//!   takes it. It ends with a whole request (CALLING), with nothing left to do (WAITING), or with
//!   the connection.
//! - CALLING: the driver runs the service, without any lock of the connection. It ends when the
//!   call returns, or when the connection is stolen: by the monitor, from a slow call, or by the
//!   driver itself, before a call of a method that was slow before. A stolen connection is RUNNING
//!   and queued, with the next generation. When the call returns, its thread sees by the generation
//!   that it lost the connection: it posts its answer like any other thread with news, and makes no
//!   turn.
//! - WAITING: a driver owns it, and waits for all its connections at once or is busy with another of them. If its
//!   client has used up its slice of the driver's round, the connection waits with work left: its slot is marked, and
//!   the next round serves it. The state ends with news (RUNNING), with a hand-over of all connections of the driver
//!   (claimed: RUNNING, queued), or when the connection was idle for its linger time (PARKED).
//! - PARKED: nobody owns it; the system watches it. News queue it, and the next driver makes it RUNNING, or WAITING if
//!   others come first.
//!
//! # Why no wake-up is lost
//! Every transition and every wish for a turn is a read-modify-write of this one word, so they fall
//! into one order, and each is acquire and release. A thread with news first stores the news and
//! then sets the flag. The state at that moment decides the rest:
//!
//! - RUNNING: the owner leaves this state for WAITING only by a compare-and-swap that expects the
//!   flag to be clear. The swap comes later in the order, so it fails, and the owner makes another
//!   turn; having read the flag it sees the news. A queued connection gets a whole turn from its
//!   next driver.
//! - CALLING: the thread leaving this state or taking the stolen connection makes a whole turn
//!   next. Its read-modify-write comes later in the order and sees the news.
//! - WAITING: the thread with news sets the owner's event. A driver reads the flags of all its
//!   connections after each wait, so it sees a flag set before the event; if the driver is busy
//!   elsewhere, the event stays set and ends its next wait. If the connection is handed over
//!   meanwhile, the hand-over is a read-modify-write from WAITING to RUNNING, comes later in the
//!   order, and is followed by a turn.
//! - PARKED: only the thread that set the flag queues the connection to the pool; the next driver
//!   makes a whole turn. The system's watch on a connection is armed *before* the swap to PARKED.
//!   The swap expects the flag to be clear, and the watch calls the same function: if it fires
//!   early, it sets the flag upon WAITING and makes the swap fail.
//! - Flag already set: another thread is doing one of the above, and its turn is ordered after this
//!   read-modify-write as well, since only the beginning of a turn clears the flag.
//!
//! [`crate::pool`] says why a queued connection is always taken.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire};

const STATE: u64 = 0b011;
const RUNNING: u64 = 0b000;
const WAITING: u64 = 0b001;
const PARKED: u64 = 0b010;
const CALLING: u64 = 0b011;
const WANTED: u64 = 0b100;
const GENERATION: u64 = 0b1000;

/// The state word of one connection.
#[derive(Debug)]
pub(crate) struct Ownership(AtomicU64);

/// Changes whenever a connection is taken from a thread within a call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Generation(u64);

/// What a thread must do after it asked for a turn.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Wake {
    /// Nothing: a turn follows anyway.
    Nothing,
    /// Set the event of the worker waiting for it.
    Rouse,
    /// Queue the connection to the pool.
    Queue,
}

impl Ownership {
    /// The state of a connection given to one thread.
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

    /// To RUNNING from any state but CALLING, by the owning thread: its next turn handles every
    /// wish until now.
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

    /// Takes the connection from a thread within a call; the taker has to queue it.
    pub(crate) fn steal(&self) -> bool {
        self.change(|word| (word & STATE == CALLING).then_some((word & !STATE) + GENERATION))
    }

    /// Takes the connection from a thread that waits for it, or is within another connection's
    /// call; the taker has to queue it.
    pub(crate) fn claim(&self) -> bool {
        self.change(|word| (word & STATE == WAITING).then_some(word & !STATE))
    }

    /// The thread is done with the connection for now; false when a turn is wanted instead.
    pub(crate) fn start_wait(&self) -> bool {
        self.change(|word| (word & (STATE | WANTED) == RUNNING).then_some(word | WAITING))
    }

    /// The thread serves others first, and then this connection again, even without a wish. A parked and queued
    /// connection stays PARKED until then.
    pub(crate) fn pause(&self) {
        self.change(|word| Some(word & !STATE | WAITING));
    }

    /// The thread leaves the connection to the armed watch; false when a turn is wanted instead.
    pub(crate) fn park(&self) -> bool {
        let quiet = |word| word & (STATE | WANTED) == WAITING;
        self.change(|word| quiet(word).then_some(word & !STATE | PARKED))
    }

    fn change(&self, next: impl FnMut(u64) -> Option<u64>) -> bool {
        self.0.try_update(AcqRel, Acquire, next).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_during_a_turn_forbids_to_wait() {
        let ownership = Ownership::new();
        ownership.begin_turn();
        assert_eq!(ownership.want(), Wake::Nothing);
        assert!(!ownership.start_wait());
        ownership.begin_turn();
        assert!(ownership.start_wait());
    }

    #[test]
    fn a_wish_during_a_wait_rouses_once_and_forbids_to_park() {
        let ownership = Ownership::new();
        ownership.begin_turn();
        assert!(ownership.start_wait());
        assert_eq!(ownership.want(), Wake::Rouse);
        assert_eq!(ownership.want(), Wake::Nothing);
        assert!(!ownership.park());
        assert!(ownership.is_wanted());
    }

    #[test]
    fn one_that_pauses_keeps_its_wish_and_can_be_claimed() {
        let ownership = Ownership::new();
        ownership.begin_turn();
        assert_eq!(ownership.want(), Wake::Nothing);
        ownership.pause();
        assert!(ownership.is_wanted() && !ownership.park());
        assert!(ownership.claim());
    }

    #[test]
    fn one_that_was_parked_and_pauses_before_its_turn_is_in_no_call() {
        let ownership = Ownership::new();
        ownership.begin_turn();
        assert!(ownership.start_wait() && ownership.park());
        assert_eq!(ownership.want(), Wake::Queue);
        ownership.pause();
        assert!(!ownership.steal());
        assert!(ownership.is_wanted() && ownership.claim());
    }

    #[test]
    fn a_wish_for_a_parked_one_queues_once() {
        let ownership = Ownership::new();
        ownership.begin_turn();
        assert!(ownership.start_wait() && ownership.park());
        assert_eq!(ownership.want(), Wake::Queue);
        assert_eq!(ownership.want(), Wake::Nothing);
        ownership.begin_turn();
        assert!(!ownership.is_wanted());
        assert!(ownership.start_wait());
    }

    #[test]
    fn only_a_call_can_be_stolen_and_the_robbed_one_notices() {
        let ownership = Ownership::new();
        let first = ownership.begin_turn();
        assert!(!ownership.steal() && !ownership.claim());
        ownership.begin_call();
        assert_eq!(ownership.want(), Wake::Nothing);
        assert!(ownership.steal());
        assert!(!ownership.end_call(first));
        let second = ownership.begin_turn();
        ownership.begin_call();
        assert!(!ownership.end_call(first), "the robbed one comes late");
        assert!(ownership.end_call(second));
    }

    #[test]
    fn only_one_that_waits_can_be_claimed() {
        let ownership = Ownership::new();
        ownership.begin_turn();
        assert!(ownership.start_wait());
        assert_eq!(ownership.want(), Wake::Rouse);
        assert!(ownership.claim());
        assert!(!ownership.claim());
        assert!(!ownership.start_wait(), "the wish is still open");
    }
}
