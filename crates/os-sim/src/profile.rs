//! Machines of clouds, as the field records of `formats` show them (`formats::fixtures::field`).
//!
//! Each constant here is held against a record by `tests/it/profiles`. The records print no more than what they print:
//! what else an object has is the simulator's usual.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::hardware::place::fingerprint;
use crate::hardware::{Address, Bus, DiskSpec, IdentifierKind, PciFunction};
use crate::spec::{NodeSpec, SanPolicy};
use crate::system_disk::Division;

/// A kind of machine that a simulated node can answer like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// A machine of Azure with disks on SCSI.
    AzureScsi,
    /// A machine of EC2 with EBS volumes on NVMe.
    Ebs,
    /// A machine of Hyper-V that starts from IDE and has data disks on SCSI.
    HyperV,
    /// A machine of vSphere whose disks have UUIDs (`disk.EnableUUID`).
    Vsphere,
}

/// A text names no profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no profile; there are azure-scsi, ebs, hyper-v and vsphere")]
pub struct UnknownProfile(String);

impl Profile {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::AzureScsi, Self::Ebs, Self::HyperV, Self::Vsphere];

    /// A data disk of such a machine. `unit` is its place among the data disks: the LUN (Azure, Hyper-V), the target
    /// (vSphere), or the controller (EBS, which has one for each volume). `identity` is the cloud's name for the disk:
    /// a volume's id (`vol-0123456789abcdef0`) with EBS, the 32 hexadecimal digits of its NAA name with the others.
    #[must_use]
    pub fn disk(self, unit: u8, identity: &str) -> DiskSpec {
        match self {
            Self::AzureScsi => azure(1, unit, identity),
            Self::Ebs => ebs(unit, identity),
            Self::HyperV => DiskSpec {
                address: at(2, 0, unit),
                pci: function(8331, 65486),
                depth: Some(6),
                revision: Some("1.0 ".to_owned()),
                ..hyper_v(identity)
            },
            Self::Vsphere => vsphere(unit).identified(IdentifierKind::Naa, identity),
        }
    }

    /// The disk that such a machine runs from.
    pub(crate) fn system_disk(self) -> DiskSpec {
        match self {
            Self::AzureScsi => azure(0, 0, "60022480000000000000000000000001"),
            Self::Ebs => ebs(0, "vol-00000000000000001"),
            Self::HyperV => DiskSpec {
                revision: Some("1.1.0".to_owned()),
                ..DiskSpec::on(Bus::Ata)
            },
            Self::Vsphere => self.disk(0, "6000c290000000000000000000000001"),
        }
    }

    /// The disk for temporary files, where such a machine has one: at a LUN that a data disk may have as well, behind
    /// another adapter.
    pub(crate) fn temporary_disk(self) -> Option<DiskSpec> {
        let azure = || azure(0, 1, "60022480000000000000000000000002");
        (self == Self::AzureScsi).then(azure)
    }

    /// How the disk is divided that it runs from. Of Azure and vSphere it was not seen.
    pub(crate) fn system_division(self) -> Division {
        match self {
            Self::AzureScsi | Self::Vsphere => Division::Gpt,
            Self::Ebs | Self::HyperV => Division::Mbr,
        }
    }

    /// Sets up the rest of the node.
    pub(crate) fn furnish(self, node: &mut NodeSpec) {
        let serial = match self {
            Self::AzureScsi | Self::HyperV => "0000-0001-6511-2026-0000-0001-6511",
            Self::Ebs => "ec2f5a10-0001-4651-8c20-260000016511",
            Self::Vsphere => "VMware-42 10 00 01 65 11 20 26-00 00 00 01 65 11 20 26",
        };
        serial.clone_into(&mut node.serial);
        if self == Self::Ebs {
            "Amazon EC2".clone_into(&mut node.manufacturer);
        }
        node.san_policy = match self {
            // azuredisk, which brings no disk online, works there; and a disk that collided was not read-only, as one
            // is that a policy keeps offline.
            Self::AzureScsi => SanPolicy::OnlineAll,
            Self::Ebs | Self::HyperV | Self::Vsphere => SanPolicy::OfflineShared,
        };
    }

    fn name(self) -> &'static str {
        match self {
            Self::AzureScsi => "azure-scsi",
            Self::Ebs => "ebs",
            Self::HyperV => "hyper-v",
            Self::Vsphere => "vsphere",
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(text: &str) -> Result<Self, UnknownProfile> {
        let found = Self::ALL.into_iter().find(|one| one.name() == text);
        found.ok_or_else(|| UnknownProfile(text.to_owned()))
    }
}

/// The disk to run from and the temporary one are behind adapter 0, data disks behind adapter 1: another function each.
fn azure(adapter: u8, lun: u8, identity: &str) -> DiskSpec {
    DiskSpec {
        address: at(adapter, 0, lun),
        pci: function(63667, 30746 + u32::from(adapter)),
        ..hyper_v(identity)
    }
}

/// A SCSI disk of Hyper-V, which Azure's are as well: a T10 identifier that is binary, then an NAA name.
fn hyper_v(identity: &str) -> DiskSpec {
    let halves = [fingerprint(identity), fingerprint(&identity.to_uppercase())];
    let [high, low] = halves.map(|half| format!("{half:016x}"));
    DiskSpec::on(Bus::Sas)
        .identified(IdentifierKind::T10Binary, &format!("{MSFT}{high}{low}"))
        .identified(IdentifierKind::Naa, identity)
}

/// `MSFT` and four blanks.
const MSFT: &str = "4d53465420202020";

fn vsphere(target: u8) -> DiskSpec {
    DiskSpec {
        address: at(0, target, 0),
        vendor: Some("VMware  ".to_owned()),
        product: Some("Virtual disk    ".to_owned()),
        revision: Some("1.0 ".to_owned()),
        location: Some("SCSI0".to_owned()),
        ..DiskSpec::on(Bus::Sas)
    }
}

fn ebs(controller: u8, volume: &str) -> DiskSpec {
    let volume = volume.replace('-', "");
    let name = format!("{volume}0001{MODEL:<40}{PCI_VENDOR}");
    let disk = DiskSpec {
        address: at(controller, 0, 0),
        vendor: Some("NVMe".to_owned()),
        product: Some(MODEL.chars().take(SCSI_PRODUCT).collect()),
        ..DiskSpec::on(Bus::Nvme)
    };
    disk.serial(&format!("{volume}_00000001."))
        .identified(IdentifierKind::Eui64, EBS_PAGE83)
        .identified(IdentifierKind::ScsiName, &name)
}

const MODEL: &str = "Amazon Elastic Block Store";
const PCI_VENDOR: &str = "1D0F";

/// As many letters of the model as a SCSI disk's product has.
const SCSI_PRODUCT: usize = 16;

/// Recorded from only one volume; nothing in it comes from that volume's id, so other volumes may have the same.
const EBS_PAGE83: &str = "01000000766f6c30a002dc3231f9d001";

fn at(adapter: u8, target: u8, lun: u8) -> Address {
    Address {
        adapter,
        port: 0,
        target,
        lun,
    }
}

/// A function of PCI bus 0.
fn function(device: u32, function: u32) -> Option<PciFunction> {
    Some(PciFunction {
        bus: 0,
        device,
        function,
    })
}
