//! The disk that the node runs from: an EFI system partition, a reserved one and drive C.

use std::io;

use os::{PartitionEntry, Root, WinPath};
use uuid::Uuid;

use crate::hardware::{Arrives, Bus, Content, DiskSpec, HardwareControl, HardwareError, Medium};
use crate::machine::Mount;
use crate::ondisk::gpt::{self, NewPartition};
use crate::ondisk::{Area, FilesystemKind, Formatting, MIB, Table, filesystem};

/// Its name among the disks of the node's folder.
pub(crate) const NAME: &str = "system";
const LENGTH: u64 = 32 << 30;
const EFI_LENGTH: u64 = 100 * MIB;

/// Builds the disk and plugs it in.
pub(crate) fn build(hardware: &HardwareControl) -> Result<(), HardwareError> {
    let spec = DiskSpec::on(Bus::Sas)
        .serial("SYSTEM0001")
        .arriving(Arrives::Online);
    hardware.attach_disk(NAME, &spec, &Content::blank(LENGTH))?;
    let medium = hardware.expect_disk(NAME)?;
    write(&medium).map_err(|source| HardwareError::File {
        object: NAME.to_owned(),
        source,
    })
}

/// Throws away what is left of a disk whose node was not finished.
pub(crate) fn discard(hardware: &HardwareControl) -> Result<(), HardwareError> {
    match hardware.detach_disk(NAME) {
        Err(HardwareError::Missing(_)) => Ok(()),
        other => other,
    }
}

/// Drive C's row for the mount manager of a node that is started for the first time.
pub(crate) fn drive_c(hardware: &HardwareControl) -> Option<Mount> {
    let medium = hardware.expect_disk(NAME).ok()?;
    let table = Table::read(Area::sound(&medium, medium.length().ok()?, 512));
    let mut partitions = table.partitions.iter();
    let drive_c = partitions.find(|partition| partition.kind == PartitionEntry::BASIC_DATA)?;
    Some(Mount {
        path: WinPath::of_root(Root::Drive('C')),
        volume: drive_c.id,
    })
}

fn write(medium: &Medium) -> io::Result<()> {
    let area = Area::sound(medium, LENGTH, 512);
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
        LENGTH - MIB - start,
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
