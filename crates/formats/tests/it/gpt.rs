//! Partition tables: those of this crate and of other tools are read, and every kind of damage is
//! named.

use std::io::Cursor;

use proptest::prelude::*;
use uuid::{Uuid, uuid};
use wincsi_formats::blank::{Extent, SectorSize};
use wincsi_formats::fixtures::{self, SparseImage};
use wincsi_formats::gpt::{self, Disagreement, Gpt, GptError, GptState, Partition, types};

const MIB: u64 = 1 << 20;
const LENGTH: u64 = 16 * MIB;
const DISK: Uuid = uuid!("3c9f4e52-71d8-4f0b-8e66-2b0d9a1c4e10");
const SECTORS: [SectorSize; 2] = [SectorSize::B512, SectorSize::B4096];

/// Where the last 512-byte sector begins, with the backup header.
const BACKUP: u64 = LENGTH - 512;

fn extent(sector: SectorSize) -> Extent {
    Extent::new(LENGTH, sector).unwrap()
}

fn partition(number: u32, type_guid: Uuid, first_lba: u64, last_lba: u64) -> Partition {
    Partition {
        number,
        type_guid,
        unique_guid: Uuid::from_u128(number.into()),
        first_lba,
        last_lba,
        attributes: 1 << 60,
        name: "Basic data \u{1f4be}".to_owned(),
    }
}

/// A disk with these partitions, written by our own writer.
fn disk(sector: SectorSize, partitions: &[Partition]) -> SparseImage {
    disk_of(LENGTH, sector, partitions)
}

fn disk_of(length: u64, sector: SectorSize, partitions: &[Partition]) -> SparseImage {
    let extent = Extent::new(length, sector).unwrap();
    let runs = gpt::encode(extent, DISK, partitions).unwrap();
    let blank = SparseImage::zeros(length);
    runs.into_iter()
        .fold(blank, |image, (at, bytes)| image.with(at, bytes))
}

fn reserved() -> SparseImage {
    disk(
        SectorSize::B512,
        &[partition(1, types::MICROSOFT_RESERVED, 34, 8191)],
    )
}

fn read(image: &SparseImage, sector: SectorSize) -> GptState {
    Gpt::read(&image.view(sector).unwrap())
}

fn read_512(image: &SparseImage) -> GptState {
    read(image, SectorSize::B512)
}

/// The image with a changed header at `at`, its checksum right again.
fn with_header(image: SparseImage, at: u64, change: impl FnOnce(&mut [u8])) -> SparseImage {
    let mut header = vec![0; 92];
    image.read(at, &mut header);
    change(&mut header);
    header[16..20].fill(0);
    let crc = crc32fast::hash(&header);
    header[16..20].copy_from_slice(&crc.to_le_bytes());
    image.with(at, header)
}

#[test]
fn what_we_write_is_read() {
    for sector in SECTORS {
        let partitions = [
            partition(1, types::MICROSOFT_RESERVED, 34, 2047),
            partition(5, types::BASIC_DATA, 2048, 3000),
        ];
        let GptState::Valid(gpt) = read(&disk(sector, &partitions), sector) else {
            panic!("a table of {} bytes' sectors was not read", sector.bytes());
        };
        assert_eq!(gpt.disk_guid(), DISK);
        assert_eq!(gpt.partitions(), partitions);
        let table = 16_384 / sector.bytes();
        assert_eq!(
            *gpt.usable(),
            table + 2..=LENGTH / sector.bytes() - table - 2
        );
    }
}

/// From 2 TiB on the number of a sector of 512 bytes has more than 32 bits.
#[test]
fn a_table_is_read_whose_second_copy_is_beyond_32_bits_of_sectors() {
    let length = 3 << 40;
    let partitions = [partition(1, types::BASIC_DATA, 2048, (1 << 32) + 7)];
    let image = disk_of(length, SectorSize::B512, &partitions);
    let mut copies = [0; 16];
    image.read(512 + 24, &mut copies);
    let [own, other] = [0, 8].map(|at| u64::from_le_bytes(copies[at..at + 8].try_into().unwrap()));
    assert_eq!((own, other), (1, length / 512 - 1), "as it is written");
    let GptState::Valid(gpt) = read_512(&image) else {
        panic!("{:?}", read_512(&image));
    };
    assert_eq!(gpt.partitions(), partitions);
}

#[test]
fn what_sgdisk_writes_is_read() {
    let fixture = fixtures::all()
        .into_iter()
        .find(|each| each.name == "gpt-sgdisk")
        .unwrap();
    let GptState::Valid(gpt) = read_512(&fixture.image) else {
        panic!("sgdisk's table was not read");
    };
    let [partition] = gpt.partitions() else {
        panic!("{:?}", gpt.partitions())
    };
    assert_eq!(partition.type_guid, types::MICROSOFT_RESERVED);
    assert_eq!(
        (partition.first_lba, partition.last_lba),
        (2048, 2048 + 16_384 - 1)
    );
}

#[test]
fn what_gptman_writes_is_read() {
    for sector in SECTORS {
        let mut cursor = Cursor::new(vec![0; usize::try_from(LENGTH).unwrap()]);
        let mut table = gptman::GPT::new_from(&mut cursor, sector.bytes(), [7; 16]).unwrap();
        table[3] = gptman::GPTPartitionEntry {
            partition_type_guid: types::BASIC_DATA.to_bytes_le(),
            unique_partition_guid: [9; 16],
            starting_lba: 512,
            ending_lba: 1023,
            attribute_bits: 0,
            partition_name: "data".into(),
        };
        gptman::GPT::write_protective_mbr_into(&mut cursor, sector.bytes()).unwrap();
        table.write_into(&mut cursor).unwrap();
        let image = SparseImage::zeros(LENGTH).with(0, cursor.into_inner());
        let GptState::Valid(gpt) = read(&image, sector) else {
            panic!("gptman's table was not read: {:?}", read(&image, sector));
        };
        let [partition] = gpt.partitions() else {
            panic!("{:?}", gpt.partitions())
        };
        assert_eq!((partition.number, partition.name.as_str()), (3, "data"));
        assert_eq!(gpt.disk_guid(), Uuid::from_bytes_le([7; 16]));
    }
}

#[test]
fn gptman_reads_what_we_write() {
    for sector in SECTORS {
        let image = disk(sector, &[partition(2, types::BASIC_DATA, 512, 1023)]);
        let mut bytes = vec![0; usize::try_from(LENGTH).unwrap()];
        image.read(0, &mut bytes);
        let table = gptman::GPT::read_from(&mut Cursor::new(bytes), sector.bytes()).unwrap();
        assert_eq!(table[2].starting_lba, 512);
        assert_eq!(table[2].partition_name.as_str(), "Basic data \u{1f4be}");
        assert_eq!(table.header.disk_guid, DISK.to_bytes_le());
    }
}

#[test]
fn the_wrong_sector_size_sees_no_table() {
    assert_eq!(read(&reserved(), SectorSize::B4096), GptState::Absent);
    assert_eq!(read_512(&SparseImage::zeros(LENGTH)), GptState::Absent);
}

#[test]
fn a_copy_that_is_gone_is_damage() {
    let missing = Some(GptError::Missing);
    assert_eq!(
        read_512(&reserved().with(BACKUP, [0; 512])),
        GptState::Damaged {
            primary: None,
            backup: missing.clone()
        }
    );
    assert_eq!(
        read_512(&reserved().with(512, [0; 512])),
        GptState::Damaged {
            primary: missing,
            backup: None
        }
    );
}

#[test]
fn a_disk_that_grew_has_no_backup_at_its_end() {
    let grown = gpt::encode(extent(SectorSize::B512), DISK, &[])
        .unwrap()
        .into_iter()
        .fold(SparseImage::zeros(2 * LENGTH), |image, (at, bytes)| {
            image.with(at, bytes)
        });
    let expected = GptState::Damaged {
        primary: None,
        backup: Some(GptError::Missing),
    };
    assert_eq!(read_512(&grown), expected);
}

#[test]
fn each_kind_of_damage_to_a_header_has_its_name() {
    expect_damage([
        (
            "header byte",
            reserved().with(512 + 60, [0xAA]),
            GptError::HeaderChecksum,
        ),
        (
            "entry byte",
            reserved().with(1024 + 130, [0xAA]),
            GptError::TableChecksum,
        ),
        (
            "revision",
            reserved().with(512 + 8, [1]),
            GptError::Revision(0x1_0001),
        ),
        (
            "header size",
            reserved().with(512 + 12, [91]),
            GptError::HeaderSize(91),
        ),
        (
            "huge header size",
            reserved().with(512 + 13, [3]),
            GptError::HeaderSize(0x35C),
        ),
        (
            "place",
            with_header(reserved(), 512, |header| header[24] = 2),
            GptError::Misplaced {
                stands: 1,
                belongs: 2,
            },
        ),
        (
            "usable sectors",
            with_header(reserved(), 512, |header| header[48..56].fill(0xFF)),
            GptError::Usable {
                first: 34,
                last: u64::MAX,
            },
        ),
    ]);
}

#[test]
fn each_kind_of_damage_to_the_entries_has_its_name() {
    expect_damage([
        (
            "number of entries",
            with_header(reserved(), 512, |header| header[80..84].fill(0xFF)),
            GptError::EntryCount(u32::MAX),
        ),
        (
            "size of entries",
            with_header(reserved(), 512, |header| {
                header[84..86].copy_from_slice(&[0x80, 1])
            }),
            GptError::EntrySize(384),
        ),
        (
            "place of entries",
            with_header(reserved(), 512, |header| header[72..80].fill(0xFF)),
            GptError::TablePlace { lba: u64::MAX },
        ),
        (
            "entries among the partitions",
            with_header(reserved(), 512, |header| header[72] = 34),
            GptError::TablePlace { lba: 34 },
        ),
    ]);
}

fn expect_damage<const N: usize>(cases: [(&str, SparseImage, GptError); N]) {
    for (what, image, error) in cases {
        let expected = GptState::Damaged {
            primary: Some(error),
            backup: None,
        };
        assert_eq!(read_512(&image), expected, "{what}");
    }
}

#[test]
fn copies_that_do_not_belong_together_disagree() {
    let disagreement = |image: &SparseImage| match read_512(image) {
        GptState::Disagree(disagreement) => disagreement,
        other => panic!("{other:?}"),
    };
    let other_disk = with_header(reserved(), BACKUP, |header| header[56] ^= 1);
    assert_eq!(disagreement(&other_disk), Disagreement::Contents);
    let astray = with_header(reserved(), 512, |header| header[32] ^= 1);
    assert_eq!(disagreement(&astray), Disagreement::Places);

    let empty = disk(SectorSize::B512, &[]);
    let [_, (at, tail)] = gpt::encode(
        extent(SectorSize::B512),
        DISK,
        &[partition(1, types::BASIC_DATA, 2048, 4095)],
    )
    .unwrap();
    assert_eq!(disagreement(&empty.with(at, tail)), Disagreement::Contents);
}

#[test]
fn only_a_protective_master_boot_record_guards_a_table() {
    let not_protective = GptState::Disagree(Disagreement::NotProtective);
    assert_eq!(
        read_512(&reserved().with(510, [0, 0])),
        not_protective,
        "no mark"
    );
    assert_eq!(
        read_512(&reserved().with(450, [0x07])),
        not_protective,
        "another type"
    );
    assert_eq!(
        read_512(&reserved().with(454, [2])),
        not_protective,
        "another start"
    );
    assert_eq!(
        read_512(&reserved().with(466, [0x07])),
        not_protective,
        "hybrid"
    );
    let boot_code = reserved().with(0, [0x33, 0xC0, 0x8E, 0xD0]);
    assert!(
        matches!(read_512(&boot_code), GptState::Valid(_)),
        "Windows writes boot code"
    );
}

#[test]
fn impossible_partitions_are_not_written() {
    let encode = |partitions: &[Partition]| {
        gpt::encode(extent(SectorSize::B512), DISK, partitions)
            .map(|_| ())
            .unwrap_err()
    };
    let data = |number, first, last| partition(number, types::BASIC_DATA, first, last);
    let range = |first_lba, last_lba| GptError::PartitionRange {
        number: 1,
        first_lba,
        last_lba,
    };
    assert_eq!(encode(&[data(1, 33, 40)]), range(33, 40));
    assert_eq!(encode(&[data(1, 41, 40)]), range(41, 40));
    assert_eq!(encode(&[data(1, 40, 32_767)]), range(40, 32_767));
    assert_eq!(
        encode(&[data(1, 100, 200), data(2, 50, 100)]),
        GptError::Overlap(2, 1)
    );
    assert_eq!(encode(&[data(129, 100, 200)]), GptError::EntryCount(129));
    assert_eq!(encode(&[data(0, 100, 200)]), GptError::EntryCount(0));
    let tiny = Extent::new(60 * 512, SectorSize::B512).unwrap();
    assert!(matches!(
        gpt::encode(tiny, DISK, &[]),
        Err(GptError::Usable { .. })
    ));
}

/// Partitions one behind the other.
fn partitions() -> impl Strategy<Value = Vec<Partition>> {
    let gap_and_length = (0_u64..200, 1_u64..500);
    prop::collection::vec(gap_and_length, 0..20).prop_map(|all| {
        let mut free = 34;
        (1..)
            .zip(all)
            .map(|(number, (gap, length))| {
                let first = free + gap;
                free = first + length;
                partition(number, types::BASIC_DATA, first, free - 1)
            })
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]

    #[test]
    fn any_table_that_is_written_is_read(partitions in partitions()) {
        match read_512(&disk(SectorSize::B512, &partitions)) {
            GptState::Valid(gpt) => prop_assert_eq!(gpt.partitions(), partitions),
            other => prop_assert!(false, "{:?}", other),
        }
    }

    /// Every byte of both headers and both tables is guarded; in the master boot record, the bytes
    /// that describe the guarded range.
    #[test]
    fn any_changed_byte_of_a_table_is_noticed(
        at in prop_oneof![
            450_u64..451, 454_u64..458, 462_u64..604, 1024_u64..17_408,
            LENGTH - 16_896..LENGTH - 420,
        ],
        change in 1_u8..,
    ) {
        let image = reserved();
        let mut byte = [0];
        image.read(at, &mut byte);
        let state = read_512(&image.with(at, [byte[0] ^ change]));
        prop_assert!(!matches!(state, GptState::Valid(_)), "byte {} unnoticed", at);
    }

    #[test]
    fn no_header_with_a_right_checksum_panics(
        fields in prop::collection::vec(any::<u8>(), 68),
        backup: bool,
    ) {
        let at = if backup { BACKUP } else { 512 };
        let image = with_header(reserved(), at, |header| header[24..].copy_from_slice(&fields));
        prop_assert!(!matches!(read_512(&image), GptState::Absent));
    }

    #[test]
    fn no_entry_with_a_right_checksum_panics(entry in prop::collection::vec(any::<u8>(), 128)) {
        let mut table = entry;
        table.resize(16_384, 0);
        let image = with_header(reserved().with(1024, table.clone()), 512, |header| {
            header[88..92].copy_from_slice(&crc32fast::hash(&table).to_le_bytes());
        });
        prop_assert!(!matches!(read_512(&image), GptState::Absent));
    }
}
