use std::fmt;

use super::name::{Page83, SerialNumber};
use super::seen::SeenDisk;
use crate::api::Feature;
use crate::{Portal, TargetName};

/// Known properties of a disk, all of which must match.
///
/// Neither the disk's number nor a volume's label is among them: a number goes to another disk when its own is
/// gone, and anybody can write a label.
///
/// A name (page 0x83, serial number) is enough. An iSCSI target is not: a target with a single LUN today may
/// offer another one tomorrow, and then the one present would be mistaken for it, so the query needs the LUN
/// too. A LUN or namespace without more is not enough either: every adapter has LUN 1, and every NVMe
/// controller namespace 1. The query needs the controller too, by the adapter's number or by PCI bus, device
/// and function. A driver whose storage reports only the LUN, as Azure's does, must be configured with the
/// adapter of its machines' data disks. All three numbers of PCI are needed: adapters 0 and 1 of Azure's
/// machines were seen with one bus and device, and two functions
/// (<https://github.com/kubernetes-sigs/azuredisk-csi-driver/pull/3038>,
/// <https://github.com/kubernetes-sigs/azuredisk-csi-driver/issues/2661>).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskQuery {
    criteria: Vec<Criterion>,
}

/// One known property of a disk.
///
/// Numbers of a location are those of `MSFT_Disk.Location`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Criterion {
    /// The number of its adapter.
    Adapter(u32),
    /// The adapter's PCI bus.
    Bus(u32),
    /// The adapter's device number on its PCI bus.
    Device(u32),
    /// The adapter's PCI function.
    Function(u32),
    /// A session with this iSCSI target leads to the disk, through whatever portals; its LUN or a name selects one of
    /// the target's disks.
    IscsiSession(TargetName),
    /// The same, of a target that the portal leads to.
    /// The search queries the target's disks with [`crate::api::Iscsi::disks`].
    IscsiTarget {
        /// The portal that discovered the target.
        portal: Portal,
        /// The target's iSCSI name.
        target: TargetName,
    },
    /// Its logical unit number. Behind an iSCSI target this is Windows's number; the target may have its own
    /// (<https://learn.microsoft.com/windows/win32/api/iscsidsc/ns-iscsidsc-iscsi_lun_list>).
    Lun(u32),
    /// The number of its NVMe namespace (NSID), from 1.
    Namespace(u32),
    /// A cloud's LUN, which stands for an NVMe namespace.
    NvmeLun {
        /// The LUN, as the cloud counts it.
        lun: u32,
        /// How the cloud maps LUNs to namespaces.
        convention: NamespaceConvention,
    },
    /// One of its identifiers on SCSI page 0x83.
    Page83(Page83),
    /// The port of its adapter.
    Port(u32),
    /// Its serial number.
    Serial(SerialNumber),
    /// Its length in bytes.
    Size(u64),
    /// Its SCSI target.
    Target(u32),
}

/// The criteria of a location.
const PLACE: [fn(u32) -> Criterion; 7] = [
    Criterion::Bus,
    Criterion::Device,
    Criterion::Function,
    Criterion::Adapter,
    Criterion::Port,
    Criterion::Target,
    Criterion::Lun,
];

/// How LUNs map to the namespaces of an NVMe disk. Both are in use, so there is no default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamespaceConvention {
    /// The first namespace is LUN 0.
    NsidMinusOne,
    /// The first namespace is the system's, and the second is LUN 0: Azure's, by azure-vm-utils
    /// (<https://github.com/Azure/azure-vm-utils/pull/11>). azuredisk-csi-driver calls the same on Windows "NSID - 1"
    /// (<https://github.com/kubernetes-sigs/azuredisk-csi-driver/pull/3632>), as it reads the number in the disk's
    /// path, which is one less than the namespace's ([`formats::device_path`] has the sources).
    NsidMinusTwo,
}

/// The query is too weak to identify one disk, and what it needs in addition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotEnough {
    /// Only a LUN or namespace.
    #[error(
        "a LUN or namespace is not enough to tell one disk: it takes the adapter, or its PCI bus, device and \
         function, or the LUN's iSCSI target, or a page 0x83 identifier or serial number"
    )]
    Controller,
    /// Only an iSCSI target.
    #[error(
        "an iSCSI target is not enough to tell one disk: it takes the LUN, or a page 0x83 identifier or serial \
         number"
    )]
    Lun,
    /// Neither a name nor a location.
    #[error(
        "not enough to tell one disk: it takes a page 0x83 identifier, a serial number, a LUN with its iSCSI \
         target, or a LUN or namespace with the adapter or its PCI bus, device and function"
    )]
    Name,
}

impl DiskQuery {
    /// A query for a disk that meets all criteria.
    ///
    /// # Errors
    /// The criteria do not distinguish one disk from its neighbours, whatever disks the node has
    /// now.
    pub fn all(criteria: impl IntoIterator<Item = Criterion>) -> Result<Self, NotEnough> {
        let criteria: Vec<_> = criteria.into_iter().collect();
        let query = Self { criteria };
        match query.lacks() {
            None => Ok(query),
            Some(lack) => Err(lack),
        }
    }

    /// A query with all names and the location that a disk reports: to find the disk again without a record, and
    /// to distinguish it from all others. The length is left out, as it may grow. The page 0x83 identifiers are
    /// taken if the disk has any, otherwise its serial number.
    ///
    /// # Errors
    /// The disk reports neither a usable name nor enough of its location.
    pub fn of(disk: &SeenDisk) -> Result<Self, NotEnough> {
        let names = disk.identifiers.iter().chain(&disk.utf8_names);
        let names = names.filter_map(|id| Page83::parse(id).ok());
        let mut criteria: Vec<_> = names.map(Criterion::Page83).collect();
        if criteria.is_empty() {
            let serial = disk.serial.as_deref();
            let serial = serial.and_then(|serial| SerialNumber::parse(serial).ok());
            criteria.extend(serial.map(Criterion::Serial));
        }
        criteria.extend(disk.namespace.map(Criterion::Namespace));
        criteria.extend(PLACE.iter().filter_map(|kind| {
            let (_, own) = kind(0).place(disk)?;
            Some(kind(own))
        }));
        Self::all(criteria)
    }

    /// An empty query: for a disk that is known by its number.
    pub(super) fn nothing() -> Self {
        let criteria = Vec::new();
        Self { criteria }
    }

    /// All criteria.
    #[must_use]
    pub fn criteria(&self) -> &[Criterion] {
        &self.criteria
    }

    /// The iSCSI targets of the query, each with its portal.
    pub fn iscsi_targets(&self) -> impl Iterator<Item = (&Portal, &TargetName)> {
        self.criteria
            .iter()
            .filter_map(|criterion| match criterion {
                Criterion::IscsiTarget { portal, target } => Some((portal, target)),
                _ => None,
            })
    }

    /// Whether the disk meets all criteria. A property that the disk does not report is not met.
    #[must_use]
    pub fn matches(&self, disk: &SeenDisk) -> bool {
        let mut answers = self.criteria.iter().map(|one| one.holds(disk));
        answers.all(|holds| holds == Some(true))
    }

    /// How many criteria the disk meets.
    pub(super) fn met_by(&self, disk: &SeenDisk) -> usize {
        let criteria = self.criteria.iter();
        criteria.filter(|one| one.holds(disk) == Some(true)).count()
    }

    /// Whether a property that the disk reports contradicts a criterion.
    #[must_use]
    pub fn contradicts(&self, disk: &SeenDisk) -> bool {
        let mut answers = self.criteria.iter().map(|one| one.holds(disk));
        answers.any(|holds| holds == Some(false))
    }

    /// Whether an identifier outside of the wanted ones of page 0x83 excludes a disk that reports no others.
    pub(super) fn is_answered_by(&self, identifier: &str) -> bool {
        let mut criteria = self.criteria.iter();
        criteria.all(|one| match one {
            Criterion::Page83(name) => name.is_of_the_kind_of(identifier),
            _ => true,
        })
    }

    /// Whether the disk has each wanted identifier of page 0x83, and at least one is wanted.
    pub(super) fn is_named_by(&self, disk: &SeenDisk) -> bool {
        let mut names = self.criteria.iter().filter_map(|one| match one {
            Criterion::Page83(name) => Some(name),
            _ => None,
        });
        self.asks_for_page83() && names.all(|name| name.names(disk))
    }

    pub(super) fn asks_for_namespace(&self) -> bool {
        self.has(|one| matches!(one, Criterion::Namespace(_) | Criterion::NvmeLun { .. }))
    }

    /// Whether the query allows a disk of this namespace.
    pub(super) fn may_mean_namespace(&self, namespace: u32) -> bool {
        let mut criteria = self.criteria.iter();
        criteria.all(|one| match one {
            Criterion::Namespace(wanted) => *wanted == namespace,
            Criterion::NvmeLun { lun, convention } => convention.namespace(*lun) == Some(namespace),
            _ => true,
        })
    }

    pub(super) fn asks_for_page83(&self) -> bool {
        self.has(|one| matches!(one, Criterion::Page83(_)))
    }

    pub(super) fn asks_for_serial(&self) -> bool {
        self.has(|one| matches!(one, Criterion::Serial(_)))
    }

    /// What the query needs in addition to identify one disk.
    fn lacks(&self) -> Option<NotEnough> {
        let has_target = self.has(|one| one.iscsi_target().is_some());
        let has_lun = self.has(|one| matches!(one, Criterion::Lun(_)));
        let has_unit = self.has(Criterion::is_unit);
        if self.has(Criterion::is_name)
            || has_target && has_lun
            || has_unit && self.has_controller()
        {
            return None;
        }
        Some(match (has_target, has_unit) {
            (true, _) => NotEnough::Lun,
            (false, true) => NotEnough::Controller,
            (false, false) => NotEnough::Name,
        })
    }

    fn has_controller(&self) -> bool {
        self.has(|one| matches!(one, Criterion::Adapter(_)))
            || self.has(|one| matches!(one, Criterion::Bus(_)))
                && self.has(|one| matches!(one, Criterion::Device(_)))
                && self.has(|one| matches!(one, Criterion::Function(_)))
    }

    fn has(&self, kind: fn(&Criterion) -> bool) -> bool {
        self.criteria.iter().any(kind)
    }
}

impl Criterion {
    /// Whether the criterion is a name of the disk, which moves with the disk.
    #[must_use]
    pub fn is_name(&self) -> bool {
        matches!(self, Self::Page83(_) | Self::Serial(_))
    }

    /// The feature that a search by this criterion needs.
    #[must_use]
    pub fn feature(&self) -> Option<Feature> {
        match self {
            Self::Device(_)
            | Self::Function(_)
            | Self::Namespace(_)
            | Self::NvmeLun { .. }
            | Self::Port(_) => Some(Feature::DeviceCriteria),
            Self::IscsiSession(_) => Some(Feature::SessionList),
            Self::Adapter(_)
            | Self::Bus(_)
            | Self::IscsiTarget { .. }
            | Self::Lun(_)
            | Self::Page83(_)
            | Self::Serial(_)
            | Self::Size(_)
            | Self::Target(_) => None,
        }
    }

    /// The target whose sessions lead to the disk, and the portal, if one is asked for.
    pub(super) fn iscsi_target(&self) -> Option<(&TargetName, Option<&Portal>)> {
        match self {
            Self::IscsiSession(target) => Some((target, None)),
            Self::IscsiTarget { portal, target } => Some((target, Some(portal))),
            _ => None,
        }
    }

    fn is_unit(&self) -> bool {
        matches!(
            self,
            Self::Lun(_) | Self::Namespace(_) | Self::NvmeLun { .. }
        )
    }

    /// Whether the disk meets the criterion; `None` if the disk does not report it.
    fn holds(&self, disk: &SeenDisk) -> Option<bool> {
        match self {
            Self::IscsiSession(target) | Self::IscsiTarget { target, .. } => {
                Some(disk.iscsi_targets.contains(target))
            }
            Self::Namespace(number) => Some(disk.namespace? == *number),
            Self::NvmeLun { lun, convention } => {
                Some(Some(disk.namespace?) == convention.namespace(*lun))
            }
            Self::Page83(name) => disk.has_names().then(|| name.names(disk)),
            Self::Serial(serial) => Some(serial.is(disk.serial.as_deref()?)),
            Self::Size(bytes) => Some(disk.size? == *bytes),
            _ => self.place(disk).map(|(wanted, own)| wanted == own),
        }
    }

    /// The wanted number of a location, and the disk's.
    fn place(&self, disk: &SeenDisk) -> Option<(u32, u32)> {
        let location = disk.location.as_ref()?;
        let other = |key: &str| {
            let found = location.other.iter().find(|(own, _)| own == key);
            found.map(|(_, value)| value)
        };
        let (wanted, text) = match self {
            Self::Adapter(number) => (number, location.adapter.as_ref()),
            Self::Bus(number) => (number, location.bus.as_ref()),
            Self::Device(number) => (number, other("Device")),
            Self::Function(number) => (number, other("Function")),
            Self::Lun(number) => (number, location.lun.as_ref()),
            Self::Port(number) => (number, location.port.as_ref()),
            Self::Target(number) => (number, location.target.as_ref()),
            _ => return None,
        };
        Some((*wanted, text?.parse().ok()?))
    }
}

impl NamespaceConvention {
    /// The namespace of a LUN; `None` if there is no such number.
    #[must_use]
    pub fn namespace(self, lun: u32) -> Option<u32> {
        match self {
            Self::NsidMinusOne => lun.checked_add(1),
            Self::NsidMinusTwo => lun.checked_add(2),
        }
    }
}

impl fmt::Display for DiskQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, criterion) in self.criteria.iter().enumerate() {
            let gap = if index > 0 { ", " } else { "" };
            write!(f, "{gap}{criterion}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Criterion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Adapter(number) => write!(f, "adapter {number}"),
            Self::Bus(number) => write!(f, "bus {number}"),
            Self::Device(number) => write!(f, "device {number}"),
            Self::Function(number) => write!(f, "function {number}"),
            Self::IscsiSession(target) => write!(f, "iSCSI target {target}"),
            Self::IscsiTarget { portal, target } => {
                write!(f, "iSCSI target {target} of portal {portal}")
            }
            Self::Lun(number) => write!(f, "LUN {number}"),
            Self::Namespace(number) => write!(f, "namespace {number}"),
            Self::NvmeLun { lun, convention } => write!(f, "NVMe LUN {lun} ({convention})"),
            Self::Page83(name) => write!(f, "page 0x83 identifier {name}"),
            Self::Port(number) => write!(f, "port {number}"),
            Self::Serial(serial) => write!(f, "serial number {serial}"),
            Self::Size(bytes) => write!(f, "{bytes} bytes"),
            Self::Target(number) => write!(f, "target {number}"),
        }
    }
}

impl fmt::Display for NamespaceConvention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NsidMinusOne => "NSID - 1",
            Self::NsidMinusTwo => "NSID - 2",
        })
    }
}
