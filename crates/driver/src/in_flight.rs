//! The calls that run, by volume.
//!
//! A stage, an unstage and an expansion have their volume to themselves. Publishes and unpublishes of one volume run side
//! by side at different targets. A call that meets another is rejected at once (`Aborted`); kubelet repeats it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::record::VolumeHandle;

/// Another call for the volume runs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("another call for volume {volume} runs")]
pub struct Busy {
    volume: VolumeHandle,
}

/// The calls that run.
#[derive(Debug, Default)]
pub struct InFlight(Mutex<BTreeMap<VolumeHandle, Use>>);

#[derive(Debug)]
enum Use {
    Alone,
    At(BTreeSet<String>),
}

impl InFlight {
    /// A turn in which no other call for the volume runs.
    ///
    /// # Errors
    /// One does.
    pub fn alone(&self, volume: &VolumeHandle) -> Result<Turn<'_>, Busy> {
        let mut uses = self.lock();
        if uses.contains_key(volume) {
            return Err(Busy::of(volume));
        }
        uses.insert(volume.clone(), Use::Alone);
        Ok(Turn::new(self, volume, None))
    }

    /// A turn in which no other call for this target of the volume runs, and none that takes the volume alone.
    ///
    /// # Errors
    /// One does.
    pub fn at(&self, volume: &VolumeHandle, target: &str) -> Result<Turn<'_>, Busy> {
        let mut uses = self.lock();
        let of_volume = uses
            .entry(volume.clone())
            .or_insert_with(|| Use::At(BTreeSet::new()));
        let is_free = match of_volume {
            Use::Alone => false,
            Use::At(targets) => targets.insert(target.to_owned()),
        };
        match is_free {
            true => Ok(Turn::new(self, volume, Some(target.to_owned()))),
            false => Err(Busy::of(volume)),
        }
    }

    fn end(&self, volume: &VolumeHandle, target: Option<&str>) {
        let mut uses = self.lock();
        let is_over = match (uses.get_mut(volume), target) {
            (Some(Use::At(targets)), Some(target)) => {
                targets.remove(target);
                targets.is_empty()
            }
            _ => true,
        };
        if is_over {
            uses.remove(volume);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<VolumeHandle, Use>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Busy {
    fn of(volume: &VolumeHandle) -> Self {
        let volume = volume.clone();
        Self { volume }
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
        self.of.end(&self.volume, self.target.as_deref());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
