//! The LUNs of targets as disks of block volumes: a session is shared by all volumes of its target.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use wincsi::disks::{Criterion, DiskQuery};
use wincsi::{Condition, Deadline, Feature};

use super::portals::Portals;
use super::{Credentials, Refused, Target, accepts, keys, read};
use crate::kinds::block::{ARRIVAL, Disk, Leaves, Source, Use};
use crate::kubelet::{Refusal, Request};
use crate::leases::{self, Ended, Hashes, Leases, NotTaken, Owner, User};
use crate::life::{CALL, CallError, Context};
use crate::record::{Record, VolumeHandle};
use crate::unpoisoned::Unpoisoned;

/// By what the lease of a session knows it.
pub(super) const SESSION: &str = "session";
/// Through which portal it was made.
pub(super) const PORTAL: &str = "portal";

/// What iSCSI volumes may be told.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How long a stage waits for its disk once the target is logged in to.
    pub arrival: Duration,
    pub hashes: Hashes,
    /// Whether the secret by which targets prove themselves, of which Windows has one, is set.
    pub sets_mutual_secret: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            arrival: ARRIVAL,
            hashes: Hashes::SLOW,
            sets_mutual_secret: false,
        }
    }
}

/// LUNs of iSCSI targets. Of a session this driver ends its own alone, and forgets its own portals alone.
pub struct IscsiDisks {
    pub(super) ctx: Arc<Context>,
    pub(super) sessions: Leases<Shared>,
    pub(super) portals: Portals,
    pub(super) settings: Settings,
    /// Volumes that are in the log as those whose session has another secret.
    pub(super) other_secrets: Unpoisoned<BTreeSet<VolumeHandle>>,
    /// Volumes whose attributes without a meaning are in the log.
    reported: Unpoisoned<BTreeSet<VolumeHandle>>,
}

/// Volumes share a session on no terms: a second secret for it changes nothing.
#[derive(Clone, Debug)]
pub(super) struct Shared;

impl leases::Terms for Shared {
    const KIND: &'static str = "iscsi-session";
    type Conflict = Infallible;

    fn conflict_with(&self, _other: &Self) -> Option<Infallible> {
        None
    }
}

impl IscsiDisks {
    /// With the records and leases of a driver before this one.
    pub fn new(ctx: &Arc<Context>, settings: Settings) -> Self {
        let records = Vec::from_iter(ctx.store.records_of::<Disk<Target>>());
        let user = |record: &Record<Disk<Target>>| {
            let key = record.content.source.key();
            let user = User::new(key, Shared, record.boot.clone());
            (record.volume.clone(), user)
        };
        let users: BTreeMap<_, _> = records.iter().map(user).collect();
        let boot = || ctx.boot(ctx.node.deadline(CALL));
        let sessions = Leases::open(&ctx.store, users, settings.hashes, boot);
        Self {
            portals: Portals::open(ctx, &records, &sessions, settings.hashes),
            ctx: Arc::clone(ctx),
            sessions,
            settings,
            other_secrets: Unpoisoned::default(),
            reported: Unpoisoned::default(),
        }
    }

    fn learn_boot(&self, deadline: Deadline) {
        let boot = || self.ctx.boot(deadline);
        self.sessions.learn_boot(boot);
        self.portals.learn_boot(self.sessions.boot());
    }

    fn turn<'a>(
        &'a self,
        of: &Use<'_, Target>,
        key: &'a str,
        deadline: Deadline,
    ) -> Result<leases::Making<'a, Shared>, CallError> {
        let turn = self.sessions.turn(key, self.ctx.left_until(deadline));
        turn.ok_or_else(|| of.refused(Refused::Busy).into())
    }

    /// The session goes if this driver made it in this boot, and no volume of a record needs it.
    fn end(&self, of: &Use<'_, Target>, key: &str, deadline: Deadline) -> Result<(), CallError> {
        let session = self.sessions.noted(key, SESSION);
        let session = session.as_ref().and_then(|noted| noted.as_str());
        let Some(session) = session.filter(|_| self.sessions.is_ours(key)) else {
            return Ok(self.sessions.give_away(key)?);
        };
        let iscsi = self.ctx.node.iscsi();
        let log_out = || iscsi.log_out(&of.disk.iqn, session, deadline);
        match self.sessions.end(key, log_out) {
            None => Ok(()),
            Some(Ok(())) => Ok(self.sessions.note_gone(key)?),
            Some(Err(error)) if error.is(Condition::InUse) => {
                let (volume, target) = (of.volume, &of.disk.iqn);
                tracing::warn!("volume {volume}: the session of {target} stays: {error}");
                Ok(self.sessions.give_away(key)?)
            }
            Some(Err(error)) => Err(error.into()),
        }
    }
}

impl Source for IscsiDisks {
    type Spec = Target;
    type Secret = Credentials;

    const ATTACHES: bool = true;
    const NEEDS: &[(Feature, &str)] = &[
        (Feature::SessionList, "the sessions of an iSCSI volume"),
        (Feature::SessionLogout, "the end of an iSCSI session"),
        (Feature::PortalProbe, "the portals of an iSCSI volume"),
    ];

    fn accepts(&self, request: &Request<'_>) -> bool {
        accepts(request)
    }

    fn keys(&self) -> Vec<&'static str> {
        keys()
    }

    fn secret_keys(&self) -> &'static [&'static str] {
        &super::SECRET_KEYS
    }

    fn read(&self, request: &Request<'_>) -> Result<(Target, Credentials), Refusal> {
        let requested = read(request).map_err(Refusal::of_kind)?;
        let volume = &request.volume;
        if !requested.ignored.is_empty() && self.reported.lock().insert(volume.clone()) {
            let ignored = requested.ignored.join(", ");
            tracing::info!("volume {volume}: these attributes mean nothing on Windows: {ignored}");
        }
        Ok((requested.target, requested.credentials))
    }

    fn query(&self, target: &Target) -> DiskQuery {
        target.query()
    }

    /// Logs in, unless a session is there. The lease is written before, as the record is.
    fn attach(
        &self,
        of: Use<'_, Target>,
        secret: Option<&Credentials>,
        deadline: Deadline,
    ) -> Result<(), CallError> {
        self.learn_boot(deadline);
        let (key, volume) = (of.disk.key(), of.volume);
        let _turn = self.turn(&of, &key, deadline)?;
        self.start_service(&of, deadline)?;
        let there = self.sessions_of(&of.disk.iqn, deadline)?;
        let boot = self.sessions.boot().map(str::to_owned);
        let user = User::new(key.clone(), Shared, boot);
        let taken = self.sessions.take(volume, user, !there.is_empty());
        taken.map_err(|reason| match reason {
            NotTaken::Unsaved(error) => CallError::from(error),
            NotTaken::Ending => of.refused(Refused::Busy).into(),
            NotTaken::Conflict(never, _) => match never {},
        })?;
        self.sessions.begin(volume, false)?;
        let served = match there.is_empty() {
            true => self.log_in(&of, secret, deadline),
            false => self.reuse(&of, &there, secret, deadline),
        };
        let ended = match &served {
            Ok(ended) => *ended,
            Err(error) if error.is_refusal() => Ended::InVain,
            Err(_) => Ended::MayBeMade,
        };
        self.sessions.end_call(volume, ended)?;
        served.map(drop)
    }

    fn detach(
        &self,
        of: Use<'_, Target>,
        leaves: Leaves,
        deadline: Deadline,
    ) -> Result<(), CallError> {
        self.learn_boot(deadline);
        let (key, volume) = (of.disk.key(), of.volume);
        let _turn = self.turn(&of, &key, deadline)?;
        self.sessions.leave(volume);
        let is_last = self.sessions.users(&key) == 0;
        let is_ours = self.sessions.owner(volume) != Owner::Foreign;
        match (is_last && is_ours, leaves) {
            (true, Leaves::Free) => self.end(&of, &key, deadline)?,
            (true, Leaves::InUse) => self.sessions.give_away(&key)?,
            (false, _) => {}
        }
        self.sessions.release(volume)?;
        self.other_secrets.lock().remove(volume);
        self.reported.lock().remove(volume);
        self.portals.leave(&of, deadline)
    }
}

impl Target {
    /// The name of its session's lease.
    pub(super) fn key(&self) -> String {
        self.iqn.to_string()
    }

    fn query(&self) -> DiskQuery {
        let place = [
            Criterion::IscsiSession(self.iqn.clone()),
            Criterion::Lun(u32::from(self.lun)),
        ];
        let name = self.page83.clone().map(Criterion::Page83);
        let query = DiskQuery::all(place.into_iter().chain(name));
        query.expect("a target and a LUN are enough")
    }
}
