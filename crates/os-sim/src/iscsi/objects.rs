use os::Value;
use os::schema::{iscsi_connection, iscsi_session, iscsi_target, iscsi_target_portal};

use super::initiator::Initiator;
use super::state::{Portal, Session};
use crate::provider::Object;

/// The adapter that the software initiator is.
const INSTANCE: &str = r"ROOT\ISCSIPRT\0000_0";
const ANY_ADDRESS: &str = "0.0.0.0";
/// The first of the ports that Windows takes for itself.
const FIRST_OWN_PORT: u32 = 49_152;

/// The initiator's own name: Microsoft's prefix and that of the node.
pub(super) fn initiator_name(node: &str) -> String {
    format!("iqn.1991-05.com.microsoft:{}", node.to_lowercase())
}

/// An `MSFT_iSCSITargetPortal`.
pub(super) struct PortalObject(pub(super) Portal);

/// An `MSFT_iSCSITarget`.
pub(super) struct TargetObject {
    name: String,
    is_connected: bool,
}

/// An `MSFT_iSCSISession`.
pub(super) struct SessionObject {
    session: Session,
    initiator: String,
    is_connected: bool,
    is_persistent: bool,
}

/// An `MSFT_iSCSIConnection`.
pub(super) struct ConnectionObject(pub(super) Session);

impl TargetObject {
    pub(super) fn of(initiator: &Initiator, name: &str) -> Self {
        let mut sessions = initiator.state.sessions_of(name);
        Self {
            name: name.to_owned(),
            is_connected: sessions.any(|session| initiator.is_up(session)),
        }
    }
}

impl SessionObject {
    pub(super) fn of(initiator: &Initiator, session: &Session, node: &str) -> Self {
        Self {
            initiator: initiator_name(node),
            is_connected: initiator.is_up(session),
            is_persistent: initiator.state.is_persistent(session),
            session: session.clone(),
        }
    }
}

impl Object for PortalObject {
    fn property(&self, name: &str) -> Option<Value> {
        use iscsi_target_portal as row;
        let endpoint = &self.0.endpoint;
        Some(match name {
            name if name == row::TARGET_PORTAL_ADDRESS.name => Value::text(&endpoint.address),
            name if name == row::TARGET_PORTAL_PORT_NUMBER.name => Value::uint16(endpoint.port),
            name if name == row::INITIATOR_INSTANCE_NAME.name => Value::Null,
            name if name == row::INITIATOR_PORTAL_ADDRESS.name => Value::Null,
            name if name == row::IS_HEADER_DIGEST.name => Value::Bool(false),
            name if name == row::IS_DATA_DIGEST.name => Value::Bool(false),
            _ => return None,
        })
    }
}

impl Object for TargetObject {
    fn property(&self, name: &str) -> Option<Value> {
        use iscsi_target as row;
        Some(match name {
            name if name == row::NODE_ADDRESS.name => Value::text(&self.name),
            name if name == row::IS_CONNECTED.name => Value::Bool(self.is_connected),
            _ => return None,
        })
    }
}

impl Object for SessionObject {
    fn property(&self, name: &str) -> Option<Value> {
        self.identity(name).or_else(|| self.condition(name))
    }
}

impl SessionObject {
    fn identity(&self, name: &str) -> Option<Value> {
        use iscsi_session as row;
        let session = &self.session;
        Some(match name {
            name if name == row::SESSION_IDENTIFIER.name => Value::text(session.id()),
            name if name == row::INITIATOR_SIDE_IDENTIFIER.name => Value::text("400001370000"),
            name if name == row::TARGET_SIDE_IDENTIFIER.name => Value::text("0100"),
            name if name == row::TARGET_NODE_ADDRESS.name => Value::text(&session.login.target),
            name if name == row::INITIATOR_NODE_ADDRESS.name => Value::text(&self.initiator),
            name if name == row::INITIATOR_INSTANCE_NAME.name => Value::text(INSTANCE),
            name if name == row::INITIATOR_PORTAL_ADDRESS.name => {
                let from = session.login.from.as_deref();
                Value::text(from.unwrap_or(ANY_ADDRESS))
            }
            _ => return None,
        })
    }

    fn condition(&self, name: &str) -> Option<Value> {
        use iscsi_session as row;
        let login = &self.session.login;
        Some(match name {
            name if name == row::NUMBER_OF_CONNECTIONS.name => {
                Value::uint32(u32::from(self.is_connected))
            }
            name if name == row::IS_DATA_DIGEST.name => Value::Bool(login.has_data_digest),
            name if name == row::IS_HEADER_DIGEST.name => Value::Bool(login.has_header_digest),
            name if name == row::AUTHENTICATION_TYPE.name => {
                Value::text(login.authentication.word())
            }
            name if name == row::IS_CONNECTED.name => Value::Bool(self.is_connected),
            name if name == row::IS_PERSISTENT.name => Value::Bool(self.is_persistent),
            // As ordinary logins show it.
            name if name == row::IS_DISCOVERED.name => Value::Bool(false),
            _ => return None,
        })
    }
}

impl Object for ConnectionObject {
    fn property(&self, name: &str) -> Option<Value> {
        use iscsi_connection as row;
        let session = &self.0;
        Some(match name {
            name if name == row::CONNECTION_IDENTIFIER.name => Value::text(session.connection_id()),
            name if name == row::INITIATOR_ADDRESS.name => Value::text(ANY_ADDRESS),
            name if name == row::TARGET_ADDRESS.name => Value::text(&session.endpoint.address),
            name if name == row::INITIATOR_PORT_NUMBER.name => {
                Value::uint32(FIRST_OWN_PORT + session.number)
            }
            name if name == row::TARGET_PORT_NUMBER.name => {
                Value::uint32(u32::from(session.endpoint.port))
            }
            _ => return None,
        })
    }
}
