use std::io;

use formats::gpt::types;
use os::{DriveLayout, PartitionEntry, PartitionNumber, PartitionStyle};
use uuid::Uuid;

use super::{MIB, gpt, mbr};
use crate::hardware::{Medium, Stretch};

/// The types of a dynamic disk's partitions on GPT disks.
const LDM: [Uuid; 2] = [types::LDM_DATA, types::LDM_METADATA];

/// A disk as far as the kernel knows it: a medium that may have grown since.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Area<'a> {
    pub(crate) medium: &'a Medium,
    pub(crate) length: u64,
    pub(crate) sector_size: u32,
    /// The ranges that return a medium error when they are read.
    pub(crate) unreadable: &'a [Stretch],
}

impl<'a> Area<'a> {
    /// A disk whose every sector can be read.
    pub(crate) fn sound(medium: &'a Medium, length: u64, sector_size: u32) -> Self {
        Self {
            medium,
            length,
            sector_size,
            unreadable: &[],
        }
    }

    /// Reads what can be read.
    pub(crate) fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let length = u64::try_from(buffer.len()).map_err(io::Error::other)?;
        if Stretch::meets_any(self.unreadable, offset, length) {
            return Err(io::Error::other("unreadable"));
        }
        self.medium.read(offset, buffer)
    }
}

/// A partition table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) style: PartitionStyle,
    /// In order of offset.
    pub(crate) partitions: Vec<Partition>,
}

/// A partition, in bytes from the start of the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Partition {
    pub(crate) number: u32,
    pub(crate) offset: u64,
    pub(crate) length: u64,
    pub(crate) kind: Uuid,
    pub(crate) id: Uuid,
    /// The type byte, on MBR disks.
    pub(crate) mbr_type: Option<u8>,
    pub(crate) is_hidden: bool,
    pub(crate) is_read_only: bool,
}

impl Table {
    /// Windows's reading of the disk's first sectors. A table that cannot be read counts as none.
    pub(crate) fn read(area: Area<'_>) -> Self {
        let found = match mbr::read(area) {
            Some(mbr::Found::Protective) => gpt::read(area),
            Some(mbr::Found::Partitions(table)) => Some(table),
            None => None,
        };
        found.unwrap_or(Self {
            style: PartitionStyle::Raw,
            partitions: Vec::new(),
        })
    }

    /// Whether the disk is a dynamic one, which `MSFT_Disk` leaves out
    /// (<https://github.com/ansible/ansible/issues/51032>).
    pub(crate) fn is_dynamic(&self) -> bool {
        self.partitions.iter().any(Partition::is_dynamic)
    }

    /// Gives a disk that has the same signature or GUID as another one of its own.
    pub(crate) fn resign(&self, area: Area<'_>) -> io::Result<()> {
        let id = Uuid::new_v4();
        match self.style {
            PartitionStyle::Gpt { .. } => gpt::resign(area, id),
            PartitionStyle::Mbr { .. } => mbr::resign(area, id.as_fields().0),
            PartitionStyle::Raw => Ok(()),
        }
    }

    /// A table of these partitions, put in order and numbered.
    pub(super) fn of(style: PartitionStyle, mut partitions: Vec<Partition>) -> Self {
        partitions.sort_by_key(|partition| partition.offset);
        for (number, partition) in (1..).zip(&mut partitions) {
            partition.number = number;
        }
        Self { style, partitions }
    }

    pub(crate) fn partition(&self, number: u32) -> Option<&Partition> {
        self.partitions
            .iter()
            .find(|partition| partition.number == number)
    }

    /// The largest stretch in which a partition could be created, aligned as Windows aligns.
    pub(crate) fn largest_gap(&self, length: u64) -> Option<(u64, u64)> {
        let mut gaps = Vec::new();
        let mut free = MIB;
        for partition in &self.partitions {
            gaps.push((free, partition.offset));
            free = free.max(partition.end());
        }
        gaps.push((free, Self::end_of_room(length)));
        gaps.into_iter()
            .filter_map(|(start, end)| aligned(start, end))
            .max_by_key(|(_, length)| *length)
    }

    /// How far the partition could reach: the next one's start or the end of what is usable.
    pub(crate) fn limit(&self, partition: &Partition, length: u64) -> u64 {
        let end = self.next(partition).unwrap_or(length.saturating_sub(MIB));
        (end / MIB * MIB).max(partition.end())
    }

    /// Where the partition behind this one begins.
    pub(crate) fn next(&self, partition: &Partition) -> Option<u64> {
        let others = self.partitions.iter().map(|other| other.offset);
        others.filter(|offset| *offset > partition.offset).min()
    }

    /// How much of a disk of this length the table can give away: that of an MBR has 32 bits for a sector.
    pub(crate) fn reach(&self, length: u64, sector_size: u32) -> u64 {
        match self.style {
            PartitionStyle::Mbr { .. } => length.min(u64::from(sector_size) << 32),
            PartitionStyle::Gpt { .. } | PartitionStyle::Raw => length,
        }
    }

    /// Where the storage provider's partitions end at most. On a disk of 20 GiB `UseMaximumSize` left 2 MiB
    /// (dsccommunity/StorageDsc issue 304).
    pub(crate) fn end_of_room(length: u64) -> u64 {
        length.saturating_sub(2 * MIB) / MIB * MIB
    }

    pub(crate) fn layout(&self) -> DriveLayout {
        DriveLayout {
            style: self.style,
            partitions: self.partitions.iter().map(Partition::entry).collect(),
        }
    }
}

impl Partition {
    pub(crate) fn end(&self) -> u64 {
        self.offset.saturating_add(self.length)
    }

    /// Whether the mount manager makes a volume of it. For partitions of a dynamic disk the disk's database
    /// decides the volumes.
    pub(crate) fn has_volume(&self) -> bool {
        self.kind != PartitionEntry::RESERVED && !self.is_dynamic()
    }

    fn is_dynamic(&self) -> bool {
        self.mbr_type == Some(PartitionEntry::MBR_DYNAMIC) || LDM.contains(&self.kind)
    }

    /// All of a volume that lies on dynamic disks, as seen from its own beginning.
    pub(crate) fn whole(volume: Uuid, length: u64) -> Self {
        Self {
            number: 0,
            offset: 0,
            length,
            kind: types::LDM_DATA,
            id: volume,
            mbr_type: None,
            is_hidden: false,
            is_read_only: false,
        }
    }

    fn entry(&self) -> PartitionEntry {
        let on_gpt = self.mbr_type.is_none();
        PartitionEntry {
            number: PartitionNumber(self.number),
            offset: self.offset,
            length: self.length,
            kind: self.kind,
            mbr_type: self.mbr_type,
            id: if on_gpt { self.id } else { Uuid::nil() },
        }
    }
}

fn aligned(start: u64, end: u64) -> Option<(u64, u64)> {
    let start = start.next_multiple_of(MIB);
    let end = end / MIB * MIB;
    (end > start).then(|| (start, end - start))
}
