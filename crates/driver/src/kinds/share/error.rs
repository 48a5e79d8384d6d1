use transport::Code;
use wincsi::{Condition, Feature};

use crate::life::Shared;
use crate::record::VolumeHandle;

/// Why a share was not staged.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// Another volume uses the server as another user, and Windows logs on to a server as one user at a time.
    #[error(
        "volume {volume} needs server {server} as {}, and volume {other} uses it as another user: \
         Windows logs on to a server as one user at a time (1219), so give both volumes one user, or another name of the server to one of them",
        user.as_deref().unwrap_or("no user")
    )]
    OtherUser {
        /// The volume.
        volume: VolumeHandle,
        /// The server, as the volume names it.
        server: String,
        /// As whom.
        user: Option<String>,
        /// The volume that uses the server.
        other: VolumeHandle,
    },
    /// Another volume uses the server at another port, where another server may be: a mapping tells nobody its port.
    #[error(
        "volume {volume} needs server {server} at another port than volume {other}: give another name of the server to one of them"
    )]
    OtherPort {
        /// The volume.
        volume: VolumeHandle,
        /// The server, as the volume names it.
        server: String,
        /// The volume that uses the server.
        other: VolumeHandle,
    },
    /// The share is mapped as another user; or with another credential or one that nobody knows, and an inline volume is
    /// served only by a mapping of its own.
    #[error(
        "volume {volume} is refused: {share} is mapped with {}, and a volume is served only by a mapping of its own \
         user, an inline volume only by one of its own credential",
        match is_known { true => "another credential", false => "a credential that nobody knows" }
    )]
    OthersMapping {
        /// The volume.
        volume: VolumeHandle,
        /// The share.
        share: String,
        /// Whether this driver knows the credential of the mapping.
        is_known: bool,
    },
    /// The host mode cannot do what the volume needs.
    #[error(
        "volume {volume} needs {what}, which -host=proxy does not have ({feature}): use -host=native"
    )]
    HostLacks {
        /// The volume.
        volume: VolumeHandle,
        /// What it needs.
        what: &'static str,
        /// The feature that the host lacks.
        feature: Feature,
    },
    /// The volume is staged as something else.
    #[error("volume {volume} is staged with another {what}")]
    StagedOtherwise {
        /// The volume.
        volume: VolumeHandle,
        /// What differs.
        what: &'static str,
    },
    /// The share is being unmapped for a volume that used it last.
    #[error("volume {volume} waits until {share} is unmapped, which another call does")]
    Unmapping {
        /// The volume.
        volume: VolumeHandle,
        /// The share.
        share: String,
    },
    /// The volume is refused, and something of an earlier call is left of it: kubelet calls again.
    #[error(transparent)]
    Unfinished(Box<Self>),
    /// What may keep each call from its end.
    #[error(transparent)]
    Shared(#[from] Shared),
}

impl StageError {
    /// Whether the node failed so.
    pub(crate) fn is(&self, condition: Condition) -> bool {
        match self {
            Self::Shared(Shared::Node(failed)) => failed.error.is(condition),
            _ => false,
        }
    }

    /// The code for kubelet.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::OtherUser { .. }
            | Self::OtherPort { .. }
            | Self::OthersMapping { .. }
            | Self::HostLacks { .. } => Code::FailedPrecondition,
            Self::StagedOtherwise { .. } => Code::AlreadyExists,
            Self::Unmapping { .. } => Code::Aborted,
            Self::Unfinished(_) => Code::Unavailable,
            Self::Shared(shared) => shared.code(),
        }
    }
}
