//! The node's initiator: queries portals, logs in and out, keeps records.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use os::schema::{ReturnCode, iscsi_codes};

use super::login::{Authentication, Endpoint, Login, chap_secret, check_name};
use super::server::{Lun, ServerSpec, TargetSpec};
use super::state::{IscsiState, Persistent, Portal, Session};

type Answer<T> = Result<T, ReturnCode>;

/// The node's initiator, for one operation.
pub(crate) struct Initiator {
    pub(crate) state: IscsiState,
    /// The servers as they are now.
    pub(crate) servers: Vec<Arc<ServerSpec>>,
    /// The disks that somebody holds open.
    pub(crate) busy: BTreeSet<String>,
    /// Whether MPIO makes one disk of those of several sessions.
    pub(crate) is_multipath: bool,
}

impl Initiator {
    /// Adds a portal and queries its targets. An existing portal is queried again.
    pub(crate) fn add_portal(&mut self, endpoint: Endpoint, who: Authentication) -> Answer<Portal> {
        let targets = self.reach(&endpoint)?.discover(&who)?;
        let portal = Portal {
            endpoint,
            authentication: who,
            targets,
        };
        let mut portals = self.state.portals.iter_mut();
        match portals.find(|known| known.endpoint == portal.endpoint) {
            Some(known) => known.clone_from(&portal),
            None => self.state.portals.push(portal.clone()),
        }
        Ok(portal)
    }

    /// Queries a portal again. Targets that it no longer offers are dropped.
    pub(crate) fn update_portal(&mut self, at: usize) -> Answer<()> {
        let portal = self.state.portals.get(at);
        let portal = portal.ok_or(iscsi_codes::PORTAL_NOT_FOUND)?;
        let server = self.reach(&portal.endpoint)?;
        let targets = server.discover(&portal.authentication)?;
        if let Some(portal) = self.state.portals.get_mut(at) {
            portal.targets = targets;
        }
        Ok(())
    }

    /// The one portal at this address, with this port if one is given.
    pub(crate) fn portal(&self, address: &str, port: Option<u16>) -> Answer<usize> {
        let portals = self.state.portals.iter().enumerate();
        let mut found = portals.filter(|(_, portal)| portal.endpoint.is(address, port));
        match (found.next(), found.next()) {
            (Some((at, _)), None) => Ok(at),
            (None, _) => Err(iscsi_codes::PORTAL_NOT_FOUND),
            // The object's key is only the address, which does not select one of the two.
            (Some(_), Some(_)) => Err(iscsi_codes::INVALID_PARAMETER),
        }
    }

    /// Asks every portal again, those that do not answer in vain.
    pub(crate) fn update_all(&mut self) {
        for at in 0..self.state.portals.len() {
            // A portal that does not answer keeps its targets.
            let _ = self.update_portal(at);
        }
    }

    /// Logs in to a target.
    pub(crate) fn connect(&mut self, login: Login, is_persistent: bool) -> Answer<Session> {
        check_name(&login.target)?;
        if !self.state.targets().contains(login.target.as_str()) {
            return Err(iscsi_codes::TARGET_NOT_FOUND);
        }
        let is_known = self.state.sessions_of(&login.target).next().is_some();
        if is_known && !login.is_multipath {
            return Err(iscsi_codes::TARGET_ALREADY_LOGGED_IN);
        }
        let session = self.log_in(login)?;
        if is_persistent || self.persists_unasked(&session) {
            self.persist(session.login.clone());
        }
        Ok(session)
    }

    /// Logs out of one session of a target, or of all.
    pub(crate) fn disconnect(&mut self, target: &str, session: Option<&str>) -> Answer<()> {
        let is_meant = |known: &Session| {
            known.login.target == target && session.is_none_or(|id| id == known.id())
        };
        if !self.state.sessions.iter().any(is_meant) {
            return Err(iscsi_codes::INVALID_SESSION_ID);
        }
        let mut lost = self.state.sessions.iter().filter(|known| is_meant(known));
        if lost.any(|session| self.disks_of(session).any(|disk| self.busy.contains(&disk))) {
            return Err(iscsi_codes::DEVICE_BUSY_ON_SESSION);
        }
        self.state.sessions.retain(|known| !is_meant(known));
        for persistent in &mut self.state.persistent {
            if persistent.login.target == target {
                persistent.is_due = false;
            }
        }
        Ok(())
    }

    /// Makes a session's login persistent.
    pub(crate) fn register(&mut self, session: &str, who: Option<Authentication>) -> Answer<()> {
        let mut login = self.session(session)?.login.clone();
        if let Some(who) = who {
            login.authentication = who;
        }
        self.persist(login);
        Ok(())
    }

    /// Takes the persistent login of a session's target back.
    pub(crate) fn unregister(&mut self, session: &str) -> Answer<()> {
        let target = self.session(session)?.login.target.clone();
        let before = self.state.persistent.len();
        let logins = &mut self.state.persistent;
        logins.retain(|persistent| persistent.login.target != target);
        if logins.len() == before {
            return Err(iscsi_codes::PERSISTENT_LOGIN_NOT_REMOVED);
        }
        Ok(())
    }

    /// Sets the secret by which targets have to prove themselves.
    pub(crate) fn set_proof(&mut self, text: &str) -> Answer<()> {
        self.state.proof = Some(chap_secret(text)?);
        Ok(())
    }

    /// The initiator service has come up, or is up: persistent logins that are still due are tried.
    pub(crate) fn come_up(&mut self) {
        if !self.state.has_come_up {
            self.state.has_come_up = true;
            self.update_all();
        }
        for at in 0..self.state.persistent.len() {
            let due = self.state.persistent.get(at).filter(|login| login.is_due);
            let done = due
                .map(|due| due.login.clone())
                .map(|login| self.log_in(login));
            if let (Some(Ok(_)), Some(persistent)) = (done, self.state.persistent.get_mut(at)) {
                persistent.is_due = false;
            }
        }
    }

    /// The logical units that the sessions bring now.
    pub(crate) fn luns(&self) -> impl Iterator<Item = (&Session, &Lun)> {
        let sessions = self.state.sessions.iter();
        sessions.flat_map(|session| self.luns_of(session).map(move |lun| (session, lun)))
    }

    /// The names of the disks that a session brings now.
    pub(crate) fn disks_of(&self, session: &Session) -> impl Iterator<Item = String> {
        self.luns_of(session).map(|lun| session.disk_name(lun))
    }

    fn luns_of(&self, session: &Session) -> impl Iterator<Item = &Lun> {
        let target = self.target_of(session).into_iter();
        target.flat_map(|target| &target.lun)
    }

    /// Whether the session's connection is up.
    pub(crate) fn is_up(&self, session: &Session) -> bool {
        self.target_of(session).is_some()
    }

    fn session(&self, id: &str) -> Answer<&Session> {
        let mut sessions = self.state.sessions.iter();
        sessions
            .find(|session| session.id().eq_ignore_ascii_case(id))
            .ok_or(iscsi_codes::INVALID_SESSION_ID)
    }

    fn log_in(&mut self, login: Login) -> Answer<Session> {
        let endpoint = self.way_to(&login)?;
        let server = self.reach(&endpoint)?;
        let target = server.target(&login.target).ok_or(iscsi_codes::NOT_FOUND)?;
        target.admit(&login.authentication, self.state.proof.as_ref())?;
        let is_second = self.state.sessions_of(&login.target).next().is_some();
        self.state.last_session += 1;
        let session = Session {
            boot: self.state.boot,
            number: self.state.last_session,
            login,
            endpoint,
            is_redundant: is_second && !self.is_multipath,
        };
        self.state.sessions.push(session.clone());
        Ok(session)
    }

    fn persists_unasked(&self, session: &Session) -> bool {
        let server = self.reach(&session.endpoint);
        session.number == 1 && server.is_ok_and(|server| server.first_login_persists)
    }

    /// How long the server that listens there takes to answer.
    pub(crate) fn answer_time(&self, endpoint: &Endpoint) -> Duration {
        let server = self.reach(endpoint).ok();
        server.map_or(Duration::ZERO, |server| {
            Duration::from_millis(server.answers_after_ms)
        })
    }

    /// The portal for a login: the requested one, or the first that reported the target and answers.
    pub(crate) fn way_to(&self, login: &Login) -> Answer<Endpoint> {
        if let Some(portal) = &login.portal {
            return Ok(portal.clone());
        }
        let portals = self.state.portals.iter();
        let advertising = portals.filter(|portal| portal.targets.contains(&login.target));
        let endpoints: Vec<_> = advertising.map(|portal| &portal.endpoint).collect();
        let answering = endpoints
            .iter()
            .find(|endpoint| self.reach(endpoint).is_ok());
        let first = answering.or(endpoints.first());
        first
            .map(|endpoint| (*endpoint).clone())
            .ok_or(iscsi_codes::NO_PORTAL_SPECIFIED)
    }

    fn persist(&mut self, login: Login) {
        let logins = &mut self.state.persistent;
        logins.retain(|persistent| persistent.login.target != login.target);
        logins.push(Persistent {
            login,
            is_due: false,
        });
    }

    /// The server that listens there and answers.
    fn reach(&self, endpoint: &Endpoint) -> Answer<&ServerSpec> {
        let mut servers = self.servers.iter();
        servers
            .find(|server| server.has_address(&endpoint.address) && server.port == endpoint.port)
            .filter(|server| !server.is_down)
            .map(Arc::as_ref)
            .ok_or(iscsi_codes::CONNECTION_FAILED)
    }

    /// The target of a session, while its server answers and offers it.
    fn target_of(&self, session: &Session) -> Option<&TargetSpec> {
        let server = self.reach(&session.endpoint).ok()?;
        server.target(&session.login.target)
    }
}
