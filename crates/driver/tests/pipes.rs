//! What holds in process holds over csi-proxy's pipes: the same cases, with a proxy in this process that serves the
//! simulated node.

#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

#[path = "disks/away.rs"]
mod away;
#[path = "disks/crash.rs"]
mod crash;
#[path = "deaths/mod.rs"]
mod deaths;
#[path = "disks/fixture/mod.rs"]
mod fixture;
#[path = "disks/health.rs"]
mod health;
#[path = "disks/inventories.rs"]
mod inventories;
#[path = "disks/late.rs"]
mod late;
#[path = "disks/life.rs"]
mod life;
#[path = "disks/machines.rs"]
mod machines;
#[path = "disks/reconcile.rs"]
mod reconcile;
#[path = "disks/repeated.rs"]
mod repeated;
mod support;
#[path = "disks/unstage.rs"]
mod unstage;

use std::fs;
use std::path::Path;

use transport::Code;
use wincsi::Feature;
use wincsi::disks::{Criterion, DiskQuery, NamespaceConvention};
use wincsi::volumes::FileSystemType;
use wincsi_driver::kinds::block::Choice;
use wincsi_driver::life::CallError;
use wincsi_driver::record::Access;

use self::deaths::Mortal as _;
use self::fixture::{Fixture, GIB, Host, STAGING, TARGET, VOLUME};
use self::support::requests::{map, request_at};

const HOST: Host = Host::Pipes;

const MIB: u64 = 1 << 20;

/// The cases of tests/disks that do not run here, each with what it needs and the pipes lack.
const LEFT_OUT: [(Feature, &[&str]); 7] = [
    (
        Feature::CheckedOffline,
        &[
            "intruder::an_offline_disk_in_the_place_of_one_that_moved_is_offline_after_the_stage",
            "intruder::an_offline_disk_in_the_place_of_that_of_readers_is_offline_after_the_stage",
            "intruder::an_online_disk_in_the_place_of_that_of_readers_stays_writable",
            "intruder::an_unstage_leaves_a_disk_in_the_place_online",
        ],
    ),
    (
        Feature::ContentLooks,
        &[
            "refused::a_cleared_disk_is_partitioned_and_not_formatted",
            "refused::a_disk_that_cannot_be_read_is_left_to_the_proof",
            "refused::a_refused_disk_stays_as_it_was",
            "refused::what_windows_may_mount_is_not_refused_early",
        ],
    ),
    (
        Feature::EntryLooks,
        &[
            "sweeps::a_dangling_folder_without_a_record_goes_unless_a_pods_link_leads_to_it",
            "sweeps::a_volume_that_hangs_keeps_no_other_from_its_look_and_its_own_look_ends",
            "sweeps::a_volume_that_is_away_after_a_reboot_is_abnormal_and_its_dangling_folder_goes",
        ],
    ),
    (
        Feature::ReadOnlyDisks,
        &[
            "failures::a_final_code_leaves_nothing_and_never_comes_where_something_was_before",
            "readers::a_disk_of_one_node_that_a_reboot_made_writable_is_made_read_only_before_a_pod_has_it",
            "readers::a_disk_of_one_node_that_came_online_writable_is_made_read_only",
            "readers::a_disk_of_readers_that_a_reboot_made_writable_stays_mounted_while_it_has_a_drive_letter",
            "readers::a_failed_stage_has_its_disk_after_a_restart",
            "readers::a_shared_disk_that_a_reboot_made_writable_is_published_to_no_pod",
            "readers::a_shared_disk_that_became_writable_is_refused_by_a_repeated_stage",
            "readers::a_shared_disk_that_came_online_writable_is_refused_and_left_as_it_is",
            "readers::a_stage_looks_for_others_also_after_its_record",
            "readers::of_a_writer_and_a_reader_that_are_staged_side_by_side_one_at_most_has_the_disk",
            "readers::one_disk_under_two_keys_is_one_conflict",
            "readers::readers_get_their_disk_read_only_and_a_blank_one_is_not_formatted_for_them",
            "readers::readers_volumes_do_not_grow_and_get_no_label",
            "readers::the_disk_of_readers_is_no_writers_by_whatever_name",
            "readers::the_disk_of_readers_is_online_read_only_and_shows_its_files",
            "readers::the_disk_of_readers_stays_read_only_over_a_reboot",
        ],
    ),
    (
        Feature::SmallGrowth,
        &[
            "growth::a_volume_grows_by_one_mib_while_a_pod_has_it",
            "growth::a_volume_whose_disk_grew_by_one_mib_grows_when_it_is_staged",
            "growth::an_expand_of_slow_steps_has_one_deadline",
        ],
    ),
    (
        Feature::SystemIdentity,
        &["sweeps::a_node_that_hangs_ends_the_comparison_and_leaves_its_volumes_to_calls"],
    ),
    (
        Feature::WriteProtection,
        &[
            "protected::a_device_that_answers_by_windows_attribute_is_none_that_is_protected",
            "protected::a_device_that_does_not_say_is_not_taken_for_protected",
            "protected::a_protected_disk_in_use_is_served_as_it_is",
            "protected::a_repeated_stage_leaves_readers_of_a_protected_device_alone",
            "protected::a_shared_disk_that_came_online_on_a_protected_device_is_served",
            "protected::a_writer_is_refused_by_name_and_the_protected_device_left_as_it_is",
            "protected::a_writer_whose_device_became_protected_stays_staged",
        ],
    ),
];

fn left_out() -> impl Iterator<Item = (&'static str, Feature)> {
    let groups = LEFT_OUT.into_iter();
    groups.flat_map(|(lacks, cases)| cases.iter().map(move |case| (*case, lacks)))
}

/// The client of the pipes waits by the machine's clock, which no test moves.
const LEFT_TO_A_CLOCK: [&str; 4] = [
    "deadlines::a_call_ends_when_its_client_waits_no_more",
    "deadlines::a_call_whose_time_is_over_starts_no_step",
    "deadlines::a_format_that_outlives_its_call_is_joined",
    "deadlines::an_undo_ends_with_its_call",
];

/// Volumes that the driver attaches itself: csi-proxy ends no single session, and the test's own source is in this process.
const OF_ANOTHER_KIND: [&str; 10] = [
    "collect",
    "doctor",
    "doctor_random",
    "iscsi",
    "iscsi_logins",
    "iscsi_others",
    "iscsi_random",
    "iscsi_secrets",
    "kinds",
    "patient",
];

#[test]
fn every_case_runs_here_or_is_left_out_by_name() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/disks");
    let mut absent = Vec::new();
    for file in folder.read_dir().unwrap() {
        let file = file.unwrap().path();
        let is_module = file.extension().is_some_and(|extension| extension == "rs");
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        if is_module && !OF_ANOTHER_KIND.contains(&name.as_str()) && !runs_here(&name) {
            let text = fs::read_to_string(&file).unwrap();
            absent.extend(cases(&text).map(|case| format!("{name}::{case}")));
        }
    }
    absent.sort();
    let mut left_out = Vec::from_iter(left_out().map(|(case, _)| case));
    left_out.extend(LEFT_TO_A_CLOCK);
    left_out.sort_unstable();
    assert_eq!(absent, left_out);
}

fn runs_here(file: &str) -> bool {
    include_str!("pipes.rs").contains(&format!("#[path = \"disks/{file}.rs\"]"))
}

fn cases(text: &str) -> impl Iterator<Item = &str> {
    let cases = text.split("#[test]\nfn ").skip(1);
    cases.filter_map(|case| Some(case.split_once('(')?.0))
}

#[test]
fn what_cases_are_left_out_for_the_pipes_do_lack() {
    let fixture = Fixture::new();
    for (case, feature) in left_out() {
        assert!(!fixture.host_supports(feature), "{case}: {feature}");
    }
}

#[test]
fn what_the_pipes_lack_is_refused_by_name_before_anything_is_touched() {
    let refs = FileSystemType::Refs;
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
fn an_iscsi_volume_is_refused_by_name_and_nothing_is_called() {
    let stage = |fixture: &Fixture| {
        let iqn = "iqn.2026-01.com.example:data";
        let context = map(&[("portal", "10.0.0.9"), ("iqn", iqn), ("lun", "0")]);
        fixture.take_trace();
        let staged = request_at(VOLUME, [STAGING, TARGET], &context, &map(&[]), |request| {
            fixture.call().stage(request)
        });
        assert_eq!(fixture.take_trace(), []);
        let text = staged.as_ref().unwrap_err().to_string();
        assert!(
            text.contains("needs the sessions of an iSCSI volume"),
            "{text}"
        );
        staged
    };
    refuses_to(stage, Feature::SessionList, small());
}

#[test]
fn a_growth_that_the_pipes_leave_undone_is_refused_with_the_size_that_works() {
    let mut fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.publish(TARGET).unwrap();
    let before = fixture.stats(TARGET).unwrap().total;
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
        assert_eq!(fixture.stats(TARGET).unwrap().total, before);
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

/// csi-proxy refuses it, and no later call is answered otherwise.
#[test]
fn a_path_outside_kubelets_folder_is_refused_for_good() {
    let fixture = Fixture::new();
    let outside = r"C:\elsewhere\globalmount";
    let stage = fixture.stage_at(outside);
    assert_eq!(fixture.records(), 0);
    assert!(!fixture.is_online());
    let unstage = fixture.unstage_at(outside);
    fixture.stage().unwrap();
    let (publish, unpublish) = (fixture.publish(outside), fixture.unpublish(outside));
    for refused in [stage, unstage, publish, unpublish] {
        let refused = refused.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
    }
    fixture.unstage().unwrap();
}

/// What leads nowhere is removed where the driver can tell it from a link that leads somewhere.
#[test]
fn a_start_reports_a_volume_that_is_away_and_leaves_its_staging_path() {
    let mut fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.pull_out();
    fixture.reboot();
    let outcome = fixture.reconcile();
    assert!(outcome.removed.is_empty(), "{outcome:?}");
    let line = r#"wincsi_volume_abnormal{volume="vol-1"} 1"#;
    assert!(fixture.metrics().contains(line), "{}", fixture.metrics());
    assert!(fixture.exists(STAGING));
    fixture.plug_in();
    fixture.publish(TARGET).unwrap();
    fixture.reconcile();
    assert!(!fixture.metrics().contains(line));
}

#[test]
fn an_unstage_without_a_record_of_a_disk_that_was_pulled_out_is_repeated_until_it_is_back() {
    let mut fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.pull_out();
    fixture.forget();
    let error = fixture.unstage().unwrap_err();
    assert_eq!(error.code(), Code::Unavailable, "{error}");
    assert!(error.to_string().contains(STAGING), "{error}");
    assert!(fixture.exists(STAGING));
    fixture.plug_in();
    fixture.unstage().unwrap();
    assert!(!fixture.exists(STAGING));
}

#[test]
fn a_volume_that_did_not_grow_is_no_growth_left_undone() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    let size = fixture.stats(STAGING).unwrap().total;
    assert_eq!(fixture.expand(STAGING, 2 * GIB).unwrap(), size);
    fixture.grow(2 * GIB + 4096);
    assert_eq!(fixture.expand(STAGING, 2 * GIB).unwrap(), size);
}

/// Read whole, before and after.
fn small() -> Fixture {
    Fixture::of_length(64 << 20)
}

fn refuses(lacking: Feature, fixture: Fixture) {
    refuses_to(Fixture::stage, lacking, fixture);
}

fn refuses_to(stage: fn(&Fixture) -> Result<(), CallError>, lacking: Feature, fixture: Fixture) {
    // The first look at a simulated drive makes its folder.
    assert!(!fixture.exists(STAGING));
    let before = fixture.snapshot();
    let error = stage(&fixture).unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition, "{error}");
    assert!(error.to_string().contains(lacking.name()), "{error}");
    let CallError::HostLacks { feature, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(feature, lacking);
    assert!(
        fixture.snapshot() == before,
        "{lacking}: something was touched"
    );
}
