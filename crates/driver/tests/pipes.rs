//! What holds in process holds over csi-proxy's pipes: the same cases, with a proxy in this process that serves the
//! simulated node.

#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

#[path = "deaths/mod.rs"]
mod deaths;
#[path = "disks/fixture/mod.rs"]
mod fixture;
#[path = "disks/health.rs"]
mod health;
#[path = "disks/life.rs"]
mod life;

use std::collections::BTreeSet;
use std::path::Path;

use transport::Code;
use wincsi::Feature;
use wincsi::disks::{Criterion, DiskQuery, NamespaceConvention};
use wincsi_driver::record::{Access, Choice, FileSystem};
use wincsi_driver::volume::disk::StageError;

use self::deaths::Mortal as _;
use self::fixture::{Fixture, GIB, Host, STAGING, TARGET};

const HOST: Host = Host::Pipes;

const MIB: u64 = 1 << 20;

/// Why cases of tests/disks do not run here.
#[derive(Clone, Copy)]
enum Needs {
    /// What the pipes lack.
    Feature(Feature),
    /// A clock that does not run while the driver waits for a disk.
    Clock,
    /// A node whose operations are held or counted, which the pipes do not change.
    Operations,
}

const LEFT_OUT: [(&str, Needs); 10] = [
    ("away", Needs::Clock),
    ("crash", Needs::Operations),
    ("growth", Needs::Feature(Feature::SmallGrowth)),
    ("inventories", Needs::Feature(Feature::GuardedDisks)),
    ("late", Needs::Clock),
    ("machines", Needs::Feature(Feature::DeviceCriteria)),
    ("protected", Needs::Feature(Feature::WriteProtection)),
    ("readers", Needs::Feature(Feature::ReadOnlyDisks)),
    ("reconcile", Needs::Feature(Feature::EntryLooks)),
    ("unstage", Needs::Feature(Feature::CheckedOffline)),
];

#[test]
fn every_file_of_cases_runs_here_or_is_left_out_by_name() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/disks");
    let files = folder.read_dir().unwrap();
    let files = files.filter_map(|file| {
        let name = file.unwrap().file_name().into_string().unwrap();
        let name = name.strip_suffix(".rs")?;
        (name != "main").then(|| name.to_owned())
    });
    let left_out = LEFT_OUT.iter().map(|(name, _)| *name);
    let expected: BTreeSet<_> = left_out
        .chain(["health", "life"])
        .map(str::to_owned)
        .collect();
    assert_eq!(files.collect::<BTreeSet<_>>(), expected);
}

#[test]
fn what_cases_are_left_out_for_the_pipes_do_lack() {
    let fixture = Fixture::new();
    for (name, needs) in LEFT_OUT {
        if let Needs::Feature(feature) = needs {
            assert!(!fixture.host_supports(feature), "{name}: {feature}");
        }
    }
}

#[test]
fn what_the_pipes_lack_is_refused_by_name_before_anything_is_touched() {
    let refs = FileSystem::Refs;
    let label = String::from("data");
    let choices = [
        Choice {
            file_system: refs,
            ..Choice::default()
        },
        Choice {
            allocation_unit: Some(65_536),
            ..Choice::default()
        },
        Choice {
            label,
            ..Choice::default()
        },
        Choice {
            root_acl: Some(String::from("D:(A;OICI;FA;;;SY)")),
            ..Choice::default()
        },
    ];
    for choice in choices {
        refuses(Feature::FormatOptions, small().formatted_with(choice));
    }
    for access in [Access::ReadOnly, Access::SharedReadOnly] {
        refuses(Feature::ReadOnlyDisks, small().for_readers(access));
        let protected = small().for_readers(access);
        protected.write_protect();
        refuses(Feature::ReadOnlyDisks, protected);
    }
}

#[test]
fn criteria_that_the_pipes_lack_are_refused_by_name_before_anything_is_touched() {
    let lun = |convention| Criterion::NvmeLun { lun: 1, convention };
    for criterion in [
        lun(NamespaceConvention::NsidMinusTwo),
        Criterion::Namespace(2),
        Criterion::Port(0),
    ] {
        let place = [Criterion::Adapter(1), Criterion::Lun(1), criterion];
        let query = DiskQuery::all(place).unwrap();
        refuses(
            Feature::DeviceCriteria,
            small().identified_by(&query.to_record()),
        );
    }
}

#[test]
fn a_growth_that_the_pipes_leave_undone_is_refused_with_the_size_that_works() {
    let mut fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.publish(TARGET).unwrap();
    let before = fixture.stats(TARGET).unwrap().usage.total;
    for mib in [1, 52] {
        fixture.grow(2 * GIB + mib * MIB);
        for _ in 0..2 {
            let error = fixture.expand(TARGET, 2 * GIB + mib * MIB).unwrap_err();
            assert_eq!(error.code(), Code::OutOfRange, "{error}");
            let least = (2 * GIB + 100 * MIB).to_string();
            assert!(error.to_string().contains(&least), "{error}");
            fixture.restart_driver();
            fixture.stage().unwrap();
        }
        assert_eq!(fixture.stats(TARGET).unwrap().usage.total, before);
    }
    fixture.grow(2 * GIB + 100 * MIB);
    for _ in 0..2 {
        let size = fixture.expand(TARGET, 2 * GIB + 100 * MIB).unwrap();
        assert_eq!(size, before + 100 * MIB);
    }
    fixture.grow(2 * GIB + 199 * MIB);
    let error = fixture.expand(TARGET, 2 * GIB + 199 * MIB).unwrap_err();
    assert_eq!(error.code(), Code::OutOfRange, "{error}");
}

#[test]
fn a_volume_that_did_not_grow_is_no_growth_left_undone() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    let size = fixture.stats(STAGING).unwrap().usage.total;
    assert_eq!(fixture.expand(STAGING, 2 * GIB).unwrap(), size);
    fixture.grow(2 * GIB + 4096);
    assert_eq!(fixture.expand(STAGING, 2 * GIB).unwrap(), size);
}

/// Read whole, before and after.
fn small() -> Fixture {
    Fixture::of_length(64 << 20)
}

fn refuses(lacking: Feature, fixture: Fixture) {
    let before = fixture.snapshot();
    let error = fixture.stage().unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition, "{error}");
    assert!(error.to_string().contains(lacking.name()), "{error}");
    let StageError::HostLacks { feature, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(feature, lacking);
    assert!(
        fixture.snapshot() == before,
        "{lacking}: something was touched"
    );
}
