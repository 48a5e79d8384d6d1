use os::schema::{ReturnCode, iscsi_codes};
use os::{Cause, DiskNumber};

use crate::{ProviderError, Unfinished, driver_texts};

/// An operation on the iSCSI initiator failed.
///
/// democratic-csi takes [`driver_texts::OBJECT_NOT_FOUND`] for "not there" and [`driver_texts::LOGGED_IN`] for
/// "connected", so they stand in the errors that say just that and in no other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each field is named for what it holds")]
pub enum IscsiError {
    /// Neither an address nor a host name.
    #[error("target address {address:?} is neither an IP address nor a host name")]
    Address { address: String },
    /// A session with the target exists, and its connection is down. Another login is refused while
    /// Windows tries to mend it.
    #[error(
        "failed to connect target {target}: its session is not connected: {}.",
        driver_texts::LOGGED_IN
    )]
    AlreadyLoggedIn { target: String },
    /// A CHAP secret that the initiator would not take.
    #[error("a CHAP secret must have 12 to 16 bytes, and no NUL")]
    ChapSecret,
    /// A CHAP user name with a NUL.
    #[error("a CHAP user name must have no NUL")]
    ChapUsername,
    /// A disk that no other connected session of the target brings is online, so the session is not ended.
    #[error("target {target} keeps session {session}: disk {disk} of it is online")]
    DiskOnline {
        target: String,
        session: String,
        disk: DiskNumber,
    },
    /// The kernel does not report whether such a disk is online.
    #[error(
        "target {target} keeps session {session}: failed to query disk {disk}. error: {source}"
    )]
    DiskUnread {
        target: String,
        session: String,
        disk: DiskNumber,
        source: os::Error,
    },
    /// The target has sessions, but not through this portal.
    #[error(
        "target {target} has sessions ({}), but portal {portal} does not lead to it", .sessions.join(", ")
    )]
    Elsewhere {
        target: String,
        portal: String,
        /// The identifiers of its sessions.
        sessions: Vec<String>,
    },
    /// The initiator refused, with a code of its own.
    #[error("{source}: {meaning}")]
    Initiator {
        meaning: &'static str,
        source: os::Error,
    },
    /// No name of a target.
    #[error("target name {name:?} is not valid: {reason}")]
    Name { name: String, reason: &'static str },
    /// A port that TCP does not have.
    #[error("target port {port} is not valid: ports have 16 bits")]
    Port { port: u32 },
    /// The initiator does not know the portal.
    #[error(
        "failed to query target portal {portal} ({}). error: not found",
        driver_texts::OBJECT_NOT_FOUND
    )]
    PortalNotFound { portal: String },
    /// The iSCSI provider does not answer, or refused.
    #[error(transparent)]
    Provider(ProviderError),
    /// The session with this identifier leads to another target.
    #[error("session {session} is not one of target {target}, but of {other}")]
    SessionOfAnother {
        target: String,
        session: String,
        other: String,
    },
    /// The session is there still, after Windows said that it is not.
    #[error("target {target} is not disconnected: session {session} is listed still")]
    SessionRemains { target: String, session: String },
    /// The portal does not tell of the target, and the target has no session.
    #[error(
        "failed to query target {target} of portal {portal} ({}). error: not found",
        driver_texts::OBJECT_NOT_FOUND
    )]
    TargetNotFound { target: String, portal: String },
    /// It did not end, or did not begin.
    #[error(transparent)]
    Unfinished(#[from] Unfinished),
}

impl IscsiError {
    /// Whether the initiator answered with this code: as a return value or as an HRESULT, for which of
    /// both it is no page says.
    pub(super) fn is(&self, code: ReturnCode) -> bool {
        self.code() == Some(code.code)
    }

    fn code(&self) -> Option<u32> {
        match self {
            Self::Initiator { source, .. } => hresult(source),
            Self::Provider(ProviderError::Refused { code, .. }) => Some(*code),
            _ => None,
        }
    }
}

impl From<ProviderError> for IscsiError {
    fn from(error: ProviderError) -> Self {
        match error {
            ProviderError::Os(source) => source.into(),
            error => Self::Provider(error),
        }
    }
}

impl From<os::Error> for IscsiError {
    fn from(source: os::Error) -> Self {
        let mut known = iscsi_codes::ALL.iter();
        match known.find(|known| Some(known.code) == hresult(&source)) {
            Some(known) => Self::Initiator {
                meaning: known.meaning,
                source,
            },
            None => Self::Provider(source.into()),
        }
    }
}

fn hresult(error: &os::Error) -> Option<u32> {
    match error.cause {
        Cause::Hresult(code) => Some(code.0),
        _ => None,
    }
}
