//! The calls that run, by volume.
//!
//! A stage, an unstage and an expansion have their volume to themselves. Publishes and unpublishes of one volume run side
//! by side at different targets. A call that meets another is rejected at once (`Aborted`); kubelet repeats it.
//!
//! What no call asked for is never a reason to reject one. It watches a volume while it looks at it, and calls run beside.
//! It acts only if none came since, and a call that comes while it acts waits until it has.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Condvar, MutexGuard, PoisonError};

use crate::record::VolumeHandle;
use crate::unpoisoned::Unpoisoned;

/// Calls that kubelet may have at a time: it makes one for each of up to 250 pods of a node at once, of each of their
/// volumes.
pub(crate) const CALLS: usize = 512;

/// Another call for the volume runs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("another call for volume {0} runs")]
pub struct Busy(VolumeHandle);

#[derive(Debug, Default)]
pub struct InFlight {
    uses: Unpoisoned<BTreeMap<VolumeHandle, Use>>,
    /// A volume that was used without a call is not any more.
    released: Condvar,
    /// The volumes that calls had since the observation began that runs, if one runs.
    observed: Unpoisoned<Option<BTreeSet<VolumeHandle>>>,
}

#[derive(Debug)]
enum Use {
    Alone,
    At(BTreeSet<String>),
    /// Something other than a call looks at it.
    Watched,
    /// Something other than a call changes it.
    BetweenCalls,
}

impl InFlight {
    /// A turn in which no other call for the volume runs.
    pub fn alone(&self, volume: &VolumeHandle) -> Result<Turn<'_>, Busy> {
        self.begin(volume, None)
    }

    /// A turn in which no other call for this target of the volume runs, and none that takes the volume alone.
    pub fn at(&self, volume: &VolumeHandle, target: &str) -> Result<Turn<'_>, Busy> {
        self.begin(volume, Some(target.to_owned()))
    }

    fn begin(&self, volume: &VolumeHandle, target: Option<String>) -> Result<Turn<'_>, Busy> {
        let mut uses = self.lock_for_call(volume);
        if let Some(observed) = &mut *self.observed.lock() {
            observed.insert(volume.clone());
        }
        let of_volume = uses.entry(volume.clone()).or_insert(Use::Watched);
        match (&mut *of_volume, &target) {
            (Use::Watched, None) => *of_volume = Use::Alone,
            (Use::Watched, Some(target)) => *of_volume = Use::At([target.clone()].into()),
            (Use::At(targets), Some(target)) if !targets.contains(target) => {
                targets.insert(target.clone());
            }
            _ => return Err(Busy(volume.clone())),
        }
        Ok(Turn::new(self, volume, target))
    }

    /// Watches a volume; none if a call for it runs, or it is watched.
    pub fn watch(&self, volume: &VolumeHandle) -> Option<Watch<'_>> {
        let mut uses = self.uses.lock();
        if uses.contains_key(volume) {
            return None;
        }
        uses.insert(volume.clone(), Use::Watched);
        Some(Watch {
            of: self,
            volume: volume.clone(),
        })
    }

    /// The volumes that have calls while `run` runs, with what it returns. No call waits for it, and one observation runs
    /// at a time.
    pub(crate) fn observed<T>(&self, run: impl FnOnce() -> T) -> (T, BTreeSet<VolumeHandle>) {
        let is_call = |of_volume: &Use| !matches!(of_volume, Use::Watched);
        let uses = self.uses.lock();
        let now = uses.iter().filter(|(_, of_volume)| is_call(of_volume));
        *self.observed.lock() = Some(now.map(|(volume, _)| volume.clone()).collect());
        drop(uses);
        let observation = Observation(self);
        let answer = run();
        (answer, observation.end())
    }

    /// Waits while something other than a call has the volume.
    fn lock_for_call(&self, volume: &VolumeHandle) -> MutexGuard<'_, BTreeMap<VolumeHandle, Use>> {
        let is_between =
            |uses: &mut BTreeMap<_, _>| matches!(uses.get(volume), Some(Use::BetweenCalls));
        let waited = self.released.wait_while(self.uses.lock(), is_between);
        waited.unwrap_or_else(PoisonError::into_inner)
    }
}

/// Notes the volumes of calls until it is dropped, also by a panic.
struct Observation<'a>(&'a InFlight);

impl Observation<'_> {
    fn end(self) -> BTreeSet<VolumeHandle> {
        self.0.observed.lock().take().unwrap_or_default()
    }
}

impl Drop for Observation<'_> {
    fn drop(&mut self) {
        self.0.observed.lock().take();
    }
}

/// A look at a volume beside which calls run, until it is dropped.
#[derive(Debug)]
pub struct Watch<'a> {
    of: &'a InFlight,
    volume: VolumeHandle,
}

impl<'a> Watch<'a> {
    /// A turn for which calls wait; none if a call came since the watch began. It should be short.
    pub fn unless_called(self) -> Option<Turn<'a>> {
        let mut uses = self.of.uses.lock();
        let of_volume = uses.get_mut(&self.volume)?;
        if !matches!(of_volume, Use::Watched) {
            return None;
        }
        *of_volume = Use::BetweenCalls;
        if let Some(observed) = &mut *self.of.observed.lock() {
            observed.insert(self.volume.clone());
        }
        Some(Turn::new(self.of, &self.volume, None))
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        let mut uses = self.of.uses.lock();
        if matches!(uses.get(&self.volume), Some(Use::Watched)) {
            uses.remove(&self.volume);
        }
    }
}

/// The right of one call to its volume, until it is dropped.
#[derive(Debug)]
pub struct Turn<'a> {
    of: &'a InFlight,
    volume: VolumeHandle,
    target: Option<String>,
}

impl<'a> Turn<'a> {
    fn new(of: &'a InFlight, volume: &VolumeHandle, target: Option<String>) -> Self {
        let volume = volume.clone();
        Self { of, volume, target }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut uses = self.of.uses.lock();
        let is_over = match (uses.get_mut(&self.volume), &self.target) {
            (Some(Use::At(targets)), Some(target)) => {
                targets.remove(target);
                targets.is_empty()
            }
            _ => true,
        };
        if is_over && matches!(uses.remove(&self.volume), Some(Use::BetweenCalls)) {
            self.of.released.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{self, AssertUnwindSafe};
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;

    const LONG: Duration = Duration::from_secs(120);

    /// So often the processor goes to a thread that is about to be rejected, if it is.
    const YIELDS: u32 = 1_000;

    fn volume(name: &str) -> VolumeHandle {
        VolumeHandle::parse(name).unwrap()
    }

    #[test]
    fn a_call_that_has_its_volume_alone_meets_no_other() {
        let (running, volume) = (InFlight::default(), volume("v"));
        let turn = running.alone(&volume).unwrap();
        assert!(running.alone(&volume).is_err());
        assert!(running.at(&volume, "a").is_err());
        drop(turn);
        assert!(running.at(&volume, "a").is_ok());
    }

    #[test]
    fn targets_are_served_side_by_side_and_each_once() {
        let (running, volume) = (InFlight::default(), volume("v"));
        let one = running.at(&volume, "a").unwrap();
        let other = running.at(&volume, "b").unwrap();
        assert!(running.at(&volume, "a").is_err());
        assert!(running.alone(&volume).is_err());
        drop(one);
        assert!(running.alone(&volume).is_err());
        drop(other);
        assert!(running.alone(&volume).is_ok());
    }

    #[test]
    fn volumes_do_not_wait_for_one_another() {
        let running = InFlight::default();
        let _turn = running.alone(&volume("v")).unwrap();
        assert!(running.alone(&volume("w")).is_ok());
    }

    #[test]
    fn a_call_runs_beside_a_watch_which_then_has_no_turn() {
        let (running, volume) = (InFlight::default(), volume("v"));
        let calls: [fn(&InFlight, &VolumeHandle); 2] = [
            |running, volume| drop(running.alone(volume).unwrap()),
            |running, volume| drop(running.at(volume, "a").unwrap()),
        ];
        for call in calls {
            let watch = running.watch(&volume).unwrap();
            call(&running, &volume);
            assert!(watch.unless_called().is_none());
        }
        let turn = running.alone(&volume).unwrap();
        assert!(running.watch(&volume).is_none());
        drop(turn);
        drop(running.watch(&volume).unwrap());
        assert!(running.uses.lock().is_empty());
    }

    /// Of calls before, that ended meanwhile, and that were rejected, and of changes between calls; but no watch, and no
    /// call after.
    #[test]
    fn an_observation_has_the_volumes_of_calls_beside_it() {
        let running = InFlight::default();
        let before = running.at(&volume("before"), "t").unwrap();
        let _watch = running.watch(&volume("watched")).unwrap();
        let (answer, called) = running.observed(|| {
            drop(running.alone(&volume("ended")).unwrap());
            let watch = running.watch(&volume("changed")).unwrap();
            drop(watch.unless_called().unwrap());
            running.alone(&volume("before")).unwrap_err();
            1
        });
        drop(before);
        let names = ["before", "changed", "ended"].map(volume);
        assert_eq!((answer, called), (1, names.into()));
        let panics = || running.observed(|| panic!("as told"));
        let outcome: thread::Result<((), _)> = panic::catch_unwind(AssertUnwindSafe(panics));
        outcome.unwrap_err();
        drop(running.alone(&volume("after")).unwrap());
        assert_eq!(*running.observed.lock(), None);
    }

    #[test]
    fn a_call_waits_for_a_turn_between_calls_and_is_not_rejected() {
        let (running, volume) = (InFlight::default(), volume("v"));
        let turn = running.watch(&volume).unwrap().unless_called().unwrap();
        let (sender, receiver) = mpsc::channel();
        let called = thread::scope(|scope| {
            scope.spawn(|| {
                sender.send(None).unwrap();
                let called = running.alone(&volume).map(drop);
                sender.send(Some(called)).unwrap();
            });
            assert_eq!(receiver.recv_timeout(LONG), Ok(None));
            (0..YIELDS).for_each(|_| thread::yield_now());
            let early = receiver.try_recv();
            drop(turn);
            early.or_else(|_| receiver.recv_timeout(LONG))
        });
        assert_eq!(called, Ok(Some(Ok(()))));
        assert!(running.uses.lock().is_empty());
    }

    #[test]
    fn each_call_that_waits_goes_on_with_its_own_volume() {
        let (running, volumes) = (InFlight::default(), ["a", "b", "c"].map(volume));
        let turn = |volume| running.watch(volume).unwrap().unless_called().unwrap();
        let turns = volumes.each_ref().map(turn);
        let (sender, receiver) = mpsc::channel();
        let go_on = thread::scope(|scope| {
            for volume in &volumes {
                let (sender, running) = (sender.clone(), &running);
                scope.spawn(move || {
                    sender.send(None).unwrap();
                    let called = running.alone(volume).map(drop);
                    sender.send(Some(called)).unwrap();
                });
                assert_eq!(receiver.recv_timeout(LONG), Ok(None));
                (0..YIELDS).for_each(|_| thread::yield_now());
            }
            // Who waits longest has its volume last.
            let go_on = turns.into_iter().rev().all(|turn| {
                drop(turn);
                receiver.recv_timeout(LONG) == Ok(Some(Ok(())))
            });
            // Else a call that nobody told would wait for ever.
            running.released.notify_all();
            go_on
        });
        assert!(go_on);
    }
}
