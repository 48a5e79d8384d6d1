//! Volumes that are disks, as kubelet drives them, on a simulated node.

mod fixture;
mod health;
mod readers;
mod reconcile;
mod unstage;

use fixture::{Fixture, GIB, STAGING, TARGET};
use transport::Code;
use wincsi::Win32;
use wincsi::sim::{Effect, Kill, Rule};
use wincsi_driver::record::Access;

#[test]
fn a_volume_lives_from_stage_to_unstage_and_every_call_may_be_repeated() {
    let fixture = Fixture::new();
    for _ in 0..2 {
        fixture.stage().unwrap();
        fixture.publish(TARGET).unwrap();
    }
    fixture.write("written.txt", "by a pod");
    assert!(fixture.exists(&format!(r"{TARGET}\written.txt")));
    let space = fixture.stats(TARGET).unwrap().space;
    assert!(space.total > GIB && space.free < space.total, "{space:?}");
    for _ in 0..2 {
        fixture.unpublish(TARGET).unwrap();
    }
    assert!(!fixture.exists(TARGET));
    for _ in 0..2 {
        fixture.unstage().unwrap();
    }
    assert!(!fixture.exists(STAGING));
    assert!(!fixture.is_online());
    assert_eq!(fixture.records(), 0);
}

#[test]
fn a_disk_that_grew_grows_at_expand_and_at_the_next_stage() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.grow(3 * GIB);
    let size = fixture.expand(STAGING, 3 * GIB).unwrap();
    assert!(size > 2 * GIB + GIB / 2, "{size}");
    let early = fixture.expand(STAGING, 4 * GIB).unwrap_err();
    assert_eq!(early.code(), Code::Unavailable, "{early}");
    fixture.unstage().unwrap();
    fixture.grow(4 * GIB);
    fixture.stage().unwrap();
    assert!(fixture.stats(STAGING).unwrap().space.total > 3 * GIB + GIB / 2);
}

#[test]
fn what_a_driver_that_died_staged_is_unstaged_by_the_next() {
    let mut fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.publish(TARGET).unwrap();
    fixture.restart_driver();
    fixture.unpublish(TARGET).unwrap();
    fixture.unstage().unwrap();
    assert!(!fixture.is_online());
}

#[test]
fn after_a_reboot_a_publish_finds_the_volume_or_stages_it_anew() {
    let mut fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.write("written.txt", "by a pod");
    fixture.reboot();
    fixture.publish(TARGET).unwrap();
    assert!(fixture.exists(&format!(r"{TARGET}\written.txt")));
}

#[test]
fn a_plain_directory_is_never_published() {
    let fixture = Fixture::new();
    let unknown = fixture.publish(TARGET).unwrap_err();
    assert_eq!(unknown.code(), Code::FailedPrecondition, "{unknown}");
    fixture.stage().unwrap();
    fixture.unmount_behind_the_drivers_back();
    fixture.pull_out();
    let gone = fixture.publish(TARGET).unwrap_err();
    assert_eq!(gone.code(), Code::Unavailable, "{gone}");
    assert!(!fixture.exists(TARGET));
}

#[test]
fn a_disk_that_is_not_there_leaves_nothing_behind_and_is_not_found() {
    let fixture = Fixture::new();
    fixture.pull_out();
    let error = fixture.stage().unwrap_err();
    assert_eq!(error.code(), Code::NotFound, "{error}");
    assert_eq!(fixture.records(), 0);
}

#[test]
fn a_disk_with_data_of_others_is_taken_offline_again_and_its_data_stay() {
    let fixture = Fixture::with_content(|disk| {
        // ext4's superblock has its magic number at 1080.
        disk[1080..1082].copy_from_slice(&[0x53, 0xef]);
    });
    let error = fixture.stage().unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition, "{error}");
    assert!(!fixture.is_online());
    assert!(!fixture.exists(STAGING));
    assert_eq!(fixture.records(), 0);
}

#[test]
fn a_failure_that_may_come_right_keeps_the_record_and_is_not_final() {
    let fixture = Fixture::new();
    fixture.fail("MSFT_Disk.CreatePartition", Win32::NOT_READY);
    let error = fixture.stage().unwrap_err();
    assert_eq!(error.code(), Code::Unavailable, "{error}");
    assert_eq!(fixture.records(), 1);
    fixture.heal();
    fixture.stage().unwrap();
}

#[test]
fn a_repeated_stage_of_a_staged_volume_undoes_nothing() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.publish(TARGET).unwrap();
    fixture.write("written.txt", "by a pod");
    fixture.pull_out();
    let error = fixture.stage().unwrap_err();
    assert_eq!(error.code(), Code::Unavailable, "{error}");
    assert_eq!(fixture.records(), 1);
    fixture.plug_in();
    fixture.stage().unwrap();
    assert!(fixture.exists(&format!(r"{TARGET}\written.txt")));
}

#[test]
fn a_published_volume_is_not_unstaged() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.publish(TARGET).unwrap();
    let error = fixture.unstage().unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition, "{error}");
    fixture.unpublish(TARGET).unwrap();
    fixture.unstage().unwrap();
}

#[test]
fn what_kubelet_left_at_a_target_gives_way_and_a_folder_with_files_does_not() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.make_directory(TARGET);
    fixture.publish(TARGET).unwrap();
    let full = r"C:\pods\2\mount";
    fixture.make_directory(&format!(r"{full}\file"));
    let error = fixture.publish(full).unwrap_err();
    assert_eq!(error.code(), Code::AlreadyExists, "{error}");
    let error = fixture.unpublish(full).unwrap_err();
    assert!(error.to_string().contains(full), "{error}");
    assert!(fixture.exists(&format!(r"{full}\file")));
}

#[test]
fn a_volume_of_one_target_has_one() {
    let fixture = Fixture::of_one_target();
    fixture.stage().unwrap();
    fixture.publish(TARGET).unwrap();
    let second = fixture.publish(r"C:\pods\2\mount").unwrap_err();
    assert_eq!(second.code(), Code::FailedPrecondition, "{second}");
    fixture.unpublish(TARGET).unwrap();
    fixture.publish(r"C:\pods\2\mount").unwrap();
}

#[test]
fn readers_get_their_disk_read_only_and_a_blank_one_is_not_formatted_for_them() {
    let fixture = Fixture::new().for_readers(Access::ReadOnly);
    let blank = fixture.stage().unwrap_err();
    assert_eq!(blank.code(), Code::NotFound, "{blank}");
    assert!(!fixture.is_online());
    assert_eq!(fixture.records(), 0);
}

#[test]
fn without_a_record_the_mount_goes_and_the_disk_stays() {
    let mut fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.forget();
    fixture.unstage().unwrap();
    assert!(!fixture.exists(STAGING));
    assert!(fixture.is_online());
}

#[test]
fn a_stage_that_dies_at_any_step_is_repeated_by_the_next_driver() {
    stage_dies_then(Fixture::stage_again);
}

#[test]
fn a_stage_that_dies_at_any_step_is_cleared_where_the_pod_is_deleted_instead() {
    stage_dies_then(Fixture::delete_pod);
}

fn stage_dies_then(next: fn(&Fixture)) {
    let steps = fixture::steps_of_a_stage();
    assert!(steps > 10, "{steps}");
    for step in 1..=steps {
        let mut fixture = Fixture::new();
        fixture.kill_at(Rule::on("*", Effect::Kill(Kill::Before)).from_nth(step));
        assert!(fixture.stage().is_err(), "step {step} of {steps}");
        fixture.revive();
        next(&fixture);
    }
}

#[test]
fn an_unstage_that_dies_at_any_step_is_repeated_by_the_next_driver() {
    let steps = fixture::steps_of_an_unstage();
    for step in 1..=steps {
        let mut fixture = Fixture::new();
        fixture.stage().unwrap();
        fixture.kill_at(Rule::on("*", Effect::Kill(Kill::After)).from_nth(step));
        let _ = fixture.unstage();
        fixture.revive();
        fixture.delete_pod();
    }
}

#[test]
fn paths_without_a_drive_are_kubelets_on_drive_c() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    let staging = STAGING.trim_start_matches("C:");
    assert_eq!(
        fixture.stats(staging).unwrap(),
        fixture.stats(STAGING).unwrap()
    );
    fixture.grow(3 * GIB);
    assert!(fixture.expand(staging, 3 * GIB).unwrap() > 2 * GIB + GIB / 2);
}

#[test]
fn a_boot_id_that_cannot_be_read_keeps_no_volume_from_its_pod() {
    let fixture = Fixture::new();
    fixture.fail("NtQuerySystemInformation", Win32::NOT_READY);
    fixture.stage().unwrap();
    fixture.publish(TARGET).unwrap();
}

#[test]
fn figures_are_of_a_volume_at_its_path_only() {
    let fixture = Fixture::new();
    let unknown = fixture.stats(STAGING).unwrap_err();
    assert_eq!(unknown.code(), Code::NotFound, "{unknown}");
    fixture.stage().unwrap();
    for elsewhere in [r"C:\nowhere", r"C:\", "some/path"] {
        let error = fixture.stats(elsewhere).unwrap_err();
        assert_eq!(error.code(), Code::NotFound, "{elsewhere}: {error}");
    }
}
