use uuid::Uuid;

use super::{AnswerError, unsigned};
use crate::bytes::{guid, slice, u32_le, u64_le};

const STRUCTURE: &str = "DRIVE_LAYOUT_INFORMATION_EX";
const ENTRY: &str = "PARTITION_INFORMATION_EX";

/// Bytes before the first entry.
const HEADER: usize = 48;

/// Bytes of an entry.
const ENTRY_LENGTH: usize = 144;

const MBR: u32 = 0;
const GPT: u32 = 1;
const RAW: u32 = 2;

/// A `DRIVE_LAYOUT_INFORMATION_EX`: the kernel's view of the partition table.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DriveLayout {
    /// The kind of table.
    pub style: TableStyle,
    /// The partitions in the table's order; empty without a table. Unused entries are left out, and so are the
    /// containers of logical partitions, which are no partitions themselves.
    pub partitions: Vec<LayoutPartition>,
}

/// The kind of a partition table.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TableStyle {
    /// A GUID partition table.
    Gpt {
        /// The disk's GUID.
        disk_id: Uuid,
    },
    /// A master boot record.
    Mbr {
        /// The disk's signature.
        signature: u32,
    },
    /// None that Windows recognises, or a master boot record with neither signature nor partitions.
    Raw,
}

/// One used `PARTITION_INFORMATION_EX`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LayoutPartition {
    /// Its number in the kernel's layout.
    pub number: u32,
    /// Its offset on the disk in bytes.
    pub offset: u64,
    /// Its length in bytes.
    pub length: u64,
    /// The type's GUID; nil without a GPT.
    pub kind: Uuid,
    /// The type byte of a master boot record.
    pub mbr_type: Option<u8>,
    /// Its own GUID; nil without a GPT.
    pub id: Uuid,
}

impl DriveLayout {
    /// The length of an answer with this many entries.
    pub const fn length(entries: usize) -> usize {
        HEADER + entries * ENTRY_LENGTH
    }

    /// Reads the part of the buffer that the driver filled.
    ///
    /// <https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-drive_layout_information_ex>
    ///
    /// # Errors
    /// The answer has fewer entries than its count, another style, or a negative offset or length.
    pub fn parse(returned: &[u8]) -> Result<Self, AnswerError> {
        let cut = AnswerError::cut(STRUCTURE, returned);
        let field = |at| u32_le(returned, at).ok_or(cut);
        let style = match field(0)? {
            GPT => TableStyle::Gpt {
                disk_id: guid(returned, 8).ok_or(cut)?,
            },
            MBR => TableStyle::Mbr {
                signature: field(8)?,
            },
            RAW => TableStyle::Raw,
            other => {
                return Err(AnswerError::Field {
                    structure: STRUCTURE,
                    field: "PartitionStyle",
                    value: other.into(),
                });
            }
        };
        let entries = entries(returned, field(4)?).ok_or(cut)?;
        if !is_table(style, entries) {
            return Ok(Self {
                style: TableStyle::Raw,
                partitions: Vec::new(),
            });
        }
        let partitions = entries.iter().map(|bytes| partition(style, bytes));
        let partitions = partitions.filter_map(Result::transpose);
        Ok(Self {
            style,
            partitions: partitions.collect::<Result<_, _>>()?,
        })
    }
}

/// A disk without a table has no partitions, even if entries come with it: for some disks the kernel may report one
/// over the whole disk. A master boot record without signature and used entries was written by nobody: some new disk
/// may be reported so. Neither has been seen; the proof that the disk is blank comes before every write.
fn is_table(style: TableStyle, entries: &[[u8; ENTRY_LENGTH]]) -> bool {
    match style {
        TableStyle::Gpt { .. } => true,
        TableStyle::Mbr { signature: 0 } => entries.iter().any(|entry| mbr_type(entry) != Some(0)),
        TableStyle::Mbr { .. } => true,
        TableStyle::Raw => false,
    }
}

fn mbr_type(entry: &[u8]) -> Option<u8> {
    entry.get(32).copied()
}

fn entries(returned: &[u8], count: u32) -> Option<&[[u8; ENTRY_LENGTH]]> {
    let length = usize::try_from(count).ok()?.checked_mul(ENTRY_LENGTH)?;
    // A disk without a table may have an answer that ends before its first entry.
    let bytes = match length {
        0 => &[],
        length => slice(returned, HEADER, length)?,
    };
    Some(bytes.as_chunks().0)
}

/// Reads an entry; `None` if it is unused.
fn partition(style: TableStyle, entry: &[u8]) -> Result<Option<LayoutPartition>, AnswerError> {
    let cut = AnswerError::cut(ENTRY, entry);
    let bytes = |field, at| unsigned(ENTRY, field, u64_le(entry, at).ok_or(cut)?);
    let (kind, id, mbr_type) = match style {
        TableStyle::Gpt { .. } => {
            let (kind, id) = (guid(entry, 32).ok_or(cut)?, guid(entry, 48).ok_or(cut)?);
            (kind, id, None)
        }
        TableStyle::Mbr { .. } => (Uuid::nil(), Uuid::nil(), mbr_type(entry)),
        TableStyle::Raw => (Uuid::nil(), Uuid::nil(), None),
    };
    let partition = LayoutPartition {
        number: u32_le(entry, 24).ok_or(cut)?,
        offset: bytes("StartingOffset", 8)?,
        length: bytes("PartitionLength", 16)?,
        kind,
        mbr_type,
        id,
    };
    let is_used = match style {
        TableStyle::Gpt { .. } => !kind.is_nil(),
        TableStyle::Mbr { .. } => !matches!(mbr_type, Some(0 | EXTENDED | EXTENDED_LBA)),
        TableStyle::Raw => false,
    };
    Ok(is_used.then_some(partition))
}

/// `PARTITION_EXTENDED`: a container of logical partitions, which have entries of their own.
const EXTENDED: u8 = 0x05;

/// `PARTITION_XINT13_EXTENDED`: the same, addressed by sectors.
const EXTENDED_LBA: u8 = 0x0F;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::{DriveLayout, ENTRY_LENGTH, GPT, HEADER, LayoutPartition, MBR, RAW, TableStyle};

    const KIND: Uuid = Uuid::from_u128(0xebd0_a0a2_b9e5_4433_87c0_68b6_b726_99c7);
    const ID: Uuid = Uuid::from_u128(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);

    fn layout(style: u32, identity: &[u8], entries: &[Vec<u8>]) -> Vec<u8> {
        let count = u32::try_from(entries.len()).unwrap();
        let mut bytes = [style.to_le_bytes(), count.to_le_bytes()].concat();
        bytes.extend(identity);
        bytes.resize(HEADER, 0xEE);
        bytes.extend(entries.iter().flatten());
        bytes
    }

    fn entry(style: u32, place: (u64, u64), number: u32, rest: &[u8]) -> Vec<u8> {
        let mut bytes = style.to_le_bytes().to_vec();
        bytes.extend([0xEE; 4]);
        bytes.extend(place.0.to_le_bytes());
        bytes.extend(place.1.to_le_bytes());
        bytes.extend(number.to_le_bytes());
        bytes.extend([0, 0, 0xEE, 0xEE]);
        bytes.extend(rest);
        bytes.resize(ENTRY_LENGTH, 0xEE);
        bytes
    }

    fn gpt_entry(kind: Uuid, number: u32) -> Vec<u8> {
        let rest = [kind.to_bytes_le(), ID.to_bytes_le()].concat();
        entry(GPT, (1 << 20, 1 << 40), number, &rest)
    }

    #[test]
    fn a_gpt_has_its_used_entries() {
        let entries = [gpt_entry(KIND, 2), gpt_entry(Uuid::nil(), 0)];
        let bytes = layout(GPT, &ID.to_bytes_le(), &entries);
        assert_eq!(bytes.len(), DriveLayout::length(2));
        let read = DriveLayout::parse(&[&bytes[..], &[7; 9]].concat()).unwrap();
        let expected = LayoutPartition {
            number: 2,
            offset: 1 << 20,
            length: 1 << 40,
            kind: KIND,
            mbr_type: None,
            id: ID,
        };
        assert_eq!(read.style, TableStyle::Gpt { disk_id: ID });
        assert_eq!(read.partitions, [expected]);
    }

    #[test]
    fn an_mbr_has_neither_its_free_entries_nor_its_containers() {
        let entries = [
            entry(MBR, (1 << 20, 1 << 30), 1, &[7]),
            entry(MBR, (2 << 30, 1 << 30), 0, &[0x0F]),
            entry(MBR, (0, 0), 0, &[0]),
            entry(MBR, (0, 0), 0, &[0]),
            entry(MBR, (3 << 30, 1 << 20), 2, &[0x83]),
        ];
        let read = DriveLayout::parse(&layout(MBR, &[4, 3, 2, 1], &entries)).unwrap();
        let signature = 0x0102_0304;
        assert_eq!(read.style, TableStyle::Mbr { signature });
        let partitions = read.partitions.iter();
        let types: Vec<_> = partitions.map(|it| (it.number, it.mbr_type)).collect();
        assert_eq!(types, [(1, Some(7)), (2, Some(0x83))]);
        assert!(read.partitions.iter().all(|it| it.kind.is_nil()));
    }

    #[test]
    fn a_disk_without_a_table_may_answer_with_its_header_alone() {
        for length in [8, HEADER, DriveLayout::length(1)] {
            let mut bytes = layout(RAW, &[], &[]);
            bytes.resize(length, 0);
            let read = DriveLayout::parse(&bytes).unwrap();
            assert_eq!((read.style, read.partitions.len()), (TableStyle::Raw, 0));
        }
    }

    #[test]
    fn a_disk_without_a_table_has_no_partition_whatever_entry_is_reported() {
        let whole = entry(RAW, (0, 1 << 40), 0, &[]);
        let read = DriveLayout::parse(&layout(RAW, &[], &[whole])).unwrap();
        assert_eq!((read.style, read.partitions.len()), (TableStyle::Raw, 0));
    }

    #[test]
    fn an_mbr_without_signature_and_partitions_is_no_table() {
        let free = || entry(MBR, (0, 0), 0, &[0]);
        let container = entry(MBR, (2 << 30, 1 << 30), 0, &[0x0F]);
        let used = entry(MBR, (1 << 20, 1 << 30), 1, &[7]);
        let style = |signature: u8, entries: &[Vec<u8>]| {
            let bytes = layout(MBR, &[signature, 0, 0, 0], entries);
            DriveLayout::parse(&bytes).unwrap().style
        };
        assert_eq!(style(0, &[]), TableStyle::Raw);
        assert_eq!(style(0, &[free(), free(), free(), free()]), TableStyle::Raw);
        let mbr = |signature| TableStyle::Mbr { signature };
        assert_eq!(style(1, &[free()]), mbr(1));
        assert_eq!(style(0, &[used]), mbr(0));
        assert_eq!(style(0, &[container]), mbr(0));
    }

    #[test]
    fn what_lies_is_refused() {
        let whole = layout(GPT, &ID.to_bytes_le(), &[gpt_entry(KIND, 1)]);
        for length in 0..whole.len() {
            assert!(DriveLayout::parse(&whole[..length]).is_err(), "{length}");
        }
        let with = |at: usize, value: u8| {
            let mut bytes = whole.clone();
            bytes[at] = value;
            DriveLayout::parse(&bytes)
        };
        assert!(with(0, 3).is_err(), "a style without a name");
        assert!(with(7, 0xFF).is_err(), "more entries than there is memory");
        assert!(with(HEADER + 15, 0x80).is_err(), "a negative offset");
        assert!(with(HEADER + 23, 0x80).is_err(), "a negative length");
        assert!(with(HEADER + 15, 0x7F).is_ok());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(style in 0..4_u32, rest: Vec<u8>) {
            let _ = DriveLayout::parse(&[&style.to_le_bytes()[..], &rest].concat());
        }

        #[test]
        fn every_used_entry_is_read(numbers in proptest::collection::vec(1..u32::MAX, 0..200)) {
            let entries: Vec<_> = numbers.iter().map(|it| gpt_entry(KIND, *it)).collect();
            let read = DriveLayout::parse(&layout(GPT, &ID.to_bytes_le(), &entries)).unwrap();
            let read: Vec<_> = read.partitions.iter().map(|it| it.number).collect();
            prop_assert_eq!(read, numbers);
        }
    }
}
