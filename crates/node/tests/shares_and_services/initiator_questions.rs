//! How much of the initiator a simulated node is asked, and what must be asked all the same.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use wincsi_node::{Authentication, Connected, LoginOptions, Node, Options};

use crate::support::Rig;
use crate::support::initiator::{ADDRESS, GUARDED, OPEN, at, chap, named};

const NONE: Authentication = Authentication::None;

/// How many operations it takes to list the disks of the open target, which has so many.
fn listing(rig: &Rig, disks: usize) -> usize {
    rig.disks().rescan(rig.soon()).unwrap();
    let iscsi = rig.iscsi();
    let trace = rig.trace(|| {
        let found = iscsi.disks(&at(ADDRESS), &named(OPEN), rig.soon());
        assert_eq!(found.unwrap().len(), disks);
    });
    trace.len()
}

/// csi-proxy asks as often, for one session of one target; but whether that is still the one that this process
/// made it does not ask.
#[test]
fn a_target_costs_one_question_more_than_with_csi_proxy_where_it_is_connected() {
    let rig = Rig::with_portal();
    assert_eq!(listing(&rig, 0), 2);
    let connected = rig.trace(|| drop(rig.connect(OPEN, &NONE).unwrap()));
    assert_eq!(connected.len(), 3, "{connected:?}");
    let again = rig.trace(|| drop(rig.connect(OPEN, &NONE).unwrap()));
    assert_eq!(again.len(), 3, "{again:?}");
    assert_eq!(listing(&rig, 1), 4);
    let left = rig.trace(|| rig.disconnect(OPEN).unwrap());
    assert_eq!(left.len(), 4, "{left:?}");
}

#[test]
fn how_another_process_logged_in_is_not_known() {
    let rig = Rig::with_portal();
    let one_way = Authentication::OneWayChap(chap());
    rig.connect(GUARDED, &one_way).unwrap();
    let other = Node::new(rig.os().clone(), Options::default());
    let connected =
        other
            .operations()
            .iscsi()
            .connect(&at(ADDRESS), &named(GUARDED), &NONE, rig.soon());
    let unknown = Connected::Before { differences: None };
    assert_eq!(connected, Ok(unknown));
}

/// The first process would say of it that it is just as it was asked for.
#[test]
fn a_login_that_another_process_replaced_is_not_known_any_more() {
    let rig = Rig::with_portal();
    let one_way = Authentication::OneWayChap(chap());
    rig.connect(GUARDED, &one_way).unwrap();
    let other = Node::new(rig.os().clone(), Options::default());
    let (portal, target) = (at(ADDRESS), named(GUARDED));
    let persistent = LoginOptions::default().with_persistent(true);
    let iscsi = other.operations().iscsi();
    iscsi.disconnect(&portal, &target, rig.soon()).unwrap();
    let anew = iscsi.connect_with(&portal, &target, &one_way, &persistent, rig.soon());
    assert_eq!(anew, Ok(Connected::Anew));
    let unknown = Connected::Before { differences: None };
    assert_eq!(rig.connect(GUARDED, &one_way), Ok(unknown));
}

#[test]
fn a_login_beside_which_another_process_made_a_session_does_not_speak_for_both() {
    let rig = Rig::with_portal();
    rig.connect(OPEN, &NONE).unwrap();
    rig.log_in_again(OPEN);
    let unknown = Connected::Before { differences: None };
    assert_eq!(rig.connect(OPEN, &NONE), Ok(unknown));
}

#[test]
fn a_target_that_was_logged_out_of_has_no_login_to_differ_from() {
    let rig = Rig::with_portal();
    let one_way = Authentication::OneWayChap(chap());
    rig.connect(GUARDED, &one_way).unwrap();
    rig.disconnect(GUARDED).unwrap();
    let other = Node::new(rig.os().clone(), Options::default());
    other
        .operations()
        .iscsi()
        .connect(&at(ADDRESS), &named(GUARDED), &one_way, rig.soon())
        .unwrap();
    let unknown = Connected::Before { differences: None };
    assert_eq!(rig.connect(GUARDED, &NONE), Ok(unknown));
}

/// It counts as not connected, and would come back with its server.
#[test]
fn a_session_that_lost_its_connection_is_ended_by_the_logout() {
    let rig = Rig::with_portal();
    rig.connect(OPEN, &NONE).unwrap();
    rig.log_in_again(OPEN);
    rig.array().set_down("array", true).unwrap();
    rig.disconnect(OPEN).unwrap();
    assert!(rig.sessions().is_empty());
    rig.array().set_down("array", false).unwrap();
    rig.sim.reboot().unwrap();
    assert!(rig.sessions().is_empty());
}

#[test]
fn a_login_beside_a_lost_session_costs_one_question_more_and_carries_the_text() {
    const TEXT: &str = "The target has already been logged in via an iSCSI session";
    let rig = Rig::with_portal();
    rig.connect(OPEN, &NONE).unwrap();
    rig.array().set_down("array", true).unwrap();
    let trace = rig.trace(|| {
        let error = rig.connect(OPEN, &NONE).unwrap_err();
        assert!(error.to_string().contains(TEXT), "{error}");
    });
    assert_eq!(trace.len(), 4, "{trace:?}");
}
