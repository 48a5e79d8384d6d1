//! Mappings that Windows let go.

use std::time::Duration;

use transport::Code;
use wincsi::Win32;
use wincsi::sim::smb::{ServerHealth, ServerSpec};
use wincsi::sim::{Effect, Rule};

use crate::fixture::{
    Fixture, KUBELET, PASSWORD, POD, ROOT, SERVER, SHARE, USER, Volume, path, volume,
};
use crate::upstream::{HostProcess, Upstream as _, link};

const OTHER_USER: &str = r"FILES\theirs";
const OTHER_PASSWORD: &str = "their own";

/// Another user of the server comes and maps the share.
pub(crate) fn map_as_another(fixture: &Fixture) {
    add_another(fixture);
    fixture.map_by_hand(ROOT, OTHER_USER, OTHER_PASSWORD);
}

/// The server has another user as well from now on.
fn add_another(fixture: &Fixture) {
    let theirs = ServerSpec::sharing(SHARE, OTHER_USER, OTHER_PASSWORD);
    let change = |server: &mut ServerSpec| server.user.extend(theirs.user);
    let smb = fixture.servers();
    smb.change_server(SERVER, change).unwrap();
}

/// A volume of that user.
fn of_another(handle: &str) -> Volume<'_> {
    Volume {
        user: OTHER_USER,
        password: OTHER_PASSWORD,
        ..volume(handle)
    }
}

/// The server takes another password from now on.
fn rotate(fixture: &Fixture) {
    let changed = ServerSpec::sharing(SHARE, USER, "rotated");
    let change = |server: &mut ServerSpec| server.user = changed.user;
    let smb = fixture.servers();
    smb.change_server(SERVER, change).unwrap();
}

#[test]
fn a_publish_with_secrets_maps_a_share_again_after_a_reboot() {
    let mut fixture = Fixture::new();
    fixture.stage(&volume("pv")).unwrap();
    fixture.reboot();
    assert_eq!(fixture.mappings(), [""; 0]);
    fixture.publish_with_secret(&volume("pv"), POD).unwrap();
    assert_eq!(fixture.mappings(), [ROOT]);
    fixture.write(&volume("pv").target(POD), "again");
}

/// Guards: P82
#[test]
fn a_publish_without_secrets_makes_no_link_to_a_share_that_is_not_mapped() {
    let mut fixture = Fixture::new();
    fixture.stage(&volume("pv")).unwrap();
    fixture.reboot();
    let error = fixture.publish(&volume("pv"), POD).unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition, "{error}");
    assert!(!fixture.exists(&volume("pv").target(POD)));
    let page = fixture.metrics();
    assert!(
        page.contains(r#"wincsi_volume_abnormal{volume="pv"} 1"#),
        "{page}"
    );
    fixture.stage(&volume("pv")).unwrap();
    fixture.publish(&volume("pv"), POD).unwrap();
    assert!(!fixture.metrics().contains("wincsi_volume_abnormal{"));
}

#[test]
fn a_link_of_a_share_is_swept_after_a_reboot_and_kept_while_a_mapping_serves_it() {
    let mut fixture = Fixture::new();
    fixture.stage(&volume("pv")).unwrap();
    assert!(fixture.try_unmap_by_hand(ROOT));
    fixture.restart();
    assert!(fixture.exists(&volume("pv").staging()), "of this boot");
    fixture.sim.reboot().unwrap();
    fixture.map_by_hand(ROOT, USER, PASSWORD);
    fixture.restart();
    assert!(
        fixture.exists(&volume("pv").staging()),
        "somebody mapped it"
    );
    assert!(fixture.try_unmap_by_hand(ROOT));
    fixture.restart();
    assert!(!fixture.exists(&volume("pv").staging()));
    fixture.stage(&volume("pv")).unwrap();
    fixture.publish(&volume("pv"), POD).unwrap();
}

#[test]
fn a_mapping_of_others_serves_a_volume_and_stays() {
    let fixture = Fixture::new();
    fixture.map_by_hand(ROOT, USER, PASSWORD);
    fixture.stage(&volume("pv")).unwrap();
    fixture.unstage(&volume("pv")).unwrap();
    assert_eq!(fixture.mappings(), [ROOT]);
}

/// What that stage made went with its boot.
#[test]
fn an_unfinished_stage_unmaps_nothing_of_a_new_boot() {
    let mut fixture = Fixture::new();
    let late = Rule::on("MSFT_SmbGlobalMapping.Create", Effect::Overrun);
    fixture.fault(late.times(1));
    fixture.stage(&volume("pv")).unwrap_err();
    assert_eq!(fixture.records(), 1);
    fixture.reboot();
    fixture.map_by_hand(ROOT, USER, PASSWORD);
    fixture.stage(&volume("pv")).unwrap();
    fixture.unstage(&volume("pv")).unwrap();
    assert_eq!(fixture.mappings(), [ROOT]);
}

/// The old one had a password that the server takes no more. Left behind, the new one would keep the volume's own.
#[test]
fn a_mapping_that_is_made_in_place_of_anothers_goes_with_the_last_volume() {
    let mut fixture = Fixture::new();
    fixture.map_by_hand(ROOT, USER, PASSWORD);
    fixture.stage(&volume("before")).unwrap();
    rotate(&fixture);
    let rotated = Volume {
        password: "rotated",
        ..volume("rotated")
    };
    fixture.stage(&rotated).unwrap();
    fixture.restart_driver();
    fixture.unstage(&rotated).unwrap();
    assert_eq!(fixture.mappings(), [ROOT], "a volume has it");
    fixture.unstage(&volume("before")).unwrap();
    assert_eq!(fixture.mappings(), [""; 0]);
}

#[test]
fn figures_of_a_share_are_kept_while_its_mapping_is_good_and_a_dead_one_is_abnormal() {
    let fixture = Fixture::new();
    let volume = Volume { ..volume("pv") };
    fixture.stage(&volume).unwrap();
    fixture.publish(&volume, POD).unwrap();
    let first = fixture.stats(&volume, POD).unwrap();
    fixture.write(&volume.target(POD), "something");
    assert_eq!(fixture.stats(&volume, POD).unwrap(), first);
    fixture.let_pass(Duration::from_secs(601));
    let later = fixture.stats(&volume, POD).unwrap();
    assert_ne!(later.space, first.space);
    fixture.set_server(SERVER, ServerHealth::Down);
    let dead = fixture.stats(&volume, POD).unwrap();
    assert_eq!(dead.space, later.space);
    assert!(dead.abnormal.is_some());
}

#[test]
fn figures_of_a_share_go_with_their_target() {
    let fixture = Fixture::new();
    let volume = volume("pv");
    fixture.stage(&volume).unwrap();
    fixture.publish(&volume, POD).unwrap();
    let first = fixture.stats(&volume, POD).unwrap();
    fixture.write(&volume.target(POD), "something");
    fixture.unpublish(&volume, POD).unwrap();
    fixture.publish(&volume, POD).unwrap();
    let second = fixture.stats(&volume, POD).unwrap();
    assert_ne!(second.space, first.space);
}

#[test]
fn volumes_of_one_server_get_a_new_user_after_a_reboot() {
    let mut fixture = Fixture::new();
    for handle in ["a", "b"] {
        fixture.stage(&volume(handle)).unwrap();
    }
    let new = ServerSpec::sharing(SHARE, r"FILES\new", "theirs");
    let change = |server: &mut ServerSpec| server.user.extend(new.user);
    fixture.servers().change_server(SERVER, change).unwrap();
    fixture.reboot();
    for handle in ["a", "b"] {
        let volume = Volume {
            user: r"FILES\new",
            password: "theirs",
            ..volume(handle)
        };
        fixture.stage(&volume).unwrap();
    }
}

/// No pod of this boot has the old one.
#[test]
fn a_new_address_counts_after_a_reboot() {
    let mut fixture = Fixture::new();
    fixture.add_server("10.0.0.2", &ServerSpec::sharing(SHARE, USER, PASSWORD));
    let moved = Volume {
        remote: r"\\10.0.0.2\data",
        server: Some(SERVER),
        ..volume("pv")
    };
    fixture.stage(&volume("pv")).unwrap();
    fixture.publish(&volume("pv"), POD).unwrap();
    fixture.reboot();
    fixture.map_by_hand(ROOT, USER, PASSWORD);
    fixture.stage_again(&moved).unwrap();
    let link = fixture.link_target(&moved.staging()).unwrap();
    assert_eq!(link.to_string(), r"\\10.0.0.2\data\");
}

#[test]
fn a_new_user_counts_also_after_a_restart() {
    let mut fixture = Fixture::new();
    add_another(&fixture);
    fixture.stage(&volume("pv")).unwrap();
    fixture.reboot();
    fixture.stage(&of_another("pv")).unwrap();
    fixture.restart_driver();
    fixture.stage(&of_another("second")).unwrap();
}

#[test]
fn a_publish_that_cannot_map_a_share_again_says_which_volume_is_in_its_way() {
    let mut fixture = Fixture::new();
    for handle in ["first", "second"] {
        fixture.stage(&volume(handle)).unwrap();
    }
    let new = ServerSpec::sharing(SHARE, r"FILES\new", "theirs");
    let change = |server: &mut ServerSpec| server.user.extend(new.user);
    let smb = fixture.servers();
    smb.change_server(SERVER, change).unwrap();
    fixture.reboot();
    let first = Volume {
        user: r"FILES\new",
        password: "theirs",
        ..volume("first")
    };
    fixture.stage(&first).unwrap();
    let second = volume("second");
    let error = fixture.publish_with_secret(&second, POD).unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition, "{error}");
    let text = error.to_string();
    let names = ["not staged at", "volume \"first\"", "volume \"second\""];
    assert!(names.iter().all(|name| text.contains(name)), "{text}");
}

#[test]
fn a_publish_without_secrets_makes_no_link_to_what_another_mapped_after_a_reboot() {
    let mut fixture = Fixture::new();
    fixture.stage(&volume("pv")).unwrap();
    fixture.reboot();
    map_as_another(&fixture);
    let error = fixture.publish(&volume("pv"), POD).unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition, "{error}");
    assert!(!fixture.exists(&volume("pv").target(POD)));
}

/// It removed a mapping that the server refused, and one of a folder was in the way of the new one.
#[test]
fn a_publish_without_secrets_makes_no_link_to_what_another_mapped_after_a_renewal_in_vain() {
    let mut fixture = Fixture::new();
    fixture.make_folder("a");
    fixture.make_folder("b");
    let of = |handle, remote| Volume {
        remote,
        ..volume(handle)
    };
    let (a, b) = (of("a", r"\\files\data\a"), of("b", r"\\files\data\b"));
    fixture.stage(&b).unwrap();
    fixture.reboot();
    HostProcess.stage(&fixture, &a).unwrap();
    fixture.map_by_hand(ROOT, USER, PASSWORD);
    rotate(&fixture);
    let rotated = Volume {
        password: "rotated",
        ..b
    };
    fixture.publish_with_secret(&rotated, POD).unwrap_err();
    assert_eq!(fixture.mappings(), [a.remote]);
    assert!(fixture.try_unmap_by_hand(a.remote));
    map_as_another(&fixture);
    let error = fixture.publish(&rotated, POD).unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition, "{error}");
    assert!(!fixture.exists(&rotated.target(POD)));
}

/// Otherwise no rotated password would renew it.
/// Guards: P80
#[test]
fn a_stage_that_failed_leaves_the_credential_of_its_mapping_known_after_a_restart() {
    let mut fixture = Fixture::new();
    fixture.stage(&volume("pv")).unwrap();
    let smb = fixture.servers();
    smb.set_condition(SERVER, ServerHealth::Down).unwrap();
    fixture.stage(&volume("late")).unwrap_err();
    smb.set_condition(SERVER, ServerHealth::Up).unwrap();
    assert_eq!(fixture.records(), 2);
    fixture.restart_driver();
    fixture.change_password("rotated");
    let rotated = Volume {
        password: "rotated",
        ..volume("pv")
    };
    fixture.publish_with_secret(&rotated, POD).unwrap();
    fixture.write(&rotated.target(POD), "by the new password");
}

/// Kubelet waits two minutes.
#[test]
fn a_publish_that_renews_on_a_slow_node_ends_within_one_deadline() {
    let fixture = Fixture::new();
    let pv = volume("pv");
    fixture.stage(&pv).unwrap();
    assert!(fixture.try_unmap_by_hand(ROOT));
    let slow = Effect::Delay(Duration::from_secs(60));
    let faults = fixture.faults();
    faults.add(Rule::on("IWbemServices.ExecQuery", slow));
    let began = fixture.sim.os().clock.now();
    let published = fixture.publish_with_secret(&pv, "pod");
    let took = began.until(fixture.sim.os().clock.now());
    let error = published.unwrap_err();
    assert_eq!(error.code(), Code::DeadlineExceeded, "{took:?}: {error}");
    assert!(took < Duration::from_secs(120), "{took:?}");
}

/// It would be served by what another mapped, whose options or user were refused.
#[test]
fn a_stage_that_is_refused_after_a_reboot_is_not_taken_for_done_when_it_is_repeated() {
    let mut fixture = Fixture::new();
    let pv = volume("pv");
    fixture.stage(&pv).unwrap();
    fixture.reboot();
    fixture.map_by_hand(ROOT, USER, PASSWORD);
    fixture.fail_on("GetFileAttributesExW", r"\\files\*", Win32::GEN_FAILURE);
    for _ in 0..2 {
        fixture.stage_again(&pv).unwrap_err();
    }
    fixture.publish(&pv, "pod").unwrap_err();
    fixture.heal();
    fixture.stage_again(&pv).unwrap();
    fixture.publish(&pv, "pod").unwrap();
}

/// It was left to a link of another driver.
#[test]
fn a_stage_that_is_refused_after_a_reboot_stays_so() {
    let mut fixture = Fixture::new();
    add_another(&fixture);
    let (pv, theirs) = (volume("pv"), of_another("theirs"));
    fixture.stage(&pv).unwrap();
    fixture.reboot();
    fixture.stage(&theirs).unwrap();
    let other = format!(r"{KUBELET}\plugins\kubernetes.io\csi\file.csi.azure.com\x\globalmount");
    link(&fixture, &path(r"\\files\data\b"), &path(&other)).unwrap();
    fixture.unstage(&theirs).unwrap();
    assert_eq!(fixture.mappings(), [ROOT]);
    for _ in 0..2 {
        let refused = fixture.stage_again(&pv).unwrap_err();
        assert_eq!(refused.code(), Code::Unavailable, "{refused}");
    }
    fixture.publish(&pv, POD).unwrap_err();
}
