use std::error::Error as StdError;

use transport::Code;
use wincsi::Error;

use super::Crowded;
use crate::code::{self, Left};
use crate::in_flight::Busy;
use crate::record::StoreError;

/// A failure of the node, and what the call left there.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct NodeError {
    /// The failure.
    pub error: Error,
    /// What the call left behind.
    pub left: Left,
}

/// Why a kind refuses a call, with its code for kubelet.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct ErrorOfKind {
    code: Code,
    error: Box<dyn StdError + Send + Sync>,
}

/// What may keep each RPC from its end.
#[derive(Debug, thiserror::Error)]
pub enum Shared {
    /// Another call for the volume runs.
    #[error(transparent)]
    Busy(#[from] Busy),
    /// Too many calls wait for servers.
    #[error(transparent)]
    Crowded(#[from] Crowded),
    /// The node fails.
    #[error(transparent)]
    Node(#[from] Box<NodeError>),
    /// The record cannot be read or written.
    #[error(transparent)]
    Record(#[from] StoreError),
}

impl ErrorOfKind {
    /// An error of a kind, which kubelet gets with this code.
    pub fn new(code: Code, error: impl StdError + Send + Sync + 'static) -> Self {
        let error = Box::new(error);
        Self { code, error }
    }

    pub(super) fn code(&self) -> Code {
        self.code
    }
}

impl Shared {
    /// The code for kubelet.
    pub(crate) fn code(&self) -> Code {
        match self {
            Self::Busy(_) => Code::Aborted,
            Self::Node(failure) => code::of(&failure.error, failure.left),
            // The volume may be staged, and a later call may get through.
            Self::Crowded(_) | Self::Record(_) => Code::Unavailable,
        }
    }
}

impl From<Error> for Shared {
    /// Of a call that may have left something.
    fn from(error: Error) -> Self {
        let left = Left::Something;
        Self::Node(Box::new(NodeError { error, left }))
    }
}
