//! A server on a simulated node that the test can change.

use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use client::{Client, ClientCause, ClientError};
use formats::reparse::{Names, Reparse};
use node::{Node, Options};
use os::{Component, Deadline, DiskNumber, Files, LinkKind, ReparseTag, VolumeId, WinPath};
use os_sim::{Bus, ClockMode, Content, DiskSpec, SimNode, demo};
use tempfile::TempDir;
use transport::{CallError, Server, ServerOptions};
use wincsi_proxy::flags::Config;
use wincsi_proxy::paths::{Confinement, WorkingDirs};
use wincsi_proxy::{Middleware, PipeOperations, groups};
use wire::Rpc;
use wire::filesystem::v2alpha1 as filesystem;
use wire::smb::v1 as smb;
use wire::volume::{v1 as volume, v2alpha1 as closest};

use super::sentry::{self, Offences};
use crate::support::turn;

pub(crate) const KUBELET: &str = r"C:\var\lib\kubelet";
const TIMEOUT: Duration = Duration::from_secs(60);

/// A node before it is served: drive C with the kubelet's folder and a formatted data volume.
pub(crate) struct NodeFixture {
    pub(crate) sim: SimNode,
    pub(crate) volume: VolumeId,
    folder: TempDir,
    roots: Vec<String>,
    volume_dirs: Vec<String>,
    confinement: Confinement,
}

/// The served node.
pub(crate) struct ServerFixture {
    pub(crate) sim: SimNode,
    pub(crate) volume: VolumeId,
    pub(crate) offences: Offences,
    client: Client,
    _server: Server,
    _folder: TempDir,
    _turn: MutexGuard<'static, ()>,
}

/// Every call about one path.
pub(crate) const CALLS: [PathCall; 12] = [
    PathCall::PathExists,
    PathCall::Mkdir,
    PathCall::Rmdir,
    PathCall::RmdirForce,
    PathCall::RmdirContents,
    PathCall::SymlinkAt,
    PathCall::SymlinkTo,
    PathCall::IsSymlink,
    PathCall::Mount,
    PathCall::Unmount,
    PathCall::VolumeOf,
    PathCall::MapShareAt,
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathCall {
    PathExists,
    Mkdir,
    Rmdir,
    RmdirForce,
    RmdirContents,
    /// The path is the link to be.
    SymlinkAt,
    /// The path is the link's target.
    SymlinkTo,
    IsSymlink,
    Mount,
    Unmount,
    VolumeOf,
    /// The path is the link to the share.
    MapShareAt,
}

impl PathCall {
    /// Whether it only looks, anywhere on the node's own drives and volumes.
    pub(crate) fn is_lookup(self) -> bool {
        matches!(self, Self::IsSymlink | Self::VolumeOf)
    }

    /// The calls confined to the working folders.
    pub(crate) fn confined() -> impl Iterator<Item = Self> {
        CALLS.into_iter().filter(|call| !call.is_lookup())
    }

    /// Whether csi-proxy's path rules apply to the path as it is sent.
    pub(crate) fn has_rules(self) -> bool {
        !matches!(
            self,
            Self::IsSymlink | Self::Mount | Self::Unmount | Self::VolumeOf
        )
    }
}

impl NodeFixture {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let sim = demo::create(&folder.path().join("node"), ClockMode::Virtual).unwrap();
        let volume = formatted(&sim, DiskNumber(1));
        Self {
            sim,
            volume,
            folder,
            roots: vec![KUBELET.to_owned()],
            volume_dirs: Vec::new(),
            confinement: Confinement::WorkingDirs,
        }
    }

    pub(crate) fn roots(mut self, roots: &[&str]) -> Self {
        self.roots = roots.iter().copied().map(str::to_owned).collect();
        self
    }

    pub(crate) fn volume_dir(mut self, dir: &str) -> Self {
        self.volume_dirs.push(dir.to_owned());
        self
    }

    pub(crate) fn confined_by(mut self, confinement: Confinement) -> Self {
        self.confinement = confinement;
        self
    }

    pub(crate) fn serve(self) -> ServerFixture {
        self.serve_watching(&[KUBELET])
    }

    /// Serves, with a sentry that allows calls in these places.
    pub(crate) fn serve_watching(self, places: &[&str]) -> ServerFixture {
        let turn = turn();
        let dirs = WorkingDirs::parse(self.roots).unwrap();
        let dirs = dirs.with_volume_dirs(self.volume_dirs).unwrap();
        let dirs = dirs.confined_by(self.confinement);
        let (os, offences) = sentry::watched(&self.sim, places);
        let operations = PipeOperations::new(Node::new(os, Options::default()), dirs);
        // Folders above were read, to resolve the paths.
        let _ = offences.take();
        let sockets = self.folder.path().join("sockets");
        std::fs::create_dir_all(&sockets).unwrap();
        let middleware = Middleware::open(&Config::default()).unwrap();
        let services = groups::registry().into_services(&Arc::new(operations), &middleware);
        let endpoints = services.into_iter().map(|(group, service)| {
            (
                transport::Endpoint::local(&sockets, &group.pipe_name()).unwrap(),
                service,
            )
        });
        let server = Server::bind(endpoints.collect(), ServerOptions::default()).unwrap();
        ServerFixture {
            sim: self.sim,
            volume: self.volume,
            offences,
            client: Client::local(sockets),
            _server: server,
            _folder: self.folder,
            _turn: turn,
        }
    }
}

impl ServerFixture {
    pub(crate) fn new() -> Self {
        NodeFixture::new().serve()
    }

    /// Makes a call; returns the status's text if it fails.
    pub(crate) fn call(&self, call: PathCall, path: &str) -> Result<(), String> {
        let text = path.to_owned();
        let volume_id = self.volume.to_string();
        match call {
            PathCall::PathExists => self
                .ask::<filesystem::rpc::PathExists>(&filesystem::PathExistsRequest { path: text }),
            PathCall::Mkdir => {
                self.ask::<filesystem::rpc::Mkdir>(&filesystem::MkdirRequest { path: text })
            }
            PathCall::Rmdir | PathCall::RmdirForce => {
                self.ask::<filesystem::rpc::Rmdir>(&filesystem::RmdirRequest {
                    path: text,
                    force: call == PathCall::RmdirForce,
                })
            }
            PathCall::RmdirContents => {
                self.ask::<filesystem::rpc::RmdirContents>(&filesystem::RmdirContentsRequest {
                    path: text,
                })
            }
            PathCall::SymlinkAt => self.link(KUBELET, path),
            PathCall::SymlinkTo => self.link(path, &format!(r"{KUBELET}\made-link")),
            PathCall::IsSymlink => self.is_link(path).map(drop),
            PathCall::Mount => self.ask::<volume::rpc::MountVolume>(&volume::MountVolumeRequest {
                volume_id,
                target_path: text,
            }),
            PathCall::Unmount => {
                self.ask::<volume::rpc::UnmountVolume>(&volume::UnmountVolumeRequest {
                    volume_id,
                    target_path: text,
                })
            }
            PathCall::VolumeOf => self.volume_of(path).map(drop),
            PathCall::MapShareAt => self.map_share_at(path),
        }
    }

    pub(crate) fn exists(&self, path: &str) -> Result<bool, String> {
        let path = path.to_owned();
        let request = filesystem::PathExistsRequest { path };
        Ok(self.answer::<filesystem::rpc::PathExists>(&request)?.exists)
    }

    pub(crate) fn is_link(&self, path: &str) -> Result<bool, String> {
        let path = path.to_owned();
        let request = filesystem::IsSymlinkRequest { path };
        Ok(self
            .answer::<filesystem::rpc::IsSymlink>(&request)?
            .is_symlink)
    }

    pub(crate) fn volume_of(&self, path: &str) -> Result<String, String> {
        let target_path = path.to_owned();
        let request = volume::GetVolumeIdFromTargetPathRequest { target_path };
        let answer = self.answer::<volume::rpc::GetVolumeIdFromTargetPath>(&request)?;
        Ok(answer.volume_id)
    }

    pub(crate) fn closest_volume_of(&self, path: &str) -> Result<String, String> {
        let target_path = path.to_owned();
        let request = closest::GetClosestVolumeIdFromTargetPathRequest { target_path };
        let answer = self.answer::<closest::rpc::GetClosestVolumeIdFromTargetPath>(&request)?;
        Ok(answer.volume_id)
    }

    pub(crate) fn link(&self, source: &str, link: &str) -> Result<(), String> {
        self.ask::<filesystem::rpc::CreateSymlink>(&filesystem::CreateSymlinkRequest {
            source_path: source.to_owned(),
            target_path: link.to_owned(),
        })
    }

    pub(crate) fn unmap_share(&self) -> Result<(), String> {
        self.ask::<smb::rpc::RemoveSmbGlobalMapping>(&smb::RemoveSmbGlobalMappingRequest {
            remote_path: demo::SHARE.to_owned(),
        })
    }

    fn map_share_at(&self, path: &str) -> Result<(), String> {
        self.ask::<smb::rpc::NewSmbGlobalMapping>(&smb::NewSmbGlobalMappingRequest {
            remote_path: demo::SHARE.to_owned(),
            local_path: path.to_owned(),
            username: demo::SMB_USER.to_owned(),
            password: demo::SMB_PASSWORD.to_owned(),
        })
    }

    fn ask<R: Rpc>(&self, request: &R::Request) -> Result<(), String> {
        self.answer::<R>(request).map(drop)
    }

    fn answer<R: Rpc>(&self, request: &R::Request) -> Result<R::Response, String> {
        self.client.call::<R>(request, TIMEOUT).map_err(status)
    }
}

/// Actions of a process that can write in the folders: no gate stops it.
pub(crate) trait Hands {
    fn sim(&self) -> &SimNode;

    fn directory(&self, at: &str) {
        let path = path(at);
        for depth in 1..=path.components().len() {
            let _ = self.sim().files().create_directory(&path.prefix(depth));
        }
    }

    fn file(&self, at: &str) {
        self.sim()
            .files()
            .write_file(&path(at), at.as_bytes())
            .unwrap();
    }

    fn symlink(&self, at: &str, target: &str) {
        let kind = LinkKind::Directory;
        self.sim()
            .files()
            .create_symlink(&path(at), target, kind)
            .unwrap();
    }

    fn junction(&self, at: &str, target: &str) {
        let names = Names {
            substitute: format!(r"\??\{target}"),
            print: target.to_owned(),
        };
        self.plant(at, &Reparse::MountPoint(names));
    }

    /// A mounted folder by its look, unknown to the mount manager.
    fn lookalike(&self, at: &str, volume: VolumeId) {
        self.plant(at, &Reparse::MountPoint(Names::volume(volume.0)));
    }

    /// A reparse point of an unknown tag.
    fn unknown_reparse_point(&self, at: &str) {
        let tag = formats::reparse::Tag(ReparseTag::AF_UNIX.0 | 0x100);
        let (owner, data) = (None, vec![1, 2, 3, 4]);
        self.plant(at, &Reparse::Other { tag, owner, data });
    }

    fn plant(&self, at: &str, content: &Reparse) {
        let data = content.encode().unwrap();
        let tree = self.sim().files();
        tree.create_reparse_point(&path(at), LinkKind::Directory, &data)
            .unwrap();
    }

    fn mount(&self, at: &str, volume: VolumeId) {
        self.directory(at);
        self.sim()
            .os()
            .volumes
            .set_mount_point(&path(at), volume)
            .unwrap();
    }

    fn is_there(&self, at: &str) -> bool {
        self.sim().files().entry(&path(at)).is_ok()
    }

    fn system_volume(&self) -> VolumeId {
        self.sim().os().volumes.mounted_at(&path(r"C:\")).unwrap()
    }

    fn another_volume(&self) -> VolumeId {
        let spec = DiskSpec::on(Bus::Sas).serial("OTHER").lun(2);
        let spec = spec.arriving(os_sim::Arrives::Online);
        let content = Content::blank(1 << 30);
        self.sim()
            .hardware()
            .attach_disk("other", &spec, &content)
            .unwrap();
        formatted(self.sim(), DiskNumber(2))
    }

    /// Everything below a folder, no link entered, as lines.
    fn listing(&self, at: &WinPath, but_not: &WinPath) -> Vec<String> {
        let tree = self.sim().files();
        let mut lines = Vec::new();
        for found in tree.list(at).unwrap() {
            let path = at.join(Component::listed(found.name).unwrap());
            if path.folded() == but_not.folded() {
                continue;
            }
            lines.push(format!("{path} {:?}", found.entry));
            if found.entry.is_directory() && found.entry.tag.is_none() {
                lines.extend(self.listing(&path, but_not));
            }
        }
        lines.sort();
        lines
    }

    /// Drive C without the kubelet's folder, and the share's content.
    fn outside(&self) -> Vec<String> {
        let kubelet = path(KUBELET);
        self.listing(&path(r"C:\"), &kubelet)
    }
}

impl Hands for ServerFixture {
    fn sim(&self) -> &SimNode {
        &self.sim
    }
}

impl Hands for NodeFixture {
    fn sim(&self) -> &SimNode {
        &self.sim
    }
}

pub(crate) fn path(text: &str) -> WinPath {
    text.parse().expect(text)
}

fn formatted(sim: &SimNode, disk: DiskNumber) -> VolumeId {
    let node = Node::new(sim.os(), Options::default());
    node.operations().disks().rescan(Deadline::NEVER).unwrap();
    node.operations()
        .disks()
        .partition(disk, Deadline::NEVER)
        .unwrap();
    let volume = node
        .operations()
        .volumes()
        .sole_on_disk(disk, Deadline::NEVER)
        .unwrap();
    node.operations()
        .volumes()
        .format(volume, Deadline::NEVER)
        .unwrap();
    volume
}

fn status(error: ClientError) -> String {
    match error.cause {
        ClientCause::Call(CallError::Status(status)) => {
            assert_eq!(status.code, transport::Code::Unknown, "{}", status.message);
            status.message
        }
        other => panic!("{other}"),
    }
}
