//! What a look at shares says, and what it does not wait for. Each sickness is in disks/doctor.rs.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use wincsi::Win32;
use wincsi::sim::smb::ServerHealth::Down;
use wincsi::sim::smb::ServerSpec;
use wincsi::sim::{Effect, Rule};
use wincsi_driver::doctor::Severity;

use crate::fixture::{Fixture, PASSWORD, POD, ROOT, SERVER, SHARE, USER, Volume, volume};

/// More than a question may take.
const ANSWER: Duration = Duration::from_secs(6);

/// What is asked for mappings.
const PROVIDER: &str = "Windows's SMB provider";

/// A node with a share in a pod.
fn healthy() -> Fixture {
    let fixture = Fixture::new();
    fixture.stage(&volume("pv")).unwrap();
    fixture.publish(&volume("pv"), POD).unwrap();
    assert_eq!(fixture.found(), [""; 0]);
    fixture
}

fn hang_mappings(fixture: &Fixture) {
    let hangs = Rule::on("IWbemServices.ExecQuery", Effect::Hang);
    fixture.fault(hangs.object("MSFT_SmbGlobalMapping"));
}

/// The objects of what a look finds, in which time passes for what hangs.
fn found_of_hanging(fixture: &Fixture) -> Vec<String> {
    let report = thread::scope(|scope| {
        let looks = scope.spawn(|| fixture.examine());
        fixture.wait_for_hang(1);
        fixture.let_pass(ANSWER);
        looks.join().unwrap()
    });
    fixture.heal();
    let findings = report.findings.into_iter();
    findings.map(|one| one.object).collect()
}

#[test]
fn a_finding_names_server_and_volumes() {
    let fixture = healthy();
    fixture.set_server(SERVER, Down);
    let report = fixture.examine();
    let [finding] = report.findings.as_slice() else {
        panic!("{report}");
    };
    assert_eq!(
        (finding.object.as_str(), finding.severity),
        (SERVER, Severity::Error)
    );
    assert!(
        finding.text.contains("files:445") && finding.text.contains(r#""pv""#),
        "{report}"
    );
    assert_eq!(report.exit_code(), 3);
}

#[test]
fn what_cannot_be_seen_is_said_and_no_clean_bill() {
    let fixture = healthy();
    fixture.fail_on("IWbemServices.ExecQuery", "*", Win32::ACCESS_DENIED);
    let report = fixture.examine();
    assert_eq!(
        (report.findings.len(), report.exit_code()),
        (0, 4),
        "{report}"
    );
    let unseen = report.unseen.iter().map(|one| one.check.as_str());
    assert_eq!(
        Vec::from_iter(unseen),
        ["share-not-mapped", "mapping-not-ok", "mappings-unused"]
    );
}

/// A provider that hangs is asked once, not by each check.
#[test]
fn what_hangs_is_asked_once() {
    let fixture = healthy();
    hang_mappings(&fixture);
    drop(fixture.sim.take_trace());
    assert_eq!(found_of_hanging(&fixture), [PROVIDER]);
    let asked = fixture.sim.take_trace();
    let asked = asked
        .iter()
        .filter(|op| op.object.contains("MSFT_SmbGlobalMapping"));
    assert_eq!(asked.count(), 1);
}

/// Three servers that are down, and a provider that hangs.
#[test]
fn one_look_names_all_that_is_sick() {
    let fixture = healthy();
    let servers = ["b", "c", SERVER];
    for (name, remote) in [("b", r"\\b\data"), ("c", r"\\c\data")] {
        fixture.add_server(name, &ServerSpec::sharing(SHARE, USER, PASSWORD));
        let volume = Volume {
            remote,
            ..volume(name)
        };
        fixture.stage(&volume).unwrap();
    }
    for name in servers {
        fixture.set_server(name, Down);
    }
    hang_mappings(&fixture);
    let expected = [servers.as_slice(), &[PROVIDER]].concat();
    assert_eq!(found_of_hanging(&fixture), expected);
}

#[test]
fn a_look_at_many_volumes_asks_as_often_as_at_one() {
    let fixture = healthy();
    let asked = || fixture.trace(|| drop(fixture.examine())).len();
    let of_one = asked();
    for number in 0..40 {
        fixture.stage(&volume(&format!("v{number}"))).unwrap();
    }
    assert_eq!(asked(), of_one);
}

/// One look at a time; who does not wait for it has none.
#[test]
fn a_look_that_hangs_holds_up_no_other() {
    let fixture = healthy();
    let doctor = fixture.doctor();
    hang_mappings(&fixture);
    thread::scope(|scope| {
        let hangs = scope.spawn(|| doctor.examine(Duration::ZERO));
        fixture.wait_for_hang(1);
        assert_eq!(doctor.examine(Duration::ZERO), None);
        fixture.heal();
        let waits = doctor.examine(Duration::from_secs(120)).unwrap();
        assert_eq!(waits.exit_code(), 0, "{waits}");
        assert_eq!(hangs.join().unwrap().unwrap().exit_code(), 0);
    });
}

/// What took all the time is a finding, and what was not asked any more is none.
#[test]
fn a_look_without_time_finds_no_server_away() {
    let fixture = healthy();
    fixture.set_server(SERVER, Down);
    fixture.hang("GetFileAttributesExW");
    let report = thread::scope(|scope| {
        let looks = scope.spawn(|| fixture.examine());
        fixture.wait_for_hang(1);
        fixture.let_pass(Duration::from_secs(30));
        looks.join().unwrap()
    });
    fixture.heal();
    let found = Vec::from_iter(report.findings.iter().map(|one| one.check.as_str()));
    assert_eq!(found, ["node-hangs"], "{report}");
    let in_doubt = report
        .unseen
        .iter()
        .filter(|one| one.reason == "no time was left");
    let in_doubt = Vec::from_iter(in_doubt.map(|one| one.check.as_str()));
    assert_eq!(
        in_doubt,
        [
            "server-away",
            "share-not-mapped",
            "mapping-not-ok",
            "mappings-unused",
            "session-unused"
        ]
    );
}

/// A file that is read for ever is one of a disk that hangs: a look ends, and the next one waits for no second read.
#[cfg(unix)]
#[test]
fn a_disk_of_records_that_hangs_is_a_finding() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let fixture = healthy();
    let doctor = fixture.doctor();
    let hangs = fixture.records_folder().join("strange.json");
    let mode = Mode::RUSR | Mode::WUSR;
    mknodat(CWD, &hangs, FileType::Fifo, mode, 0).unwrap();
    for _ in 0..2 {
        let report = doctor.examine(Duration::ZERO).unwrap();
        let found = Vec::from_iter(report.findings.iter().map(|one| one.object.as_str()));
        assert_eq!(found, ["the disk of the driver's folders"], "{report}");
    }
    // The one reader ends with the last writer.
    drop(fs::File::options().write(true).open(&hangs).unwrap());
    fs::remove_file(&hangs).unwrap();
}

/// So it may be one of an earlier boot.
#[test]
fn of_a_record_without_a_boot_no_mapping_is_missed() {
    let fixture = healthy();
    assert!(fixture.try_unmap_by_hand(ROOT));
    assert_eq!(fixture.found(), ["share-not-mapped"]);
    for (file, text) in fixture.copy_of_records() {
        if let Ok(mut record) = serde_json::from_str::<Value>(&text) {
            record["boot"] = Value::Null;
            fs::write(file, record.to_string()).unwrap();
        }
    }
    let report = fixture.examine();
    let outcome = (report.findings.len(), report.exit_code());
    assert_eq!(outcome, (0, 4), "{report}");
}

/// Kubelet stages what an earlier boot had again, which is no finding.
#[test]
fn a_volume_of_an_earlier_boot_is_no_finding() {
    let mut fixture = healthy();
    fixture.reboot();
    assert_eq!(fixture.mappings(), [""; 0]);
    assert_eq!(fixture.found(), [""; 0]);
}

/// Kubelet's call maps a share again that a person unmapped.
#[test]
fn what_a_call_mends_now_is_no_finding() {
    let fixture = healthy();
    assert!(fixture.try_unmap_by_hand(ROOT));
    fixture.hang("MSFT_SmbGlobalMapping.Create");
    thread::scope(|scope| {
        let mends = scope.spawn(|| fixture.publish_with_secret(&volume("pv"), POD));
        fixture.wait_for_hang(1);
        let report = fixture.examine();
        fixture.heal();
        mends.join().unwrap().unwrap();
        let outcome = (report.findings.len(), report.exit_code());
        assert_eq!(outcome, (0, 4), "{report}");
    });
}

/// Calls that stage and unstage make and remove mappings meanwhile.
#[test]
fn calls_beside_a_look_are_no_finding() {
    let fixture = healthy();
    let names = Vec::from_iter((0..32).map(|one| format!("v{one}")));
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for name in &names {
            let (fixture, is_over) = (&fixture, &is_over);
            scope.spawn(move || {
                let folder = Volume {
                    remote: r"\\files\data",
                    ..volume(name)
                };
                while !is_over.load(Ordering::SeqCst) {
                    fixture.stage(&folder).unwrap();
                    fixture.unstage(&folder).unwrap();
                }
            });
        }
        let looks = (0..50).map(|_| fixture.examine());
        let findings = Vec::from_iter(looks.flat_map(|report| report.findings));
        is_over.store(true, Ordering::SeqCst);
        assert_eq!(findings, []);
    });
}
