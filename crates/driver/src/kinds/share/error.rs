use transport::Code;
use wincsi::Feature;

use crate::cluster_dns::LookupError;
use crate::life::CallError;
use crate::record::VolumeHandle;

#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// Another volume uses the server as another user, and Windows logs on to a server as one user at a time.
    #[error(
        "volume {volume} needs server {server} as {}, and volume {other} uses it as another user: \
         Windows logs on to a server as one user at a time (1219), so give both volumes one user, or another name of the server to one of them",
        user.as_deref().unwrap_or("no user")
    )]
    OtherUser {
        volume: VolumeHandle,
        server: String,
        user: Option<String>,
        other: VolumeHandle,
    },
    /// Another volume uses the server at another port, where another server may be: a mapping tells nobody its port.
    #[error(
        "volume {volume} needs server {server} at another port than volume {other}: give another name of the server to one of them"
    )]
    OtherPort {
        volume: VolumeHandle,
        server: String,
        other: VolumeHandle,
    },
    /// The share is mapped as another user; or with another credential or one that nobody knows, and an inline volume is
    /// served only by a mapping of its own.
    #[error(
        "the volume is refused: {share} is mapped with {}, and a volume is served only by a mapping of its own \
         user, an inline volume only by one of its own credential",
        match is_known { true => "another credential", false => "a credential that nobody knows" }
    )]
    OthersMapping {
        share: String,
        /// Whether this driver knows the credential of the mapping.
        is_known: bool,
    },
    #[error("volume {volume} waits until {share} is unmapped, which another call does")]
    Unmapping { volume: VolumeHandle, share: String },
    #[error(
        "volume {volume} is a share, whose size -host=proxy does not report ({feature}): use -host=native"
    )]
    NoFigures {
        volume: VolumeHandle,
        feature: Feature,
    },
    #[error("volume {0} is refused: there is no folder {1}")]
    NoFolder(VolumeHandle, String),
    #[error(transparent)]
    Lookup(#[from] LookupError),
}

impl Refused {
    pub fn code(&self) -> Code {
        match self {
            Self::OtherUser { .. }
            | Self::OtherPort { .. }
            | Self::OthersMapping { .. }
            | Self::NoFigures { .. } => Code::FailedPrecondition,
            Self::NoFolder(..) => Code::NotFound,
            Self::Unmapping { .. } => Code::Aborted,
            Self::Lookup(_) => Code::Unavailable,
        }
    }
}

impl From<Refused> for CallError {
    fn from(refused: Refused) -> Self {
        Self::of_kind(refused.code(), refused)
    }
}
