//! A node for tests: it keeps its temporary folder, and its methods panic where they fail, as a test is to end there.
//!
//! ```
//! use os::Win32;
//! use wincsi_os_sim::testing::TestNode;
//! use wincsi_os_sim::{Bus, DiskSpec, NodeSpec};
//!
//! let home = tempfile::tempdir()?;
//! let node = TestNode::of(home, &NodeSpec::named("node-1"));
//! node.attach("data", &DiskSpec::on(Bus::Sas).serial("S1"), 1 << 30);
//! node.directory(r"C:\var\lib\kubelet");
//! node.fail("CreateDirectoryW", Win32::DISK_FULL);
//! // Here the code under test calls `node.os()`.
//! node.heal();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test ends where its node fails"
)]

use std::fmt::Display;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::Duration;

use formats::reparse::{Names, Reparse};
use os::{DiskNumber, Files as _, LinkKind, VolumeId, Win32, WinPath};

use crate::iscsi::IscsiControl;
use crate::smb::{ServerHealth, SmbControl};
use crate::{
    ClockMode, Content, CreateError, DiskSpec, Effect, NodeSpec, Op, Rule, RuleId, SimNode, demo,
};

/// How long a test waits for another thread: only one that has failed already waits so long.
pub const LONG: Duration = Duration::from_secs(60);

/// The name of a node's folder.
const NODE: &str = "node";

/// A [`SimNode`] in the folder `node` of one that it keeps as long as it lives. Its time passes by sleep alone, unless
/// [`TestNode::by`] made it with [`ClockMode::Real`].
pub struct TestNode {
    // Dropped first: Windows keeps a folder with an open file.
    sim: SimNode,
    home: Home,
}

/// A folder that goes when it is dropped, such as `tempfile::TempDir`.
type Home = Box<dyn AsRef<Path> + Send + Sync>;

impl TestNode {
    /// A new node.
    #[must_use]
    pub fn of(home: impl AsRef<Path> + Send + Sync + 'static, spec: &NodeSpec) -> Self {
        Self::by(home, |folder| {
            SimNode::create(folder, spec, ClockMode::Virtual)
        })
    }

    /// The node of [`demo::create`].
    #[must_use]
    pub fn demo(home: impl AsRef<Path> + Send + Sync + 'static) -> Self {
        Self::by(home, |folder| demo::create(folder, ClockMode::Virtual))
    }

    /// The node that is there.
    #[must_use]
    pub fn open(home: impl AsRef<Path> + Send + Sync + 'static) -> Self {
        Self::by(home, |folder| SimNode::open(folder, ClockMode::Virtual))
    }

    /// The node that `make` makes in its folder.
    #[must_use]
    pub fn by(
        home: impl AsRef<Path> + Send + Sync + 'static,
        make: impl FnOnce(&Path) -> Result<SimNode, CreateError>,
    ) -> Self {
        let sim = make(&home.as_ref().join(NODE)).unwrap();
        let home = Box::new(home);
        Self { sim, home }
    }

    /// The same node after its process died: another process, with the same mode of clock.
    #[must_use]
    pub fn reopened(self) -> Self {
        let Self { sim, home } = self;
        let clock = sim.clock_mode();
        sim.kill();
        drop(sim);
        let sim = SimNode::open(&(*home).as_ref().join(NODE), clock).unwrap();
        Self { sim, home }
    }

    /// The folder that it keeps, where a test has room for other things.
    #[must_use]
    pub fn home(&self) -> &Path {
        (*self.home).as_ref()
    }

    /// The folder that the node lives in.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        self.home().join(NODE)
    }

    /// The SMB servers around the node.
    #[must_use]
    pub fn servers(&self) -> SmbControl {
        SmbControl::at(self.folder())
    }

    /// The iSCSI servers around the node.
    #[must_use]
    pub fn array(&self) -> IscsiControl {
        IscsiControl::at(self.folder())
    }

    /// Takes an SMB server down, up again, or in between.
    pub fn set_server(&self, name: &str, health: ServerHealth) {
        self.servers().set_condition(name, health).unwrap();
    }

    /// Plugs in a blank disk of this many bytes.
    pub fn attach(&self, name: &str, spec: &DiskSpec, length: u64) {
        let blank = Content::blank(length);
        self.hardware().attach_disk(name, spec, &blank).unwrap();
    }

    /// Makes a disk longer.
    pub fn grow(&self, name: &str, length: u64) {
        self.hardware().grow_disk(name, length).unwrap();
    }

    /// Changes what a disk's file says of it.
    pub fn change_disk(&self, name: &str, act: impl FnOnce(&mut DiskSpec)) {
        self.hardware().change_spec(name, act).unwrap();
    }

    /// So many bytes of a disk, from this offset on.
    #[must_use]
    pub fn bytes(&self, disk: &str, offset: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        let hardware = self.hardware();
        hardware.read_disk(disk, offset, &mut bytes).unwrap();
        bytes
    }

    /// Writes to a disk behind the node's back.
    pub fn overwrite(&self, disk: &str, offset: u64, bytes: &[u8]) {
        self.hardware().write_disk(disk, offset, bytes).unwrap();
    }

    /// The number of the one disk with this serial number.
    #[must_use]
    pub fn disk_of(&self, serial: &str) -> DiskNumber {
        let disks = self.os().disks;
        let is_it = |number: &DiskNumber| {
            let found = disks.descriptor(*number).unwrap().serial;
            found.is_some_and(|found| found.trim() == serial)
        };
        let numbers = disks.list().unwrap().into_iter();
        let found: Vec<_> = numbers.filter(is_it).collect();
        match found[..] {
            [number] => number,
            _ => panic!("the serial number {serial} is that of {found:?}"),
        }
    }

    /// Injects a fault.
    pub fn fault(&self, rule: Rule) -> RuleId {
        self.faults().add(rule)
    }

    /// Has this operation fail from now on.
    pub fn fail(&self, operation: &str, code: Win32) -> RuleId {
        self.fault(Rule::on(operation, Effect::fail(code)))
    }

    /// Has this operation on such an object fail from now on.
    pub fn fail_on(&self, operation: &str, object: &str, code: Win32) -> RuleId {
        self.fault(Rule::on(operation, Effect::fail(code)).object(object))
    }

    /// Has this operation hang until the rule goes.
    pub fn hang(&self, operation: &str) -> RuleId {
        self.fault(Rule::on(operation, Effect::Hang))
    }

    /// Waits until so many operations hang.
    pub fn wait_for_hang(&self, operations: usize) {
        let hang = self.faults().wait_until_hanging(operations, LONG);
        assert!(hang, "fewer than {operations} hang");
    }

    /// Takes all faults back; what hung goes on.
    pub fn heal(&self) {
        self.faults().clear();
    }

    /// Lets time pass on the node.
    pub fn let_pass(&self, time: Duration) {
        self.os().clock.sleep(time);
    }

    /// The operations that `act` makes.
    pub fn trace(&self, act: impl FnOnce()) -> Vec<Op> {
        let _ = self.take_trace();
        act();
        self.take_trace()
    }

    /// Makes a directory with those above it, behind the gate's back. It may be there.
    pub fn directory(&self, at: &str) {
        let at = path(at);
        for depth in 1..=at.components().len() {
            let directory = at.prefix(depth);
            if self.files().entry(&directory).is_err() {
                self.files().create_directory(&directory).unwrap();
            }
        }
    }

    /// Writes a file behind the gate's back.
    pub fn write(&self, at: &str, content: &str) {
        let content = content.as_bytes();
        self.files().write_file(&path(at), content).unwrap();
    }

    /// Reads a file behind the gate's back.
    #[must_use]
    pub fn read(&self, at: &str) -> String {
        let content = self.files().read_file(&path(at)).unwrap();
        String::from_utf8(content).unwrap()
    }

    /// Whether anything is at a path. Nothing is where Windows finds nothing; every other error is a panic.
    #[must_use]
    pub fn has(&self, at: &str) -> bool {
        match self.files().entry(&path(at)) {
            Ok(_) => true,
            Err(error) if error.is_not_found() => false,
            Err(error) => panic!("{error}"),
        }
    }

    /// Makes a symbolic link to a directory behind the gate's back.
    pub fn symlink(&self, at: &str, target: &str) {
        let (at, kind) = (path(at), LinkKind::Directory);
        self.files().create_symlink(&at, target, kind).unwrap();
    }

    /// Makes a junction behind the gate's back.
    pub fn junction(&self, at: &str, target: &str) {
        let (at, kind, data) = (path(at), LinkKind::Directory, junction_to(target));
        self.files().create_reparse_point(&at, kind, &data).unwrap();
    }

    /// Mounts a volume at a folder that is there.
    pub fn mount(&self, at: &str, volume: VolumeId) {
        let volumes = self.os().volumes;
        volumes.set_mount_point(&path(at), volume).unwrap();
    }
}

impl Deref for TestNode {
    type Target = SimNode;

    fn deref(&self) -> &SimNode {
        &self.sim
    }
}

/// Asserts that a text has these words, such as that of an error.
#[track_caller]
pub fn assert_says(text: &impl Display, words: &str) {
    let text = text.to_string();
    assert!(text.contains(words), "{words:?} is not in: {text}");
}

/// The data of a junction's reparse point.
#[must_use]
pub fn junction_to(target: &str) -> Vec<u8> {
    let names = Names {
        substitute: format!(r"\??\{target}"),
        print: target.to_owned(),
    };
    Reparse::MountPoint(names).encode().unwrap()
}

/// The path of this text.
#[must_use]
pub fn path(text: &str) -> WinPath {
    text.parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bus;

    fn node(clock: ClockMode) -> TestNode {
        let spec = NodeSpec::named("node-1");
        let home = tempfile::tempdir().unwrap();
        TestNode::by(home, |folder| SimNode::create(folder, &spec, clock))
    }

    #[test]
    fn the_next_process_keeps_the_mode_of_the_clock() {
        for clock in [ClockMode::Real, ClockMode::Virtual] {
            assert_eq!(node(clock).reopened().clock_mode(), clock);
        }
    }

    #[test]
    #[should_panic(expected = "the serial number S1 is that of [DiskNumber(1), DiskNumber(2)]")]
    fn two_disks_of_one_serial_number_are_not_one() {
        let node = node(ClockMode::Virtual);
        for name in ["one", "two"] {
            node.attach(name, &DiskSpec::on(Bus::Sas).serial("S1"), 1 << 30);
        }
        let _ = node.disk_of("S1");
    }

    #[test]
    fn a_path_without_an_entry_is_absent() {
        let node = node(ClockMode::Virtual);
        assert!(node.has(r"C:\Windows"));
        assert!(!node.has(r"C:\Windows\x") && !node.has(r"C:\x\y") && !node.has(r"D:\x"));
    }

    #[test]
    #[should_panic(expected = "GetFileAttributesExW")]
    fn a_path_that_cannot_be_reached_is_not_absent() {
        let _ = node(ClockMode::Virtual).has(r"\\files\share\x");
    }
}
