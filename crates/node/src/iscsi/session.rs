use std::collections::BTreeSet;

use os::schema::iscsi_session as row;
use os::{Deadline, DiskNumber, Instance, Query};

use super::{IscsiError, TargetName};
use crate::Iscsi;

/// A session of the initiator, as it tells of it. What may be null is optional.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionInfo {
    /// By which Windows knows it.
    pub id: String,
    /// The target's name, as the target spells it.
    pub target: String,
    /// The direction of authentication: a word of
    /// [`authentication_type`](os::schema::iscsi_target::authentication_type).
    pub authentication: Option<String>,
    /// How many TCP connections it has.
    pub connections: Option<u32>,
    /// Whether data carry a digest.
    pub data_digest: Option<bool>,
    /// Whether headers carry a digest.
    pub header_digest: Option<bool>,
    /// Whether it has a connection.
    pub is_connected: Option<bool>,
    /// Whether it comes back after a restart.
    pub is_persistent: Option<bool>,
}

const SELECT: &[&str] = &[
    row::SESSION_IDENTIFIER.name,
    row::TARGET_NODE_ADDRESS.name,
    row::AUTHENTICATION_TYPE.name,
    row::NUMBER_OF_CONNECTIONS.name,
    row::IS_DATA_DIGEST.name,
    row::IS_HEADER_DIGEST.name,
    row::IS_CONNECTED.name,
    row::IS_PERSISTENT.name,
];

#[allow(missing_docs, reason = "documented in `api::Iscsi`")]
impl Iscsi<'_> {
    pub fn sessions(&self, deadline: Deadline) -> Result<Vec<SessionInfo>, IscsiError> {
        let query = Query::all(row::CLASS.name, SELECT);
        let rows = self.node.os().iscsi.query(&query, deadline)?;
        let sessions: os::Result<Vec<_>> = rows.iter().map(SessionInfo::read).collect();
        let mut sessions = sessions?;
        sessions.sort_by(|one, other| one.id.cmp(&other.id));
        Ok(sessions)
    }
}

impl Iscsi<'_> {
    /// The disks of a target, through whatever portals.
    pub(crate) fn disks_of_sessions(
        &self,
        target: &TargetName,
        deadline: Deadline,
    ) -> Result<BTreeSet<DiskNumber>, IscsiError> {
        let initiator = self.initiator(deadline);
        let known = initiator.any_target(target)?;
        let disks = known.map(|known| initiator.disks_of_target(&known));
        Ok(disks.transpose()?.unwrap_or_default())
    }
}

impl SessionInfo {
    fn read(session: &Instance) -> os::Result<Self> {
        let authentication = session.text_or_null(row::AUTHENTICATION_TYPE.name)?;
        Ok(Self {
            id: session.text(row::SESSION_IDENTIFIER.name)?.to_owned(),
            target: session.text(row::TARGET_NODE_ADDRESS.name)?.to_owned(),
            authentication: authentication.map(str::to_owned),
            connections: session.u32_or_null(row::NUMBER_OF_CONNECTIONS.name)?,
            data_digest: session.bool_or_null(row::IS_DATA_DIGEST.name)?,
            header_digest: session.bool_or_null(row::IS_HEADER_DIGEST.name)?,
            is_connected: session.bool_or_null(row::IS_CONNECTED.name)?,
            is_persistent: session.bool_or_null(row::IS_PERSISTENT.name)?,
        })
    }
}
