//! Servers that do not answer keep calls for other volumes from nothing.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use transport::Code;
use wincsi::sim::{Effect, Rule};
use wincsi_driver::record::Lifetime;

use crate::fixture::{Fixture, POD, Volume, volume};

/// So many calls for inline volumes may wait for servers.
const MOST_INLINE: usize = 128;

/// Only a test that has failed already waits so long.
const LONG: Duration = Duration::from_secs(60);

/// Guards: P76
#[test]
fn inline_volumes_of_servers_that_hang_leave_room_for_other_volumes() {
    let fixture = Fixture::new();
    // Mapped before: what others map hangs.
    let of_live_server = inline("csi-live", crate::fixture::ROOT);
    fixture.publish_inline(&of_live_server, POD).unwrap();
    let faults = fixture.faults();
    faults.add(Rule::on("MSFT_SmbGlobalMapping.Create", Effect::Hang));
    let remotes: Vec<_> = (0..=MOST_INLINE)
        .map(|server| (format!("csi-{server}"), format!(r"\\dead-{server}\data")))
        .collect();
    let publish =
        &|(handle, remote): &(String, String)| fixture.publish_inline(&inline(handle, remote), POD);
    let (sender, answers) = mpsc::channel();
    let fixture = &fixture;
    let (all_hang, refused, staged, unpublished) = thread::scope(|scope| {
        for one in &remotes[..MOST_INLINE] {
            scope.spawn(move || publish(one));
        }
        let all_hang = faults.wait_until_hanging(MOST_INLINE, LONG);
        let (handle, remote) = &remotes[MOST_INLINE];
        let by_name = sender.clone();
        scope.spawn(move || sender.send(fixture.publish_inline(&inline(handle, remote), POD)));
        let refused = answers.recv_timeout(LONG);
        let one_more = inline(handle, remote);
        scope.spawn(move || by_name.send(fixture.publish_inline_by_name(&one_more, POD)));
        let by_name = answers.recv_timeout(LONG);
        let staged = fixture.stage(&volume("pv"));
        let unpublished = fixture.unpublish(&of_live_server, POD);
        faults.clear();
        (all_hang, [refused, by_name], staged, unpublished)
    });
    assert!(all_hang);
    for refused in refused {
        let refused = refused.unwrap().unwrap_err();
        assert_eq!(refused.code(), Code::Unavailable, "{refused}");
        assert!(refused.to_string().contains("128 calls"), "{refused}");
    }
    staged.unwrap();
    unpublished.unwrap();
}

/// So many calls may wait for servers, of whatever volumes.
const MOST: usize = 384;

/// Republishes are such calls too.
#[test]
fn publishes_that_hang_leave_room_for_calls_that_take_volumes_down() {
    let fixture = Fixture::new();
    let (volume, pods) = (
        volume("pv"),
        Vec::from_iter((0..=MOST).map(|pod| pod.to_string())),
    );
    fixture.stage(&volume).unwrap();
    fixture.publish(&volume, POD).unwrap();
    let faults = fixture.faults();
    faults.add(Rule::on("IWbemServices.ExecQuery", Effect::Hang));
    let (sender, answers) = mpsc::channel();
    let (fixture, volume) = (&fixture, &volume);
    let (all_hang, refused, unpublished) = thread::scope(|scope| {
        for pod in &pods[..MOST] {
            scope.spawn(move || fixture.publish(volume, pod));
        }
        let all_hang = faults.wait_until_hanging(MOST, LONG);
        let one_more = &pods[MOST];
        scope.spawn(move || sender.send(fixture.publish(volume, one_more)));
        let refused = answers.recv_timeout(LONG);
        let unpublished = fixture.unpublish(volume, POD);
        faults.clear();
        (all_hang, refused, unpublished)
    });
    assert!(all_hang);
    let refused = refused.unwrap().unwrap_err();
    assert_eq!(refused.code(), Code::Unavailable, "{refused}");
    assert!(refused.to_string().contains("384 calls"), "{refused}");
    unpublished.unwrap();
}

fn inline<'a>(handle: &'a str, remote: &'a str) -> Volume<'a> {
    Volume {
        lifetime: Lifetime::Inline,
        remote,
        ..volume(handle)
    }
}
