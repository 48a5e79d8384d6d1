//! Sessions of the iSCSI initiator: how they are made, and what is told of them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::collections::BTreeSet;
use std::time::Duration;

use os::schema::iscsi_target::authentication_type;
use os_sim::iscsi as server;
use os_sim::{Bus, DiskSpec, Op};
use wincsi_node::api::{Condition, NodeApi};
use wincsi_node::{
    Authentication, Chap, Connected, Criterion, DiskError, DiskQuery, FoundDisk, IscsiError,
    LoginOptions, Node, NotEnough, Options, SerialNumber, SessionInfo,
};

use super::iscsi::calls;
use crate::support::initiator::{ADDRESS, GUARDED, OPEN, PROOF, SECRET, at, chap, named, secret};
use crate::support::{GIB, NodeFixture};

fn connect(fixture: &NodeFixture, options: &LoginOptions) -> Connected {
    let connected = fixture.iscsi().connect_with(
        &at(ADDRESS),
        &named(OPEN),
        &Authentication::None,
        options,
        fixture.soon(),
    );
    connected.unwrap()
}

fn sessions(fixture: &NodeFixture) -> Vec<SessionInfo> {
    fixture.iscsi().sessions(fixture.soon()).unwrap()
}

fn find(fixture: &NodeFixture, criteria: Vec<Criterion>) -> Result<FoundDisk, DiskError> {
    let wanted = DiskQuery::all(criteria).unwrap();
    fixture.disks().find(&wanted, fixture.soon())
}

fn behind(target: &str) -> Criterion {
    Criterion::IscsiTarget {
        portal: at(ADDRESS),
        target: named(target),
    }
}

#[test]
fn a_session_is_made_as_it_is_asked_for() {
    let fixture = NodeFixture::with_portal();
    let wanted = LoginOptions::default()
        .with_data_digest(true)
        .with_header_digest(true)
        .with_initiator_address([10, 0, 0, 1].into())
        .with_multipath(true)
        .with_persistent(true);
    assert_eq!(connect(&fixture, &wanted), Connected::Anew);
    let [session] = &sessions(&fixture)[..] else {
        panic!("one session");
    };
    assert_eq!(session.target, OPEN);
    assert_eq!(session.connections, Some(1));
    for flag in [
        session.data_digest,
        session.header_digest,
        session.is_connected,
        session.is_persistent,
    ] {
        assert_eq!(flag, Some(true));
    }
    fixture.reboot().unwrap();
    assert_eq!(sessions(&fixture).len(), 1, "it comes back");
}

#[test]
fn a_session_that_nothing_was_asked_of_ends_with_the_restart() {
    let fixture = NodeFixture::with_portal();
    assert_eq!(connect(&fixture, &LoginOptions::default()), Connected::Anew);
    let [session] = &sessions(&fixture)[..] else {
        panic!("one session");
    };
    assert_eq!(session.is_persistent, Some(false));
    assert_eq!(session.data_digest, Some(false));
    fixture.reboot().unwrap();
    assert_eq!(sessions(&fixture), []);
}

#[test]
fn a_session_that_is_there_stays_and_its_other_options_are_told() {
    let fixture = NodeFixture::with_portal();
    connect(&fixture, &LoginOptions::default());
    let wanted = LoginOptions::default().with_persistent(true);
    let Connected::Before { differences } = connect(&fixture, &wanted) else {
        panic!("a second session");
    };
    let reported = "IsPersistent left out, not true".to_owned();
    assert_eq!(differences, Some(vec![reported]));
    assert_eq!(sessions(&fixture).len(), 1);
}

#[test]
fn who_proved_themselves_to_whom_is_told() {
    let fixture = NodeFixture::with_portal();
    let mutual = Authentication::MutualChap(chap());
    fixture.connect(GUARDED, &mutual).unwrap_err();
    let proof = fixture.iscsi();
    proof
        .set_mutual_chap_secret(&secret(PROOF), fixture.soon())
        .unwrap();
    fixture.connect(GUARDED, &mutual).unwrap();
    let reported = |fixture: &NodeFixture| sessions(fixture)[0].authentication.clone();
    let word = authentication_type::MUTUAL_CHAP.value.to_owned();
    assert_eq!(reported(&fixture), Some(word));
    fixture.disconnect(GUARDED).unwrap();
    let one_way = Authentication::OneWayChap(chap());
    fixture.connect(GUARDED, &one_way).unwrap();
    let word = authentication_type::ONE_WAY_CHAP.value.to_owned();
    assert_eq!(reported(&fixture), Some(word));
}

/// The initiator keeps the credentials for later queries.
/// Guards: P21
#[test]
fn a_portal_that_asks_for_chap_is_added_with_it() {
    let fixture = NodeFixture::with_array();
    let asked = server::Chap {
        user: "node".to_owned(),
        secret: SECRET.into(),
    };
    fixture
        .array()
        .change_server("array", |server| server.discovery = Some(asked))
        .unwrap();
    let word = "hunter2hunter2";
    let wrong = Chap::new("node", secret(word)).unwrap();
    for authentication in [Authentication::None, Authentication::OneWayChap(wrong)] {
        let error = fixture.add_portal_with(&authentication).unwrap_err();
        assert_eq!(error.condition(), Some(Condition::LogonFailure), "{error}");
        assert!(!format!("{error} {error:?}").contains(word), "{error}");
    }
    let right = Authentication::OneWayChap(chap());
    assert_eq!(fixture.add_portal_with(&right), Ok(()));
    let trace = fixture.trace(|| fixture.add_portal().unwrap());
    assert_eq!(calls(&trace, "MSFT_iSCSITargetPortal.New"), 0);
    fixture.reboot().unwrap();
    let found = fixture.iscsi().discover(&at(ADDRESS), fixture.soon());
    assert_eq!(found, Ok(vec![GUARDED.to_owned(), OPEN.to_owned()]));
}

#[test]
fn a_refresh_tells_what_the_portal_has_or_that_it_does_not_answer() {
    let fixture = NodeFixture::with_portal();
    let refresh = || fixture.iscsi().refresh(&at(ADDRESS), fixture.soon());
    refresh().unwrap();
    fixture.array().set_down("array", true).unwrap();
    refresh().unwrap_err();
    let unknown = fixture.iscsi().refresh(&at("10.0.0.77"), fixture.soon());
    let error = unknown.unwrap_err();
    assert!(
        matches!(error, IscsiError::PortalNotFound { .. }),
        "{error}"
    );
}

#[test]
fn the_disk_that_a_session_leads_to_is_found_by_its_target() {
    let fixture = NodeFixture::with_portal();
    for target in [OPEN, GUARDED] {
        let gone = find(&fixture, vec![behind(target), Criterion::Lun(0)]).unwrap_err();
        assert!(matches!(gone, DiskError::NotIdentified(_)), "{gone}");
    }
    connect(&fixture, &LoginOptions::default());
    fixture
        .connect(GUARDED, &Authentication::OneWayChap(chap()))
        .unwrap();
    fixture.rescan();
    for target in [OPEN, GUARDED] {
        let listed = fixture.iscsi();
        let listed = listed.disks(&at(ADDRESS), &named(target), fixture.soon());
        let found = find(&fixture, vec![behind(target), Criterion::Lun(0)]).unwrap();
        assert_eq!(listed, Ok([found.number()].into()), "{target}");
        assert_eq!(found.seen().iscsi_targets, [named(target)]);
        let soon = fixture.soon();
        let trace = fixture.trace(|| fixture.disks().partition(&found, soon).unwrap());
        let is_of_session = |op: &Op| op.object.contains("MSFT_iSCSI");
        assert!(trace.iter().any(is_of_session), "asked once more");
    }
    let both = find(
        &fixture,
        vec![behind(OPEN), behind(GUARDED), Criterion::Lun(0)],
    )
    .unwrap_err();
    assert!(matches!(both, DiskError::NotIdentified(_)), "{both}");
}

/// csi-proxy's own integration test lists them as soon as it has logged in.
#[test]
fn a_first_disk_is_waited_for_after_a_login_alone() {
    let fixture = NodeFixture::with_portal();
    let listed = |node: &dyn NodeApi, target: &str| {
        let (clock, iscsi) = (&fixture.os().clock, node.iscsi());
        let before = clock.now();
        let disks = iscsi.disks(&at(ADDRESS), &named(target), fixture.soon());
        (disks.unwrap().len(), clock.now().0 - before.0)
    };
    let node = &fixture.node;
    connect(&fixture, &LoginOptions::default());
    let other = Node::new(fixture.os().clone(), Options::default());
    assert_eq!(listed(&other, OPEN), (0, Duration::ZERO));
    let (disks, waited) = listed(node, OPEN);
    assert_eq!(disks, 1);
    let noticed = Duration::from_secs(1)..Duration::from_secs(2);
    assert!(noticed.contains(&waited), "{waited:?}");
    assert_eq!(listed(node, OPEN), (1, Duration::ZERO));
    let without = |server: &mut server::ServerSpec| server.target[1].lun.clear();
    fixture.array().change_server("array", without).unwrap();
    fixture
        .connect(GUARDED, &Authentication::OneWayChap(chap()))
        .unwrap();
    fixture.let_pass(Duration::from_secs(1));
    for left in [2, 0] {
        assert_eq!(listed(node, GUARDED), (0, Duration::from_secs(left)));
    }
    fixture.disconnect(GUARDED).unwrap();
    assert_eq!(listed(node, GUARDED), (0, Duration::ZERO));
}

/// A target that has one LUN when the driver is written may have two when it runs.
#[test]
fn a_target_alone_is_not_enough_to_take_whichever_disk_it_has() {
    let refused = DiskQuery::all([behind(OPEN)]).unwrap_err();
    assert_eq!(refused, NotEnough::Lun);
    assert!(refused.to_string().contains("takes the LUN"), "{refused}");
    let placed = [behind(OPEN), Criterion::Adapter(1), Criterion::Size(GIB)];
    assert_eq!(DiskQuery::all(placed), Err(NotEnough::Lun));
    let namespace = [behind(OPEN), Criterion::Namespace(1)];
    assert_eq!(DiskQuery::all(namespace), Err(NotEnough::Lun));
    let lun = DiskQuery::all([Criterion::Lun(0)]);
    assert_eq!(lun, Err(NotEnough::Controller));
    let size = DiskQuery::all([Criterion::Size(GIB)]);
    assert_eq!(size, Err(NotEnough::Name));
    let serial = Criterion::Serial(SerialNumber::parse("second").unwrap());
    DiskQuery::all([behind(OPEN), serial]).unwrap();
}

#[test]
fn of_a_target_with_two_disks_each_is_found_by_its_lun() {
    let fixture = NodeFixture::with_portal();
    fixture.array().set_image("second", GIB).unwrap();
    fixture
        .array()
        .change_server("array", |server| {
            let second = DiskSpec::on(Bus::Iscsi).serial("second").lun(1);
            let target = server.target.remove(0);
            server.target.insert(0, target.with_disk("second", second));
        })
        .unwrap();
    connect(&fixture, &LoginOptions::default());
    fixture.rescan();
    let mut numbers = BTreeSet::new();
    for lun in [0, 1] {
        let found = find(&fixture, vec![behind(OPEN), Criterion::Lun(lun)]).unwrap();
        let own = found.seen().location.as_ref().and_then(|it| it.lun.clone());
        assert_eq!(own, Some(lun.to_string()));
        numbers.insert(found.number());
    }
    assert_eq!(numbers.len(), 2);
    find(&fixture, vec![behind(OPEN), Criterion::Lun(2)]).unwrap_err();
}

/// Its number may have gone to another disk, and a login to the same target bring another one.
#[test]
fn a_disk_that_no_session_leads_to_any_more_is_not_changed() {
    let fixture = NodeFixture::with_portal();
    connect(&fixture, &LoginOptions::default());
    fixture.rescan();
    let found = find(&fixture, vec![behind(OPEN), Criterion::Lun(0)]).unwrap();
    fixture.disconnect(OPEN).unwrap();
    fixture.rescan();
    let refused = fixture.disks().partition(&found, fixture.soon());
    refused.unwrap_err();
}

#[test]
fn a_target_that_the_portal_does_not_lead_to_is_not_found_and_not_empty() {
    let fixture = NodeFixture::with_portal();
    let unknown = find(
        &fixture,
        vec![behind("iqn.2026-01.com.example:none"), Criterion::Lun(0)],
    );
    let Err(DiskError::Iscsi(error)) = unknown else {
        panic!("{unknown:?}");
    };
    assert!(
        matches!(*error, IscsiError::TargetNotFound { .. }),
        "{error}"
    );
}

/// Windows was seen to make the first login persistent unasked: it would come back at each start.
#[test]
fn a_login_that_is_not_to_persist_is_taken_back() {
    for (asked, persists) in [(Some(false), false), (None, true), (Some(true), true)] {
        let fixture = NodeFixture::with_portal();
        let unasked = |server: &mut server::ServerSpec| server.first_login_persists = true;
        fixture.array().change_server("array", unasked).unwrap();
        let plain = LoginOptions::default();
        let options = asked.map_or(plain.clone(), |asked| plain.with_persistent(asked));
        assert_eq!(connect(&fixture, &options), Connected::Anew);
        let found: Vec<_> = sessions(&fixture)
            .iter()
            .map(|it| it.is_persistent)
            .collect();
        assert_eq!(found, [Some(persists)], "{asked:?}");
        fixture.reboot().unwrap();
        assert_eq!(sessions(&fixture).len(), usize::from(persists), "{asked:?}");
    }
}
