//! The portals of targets: which answer, and which this driver made known to the node.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use wincsi::iscsi::{Authentication, Portal};
use wincsi::{Condition, Deadline, Error, ResultExt as _};

use super::source::{PORTAL, Shared};
use super::{Refused, Target};
use crate::kinds::block::{Disk, Use};
use crate::leases::{self, Ended, Hashes, Leases, NotTaken, User};
use crate::life::{CallError, Context};
use crate::record::Record;
use crate::unpoisoned::Unpoisoned;

/// How long each volume of a portal goes by it that the portal did not answer.
const DEAD_FOR: Duration = Duration::from_secs(30);

pub(super) struct Portals {
    ctx: Arc<Context>,
    leases: Leases<Known>,
    dead: Unpoisoned<BTreeMap<Portal, (Instant, Error)>>,
}

/// A portal that the node knows.
#[derive(Clone, Debug)]
struct Known;

impl leases::Terms for Known {
    const KIND: &'static str = "iscsi-portal";
    type Conflict = Infallible;

    fn conflict_with(&self, _other: &Self) -> Option<Infallible> {
        None
    }
}

impl Portals {
    /// A volume uses the portal by which its target's session was made.
    pub(super) fn open(
        ctx: &Arc<Context>,
        records: &[Record<Disk<Target>>],
        sessions: &Leases<Shared>,
        hashes: Hashes,
    ) -> Self {
        let user = |record: &Record<Disk<Target>>| {
            let portal = sessions.noted(&record.content.source.key(), PORTAL)?;
            let user = User::new(portal.as_str()?.to_owned(), Known, record.boot.clone());
            Some((record.volume.clone(), user))
        };
        let users = records.iter().filter_map(user).collect();
        let boot = || sessions.boot().map(str::to_owned);
        Self {
            leases: Leases::open(&ctx.store, users, hashes, boot),
            ctx: Arc::clone(ctx),
            dead: Unpoisoned::default(),
        }
    }

    pub(super) fn learn_boot(&self, boot: Option<&str>) {
        self.leases.learn_boot(|| boot.map(str::to_owned));
    }

    /// The portals that answer, in their order, and the others with the reason. All are asked at the same time, but those
    /// that did not answer a moment ago.
    pub(super) fn probe(
        &self,
        portals: &[Portal],
        deadline: Deadline,
    ) -> (Vec<Portal>, Vec<(Portal, Error)>) {
        let (mut living, mut failed) = (Vec::new(), Vec::new());
        for (portal, answer) in portals.iter().zip(self.ask(portals, deadline)) {
            match answer {
                Ok(()) => living.push(portal.clone()),
                Err(error) => failed.push((portal.clone(), error)),
            }
        }
        (living, failed)
    }

    fn ask(&self, portals: &[Portal], deadline: Deadline) -> Vec<Result<(), Error>> {
        let iscsi = self.ctx.node.iscsi();
        thread::scope(|scope| {
            let ask = |portal| match self.verdict(portal) {
                Some(error) => scope.spawn(move || Err(error)),
                None => scope.spawn(move || iscsi.probe(portal, deadline)),
            };
            let asked: Vec<_> = portals.iter().map(ask).collect();
            let answers = asked.into_iter().zip(portals).map(|(asked, portal)| {
                let answer = asked
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                answer.inspect_err(|error| self.note_dead(portal, error))
            });
            answers.collect()
        })
    }

    fn verdict(&self, portal: &Portal) -> Option<Error> {
        let dead = self.dead.lock();
        let (since, error) = dead.get(portal)?;
        (since.elapsed() < DEAD_FOR).then(|| error.clone())
    }

    fn note_dead(&self, portal: &Portal, error: &Error) {
        let mut dead = self.dead.lock();
        let since = dead.entry(portal.clone());
        let (since, _) = since.or_insert_with(|| (Instant::now(), error.clone()));
        if since.elapsed() >= DEAD_FOR {
            *since = Instant::now();
        }
    }

    /// Makes a portal known to the node. The lease is written before.
    pub(super) fn take(
        &self,
        of: &Use<'_, Target>,
        portal: &Portal,
        discovery: &Authentication,
        deadline: Deadline,
    ) -> Result<(), CallError> {
        let key = portal.to_string();
        let patience = self.ctx.left_until(deadline);
        let turn = self.leases.turn(&key, patience);
        let _turn = turn.ok_or_else(|| of.refused(Refused::Busy))?;
        let is_known = self.is_known(portal, deadline)?;
        let boot = self.leases.boot().map(str::to_owned);
        let user = User::new(key.clone(), Known, boot);
        let taken = self.leases.take(of.volume, user, is_known);
        taken.map_err(|reason| match reason {
            NotTaken::Unsaved(error) => CallError::from(error),
            NotTaken::Ending => of.refused(Refused::Busy).into(),
            NotTaken::Conflict(never, _) => match never {},
        })?;
        self.leases.begin(of.volume, false)?;
        let added = match is_known {
            true => Ok(Ended::Well),
            false => {
                let added = self
                    .ctx
                    .node
                    .iscsi()
                    .add_portal(portal, discovery, deadline);
                added.map(|()| Ended::Made)
            }
        };
        let ended = *added.as_ref().unwrap_or(&Ended::MayBeMade);
        self.leases.end_call(of.volume, ended)?;
        added?;
        Ok(())
    }

    /// Has a portal asked from the start, which this driver made known and no session goes through. Whether it was.
    pub(super) fn replace(
        &self,
        of: &Use<'_, Target>,
        portal: &Portal,
        discovery: &Authentication,
        deadline: Deadline,
    ) -> Result<bool, CallError> {
        let key = portal.to_string();
        if !self.leases.is_ours(&key) || self.has_sessions(portal, deadline)? {
            return Ok(false);
        }
        let (volume, iscsi) = (of.volume, self.ctx.node.iscsi());
        tracing::info!(
            "volume {volume}: portal {portal} does not tell of its target, and is asked once more"
        );
        iscsi
            .remove_portal(portal, deadline)
            .ok_if(Condition::NotFound)?;
        iscsi.add_portal(portal, discovery, deadline)?;
        Ok(true)
    }

    /// The volume does not use its portal any more, which is forgotten with its last use if this driver made it known.
    pub(super) fn leave(&self, of: &Use<'_, Target>, deadline: Deadline) -> Result<(), CallError> {
        let Some(key) = self.leases.key_of(of.volume) else {
            return Ok(());
        };
        let patience = self.ctx.left_until(deadline);
        let turn = self.leases.turn(&key, patience);
        let _turn = turn.ok_or_else(|| of.refused(Refused::Busy))?;
        self.leases.leave(of.volume);
        let portal = of
            .disk
            .portals
            .iter()
            .find(|portal| portal.to_string() == key);
        if let Some(portal) = portal.filter(|_| self.leases.is_ours(&key)) {
            self.forget(portal, &key, deadline)?;
        }
        Ok(self.leases.release(of.volume)?)
    }

    fn forget(&self, portal: &Portal, key: &str, deadline: Deadline) -> Result<(), CallError> {
        if self.leases.users(key) > 0 {
            return Ok(());
        }
        if self.has_sessions(portal, deadline)? {
            return Ok(self.leases.give_away(key)?);
        }
        let iscsi = self.ctx.node.iscsi();
        let remove = || iscsi.remove_portal(portal, deadline);
        match self.leases.end(key, remove) {
            None => Ok(()),
            Some(removed) => {
                removed.ok_if(Condition::NotFound)?;
                Ok(self.leases.note_gone(key)?)
            }
        }
    }

    fn is_known(&self, portal: &Portal, deadline: Deadline) -> Result<bool, Error> {
        let known = self.ctx.node.iscsi().portals(deadline)?;
        let is_it = |(host, port): &(String, u32)| {
            Portal::parse(host, *port).is_ok_and(|known| known == *portal)
        };
        Ok(known.iter().any(is_it))
    }

    /// Whether a session leads to a target that the portal tells of.
    fn has_sessions(&self, portal: &Portal, deadline: Deadline) -> Result<bool, Error> {
        let iscsi = self.ctx.node.iscsi();
        let sessions = iscsi.sessions(deadline)?;
        if sessions.is_empty() {
            return Ok(false);
        }
        let targets = iscsi
            .discover(portal, deadline)
            .none_if(Condition::NotFound)?;
        let targets = targets.unwrap_or_default();
        let mut used = sessions.iter().map(|session| &session.target);
        Ok(used.any(|used| targets.contains(used)))
    }
}
