//! Logging in to a target, under its lock.

use std::time::Duration;

use os::schema::iscsi_codes;
use os::schema::iscsi_target::{self, connect as parameters};
use os::{Deadline, Value};

use super::initiator::{Initiator, KnownTarget, session_id};
use super::{
    Authentication, IscsiError, LoginOptions, Portal, TargetName, address, disconnect, find_behind,
    refresh,
};
use crate::locks::{Key, LockGuard};

/// How long a login that nobody asked to persist may take to be taken back.
const TAKEN_BACK_WITHIN: Duration = Duration::from_secs(30);

/// How a target came to be connected.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Connected {
    /// By this call.
    Anew,
    /// It was before.
    Before {
        /// The differences between the login and the request, in words; `None` if this process did
        /// not make the login, or its session is no longer the target's only one.
        differences: Option<Vec<String>>,
    },
    /// It is connected, and nobody says since when: csi-proxy's pipes leave it out.
    Unreported,
}

/// A login to a target, as it is wanted.
pub(super) struct WantedLogin<'a> {
    pub(super) initiator: Initiator<'a>,
    pub(super) name: &'a TargetName,
    pub(super) portal: &'a Portal,
    pub(super) authentication: &'a Authentication,
    pub(super) options: &'a LoginOptions,
}

impl WantedLogin<'_> {
    pub(super) fn connect(&self, mut held: LockGuard) -> Result<Connected, IscsiError> {
        let (initiator, name) = (&self.initiator, self.name);
        let target = self.find_target(&mut held)?;
        if target.is_connected {
            return self.before(&target);
        }
        initiator.node.check(initiator.deadline, "connect", name)?;
        match self.log_in(&target) {
            Ok(session) => {
                if self.options.persistent == Some(false) {
                    self.take_back_unasked(&target, session.as_deref());
                }
                let logins = &initiator.node.state.logins;
                match session {
                    Some(session) => logins.remember(self, session),
                    None => logins.forget(name),
                }
                Ok(Connected::Anew)
            }
            Err(error) if error.is(iscsi_codes::TARGET_ALREADY_LOGGED_IN) => {
                match initiator.any_target(name)? {
                    // Somebody else was faster.
                    Some(target) if target.is_connected => self.before(&target),
                    _ => Err(IscsiError::AlreadyLoggedIn {
                        target: name.to_string(),
                    }),
                }
            }
            Err(error) => Err(error),
        }
    }

    /// The target as the portal reported it; the portal is queried again if it did not.
    fn find_target(&self, held: &mut LockGuard) -> Result<KnownTarget, IscsiError> {
        let (initiator, portal, name) = (&self.initiator, self.portal, self.name);
        let known = initiator.portal(portal)?;
        if let Some(target) = initiator.target_of(&known, name)? {
            return Ok(target);
        }
        held.add(Key::IscsiPortal(portal.clone()), initiator.deadline)?;
        refresh(initiator, portal, &known)?;
        find_behind(initiator, Ok(known), portal, name)
    }

    /// The identifier of the session that came of it, if the initiator says so.
    fn log_in(&self, target: &KnownTarget) -> Result<Option<String>, IscsiError> {
        let initiator = &self.initiator;
        let mut arguments = address(
            self.portal,
            parameters::TARGET_PORTAL_ADDRESS.name,
            parameters::TARGET_PORTAL_PORT_NUMBER.name,
        )
        .with(parameters::NODE_ADDRESS.name, Value::text(&target.name));
        for (row, value) in self.options.asked() {
            arguments = arguments.with(row.name, value);
        }
        let arguments = self.authentication.of_login(arguments);
        let method = &iscsi_target::CONNECT;
        let class = initiator.class(&iscsi_target::CLASS, &target.name);
        let outcome = class.outcome(method, arguments.expose())?;
        class.see(
            method,
            &outcome,
            (initiator.node, initiator.deadline),
            || Ok::<_, IscsiError>(!initiator.sessions(target)?.is_empty()),
        )?;
        match outcome.out.get(parameters::CREATED_ISCSI_SESSION.name) {
            Some(Value::Object(session)) => Ok(session_id(session).ok()),
            _ => Ok(None),
        }
    }

    /// Windows was seen to make a login persistent that nobody asked it to: it would come back at each start. The session
    /// serves all the same if it stays so.
    fn take_back_unasked(&self, target: &KnownTarget, made: Option<&str>) {
        let take_back = || -> Result<(), IscsiError> {
            // The login may have outlasted its call, and comes back at each start all the same.
            let node = self.initiator.node;
            let deadline = Deadline::within(&*node.os().clock, TAKEN_BACK_WITHIN);
            let initiator = Initiator { node, deadline };
            let mut sessions = initiator.sessions(target)?;
            sessions.retain(|session| made.is_none_or(|made| made == session.id));
            // Of several, one may be another process's.
            match &sessions[..] {
                [session] => disconnect::unregister(&initiator, target, session),
                _ => Ok(()),
            }
        };
        if let Err(error) = take_back() {
            let target = self.name;
            tracing::warn!(%target, %error, "a login may come back at the next start, though nobody asked for it");
        }
    }

    /// The existing connection, with its differences from the request, which are logged as well.
    fn before(&self, target: &KnownTarget) -> Result<Connected, IscsiError> {
        self.forget_what_was_replaced(target);
        let name = self.name;
        let differences = self.initiator.node.state.logins.differences(self);
        match &differences {
            None => tracing::info!(
                target = %name,
                "a target is connected and stays so, by a login that is not known"
            ),
            Some(differences) if !differences.is_empty() => tracing::warn!(
                target = %name,
                ?differences,
                "a target was connected otherwise, and stays so"
            ),
            Some(_) => {}
        }
        Ok(Connected::Before { differences })
    }

    /// Drops the record of a login whose session is gone, or no longer the only one: another process may have
    /// logged out and in again, or in beside it. A failed query of the sessions drops it too, instead of failing
    /// for a connected caller.
    fn forget_what_was_replaced(&self, target: &KnownTarget) {
        let (initiator, name) = (&self.initiator, self.name);
        let logins = &initiator.node.state.logins;
        let Some(ours) = logins.session(name) else {
            return;
        };
        match initiator.session_ids(target) {
            Ok(sessions) if sessions == [ours] => {}
            Ok(_) => logins.forget(name),
            Err(error) => {
                tracing::debug!(target = %name, %error, "how a target is logged in is not told");
                logins.forget(name);
            }
        }
    }
}
