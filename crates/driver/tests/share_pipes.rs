//! What holds of shares in process holds over csi-proxy's pipes: the same cases, with a proxy in this process that serves
//! the simulated node.

#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

#[path = "shares/crash.rs"]
mod crash;
#[path = "deaths/mod.rs"]
mod deaths;
#[path = "shares/fixture.rs"]
mod fixture;
#[path = "shares/life.rs"]
mod life;
#[path = "shares/servers.rs"]
mod servers;
mod support;
#[path = "shares/upstream.rs"]
mod upstream;
#[path = "shares/users.rs"]
mod users;

use std::path::Path;
use std::time::Duration;
use std::{fs, thread};

use transport::Code;
use wincsi::sim::{Effect, Rule};
use wincsi::{Feature, Win32};
use wincsi_driver::record::Lifetime;

use self::fixture::{Fixture, Host, POD, Volume, volume};

const HOST: Host = Host::Pipes;

/// Only a test that has failed already waits so long.
const LONG: Duration = Duration::from_secs(60);

/// The cases of tests/shares that do not run here, or how the names of several begin, each with what they need and the
/// pipes lack.
const LEFT_OUT: [(Feature, &[&str]); 4] = [
    (
        Feature::EntryLooks,
        &[
            "folders::",
            "renewal::a_link_of_a_share_is_swept_after_a_reboot",
            "strays::",
            "takeover::",
        ],
    ),
    (
        Feature::MappingList,
        &[
            "crowd::",
            "deadlines::",
            "doctor::",
            "ill_servers::",
            "inline::",
            "leases::",
            "others::",
            "random::",
            "renewal::a_mapping_of_others_serves",
            "renewal::a_mapping_that_is_made_in_place_of_anothers",
            "renewal::a_publish_that_renews_on_a_slow_node",
            "renewal::a_publish_without_secrets_makes_no_link_to_a_share_that_is_not_mapped",
            "renewal::a_stage_that_failed_leaves_the_credential",
            "strangers::",
        ],
    ),
    (Feature::SpaceByPath, &["renewal::figures_of_a_share"]),
    (
        Feature::SystemIdentity,
        &[
            "renewal::a_new_address_counts_after_a_reboot",
            "renewal::a_new_user_counts_also_after_a_restart",
            "renewal::a_publish_that_cannot_map_a_share_again",
            "renewal::a_publish_with_secrets_maps_a_share_again_after_a_reboot",
            "renewal::a_publish_without_secrets_makes_no_link_to_what_another_mapped",
            "renewal::a_stage_that_is_refused_after_a_reboot",
            "renewal::an_unfinished_stage_unmaps_nothing_of_a_new_boot",
            "renewal::volumes_of_one_server_get_a_new_user_after_a_reboot",
        ],
    ),
];

fn left_out() -> impl Iterator<Item = (&'static str, Feature)> {
    let groups = LEFT_OUT.into_iter();
    groups.flat_map(|(lacks, cases)| cases.iter().map(move |case| (*case, lacks)))
}

#[test]
fn every_case_runs_here_or_is_left_out_by_name() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/shares");
    let mut unused = Vec::from_iter(left_out().map(|(names, _)| names));
    for file in folder.read_dir().unwrap() {
        let file = file.unwrap().path();
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let here = format!("#[path = \"shares/{name}.rs\"]");
        let file = if file.is_dir() {
            file.join("mod.rs")
        } else {
            file
        };
        let text = fs::read_to_string(&file).unwrap();
        for case in text.split("#[test]\nfn ").skip(1) {
            let case = format!("{name}::{}", case.split_once('(').unwrap().0);
            let is_it = |(names, _): &(&str, Feature)| case.starts_with(names);
            let is_left_out = left_out().filter(is_it).count() == 1;
            assert_ne!(
                include_str!("share_pipes.rs").contains(&here),
                is_left_out,
                "{case}"
            );
            unused.retain(|names| !case.starts_with(names));
        }
    }
    assert_eq!(unused, [""; 0]);
}

#[test]
fn what_cases_are_left_out_for_the_pipes_do_lack() {
    let fixture = Fixture::new();
    for (case, feature) in left_out() {
        assert!(!fixture.host_supports(feature), "{case}: {feature}");
    }
}

#[test]
fn a_look_over_pipes_says_what_it_does_not_see() {
    let fixture = Fixture::new();
    fixture.stage(&volume("pv")).unwrap();
    let report = fixture.examine();
    let outcome = (report.findings.len(), report.exit_code());
    assert_eq!(outcome, (0, 0), "{report}");
    let unseen = report.unseen.iter().map(|one| one.check.as_str());
    let expected = [
        "server-away",
        "share-not-mapped",
        "mapping-not-ok",
        "mappings-unused",
        "session-unused",
    ];
    assert_eq!(Vec::from_iter(unseen), expected);
}

/// Who hangs behind the pipes is not known: csi-proxy is.
#[test]
fn a_csi_proxy_that_is_silent_or_gone_is_found() {
    let mut fixture = Fixture::new();
    let found = |fixture: &Fixture| {
        let findings = fixture.examine().findings.into_iter();
        Vec::from_iter(findings.map(|one| (one.check, one.object)))
    };
    let finding = |check: &str, object: &str| [(check.to_owned(), object.to_owned())];
    let hang = Rule::on("GetFileAttributesExW", Effect::Hang);
    let faults = fixture.faults().clone();
    let hang = faults.add(hang);
    assert_eq!(found(&fixture), finding("node-hangs", "csi-proxy"));
    faults.remove(hang);
    fs::remove_dir_all(fixture.home().join("sockets")).unwrap();
    fixture.restart_driver();
    assert_eq!(found(&fixture), finding("node-fails", ""));
}

#[test]
fn an_inline_volume_is_refused_by_name_as_the_pipes_list_no_mappings() {
    let fixture = Fixture::new();
    let inline = Volume {
        lifetime: Lifetime::Inline,
        ..volume("csi-1")
    };
    let error = fixture.publish_inline(&inline, POD).unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition, "{error}");
    assert!(error.to_string().contains("mapping-list"), "{error}");
    assert_eq!((fixture.records(), fixture.mappings().len()), (0, 0));
}

/// csi-proxy refuses it, and no later call is answered otherwise.
#[test]
fn a_path_outside_kubelets_folder_is_refused_for_good() {
    let fixture = Fixture::new();
    let elsewhere = Volume {
        kubelet: r"C:\elsewhere",
        ..volume("pv")
    };
    let (stage, unstage) = (fixture.stage(&elsewhere), fixture.unstage(&elsewhere));
    fixture.stage(&volume("pv")).unwrap();
    let outside = elsewhere.target(POD);
    let published = fixture.publish_at(&volume("pv"), &outside);
    let unpublished = fixture.unpublish(&elsewhere, POD);
    for refused in [stage, unstage, published, unpublished] {
        let refused = refused.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
    }
    fixture.unstage(&volume("pv")).unwrap();
    assert_eq!((fixture.mappings().len(), fixture.records()), (0, 0));
}

/// A driver died while it unstaged both, so neither uses the share any more. One call unmaps it; the other leaves that to
/// it, and one that would stage is repeated.
#[test]
fn two_volumes_leave_a_share_while_one_of_them_has_it_unmapped() {
    let mut fixture = Fixture::new();
    let faults = fixture.faults().clone();
    let volumes = [volume("one"), volume("other")];
    for volume in &volumes {
        fixture.stage(volume).unwrap();
    }
    let denied = Rule::on(
        "SetFileInformationByHandle",
        Effect::fail(Win32::ACCESS_DENIED),
    );
    faults.add(denied);
    for volume in &volumes {
        fixture.unstage(volume).unwrap_err();
    }
    faults.clear();
    fixture.restart_driver();
    let hang = faults.add(Rule::on("MSFT_SmbGlobalMapping.Remove", Effect::Hang));
    let [one, other] = &volumes;
    thread::scope(|scope| {
        let unmapping = scope.spawn(|| fixture.unstage(one));
        assert!(faults.wait_until_hanging(1, LONG));
        fixture.unstage(other).unwrap();
        let early = fixture.stage(&volume("third")).unwrap_err();
        assert_eq!(early.code(), Code::Aborted, "{early}");
        faults.remove(hang);
        unmapping.join().unwrap().unwrap();
    });
    assert_eq!((fixture.mappings().len(), fixture.records()), (0, 0));
    fixture.stage(&volume("third")).unwrap();
}

/// The call that leaves it to the other knows nothing of that failure.
#[test]
fn a_mapping_stays_ours_if_its_removal_fails() {
    let mut fixture = Fixture::new();
    let faults = fixture.faults().clone();
    let [one, other] = ["one", "other"].map(volume);
    for volume in [&one, &other] {
        fixture.stage(volume).unwrap();
    }
    let denied = Effect::fail(Win32::ACCESS_DENIED);
    let links = faults.add(Rule::on("SetFileInformationByHandle", denied.clone()));
    for volume in [&one, &other] {
        fixture.unstage(volume).unwrap_err();
    }
    faults.remove(links);
    fixture.restart_driver();
    faults.add(Rule::on("MSFT_SmbGlobalMapping.Remove", denied));
    let hang = faults.add(Rule::on("IWbemServices.ExecQuery", Effect::Hang));
    thread::scope(|scope| {
        let unmapping = scope.spawn(|| fixture.unstage(&one));
        assert!(faults.wait_until_hanging(1, LONG));
        fixture.unstage(&other).unwrap();
        faults.remove(hang);
        unmapping.join().unwrap().unwrap_err();
    });
    faults.clear();
    fixture.unstage(&one).unwrap();
    assert_eq!((fixture.mappings().len(), fixture.records()), (0, 0));
}

/// No link can be read there.
#[test]
fn a_volume_of_an_unreadable_record_uses_each_share() {
    let mut fixture = Fixture::new();
    fixture.stage(&volume("unreadable")).unwrap();
    fixture.stop_driver();
    for (file, text) in fixture.copy_of_records() {
        fs::write(file, text.replace(r#""version":3"#, r#""version":4"#)).unwrap();
    }
    fixture.restart_driver();
    fixture.stage(&volume("other")).unwrap();
    fixture.unstage(&volume("other")).unwrap();
    assert_eq!(fixture.mappings().len(), 1);
}
