//! A boot sector of NTFS without an NTFS: what a quick format leaves that died half-way.

use std::ops::Range;

use super::boot::is_ntfs;
use super::{Extent, View};
use crate::bytes::{u16_le, u64_le};

/// The boot code that Windows writes with the first copy of the boot sector: the file `$Boot`.
const BOOT_FILE: u64 = 8 << 10;

/// The largest record of a table, in bytes.
const RECORD: u64 = 4 << 10;

/// NTFS boot sectors with the place of a filesystem, on an object that is otherwise blank as far as it was
/// read.
///
/// Every NTFS has a master file table, and `$MFTMirr` repeats its first records. If both places are blank, no
/// file can be found: a format has written one boot sector, or both, and nothing else. A caller that reads
/// zeros there may format the object.
///
/// Nobody has recorded in which order Windows writes them. If the tables come first, a power failure between leaves an
/// object that is refused; a virtual machine that is switched off while it formats a large disk would show it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UnfinishedNtfs {
    tables: [u64; 2],
}

impl UnfinishedNtfs {
    /// Reads the view of a whole partition. `None` if it has anything but such boot sectors, or one of
    /// another geometry.
    ///
    /// The fields are those of <https://learn.microsoft.com/windows/win32/fileio/file-system-recognition-structure>
    /// and of libblkid's `ntfs.c`, which names them.
    #[must_use]
    pub fn of(view: &View) -> Option<Self> {
        let extent = view.extent();
        let sector = extent.sector().bytes();
        let last = extent.length() - sector;
        let copies = [0, last].map(|at| (at, read(view, at)));
        let [first, second] = copies.map(|(_, copy)| copy);
        let (one, other) = (first.or(second)?, second.or(first)?);
        let is_same = one == other && one.fits(extent);
        let own = copies.iter().filter(|(_, copy)| copy.is_some());
        let own = own.map(|(at, _)| file_at(*at, extent));
        let rest = view.clone().masked(own);
        let tables = one.tables(extent)?;
        (is_same && rest.first_nonzero().is_none()).then_some(Self { tables })
    }

    /// Byte offsets, from the start of the partition, at which the table and its mirror would begin; multiples of
    /// the sector size. From each on there are at least 4 KiB, the largest record.
    #[must_use]
    pub fn tables(&self) -> [u64; 2] {
        self.tables
    }
}

/// The fields of a boot sector that place the filesystem's parts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct BootSector {
    bytes_per_sector: u64,
    sectors_per_cluster: u64,
    sectors: u64,
    /// The first clusters of table and mirror.
    tables: [u64; 2],
}

impl BootSector {
    /// Whether it was made for an object of this length: its last sector is the copy, and not counted.
    fn fits(&self, extent: Extent) -> bool {
        self.bytes_per_sector == extent.sector().bytes() && self.sectors == extent.last_lba()
    }

    fn tables(&self, extent: Extent) -> Option<[u64; 2]> {
        let cluster = self
            .bytes_per_sector
            .checked_mul(self.sectors_per_cluster)?;
        let [table, mirror] = self.tables;
        let end = extent.length().checked_sub(RECORD)?;
        let at = |first: u64| {
            let at = first.checked_mul(cluster);
            at.filter(|at| (1..=end).contains(at))
        };
        Some([at(table)?, at(mirror)?])
    }
}

/// The range of one copy: the first has boot code behind it.
fn file_at(at: u64, extent: Extent) -> Range<u64> {
    match at {
        0 => 0..BOOT_FILE.min(extent.length()),
        last => last..extent.length(),
    }
}

fn read(view: &View, at: u64) -> Option<BootSector> {
    let sector = view.bytes(at, 512)?;
    is_ntfs(sector).then_some(BootSector {
        bytes_per_sector: u16_le(sector, 11)?.into(),
        sectors_per_cluster: sectors_per_cluster(*sector.get(13)?)?,
        sectors: u64_le(sector, 40)?,
        tables: [u64_le(sector, 48)?, u64_le(sector, 56)?],
    })
}

/// More than 128 are the power of two that they are, negative.
fn sectors_per_cluster(byte: u8) -> Option<u64> {
    match byte {
        0 => None,
        1..=128 => Some(u64::from(byte)),
        _ => 1_u64.checked_shl(u32::from(u8::MAX - byte) + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blank::{NtfsSerial, SectorSize};
    use crate::fixtures::SparseImage;

    const LENGTH: u64 = 64 << 20;
    const LAST: u64 = LENGTH - 512;

    /// As Windows writes it: 4 KiB clusters, the table at a third, its mirror at cluster 2.
    fn boot_sector() -> Vec<u8> {
        let mut sector = vec![0; 512];
        let mut put = |at: usize, bytes: &[u8]| sector[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &[0xeb, 0x52, 0x90]);
        put(3, b"NTFS    ");
        put(11, &512_u16.to_le_bytes());
        put(13, &[8]);
        put(40, &(LENGTH / 512 - 1).to_le_bytes());
        put(48, &5461_u64.to_le_bytes());
        put(56, &2_u64.to_le_bytes());
        put(510, &[0x55, 0xaa]);
        sector
    }

    fn of(image: &SparseImage) -> Option<[u64; 2]> {
        let view = image.view(SectorSize::B512).unwrap();
        UnfinishedNtfs::of(&view).map(|found| found.tables())
    }

    fn zeros() -> SparseImage {
        SparseImage::zeros(LENGTH)
    }

    #[test]
    fn boot_sectors_in_either_place_or_both_say_where_the_tables_would_be() {
        let first = || zeros().with(0, boot_sector());
        for image in [
            first(),
            zeros().with(LAST, boot_sector()),
            first().with(LAST, boot_sector()),
            first().with(512, vec![0xcc; 15 * 512]),
        ] {
            assert_eq!(of(&image), Some([5461 * 4096, 2 * 4096]));
        }
        assert_eq!(of(&zeros()), None);
    }

    /// Each a byte of somebody's, or a boot sector of another object.
    #[test]
    fn anything_else_is_nothing_of_a_format() {
        let changed = |at: usize, byte: u8| {
            let mut sector = boot_sector();
            sector[at] = byte;
            zeros().with(0, sector)
        };
        let first = || zeros().with(0, boot_sector());
        let mut other = boot_sector();
        other[48] ^= 1;
        for (what, image) in [
            ("a byte behind the boot code", first().with(16 * 512, [1])),
            ("a byte before the copy", first().with(LAST - 1, [1])),
            (
                "a byte at the end of what is read",
                first().with((4 << 20) - 1, [1]),
            ),
            ("two that differ", first().with(LAST, other)),
            ("another name", changed(3, b'X')),
            ("no mark", changed(510, 0)),
            ("larger sectors", changed(12, 0x10)),
            ("another length", changed(40, 0)),
            ("no clusters", changed(13, 0)),
            ("a table at the boot sector", changed(56, 0)),
            ("a table beyond the end", changed(54, 1)),
            ("boot code without a sector", zeros().with(512, [1])),
        ] {
            assert_eq!(of(&image), None, "{what}");
        }
    }

    #[test]
    fn the_serial_number_is_that_of_a_boot_sector_of_ntfs() {
        let with = |serial: u8| {
            let mut sector = boot_sector();
            sector[0x48] = serial;
            sector
        };
        let of = |serial| NtfsSerial::of(&with(serial));
        assert!(of(1).is_some());
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        let mut other = with(1);
        other[3] = b'X';
        for none in [other.as_slice(), &with(1)[..500], &[0; 512]] {
            assert_eq!(NtfsSerial::of(none), None);
        }
    }

    #[test]
    fn a_filesystem_is_none_that_is_unfinished() {
        for fixture in crate::fixtures::all() {
            if let Ok(view) = fixture.image.view(SectorSize::B512) {
                assert_eq!(UnfinishedNtfs::of(&view), None, "{}", fixture.name);
            }
        }
    }
}
