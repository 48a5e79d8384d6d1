use transport::Code;
use wincsi::Error;

use super::expand::LEAST_GROWTH;
use crate::life::CallError;
use crate::record::VolumeHandle;
use crate::words;

#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// Readers on many nodes share the disk, and Windows had it online and writable here before it was staged.
    #[error(
        "the disk of volume {volume} came online writable, and nodes that share a disk must not write to it: \
         set the node's SAN policy to OfflineShared, take the disk offline and make it read-only"
    )]
    CameOnlineWritable { volume: VolumeHandle },
    #[error(
        "the disk of volume {volume} has no identifier on SCSI page 0x83, so that nothing tells it from one that comes in \
         its place"
    )]
    Anonymous { volume: VolumeHandle },
    #[error("volume {other} has the disk of volume {volume} with another access mode")]
    OtherAccess {
        volume: VolumeHandle,
        other: VolumeHandle,
    },
    #[error(
        "the disk of volume {volume} has grown by {grown} bytes, and -host=proxy grows a volume by {least_growth} or \
         more: request {least} bytes, or use -host=native",
        least_growth = LEAST_GROWTH
    )]
    TooLittle {
        volume: VolumeHandle,
        /// By how much the disk has grown, in bytes.
        grown: u64,
        least: u64,
    },
    /// Another partition lies behind the volume's, or the partition table does not reach to the end of the disk.
    #[error("volume {volume} has all that it can have of its disk, {size} bytes: {}", words::of(.why))]
    NoRoom {
        volume: VolumeHandle,
        size: u64,
        why: Box<Error>,
    },
    #[error(
        "the disk of volume {volume} has {disk} bytes, to which the volume would grow, and the request has a limit of {limit}"
    )]
    TooLarge {
        volume: VolumeHandle,
        disk: u64,
        limit: u64,
    },
    #[error(
        "the disk of volume {volume} has {disk} bytes, and {wanted} are wanted: it has not grown yet"
    )]
    TooSmall {
        volume: VolumeHandle,
        disk: u64,
        wanted: u64,
    },
}

impl Refused {
    pub fn code(&self) -> Code {
        match self {
            Self::Anonymous { .. } | Self::CameOnlineWritable { .. } | Self::OtherAccess { .. } => {
                Code::FailedPrecondition
            }
            Self::TooSmall { .. } => Code::Unavailable,
            Self::TooLarge { .. } | Self::TooLittle { .. } => Code::OutOfRange,
            // With this code alone each kubelet lets pods start, grown or not.
            Self::NoRoom { .. } => Code::FailedPrecondition,
        }
    }
}

impl From<Refused> for CallError {
    fn from(refused: Refused) -> Self {
        Self::of_kind(refused.code(), refused)
    }
}
