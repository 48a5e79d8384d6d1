//! A server on a simulated node, with a client of each endpoint and a witness of forbidden effects.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher as _};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, panic};

use client::Client;
use node::{Node, Options};
use os::Os;
use os_meter::{Counts, Meter, Tally};
use os_sim::{ClockMode, SimNode, demo};
use tempfile::TempDir;
use transport::{CallError, Channel, ChannelOptions, Server, ServerOptions, Status};
use wincsi_proxy::flags::Config;
use wincsi_proxy::paths::WorkingDirs;
use wincsi_proxy::{Middleware, PipeOperations, groups};
use wire::Rpc;
use wire::disk::v1 as disk;
use wire::filesystem::v1 as filesystem;
use wire::iscsi::v1alpha2 as iscsi;
use wire::smb::v1 as smb;
use wire::system::v1alpha1 as system;
use wire::volume::v1 as volume;

use crate::messages::Leaf;
use crate::ordinary::{self, SERVICE};

pub(crate) const KUBELET: &str = r"C:\var\lib\kubelet";
const TIMEOUT: Duration = Duration::from_secs(60);

/// On Windows all servers of a machine have the same pipes, so there is one at a time. The count of
/// panics is the process's, too.
static TURN: Mutex<()> = Mutex::new(());

static PANICS: AtomicUsize = AtomicUsize::new(0);

pub(crate) struct ServerFixture {
    pub(crate) sim: SimNode,
    /// Counts all calls on the node.
    pub(crate) tally: Arc<Tally>,
    volume_id: String,
    channels: BTreeMap<String, Channel>,
    /// A second client.
    neighbour: Client,
    _server: Server,
    folder: TempDir,
    _turn: MutexGuard<'static, ()>,
}

impl ServerFixture {
    /// A node with a formatted volume and a share, a known iSCSI portal and a known target.
    pub(crate) fn new() -> Self {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        count_panics();
        let folder = TempDir::new().expect("a folder");
        let sim = demo::create(&folder.path().join("node"), ClockMode::Virtual).expect("a node");
        let tally = Arc::new(Tally::default());
        let meter: Arc<dyn Meter> = Arc::clone(&tally) as _;
        let server = serve(os_meter::metered(sim.os(), &meter), folder.path());
        let channels = wire::GROUPS.iter().map(|group| {
            let endpoint = transport::Endpoint::local(folder.path(), &group.pipe_name())
                .expect("a group's name");
            let channel = Channel::connect(endpoint, ChannelOptions::default());
            (group.to_string(), channel.expect("it listens"))
        });
        let mut fixture = Self {
            sim,
            tally,
            volume_id: String::new(),
            channels: channels.collect(),
            neighbour: Client::local(folder.path()),
            _server: server,
            folder,
            _turn: turn,
        };
        fixture.furnish();
        fixture
    }

    fn furnish(&mut self) {
        self.ask::<disk::rpc::Rescan>(&disk::RescanRequest {});
        self.ask::<disk::rpc::PartitionDisk>(&disk::PartitionDiskRequest { disk_number: 1 });
        let list = volume::ListVolumesOnDiskRequest {
            disk_number: 1,
            partition_number: 0,
        };
        let listed = self.ask::<volume::rpc::ListVolumesOnDisk>(&list);
        self.volume_id = listed.volume_ids[0].clone();
        let volume_id = self.volume_id.clone();
        self.ask::<volume::rpc::FormatVolume>(&volume::FormatVolumeRequest { volume_id });
        let name = SERVICE.to_owned();
        self.ask::<system::rpc::StartService>(&system::StartServiceRequest { name });
        let target_portal = Some(iscsi::TargetPortal {
            target_address: demo::ISCSI_ADDRESS.to_owned(),
            target_port: 3260,
        });
        self.ask::<iscsi::rpc::AddTargetPortal>(&iscsi::AddTargetPortalRequest { target_portal });
        self.use_share();
    }

    /// The first link leaves a folder of the simulator's own.
    fn use_share(&self) {
        let local_path = format!(r"{KUBELET}\first");
        let request = smb::NewSmbGlobalMappingRequest {
            remote_path: demo::SHARE.to_owned(),
            local_path: local_path.clone(),
            username: demo::SMB_USER.to_owned(),
            password: demo::SMB_PASSWORD.to_owned(),
        };
        self.ask::<smb::rpc::NewSmbGlobalMapping>(&request);
        let force = false;
        let path = local_path;
        self.ask::<filesystem::rpc::Rmdir>(&filesystem::RmdirRequest { path, force });
        assert!(self.unmap());
    }

    /// The second client's answer.
    fn ask<R: Rpc>(&self, request: &R::Request) -> R::Response {
        self.neighbour
            .call::<R>(request, TIMEOUT)
            .unwrap_or_else(|error| panic!("{error}"))
    }

    /// Sends bytes; the server must answer in time, and leave nothing open.
    pub(crate) fn send(
        &self,
        group: &wire::Group,
        method: &wire::Method,
        message: &[u8],
    ) -> Result<Vec<u8>, Status> {
        let channel = &self.channels[&group.to_string()];
        let answer = channel.call(method.path, message, Instant::now() + TIMEOUT);
        assert_eq!(self.tally.open(), Counts::default(), "{}", method.path);
        match answer {
            Ok(answer) => Ok(answer),
            Err(CallError::Status(status)) => Err(status),
            Err(error) => panic!("{}: {error}", method.path),
        }
    }

    /// A driver's value for a field of a request.
    pub(crate) fn ordinary_text(&self, field: &str) -> &str {
        ordinary::text_of(field, &self.volume_id)
    }

    pub(crate) fn ordinary(&self, leaf: &Leaf, field: u32) -> Vec<u8> {
        ordinary::value(leaf, field, &self.volume_id)
    }

    /// Fails if another client noticed anything.
    pub(crate) fn assert_well(&self, after: &str) {
        assert_eq!(PANICS.load(Ordering::SeqCst), 0, "a panic after {after}");
        let path = KUBELET.to_owned();
        let there =
            self.ask::<filesystem::rpc::PathExists>(&filesystem::PathExistsRequest { path });
        assert!(there.exists, "the kubelet's folder is gone after {after}");
        let request = disk::GetDiskStatsRequest { disk_number: 0 };
        let boot = self.ask::<disk::rpc::GetDiskStats>(&request);
        assert!(boot.total_bytes > 0, "the boot disk is gone after {after}");
    }

    /// State named in no field of these tests: services, foreign files, the disks' bytes at both ends.
    pub(crate) fn surroundings(&self) -> BTreeMap<String, String> {
        let mut seen = BTreeMap::new();
        let node = self.folder.path().join("node");
        let mut files = Vec::new();
        collect(&node.join("volumes"), &mut files);
        // A share gets its folder at the first look at it.
        let mut shares = Vec::new();
        collect(&node.join("smb"), &mut shares);
        files.extend(shares.into_iter().filter(|path| !path.is_dir()));
        for file in files {
            let name = file.to_string_lossy().replace('\\', "/");
            if !name.contains("/var/lib/kubelet") {
                seen.insert(name, contents(&file));
            }
        }
        let mut images = Vec::new();
        collect(&node.join("disks"), &mut images);
        seen.extend(
            images
                .iter()
                .map(|image| (image.display().to_string(), contents(image))),
        );
        seen
    }

    /// The mappings, the known portals and the running services.
    pub(crate) fn registered(&self) -> String {
        let portals =
            self.ask::<iscsi::rpc::ListTargetPortals>(&iscsi::ListTargetPortalsRequest {});
        let name = SERVICE.to_owned();
        let service = self.ask::<system::rpc::GetService>(&system::GetServiceRequest { name });
        format!("{portals:?} {service:?}")
    }

    /// Removes the mapping of the one share; whether there was one.
    pub(crate) fn unmap(&self) -> bool {
        let remote_path = demo::SHARE.to_owned();
        let request = smb::RemoveSmbGlobalMappingRequest { remote_path };
        self.neighbour
            .call::<smb::rpc::RemoveSmbGlobalMapping>(&request, TIMEOUT)
            .is_ok()
    }
}

fn serve(os: Os, sockets: &Path) -> Server {
    let dirs = WorkingDirs::parse(vec![KUBELET.to_owned()]).expect("a path");
    let operations = Arc::new(PipeOperations::new(Node::new(os, Options::default()), dirs));
    let middleware = Middleware::open(&Config::default()).expect("nothing to open");
    let services = groups::registry().into_services(&operations, &middleware);
    let endpoints = services.into_iter().map(|(group, service)| {
        let endpoint =
            transport::Endpoint::local(sockets, &group.pipe_name()).expect("a group's name");
        (endpoint, service)
    });
    Server::bind(endpoints.collect(), ServerOptions::default()).expect("the endpoints are free")
}

/// Counts panics, caught ones too: these are faults all the same.
fn count_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            PANICS.fetch_add(1, Ordering::SeqCst);
            before(panic);
        }));
    });
    PANICS.store(0, Ordering::SeqCst);
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            files.push(path.clone());
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}

/// The bytes of a file at both its ends, as a number; nothing for a folder.
fn contents(file: &Path) -> String {
    const ENDS: u64 = 1 << 20;
    if file.is_dir() {
        return String::new();
    }
    let mut file = fs::File::open(file).expect("it can be read");
    let length = file.metadata().expect("it has a length").len();
    let mut hasher = DefaultHasher::new();
    for start in [0, length.saturating_sub(ENDS)] {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(start)).expect("it is so long");
        file.by_ref()
            .take(ENDS)
            .read_to_end(&mut bytes)
            .expect("it can be read");
        hasher.write(&bytes);
    }
    format!("{length} {:x}", hasher.finish())
}
