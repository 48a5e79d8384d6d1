//! Logging out of a target, under its lock.

use std::collections::BTreeSet;

use os::schema::iscsi_target::{self, disconnect as parameters};
use os::schema::{iscsi_codes, iscsi_session};
use os::{Arguments, Value};

use super::initiator::{Initiator, KnownTarget, Session};
use super::{IscsiError, TargetName};

/// Ends every session of the target. While there are several, they are queried again after each:
/// which of them are persistent changes when a persistent one ends.
pub(super) fn end_sessions(
    initiator: &Initiator<'_>,
    name: &TargetName,
    target: &KnownTarget,
) -> Result<(), IscsiError> {
    let mut ended = BTreeSet::new();
    loop {
        let sessions = initiator.sessions(target)?;
        let Some(session) = sessions.first() else {
            return Ok(());
        };
        initiator
            .node
            .check(initiator.deadline, "disconnect", name)?;
        end(initiator, target, session)?;
        if sessions.len() == 1 {
            return Ok(());
        }
        if !ended.insert(session.id.clone()) {
            return Err(IscsiError::SessionRemains {
                target: name.to_string(),
                session: session.id.clone(),
            });
        }
    }
}

/// Takes a login that would come back after a restart back first: without its session nobody could
/// name it any more.
pub(super) fn end(
    initiator: &Initiator<'_>,
    target: &KnownTarget,
    session: &Session,
) -> Result<(), IscsiError> {
    unregister(initiator, target, session)?;
    let id = Value::text(&session.id);
    let arguments = Arguments::none().with(parameters::SESSION_IDENTIFIER.name, id);
    let wmi_object = initiator.instance(&iscsi_target::CLASS, &target.path, &target.name);
    let method = (&iscsi_target::DISCONNECT, &arguments);
    let waiting = (initiator.node, initiator.deadline);
    let is_ended = || Ok(now(initiator, target, session)?.is_none());
    unless_gone(wmi_object.invoke_and_verify(method, waiting, is_ended))
}

/// Takes a persistent login back. The session stays.
pub(super) fn unregister(
    initiator: &Initiator<'_>,
    target: &KnownTarget,
    session: &Session,
) -> Result<(), IscsiError> {
    if !session.is_persistent {
        return Ok(());
    }
    let name = format!("session {}", session.id);
    let wmi_object = initiator.instance(&iscsi_session::CLASS, &session.path, name);
    let method = (&iscsi_session::UNREGISTER, &Arguments::none());
    let waiting = (initiator.node, initiator.deadline);
    let is_taken_back =
        || Ok(now(initiator, target, session)?.is_none_or(|now| !now.is_persistent));
    unless_gone(wmi_object.invoke_and_verify(method, waiting, is_taken_back))
}

/// The session as it is now; `None` if it has ended.
fn now(
    initiator: &Initiator<'_>,
    target: &KnownTarget,
    session: &Session,
) -> Result<Option<Session>, IscsiError> {
    let mut sessions = initiator.sessions(target)?.into_iter();
    Ok(sessions.find(|now| now.id == session.id))
}

/// A session that ended by itself is no session.
fn unless_gone(done: Result<(), IscsiError>) -> Result<(), IscsiError> {
    match done {
        Err(error) if error.is(iscsi_codes::INVALID_SESSION_ID) => Ok(()),
        done => done,
    }
}
