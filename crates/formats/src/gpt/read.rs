//! One copy of a table: header and entries, each with its checksum.

use std::ops::{Range, RangeInclusive};

use uuid::Uuid;

use super::{GptError, Partition};
use crate::blank::View;
use crate::bytes::{guid, slice, u32_le, u64_le};

/// Bytes of a header that revision 1.0 defines.
pub(super) const HEADER: u32 = 92;

/// The only revision there is.
pub(super) const REVISION: u32 = 0x0001_0000;

/// UEFI asks for room for 128 entries; four times that is more than any tool writes.
const MAX_ENTRIES: u32 = 512;

const MAX_ENTRY_SIZE: u32 = 1024;

/// UTF-16 units of a name.
pub(super) const NAME_UNITS: usize = 36;

/// A copy of a table that is whole in itself.
pub(super) struct TableCopy {
    pub(super) lba: u64,
    pub(super) alternate_lba: u64,
    pub(super) usable: RangeInclusive<u64>,
    pub(super) disk_guid: Uuid,
    pub(super) partitions: Vec<Partition>,
    /// Bytes of the header in the disk.
    pub(super) header: Range<u64>,
    /// Bytes of the entries in the disk.
    pub(super) table: Range<u64>,
    entry_count: u32,
    entry_size: u32,
}

impl TableCopy {
    /// Reads the copy whose header is in sector `lba`.
    pub(super) fn read(view: &View, lba: u64) -> Result<Self, GptError> {
        let header = Header::read(view, lba)?;
        let table = header.table(view)?;
        let entries = entries(view, &table).ok_or(header.table_place())?;
        if crc32fast::hash(entries) != header.table_crc {
            return Err(GptError::TableChecksum);
        }
        let partitions = partitions(entries, &header)?;
        Ok(Self {
            lba,
            alternate_lba: header.alternate_lba,
            usable: header.usable,
            disk_guid: header.disk_guid,
            partitions,
            header: header.range,
            table,
            entry_count: header.entry_count,
            entry_size: header.entry_size,
        })
    }

    /// The fields that both copies must have in common.
    pub(super) fn content(&self) -> impl PartialEq + use<'_> {
        (
            self.disk_guid,
            &self.usable,
            &self.partitions,
            self.entry_count,
            self.entry_size,
        )
    }
}

struct Header {
    range: Range<u64>,
    alternate_lba: u64,
    usable: RangeInclusive<u64>,
    disk_guid: Uuid,
    table_lba: u64,
    table_crc: u32,
    entry_count: u32,
    entry_size: u32,
}

impl Header {
    fn read(view: &View, lba: u64) -> Result<Self, GptError> {
        let sector_size = view.extent().sector().bytes();
        let start = lba * sector_size;
        let sector = usize::try_from(sector_size)
            .ok()
            .and_then(|len| view.bytes(start, len))
            .filter(|sector| sector.starts_with(b"EFI PART"))
            .ok_or(GptError::Missing)?;
        let size = checked_header(sector)?;
        // A header of at least 92 bytes holds every field below.
        let header = Self::fields(sector, start..start + size).ok_or(GptError::Missing)?;
        header.plausible(view, lba, u64_le(sector, 24).unwrap_or_default())?;
        Ok(header)
    }

    fn fields(sector: &[u8], range: Range<u64>) -> Option<Self> {
        Some(Self {
            range,
            alternate_lba: u64_le(sector, 32)?,
            usable: u64_le(sector, 40)?..=u64_le(sector, 48)?,
            disk_guid: guid(sector, 56)?,
            table_lba: u64_le(sector, 72)?,
            entry_count: u32_le(sector, 80)?,
            entry_size: u32_le(sector, 84)?,
            table_crc: u32_le(sector, 88)?,
        })
    }

    fn plausible(&self, view: &View, stands: u64, belongs: u64) -> Result<(), GptError> {
        let (first, last) = (*self.usable.start(), *self.usable.end());
        if belongs != stands {
            return Err(GptError::Misplaced { stands, belongs });
        }
        if first > last || first < 2 || last >= view.extent().last_lba() {
            return Err(GptError::Usable { first, last });
        }
        if !(1..=MAX_ENTRIES).contains(&self.entry_count) {
            return Err(GptError::EntryCount(self.entry_count));
        }
        let units = self.entry_size / 128;
        if !self.entry_size.is_multiple_of(128)
            || !units.is_power_of_two()
            || self.entry_size > MAX_ENTRY_SIZE
        {
            return Err(GptError::EntrySize(self.entry_size));
        }
        Ok(())
    }

    /// The bytes of the entries: behind the master boot record, clear of the usable sectors and of
    /// this header.
    fn table(&self, view: &View) -> Result<Range<u64>, GptError> {
        let sector = view.extent().sector().bytes();
        let start = self
            .table_lba
            .checked_mul(sector)
            .ok_or(self.table_place())?;
        let len = u64::from(self.entry_count) * u64::from(self.entry_size);
        let table = start..start.checked_add(len).ok_or(self.table_place())?;
        // Both are within the disk, so within 64 bits.
        let usable = self.usable.start() * sector..(self.usable.end() + 1) * sector;
        if self.table_lba < 2 || overlap(&table, &usable) || overlap(&table, &self.range) {
            return Err(self.table_place());
        }
        Ok(table)
    }

    fn table_place(&self) -> GptError {
        GptError::TablePlace {
            lba: self.table_lba,
        }
    }
}

/// The header's size, once revision, size and checksum are right.
fn checked_header(sector: &[u8]) -> Result<u64, GptError> {
    let revision = u32_le(sector, 8).unwrap_or_default();
    let size = u32_le(sector, 12).unwrap_or_default();
    if revision != REVISION {
        return Err(GptError::Revision(revision));
    }
    let header = usize::try_from(size)
        .ok()
        .filter(|_| size >= HEADER)
        .and_then(|size| slice(sector, 0, size))
        .ok_or(GptError::HeaderSize(size))?;
    let mut crc = crc32fast::Hasher::new();
    crc.update(&header[..16]);
    crc.update(&[0; 4]);
    crc.update(&header[20..]);
    if Some(crc.finalize()) == u32_le(sector, 16) {
        Ok(u64::from(size))
    } else {
        Err(GptError::HeaderChecksum)
    }
}

fn entries<'a>(view: &'a View, table: &Range<u64>) -> Option<&'a [u8]> {
    view.bytes(table.start, usize::try_from(table.end - table.start).ok()?)
}

fn partitions(entries: &[u8], header: &Header) -> Result<Vec<Partition>, GptError> {
    let size =
        usize::try_from(header.entry_size).map_err(|_| GptError::EntrySize(header.entry_size))?;
    let partitions: Vec<_> = entries
        .chunks_exact(size)
        .zip(1..)
        .filter_map(|(entry, number)| partition(entry, number))
        .collect();
    check_ranges(&partitions, &header.usable)?;
    Ok(partitions)
}

fn partition(entry: &[u8], number: u32) -> Option<Partition> {
    Some(Partition {
        number,
        type_guid: guid(entry, 0).filter(|guid| !guid.is_nil())?,
        unique_guid: guid(entry, 16)?,
        first_lba: u64_le(entry, 32)?,
        last_lba: u64_le(entry, 40)?,
        attributes: u64_le(entry, 48)?,
        name: name(slice(entry, 56, NAME_UNITS * 2)?),
    })
}

fn name(bytes: &[u8]) -> String {
    let (pairs, _) = bytes.as_chunks();
    let units = pairs.iter().map(|pair| u16::from_le_bytes(*pair));
    char::decode_utf16(units.take_while(|unit| *unit != 0))
        .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect()
}

/// Every partition within the usable sectors, and none sharing a sector with another.
pub(super) fn check_ranges(
    partitions: &[Partition],
    usable: &RangeInclusive<u64>,
) -> Result<(), GptError> {
    let mut by_start: Vec<_> = partitions.iter().collect();
    by_start.sort_by_key(|partition| partition.first_lba);
    for partition in &by_start {
        let &Partition {
            number,
            first_lba,
            last_lba,
            ..
        } = *partition;
        if first_lba > last_lba || !usable.contains(&first_lba) || !usable.contains(&last_lba) {
            return Err(GptError::PartitionRange {
                number,
                first_lba,
                last_lba,
            });
        }
    }
    match by_start
        .windows(2)
        .find(|pair| pair[0].last_lba >= pair[1].first_lba)
    {
        Some(pair) => Err(GptError::Overlap(pair[0].number, pair[1].number)),
        None => Ok(()),
    }
}

fn overlap(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start < b.end && b.start < a.end
}
