//! What becomes of the disk at unstage.

use transport::Code;
use wincsi::Feature;
use wincsi_driver::record::Access;

use crate::fixture::{Fixture, STAGING, VOLUME};

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
