//! The bundle of each sick node: it has the findings, no Secret, and no name if none shall be in it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;
use std::time::Duration;

use wincsi_driver::doctor::bundle::report_in;
use wincsi_driver::doctor::{CHECKS, Report};
use wincsi_driver::flags::{self, Config, Invocation};

use crate::deaths::Mortal as _;
use crate::iscsi::{ADDRESS, IQN};
use crate::patient::{PASSWORD, Patient, SERVER, USER, VOLUMES, sicknesses};

/// Of names, addresses, serials, paths and a line of the log.
const CANARIES: [&str; 6] = [
    "canary",
    ADDRESS,
    "10.0.0.8",
    IQN,
    "60014050",
    "globalmount",
];

/// A page with a volume, and with a family that is not known.
const METRICS: &str = "wincsi_volume_abnormal{volume=\"canary-share\"} 1\ncanary 1\n";

fn config(log: &str) -> Config {
    let log = format!("-log_file={log}");
    let arguments = [
        "-drivername=canary.example.com",
        "-kubelet-path=/canary",
        "-logtostderr=false",
        log.as_str(),
    ];
    match flags::parse(&arguments.map(str::to_owned), |_| None).unwrap() {
        Invocation::Serve(config) => *config,
        _ => panic!("{arguments:?}"),
    }
}

/// The bundle's files, by their names.
fn files(bundle: &[u8]) -> BTreeMap<String, String> {
    let mut archive = tar::Archive::new(bundle);
    let files = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let name = String::from_utf8(entry.path_bytes().into_owned()).unwrap();
        let mut text = String::new();
        entry.read_to_string(&mut text).unwrap();
        (name, text)
    });
    files.collect()
}

fn found(report: &Report) -> Vec<(&str, &str)> {
    let findings = report.findings.iter();
    let found = findings.map(|one| (one.check.as_str(), one.severity.name()));
    found.collect()
}

/// Guards: P92
#[test]
fn a_bundle_has_the_findings_and_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    fs::write(&log, "E1130 a canary-line of the log\n").unwrap();
    let config = config(&log.display().to_string());
    for sickness in sicknesses() {
        let patient = Patient::healthy();
        (sickness.comes)(&patient);
        if sickness.check != "node-hangs" {
            // The kernel notes what happened to the array when it is next asked.
            patient.doctor().examine(Duration::ZERO);
        }
        let before = patient.fixture.snapshot();
        let (report, [named, anonymous]) = patient.in_time(&[&sickness], |patient| {
            patient.doctor().bundles(METRICS, &config).unwrap()
        });
        assert!(patient.fixture.snapshot() == before, "{}", sickness.check);
        patient.fixture.heal();
        let (named, anonymous) = (named.unwrap(), anonymous.unwrap());
        assert_eq!(report_in(named.as_slice()).unwrap(), report);
        let read = report_in(anonymous.as_slice()).unwrap();
        assert_eq!(found(&read), found(&report), "{read}");
        // What was filled into it may be a name.
        for one in &read.findings {
            let row = CHECKS.iter().find(|row| row.id == one.check).unwrap();
            assert_eq!(one.advice, row.advice);
        }
        assert_eq!(read.exit_code(), report.exit_code(), "{read}");
        let (named, anonymous) = (files(&named), files(&anonymous));
        for text in named.values().chain(anonymous.values()) {
            assert!(!text.contains(PASSWORD), "{text}");
        }
        for (file, text) in &anonymous {
            let text = text.to_lowercase();
            let shown = CANARIES
                .iter()
                .filter(|name| text.contains(&name.to_lowercase()));
            assert_eq!(
                Vec::from_iter(shown.copied()),
                [""; 0],
                "{file} of {}: {text}",
                sickness.check
            );
        }
        assert!(named["log.txt"].contains("canary-line") && !anonymous.contains_key("log.txt"));
        assert_eq!(
            named["metrics.txt"],
            METRICS.lines().next().unwrap().to_owned() + "\n"
        );
    }
}

/// With its names a bundle has all of the canaries, so that they can be missed in the other.
#[test]
fn who_helps_sees_what_belongs_together() {
    let patient = Patient::healthy();
    patient
        .fixture
        .set_server(SERVER, wincsi::sim::smb::ServerHealth::Down);
    let config = config("/none");
    let (_, [named, anonymous]) = patient.doctor().bundles(METRICS, &config).unwrap();
    let named = files(&named.unwrap());
    let all = Vec::from_iter(named.values().cloned())
        .concat()
        .to_lowercase();
    let user = USER.replace('\\', r"\\");
    let names = [SERVER, user.as_str(), VOLUMES[0], VOLUMES[1]];
    for name in names.iter().chain(&CANARIES) {
        assert!(all.contains(&name.to_lowercase()), "{name}");
    }
    let files = files(&anonymous.unwrap());
    let report: Report = serde_json::from_str(&files["report.json"]).unwrap();
    let server = &report.findings[0].object;
    for (file, key) in [("records.json", "server"), ("mappings.json", "remote")] {
        let text = &files[file];
        let is_there = text.contains(&format!("\"{key}\":\"{server}\""))
            || text.contains(&format!(r#""{key}":"\\\\{server}\\"#));
        assert!(is_there, "{server}: {text}");
    }
    let volumes = BTreeSet::from(["volume-1", "volume-2", "volume-3"]);
    assert!(
        volumes
            .iter()
            .all(|one| files["records.json"].contains(one))
    );
    assert!(volumes.iter().any(|one| files["metrics.txt"].contains(one)));
}
