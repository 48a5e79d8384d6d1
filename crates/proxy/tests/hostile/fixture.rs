//! A server on a simulated node, with a client of each endpoint and a witness of forbidden effects.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher as _};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard, Once};
use std::time::Instant;
use std::{fs, panic};

use client::Client;
use os_meter::{Counts, Meter, Tally};
use os_sim::demo;
use os_sim::testing::TestNode;
use transport::{CallError, Channel, ChannelOptions, Server, ServerOptions, Status};
use wincsi_proxy::paths::WorkingDirs;
use wire::Rpc;
use wire::disk::v1 as disk;
use wire::filesystem::v1 as filesystem;
use wire::iscsi::v1alpha2 as iscsi;
use wire::smb::v1 as smb;
use wire::system::v1alpha1 as system;

use crate::messages::Leaf;
use crate::ordinary::{self, SERVICE};

pub(crate) use crate::support::KUBELET;

use crate::support::{TIMEOUT, formatted_volume, operations, serve_on, turn};

/// Of the process: one server at a time has its turn.
static PANICS: AtomicUsize = AtomicUsize::new(0);

pub(crate) struct ServerFixture {
    /// Counts all calls on the node.
    pub(crate) tally: Arc<Tally>,
    volume_id: String,
    channels: BTreeMap<String, Channel>,
    /// A second client.
    neighbour: Client,
    _server: Server,
    pub(crate) sim: TestNode,
    _turn: MutexGuard<'static, ()>,
}

impl ServerFixture {
    /// A node with a formatted volume and a share, a known iSCSI portal and a known target.
    pub(crate) fn new() -> Self {
        let turn = turn();
        count_panics();
        let sim = TestNode::demo(tempfile::tempdir().expect("a folder"));
        let tally = Arc::new(Tally::default());
        let meter: Arc<dyn Meter> = Arc::clone(&tally) as _;
        let dirs = WorkingDirs::parse(vec![KUBELET.to_owned()]).expect("a path");
        let operations = operations(os_meter::metered(sim.os(), &meter), dirs);
        let server = serve_on(operations, sim.home(), ServerOptions::default());
        let channels = wire::GROUPS.iter().map(|group| {
            let endpoint =
                transport::Endpoint::local(sim.home(), &group.pipe_name()).expect("a group's name");
            let channel = Channel::connect(endpoint, ChannelOptions::default());
            (group.to_string(), channel.expect("it listens"))
        });
        let neighbour = Client::local(sim.home());
        let fixture = Self {
            tally,
            volume_id: formatted_volume(&neighbour),
            channels: channels.collect(),
            neighbour,
            _server: server,
            sim,
            _turn: turn,
        };
        fixture.furnish();
        fixture
    }

    fn furnish(&self) {
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
        crate::support::ask::<R>(&self.neighbour, request)
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
        let node = self.sim.folder();
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
