use os::schema::disk::provisioning_type;
use os::{BusType, ScsiAddress};
use serde::{Deserialize, Serialize};

use super::dynamic::VolumeExtent;

/// A disk as built and plugged in: the content of `disks/<name>.toml`.
///
/// The disk's length is that of its image and is recorded nowhere else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DiskSpec {
    /// The bus of the disk.
    pub bus: Bus,
    /// Where on the bus; its place in the device path and in the location come from it.
    #[serde(default)]
    pub address: Address,
    /// The vendor as the device gives it, blanks included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// The product as the device gives it, blanks included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub product: Option<String>,
    /// The firmware's revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// The serial number as the device gives it, blanks included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
    /// The logical sector size in bytes: 512 or 4096.
    #[serde(default)]
    pub sector_size: SectorSize,
    /// Windows's text for the location, if it differs from the usual one of the bus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// The PCI function of its controller, shown in the location; by default the usual one of the bus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pci: Option<PciFunction>,
    /// The first number of the device's instance, which its path shows: how deep it is in the tree of devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u8>,
    /// The node's action when it first sees the disk.
    #[serde(default)]
    pub arrives: Arrives,
    /// Whether MPIO has claimed it, which its path shows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub multipath: bool,
    /// The identifiers of SCSI page 0x83.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub identifier: Vec<Identifier>,
    /// How the disk answers the question for that page.
    #[serde(default)]
    pub identifier_page: IdentifierPage,
    /// The roles of the disk by the storage provider, independent of its content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<Role>,
    /// Stretches that answer with a medium error.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<Stretch>,
    /// Whether the device refuses writes, whatever Windows's read-only attribute of the disk is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub write_protected: bool,
    /// Its parts of volumes, if it is a dynamic disk.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extent: Vec<VolumeExtent>,
}

/// A role of a disk, each a property of `MSFT_Disk`. The node's own disk is boot and system disk without an entry
/// here. The provider reports roles but refuses nothing for them, so a caller that ignores one does harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// `IsBoot`: it holds the boot volume.
    Boot,
    /// `IsClustered`: a cluster owns it.
    Clustered,
    /// `IsSystem`: it holds the system volume.
    System,
}

/// The bus of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bus {
    /// An ATA controller.
    Ata,
    /// An iSCSI session.
    Iscsi,
    /// An NVMe controller.
    Nvme,
    /// A SAS controller, which virtual SCSI controllers pass for as well.
    Sas,
    /// A SATA controller.
    Sata,
    /// A parallel SCSI controller.
    Scsi,
    /// A VHD or VHDX file.
    Vhd,
}

/// Where on its bus a disk sits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Address {
    /// The controller's number.
    pub adapter: u8,
    /// The controller's port.
    pub port: u8,
    /// The target behind the port.
    pub target: u8,
    /// The logical unit of the target; on NVMe the namespace's number.
    pub lun: u8,
}

/// Where a controller sits on PCI, as `MSFT_Disk.Location` prints it. Virtual machines have numbers there that no
/// real PCI has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PciFunction {
    /// The bus.
    pub bus: u32,
    /// The device on the bus.
    pub device: u32,
    /// The device's function.
    pub function: u32,
}

/// A logical sector size that Windows supports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub enum SectorSize {
    /// 512 bytes.
    #[default]
    Small,
    /// 4096 bytes.
    Large,
}

/// Whether a disk comes up when a node first sees it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrives {
    /// As the node's SAN policy has it.
    #[default]
    ByPolicy,
    /// Offline and read-only.
    Offline,
    /// Online and writable.
    Online,
    /// Offline and read-only, as another path to a disk that is there, until MPIO is set up.
    RedundantPath,
}

/// A disk's answer to a query of page 0x83. No run has shown which of these Windows returns for which
/// bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IdentifierPage {
    /// With its identifiers, if it has any.
    #[default]
    Answered,
    /// With an I/O error (1117).
    Failing,
    /// With bytes that are no such page.
    Malformed,
    /// As a question that it does not know (error 1).
    Refused,
}

/// One identifier of page 0x83.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Identifier {
    /// The kind of identifier.
    pub kind: IdentifierKind,
    /// The object that it identifies.
    #[serde(default)]
    pub of: Association,
    /// Its bytes: text for the kinds that are text, hexadecimal digits for the others.
    pub value: String,
}

/// `STORAGE_IDENTIFIER_TYPE`, with the code set that goes with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IdentifierKind {
    /// IEEE EUI-64, binary.
    Eui64,
    /// IEEE NAA, binary.
    Naa,
    /// An iSCSI name, UTF-8.
    ScsiName,
    /// T10 vendor identification, ASCII.
    T10,
    /// T10 vendor identification, binary: the vendor's eight letters and bytes, as disks of Hyper-V and in VHD files
    /// have it (<https://github.com/kubernetes-csi/csi-proxy/issues/155>).
    T10Binary,
    /// The vendor's own, ASCII.
    Vendor,
    /// The vendor's own, binary.
    VendorBinary,
}

/// The object that an identifier identifies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Association {
    /// The disk.
    #[default]
    Device,
    /// The port that it was asked through.
    Port,
    /// The target that the disk is a part of.
    Target,
}

/// A stretch of a disk, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stretch {
    /// Where it begins.
    pub offset: u64,
    /// How long it is.
    pub length: u64,
}

impl DiskSpec {
    /// A disk on this bus, anonymous but for the make that is usual there.
    #[must_use]
    pub fn on(bus: Bus) -> Self {
        let (vendor, product) = bus.usual_make();
        Self {
            bus,
            address: Address::default(),
            vendor: vendor.map(str::to_owned),
            product: Some(product.to_owned()),
            revision: Some("1.0".to_owned()),
            serial: None,
            sector_size: SectorSize::default(),
            location: None,
            pci: None,
            depth: None,
            arrives: Arrives::ByPolicy,
            multipath: false,
            identifier: Vec::new(),
            identifier_page: IdentifierPage::default(),
            roles: Vec::new(),
            unreadable: Vec::new(),
            write_protected: false,
            extent: Vec::new(),
        }
    }

    /// With this serial number.
    #[must_use]
    pub fn serial(self, serial: &str) -> Self {
        Self {
            serial: Some(serial.to_owned()),
            ..self
        }
    }

    /// As this logical unit of the first data adapter.
    #[must_use]
    pub fn lun(self, lun: u8) -> Self {
        let address = Address {
            adapter: 1,
            lun,
            ..self.address
        };
        Self { address, ..self }
    }

    /// With sectors of this size.
    #[must_use]
    pub fn sectors(self, sector_size: SectorSize) -> Self {
        Self {
            sector_size,
            ..self
        }
    }

    /// With one more identifier of the device on page 0x83.
    #[must_use]
    pub fn identified(mut self, kind: IdentifierKind, value: &str) -> Self {
        self.identifier.push(Identifier {
            kind,
            of: Association::Device,
            value: value.to_owned(),
        });
        self
    }

    /// Answering like this when it is asked for page 0x83.
    #[must_use]
    pub fn answering(self, identifier_page: IdentifierPage) -> Self {
        Self {
            identifier_page,
            ..self
        }
    }

    /// Coming up like this.
    #[must_use]
    pub fn arriving(self, arrives: Arrives) -> Self {
        Self { arrives, ..self }
    }

    /// With one more role.
    #[must_use]
    pub fn playing(mut self, role: Role) -> Self {
        self.roles.push(role);
        self
    }

    /// With a stretch that cannot be read.
    #[must_use]
    pub fn unreadable_at(mut self, offset: u64, length: u64) -> Self {
        self.unreadable.push(Stretch { offset, length });
        self
    }

    /// `MSFT_Disk.ProvisioningType`. Virtual SCSI disks of Hyper-V, Azure and VMware are thin, an ATA disk of Hyper-V
    /// and a disk behind a RAID controller are fixed; of other buses nothing was seen.
    pub(crate) fn provisioning(&self) -> u32 {
        let kind = match self.bus {
            Bus::Sas | Bus::Scsi | Bus::Vhd => provisioning_type::THIN,
            Bus::Ata | Bus::Iscsi | Bus::Nvme | Bus::Sata => provisioning_type::FIXED,
        };
        kind.value
    }

    /// `MSFT_Disk.FriendlyName`.
    pub(crate) fn friendly_name(&self) -> String {
        let words = [&self.vendor, &self.product];
        let words: Vec<_> = words
            .into_iter()
            .flatten()
            .map(|word| word.trim())
            .collect();
        words.join(" ")
    }

    /// `None` on buses without SCSI addresses.
    pub(crate) fn scsi_address(&self) -> Option<ScsiAddress> {
        let Address {
            adapter,
            port,
            target,
            lun,
        } = self.address;
        (self.bus != Bus::Vhd).then_some(ScsiAddress {
            port: adapter,
            path: port,
            target,
            lun,
        })
    }

    /// Whether a read of this stretch meets a bad sector.
    pub(crate) fn is_unreadable(&self, offset: u64, length: u64) -> bool {
        Stretch::meets_any(&self.unreadable, offset, length)
    }
}

impl Stretch {
    /// Whether any of the stretches has a byte in common with this one.
    pub(crate) fn meets_any(stretches: &[Self], offset: u64, length: u64) -> bool {
        let end = offset.saturating_add(length);
        stretches
            .iter()
            .any(|other| other.offset < end && offset < other.offset.saturating_add(other.length))
    }
}

impl SectorSize {
    pub(crate) fn bytes(self) -> u32 {
        self.into()
    }
}

impl From<SectorSize> for u32 {
    fn from(size: SectorSize) -> Self {
        match size {
            SectorSize::Small => 512,
            SectorSize::Large => 4096,
        }
    }
}

impl TryFrom<u32> for SectorSize {
    type Error = String;

    fn try_from(bytes: u32) -> Result<Self, String> {
        match bytes {
            512 => Ok(Self::Small),
            4096 => Ok(Self::Large),
            _ => Err(format!("sectors of {bytes} bytes")),
        }
    }
}

impl Bus {
    /// `STORAGE_BUS_TYPE`.
    pub(crate) fn number(self) -> BusType {
        match self {
            Self::Ata => BusType::ATA,
            Self::Iscsi => BusType::ISCSI,
            Self::Nvme => BusType::NVME,
            Self::Sas => BusType::SAS,
            Self::Sata => BusType::SATA,
            Self::Scsi => BusType::SCSI,
            Self::Vhd => BusType::FILE_BACKED_VIRTUAL,
        }
    }

    /// Whether other machines may see the same disk, which decides for the SAN policy. Source:
    /// <https://learn.microsoft.com/windows/win32/api/vds/ne-vds-vds_san_policy>.
    pub(crate) fn is_shared(self) -> bool {
        matches!(self, Self::Iscsi | Self::Sas | Self::Scsi)
    }

    fn usual_make(self) -> (Option<&'static str>, &'static str) {
        match self {
            Self::Nvme => (None, "NVMe Virtual Disk"),
            Self::Ata | Self::Sata => (None, "Virtual HD"),
            _ => (Some("Msft    "), "Virtual Disk    "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Bus, DiskSpec, IdentifierKind, Role, SectorSize};

    #[test]
    fn a_specification_survives_its_file() {
        let spec = DiskSpec::on(Bus::Nvme)
            .serial("AAAA_BBBB_CCCC_0001.")
            .sectors(SectorSize::Large)
            .identified(IdentifierKind::Eui64, "0011223344556677")
            .playing(Role::Clustered)
            .unreadable_at(4096, 512);
        let text = toml::to_string(&spec).unwrap();
        assert_eq!(toml::from_str::<DiskSpec>(&text).unwrap(), spec, "{text}");
    }

    #[test]
    fn a_bus_alone_is_a_specification_and_a_misspelt_word_is_none() {
        let spec: DiskSpec = toml::from_str("bus = \"scsi\"").unwrap();
        assert_eq!(spec.sector_size.bytes(), 512);
        for word in ["serail = \"1\"", "sector-size = 520"] {
            let text = format!("bus = \"scsi\"\n{word}");
            assert!(toml::from_str::<DiskSpec>(&text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_read_that_touches_a_bad_stretch_is_unreadable() {
        let spec = DiskSpec::on(Bus::Sas).unreadable_at(1024, 512);
        assert!(!spec.is_unreadable(0, 1024));
        assert!(spec.is_unreadable(1023, 2));
        assert!(spec.is_unreadable(0, 1 << 20));
        assert!(!spec.is_unreadable(1536, 512));
    }
}
