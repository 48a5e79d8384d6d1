//! Queries of all disks or volumes, of which some may hang.
//!
//! A lookup queries every disk, so one hung disk would block it. A thread for each disk would cost more than the
//! queries, so one thread beside the caller's queries them all. If that thread hangs, it is left behind: each of the
//! remaining disks gets a thread, [`MOST_AT_ONCE`] at a time. At last the hung disk is queried once more; by then each
//! hung disk fails at once as one that does not answer.

use std::any::Any;
use std::ops::Range;
use std::panic;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use os::{Clock, Deadline};

use super::ANSWER_WITHIN;
use crate::poll::SLICE;
use crate::{Node, Unfinished};

/// How many items are queried at once, each on its own thread, after one query hung. A loop over sixty disks then
/// waits once for all that hang, and one over hundreds does not take hundreds of threads for each caller. The
/// remaining items follow in order.
const MOST_AT_ONCE: usize = 64;

/// Returns the answer of `ask` for each item, in order. Each item is queried once, or twice if it took
/// long, so `ask` must only read.
pub(crate) fn each<T, R>(
    node: &Node,
    operation: &'static str,
    deadline: Deadline,
    items: Vec<T>,
    ask: impl Fn(&Node, &T) -> R + Send + Sync + 'static,
) -> Result<Vec<R>, Unfinished>
where
    T: Send + Sync + 'static,
    R: Send + 'static,
{
    let round = Arc::new(Round {
        node: node.clone(),
        items,
        ask,
    });
    let mut answers = Vec::with_capacity(round.items.len());
    let mut limit = ANSWER_WITHIN;
    let mut asked = 0;
    while answers.len() < round.items.len() {
        let known = answers.len();
        let helper = Helper::start(&round, operation, known)?;
        helper.collect(&mut answers, &*node.os().clock, limit, deadline);
        if answers.len() < round.items.len() {
            node.check(deadline, operation, &"in the background")?;
            if answers.len() >= asked {
                let next = answers.len()..round.items.len().min(answers.len() + MOST_AT_ONCE);
                asked = next.end;
                round.ask_together(operation, next, deadline);
            }
        }
        // A query that is only slow gets more time, so that it can end.
        limit = match answers.len() > known {
            true => ANSWER_WITHIN,
            false => limit.saturating_mul(2),
        };
    }
    Ok(answers)
}

struct Round<T, A> {
    node: Node,
    items: Vec<T>,
    ask: A,
}

impl<T, A> Round<T, A> {
    /// Items rarely hang alone: many disks share one dead path. So the next items are queried at once instead of
    /// waiting for each in turn. By the end of the wait each has answered, or fails at once from then on.
    fn ask_together<R>(
        self: &Arc<Self>,
        operation: &'static str,
        next: Range<usize>,
        deadline: Deadline,
    ) where
        T: Send + Sync + 'static,
        A: Fn(&Node, &T) -> R + Send + Sync + 'static,
    {
        let clock = &*self.node.os().clock;
        let end = deadline.min(Deadline::within(clock, ANSWER_WITHIN));
        let (asking, all_asked) = mpsc::channel::<()>();
        for index in next {
            let (round, asking) = (Arc::clone(self), asking.clone());
            let ask = move || {
                let _asking = asking;
                (round.ask)(&round.node, &round.items[index]);
            };
            // An item without a thread is queried in its turn.
            let _ = thread::Builder::new().name(operation.to_owned()).spawn(ask);
        }
        drop(asking);
        while let Some(left) = end.left(clock) {
            if all_asked.recv_timeout(left.min(SLICE)) == Err(RecvTimeoutError::Disconnected) {
                return;
            }
        }
    }
}

/// A thread that queries items until its receiver is dropped.
struct Helper<R> {
    answers: Receiver<R>,
    thread: JoinHandle<()>,
}

impl<R: Send + 'static> Helper<R> {
    /// Starts at the item of this index.
    fn start<T, A>(
        round: &Arc<Round<T, A>>,
        operation: &'static str,
        first: usize,
    ) -> Result<Self, Unfinished>
    where
        T: Send + Sync + 'static,
        A: Fn(&Node, &T) -> R + Send + Sync + 'static,
    {
        let (answer, answers) = mpsc::channel();
        let round = Arc::clone(round);
        let ask = move || {
            for item in round.items.iter().skip(first) {
                if answer.send((round.ask)(&round.node, item)).is_err() {
                    return;
                }
            }
        };
        let thread = thread::Builder::new()
            .name(operation.to_owned())
            .spawn(ask)
            .map_err(|error| Unfinished::no_thread(operation, &error))?;
        Ok(Self { answers, thread })
    }

    /// Takes answers until all are there, or one takes longer than `limit`.
    fn collect(self, answers: &mut Vec<R>, clock: &dyn Clock, limit: Duration, deadline: Deadline) {
        let patience = || deadline.min(Deadline::within(clock, limit));
        let mut end = patience();
        loop {
            let left = end.left(clock).unwrap_or_default();
            match self.answers.recv_timeout(left.min(SLICE)) {
                Ok(answer) => {
                    answers.push(answer);
                    end = patience();
                }
                Err(RecvTimeoutError::Timeout) if end.left(clock).is_some() => {}
                Err(RecvTimeoutError::Timeout) => return,
                Err(RecvTimeoutError::Disconnected) => {
                    return self.thread.join().unwrap_or_else(resume);
                }
            }
        }
    }
}

fn resume(panicked: Box<dyn Any + Send>) {
    panic::resume_unwind(panicked)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use os::DiskNumber;
    use os_sim::{ClockMode, NodeSpec, SimNode};
    use tempfile::TempDir;

    use super::super::Object;
    use super::*;
    use crate::Options;

    fn node() -> (Node, TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let spec = NodeSpec::named("node-1");
        let sim = SimNode::create(folder.path(), &spec, ClockMode::Virtual).unwrap();
        (Node::new(sim.os(), Options::default()), folder)
    }

    #[test]
    fn answers_come_in_the_order_of_the_items() {
        let (node, _folder) = node();
        let items: Vec<u32> = (0..100).collect();
        let double = |_: &Node, item: &u32| item * 2;
        let answers = each(&node, "ask", Deadline::NEVER, items, double).unwrap();
        assert_eq!(answers, (0..100).map(|item| item * 2).collect::<Vec<_>>());
    }

    /// The first try ends only after the second has answered.
    #[test]
    fn where_one_is_stuck_another_goes_on() {
        let (node, _folder) = node();
        let (release, released) = mpsc::channel::<()>();
        let stuck = Mutex::new(Some(released));
        let ask = move |node: &Node, item: &u32| {
            let first = (*item == 2).then(|| stuck.lock().unwrap().take()).flatten();
            if let Some(released) = first {
                while released.recv_timeout(SLICE) == Err(RecvTimeoutError::Timeout) {
                    node.os().clock.sleep(ANSWER_WITHIN);
                }
            }
            *item
        };
        let answers = each(&node, "ask", Deadline::NEVER, vec![1, 2, 3], ask);
        assert_eq!(answers, Ok(vec![1, 2, 3]));
        drop(release);
    }

    /// Eight disks behind a dead path cost one wait and not eight: the clock stands still while seven begin.
    #[test]
    fn those_that_hang_together_are_waited_for_together() {
        let (node, _folder) = node();
        let clock = Arc::clone(&node.os().clock);
        let (release, released) = mpsc::channel::<()>();
        let (begin, begun) = mpsc::channel();
        let (begin, released) = (Mutex::new(begin), Mutex::new(released));
        let ask = move |node: &Node, item: &u32| {
            let looked = node.in_flight().at(&Object::Disk(DiskNumber(*item)), || {
                if *item >= 2 {
                    begin.lock().unwrap().send(()).unwrap();
                    let _ = released.lock().unwrap().recv();
                }
                Ok::<_, os::Error>(())
            });
            looked.is_ok()
        };
        let items = (0..10).collect();
        let asking = thread::spawn(move || each(&node, "ask", Deadline::NEVER, items, ask));
        begun.recv().unwrap();
        while begun.recv_timeout(SLICE).is_err() {
            clock.sleep(ANSWER_WITHIN);
        }
        for _ in 0..6 {
            begun.recv_timeout(Duration::from_secs(60)).unwrap();
        }
        while !asking.is_finished() {
            clock.sleep(ANSWER_WITHIN);
            let _ = begun.recv_timeout(SLICE);
        }
        let answers = asking.join().unwrap().unwrap();
        assert_eq!(answers.iter().filter(|is_ok| **is_ok).count(), 2);
        drop(release);
    }

    /// All 200 hang. 64 of them are queried on threads of their own; the few others were queried in order, on
    /// threads that hang at their first item.
    #[test]
    fn so_many_are_asked_at_once_and_no_more() {
        let (node, _folder) = node();
        let clock = Arc::clone(&node.os().clock);
        let deadline = Deadline::within(&*clock, ANSWER_WITHIN * 3);
        let (release, released) = mpsc::channel::<()>();
        let (begin, begun) = mpsc::channel();
        let (begin, released) = (Mutex::new(begin), Mutex::new(released));
        let hang = move |_: &Node, _: &u32| {
            begin.lock().unwrap().send(()).unwrap();
            let _ = released.lock().unwrap().recv();
        };
        let items = (0..200).collect();
        let asking = thread::spawn(move || each(&node, "ask", deadline, items, hang));
        let mut all = 0;
        while !asking.is_finished() {
            match begun.recv_timeout(SLICE) {
                Ok(()) => all += 1,
                Err(_) => clock.sleep(ANSWER_WITHIN / 4),
            }
        }
        assert!(asking.join().unwrap().is_err());
        drop(release);
        // The channel ends when the last thread has.
        all += begun.iter().count();
        assert!(all < MOST_AT_ONCE + 10, "{all} were begun");
    }

    #[test]
    fn at_the_deadline_the_caller_goes() {
        let (node, _folder) = node();
        let deadline = Deadline::within(&*node.os().clock, Duration::from_secs(5));
        let (release, released) = mpsc::channel::<()>();
        let released = Mutex::new(released);
        let hang = move |node: &Node, (): &()| {
            node.os().clock.sleep(Duration::from_secs(6));
            let _ = released.lock().unwrap().recv();
        };
        let answers = each(&node, "ask", deadline, vec![()], hang);
        assert!(matches!(answers, Err(Unfinished::Deadline { .. })));
        drop(release);
    }

    #[test]
    fn a_panic_reaches_the_caller() {
        let caught = panic::catch_unwind(|| {
            let (node, _folder) = node();
            let fall = |_: &Node, (): &()| -> u8 { panic!("fell") };
            each(&node, "fall", Deadline::NEVER, vec![()], fall)
        });
        assert!(caught.is_err());
    }
}
