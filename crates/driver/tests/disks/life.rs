//! A volume's life, call by call.

use std::{fs, thread};

use transport::Code;
use wincsi::Win32;
use wincsi_driver::life::CallError;

use crate::fixture::{Fixture, GIB, STAGING, TARGET};

const OTHER_TARGET: &str = r"C:\var\lib\kubelet\pods\2\volumes\kubernetes.io~csi\pv\mount";
const OTHER_STAGING: &str = r"C:\var\lib\kubelet\plugins\kubernetes.io\csi\d\2\globalmount";

#[test]
fn a_volume_lives_from_stage_to_unstage_and_every_call_may_be_repeated() {
    let fixture = Fixture::new();
    for _ in 0..2 {
        fixture.stage().unwrap();
        fixture.publish(TARGET).unwrap();
    }
    fixture.write();
    assert!(fixture.has_file(TARGET));
    let space = fixture.stats(TARGET).unwrap().space.unwrap();
    assert!(space.total > GIB && space.free < space.total, "{space:?}");
    for _ in 0..2 {
        fixture.unpublish(TARGET).unwrap();
    }
    assert!(!fixture.exists(TARGET));
    for _ in 0..2 {
        fixture.unstage().unwrap();
    }
    fixture.assert_put_away("after the life");
}

/// Windows compares paths without case.
#[test]
fn a_disk_is_one_in_each_spelling_of_its_paths() {
    let mut fixture = Fixture::new().for_one_target();
    let (staging, target) = (STAGING.to_uppercase(), TARGET.to_uppercase());
    fixture.stage().unwrap();
    fixture.stage_at(&staging).unwrap();
    fixture.publish(TARGET).unwrap();
    fixture.restart_driver();
    fixture.publish(&target).unwrap();
    fixture.stats(&target).unwrap();
    fixture.expand(&target, GIB).unwrap();
    fixture.unstage_at(&staging).unwrap_err();
    fixture.unpublish(&target).unwrap();
    fixture.unstage_at(&staging).unwrap();
    fixture.assert_put_away("after the life");
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
    assert!(fixture.stats(STAGING).unwrap().total > 3 * GIB + GIB / 2);
}

#[test]
fn a_volume_whose_disk_is_larger_than_the_limit_does_not_grow() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    let before = fixture.stats(STAGING).unwrap().total;
    fixture.grow(3 * GIB);
    let error = fixture.expand_within(STAGING, 3 * GIB, 3 * GIB - 1);
    let error = error.unwrap_err();
    assert_eq!(error.code(), Code::OutOfRange, "{error}");
    for size in [3 * GIB, 3 * GIB - 1] {
        assert!(error.to_string().contains(&size.to_string()), "{error}");
    }
    assert_eq!(fixture.stats(STAGING).unwrap().total, before);
    assert!(fixture.expand_within(STAGING, 3 * GIB, 3 * GIB).unwrap() > before);
}

#[test]
fn what_a_driver_that_died_staged_is_unstaged_by_the_next() {
    let mut fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.publish(TARGET).unwrap();
    fixture.restart_driver();
    fixture.unpublish(TARGET).unwrap();
    fixture.unstage().unwrap();
    fixture.assert_put_away("after the restart");
}

#[test]
fn after_a_reboot_a_publish_finds_the_volume_or_stages_it_anew() {
    let mut fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.write();
    fixture.reboot();
    fixture.publish(TARGET).unwrap();
    assert!(fixture.has_file(TARGET));
}

/// After a final code kubelet would not call again.
#[test]
fn a_publish_whose_record_cannot_be_written_is_repeated() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.grow(3 * GIB);
    fixture.unmount_behind_the_drivers_back();
    let in_the_way = fixture.bar_records();
    let error = fixture.publish(TARGET).unwrap_err();
    assert_eq!(error.code(), Code::Unavailable, "{error}");
    fs::remove_dir(&in_the_way[0]).unwrap();
    fixture.publish(TARGET).unwrap();
}

#[test]
fn a_disk_with_data_of_others_is_taken_offline_again_and_its_data_stay() {
    let fixture = Fixture::with_content(|disk| {
        // ext4's superblock has its magic number at 1080.
        disk[1080..1082].copy_from_slice(&[0x53, 0xef]);
    });
    let error = fixture.stage().unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition, "{error}");
    assert!(!error.to_string().contains("-format-guard"), "{error}");
    assert!(!fixture.is_online());
    assert!(!fixture.exists(STAGING));
    assert_eq!(fixture.records(), 0);
}

#[test]
fn disks_with_the_wanted_name_are_listed_first() {
    let fixture = Fixture::new();
    fixture.attach_double();
    let text = fixture.stage().unwrap_err().to_string();
    let (_, seen) = text.split_once("; seen: ").unwrap();
    let disks: Vec<_> = seen.split("; ").collect();
    let system = disks.iter().position(|disk| disk.starts_with("disk 0,"));
    assert_eq!((disks.len(), system), (3, Some(2)), "{text}");
}

/// From sector 2048 on for 1 GiB, of Windows's type.
const MBR_PARTITION: [u8; 16] = [0, 0, 2, 0, 7, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0x20, 0];

#[test]
fn an_empty_partition_of_windows_on_an_mbr_disk_is_formatted_and_grown_where_it_is() {
    let fixture = Fixture::with_content(|disk| {
        disk[446..462].copy_from_slice(&MBR_PARTITION);
        disk[510..512].copy_from_slice(&[0x55, 0xaa]);
    });
    fixture.stage().unwrap();
    fixture.write();
    let total = fixture.stats(STAGING).unwrap().total;
    assert!(total > 2 * GIB - GIB / 100, "{total}");
    fixture.unstage().unwrap();
    fixture.grow(3 * GIB);
    fixture.stage().unwrap();
    fixture.publish(TARGET).unwrap();
    assert!(fixture.has_file(TARGET));
    let total = fixture.stats(STAGING).unwrap().total;
    assert!(total > 3 * GIB - GIB / 100, "{total}");
}

/// A master boot record reaches 2 TiB, with sectors of 512 bytes.
#[test]
fn a_volume_of_an_mbr_disk_has_what_its_table_reaches_and_an_expand_to_more_says_so() {
    const TIB: u64 = 1 << 40;
    let fixture = Fixture::with_content(|disk| {
        disk[446..462].copy_from_slice(&MBR_PARTITION);
        disk[510..512].copy_from_slice(&[0x55, 0xaa]);
    });
    fixture.grow(3 * TIB);
    fixture.stage().unwrap();
    let total = fixture.stats(STAGING).unwrap().total;
    assert!((2 * TIB - GIB..2 * TIB).contains(&total), "{total}");
    let error = fixture.expand(STAGING, 3 * TIB).unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition, "{error}");
    assert_eq!(fixture.expand(STAGING, 2 * TIB).unwrap(), total);
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

/// Kubelet publishes after a stage that succeeded, and may have taken that of another driver for one.
#[test]
fn a_volume_whose_stage_did_not_end_is_not_published() {
    let fixture = Fixture::new();
    fixture.fail("MSFT_Disk.CreatePartition", Win32::NOT_READY);
    fixture.stage().unwrap_err();
    fixture.heal();
    let error = fixture.publish(TARGET).unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition, "{error}");
    assert!(!fixture.exists(TARGET) && !fixture.has_mount_entry());
    fixture.stage().unwrap();
    fixture.publish(TARGET).unwrap();
}

#[test]
fn a_pod_gets_no_staging_path_of_another_record() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.stage_other(OTHER_STAGING).unwrap();
    let error = fixture.publish_from(OTHER_STAGING, TARGET).unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition, "{error}");
    assert!(!fixture.exists(TARGET));
    fixture.publish(TARGET).unwrap();
}

#[test]
fn an_unstage_leaves_the_disk_of_a_failed_stage_online() {
    let fixture = Fixture::new();
    fixture.fail("MSFT_Disk.CreatePartition", Win32::NOT_READY);
    fixture.stage().unwrap_err();
    fixture.heal();
    fixture.stage_other(OTHER_STAGING).unwrap();
    fixture.unstage_other(OTHER_STAGING).unwrap();
    assert!(fixture.is_online());
    assert_eq!(fixture.records(), 1, "that of the failed stage");
}

#[test]
fn an_undo_leaves_the_disk_of_another_volume_online() {
    let fixture = Fixture::new();
    fixture.fail("MSFT_Disk.CreatePartition", Win32::NOT_READY);
    fixture.stage().unwrap_err();
    fixture.heal();
    fixture.stage_other(OTHER_STAGING).unwrap();
    fixture.fail("SetVolumeMountPointW", Win32::ACCESS_DENIED);
    fixture.stage().unwrap_err();
    fixture.heal();
    assert!(fixture.is_online() && fixture.exists(OTHER_STAGING));
    assert_eq!(fixture.records(), 1, "that of the other volume");
}

/// The first try found the disk online. Then an operator took it offline.
#[test]
fn an_undo_takes_back_what_a_retry_brought_online() {
    for retries_in_vain in [0, 1] {
        let fixture = Fixture::new();
        fixture.bring_online();
        fixture.fail("MSFT_Disk.CreatePartition", Win32::NOT_READY);
        fixture.stage().unwrap_err();
        fixture.heal();
        fixture.take_offline();
        for _ in 0..retries_in_vain {
            fixture.fail("MSFT_Disk.CreatePartition", Win32::NOT_READY);
            fixture.stage().unwrap_err();
            fixture.heal();
        }
        fixture.fail("SetVolumeMountPointW", Win32::ACCESS_DENIED);
        fixture.stage().unwrap_err();
        fixture.heal();
        assert!(!fixture.is_online(), "{retries_in_vain}");
        assert_eq!(fixture.records(), 0);
    }
}

#[test]
fn a_stage_has_its_volume_alone() {
    type Call = fn(&Fixture) -> Result<(), CallError>;
    let calls: [Call; 4] = [
        Fixture::stage,
        |fixture| fixture.publish(TARGET),
        |fixture| fixture.expand(STAGING, 2 * GIB).map(drop),
        Fixture::unstage,
    ];
    for (at, call) in calls.into_iter().enumerate() {
        let fixture = Fixture::new();
        fixture.hang_once("MSFT_Disk.CreatePartition", "*");
        let met = thread::scope(|scope| {
            let staging = scope.spawn(|| fixture.stage());
            fixture.wait_for_hang(1);
            let meeting = scope.spawn(|| call(&fixture));
            let ends = fixture.becomes(|_| meeting.is_finished());
            fixture.heal();
            staging.join().unwrap().unwrap();
            ends.then(|| meeting.join().unwrap())
        });
        let refused = met.unwrap().unwrap_err();
        assert_eq!(refused.code(), Code::Aborted, "{at}: {refused}");
        fixture.unstage().unwrap();
    }
}

#[test]
fn of_two_publishes_one_stages_the_volume_anew() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.unmount_behind_the_drivers_back();
    fixture.hang_once("SetVolumeMountPointW", "*");
    let (first, second) = thread::scope(|scope| {
        let first = scope.spawn(|| fixture.publish(TARGET));
        fixture.wait_for_hang(1);
        let second = scope.spawn(|| fixture.publish(OTHER_TARGET));
        let ends = fixture.becomes(|_| second.is_finished());
        fixture.heal();
        (first.join().unwrap(), ends.then(|| second.join().unwrap()))
    });
    first.unwrap();
    let refused = second.unwrap().unwrap_err();
    assert_eq!(refused.code(), Code::Aborted, "{refused}");
    fixture.publish(OTHER_TARGET).unwrap();
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
fn a_volume_whose_unpublish_failed_is_not_unstaged() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.publish(TARGET).unwrap();
    for operation in ["SetFileInformationByHandle", "RemoveDirectoryW"] {
        fixture.fail(operation, Win32::ACCESS_DENIED);
    }
    fixture.unpublish(TARGET).unwrap_err();
    fixture.heal();
    let error = fixture.unstage().unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition, "{error}");
    fixture.unpublish(TARGET).unwrap();
    fixture.unstage().unwrap();
}

#[test]
fn a_volume_whose_unstage_did_not_end_is_not_published() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.fail("DeleteVolumeMountPointW", Win32::ACCESS_DENIED);
    fixture.unstage().unwrap_err();
    fixture.heal();
    let error = fixture.publish(TARGET).unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition, "{error}");
    fixture.unstage().unwrap();
    fixture.assert_put_away("after the second unstage");
}

#[test]
fn a_target_that_cannot_be_seen_keeps_its_volume() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.publish(TARGET).unwrap();
    fixture.fail_on("GetFileAttributesExW", TARGET, Win32::ACCESS_DENIED);
    fixture.unstage().unwrap_err();
    fixture.heal();
    assert!(fixture.has_mount_entry() && fixture.has_link_entry());
}

#[test]
fn what_kubelet_left_at_a_target_gives_way_and_a_folder_with_files_does_not() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.make_directory(TARGET);
    fixture.publish(TARGET).unwrap();
    let full = OTHER_TARGET;
    fixture.make_directory(&format!(r"{full}\file"));
    let error = fixture.publish(full).unwrap_err();
    assert_eq!(error.code(), Code::AlreadyExists, "{error}");
    let error = fixture.unpublish(full).unwrap_err();
    assert!(error.to_string().contains(full), "{error}");
    assert!(fixture.exists(&format!(r"{full}\file")));
    fixture.unpublish(TARGET).unwrap();
    fixture.unstage().unwrap();
}

#[test]
fn a_volume_of_one_target_has_one() {
    let fixture = Fixture::new().for_one_target();
    for _ in 0..2 {
        fixture.stage().unwrap();
    }
    fixture.publish(TARGET).unwrap();
    let second = fixture.publish(OTHER_TARGET).unwrap_err();
    assert_eq!(second.code(), Code::FailedPrecondition, "{second}");
    fixture.unpublish(TARGET).unwrap();
    fixture.publish(OTHER_TARGET).unwrap();
}

/// An operator removed the folder of a pod that did not end.
#[test]
fn a_target_that_is_gone_does_not_keep_a_volume_of_one_target_from_another_pod() {
    let fixture = Fixture::new().for_one_target();
    fixture.stage().unwrap();
    fixture.publish(TARGET).unwrap();
    fixture.remove_directory(TARGET);
    fixture.publish(OTHER_TARGET).unwrap();
    let first = fixture.publish(TARGET).unwrap_err();
    assert_eq!(first.code(), Code::FailedPrecondition, "{first}");
    fixture.unpublish(TARGET).unwrap();
    fixture.unpublish(OTHER_TARGET).unwrap();
    fixture.unstage().unwrap();
    fixture.assert_put_away("after the second pod");
}

/// Its publish has noted the target, and the link is not made yet.
#[test]
fn a_target_that_is_being_published_is_not_taken_for_gone() {
    let fixture = Fixture::new().for_one_target();
    fixture.stage().unwrap();
    fixture.hang_once("*", TARGET);
    let (first, second) = thread::scope(|scope| {
        let first = scope.spawn(|| fixture.publish(TARGET));
        fixture.wait_for_hang(1);
        let second = fixture.publish(OTHER_TARGET);
        fixture.heal();
        (first.join().unwrap(), second)
    });
    assert!(first.is_ok(), "{first:?}");
    let second = second.unwrap_err();
    assert_eq!(second.code(), Code::Aborted, "{second}");
    let second = fixture.publish(OTHER_TARGET).unwrap_err();
    assert_eq!(second.code(), Code::FailedPrecondition, "{second}");
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
