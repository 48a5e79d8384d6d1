//! The initiator's objects, read into types.

use std::collections::{BTreeMap, BTreeSet};

use os::schema::iscsi_associations::{
    connection_to_disk, session_to_disk, target_to_connection, target_to_session,
    target_to_target_portal,
};
use os::schema::{Class, disk, iscsi_connection, iscsi_session, iscsi_target, iscsi_target_portal};
use os::{Deadline, DiskNumber, Instance, ObjectPath, Query};

use super::{IscsiError, Portal, TargetName};
use crate::Node;
use crate::provider::{ProviderError, WmiObject};

/// The node's initiator, for one operation.
pub(super) struct Initiator<'a> {
    pub(super) node: &'a Node,
    pub(super) deadline: Deadline,
}

/// An `MSFT_iSCSITargetPortal` or an `MSFT_iSCSIConnection`: an object with an address and a port.
pub(super) struct Endpoint {
    pub(super) address: String,
    pub(super) port: u32,
    pub(super) path: ObjectPath,
}

/// An `MSFT_iSCSITarget`.
pub(super) struct KnownTarget {
    /// As the target spells it.
    pub(super) name: String,
    pub(super) is_connected: bool,
    pub(super) path: ObjectPath,
}

/// An `MSFT_iSCSISession`.
pub(super) struct Session {
    pub(super) id: String,
    /// False also where the initiator does not say.
    pub(super) is_connected: bool,
    pub(super) is_persistent: bool,
    pub(super) path: ObjectPath,
}

impl Initiator<'_> {
    /// All portals. One without an address or a port is left out and logged: nobody can name it.
    pub(super) fn portals(&self) -> Result<Vec<Endpoint>, IscsiError> {
        const SELECT: &[&str] = &[
            iscsi_target_portal::TARGET_PORTAL_ADDRESS.name,
            iscsi_target_portal::TARGET_PORTAL_PORT_NUMBER.name,
        ];
        let query = Query::all(iscsi_target_portal::CLASS.name, SELECT);
        let rows = self.node.os().iscsi.query(&query, self.deadline)?;
        let known = rows.into_iter().filter_map(|row| {
            Endpoint::of_portal(row)
                .inspect_err(|error| tracing::warn!(%error, "a target portal is passed over"))
                .ok()
        });
        Ok(known.collect())
    }

    /// The objects of one portal: several when it was added for several addresses of our own.
    pub(super) fn portal(&self, portal: &Portal) -> Result<Vec<Endpoint>, IscsiError> {
        let mut known = self.portals()?;
        known.retain(|known| portal.is(&known.address, known.port));
        match known.is_empty() {
            true => Err(IscsiError::PortalNotFound {
                portal: portal.to_string(),
            }),
            false => Ok(known),
        }
    }

    /// The targets that a portal told of, by its objects.
    pub(super) fn targets_of(&self, portal: &[Endpoint]) -> Result<Vec<KnownTarget>, IscsiError> {
        let mut targets = BTreeMap::new();
        for known in portal {
            let association = target_to_target_portal::CLASS.name;
            for row in self.associated(&known.path, association, &iscsi_target::CLASS)? {
                targets.insert(row.path.clone(), KnownTarget::read(row)?);
            }
        }
        Ok(targets.into_values().collect())
    }

    /// The one target of this name that a portal told of.
    pub(super) fn target_of(
        &self,
        portal: &[Endpoint],
        name: &TargetName,
    ) -> Result<Option<KnownTarget>, IscsiError> {
        sole(name, self.targets_of(portal)?)
    }

    /// The one target of this name, from any portal.
    pub(super) fn any_target(&self, name: &TargetName) -> Result<Option<KnownTarget>, IscsiError> {
        const SELECT: &[&str] = &[
            iscsi_target::IS_CONNECTED.name,
            iscsi_target::NODE_ADDRESS.name,
        ];
        let query = Query::all(iscsi_target::CLASS.name, SELECT);
        let rows = self.node.os().iscsi.query(&query, self.deadline)?;
        let known: Result<Vec<_>, _> = rows.into_iter().map(KnownTarget::read).collect();
        sole(name, known?)
    }

    /// The sessions of a target; none when the target has gone.
    pub(super) fn sessions(&self, target: &KnownTarget) -> Result<Vec<Session>, IscsiError> {
        let association = target_to_session::CLASS.name;
        let rows = self.associated(&target.path, association, &iscsi_session::CLASS)?;
        rows.into_iter().map(Session::read).collect()
    }

    /// The identifiers of a target's sessions; none when the target has gone.
    pub(super) fn session_ids(&self, target: &KnownTarget) -> Result<Vec<String>, IscsiError> {
        let association = target_to_session::CLASS.name;
        let rows = self.associated(&target.path, association, &iscsi_session::CLASS)?;
        rows.iter().map(|row| Ok(session_id(row)?)).collect()
    }

    /// The disks of a target; none while it is not connected.
    pub(super) fn disks_of_target(
        &self,
        target: &KnownTarget,
    ) -> Result<BTreeSet<DiskNumber>, IscsiError> {
        let mut disks = BTreeSet::new();
        if target.is_connected {
            for connection in self.connections(target)? {
                let association = connection_to_disk::CLASS.name;
                disks.extend(self.disks_behind(&connection.path, association)?);
            }
        }
        Ok(disks)
    }

    /// The connections of a target that are up; none when the target has gone.
    pub(super) fn connections(&self, target: &KnownTarget) -> Result<Vec<Endpoint>, IscsiError> {
        let association = target_to_connection::CLASS.name;
        let rows = self.associated(&target.path, association, &iscsi_connection::CLASS)?;
        rows.into_iter().map(Endpoint::of_connection).collect()
    }

    /// The target of the session with this identifier; `None` if there is none.
    pub(super) fn target_of_session(&self, id: &str) -> Result<Option<String>, IscsiError> {
        const SELECT: &[&str] = &[
            iscsi_session::SESSION_IDENTIFIER.name,
            iscsi_session::TARGET_NODE_ADDRESS.name,
        ];
        let query = Query::all(iscsi_session::CLASS.name, SELECT);
        for row in self.node.os().iscsi.query(&query, self.deadline)? {
            if session_id(&row)?.eq_ignore_ascii_case(id) {
                let target = row.text(iscsi_session::TARGET_NODE_ADDRESS.name)?;
                return Ok(Some(target.to_owned()));
            }
        }
        Ok(None)
    }

    /// The disks that a session brings; none when it has gone.
    pub(super) fn disks_of(&self, session: &Session) -> Result<BTreeSet<DiskNumber>, IscsiError> {
        self.disks_behind(&session.path, session_to_disk::CLASS.name)
    }

    fn disks_behind(
        &self,
        of: &ObjectPath,
        association: &'static str,
    ) -> Result<BTreeSet<DiskNumber>, IscsiError> {
        let rows = self.associated(of, association, &disk::CLASS)?;
        let numbers = rows.iter().map(|row| row.u32(disk::NUMBER.name));
        numbers
            .map(|number| Ok(DiskNumber(number?)))
            .collect::<Result<_, os::Error>>()
            .map_err(IscsiError::from)
    }

    /// A class for a method call.
    pub(super) fn class(&self, class: &'static Class, name: impl ToString) -> WmiObject<'_> {
        WmiObject::class(&*self.node.os().iscsi, class, name)
    }

    /// An object for a method call.
    pub(super) fn instance<'a>(
        &'a self,
        class: &'static Class,
        path: &'a ObjectPath,
        name: impl ToString,
    ) -> WmiObject<'a> {
        WmiObject::instance(&*self.node.os().iscsi, class, path, name)
    }

    fn associated(
        &self,
        of: &ObjectPath,
        association: &'static str,
        class: &'static Class,
    ) -> Result<Vec<Instance>, IscsiError> {
        let iscsi = &self.node.os().iscsi;
        match iscsi.associators(of, association, class.name, self.deadline) {
            Err(error) if error.is_not_found() => Ok(Vec::new()),
            found => Ok(found?),
        }
    }
}

impl Endpoint {
    fn of_portal(row: Instance) -> os::Result<Self> {
        Ok(Self {
            address: row
                .text(iscsi_target_portal::TARGET_PORTAL_ADDRESS.name)?
                .to_owned(),
            port: row.u32(iscsi_target_portal::TARGET_PORTAL_PORT_NUMBER.name)?,
            path: row.path,
        })
    }

    fn of_connection(row: Instance) -> Result<Self, IscsiError> {
        Ok(Self {
            address: row.text(iscsi_connection::TARGET_ADDRESS.name)?.to_owned(),
            port: row.u32(iscsi_connection::TARGET_PORT_NUMBER.name)?,
            path: row.path,
        })
    }
}

impl KnownTarget {
    fn read(row: Instance) -> os::Result<Self> {
        Ok(Self {
            name: row.text(iscsi_target::NODE_ADDRESS.name)?.to_owned(),
            is_connected: row.bool(iscsi_target::IS_CONNECTED.name)?,
            path: row.path,
        })
    }
}

impl Session {
    fn read(row: Instance) -> Result<Self, IscsiError> {
        Ok(Self {
            id: session_id(&row)?,
            is_connected: row.bool_or_null(iscsi_session::IS_CONNECTED.name)? == Some(true),
            is_persistent: row.bool(iscsi_session::IS_PERSISTENT.name)?,
            path: row.path,
        })
    }
}

/// By which Windows knows an `MSFT_iSCSISession`.
pub(super) fn session_id(session: &Instance) -> os::Result<String> {
    let id = session.text(iscsi_session::SESSION_IDENTIFIER.name)?;
    Ok(id.to_owned())
}

/// The one target of this name. Targets that differ only in case break RFC 3722, and cannot be told
/// apart.
fn sole(name: &TargetName, known: Vec<KnownTarget>) -> Result<Option<KnownTarget>, IscsiError> {
    let mut ours = known.into_iter().filter(|known| name.is(&known.name));
    let one = ours.next();
    let others: Vec<_> = ours.map(|other| other.name).collect();
    match one {
        Some(one) if !others.is_empty() => {
            let seen = std::iter::once(one.name).chain(others);
            Err(ProviderError::several(&format_args!("target {name}"), seen).into())
        }
        one => Ok(one),
    }
}
