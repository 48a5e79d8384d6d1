//! Every operation once, with the names that it has in the versions, and whether it changes the node.
//!
//! csi-proxy renamed operations between versions. A rule of the policy, a line of the audit log and a
//! row of a table mean the operation, whatever a version calls it.

use std::fmt;

/// One operation of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// The group, as in the pipe's name.
    pub group: &'static str,
    /// The name in the newest version that has it.
    pub name: &'static str,
    /// The names in other versions.
    pub older_names: &'static [&'static str],
    /// What a call does to the node.
    pub effect: Effect,
}

/// What a call does to the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Disks, volumes, files, mappings, sessions or services are others afterwards.
    Changes,
    /// All is as it was; to look again (a rescan) or to write what waits (a flush) is no change.
    Reads,
}

impl Operation {
    /// Whether a version calls the operation so.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.older_names.contains(&name)
    }
}

/// `volume.FormatVolume`
impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.group, self.name)
    }
}

/// The operation that a group calls so in some version.
#[must_use]
pub fn find(group: &str, name: &str) -> Option<&'static Operation> {
    OPERATIONS
        .iter()
        .find(|operation| operation.group == group && operation.is_called(name))
}

/// Every operation of every group.
pub const OPERATIONS: &[Operation] = &[
    reads("filesystem", "PathExists"),
    changes("filesystem", "Mkdir"),
    changes("filesystem", "Rmdir"),
    changes("filesystem", "RmdirContents"),
    changes("filesystem", "CreateSymlink").formerly(&["LinkPath"]),
    reads("filesystem", "IsSymlink").formerly(&["IsMountPoint"]),
    reads("disk", "ListDiskLocations"),
    changes("disk", "PartitionDisk"),
    reads("disk", "Rescan"),
    reads("disk", "GetDiskNumberByName"),
    reads("disk", "ListDiskIDs"),
    reads("disk", "GetDiskStats").formerly(&["DiskStats"]),
    changes("disk", "SetDiskState").formerly(&["SetAttachState"]),
    reads("disk", "GetDiskState").formerly(&["GetAttachState"]),
    reads("volume", "ListVolumesOnDisk"),
    changes("volume", "MountVolume"),
    changes("volume", "UnmountVolume").formerly(&["DismountVolume"]),
    reads("volume", "IsVolumeFormatted"),
    changes("volume", "FormatVolume"),
    changes("volume", "ResizeVolume"),
    reads("volume", "GetVolumeStats").formerly(&["VolumeStats"]),
    reads("volume", "GetDiskNumberFromVolumeID").formerly(&["GetVolumeDiskNumber"]),
    reads("volume", "GetVolumeIDFromTargetPath").formerly(&["GetVolumeIDFromMount"]),
    reads("volume", "GetClosestVolumeIDFromTargetPath"),
    reads("volume", "WriteVolumeCache"),
    changes("smb", "NewSmbGlobalMapping"),
    changes("smb", "RemoveSmbGlobalMapping"),
    reads("system", "GetBIOSSerialNumber"),
    reads("system", "GetService"),
    changes("system", "StartService"),
    changes("system", "StopService"),
    changes("iscsi", "AddTargetPortal"),
    changes("iscsi", "DiscoverTargetPortal"),
    changes("iscsi", "RemoveTargetPortal"),
    reads("iscsi", "ListTargetPortals"),
    changes("iscsi", "ConnectTarget"),
    changes("iscsi", "DisconnectTarget"),
    reads("iscsi", "GetTargetDisks"),
    changes("iscsi", "SetMutualChapSecret"),
];

const fn reads(group: &'static str, name: &'static str) -> Operation {
    Operation {
        group,
        name,
        older_names: &[],
        effect: Effect::Reads,
    }
}

const fn changes(group: &'static str, name: &'static str) -> Operation {
    Operation {
        group,
        name,
        older_names: &[],
        effect: Effect::Changes,
    }
}

impl Operation {
    const fn formerly(mut self, names: &'static [&'static str]) -> Self {
        self.older_names = names;
        self
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::OPERATIONS;

    #[test]
    fn every_method_of_every_version_is_exactly_one_operation() {
        let mut used = BTreeSet::new();
        for group in wire::GROUPS {
            for method in group.methods {
                let operations = OPERATIONS
                    .iter()
                    .filter(|row| row.group == group.name && row.is_called(method.name))
                    .count();
                assert_eq!(operations, 1, "{group} {}", method.name);
                used.insert((group.name, method.name));
            }
        }
        for row in OPERATIONS {
            for name in row.older_names.iter().chain([&row.name]) {
                assert!(
                    used.contains(&(row.group, *name)),
                    "{row}: no version has {name}"
                );
            }
        }
    }

    #[test]
    fn an_operations_name_is_the_one_in_its_newest_version() {
        for row in OPERATIONS {
            let newest = wire::GROUPS.iter().rev().find(|group| {
                let has = |name: &str| group.method(name).is_some();
                group.name == row.group
                    && (has(row.name) || row.older_names.iter().any(|old| has(old)))
            });
            let newest = newest.expect("a version has it");
            assert!(newest.method(row.name).is_some(), "{row} in {newest}");
        }
    }
}
