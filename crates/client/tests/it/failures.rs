//! The errors that a driver gets from a proxy that misbehaves as the test scripts it.

use std::time::{Duration, Instant};

use node::FoundVolume;
use node::api::{Cause, Condition, NodeApi};
use os::{Deadline, DiskNumber, Moment};
use prost::Message as _;
use transport::{Code, Status};
use wincsi_client::ConditionSource;
use wire::disk::v1::{self, rpc};

use crate::support::heard::{Heard, script};
use crate::support::{Counter, ProxyFolder, Script, TIMEOUT, options, soon};

fn rescanning(answer: impl Fn() -> Result<(), Status> + Send + Sync + 'static) -> Script {
    Script::of(&v1::GROUP).on::<rpc::Rescan>(move |_| answer().map(|()| v1::RescanResponse {}))
}

fn failure(script: Script) -> Cause {
    let place = ProxyFolder::new();
    let _proxy = place.serve([script]);
    let node = place.node();
    node.disks().rescan(soon(&node)).unwrap_err().cause
}

#[test]
fn a_policys_refusal_is_told_from_a_failure() {
    let refused = rescanning(|| Err(Status::new(Code::PermissionDenied, "no rescans here")));
    assert_eq!(
        failure(refused),
        Cause::Refused {
            text: "no rescans here".to_owned()
        }
    );
    let failed = rescanning(|| Err(Status::new(Code::Unknown, "Access is denied.")));
    assert_eq!(
        failure(failed),
        Cause::failed(Condition::AccessDenied, "Access is denied.")
    );
    let full = rescanning(|| Err(Status::new(Code::ResourceExhausted, "too many calls")));
    assert_eq!(
        failure(full),
        Cause::failed(Condition::Other, "ResourceExhausted: too many calls")
    );
}

/// A text may name anything, and csi-proxy's next version may have another.
#[test]
fn the_condition_that_a_server_reports_counts_and_its_text_where_the_name_is_unknown() {
    let reported = |name: &'static str| {
        rescanning(move || {
            let status = Status::new(Code::Unknown, "Access is denied.");
            Err(status.with_trailer(wire::CONDITION, name))
        })
    };
    let text = "Access is denied.";
    assert_eq!(
        failure(reported("in-use")),
        Cause::failed(Condition::InUse, text)
    );
    let denied = Cause::failed(Condition::AccessDenied, text);
    assert_eq!(failure(reported("of-a-newer-server")), denied);
    let place = ProxyFolder::new();
    let _proxy = place.serve([reported("in-use")]);
    let mut by_texts = options();
    by_texts.conditions = ConditionSource::Texts;
    let node = place.node_with(by_texts);
    assert_eq!(node.disks().rescan(soon(&node)).unwrap_err().cause, denied);
}

#[test]
fn the_error_names_operation_and_object() {
    let place = ProxyFolder::new();
    let _proxy = place.serve([Script::of(&v1::GROUP).on::<rpc::GetDiskState>(|_| {
        Err(Status::new(
            Code::Unknown,
            "failed to query disk 7. error: not found",
        ))
    })]);
    let node = place.node();
    let error = node
        .disks()
        .is_online(DiskNumber(7), soon(&node))
        .unwrap_err();
    assert_eq!(error.condition(), Some(Condition::NotFound));
    assert_eq!(
        error.to_string(),
        "look at disk 7: failed to query disk 7. error: not found"
    );
}

#[test]
fn an_answer_that_is_none_is_malformed() {
    let junk = Script::of(&v1::GROUP).on_call::<rpc::Rescan>(|_| Ok(vec![0xff; 9]));
    assert!(matches!(failure(junk), Cause::Malformed(_)));
    let negative = Script::of(&v1::GROUP)
        .on::<rpc::GetDiskStats>(|_| Ok(v1::GetDiskStatsResponse { total_bytes: -1 }));
    let place = ProxyFolder::new();
    let _proxy = place.serve([negative]);
    let node = place.node();
    let error = node.disks().size(DiskNumber(0), soon(&node)).unwrap_err();
    assert!(matches!(error.cause, Cause::Malformed(_)), "{error}");
}

#[test]
fn the_proxy_is_told_the_deadline() {
    let script = Script::of(&v1::GROUP).on_call::<rpc::GetDiskStats>(|call| {
        let left = call.deadline.saturating_duration_since(Instant::now());
        assert!(left <= TIMEOUT, "{left:?}");
        Ok(Vec::new())
    });
    let place = ProxyFolder::new();
    let _proxy = place.serve([script]);
    let node = place.node();
    assert_eq!(node.disks().size(DiskNumber(0), soon(&node)), Ok(0));
}

#[test]
fn at_the_deadline_the_caller_has_its_answer() {
    let place = ProxyFolder::new();
    let (entered, release) = (Counter::default(), Counter::default());
    let (enter, released) = (entered.clone(), release.clone());
    let _proxy = place.serve([rescanning(move || {
        enter.add();
        released.wait_for(1);
        Ok(())
    })]);
    let node = place.node();
    let soon = node.deadline(Duration::from_millis(200));
    let error = node.disks().rescan(soon).unwrap_err();
    assert_eq!(error.cause, Cause::Deadline);
    entered.wait_for(1);
    release.add();
}

#[test]
fn the_proxys_own_deadline_is_one_too() {
    let late = rescanning(|| {
        Err(Status::new(
            Code::DeadlineExceeded,
            "context deadline exceeded",
        ))
    });
    assert_eq!(failure(late), Cause::Deadline);
}

#[test]
fn nothing_is_sent_after_the_deadline() {
    let place = ProxyFolder::new();
    let asked = Counter::default();
    let count = asked.clone();
    let _proxy = place.serve([rescanning(move || {
        count.add();
        Ok(())
    })]);
    let node = place.node();
    let over = Deadline(Moment(Duration::ZERO));
    let error = node.disks().rescan(over).unwrap_err();
    assert_eq!(error.cause, Cause::Deadline);
    assert_eq!(asked.count(), 0);
    node.disks().rescan(Deadline::NEVER).unwrap();
    assert_eq!(asked.count(), 1);
}

#[test]
fn a_path_that_sounds_like_an_error_does_not_become_one() {
    let place = ProxyFolder::new();
    let _proxy =
        place.serve([Script::of(&wire::volume::v1::GROUP)
            .on::<wire::volume::v1::rpc::GetVolumeIdFromTargetPath>(|request| {
            let text = format!("{}: The device is not ready.", request.target_path);
            Err(Status::new(Code::Unknown, text))
        })]);
    let node = place.node();
    let path = r"C:\var\lib\kubelet\because it does not exist"
        .parse()
        .unwrap();
    let error = node.volumes().of_target(&path, soon(&node)).unwrap_err();
    assert_eq!(error.condition(), Some(Condition::NotReady));
}

/// The Go server would format it.
/// Guards: P72
#[test]
fn a_formatted_volume_is_not_formatted_again_and_calls_are_strict() {
    use wire::volume::v1 as volume;
    const VOLUME: &str = r"\\?\Volume{6f1c2d3e-0a4b-4c5d-8e6f-7a8b9c0d1e2f}\";
    let heard = Heard::default();
    let metadata = heard.clone();
    let script = script!(heard, volume v1;
        GetVolumeIdFromTargetPath |_request| "at" => GetVolumeIdFromTargetPathResponse {
            volume_id: VOLUME.to_owned(),
        }
        FormatVolume |_request| "format" => FormatVolumeResponse {}
    );
    let script = script.on_call::<volume::rpc::IsVolumeFormatted>(move |call| {
        metadata.note(format!("formatted, {:?}", call.metadata));
        Ok(volume::IsVolumeFormattedResponse { formatted: true }.encode_to_vec())
    });
    let place = ProxyFolder::new();
    let _server = place.serve([script]);
    let node = place.node();
    let at = r"C:\var\lib\kubelet\a".parse().unwrap();
    let found = FoundVolume::mounted_at(VOLUME.parse().unwrap(), at);
    let refused = node.volumes().format(&found, soon(&node)).unwrap_err();
    assert_eq!(refused.condition(), Some(Condition::NotBlank));
    let asked = [r#"formatted, Some("strict")"#.to_owned(), "at".to_owned()];
    assert_eq!(heard.take(), asked);
}
