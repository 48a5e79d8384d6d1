//! The program, started and ended. Its output goes to a file: under Wine a pipe may stay open for ever.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use prost::Message as _;
use tempfile::TempDir;
use transport::{CallError, Channel, ChannelOptions, Endpoint, Owner, Status};
use wincsi::sim::iscsi::IscsiControl;
use wincsi::sim::smb::SmbControl;
use wincsi::sim::{
    Bus, ClockMode, Content, DiskSpec, HardwareControl, IdentifierKind, NodeSpec, SimNode,
};
use wire::Rpc;

/// Bounds every wait: only a test that has failed already gets there.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Leaves the processor to what is waited for.
const PAUSE: Duration = Duration::from_millis(20);

pub(crate) const DRIVER: &str = "wincsi.io";
const DISK: &str = "data";
pub(crate) const IDENTIFIER: &str = "60022480aabbccddeeff001122334455";

/// `wincsi node` on a simulated node with a blank disk. It ends when this is dropped.
pub(crate) struct Driver {
    process: Child,
    csi: Channel,
    registry: Channel,
    folder: TempDir,
    flags: Vec<String>,
    pages: SocketAddr,
    /// Where drive C of the node lies.
    drive_c: PathBuf,
}

impl Driver {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let node = folder.path().join("node");
        let made = SimNode::create(&node, &NodeSpec::named("node-1"), ClockMode::Real).unwrap();
        let disk = DiskSpec::on(Bus::Sas).lun(1);
        let disk = disk.identified(IdentifierKind::Naa, IDENTIFIER);
        let blank = Content::blank(256 << 20);
        made.hardware().attach_disk(DISK, &disk, &blank).unwrap();
        let drive_c = made.files().host_path(&r"C:\".parse().unwrap()).unwrap();
        drop(made);
        Self::at(folder, drive_c)
    }

    fn at(folder: TempDir, drive_c: PathBuf) -> Self {
        let [csi, registry, pages] = [(); 3].map(|()| unused_port());
        let place = |name: &str| folder.path().join(name).display().to_string();
        let flags = vec![
            String::from("-v=5"),
            String::from("-host=sim"),
            String::from("-nodeid=node-1"),
            format!("-simulate={}", place("node")),
            format!("-state-dir={}", place("records")),
            format!("-endpoint=tcp://{csi}"),
            format!("-registration-endpoint=tcp://{registry}"),
            format!("-metrics-address={pages}"),
        ];
        let process = spawn(&flags, &folder.path().join("log"));
        let mut started = Started {
            process: Some(process),
            log: folder.path().join("log"),
        };
        let [csi, registry] = [csi, registry].map(|address| Endpoint::tcp(address).unwrap());
        let [csi, registry] = [csi, registry].map(|endpoint| started.connect(&endpoint));
        Self {
            process: started.process.take().unwrap(),
            csi,
            registry,
            folder,
            flags,
            pages,
            drive_c,
        }
    }

    /// The process dies, and another starts.
    pub(crate) fn die_and_start(&mut self) {
        self.die();
        self.start_again();
    }

    /// Another process, with these in place of the flags of their names. One without a value is left out.
    pub(crate) fn restart_with(&mut self, flags: &[&str]) {
        for flag in flags {
            let name = flag.split('=').next();
            self.flags.retain(|old| old.split('=').next() != name);
            self.flags
                .extend(flag.contains('=').then(|| (*flag).to_owned()));
        }
        self.die_and_start();
    }

    /// The process dies, and the test has the node.
    pub(crate) fn end_and_open(&mut self) -> SimNode {
        self.die();
        SimNode::open(&self.folder.path().join("node"), ClockMode::Real).unwrap()
    }

    fn die(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Another process starts after one that died, and is called over other connections: Wine 8 leaves one of a process
    /// that was killed within a read open now and then, and nobody ever answers there.
    pub(crate) fn start_again(&mut self) {
        let log = self.folder.path().join("log");
        let mut started = Started {
            process: Some(spawn(&self.flags, &log)),
            log,
        };
        for channel in [&mut self.csi, &mut self.registry] {
            *channel = started.connect(channel.endpoint());
        }
        self.process = started.process.take().unwrap();
    }

    /// What an RPC of CSI is answered.
    pub(crate) fn call<R: Rpc>(&self, request: &R::Request) -> Result<R::Response, Status> {
        call::<R>(&self.csi, request)
    }

    /// What an RPC of registration is answered.
    pub(crate) fn register<R: Rpc>(&self, request: &R::Request) -> Result<R::Response, Status> {
        call::<R>(&self.registry, request)
    }

    pub(crate) fn csi_address(&self) -> String {
        let endpoint = self.csi.endpoint().to_string();
        endpoint.trim_start_matches("tcp://").to_owned()
    }

    pub(crate) fn log(&self) -> String {
        let log = fs::read(self.folder.path().join("log")).unwrap();
        String::from_utf8_lossy(&log).into_owned()
    }

    /// Waits until the log has this.
    pub(crate) fn wait_for(&self, words: &str) {
        look_until(words, || self.log().contains(words));
    }

    /// The answer to a request for a page, with its status.
    pub(crate) fn page(&self, path: &str) -> String {
        let mut stream = None;
        // They are served by a thread of their own, which may begin after the rest.
        look_until("the pages", || {
            stream = TcpStream::connect(self.pages).ok();
            stream.is_some()
        });
        let mut stream = stream.unwrap();
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n").unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).unwrap();
        page
    }

    pub(crate) fn becomes_ready(&self) {
        look_until("ready", || self.page("/readyz").contains("200"));
    }

    /// The bundle of `wincsi collect` with these flags before the driver's own.
    pub(crate) fn collect(&self, flags: &[&str]) -> String {
        let file = self.folder.path().join("bundle.tar");
        let collected = Command::new(env!("CARGO_BIN_EXE_wincsi"))
            .arg("collect")
            .args(flags)
            .args(&self.flags)
            .stdin(Stdio::null())
            .stdout(File::create(&file).unwrap())
            .status();
        assert!(collected.unwrap().success());
        String::from_utf8_lossy(&fs::read(&file).unwrap()).into_owned()
    }

    /// The servers that the node reaches.
    pub(crate) fn servers(&self) -> SmbControl {
        SmbControl::at(self.folder.path().join("node"))
    }

    pub(crate) fn array(&self) -> IscsiControl {
        IscsiControl::at(self.folder.path().join("node"))
    }

    pub(crate) fn grow_disk(&self, length: u64) {
        let hardware = HardwareControl::at(self.folder.path().join("node"));
        hardware.grow_disk(DISK, length).unwrap();
    }

    /// The bytes of a cluster, by the first boot sector of NTFS on the disk.
    pub(crate) fn allocation_unit(&self) -> u32 {
        let hardware = HardwareControl::at(self.folder.path().join("node"));
        let sector_at = |mib: u64| {
            let mut sector = [0; 512];
            hardware.read_disk(DISK, mib << 20, &mut sector).unwrap();
            sector
        };
        let mut sectors = (1..256).map(sector_at);
        let boot = sectors.find(|sector| sector[3..7] == *b"NTFS").unwrap();
        let sector_bytes = u32::from(u16::from_le_bytes([boot[11], boot[12]]));
        sector_bytes * u32::from(boot[13])
    }

    /// Whether nothing has partitioned the disk.
    pub(crate) fn is_disk_blank(&self) -> bool {
        let mut beginning = [0; 4096];
        let hardware = HardwareControl::at(self.folder.path().join("node"));
        hardware.read_disk(DISK, 0, &mut beginning).unwrap();
        beginning == [0; 4096]
    }

    /// The records: names of files, and what they hold.
    pub(crate) fn records(&self) -> Vec<(String, String)> {
        let files = fs::read_dir(self.folder.path().join("records")).unwrap();
        let files = files.map(|file| file.unwrap());
        // Wine keeps others from reading what is locked.
        let files = files.filter(|file| file.file_name() != "lock").map(|file| {
            let name = file.file_name().into_string().unwrap();
            (name, fs::read_to_string(file.path()).unwrap())
        });
        files.collect()
    }

    /// Every file and folder on drive C.
    pub(crate) fn entries(&self) -> BTreeSet<PathBuf> {
        let mut entries = BTreeSet::new();
        walk(&self.drive_c, &mut entries);
        entries
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // It has ended already, or its end does not matter.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A process that is ended unless it comes to answer.
struct Started {
    process: Option<Child>,
    log: PathBuf,
}

impl Started {
    fn connect(&mut self, endpoint: &Endpoint) -> Channel {
        let mut options = ChannelOptions::default();
        options.owner = Owner::Any;
        let mut channel = None;
        look_until("a driver that answers", || {
            let process = self.process.as_mut().unwrap();
            let ended = process.try_wait().unwrap();
            let log = fs::read(&self.log).unwrap();
            let log = String::from_utf8_lossy(&log);
            assert!(ended.is_none(), "ended with {ended:?}: {log}");
            channel = Channel::connect(endpoint.clone(), options.clone()).ok();
            channel.is_some()
        });
        channel.unwrap()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

fn spawn(flags: &[String], log: &Path) -> Child {
    let log = File::options().create(true).append(true).open(log).unwrap();
    Command::new(env!("CARGO_BIN_EXE_wincsi"))
        .arg("node")
        .args(flags)
        .stdin(Stdio::null())
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .spawn()
        .unwrap()
}

fn call<R: Rpc>(channel: &Channel, request: &R::Request) -> Result<R::Response, Status> {
    let deadline = Instant::now() + TIMEOUT;
    match channel.call(R::PATH, &request.encode_to_vec(), deadline) {
        Ok(answer) => Ok(R::Response::decode(&*answer).unwrap()),
        Err(CallError::Status(status)) => Err(status),
        Err(error) => Err(Status::new(transport::Code::Unavailable, error.to_string())),
    }
}

fn look_until(what: &str, mut look: impl FnMut() -> bool) {
    let deadline = Instant::now() + TIMEOUT;
    while !look() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        thread::park_timeout(PAUSE);
    }
}

/// A port of an address that no other test draws, also where each runs in a Wine of its own.
fn unused_port() -> SocketAddr {
    let [a, b, c, d, e, ..] = RandomState::new().hash_one(()).to_ne_bytes();
    let address = Ipv4Addr::new(127, a, b, c.clamp(2, 250));
    SocketAddr::from((address, 1024 + u16::from_ne_bytes([d, e]) % 30_000))
}

fn walk(folder: &Path, entries: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            walk(&entry.path(), entries);
        }
        entries.insert(entry.path());
    }
}
