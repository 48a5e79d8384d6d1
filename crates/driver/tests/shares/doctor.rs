//! What the doctor finds of shares: each sickness as it comes about, alone and with each other one.

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use wincsi::Win32;
use wincsi::sim::smb::ServerHealth::{Down, Dropping, Up};
use wincsi_driver::doctor::Severity;

use crate::deaths::Mortal as _;
use crate::fixture::{Fixture, KUBELET, POD, ROOT, SERVER, Volume, volume};

/// More than a question may take.
const ANSWER: Duration = Duration::from_secs(6);

/// A sickness, and how it comes and goes.
struct Sickness {
    name: &'static str,
    check: &'static str,
    comes: fn(&mut Fixture),
    goes: fn(&mut Fixture),
    /// Whether the checks that ask Windows of mappings still can.
    leaves_view: bool,
}

const SICKNESSES: [Sickness; 7] = [
    Sickness {
        name: "the server is down",
        check: "server-away",
        comes: |fixture| fixture.set_server(SERVER, Down),
        goes: |fixture| fixture.set_server(SERVER, Up),
        leaves_view: true,
    },
    Sickness {
        name: "the server drops its sessions",
        check: "mapping-not-ok",
        comes: |fixture| fixture.set_server(SERVER, Dropping),
        goes: |fixture| fixture.set_server(SERVER, Up),
        leaves_view: true,
    },
    Sickness {
        name: "a person removed the mapping",
        check: "share-not-mapped",
        comes: |fixture| assert!(fixture.try_unmap_by_hand(ROOT)),
        goes: |fixture| fixture.publish_with_secret(&volume("pv"), POD).unwrap(),
        leaves_view: true,
    },
    Sickness {
        name: "a record of a later program",
        check: "record-unreadable",
        comes: |fixture| {
            fs::write(strange_record(fixture), r#"{"version": 9}"#).unwrap();
            fixture.restart_driver();
        },
        goes: |fixture| {
            fs::remove_file(strange_record(fixture)).unwrap();
            fixture.restart_driver();
        },
        leaves_view: true,
    },
    Sickness {
        name: "the disk of kubelet's folder fails",
        check: "node-fails",
        comes: |fixture| {
            fixture.fail_on("GetFileAttributesExW", KUBELET, Win32::IO_DEVICE);
        },
        goes: |fixture| fixture.heal(),
        leaves_view: true,
    },
    Sickness {
        name: "the SMB provider hangs",
        check: "node-hangs",
        comes: |fixture| {
            fixture.hang("IWbemServices.ExecQuery");
        },
        goes: |fixture| fixture.heal(),
        leaves_view: false,
    },
    Sickness {
        name: "no name of a server is resolved",
        check: "server-away",
        comes: |fixture| {
            fixture.fail_on("connect", "files:445", Win32(11001));
        },
        goes: |fixture| fixture.heal(),
        leaves_view: true,
    },
];

/// A cause, and what it hides.
const COVERS: [(&str, &str); 2] = [
    ("server-away", "mapping-not-ok"),
    ("server-away", "share-not-mapped"),
];

fn strange_record(fixture: &Fixture) -> std::path::PathBuf {
    fixture.records_folder().join("strange.json")
}

/// A node with a share in a pod.
fn healthy() -> Fixture {
    let fixture = Fixture::new();
    fixture.stage(&volume("pv")).unwrap();
    fixture.publish(&volume("pv"), POD).unwrap();
    assert_eq!(fixture.found(), [""; 0]);
    fixture
}

/// The checks that find something. Time passes while a part of Windows hangs.
fn found(fixture: &Fixture, hangs: bool) -> Vec<String> {
    thread::scope(|scope| {
        let found = scope.spawn(|| fixture.found());
        if hangs {
            fixture.wait_for_hang(1);
            fixture.let_pass(ANSWER);
        }
        found.join().unwrap()
    })
}

#[test]
fn each_sickness_is_found_until_it_is_mended() {
    for sickness in &SICKNESSES {
        let mut fixture = healthy();
        (sickness.comes)(&mut fixture);
        let found = found(&fixture, !sickness.leaves_view);
        assert_eq!(found, [sickness.check], "{}", sickness.name);
        (sickness.goes)(&mut fixture);
        assert_eq!(fixture.found(), [""; 0], "{}", sickness.name);
    }
}

/// Both are found, unless the table has one as the cause of the other, or what hangs hides it.
#[test]
fn two_sicknesses_are_found_or_covered() {
    let mut pairs = 0;
    for (at, one) in SICKNESSES.iter().enumerate() {
        for other in &SICKNESSES[at + 1..] {
            let set_alike =
                [one, other].map(|it| it.check == "server-away" || it.check == "mapping-not-ok");
            if set_alike == [true; 2] {
                continue;
            }
            let mut fixture = healthy();
            // What hangs or fails comes last: it would keep the other one from coming about.
            let last = [one, other]
                .into_iter()
                .partition::<Vec<_>, _>(|it| it.check != "node-hangs");
            [last.0, last.1]
                .concat()
                .iter()
                .for_each(|it| (it.comes)(&mut fixture));
            let found =
                BTreeSet::from_iter(found(&fixture, !one.leaves_view || !other.leaves_view));
            let sick = [one, other];
            let is_shown = |it: &&Sickness| {
                let covers = |cause: &&Sickness| COVERS.contains(&(cause.check, it.check));
                let asks_windows = ["mapping-not-ok", "share-not-mapped"].contains(&it.check);
                let is_hidden = asks_windows && sick.iter().any(|other| !other.leaves_view);
                !sick.iter().any(covers) && !is_hidden
            };
            let shown = sick.iter().copied().filter(is_shown);
            // A mapping that is gone has no status.
            let is_gone = sick.iter().any(|it| it.check == "share-not-mapped");
            let shown = shown.filter(|it| !(is_gone && it.check == "mapping-not-ok"));
            let expected = BTreeSet::from_iter(shown.map(|it| it.check.to_owned()));
            assert_eq!(found, expected, "{} and {}", one.name, other.name);
            pairs += 1;
        }
    }
    println!("{pairs} pairs");
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
        ["share-not-mapped", "mapping-not-ok"]
    );
}

/// A provider that hangs is asked once, not by each check.
#[test]
fn what_hangs_is_asked_once() {
    let fixture = healthy();
    fixture.hang("IWbemServices.ExecQuery");
    drop(fixture.sim.take_trace());
    assert_eq!(found(&fixture, true), ["node-hangs"]);
    let asked = fixture.sim.take_trace();
    let asked = asked
        .iter()
        .filter(|op| op.operation == "IWbemServices.ExecQuery");
    assert_eq!(asked.count(), 1);
    fixture.heal();
}

/// Kubelet stages what an earlier boot had again, which is no finding.
#[test]
fn a_volume_of_an_earlier_boot_is_no_finding() {
    let mut fixture = healthy();
    fixture.reboot();
    assert_eq!(fixture.mappings(), [""; 0]);
    assert_eq!(fixture.found(), [""; 0]);
}

/// The operations of a look are on this list, of which none changes the node, and neither node nor records are changed.
#[test]
fn a_look_changes_nothing() {
    const READS: [&str; 4] = [
        "GetFileAttributesExW",
        "IWbemServices.ExecQuery",
        "NtQuerySystemInformation",
        "connect",
    ];
    for sick in [None, Some(Down), Some(Dropping)] {
        let fixture = healthy();
        fixture.set_server(SERVER, sick.unwrap_or(Up));
        let before = fixture.snapshot();
        drop(fixture.sim.take_trace());
        fixture.examine();
        let asked = fixture.sim.take_trace();
        assert!(asked.len() > 3, "{asked:?}");
        let changing = asked.iter().filter(|op| !READS.contains(&op.operation));
        let changing = Vec::from_iter(changing);
        assert!(changing.is_empty(), "{changing:?}");
        assert!(fixture.snapshot() == before, "{sick:?}");
    }
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
        let found = fixture.found();
        fixture.heal();
        mends.join().unwrap().unwrap();
        assert_eq!(found, [""; 0]);
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
