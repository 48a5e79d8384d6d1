//! A table as bytes.

use std::ops::RangeInclusive;

use uuid::Uuid;

use super::read::{HEADER, NAME_UNITS, REVISION, check_ranges};
use super::{GptError, Partition, mbr};
use crate::blank::Extent;

/// Entries in every table that [`encode`] writes: UEFI's minimum, and Windows's number.
pub const ENTRIES: u32 = 128;

const ENTRY: u32 = 128;
const TABLE: u64 = 128 * 128;

/// The bytes of a complete GPT and where they go: protective master boot record, primary header
/// and entries as one run at the start, backup entries and header as another at the end.
///
/// # Errors
/// A partition's number, sectors or overlap with another are impossible on this disk, or the disk
/// is too small for a table.
pub fn encode(
    extent: Extent,
    disk_guid: Uuid,
    partitions: &[Partition],
) -> Result<[(u64, Vec<u8>); 2], GptError> {
    let table = Table::new(extent, disk_guid, partitions)?;
    let sector = extent.sector().bytes();
    let last = extent.last_lba();
    let table_sectors = TABLE / sector;

    let mut head = pad(mbr::protective(last).to_vec(), sector);
    head.extend(pad(table.header(1, last, 2), sector));
    head.extend(&table.entries);

    let mut tail = table.entries.clone();
    tail.extend(pad(table.header(last, 1, last - table_sectors), sector));
    Ok([(0, head), ((last - table_sectors) * sector, tail)])
}

struct Table {
    disk_guid: Uuid,
    usable: RangeInclusive<u64>,
    entries: Vec<u8>,
}

impl Table {
    fn new(extent: Extent, disk_guid: Uuid, partitions: &[Partition]) -> Result<Self, GptError> {
        let table_sectors = TABLE / extent.sector().bytes();
        let first = 2 + table_sectors;
        let last = extent.last_lba().saturating_sub(table_sectors + 1);
        if first > last {
            return Err(GptError::Usable { first, last });
        }
        let usable = first..=last;
        check_ranges(partitions, &usable)?;
        let mut entries = vec![0; usize::try_from(TABLE).expect("16384 fits every usize")];
        for partition in partitions {
            put_entry(&mut entries, partition)?;
        }
        Ok(Self {
            disk_guid,
            usable,
            entries,
        })
    }

    fn header(&self, lba: u64, alternate_lba: u64, table_lba: u64) -> Vec<u8> {
        let mut header = Vec::new();
        header.extend(b"EFI PART");
        header.extend(REVISION.to_le_bytes());
        header.extend(HEADER.to_le_bytes());
        header.extend([0; 8]);
        for field in [lba, alternate_lba, *self.usable.start(), *self.usable.end()] {
            header.extend(field.to_le_bytes());
        }
        header.extend(self.disk_guid.to_bytes_le());
        header.extend(table_lba.to_le_bytes());
        header.extend(ENTRIES.to_le_bytes());
        header.extend(ENTRY.to_le_bytes());
        header.extend(crc32fast::hash(&self.entries).to_le_bytes());
        let crc = crc32fast::hash(&header);
        header[16..20].copy_from_slice(&crc.to_le_bytes());
        header
    }
}

fn put_entry(entries: &mut [u8], partition: &Partition) -> Result<(), GptError> {
    let mut entry = Vec::new();
    entry.extend(partition.type_guid.to_bytes_le());
    entry.extend(partition.unique_guid.to_bytes_le());
    for field in [
        partition.first_lba,
        partition.last_lba,
        partition.attributes,
    ] {
        entry.extend(field.to_le_bytes());
    }
    entry.extend(
        partition
            .name
            .encode_utf16()
            .take(NAME_UNITS)
            .flat_map(u16::to_le_bytes),
    );
    partition
        .number
        .checked_sub(1)
        .and_then(|index| usize::try_from(index.checked_mul(ENTRY)?).ok())
        .and_then(|at| entries.get_mut(at..at + entry.len()))
        .ok_or(GptError::EntryCount(partition.number))?
        .copy_from_slice(&entry);
    Ok(())
}

fn pad(mut bytes: Vec<u8>, sector: u64) -> Vec<u8> {
    bytes.resize(
        usize::try_from(sector).expect("a sector is at most 4096 bytes"),
        0,
    );
    bytes
}
