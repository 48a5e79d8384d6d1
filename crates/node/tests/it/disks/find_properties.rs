//! Properties of every search for a disk, for any query and any disks.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use formats::location::Location;
use os::DiskNumber;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use wincsi_node::{
    Criterion, DiskQuery, Excluded, Guarded, NamespaceConvention, Page83, SeenDisk, SerialNumber,
};

/// Few values, so that disks are alike in much.
fn few() -> std::ops::Range<u32> {
    0..3
}

fn digits() -> impl Strategy<Value = Option<String>> {
    option::of(few().prop_map(|number| number.to_string()))
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        few().prop_map(|number| format!("disk-{number}")),
        "disk-?1-?1",
    ]
}

/// A chosen name. Names of digits only are shorter than an identifier, whose hyphens do not count.
fn chosen() -> impl Strategy<Value = String> {
    prop_oneof!["[0-9-]{1,15}", "disk-?1-?1", "disk[0-9-]{1,40}"]
}

fn location() -> impl Strategy<Value = Location> {
    (digits(), digits(), digits(), digits(), digits()).prop_map(
        |(adapter, bus, port, target, lun)| Location {
            adapter,
            bus,
            port,
            target,
            lun,
            other: Vec::new(),
        },
    )
}

fn excluded() -> impl Strategy<Value = Excluded> {
    prop_oneof![
        Just(Excluded::Guarded(Guarded::Boot)),
        Just(Excluded::Silent("gone".to_owned())),
    ]
}

fn disk() -> impl Strategy<Value = SeenDisk> {
    (
        option::of(location()),
        option::of(few()),
        vec(name(), 0..3),
        option::of(name()),
        option::of(few()),
        option::weighted(0.2, excluded()),
    )
        .prop_map(
            |(location, namespace, identifiers, serial, size, excluded)| {
                let mut seen = SeenDisk::numbered(DiskNumber(0));
                seen.location = location;
                seen.namespace = namespace;
                seen.identifiers = identifiers;
                seen.serial = serial;
                seen.size = size.map(u64::from);
                seen.excluded = excluded;
                seen
            },
        )
}

fn disks() -> impl Strategy<Value = Vec<SeenDisk>> {
    vec(disk(), 0..8).prop_map(|disks| {
        let numbered = (0..).zip(disks);
        numbered
            .map(|(number, mut disk)| {
                disk.number = DiskNumber(number);
                disk
            })
            .collect()
    })
}

fn criterion() -> impl Strategy<Value = Criterion> {
    let convention = prop_oneof![
        Just(NamespaceConvention::NsidMinusOne),
        Just(NamespaceConvention::NsidMinusTwo),
    ];
    prop_oneof![
        few().prop_map(Criterion::Adapter),
        few().prop_map(Criterion::Bus),
        few().prop_map(Criterion::Lun),
        few().prop_map(Criterion::Namespace),
        few().prop_map(Criterion::Port),
        few().prop_map(|bytes| Criterion::Size(bytes.into())),
        few().prop_map(Criterion::Target),
        (few(), convention).prop_map(|(lun, convention)| Criterion::NvmeLun { lun, convention }),
        name().prop_map(|name| Criterion::Serial(SerialNumber::parse(&name).unwrap())),
        name().prop_map(|name| Criterion::Page83(Page83::parse(&name).unwrap())),
    ]
}

/// A disk that may be written, and a name that it has.
fn named_disk() -> impl Strategy<Value = (SeenDisk, Criterion)> {
    (disk(), name(), any::<bool>()).prop_map(|(mut disk, name, is_serial)| {
        disk.excluded = None;
        let known = match is_serial {
            true => Criterion::Serial(SerialNumber::parse(&name).unwrap()),
            false => Criterion::Page83(Page83::parse(&name).unwrap()),
        };
        match is_serial {
            true => disk.serial = Some(name),
            false => disk.identifiers.push(name),
        }
        (disk, known)
    })
}

/// One of the things that are seen of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Excluded,
    Identifiers,
    Location,
    Namespace,
    Number,
    Serial,
    Size,
}

fn field() -> impl Strategy<Value = Field> {
    prop_oneof![
        Just(Field::Excluded),
        Just(Field::Identifiers),
        Just(Field::Location),
        Just(Field::Namespace),
        Just(Field::Number),
        Just(Field::Serial),
        Just(Field::Size),
    ]
}

impl Field {
    /// Gives a disk this field of another, and leaves the rest as it is.
    fn exchange(self, disk: &mut SeenDisk, other: SeenDisk) {
        match self {
            Self::Excluded => disk.excluded = other.excluded,
            Self::Identifiers => disk.identifiers = other.identifiers,
            Self::Location => disk.location = other.location,
            Self::Namespace => disk.namespace = other.namespace,
            Self::Number => disk.number = DiskNumber(1),
            Self::Serial => disk.serial = other.serial,
            Self::Size => disk.size = other.size,
        }
    }
}

fn matching(query: &DiskQuery, disks: &[SeenDisk]) -> Vec<DiskNumber> {
    let free = disks.iter().filter(|disk| disk.excluded.is_none());
    let found = free.filter(|disk| query.matches(disk));
    found.map(|disk| disk.number).collect()
}

proptest! {
    #[test]
    fn a_disk_of_another_chosen_name_never_matches(wanted in chosen(), own in chosen()) {
        prop_assume!(wanted != own);
        let serial = SerialNumber::parse(&wanted).map(Criterion::Serial);
        let page83 = Page83::parse(&wanted).map(Criterion::Page83);
        let mut seen = SeenDisk::numbered(DiskNumber(0));
        seen.identifiers = vec![own.clone(), format!("Google  PersistentDisk  {own}")];
        seen.serial = Some(own);
        for known in [serial, page83].into_iter().flatten() {
            prop_assert!(!DiskQuery::all([known]).unwrap().matches(&seen), "{wanted} {seen}");
        }
    }

    #[test]
    fn one_more_thing_that_is_known_adds_no_candidate(
        disks in disks(),
        known in vec(criterion(), 1..4),
        more in criterion(),
    ) {
        let Ok(less) = DiskQuery::all(known.clone()) else { return Ok(()) };
        let most = DiskQuery::all(known.into_iter().chain([more])).unwrap();
        let (before, after) = (matching(&less, &disks), matching(&most, &disks));
        prop_assert!(after.iter().all(|number| before.contains(number)), "{before:?} {after:?}");
    }

    #[test]
    fn the_order_of_what_is_known_does_not_matter(disks in disks(), known in vec(criterion(), 1..5)) {
        let Ok(query) = DiskQuery::all(known.clone()) else { return Ok(()) };
        let turned = DiskQuery::all(known.into_iter().rev()).unwrap();
        prop_assert_eq!(matching(&query, &disks), matching(&turned, &disks));
    }

    #[test]
    fn exactly_one_is_found_and_all_others_are_an_error_with_every_disk_in_it(
        disks in disks(),
        known in vec(criterion(), 1..4),
    ) {
        let Ok(query) = DiskQuery::all(known) else { return Ok(()) };
        let candidates = matching(&query, &disks);
        match query.sole(disks.clone()) {
            Ok(found) => {
                prop_assert_eq!(candidates, [found.number()]);
                let mut silent = disks.iter().filter(|disk| {
                    matches!(disk.excluded, Some(Excluded::Silent(_)))
                });
                prop_assert!(silent.all(|disk| query.contradicts(disk)));
                prop_assert!(found.is_still(found.seen()));
            }
            Err(error) => {
                prop_assert!(candidates.len() != 1 || error.uncertain().next().is_some());
                let named: Vec<_> = error.candidates().map(|disk| disk.number).collect();
                prop_assert_eq!(named, candidates);
                let text = error.to_string();
                prop_assert!(disks.iter().all(|disk| text.contains(&disk.to_string())), "{}", text);
            }
        }
    }

    #[test]
    fn a_disk_that_differs_in_one_thing_but_for_its_growth_is_not_the_one_that_was_found(
        (was, name) in named_disk(),
        is_sized in any::<bool>(),
        other in disk(),
        field in field(),
    ) {
        let size = was.size.filter(|_| is_sized).map(Criterion::Size);
        let may_grow = size.is_none();
        let query = DiskQuery::all([name].into_iter().chain(size)).unwrap();
        let found = query.sole(vec![was.clone()]).unwrap();
        let mut now = was.clone();
        field.exchange(&mut now, other);
        let has_grown = field == Field::Size && now.size > was.size && may_grow;
        prop_assert_eq!(found.is_still(&now), now == was || has_grown, "{} {}", was, now);
    }
}
