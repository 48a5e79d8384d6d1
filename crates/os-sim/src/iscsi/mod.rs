//! iSCSI: servers around the node, and the node's initiator.
//!
//! A server is a file `iscsi/<server>.toml` of the node's folder ([`ServerSpec`]), and the bytes of its
//! disks are the images `iscsi/<image>.img`. A session plugs the target's disks in: the disk
//! `iscsi-<image>` is on the node as long as the session lasts and its server answers, and what was
//! written to it stays in the image.
//!
//! # What Windows is known for
//! - Nothing works unless the service `MSiSCSI` runs, and it does not start by itself.
//! - A portal is asked for its targets when it is added, and again by `Update` alone: a target that
//!   came later is unknown until then.
//! - A session outlives its connection: while the server is down it is listed as not connected, and
//!   another login to the target is refused with 0xEFFF003F.
//! - A session has another identifier after a restart, also the first.
//! - A persistent login comes back after a restart, when the service comes up. Logging out does not
//!   take it back; `Unregister` does.
//! - Disks of a session may be asked for before the storage provider knows them: it has to rescan.

mod calls;
mod control;
mod initiator;
mod login;
mod objects;
mod plug;
mod server;
mod state;

#[cfg(test)]
mod tests;

pub use control::IscsiControl;
pub use server::{Chap, Lun, ServerSpec, TargetSpec};

pub(crate) use plug::{Settled, reconcile, restart};
pub(crate) use state::IscsiState;

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use os::schema::iscsi_associations::target_to_target_portal;
use os::schema::{
    Class, disk, iscsi_codes, iscsi_connection, iscsi_session, iscsi_target, iscsi_target_portal,
    storage_object,
};
use os::{Cause, Clock as _, Facility, Outcome};

use self::initiator::Initiator;
use self::objects::{ConnectionObject, PortalObject, SessionObject, TargetObject};
use self::state::Session;
use crate::machine::Machine;
use crate::provider::{Done, Keyed, MethodCall, Namespace, Object};
use crate::shared_node::SharedNode;
use crate::smb::{NO_ANSWER, NOBODY_LISTENS};
use crate::storage;

/// The service without which there is no initiator.
const SERVICE: &str = "MSiSCSI";

/// The iSCSI classes of the namespace `Root\Microsoft\Windows\Storage`.
pub(crate) struct Iscsi {
    pub(crate) shared: Arc<SharedNode>,
}

impl Namespace for Iscsi {
    fn facility(&self) -> Facility {
        Facility::Iscsi
    }

    fn shared(&self) -> &Arc<SharedNode> {
        &self.shared
    }

    fn objects(&self, class: &'static Class) -> Done<Vec<Box<dyn Object>>> {
        self.with(|_, initiator| {
            let sessions: Vec<_> = initiator.state.sessions.iter().collect();
            Ok(match class.name {
                name if name == iscsi_target_portal::CLASS.name => portals(initiator, |_| true),
                name if name == iscsi_target::CLASS.name => {
                    targets(initiator, initiator.state.targets().into_iter())
                }
                name if name == iscsi_session::CLASS.name => self.sessions(initiator, &sessions),
                name if name == iscsi_connection::CLASS.name => connections(initiator, &sessions),
                _ => Vec::new(),
            })
        })
    }

    fn associated(
        &self,
        of: &Keyed<'_>,
        association: &Class,
        result: &'static Class,
    ) -> Done<Option<Vec<Box<dyn Object>>>> {
        self.with(|machine, initiator| {
            if association.name == target_to_target_portal::CLASS.name {
                return discovered(initiator, of);
            }
            let Some(sessions) = sessions_behind(machine, initiator, of)? else {
                return Ok(None);
            };
            let names = sessions.iter().map(|session| session.login.target.as_str());
            Ok(Some(match result.name {
                name if name == iscsi_target::CLASS.name => targets(initiator, names),
                name if name == iscsi_session::CLASS.name => self.sessions(initiator, &sessions),
                name if name == iscsi_connection::CLASS.name => connections(initiator, &sessions),
                name if name == disk::CLASS.name => disks(machine, initiator, &sessions),
                _ => Vec::new(),
            }))
        })
    }

    fn invoke(&self, call: &MethodCall<'_>) -> Done<Outcome> {
        let node = self.shared.node_name();
        let delay = self.with(|_, initiator| Ok(calls::answer_time(initiator, call, node)))?;
        // Without the machine, which other operations have meanwhile.
        self.shared.clock.sleep(delay);
        self.with(|_, initiator| calls::invoke(initiator, call, node))
    }
}

impl Iscsi {
    /// Lets `act` work with the node's initiator, and saves its changes.
    ///
    /// Without the initiator service every call fails, queries with the same code (`formats::fixtures::field_errors`).
    fn with<T>(&self, act: impl FnOnce(&Machine, &mut Initiator) -> Done<T>) -> Done<T> {
        self.shared.with(|machine| {
            if !machine.is_service_running(SERVICE) {
                return Err(calls::refuse(iscsi_codes::SERVICE_NOT_RUNNING));
            }
            machine.learn_arrivals();
            let mut initiator = plug::initiator(machine).map_err(out_of_reach)?;
            let done = act(machine, &mut initiator);
            plug::keep(machine, initiator);
            done
        })
    }

    fn sessions(&self, initiator: &Initiator, sessions: &[&Session]) -> Vec<Box<dyn Object>> {
        let node = self.shared.node_name();
        let object = |session: &&Session| boxed(SessionObject::of(initiator, session, node));
        sessions.iter().map(object).collect()
    }
}

/// The targets that a portal reported, or the portals that reported a target. `None` if there is no
/// such object.
fn discovered(initiator: &Initiator, of: &Keyed<'_>) -> Done<Option<Vec<Box<dyn Object>>>> {
    if of.class.name == iscsi_target::CLASS.name {
        let target = of.key(iscsi_target::NODE_ADDRESS.name)?;
        let is_known = initiator.state.targets().contains(target);
        let advertises =
            |portal: &state::Portal| portal.targets.iter().any(|advertised| advertised == target);
        return Ok(is_known.then(|| portals(initiator, advertises)));
    }
    let address = of.key(iscsi_target_portal::TARGET_PORTAL_ADDRESS.name)?;
    let mut advertised = None;
    for portal in &initiator.state.portals {
        if portal.endpoint.is(address, None) {
            let advertised: &mut Vec<_> = advertised.get_or_insert_default();
            advertised.extend(portal.targets.iter().map(String::as_str));
        }
    }
    Ok(advertised.map(|advertised| targets(initiator, advertised.into_iter())))
}

/// The sessions that the object has a part in. `None` when there is no such object.
fn sessions_behind<'a>(
    machine: &Machine,
    initiator: &'a Initiator,
    of: &Keyed<'_>,
) -> Done<Option<Vec<&'a Session>>> {
    let sessions = initiator.state.sessions.iter();
    let (found, is_known): (Vec<_>, bool) = match of.class.name {
        name if name == iscsi_target::CLASS.name => {
            let target = of.key(iscsi_target::NODE_ADDRESS.name)?;
            let found = initiator.state.sessions_of(target).collect();
            (found, initiator.state.targets().contains(target))
        }
        name if name == disk::CLASS.name => {
            let id = of.key(storage_object::OBJECT_ID.name)?;
            let leads_there = |session: &&Session| {
                let mut disks = initiator.disks_of(session);
                disks.any(|disk| is_disk(machine, &disk, id))
            };
            (sessions.filter(leads_there).collect(), true)
        }
        name => {
            let is_it: Box<dyn Fn(&&Session) -> bool> = if name == iscsi_session::CLASS.name {
                let id = of.key(iscsi_session::SESSION_IDENTIFIER.name)?;
                Box::new(move |session| session.id() == id)
            } else {
                let id = of.key(iscsi_connection::CONNECTION_IDENTIFIER.name)?;
                Box::new(move |session| session.connection_id() == id && initiator.is_up(session))
            };
            let found: Vec<_> = sessions.filter(is_it).collect();
            let is_known = !found.is_empty();
            (found, is_known)
        }
    };
    Ok(is_known.then_some(found))
}

fn is_disk(machine: &Machine, name: &str, id: &str) -> bool {
    let object = storage::disk_named(machine, name);
    let own = object.and_then(|disk| disk.property(storage_object::OBJECT_ID.name));
    own.is_some_and(|own| own.as_text() == Ok(id))
}

fn portals(
    initiator: &Initiator,
    is_meant: impl Fn(&state::Portal) -> bool,
) -> Vec<Box<dyn Object>> {
    let portals = initiator.state.portals.iter();
    let meant = portals.filter(|portal| is_meant(portal));
    meant
        .map(|portal| boxed(PortalObject(portal.clone())))
        .collect()
}

fn targets<'a>(
    initiator: &Initiator,
    names: impl Iterator<Item = &'a str>,
) -> Vec<Box<dyn Object>> {
    let names: BTreeSet<_> = names.collect();
    let object = |name| boxed(TargetObject::of(initiator, name));
    names.into_iter().map(object).collect()
}

fn connections(initiator: &Initiator, sessions: &[&Session]) -> Vec<Box<dyn Object>> {
    let up = sessions.iter().filter(|session| initiator.is_up(session));
    up.map(|session| boxed(ConnectionObject((*session).clone())))
        .collect()
}

/// The disks as the storage provider knows them: a new one after a while, or a rescan. One that several sessions
/// lead to is there several times.
fn disks(machine: &Machine, initiator: &Initiator, sessions: &[&Session]) -> Vec<Box<dyn Object>> {
    let names = sessions
        .iter()
        .flat_map(|session| initiator.disks_of(session));
    names
        .filter_map(|name| storage::disk_named(machine, &name))
        .collect()
}

fn boxed(object: impl Object + 'static) -> Box<dyn Object> {
    Box::new(object)
}

/// Whether the server at an address listens at the port; none if there is no such server.
pub(crate) fn listens(machine: &Machine, host: &str, port: u16) -> Option<Done<()>> {
    let initiator = match plug::initiator(machine) {
        Ok(initiator) => initiator,
        Err(error) => return Some(Err(out_of_reach(error))),
    };
    let servers = initiator.servers.iter();
    let mut there = servers.filter(|server| server.has_address(host)).peekable();
    there.peek()?;
    Some(match there.find(|server| server.port == port) {
        Some(server) if !server.is_down => Ok(()),
        Some(_) => Err(NO_ANSWER.into()),
        None => Err(NOBODY_LISTENS.into()),
    })
}

/// The host failed the simulator: nothing that Windows would say.
fn out_of_reach(error: io::Error) -> Cause {
    Cause::Malformed(format!("the simulated node's iSCSI servers: {error}"))
}
