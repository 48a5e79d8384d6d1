//! Mappings that this driver did not make, in the way of its volumes.

use os::schema::smb_global_mapping::{self, create};
use os::{Arguments, Cause, Target, Value};
use transport::Code;
use wincsi::sim::smb::SavedMappings::StayDead;
use wincsi::sim::smb::ServerHealth::{Dropping, Failing, Paused, Unavailable, Up};
use wincsi::sim::smb::ServerSpec;
use wincsi::sim::{Effect, Rule};
use wincsi::{Deadline, Win32};

use crate::fixture::{Fixture, PASSWORD, ROOT, SERVER, USER, Volume, path};
use crate::takeover::{A, B, C, NONE, assert_lives, node, of, unstage};
use crate::upstream::{ByProxy, Upstream as _, link};

const SHARE_ITSELF: &str = r"\\files\data\";

/// Each user may use a folder of its own alone, as csi-driver-smb's users set it up.
/// Guards: P79
#[test]
fn a_mapping_that_refuses_a_volume_is_not_made_anew_while_it_serves_another_drivers() {
    let refusals = [
        (Win32::ACCESS_DENIED, Code::PermissionDenied),
        (Win32::ACCOUNT_LOCKED_OUT, Code::Unauthenticated),
    ];
    let (a, b) = (of("a", A), of("b", B));
    for (refusal, code) in refusals {
        let fixture = node();
        let mut upstream = ByProxy::on(&fixture);
        upstream.stage(&fixture, &a).unwrap();
        upstream.publish(&fixture, &a, "old").unwrap();
        // What is refused now may be allowed again, also to the other volume.
        for folder in [SHARE_ITSELF, B, A] {
            refuse(&fixture, folder, refusal);
            fixture.take_trace();
            let staged = fixture.stage(&b);
            if folder != SHARE_ITSELF {
                assert_eq!(staged.unwrap_err().code(), code, "{refusal:?}");
            }
            assert_eq!(removals(&fixture), 0, "{refusal:?}");
            assert_lives(&fixture, &a, "old");
            fixture.unstage(&b).unwrap();
        }
    }

    let fixture = node();
    fixture.map_by_hand(ROOT, USER, PASSWORD);
    for folder in [SHARE_ITSELF, B] {
        deny(&fixture, folder);
    }
    fixture.take_trace();
    fixture.stage(&b).unwrap();
    assert_eq!(removals(&fixture), 1, "it serves nobody");
}

/// What the server answers about a folder or the root says nothing of the mapping's credential, and an account that is
/// locked for a while will have it again.
/// Guards: P79
#[test]
fn a_refused_folder_cuts_no_live_volume_of_ours() {
    let refusals = [
        (Win32::ACCESS_DENIED, Code::PermissionDenied),
        (Win32::ACCOUNT_LOCKED_OUT, Code::Unauthenticated),
    ];
    let calls = [("wrong", false), (PASSWORD, true), ("wrong", true)];
    for (refusal, code) in refusals {
        for (password, restarts) in calls {
            let mut fixture = node();
            let (a, b) = (of("a", A), of("b", B));
            fixture.stage(&a).unwrap();
            fixture.publish(&a, "old").unwrap();
            if restarts {
                fixture.restart();
            }
            for folder in [SHARE_ITSELF, B] {
                refuse(&fixture, folder, refusal);
            }
            fixture.take_trace();
            let error = fixture.stage(&Volume { password, ..b }).unwrap_err();
            assert_eq!(error.code(), code, "{error}");
            assert_eq!(removals(&fixture), 0, "{password}, restarts: {restarts}");
            assert_lives(&fixture, &a, "old");
        }
    }
}

/// After a restart of the node another driver's links lead through a mapping that may stay dead; but a server that is ill
/// comes back.
#[test]
fn a_dead_mapping_is_made_anew_beside_links_of_others() {
    let cases = [
        (Up, 1),
        (Dropping, 0),
        (Failing, 0),
        (Paused, 0),
        (Unavailable, 0),
    ];
    for (health, removed) in cases {
        let mut fixture = node();
        if health == Up {
            let stay_dead = |server: &mut ServerSpec| server.saved_mappings = StayDead;
            fixture.servers().change_server(SERVER, stay_dead).unwrap();
        }
        let (a, b) = (of("a", A), of("b", B));
        ByProxy::on(&fixture).stage(&fixture, &a).unwrap();
        fixture.reboot();
        fixture.set_server(SERVER, health);
        fixture.take_trace();
        assert_eq!(fixture.stage(&b).is_ok(), health == Up, "{health:?}");
        assert_eq!(removals(&fixture), removed, "{health:?}");
    }
}

/// What this driver staged before the restart is not live: its links keep no dead mapping, its own neither.
#[test]
fn a_dead_mapping_is_made_anew_for_volumes_of_before() {
    for stages_again in ["a", "b"] {
        let mut fixture = node();
        let stay_dead = |server: &mut ServerSpec| server.saved_mappings = StayDead;
        fixture.servers().change_server(SERVER, stay_dead).unwrap();
        fixture.map_by_hand(ROOT, USER, PASSWORD);
        fixture.stage(&of("a", A)).unwrap();
        fixture.reboot();
        fixture.take_trace();
        let remote = if stages_again == "a" { A } else { B };
        let volume = of(stages_again, remote);
        fixture.make_staging_folder(&volume);
        fixture.stage_again(&volume).unwrap();
        assert_eq!(removals(&fixture), 1, "{stages_again}");
    }
}

/// Nobody asks the server for more than so many of them.
#[test]
fn a_mapping_of_many_folders_is_not_made_anew() {
    const MANY: usize = 17;
    let fixture = node();
    let mut upstream = ByProxy::on(&fixture);
    let remotes: Vec<_> = (0..MANY).map(|one| format!(r"{ROOT}\f{one:02}")).collect();
    let all: Vec<_> = remotes
        .iter()
        .map(|remote| of(&remote[ROOT.len() + 1..], remote))
        .collect();
    for volume in &all {
        fixture.make_folder(volume.handle);
        upstream.stage(&fixture, volume).unwrap();
    }
    let (last, denied) = all.split_last().unwrap();
    upstream.publish(&fixture, last, "old").unwrap();
    let denied = denied.iter().map(|volume| volume.remote);
    for folder in denied.chain([SHARE_ITSELF, B]) {
        deny(&fixture, folder);
    }
    fixture.take_trace();
    fixture.stage(&of("b", B)).unwrap_err();
    assert_eq!(removals(&fixture), 0);
    assert_lives(&fixture, last, "old");
}

fn deny(fixture: &Fixture, folder: &str) {
    refuse(fixture, folder, Win32::ACCESS_DENIED);
}

fn refuse(fixture: &Fixture, folder: &str, code: Win32) {
    fixture.fail_on("GetFileAttributesExW", folder, code);
}

/// How often a mapping was removed since the last look at the trace.
fn removals(fixture: &Fixture) -> usize {
    let trace = fixture.take_trace().into_iter();
    let removed = trace.filter(|op| op.operation == "MSFT_SmbGlobalMapping.Remove");
    removed.count()
}

/// A drive letter is a person's or another program's.
/// Guards: P79
#[test]
fn a_mapping_with_a_drive_letter_stays_when_the_last_volume_goes() {
    let fixture = node();
    let a = of("a", A);
    ByProxy::on(&fixture).stage(&fixture, &a).unwrap();
    assert!(fixture.try_unmap_by_hand(ROOT));
    map_with_letter(&fixture, "Z:");
    unstage(&fixture, &a);
    assert_eq!(fixture.mappings(), [ROOT]);
}

fn map_with_letter(fixture: &Fixture, letter: &str) {
    let credential = format!("{}:{PASSWORD}", USER.replace('\\', r"\\"));
    let arguments = Arguments::none()
        .with(create::REMOTE_PATH.name, Value::text(ROOT))
        .with(create::LOCAL_PATH.name, Value::text(letter))
        .with(create::CREDENTIAL.name, Value::text(credential));
    let class = Target::Class(smb_global_mapping::CLASS.name);
    let method = smb_global_mapping::CREATE.name;
    let smb = fixture.sim.os().smb;
    let made = smb.invoke(class, method, &arguments, Deadline::NEVER);
    made.unwrap();
}

/// As some of another driver, which may lie where kubelet's folders are.
#[test]
fn a_link_that_names_no_path_keeps_no_last_volume_from_its_end() {
    let fixture = node();
    let a = of("a", A);
    fixture.stage(&a).unwrap();
    let odd = of("odd", B).staging();
    link(&fixture, &path(B), &path(&odd)).unwrap();
    let malformed = Effect::Fail(Cause::Malformed(String::from("it names no path")));
    let look = Rule::on("FSCTL_GET_REPARSE_POINT", malformed);
    fixture.fault(look.object(&odd));
    unstage(&fixture, &a);
    assert_eq!(fixture.mappings(), NONE);
}

/// The page on migration warns of it.
#[test]
fn csi_driver_smb_that_lost_its_counts_removes_a_share_that_others_use() {
    let mut fixture = node();
    let (a, b, c) = (of("a", A), of("b", B), of("c", C));
    let mut upstream = ByProxy::on(&fixture);
    for volume in [&a, &b] {
        upstream.stage(&fixture, volume).unwrap();
    }
    upstream.restart();
    upstream.unstage(&fixture, &a).unwrap_err();
    assert!(fixture.exists(&a.staging()));
    assert_eq!(fixture.mappings(), [ROOT]);
    upstream.stage(&fixture, &c).unwrap();
    upstream.unstage(&fixture, &c).unwrap();
    assert_eq!(fixture.mappings(), NONE);
    // This driver puts it right at kubelet's next stage.
    fixture.restart_driver();
    assert!(fixture.publish(&b, "pod").is_err());
    fixture.stage(&b).unwrap();
    fixture.publish(&b, "pod").unwrap();
    assert_lives(&fixture, &b, "pod");
    fixture.unpublish(&b, "pod").unwrap();
    unstage(&fixture, &b);
    unstage(&fixture, &a);
    assert_eq!(fixture.mappings(), NONE);
}
