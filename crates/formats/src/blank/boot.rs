//! Boot sectors: which of the formats that end sector 0 with 55 AA wrote this one.

use super::View;
use crate::bytes::{slice, u16_le, u32_le, u64_le};

/// Where the name of the formatting system stands in a volume's boot sector.
pub(super) const OEM_NAME: u64 = 3;

/// Where a boot sector's closing mark stands.
pub(super) const MARK: u64 = 510;

/// Where BitLocker To Go keeps its identifier in a boot sector that otherwise looks like FAT32.
pub(super) const BITLOCKER_TO_GO: u64 = 424;

/// `4967D63B-2E29-4AD8-8399-F6A339E3D001`, which marks a BitLocker volume of Windows 7 and later.
pub(super) const BITLOCKER_ID: &[u8] =
    b"\x3b\xd6\x67\x49\x29\x2e\xd8\x4a\x83\x99\xf6\xa3\x39\xe3\xd0\x01";

/// Does a FAT boot sector begin at `at`?
///
/// FAT has no magic number, so its parameter block must make sense field by field. NTFS, exFAT and
/// ReFS keep zeros where FAT keeps its reserved sectors and table count.
pub(super) fn is_fat(view: &View, at: u64) -> bool {
    view.bytes(at, 512).is_some_and(|sector| {
        fat_parameters(sector) == Some(true) && !is_bitlocker(sector) && !is_os2(sector)
    })
}

/// Is the boot sector at the object's start a master boot record that guards a GPT?
pub(super) fn is_protective_mbr(view: &View, _mark: u64) -> bool {
    is_mbr(view) && has_protective_record(view)
}

/// Is it any other master boot record?
pub(super) fn is_plain_mbr(view: &View, _mark: u64) -> bool {
    is_mbr(view) && !has_protective_record(view)
}

fn is_mbr(view: &View) -> bool {
    view.bytes(0, 512).is_some_and(|sector| {
        !is_bitlocker(sector) && !is_named(sector, b"NTFS    ") && !is_named(sector, b"EXFAT   ")
    }) && !is_fat(view, 0)
}

fn has_protective_record(view: &View) -> bool {
    const TYPES: [usize; 4] = [450, 466, 482, 498];
    const GPT_PROTECTIVE: u8 = 0xEE;
    view.bytes(0, 512).is_some_and(|sector| {
        TYPES
            .iter()
            .any(|at| sector.get(*at) == Some(&GPT_PROTECTIVE))
    })
}

/// The serial number of an NTFS volume, which a format generates (`[MS-FSCC]` 2.5.9). Two formats of one volume
/// have two.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NtfsSerial(u64);

impl NtfsSerial {
    /// The serial number in a volume's first sector; `None` if it is no boot sector of NTFS. The field
    /// is that of libblkid's `ntfs.c`.
    #[must_use]
    pub fn of(sector: &[u8]) -> Option<Self> {
        let serial = u64_le(sector, 0x48)?;
        is_ntfs(sector).then_some(Self(serial))
    }
}

/// Is this 512 bytes or more from NTFS's boot sector on?
pub(super) fn is_ntfs(sector: &[u8]) -> bool {
    is_named(sector, b"NTFS    ") && slice(sector, 510, 2) == Some(&[0x55, 0xaa])
}

fn is_named(sector: &[u8], name: &[u8; 8]) -> bool {
    slice(sector, 3, 8) == Some(name)
}

fn is_bitlocker(sector: &[u8]) -> bool {
    is_named(sector, b"-FVE-FS-") || slice(sector, 424, 16) == Some(BITLOCKER_ID)
}

/// JFS and HPFS put a parameter block like FAT's before filesystems that are not FAT.
fn is_os2(sector: &[u8]) -> bool {
    matches!(slice(sector, 54, 8), Some(b"JFS     " | b"HPFS    "))
}

fn fat_parameters(sector: &[u8]) -> Option<bool> {
    let sector_size = u16_le(sector, 11)?;
    let cluster_sectors = *sector.get(13)?;
    let reserved_sectors = u16_le(sector, 14)?;
    let tables = *sector.get(16)?;
    let media = *sector.get(21)?;
    let sectors = u32::from(u16_le(sector, 19)?) | u32_le(sector, 32)?;
    let table_sectors = u32::from(u16_le(sector, 22)?) | u32_le(sector, 36)?;
    Some(
        sector_size.is_power_of_two()
            && (512..=4096).contains(&sector_size)
            && cluster_sectors.is_power_of_two()
            && reserved_sectors > 0
            && (1..=4).contains(&tables)
            && (media == 0xF0 || media >= 0xF8)
            && sectors > 0
            && table_sectors > 0,
    )
}
