//! Passwords of shares in what people read. The program's own test has the log.

use transport::{Code, Status};
use wire::csi::v1::NodeGetVolumeStatsRequest;
use wire::csi::v1::node::NodeGetVolumeStats;

use crate::share_requests::fixture::{Fixture, PASSWORD, STAGING, Volume};

/// In no text by accident.
const WRONG: &str = "Zx81-qUUx-horse!";

/// Guards: P21
#[test]
fn passwords_of_shares_reach_no_event_answer_or_metric() {
    let fixture = Fixture::lenient();
    let volume = Volume::of("//files/data");
    let wrong = by("pods", WRONG).with(&["bogus=Zx81-qUUx-horse!", "sec=Zx81-qUUx-horse!"]);
    let mut outputs = vec![refused(fixture.stage(&wrong), Code::Unauthenticated)];
    fixture.stage(&volume).unwrap();
    let mut conflict = by("others", WRONG);
    conflict.handle = "other";
    outputs.push(refused(fixture.stage(&conflict), Code::FailedPrecondition));
    fixture.unmap(r"\\files\data");
    outputs.push(refused(fixture.publish(&wrong), Code::Unavailable));
    let mut without_secrets = volume;
    without_secrets.secrets.clear();
    let abnormal = fixture.publish(&without_secrets);
    outputs.push(refused(abnormal, Code::FailedPrecondition));
    outputs.push(stats(&fixture));
    let (events, page) = (fixture.events(), fixture.metrics());
    for reported in ["bogus", "is abnormal"] {
        let is_there = events.iter().any(|event| event.contains(reported));
        assert!(is_there, "{reported}: {events:?}");
    }
    let is_abnormal = r#"wincsi_volume_abnormal{volume="pv"} 1"#;
    assert!(page.contains(is_abnormal), "{page}");
    outputs.extend(events);
    outputs.push(page);
    for text in outputs {
        for password in [WRONG, PASSWORD] {
            assert!(!text.contains(password), "{password} in {text}");
        }
    }
}

fn by(user: &'static str, password: &'static str) -> Volume {
    let mut volume = Volume::of("//files/data");
    volume.secrets = vec![("username", user), ("password", password)];
    volume
}

fn refused(answer: Result<(), Status>, code: Code) -> String {
    let refused = answer.unwrap_err();
    assert_eq!(refused.code, code, "{refused}");
    refused.to_string()
}

fn stats(fixture: &Fixture) -> String {
    let stats = fixture.call::<NodeGetVolumeStats>(&NodeGetVolumeStatsRequest {
        volume_id: String::from("pv"),
        volume_path: STAGING.to_owned(),
        staging_target_path: STAGING.to_owned(),
    });
    format!("{stats:?}")
}
