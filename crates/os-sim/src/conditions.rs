//! Behaviour of Windows that varied between reports, or that pages describe and nobody has seen.

use serde::{Deserialize, Serialize};

/// How the node's storage behaves where records differ or are missing: the table `storage` of `node.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct StorageConditions {
    /// Whether the provider notices a disk that came.
    pub arrivals: Arrivals,
    /// How many milliseconds it takes until then. No record says how many.
    pub arrival_delay_ms: u64,
    /// The fate of a disk whose signature or GUID an online disk has.
    pub collision: Collision,
    /// Whether MPIO claims the disks of iSCSI sessions: several sessions bring one disk then. Without it each session
    /// brings a disk of its own, and Windows keeps all but the first offline, with the reason `Redundant Path` (VDS's
    /// `VDS_DISK_OFFLINE_REASON`; nobody has seen it).
    pub multipath: bool,
    /// Another node of a failover cluster, whose disks, partitions and volumes are listed as well: each as this node's,
    /// by the same number and path, and partitions without their disk's number
    /// (<https://github.com/PowerShell/PowerShell/issues/18935>, <https://github.com/dsccommunity/StorageDsc/issues/224>).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub neighbour: Option<String>,
    /// The result of `MSFT_Disk.SetAttributes` for an offline disk.
    pub offline_attributes: OfflineAttributes,
    /// The sources of the answer whether a device is write-protected.
    pub write_protection: ProtectionAnswer,
}

impl Default for StorageConditions {
    fn default() -> Self {
        Self {
            arrivals: Arrivals::default(),
            arrival_delay_ms: 1000,
            collision: Collision::default(),
            multipath: false,
            neighbour: None,
            offline_attributes: OfflineAttributes::default(),
            write_protection: ProtectionAnswer::default(),
        }
    }
}

/// Whether the storage provider notices a disk that came while the node runs: attached, or behind an iSCSI session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// By itself after a while, as drivers show that never have it look anew (GCE's, and csi-proxy's own way through
    /// its iSCSI calls); a rescan makes it sooner.
    #[default]
    Noticed,
    /// By a rescan alone.
    OnRescan,
}

/// The fate of a disk whose signature or GUID an online disk has. Both stay offline.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Collision {
    /// It is read-only, and `MSFT_Disk` leaves it out until its read-only attribute is cleared past the provider: on
    /// vSphere (<https://github.com/kubernetes-csi/csi-proxy/issues/287>).
    Hidden,
    /// It is in the list with the reason `Collision`, read-only by the policy for new disks alone: on Azure
    /// (<https://github.com/kubernetes-sigs/azuredisk-csi-driver/issues/2661>).
    #[default]
    Listed,
}

/// The result of `MSFT_Disk.SetAttributes` for an offline disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OfflineAttributes {
    /// 41003, "The disk is offline": Microsoft's page requires an online disk for most attributes, without
    /// naming them (<https://learn.microsoft.com/windows-hardware/drivers/storage/msft-disk-setattributes>).
    Refused,
    /// They are set, as by <https://github.com/hpe-storage/common-host-libs/pull/40>, on Server 2019.
    #[default]
    Set,
}

/// The sources of the answer to `IOCTL_DISK_IS_WRITABLE`. No page documents them
/// (<https://learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-ioctl_disk_is_writable>).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProtectionAnswer {
    /// The device alone.
    #[default]
    Device,
    /// The device, or Windows's read-only attribute of the disk.
    DeviceOrAttribute,
}
