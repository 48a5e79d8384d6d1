//! A node with a disk that can be made to hang.

use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use os::schema::disk;
use os::{DiskNumber, Facility, Query, VolumeId, WinPath};
use os_sim::{Bus, DiskSpec, Effect, IdentifierKind, Op, Rule, RuleId};
use wincsi_node::api::{Error, NodeApi};
use wincsi_node::{Criterion, DiskQuery, FoundDisk, Node, SerialNumber};

use super::{DATA, GIB, Rig, STAGING};

/// Of the real clock, which nothing here is to take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) const BAD: &str = "bad";
const RAW: &str = "raw";

/// The raw disk's name.
pub(crate) const PAGE83: &str = "600508b1001c4f0e";

/// Longer than anybody sleeps before a look at the virtual clock.
const SLICE: Duration = Duration::from_millis(200);

/// Where the bad disk's volume is mounted.
const BAD_STAGING: &str = r"C:\var\lib\kubelet\plugins\badmount";

/// A node with a good disk, a raw one, and one that can be made to hang.
pub(crate) struct Scene {
    pub(crate) rig: Rig,
    pub(crate) good: Pair,
    pub(crate) bad: Pair,
    /// The path by which the provider names the bad disk.
    pub(crate) bad_path: String,
    pub(crate) found: FoundDisk,
    pub(crate) raw: FoundDisk,
}

/// A disk, its volume, and where that is mounted.
#[derive(Clone, Copy)]
pub(crate) struct Pair {
    pub(crate) disk: DiskNumber,
    pub(crate) volume: VolumeId,
    pub(crate) folder: &'static str,
}

impl Pair {
    pub(crate) fn folder(self) -> WinPath {
        self.folder.parse().unwrap()
    }

    pub(crate) fn file(self) -> WinPath {
        format!(r"{}\data.txt", self.folder).parse().unwrap()
    }

    /// A link to the folder, which lies elsewhere.
    pub(crate) fn link(self) -> WinPath {
        format!("{}-link", self.folder).parse().unwrap()
    }
}

/// Where the bad disk hangs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    Cache,
    Disk,
    /// What is in the volume, by the path of its folder.
    Files,
    /// Behind the folder.
    Mounted,
    Path,
    /// The volume's root directory.
    Root,
    Volume,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let rig = Rig::with_mounted_volume();
        let named = DiskSpec::on(Bus::Sas).identified(IdentifierKind::Naa, PAGE83);
        let unnamed = DiskSpec::on(Bus::Sas);
        for (serial, lun, spec) in [(BAD, 2, unnamed), (RAW, 3, named)] {
            rig.plug(&spec.serial(serial).lun(lun), serial, 4 * GIB);
        }
        let bad = rig.disk_of(BAD);
        rig.disks().partition(bad, rig.soon()).unwrap();
        let volume = rig.volumes().sole_on_disk(bad, rig.soon()).unwrap();
        rig.volumes().format(volume, rig.soon()).unwrap();
        let bad = Pair {
            disk: bad,
            volume,
            folder: BAD_STAGING,
        };
        mount(&rig, bad);
        let find = |text| rig.disks().find(&serial(text), rig.soon()).unwrap();
        Self {
            good: Pair {
                disk: rig.disk(),
                volume: rig.volume(),
                folder: STAGING,
            },
            bad,
            bad_path: path_of(&rig, bad.disk),
            found: find(DATA),
            raw: find(RAW),
            rig,
        }
    }

    pub(crate) fn api(&self) -> &dyn NodeApi {
        &self.rig.node
    }

    fn object(&self, place: Place) -> String {
        match place {
            Place::Cache | Place::Root | Place::Volume => self.bad.volume.to_string(),
            Place::Disk => format!("disk {}", self.bad.disk),
            Place::Files => self.bad.file().to_string(),
            Place::Mounted => self.bad.folder.to_owned(),
            Place::Path => self.bad_path.clone(),
        }
    }

    pub(crate) fn hang(&self, place: Place) -> RuleId {
        let (facility, operation) = match place {
            Place::Cache => (Facility::Volumes, "FlushFileBuffers"),
            Place::Disk | Place::Path => (Facility::Disks, "*"),
            Place::Files | Place::Root => (Facility::Files, "*"),
            Place::Mounted => (Facility::Files, "CreateFileW"),
            Place::Volume => (Facility::Volumes, "*"),
        };
        let rule = Rule::on(operation, Effect::Hang).in_facility(facility);
        let rule = rule.object(&self.object(place));
        let _ = self.rig.sim.take_trace();
        self.rig.sim.faults().add(rule)
    }

    /// How many operations have begun in the bad disk since it hangs: each costs a thread.
    pub(crate) fn lost(&self, place: Place) -> usize {
        let object = self.object(place);
        let trace = self.rig.sim.take_trace();
        trace.iter().filter(|op: &&Op| op.object == object).count()
    }

    pub(crate) fn wait_until_one_hangs(&self) {
        self.wait_until_hanging(1);
    }

    pub(crate) fn wait_until_hanging(&self, operations: usize) {
        let faults = self.rig.sim.faults();
        let hang = faults.wait_until_hanging(operations, PATIENCE);
        assert!(hang, "fewer than {operations} hang");
    }

    pub(crate) fn pass(&self, time: Duration) {
        self.rig.os().clock.sleep(time);
    }

    pub(crate) fn begin<T: Send + 'static>(
        &self,
        act: impl FnOnce(&Node) -> Result<T, Error> + Send + 'static,
    ) -> Receiver<Result<T, Error>> {
        let node = self.rig.node.clone();
        let (answer, answered) = mpsc::channel();
        thread::spawn(move || answer.send(act(&node)));
        answered
    }

    /// The answer to a call that waits for nothing, whatever the clock says.
    pub(crate) fn at_once<T: Send + 'static>(
        &self,
        act: impl FnOnce(&Node) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.begin(act).recv_timeout(PATIENCE).unwrap()
    }

    /// The answer to a call in which something hangs, while the clock goes on until it comes.
    pub(crate) fn answer_of<T>(&self, call: &Receiver<Result<T, Error>>) -> Result<T, Error> {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            self.pass(Duration::from_secs(5));
            if let Ok(answer) = call.recv_timeout(SLICE) {
                return answer;
            }
        }
        panic!("a call is not answered");
    }
}

/// With a file in it.
fn mount(rig: &Rig, pair: Pair) {
    let folder = pair.folder();
    let made = rig.filesystem().make_directory(&folder, rig.soon());
    made.unwrap();
    let mounted = rig.volumes().mount(pair.volume, &folder, rig.soon());
    mounted.unwrap();
    rig.write(&pair.file().to_string(), "precious");
}

pub(crate) fn serial(text: &str) -> DiskQuery {
    DiskQuery::all([Criterion::Serial(SerialNumber::parse(text).unwrap())]).unwrap()
}

fn path_of(rig: &Rig, number: DiskNumber) -> String {
    let query = Query::all(disk::CLASS.name, &[disk::NUMBER.name, disk::PATH.name]);
    let rows = rig.os().storage.query(&query, rig.soon()).unwrap();
    let is_it = |row: &&os::Instance| row.u32(disk::NUMBER.name) == Ok(number.0);
    let row = rows.iter().find(is_it).unwrap();
    row.text_or_null(disk::PATH.name)
        .unwrap()
        .unwrap()
        .to_owned()
}

/// What hung ends a moment after it is let go.
pub(crate) fn eventually<T>(what: &str, act: impl Fn() -> Result<T, Error>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        match act() {
            Ok(answer) => return answer,
            Err(error) => assert!(Instant::now() < end, "{what}: {error}"),
        }
        thread::yield_now();
    }
}
