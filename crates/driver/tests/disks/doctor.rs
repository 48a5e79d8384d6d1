//! What the doctor finds of LUNs: each sickness as it comes about, and none once it is mended.

use wincsi::NodeApi;
use wincsi::sim::iscsi::{ServerSpec, TargetSpec};
use wincsi::system::{Dependents, ServiceName};

use crate::deaths::Mortal as _;
use crate::fixture::{STAGING, TARGET};
use crate::iscsi::{ADDRESS, Fixture, IQN};
use crate::support::requests::{map, request_at};

const SECOND: &str = "10.0.0.8";

/// A node with a LUN to which two portals lead.
fn healthy() -> Fixture {
    let fixture = Fixture::new();
    set_portals(&fixture, &[ADDRESS, SECOND]);
    let context = map(&[
        ("node_attach_driver", "iscsi"),
        ("portal", ADDRESS),
        ("portals", SECOND),
        ("iqn", IQN),
        ("lun", "0"),
    ]);
    let staged = request_at("v", [STAGING, TARGET], &context, &map(&[]), |request| {
        fixture.call().stage(request)
    });
    staged.unwrap();
    assert_eq!(fixture.found(), [""; 0]);
    fixture
}

fn set_portals(fixture: &Fixture, portals: &[&str]) {
    let addresses = portals.iter().map(|one| (*one).to_owned()).collect();
    let change = |server: &mut ServerSpec| server.addresses = addresses;
    fixture.array().change_server("array", change).unwrap();
}

fn service() -> ServiceName {
    ServiceName::parse("MSiSCSI").unwrap()
}

/// What came about, the checks that find it, and how.
type Sickness = (&'static str, &'static [&'static str], fn(&Fixture));

const SICKNESSES: [Sickness; 4] = [
    ("one way is cut", &["portal-away"], |fixture| {
        set_portals(fixture, &[ADDRESS]);
    }),
    ("the array is away", &["target-away"], |fixture| {
        set_portals(fixture, &["10.0.0.7"]);
    }),
    ("the target is gone", &["session-away"], |fixture| {
        let change = |server: &mut ServerSpec| server.target.clear();
        fixture.array().change_server("array", change).unwrap();
    }),
    ("a person stops MSiSCSI", &["iscsi-stopped"], |fixture| {
        let (system, soon) = (NodeApi::system(&fixture.hand), fixture.soon());
        let stopped = system.stop_service(&service(), Dependents::Refuse, soon);
        stopped.unwrap();
    }),
];

#[test]
fn each_sickness_is_found_until_it_is_mended() {
    for (name, checks, comes) in SICKNESSES {
        let fixture = healthy();
        let mut target = None::<TargetSpec>;
        let keep = |server: &mut ServerSpec| target = server.target.first().cloned();
        fixture.array().change_server("array", keep).unwrap();
        comes(&fixture);
        assert_eq!(fixture.found(), checks, "{name}");
        let mend = |server: &mut ServerSpec| {
            server.addresses = [ADDRESS, SECOND].map(str::to_owned).to_vec();
            server.target = Vec::from_iter(target);
        };
        fixture.array().change_server("array", mend).unwrap();
        let (system, soon) = (NodeApi::system(&fixture.hand), fixture.soon());
        system.start_service(&service(), soon).unwrap();
        if checks == ["iscsi-stopped"] {
            // Kubelet's next stage logs in again.
            fixture.stage().unwrap();
        }
        assert_eq!(fixture.found(), [""; 0], "{name}");
    }
}

#[test]
fn a_look_changes_nothing() {
    const READS: [&str; 5] = [
        "GetFileAttributesExW",
        "IWbemServices.ExecQuery",
        "NtQuerySystemInformation",
        "QueryServiceStatusEx",
        "connect",
    ];
    for (name, _, comes) in SICKNESSES {
        let fixture = healthy();
        comes(&fixture);
        // The kernel notes what happened to the array when it is next asked.
        fixture.examine();
        let before = fixture.snapshot();
        drop(fixture.sim.take_trace());
        fixture.examine();
        let asked = fixture.sim.take_trace();
        let changing = asked.iter().filter(|op| !READS.contains(&op.operation));
        let changing = Vec::from_iter(changing);
        assert!(changing.is_empty(), "{name}: {changing:?}");
        assert!(fixture.snapshot() == before, "{name}");
    }
}
