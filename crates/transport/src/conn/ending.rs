//! How a connection is ended from our side without the loss of a call.
//!
//! A client that is *asked* to go (h2's graceful shutdown: a GOAWAY that refuses nothing, and a PING) makes a new
//! connection for its next call, and its calls until then are served. With the answer to the PING h2 knows the last
//! call sent, names it in a second GOAWAY and ends. This is how h2 ends an idle connection; only if no answer comes, as
//! from a client that reads its connection only when it calls, the *end* follows after a while.
//!
//! A shutdown or an eviction does not wait for an answer that an idle client may never send:
//! without a call there is only the second GOAWAY. A call sent meanwhile is beyond the last one
//! named there, so the client may repeat it; Go's does, and ours.
//!
//! On an evicted connection no call begins any more, or new calls could keep it for ever: a complete request is not
//! run, and its client sees the connection end.

use std::time::{Duration, Instant};

use super::later;

/// The most time for an idle client's answer to the PING; `max_idle` if that is less.
const ANSWER: Duration = Duration::from_secs(10);
/// How long incomplete requests, untaken responses and a client that does not read may delay an eviction.
const GRACE: Duration = Duration::from_secs(1);

/// Why it ends; the later goes before the earlier.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Why {
    Idle,
    /// Its place or its memory is needed.
    Room,
    Shutdown,
}

/// How far it has come.
#[derive(Debug)]
pub(super) struct Ending {
    /// How long an idle client may take to answer.
    answer: Duration,
    why: Option<Why>,
    /// When the client was asked to go.
    asked: Option<Instant>,
    /// When the end was sent, or queued for a client that does not read.
    ended: Option<Instant>,
}

/// The next step.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Step {
    Nothing,
    /// Ask the client to go.
    Ask,
    /// Name the last call, and end.
    End,
    /// Close it: no call runs.
    Cut,
}

/// The work on the connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Load {
    None,
    /// Incomplete requests, or responses not taken by the client.
    Streams,
    /// Running calls.
    Calls,
}

impl Ending {
    pub(super) fn new(max_idle: Duration) -> Self {
        Self {
            answer: max_idle.min(ANSWER),
            why: None,
            asked: None,
            ended: None,
        }
    }

    pub(super) fn want(&mut self, why: Option<Why>) {
        self.why = self.why.max(why);
    }

    pub(super) fn is_wanted(&self) -> bool {
        self.why.is_some()
    }

    /// Whether new calls may begin. On a connection whose room is needed they may not: each would keep it longer.
    pub(super) fn lets_calls_begin(&self) -> bool {
        self.why != Some(Why::Room)
    }

    /// The next step, if the last call ended at `active`.
    pub(super) fn step(&mut self, load: Load, active: Instant, now: Instant) -> Step {
        let Some(why) = self.why else {
            return Step::Nothing;
        };
        let is_due = self.due(load, active).is_some_and(|due| due <= now);
        match (load, why) {
            (Load::None | Load::Streams, Why::Room) if is_due => Step::Cut,
            _ if self.ended.is_some() => Step::Nothing,
            (Load::None, Why::Room | Why::Shutdown) => self.end(now),
            _ if self.asked.is_none() => {
                self.asked = Some(now);
                Step::Ask
            }
            (Load::None, Why::Idle) if is_due => self.end(now),
            _ => Step::Nothing,
        }
    }

    fn end(&mut self, now: Instant) -> Step {
        self.ended = Some(now);
        Step::End
    }

    /// When there is a step to be made though nothing happens.
    pub(super) fn due(&self, load: Load, active: Instant) -> Option<Instant> {
        match (self.why?, load) {
            (Why::Idle, Load::None) if self.ended.is_none() => {
                Some(later(self.asked?, self.answer))
            }
            (Why::Room, Load::None | Load::Streams) => {
                Some(later(self.ended.or(self.asked)?.max(active), GRACE))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ending(why: Why) -> Ending {
        let mut ending = Ending::new(ANSWER);
        ending.want(Some(why));
        ending
    }

    #[test]
    fn an_idle_one_is_asked_and_ended_when_no_answer_comes() {
        let now = Instant::now();
        let mut ending = ending(Why::Idle);
        assert_eq!(ending.step(Load::None, now, now), Step::Ask);
        assert_eq!(ending.step(Load::None, now, now), Step::Nothing);
        let due = ending.due(Load::None, now).unwrap();
        assert_eq!(ending.step(Load::Streams, now, due), Step::Nothing);
        assert_eq!(
            ending.step(Load::Calls, now, due),
            Step::Nothing,
            "it is served"
        );
        assert_eq!(ending.step(Load::None, now, due), Step::End);
        assert_eq!(ending.step(Load::None, now, due), Step::Nothing);
        assert_eq!(ending.due(Load::None, now), None);
    }

    #[test]
    fn one_that_makes_room_ends_at_once_but_for_its_calls() {
        let now = Instant::now();
        assert_eq!(ending(Why::Room).step(Load::None, now, now), Step::End);
        let mut busy = ending(Why::Room);
        assert_eq!(busy.step(Load::Calls, now, now), Step::Ask);
        assert_eq!(busy.due(Load::Calls, now), None);
        let due = busy.due(Load::Streams, now).unwrap();
        assert_eq!(busy.step(Load::Streams, now, now), Step::Nothing);
        assert_eq!(busy.step(Load::Calls, now, due), Step::Nothing);
        assert_eq!(busy.step(Load::Streams, now, due), Step::Cut);
    }

    #[test]
    fn the_answer_of_a_call_that_ran_on_has_its_grace() {
        let now = Instant::now();
        let mut busy = ending(Why::Room);
        assert!(!busy.lets_calls_begin(), "no other one after it");
        assert_eq!(busy.step(Load::Calls, now, now), Step::Ask);
        let active = now + 10 * GRACE;
        assert_eq!(busy.step(Load::Streams, active, active), Step::Nothing);
        let due = busy.due(Load::Streams, active).unwrap();
        assert_eq!(due, active + GRACE);
        assert_eq!(busy.step(Load::Streams, active, due), Step::Cut);
    }

    #[test]
    fn a_client_that_does_not_read_the_end_keeps_its_room_no_longer_than_the_grace() {
        let now = Instant::now();
        let mut ending = ending(Why::Room);
        assert_eq!(ending.step(Load::None, now, now), Step::End);
        assert_eq!(ending.step(Load::None, now, now), Step::Nothing);
        assert_eq!(ending.step(Load::None, now, now + GRACE), Step::Cut);
    }

    #[test]
    fn a_shutdown_overtakes_the_rest() {
        let now = Instant::now();
        let mut ending = ending(Why::Idle);
        ending.step(Load::None, now, now);
        ending.want(Some(Why::Shutdown));
        ending.want(None);
        assert_eq!(ending.step(Load::None, now, now), Step::End);
    }
}
