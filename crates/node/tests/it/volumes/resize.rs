//! Growing a volume: filesystems of each kind, and a storage provider that lags behind.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::num::NonZeroU64;

use os::schema::codes;
use os::{Outcome, PartitionNumber, Win32};
use os_sim::{Effect, Op, Rule};
use wincsi_node::{
    FileSystemType, FormatOptions, NewSize, Options, ProviderError, Resized, VolumeError,
};

use crate::support::{DATA, GIB, NodeFixture};

const MIB: u64 = 1 << 20;
const EXTEND: &str = "FSCTL_EXTEND_VOLUME";
const RESCAN: &str = "MSFT_StorageSetting.UpdateHostStorageCache";
const RESIZE: &str = "MSFT_Partition.Resize";

/// The boot sector of a filesystem on a volume of so many bytes.
type BootSector = fn(u64) -> [u8; 512];

fn resize(fixture: &NodeFixture, size: NewSize) -> Result<Resized, VolumeError> {
    fixture.resize(size)
}

fn bytes(size: u64) -> NewSize {
    NewSize::Bytes(NonZeroU64::new(size).unwrap())
}

fn length(fixture: &NodeFixture) -> u64 {
    fixture.os().volumes.extents(fixture.volume()).unwrap()[0].length
}

fn total(fixture: &NodeFixture) -> u64 {
    fixture.os().volumes.space(fixture.volume()).unwrap().total
}

fn grow_disk(fixture: &NodeFixture) {
    fixture.grow(DATA, 8 * GIB);
}

fn count(trace: &[Op], operation: &str) -> usize {
    trace.iter().filter(|op| op.operation == operation).count()
}

fn answer(code: u32) -> Rule {
    Rule::on(RESIZE, Effect::Answer(Outcome::of(code)))
}

fn put(sector: &mut [u8; 512], at: usize, bytes: &[u8]) {
    sector[at..at + bytes.len()].copy_from_slice(bytes);
}

/// Clusters of 4 KiB, 32 reserved sectors and two tables of 4 bytes for each cluster.
fn fat32(length: u64) -> [u8; 512] {
    let sectors = u32::try_from(length / 512).unwrap();
    let table = sectors / 8 * 4 / 512;
    let mut sector = [0; 512];
    put(
        &mut sector,
        0,
        b"\xEB\x58\x90MSDOS5.0\x00\x02\x08\x20\x00\x02",
    );
    put(&mut sector, 32, &sectors.to_le_bytes());
    put(&mut sector, 36, &table.to_le_bytes());
    put(&mut sector, 82, b"FAT32   ");
    put(&mut sector, 510, b"\x55\xAA");
    sector
}

/// Clusters of 4 KiB behind 24 reserved sectors and one table of 4 bytes for each, from 8 MiB on.
fn exfat(length: u64) -> [u8; 512] {
    let sectors = length / 512;
    let heap = 8 * MIB / 512;
    let clusters = u32::try_from((sectors - heap) / 8).unwrap();
    let mut sector = [0; 512];
    put(&mut sector, 0, b"\xEB\x76\x90EXFAT   ");
    put(&mut sector, 72, &sectors.to_le_bytes());
    put(&mut sector, 88, &u32::try_from(heap).unwrap().to_le_bytes());
    put(&mut sector, 92, &clusters.to_le_bytes());
    put(&mut sector, 108, &[9, 3]);
    put(&mut sector, 510, b"\x55\xAA");
    sector
}

/// A volume that another tool formatted.
fn formatted_by_others(sector: BootSector) -> NodeFixture {
    let fixture = NodeFixture::with_volume();
    let extent = fixture.os().volumes.extents(fixture.volume()).unwrap()[0];
    let hardware = fixture.hardware();
    let written = hardware.write_disk(DATA, extent.offset, &sector(extent.length));
    written.unwrap();
    fixture
}

fn with_refs() -> NodeFixture {
    let fixture = NodeFixture::with_data_disk();
    let soon = fixture.soon();
    fixture.disks().partition(fixture.disk(), soon).unwrap();
    let refs = FormatOptions::new(FileSystemType::Refs);
    let formatted = fixture
        .volumes()
        .ensure_formatted(fixture.volume(), &refs, soon);
    formatted.unwrap();
    fixture
}

/// Such a filesystem falls short of its partition by its tables, and Windows extends none.
#[test]
fn a_filesystem_that_cannot_be_extended_is_left_as_it_is() {
    for (name, sector) in [("FAT32", fat32 as BootSector), ("exFAT", exfat)] {
        let fixture = formatted_by_others(sector);
        let found = fixture.os().volumes.file_system(fixture.volume()).unwrap();
        assert_eq!(found.unwrap().name, name);
        let size = length(&fixture);
        assert!(total(&fixture) + 4 * MIB < size, "{name}");
        for wanted in [bytes(1), bytes(size), NewSize::Maximum] {
            let resized = resize(&fixture, wanted);
            assert_eq!(resized, Ok(Resized::Unchanged { size }), "{name}");
        }
    }
}

/// The partition would grow, and its filesystem never.
#[test]
fn a_partition_whose_filesystem_cannot_be_extended_is_not_grown_by_the_kernel() {
    for sector in [fat32 as BootSector, exfat] {
        for code in [codes::UNKNOWN_FILE_SYSTEM.code, codes::FAILED.code] {
            let fixture = formatted_by_others(sector);
            grow_disk(&fixture);
            fixture.fault(answer(code));
            let before = length(&fixture);
            let refused = resize(&fixture, NewSize::Maximum);
            assert!(
                matches!(&refused, Err(VolumeError::Provider(ProviderError::Refused { code: with_text_error, .. })) if *with_text_error == code),
                "{refused:?}"
            );
            assert_eq!(length(&fixture), before);
        }
    }
}

/// On a server partitions of 126.98 and 9.98 GiB had ReFS volumes of 126.94 and 9.94 GiB.
#[test]
fn refs_that_falls_short_of_its_partition_is_whole() {
    let fixture = with_refs();
    assert!(total(&fixture) + 4 * MIB < length(&fixture));
    let size = length(&fixture);
    let trace = fixture.trace(|| {
        for wanted in [bytes(1), NewSize::Maximum] {
            assert_eq!(resize(&fixture, wanted), Ok(Resized::Unchanged { size }));
        }
    });
    assert_eq!(count(&trace, EXTEND), 0);
    grow_disk(&fixture);
    let grown = resize(&fixture, NewSize::Maximum).unwrap();
    let to = length(&fixture);
    assert_eq!(grown, Resized::Grown { from: size, to });
    assert!(total(&fixture) > 7 * GIB);
    assert_eq!(
        resize(&fixture, bytes(1)),
        Ok(Resized::Unchanged { size: to })
    );
}

#[test]
fn refs_fills_a_partition_that_grew_without_it() {
    let fixture = with_refs();
    grow_disk(&fixture);
    fixture.fault(answer(codes::FAILED.code));
    let broken = Rule::on(EXTEND, Effect::fail(Win32::IO_DEVICE)).times(1);
    fixture.fault(broken);
    let failed = resize(&fixture, NewSize::Maximum);
    assert!(
        matches!(
            &failed,
            Err(VolumeError::Failed {
                operation: "extend",
                ..
            })
        ),
        "{failed:?}"
    );
    assert!(total(&fixture) < 4 * GIB);
    let size = length(&fixture);
    assert_eq!(resize(&fixture, bytes(1)), Ok(Resized::Filled { size }));
    assert!(total(&fixture) > 7 * GIB);
}

/// Nothing of this call is undone: a version of ReFS that leaves more at the end would never be staged again.
#[test]
fn refs_that_cannot_be_extended_fails_no_call_that_grew_nothing() {
    let fixture = with_refs();
    grow_disk(&fixture);
    let (disk, data) = (fixture.disk(), PartitionNumber(2));
    let disks = &fixture.os().disks;
    disks.update_properties(disk).unwrap();
    disks.grow_partition(disk, data, GIB).unwrap();
    fixture.fail(EXTEND, Win32::INVALID_PARAMETER);
    let size = length(&fixture);
    let trace = fixture.trace(|| {
        let resized = resize(&fixture, bytes(1));
        assert_eq!(resized, Ok(Resized::Unchanged { size }));
    });
    assert_eq!(count(&trace, EXTEND), 1);
}

/// The kernel knows already that the disk grew; the provider answers 4097 as its length is the old one.
#[test]
fn a_provider_that_has_not_seen_the_disk_grow_is_made_to_look_and_called_again() {
    let fixture = NodeFixture::with_mounted_volume();
    grow_disk(&fixture);
    fixture.update_properties();
    fixture.fail("MSFT_Disk.Refresh", Win32::GEN_FAILURE);
    let from = length(&fixture);
    let trace = fixture.trace(|| {
        let resized = resize(&fixture, bytes(6 * GIB));
        assert_eq!(resized, Ok(Resized::Grown { from, to: 6 * GIB }));
    });
    assert_eq!((count(&trace, RESIZE), count(&trace, RESCAN)), (2, 1));
    assert_eq!(fixture.precious(), "precious");
}

#[test]
fn a_provider_that_stays_out_of_date_is_called_twice_and_no_more() {
    for code in [codes::SIZE_NOT_SUPPORTED, codes::CACHE_OUT_OF_DATE] {
        let fixture = NodeFixture::with_mounted_volume();
        grow_disk(&fixture);
        fixture.rescan();
        fixture.update_properties();
        fixture.fault(answer(code.code));
        let before = length(&fixture);
        let trace = fixture.trace(|| {
            let refused = resize(&fixture, bytes(6 * GIB));
            assert!(
                matches!(&refused, Err(VolumeError::Provider(ProviderError::Refused { code: with_text_error, .. })) if *with_text_error == code.code),
                "{refused:?}"
            );
        });
        assert_eq!((count(&trace, RESIZE), count(&trace, RESCAN)), (2, 1));
        assert_eq!(length(&fixture), before);
    }
}

/// As where another tool grew it meanwhile. The text is that of a record: actions/runner-images issue 7032.
#[test]
fn a_partition_that_is_already_the_requested_size_is_success() {
    let fixture = NodeFixture::with_mounted_volume();
    grow_disk(&fixture);
    let already = Outcome {
        extended: Some("The partition is already the requested size.".to_owned()),
        ..Outcome::of(codes::SIZE_NOT_SUPPORTED.code)
    };
    let already = Rule::on(RESIZE, Effect::AnswerAfter(already));
    fixture.fault(already);
    let from = length(&fixture);
    let trace = fixture.trace(|| {
        let resized = resize(&fixture, bytes(6 * GIB));
        assert_eq!(resized, Ok(Resized::Grown { from, to: 6 * GIB }));
    });
    assert_eq!(count(&trace, RESIZE), 1);
}

/// An operator who grew a disk to a size wants its volume to have that, and Windows keeps some of it.
#[test]
fn a_size_up_to_that_of_the_disk_is_all_that_there_is() {
    let fixture = NodeFixture::with_mounted_volume();
    grow_disk(&fixture);
    let too_large = resize(&fixture, bytes(8 * GIB + MIB));
    assert!(
        matches!(too_large, Err(VolumeError::TooLarge { maximum, .. }) if maximum < 8 * GIB),
        "{too_large:?}"
    );
    let from = length(&fixture);
    let resized = resize(&fixture, bytes(8 * GIB)).unwrap();
    let to = length(&fixture);
    assert_eq!(resized, Resized::Grown { from, to });
    assert!(to > 8 * GIB - 20 * MIB, "{to}");
    assert_eq!(
        resize(&fixture, bytes(8 * GIB)),
        Ok(Resized::Unchanged { size: to })
    );
}

const SOME: [u64; 4] = [MIB, 3 * MIB, 52 * MIB, 99 * MIB];

/// A claim that grows from 2 GiB to 2100 MiB.
#[test]
fn a_growth_that_csi_proxy_takes_for_none_is_one_to_drivers() {
    for some in SOME {
        let fixture = NodeFixture::with_volume();
        let (from, total) = (length(&fixture), total(&fixture));
        fixture.grow(DATA, 4 * GIB + some);
        let volumes = fixture.volumes();
        for size in [bytes(from + some), NewSize::Maximum] {
            let left = volumes.resize_by_much(fixture.volume(), size, fixture.soon());
            assert_eq!(left, Ok(Resized::Unchanged { size: from }), "{some}");
        }
        let to = from + some;
        let grown = resize(&fixture, bytes(to));
        assert_eq!(grown, Ok(Resized::Grown { from, to }), "{some}");
        assert_eq!(self::total(&fixture) - total, some);
        for size in [
            bytes(to),
            bytes(to + MIB - 1),
            bytes(4 * GIB + some),
            NewSize::Maximum,
        ] {
            let trace = fixture.trace(|| {
                assert_eq!(
                    resize(&fixture, size),
                    Ok(Resized::Unchanged { size: to }),
                    "{some}"
                );
            });
            assert_eq!(count(&trace, RESIZE), 0, "{some}");
            assert_eq!(count(&trace, EXTEND), 0, "{some}");
        }
    }
}

#[test]
fn a_growth_to_all_of_a_disk_that_grew_by_little_is_one() {
    for some in SOME {
        let fixture = NodeFixture::with_volume();
        let from = length(&fixture);
        fixture.grow(DATA, 4 * GIB + some);
        let to = from + some;
        assert_eq!(
            resize(&fixture, NewSize::Maximum),
            Ok(Resized::Grown { from, to })
        );
    }
}

/// The kernel grows the partition, and the filesystem is ours to extend, also by a call that died before.
#[test]
fn a_small_growth_without_the_provider_reaches_the_filesystem() {
    for some in SOME {
        let fixture = NodeFixture::with_volume();
        let (from, total) = (length(&fixture), total(&fixture));
        fixture.grow(DATA, 4 * GIB + some);
        fixture.fault(answer(codes::FAILED.code));
        let extend = Rule::on(EXTEND, Effect::fail(Win32::IO_DEVICE)).times(1);
        fixture.fault(extend);
        let to = from + some;
        // Up to 4 MiB NTFS may leave free for good, so that is no failure.
        match some <= 4 * MIB {
            true => assert_eq!(resize(&fixture, bytes(to)), Ok(Resized::Grown { from, to })),
            false => assert!(resize(&fixture, bytes(to)).is_err()),
        }
        assert_eq!(self::total(&fixture), total);
        assert_eq!(
            resize(&fixture, bytes(to)),
            Ok(Resized::Filled { size: to }),
            "{some}"
        );
        assert_eq!(self::total(&fixture) - total, some);
    }
}

/// Its largest partition ends before ours: each staging asks for the maximum.
#[test]
fn a_provider_that_takes_less_of_the_disk_for_its_maximum_fails_no_staging() {
    let fixture = NodeFixture::with_volume();
    let size = length(&fixture);
    fixture.grow(DATA, 4 * GIB + 2 * MIB);
    fixture.fault(answer(codes::SIZE_NOT_SUPPORTED.code));
    assert_eq!(
        resize(&fixture, NewSize::Maximum),
        Ok(Resized::Unchanged { size })
    );
    let refused = resize(&fixture, bytes(size + MIB));
    assert!(
        matches!(refused, Err(VolumeError::Provider(_))),
        "{refused:?}"
    );
    grow_disk(&fixture);
    assert!(
        resize(&fixture, NewSize::Maximum).is_err(),
        "that is no rest"
    );
}

/// An old server's disk, from a snapshot or of an administrator. With 512 bytes in a sector 2^32 of them are 2 TiB.
#[test]
fn an_mbr_partition_grows_as_far_as_its_table_reaches() {
    const TIB: u64 = 1 << 40;
    let fixture = NodeFixture::with_mbr_partition(0x07, Options::default());
    let volumes = fixture.volumes();
    let format = FormatOptions::new(FileSystemType::Ntfs);
    volumes
        .ensure_formatted(fixture.volume(), &format, fixture.soon())
        .unwrap();
    let from = length(&fixture);
    fixture.grow(DATA, 3 * TIB);
    let too_large = resize(&fixture, bytes(3 * TIB));
    assert!(
        matches!(too_large, Err(VolumeError::TooLarge { maximum, .. }) if maximum < 2 * TIB),
        "{too_large:?}"
    );
    let resized = resize(&fixture, NewSize::Maximum).unwrap();
    let to = length(&fixture);
    assert_eq!(resized, Resized::Grown { from, to });
    assert!((2 * TIB - 20 * MIB..2 * TIB).contains(&to), "{to}");
    assert_eq!(
        resize(&fixture, NewSize::Maximum),
        Ok(Resized::Unchanged { size: to })
    );
}
