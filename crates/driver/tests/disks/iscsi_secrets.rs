//! iSCSI volumes whose targets ask for a secret, and prove themselves.

use transport::Code;
use wincsi::sim::SimNode;
use wincsi::sim::iscsi::TargetSpec;
use wincsi_driver::kinds::{self, Row};

use crate::fixture::STAGING;
use crate::iscsi::{Fixture, IQN, OTHER, SETUP};
use crate::iscsi_logins::MORE;
use crate::support::Setup;

const USER: &str = "node";
const SECRET: &str = "0123456789ab";

/// Guards: P80
#[test]
fn a_target_asks_for_a_secret_and_the_session_keeps_it() {
    let target = TargetSpec::named(IQN).asking(USER, SECRET);
    let mut fixture = Fixture::of(target);
    let by = |secret| {
        [
            ("node-db.node.session.auth.authmethod", "CHAP"),
            ("node-db.node.session.auth.username", USER),
            ("node-db.node.session.auth.password", secret),
        ]
    };
    let wrong = fixture
        .stage_lun("v", STAGING, "0", &by("ba9876543210"))
        .unwrap_err();
    assert_eq!(wrong.code(), Code::Unauthenticated, "{wrong}");
    assert!(wrong.to_string().contains("10.0.0.9:3260"), "{wrong}");
    fixture.assert_put_away("a wrong secret");
    fixture.stage_lun("v", STAGING, "0", &by(SECRET)).unwrap();
    // A session that serves is not ended for another volume's call.
    fixture
        .stage_lun("w", OTHER, "1", &by("ba9876543210"))
        .unwrap();
    fixture.publish().unwrap();
    // No record has the secret, so that nothing but kubelet's next stage can log in.
    fixture.reboot();
    let refused = fixture.publish().unwrap_err();
    assert!(refused.to_string().contains("delete the pod"), "{refused}");
    // The next process knows all the same who added the portal.
    fixture.restart_driver();
    fixture.stage_lun("v", STAGING, "0", &by(SECRET)).unwrap();
    fixture.publish().unwrap();
    let shown = fixture.copy_of_records().into_values();
    for text in shown.chain(fixture.events()).chain([fixture.metrics()]) {
        assert!(!text.contains(SECRET), "{text}");
    }
    fixture.unstage_of("w", OTHER).unwrap();
    fixture.put_away();
    fixture.assert_put_away("both");
}

#[test]
fn a_target_proves_itself_where_an_operator_allows_it() {
    let secrets = [
        ("node.session.auth.username", USER),
        ("node.session.auth.password", SECRET),
        ("node.session.auth.username_in", "target"),
        ("node.session.auth.password_in", "ba9876543210"),
    ];
    for (kinds, is_staged) in [
        (SETUP.kinds, false),
        (with_mutual as fn(&SimNode) -> Vec<Row>, true),
    ] {
        let target = |iqn| {
            let target = TargetSpec::named(iqn).asking(USER, SECRET);
            target.proving("ba9876543210")
        };
        let mut fixture = Fixture::with(target(IQN), |_| {}, Setup { name: "i", kinds });
        let staged = fixture.stage_lun("v", STAGING, "0", &secrets);
        match is_staged {
            true => {
                staged.unwrap();
                let mut other = secrets;
                other[3].1 = "cccccccccccc";
                // The session of the target is there: another one has to log in.
                fixture.add_target("c", target(MORE));
                for is_started_again in [false, true] {
                    if is_started_again {
                        fixture.restart_driver();
                    }
                    let refused = fixture.stage_target("w", OTHER, MORE, &other).unwrap_err();
                    assert_eq!(refused.code(), Code::FailedPrecondition, "{refused}");
                    for names in [r#"that of volume "v""#, r#"serves volume "w""#] {
                        assert!(refused.to_string().contains(names), "{refused}");
                    }
                    // A class has one Secret for all of its volumes.
                    fixture.stage_target("w", OTHER, MORE, &secrets).unwrap();
                    fixture.unstage_of("w", OTHER).unwrap();
                }
                // No session of before the boot needs one now.
                fixture.reboot();
                fixture.restart_driver();
                let refused = fixture.stage_target("w", OTHER, MORE, &other).unwrap_err();
                assert_eq!(refused.code(), Code::Unauthenticated, "{refused}");
            }
            false => {
                let refused = staged.unwrap_err();
                assert_eq!(refused.code(), Code::FailedPrecondition, "{refused}");
                assert!(
                    refused.to_string().contains("-iscsi-mutual-secret"),
                    "{refused}"
                );
                fixture.assert_put_away("refused");
            }
        }
    }
}

fn with_mutual(_: &SimNode) -> Vec<Row> {
    let mut settings = kinds::Settings::default();
    settings.iscsi.sets_mutual_secret = true;
    kinds::table(settings)
}
