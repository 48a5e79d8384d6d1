//! The guard's verdict on each disk: in the log once, and on a page on request.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use node::{Node, Verdict};
use os::{Deadline, DiskNumber};
use program::escape::bounded;

/// The most time of a query. The first may have to connect to WMI: up to two minutes if that hangs.
const LOOK_WITHIN: Duration = Duration::from_secs(150);

/// How long a page waits for a running query, before it shows the last result.
const TIMEOUT: Duration = Duration::from_secs(2);

/// How old an answer may be before another look is begun.
const FRESH: Duration = Duration::from_secs(10);

/// The most disks named; a last line says that there are more.
const MOST: usize = 128;

/// The longest text of a failure in the log, in bytes.
const LONGEST: usize = 512;

/// Queries the disks on a thread of its own, one query at a time: a hung disk delays nobody.
pub(crate) struct DiskGuards {
    node: Node,
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Default)]
struct State {
    is_looking: bool,
    latest: Option<Seen>,
}

#[derive(Clone)]
struct Seen {
    at: Instant,
    /// A line for each disk.
    lines: Vec<String>,
}

impl DiskGuards {
    /// Begins a query for the log, and does not wait for it.
    pub(crate) fn start(node: Node) -> Arc<Self> {
        let guards = Arc::new(Self {
            node,
            state: Mutex::default(),
            ended: Condvar::new(),
        });
        guards.begin(&mut guards.state(), log);
        guards
    }

    /// The latest result, a line for each disk. No line has a text of clients, disks or others.
    pub(crate) fn lines(self: &Arc<Self>) -> Vec<String> {
        let mut state = self.state();
        let is_old = |seen: &Seen| seen.at.elapsed() >= FRESH;
        if !state.is_looking && state.latest.as_ref().is_none_or(is_old) {
            self.begin(&mut state, |_| {});
        }
        let waited = self
            .ended
            .wait_timeout_while(state, TIMEOUT, |state| state.is_looking);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        shown(&state)
    }

    fn begin(self: &Arc<Self>, state: &mut State, report: fn(&Judged)) {
        let guards = Arc::clone(self);
        let look = move || {
            let judged = guards.judge();
            report(&judged);
            let mut state = guards.state();
            state.is_looking = false;
            state.latest = Some(Seen {
                at: Instant::now(),
                lines: lines(&judged),
            });
            drop(state);
            guards.ended.notify_all();
        };
        let thread = thread::Builder::new().name(String::from("disk guard"));
        state.is_looking = thread.spawn(look).is_ok();
    }

    /// A failure becomes a fixed text: its details about the node go to the log only.
    fn judge(&self) -> Judged {
        let deadline = Deadline::within(&*self.node.os().clock, LOOK_WITHIN);
        let verdicts = self.node.operations().disks().verdicts(deadline);
        verdicts.map_err(|error| error.to_string())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Judged = Result<BTreeMap<DiskNumber, Verdict>, String>;

fn shown(state: &State) -> Vec<String> {
    let Some(seen) = &state.latest else {
        return vec![String::from(
            "disk guard: the disks have not been looked at yet",
        )];
    };
    let age = seen.at.elapsed().as_secs();
    let head = match state.is_looking {
        true => format!("disk guard: {age} s ago; a look since then has not ended"),
        false => format!("disk guard: {age} s ago"),
    };
    [head].into_iter().chain(seen.lines.clone()).collect()
}

fn lines(judged: &Judged) -> Vec<String> {
    let Ok(verdicts) = judged else {
        return vec![String::from("the disks cannot be listed")];
    };
    let named = verdicts.iter().take(MOST);
    let mut lines: Vec<_> = named
        .map(|(disk, verdict)| format!("disk {disk} {verdict}"))
        .collect();
    if let Some(more) = verdicts.len().checked_sub(MOST).filter(|more| *more > 0) {
        lines.push(format!("and {more} more disks"));
    }
    lines
}

fn log(judged: &Judged) {
    let verdicts = match judged {
        Ok(verdicts) => verdicts,
        Err(error) => {
            let error = bounded(error.clone(), LONGEST);
            tracing::warn!(error, "disk guard: the disks cannot be listed");
            return;
        }
    };
    for (disk, verdict) in verdicts.iter().take(MOST) {
        match verdict.failure() {
            None => tracing::info!("disk guard: disk {disk} {verdict}"),
            Some(failure) => {
                let error = bounded(failure.to_string(), LONGEST);
                tracing::warn!(error, "disk guard: disk {disk} {verdict}");
            }
        }
    }
    if verdicts.len() > MOST {
        tracing::info!("disk guard: and {} more disks", verdicts.len() - MOST);
    }
}
