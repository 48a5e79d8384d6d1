//! Content that may be overwritten, and content that may not.

use proptest::prelude::*;
use uuid::{Uuid, uuid};
use wincsi_formats::blank::{
    BlankRule, Clearance, Extent, Refusal, SectorSize, Signature, Verdict, View,
    for_create_partition, for_format, for_initialise, scan,
};
use wincsi_formats::fixtures::{self, SparseImage};
use wincsi_formats::gpt::{self, Disagreement, Partition, types};

const MIB: u64 = 1 << 20;
const LENGTH: u64 = 64 * MIB;
const BOTH: [BlankRule; 2] = [BlankRule::Strict, BlankRule::Signatures];

fn view(image: &SparseImage) -> View {
    image.view(SectorSize::B512).unwrap()
}

fn blank() -> SparseImage {
    SparseImage::zeros(LENGTH)
}

/// A disk as Windows leaves it when it has initialised it: a reserved partition up to 16 MiB.
fn initialised(sector: SectorSize) -> SparseImage {
    with_partition(sector, types::MICROSOFT_RESERVED)
}

fn with_partition(sector: SectorSize, type_guid: Uuid) -> SparseImage {
    let table = 16_384 / sector.bytes();
    let partition = Partition {
        number: 1,
        type_guid,
        unique_guid: uuid!("8f2b1c5e-3f0a-4d67-9a41-6a2f5f8d7c01"),
        first_lba: table + 2,
        last_lba: 16 * MIB / sector.bytes() - 1,
        attributes: 0,
        name: "Microsoft reserved partition".to_owned(),
    };
    let extent = Extent::new(LENGTH, sector).unwrap();
    let disk_guid = uuid!("3c9f4e52-71d8-4f0b-8e66-2b0d9a1c4e10");
    let runs = gpt::encode(extent, disk_guid, &[partition]).unwrap();
    runs.into_iter()
        .fold(blank(), |image, (at, bytes)| image.with(at, bytes))
}

fn unknown(clearance: Result<Clearance, Refusal>) -> Option<u64> {
    clearance.unwrap().unknown()
}

#[test]
fn a_blank_object_may_be_initialised_and_formatted() {
    for guard in BOTH {
        assert_eq!(unknown(for_initialise(&view(&blank()), guard)), None);
        assert_eq!(unknown(for_format(&view(&blank()), guard)), None);
    }
}

#[test]
fn every_known_format_refuses_under_either_guard_and_is_named() {
    for fixture in fixtures::all() {
        let view = view(&fixture.image);
        for refusal in BOTH.map(|guard| for_initialise(&view, guard)) {
            let Err(Refusal::Signatures(found)) = refusal else {
                panic!("{} may be initialised: {refusal:?}", fixture.name);
            };
            assert!(
                found
                    .iter()
                    .any(|found| found.signature == fixture.signature)
            );
        }
        assert!(
            for_format(&view, BlankRule::Signatures).is_err(),
            "{}",
            fixture.name
        );
        assert!(
            for_create_partition(&view, BlankRule::Strict).is_err() || is_initialised(fixture.name)
        );
    }
}

/// Tables that hold nothing but a reserved partition: there a partition may be created.
fn is_initialised(name: &str) -> bool {
    matches!(name, "gpt-reserved-only" | "gpt-sgdisk")
}

#[test]
fn unknown_bytes_refuse_or_are_reported() {
    let view = view(&blank().with(LENGTH - 3, [0x5A]));
    assert_eq!(
        for_initialise(&view, BlankRule::Strict),
        Err(Refusal::Unknown {
            first_nonzero: LENGTH - 3
        })
    );
    assert_eq!(
        unknown(for_initialise(&view, BlankRule::Signatures)),
        Some(LENGTH - 3)
    );
    assert_eq!(
        unknown(for_format(&view, BlankRule::Signatures)),
        Some(LENGTH - 3)
    );
}

#[test]
fn bytes_that_a_scan_does_not_read_do_not_refuse() {
    let middle = view(&blank().with(32 * MIB, [0x5A; 64]));
    assert_eq!(unknown(for_format(&middle, BlankRule::Strict)), None);
}

#[test]
fn creation_goes_on_where_a_disk_was_only_initialised() {
    for sector in [SectorSize::B512, SectorSize::B4096] {
        let view = initialised(sector).view(sector).unwrap();
        for guard in BOTH {
            assert_eq!(unknown(for_create_partition(&view, guard)), None);
        }
    }
}

/// Windows keeps its boot code in the protective record, and gives every disk the same size in it:
/// <http://thestarman.pcministry.com/asm/mbr/GPT.htm>.
#[test]
fn creation_goes_on_behind_the_master_boot_record_that_windows_writes() {
    let image = initialised(SectorSize::B512)
        .with(
            0,
            b"\x33\xc0\x8e\xd0\xbc\x00\x7c\x8e\xc0\x8e\xd8\xbe\x00\x7c\xbf\x00\x06",
        )
        .with(0x1B5, b"\x63\x7b\x9a")
        .with(0x1CA, [0xFF; 4]);
    assert_eq!(
        unknown(for_create_partition(&view(&image), BlankRule::Strict)),
        None
    );
}

#[test]
fn guards_are_spelt_as_flags_are() {
    for guard in BOTH {
        assert_eq!(guard.to_string().parse(), Ok(guard));
    }
    assert!("Strict".parse::<BlankRule>().is_err());
}

#[test]
fn a_table_without_any_partition_will_do() {
    let extent = Extent::new(LENGTH, SectorSize::B512).unwrap();
    let runs = gpt::encode(extent, Uuid::from_u128(1), &[]).unwrap();
    let image = runs
        .into_iter()
        .fold(blank(), |image, (at, bytes)| image.with(at, bytes));
    assert_eq!(
        unknown(for_create_partition(&view(&image), BlankRule::Strict)),
        None
    );
}

#[test]
fn creation_refuses_a_disk_without_a_table() {
    assert_eq!(
        for_create_partition(&view(&blank()), BlankRule::Signatures),
        Err(Refusal::NoGpt(Verdict::Blank))
    );
    let mbr = view(&blank().with(510, [0x55, 0xAA]));
    let refusal = for_create_partition(&mbr, BlankRule::Signatures).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "it has no GUID partition table but holds master boot record at offset 510"
    );
}

#[test]
fn creation_refuses_any_other_partition() {
    for type_guid in [
        types::BASIC_DATA,
        types::EFI_SYSTEM,
        types::STORAGE_SPACES,
        Uuid::max(),
    ] {
        let view = view(&with_partition(SectorSize::B512, type_guid));
        let refusal = Refusal::Partitions { numbers: vec![1] };
        assert_eq!(
            for_create_partition(&view, BlankRule::Signatures),
            Err(refusal)
        );
    }
}

#[test]
fn creation_refuses_a_table_that_is_damaged_or_disagrees() {
    let initialised = initialised(SectorSize::B512);
    let damaged = view(&initialised.clone().with(LENGTH - 512, [0; 512]));
    let refusal = for_create_partition(&damaged, BlankRule::Signatures).unwrap_err();
    assert!(matches!(
        refusal,
        Refusal::DamagedGpt {
            primary: None,
            backup: Some(_)
        }
    ));
    assert_eq!(
        refusal.to_string(),
        "its partition table is damaged (primary: whole, backup: missing)"
    );
    let hybrid = view(&initialised.with(466, [0x07]));
    assert_eq!(
        for_create_partition(&hybrid, BlankRule::Signatures),
        Err(Refusal::DisagreeingGpt(Disagreement::NotProtective))
    );
}

#[test]
fn creation_refuses_what_stands_between_the_structures_of_the_table() {
    // Behind the header in its sector; behind the entries; in the reserved partition; before the
    // backup entries.
    for at in [512 + 92, 34 * 512, 3 * MIB, LENGTH - 33 * 512 - 1] {
        let view = view(&initialised(SectorSize::B512).with(at, [1]));
        assert_eq!(
            for_create_partition(&view, BlankRule::Strict),
            Err(Refusal::Unknown { first_nonzero: at })
        );
        assert_eq!(
            unknown(for_create_partition(&view, BlankRule::Signatures)),
            Some(at)
        );
    }
}

/// A filesystem on the whole disk with a later partition table, or the other way round: the table
/// is whole, and the filesystem's mark is still behind it.
#[test]
fn creation_refuses_a_format_that_stands_beside_the_table() {
    let tables = [
        Signature::Gpt,
        Signature::GptBackup,
        Signature::Mbr,
        Signature::ProtectiveMbr,
    ];
    let mut beside = 0;
    for fixture in fixtures::all() {
        if tables.contains(&fixture.signature) || fixture.image.length() % MIB != 0 {
            continue;
        }
        let alone = fixture.image.resized(LENGTH);
        let table = initialised(SectorSize::B512);
        let both = table
            .runs()
            .fold(alone.clone(), |image, (at, bytes)| image.with(at, bytes));
        match for_create_partition(&view(&both), BlankRule::Signatures) {
            Err(Refusal::Signatures(_)) => beside += 1,
            // The table's own bytes replaced the format's mark.
            Ok(_) => assert!(mark_is_within_the_table(&alone), "{}", fixture.name),
            Err(other) => panic!("{}: {other}", fixture.name),
        }
    }
    assert!(beside > 15, "only {beside} formats stood beside the table");
}

fn mark_is_within_the_table(image: &SparseImage) -> bool {
    let Verdict::Signatures(found) = scan(&view(image)) else {
        return false;
    };
    found
        .iter()
        .all(|found| found.offset < 34 * 512 || found.offset >= LENGTH - 33 * 512)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 5))]

    #[test]
    fn one_byte_anywhere_in_the_ranges_is_seen(
        at in prop_oneof![0..4 * MIB, LENGTH - MIB..LENGTH],
        byte in 1_u8..,
    ) {
        let view = view(&blank().with(at, [byte]));
        prop_assert_eq!(scan(&view), Verdict::Unknown { first_nonzero: at });
        prop_assert!(for_initialise(&view, BlankRule::Strict).is_err());
        prop_assert!(for_format(&view, BlankRule::Strict).is_err());
    }

    #[test]
    fn one_byte_beside_a_table_is_seen(
        at in prop_oneof![34 * 512..4 * MIB, LENGTH - MIB..LENGTH - 33 * 512],
        byte in 1_u8..,
    ) {
        let view = view(&initialised(SectorSize::B512).with(at, [byte]));
        let refusal = for_create_partition(&view, BlankRule::Strict);
        prop_assert_eq!(refusal, Err(Refusal::Unknown { first_nonzero: at }));
    }

    #[test]
    fn random_bytes_neither_panic_nor_pass_for_blank(
        sectors in 1_u64..40,
        runs in prop::collection::vec((0_u64..20_000, prop::collection::vec(any::<u8>(), 1..600)), 0..8),
    ) {
        let length = sectors * 512;
        let image = runs.iter().fold(SparseImage::zeros(length), |image, (at, bytes)| {
            image.with(at % length, bytes.clone())
        });
        let view = view(&image);
        prop_assert_eq!(scan(&view) == Verdict::Blank, view.first_nonzero().is_none());
        let _ = for_create_partition(&view, BlankRule::Strict);
    }
}
