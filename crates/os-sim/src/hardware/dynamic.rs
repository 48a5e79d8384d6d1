//! Dynamic disks, which Windows's Logical Disk Manager divides into parts of volumes by its own database.
//!
//! The simulation has the part of the database that decides Windows's answers: each disk's specification lists the
//! parts of volumes on it. The partitions have the types that Disk Management gives them, as far as documented
//! (<https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-partition_information_gpt>); no record has
//! their offsets.

use std::io;

use formats::gpt::types;
use os::{PartitionEntry, PartitionStyle, VolumeId};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::control::about;
use super::{DiskSpec, HardwareControl, HardwareError, Medium, Part, Parts, SectorSize};
use crate::ondisk::gpt::{self, NewPartition};
use crate::ondisk::{Area, FilesystemKind, Formatting, MIB, Partition, Table, filesystem, mbr};

/// With what a disk's database begins.
const DATABASE: &[u8] = b"PRIVHEAD";
const DATA_BEGINS: u64 = 16 * MIB;
const SMALLEST: u64 = 2 * DATA_BEGINS;

/// A part of a volume on a dynamic disk. The volume is there while all of its parts are, and their disks online.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VolumeExtent {
    /// The GUID in the volume's name.
    pub volume: Uuid,
    /// Its place among the volume's parts: the first is 0.
    pub part: u32,
    /// How many parts the volume has, on all disks.
    pub of: u32,
    /// Where it begins on the disk, in bytes.
    pub offset: u64,
    /// How long it is, in bytes.
    pub length: u64,
}

/// A disk that becomes a dynamic one.
struct Candidate<'a> {
    name: &'a str,
    spec: DiskSpec,
    medium: Medium,
    length: u64,
}

impl HardwareControl {
    /// Makes dynamic disks of these, and one spanned volume that fills them in this order: as Disk Management would,
    /// formatted with NTFS, but past the node, whose storage provider learns of it by its next look. What was on
    /// them is lost; an MBR disk stays one, any other becomes a GPT disk.
    ///
    /// # Errors
    /// There is no such disk, one is shorter than 32 MiB, their sectors differ in size, or a file cannot be written.
    pub fn span_disks(&self, names: &[&str]) -> Result<VolumeId, HardwareError> {
        let disks = names.iter().map(|name| self.candidate(name));
        let disks: Vec<_> = disks.collect::<Result<_, _>>()?;
        let failed = |source| about("a spanned volume", source);
        let sector = sector_of_all(&disks).map_err(failed)?;
        let volume = Uuid::new_v4();
        let mut parts = Vec::new();
        for disk in &disks {
            let part = disk.divide().map_err(|source| about(disk.name, source))?;
            parts.push(part);
        }
        format(volume, sector, parts.clone()).map_err(failed)?;
        let of = u32::try_from(parts.len()).unwrap_or(u32::MAX);
        for (number, (disk, part)) in (0..).zip(disks.iter().zip(&parts)) {
            let extent = VolumeExtent {
                volume,
                part: number,
                of,
                offset: part.offset,
                length: part.length,
            };
            self.change_spec(disk.name, |spec| spec.extent = vec![extent])?;
        }
        Ok(VolumeId(volume))
    }

    /// The parts of volumes on a disk.
    pub(crate) fn extents_on(&self, name: &str) -> Result<Vec<VolumeExtent>, HardwareError> {
        Ok(self.candidate(name)?.spec.extent)
    }

    fn candidate<'a>(&self, name: &'a str) -> Result<Candidate<'a>, HardwareError> {
        let medium = self.expect_disk(name)?;
        let missing = || HardwareError::Missing(format!("disk {name}"));
        let text = self.disk_text(name).map_err(|source| about(name, source))?;
        let disk = self.disk(name, &text.ok_or_else(missing)?);
        Ok(Candidate {
            name,
            spec: disk.ok_or_else(missing)?.spec,
            length: medium.length().map_err(|source| about(name, source))?,
            medium,
        })
    }
}

impl Candidate<'_> {
    fn area(&self) -> Area<'_> {
        Area::sound(&self.medium, self.length, self.spec.sector_size.bytes())
    }

    /// Writes the partition table and the database's beginning; where volumes can lie.
    fn divide(&self) -> io::Result<Part> {
        let area = self.area();
        let end = Table::end_of_room(self.length);
        let (begins, database) = match Table::read(area).style {
            PartitionStyle::Mbr { .. } => {
                mbr::become_dynamic(area, MIB, self.length - MIB)?;
                (MIB, end)
            }
            _ => {
                divide_gpt(area, end)?;
                (DATA_BEGINS, MIB)
            }
        };
        self.medium.write(database, DATABASE)?;
        Ok(Part {
            medium: self.medium.clone(),
            offset: begins,
            length: end - begins,
        })
    }
}

fn divide_gpt(area: Area<'_>, end: u64) -> io::Result<()> {
    gpt::initialize(area, Uuid::new_v4())?;
    for (kind, name, offset, end) in [
        (types::LDM_METADATA, "LDM metadata partition", MIB, 2 * MIB),
        (
            PartitionEntry::RESERVED,
            "Microsoft reserved partition",
            2 * MIB,
            DATA_BEGINS,
        ),
        (types::LDM_DATA, "LDM data partition", DATA_BEGINS, end),
    ] {
        let partition = NewPartition {
            kind,
            id: Uuid::new_v4(),
            name,
            offset,
            length: end - offset,
            is_hidden: false,
        };
        gpt::add(area, &partition)?;
    }
    Ok(())
}

fn sector_of_all(disks: &[Candidate<'_>]) -> io::Result<SectorSize> {
    let (first, others) = disks.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let sector = first.spec.sector_size;
    if others.iter().any(|other| other.spec.sector_size != sector) {
        return Err(io::Error::other("no disks of one sector size"));
    }
    if disks.iter().any(|disk| disk.length < SMALLEST) {
        return Err(io::Error::other("too short for a dynamic disk"));
    }
    Ok(sector)
}

fn format(volume: Uuid, sector: SectorSize, parts: Vec<Part>) -> io::Result<()> {
    let medium = Medium::Parts(Parts::of(parts));
    let length = medium.length()?;
    let area = Area::sound(&medium, length, sector.bytes());
    let ntfs = Formatting::of(FilesystemKind::Ntfs);
    filesystem::write(area, &Partition::whole(volume, length), ntfs)
}
