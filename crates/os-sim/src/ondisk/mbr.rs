//! The master boot record.

use os::{PartitionEntry, PartitionStyle};
use uuid::Uuid;

use super::number;
use super::table::{Area, Partition, Table};

/// The content of sector 0.
pub(super) enum Found {
    /// There is a GPT.
    Protective,
    /// A table of its own, perhaps empty.
    Partitions(Table),
}

const ENTRIES: [usize; 4] = [446, 462, 478, 494];
const PROTECTIVE: u8 = 0xEE;
/// NTFS or exFAT.
const IFS: u8 = 7;

/// `None` when Windows would not take sector 0 for a partition table: no signature, or the boot
/// sector of a filesystem that covers the whole disk.
pub(super) fn read(area: Area<'_>) -> Option<Found> {
    let mut sector = [0; 512];
    area.read(0, &mut sector).ok()?;
    if number(&sector, 510, 2) != 0xAA55 {
        return None;
    }
    let signature = u32::try_from(number(&sector, 440, 4)).ok()?;
    let mut partitions = Vec::new();
    for entry in ENTRIES.map(|at| &sector[at..at + 16]) {
        if entry[4] == PROTECTIVE {
            return Some(Found::Protective);
        }
        partitions.extend(partition(entry, signature, area)?);
    }
    let style = PartitionStyle::Mbr { signature };
    Some(Found::Partitions(Table::of(style, partitions)))
}

/// Writes an empty table.
pub(crate) fn initialize(area: Area<'_>, signature: u32) -> std::io::Result<()> {
    let mut sector = [0; 512];
    sector[440..444].copy_from_slice(&signature.to_le_bytes());
    sector[510..].copy_from_slice(&[0x55, 0xAA]);
    area.medium.write(0, &sector)
}

/// Adds a first partition, of type IFS and active.
pub(crate) fn add_first(area: Area<'_>, offset: u64, length: u64) -> std::io::Result<()> {
    const ACTIVE: u8 = 0x80;
    write_first(area, [ACTIVE, IFS], offset, length)
}

/// Makes a dynamic disk's partition the only one, and leaves the disk its signature.
pub(crate) fn become_dynamic(area: Area<'_>, offset: u64, length: u64) -> std::io::Result<()> {
    let others = u64::try_from(ENTRIES[1]).map_err(std::io::Error::other)?;
    area.medium.write(others, &[0; 48])?;
    write_first(area, [0, PartitionEntry::MBR_DYNAMIC], offset, length)
}

/// Gives the partition another length.
pub(super) fn resize(area: Area<'_>, partition: &Partition, length: u64) -> std::io::Result<()> {
    let mut sector = [0; 512];
    area.read(0, &mut sector)?;
    let first = sectors(area, partition.offset)?.to_le_bytes();
    let mut entries = ENTRIES.into_iter();
    let entry = entries.find(|at| sector[at + 8..at + 12] == first);
    let entry = entry.ok_or_else(|| std::io::Error::other("the table has no such partition"))?;
    let at = u64::try_from(entry + 12).map_err(std::io::Error::other)?;
    let length = sectors(area, length)?.to_le_bytes();
    area.medium.write(at, &length)
}

fn sectors(area: Area<'_>, bytes: u64) -> std::io::Result<u32> {
    let sectors = u32::try_from(bytes / u64::from(area.sector_size));
    sectors.map_err(std::io::Error::other)
}

fn write_first(
    area: Area<'_>,
    [status, kind]: [u8; 2],
    offset: u64,
    length: u64,
) -> std::io::Result<()> {
    let mut entry = [0; 16];
    entry[0] = status;
    entry[4] = kind;
    entry[8..12].copy_from_slice(&sectors(area, offset)?.to_le_bytes());
    entry[12..].copy_from_slice(&sectors(area, length)?.to_le_bytes());
    let at = u64::try_from(ENTRIES[0]).map_err(std::io::Error::other)?;
    area.medium.write(at, &entry)
}

/// Gives the disk another signature.
pub(super) fn resign(area: Area<'_>, signature: u32) -> std::io::Result<()> {
    area.medium.write(440, &signature.to_le_bytes())
}

/// The outer `None` says that the entry cannot be one, the inner that it is empty.
fn partition(entry: &[u8], signature: u32, area: Area<'_>) -> Option<Option<Partition>> {
    let sector = u64::from(area.sector_size);
    let (status, kind) = (entry[0], entry[4]);
    if kind == 0 && entry.iter().all(|byte| *byte == 0) {
        return Some(None);
    }
    let offset = number(entry, 8, 4) * sector;
    let length = number(entry, 12, 4) * sector;
    let fits = offset > 0 && length > 0 && offset.saturating_add(length) <= area.length;
    if !matches!(status, 0 | 0x80) || kind == 0 || !fits {
        return None;
    }
    Some(Some(Partition {
        number: 0,
        offset,
        length,
        kind: Uuid::nil(),
        id: volume_id(signature, offset),
        mbr_type: Some(kind),
        is_hidden: false,
        is_read_only: false,
    }))
}

/// The signature, then the offset with its least significant byte first
/// (<https://github.com/dsccommunity/StorageDsc/issues/289>).
fn volume_id(signature: u32, offset: u64) -> Uuid {
    Uuid::from_fields(signature, 0, 0, &offset.to_le_bytes())
}

#[cfg(test)]
mod tests {
    use formats::fixtures::field;
    use os::VolumeId;

    use super::volume_id;

    #[test]
    fn a_volume_is_named_as_one_that_was_recorded() {
        let volumes = field::objects("MSFT_Volume");
        let (_, recorded) = volumes.iter().find(|(_, it)| it.name == "of-mbr").unwrap();
        let name = VolumeId(volume_id(0x228e_25db, 1 << 20)).to_string();
        assert_eq!(recorded.text("Path"), Some(name.as_str()));
    }
}
