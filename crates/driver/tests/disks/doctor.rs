//! Each sickness of a node is found alone and with each other one, and none once it is mended.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use os::DiskAccess;
use wincsi::sim::iscsi::{ServerSpec, TargetSpec};
use wincsi::sim::{Bus, DiskSpec, IdentifierKind, NodeSpec, ProcessSpec, ServiceSpec, Start};
use wincsi::{NodeApi, Win32};
use wincsi_driver::doctor::{CHECKS, Severity};
use wincsi_driver::kubelet::Request;
use wire::csi::v1::volume_capability::AccessMode;
use wire::csi::v1::volume_capability::access_mode::Mode;

use crate::deaths::Mortal as _;
use crate::fixture::STAGING;
use crate::iscsi::{
    ADDRESS, Fixture, IQN, Lasts, OTHER, SETUP, log_in_as, request, start_initiator,
};
use crate::patient::{
    DISK, LUN, Patient, SECRET_SHARE, SERVER, Sickness, THEIRS, map_others, map_with_letter,
    set_access, set_online, sicknesses,
};
use crate::support::requests::map;

/// One server, mapping, array or disk cannot be both, and of an array that is away no disk is known.
const APART: [(&str, &str); 8] = [
    ("session-unused", "target-away"),
    ("session-unused", "session-away"),
    ("disk-offline", "disk-read-only"),
    ("iscsi-stopped", "session-unused"),
    ("share-not-mapped", "mapping-not-ok"),
    ("portal-away", "target-away"),
    ("server-away", "mapping-not-ok"),
    ("server-away", "server-away"),
];

/// What Windows's SMB provider is asked for.
const OF_MAPPINGS: [&str; 3] = ["share-not-mapped", "mapping-not-ok", "mappings-unused"];

#[test]
fn each_sickness_is_found_until_it_is_mended() {
    let patient = Patient::healthy();
    for sickness in sicknesses() {
        (sickness.comes)(&patient);
        let found = patient.found_with(&[&sickness]);
        assert_eq!(found, BTreeSet::from([sickness.check.to_owned()]));
        sickness.mend(&patient);
        assert_eq!(patient.found(), [""; 0], "after {}", sickness.check);
    }
    let sick = sicknesses().map(|one| one.check);
    let others = CHECKS.iter().filter(|check| !sick.contains(&check.id));
    // The driver that looks is there.
    assert_eq!(
        Vec::from_iter(others.map(|check| check.id)),
        ["driver-absent"]
    );
}

fn kubelet(command: Option<&str>) -> ProcessSpec {
    ProcessSpec {
        name: "Kubelet.exe".to_owned(),
        command: command.map(str::to_owned),
    }
}

/// Where kubelet is found to have its folder in place of the driver's, as the advice writes it. The service runs if it has a
/// command.
fn other_folder(service: Option<&str>, processes: &[Option<&str>]) -> String {
    let service = ServiceSpec {
        name: "kubelet".to_owned(),
        command: Some(
            service
                .unwrap_or("kubelet.exe --root-dir=E:\\old")
                .to_owned(),
        ),
        start: [Start::Disabled, Start::Automatic][usize::from(service.is_some())],
        ..ServiceSpec::default()
    };
    let change = |spec: &mut NodeSpec| {
        spec.service.push(service);
        spec.process = processes.iter().copied().map(kubelet).collect();
    };
    let patient = Patient::on(Fixture::with(TargetSpec::named(IQN), change, SETUP));
    assert_eq!(patient.found(), [""; 0]);
    patient.set_registered(false);
    let report = patient.examine();
    let [finding] = &report.findings[..] else {
        panic!("{report}")
    };
    let is_unseen = |check: &str| report.unseen.iter().any(|one| one.check == check);
    match finding.check.as_str() {
        "kubelet-folder" => {
            let (_, advised) = finding.advice.split_once("windows.kubelet=").unwrap();
            advised.trim_end_matches('\'').to_owned()
        }
        "not-registered" if is_unseen("kubelet-folder") => "unseen".to_owned(),
        "not-registered" => "own".to_owned(),
        other => panic!("{other}"),
    }
}

/// Of a service that runs kubelet itself, or of the process that nssm or RKE2 started. Once kubelet has registered the
/// driver, neither says otherwise.
#[test]
fn kubelet_has_the_drivers_folder() {
    let (other, own) = (
        r"kubelet.exe --root-dir=D:\k",
        r"kubelet.exe --root-dir=c:\VAR\lib\kubelet",
    );
    let nssm = r"C:\k\nssm.exe";
    // On the drive of its working folder, whichever that is.
    let (same, elsewhere) = ("kubelet", r"kubelet.exe --root-dir=\k");
    for (service, processes, expected) in [
        (Some(other), &[Some(own)][..], r"D:\k"),
        (Some(own), &[Some(other)], "own"),
        (Some(same), &[Some(other)], "own"),
        (Some(nssm), &[], "unseen"),
        (None, &[], "unseen"),
        (Some(nssm), &[Some(other)], r"D:\k"),
        (None, &[Some(own); 2], "own"),
        (None, &[Some(other), Some(own)], "unseen"),
        (None, &[Some(other), None], "unseen"),
        (None, &[Some(same)], "own"),
        (None, &[Some(elsewhere)], "DIR"),
        (None, &[Some(r"kubelet --root-dir=D:\k'")], "DIR"),
    ] {
        let found = other_folder(service, processes);
        assert_eq!(found, expected, "{service:?} {processes:?}");
    }
}

/// A person's logins, of which one has a disk online, a few mappings, and a disk of readers.
#[test]
fn what_is_as_it_should_be_is_no_finding() {
    let patient = Patient::healthy();
    add_targets(&patient.fixture, 1);
    let theirs = format!("{IQN}-0");
    log_in_as(&patient.fixture, ADDRESS, &theirs, Lasts::UntilBoot);
    let (disks, soon) = (
        NodeApi::disks(&patient.fixture.hand),
        patient.fixture.soon(),
    );
    disks.rescan(soon).unwrap();
    assert_eq!(patient.found(), ["session-unused"]);
    let disk = disks.by_page83("6001405000000100", soon).unwrap();
    let operations = patient.fixture.hand.operations();
    operations.disks().set_online(disk, soon).unwrap();
    map_others(&patient, 99);
    map_with_letter(&patient);
    log_in_as(&patient.fixture, ADDRESS, THEIRS, Lasts::OverBoots);
    patient.fixture.stage_lun("w", OTHER, "1", &[]).unwrap();
    patient.fixture.unstage_of("w", OTHER).unwrap();
    let staged = request(("w", OTHER), (IQN, "1"), &map(&[]), |request| {
        let mut capability = request.capability.unwrap().clone();
        let mode = Mode::MultiNodeReaderOnly.into();
        capability.access_mode = Some(AccessMode { mode });
        patient.fixture.call().stage(&Request {
            volume: request.volume.clone(),
            capability: Some(&capability),
            ..*request
        })
    });
    staged.unwrap();
    assert_eq!(patient.found(), [""; 0]);
}

/// It says nothing of the other disk, nor of Windows.
#[test]
fn a_silent_device_is_no_silent_provider() {
    let patient = Patient::healthy();
    set_access(&patient, DISK, DiskAccess::ReadOnly);
    patient.fixture.hang("IOCTL_DISK_IS_WRITABLE");
    let hangs = sicknesses().into_iter().find(|it| it.check == "node-hangs");
    let report = patient.in_time(&[&hangs.unwrap()], Patient::examine);
    let found = report
        .findings
        .iter()
        .map(|one| (&*one.check, &*one.object));
    assert_eq!(
        Vec::from_iter(found),
        [("disk-read-only", "\"canary-disk\"")]
    );
    let mut unseen = report.unseen.iter();
    assert!(
        unseen.any(|one| one.reason.contains("canary-lun")),
        "{report}"
    );
    patient.fixture.heal();
}

#[test]
fn mappings_of_others_are_shown_without_secrets() {
    let patient = Patient::healthy();
    map_others(&patient, 100);
    let report = patient.examine();
    assert_eq!(report.findings[0].check, "mappings-unused");
    let text = report.to_string();
    assert!(
        text.contains("others-0") && !text.contains(SECRET_SHARE),
        "{text}"
    );
}

#[test]
fn an_offline_disk_has_its_reason() {
    let patient = Patient::healthy();
    set_online(&patient, false);
    let report = patient.examine();
    let [finding] = &report.findings[..] else {
        panic!("{report:?}")
    };
    let expected = "is offline: Policy, as Windows knew it last (volumes \"canary-lun\")";
    assert!(finding.text.ends_with(expected), "{finding:?}");
}

/// Windows keeps all but one of them offline by itself.
#[test]
fn a_disk_with_a_path_that_is_online_is_well() {
    let patient = Patient::healthy();
    let path = DiskSpec::on(Bus::Sas).lun(3);
    let path = path.identified(IdentifierKind::Naa, LUN);
    patient.fixture.attach("path", &path, 64 << 20);
    let (disks, soon) = (
        NodeApi::disks(&patient.fixture.hand),
        patient.fixture.soon(),
    );
    disks.rescan(soon).unwrap();
    assert_eq!(patient.found(), [""; 0]);
    set_online(&patient, false);
    assert_eq!(patient.found(), ["disk-offline"; 2]);
}

/// Both are found, unless the table has one as the cause of the other, or what hangs is what would report it.
#[test]
fn two_sicknesses_are_found_or_covered() {
    let (sicknesses, mut pairs) = (sicknesses(), 0);
    for (at, one) in sicknesses.iter().enumerate() {
        let patient = Patient::healthy();
        for other in &sicknesses[at + 1..] {
            let (checks, sick) = ([one.check, other.check], [one, other]);
            if APART.contains(&checks.into()) || APART.contains(&(checks[1], checks[0])) {
                continue;
            }
            sick.iter().for_each(|it| (it.comes)(&patient));
            let found = patient.found_with(&sick);
            let is_hidden = |it: &Sickness| {
                let row = CHECKS.iter().find(|row| row.id == it.check).unwrap();
                let is_warning = row.severity == Severity::Warning;
                let mut causes = sick.iter().filter(|it| is_warning || !it.is_late);
                let is_covered = causes.any(|cause| {
                    let is_of_all = cause.check == "node-fails";
                    row.covered_by.contains(&cause.check) && (is_of_all || !it.is_alone)
                });
                is_covered || checks.contains(&"node-hangs") && OF_MAPPINGS.contains(&it.check)
            };
            let shown = sick.into_iter().filter(|it| !is_hidden(it));
            let shown = BTreeSet::from_iter(shown.map(|it| it.check.to_owned()));
            assert_eq!(found, shown, "{checks:?}");
            sick.iter().rev().for_each(|it| it.mend(&patient));
            assert_eq!(patient.found(), [""; 0], "after {checks:?}");
            pairs += 1;
        }
    }
    println!("{pairs} pairs");
    assert!(pairs > 60, "{pairs}");
}

/// One portal refuses. The other one may only be slow, and then what is away is said beside it.
#[test]
fn slow_outweighs_refused() {
    for (code, expected) in [
        (10061, &["target-away"][..]),
        (10060, &["target-away", "session-away"]),
    ] {
        let patient = Patient::healthy();
        patient.set_targets(Vec::new());
        for (portal, code) in [("10.0.0.9:3260", 10061), ("10.0.0.8:3260", code)] {
            patient.fixture.fail_on("connect", portal, Win32(code));
        }
        assert_eq!(patient.found(), expected, "{code}");
    }
}

/// A session may be gone as the node was reset, if nobody knows when that was; so may a mapping.
#[test]
fn in_an_unknown_boot_nothing_is_missed() {
    let mut patient = Patient::healthy();
    patient.fixture.reboot();
    start_initiator(&patient.fixture);
    assert_eq!(patient.fixture.sessions(), []);
    assert_eq!(patient.found(), [""; 0]);
    patient
        .fixture
        .fail_on("NtQuerySystemInformation", "*", Win32::IO_DEVICE);
    let report = patient.examine();
    let outcome = (report.findings.len(), report.exit_code());
    assert_eq!(outcome, (0, 4), "{report}");
}

/// The operations of a look are on this list, of which none changes the node; and neither node nor records are changed.
#[test]
fn a_look_changes_nothing() {
    const READS: [&str; 10] = [
        "GetFileAttributesExW",
        "IOCTL_DISK_GET_DISK_ATTRIBUTES",
        "IOCTL_DISK_IS_WRITABLE",
        "IOCTL_STORAGE_GET_DEVICE_NUMBER",
        "IOCTL_STORAGE_QUERY_PROPERTY",
        "IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS",
        "IWbemServices.ExecQuery",
        "NtQuerySystemInformation",
        "QueryServiceStatusEx",
        "connect",
    ];
    let mut asked = BTreeSet::new();
    for sickness in sicknesses() {
        let patient = Patient::healthy();
        (sickness.comes)(&patient);
        if sickness.check != "node-hangs" {
            // The kernel notes what happened to the array when it is next asked.
            patient.found();
        }
        let before = patient.fixture.snapshot();
        drop(patient.fixture.sim.take_trace());
        patient.found_with(&[&sickness]);
        let operations = patient.fixture.sim.take_trace();
        asked.extend(operations.iter().map(|op| op.operation));
        assert!(patient.fixture.snapshot() == before, "{}", sickness.check);
        // What hangs does so until the fixture ends.
        patient.fixture.heal();
    }
    asked.remove("Sleep");
    assert_eq!(asked, BTreeSet::from(READS));
}

/// An array with so many targets more, of a LUN each.
fn add_targets(fixture: &Fixture, count: usize) {
    for number in 0..count {
        let (image, name) = (format!("t{number}"), format!("{IQN}-{number}"));
        fixture.array().set_image(&image, 64 << 20).unwrap();
        let identifier = format!("60014050000001{number:02}");
        let disk = DiskSpec::on(Bus::Iscsi).identified(IdentifierKind::Naa, &identifier);
        let target = TargetSpec::named(&name).with_disk(&image, disk);
        let change = |server: &mut ServerSpec| server.target.push(target);
        fixture.array().change_server("array", change).unwrap();
    }
}

/// Calls log in and out, and bring disks online and take them offline, meanwhile.
#[test]
fn calls_for_luns_beside_a_look_are_no_finding() {
    let fixture = Fixture::new();
    add_targets(&fixture, 32);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for number in 0..32 {
            let (fixture, is_over) = (&fixture, &is_over);
            scope.spawn(move || {
                let (handle, iqn) = (format!("v{number}"), format!("{IQN}-{number}"));
                let staging = STAGING.replace(r"\1\", &format!(r"\l{number}\"));
                while !is_over.load(Ordering::SeqCst) {
                    let staged = fixture.stage_target(&handle, &staging, &iqn, &[]);
                    staged.unwrap();
                    fixture.unstage_of(&handle, &staging).unwrap();
                }
            });
        }
        let looks = (0..50).map(|_| fixture.examine());
        let findings = Vec::from_iter(looks.flat_map(|report| report.findings));
        is_over.store(true, Ordering::SeqCst);
        assert_eq!(findings, []);
    });
}

/// A volume without room.
#[test]
fn what_no_check_knows_is_nothing_known() {
    let patient = Patient::healthy();
    let servers = patient.fixture.servers();
    let is_full = servers.change_server(SERVER, |server| server.share[0].quota = Some(0));
    is_full.unwrap();
    let report = patient.examine();
    assert_eq!(report.exit_code(), 0, "{report}");
    assert!(report.to_string().ends_with("\nnothing known"), "{report}");
}
