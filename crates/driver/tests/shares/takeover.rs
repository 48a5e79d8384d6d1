//! The driver takes over a node where csi-driver-smb staged the volumes, and the way back.

use std::thread;

use transport::Code;
use wincsi::sim::smb::{FolderMappings, ServerSpec};
use wincsi::sim::{Effect, Rule};
use wincsi::{NodeApi, Win32};
use wincsi_driver::record::Lifetime;

use crate::fixture::{Fixture, KUBELET, PASSWORD, ROOT, SERVER, SHARE, USER, Volume, path, volume};
use crate::upstream::{ByProxy, HostProcess, Upstream, clean_up, describe, link, prepare};

pub(crate) const A: &str = r"\\files\data\a";
pub(crate) const B: &str = r"\\files\data\b";
pub(crate) const C: &str = r"\\files\data\c";

pub(crate) const NONE: [&str; 0] = [];

/// A volume that is a folder of the share.
pub(crate) fn of<'a>(handle: &'a str, remote: &'a str) -> Volume<'a> {
    Volume {
        remote,
        ..volume(handle)
    }
}

/// A node beside a share with folders.
pub(crate) fn node() -> Fixture {
    let fixture = Fixture::new();
    for folder in ["a", "b", "c"] {
        fixture.make_folder(folder);
    }
    fixture
}

/// One where Windows refuses to map a share beside its folders.
fn node_with_folders_in_the_way() -> Fixture {
    let fixture = node();
    let in_the_way = |server: &mut ServerSpec| server.folder_mappings = FolderMappings::InTheWay;
    fixture.servers().change_server(SERVER, in_the_way).unwrap();
    fixture
}

/// What a pod writes arrives in the volume's folder, and a mapping is on the way to it.
#[track_caller]
pub(crate) fn assert_lives(fixture: &Fixture, volume: &Volume<'_>, pod: &str) {
    let text = format!("{} of {pod}", volume.handle);
    fixture.write(&volume.target(pod), &text);
    let folder = volume.remote.strip_prefix(ROOT).unwrap();
    let share = fixture.servers().share_folder(SERVER, SHARE);
    let file = share
        .join(folder.trim_start_matches('\\').replace('\\', "/"))
        .join("written.txt");
    assert_eq!(std::fs::read_to_string(file).unwrap(), text);
    let mappings = fixture.mappings();
    let covers = |mapped: &String| volume.remote.starts_with(mapped.as_str());
    assert!(mappings.iter().any(covers), "{mappings:?}");
}

#[track_caller]
pub(crate) fn unstage(fixture: &Fixture, volume: &Volume<'_>) {
    fixture.unstage(volume).unwrap();
    assert!(!fixture.exists(&volume.staging()));
    clean_up(fixture, volume);
}

/// The life of two volumes with a pod each that csi-driver-smb staged, and of a third that is new.
#[track_caller]
fn live_on(mut fixture: Fixture, upstream: &mut dyn Upstream, mapped: [&[&str]; 4]) {
    let (a, b, c) = (of("a", A), of("b", B), of("c", C));
    for volume in [&a, &b] {
        upstream.stage(&fixture, volume).unwrap();
        upstream.publish(&fixture, volume, "old").unwrap();
    }
    assert_eq!(fixture.mappings(), mapped[0]);
    fixture.restart_driver();
    fixture.reconcile();

    fixture.publish(&a, "new").unwrap();
    for pod in ["old", "new"] {
        assert_lives(&fixture, &a, pod);
        let stats = fixture.stats(&a, pod).unwrap();
        assert!(stats.abnormal.is_none() && stats.total > 0);
        fixture.unpublish(&a, pod).unwrap();
    }
    unstage(&fixture, &a);
    assert_eq!(fixture.mappings(), mapped[1]);
    assert_lives(&fixture, &b, "old");
    prepare(&fixture, &c);
    fixture.stage(&c).unwrap();
    fixture.publish(&c, "new").unwrap();
    assert_eq!(fixture.mappings(), mapped[2]);
    fixture.unpublish(&b, "old").unwrap();
    unstage(&fixture, &b);
    assert_eq!(fixture.mappings(), mapped[3]);
    assert_lives(&fixture, &c, "new");
    fixture.unpublish(&c, "new").unwrap();
    unstage(&fixture, &c);
    assert_eq!(fixture.mappings(), NONE);
    assert_eq!(fixture.records(), 0);
}

/// Guards: P79
#[test]
fn volumes_that_were_staged_by_csi_proxy_live_on_and_their_mapping_goes_with_the_last() {
    let fixture = node();
    let mut upstream = ByProxy::on(&fixture);
    live_on(fixture, &mut upstream, [&[ROOT]; 4]);
}

#[test]
fn volumes_that_were_mapped_by_folder_live_on_and_each_mapping_goes_with_its_last() {
    let mapped: [&[&str]; 4] = [&[A, B], &[B], &[B, C], &[C]];
    live_on(node_with_folders_in_the_way(), &mut HostProcess, mapped);
}

#[test]
fn the_share_is_mapped_beside_folders_where_windows_does_so() {
    let mapped: [&[&str]; 4] = [&[A, B], &[B], &[ROOT, B], &[ROOT]];
    live_on(node(), &mut HostProcess, mapped);
}

#[test]
fn the_share_is_mapped_once_the_last_mapping_of_a_folder_is_gone() {
    let fixture = node_with_folders_in_the_way();
    let (a, b, c) = (of("a", A), of("b", B), of("c", C));
    HostProcess.stage(&fixture, &a).unwrap();
    fixture.stage(&b).unwrap();
    assert_eq!(fixture.mappings(), [A, B]);
    unstage(&fixture, &a);
    fixture.unstage(&b).unwrap();
    fixture.stage(&c).unwrap();
    assert_eq!(fixture.mappings(), [ROOT]);
}

#[test]
fn two_volumes_of_one_folder_share_its_mapping_until_the_last_is_gone() {
    let fixture = node_with_folders_in_the_way();
    fixture.make_folder(r"a/below");
    let (a, b, below) = (of("a", A), of("b", A), of("c", r"\\files\data\a\below"));
    HostProcess.stage(&fixture, &a).unwrap();
    for volume in [&b, &below] {
        prepare(&fixture, volume);
        fixture.stage(volume).unwrap();
        fixture.publish(volume, "pod").unwrap();
    }
    assert_eq!(fixture.mappings(), [A]);
    for volume in [&a, &b] {
        unstage_published(&fixture, volume);
        assert_eq!(fixture.mappings(), [A]);
    }
    assert_lives(&fixture, &below, "pod");
    unstage_published(&fixture, &below);
    assert_eq!(fixture.mappings(), NONE);
}

#[track_caller]
fn unstage_published(fixture: &Fixture, volume: &Volume<'_>) {
    fixture.unpublish(volume, "pod").unwrap();
    unstage(fixture, volume);
}

/// As kubelet does after its own restart.
#[test]
fn a_volume_that_is_staged_again_keeps_the_mapping_that_it_has_and_takes_it_along() {
    let by_proxy = node();
    ByProxy::on(&by_proxy)
        .stage(&by_proxy, &of("a", A))
        .unwrap();
    let by_folder = node_with_folders_in_the_way();
    HostProcess.stage(&by_folder, &of("a", A)).unwrap();
    for (mut fixture, mapped) in [(by_proxy, ROOT), (by_folder, A)] {
        let a = of("a", A);
        fixture.stage(&a).unwrap();
        assert_eq!(fixture.mappings(), [mapped]);
        fixture.restart_driver();
        fixture.publish(&a, "pod").unwrap();
        assert_lives(&fixture, &a, "pod");
        unstage_published(&fixture, &a);
        assert_eq!(fixture.mappings(), NONE);
    }
}

#[test]
fn a_stage_that_fails_leaves_link_and_mapping_of_a_volume_that_is_taken_over() {
    let fixture = node();
    let a = of("a", A);
    ByProxy::on(&fixture).stage(&fixture, &a).unwrap();
    let folder = fixture.make_folder("a");
    std::fs::remove_dir(&folder).unwrap();
    assert_eq!(fixture.stage(&a).unwrap_err().code(), Code::Unavailable);
    std::fs::create_dir(&folder).unwrap();
    assert_eq!(fixture.records(), 0);
    fixture.publish(&a, "pod").unwrap();
    assert_lives(&fixture, &a, "pod");
    unstage_published(&fixture, &a);
    assert_eq!(fixture.mappings(), NONE);
}

#[test]
fn another_user_than_that_of_a_mapped_folder_is_refused() {
    let fixture = node_with_folders_in_the_way();
    HostProcess.stage(&fixture, &of("a", A)).unwrap();
    let other = Volume {
        user: r"FILES\other",
        ..of("b", B)
    };
    let error = fixture.stage(&other).unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition, "{error}");
    assert_eq!(fixture.mappings(), [A]);
    assert_eq!(fixture.records(), 0);
}

/// Guards: P82
#[test]
fn without_kubelets_file_or_by_that_of_another_driver_the_link_alone_goes() {
    for driver in [None, Some("file.csi.azure.com")] {
        let fixture = node();
        let a = of("a", A);
        HostProcess.stage(&fixture, &a).unwrap();
        let parent = path(&a.staging()).parent().unwrap();
        match driver {
            Some(driver) => describe(&fixture, &parent, driver, a.handle),
            None => describe(&fixture, &parent, crate::fixture::DRIVER, "other"),
        }
        assert!(fixture.publish(&a, "pod").is_err());
        assert!(fixture.stats(&a, "pod").is_err());
        fixture.unstage(&a).unwrap();
        assert!(!fixture.exists(&a.staging()));
        assert_eq!(fixture.mappings(), [A]);
    }
}

/// Guards: P79
#[test]
fn a_mapping_stays_while_a_link_of_another_driver_or_of_a_pod_leads_below_it() {
    let staging = format!(r"{KUBELET}\plugins\kubernetes.io\csi\file.csi.azure.com\x\globalmount");
    let mount = format!(r"{KUBELET}\pods\p\volumes\kubernetes.io~csi\inline\mount");
    for other in [staging, mount] {
        let fixture = node();
        let (a, b) = (of("a", A), of("b", A));
        let mut upstream = ByProxy::on(&fixture);
        upstream.stage(&fixture, &a).unwrap();
        link(&fixture, &path(r"\\FILES\data\b\c"), &path(&other)).unwrap();
        unstage(&fixture, &a);
        assert_eq!(fixture.mappings(), [ROOT], "{other}");
        // Nor does a volume of this driver take it along.
        fixture.stage(&b).unwrap();
        fixture.unstage(&b).unwrap();
        assert_eq!(fixture.mappings(), [ROOT], "{other}");
    }
}

#[test]
fn the_mapping_of_this_driver_stays_for_a_link_of_another() {
    let fixture = node();
    let a = of("a", A);
    fixture.stage(&a).unwrap();
    let staging = format!(r"{KUBELET}\plugins\kubernetes.io\csi\file.csi.azure.com\x\globalmount");
    link(&fixture, &path(B), &path(&staging)).unwrap();
    fixture.unstage(&a).unwrap();
    assert_eq!(fixture.mappings(), [ROOT]);
}

/// It is a link to the share at the pod's own path.
#[test]
fn an_inline_volume_of_csi_driver_smb_ends_with_its_mapping() {
    let fixture = node();
    let inline = of("csi-inline", A);
    fixture.map_by_hand(ROOT, USER, PASSWORD);
    let target = path(&inline.target("pod"));
    link(&fixture, &path(A), &target).unwrap();
    let folder = target.parent().unwrap();
    describe(&fixture, &folder, crate::fixture::DRIVER, inline.handle);
    fixture.unpublish(&inline, "pod").unwrap();
    assert!(!fixture.exists(&inline.target("pod")));
    assert_eq!(fixture.mappings(), NONE);
}

#[test]
fn an_unstage_that_failed_finds_the_mapping_when_it_is_repeated() {
    let fixture = node();
    let a = of("a", A);
    ByProxy::on(&fixture).stage(&fixture, &a).unwrap();
    let fails = Effect::fail(Win32(5));
    let rule = Rule::on("MSFT_SmbGlobalMapping.Remove", fails).times(1);
    fixture.fault(rule);
    fixture.unstage(&a).unwrap_err();
    assert!(fixture.exists(&a.staging()));
    unstage(&fixture, &a);
    assert_eq!(fixture.mappings(), NONE);
}

/// Calls for volumes of one mapping meet in every order: at the end the mapping is there for those that are staged.
#[test]
fn a_stage_beside_the_last_unstages_loses_nothing() {
    for round in 0..20 {
        let fixture = node();
        let (a, b, c) = (of("a", A), of("b", B), of("c", C));
        let mut upstream = ByProxy::on(&fixture);
        for volume in [&a, &b] {
            upstream.stage(&fixture, volume).unwrap();
        }
        prepare(&fixture, &c);
        thread::scope(|scope| {
            for volume in [&a, &b] {
                let fixture = &fixture;
                scope.spawn(move || fixture.unstage(volume).unwrap());
            }
            fixture.stage(&c).unwrap();
        });
        assert_eq!(fixture.mappings(), [ROOT], "round {round}");
        fixture.publish(&c, "pod").unwrap();
        assert_lives(&fixture, &c, "pod");
        unstage_published(&fixture, &c);
        assert_eq!(fixture.mappings(), NONE, "round {round}");
    }
}

/// csi-driver-smb's own part ends as it does: what it cuts then is in the page on migration.
#[test]
fn after_a_rollback_to_host_process_and_forward_again_nothing_of_a_live_pod_is_cut() {
    let mut fixture = node();
    let (a, b) = (of("a", A), of("b", B));
    for volume in [&a, &b] {
        prepare(&fixture, volume);
        fixture.stage(volume).unwrap();
        fixture.publish(volume, "old").unwrap();
    }
    let mut upstream = HostProcess;
    upstream.publish(&fixture, &a, "back").unwrap();
    for pod in ["old", "back"] {
        assert_lives(&fixture, &a, pod);
        upstream.unpublish(&fixture, &a, pod).unwrap();
    }
    upstream.unstage(&fixture, &a).unwrap();
    assert_lives(&fixture, &b, "old");

    fixture.restart_driver();
    fixture.reconcile();
    assert_eq!(
        fixture.records(),
        1,
        "that of the volume that is gone went too"
    );
    assert_eq!(fixture.mappings(), [ROOT]);
    assert_lives(&fixture, &b, "old");
    fixture.unpublish(&b, "old").unwrap();
    unstage(&fixture, &b);
    assert_eq!(fixture.mappings(), NONE);
    assert_eq!(fixture.records(), 0);
}

#[test]
fn after_a_rollback_to_csi_proxy_and_forward_again_nothing_of_a_live_pod_is_cut() {
    let mut fixture = node();
    let (a, b, c) = (of("a", A), of("b", B), of("c", C));
    for volume in [&a, &b] {
        prepare(&fixture, volume);
        fixture.stage(volume).unwrap();
    }
    let mut upstream = ByProxy::on(&fixture);
    upstream.stage(&fixture, &c).unwrap();
    upstream.publish(&fixture, &c, "back").unwrap();

    fixture.restart_driver();
    fixture.reconcile();
    for volume in [&a, &b] {
        unstage(&fixture, volume);
        assert_lives(&fixture, &c, "back");
    }
    fixture.unpublish(&c, "back").unwrap();
    unstage(&fixture, &c);
    assert_eq!(fixture.mappings(), NONE);
}

/// The record of a volume that is gone tells of the mapping before.
#[test]
fn an_inline_volume_is_refused_where_csi_driver_smb_mapped_the_share_anew_with_another_password() {
    let mut fixture = node();
    let (a, b) = (of("a", A), of("b", B));
    prepare(&fixture, &a);
    fixture.stage(&a).unwrap();
    fixture.stop_driver();
    let mut upstream = ByProxy::on(&fixture);
    upstream.unstage(&fixture, &a).unwrap_err();
    assert_eq!(fixture.mappings(), [ROOT]);
    upstream.count(&fixture, &a);
    upstream.unstage(&fixture, &a).unwrap();
    assert_eq!(fixture.mappings(), NONE);
    fixture.change_password("rotated");
    let rotated = Volume {
        password: "rotated",
        ..b
    };
    upstream.stage(&fixture, &rotated).unwrap();

    fixture.restart_driver();
    fixture.reconcile();
    let inline = Volume {
        lifetime: Lifetime::Inline,
        ..of("inline", A)
    };
    let refused = fixture.publish_inline(&inline, "pod").unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition, "{refused}");
    assert_eq!(fixture.mappings(), [ROOT]);
}

/// A volume of this driver, whose own mapping is gone; csi-driver-smb staged it since, by another one.
pub(crate) fn mapping_came_under_record() -> (Fixture, Volume<'static>) {
    let mut fixture = node_with_folders_in_the_way();
    let a = of("a", A);
    prepare(&fixture, &a);
    fixture.stage(&a).unwrap();
    assert!(fixture.try_unmap_by_hand(ROOT));
    HostProcess.unstage(&fixture, &a).unwrap();
    HostProcess.stage(&fixture, &a).unwrap();
    fixture.restart_driver();
    (fixture, a)
}

/// Unstaged and staged again by csi-driver-smb, while the record lay there.
#[test]
fn a_mapping_that_came_under_a_record_goes_with_it() {
    let (fixture, a) = mapping_came_under_record();
    fixture.reconcile();
    assert_eq!(fixture.mappings(), [A]);
    unstage(&fixture, &a);
    assert_eq!(fixture.mappings(), NONE);
}

/// The page on migration says so: nothing tells it from one that was made by hand, and what this driver makes is not
/// there after a restart of the node.
#[test]
fn a_mapping_that_came_under_a_record_stays_once_the_node_has_restarted() {
    let mut fixture = node();
    fixture.stage(&volume("pv")).unwrap();
    assert!(fixture.try_unmap_by_hand(ROOT));
    HostProcess.stage(&fixture, &volume("pv")).unwrap();
    fixture.restart();
    fixture.reboot();
    assert_eq!(fixture.mappings(), [ROOT]);
    fixture.stage(&volume("pv")).unwrap();
    unstage(&fixture, &volume("pv"));
    assert_eq!(fixture.mappings(), [ROOT]);
}

/// The features are not there over the pipes, and strangers' mappings cannot be listed.
/// Guards: P82
#[test]
fn a_link_outside_of_any_share_is_no_volume_that_is_taken_over() {
    let fixture = node();
    let a = of("a", A);
    prepare(&fixture, &a);
    let files = NodeApi::filesystem(&fixture.hand);
    let elsewhere = path(r"C:\elsewhere");
    files.make_directory(&elsewhere, fixture.soon()).unwrap();
    link(&fixture, &elsewhere, &path(&a.staging())).unwrap();
    assert!(fixture.publish(&a, "pod").is_err());
    assert!(fixture.stats(&a, "pod").is_err());
    unstage(&fixture, &a);
    assert!(fixture.exists(r"C:\elsewhere"));
}

/// Windows let the share go, and csi-driver-smb mapped the folder: the link of a volume of this driver leads there.
#[test]
fn a_mapping_that_alone_serves_a_volume_is_its_own_once_csi_driver_smb_has_left_it() {
    let mut fixture = node();
    let (a, b, twin) = (of("a", A), of("b", B), of("twin", A));
    for volume in [&a, &b] {
        prepare(&fixture, volume);
    }
    fixture.stage(&a).unwrap();
    assert!(fixture.try_unmap_by_hand(ROOT));
    HostProcess.stage(&fixture, &twin).unwrap();
    unstage(&fixture, &twin);
    assert_eq!(fixture.mappings(), [A], "it serves a");
    fixture.stage(&b).unwrap();
    fixture.restart_driver();
    assert_eq!(fixture.mappings(), [ROOT, A]);
    unstage(&fixture, &a);
    assert_eq!(fixture.mappings(), [ROOT]);
    unstage(&fixture, &b);
    assert_eq!(fixture.mappings(), NONE);
}

#[test]
fn a_mapping_handed_over_goes_also_after_a_restart() {
    let mut fixture = node();
    let (a, twin) = (of("a", A), of("twin", A));
    prepare(&fixture, &a);
    // As it was another's, nothing but the handing over makes it this driver's.
    fixture.map_by_hand(ROOT, USER, PASSWORD);
    fixture.stage(&a).unwrap();
    assert!(fixture.try_unmap_by_hand(ROOT));
    HostProcess.stage(&fixture, &twin).unwrap();
    unstage(&fixture, &twin);
    assert_eq!(fixture.mappings(), [A], "it serves a");
    fixture.restart_driver();
    unstage(&fixture, &a);
    assert_eq!(fixture.mappings(), NONE);
}

/// The share serves the volume of this driver: the folder that csi-driver-smb mapped beside is nobody's.
#[test]
fn a_mapping_goes_with_csi_driver_smbs_last_volume_where_others_below_it_have_their_own() {
    let fixture = node();
    let (a, b, twin) = (of("a", A), of("b", B), of("twin", A));
    for volume in [&a, &b] {
        prepare(&fixture, volume);
    }
    fixture.stage(&a).unwrap();
    assert!(fixture.try_unmap_by_hand(ROOT));
    HostProcess.stage(&fixture, &twin).unwrap();
    fixture.stage(&b).unwrap();
    assert_eq!(fixture.mappings(), [ROOT, A]);
    unstage(&fixture, &twin);
    assert_eq!(fixture.mappings(), [ROOT]);
    for volume in [&a, &b] {
        unstage(&fixture, volume);
    }
    assert_eq!(fixture.mappings(), NONE);
}

#[test]
fn a_stage_that_fails_cuts_no_volume_that_is_taken_over_by_a_mapping_of_this_driver() {
    let mut fixture = node();
    let (a, b) = (of("a", A), of("b", B));
    fixture.stage(&b).unwrap();
    let mut upstream = ByProxy::on(&fixture);
    upstream.stage(&fixture, &a).unwrap();
    upstream.publish(&fixture, &a, "pod").unwrap();
    fixture.restart_driver();
    let folder = fixture.make_folder("a");
    std::fs::remove_dir(&folder).unwrap();
    assert_eq!(fixture.stage(&a).unwrap_err().code(), Code::Unavailable);
    std::fs::create_dir(&folder).unwrap();
    assert_lives(&fixture, &a, "pod");
    fixture.unstage(&b).unwrap();
    assert_lives(&fixture, &a, "pod");
    unstage_published(&fixture, &a);
    assert_eq!(fixture.mappings(), NONE);
}

/// Kubelet repeats its stage when the share serves the volume too.
#[test]
fn a_volume_that_is_taken_over_beside_its_share_takes_the_mapping_of_its_folder_along() {
    let fixture = node();
    let (a, b) = (of("a", A), of("b", B));
    HostProcess.stage(&fixture, &a).unwrap();
    fixture.stage(&b).unwrap();
    fixture.stage(&a).unwrap();
    assert_eq!(fixture.mappings(), [ROOT, A]);
    unstage(&fixture, &a);
    assert_eq!(fixture.mappings(), [ROOT]);
    fixture.unstage(&b).unwrap();
    assert_eq!(fixture.mappings(), NONE);
}

/// This driver was swapped in the middle of its stage, and kubelet repeated the call to csi-driver-smb.
#[test]
fn a_volume_that_csi_driver_smb_staged_after_this_driver_had_begun_is_published() {
    let mut fixture = node();
    let a = of("a", A);
    let late = Rule::on("MSFT_SmbGlobalMapping.Create", Effect::Overrun);
    fixture.fault(late.times(1));
    fixture.stage(&a).unwrap_err();
    assert_eq!(fixture.records(), 1);
    ByProxy::on(&fixture).stage(&fixture, &a).unwrap();
    fixture.restart_driver();
    fixture.reconcile();
    fixture.publish(&a, "pod").unwrap();
    assert_lives(&fixture, &a, "pod");
    unstage_published(&fixture, &a);
    assert_eq!(fixture.mappings(), NONE);
}
