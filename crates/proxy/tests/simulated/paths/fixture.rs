//! A server on a simulated node that the test can change.

use std::ops::Deref;
use std::sync::MutexGuard;

use client::{Client, ClientCause, ClientError};
use formats::reparse::{Names, Reparse};
use node::{Node, Options};
use os::{Component, Deadline, DiskNumber, Files, LinkKind, ReparseTag, VolumeId, WinPath};
use os_sim::testing::TestNode;
use os_sim::{Bus, DiskSpec, demo};
use transport::{CallError, Server, ServerOptions};
use wincsi_proxy::paths::{Confinement, WorkingDirs};
use wire::Rpc;
use wire::filesystem::v2alpha1 as filesystem;
use wire::smb::v1 as smb;
use wire::volume::{v1 as volume, v2alpha1 as closest};

use super::sentry::{self, Offences};
use crate::support::{TIMEOUT, operations, serve_on, turn};

pub(crate) use crate::support::KUBELET;
pub(crate) use os_sim::testing::path;

/// A node before it is served: drive C with the kubelet's folder and a formatted data volume.
pub(crate) struct NodeFixture {
    pub(crate) sim: TestNode,
    pub(crate) volume: VolumeId,
    roots: Vec<String>,
    volume_dirs: Vec<String>,
    confinement: Confinement,
}

/// The served node.
pub(crate) struct ServerFixture {
    pub(crate) volume: VolumeId,
    pub(crate) offences: Offences,
    client: Client,
    _server: Server,
    pub(crate) sim: TestNode,
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
        let sim = TestNode::demo(tempfile::tempdir().unwrap());
        let volume = formatted(&sim, DiskNumber(1));
        Self {
            sim,
            volume,
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
        let operations = operations(os, dirs);
        // Folders above were read, to resolve the paths.
        let _ = offences.take();
        let sockets = self.sim.home().join("sockets");
        std::fs::create_dir_all(&sockets).unwrap();
        let server = serve_on(operations, &sockets, ServerOptions::default());
        ServerFixture {
            volume: self.volume,
            offences,
            client: Client::local(sockets),
            _server: server,
            sim: self.sim,
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
pub(crate) trait Hands: Deref<Target = TestNode> {
    fn file(&self, at: &str) {
        self.write(at, at);
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
        let kind = LinkKind::Directory;
        let planted = self.files().create_reparse_point(&path(at), kind, &data);
        planted.unwrap();
    }

    fn mount(&self, at: &str, volume: VolumeId) {
        self.directory(at);
        TestNode::mount(self, at, volume);
    }

    fn system_volume(&self) -> VolumeId {
        self.os().volumes.mounted_at(&path(r"C:\")).unwrap()
    }

    fn another_volume(&self) -> VolumeId {
        let spec = DiskSpec::on(Bus::Sas).serial("OTHER").lun(2);
        let spec = spec.arriving(os_sim::Arrives::Online);
        self.attach("other", &spec, 1 << 30);
        formatted(self, DiskNumber(2))
    }

    /// Everything below a folder, no link entered, as lines.
    fn listing(&self, at: &WinPath, but_not: &WinPath) -> Vec<String> {
        let tree = self.files();
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

impl Hands for ServerFixture {}

impl Hands for NodeFixture {}

impl Deref for ServerFixture {
    type Target = TestNode;

    fn deref(&self) -> &TestNode {
        &self.sim
    }
}

impl Deref for NodeFixture {
    type Target = TestNode;

    fn deref(&self) -> &TestNode {
        &self.sim
    }
}

fn formatted(sim: &TestNode, disk: DiskNumber) -> VolumeId {
    let (node, soon) = (Node::new(sim.os(), Options::default()), Deadline::NEVER);
    let (disks, volumes) = (node.operations().disks(), node.operations().volumes());
    disks.rescan(soon).unwrap();
    disks.partition(disk, soon).unwrap();
    let volume = volumes.sole_on_disk(disk, soon).unwrap();
    volumes.format(volume, soon).unwrap();
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
