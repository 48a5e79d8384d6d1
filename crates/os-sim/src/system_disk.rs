//! The disk that the node runs from: an EFI system partition, a reserved one and drive C; with an MBR drive C only.

use std::io;

use os::{PartitionEntry, Root, WinPath};
use uuid::Uuid;

use crate::hardware::{
    Arrives, Bus, Content, DiskSpec, HardwareControl, HardwareError, IdentifierKind, Medium,
};
use crate::machine::Mount;
use crate::ondisk::gpt::{self, NewPartition};
use crate::ondisk::{Area, FilesystemKind, Formatting, MIB, Table, filesystem, mbr};
use crate::profile::Profile;
use crate::spanned::SpannedSpec;
use crate::spec::NodeSpec;

/// Its name among the disks of the node's folder.
pub(crate) const NAME: &str = "system";
/// The disk for temporary files, where the machine has one.
const TEMPORARY: &str = "temporary";
const TEMPORARY_BYTES: u64 = 16 << 30;
const EFI_LENGTH: u64 = 100 * MIB;

/// How the disk is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Division {
    Gpt,
    Mbr,
}

/// Builds the disk, and the others that the node comes with, and plugs them in.
pub(crate) fn build(hardware: &HardwareControl, node: &NodeSpec) -> Result<(), HardwareError> {
    let disk = match node.profile {
        Some(profile) => profile.system_disk(),
        None => usual(),
    };
    let disk = disk.arriving(Arrives::Online);
    let division = node.profile.map_or(Division::Gpt, Profile::system_division);
    attach(hardware, NAME, &disk, node.system_disk_bytes, division)?;
    if let Some(disk) = node.profile.and_then(Profile::temporary_disk) {
        attach(hardware, TEMPORARY, &disk, TEMPORARY_BYTES, Division::Mbr)?;
    }
    match node.spanned {
        Some(spanned) => spanned.plug_into(hardware),
        None => Ok(()),
    }
}

fn attach(
    hardware: &HardwareControl,
    name: &str,
    disk: &DiskSpec,
    length: u64,
    division: Division,
) -> Result<(), HardwareError> {
    hardware.attach_disk(name, disk, &Content::blank(length))?;
    let medium = hardware.expect_disk(name)?;
    write(&medium, length, division).map_err(|source| HardwareError::File {
        object: name.to_owned(),
        source,
    })
}

fn usual() -> DiskSpec {
    DiskSpec::on(Bus::Sas)
        .serial("SYSTEM0001")
        .identified(IdentifierKind::Naa, "60022480000000000000000000000001")
}

/// Removes the leftovers of a disk whose node was not finished.
pub(crate) fn discard(hardware: &HardwareControl) -> Result<(), HardwareError> {
    for name in [NAME, TEMPORARY] {
        match hardware.detach_disk(name) {
            Err(HardwareError::Missing(_)) => {}
            other => other?,
        }
    }
    SpannedSpec::discard(hardware)
}

/// The mount manager's table on a node that is started for the first time: its drive letters.
pub(crate) fn drives(hardware: &HardwareControl, node: &NodeSpec) -> Vec<Mount> {
    let spanned = node.spanned.and_then(|spanned| spanned.mount(hardware));
    drive_c(hardware).into_iter().chain(spanned).collect()
}

fn drive_c(hardware: &HardwareControl) -> Option<Mount> {
    let medium = hardware.expect_disk(NAME).ok()?;
    let table = Table::read(Area::sound(&medium, medium.length().ok()?, 512));
    let mut partitions = table.partitions.iter();
    let drive_c = partitions.find(|partition| {
        partition.kind == PartitionEntry::BASIC_DATA || partition.mbr_type.is_some()
    })?;
    Some(Mount {
        path: WinPath::of_root(Root::Drive('C')),
        volume: drive_c.id,
    })
}

fn write(medium: &Medium, length: u64, division: Division) -> io::Result<()> {
    let area = Area::sound(medium, length, 512);
    match division {
        Division::Gpt => write_gpt(area),
        Division::Mbr => write_mbr(area),
    }
}

fn write_mbr(area: Area<'_>) -> io::Result<()> {
    mbr::initialize(area, Uuid::new_v4().as_fields().0)?;
    mbr::add_first(area, MIB, area.length - 2 * MIB)?;
    for partition in &Table::read(area).partitions {
        filesystem::write(area, partition, Formatting::of(FilesystemKind::Ntfs))?;
    }
    Ok(())
}

fn write_gpt(area: Area<'_>) -> io::Result<()> {
    gpt::initialize(area, Uuid::new_v4())?;
    gpt::add_reserved(area)?;
    let efi = partition(
        PartitionEntry::EFI_SYSTEM,
        Uuid::new_v4(),
        16 * MIB,
        EFI_LENGTH,
    );
    let start = efi.offset + efi.length;
    let data = partition(
        PartitionEntry::BASIC_DATA,
        Uuid::new_v4(),
        start,
        area.length - MIB - start,
    );
    gpt::add(area, &efi)?;
    gpt::add(area, &data)?;
    for (partition, kind) in Table::read(area).partitions.iter().zip([
        None,
        Some(FilesystemKind::Fat32),
        Some(FilesystemKind::Ntfs),
    ]) {
        if let Some(kind) = kind {
            filesystem::write(area, partition, Formatting::of(kind))?;
        }
    }
    Ok(())
}

fn partition(kind: Uuid, id: Uuid, offset: u64, length: u64) -> NewPartition {
    NewPartition {
        kind,
        id,
        name: "Basic data partition",
        offset,
        length,
        is_hidden: false,
    }
}
