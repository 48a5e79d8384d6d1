//! What holds of shares in process holds over csi-proxy's pipes: the same cases, with a proxy in this process that serves
//! the simulated node.

#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

#[path = "deaths/mod.rs"]
mod deaths;
#[path = "shares/fixture.rs"]
mod fixture;
#[path = "shares/life.rs"]
mod life;
#[path = "disks/fixture/pipes.rs"]
mod served;
#[path = "shares/users.rs"]
mod users;

use std::thread;
use std::time::Duration;

use transport::Code;
use wincsi::Win32;
use wincsi::sim::{Effect, Rule};
use wincsi_driver::record::Lifetime;

use self::fixture::{Fixture, Host, POD, Volume, volume};

const HOST: Host = Host::Pipes;

/// Only a test that has failed already waits so long.
const LONG: Duration = Duration::from_secs(60);

#[test]
fn an_inline_volume_is_refused_by_name_as_the_pipes_list_no_mappings() {
    let fixture = Fixture::new();
    let inline = Volume {
        lifetime: Lifetime::Inline,
        ..volume("csi-1")
    };
    let error = fixture.publish_inline(&inline, POD).unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition, "{error}");
    assert!(error.to_string().contains("mapping-list"), "{error}");
    assert_eq!((fixture.records(), fixture.mappings().len()), (0, 0));
}

/// A driver died while it unstaged both, so neither uses the share any more. One call unmaps it; the other leaves that to
/// it, and one that would stage is repeated.
#[test]
fn two_volumes_leave_a_share_while_one_of_them_has_it_unmapped() {
    let mut fixture = Fixture::new();
    let faults = fixture.sim.faults().clone();
    let volumes = [volume("one"), volume("other")];
    for volume in &volumes {
        fixture.stage(volume).unwrap();
    }
    let denied = Rule::on(
        "SetFileInformationByHandle",
        Effect::fail(Win32::ACCESS_DENIED),
    );
    faults.add(denied);
    for volume in &volumes {
        fixture.unstage(volume).unwrap_err();
    }
    faults.clear();
    fixture.restart_driver();
    let hang = faults.add(Rule::on("MSFT_SmbGlobalMapping.Remove", Effect::Hang));
    let [one, other] = &volumes;
    thread::scope(|scope| {
        let unmapping = scope.spawn(|| fixture.unstage(one));
        assert!(faults.wait_until_hanging(1, LONG));
        fixture.unstage(other).unwrap();
        let early = fixture.stage(&volume("third")).unwrap_err();
        assert_eq!(early.code(), Code::Aborted, "{early}");
        faults.remove(hang);
        unmapping.join().unwrap().unwrap();
    });
    assert_eq!((fixture.mappings().len(), fixture.records()), (0, 0));
    fixture.stage(&volume("third")).unwrap();
}
