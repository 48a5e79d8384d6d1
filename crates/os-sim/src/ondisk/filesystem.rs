//! Boot sectors: how a filesystem shows itself on the raw disk. What it holds lies in a folder of the
//! host instead.

use std::io;

use super::table::{Area, Partition};
use super::{MIB, number};
use crate::gate::FirstStep;

/// A filesystem that Windows mounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Filesystem {
    pub(crate) kind: FilesystemKind,
    /// Bytes.
    pub(crate) length: u64,
    /// Bytes.
    pub(crate) cluster: u32,
    /// Of NTFS: file records of 4 KiB.
    pub(crate) has_large_records: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FilesystemKind {
    ExFat,
    Fat32,
    Ntfs,
    Refs,
}

/// The options of a new filesystem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Formatting {
    pub(crate) kind: FilesystemKind,
    /// Bytes.
    pub(crate) cluster: u32,
    /// Of NTFS: file records of 4 KiB.
    pub(crate) has_large_records: bool,
}

const SECTOR: usize = 512;

/// ReFS uses whole stretches of this length: partitions of 126.98 and 9.98 GiB on Windows Server 2022 had
/// volumes of 126.94 and 9.94 GiB. Derived from these figures, which a transcript of the field has.
const REFS_STRETCH: u64 = 64 * MIB;

/// Sectors before the first file allocation table of FAT32.
const FAT_RESERVED: u16 = 32;

/// The size of a file record, as the power of two that it is, negative: 4 KiB.
const LARGE_RECORD: u8 = 0xF4;

/// As [`LARGE_RECORD`]: 1 KiB.
const SMALL_RECORD: u8 = 0xF6;

impl FilesystemKind {
    pub(crate) fn named(name: &str) -> Option<Self> {
        [Self::ExFat, Self::Fat32, Self::Ntfs, Self::Refs]
            .into_iter()
            .find(|kind| kind.name().eq_ignore_ascii_case(name))
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ExFat => "exFAT",
            Self::Fat32 => "FAT32",
            Self::Ntfs => "NTFS",
            Self::Refs => "ReFS",
        }
    }

    /// In bytes. Sources: <https://learn.microsoft.com/windows-server/storage/file-server/ntfs-overview>,
    /// <https://learn.microsoft.com/windows-server/storage/refs/refs-overview>.
    pub(crate) fn cluster_sizes(self) -> impl Iterator<Item = u32> {
        let exponents: &[u32] = match self {
            Self::ExFat | Self::Fat32 => &[9, 10, 11, 12, 13, 14, 15, 16],
            Self::Ntfs => &[9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21],
            Self::Refs => &[12, 16],
        };
        exponents.iter().map(|exponent| 1 << exponent)
    }

    /// In bytes; Windows takes larger ones for NTFS beyond 16 TiB.
    pub(crate) fn default_cluster_size(self) -> u32 {
        4096
    }

    /// `MSFT_Volume.FileSystemType`.
    pub(crate) fn number(self) -> u16 {
        match self {
            // The page has no number for it.
            Self::ExFat => 0,
            Self::Fat32 => 6,
            Self::Ntfs => 14,
            Self::Refs => 15,
        }
    }

    /// Whether Windows can make it longer.
    pub(crate) fn grows(self) -> bool {
        matches!(self, Self::Ntfs | Self::Refs)
    }

    /// How much of a partition of `length` bytes it uses, but for its tables.
    pub(crate) fn usable(self, length: u64) -> u64 {
        match self {
            Self::Refs if length >= REFS_STRETCH => length / REFS_STRETCH * REFS_STRETCH,
            _ => length,
        }
    }
}

impl Formatting {
    /// Of this kind, and as Windows makes it by itself.
    pub(crate) fn of(kind: FilesystemKind) -> Self {
        Self {
            kind,
            cluster: kind.default_cluster_size(),
            has_large_records: false,
        }
    }

    /// NTFS counts its clusters in 32 bits.
    pub(crate) fn has_too_many_clusters(&self, length: u64) -> bool {
        let clusters = length / u64::from(self.cluster);
        self.kind == FilesystemKind::Ntfs && u32::try_from(clusters).is_err()
    }
}

impl Filesystem {
    /// The filesystem in the partition's first sector; `None` for a RAW volume.
    pub(crate) fn read(area: Area<'_>, partition: &Partition) -> Option<Self> {
        let mut sector = [0; SECTOR];
        area.read(partition.offset, &mut sector).ok()?;
        if &sector[3..11] == b"NTFS    " {
            return Self::ntfs(&sector).filter(|_| has_table(area, partition, &sector));
        }
        if &sector[3..11] == b"ReFS\0\0\0\0" {
            return Self::refs(&sector);
        }
        if &sector[3..11] == b"EXFAT   " {
            return Self::exfat(&sector);
        }
        if &sector[82..90] == b"FAT32   " {
            return Self::fat32(&sector);
        }
        None
    }

    /// The room for files in bytes: all but the filesystem's own records.
    pub(crate) fn room(&self) -> u64 {
        let own = 16 * MIB + self.length / 1024;
        self.length - own.min(self.length / 8)
    }

    fn ntfs(sector: &[u8]) -> Option<Self> {
        let bytes = number(sector, 11, 2);
        let cluster = bytes.checked_mul(sectors_per_cluster(sector[13])?)?;
        let read = Self::of(FilesystemKind::Ntfs, number(sector, 40, 8), bytes, cluster)?;
        Some(Self {
            has_large_records: sector[64] == LARGE_RECORD,
            ..read
        })
    }

    fn refs(sector: &[u8]) -> Option<Self> {
        let bytes = number(sector, 32, 4);
        let cluster = bytes * number(sector, 36, 4);
        Self::of(FilesystemKind::Refs, number(sector, 24, 8), bytes, cluster)
    }

    /// Its tables are not part of what `GetDiskFreeSpaceExW` calls its size.
    fn fat32(sector: &[u8]) -> Option<Self> {
        let bytes = number(sector, 11, 2);
        let cluster = bytes * number(sector, 13, 1);
        let tables = number(sector, 14, 2) + number(sector, 16, 1) * number(sector, 36, 4);
        let sectors = number(sector, 32, 4).checked_sub(tables)?;
        Self::of(FilesystemKind::Fat32, sectors, bytes, cluster)
    }

    fn exfat(sector: &[u8]) -> Option<Self> {
        let shift = |at| u32::try_from(number(sector, at, 1)).ok();
        let bytes = 1_u64.checked_shl(shift(108)?)?;
        let per_cluster = 1_u64.checked_shl(shift(109)?)?;
        let sectors = number(sector, 92, 4).checked_mul(per_cluster)?;
        let cluster = bytes.checked_mul(per_cluster)?;
        Self::of(FilesystemKind::ExFat, sectors, bytes, cluster)
    }

    fn of(kind: FilesystemKind, sectors: u64, bytes: u64, cluster: u64) -> Option<Self> {
        let length = sectors.checked_mul(bytes)?;
        let cluster = u32::try_from(cluster).ok().filter(|size| *size > 0)?;
        Some(Self {
            kind,
            length: length / u64::from(cluster) * u64::from(cluster),
            cluster,
            has_large_records: false,
        })
    }

    fn formatting(self) -> Formatting {
        Formatting {
            kind: self.kind,
            cluster: self.cluster,
            has_large_records: self.has_large_records,
        }
    }
}

/// The first step of a format: nothing of what was there is recognised any more.
pub(crate) fn wipe(area: Area<'_>, partition: &Partition) -> io::Result<()> {
    let count = partition.length.min(64 * 1024);
    let count = usize::try_from(count).map_err(io::Error::other)?;
    area.medium.write(partition.offset, &vec![0; count])
}

/// Writes the part that a format has written when it stops early: for NTFS one copy of the boot
/// sector, else nothing.
pub(crate) fn begin(
    area: Area<'_>,
    partition: &Partition,
    wanted: Formatting,
    first: FirstStep,
) -> io::Result<()> {
    if wanted.kind != FilesystemKind::Ntfs {
        return Ok(());
    }
    let sectors = partition.length / u64::from(area.sector_size);
    let sector = ntfs_sector(area.sector_size, sectors - 1, wanted);
    let at = match first {
        FirstStep::AsEver => 0,
        FirstStep::FromEnd => (sectors - 1) * u64::from(area.sector_size),
    };
    area.medium.write(partition.offset + at, &sector)
}

/// The last step of a format: writes the beginning of NTFS's tables, the boot sector, and NTFS's copy at the
/// partition's end.
pub(crate) fn write(area: Area<'_>, partition: &Partition, wanted: Formatting) -> io::Result<()> {
    write_sized(area, partition, partition.length, wanted)
}

/// Makes the filesystem `length` bytes long, within its partition.
pub(crate) fn extend(
    area: Area<'_>,
    partition: &Partition,
    filesystem: Filesystem,
    length: u64,
) -> io::Result<()> {
    write_sized(area, partition, length, filesystem.formatting())
}

fn write_sized(
    area: Area<'_>,
    partition: &Partition,
    length: u64,
    wanted: Formatting,
) -> io::Result<()> {
    let Formatting { kind, cluster, .. } = wanted;
    let sectors = kind.usable(length) / u64::from(area.sector_size);
    let sector = match kind {
        FilesystemKind::ExFat => exfat_sector(area.sector_size, sectors, cluster),
        FilesystemKind::Fat32 => fat32_sector(area.sector_size, sectors, cluster),
        FilesystemKind::Ntfs => ntfs_sector(area.sector_size, sectors - 1, wanted),
        FilesystemKind::Refs => refs_sector(area.sector_size, sectors, cluster),
    };
    if kind == FilesystemKind::Ntfs {
        for table in tables(&sector) {
            area.medium.write(partition.offset + table, RECORD)?;
        }
        let copy = partition.offset + (sectors - 1) * u64::from(area.sector_size);
        area.medium.write(copy, &sector)?;
    }
    area.medium.write(partition.offset, &sector)
}

/// With what each record of the master file table begins
/// (<https://learn.microsoft.com/windows/win32/devnotes/multi-sector-header>).
const RECORD: &[u8] = b"FILE";

/// Where a boot sector has the master file table and its mirror, in bytes from the partition's start.
fn tables(sector: &[u8; SECTOR]) -> [u64; 2] {
    let cluster = number(sector, 11, 2) * sectors_per_cluster(sector[13]).unwrap_or_default();
    [48, 56].map(|at| number(sector, at, 8).saturating_mul(cluster))
}

/// Whether the master file table is where the boot sector places it. A boot sector without it is no
/// filesystem; nobody has recorded what exactly Windows reports for one.
fn has_table(area: Area<'_>, partition: &Partition, sector: &[u8; SECTOR]) -> bool {
    let mut record = [0; RECORD.len()];
    let at = partition.offset.saturating_add(tables(sector)[0]);
    area.read(at, &mut record).is_ok() && record == RECORD
}

/// Layout of the NTFS boot sector: the volume's last sector holds a copy and is not counted.
fn ntfs_sector(sector_size: u32, sectors: u64, wanted: Formatting) -> [u8; SECTOR] {
    let record = if wanted.has_large_records {
        LARGE_RECORD
    } else {
        SMALL_RECORD
    };
    let mut sector = [0; SECTOR];
    put(&mut sector, 0, &[0xEB, 0x52, 0x90]);
    put(&mut sector, 3, b"NTFS    ");
    put(&mut sector, 11, &sector_size.to_le_bytes()[..2]);
    put(
        &mut sector,
        13,
        &[cluster_byte(wanted.cluster / sector_size)],
    );
    put(&mut sector, 21, &[0xF8]);
    put(&mut sector, 36, &[0x80, 0, 0x80, 0]);
    put(&mut sector, 40, &sectors.to_le_bytes());
    let clusters = sectors * u64::from(sector_size) / u64::from(wanted.cluster);
    put(&mut sector, 48, &(clusters / 3).max(1).to_le_bytes());
    put(&mut sector, 56, &2_u64.to_le_bytes());
    put(&mut sector, 64, &[record, 0, 0, 0, 1, 0, 0, 0]);
    put(&mut sector, 72, &serial().to_le_bytes());
    put(&mut sector, 510, &[0x55, 0xAA]);
    sector
}

/// How NTFS writes its sectors per cluster: more than 128 as the power of two that they are, negative.
fn cluster_byte(sectors: u32) -> u8 {
    match u8::try_from(sectors) {
        Ok(few) if few <= 128 => few,
        _ => u8::MAX - u8::try_from(sectors.trailing_zeros()).unwrap_or_default() + 1,
    }
}

fn sectors_per_cluster(byte: u8) -> Option<u64> {
    match byte {
        0..=128 => Some(u64::from(byte)),
        _ => 1_u64.checked_shl(u32::from(u8::MAX - byte) + 1),
    }
}

/// Layout of the ReFS volume boot record, version 3.4.
fn refs_sector(sector_size: u32, sectors: u64, cluster: u32) -> [u8; SECTOR] {
    let mut sector = [0; SECTOR];
    put(&mut sector, 3, b"ReFS");
    put(&mut sector, 16, b"FSRS");
    put(&mut sector, 20, &512_u16.to_le_bytes());
    put(&mut sector, 24, &sectors.to_le_bytes());
    put(&mut sector, 32, &sector_size.to_le_bytes());
    put(&mut sector, 36, &(cluster / sector_size).to_le_bytes());
    put(&mut sector, 40, &[3, 4]);
    put(&mut sector, 56, &serial().to_le_bytes());
    sector
}

/// Layout of the exFAT boot sector: one table of 4 bytes for each cluster, then the clusters.
///
/// <https://learn.microsoft.com/windows/win32/fileio/exfat-specification>
fn exfat_sector(sector_size: u32, sectors: u64, cluster: u32) -> [u8; SECTOR] {
    let table = (sectors * 4 / u64::from(cluster)).max(1);
    let heap = 24 + table;
    let clusters = sectors.saturating_sub(heap) * u64::from(sector_size) / u64::from(cluster);
    let shift = |size: u32| size.trailing_zeros().to_le_bytes();
    let mut sector = [0; SECTOR];
    put(&mut sector, 0, &[0xEB, 0x76, 0x90]);
    put(&mut sector, 3, b"EXFAT   ");
    put(&mut sector, 72, &sectors.to_le_bytes());
    put(&mut sector, 80, &24_u32.to_le_bytes());
    put(&mut sector, 84, &table.to_le_bytes()[..4]);
    put(&mut sector, 88, &heap.to_le_bytes()[..4]);
    put(&mut sector, 92, &clusters.to_le_bytes()[..4]);
    put(&mut sector, 108, &shift(sector_size)[..1]);
    put(&mut sector, 109, &shift(cluster / sector_size)[..1]);
    put(&mut sector, 110, &[1]);
    put(&mut sector, 510, &[0x55, 0xAA]);
    sector
}

fn fat32_sector(sector_size: u32, sectors: u64, cluster: u32) -> [u8; SECTOR] {
    let table = (sectors * 4 / u64::from(cluster)).max(1);
    let mut sector = [0; SECTOR];
    put(&mut sector, 0, &[0xEB, 0x58, 0x90]);
    put(&mut sector, 3, b"MSDOS5.0");
    put(&mut sector, 11, &sector_size.to_le_bytes()[..2]);
    put(&mut sector, 13, &(cluster / sector_size).to_le_bytes()[..1]);
    put(&mut sector, 14, &FAT_RESERVED.to_le_bytes());
    put(&mut sector, 16, &[2]);
    put(&mut sector, 21, &[0xF8]);
    put(&mut sector, 32, &sectors.to_le_bytes()[..4]);
    put(&mut sector, 36, &table.to_le_bytes()[..4]);
    put(&mut sector, 66, &[0x29]);
    put(&mut sector, 71, b"NO NAME    ");
    put(&mut sector, 82, b"FAT32   ");
    put(&mut sector, 510, &[0x55, 0xAA]);
    sector
}

fn put(sector: &mut [u8; SECTOR], at: usize, bytes: &[u8]) {
    sector[at..at + bytes.len()].copy_from_slice(bytes);
}

fn serial() -> u64 {
    uuid::Uuid::new_v4().as_u64_pair().0
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::{Filesystem, FilesystemKind, Formatting, extend, wipe, write};
    use crate::hardware::Medium;
    use crate::ondisk::{Area, MIB, Partition};

    fn partition(length: u64) -> Partition {
        Partition {
            number: 1,
            offset: MIB,
            length,
            kind: Uuid::nil(),
            id: Uuid::nil(),
            mbr_type: None,
            is_hidden: false,
            is_read_only: false,
        }
    }

    #[test]
    fn what_was_formatted_is_recognised_until_it_is_wiped() {
        let medium = Medium::in_memory(64 * MIB);
        for sector_size in [512, 4096] {
            let area = Area::sound(&medium, 64 * MIB, sector_size);
            let partition = partition(32 * MIB);
            for kind in ["ntfs", "refs", "fat32", "exfat"] {
                let kind = FilesystemKind::named(kind).unwrap();
                write(area, &partition, Formatting::of(kind)).unwrap();
                let found = Filesystem::read(area, &partition).unwrap();
                assert_eq!((found.kind, found.cluster), (kind, 4096));
                assert!(
                    found.length <= 32 * MIB && found.length > 31 * MIB,
                    "{found:?}"
                );
                wipe(area, &partition).unwrap();
                assert_eq!(Filesystem::read(area, &partition), None);
            }
        }
    }

    #[test]
    fn an_extended_filesystem_is_as_long_as_was_asked() {
        let medium = Medium::in_memory(64 * MIB);
        let area = Area::sound(&medium, 64 * MIB, 512);
        let ntfs = Formatting::of(FilesystemKind::Ntfs);
        write(area, &partition(16 * MIB), ntfs).unwrap();
        let grown = partition(32 * MIB);
        let before = Filesystem::read(area, &grown).unwrap();
        extend(area, &grown, before, 32 * MIB).unwrap();
        let after = Filesystem::read(area, &grown).unwrap();
        assert_eq!(after.length, 32 * MIB - 4096);
    }

    #[test]
    fn a_filesystem_keeps_its_clusters_and_records_when_it_is_extended() {
        let medium = Medium::in_memory(64 * MIB);
        for sector_size in [512, 4096] {
            let area = Area::sound(&medium, 64 * MIB, sector_size);
            for kind in [FilesystemKind::Ntfs, FilesystemKind::Refs] {
                for cluster in kind.cluster_sizes().filter(|size| *size >= sector_size) {
                    let wanted = Formatting {
                        kind,
                        cluster,
                        has_large_records: kind == FilesystemKind::Ntfs,
                    };
                    write(area, &partition(16 * MIB), wanted).unwrap();
                    let grown = partition(32 * MIB);
                    let before = Filesystem::read(area, &grown).unwrap();
                    extend(area, &grown, before, 32 * MIB).unwrap();
                    let after = Filesystem::read(area, &grown).unwrap();
                    assert_eq!(after.formatting(), wanted);
                }
            }
        }
    }

    /// A transcript of the field has both lengths, rounded: 126.98 and 126.94 GiB, 9.98 and 9.94.
    #[test]
    fn refs_falls_short_of_its_partition_as_it_did_on_a_server() {
        let shown = |bytes: u64| (bytes * 100 + (1 << 29)) >> 30;
        for (disk, volume) in [(127 << 10, 12_694), (10 << 10, 994)] {
            let length = FilesystemKind::Refs.usable((disk - 18) * MIB);
            assert_eq!(shown(length), volume);
        }
    }

    #[test]
    fn ntfs_counts_its_clusters_in_32_bits() {
        let mut wanted = Formatting::of(FilesystemKind::Ntfs);
        assert!(!wanted.has_too_many_clusters(16 << 40 >> 1));
        assert!(wanted.has_too_many_clusters(16 << 40));
        wanted.kind = FilesystemKind::Refs;
        assert!(!wanted.has_too_many_clusters(16 << 40));
    }
}
