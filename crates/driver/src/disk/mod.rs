//! Volumes that are disks: stage, publish, grow, report, unpublish, unstage.
//!
//! Every operation may be repeated at any point, also by another process after this one died. Each takes its turn among
//! the calls for its volume ([`InFlight`]), and writes the record before it changes the node.

mod error;
mod expand;
mod publish;
mod reconcile;
mod stage;
mod stats;

mod unpublish;
mod unstage;

use std::sync::Arc;
use std::time::Duration;

use wincsi::filesystem::Look;
use wincsi::volumes::{FoundVolume, VolumeId};
use wincsi::{Cause, Condition, Deadline, Error, Feature, NodeApi, WinPath};

pub use self::error::{NodeError, Shared};
pub use self::expand::ExpandError;
pub use self::publish::{Publish, PublishError};
pub use self::reconcile::Reconciliation;
pub use self::stage::{Stage, StageError};
pub use self::stats::StatsError;
pub use self::unpublish::UnpublishError;
pub use self::unstage::UnstageError;
use crate::in_flight::InFlight;
use crate::record::{Record, Store};

/// How long a call may take: less than the two minutes after which kubelet calls again.
const CALL: Duration = Duration::from_secs(110);

/// How long a stage waits for a disk that the controller has just attached. It leaves time for the rest of the call.
const ARRIVAL: Duration = Duration::from_secs(60);

/// The disks of a node, as CSI volumes.
pub struct DiskVolumes {
    node: Arc<dyn NodeApi>,
    store: Store,
    running: InFlight,
}

impl DiskVolumes {
    /// The volumes of a node, with the records of what was done of them before.
    pub fn new(node: Arc<dyn NodeApi>, store: Store) -> Self {
        Self {
            node,
            store,
            running: InFlight::default(),
        }
    }

    fn deadline(&self) -> Deadline {
        self.node.deadline(CALL)
    }

    /// This boot, where the node reports it.
    fn boot(&self) -> Result<Option<String>, Error> {
        if !self.node.supports(Feature::SystemIdentity) {
            return Ok(None);
        }
        let boot = self.node.system().boot_id(self.deadline())?;
        Ok(Some(boot.0))
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
            Err(error) => Err(error),
        }
    }

    /// Unmounts what is mounted exactly at a path, and removes the folder, if it is empty. What is not there is success.
    fn dismount(&self, at: &WinPath, deadline: Deadline) -> Result<(), Error> {
        if let Some(volume) = self.mounted_at(at, deadline)? {
            self.node.volumes().unmount(volume, at, deadline)?;
        }
        self.remove_entry(at, deadline)
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
        let files = self.node.filesystem();
        if self.node.supports(Feature::EntryLooks)
            && matches!(files.look(at, deadline)?, Look::File { .. })
        {
            let cause = Cause::InvalidArgument(String::from("a file is there"));
            return Err(Error::new("remove", at, cause));
        }
        match files.remove_entry(at, deadline) {
            Err(error) if error.is(Condition::NotFound) => Ok(()),
            done => done,
        }
    }
}

fn is_nothing_mounted(error: &Error) -> bool {
    error.is(Condition::NotFound) || error.is(Condition::NotAMountedFolder)
}
