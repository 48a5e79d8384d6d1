use std::error::Error as StdError;

use transport::Code;
use wincsi::{Condition, Error, Feature, WinPath};

use super::Crowded;
use crate::code::{self, Left};
use crate::in_flight::Busy;
use crate::kubelet::Refusal;
use crate::record::{StoreError, VolumeHandle};

/// Why a call was not done.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The volume is not at that path now; it may come back.
    #[error("volume {volume} is not at {path} now")]
    Away { volume: VolumeHandle, path: String },
    /// Another call for the volume runs.
    #[error(transparent)]
    Busy(#[from] Busy),
    /// Too many calls wait for servers.
    #[error(transparent)]
    Crowded(#[from] Crowded),
    /// The host mode cannot do what the volume needs.
    #[error(
        "volume {volume} needs {what}, which -host=proxy does not have ({feature}): use -host=native"
    )]
    HostLacks {
        volume: VolumeHandle,
        what: &'static str,
        feature: Feature,
    },
    /// The node fails.
    #[error("{error}")]
    Node {
        error: Box<Error>,
        /// What the call left behind.
        left: Left,
    },
    /// The request to publish names no staging path.
    #[error("the volume is not staged: the staging path is missing")]
    NoStaging,
    /// The volume is not staged at that path.
    #[error("volume {volume} is not staged at {staging}{}", because(why.as_deref()))]
    NotStaged {
        volume: VolumeHandle,
        staging: WinPath,
        /// Why it could not be staged there again, if it was tried.
        why: Option<String>,
    },
    /// The volume is not at that path.
    #[error("volume {volume} is not at {path}")]
    NotThere { volume: VolumeHandle, path: String },
    /// This driver did not stage the volume.
    #[error("there is no volume {volume} on this node")]
    NoVolume { volume: VolumeHandle },
    /// The kind of volume refuses the call.
    #[error("{error}")]
    OfKind {
        code: Code,
        error: Box<dyn StdError + Send + Sync>,
    },
    /// The volume is published: kubelet unpublishes first.
    #[error("volume {volume} is published at {target}")]
    Published {
        volume: VolumeHandle,
        target: WinPath,
    },
    /// The volume may have one target, and has it.
    #[error("volume {volume} is published at {target}, and may have one target only")]
    PublishedElsewhere {
        volume: VolumeHandle,
        target: WinPath,
    },
    /// The record cannot be read or written.
    #[error(transparent)]
    Record(#[from] StoreError),
    /// The request is refused.
    #[error(transparent)]
    Request(#[from] Refusal),
    /// The volume is staged as something else.
    #[error("volume {volume} is staged with another {what}")]
    StagedOtherwise {
        volume: VolumeHandle,
        what: &'static str,
    },
    /// Something else is at the target.
    #[error("cannot publish volume {volume}: {error}")]
    TargetTaken {
        volume: VolumeHandle,
        error: Box<Error>,
    },
    /// The call is refused, and something of an earlier one is left of the volume: kubelet calls again.
    #[error(transparent)]
    Unfinished(Box<Self>),
}

impl CallError {
    /// The code for kubelet.
    pub fn code(&self) -> Code {
        match self {
            Self::Busy(_) => Code::Aborted,
            Self::Node { error, left } => code::of(error, *left),
            // The volume may be staged, and a later call may get through.
            Self::Away { .. } | Self::Crowded(_) | Self::Record(_) | Self::Unfinished(_) => {
                Code::Unavailable
            }
            Self::NotThere { .. } | Self::NoVolume { .. } => Code::NotFound,
            Self::HostLacks { .. }
            | Self::NoStaging
            | Self::NotStaged { .. }
            | Self::Published { .. }
            | Self::PublishedElsewhere { .. } => Code::FailedPrecondition,
            Self::OfKind { code, .. } => *code,
            Self::Request(_) => Code::InvalidArgument,
            Self::StagedOtherwise { .. } | Self::TargetTaken { .. } => Code::AlreadyExists,
        }
    }

    /// Of a kind, with the code for kubelet.
    pub fn of_kind(code: Code, error: impl StdError + Send + Sync + 'static) -> Self {
        let error = Box::new(error);
        Self::OfKind { code, error }
    }

    /// Whether the node failed so.
    pub(crate) fn is(&self, condition: Condition) -> bool {
        matches!(self, Self::Node { error, .. } if error.is(condition))
    }

    /// Whether the call was refused, rather than kept from its end.
    pub(crate) fn is_refusal(&self) -> bool {
        !matches!(
            self,
            Self::Busy(_) | Self::Crowded(_) | Self::Node { .. } | Self::Record(_)
        )
    }

    pub(crate) fn unfinished(self) -> Self {
        Self::Unfinished(Box::new(self))
    }
}

impl From<Error> for CallError {
    /// Of a call that may have left something.
    fn from(error: Error) -> Self {
        Self::Node {
            error: Box::new(error),
            left: Left::Something,
        }
    }
}

fn because(why: Option<&str>) -> String {
    why.map_or_else(String::new, |why| format!(": {why}"))
}
