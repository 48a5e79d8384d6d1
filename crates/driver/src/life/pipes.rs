//! What a host over csi-proxy's pipes lacks, and what happens then. A node in this process lacks nothing.
//!
//! | it lacks | then |
//! |---|---|
//! | `DeviceCriteria`, `FormatOptions`, `ReadOnlyDisks` | refused: a disk that needs it |
//! | `MappingList` | refused: an inline share. Any other counts as mapped, by a mapping that is nobody else's |
//! | `SpaceByPath` | refused: the figures of a share |
//! | `SmallGrowth` | refused: a growth that may be left undone. The length of the disk is recorded for it |
//! | `CheckedOffline` | done without: a disk stays online |
//! | `EntryLooks` | done without: nothing is swept, taken over or ended as abandoned, and each link is the right one |
//! | `FolderCheck` | done without: what a failed map made may stay |
//! | `FolderMappings` | done without: no folder is mapped beside others |
//! | `MapOptions` | done without: mount options of a mapping are ignored, with a warning |
//! | `SystemIdentity` | done without: no boot is known |
//! | `WriteProtection` | done without: no device is known to refuse writes |
//! | `ConditionalUnmap` | done in another way: no volume can take the mapping while it is removed |
//! | `DirectoryLinks` | done in another way: a symlink |

use wincsi::Feature;

use super::{CallError, Context};
use crate::record::VolumeHandle;

impl Context {
    pub(crate) fn has(&self, feature: Feature) -> bool {
        self.node.supports(feature)
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
