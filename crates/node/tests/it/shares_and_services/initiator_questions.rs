//! The number of queries to a simulated node's initiator, and the queries that must be made all the
//! same.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use wincsi_node::{Authentication, Connected, LoginOptions, Node, Options};

use crate::support::NodeFixture;
use crate::support::initiator::{ADDRESS, GUARDED, OPEN, at, chap, named};

const NONE: Authentication = Authentication::None;

/// How many operations it takes to list the disks of the open target, which has so many.
fn listing(fixture: &NodeFixture, disks: usize) -> usize {
    fixture.rescan();
    let iscsi = fixture.iscsi();
    let trace = fixture.trace(|| {
        let found = iscsi.disks(&at(ADDRESS), &named(OPEN), fixture.soon());
        assert_eq!(found.unwrap().len(), disks);
    });
    trace.len()
}

/// csi-proxy asks as often, for one session of one target; but whether that is still the one that this process
/// made it does not ask.
#[test]
fn a_target_costs_one_question_more_than_with_csi_proxy_where_it_is_connected() {
    let fixture = NodeFixture::with_portal();
    assert_eq!(listing(&fixture, 0), 2);
    let connected = fixture.trace(|| drop(fixture.connect(OPEN, &NONE).unwrap()));
    assert_eq!(connected.len(), 3, "{connected:?}");
    let again = fixture.trace(|| drop(fixture.connect(OPEN, &NONE).unwrap()));
    assert_eq!(again.len(), 3, "{again:?}");
    assert_eq!(listing(&fixture, 1), 4);
    let left = fixture.trace(|| fixture.disconnect(OPEN).unwrap());
    assert_eq!(left.len(), 4, "{left:?}");
}

#[test]
fn how_another_process_logged_in_is_not_known() {
    let fixture = NodeFixture::with_portal();
    let one_way = Authentication::OneWayChap(chap());
    fixture.connect(GUARDED, &one_way).unwrap();
    let other = Node::new(fixture.os().clone(), Options::default());
    let connected =
        other
            .operations()
            .iscsi()
            .connect(&at(ADDRESS), &named(GUARDED), &NONE, fixture.soon());
    let unknown = Connected::Before { differences: None };
    assert_eq!(connected, Ok(unknown));
}

/// The first process would say of it that it is just as it was asked for.
#[test]
fn a_login_that_another_process_replaced_is_not_known_any_more() {
    let fixture = NodeFixture::with_portal();
    let one_way = Authentication::OneWayChap(chap());
    fixture.connect(GUARDED, &one_way).unwrap();
    let other = Node::new(fixture.os().clone(), Options::default());
    let (portal, target) = (at(ADDRESS), named(GUARDED));
    let persistent = LoginOptions::default().with_persistent(true);
    let iscsi = other.operations().iscsi();
    iscsi.disconnect(&portal, &target, fixture.soon()).unwrap();
    let anew = iscsi.connect_with(&portal, &target, &one_way, &persistent, fixture.soon());
    assert_eq!(anew, Ok(Connected::Anew));
    let unknown = Connected::Before { differences: None };
    assert_eq!(fixture.connect(GUARDED, &one_way), Ok(unknown));
}

#[test]
fn login_reports_only_its_own_session() {
    let fixture = NodeFixture::with_portal();
    fixture.connect(OPEN, &NONE).unwrap();
    fixture.log_in_again(OPEN);
    let unknown = Connected::Before { differences: None };
    assert_eq!(fixture.connect(OPEN, &NONE), Ok(unknown));
}

#[test]
fn a_target_that_was_logged_out_of_has_no_login_to_differ_from() {
    let fixture = NodeFixture::with_portal();
    let one_way = Authentication::OneWayChap(chap());
    fixture.connect(GUARDED, &one_way).unwrap();
    fixture.disconnect(GUARDED).unwrap();
    let other = Node::new(fixture.os().clone(), Options::default());
    other
        .operations()
        .iscsi()
        .connect(&at(ADDRESS), &named(GUARDED), &one_way, fixture.soon())
        .unwrap();
    let unknown = Connected::Before { differences: None };
    assert_eq!(fixture.connect(GUARDED, &NONE), Ok(unknown));
}

/// It counts as not connected, and would come back with its server.
#[test]
fn a_session_that_lost_its_connection_is_ended_by_the_logout() {
    let fixture = NodeFixture::with_portal();
    fixture.connect(OPEN, &NONE).unwrap();
    fixture.log_in_again(OPEN);
    fixture.array().set_down("array", true).unwrap();
    fixture.disconnect(OPEN).unwrap();
    assert!(fixture.sessions().is_empty());
    fixture.array().set_down("array", false).unwrap();
    fixture.reboot().unwrap();
    assert!(fixture.sessions().is_empty());
}

#[test]
fn a_login_beside_a_lost_session_costs_one_question_more_and_carries_the_text() {
    const TEXT: &str = "The target has already been logged in via an iSCSI session";
    let fixture = NodeFixture::with_portal();
    fixture.connect(OPEN, &NONE).unwrap();
    fixture.array().set_down("array", true).unwrap();
    let trace = fixture.trace(|| {
        let error = fixture.connect(OPEN, &NONE).unwrap_err();
        assert!(error.to_string().contains(TEXT), "{error}");
    });
    assert_eq!(trace.len(), 4, "{trace:?}");
}
