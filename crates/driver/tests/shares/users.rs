//! As whom shares are mapped: one user for each server, and whose password counts.

use transport::Code;
use wincsi::sim::smb::{ServerHealth, ServerSpec};

use crate::fixture::{Fixture, Host, POD, ROOT, SERVER, SHARE, USER, Volume, volume};

const OTHER_USER: &str = r"FILES\others";

/// Guards: P77
#[test]
fn two_users_of_one_server_are_refused_and_both_volumes_are_named() {
    let fixture = Fixture::new();
    fixture.stage(&volume("first")).unwrap();
    let second = Volume {
        user: OTHER_USER,
        ..volume("second")
    };
    let error = fixture.stage(&second).unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition);
    let text = error.to_string();
    assert!(
        text.contains("\"first\"") && text.contains("\"second\""),
        "{text}"
    );
    assert_eq!(fixture.records(), 1);
    fixture.unstage(&volume("first")).unwrap();
    assert_eq!(
        fixture.stage(&second).unwrap_err().code(),
        Code::Unauthenticated
    );
}

/// Windows compares names of users without case.
#[test]
fn a_user_in_another_spelling_is_no_other_user() {
    let mut fixture = Fixture::new();
    let user = USER.to_uppercase();
    let spelt_otherwise = |handle| Volume {
        user: &user,
        ..volume(handle)
    };
    fixture.stage(&volume("first")).unwrap();
    fixture.stage(&spelt_otherwise("second")).unwrap();
    fixture.restart();
    fixture.stage(&spelt_otherwise("third")).unwrap();
    assert_eq!(fixture.mappings(), [ROOT]);
}

#[test]
fn another_name_of_a_server_takes_another_user() {
    let fixture = Fixture::new();
    let alias = ServerSpec::sharing(SHARE, OTHER_USER, "their own");
    fixture.add_server("alias", &alias);
    fixture.stage(&volume("first")).unwrap();
    let second = Volume {
        remote: r"\\alias\data",
        user: OTHER_USER,
        password: "their own",
        ..volume("second")
    };
    fixture.stage(&second).unwrap();
    assert_eq!(fixture.mappings(), [r"\\alias\data", ROOT]);
}

#[test]
fn a_wrong_password_of_the_first_volume_leaves_nothing() {
    let fixture = Fixture::new();
    let wrong = Volume {
        password: "wrong",
        ..volume("pv")
    };
    let error = fixture.stage(&wrong).unwrap_err();
    assert_eq!(error.code(), Code::Unauthenticated, "{error}");
    assert!(!error.to_string().contains("wrong"), "{error}");
    assert_eq!(fixture.records(), 0);
    assert_eq!(fixture.mappings(), [""; 0]);
}

#[test]
fn a_volume_with_another_password_is_served_by_the_mapping_and_counted() {
    let mut fixture = Fixture::new();
    fixture.stage(&volume("first")).unwrap();
    let rotated = Volume {
        password: "rotated",
        ..volume("second")
    };
    for (restarts, calls) in [(false, 1), (true, 2)] {
        if restarts {
            fixture.unstage(&rotated).unwrap();
            fixture.restart();
        }
        fixture.stage(&rotated).unwrap();
        fixture.publish(&rotated, POD).unwrap();
        fixture.unpublish(&rotated, POD).unwrap();
        let counted = format!(
            "wincsi_smb_other_password_total {}",
            if restarts { 1 } else { calls }
        );
        let page = fixture.metrics();
        assert!(page.contains(&counted), "{page}");
    }
    assert_eq!(fixture.mappings(), [ROOT]);
}

/// The mapping serves the volume, whatever its Secret has by now.
#[test]
fn a_repeated_stage_has_one_rule_for_user_and_password() {
    let other_user = Volume {
        user: OTHER_USER,
        ..volume("pv")
    };
    let rotated = Volume {
        password: "rotated",
        ..volume("pv")
    };
    for changed in [&other_user, &rotated] {
        for restarts in [false, true] {
            let mut fixture = Fixture::new();
            fixture.stage(&volume("pv")).unwrap();
            fixture.publish(&volume("pv"), POD).unwrap();
            if restarts {
                fixture.restart();
            }
            fixture.stage(changed).unwrap();
            fixture.publish_with_secret(changed, "pod-2").unwrap();
            let page = fixture.metrics();
            let is_counted = page.contains("wincsi_smb_other_password_total 2");
            // csi-proxy is asked again, and keeps the mapping.
            assert!(is_counted || crate::HOST == Host::Pipes, "{page}");
            fixture.write(&volume("pv").target(POD), "still there");
            assert_eq!(fixture.mappings(), [ROOT]);
        }
    }
}

/// Guards: P78
#[test]
fn a_stage_that_is_repeated_with_a_wrong_password_or_a_dead_server_cuts_nothing() {
    let fixture = Fixture::new();
    fixture.stage(&volume("pv")).unwrap();
    fixture.publish(&volume("pv"), POD).unwrap();
    let wrong = Volume {
        password: "wrong",
        ..volume("pv")
    };
    fixture.stage(&wrong).unwrap();
    fixture.write(&volume("pv").target(POD), "still there");
    fixture.set_server(SERVER, ServerHealth::Down);
    for repeated in [fixture.stage(&wrong), fixture.stage(&volume("pv"))] {
        if let Err(error) = repeated {
            assert_eq!(error.code(), Code::Unavailable, "{error}");
        }
    }
    assert_eq!(fixture.mappings(), [ROOT]);
    fixture.set_server(SERVER, ServerHealth::Up);
    fixture.write(&volume("pv").target(POD), "again");
    fixture
        .stage(&Volume {
            user: USER,
            ..volume("pv")
        })
        .unwrap();
}
