//! Logging in to a target, under its lock.

use os::Arguments;
use os::Target as Callable;
use os::Value;
use os::schema::iscsi_codes;
use os::schema::iscsi_target;
use os::schema::iscsi_target::connect as parameters;

use super::Authentication;
use super::IscsiError;
use super::Portal;
use super::TargetName;
use super::find;
use super::initiator::Initiator;
use super::initiator::KnownTarget;
use super::refresh;
use crate::locks::Held;
use crate::locks::Key;

/// How a target came to be connected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Connected {
    /// By this call.
    Anew,
    /// It was before.
    Before {
        /// In what its sessions differ from what was asked for, in words.
        differences: Vec<String>,
    },
}

pub(super) fn connect(
    initiator: &Initiator<'_>,
    held: Held,
    portal: &Portal,
    name: &TargetName,
    authentication: &Authentication,
) -> Result<Connected, IscsiError> {
    let mut held = held;
    let target = look(initiator, &mut held, portal, name)?;
    if target.is_connected {
        return Ok(before(initiator, &target, portal, authentication));
    }
    initiator.node.check(initiator.deadline, "connect", name)?;
    match log_in(initiator, &target, portal, authentication) {
        Ok(()) => Ok(Connected::Anew),
        Err(error) if error.is(iscsi_codes::TARGET_ALREADY_LOGGED_IN) => {
            let target = find(initiator, portal, name)?;
            match target.is_connected {
                true => Ok(before(initiator, &target, portal, authentication)),
                false => Err(IscsiError::AlreadyLoggedIn {
                    target: name.to_string(),
                }),
            }
        }
        Err(error) => Err(error),
    }
}

/// The target as the portal told of it, which is asked anew when it did not.
fn look(
    initiator: &Initiator<'_>,
    held: &mut Held,
    portal: &Portal,
    name: &TargetName,
) -> Result<KnownTarget, IscsiError> {
    let known = initiator.portal(portal)?;
    if let Some(target) = initiator.told_target(&known, name)? {
        return Ok(target);
    }
    held.add(Key::IscsiPortal(portal.clone()), initiator.deadline)?;
    refresh(initiator, portal, &known)?;
    find(initiator, portal, name)
}

fn log_in(
    initiator: &Initiator<'_>,
    target: &KnownTarget,
    portal: &Portal,
    authentication: &Authentication,
) -> Result<(), IscsiError> {
    let arguments = Arguments::none()
        .with(parameters::NODE_ADDRESS.name, Value::text(&target.name))
        .with(
            parameters::TARGET_PORTAL_ADDRESS.name,
            Value::text(portal.host()),
        )
        .with(
            parameters::TARGET_PORTAL_PORT_NUMBER.name,
            Value::uint16(portal.port()),
        );
    let arguments = authentication.arguments(arguments);
    let class = &iscsi_target::CLASS;
    let on = Callable::Class(class.name);
    let method = &iscsi_target::CONNECT;
    initiator.invoke(class, on, method, arguments.expose(), target.name.clone())
}

/// What is connected already, and how it differs from what was asked for, which is logged as well.
fn before(
    initiator: &Initiator<'_>,
    target: &KnownTarget,
    portal: &Portal,
    authentication: &Authentication,
) -> Connected {
    let found = differences(initiator, target, portal, authentication);
    let differences = found.unwrap_or_else(|error| vec![format!("its sessions: {error}")]);
    if !differences.is_empty() {
        let target = &target.name;
        tracing::warn!(
            target,
            ?differences,
            "a target was connected otherwise, and stays so"
        );
    }
    Connected::Before { differences }
}

fn differences(
    initiator: &Initiator<'_>,
    target: &KnownTarget,
    portal: &Portal,
    authentication: &Authentication,
) -> Result<Vec<String>, IscsiError> {
    let mut found = Vec::new();
    for connection in initiator.connections(target)? {
        let (address, port) = (connection.address, connection.port);
        if !portal.is(&address, port) {
            found.push(format!("portal {address} port {port}, not {portal}"));
        }
    }
    let wanted = authentication.word();
    for session in initiator.sessions(target)? {
        let has = session.authentication.as_deref().unwrap_or("unknown");
        if has != wanted {
            found.push(format!("authentication {has}, not {wanted}"));
        }
    }
    Ok(found)
}
