//! Which calls open more handles than csi-proxy, and why.

/// Calls that open more handles for one and the same reason.
#[derive(Debug, Clone, Copy)]
pub struct MoreHandles {
    /// The operations, as in the catalogue.
    pub calls: &'static [&'static str],
    /// Why, in a sentence.
    pub reason: &'static str,
}

/// All calls that do, in one situation or another.
pub const MORE_HANDLES: &[MoreHandles] = &[
    MoreHandles {
        calls: &[
            "filesystem.Mkdir",
            "filesystem.Rmdir",
            "filesystem.RmdirContents",
            "filesystem.CreateSymlink",
            "volume.MountVolume",
            "volume.UnmountVolume",
            "smb.NewSmbGlobalMapping",
        ],
        reason: "Each folder on the way to what is made or removed is held while it is, so that nobody \
                 puts a link in its place",
    },
    MoreHandles {
        calls: &[
            "disk.PartitionDisk",
            "disk.SetDiskState",
            "volume.FormatVolume",
            "volume.ResizeVolume",
        ],
        reason: "The kernel is asked which disk it is, how it is laid out and what runs from it, and what \
                 is to be overwritten is read, before a disk is changed; and PartitionDisk opens every \
                 volume of the node to find the one that it has made",
    },
    MoreHandles {
        calls: &["disk.GetDiskNumberByName", "disk.ListDiskIDs"],
        reason: "Each disk is asked for its number besides its identifiers, and GetDiskNumberByName asks \
                 the found one more: whether it is still the disk that the provider means",
    },
    MoreHandles {
        calls: &[
            "disk.GetDiskStats",
            "disk.GetDiskState",
            "volume.GetDiskNumberFromVolumeID",
            "volume.WriteVolumeCache",
            "volume.ListVolumesOnDisk",
        ],
        reason: "Disk and volume are asked by a handle where csi-proxy queries the provider; for \
                 ListVolumesOnDisk every volume of the node",
    },
    MoreHandles {
        calls: &["volume.GetVolumeIDFromTargetPath"],
        reason: "A link is read for where it leads, where csi-proxy has Windows follow it by name, and \
                 where nothing is, the way is looked at: a path that is missing has another text than \
                 one that a link hides",
    },
    MoreHandles {
        calls: &[
            "system.GetService",
            "system.StartService",
            "system.StopService",
        ],
        reason: "A look at a service or an order to it is a handle of the service control manager where \
                 csi-proxy queries WMI",
    },
];
