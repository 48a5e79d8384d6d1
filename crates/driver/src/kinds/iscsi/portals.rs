//! The portals of targets: which answer, and which this driver made known to the node.
//!
//! The lease of a session has the portals that this driver adds before it does so. Windows keeps portals over a restart,
//! and so does the lease while a volume uses it.

use std::collections::BTreeMap;
use std::time::Duration;
use std::{panic, thread};

use wincsi::iscsi::{Authentication, Portal, SessionInfo};
use wincsi::{Cause, Condition, Deadline, Error, ResultExt as _};

use super::source::{IscsiDisks, SESSION};
use super::{Target, attributes};
use crate::kinds::block::Use;
use crate::life::CallError;
use crate::unpoisoned::Unpoisoned;

/// In the lease of a session: the portal through which it was made, or is being made.
pub(super) const PORTAL: &str = "portal";
/// The portals that this driver made known for it, with blanks between them.
pub(super) const ADDED: &str = "addedPortals";

/// How long each volume of a portal goes by it that the portal did not answer.
const DEAD_FOR: Duration = Duration::from_secs(30);
/// What a portal that is to be forgotten takes of a call.
const FORGOTTEN_WITHIN: Duration = Duration::from_secs(10);

/// Portals that did not answer, and until when nobody asks them.
pub(super) type DeadPortals = Unpoisoned<BTreeMap<Portal, (Deadline, Error)>>;

impl IscsiDisks {
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
        let ask = |portal: &Portal| match self.verdict(portal) {
            Some(error) => Err(error),
            None => {
                let answer = self.ctx.node.iscsi().probe(portal, deadline);
                answer.inspect_err(|error| {
                    // Of a call that has no time left nothing is known.
                    if !self.ctx.left_until(deadline).is_zero() {
                        self.note_dead(portal, error);
                    }
                })
            }
        };
        thread::scope(|scope| {
            let asked = portals.iter().map(|portal| {
                let asked = thread::Builder::new().spawn_scoped(scope, move || ask(portal));
                asked.map_err(|_no_thread| portal)
            });
            let asked = Vec::from_iter(asked).into_iter();
            let answers = asked.map(|asked| match asked {
                Ok(asked) => asked.join().unwrap_or_else(|why| panic::resume_unwind(why)),
                Err(portal) => ask(portal),
            });
            answers.collect()
        })
    }

    fn verdict(&self, portal: &Portal) -> Option<Error> {
        let dead = self.dead.lock();
        let (until, error) = dead.get(portal)?;
        (!self.ctx.left_until(*until).is_zero()).then(|| error.clone())
    }

    fn note_dead(&self, portal: &Portal, error: &Error) {
        let until = self.ctx.node.deadline(DEAD_FOR);
        let mut dead = self.dead.lock();
        dead.retain(|_, (until, _)| !self.ctx.left_until(*until).is_zero());
        dead.insert(portal.clone(), (until, error.clone()));
    }

    /// The portal of a login that never came through is dead for now, if there is another one.
    pub(super) fn pass_over(&self, disk: &Target) {
        let noted = self.sessions.noted(&disk.key(), PORTAL);
        let portal = noted.and_then(|text| attributes::portal(&text).ok());
        if let Some(portal) = portal.filter(|_| disk.portals.len() > 1) {
            let cause = Cause::failed(Condition::ServerAway, "the last login did not come through");
            self.note_dead(&portal, &Error::new("log in by", &portal, cause));
        }
    }

    /// Makes a portal known to the node, unless it is. Returns whether this driver did so, now or before.
    pub(super) fn add_portal(
        &self,
        of: &Use<'_, Target>,
        portal: &Portal,
        discovery: &Authentication,
        deadline: Deadline,
    ) -> Result<bool, CallError> {
        let (key, text) = (of.disk.key(), portal.to_string());
        let is_known = self.is_known(portal, deadline)?;
        let is_ours = !is_known || self.added(&key).contains(&text);
        self.sessions.note(&key, PORTAL, text);
        match is_known {
            true => self.sessions.begin(of.volume, false)?,
            false => self.add_noted(of, portal, discovery, deadline)?,
        }
        Ok(is_ours)
    }

    /// Adds a portal. The lease has it before.
    pub(super) fn add_noted(
        &self,
        of: &Use<'_, Target>,
        portal: &Portal,
        discovery: &Authentication,
        deadline: Deadline,
    ) -> Result<(), CallError> {
        let (key, text) = (of.disk.key(), portal.to_string());
        let noted = |noted: Option<&str>| Some(with(noted, &text));
        self.sessions.change_note(&key, ADDED, noted);
        self.sessions.begin(of.volume, false)?;
        let iscsi = self.ctx.node.iscsi();
        let added = iscsi.add_portal(portal, discovery, deadline);
        added.inspect_err(|error| match may_be_done(error) {
            true => self.pass_over(of.disk),
            // Who adds it later has it as his.
            false => self.note_forgotten(&key, &text),
        })?;
        Ok(())
    }

    /// Forgets the portals that this driver added for a target, but that of its session. Those that stay are tried again
    /// after the next login, and when the last volume leaves.
    pub(super) fn forget_portals(&self, key: &str, deadline: Deadline) {
        let serving = self.sessions.noted(key, PORTAL);
        for portal in self.added(key) {
            if serving.as_ref() == Some(&portal) {
                continue;
            }
            let deadline = deadline.min(self.ctx.node.deadline(FORGOTTEN_WITHIN));
            if let Err(why) = self.forget_portal(key, &portal, deadline) {
                tracing::warn!("portal {portal} of {key} stays known to the node: {why}");
            }
        }
    }

    /// Forgets a portal, or leaves it to another target's lease that has it.
    fn forget_portal(&self, key: &str, text: &str, deadline: Deadline) -> Result<(), CallError> {
        let noted = |noted: Option<&str>| Some(with(noted, text));
        // In one step: the last volumes of both targets may leave at once.
        let leases = &self.sessions;
        if let Some(other) = leases.change_note_where((PORTAL, text), key, ADDED, noted) {
            leases.save(&other)?;
            self.note_forgotten(key, text);
            return Ok(());
        }
        let Ok(portal) = attributes::portal(text) else {
            return Ok(());
        };
        let through = self.sessions_through(&portal, deadline)?;
        if !through.is_empty() {
            tracing::info!("portal {portal} stays, as a session goes through it");
            // A session whose call died may be ours, and go by another portal: this one goes with it all the same.
            let mut others = through.iter().filter(|other| *other != key);
            if let Some(other) = others.find(|other| leases.change_note(other, ADDED, noted)) {
                leases.save(other)?;
                self.note_forgotten(key, text);
            }
            return Ok(());
        }
        let removed = self.ctx.node.iscsi().remove_portal(&portal, deadline);
        removed.ok_if(Condition::NotFound)?;
        self.note_forgotten(key, text);
        Ok(())
    }

    fn added(&self, key: &str) -> Vec<String> {
        let noted = self.sessions.noted(key, ADDED);
        listed(noted.as_deref()).map(str::to_owned).collect()
    }

    fn note_forgotten(&self, key: &str, portal: &str) {
        let change = |noted: Option<&str>| {
            let left: Vec<_> = listed(noted).filter(|listed| *listed != portal).collect();
            (!left.is_empty()).then(|| left.join(" "))
        };
        self.sessions.change_note(key, ADDED, change);
    }

    fn is_known(&self, portal: &Portal, deadline: Deadline) -> Result<bool, Error> {
        let known = self.ctx.node.iscsi().portals(deadline)?;
        let is_it = |(host, port): &(String, u32)| {
            Portal::parse(host, *port).is_ok_and(|known| known == *portal)
        };
        Ok(known.iter().any(is_it))
    }

    pub(super) fn has_sessions(&self, portal: &Portal, deadline: Deadline) -> Result<bool, Error> {
        let through = self.sessions_through(portal, deadline)?;
        Ok(!through.is_empty())
    }

    /// The targets of sessions that the portal tells of, unless this driver made them through another one.
    fn sessions_through(&self, portal: &Portal, deadline: Deadline) -> Result<Vec<String>, Error> {
        let iscsi = self.ctx.node.iscsi();
        let mut sessions = iscsi.sessions(deadline)?;
        sessions.retain(|session| !self.is_through_another(session, portal));
        if sessions.is_empty() {
            return Ok(Vec::new());
        }
        let targets = match iscsi.discover(portal, deadline) {
            // One that does not answer, and has not since the boot, tells of none.
            Err(error) if error.is(Condition::NotFound) || error.is(Condition::ServerNotFound) => {
                Vec::new()
            }
            told => told?,
        };
        let used = sessions.into_iter().map(|session| session.target);
        let used = used.filter(|used| targets.contains(used));
        Ok(used.map(|target| target.to_lowercase()).collect())
    }

    fn is_through_another(&self, session: &SessionInfo, portal: &Portal) -> bool {
        let key = session.target.to_lowercase();
        let noted = |what| self.sessions.noted(&key, what);
        noted(SESSION).is_some_and(|noted| noted == session.id)
            && noted(PORTAL).is_some_and(|noted| noted != portal.to_string())
    }
}

fn listed(noted: Option<&str>) -> impl Iterator<Item = &str> {
    noted.unwrap_or_default().split_whitespace()
}

fn with(noted: Option<&str>, portal: &str) -> String {
    let others = listed(noted).filter(|listed| *listed != portal);
    Vec::from_iter(others.chain([portal])).join(" ")
}

/// Whether what a call was to do may be done all the same.
pub(super) fn may_be_done(error: &Error) -> bool {
    matches!(error.cause, Cause::Deadline | Cause::Lost { .. })
}
