//! A simulated node served by csi-proxy, and everything around a driver there: the kubelet, pods,
//! and others' volumes.

use std::cell::RefCell;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use formats::reparse::Reparse;
use node::{Kept, Node, Options};
use os::{DiskNumber, Files, VolumeId, WinPath};
use os_sim::{ClockMode, NodeSpec, SanPolicy, SimNode, Start};
use tempfile::TempDir;
use transport::{Server, ServerOptions};
use wincsi_proxy::flags::Config;
use wincsi_proxy::paths::WorkingDirs;
use wincsi_proxy::{Middleware, PipeOperations, groups};

use super::bystanders::Bystanders;
use super::servers;

pub(crate) const KUBELET: &str = r"C:\var\lib\kubelet";

const TIMEOUT: Duration = Duration::from_secs(60);

/// On Windows all servers of a machine have the same pipes, so there is one at a time.
static TURN: Mutex<()> = Mutex::new(());

/// The node. Its clock is virtual, so Windows's delays cost a test nothing.
pub(crate) struct NodeFixture {
    pub(crate) sim: SimNode,
    server: RefCell<Option<Server>>,
    bystanders: RefCell<Option<Bystanders>>,
    folder: TempDir,
    _turn: MutexGuard<'static, ()>,
}

impl NodeFixture {
    /// A node of this profile, or with this policy for new disks; volumes of others on it and servers near it.
    pub(crate) fn named(name: &str) -> Self {
        Self::of(match name {
            "offline-all" => spec().san_policy(SanPolicy::OfflineAll),
            "offline-shared" => spec().san_policy(SanPolicy::OfflineShared),
            "online-all" => spec().san_policy(SanPolicy::OnlineAll),
            profile => spec().profile(profile.parse().unwrap()),
        })
    }

    fn of(spec: NodeSpec) -> Self {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = TempDir::new().unwrap();
        let node = folder.path().join("node");
        let sim = SimNode::create(&node, &spec, ClockMode::Virtual).unwrap();
        servers::around(&node);
        let fixture = Self {
            sim,
            server: RefCell::new(None),
            bystanders: RefCell::new(None),
            folder,
            _turn: turn,
        };
        fixture.make_directories(KUBELET);
        *fixture.bystanders.borrow_mut() = Some(Bystanders::on(&fixture));
        fixture.serve();
        fixture
    }

    /// The same operations without csi-proxy, as a driver in a HostProcess container does them.
    pub(crate) fn library(&self) -> Node {
        Node::new(self.sim.os(), Options::default())
    }

    pub(crate) fn sockets(&self) -> PathBuf {
        self.folder.path().join("sockets")
    }

    pub(crate) fn restart_proxy(&self) {
        self.stop();
        self.serve();
    }

    pub(crate) fn reboot(&self) {
        self.stop();
        self.sim.reboot().unwrap();
        self.serve();
    }

    /// Files below the node's folder: a volume's, a share's.
    pub(crate) fn node_folder(&self, below: &str) -> PathBuf {
        self.folder.path().join("node").join(below)
    }

    /// The host's folder with a volume's files.
    pub(crate) fn volume_folder(&self, VolumeId(guid): VolumeId) -> PathBuf {
        self.node_folder("volumes").join(guid.to_string())
    }

    /// The volumes of others are as they were.
    pub(crate) fn check_bystanders(&self) {
        let bystanders = self.bystanders.borrow();
        bystanders.as_ref().unwrap().check(self);
    }

    fn serve(&self) {
        let dirs = WorkingDirs::parse(vec![KUBELET.to_owned()]).unwrap();
        let operations = Arc::new(PipeOperations::new(self.served(), dirs));
        let middleware = Middleware::open(&Config::default()).unwrap();
        let sockets = self.sockets();
        fs::create_dir_all(&sockets).unwrap();
        let services = groups::registry().into_services(&operations, &middleware);
        let endpoints = services.into_iter().map(|(group, service)| {
            (
                transport::Endpoint::local(&sockets, &group.pipe_name()).unwrap(),
                service,
            )
        });
        let server = Server::bind(endpoints.collect(), ServerOptions::default()).unwrap();
        *self.server.borrow_mut() = Some(server);
    }

    /// The node as csi-proxy serves it by its defaults.
    fn served(&self) -> Node {
        let mut options = Options::default();
        options.format_guard = Config::default().format_guard;
        let kept = Kept {
            working_folders: vec![path(KUBELET)],
            files: Vec::new(),
        };
        let server = node::Server {
            kept: Some(kept),
            ..node::Server::default()
        };
        Node::in_server(self.sim.os(), options, server)
    }

    fn stop(&self) {
        let server = self.server.borrow_mut().take();
        server.unwrap().shutdown(TIMEOUT);
    }
}

/// Actions on the node without csi-proxy: by the kubelet, by a driver in its container with the kubelet's folder
/// mounted, by pods.
impl NodeFixture {
    /// Go's `MkdirAll`; an existing entry, such as a link, stays.
    pub(crate) fn make_directories(&self, at: &str) {
        let path = path(at);
        for depth in 1..=path.components().len() {
            let _ = self.sim.files().create_directory(&path.prefix(depth));
        }
    }

    /// Go's `Readlink`: where a symbolic link leads.
    pub(crate) fn read_link(&self, at: &str) -> Option<String> {
        let data = self.sim.files().reparse_data(&path(at)).ok()?;
        match Reparse::parse(&data).ok()? {
            Reparse::Symlink { names, .. } => Some(names.print),
            _ => None,
        }
    }

    /// Go's `ReadDir` of the path's target.
    pub(crate) fn read_directory(&self, at: &str) -> os::Result<usize> {
        let path = path(at);
        self.sim.files().leads_to_directory(&path)?;
        self.sim.files().list(&path).map(|entries| entries.len())
    }

    pub(crate) fn is_there(&self, at: &str) -> bool {
        self.sim.files().entry(&path(at)).is_ok()
    }

    pub(crate) fn pod_writes(&self, target: &str, name: &str) {
        let file = path(&format!(r"{target}\{name}"));
        self.sim.files().write_file(&file, name.as_bytes()).unwrap();
    }

    pub(crate) fn pod_reads(&self, target: &str, name: &str) -> os::Result<String> {
        let file = path(&format!(r"{target}\{name}"));
        let content = self.sim.files().read_file(&file)?;
        Ok(String::from_utf8(content).unwrap())
    }

    /// The volume mounted at this folder, as Windows reports it.
    pub(crate) fn mounted_at(&self, at: &str) -> os::Result<VolumeId> {
        self.sim.os().volumes.mounted_at(&path(at))
    }

    /// Where a volume is mounted; nowhere, when its disk is offline.
    pub(crate) fn mounts_of(&self, volume: VolumeId) -> Vec<String> {
        let paths = self.sim.os().volumes.access_paths(volume);
        let paths = paths.unwrap_or_default();
        paths.iter().map(ToString::to_string).collect()
    }

    /// The disk with this serial number or page 0x83 identifier, if it is plugged in.
    pub(crate) fn disk(&self, name: &str) -> Option<DiskNumber> {
        let ids = self
            .library()
            .operations()
            .disks()
            .ids(os::Deadline::NEVER)
            .unwrap();
        let mut found = ids
            .iter()
            .filter(|(_, ids)| ids.serial.contains(name) || ids.page83 == name);
        found.next().map(|(disk, _)| *disk)
    }

    /// The volumes on the disk of this name.
    pub(crate) fn volumes_of(&self, name: &str) -> Vec<VolumeId> {
        let disk = self.disk(name).expect(name);
        let node = self.library();
        let volumes = node.operations().volumes();
        volumes
            .list_on_disk(disk, None, os::Deadline::NEVER)
            .unwrap()
    }

    /// The name of the filesystem of the volume at this folder.
    pub(crate) fn file_system(&self, staging: &str) -> String {
        let volume = self.mounted_at(staging).unwrap();
        let found = self.sim.os().volumes.file_system(volume).unwrap();
        found.map(|found| found.name).unwrap_or_default()
    }

    /// `GetDiskFreeSpaceEx` of a volume's folder.
    pub(crate) fn space(&self, staging: &str) -> os::Space {
        let volume = self.mounted_at(staging).unwrap();
        self.sim.os().volumes.space(volume).unwrap()
    }

    /// The storage provider notices plugged disks: by itself, as the drivers do not rescan before they search for their
    /// disk.
    pub(crate) fn wait_until_the_provider_noticed(&self) {
        self.sim.os().clock.sleep(Duration::from_secs(10));
    }

    pub(crate) fn is_online(&self, name: &str) -> bool {
        let disk = self.disk(name).expect(name);
        let node = self.library();
        node.operations()
            .disks()
            .is_online(disk, os::Deadline::NEVER)
            .unwrap()
    }
}

pub(crate) fn path(text: &str) -> WinPath {
    text.parse().expect(text)
}

/// A node whose initiator service starts by itself.
fn spec() -> NodeSpec {
    let mut spec = NodeSpec::named("node-1");
    for service in &mut spec.service {
        if service.name == "MSiSCSI" {
            service.start = Start::Automatic;
        }
    }
    spec
}
