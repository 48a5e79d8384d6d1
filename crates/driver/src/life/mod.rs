//! Volumes of every kind: publish, report, unpublish, and what a start compares. [`disk`] has what disks need.
//!
//! Every operation may be repeated at any point, also by another process after this one died. Each takes its turn among
//! the calls for its volume ([`InFlight`]), and writes the record before it changes the node.

mod codes;
mod error;
pub(crate) mod health;
mod kubelet;
mod links;
mod publish;
pub(crate) mod reconcile;
mod stats;
mod unpublish;
mod unstage;
pub(crate) mod vol_data;

use std::sync::Arc;
use std::time::Duration;

use program::metrics::{Exposition, Kind};
use wincsi::filesystem::Look;
use wincsi::volumes::Space;
use wincsi::{Cause, Condition, Deadline, Error, Feature, NodeApi, WinPath};

use self::health::{Health, News};
use crate::in_flight::InFlight;
use crate::kinds::block::stage::ARRIVAL;
use crate::kinds::share::Shares;
use crate::machine::Machine;
use crate::record::{Lifetime, State, Store, VolumeHandle};

pub use self::codes::code_rows;
pub use self::error::{NodeError, Shared};
pub(crate) use self::kubelet::place;
pub use self::kubelet::{Kubelet, PlaceError};
pub use self::publish::{Publish, PublishError};
pub use self::reconcile::Reconciliation;
pub use self::stats::{Stats, StatsError, Usage};
pub use self::unpublish::UnpublishError;
pub use self::unstage::UnstageError;

/// How long a call may take: less than the two minutes after which kubelet calls again.
const CALL: Duration = Duration::from_secs(110);

/// The volumes of a node.
pub struct Volumes {
    pub(crate) node: Arc<dyn NodeApi>,
    pub(crate) store: Store,
    pub(crate) machine: Arc<dyn Machine>,
    pub(crate) kubelet: Kubelet,
    pub(crate) running: InFlight,
    pub(crate) health: Health,
    pub(crate) shares: Shares,
    /// How long a stage waits for its disk.
    pub(crate) arrival: Duration,
}

impl Volumes {
    /// The volumes of a node, with the records of what was done of them before.
    pub fn new(
        node: Arc<dyn NodeApi>,
        store: Store,
        machine: Arc<dyn Machine>,
        kubelet: Kubelet,
    ) -> Self {
        let boot = || boot_of(node.as_ref(), node.deadline(CALL));
        Self {
            shares: Shares::of(&store, boot),
            node,
            store,
            machine,
            kubelet,
            running: InFlight::default(),
            health: Health::default(),
            arrival: ARRIVAL,
        }
    }

    /// The same, which keeps the figures of shares so long.
    #[must_use]
    pub fn keeping_figures_for(mut self, time: Duration) -> Self {
        self.shares.figures.keep_for(time);
        self
    }

    /// The same, whose hashes of credentials are worth nothing: for tests that stage thousands of times.
    #[doc(hidden)]
    #[must_use]
    pub fn hashing_quickly(mut self) -> Self {
        self.shares.hash_quickly();
        self
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
        self.shares.render(page);
    }

    /// Reports an event to the people who look after the machine.
    pub fn report(&self, event: &str) {
        self.machine.report(event);
    }

    /// Whether something is left of a volume that kubelet would not take down after a final code: of a stage that did not
    /// end, or an inline volume.
    pub(crate) fn is_left(&self, volume: &VolumeHandle, lifetime: Lifetime) -> bool {
        let record = self.store.get(volume).ok().flatten();
        record.is_some_and(|record| record.state != State::Staged || lifetime == Lifetime::Inline)
    }

    pub(crate) fn note_normal(&self, volume: &VolumeHandle, space: Option<Space>) {
        let is_recorded = || self.store.has(volume);
        if self.health.normal(volume, space, is_recorded) == News::Changed {
            tracing::info!("volume {volume} is normal again");
        }
    }

    /// Reports once until the volume is normal again.
    pub(crate) fn note_abnormal(&self, volume: &VolumeHandle, reason: &str) {
        let is_recorded = || self.store.has(volume);
        if self.health.abnormal(volume, is_recorded) == News::Changed {
            tracing::error!("volume {volume} is abnormal: {reason}");
            let event = format!("volume {volume} is abnormal: {reason}");
            self.report(&event);
        }
    }

    pub(crate) fn deadline(&self) -> Deadline {
        self.node.deadline(CALL)
    }

    pub(crate) fn boot(&self, deadline: Deadline) -> Option<String> {
        boot_of(self.node.as_ref(), deadline)
    }

    /// The entry at a path; none if the host cannot tell. A file is an error.
    pub(crate) fn entry(&self, at: &WinPath, deadline: Deadline) -> Result<Option<Look>, Error> {
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

    /// Removes a link, an empty directory or a mounted folder; nothing of what it leads to, and no file. What is not
    /// there is success.
    pub(crate) fn remove_entry(&self, at: &WinPath, deadline: Deadline) -> Result<(), Error> {
        match self.entry(at, deadline)? {
            Some(Look::Missing) => Ok(()),
            _ => self.remove(at, deadline),
        }
    }

    pub(crate) fn remove(&self, at: &WinPath, deadline: Deadline) -> Result<(), Error> {
        match self.node.filesystem().remove_entry(at, deadline) {
            Err(error) if error.is(Condition::NotFound) => Ok(()),
            done => done,
        }
    }
}

/// This boot, if the node reports it. No call fails for it: a start then removes no entry of a recorded volume.
fn boot_of(node: &dyn NodeApi, deadline: Deadline) -> Option<String> {
    if !node.supports(Feature::SystemIdentity) {
        return None;
    }
    let boot = node.system().boot_id(deadline);
    boot.inspect_err(|error| tracing::warn!("this boot is not known: {error}"))
        .map(|boot| boot.0)
        .ok()
}

pub(crate) fn is_nothing_mounted(error: &Error) -> bool {
    error.is(Condition::NotFound) || error.is(Condition::NotAMountedFolder)
}
