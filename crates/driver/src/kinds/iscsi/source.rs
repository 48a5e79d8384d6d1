//! The LUNs of targets as disks of block volumes: a session is shared by all volumes of its target.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;

use wincsi::disks::{Criterion, DiskQuery};
use wincsi::iscsi::{ChapSecret, TargetName};
use wincsi::{Cause, Condition, Deadline, Error, Feature};

use super::login::{SERVICE, Unserved, is_connected};
use super::portals::{ADDED, DeadPortals, PORTAL};
use super::{Credentials, Refused, Target, accepts, keys, read};
use crate::kinds::block::{Disk, Leaves, Source, Use};
use crate::kubelet::{Refusal, Request};
use crate::leases::{self, Hashes, Leases, NotTaken, Owner, User};
use crate::life::{CALL, CallError, Context};
use crate::record::{Record, VolumeHandle};
use crate::unpoisoned::Unpoisoned;

/// By what the lease of a session knows it.
pub(super) const SESSION: &str = "session";

/// What iSCSI volumes may be told.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    pub hashes: Hashes,
    /// Whether the secret by which targets prove themselves, of which Windows has one, is set.
    pub sets_mutual_secret: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            hashes: Hashes::SLOW,
            sets_mutual_secret: false,
        }
    }
}

/// LUNs of iSCSI targets. Of a session this driver ends its own alone, and forgets its own portals alone.
pub struct IscsiDisks {
    pub(super) ctx: Arc<Context>,
    pub(super) sessions: Leases<Shared>,
    pub(super) dead: DeadPortals,
    pub(super) settings: Settings,
    /// Volumes that are in the log as those whose session has another secret.
    pub(super) other_secrets: Unpoisoned<BTreeSet<VolumeHandle>>,
    /// By what targets prove themselves, if this process set it: nobody can read it, nor whose it is.
    pub(super) mutual: Unpoisoned<Option<ChapSecret>>,
    /// Volumes whose attributes without a meaning are in the log.
    reported: Unpoisoned<BTreeSet<VolumeHandle>>,
}

/// Volumes share a session on no terms: a second secret for it changes nothing.
#[derive(Clone, Debug)]
pub(super) struct Shared;

impl leases::Terms for Shared {
    const KIND: &'static str = "iscsi-session";
    const LASTING: &[&str] = &[PORTAL, ADDED];
    type Conflict = Infallible;
}

impl IscsiDisks {
    /// With the records and leases of a driver before this one.
    pub fn new(ctx: &Arc<Context>, settings: Settings) -> Self {
        let user = |record: Record<Disk<Target>>| {
            let key = record.content.source.key();
            (record.volume, User::new(key, Shared, record.boot))
        };
        let users = ctx.store.records_of().map(user).collect();
        let boot = || ctx.boot(ctx.node.deadline(CALL));
        Self {
            sessions: Leases::open(&ctx.store, users, settings.hashes, boot),
            ctx: Arc::clone(ctx),
            dead: DeadPortals::default(),
            settings,
            other_secrets: Unpoisoned::default(),
            mutual: Unpoisoned::default(),
            reported: Unpoisoned::default(),
        }
    }

    fn learn_boot(&self, deadline: Deadline) {
        self.sessions.learn_boot(|| self.ctx.boot(deadline));
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

    /// The session goes if this driver made it in this boot, and with it the portals that this driver added. No volume of a record
    /// needs them.
    fn end(&self, of: &Use<'_, Target>, deadline: Deadline) -> Result<(), CallError> {
        let (key, target) = (of.disk.key(), &of.disk.iqn);
        if let Some(session) = self.session_to_end(of, deadline)? {
            let log_out = || self.ctx.node.iscsi().log_out(target, &session, deadline);
            match self.sessions.end(&key, log_out) {
                None => return Ok(()),
                Some(Err(error)) if error.is(Condition::InUse) => {
                    let volume = of.volume;
                    tracing::warn!("volume {volume}: the session of {target} stays: {error}");
                    return self.leave_in_use(of, deadline);
                }
                Some(ended) => ended?,
            }
        }
        self.forget_all_portals(&key, deadline);
        Ok(self.sessions.note_gone(&key)?)
    }

    /// A session of ours that stays ends with a later volume. By which portal it goes is known on: nobody else's is served
    /// by it.
    fn leave_in_use(&self, of: &Use<'_, Target>, deadline: Deadline) -> Result<(), CallError> {
        let key = of.disk.key();
        match self.sessions.owner(of.volume) {
            Owner::Foreign if !self.sessions.is_ours(&key) => {
                self.forget_all_portals(&key, deadline);
                Ok(self.sessions.give_away(&key)?)
            }
            _ => {
                self.sessions.keep(&key);
                Ok(())
            }
        }
    }

    /// No session of this driver goes by them.
    fn forget_all_portals(&self, key: &str, deadline: Deadline) {
        self.sessions.note(key, PORTAL, None);
        self.forget_portals(key, deadline);
    }

    /// A login that outlasts its call keeps its target until it ends, and the next operation waits: here a logout of none.
    fn wait_for_login(&self, target: &TargetName, deadline: Deadline) -> Result<(), Error> {
        self.ctx.node.iscsi().log_out(target, "", deadline)
    }

    /// The session that this driver made. One that a call made, and did not live to note, is the only one there is.
    fn session_to_end(
        &self,
        of: &Use<'_, Target>,
        deadline: Deadline,
    ) -> Result<Option<String>, CallError> {
        let key = of.disk.key();
        let owner = self.sessions.owner(of.volume);
        // Another volume may have made it in this boot, and this one be of an earlier.
        if owner == Owner::Foreign && !self.sessions.is_ours(&key) {
            return Ok(None);
        }
        if let Some(session) = self.sessions.noted(&key, SESSION) {
            return Ok(Some(session));
        }
        self.wait_for_login(&of.disk.iqn, deadline)?;
        let sessions = self.sessions_of(&of.disk.iqn, deadline)?;
        let sole = <[_; 1]>::try_from(sessions).ok();
        let ours = sole.filter(|[session]| session.is_persistent != Some(true));
        Ok(ours.map(|[session]| session.id))
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
        let place = [
            Criterion::IscsiSession(target.iqn.clone()),
            Criterion::Lun(u32::from(target.lun)),
        ];
        let name = target.page83.clone().map(Criterion::Page83);
        let query = DiskQuery::all(place.into_iter().chain(name));
        query.expect("a target and a LUN are enough")
    }

    fn is_own(&self, of: &Use<'_, Target>) -> bool {
        self.sessions.owner(of.volume) != Owner::Foreign
    }

    fn check(&self, of: &Use<'_, Target>, deadline: Deadline) -> Result<(), Error> {
        let sessions = self.sessions_of(&of.disk.iqn, deadline)?;
        match sessions.is_empty() || is_connected(&sessions) {
            true => Ok(()),
            false => {
                let cause = Cause::failed(Condition::ServerAway, self.not_connected(of));
                Err(Error::new("look at", of.volume, cause))
            }
        }
    }

    fn wake(&self, of: &Use<'_, Target>, deadline: Deadline) -> Result<bool, CallError> {
        self.start_service(deadline).map(|why| {
            let is_up = why.is_none();
            if let Some(why) = why {
                let volume = of.volume;
                tracing::warn!(
                    "volume {volume}: its session is left alone, as {SERVICE} does not run: {why}"
                );
            }
            is_up
        })
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
        if let Some(why) = self.start_service(deadline)? {
            return Err(of.refused(Refused::Service(why)).into());
        }
        let is_in_doubt =
            self.sessions.is_ours(&key) && self.sessions.noted(&key, SESSION).is_none();
        if is_in_doubt {
            self.wait_for_login(&of.disk.iqn, deadline)?;
        }
        let there = self.sessions_of(&of.disk.iqn, deadline)?;
        if is_in_doubt && there.is_empty() {
            self.pass_over(of.disk);
        }
        let boot = self.sessions.boot().map(str::to_owned);
        let user = User::new(key.clone(), Shared, boot);
        let taken = self.sessions.take(volume, user, !there.is_empty());
        taken.map_err(|reason| match reason {
            NotTaken::Unsaved(error) => CallError::from(error),
            NotTaken::Ending => of.refused(Refused::Busy).into(),
            NotTaken::Conflict(never, _) => match never {},
        })?;
        if there.is_empty() {
            self.sessions.note(&key, SESSION, None);
        }
        let begun = self.sessions.begin(volume, false);
        let served = begun.map_err(Unserved::from);
        let served = served.and_then(|()| match there.is_empty() {
            true => self.log_in(&of, secret, deadline),
            false => Ok(self.reuse(&of, &there, secret)?),
        });
        let (ended, served) = match served {
            Ok(ended) => (ended, Ok(())),
            Err(unserved) => (unserved.ended, Err(unserved.error)),
        };
        self.sessions.end_call(volume, ended)?;
        served
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
        // One of an earlier boot is among them: Windows has the disk online again with the session, which then stays.
        let is_last = !self.sessions.has_others(&key, volume);
        match (is_last, leaves) {
            (true, Leaves::Free) => self.end(&of, deadline)?,
            (true, Leaves::InUse) => self.leave_in_use(&of, deadline)?,
            (false, _) => {}
        }
        self.sessions.release(volume)?;
        self.other_secrets.lock().remove(volume);
        self.reported.lock().remove(volume);
        Ok(())
    }
}

impl Target {
    /// The name of its session's lease.
    pub(super) fn key(&self) -> String {
        self.iqn.to_string()
    }
}
