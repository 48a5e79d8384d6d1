//! A kubelet's folder, what kubelet does there, and the driver as a process.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use prost::Message as _;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use transport::{CallError, Channel, ChannelOptions, Endpoint};
use wincsi::sim::smb::SmbControl;
use wincsi::sim::{Bus, Content, DiskSpec, HardwareControl, IdentifierKind};
use wire::Rpc;
use wire::csi::v1::node::NodeGetInfo;
use wire::csi::v1::volume_capability::access_mode::Mode;
use wire::csi::v1::volume_capability::{AccessMode, AccessType, MountVolume};
use wire::csi::v1::{NodeGetInfoRequest, NodeStageVolumeRequest, VolumeCapability};
use wire::pluginregistration::v1::registration::{GetInfo, NotifyRegistrationStatus};
use wire::pluginregistration::v1::{InfoRequest, RegistrationStatus};

/// Bounds every wait: only a test that has failed already gets there.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Leaves the processor to those who are waited for.
const PAUSE: Duration = Duration::from_millis(5);

const IDENTIFIER: &str = "60022480aabbccddeeff001122334455";

/// In every stage, and in no text by accident.
pub(crate) const SECRET: &str = "Zx81-qUUx-horse!";

/// A kubelet's folder, and what kubelet does to register a driver.
pub(crate) struct Kubelet {
    home: TempDir,
}

/// How a command ended, and what it wrote.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) output: String,
}

impl Kubelet {
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("plugins")).unwrap();
        fs::create_dir(home.path().join("plugins_registry")).unwrap();
        Self { home }
    }

    pub(crate) fn registration_path(&self) -> PathBuf {
        let folder = self.home.path().join("plugins_registry");
        folder.join("wincsi.io-reg.sock")
    }

    pub(crate) fn registration(&self) -> Endpoint {
        Endpoint::socket(self.registration_path())
    }

    /// Which file is at the path of the registration: a later one may have the number of one that is gone.
    pub(crate) fn registration_file(&self) -> Option<(u64, SystemTime)> {
        let meta = fs::symlink_metadata(self.registration_path()).ok()?;
        Some((meta.ino(), meta.modified().unwrap()))
    }

    /// Has the records as a process has them that does not end.
    pub(crate) fn lock_records(&self) -> File {
        let folder = self.home.path().join("plugins/wincsi.io/volumes");
        let lock = File::options().write(true).open(folder.join("lock"));
        let lock = lock.unwrap();
        lock.try_lock().unwrap();
        lock
    }

    pub(crate) fn csi_path(&self) -> PathBuf {
        self.home.path().join("plugins/wincsi.io/csi.sock")
    }

    pub(crate) fn simulated_node(&self) -> PathBuf {
        self.home.path().join("node")
    }

    pub(crate) fn csi(&self) -> Endpoint {
        Endpoint::socket(self.csi_path())
    }

    /// Registers the driver, and returns its node's id.
    pub(crate) fn register(&self) -> String {
        self.try_to_register().unwrap()
    }

    /// As kubelet does it, in its order.
    pub(crate) fn try_to_register(&self) -> Result<String, CallError> {
        let info = call::<GetInfo>(&self.registration(), &InfoRequest {})?;
        let of_driver = ("CSIPlugin", "wincsi.io");
        assert_eq!((info.r#type.as_str(), info.name.as_str()), of_driver);
        let endpoint: Endpoint = info.endpoint.parse().unwrap();
        let node = call::<NodeGetInfo>(&endpoint, &NodeGetInfoRequest {})?;
        let status = RegistrationStatus {
            plugin_registered: true,
            error: String::new(),
        };
        call::<NotifyRegistrationStatus>(&self.registration(), &status)?;
        Ok(node.node_id)
    }

    /// Runs a command of the program to its end.
    pub(crate) fn run(&self, words: &[&str], flags: &[&str]) -> Ended {
        self.spawn(words, flags).end()
    }

    /// As [`Self::run`], with another standard output.
    pub(crate) fn run_into(&self, output: impl Into<Stdio>, words: &[&str]) -> Ended {
        let log = self.home.path().join("command.log");
        let child = self.command(words, &[], &log).stdout(output).spawn();
        let child = child.unwrap();
        Running { child, log }.end()
    }

    /// Starts a command of the program.
    pub(crate) fn spawn(&self, words: &[&str], flags: &[&str]) -> Running {
        let log = self.home.path().join("command.log");
        let child = self.command(words, flags, &log).spawn().unwrap();
        Running { child, log }
    }

    /// Plugs a blank disk into the simulated node.
    pub(crate) fn plug_in_disk(&self) {
        let disk = DiskSpec::on(Bus::Sas).lun(1);
        let disk = disk.identified(IdentifierKind::Naa, IDENTIFIER);
        let blank = Content::blank(256 << 20);
        let hardware = HardwareControl::at(self.home.path().join("node"));
        hardware.attach_disk("data", &disk, &blank).unwrap();
    }

    /// Has an operation hang until [`Self::release`].
    pub(crate) fn hang(&self, operation: &str) {
        let fault = format!("[[fault]]\noperation = \"{operation}\"\neffect = \"hang\"\n");
        fs::write(self.faults(), fault).unwrap();
    }

    /// The servers that the node reaches.
    pub(crate) fn servers(&self) -> SmbControl {
        SmbControl::at(self.simulated_node())
    }

    pub(crate) fn release(&self) {
        fs::write(self.faults(), "").unwrap();
    }

    fn faults(&self) -> PathBuf {
        self.home.path().join("node/faults.toml")
    }

    fn command(&self, words: &[&str], flags: &[&str], log: &Path) -> Command {
        let output = File::create(log).unwrap();
        let home = self.home.path().display();
        let mut command = Command::new(env!("CARGO_BIN_EXE_wincsi"));
        command
            .args(words)
            .arg(format!("-kubelet-path={home}"))
            .args(["-host=sim", "-nodeid=node-1", "-v=4"])
            .arg(format!("-simulate={home}/node"))
            .args(flags)
            .stdin(Stdio::null())
            .stdout(output.try_clone().unwrap())
            .stderr(output);
        command
    }
}

/// A command that runs.
pub(crate) struct Running {
    child: Child,
    log: PathBuf,
}

impl Running {
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    pub(crate) fn end(mut self) -> Ended {
        let status = wait_for_end(&mut self.child);
        Ended {
            code: status,
            output: fs::read_to_string(&self.log).unwrap(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended already, or need not end well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The driver, which is killed when dropped.
pub(crate) struct Driver {
    child: Child,
    log: PathBuf,
}

impl Driver {
    pub(crate) fn start(kubelet: &Kubelet) -> Self {
        Self::with_flags(kubelet, &[])
    }

    /// Starts it, and waits until it is ready.
    pub(crate) fn with_flags(kubelet: &Kubelet, flags: &[&str]) -> Self {
        let driver = Self::spawned(kubelet, "driver.log", flags);
        driver.wait_for_line("] ready");
        driver
    }

    /// Starts it with a log of this name.
    pub(crate) fn spawned(kubelet: &Kubelet, log: &str, flags: &[&str]) -> Self {
        let log = kubelet.home.path().join(log);
        let flags = [&["-metrics-address=127.0.0.1:0"], flags].concat();
        let child = kubelet.command(&["node"], &flags, &log).spawn().unwrap();
        Self { child, log }
    }

    /// Asks it to end as a container's runtime does, and returns its exit code.
    pub(crate) fn terminate(&mut self) -> Option<i32> {
        let id = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(id.unwrap(), Signal::TERM).unwrap();
        wait_for_end(&mut self.child)
    }

    pub(crate) fn wait_for_line(&self, words: &str) {
        self.wait_for(words, |driver| driver.written().contains(words));
    }

    pub(crate) fn wait_for(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let end = Instant::now() + TIMEOUT;
        while !holds(self) {
            assert!(Instant::now() < end, "{what}: {}", self.written());
            thread::park_timeout(PAUSE);
        }
    }

    /// Status and body of a page.
    pub(crate) fn get(&self, path: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.pages()).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap();
        (status.parse().unwrap(), body.to_owned())
    }

    /// A figure without labels.
    pub(crate) fn figure(&self, name: &str) -> u64 {
        let (_, page) = self.get("/metrics");
        let mut samples = page.lines().filter_map(|line| line.split_once(' '));
        let sample = samples.find(|(sample, _)| *sample == name);
        let (_, value) = sample.unwrap_or_else(|| panic!("{name}: {page}"));
        value.parse().unwrap()
    }

    fn pages(&self) -> SocketAddr {
        const AT: &str = "/readyz on http://";
        self.wait_for_line(AT);
        let written = self.written();
        let (_, rest) = written.split_once(AT).unwrap();
        rest.lines().next().unwrap().trim().parse().unwrap()
    }

    pub(crate) fn written(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // It has ended already, or need not end well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn wait_for_end(child: &mut Child) -> Option<i32> {
    let end = Instant::now() + TIMEOUT;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        assert!(Instant::now() < end, "it does not end");
        thread::park_timeout(PAUSE);
    }
}

/// A stage of a volume whose disk does not come.
pub(crate) fn late_disk(volume: &str) -> NodeStageVolumeRequest {
    stage_of(volume, "600224801234567890abcdef0000ffff")
}

/// A stage of a volume of the disk that [`Kubelet::plug_in_disk`] plugs in.
pub(crate) fn stage_of_disk(volume: &str) -> NodeStageVolumeRequest {
    stage_of(volume, IDENTIFIER)
}

/// A stage of a share, whose server takes this user's [`SECRET`].
pub(crate) fn stage_of_share(volume: &str, source: String, user: &str) -> NodeStageVolumeRequest {
    let mut request = late_disk(volume);
    request.publish_context.clear();
    request.volume_context = [(String::from("source"), source)].into();
    let user = (String::from("username"), user.to_owned());
    request.secrets.extend([user]);
    request
}

fn stage_of(volume: &str, identifier: &str) -> NodeStageVolumeRequest {
    let staging = r"C:\var\lib\kubelet\plugins\kubernetes.io\csi\d";
    let capability = VolumeCapability {
        access_mode: Some(AccessMode {
            mode: Mode::SingleNodeWriter.into(),
        }),
        access_type: Some(AccessType::Mount(MountVolume::default())),
    };
    let mut request = NodeStageVolumeRequest::default();
    request.volume_id = volume.to_owned();
    request.publish_context = [(String::from("page83"), identifier.to_owned())].into();
    request.staging_target_path = format!(r"{staging}\{volume}\globalmount");
    request.volume_capability = Some(capability);
    request.secrets = [(String::from("password"), SECRET.to_owned())].into();
    request
}

pub(crate) fn call<R: Rpc>(at: &Endpoint, request: &R::Request) -> Result<R::Response, CallError> {
    call_on_fresh_channel::<R>(at, request).map(|(_, response)| response)
}

/// Calls on a connection of its own, which is open as long as the channel lives.
pub(crate) fn call_on_fresh_channel<R: Rpc>(
    at: &Endpoint,
    request: &R::Request,
) -> Result<(Channel, R::Response), CallError> {
    let channel = Channel::connect(at.clone(), ChannelOptions::default())?;
    let deadline = Instant::now() + TIMEOUT;
    let answer = channel.call(R::PATH, &request.encode_to_vec(), deadline)?;
    let response = R::Response::decode(answer.as_slice()).unwrap();
    Ok((channel, response))
}
