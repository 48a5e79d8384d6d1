//! What calls for one share tell each other while they wait for its lock.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use os::WinPath;

use super::SmbError;
use super::look::Seen;

/// What a look at a share, or at a folder of it, has ended with.
pub(super) type Looked = Result<Seen, SmbError>;

/// The calls that are under way for shares, and what the latest of them saw there.
#[derive(Default)]
pub(crate) struct Visits(Mutex<State>);

#[derive(Default)]
struct State {
    next: u64,
    shares: BTreeMap<String, Visited>,
}

#[derive(Default)]
struct Visited {
    callers: usize,
    /// By the folder, which is none for the share's root, with when the look began.
    seen: HashMap<Option<WinPath>, (u64, Looked)>,
}

/// A call for a share, from before it waits for the share's lock.
///
/// A look that began after the call came tells it as much as one of its own would. So of those who wait for one
/// share the first looks for all: a hundred volumes of a slow share take as long as two.
pub(super) struct Visit<'a> {
    visits: &'a Visits,
    share: String,
    since: u64,
}

impl Visits {
    pub(super) fn begin(&self, share: String) -> Visit<'_> {
        let mut state = self.state();
        let since = state.tick();
        state.shares.entry(share.clone()).or_default().callers += 1;
        Visit {
            visits: self,
            share,
            since,
        }
    }

    /// A panic elsewhere cannot leave the map half changed: nothing in here can panic.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn tick(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

impl Visit<'_> {
    /// What is seen at a folder of the share or, without one, at its root: by another's look, or by one of its
    /// own, of which others are told if it `tells` them anything.
    pub(super) fn look(
        &self,
        folder: Option<&WinPath>,
        look: impl FnOnce() -> Looked,
        tells: impl FnOnce(&Looked) -> bool,
    ) -> Looked {
        let folder = folder.cloned();
        let began = {
            let mut state = self.visits.state();
            let visited = state.shares.get(&self.share);
            match visited.and_then(|visited| visited.seen.get(&folder)) {
                Some((began, looked)) if *began > self.since => return looked.clone(),
                _ => state.tick(),
            }
        };
        let looked = look();
        if tells(&looked)
            && let Some(visited) = self.visits.state().shares.get_mut(&self.share)
        {
            visited.seen.insert(folder, (began, looked.clone()));
        }
        looked
    }

    /// To be called when the share is mapped or unmapped: what was seen there is over.
    pub(super) fn forget_looks(&self) {
        if let Some(visited) = self.visits.state().shares.get_mut(&self.share) {
            visited.seen.clear();
        }
    }
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        let mut state = self.visits.state();
        let Some(visited) = state.shares.get_mut(&self.share) else {
            return;
        };
        visited.callers -= 1;
        if visited.callers == 0 {
            state.shares.remove(&self.share);
        }
    }
}
