//! The node's folder: leftovers of a kill, and changes by an operator.

use std::fs::{self, File, OpenOptions};
use std::path::Path;
use std::time::Duration;

use os::{DiskNumber, VolumeId, WinPath};
use wincsi_os_sim::{Bus, ClockMode, CreateError, DiskSpec, NodeSpec, SimNode};

use crate::support::storage_fixture::{DATA, GIB, StorageFixture, gpt, ntfs, one, whole_disk};

fn create(folder: &Path) -> Result<SimNode, CreateError> {
    SimNode::create(folder, &NodeSpec::default(), ClockMode::Virtual)
}

fn open(folder: &Path) -> Result<SimNode, CreateError> {
    SimNode::open(folder, ClockMode::Virtual)
}

fn drive_c() -> WinPath {
    r"C:\Windows".parse().unwrap()
}

/// A file on a formatted volume, which must survive everything.
fn with_file() -> (StorageFixture, VolumeId, WinPath) {
    let (fixture, volume) = StorageFixture::formatted();
    let file: WinPath = format!("{volume}file").parse().unwrap();
    fixture.files().write_file(&file, b"content").unwrap();
    (fixture, volume, file)
}

#[test]
fn a_state_that_is_older_than_the_disks_catches_up() {
    let fixture = StorageFixture::with_disk(&DiskSpec::on(Bus::Nvme));
    let state = fixture.folder().join("state.json");
    let old = fs::read(&state).unwrap();
    let disk = fixture.disk().path;
    fixture.call(&disk, "Initialize", &gpt());
    fixture.call(&disk, "CreatePartition", &whole_disk());
    let volume = fixture.volume();
    fixture.call(&one(fixture.volumes()).path, "Format", &ntfs());
    fixture.kill();
    fs::write(&state, old).unwrap();

    let fixture = fixture.revived();
    assert_eq!(fixture.os.disks.layout(DATA).unwrap().partitions.len(), 2);
    fixture.let_pass(Duration::from_secs(1));
    assert!(fixture.os.volumes.file_system(volume).unwrap().is_some());
    assert_eq!(fixture.disk().u32("PartitionStyle"), Ok(0));
    fixture.rescan();
    assert_eq!(fixture.volume(), volume);
}

#[test]
fn a_lost_state_costs_mounts_and_no_data() {
    let (fixture, _, file) = with_file();
    fixture.kill();
    fs::remove_file(fixture.folder().join("state.json")).unwrap();
    let fixture = fixture.revived();
    assert!(fixture.os.files.entry(&drive_c()).is_ok());
    let disk = fixture.disk();
    assert_eq!(disk.u32("PartitionStyle"), Ok(2));
    fixture.call(&disk.path, "Online", &os::Arguments::none());
    fixture.let_pass(Duration::from_secs(1));
    assert_eq!(fixture.files().read_file(&file), Ok(b"content".to_vec()));
}

#[test]
fn what_a_killed_process_was_writing_is_passed_over() {
    let (fixture, _, file) = with_file();
    fixture.kill();
    for name in [
        "state.1-1.tmp",
        "node.1-1.tmp",
        "disks/data2.1-1.tmp",
        "disks/data3.img",
    ] {
        fs::write(fixture.folder().join(name), "{").unwrap();
    }
    let fixture = fixture.revived();
    assert_eq!(fixture.files().read_file(&file), Ok(b"content".to_vec()));
    assert_eq!(fixture.os.disks.list().unwrap(), [DiskNumber(0), DATA]);
}

#[test]
fn a_node_that_was_not_finished_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    create(folder.path()).unwrap().kill();
    fs::remove_file(folder.path().join("node.toml")).unwrap();
    fs::remove_file(folder.path().join("state.json")).unwrap();
    assert!(open(folder.path()).is_err());
    let node = create(folder.path()).unwrap();
    assert!(node.os().files.entry(&drive_c()).is_ok());
    assert!(matches!(create(folder.path()), Err(CreateError::Exists(_))));
}

#[test]
fn a_node_that_was_never_started_starts_when_it_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    create(folder.path()).unwrap().kill();
    fs::remove_file(folder.path().join("state.json")).unwrap();
    fs::remove_dir_all(folder.path().join("volumes")).unwrap();
    let node = open(folder.path()).unwrap();
    assert!(node.os().files.entry(&drive_c()).is_ok());
}

#[test]
fn a_node_is_one_process_at_a_time_and_nodes_live_side_by_side() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let first = create(folders[0].path()).unwrap();
    let second = create(folders[1].path()).unwrap();
    assert!(matches!(
        open(folders[0].path()),
        Err(CreateError::InUse(_))
    ));
    let own = r"C:\own".parse().unwrap();
    first.os().files.create_directory(&own).unwrap();
    assert!(second.os().files.entry(&own).is_err());
    first.kill();
    assert!(
        open(folders[0].path())
            .unwrap()
            .os()
            .files
            .entry(&own)
            .is_ok()
    );
    assert!(second.os().disks.list().is_ok());
}

#[test]
fn an_operator_plugs_in_and_pulls_out_with_files_alone() {
    let fixture = StorageFixture::new();
    let disks = fixture.folder().join("disks");
    let (image, text) = (disks.join("mine.img"), disks.join("mine.toml"));
    let count = || fixture.os.disks.list().unwrap().len();
    File::create(&image).unwrap().set_len(GIB).unwrap();
    assert_eq!(count(), 1);
    fs::write(&text, "bus = \"scssi\"").unwrap();
    assert_eq!(count(), 1);
    fs::write(&text, "bus = \"scsi\"\nserial = \"1\"").unwrap();
    assert_eq!(count(), 2);
    let serial = || fixture.os.disks.descriptor(DATA).unwrap().serial.unwrap();
    assert_eq!(serial(), "1");
    fs::write(&text, "bus = \"scsi\"\nserial = \"2\"").unwrap();
    assert_eq!(serial(), "2");
    let grown = OpenOptions::new().write(true).open(&image).unwrap();
    grown.set_len(2 * GIB).unwrap();
    assert_eq!(fixture.os.disks.length(DATA), Ok(GIB));
    fixture.os.disks.update_properties(DATA).unwrap();
    assert_eq!(fixture.os.disks.length(DATA), Ok(2 * GIB));
    drop(grown);
    fs::remove_file(&image).unwrap();
    assert_eq!(count(), 1);
}

#[test]
fn a_disk_that_was_pulled_out_while_nobody_looked_is_gone() {
    let fixture = StorageFixture::with_disk(&DiskSpec::on(Bus::Nvme));
    fixture.kill();
    fixture.hardware().detach_disk("data1").unwrap();
    let fixture = fixture.revived();
    assert_eq!(fixture.os.disks.list().unwrap(), [DiskNumber(0)]);
    assert!(fixture.os.disks.layout(DATA).unwrap_err().is_not_found());
}

#[test]
fn events_are_lines_of_a_file() {
    let fixture = StorageFixture::new();
    let event = os::Event {
        level: os::EventLevel::Warning,
        id: 7,
        message: "one\ntwo".to_owned(),
    };
    fixture.os.event_log.report(&event).unwrap();
    let log = fs::read_to_string(fixture.folder().join("events.log")).unwrap();
    assert_eq!(log.lines().count(), 1);
    assert!(log.contains("warning"), "{log}");
}
