use std::mem;
use std::sync::Arc;
use std::time::Duration;

use wincsi::filesystem::Look;
use wincsi::volumes::Space;
use wincsi::{Cause, Condition, Deadline, Error, Feature, NodeApi, WinPath};

use super::Kubelet;
use super::health::Health;
use super::vol_data::VolData;
use super::waiting::ServerWaits;
use crate::in_flight::InFlight;
use crate::machine::Machine;
use crate::record::{Record, Store, VolumeHandle};

/// What kinds work with: the node, the records, and the calls that run.
pub struct Context {
    pub(crate) node: Arc<dyn NodeApi>,
    pub(crate) store: Store,
    pub(crate) machine: Arc<dyn Machine>,
    pub(crate) kubelet: Kubelet,
    pub(crate) running: InFlight,
    pub(super) health: Health,
    pub(super) waiting: ServerWaits,
}

impl Context {
    pub(super) fn new(
        node: Arc<dyn NodeApi>,
        store: Store,
        machine: Arc<dyn Machine>,
        kubelet: Kubelet,
    ) -> Self {
        Self {
            node,
            store,
            machine,
            kubelet,
            running: InFlight::default(),
            health: Health::default(),
            waiting: ServerWaits::default(),
        }
    }

    pub(crate) fn note_normal(&self, volume: &VolumeHandle, space: Option<Space>) {
        let was_abnormal = self.health.note(volume, &self.store, |state| {
            state.space = space.or(state.space);
            mem::replace(&mut state.is_abnormal, false)
        });
        if was_abnormal {
            tracing::info!("volume {volume} is normal again");
        }
    }

    /// Reports once until the volume is normal again. One of another boot than this only waits for kubelet's next stage.
    pub(crate) fn note_abnormal<C>(&self, record: &Record<C>, boot: Option<&str>, reason: &str) {
        let volume = &record.volume;
        let was_normal = self.health.note(volume, &self.store, |state| {
            !mem::replace(&mut state.is_abnormal, true)
        });
        if was_normal && !record.is_of_boot(boot) {
            tracing::info!("volume {volume} waits for its next stage after a reboot: {reason}");
        } else if was_normal {
            tracing::error!("volume {volume} is abnormal: {reason}");
            let event = format!("volume {volume} is abnormal: {reason}");
            self.machine.report(&event);
        }
    }

    /// How long it is until then.
    pub(crate) fn left_until(&self, deadline: Deadline) -> Duration {
        let now = self.node.deadline(Duration::ZERO);
        now.0.until(deadline.0)
    }

    /// This boot, if the node reports it. No call fails for it: a start then removes no entry of a recorded volume.
    pub(crate) fn boot(&self, deadline: Deadline) -> Option<String> {
        if !self.has(Feature::SystemIdentity) {
            return None;
        }
        let boot = self.node.system().boot_id(deadline);
        boot.inspect_err(|error| tracing::warn!("this boot is not known: {error}"))
            .map(|boot| boot.0)
            .ok()
    }

    /// What is exactly at a path; none if the host cannot tell.
    pub(crate) fn look(&self, at: &WinPath, deadline: Deadline) -> Result<Option<Look>, Error> {
        match self.has(Feature::EntryLooks) {
            true => self.node.filesystem().look(at, deadline).map(Some),
            false => Ok(None),
        }
    }

    /// As [`Self::look`]. A file is an error.
    pub(crate) fn entry(&self, at: &WinPath, deadline: Deadline) -> Result<Option<Look>, Error> {
        match self.look(at, deadline)? {
            Some(Look::File { .. }) => {
                let cause = Cause::InvalidArgument(String::from("a file is there"));
                Err(Error::new("remove", at, cause))
            }
            look => Ok(look),
        }
    }

    /// Removes a link, an empty directory or a mounted folder; nothing of what it leads to, and no file. What is not
    /// there is success.
    pub(crate) fn remove_entry(&self, at: &WinPath, deadline: Deadline) -> Result<(), Error> {
        if self.has(Feature::EntryLooks) {
            // Of a link to a share a look would ask more.
            match self.node.filesystem().read_link(at, deadline) {
                Err(error) if error.is(Condition::NotFound) => return Ok(()),
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => drop(self.entry(at, deadline)?),
            }
        }
        self.remove(at, deadline)
    }

    pub(crate) fn remove(&self, at: &WinPath, deadline: Deadline) -> Result<(), Error> {
        match self.node.filesystem().remove_entry(at, deadline) {
            Err(error) if error.is(Condition::NotFound) => Ok(()),
            done => done,
        }
    }

    /// Makes a directory link, in a way that the host has.
    pub(crate) fn make_link(
        &self,
        to: &WinPath,
        at: &WinPath,
        deadline: Deadline,
    ) -> Result<(), Error> {
        let files = self.node.filesystem();
        match self.has(Feature::DirectoryLinks) {
            true => files.link_directory(to, at, deadline),
            false => files.create_symlink(to, at, deadline),
        }
    }

    /// Whether kubelet's file beside the staging path names this driver and the volume.
    pub(crate) fn is_of_kubelet(&self, volume: &VolumeHandle, staging: &WinPath) -> bool {
        let data = VolData::beside(staging, self.machine.as_ref());
        data.is_some_and(|data| data.names(&self.kubelet.driver_name, volume))
    }
}

pub(crate) fn is_nothing_mounted(error: &Error) -> bool {
    error.is(Condition::NotFound) || error.is(Condition::NotAMountedFolder)
}
