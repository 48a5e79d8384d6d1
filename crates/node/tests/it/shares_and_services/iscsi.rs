//! The iSCSI initiator on a simulated node.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use os::layer::forward::ForwardProvider;
use os::schema::{Class, disk, iscsi_codes, iscsi_session, iscsi_target_portal};
use os::{Deadline, Hresult, Instance, ObjectPath, Outcome, Provider, Query, Value};
use os_sim::iscsi::{ServerSpec, TargetSpec};
use os_sim::{Effect, Op, Rule};
use wincsi_node::{
    Authentication, Chap, Connected, IscsiError, Node, Options, Portal, driver_texts,
};

use crate::support::initiator::{ADDRESS, GUARDED, OPEN, PROOF, array, at, chap, named, secret};
use crate::support::{NodeFixture, assert_says};

const OTHER: &str = "10.0.0.10";

pub(super) fn calls(trace: &[Op], method: &str) -> usize {
    let is_it = |op: &&Op| op.operation.ends_with(method);
    trace.iter().filter(is_it).count()
}

/// A second server, which offers these.
fn with_other(fixture: NodeFixture, server: ServerSpec) -> NodeFixture {
    fixture.array().add_server("other", &server).unwrap();
    fixture
        .iscsi()
        .add_portal(&at(OTHER), &Authentication::None, fixture.soon())
        .unwrap();
    fixture
}

fn names(fixture: &NodeFixture) -> Result<Vec<String>, IscsiError> {
    fixture.iscsi().discover(&at(ADDRESS), fixture.soon())
}

fn disks(fixture: &NodeFixture, target: &str) -> Result<usize, IscsiError> {
    fixture.rescan();
    let iscsi = fixture.iscsi();
    let found = iscsi.disks(&at(ADDRESS), &named(target), fixture.soon())?;
    Ok(found.len())
}

fn rename(fixture: &NodeFixture, names: &[&str]) {
    let targets = names.iter().map(|name| TargetSpec::named(name)).collect();
    fixture
        .array()
        .change_server("array", |server| server.target = targets)
        .unwrap();
}

#[test]
fn a_portal_that_is_known_is_not_asked_again() {
    let fixture = NodeFixture::with_portal();
    let trace = fixture.trace(|| fixture.add_portal().unwrap());
    assert_eq!(calls(&trace, "MSFT_iSCSITargetPortal.New"), 0);
    let known = fixture.iscsi().portals(fixture.soon()).unwrap();
    assert_eq!(known, [(ADDRESS.to_owned(), 3260)]);
}

#[test]
fn a_portal_that_does_not_answer_is_not_added() {
    let fixture = NodeFixture::with_array();
    let iscsi = fixture.iscsi();
    let added = iscsi.add_portal(&at("192.0.2.1"), &Authentication::None, fixture.soon());
    let error = added.unwrap_err().to_string();
    assert!(error.contains("the connection failed"), "{error}");
    assert_eq!(iscsi.portals(fixture.soon()).unwrap(), []);
}

#[test]
fn a_portal_is_its_address_and_its_port() {
    let fixture = NodeFixture::with_portal();
    let second = ServerSpec {
        port: 3261,
        ..ServerSpec::at(ADDRESS)
    };
    fixture.array().add_server("second", &second).unwrap();
    let iscsi = fixture.iscsi();
    let second = Portal::parse(ADDRESS, 3261).unwrap();
    iscsi
        .add_portal(&second, &Authentication::None, fixture.soon())
        .unwrap();
    assert_eq!(iscsi.portals(fixture.soon()).unwrap().len(), 2);
    iscsi.remove_portal(&at(ADDRESS), fixture.soon()).unwrap();
    let left = iscsi.portals(fixture.soon()).unwrap();
    assert_eq!(left, [(ADDRESS.to_owned(), 3261)]);
    let again = iscsi
        .remove_portal(&at(ADDRESS), fixture.soon())
        .unwrap_err();
    assert!(again.to_string().ends_with(": not found"), "{again}");
}

#[test]
fn sessions_outlive_their_portal_and_are_ended_through_it_all_the_same() {
    let fixture = NodeFixture::with_portal();
    fixture.connect(OPEN, &Authentication::None).unwrap();
    let iscsi = fixture.iscsi();
    iscsi.remove_portal(&at(ADDRESS), fixture.soon()).unwrap();
    assert_eq!(disks(&fixture, OPEN), Ok(1));
    fixture.disconnect(OPEN).unwrap();
    assert!(fixture.sessions().is_empty());
}

/// Guards: P45
#[test]
fn weakness_30_discovery_asks_the_portal_anew() {
    let fixture = NodeFixture::with_portal();
    assert_eq!(names(&fixture).unwrap(), [GUARDED, OPEN]);
    rename(&fixture, &["iqn.x:later"]);
    assert_eq!(names(&fixture).unwrap(), ["iqn.x:later"]);
}

#[test]
fn a_portal_that_does_not_answer_keeps_what_it_told_and_is_an_error_without() {
    let fixture = NodeFixture::with_portal();
    fixture.array().set_down("array", true).unwrap();
    assert_eq!(names(&fixture).unwrap(), [GUARDED, OPEN]);
    fixture.reboot().unwrap();
    let error = names(&fixture).unwrap_err();
    assert_says(&error, "the connection failed");
    let error = fixture.connect(OPEN, &Authentication::None).unwrap_err();
    assert!(
        !error.to_string().contains(driver_texts::OBJECT_NOT_FOUND),
        "{error}"
    );
}

#[test]
fn weakness_30_a_target_that_came_later_is_found_by_the_login() {
    let fixture = NodeFixture::with_portal();
    rename(&fixture, &["iqn.x:later"]);
    let connected = fixture.connect("iqn.x:later", &Authentication::None);
    assert_eq!(connected, Ok(Connected::Anew));
    let trace = fixture.trace(|| {
        let error = fixture
            .connect("iqn.x:none", &Authentication::None)
            .unwrap_err();
        assert!(error.to_string().ends_with(": not found"), "{error}");
    });
    assert_eq!(calls(&trace, "MSFT_iSCSITarget.Connect"), 0);
}

#[test]
fn a_target_is_found_however_it_spells_itself() {
    let fixture = NodeFixture::with_portal();
    rename(&fixture, &["iqn.2026-01.Com.Example:DATA"]);
    let lower = "iqn.2026-01.com.example:data";
    assert_eq!(
        fixture.connect(lower, &Authentication::None),
        Ok(Connected::Anew)
    );
    fixture.disconnect("IQN.2026-01.com.example:data").unwrap();
    assert!(fixture.sessions().is_empty());
}

#[test]
fn targets_that_differ_in_case_alone_are_not_guessed_between() {
    let fixture = NodeFixture::with_portal();
    rename(&fixture, &["iqn.x:data", "iqn.x:DATA"]);
    names(&fixture).unwrap();
    let error = fixture
        .connect("iqn.x:data", &Authentication::None)
        .unwrap_err();
    assert!(error.to_string().contains("iqn.x:DATA"), "{error}");
    assert!(fixture.sessions().is_empty());
}

#[test]
fn a_connected_target_is_success_and_the_differences_are_told() {
    let fixture = NodeFixture::with_portal();
    let one_way = Authentication::OneWayChap(chap());
    assert_eq!(fixture.connect(GUARDED, &one_way), Ok(Connected::Anew));
    let again = fixture.connect(GUARDED, &one_way);
    let same = Connected::Before {
        differences: Some(Vec::new()),
    };
    assert_eq!(again, Ok(same));
    let fixture = with_other(
        fixture,
        ServerSpec {
            addresses: vec![OTHER.to_owned()],
            ..array()
        },
    );
    let iscsi = fixture.iscsi();
    let trace = fixture.trace(|| {
        let connected = iscsi.connect(
            &at(OTHER),
            &named(GUARDED),
            &Authentication::None,
            fixture.soon(),
        );
        let Ok(Connected::Before { differences }) = connected else {
            panic!("{connected:?}");
        };
        assert_eq!(
            differences.unwrap(),
            [
                "portal 10.0.0.9:3260, not 10.0.0.10:3260",
                "authentication ONEWAYCHAP, not NONE"
            ]
        );
    });
    assert_eq!(calls(&trace, "MSFT_iSCSITarget.Connect"), 0);
}

#[test]
fn chap_is_what_the_target_asks_for_or_nothing() {
    let fixture = NodeFixture::with_portal();
    let wrong = Chap::new("node", secret("wrong0123456")).unwrap();
    for authentication in [
        Authentication::None,
        Authentication::OneWayChap(wrong),
        Authentication::MutualChap(chap()),
    ] {
        let error = fixture.connect(GUARDED, &authentication).unwrap_err();
        assert!(
            !error.to_string().contains(driver_texts::LOGGED_IN),
            "{error}"
        );
    }
    let iscsi = fixture.iscsi();
    iscsi
        .set_mutual_chap_secret(&secret(PROOF), fixture.soon())
        .unwrap();
    let mutual = Authentication::MutualChap(chap());
    assert_eq!(fixture.connect(GUARDED, &mutual), Ok(Connected::Anew));
}

#[test]
fn a_session_without_a_connection_is_logged_in_and_carries_the_text() {
    let fixture = NodeFixture::with_portal();
    fixture.connect(OPEN, &Authentication::None).unwrap();
    fixture.array().set_down("array", true).unwrap();
    let error = fixture.connect(OPEN, &Authentication::None).unwrap_err();
    assert_says(&error, driver_texts::LOGGED_IN);
    fixture.array().set_down("array", false).unwrap();
    assert!(fixture.connect(OPEN, &Authentication::None).is_ok());
}

#[test]
fn a_session_that_another_process_made_first_is_reused() {
    let fixture = NodeFixture::with_portal();
    let code = iscsi_codes::TARGET_ALREADY_LOGGED_IN.code;
    for effect in [
        Effect::AnswerAfter(Outcome::of(code)),
        Effect::FailAfter(Hresult(code).into()),
    ] {
        let rule = Rule::on("MSFT_iSCSITarget.Connect", effect).times(1);
        fixture.fault(rule);
        let connected = fixture.connect(OPEN, &Authentication::None);
        assert!(
            matches!(connected, Ok(Connected::Before { .. })),
            "{connected:?}"
        );
        fixture.disconnect(OPEN).unwrap();
    }
    let code = iscsi_codes::TARGET_PORTAL_ALREADY_EXISTS.code;
    let iscsi = fixture.iscsi();
    iscsi.remove_portal(&at(ADDRESS), fixture.soon()).unwrap();
    let exists = Effect::AnswerAfter(Outcome::of(code));
    fixture.fault(Rule::on("MSFT_iSCSITargetPortal.New", exists));
    assert_eq!(fixture.add_portal(), Ok(()));
}

/// Guards: P45
#[test]
fn weakness_30_all_sessions_are_ended_and_none_comes_back_after_a_restart() {
    let fixture = NodeFixture::with_portal();
    fixture.connect(OPEN, &Authentication::None).unwrap();
    fixture.log_in_again(OPEN);
    assert_eq!(fixture.sessions().len(), 2);
    assert_eq!(disks(&fixture, OPEN), Ok(2), "without MPIO");
    fixture.disconnect(OPEN).unwrap();
    assert!(fixture.sessions().is_empty());
    assert_eq!(disks(&fixture, OPEN), Ok(0));
    fixture.reboot().unwrap();
    assert!(fixture.sessions().is_empty());
}

/// Guards: P25
#[test]
fn weakness_2_a_session_that_goes_by_itself_is_no_error() {
    let fixture = NodeFixture::with_portal();
    assert_eq!(fixture.disconnect(OPEN), Ok(()), "no session at all");
    let code = iscsi_codes::INVALID_SESSION_ID.code;
    for effect in [
        Effect::AnswerAfter(Outcome::of(code)),
        Effect::FailAfter(Hresult(code).into()),
    ] {
        fixture.connect(OPEN, &Authentication::None).unwrap();
        let rule = Rule::on("MSFT_iSCSITarget.Disconnect", effect).times(1);
        fixture.fault(rule);
        assert_eq!(fixture.disconnect(OPEN), Ok(()));
        assert!(fixture.sessions().is_empty());
    }
}

#[test]
fn a_session_that_stays_although_it_is_said_to_be_gone_is_an_error() {
    let fixture = NodeFixture::with_portal();
    fixture.connect(OPEN, &Authentication::None).unwrap();
    fixture.log_in_again(OPEN);
    let pretend = Effect::Answer(Outcome::of(0));
    fixture.fault(Rule::on("MSFT_iSCSITarget.Disconnect", pretend));
    let error = fixture.disconnect(OPEN).unwrap_err();
    assert!(
        matches!(error, IscsiError::SessionRemains { .. }),
        "{error}"
    );
}

#[test]
fn a_session_of_a_target_that_is_gone_can_be_ended() {
    let fixture = NodeFixture::with_portal();
    fixture.connect(OPEN, &Authentication::None).unwrap();
    rename(&fixture, &[]);
    assert_eq!(names(&fixture), Ok(Vec::new()));
    assert_eq!(fixture.sessions().len(), 1);
    fixture.disconnect(OPEN).unwrap();
    assert!(fixture.sessions().is_empty());
}

#[test]
fn a_session_that_leads_elsewhere_is_not_ended_and_not_not_found() {
    let fixture = with_other(NodeFixture::with_portal(), ServerSpec::at(OTHER));
    fixture.connect(OPEN, &Authentication::None).unwrap();
    let iscsi = fixture.iscsi();
    for wrong in [at(OTHER), at("10.0.0.11")] {
        let left = iscsi.disconnect(&wrong, &named(OPEN), fixture.soon());
        let listed = iscsi.disks(&wrong, &named(OPEN), fixture.soon());
        for error in [left.unwrap_err(), listed.unwrap_err()] {
            let text = error.to_string();
            assert!(matches!(error, IscsiError::Elsewhere { .. }), "{text}");
            assert!(!text.contains(driver_texts::OBJECT_NOT_FOUND), "{text}");
        }
    }
    assert_eq!(fixture.sessions().len(), 1);
}

#[test]
fn object_not_found_is_a_portal_or_target_that_is_unknown_and_nothing_else() {
    let fixture = NodeFixture::with_array();
    let texts = |fixture: &NodeFixture| {
        [
            fixture.disconnect(OPEN).unwrap_err().to_string(),
            disks(fixture, OPEN).unwrap_err().to_string(),
        ]
    };
    for text in texts(&fixture) {
        assert!(
            text.contains(driver_texts::OBJECT_NOT_FOUND) && text.ends_with(": not found"),
            "{text}"
        );
    }
    rename(&fixture, &[]);
    fixture.add_portal().unwrap();
    for text in texts(&fixture) {
        assert!(
            text.contains(driver_texts::OBJECT_NOT_FOUND) && text.ends_with(": not found"),
            "{text}"
        );
    }
    let failures = [
        os::Cause::Hresult(Hresult::WBEM_E_FAILED),
        os::Cause::Hresult(Hresult::RPC_S_SERVER_UNAVAILABLE),
        os::Cause::TimedOut,
        os::Cause::Hresult(Hresult(iscsi_codes::SERVICE_NOT_RUNNING.code)),
    ];
    for cause in failures {
        fixture.heal();
        let rule = Rule::on("*", Effect::Fail(cause)).in_facility(os::Facility::Iscsi);
        fixture.fault(rule);
        for text in texts(&fixture) {
            assert!(
                !text.contains(driver_texts::OBJECT_NOT_FOUND) && !text.ends_with(": not found"),
                "{text}"
            );
        }
    }
}

/// csi-proxy's calls for iSCSI have no rescan among them.
#[test]
fn the_disks_of_a_target_show_by_themselves_after_a_while() {
    let fixture = NodeFixture::with_portal();
    fixture.connect(OPEN, &Authentication::None).unwrap();
    let found = || {
        fixture
            .iscsi()
            .disks(&at(ADDRESS), &named(OPEN), fixture.soon())
    };
    assert_eq!(found().unwrap().len(), 0);
    fixture.let_pass(Duration::from_secs(10));
    let disks = found().unwrap();
    assert_eq!(
        disks.into_iter().collect::<Vec<_>>(),
        [fixture.disk_of("open")]
    );
}

#[test]
fn a_disk_in_use_keeps_its_session_and_the_code_is_explained() {
    let fixture = NodeFixture::with_portal();
    fixture.connect(OPEN, &Authentication::None).unwrap();
    fixture.rescan();
    let disk = fixture.disk_of("open");
    fixture.disks().partition(disk, fixture.soon()).unwrap();
    let volumes = fixture.volumes();
    let volume = volumes.sole_on_disk(disk, fixture.soon()).unwrap();
    let hold = fixture.hold(volume);
    let error = fixture.disconnect(OPEN).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("a disk of the session is in use"), "{text}");
    assert_eq!(fixture.sessions().len(), 1);
    drop(hold);
    fixture.disconnect(OPEN).unwrap();
}

/// Guards: P37
#[test]
fn two_logins_to_one_target_are_one_and_hold_up_no_other_target() {
    let fixture = NodeFixture::with_portal();
    let hang = Rule::on("MSFT_iSCSITarget.Connect", Effect::Hang).times(1);
    let hanging = fixture.fault(hang);
    let _ = fixture.take_trace();
    let login = |node: Node| {
        let soon = fixture.soon();
        thread::spawn(move || {
            let iscsi = node.operations().iscsi();
            iscsi.connect(&at(ADDRESS), &named(OPEN), &Authentication::None, soon)
        })
    };
    let first = login(fixture.node.clone());
    fixture.wait_for_hang(1);
    let second = login(fixture.node.clone());
    let other = fixture.connect(GUARDED, &Authentication::OneWayChap(chap()));
    assert_eq!(
        other,
        Ok(Connected::Anew),
        "another target waits for nobody"
    );
    fixture.faults().remove(hanging);
    let answers = [first.join().unwrap(), second.join().unwrap()];
    assert_eq!(answers[0], Ok(Connected::Anew));
    assert!(
        matches!(answers[1], Ok(Connected::Before { .. })),
        "{answers:?}"
    );
    let open = |op: &&Op| op.operation.ends_with("iSCSITarget.Connect");
    assert_eq!(fixture.take_trace().iter().filter(open).count(), 2);
    assert_eq!(fixture.sessions().len(), 2);
}

#[test]
fn nothing_begins_after_the_deadline() {
    let fixture = NodeFixture::with_portal();
    let iscsi = fixture.iscsi();
    let late = Deadline::within(&*fixture.os().clock, Duration::ZERO);
    let trace = fixture.trace(|| {
        let none = Authentication::None;
        let connected = iscsi.connect(&at(ADDRESS), &named(OPEN), &none, late);
        assert!(
            matches!(connected, Err(IscsiError::Unfinished(_))),
            "{connected:?}"
        );
        assert!(iscsi.add_portal(&at(OTHER), &none, late).is_err());
        assert!(iscsi.remove_portal(&at(ADDRESS), late).is_err());
        assert!(iscsi.disconnect(&at(ADDRESS), &named(OPEN), late).is_err());
        assert!(iscsi.log_out(&named(OPEN), "x", late).is_err());
        assert!(iscsi.set_mutual_chap_secret(&secret(PROOF), late).is_err());
    });
    assert_eq!(trace, []);
}

/// Guards: P39
#[test]
fn weakness_24_a_null_is_no_port_and_no_disk() {
    let fixture = NodeFixture::with_portal();
    fixture.connect(OPEN, &Authentication::None).unwrap();
    fixture.rescan();
    let port = iscsi_target_portal::TARGET_PORTAL_PORT_NUMBER.name;
    let portless = nulling(&fixture, &iscsi_target_portal::CLASS, port);
    assert_eq!(
        portless
            .operations()
            .iscsi()
            .portals(fixture.soon())
            .unwrap(),
        []
    );
    let found = portless
        .operations()
        .iscsi()
        .discover(&at(ADDRESS), fixture.soon());
    assert!(
        matches!(found, Err(IscsiError::PortalNotFound { .. })),
        "{found:?}"
    );
    let numberless = nulling(&fixture, &disk::CLASS, disk::NUMBER.name);
    let iscsi = numberless.operations().iscsi();
    let found = iscsi.disks(&at(ADDRESS), &named(OPEN), fixture.soon());
    assert!(found.unwrap_err().to_string().contains("null"));
}

/// Guards: P21
#[test]
fn no_error_shows_a_secret() {
    let fixture = NodeFixture::with_portal();
    let word = "hunter2hunter2";
    let wrong = Authentication::OneWayChap(Chap::new("node", secret(word)).unwrap());
    let login = fixture.connect(GUARDED, &wrong).unwrap_err();
    let refuse = Effect::Answer(Outcome::of(iscsi_codes::INVALID_CHAP_SECRET.code));
    fixture.fault(Rule::on("*SetCHAPSecret", refuse));
    let iscsi = fixture.iscsi();
    let set = iscsi.set_mutual_chap_secret(&secret(word), fixture.soon());
    for error in [login, set.unwrap_err()] {
        assert!(!format!("{error} {error:?}").contains(word), "{error}");
    }
}

#[test]
fn a_persistent_session_is_told_apart() {
    let fixture = NodeFixture::with_portal();
    fixture.connect(OPEN, &Authentication::None).unwrap();
    let session = fixture.sessions().pop().unwrap();
    let persistent = session.bool(iscsi_session::IS_PERSISTENT.name);
    assert_eq!(
        persistent,
        Ok(false),
        "a login through csi-proxy ends with the node"
    );
}

/// Operations over a node whose initiator answers null for one property of a class.
pub(super) fn nulling(
    fixture: &NodeFixture,
    class: &'static Class,
    property: &'static str,
) -> Node {
    let mut os = fixture.os().clone();
    os.iscsi = Arc::new(Nulling {
        provider: Arc::clone(&os.iscsi),
        class,
        property,
    });
    Node::new(os, Options::default())
}

struct Nulling {
    provider: Arc<dyn Provider>,
    class: &'static Class,
    property: &'static str,
}

impl Nulling {
    fn null(&self, mut found: Vec<Instance>) -> Vec<Instance> {
        let class = format!(":{}.", self.class.name);
        let rows = found.iter_mut();
        rows.filter(|row| row.path.0.contains(&class))
            .filter_map(|row| row.properties.get_mut(self.property))
            .for_each(|value| *value = Value::Null);
        found
    }
}

impl ForwardProvider for Nulling {
    fn to(&self) -> &dyn Provider {
        &*self.provider
    }

    fn query(&self, query: &Query<'_>, deadline: Deadline) -> os::Result<Vec<Instance>> {
        Ok(self.null(self.provider.query(query, deadline)?))
    }

    fn associators(
        &self,
        of: &ObjectPath,
        association: &'static str,
        result_class: &'static str,
        deadline: Deadline,
    ) -> os::Result<Vec<Instance>> {
        let provider = &self.provider;
        let found = provider.associators(of, association, result_class, deadline);
        Ok(self.null(found?))
    }
}
