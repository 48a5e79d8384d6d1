//! The master boot record before a GPT: protective or not.

use std::ops::Range;

use crate::blank::View;
use crate::bytes::u32_le;

/// The bytes of a master boot record, whatever the sector size.
pub(super) const RANGE: Range<u64> = 0..512;

const RECORDS: usize = 446;
const RECORD: usize = 16;
const MARK: [u8; 2] = [0x55, 0xAA];
const GPT_PROTECTIVE: u8 = 0xEE;

/// The kind of the first 512 bytes of a disk.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Mbr {
    /// No closing mark.
    Absent,
    /// One record of type EEh that begins at sector 1, the other three empty. Its size does not
    /// matter, and boot code may stand before it: Windows writes the same code as on an MBR disk
    /// and FFFFFFFFh for any size (<http://thestarman.pcministry.com/asm/mbr/GPT.htm>).
    Protective,
    /// Any other table, a hybrid one included.
    Other,
}

impl Mbr {
    pub(super) fn read(view: &View) -> Self {
        match view.bytes(0, 512) {
            Some(sector) if sector.ends_with(&MARK) => Self::classify(sector),
            _ => Self::Absent,
        }
    }

    fn classify(sector: &[u8]) -> Self {
        let (first, rest) = sector[RECORDS..510].split_at(RECORD);
        let guards = first[4] == GPT_PROTECTIVE && u32_le(first, 8) == Some(1);
        if guards && rest.iter().all(|byte| *byte == 0) {
            Self::Protective
        } else {
            Self::Other
        }
    }
}

/// A protective master boot record for a disk whose last sector is `last_lba`.
#[cfg(any(test, feature = "fixtures"))]
pub(super) fn protective(last_lba: u64) -> [u8; 512] {
    let mut sector = [0; 512];
    let size = u32::try_from(last_lba).unwrap_or(u32::MAX);
    let record = &mut sector[RECORDS..RECORDS + RECORD];
    record[..8].copy_from_slice(&[0, 0x00, 0x02, 0x00, GPT_PROTECTIVE, 0xFF, 0xFF, 0xFF]);
    record[8..12].copy_from_slice(&1_u32.to_le_bytes());
    record[12..].copy_from_slice(&size.to_le_bytes());
    sector[510..].copy_from_slice(&MARK);
    sector
}
