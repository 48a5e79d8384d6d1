use transport::Code;
use wincsi::iscsi::{Portal, TargetName};
use wincsi::{Condition, Error};

use super::Target;
use crate::kinds::block::Use;
use crate::life::CallError;
use crate::record::VolumeHandle;
use crate::words;

/// A volume that is not logged in for.
#[derive(Debug, thiserror::Error)]
#[error("no session of {target} serves volume {volume}: {why}")]
pub struct NotAttached {
    pub volume: VolumeHandle,
    pub target: TargetName,
    pub why: Refused,
}

#[derive(Debug, thiserror::Error)]
pub enum Refused {
    #[error("another call logs in or out of it")]
    Busy,
    #[error(
        "its Secret has username_in, and Windows has one such secret for all targets: set -iscsi-mutual-secret, or \
         take CHAP of one way"
    )]
    Mutual,
    #[error("{}", each(.0))]
    NoPortal(Vec<(Portal, Error)>),
    /// A login from the record alone.
    #[error("it takes the Secret, which kubelet sends when it stages a volume: delete the pod")]
    NoSecret,
    /// The session is listed, and has no connection.
    #[error("{0}")]
    NotConnected(String),
    #[error(
        "Windows has one secret by which targets prove themselves, and that of volume {0} is another"
    )]
    OtherMutual(VolumeHandle),
    #[error(
        "that of other volumes goes by portal {0}, which this one does not have: give all volumes of the target the \
         same portals"
    )]
    OtherPortal(String),
    #[error("the service MSiSCSI does not run, as {0}: Set-Service MSiSCSI -StartupType Automatic")]
    Service(String),
}

impl Use<'_, Target> {
    pub(super) fn refused(&self, why: Refused) -> NotAttached {
        NotAttached {
            volume: self.volume.clone(),
            target: self.disk.iqn.clone(),
            why,
        }
    }
}

impl NotAttached {
    fn code(&self) -> Code {
        let is_logon_failure = |(_, error): &(_, Error)| error.is(Condition::LogonFailure);
        match &self.why {
            Refused::Busy => Code::Aborted,
            Refused::Mutual
            | Refused::NoSecret
            | Refused::OtherMutual(_)
            | Refused::OtherPortal(_)
            | Refused::Service(_) => Code::FailedPrecondition,
            Refused::NoPortal(failed) if failed.iter().any(is_logon_failure) => {
                Code::Unauthenticated
            }
            Refused::NoPortal(_) | Refused::NotConnected(_) => Code::Unavailable,
        }
    }
}

impl From<NotAttached> for CallError {
    fn from(refused: NotAttached) -> Self {
        Self::of_kind(refused.code(), refused)
    }
}

fn each(failed: &[(Portal, Error)]) -> String {
    let failed = failed.iter();
    let texts = failed.map(|(portal, error)| format!("{portal}: {}", words::of(error)));
    Vec::from_iter(texts).join("; ")
}
