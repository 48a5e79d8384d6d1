//! A volume's life on a simulated node, by the calls that the operations above the seam make.

use std::path::Path;
use std::time::Duration;

use os::{
    Arguments, Deadline, DiskAttributes, DiskNumber, PartitionEntry, PartitionStyle, Query, Target,
    Value, VolumeId, Win32, WinPath,
};
use wincsi_os_sim::{Arrivals, Bus, ClockMode, Content, DiskSpec, Effect, NodeSpec, Rule, SimNode};

use crate::support::storage_fixture::{DATA, GIB, MIB, StorageFixture, gpt, one};

#[test]
fn a_fresh_node_runs_from_drive_c() {
    let fixture = StorageFixture::new();
    assert_eq!(fixture.os.disks.list().unwrap(), [DiskNumber(0)]);
    let drive_c: WinPath = r"C:\".parse().unwrap();
    let volume = fixture.os.volumes.mounted_at(&drive_c).unwrap();
    assert_eq!(fixture.os.volumes.access_paths(volume).unwrap(), [drive_c]);
    assert_eq!(
        fixture.os.volumes.extents(volume).unwrap()[0].disk,
        DiskNumber(0)
    );
    let system32: WinPath = r"c:\windows\SYSTEM32".parse().unwrap();
    assert!(fixture.os.files.entry(&system32).unwrap().is_directory());
}

#[test]
fn the_kernel_sees_a_new_disk_at_once_and_the_provider_after_a_rescan() {
    let fixture = StorageFixture::new();
    let spec = DiskSpec::on(Bus::Sas).lun(1);
    fixture.attach("data1", &spec, GIB);
    assert_eq!(fixture.os.disks.list().unwrap(), [DiskNumber(0), DATA]);
    assert_eq!(
        fixture.query(&Query::all("MSFT_Disk", &["Number"])).len(),
        1
    );
    fixture.rescan();
    let disk = fixture.disk();
    assert_eq!(disk.u64("Size"), Ok(GIB));
    assert_eq!(disk.bool("IsOffline"), Ok(true));
    assert_eq!(disk.bool("IsReadOnly"), Ok(true));
}

/// Drivers that never rescan find their disks on real nodes.
#[test]
fn the_provider_notices_a_new_disk_by_itself_after_a_while_or_never() {
    for (arrivals, noticed) in [(Arrivals::Noticed, 2), (Arrivals::OnRescan, 1)] {
        let mut spec = NodeSpec::default();
        spec.storage.arrivals = arrivals;
        spec.storage.arrival_delay_ms = 1000;
        let fixture = StorageFixture::of(&spec);
        let (hardware, blank) = (fixture.hardware(), Content::blank(GIB));
        let disk = DiskSpec::on(Bus::Sas);
        hardware.attach_disk("data1", &disk, &blank).unwrap();
        let listed = || fixture.query(&Query::all("MSFT_Disk", &[])).len();
        assert_eq!(fixture.os.disks.list().unwrap().len(), 2);
        for (pause, expected) in [(0, 1), (999, 1), (1, noticed), (3_600_000, noticed)] {
            fixture.let_pass(Duration::from_millis(pause));
            assert_eq!(listed(), expected, "{arrivals:?} {pause}");
        }
        fixture.rescan();
        assert_eq!(listed(), 2);
    }
}

/// Two rows of one number could not be distinguished.
#[test]
fn a_disk_that_is_noticed_takes_the_place_of_the_one_that_is_gone() {
    let fixture = StorageFixture::with_disk(&DiskSpec::on(Bus::Sas));
    let hardware = fixture.hardware();
    hardware.detach_disk("data1").unwrap();
    fixture.os.disks.list().unwrap();
    let (disk, blank) = (DiskSpec::on(Bus::Sas).lun(2), Content::blank(GIB));
    hardware.attach_disk("data2", &disk, &blank).unwrap();
    assert!(fixture.os.disks.list().unwrap().contains(&DATA));
    fixture.let_pass(Duration::from_secs(60));
    let query = Query::all("MSFT_Disk", &["Location"]).with("Number", Value::uint32(DATA.0));
    let [row] = fixture.query(&query).try_into().unwrap();
    assert!(row.text("Location").unwrap().ends_with("LUN 2"), "{row:?}");
}

#[test]
fn a_raw_disk_becomes_a_mounted_volume() {
    let (fixture, volume) = StorageFixture::formatted();
    let layout = fixture.os.disks.layout(DATA).unwrap();
    assert!(matches!(layout.style, PartitionStyle::Gpt { .. }));
    let data = &layout.partitions[1];
    assert_eq!(
        (data.kind, data.offset),
        (PartitionEntry::BASIC_DATA, 16 * MIB)
    );
    assert_eq!(data.end(), Some(GIB - 2 * MIB));
    assert_eq!(data.id, volume.0);

    let system = fixture.os.volumes.file_system(volume).unwrap().unwrap();
    assert_eq!((system.name.as_str(), system.read_only), ("NTFS", false));
    let mount = fixture.new_folder(r"C:\mount");
    fixture.os.volumes.set_mount_point(&mount, volume).unwrap();
    assert_eq!(fixture.os.volumes.mounted_at(&mount), Ok(volume));
    let file: WinPath = r"C:\mount\file".parse().unwrap();
    fixture.files().write_file(&file, &[7; 10_000]).unwrap();
    let on_host = fixture
        .folder()
        .join("volumes")
        .join(volume.0.to_string())
        .join("file");
    assert_eq!(std::fs::read(on_host).unwrap(), [7; 10_000]);

    fixture.os.volumes.flush(volume).unwrap();
    fixture.os.volumes.delete_mount_point(&mount).unwrap();
    assert_eq!(fixture.os.volumes.access_paths(volume), Ok(Vec::new()));
    assert!(fixture.os.files.list(&mount).unwrap().is_empty());
}

#[test]
fn a_new_volume_appears_late() {
    let fixture = StorageFixture::partitioned(&DiskSpec::on(Bus::Sas).lun(1));
    let id = VolumeId(fixture.os.disks.layout(DATA).unwrap().partitions[1].id);
    assert!(!fixture.os.volumes.list().unwrap().contains(&id));
    assert!(fixture.volumes().is_empty());
    fixture.let_pass(Duration::from_millis(150));
    assert!(fixture.os.volumes.list().unwrap().contains(&id));
    assert_eq!(fixture.volumes().len(), 1);
}

#[test]
fn files_take_space() {
    let (fixture, volume) = StorageFixture::formatted();
    let before = fixture.os.volumes.space(volume).unwrap();
    let file: WinPath = format!("{volume}file").parse().unwrap();
    fixture.files().write_file(&file, &[7; 10_000]).unwrap();
    let after = fixture.os.volumes.space(volume).unwrap();
    assert_eq!(after.total, before.total);
    assert_eq!(before.free - after.free, 3 * 4096);
    let by_provider = one(fixture.volumes());
    assert_eq!(by_provider.u64("SizeRemaining"), Ok(after.free));
}

#[test]
fn a_raw_volume_has_no_space_and_no_files() {
    let fixture = StorageFixture::partitioned(&DiskSpec::on(Bus::Sas).lun(1));
    let volume = fixture.volume();
    assert_eq!(fixture.os.volumes.file_system(volume), Ok(None));
    let space = fixture.os.volumes.space(volume).unwrap_err();
    assert_eq!(space.win32(), Some(Win32::UNRECOGNIZED_VOLUME));
    let file: WinPath = format!("{volume}file").parse().unwrap();
    let written = fixture.files().write_file(&file, b"x").unwrap_err();
    assert_eq!(written.win32(), Some(Win32::UNRECOGNIZED_VOLUME));
}

#[test]
fn a_grown_disk_is_noticed_by_rescan_and_its_volume_grows() {
    let (fixture, volume) = StorageFixture::formatted();
    fixture.grow("data1", 2 * GIB);
    assert_eq!(fixture.os.disks.length(DATA), Ok(GIB));
    fixture.os.disks.update_properties(DATA).unwrap();
    assert_eq!(fixture.os.disks.length(DATA), Ok(2 * GIB));
    assert_eq!(fixture.disk().u64("Size"), Ok(GIB));
    let path = fixture.partition().path;
    let size = 2 * GIB - 18 * MIB;
    let resize = Arguments::none().with("Size", Value::uint64(size));
    assert_eq!(fixture.call(&path, "Resize", &resize).code, 4097);
    fixture.rescan();
    assert_eq!(fixture.disk().u64("Size"), Ok(2 * GIB));
    assert_eq!(fixture.call(&path, "Resize", &resize).code, 0);
    assert_eq!(fixture.partition().u64("Size"), Ok(size));
    let space = fixture.os.volumes.space(volume).unwrap();
    assert!(space.total > size - MIB, "{space:?}");
}

#[test]
fn a_volume_goes_with_its_disk_and_comes_back_with_it() {
    let (fixture, volume) = StorageFixture::formatted();
    let mount = fixture.new_folder(r"C:\mount");
    fixture.os.volumes.set_mount_point(&mount, volume).unwrap();
    let disk = fixture.disk().path;
    assert_eq!(fixture.call(&disk, "Offline", &Arguments::none()).code, 0);
    assert!(fixture.os.volumes.mounted_at(&mount).is_err());
    let inside: WinPath = r"C:\mount\file".parse().unwrap();
    assert!(fixture.os.files.entry(&inside).is_err());
    assert_eq!(fixture.call(&disk, "Online", &Arguments::none()).code, 0);
    fixture.let_pass(Duration::from_secs(1));
    assert_eq!(fixture.os.volumes.mounted_at(&mount), Ok(volume));
}

#[test]
fn a_locked_volume_is_its_owners_alone() {
    let (fixture, volume) = StorageFixture::formatted();
    let refused =
        |result: os::Result<Box<dyn os::VolumeLock>>| result.err().and_then(|error| error.win32());
    let hold = fixture.hold(volume);
    assert_eq!(
        refused(fixture.os.volumes.lock(volume)),
        Some(Win32::ACCESS_DENIED)
    );
    drop(hold);
    let root: WinPath = volume.to_string().parse().unwrap();
    let pin = fixture.os.files.pin(&root).unwrap();
    assert_eq!(
        refused(fixture.os.volumes.lock(volume)),
        Some(Win32::ACCESS_DENIED)
    );
    pin.release();
    let lock = fixture.os.volumes.lock(volume).unwrap();
    assert_eq!(
        refused(fixture.os.volumes.lock(volume)),
        Some(Win32::ACCESS_DENIED)
    );
    assert!(fixture.os.files.list(&root).is_err());
    lock.dismount().unwrap();
    drop(lock);
    fixture.os.files.list(&root).unwrap();
}

/// Windows closes the handle of a call that failed, and the lock with it.
#[test]
fn a_lock_that_was_taken_by_a_call_that_failed_is_nobodys() {
    let (fixture, volume) = StorageFixture::formatted();
    let late = Effect::FailAfter(Win32::IO_DEVICE.into());
    let faults = fixture.faults();
    faults.add(Rule::on("FSCTL_LOCK_VOLUME", late).times(1));
    assert!(fixture.os.volumes.lock(volume).is_err());
    fixture.os.volumes.lock(volume).unwrap();
}

#[test]
fn a_folder_opens_after_a_kill_as_it_was() {
    let (fixture, volume) = StorageFixture::formatted();
    let mount = fixture.new_folder(r"C:\mount");
    fixture.os.volumes.set_mount_point(&mount, volume).unwrap();
    assert!(SimNode::open(&fixture.folder(), ClockMode::Virtual).is_err());
    let boot = fixture.os.boot.boot_id().unwrap();
    fixture.kill();
    assert!(fixture.os.disks.list().is_err());
    let again = SimNode::open(&fixture.folder(), ClockMode::Virtual).unwrap();
    assert_eq!(again.os().boot.boot_id(), Ok(boot));
    assert_eq!(again.os().volumes.mounted_at(&mount), Ok(volume));
}

#[test]
fn a_reboot_numbers_disks_anew_and_keeps_volumes_mounted() {
    let (fixture, volume) = StorageFixture::formatted();
    let mount = fixture.new_folder(r"C:\mount");
    fixture.os.volumes.set_mount_point(&mount, volume).unwrap();
    let hardware = fixture.hardware();
    let other = DiskSpec::on(Bus::Sas).lun(2);
    hardware
        .attach_disk("data2", &other, &Content::blank(GIB))
        .unwrap();
    assert_eq!(fixture.os.disks.list().unwrap().len(), 3);
    // The volume's disk is pulled out and comes back after the other one.
    let disks = fixture.folder().join("disks");
    let elsewhere = tempfile::tempdir_in(fixture.folder()).unwrap();
    let all_moved = |from: &Path, to: &Path| {
        for file in ["data1.toml", "data1.img"] {
            std::fs::rename(from.join(file), to.join(file)).unwrap();
        }
    };
    all_moved(&disks, elsewhere.path());
    assert_eq!(fixture.os.disks.list().unwrap().len(), 2);
    all_moved(elsewhere.path(), &disks);
    fixture.os.disks.list().unwrap();
    fixture.let_pass(Duration::from_secs(1));
    let disk_of_volume = || fixture.os.volumes.extents(volume).unwrap()[0].disk;
    assert_eq!(disk_of_volume(), DATA);
    fixture.reboot().unwrap();
    assert_eq!(disk_of_volume(), DiskNumber(2));
    assert_eq!(fixture.os.volumes.mounted_at(&mount), Ok(volume));
    assert_eq!(fixture.os.volumes.access_paths(volume), Ok(vec![mount]));
    assert!(fixture.os.volumes.space(volume).is_ok());
}

#[test]
fn a_reboot_keeps_the_mount_point_of_a_volume_whose_disk_is_gone() {
    let (fixture, volume) = StorageFixture::formatted();
    fixture.attach("data2", &DiskSpec::on(Bus::Sas).lun(2), GIB);
    let mount = fixture.new_folder(r"C:\mount");
    fixture.os.volumes.set_mount_point(&mount, volume).unwrap();
    let boot = fixture.os.boot.boot_id().unwrap();
    assert_eq!(fixture.os.disks.list().unwrap().len(), 3);
    fixture.hardware().detach_disk("data1").unwrap();
    assert_eq!(
        fixture.os.disks.list().unwrap(),
        [DiskNumber(0), DiskNumber(2)]
    );
    fixture.reboot().unwrap();
    assert_ne!(fixture.os.boot.boot_id(), Ok(boot));
    assert_eq!(
        fixture.os.disks.list().unwrap(),
        [DiskNumber(0), DiskNumber(1)]
    );
    assert_eq!(
        fixture.os.volumes.mounted_at(&mount).unwrap_err().win32(),
        Some(Win32::FILE_NOT_FOUND)
    );
    fixture.os.volumes.delete_mount_point(&mount).unwrap();
}

#[test]
fn the_provider_remembers_a_disk_that_was_pulled_out() {
    let fixture = StorageFixture::with_disk(&DiskSpec::on(Bus::Sas).lun(1));
    fixture.hardware().detach_disk("data1").unwrap();
    assert_eq!(fixture.os.disks.list().unwrap(), [DiskNumber(0)]);
    let disk = fixture.disk().path;
    assert_eq!(fixture.call(&disk, "Initialize", &gpt()).code, 40003);
    let none = Arguments::none();
    let target = Target::Instance(&disk);
    let refreshed = fixture
        .os
        .storage
        .invoke(target, "Refresh", &none, Deadline::NEVER);
    assert!(refreshed.unwrap_err().is_not_found());
    assert_eq!(
        fixture.query(&Query::all("MSFT_Disk", &["Number"])).len(),
        1
    );
}

/// The provider's codes are those of the attribute: nothing was seen of a protected device.
#[test]
fn a_protected_device_takes_no_write_whatever_the_attribute_says() {
    let (fixture, volume) = StorageFixture::formatted();
    let (hardware, os) = (fixture.hardware(), &fixture.os);
    hardware.grow_disk("data1", 2 * GIB).unwrap();
    os.disks.update_properties(DATA).unwrap();
    hardware.set_write_protected("data1", true).unwrap();
    assert_eq!(os.disks.is_write_protected(DATA), Ok(true));
    assert_eq!(
        os.disks.attributes(DATA),
        Ok(DiskAttributes {
            offline: false,
            read_only: false,
        })
    );
    let refused = Some(Win32::WRITE_PROTECT);
    let grown = os.disks.grow_partition(DATA, os::PartitionNumber(2), MIB);
    assert_eq!(grown.unwrap_err().win32(), refused);
    assert_eq!(os.volumes.flush(volume).unwrap_err().win32(), refused);
    let file_system = os.volumes.file_system(volume).unwrap().unwrap();
    assert!(file_system.read_only);
    let path = fixture.partition().path;
    let deleted = fixture.call(&path, "DeleteObject", &Arguments::none());
    assert_eq!(deleted.code, 40001);
    let disk = fixture.disk().path;
    assert_eq!(fixture.call(&disk, "Offline", &Arguments::none()).code, 0);
    assert_eq!(fixture.call(&disk, "Online", &Arguments::none()).code, 0);
    hardware.set_write_protected("data1", false).unwrap();
    assert_eq!(os.disks.is_write_protected(DATA), Ok(false));
    let grown = os.disks.grow_partition(DATA, os::PartitionNumber(2), MIB);
    grown.unwrap();
}
