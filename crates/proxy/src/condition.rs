//! A failure's condition for drivers, sent beside the text.

use std::error::Error;

use node::api::Condition;
use node::{FirmwareError, ServiceError};

use crate::operations::disk_id::DiskIdError;
use crate::operations::{
    DiskFailure, FilesystemFailure, Forwarded, IscsiFailure, SmbFailure, VolumeFailure,
};
use crate::paths::PathRule;

/// A failure with or without a condition.
pub(crate) trait Conditioned: Error + Send + Sync + 'static {
    /// None for a senseless request or a passed deadline.
    fn condition(&self) -> Option<Condition>;
}

impl Conditioned for DiskFailure {
    fn condition(&self) -> Option<Condition> {
        match self {
            Self::Operation(error) => error.condition(),
            Self::Size { .. } => None,
        }
    }
}

impl Conditioned for DiskIdError {
    fn condition(&self) -> Option<Condition> {
        None
    }
}

impl Conditioned for FilesystemFailure {
    fn condition(&self) -> Option<Condition> {
        match self {
            Self::Operation(error) => error.condition(),
            Self::Rule(rule) => rule.condition(),
        }
    }
}

impl Conditioned for FirmwareError {
    fn condition(&self) -> Option<Condition> {
        Self::condition(self)
    }
}

impl Conditioned for Forwarded {
    fn condition(&self) -> Option<Condition> {
        self.failure().condition()
    }
}

impl Conditioned for IscsiFailure {
    fn condition(&self) -> Option<Condition> {
        match self {
            Self::Operation(error) => error.condition(),
            Self::AuthenticationType(_) | Self::NoPortal => None,
        }
    }
}

impl Conditioned for PathRule {
    fn condition(&self) -> Option<Condition> {
        match self {
            Self::Resolve(error) => error.condition(),
            _ => Some(Condition::PathRefused),
        }
    }
}

impl Conditioned for ServiceError {
    fn condition(&self) -> Option<Condition> {
        Self::condition(self)
    }
}

impl Conditioned for SmbFailure {
    fn condition(&self) -> Option<Condition> {
        match self {
            Self::Operation(error) => error.condition(),
            Self::Rule(rule) => rule.condition(),
        }
    }
}

impl Conditioned for VolumeFailure {
    fn condition(&self) -> Option<Condition> {
        match self {
            Self::Closest { source, .. } => source.condition(),
            Self::Id(_) => Some(Condition::NotFound),
            Self::Operation(error) => error.condition(),
            Self::Rule(rule) => rule.condition(),
            Self::Disk(_) | Self::Empty(_) | Self::Size { .. } => None,
        }
    }
}
