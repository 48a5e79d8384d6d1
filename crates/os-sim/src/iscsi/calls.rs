//! The methods of the iSCSI classes: their arguments, and how their failures surface.

use std::time::Duration;

use os::schema::ReturnCode;
use os::schema::iscsi_session::{self, register, set_chap_secret};
use os::schema::iscsi_target::{self, connect, disconnect};
use os::schema::iscsi_target_portal::{self, new, remove, update};
use os::{Cause, Hresult, ObjectPath, Outcome, Value};

use super::initiator::Initiator;
use super::login::{Authentication, Endpoint, Login};
use super::objects::{PortalObject, SessionObject, initiator_name};
use crate::provider::{Done, MethodCall, Object, whole};

const ISCSI_PORT: u16 = 3260;

/// The call fails, and its error object carries the initiator's code as an HRESULT:
/// `Connect-IscsiTarget` has been seen to end in a `CimException` whose identifier is
/// `HRESULT 0xefff0029`, and `HRESULT 0xefff003f`, which is how such an object prints. The class table
/// lists the same codes as return values and calls that unverified: should a node return them, this
/// is the one place to change.
pub(super) fn refuse(code: ReturnCode) -> Cause {
    Hresult(code.code).into()
}

/// How long the servers that a method queries, one after the other, take to answer.
pub(super) fn answer_time(initiator: &Initiator, call: &MethodCall<'_>, node: &str) -> Duration {
    let portals = || initiator.state.portals.iter().map(|it| it.endpoint.clone());
    let endpoints: Vec<_> = match call.method.name {
        "Connect" => {
            let login = login(call, node);
            let way = login.and_then(|login| initiator.way_to(&login).map_err(refuse));
            way.into_iter().collect()
        }
        "New" => vec![endpoint(call)],
        "Update" if call.class.name == iscsi_target::CLASS.name => portals().collect(),
        "Update" => {
            let port = port(call, update::TARGET_PORTAL_PORT_NUMBER.name);
            let at = portal(initiator, call, port);
            at.ok()
                .and_then(|at| portals().nth(at))
                .into_iter()
                .collect()
        }
        _ => Vec::new(),
    };
    endpoints.iter().map(|it| initiator.answer_time(it)).sum()
}

/// Runs a method on the initiator of the node with this name.
pub(super) fn invoke(
    initiator: &mut Initiator,
    call: &MethodCall<'_>,
    node: &str,
) -> Done<Outcome> {
    let class = call.class.name;
    match call.method.name {
        "Connect" => connect(initiator, call, node),
        "Disconnect" => disconnect(initiator, call),
        "New" => add_portal(initiator, call, node),
        "Register" => register(initiator, call, node),
        "Remove" => remove_portal(initiator, call),
        "SetCHAPSecret" => {
            let secret = call.text(set_chap_secret::CHAP_SECRET.name);
            done(initiator.set_proof(secret.unwrap_or_default()))
        }
        "Unregister" => {
            let session = call.object()?.key(iscsi_session::SESSION_IDENTIFIER.name)?;
            done(initiator.unregister(session))
        }
        "Update" if class == iscsi_target::CLASS.name => {
            initiator.update_all();
            Ok(Outcome::of(0))
        }
        "Update" => update_portal(initiator, call),
        other => Err(Cause::Malformed(format!(
            "{class}.{other} is not simulated"
        ))),
    }
}

fn add_portal(initiator: &mut Initiator, call: &MethodCall<'_>, node: &str) -> Done<Outcome> {
    let kind = call.text(new::AUTHENTICATION_TYPE.name);
    let user = call.text(new::CHAP_USERNAME.name);
    let secret = call.text(new::CHAP_SECRET.name);
    let who = Authentication::parse(kind, user, secret, &initiator_name(node)).map_err(refuse)?;
    let added = initiator.add_portal(endpoint(call), who);
    let portal = added.map_err(refuse)?;
    let class = &iscsi_target_portal::CLASS;
    answer(
        new::CREATED_TARGET_PORTAL.name,
        &PortalObject(portal),
        class,
    )
}

/// The portal that is to be added.
fn endpoint(call: &MethodCall<'_>) -> Endpoint {
    let address = call.text(new::TARGET_PORTAL_ADDRESS.name);
    let port = port(call, new::TARGET_PORTAL_PORT_NUMBER.name);
    Endpoint {
        address: address.unwrap_or_default().to_owned(),
        port: port.unwrap_or(ISCSI_PORT),
    }
}

fn remove_portal(initiator: &mut Initiator, call: &MethodCall<'_>) -> Done<Outcome> {
    let port = port(call, remove::TARGET_PORTAL_PORT_NUMBER.name);
    let at = portal(initiator, call, port)?;
    initiator.state.portals.remove(at);
    Ok(Outcome::of(0))
}

fn update_portal(initiator: &mut Initiator, call: &MethodCall<'_>) -> Done<Outcome> {
    let port = port(call, update::TARGET_PORTAL_PORT_NUMBER.name);
    let at = portal(initiator, call, port)?;
    done(initiator.update_portal(at))
}

/// The portal that the object of a call is, narrowed down by the port.
fn portal(initiator: &Initiator, call: &MethodCall<'_>, port: Option<u16>) -> Done<usize> {
    let object = call.object()?;
    let address = object.key(iscsi_target_portal::TARGET_PORTAL_ADDRESS.name)?;
    initiator.portal(address, port).map_err(refuse)
}

fn connect(initiator: &mut Initiator, call: &MethodCall<'_>, node: &str) -> Done<Outcome> {
    let login = login(call, node)?;
    let is_persistent = call.bool(connect::IS_PERSISTENT.name).unwrap_or_default();
    let session = initiator.connect(login, is_persistent).map_err(refuse)?;
    let object = SessionObject::of(initiator, &session, node);
    answer(
        connect::CREATED_ISCSI_SESSION.name,
        &object,
        &iscsi_session::CLASS,
    )
}

fn login(call: &MethodCall<'_>, node: &str) -> Done<Login> {
    let kind = call.text(connect::AUTHENTICATION_TYPE.name);
    let user = call.text(connect::CHAP_USERNAME.name);
    let secret = call.text(connect::CHAP_SECRET.name);
    let who = Authentication::parse(kind, user, secret, &initiator_name(node)).map_err(refuse)?;
    let address = call.text(connect::TARGET_PORTAL_ADDRESS.name);
    let port = port(call, connect::TARGET_PORTAL_PORT_NUMBER.name);
    let portal = address.filter(|address| !address.is_empty());
    let flag = |name| call.bool(name).unwrap_or_default();
    Ok(Login {
        target: call
            .text(connect::NODE_ADDRESS.name)
            .unwrap_or_default()
            .to_owned(),
        portal: portal.map(|address| Endpoint {
            address: address.to_owned(),
            port: port.unwrap_or(ISCSI_PORT),
        }),
        authentication: who,
        is_multipath: flag(connect::IS_MULTIPATH_ENABLED.name),
        has_data_digest: flag(connect::IS_DATA_DIGEST.name),
        has_header_digest: flag(connect::IS_HEADER_DIGEST.name),
        from: call
            .text(connect::INITIATOR_PORTAL_ADDRESS.name)
            .map(str::to_owned),
    })
}

fn disconnect(initiator: &mut Initiator, call: &MethodCall<'_>) -> Done<Outcome> {
    let target = call.object()?.key(iscsi_target::NODE_ADDRESS.name)?;
    let session = call.text(disconnect::SESSION_IDENTIFIER.name);
    done(initiator.disconnect(target, session))
}

fn register(initiator: &mut Initiator, call: &MethodCall<'_>, node: &str) -> Done<Outcome> {
    let session = call.object()?.key(iscsi_session::SESSION_IDENTIFIER.name)?;
    let user = call.text(register::CHAP_USERNAME.name);
    let who = call.text(register::CHAP_SECRET.name).map(|secret| {
        let kind = Some(iscsi_target::authentication_type::ONE_WAY_CHAP.value);
        Authentication::parse(kind, user, Some(secret), &initiator_name(node))
    });
    done(initiator.register(session, who.transpose().map_err(refuse)?))
}

fn done(answer: Result<(), ReturnCode>) -> Done<Outcome> {
    answer.map_err(refuse)?;
    Ok(Outcome::of(0))
}

fn answer(name: &str, object: &dyn Object, class: &'static os::schema::Class) -> Done<Outcome> {
    let pathless = || Ok(ObjectPath(String::new()));
    let object = Value::Object(Box::new(whole(object, class, pathless)?));
    let mut outcome = Outcome::of(0);
    outcome.out.insert(name.to_owned(), object);
    Ok(outcome)
}

fn port(call: &MethodCall<'_>, name: &str) -> Option<u16> {
    u16::try_from(call.u64(name)?).ok()
}
