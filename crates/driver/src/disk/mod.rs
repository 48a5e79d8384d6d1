//! Volumes that are disks: stage, publish, grow, report, unpublish, unstage.
//!
//! Every operation may be repeated at any point, also by another process after this one died. Each takes its turn among
//! the calls for its volume ([`InFlight`]), and writes the record before it changes the node.

mod codes;
mod error;
mod expand;
mod health;
mod kubelet;
mod publish;
mod reconcile;
mod stage;
mod stats;
mod unpublish;
mod unstage;
mod vol_data;

use std::sync::Arc;
use std::time::Duration;

use program::metrics::{Exposition, Kind};
use wincsi::filesystem::Look;
use wincsi::volumes::{FoundVolume, Space, VolumeId};
use wincsi::{Cause, Condition, Deadline, Error, Feature, NodeApi, ResultExt as _, WinPath};

use self::health::{Health, News};
use self::vol_data::VolData;
use crate::in_flight::InFlight;
use crate::machine::Machine;
use crate::record::{Record, Store, VolumeHandle};

pub use self::codes::code_rows;
pub use self::error::{NodeError, Shared};
pub use self::expand::ExpandError;
pub(crate) use self::kubelet::place;
pub use self::kubelet::{Kubelet, PlaceError};
pub use self::publish::{Publish, PublishError};
pub use self::reconcile::Reconciliation;
pub use self::stage::{Stage, StageError};
pub use self::stats::{Stats, StatsError, Usage};
pub use self::unpublish::UnpublishError;
pub use self::unstage::UnstageError;

/// How long a call may take: less than the two minutes after which kubelet calls again.
const CALL: Duration = Duration::from_secs(110);

/// How long a stage waits for a disk that the controller has just attached. It leaves time for the rest of the call.
const ARRIVAL: Duration = Duration::from_secs(60);

/// The disks of a node, as CSI volumes.
pub struct DiskVolumes {
    node: Arc<dyn NodeApi>,
    store: Store,
    machine: Arc<dyn Machine>,
    kubelet: Kubelet,
    running: InFlight,
    health: Health,
    /// How long a stage waits for its disk.
    arrival: Duration,
}

impl DiskVolumes {
    /// The volumes of a node, with the records of what was done of them before.
    pub fn new(
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
            arrival: ARRIVAL,
        }
    }

    /// The same, where a stage waits so long for its disk: for tests of a host whose clock they cannot move.
    #[doc(hidden)]
    #[must_use]
    pub fn waiting_for_disks(self, arrival: Duration) -> Self {
        Self { arrival, ..self }
    }

    /// Adds what is known of the volumes to a page of metrics, without a query to the node.
    pub fn render(&self, page: &mut Exposition) {
        let (recorded, unreadable) = (self.store.recorded(), self.store.unreadable());
        let name = "wincsi_volumes";
        page.family(name, "Volumes that have a record.", Kind::Gauge);
        page.sample(name, &[], recorded);
        let name = "wincsi_records_unreadable";
        page.family(
            name,
            "Records that this version cannot read, and leaves alone.",
            Kind::Gauge,
        );
        page.sample(name, &[], unreadable);
        let name = "wincsi_volume_abnormal";
        page.family(name, "1 for each volume that is abnormal.", Kind::Gauge);
        for volume in self.health.abnormal_volumes() {
            page.sample(name, &[("volume", volume.as_str())], 1);
        }
    }

    fn note_normal(&self, volume: &VolumeHandle, space: Option<Space>) {
        let is_recorded = || self.store.has(volume);
        if self.health.normal(volume, space, is_recorded) == News::Changed {
            tracing::info!("volume {volume} is normal again");
        }
    }

    /// Reports once until the volume is normal again.
    fn note_abnormal(&self, volume: &VolumeHandle, reason: &str) {
        let is_recorded = || self.store.has(volume);
        if self.health.abnormal(volume, reason, is_recorded) == News::Changed {
            tracing::error!("volume {volume} is abnormal: {reason}");
            let event = format!("volume {volume} is abnormal: {reason}");
            self.machine.report(&event);
        }
    }

    fn deadline(&self) -> Deadline {
        self.node.deadline(CALL)
    }

    /// This boot, if the node reports it. No call fails for it: a start then removes no entry of a recorded volume.
    fn boot(&self, deadline: Deadline) -> Option<String> {
        if !self.node.supports(Feature::SystemIdentity) {
            return None;
        }
        let boot = self.node.system().boot_id(deadline);
        boot.inspect_err(|error| tracing::warn!("this boot is not known: {error}"))
            .map(|boot| boot.0)
            .ok()
    }

    /// The volume that is mounted where a path leads to by links, if it is the one that the record has.
    fn live(
        &self,
        record: &Record,
        path: &WinPath,
        deadline: Deadline,
    ) -> Result<Option<FoundVolume>, Error> {
        match self.node.volumes().find_at(path, deadline) {
            Ok(found) if record.mounted == Some(found.id()) => Ok(Some(found)),
            Ok(_) => Ok(None),
            Err(error) if is_nothing_mounted(&error) => Ok(None),
            Err(error) => match self.is_stale(path, deadline)? {
                true => Ok(None),
                false => Err(error),
            },
        }
    }

    /// Whether a mounted folder is there whose volume is gone.
    fn is_stale(&self, at: &WinPath, deadline: Deadline) -> Result<bool, Error> {
        let entry = self.entry(at, deadline)?;
        let is_there = |entry: &Look| {
            !matches!(
                entry,
                Look::MountedFolder {
                    is_there: false,
                    ..
                }
            )
        };
        Ok(!entry.as_ref().is_none_or(is_there))
    }

    /// Unmounts what is mounted exactly at a path, and removes the folder, if it is empty. What is not there is success,
    /// and of a link the link alone is removed. `recorded` is the volume that the record has there.
    fn dismount(
        &self,
        at: &WinPath,
        recorded: Option<VolumeId>,
        deadline: Deadline,
    ) -> Result<(), Error> {
        let mounted = match self.entry(at, deadline)? {
            Some(Look::Link(_) | Look::Missing) => None,
            // Also one whose volume is gone, as its disk was pulled out.
            Some(Look::MountedFolder { volume, .. }) => Some(volume),
            Some(_) => self.mounted_at(at, deadline)?,
            None => return self.dismount_unseen(at, recorded, deadline),
        };
        if let Some(volume) = mounted {
            self.node.volumes().unmount(volume, at, deadline)?;
        }
        self.remove(at, deadline)
    }

    /// [`Self::dismount`] through a host that cannot tell what is at the path: it follows links, and does not reach a
    /// volume whose disk is gone. Its unmount knows both.
    fn dismount_unseen(
        &self,
        at: &WinPath,
        recorded: Option<VolumeId>,
        deadline: Deadline,
    ) -> Result<(), Error> {
        let mounted = match self.mounted_at(at, deadline) {
            Err(error) if error.is(Condition::OutOfReach) => Some(recorded.ok_or(error)?),
            Err(error) if error.is(Condition::DanglingLink) => None,
            mounted => mounted?,
        };
        if let Some(volume) = mounted {
            let unmounted = self.node.volumes().unmount(volume, at, deadline);
            unmounted.ok_if(Condition::NotAMountedFolder)?;
        }
        self.remove(at, deadline)
    }

    /// The entry at a path; none if the host cannot tell. A file is an error.
    fn entry(&self, at: &WinPath, deadline: Deadline) -> Result<Option<Look>, Error> {
        if !self.node.supports(Feature::EntryLooks) {
            return Ok(None);
        }
        match self.node.filesystem().look(at, deadline)? {
            Look::File { .. } => {
                let cause = Cause::InvalidArgument(String::from("a file is there"));
                Err(Error::new("remove", at, cause))
            }
            look => Ok(Some(look)),
        }
    }

    fn mounted_at(&self, at: &WinPath, deadline: Deadline) -> Result<Option<VolumeId>, Error> {
        match self.node.volumes().of_target(at, deadline) {
            Ok(volume) => Ok(Some(volume)),
            Err(error) if is_nothing_mounted(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Removes a link, an empty directory or a mounted folder; nothing of what it leads to, and no file. What is not
    /// there is success.
    fn remove_entry(&self, at: &WinPath, deadline: Deadline) -> Result<(), Error> {
        match self.entry(at, deadline)? {
            Some(Look::Missing) => Ok(()),
            _ => self.remove(at, deadline),
        }
    }

    fn remove(&self, at: &WinPath, deadline: Deadline) -> Result<(), Error> {
        match self.node.filesystem().remove_entry(at, deadline) {
            Err(error) if error.is(Condition::NotFound) => Ok(()),
            done => done,
        }
    }
}

fn is_nothing_mounted(error: &Error) -> bool {
    error.is(Condition::NotFound) || error.is(Condition::NotAMountedFolder)
}
