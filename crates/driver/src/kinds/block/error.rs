use transport::Code;
use wincsi::Feature;

use crate::life::Shared;
use crate::record::VolumeHandle;

/// Why a volume was not staged.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// Readers on many nodes share the disk, and Windows had it online and writable here before it was staged.
    #[error(
        "the disk of volume {volume} came online writable, and nodes that share a disk must not write to it: \
         set the node's SAN policy to OfflineShared, take the disk offline and make it read-only"
    )]
    CameOnlineWritable {
        /// The volume.
        volume: VolumeHandle,
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
    /// Another volume has the same disk for readers, or for writers.
    #[error("volume {other} has the disk of volume {volume} with another access mode")]
    OtherAccess {
        /// The volume.
        volume: VolumeHandle,
        /// The one that is staged.
        other: VolumeHandle,
    },
    /// The volume is staged with another capability, at another path or from another disk.
    #[error("volume {volume} is staged with another {what}")]
    StagedOtherwise {
        /// The volume.
        volume: VolumeHandle,
        /// What differs.
        what: &'static str,
    },
    /// The volume is refused, and something of an earlier call is left of it: kubelet calls again.
    #[error(transparent)]
    Unfinished(Box<Self>),
    /// What may keep each call from its end.
    #[error(transparent)]
    Shared(#[from] Shared),
}

impl StageError {
    /// The code for kubelet.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::Unfinished(_) => Code::Unavailable,
            Self::CameOnlineWritable { .. } | Self::HostLacks { .. } | Self::OtherAccess { .. } => {
                Code::FailedPrecondition
            }
            Self::StagedOtherwise { .. } => Code::AlreadyExists,
            Self::Shared(shared) => shared.code(),
        }
    }

    pub(crate) fn unfinished(self) -> Self {
        Self::Unfinished(Box::new(self))
    }
}
