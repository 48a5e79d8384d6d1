use std::error::Error as StdError;

use transport::Code;
use wincsi::{Cause, Condition, Error, Feature};

use super::TooManyWaiting;
use crate::code::{self, Leftovers};
use crate::in_flight::Busy;
use crate::kubelet::Refusal;
use crate::path::KubeletPath;
use crate::record::{StoreError, VolumeHandle};
use crate::words;

#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The volume is not at that path now; it may come back.
    #[error("volume {0} is not at {1} now")]
    Away(VolumeHandle, String),
    #[error(transparent)]
    Busy(#[from] Busy),
    #[error(transparent)]
    TooManyWaiting(#[from] TooManyWaiting),
    #[error(
        "volume {volume} needs {what}, which -host=proxy does not have ({feature}): use -host=native"
    )]
    HostLacks {
        volume: VolumeHandle,
        what: &'static str,
        feature: Feature,
    },
    #[error("{}", words::of(.error))]
    Node {
        error: Box<Error>,
        /// What the call left behind.
        left: Leftovers,
    },
    #[error("the volume is not staged: the staging path is missing")]
    NoStaging,
    #[error("volume {volume} is not staged at {staging}{}", because(why.as_deref()))]
    NotStaged {
        volume: VolumeHandle,
        staging: KubeletPath,
        /// Why it could not be staged there again, if it was tried.
        why: Option<String>,
    },
    #[error("volume {0} is not at {1}")]
    NotThere(VolumeHandle, String),
    #[error("there is no volume {0} on this node")]
    NoVolume(VolumeHandle),
    #[error("{error}")]
    OfKind {
        code: Code,
        error: Box<dyn StdError + Send + Sync>,
    },
    /// The volume is published: kubelet unpublishes first.
    #[error("volume {0} is published at {1}")]
    Published(VolumeHandle, KubeletPath),
    #[error("volume {0} is published at {1}, and may have one target only")]
    PublishedElsewhere(VolumeHandle, KubeletPath),
    #[error(transparent)]
    Record(#[from] StoreError),
    #[error(transparent)]
    Request(#[from] Refusal),
    #[error("volume {0} is staged with another {1}")]
    StagedOtherwise(VolumeHandle, &'static str),
    #[error("cannot publish volume {0}: {text}", text = words::of(.1))]
    TargetTaken(VolumeHandle, Box<Error>),
    /// The call is refused, and something of an earlier one is left of the volume: kubelet calls again.
    #[error(transparent)]
    Unfinished(Box<Self>),
}

impl CallError {
    pub fn code(&self) -> Code {
        match self {
            Self::Busy(_) => Code::Aborted,
            Self::Node { error, left } => code::of(error, *left),
            // The volume may be staged, and a later call may get through.
            Self::Away(..)
            | Self::TooManyWaiting(_)
            | Self::Record(_)
            | Self::StagedOtherwise(..)
            | Self::Unfinished(_) => Code::Unavailable,
            Self::NotThere(..) | Self::NoVolume(_) => Code::NotFound,
            Self::HostLacks { .. }
            | Self::NoStaging
            | Self::NotStaged { .. }
            | Self::Published(..)
            | Self::PublishedElsewhere(..) => Code::FailedPrecondition,
            Self::OfKind { code, .. } => *code,
            Self::Request(_) => Code::InvalidArgument,
            Self::TargetTaken(..) => Code::AlreadyExists,
        }
    }

    /// Of a kind, with the code for kubelet.
    pub fn of_kind(code: Code, error: impl StdError + Send + Sync + 'static) -> Self {
        let error = Box::new(error);
        Self::OfKind { code, error }
    }

    pub(crate) fn is(&self, condition: Condition) -> bool {
        matches!(self, Self::Node { error, .. } if error.is(condition))
    }

    /// Whether the call was refused, rather than kept from its end.
    pub(crate) fn is_refusal(&self) -> bool {
        !matches!(
            self,
            Self::Busy(_) | Self::TooManyWaiting(_) | Self::Node { .. } | Self::Record(_)
        )
    }

    pub(crate) fn unfinished(self) -> Self {
        Self::Unfinished(Box::new(self))
    }
}

impl From<Error> for CallError {
    /// Of a call that may have left something, but not where csi-proxy does not go.
    fn from(error: Error) -> Self {
        let left = match error.is(Condition::PathRefused) {
            true => Leftovers::None,
            false => Leftovers::Maybe,
        };
        Self::Node {
            error: Box::new(error),
            left,
        }
    }
}

/// Whether the same call may come through later, or an operation that it began still runs: nothing is undone behind that.
pub(crate) fn may_come_through(error: &Error) -> bool {
    error.is_transient() || matches!(error.cause, Cause::Deadline)
}

fn because(why: Option<&str>) -> String {
    why.map_or_else(String::new, |why| format!(": {why}"))
}
