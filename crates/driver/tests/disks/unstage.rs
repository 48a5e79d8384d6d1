//! What becomes of the disk at unstage.

use std::fs;

use os::Cause;
use transport::Code;
use wincsi::sim::{Effect, Rule};
use wincsi::{Feature, Win32};
use wincsi_driver::record::Access;

use crate::fixture::{Fixture, STAGING, TARGET, VOLUME, path};

const ELSEWHERE: &str = r"C:\data";
const OTHER: &str = r"C:\var\lib\kubelet\plugins\kubernetes.io\csi\d\2\globalmount";

#[test]
fn a_disk_that_is_mounted_elsewhere_stays_online() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.mount_elsewhere(ELSEWHERE);
    fixture.unstage().unwrap();
    assert!(fixture.is_online());
    assert!(!fixture.exists(STAGING));
    assert!(fixture.exists(ELSEWHERE));
    assert_eq!(fixture.records(), 0);
}

/// The volume is dismounted, and another call would be answered likewise.
#[test]
fn an_unstage_succeeds_whatever_offline_answers() {
    let codes = [1, 8, 41_009, 41_018, 42_014].map(Cause::Storage);
    let others = [Win32::ACCESS_DENIED, Win32::NOT_READY].map(Cause::Win32);
    for cause in codes.into_iter().chain(others) {
        let fixture = Fixture::new();
        fixture.stage().unwrap();
        let offline = Rule::on("MSFT_Disk.Offline", Effect::Fail(cause.clone()));
        fixture.fault(offline);
        let unstaged = fixture.unstage();
        assert!(unstaged.is_ok(), "{cause}: {unstaged:?}");
        assert!(fixture.is_online() && !fixture.exists(STAGING));
        assert_eq!(fixture.records(), 0);
    }
}

#[test]
fn an_unstage_succeeds_while_page_files_are_unknown() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.fail("NtQuerySystemInformation", Win32::ACCESS_DENIED);
    fixture.unstage().unwrap();
    assert!(!fixture.exists(STAGING));
    assert_eq!(fixture.records(), 0);
}

/// A full disk. What was written before is enough for another driver to go on by.
#[test]
fn a_disk_ends_while_no_record_can_be_written() {
    for dies in [false, true] {
        let mut fixture = Fixture::new();
        fixture.stage().unwrap();
        fixture.publish(TARGET).unwrap();
        let in_the_way = fixture.bar_records();
        fixture.unpublish(TARGET).unwrap();
        assert!(!fixture.exists(TARGET));
        if dies {
            fixture.fail("DeleteVolumeMountPointW", Win32::NOT_READY);
            fixture.unstage().unwrap_err();
            fixture.heal();
            fixture.restart_driver();
        }
        fixture.unstage().unwrap();
        fs::remove_dir(&in_the_way[0]).unwrap();
        fixture.assert_put_away("without room");
    }
}

/// The folder is a plain one again, and the mount manager has the path still. Another's path counts.
#[test]
fn an_unstage_that_died_in_the_mount_manager_is_finished() {
    for is_elsewhere in [false, true] {
        let mut fixture = Fixture::new();
        fixture.stage().unwrap();
        if is_elsewhere {
            fixture.mount_elsewhere(ELSEWHERE);
        }
        fixture.files().remove_mount_point(&path(STAGING)).unwrap();
        fixture.restart_driver();
        fixture.unstage().unwrap();
        assert!(!fixture.exists(STAGING));
        let goes_offline = !is_elsewhere && fixture.host_supports(Feature::CheckedOffline);
        assert_eq!(!fixture.is_online(), goes_offline);
        assert_eq!(fixture.records(), 0);
    }
}

#[test]
fn a_disk_that_another_record_names_stays_online() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.stage_other(OTHER).unwrap();
    fixture.unstage().unwrap();
    assert!(fixture.is_online());
    assert!(fixture.exists(OTHER));
}

#[test]
fn a_volume_is_dismounted_where_its_record_has_it() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.unstage_at(OTHER).unwrap();
    assert!(!fixture.exists(STAGING));
    assert_eq!(fixture.records(), 0);
}

#[test]
fn without_a_record_kubelets_own_file_tells_whose_disk_it_is() {
    for (driver, volume, is_ours) in [
        ("d", VOLUME, true),
        ("other.driver", VOLUME, false),
        ("d", "vol-9", false),
    ] {
        let mut fixture = Fixture::new();
        fixture.write_vol_data(driver, volume);
        fixture.stage().unwrap();
        fixture.forget();
        fixture.unstage().unwrap();
        assert!(!fixture.exists(STAGING));
        let goes_offline = is_ours && fixture.host_supports(Feature::CheckedOffline);
        assert_eq!(!fixture.is_online(), goes_offline, "{driver} {volume}");
    }
}

#[test]
fn without_a_record_a_link_at_the_staging_path_is_removed_and_the_disk_behind_it_stays() {
    let mut fixture = Fixture::new();
    fixture.write_vol_data("d", VOLUME);
    fixture.stage_other(OTHER).unwrap();
    fixture.link(OTHER, STAGING);
    fixture.forget();
    fixture.unstage().unwrap();
    assert!(!fixture.exists(STAGING));
    assert!(fixture.exists(OTHER) && fixture.is_online());
}

#[test]
fn a_link_at_the_staging_path_that_leads_nowhere_is_removed() {
    let fixture = Fixture::new();
    fixture.make_directory(ELSEWHERE);
    fixture.link(ELSEWHERE, STAGING);
    fixture.remove_directory(ELSEWHERE);
    fixture.unstage().unwrap();
    assert!(!fixture.exists(STAGING));
}

#[test]
fn a_volume_whose_disk_was_pulled_out_is_unstaged() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.pull_out();
    fixture.unstage().unwrap();
    assert!(!fixture.exists(STAGING));
    assert_eq!(fixture.records(), 0);
}

#[test]
fn a_stage_without_a_record_and_with_a_late_disk_is_repeated_if_the_volume_was_mounted() {
    let mut fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.pull_out();
    fixture.forget();
    let late = fixture.stage().unwrap_err();
    assert_eq!(late.code(), Code::Unavailable, "{late}");
    fixture.plug_in();
    fixture.stage().unwrap();
}

#[test]
fn a_volume_for_writers_does_not_take_the_disk_of_readers() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    let fixture = fixture.for_readers(Access::ReadOnly);
    let refused = fixture.stage_other(OTHER).unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition, "{refused}");
    assert!(!fixture.exists(OTHER));
}
