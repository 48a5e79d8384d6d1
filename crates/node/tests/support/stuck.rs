//! A node with a disk that can be made to hang.

use std::ops::Deref;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use os::schema::disk;
use os::{DiskNumber, Facility, Query, VolumeId, WinPath};
use os_sim::{Bus, DiskSpec, Effect, IdentifierKind, Op, Rule, RuleId};
use wincsi_node::api::{Error, NodeApi};
use wincsi_node::{Criterion, DiskQuery, FoundDisk, Node, SerialNumber};

use super::{DATA, GIB, NodeFixture, STAGING};

/// Of the real clock, which nothing here is to take.
pub(crate) use os_sim::testing::LONG as TIMEOUT;

pub(crate) const BAD: &str = "bad";
const RAW: &str = "raw";

/// The raw disk's name.
pub(crate) const PAGE83: &str = "600508b1001c4f0e";

/// Longer than anybody sleeps before a look at the virtual clock.
const SLICE: Duration = Duration::from_millis(200);

/// Where the bad disk's volume is mounted.
const BAD_STAGING: &str = r"C:\var\lib\kubelet\plugins\badmount";

/// A node with a good disk, a raw one, and one that can be made to hang.
pub(crate) struct StuckDiskFixture {
    pub(crate) fixture: NodeFixture,
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
pub(crate) enum HangPoint {
    Cache,
    Disk,
    /// The files of the volume, by the path of its folder.
    Files,
    /// Behind the folder.
    Mounted,
    Path,
    /// The volume's root directory.
    Root,
    Volume,
}

impl Deref for StuckDiskFixture {
    type Target = NodeFixture;

    fn deref(&self) -> &NodeFixture {
        &self.fixture
    }
}

impl StuckDiskFixture {
    pub(crate) fn new() -> Self {
        let fixture = NodeFixture::with_mounted_volume();
        let named = DiskSpec::on(Bus::Sas).identified(IdentifierKind::Naa, PAGE83);
        let unnamed = DiskSpec::on(Bus::Sas);
        for (serial, lun, spec) in [(BAD, 2, unnamed), (RAW, 3, named)] {
            fixture.plug(&spec.serial(serial).lun(lun), serial, 4 * GIB);
        }
        let disk = fixture.disk_of(BAD);
        let bad = Pair {
            disk,
            volume: fixture.formatted(disk),
            folder: BAD_STAGING,
        };
        fixture.mount_volume(bad.volume, BAD_STAGING);
        fixture.write(&bad.file().to_string(), "precious");
        let find = |text| fixture.disks().find(&serial(text), fixture.soon()).unwrap();
        Self {
            good: Pair {
                disk: fixture.disk(),
                volume: fixture.volume(),
                folder: STAGING,
            },
            bad,
            bad_path: path_of(&fixture, bad.disk),
            found: find(DATA),
            raw: find(RAW),
            fixture,
        }
    }

    pub(crate) fn api(&self) -> &dyn NodeApi {
        &self.fixture.node
    }

    fn object(&self, place: HangPoint) -> String {
        match place {
            HangPoint::Cache | HangPoint::Root | HangPoint::Volume => self.bad.volume.to_string(),
            HangPoint::Disk => format!("disk {}", self.bad.disk),
            HangPoint::Files => self.bad.file().to_string(),
            HangPoint::Mounted => self.bad.folder.to_owned(),
            HangPoint::Path => self.bad_path.clone(),
        }
    }

    pub(crate) fn hang(&self, place: HangPoint) -> RuleId {
        let (facility, operation) = match place {
            HangPoint::Cache => (Facility::Volumes, "FlushFileBuffers"),
            HangPoint::Disk | HangPoint::Path => (Facility::Disks, "*"),
            HangPoint::Files | HangPoint::Root => (Facility::Files, "*"),
            HangPoint::Mounted => (Facility::Files, "CreateFileW"),
            HangPoint::Volume => (Facility::Volumes, "*"),
        };
        let rule = Rule::on(operation, Effect::Hang).in_facility(facility);
        let rule = rule.object(&self.object(place));
        let _ = self.fixture.take_trace();
        self.fixture.fault(rule)
    }

    /// How many operations have begun in the bad disk since it hangs: each costs a thread.
    pub(crate) fn lost(&self, place: HangPoint) -> usize {
        let object = self.object(place);
        let trace = self.fixture.take_trace();
        trace.iter().filter(|op: &&Op| op.object == object).count()
    }

    pub(crate) fn begin<T: Send + 'static>(
        &self,
        act: impl FnOnce(&Node) -> Result<T, Error> + Send + 'static,
    ) -> Receiver<Result<T, Error>> {
        let node = self.fixture.node.clone();
        let (answer, answered) = mpsc::channel();
        thread::spawn(move || answer.send(act(&node)));
        answered
    }

    /// The answer to a call that must not wait, whatever the clock shows.
    pub(crate) fn at_once<T: Send + 'static>(
        &self,
        act: impl FnOnce(&Node) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.begin(act).recv_timeout(TIMEOUT).unwrap()
    }

    /// The answer to a call in which something hangs, while the clock goes on until it comes.
    pub(crate) fn answer_of<T>(&self, call: &Receiver<Result<T, Error>>) -> Result<T, Error> {
        let begun = Instant::now();
        while begun.elapsed() < TIMEOUT {
            self.let_pass(Duration::from_secs(5));
            if let Ok(answer) = call.recv_timeout(SLICE) {
                return answer;
            }
        }
        panic!("a call is not answered");
    }
}

pub(crate) fn serial(text: &str) -> DiskQuery {
    DiskQuery::all([Criterion::Serial(SerialNumber::parse(text).unwrap())]).unwrap()
}

fn path_of(fixture: &NodeFixture, number: DiskNumber) -> String {
    let query = Query::all(disk::CLASS.name, &[disk::NUMBER.name, disk::PATH.name]);
    let rows = fixture.os().storage.query(&query, fixture.soon()).unwrap();
    let is_it = |row: &&os::Instance| row.u32(disk::NUMBER.name) == Ok(number.0);
    let row = rows.iter().find(is_it).unwrap();
    row.text_or_null(disk::PATH.name)
        .unwrap()
        .unwrap()
        .to_owned()
}

/// A released call ends a moment later.
pub(crate) fn eventually<T>(what: &str, act: impl Fn() -> Result<T, Error>) -> T {
    let end = Instant::now() + TIMEOUT;
    loop {
        match act() {
            Ok(answer) => return answer,
            Err(error) => assert!(Instant::now() < end, "{what}: {error}"),
        }
        thread::yield_now();
    }
}
