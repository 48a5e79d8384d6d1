use std::time::Duration;

use os::schema::iscsi_associations::target_to_target_portal;
use os::schema::{iscsi_codes, iscsi_session, iscsi_target, iscsi_target_portal};
use os::{Arguments, Cause, Deadline, Query, Target, Value};

use super::{ADDRESS, GUARDED, InitiatorFixture, OPEN, PROOF, SECRET, chap, failing, login};
use crate::NodeSpec;
use crate::iscsi::{SERVICE, ServerSpec, TargetSpec};

#[test]
fn a_portal_is_asked_for_its_targets_when_it_is_added_and_again_on_request_alone() {
    let fixture = InitiatorFixture::discovered();
    let targets = || {
        let association = target_to_target_portal::CLASS.name;
        let class = iscsi_target::CLASS.name;
        fixture
            .associated(&fixture.portal(), association, class)
            .len()
    };
    assert_eq!(targets(), 2);
    let late = TargetSpec::named("iqn.2026-01.com.example:late");
    fixture
        .servers
        .change_server("array", |server| server.target.push(late))
        .unwrap();
    assert_eq!(targets(), 2);
    let portal = fixture.portal();
    let none = Arguments::none();
    fixture
        .invoke(Target::Instance(&portal), "Update", &none)
        .unwrap();
    assert_eq!(targets(), 3);
    fixture
        .invoke(Target::Instance(&portal), "Remove", &none)
        .unwrap();
    assert!(fixture.target(OPEN).is_none());
    assert_eq!(
        fixture.invoke(Target::Instance(&portal), "Remove", &none),
        failing(iscsi_codes::PORTAL_NOT_FOUND)
    );
}

#[test]
fn a_portal_that_does_not_answer_is_not_added_and_one_that_is_there_is_no_failure() {
    let fixture = InitiatorFixture::new();
    assert_eq!(
        fixture.add_portal("10.0.0.8"),
        failing(iscsi_codes::CONNECTION_FAILED)
    );
    fixture.servers.set_down("array", true).unwrap();
    assert_eq!(
        fixture.add_portal(ADDRESS),
        failing(iscsi_codes::CONNECTION_FAILED)
    );
    fixture.servers.set_down("array", false).unwrap();
    assert_eq!(fixture.add_portal(ADDRESS), Ok(()));
    assert_eq!(fixture.add_portal(ADDRESS), Ok(()));
    let select = ["TargetPortalAddress", "TargetPortalPortNumber"];
    let portals = fixture.query(&Query::all(iscsi_target_portal::CLASS.name, &select));
    assert_eq!(portals.len(), 1);
    assert_eq!(portals[0].u32("TargetPortalPortNumber"), Ok(3260));
}

#[test]
fn nothing_works_without_the_initiator_service() {
    let fixture = InitiatorFixture::of(&NodeSpec::default());
    let stopped = failing(iscsi_codes::SERVICE_NOT_RUNNING);
    assert_eq!(fixture.add_portal(ADDRESS), stopped);
    let os = fixture.os();
    let query = Query::all(iscsi_target::CLASS.name, &[]);
    let queried = os.iscsi.query(&query, Deadline::NEVER);
    let queried = queried.map(drop).map_err(|error| error.cause);
    assert_eq!(queried, stopped);
    os.services.start(SERVICE, Deadline::NEVER).unwrap();
    assert_eq!(fixture.add_portal(ADDRESS), stopped);
    os.clock.sleep(Duration::from_secs(1));
    assert_eq!(fixture.add_portal(ADDRESS), Ok(()));
}

#[test]
fn a_slow_server_takes_its_time_for_each_answer() {
    let fixture = InitiatorFixture::new();
    let slow = |server: &mut ServerSpec| server.answers_after_ms = 60_000;
    fixture.servers.change_server("array", slow).unwrap();
    let clock = fixture.os().clock;
    let time = |call: &dyn Fn() -> Result<(), Cause>| {
        let before = clock.now().0;
        assert_eq!(call(), Ok(()));
        (clock.now().0 - before).as_secs()
    };
    assert_eq!(time(&|| fixture.add_portal(ADDRESS)), 60);
    assert_eq!(time(&|| fixture.connect(&login(OPEN))), 60);
    let none = Arguments::none();
    for object in [fixture.portal(), fixture.target(OPEN).unwrap().path] {
        let on = Target::Instance(&object);
        assert_eq!(time(&|| fixture.invoke(on, "Update", &none)), 60);
    }
    fixture.servers.set_down("array", true).unwrap();
    let before = clock.now();
    assert!(fixture.connect(&login(GUARDED)).is_err());
    assert_eq!(clock.now(), before);
}

#[test]
fn a_login_that_cannot_be_is_refused_with_the_code_of_the_initiator() {
    let fixture = InitiatorFixture::connected();
    let late = TargetSpec::named("iqn.2026-01.com.example:late");
    fixture
        .servers
        .change_server("array", |server| server.target.push(late))
        .unwrap();
    let at = |address| login(GUARDED).with("TargetPortalAddress", Value::text(address));
    for (login, code) in [
        (login("open"), iscsi_codes::INVALID_ISCSI_NAME),
        (
            login("iqn.2026-01.com.example:late"),
            iscsi_codes::TARGET_NOT_FOUND,
        ),
        (login(&OPEN.to_uppercase()), iscsi_codes::TARGET_NOT_FOUND),
        (login(OPEN), iscsi_codes::TARGET_ALREADY_LOGGED_IN),
        (at("10.0.0.8"), iscsi_codes::CONNECTION_FAILED),
    ] {
        assert_eq!(fixture.connect(&login), failing(code), "{login:?}");
    }
    assert_eq!(fixture.disks(), 1);
}

#[test]
fn the_initiator_proves_itself_by_chap() {
    let fixture = InitiatorFixture::discovered();
    for (kind, user, secret, code) in [
        ("NONE", "", "", iscsi_codes::AUTHENTICATION_FAILURE),
        (
            "ONEWAYCHAP",
            "node",
            "wrong secret",
            iscsi_codes::AUTHENTICATION_FAILURE,
        ),
        (
            "ONEWAYCHAP",
            "other",
            SECRET,
            iscsi_codes::AUTHENTICATION_FAILURE,
        ),
        (
            "ONEWAYCHAP",
            "",
            SECRET,
            iscsi_codes::AUTHENTICATION_FAILURE,
        ),
        (
            "ONEWAYCHAP",
            "node",
            "short",
            iscsi_codes::SHORT_CHAP_SECRET,
        ),
        (
            "OneWayChap",
            "node",
            SECRET,
            iscsi_codes::INVALID_LOGON_AUTH_TYPE,
        ),
    ] {
        let connected = fixture.connect(&chap(GUARDED, kind, user, secret));
        assert_eq!(connected, failing(code), "{kind} {user} {secret}");
    }
    let unasked = chap(OPEN, "ONEWAYCHAP", "node", SECRET);
    assert_eq!(
        fixture.connect(&unasked),
        failing(iscsi_codes::AUTHENTICATION_FAILURE)
    );
    assert_eq!(
        fixture.connect(&chap(GUARDED, "ONEWAYCHAP", "node", SECRET)),
        Ok(())
    );
    let session = fixture.sessions(GUARDED).pop().unwrap();
    assert_eq!(session.text("AuthenticationType"), Ok("ONEWAYCHAP"));
    assert!(!format!("{:?}", fixture.node.take_trace()).contains(SECRET));
}

#[test]
fn the_target_proves_itself_by_mutual_chap() {
    let fixture = InitiatorFixture::discovered();
    let mutual = chap(GUARDED, "MUTUALCHAP", "node", SECRET);
    assert_eq!(
        fixture.connect(&mutual),
        failing(iscsi_codes::TARGET_AUTH_INFO_UNAVAILABLE)
    );
    let set = |secret| {
        let secret = Arguments::none().with("ChapSecret", Value::text(secret));
        let class = Target::Class(iscsi_session::CLASS.name);
        fixture.invoke(class, "SetCHAPSecret", &secret)
    };
    assert_eq!(set("too short"), failing(iscsi_codes::SHORT_CHAP_SECRET));
    assert_eq!(
        set("0123456789abcdefg"),
        failing(iscsi_codes::INVALID_CHAP_SECRET)
    );
    set("another proof").unwrap();
    assert_eq!(
        fixture.connect(&mutual),
        failing(iscsi_codes::AUTHENTICATION_FAILURE)
    );
    set(PROOF).unwrap();
    assert_eq!(fixture.connect(&mutual), Ok(()));
}
