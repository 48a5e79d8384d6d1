//! A metered node behaves as the node, and tells of each operation once.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use os::layer::forward::ForwardDisks;
use os::{Arguments, Deadline, DiskNumber, Disks, Facility, Os, Query, Target, WinPath};
use os_meter::{Ending, Kind, Meter, MeteredOperation, Tally};
use os_sim::ClockMode;
use tempfile::TempDir;
use wincsi_os_meter as os_meter;

#[derive(Default)]
struct Endings(Mutex<Vec<(Facility, &'static str, &'static str, Ending)>>);

impl Meter for Endings {
    fn began(&self, _operation: &MeteredOperation) {}

    fn ended(&self, operation: &MeteredOperation, _took: Duration, ending: Ending) {
        let line = (
            operation.facility,
            operation.name,
            operation.subject,
            ending,
        );
        self.0.lock().expect("no panic").push(line);
    }
}

fn node() -> (TempDir, Os) {
    let folder = tempfile::tempdir().expect("a folder");
    let node = os_sim::demo::create(&folder.path().join("node"), ClockMode::Virtual);
    (folder, node.expect("a node").os())
}

#[test]
fn operations_are_told_with_how_they_ended() {
    let (_folder, plain) = node();
    let endings = Arc::new(Endings::default());
    let os = os_meter::metered(plain, &(Arc::clone(&endings) as Arc<dyn Meter>));
    let missing: WinPath = r"C:\missing".parse().expect("a path");
    let error = os.files.entry(&missing).expect_err("it is missing");
    assert_eq!(error.operation, "GetFileAttributesExW");
    os.disks.length(DiskNumber(0)).expect("the boot disk");
    os.clock.sleep(Duration::from_secs(5));
    let gone = os.files.pin(&missing);
    assert!(gone.is_err());
    assert_eq!(
        *endings.0.lock().expect("no panic"),
        [
            (Facility::Files, "GetFileAttributesExW", "", Ending::Failed),
            (
                Facility::Disks,
                "IOCTL_DISK_GET_LENGTH_INFO",
                "",
                Ending::Done
            ),
            (Facility::Clock, "Sleep", "", Ending::Done),
            (Facility::Files, "CreateFileW", "pin", Ending::Failed),
        ]
    );
}

#[test]
fn what_is_done_through_a_pin_is_told_too() {
    let (_folder, plain) = node();
    let tally = Arc::new(Tally::default());
    let os = os_meter::metered(plain, &(Arc::clone(&tally) as Arc<dyn Meter>));
    let root: WinPath = r"C:\var".parse().expect("a path");
    let name = os::Component::parse("made").expect("a name");
    let pin = os.files.pin(&root).expect("the demo has it");
    drop(tally.take());
    pin.create_directory(&name).expect("made");
    pin.pin(&name).expect("held").release();
    pin.remove(&name).expect("removed");
    let reported: Vec<_> = tally
        .take()
        .iter()
        .map(|(operation, count)| (operation.name, operation.subject, count))
        .collect();
    assert_eq!(
        reported,
        [
            ("NtCreateFile", "create directory", 1),
            ("NtCreateFile", "pin", 1),
            ("SetFileInformationByHandle", "", 1),
        ]
    );
}

#[test]
fn a_method_that_answers_with_a_code_has_failed() {
    let (_folder, plain) = node();
    let endings = Arc::new(Endings::default());
    let os = os_meter::metered(plain, &(Arc::clone(&endings) as Arc<dyn Meter>));
    let query = Query::all("MSFT_Disk", &["Number", "IsBoot"]);
    let disks = os.storage.query(&query, Deadline::NEVER).expect("disks");
    let boot = disks.iter().find(|disk| disk.bool("IsBoot") == Ok(true));
    let boot = Target::Instance(&boot.expect("a boot disk").path);
    let arguments = Arguments::none();
    let outcome = os
        .storage
        .invoke(boot, "Offline", &arguments, Deadline::NEVER)
        .expect("the provider answers");
    assert_ne!(outcome.code, 0, "a boot disk cannot go offline");
    assert_eq!(
        *endings.0.lock().expect("no panic"),
        [
            (Facility::Storage, "query", "MSFT_Disk", Ending::Done),
            (Facility::Storage, "invoke", "Offline", Ending::Failed),
        ]
    );
}

/// Disks that fall over when their length is asked for.
struct Falling(Arc<dyn Disks>);

impl ForwardDisks for Falling {
    fn to(&self) -> &dyn Disks {
        &*self.0
    }

    fn length(&self, _: DiskNumber) -> os::Result<u64> {
        std::panic::resume_unwind(Box::new("fell"))
    }
}

#[test]
fn an_operation_that_panics_has_failed() {
    let (_folder, mut plain) = node();
    plain.disks = Arc::new(Falling(plain.disks));
    let endings = Arc::new(Endings::default());
    let os = os_meter::metered(plain, &(Arc::clone(&endings) as Arc<dyn Meter>));
    let fallen = thread::spawn(move || os.disks.length(DiskNumber(0))).join();
    assert!(fallen.is_err());
    let length = "IOCTL_DISK_GET_LENGTH_INFO";
    assert_eq!(
        *endings.0.lock().expect("no panic"),
        [(Facility::Disks, length, "", Ending::Failed)]
    );
}

#[test]
fn a_tally_counts_what_one_call_costs() {
    let (_folder, plain) = node();
    let tally = Arc::new(Tally::default());
    let os = os_meter::metered(plain, &(Arc::clone(&tally) as Arc<dyn Meter>));
    let volumes = os.volumes.list().expect("volumes");
    let ((), counts) = tally.during(|| {
        for volume in &volumes {
            os.volumes.extents(*volume).expect("a volume of one disk");
        }
        os.volumes.space(volumes[0]).expect("a filesystem");
        os.clock.sleep(Duration::from_secs(1));
    });
    let many = u64::try_from(volumes.len()).expect("few volumes");
    assert_eq!(counts.of(Kind::Handle), many);
    assert_eq!(counts.of(Kind::Query) + counts.of(Kind::Method), 0);
    assert_eq!(counts.total(), many + 1);
    assert_eq!(tally.take().total(), 0);
}

#[test]
fn what_is_done_through_held_directories_is_told_too() {
    let (_folder, plain) = node();
    let tally = Arc::new(Tally::default());
    let os = os_meter::metered(plain, &(Arc::clone(&tally) as Arc<dyn Meter>));
    let drive: WinPath = r"C:\".parse().expect("a drive");
    let path: WinPath = r"C:\held\inner".parse().expect("a path");
    let [held, inner] = path.components() else {
        panic!("two names");
    };
    let ((), counts) = tally.during(|| {
        let drive = os.files.pin(&drive).expect("drive C");
        drive.create_directory(held).expect("it is new");
        let held_pin = drive.pin(held).expect("it is there");
        held_pin.create_directory(inner).expect("it is new");
        held_pin.remove(inner).expect("it is empty");
    });
    let reported: Vec<_> = counts
        .iter()
        .map(|(operation, count)| (operation.name, operation.subject, operation.kind, count))
        .collect();
    assert_eq!(
        reported,
        [
            ("CreateFileW", "pin", Kind::Handle, 1),
            ("NtCreateFile", "create directory", Kind::Handle, 2),
            ("NtCreateFile", "pin", Kind::Handle, 1),
            ("SetFileInformationByHandle", "", Kind::Handle, 1),
        ]
    );
}

#[test]
fn what_is_open_is_told_until_it_is_let_go() {
    let (_folder, plain) = node();
    let tally = Arc::new(Tally::default());
    let os = os_meter::metered(plain, &(Arc::clone(&tally) as Arc<dyn Meter>));
    let open = || -> Vec<(&str, u64)> {
        let open = tally.open();
        open.iter().map(|(op, count)| (op.name, count)).collect()
    };
    let drive: WinPath = r"C:\".parse().expect("a drive");
    let missing: WinPath = r"C:\missing".parse().expect("a path");
    let name = os::Component::parse("var").expect("a name");
    let pin = os.files.pin(&drive).expect("drive C");
    assert!(os.files.pin(&missing).is_err());
    let (first, second) = (pin.pin(&name), pin.pin(&name));
    assert_eq!(open(), [("CreateFileW", 1), ("NtCreateFile", 2)]);
    drop((first, pin));
    assert_eq!(open(), [("NtCreateFile", 1)]);
    drop(second);
    let volumes = os.volumes.list().expect("volumes");
    let lock = volumes
        .iter()
        .find_map(|volume| os.volumes.lock(*volume).ok());
    assert!(lock.is_some(), "nobody uses them");
    assert_eq!(open(), [("FSCTL_LOCK_VOLUME", 1)]);
    drop(lock);
    assert_eq!(open(), []);
}
