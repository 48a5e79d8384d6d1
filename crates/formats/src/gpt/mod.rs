//! The GUID partition table: read strictly, both copies against each other. Tests write it.
//!
//! Layout: UEFI 2.10, chapter 5,
//! <https://uefi.org/specs/UEFI/2.10/05_GUID_Partition_Table_Format.html>.

mod mbr;
mod read;
pub mod types;
#[cfg(any(test, feature = "fixtures"))]
mod write;

use std::ops::{Range, RangeInclusive};

use thiserror::Error;
use uuid::Uuid;

use self::mbr::Mbr;
use self::read::TableCopy;
#[cfg(any(test, feature = "fixtures"))]
pub use self::write::{ENTRIES, encode};
use crate::blank::View;

/// A partition table whose two copies are whole and agree, behind a protective master boot record.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Gpt {
    disk_guid: Uuid,
    usable: RangeInclusive<u64>,
    partitions: Vec<Partition>,
    own: Vec<Range<u64>>,
}

/// One used entry of a table.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Partition {
    /// Its place in the table, counted from 1.
    pub number: u32,
    /// Its purpose; see [`types`].
    pub type_guid: Uuid,
    /// Its identity.
    pub unique_guid: Uuid,
    /// First sector.
    pub first_lba: u64,
    /// Last sector, inclusive.
    pub last_lba: u64,
    /// Attribute bits.
    pub attributes: u64,
    /// Name, at most 36 UTF-16 units; units that are no Unicode text read as U+FFFD.
    pub name: String,
}

/// The state of a GPT in a disk's scan ranges.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum GptState {
    /// No header at either end.
    Absent,
    /// At least one copy is missing or broken; `None` is a copy without fault.
    Damaged {
        /// The error in the copy at the start.
        primary: Option<GptError>,
        /// The error in the copy at the end.
        backup: Option<GptError>,
    },
    /// Each copy is whole, but they do not belong together.
    Disagree(Disagreement),
    /// A table that can be trusted.
    Valid(Gpt),
}

impl Gpt {
    /// Reads the table of the disk that this is a view of.
    pub fn read(view: &View) -> GptState {
        let last = view.extent().last_lba();
        match (TableCopy::read(view, 1), TableCopy::read(view, last)) {
            (Err(GptError::Missing), Err(GptError::Missing)) => GptState::Absent,
            (Ok(primary), Ok(backup)) => match join(view, primary, &backup) {
                Ok(gpt) => GptState::Valid(gpt),
                Err(disagreement) => GptState::Disagree(disagreement),
            },
            (primary, backup) => GptState::Damaged {
                primary: primary.err(),
                backup: backup.err(),
            },
        }
    }

    /// Identity of the disk.
    pub fn disk_guid(&self) -> Uuid {
        self.disk_guid
    }

    /// The sectors that partitions may take.
    pub fn usable(&self) -> &RangeInclusive<u64> {
        &self.usable
    }

    /// The used entries, by number.
    pub fn partitions(&self) -> &[Partition] {
        &self.partitions
    }

    /// The bytes that the table itself takes: protective master boot record, both headers, both
    /// arrays of entries. Byte offsets in the disk.
    pub fn own_ranges(&self) -> &[Range<u64>] {
        &self.own
    }
}

fn join(view: &View, primary: TableCopy, backup: &TableCopy) -> Result<Gpt, Disagreement> {
    if Mbr::read(view) != Mbr::Protective {
        return Err(Disagreement::NotProtective);
    }
    if primary.alternate_lba != backup.lba || backup.alternate_lba != primary.lba {
        return Err(Disagreement::Places);
    }
    if primary.content() != backup.content() {
        return Err(Disagreement::Contents);
    }
    Ok(Gpt {
        own: vec![
            mbr::RANGE,
            primary.header.clone(),
            primary.table.clone(),
            backup.table.clone(),
            backup.header.clone(),
        ],
        disk_guid: primary.disk_guid,
        usable: primary.usable,
        partitions: primary.partitions,
    })
}

/// In what two whole copies contradict each other.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum Disagreement {
    /// Disk GUID, usable sectors or entries differ.
    #[error("the two copies of the table differ")]
    Contents,
    /// The master boot record is missing, or guards something other than this table alone.
    #[error("the master boot record is not a protective one")]
    NotProtective,
    /// A header does not point at the other; so on a disk that has grown.
    #[error("the two headers do not point at each other")]
    Places,
}

/// An error in one copy of a table.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum GptError {
    /// The number of entries is zero or absurd.
    #[error("{0} entries are no plausible number")]
    EntryCount(u32),
    /// The entry size is not 128 times a power of two, or absurd.
    #[error("{0} bytes is no entry size")]
    EntrySize(u32),
    /// The header's CRC32 is wrong.
    #[error("the header's checksum is wrong")]
    HeaderChecksum,
    /// The header is shorter than 92 bytes or longer than a sector.
    #[error("{0} bytes is no header size")]
    HeaderSize(u32),
    /// There is no header.
    #[error("missing")]
    Missing,
    /// The header was written for another sector.
    #[error("the header stands in sector {stands} but belongs in {belongs}")]
    Misplaced {
        /// Where it was read.
        stands: u64,
        /// Where it says it is.
        belongs: u64,
    },
    /// Two partitions share sectors.
    #[error("partitions {0} and {1} overlap")]
    Overlap(u32, u32),
    /// A partition is reversed or leaves the usable sectors.
    #[error("partition {number} takes sectors {first_lba} to {last_lba}")]
    PartitionRange {
        /// Its number.
        number: u32,
        /// Its first sector.
        first_lba: u64,
        /// Its last sector.
        last_lba: u64,
    },
    /// A revision other than 1.0.
    #[error("revision {0:#x} is not known")]
    Revision(u32),
    /// The CRC32 of the entries is wrong.
    #[error("the entries' checksum is wrong")]
    TableChecksum,
    /// The entries stand where they cannot.
    #[error("the entries cannot begin at sector {lba}")]
    TablePlace {
        /// The sector that the header names.
        lba: u64,
    },
    /// The usable sectors are reversed or leave the disk.
    #[error("sectors {first} to {last} cannot be the usable ones")]
    Usable {
        /// First usable sector.
        first: u64,
        /// Last usable sector.
        last: u64,
    },
}
