//! The first and last sectors of disks and partitions: partition tables and boot sectors.

pub(crate) mod filesystem;
pub(crate) mod gpt;
pub(crate) mod mbr;
pub(crate) mod table;

pub(crate) use filesystem::{Filesystem, FilesystemKind, Formatting};
pub(crate) use table::{Area, Partition, Table};

/// One mebibyte, to which Windows aligns partitions.
pub(crate) const MIB: u64 = 1 << 20;

/// Gives a partition another length, in whichever table it is.
pub(crate) fn resize(area: Area<'_>, partition: &Partition, length: u64) -> std::io::Result<()> {
    match partition.mbr_type {
        Some(_) => mbr::resize(area, partition, length),
        None => gpt::resize(area, partition, length),
    }
}

/// Reads a little-endian number out of a sector.
pub(crate) fn number(sector: &[u8], at: usize, bytes: usize) -> u64 {
    sector
        .iter()
        .skip(at)
        .take(bytes)
        .rev()
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}
