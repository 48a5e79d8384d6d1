//! Logging in to a target, portal by portal.

use wincsi::iscsi::{
    Authentication, Chap, ChapSecret, Connected, LoginOptions, Portal, SessionInfo, TargetName,
};
use wincsi::system::{ServiceName, ServiceState, StartType};
use wincsi::{Condition, Deadline, Error};

use super::portals::{PORTAL, may_be_done};
use super::source::{IscsiDisks, SESSION};
use super::{Credentials, Refused, Target};
use crate::kinds::block::{Disk, Use};
use crate::leases::{Comparison, Ended, Owner, SecretText};
use crate::life::{CallError, may_come_through};
use crate::record::Record;

pub(crate) const SERVICE: &str = "MSiSCSI";

/// A login, as a volume's call wants it.
struct Login<'a> {
    disks: &'a IscsiDisks,
    of: &'a Use<'a, Target>,
    secret: Option<&'a Credentials>,
    discovery: &'a Authentication,
    session: &'a Authentication,
    deadline: Deadline,
}

/// A call whose volume no session serves yet.
pub(super) struct Unserved {
    pub(super) error: CallError,
    /// What came of its login.
    pub(super) ended: Ended,
}

impl<E: Into<CallError>> From<E> for Unserved {
    /// Of a call that sent no login.
    fn from(error: E) -> Self {
        let (error, ended) = (error.into(), Ended::InVain);
        Self { error, ended }
    }
}

impl IscsiDisks {
    /// Starts the initiator, which does not start by itself where nobody set it up. Returns why it cannot be started.
    pub(super) fn start_service(&self, deadline: Deadline) -> Result<Option<String>, CallError> {
        let system = self.ctx.node.system();
        let name = ServiceName::parse(SERVICE).expect("letters are a name");
        let service = match system.service(&name, deadline) {
            // There is none to start, now or later.
            Err(error) if error.is(Condition::NotFound) => return Ok(Some(error.to_string())),
            service => service?,
        };
        match (service.state, service.start_type) {
            (ServiceState::Running, _) => Ok(None),
            (_, StartType::Disabled) => Ok(Some(String::from("it is disabled"))),
            _ => match system.start_service(&name, deadline) {
                Err(error) if !may_come_through(&error) => Ok(Some(error.to_string())),
                started => Ok(started.map(|()| None)?),
            },
        }
    }

    /// The sessions of a target, whoever made them.
    pub(super) fn sessions_of(
        &self,
        target: &TargetName,
        deadline: Deadline,
    ) -> Result<Vec<SessionInfo>, Error> {
        let mut sessions = self.ctx.node.iscsi().sessions(deadline)?;
        let name = target.to_string();
        sessions.retain(|session| session.target.to_lowercase() == name);
        Ok(sessions)
    }

    /// A session that is there serves the volume, whatever secret it was made with: others have files open.
    pub(super) fn reuse(
        &self,
        of: &Use<'_, Target>,
        sessions: &[SessionInfo],
        secret: Option<&Credentials>,
    ) -> Result<Ended, CallError> {
        if !is_connected(sessions) {
            let why = self.not_connected(of);
            return Err(of.refused(Refused::NotConnected(why)).into());
        }
        let key = of.disk.key();
        self.require_portal(of)?;
        let is_noted = self.sessions.noted(&key, SESSION).is_some();
        if let [session] = sessions
            && !is_noted
            && self.sessions.is_ours(&key)
        {
            // Ours is never persistent: a person made it where our login did not come through.
            if session.is_persistent == Some(true) {
                return Ok(Ended::MetForeign);
            }
            self.sessions.note(&key, SESSION, session.id.clone());
        }
        let compared = secret.map(|_| self.sessions.compare(&key, &secret_text(secret)));
        let (volume, target) = (of.volume, &of.disk.iqn);
        if compared == Some(Comparison::Differs) && self.other_secrets.lock().insert(volume.clone())
        {
            tracing::warn!(
                "volume {volume}: the session of {target} was made with another CHAP secret, and serves it"
            );
        }
        Ok(Ended::Well)
    }

    /// The names of targets are anybody's to write: a session by a portal of another volume's author may lead to his server.
    fn require_portal(&self, of: &Use<'_, Target>) -> Result<(), CallError> {
        let is_own = |by: &String| of.disk.portals.iter().any(|own| own.to_string() == *by);
        match self.portal_of_ours(of) {
            Some(by) if !is_own(&by) => Err(of.refused(Refused::OtherPortal(by)).into()),
            _ => Ok(()),
        }
    }

    /// The portal of the session, unless another made it.
    fn portal_of_ours(&self, of: &Use<'_, Target>) -> Option<String> {
        let key = of.disk.key();
        let is_ours =
            self.sessions.is_ours(&key) || self.sessions.owner(of.volume) != Owner::Foreign;
        self.sessions.noted(&key, PORTAL).filter(|_| is_ours)
    }

    /// What there is to say of a session without a connection.
    pub(super) fn not_connected(&self, of: &Use<'_, Target>) -> String {
        let target = &of.disk.iqn;
        let by = self.portal_of_ours(of);
        let by = by.map_or_else(String::new, |portal| format!(" by portal {portal}"));
        format!("the session of {target}{by} is not connected, and Windows tries again")
    }

    pub(super) fn log_in(
        &self,
        of: &Use<'_, Target>,
        secret: Option<&Credentials>,
        deadline: Deadline,
    ) -> Result<Ended, Unserved> {
        let none = Authentication::None;
        if secret.is_none() && of.disk.has_chap {
            return Err(of.refused(Refused::NoSecret).into());
        }
        self.set_mutual(of, secret, deadline)?;
        let login = Login {
            disks: self,
            of,
            secret,
            discovery: secret.map_or(&none, |secret| &secret.discovery),
            session: secret.map_or(&none, |secret| &secret.session),
            deadline,
        };
        login.run()
    }

    /// Windows has one such secret for all targets, and nobody can read whose it is.
    fn set_mutual(
        &self,
        of: &Use<'_, Target>,
        secret: Option<&Credentials>,
        deadline: Deadline,
    ) -> Result<(), CallError> {
        let Some(mutual) = secret.and_then(|secret| secret.mutual.as_ref()) else {
            return Ok(());
        };
        if !self.settings.sets_mutual_secret {
            return Err(of.refused(Refused::Mutual).into());
        }
        let mut is_set = self.mutual.lock();
        let text = secret_text(secret);
        let differs = |other: &Record<Disk<Target>>| match is_set.as_ref() {
            Some(set) => set.expose() != mutual.expose(),
            // After a restart the leases alone tell which the volumes of this boot need.
            None => {
                let key = other.content.source.key();
                self.sessions.is_ours(&key)
                    && self.sessions.compare(&key, &text) != Comparison::Same
            }
        };
        let mut records = self.ctx.store.records_of::<Disk<Target>>();
        let other = records.find(|record| {
            record.content.source.mutual_chap && record.volume != *of.volume && differs(record)
        });
        if let Some(other) = other {
            return Err(of.refused(Refused::OtherMutual(other.volume)).into());
        }
        let iscsi = self.ctx.node.iscsi();
        iscsi.set_mutual_chap_secret(mutual, deadline)?;
        *is_set = Some(mutual.clone());
        Ok(())
    }
}

impl Login<'_> {
    fn run(&self) -> Result<Ended, Unserved> {
        let portals = &self.of.disk.portals;
        let (living, mut failed) = self.disks.probe(portals, self.deadline);
        for portal in living {
            match self.log_in_by(&portal) {
                Err(Unserved {
                    error: CallError::Node { error, .. },
                    ended: Ended::InVain,
                }) if !may_be_done(&error) => failed.push((portal, *error)),
                ended => return ended,
            }
        }
        Err(self.of.refused(Refused::NoPortal(failed)).into())
    }

    fn log_in_by(&self, portal: &Portal) -> Result<Ended, Unserved> {
        let (disks, of) = (self.disks, self.of);
        let is_ours = disks.add_portal(of, portal, self.discovery, self.deadline)?;
        let connected = match self.connect(portal) {
            Err(error) if is_ours && error.is(Condition::NotFound) => {
                self.add_once_more(portal, error)?;
                self.connect(portal)
            }
            connected => connected,
        };
        let ended = match connected {
            Ok(Connected::Anew) => self.made(),
            Ok(_) => Ended::MetForeign,
            Err(error) => {
                let ended = self.ended_by(&error);
                let error = error.into();
                return Err(Unserved { error, ended });
            }
        };
        // Whatever is the matter with those before, this one serves.
        disks.forget_portals(&of.disk.key(), self.deadline);
        Ok(ended)
    }

    /// A portal answers for the targets that this node was permitted when it was added.
    fn add_once_more(&self, portal: &Portal, unknown: Error) -> Result<(), CallError> {
        let disks = self.disks;
        if disks.has_sessions(portal, self.deadline)? {
            return Err(unknown.into());
        }
        let iscsi = disks.ctx.node.iscsi();
        iscsi.remove_portal(portal, self.deadline)?;
        disks.add_noted(self.of, portal, self.discovery, self.deadline)
    }

    /// A login that failed may have come through all the same, unless the target or Windows refused it.
    fn ended_by(&self, error: &Error) -> Ended {
        let refusals = [
            Condition::LogonFailure,
            Condition::AccessDenied,
            Condition::AlreadyConnected,
            Condition::NotFound,
        ];
        if refusals.iter().any(|refusal| error.is(*refusal)) {
            return Ended::InVain;
        }
        let is_there = || {
            let sessions = self.disks.sessions_of(&self.of.disk.iqn, self.deadline)?;
            // Ours is never persistent.
            let mut sessions = sessions.iter();
            Ok::<_, Error>(sessions.any(|session| session.is_persistent != Some(true)))
        };
        match may_be_done(error) || is_there().unwrap_or(true) {
            true => Ended::MayBeMade,
            false => Ended::InVain,
        }
    }

    fn connect(&self, portal: &Portal) -> Result<Connected, Error> {
        let options = LoginOptions::default().with_persistent(false);
        let iscsi = self.disks.ctx.node.iscsi();
        let target = &self.of.disk.iqn;
        iscsi.connect_with(portal, target, self.session, &options, self.deadline)
    }

    /// The identifier of the one session that there is now. Of two, as a stranger logged in too, it is not known.
    fn made(&self) -> Ended {
        let (leases, key) = (&self.disks.sessions, self.of.disk.key());
        let sessions = self.disks.sessions_of(&self.of.disk.iqn, self.deadline);
        let session = match sessions.as_deref() {
            Ok([session]) => session,
            Ok([_, _, ..]) => return Ended::MetForeign,
            // The next call notes one that cannot be looked up, or it is the only one at its end.
            Ok([]) | Err(_) => return Ended::MayBeMade,
        };
        leases.note(&key, SESSION, session.id.clone());
        leases.note_credential(&key, &secret_text(self.secret));
        Ended::Made
    }
}

/// Whether one of a target's sessions has a connection, as far as Windows tells.
pub(super) fn is_connected(sessions: &[SessionInfo]) -> bool {
    let mut sessions = sessions.iter();
    sessions.any(|session| session.is_connected != Some(false))
}

/// User and secret of the session, and the secret by which targets prove themselves; each is empty without CHAP.
fn secret_text(secret: Option<&Credentials>) -> SecretText {
    let login = secret.and_then(|secret| match &secret.session {
        Authentication::None => None,
        Authentication::OneWayChap(chap) | Authentication::MutualChap(chap) => Some(chap),
    });
    let user = login.and_then(Chap::username).unwrap_or_default();
    let own = login.map_or("", |chap| chap.secret().expose());
    let mutual = secret.and_then(|secret| secret.mutual.as_ref());
    let parts = [user, "\0", own, "\0", mutual.map_or("", ChapSecret::expose)];
    let mut text = SecretText::default();
    // In one piece: growth would leave copies.
    text.reserve(parts.iter().map(|part| part.len()).sum());
    parts.iter().for_each(|part| text.push_str(part));
    text
}
