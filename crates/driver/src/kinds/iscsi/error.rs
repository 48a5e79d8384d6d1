use std::fmt;

use transport::Code;
use wincsi::iscsi::{Portal, TargetName};
use wincsi::{Condition, Error};

use super::Target;
use crate::kinds::block::Use;
use crate::life::CallError;
use crate::record::VolumeHandle;
use crate::words;

/// A volume that is not logged in for.
#[derive(Debug)]
pub struct NotAttached {
    pub volume: VolumeHandle,
    pub target: TargetName,
    pub why: Refused,
}

#[derive(Debug)]
pub enum Refused {
    /// Another call logs in to the target or out of it.
    Busy,
    /// Windows has one secret by which targets prove themselves.
    Mutual,
    /// None of the portals led to a session.
    NoPortal(Vec<(Portal, Error)>),
    /// A login from the record alone.
    NoSecret,
    /// The session is listed, and has no connection.
    NotConnected(String),
    /// Another volume's targets prove themselves by another one.
    OtherMutual(VolumeHandle),
    /// The session goes by a portal that the volume does not have.
    OtherPortal(String),
    /// The initiator's service does not run.
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
        match &self.why {
            Refused::Busy => Code::Aborted,
            Refused::Mutual
            | Refused::NoSecret
            | Refused::OtherMutual(_)
            | Refused::OtherPortal(_)
            | Refused::Service(_) => Code::FailedPrecondition,
            Refused::NoPortal(failed) => match failed
                .iter()
                .any(|(_, error)| error.is(Condition::LogonFailure))
            {
                true => Code::Unauthenticated,
                false => Code::Unavailable,
            },
            Refused::NotConnected(_) => Code::Unavailable,
        }
    }
}

impl std::error::Error for NotAttached {}

impl fmt::Display for NotAttached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            volume,
            target,
            why,
        } = self;
        write!(f, "no session of {target} serves volume {volume}: ")?;
        match why {
            Refused::Busy => write!(f, "another call logs in or out of it"),
            Refused::Mutual => write!(
                f,
                "its Secret has username_in, and Windows has one such secret for all targets: set \
                 -iscsi-mutual-secret, or take CHAP of one way"
            ),
            Refused::NoPortal(failed) => {
                for (at, (portal, error)) in failed.iter().enumerate() {
                    let gap = if at > 0 { "; " } else { "" };
                    write!(f, "{gap}{portal}: {}", words::of(error))?;
                }
                Ok(())
            }
            Refused::NoSecret => write!(
                f,
                "it takes the Secret, which kubelet sends when it stages a volume: delete the pod"
            ),
            Refused::NotConnected(why) => f.write_str(why),
            Refused::OtherMutual(other) => write!(
                f,
                "Windows has one secret by which targets prove themselves, and that of volume {other} is another"
            ),
            Refused::OtherPortal(portal) => write!(
                f,
                "that of other volumes goes by portal {portal}, which this one does not have: give all volumes of the \
                 target the same portals"
            ),
            Refused::Service(why) => write!(
                f,
                "the service MSiSCSI does not run, as {why}: Set-Service MSiSCSI -StartupType Automatic"
            ),
        }
    }
}

impl From<NotAttached> for CallError {
    fn from(refused: NotAttached) -> Self {
        Self::of_kind(refused.code(), refused)
    }
}
