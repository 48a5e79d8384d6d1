//! Boot sectors: how a filesystem shows itself on the raw disk. What it holds lies in a folder of the
//! host instead.

use std::io;

use super::MIB;
use super::number;
use super::table::Area;
use super::table::Partition;

/// A filesystem that Windows mounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Filesystem {
    pub(crate) kind: FilesystemKind,
    /// Bytes.
    pub(crate) length: u64,
    /// Bytes.
    pub(crate) cluster: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FilesystemKind {
    Fat32,
    Ntfs,
    Refs,
}

const SECTOR: usize = 512;
const DEFAULT_CLUSTER: u32 = 4096;

impl FilesystemKind {
    pub(crate) fn named(name: &str) -> Option<Self> {
        [Self::Fat32, Self::Ntfs, Self::Refs]
            .into_iter()
            .find(|kind| kind.name().eq_ignore_ascii_case(name))
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Fat32 => "FAT32",
            Self::Ntfs => "NTFS",
            Self::Refs => "ReFS",
        }
    }

    /// `MSFT_Volume.FileSystemType`.
    pub(crate) fn number(self) -> u16 {
        match self {
            Self::Fat32 => 6,
            Self::Ntfs => 14,
            Self::Refs => 15,
        }
    }
}

impl Filesystem {
    /// What the partition's first sector shows; `None` for a RAW volume.
    pub(crate) fn read(area: Area<'_>, partition: &Partition) -> Option<Self> {
        let mut sector = [0; SECTOR];
        area.read(partition.offset, &mut sector).ok()?;
        if &sector[3..11] == b"NTFS    " {
            return Self::ntfs(&sector);
        }
        if &sector[3..11] == b"ReFS\0\0\0\0" {
            return Self::refs(&sector);
        }
        if &sector[82..90] == b"FAT32   " {
            return Self::fat32(&sector);
        }
        None
    }

    /// What nobody's files can use: the filesystem's own records.
    pub(crate) fn overhead(&self) -> u64 {
        let own = 16 * MIB + self.length / 1024;
        own.min(self.length / 8)
    }

    fn ntfs(sector: &[u8]) -> Option<Self> {
        let bytes = number(sector, 11, 2);
        let cluster = bytes * number(sector, 13, 1);
        Self::of(FilesystemKind::Ntfs, number(sector, 40, 8), bytes, cluster)
    }

    fn refs(sector: &[u8]) -> Option<Self> {
        let bytes = number(sector, 32, 4);
        let cluster = bytes * number(sector, 36, 4);
        Self::of(FilesystemKind::Refs, number(sector, 24, 8), bytes, cluster)
    }

    fn fat32(sector: &[u8]) -> Option<Self> {
        let bytes = number(sector, 11, 2);
        let cluster = bytes * number(sector, 13, 1);
        Self::of(FilesystemKind::Fat32, number(sector, 32, 4), bytes, cluster)
    }

    fn of(kind: FilesystemKind, sectors: u64, bytes: u64, cluster: u64) -> Option<Self> {
        let length = sectors.checked_mul(bytes)?;
        let cluster = u32::try_from(cluster).ok().filter(|size| *size > 0)?;
        Some(Self {
            kind,
            length: length / u64::from(cluster) * u64::from(cluster),
            cluster,
        })
    }
}

/// The first step of a format: nothing of what was there is recognised any more.
pub(crate) fn wipe(area: Area<'_>, partition: &Partition) -> io::Result<()> {
    let count = partition.length.min(64 * 1024);
    let count = usize::try_from(count).map_err(io::Error::other)?;
    area.medium.write(partition.offset, &vec![0; count])
}

/// The last step of a format: writes the boot sector, and NTFS's copy at the partition's end.
pub(crate) fn write(
    area: Area<'_>,
    partition: &Partition,
    kind: FilesystemKind,
    cluster: Option<u32>,
) -> io::Result<()> {
    let cluster = cluster.unwrap_or(DEFAULT_CLUSTER);
    write_sized(area, partition, partition.length, (kind, cluster))
}

/// Makes the filesystem `length` bytes long, within its partition.
pub(crate) fn extend(
    area: Area<'_>,
    partition: &Partition,
    filesystem: Filesystem,
    length: u64,
) -> io::Result<()> {
    let shape = (filesystem.kind, filesystem.cluster);
    write_sized(area, partition, length, shape)
}

fn write_sized(
    area: Area<'_>,
    partition: &Partition,
    length: u64,
    (kind, cluster): (FilesystemKind, u32),
) -> io::Result<()> {
    let sectors = length / u64::from(area.sector_size);
    let sector = match kind {
        FilesystemKind::Fat32 => fat32_sector(area.sector_size, sectors, cluster),
        FilesystemKind::Ntfs => ntfs_sector(area.sector_size, sectors - 1, cluster),
        FilesystemKind::Refs => refs_sector(area.sector_size, sectors, cluster),
    };
    if kind == FilesystemKind::Ntfs {
        let copy = partition.offset + (sectors - 1) * u64::from(area.sector_size);
        area.medium.write(copy, &sector)?;
    }
    area.medium.write(partition.offset, &sector)
}

/// Layout of the NTFS boot sector: the volume's last sector holds a copy and is not counted.
fn ntfs_sector(sector_size: u32, sectors: u64, cluster: u32) -> [u8; SECTOR] {
    let mut sector = [0; SECTOR];
    put(&mut sector, 0, &[0xEB, 0x52, 0x90]);
    put(&mut sector, 3, b"NTFS    ");
    put(&mut sector, 11, &sector_size.to_le_bytes()[..2]);
    put(&mut sector, 13, &(cluster / sector_size).to_le_bytes()[..1]);
    put(&mut sector, 21, &[0xF8]);
    put(&mut sector, 36, &[0x80, 0, 0x80, 0]);
    put(&mut sector, 40, &sectors.to_le_bytes());
    put(&mut sector, 48, &(sectors / 3).to_le_bytes());
    put(&mut sector, 56, &2_u64.to_le_bytes());
    put(&mut sector, 64, &[0xF6, 0, 0, 0, 1, 0, 0, 0]);
    put(&mut sector, 72, &serial().to_le_bytes());
    put(&mut sector, 510, &[0x55, 0xAA]);
    sector
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

fn fat32_sector(sector_size: u32, sectors: u64, cluster: u32) -> [u8; SECTOR] {
    let mut sector = [0; SECTOR];
    put(&mut sector, 0, &[0xEB, 0x58, 0x90]);
    put(&mut sector, 3, b"MSDOS5.0");
    put(&mut sector, 11, &sector_size.to_le_bytes()[..2]);
    put(&mut sector, 13, &(cluster / sector_size).to_le_bytes()[..1]);
    put(&mut sector, 14, &[32, 0, 2]);
    put(&mut sector, 21, &[0xF8]);
    put(&mut sector, 32, &sectors.to_le_bytes()[..4]);
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

    use super::Filesystem;
    use super::FilesystemKind;
    use super::extend;
    use super::wipe;
    use super::write;
    use crate::hardware::Medium;
    use crate::ondisk::Area;
    use crate::ondisk::MIB;
    use crate::ondisk::Partition;

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
            for kind in ["ntfs", "refs", "fat32"] {
                let kind = FilesystemKind::named(kind).unwrap();
                write(area, &partition, kind, None).unwrap();
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
        write(area, &partition(16 * MIB), FilesystemKind::Ntfs, None).unwrap();
        let grown = partition(32 * MIB);
        let before = Filesystem::read(area, &grown).unwrap();
        extend(area, &grown, before, 32 * MIB).unwrap();
        let after = Filesystem::read(area, &grown).unwrap();
        assert_eq!(after.length, 32 * MIB - 4096);
    }
}
