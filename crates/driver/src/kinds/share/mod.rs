//! Volumes that are shares, or folders below one.
//!
//! A volume is staged by a directory link to its UNC path. Only the share's root is mapped, once for all its volumes.
//! *Our* mappings, which this driver made, are those of the shares that a live record names; others' mappings stay.

pub mod attributes;
mod claims;
mod error;
mod other_secrets;
mod publish;
mod request;
mod resolved;
mod secrets;
mod stage;
mod stats;
mod takeover;
mod unstage;
mod waiting;

use std::sync::Arc;
use std::time::Duration;

use program::metrics::{Exposition, Kind};
use wincsi::smb::{MappingStatus, RemotePath, ShareMapping};
use wincsi::volumes::Space;
use wincsi::{Condition, Deadline, Error, Feature, ResultExt as _, WinPath};

use self::claims::Claims;
use self::other_secrets::OtherSecrets;
use self::secrets::Secrets;
use self::stats::Figures;
use self::waiting::Waiting;
use crate::life::Volumes;
use crate::life::reconcile::Place;
use crate::record::{Record, Share, Store, VolumeHandle};

pub use self::error::StageError;
pub use self::request::{Stage, Wanted};
pub use self::waiting::Crowded;

/// How long a share may take to answer where no call waits for it alone: one that lives does so in milliseconds.
const ANSWER: Duration = Duration::from_secs(10);

/// What becomes of the options that a mapping is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionsOnHost {
    /// Windows gets them.
    Obeyed,
    /// Nobody gets them.
    Dropped,
}

/// What the calls for shares know of each other.
#[derive(Debug)]
pub(crate) struct Shares {
    claims: Arc<Claims>,
    secrets: Secrets,
    pub(crate) figures: Figures,
    other_secrets: OtherSecrets,
    waiting: Waiting,
}

impl Shares {
    /// By the records of a driver before this one. The boot is read if there are any.
    pub(crate) fn of(store: &Store, boot: impl FnOnce() -> Option<String>) -> Self {
        let records: Vec<_> = store.records_of().collect();
        let boot = match records.is_empty() {
            true => None,
            false => boot(),
        };
        Self {
            claims: Arc::new(Claims::of(&records)),
            secrets: Secrets::of(&records, boot.as_deref()),
            figures: Figures::default(),
            other_secrets: OtherSecrets::default(),
            waiting: Waiting::default(),
        }
    }

    /// For tests that stage thousands of times.
    pub(crate) fn hash_quickly(&mut self) {
        self.secrets.hash_quickly();
    }

    /// Nothing is kept of a volume that is gone.
    fn forget(&self, volume: &VolumeHandle) {
        self.claims.release(volume);
        self.other_secrets.end(volume);
    }

    /// Adds what is known of the shares to a page of metrics, without a query to the node.
    pub(crate) fn render(&self, page: &mut Exposition) {
        let name = "wincsi_smb_other_password_total";
        let help = "Calls that were served by a mapping that was made with another password.";
        page.family(name, help, Kind::Counter);
        page.sample(name, &[], self.other_secrets.calls());
    }
}

impl Volumes {
    /// What becomes of the options of shares on this host.
    pub(crate) fn share_options_on_host(&self) -> OptionsOnHost {
        match self.node.supports(Feature::MapOptions) {
            true => OptionsOnHost::Obeyed,
            false => OptionsOnHost::Dropped,
        }
    }

    /// What is exactly at a record's staging path, by a list of mappings; none if the host does not list them. Nothing is
    /// asked of any server.
    pub(crate) fn share_place(
        &self,
        mappings: Option<&[ShareMapping]>,
        record: &Record<Share>,
        deadline: Deadline,
    ) -> Result<Place, Error> {
        if !self.leads_to_share(&record.staging, record, deadline)? {
            return Ok(Place::NotMounted);
        }
        let path = record.what.remote.path();
        let is_mapped =
            |mappings: &[ShareMapping]| mappings.iter().any(|one| is_on_the_way(&one.remote, path));
        Ok(match mappings.is_none_or(is_mapped) {
            true => Place::Live,
            false => Place::Dangling,
        })
    }

    /// Whether the volume was staged in this boot, the staging path leads to the share, and the share answers at its
    /// mapping. A mapping of another boot may be another user's. The server is asked only where Windows does not call the
    /// mapping OK: one that it calls disconnected comes back when somebody uses it.
    fn is_share_live(&self, record: &Record<Share>, deadline: Deadline) -> Result<bool, Error> {
        if !record.is_of_boot(self.boot(deadline).as_deref()) {
            return Ok(false);
        }
        let mappings = self.mappings_of(&record.what.remote, deadline)?;
        let place = self.share_place(mappings.as_deref(), record, deadline)?;
        if place != Place::Live {
            return Ok(false);
        }
        match status_of(mappings.as_deref()) {
            None | Some(MappingStatus::Ok) => Ok(true),
            Some(_) => Ok(self.share_space(record).is_ok()),
        }
    }

    fn share_space(&self, record: &Record<Share>) -> Result<Space, Error> {
        let files = self.node.filesystem();
        files.space(record.what.remote.path(), self.node.deadline(ANSWER))
    }

    fn leads_to_share(
        &self,
        at: &WinPath,
        record: &Record<Share>,
        deadline: Deadline,
    ) -> Result<bool, Error> {
        self.leads_to(at, record.what.remote.path(), deadline)
    }

    /// Whether exactly this path is a link to that one. A host that reads no links takes each for the right one.
    fn leads_to(&self, at: &WinPath, to: &WinPath, deadline: Deadline) -> Result<bool, Error> {
        let files = self.node.filesystem();
        if !self.node.supports(Feature::EntryLooks) {
            let is_link = files.is_symlink(at, deadline);
            return Ok(is_link.none_if(Condition::NotFound)?.unwrap_or(false));
        }
        let target = self.link_target(at, deadline)?;
        Ok(target.is_some_and(|target| target.folded() == to.folded()))
    }

    /// Whether the share, or a folder on the way to the path, is mapped. A host that does not list mappings has it mapped.
    fn is_mapped(&self, remote: &RemotePath, deadline: Deadline) -> Result<bool, Error> {
        Ok(match self.mappings_of(remote, deadline)? {
            Some(mappings) => !mappings.is_empty(),
            None => true,
        })
    }

    /// The mappings by which a path is reached: of its share, or of a folder on the way. None if the host does not list
    /// mappings.
    fn mappings_of(
        &self,
        remote: &RemotePath,
        deadline: Deadline,
    ) -> Result<Option<Vec<ShareMapping>>, Error> {
        let mappings = self.mappings(deadline)?;
        Ok(mappings.map(|mut mappings| {
            mappings.retain(|mapping| is_on_the_way(&mapping.remote, remote.path()));
            mappings
        }))
    }

    /// All mappings; none if the host does not list them.
    pub(crate) fn mappings(&self, deadline: Deadline) -> Result<Option<Vec<ShareMapping>>, Error> {
        match self.node.supports(Feature::MappingList) {
            true => self.node.smb().mappings(deadline).map(Some),
            false => Ok(None),
        }
    }
}

/// How a path fares that is reached by these mappings, if the host reports it.
fn status_of(mappings: Option<&[ShareMapping]>) -> Option<MappingStatus> {
    let statuses = mappings.unwrap_or_default().iter();
    let mut statuses = statuses.filter_map(|mapping| mapping.status);
    let first = statuses.next()?;
    let is_ok = |status: &MappingStatus| *status == MappingStatus::Ok;
    Some(match is_ok(&first) {
        true => first,
        false => statuses.find(is_ok).unwrap_or(first),
    })
}

/// Whether a mapping is of the share that a path is on, or of a folder that the path lies in. A share is mapped by its name
/// in lower case.
fn is_on_the_way(mapped: &str, path: &WinPath) -> bool {
    let mapped = mapped.parse::<WinPath>();
    mapped.is_ok_and(|mapped| path.prefix(mapped.components().len()).folded() == mapped.folded())
}
