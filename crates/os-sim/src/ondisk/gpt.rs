//! The GUID partition table, by the crate `gptman`: another hand than the one that the code above the
//! seam reads tables with, so that the two check each other.

use std::io::{self, Read, Seek, SeekFrom};

use gptman::{GPT, GPTPartitionEntry};
use os::{PartitionEntry, PartitionStyle};
use uuid::Uuid;

use super::MIB;
use super::table::{Area, Partition, Table};
use crate::hardware::{Stream, Stretch};

/// The smallest disk that takes a table and a partition.
pub(crate) const SMALLEST_DISK: u64 = 4 * MIB;
/// The end of the Microsoft reserved partition that Windows Server 2016 and later create: it begins
/// behind the table and the first data partition begins at 16 MiB.
const RESERVED_END: u64 = 16 * MIB;
/// Disks below this size get no reserved partition.
const SMALLEST_WITH_RESERVED: u64 = 2 * RESERVED_END;

const READ_ONLY: u64 = 1 << 60;
const HIDDEN: u64 = 1 << 62;

/// The length of the backup table at a disk's end: a header and 128 entries of 128 bytes.
pub(crate) fn backup(sector_size: u32) -> u64 {
    u64::from(sector_size) + 128 * 128
}

/// The table, from the backup when the primary is damaged.
pub(super) fn read(area: Area<'_>) -> Option<Table> {
    let gpt = load(area).ok()?;
    let sector = u64::from(area.sector_size);
    let used = gpt.iter().filter(|(_, entry)| entry.is_used());
    let partitions = used.map(|(_, entry)| partition(entry, sector));
    let style = PartitionStyle::Gpt {
        disk_id: Uuid::from_bytes_le(gpt.header.disk_guid),
    };
    Some(Table::of(style, partitions.collect()))
}

/// Writes a protective MBR and an empty table. The reserved partition is [`add_reserved`]'s.
pub(crate) fn initialize(area: Area<'_>, disk_id: Uuid) -> io::Result<()> {
    let sector = u64::from(area.sector_size);
    area.medium.write_stream(area.length, |stream| {
        let disk_id = disk_id.to_bytes_le();
        let mut gpt = GPT::new_from(stream, sector, disk_id).map_err(refused)?;
        write(&mut gpt, stream)
    })
}

/// Adds the Microsoft reserved partition, where Windows would.
pub(crate) fn add_reserved(area: Area<'_>) -> io::Result<()> {
    if area.length < SMALLEST_WITH_RESERVED {
        return Ok(());
    }
    let first = load(area)?.header.first_usable_lba * u64::from(area.sector_size);
    let reserved = NewPartition {
        kind: PartitionEntry::RESERVED,
        id: Uuid::new_v4(),
        name: "Microsoft reserved partition",
        offset: first,
        length: RESERVED_END - first,
        is_hidden: false,
    };
    add(area, &reserved)
}

/// A partition to create, in bytes.
pub(crate) struct NewPartition {
    pub(crate) kind: Uuid,
    pub(crate) id: Uuid,
    pub(crate) name: &'static str,
    pub(crate) offset: u64,
    pub(crate) length: u64,
    pub(crate) is_hidden: bool,
}

/// Adds a partition.
pub(crate) fn add(area: Area<'_>, new: &NewPartition) -> io::Result<()> {
    change(area, |gpt| {
        let sector = gpt.sector_size;
        let free = gpt.iter().find(|(_, entry)| entry.is_unused());
        let (slot, _) = free.ok_or_else(|| io::Error::other("the table is full"))?;
        gpt[slot] = GPTPartitionEntry {
            partition_type_guid: new.kind.to_bytes_le(),
            unique_partition_guid: new.id.to_bytes_le(),
            starting_lba: new.offset / sector,
            ending_lba: (new.offset + new.length) / sector - 1,
            attribute_bits: if new.is_hidden { HIDDEN } else { 0 },
            partition_name: new.name.into(),
        };
        Ok(())
    })
}

/// Gives the partition another length.
pub(super) fn resize(area: Area<'_>, partition: &Partition, length: u64) -> io::Result<()> {
    change(area, |gpt| {
        let sector = gpt.sector_size;
        entry(gpt, partition)?.ending_lba = (partition.offset + length) / sector - 1;
        Ok(())
    })
}

/// Removes a partition.
pub(crate) fn remove(area: Area<'_>, partition: &Partition) -> io::Result<()> {
    change(area, |gpt| {
        *entry(gpt, partition)? = GPTPartitionEntry::empty();
        Ok(())
    })
}

/// Gives the disk and each of its partitions another GUID.
pub(super) fn resign(area: Area<'_>, disk_id: Uuid) -> io::Result<()> {
    change(area, |gpt| {
        gpt.header.disk_guid = disk_id.to_bytes_le();
        for (_, entry) in gpt.iter_mut().filter(|(_, entry)| entry.is_used()) {
            entry.unique_partition_guid = Uuid::new_v4().to_bytes_le();
        }
        Ok(())
    })
}

/// How many partitions a table can still take.
pub(crate) fn is_full(area: Area<'_>) -> bool {
    load(area).is_ok_and(|gpt| gpt.iter().all(|(_, entry)| entry.is_used()))
}

fn load(area: Area<'_>) -> io::Result<GPT> {
    let mut stream = Readable {
        area,
        stream: area.medium.reader(area.length)?,
    };
    GPT::read_from(&mut stream, u64::from(area.sector_size)).map_err(refused)
}

/// A disk as a stream that ends in an error where the disk cannot be read.
struct Readable<'a> {
    area: Area<'a>,
    stream: Stream<'a>,
}

impl Read for Readable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let offset = self.stream.stream_position()?;
        let length = u64::try_from(buffer.len()).map_err(io::Error::other)?;
        if Stretch::meets_any(self.area.unreadable, offset, length) {
            return Err(io::Error::other("unreadable"));
        }
        self.stream.read(buffer)
    }
}

impl Seek for Readable<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.stream.seek(to)
    }
}

/// Reads the table, changes it, and writes it with its backup at the present end of the disk.
fn change(area: Area<'_>, act: impl FnOnce(&mut GPT) -> io::Result<()>) -> io::Result<()> {
    let sector = u64::from(area.sector_size);
    let mut gpt = load(area)?;
    gpt.header.primary_lba = 1;
    gpt.header.partition_entry_lba = 2;
    area.medium.write_stream(area.length, |stream| {
        let header = &mut gpt.header;
        header.update_from(stream, sector).map_err(refused)?;
        act(&mut gpt)?;
        write(&mut gpt, stream)
    })
}

fn write(gpt: &mut GPT, stream: &mut Stream<'_>) -> io::Result<()> {
    GPT::write_protective_mbr_into(stream, gpt.sector_size).map_err(refused)?;
    gpt.write_into(stream).map_err(refused)?;
    Ok(())
}

fn entry<'a>(gpt: &'a mut GPT, partition: &Partition) -> io::Result<&'a mut GPTPartitionEntry> {
    gpt.iter_mut()
        .map(|(_, entry)| entry)
        .find(|entry| entry.unique_partition_guid == partition.id.to_bytes_le())
        .ok_or_else(|| io::Error::other("the partition is not in the table"))
}

fn partition(entry: &GPTPartitionEntry, sector: u64) -> Partition {
    let sectors = (entry.ending_lba + 1).saturating_sub(entry.starting_lba);
    Partition {
        number: 0,
        offset: entry.starting_lba.saturating_mul(sector),
        length: sectors.saturating_mul(sector),
        kind: Uuid::from_bytes_le(entry.partition_type_guid),
        id: Uuid::from_bytes_le(entry.unique_partition_guid),
        mbr_type: None,
        is_hidden: entry.attribute_bits & HIDDEN != 0,
        is_read_only: entry.attribute_bits & READ_ONLY != 0,
    }
}

fn refused(error: gptman::Error) -> io::Error {
    io::Error::other(error)
}

#[cfg(test)]
mod tests {
    use os::{PartitionEntry, PartitionStyle};
    use uuid::Uuid;

    use super::{NewPartition, add, add_reserved, initialize, resize};
    use crate::hardware::{Medium, Stretch};
    use crate::ondisk::{Area, MIB, Table};

    const GIB: u64 = 1 << 30;

    fn area(medium: &Medium, sector_size: u32) -> Area<'_> {
        Area::sound(medium, medium.length().unwrap(), sector_size)
    }

    fn data(offset: u64, length: u64) -> NewPartition {
        NewPartition {
            kind: PartitionEntry::BASIC_DATA,
            id: Uuid::from_u128(7),
            name: "Basic data partition",
            offset,
            length,
            is_hidden: false,
        }
    }

    #[test]
    fn a_fresh_table_holds_the_reserved_partition_where_windows_puts_it() {
        for (sector_size, first) in [(512, 17_408), (4096, 24_576)] {
            let medium = Medium::in_memory(GIB);
            let area = area(&medium, sector_size);
            assert_eq!(Table::read(area).style, PartitionStyle::Raw);
            initialize(area, Uuid::from_u128(1)).unwrap();
            add_reserved(area).unwrap();
            let table = Table::read(area);
            let disk_id = Uuid::from_u128(1);
            assert_eq!(table.style, PartitionStyle::Gpt { disk_id });
            let reserved = table.partition(1).unwrap();
            assert_eq!(reserved.kind, PartitionEntry::RESERVED);
            assert_eq!((reserved.offset, reserved.end()), (first, 16 * MIB));
            assert_eq!(table.largest_gap(GIB), Some((16 * MIB, GIB - 18 * MIB)));
        }
    }

    #[test]
    fn a_partition_grows_into_a_grown_disk_and_the_backup_moves_along() {
        let medium = Medium::in_memory(GIB);
        let small = area(&medium, 512);
        initialize(small, Uuid::from_u128(1)).unwrap();
        add(small, &data(MIB, GIB - 2 * MIB)).unwrap();
        medium.set_length(2 * GIB).unwrap();
        let grown = area(&medium, 512);
        let table = Table::read(grown);
        let partition = table.partition(1).unwrap();
        let limit = table.limit(partition, 2 * GIB);
        assert_eq!(limit, 2 * GIB - MIB);
        resize(grown, partition, limit - MIB).unwrap();
        medium.write(512, &[0; 512]).unwrap();
        let from_backup = Table::read(grown);
        assert_eq!(from_backup.partition(1).unwrap().end(), limit);
    }

    #[test]
    fn a_primary_table_that_cannot_be_read_is_made_up_for_by_the_backup() {
        let medium = Medium::in_memory(GIB);
        let area = area(&medium, 512);
        initialize(area, Uuid::from_u128(1)).unwrap();
        let style = Table::read(area).style;
        let stretch = |offset, length| Stretch { offset, length };
        let with = |unreadable: &[Stretch]| {
            let area = Area { unreadable, ..area };
            Table::read(area).style
        };
        assert_eq!(with(&[stretch(1024, 512)]), style);
        assert_eq!(with(&[stretch(0, 512)]), PartitionStyle::Raw);
        let both = [stretch(512, 512), stretch(GIB - 512, 512)];
        assert_eq!(with(&both), PartitionStyle::Raw);
    }

    #[test]
    fn numbers_count_in_order_of_offset() {
        let medium = Medium::in_memory(GIB);
        let area = area(&medium, 512);
        initialize(area, Uuid::from_u128(1)).unwrap();
        add(area, &data(512 * MIB, MIB)).unwrap();
        let first = NewPartition {
            id: Uuid::from_u128(8),
            ..data(MIB, MIB)
        };
        add(area, &first).unwrap();
        let table = Table::read(area);
        assert_eq!(table.partition(1).unwrap().id, Uuid::from_u128(8));
        assert_eq!(table.partition(2).unwrap().offset, 512 * MIB);
    }
}
