//! What a host over csi-proxy's pipes lacks, and what happens then. A node in this process lacks nothing.
//!
//! | it lacks | then |
//! |---|---|
//! | `DeviceCriteria`, `FormatOptions`, `ReadOnlyDisks` | refused: a disk that needs it |
//! | `PortalProbe`, `SessionList`, `SessionLogout` | refused: an iSCSI volume |
//! | `MappingList` | refused: an inline share. Any other counts as mapped, by a mapping that is nobody else's |
//! | `SpaceByPath` | refused: the figures of a share |
//! | `SmallGrowth` | refused: a growth that may be left undone. The length of the disk is recorded for it |
//! | `CheckedOffline` | done without: a disk stays online |
//! | `ContentLooks` | done in another way: a disk is refused once it is online, and taken offline again |
//! | `EntryLooks` | done without: nothing is swept, taken over or ended as abandoned, and each link is the right one |
//! | `FolderCheck` | done without: what a failed map made may stay |
//! | `FolderMappings` | done without: no folder is mapped beside others |
//! | `OfflineReasons` | done without: a second path to a disk comes online, if Windows lets it |
//! | `MapOptions` | done without: mount options of a mapping are ignored, with a warning |
//! | `SystemIdentity` | done without: no boot is known |
//! | `WriteProtection` | done without: no device is known to refuse writes |
//! | `ConditionalUnmap` | done in another way: no volume can take the mapping while it is removed |
//! | `DirectoryLinks` | done in another way: a symlink |

use wincsi::disks::FoundDisk;
use wincsi::smb::ShareMapping;
use wincsi::{Deadline, Error, Feature};

use super::{CallError, Context};
use crate::record::VolumeHandle;

impl Context {
    pub(crate) fn has(&self, feature: Feature) -> bool {
        self.node.supports(feature)
    }

    /// The mappings of the node; none if the host does not list them.
    pub(crate) fn mappings(&self, deadline: Deadline) -> Result<Option<Vec<ShareMapping>>, Error> {
        match self.has(Feature::MappingList) {
            true => self.node.smb().mappings(deadline).map(Some),
            false => Ok(None),
        }
    }

    /// Whether the device of a disk is known to refuse writes.
    pub(crate) fn is_write_protected(
        &self,
        disk: &FoundDisk,
        deadline: Deadline,
    ) -> Result<bool, Error> {
        match self.has(Feature::WriteProtection) {
            true => disk.is_write_protected(self.node.as_ref(), deadline),
            false => Ok(false),
        }
    }

    /// Refuses a volume that needs what the host lacks.
    pub(crate) fn require(
        &self,
        feature: Feature,
        volume: &VolumeHandle,
        what: &'static str,
    ) -> Result<(), CallError> {
        match self.has(feature) {
            true => Ok(()),
            false => Err(CallError::HostLacks {
                volume: volume.clone(),
                what,
                feature,
            }),
        }
    }
}
