//! Every operation once, with its names in the versions, and whether it changes the node.
//!
//! csi-proxy renamed operations between versions. A rule of the policy, a line of the audit log and a row of a table
//! mean the operation, under any version's name.

use std::fmt;

/// One operation of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// The group, as in the pipe's name.
    pub group: &'static str,
    /// The name in its newest version.
    pub name: &'static str,
    /// The names in other versions.
    pub older_names: &'static [&'static str],
    /// A call's effect, in one sentence of Markdown.
    pub summary: &'static str,
    /// Whether a call changes the node.
    pub effect: Effect,
}

/// The effect of a call on the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Disks, volumes, files, mappings, sessions or services are others afterwards.
    Changes,
    /// Changes nothing; a rescan or a flush is no change.
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

/// The operation with this name in some version of the group.
#[must_use]
pub fn find(group: &str, name: &str) -> Option<&'static Operation> {
    OPERATIONS
        .iter()
        .find(|operation| operation.group == group && operation.is_called(name))
}

/// Every operation of every group.
pub const OPERATIONS: &[Operation] = &[
    reads(
        "filesystem",
        "PathExists",
        "Reports whether a path has an entry; does not follow a link at its end.",
    ),
    changes(
        "filesystem",
        "Mkdir",
        "Makes a directory and those above it, if missing.",
    ),
    changes(
        "filesystem",
        "Rmdir",
        "Removes an empty directory or a link, with `force` also what is below; enters no link.",
    ),
    changes(
        "filesystem",
        "RmdirContents",
        "Empties a directory; enters no link.",
    ),
    changes(
        "filesystem",
        "CreateSymlink",
        "Makes a symbolic link to a directory, unless one leads there already.",
    )
    .formerly(&["LinkPath"]),
    reads(
        "filesystem",
        "IsSymlink",
        "Reports whether a path is a link or mounted folder with an existing target; a mapped share is one.",
    )
    .formerly(&["IsMountPoint"]),
    reads(
        "disk",
        "ListDiskLocations",
        "Lists adapter, bus, target and LUN of each disk.",
    ),
    changes(
        "disk",
        "PartitionDisk",
        "Gives a blank disk a GPT and one partition; leaves a disk with a partition.",
    ),
    reads("disk", "Rescan", "Makes the node search for disks again."),
    reads(
        "disk",
        "GetDiskNumberByName",
        "Finds the one disk with a page 0x83 identifier.",
    ),
    reads(
        "disk",
        "ListDiskIDs",
        "Lists page 0x83 identifier and serial number of each disk.",
    ),
    reads("disk", "GetDiskStats", "Returns a disk's length in bytes.").formerly(&["DiskStats"]),
    changes(
        "disk",
        "SetDiskState",
        "Brings a disk online and makes it writable, or takes it offline.",
    )
    .formerly(&["SetAttachState"]),
    reads("disk", "GetDiskState", "Reports whether a disk is online.").formerly(&["GetAttachState"]),
    reads(
        "volume",
        "ListVolumesOnDisk",
        "Lists the volumes of a disk or partition, by offset.",
    ),
    changes(
        "volume",
        "MountVolume",
        "Mounts a volume in an empty directory, unless it is mounted there.",
    ),
    changes(
        "volume",
        "UnmountVolume",
        "Flushes a volume and unmounts it from a directory.",
    )
    .formerly(&["DismountVolume"]),
    reads(
        "volume",
        "IsVolumeFormatted",
        "Reports whether Windows knows a volume's filesystem.",
    ),
    changes(
        "volume",
        "FormatVolume",
        "Formats a blank or released volume with NTFS; any other only with `-format-guard=off`.",
    ),
    changes(
        "volume",
        "ResizeVolume",
        "Grows a partition and its filesystem to a size, or to the maximum.",
    ),
    reads(
        "volume",
        "GetVolumeStats",
        "Returns size and used bytes of a volume's filesystem.",
    )
    .formerly(&["VolumeStats"]),
    reads(
        "volume",
        "GetDiskNumberFromVolumeID",
        "Returns the disk of a volume.",
    )
    .formerly(&["GetVolumeDiskNumber"]),
    reads(
        "volume",
        "GetVolumeIDFromTargetPath",
        "Follows a path's links to a mounted folder; returns its volume.",
    )
    .formerly(&["GetVolumeIDFromMount"]),
    reads(
        "volume",
        "GetClosestVolumeIDFromTargetPath",
        "Returns the volume of a path.",
    ),
    reads("volume", "WriteVolumeCache", "Flushes a volume."),
    changes(
        "smb",
        "NewSmbGlobalMapping",
        "Maps a share for the node, on request with a link to it; reuses a mapping that answers.",
    ),
    changes(
        "smb",
        "RemoveSmbGlobalMapping",
        "Removes the mapping of a share.",
    ),
    reads(
        "system",
        "GetBIOSSerialNumber",
        "Returns the computer's serial number, trimmed.",
    ),
    reads(
        "system",
        "GetService",
        "Reports how a service starts and whether it runs.",
    ),
    changes(
        "system",
        "StartService",
        "Starts a service and waits until it runs.",
    ),
    changes(
        "system",
        "StopService",
        "Stops a service, with `force` also its dependents, and waits until they stop.",
    ),
    changes(
        "iscsi",
        "AddTargetPortal",
        "Adds a target portal, unless the node knows it.",
    ),
    changes(
        "iscsi",
        "DiscoverTargetPortal",
        "Queries a portal again and lists its targets.",
    ),
    changes(
        "iscsi",
        "RemoveTargetPortal",
        "Removes a target portal; its sessions go on.",
    ),
    reads("iscsi", "ListTargetPortals", "Lists the target portals."),
    changes(
        "iscsi",
        "ConnectTarget",
        "Logs in to a target, on request with CHAP, unless it is connected.",
    ),
    changes(
        "iscsi",
        "DisconnectTarget",
        "Ends all sessions with a target, for good.",
    ),
    reads(
        "iscsi",
        "GetTargetDisks",
        "Lists the numbers of a target's disks; waits up to three seconds after a login.",
    ),
    changes(
        "iscsi",
        "SetMutualChapSecret",
        "Sets the secret by which targets prove themselves.",
    ),
];

const fn reads(group: &'static str, name: &'static str, summary: &'static str) -> Operation {
    Operation {
        group,
        name,
        older_names: &[],
        summary,
        effect: Effect::Reads,
    }
}

const fn changes(group: &'static str, name: &'static str, summary: &'static str) -> Operation {
    Operation {
        group,
        name,
        older_names: &[],
        summary,
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
