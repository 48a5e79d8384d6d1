//! The play of kubelet: it finds a driver's socket, registers the driver, and has it stage, publish, report, unpublish
//! and unstage two volumes, a disk that grows, and a share. Between the acts the node restarts, as after a loss of
//! power.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use clap::ValueEnum;
use prost::Message as _;
use transport::{Channel, ChannelOptions, Endpoint, Owner};
use wincsi::WinPath;
use wincsi::sim::demo;
use wincsi::sim::files::FileTree;
use wincsi::sim::smb::SmbControl;
use wire::Rpc;
use wire::csi::v1::node::{
    NodeExpandVolume, NodeGetInfo, NodeGetVolumeStats, NodePublishVolume, NodeStageVolume,
    NodeUnpublishVolume, NodeUnstageVolume,
};
use wire::csi::v1::volume_capability::access_mode::Mode;
use wire::csi::v1::volume_capability::{AccessMode, AccessType, MountVolume};
use wire::csi::v1::{
    CapacityRange, NodeExpandVolumeRequest, NodeGetInfoRequest, NodeGetVolumeStatsRequest,
    NodePublishVolumeRequest, NodeStageVolumeRequest, NodeUnpublishVolumeRequest,
    NodeUnstageVolumeRequest, VolumeCapability, VolumeUsage,
};
use wire::pluginregistration::v1::registration::{GetInfo, NotifyRegistrationStatus};
use wire::pluginregistration::v1::{InfoRequest, PluginInfo, RegistrationStatus};

use crate::printer::{self, Lines};

/// As long as kubelet waits for a driver.
const CALL: Duration = Duration::from_secs(120);

const GIB: i64 = 1 << 30;
const FILE: &str = "hello.txt";
const TEXT: &str = "written by a pod\n";

/// The played time: before the restart of the node, or after.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Act {
    First,
    Second,
}

type Attributes = BTreeMap<String, String>;

/// A volume, as its PersistentVolume, its Secret and its attachment describe it.
struct Volume {
    id: &'static str,
    staging: &'static str,
    target: &'static str,
    publish_context: Attributes,
    context: Attributes,
    secrets: Attributes,
    /// The stage's message.
    staged: String,
}

impl Volume {
    /// The controller passes on the disk's identifier from the attachment.
    fn disk() -> Self {
        Self {
            id: "demo-volume",
            staging: r"C:\var\lib\kubelet\plugins\kubernetes.io\csi\wincsi.io\demo\globalmount",
            target: r"C:\var\lib\kubelet\pods\demo\volumes\kubernetes.io~csi\demo\mount",
            publish_context: attributes([("page83", demo::DISK_PAGE83)]),
            context: Attributes::new(),
            secrets: Attributes::new(),
            staged: format!("the disk {} is mounted", demo::DISK_PAGE83),
        }
    }

    fn share() -> Self {
        let credentials = [
            ("username", demo::SMB_USER),
            ("password", demo::SMB_PASSWORD),
        ];
        let source = demo::SHARE.replace('\\', "/");
        Self {
            id: "demo-share",
            staging: r"C:\var\lib\kubelet\plugins\kubernetes.io\csi\wincsi.io\share\globalmount",
            target: r"C:\var\lib\kubelet\pods\demo\volumes\kubernetes.io~csi\share\mount",
            publish_context: Attributes::new(),
            context: attributes([("source", &source)]),
            secrets: attributes(credentials),
            staged: format!("{} is mapped, and linked", demo::SHARE),
        }
    }

    fn file(&self) -> String {
        format!(r"{}\{FILE}", self.target)
    }
}

fn attributes<const N: usize>(entries: [(&str, &str); N]) -> Attributes {
    let owned = entries.map(|(key, value)| (key.to_owned(), value.to_owned()));
    owned.into()
}

/// The driver's surroundings: the hardware of its node, its mapped shares, and the files as a pod sees them.
pub(crate) struct World {
    folder: PathBuf,
    files: FileTree,
}

impl World {
    pub(crate) fn of(folder: &Path, drive_c: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            files: FileTree::beside(folder, drive_c),
        }
    }

    /// Answers where the file came to lie on this machine.
    fn write(&self, volume: &Volume) -> anyhow::Result<PathBuf> {
        let file: WinPath = volume.file().parse()?;
        self.files.write_file(&file, TEXT.as_bytes())?;
        let place = self.files.host_path(&file)?;
        let kept = fs::read_to_string(&place)?;
        ensure!(kept == TEXT, "{} has something else", place.display());
        Ok(place)
    }

    fn write_to_share(&self, volume: &Volume) -> anyhow::Result<()> {
        let place = self.write(volume)?;
        let share = SmbControl::at(&self.folder).share_folder(demo::SMB_SERVER, "share");
        let is_there = fs::read_to_string(share.join(FILE))? == TEXT;
        ensure!(is_there, "{} is not on the server", place.display());
        Ok(())
    }

    fn expect_file(&self, volume: &Volume) -> anyhow::Result<()> {
        let file: WinPath = volume.file().parse()?;
        let kept = self.files.read_file(&file)?;
        ensure!(kept == TEXT.as_bytes(), "{file}: another text");
        Ok(())
    }

    fn expect_none(&self, path: &str) -> anyhow::Result<()> {
        let left = self.files.host_path(&path.parse()?);
        let left = left.is_ok_and(|place| place.exists());
        ensure!(!left, "{path} is left");
        Ok(())
    }

    fn expect_no_mapping(&self) -> anyhow::Result<()> {
        let mapped = SmbControl::at(&self.folder).mapped()?;
        ensure!(mapped.is_empty(), "the node has mapped {mapped:?}");
        Ok(())
    }

    fn grow(&self) -> anyhow::Result<()> {
        let length = u64::try_from(3 * GIB)?;
        Ok(printer::grow(&demo::disk_image(&self.folder), length)?)
    }
}

pub(crate) fn play(
    lines: &mut Lines,
    world: &World,
    registration: &Endpoint,
    act: Act,
) -> anyhow::Result<()> {
    let (disk, share) = (Volume::disk(), Volume::share());
    let mut kubelet = Kubelet::register(lines, registration)?;
    kubelet.stage(&disk)?;
    kubelet.publish(&disk)?;
    match act {
        Act::First => {
            kubelet.use_disk(world, &disk)?;
            kubelet.stage(&share)?;
            kubelet.publish(&share)?;
            kubelet.use_share(world, &share)
        }
        Act::Second => {
            kubelet.end(world, &disk)?;
            kubelet.renew(world, &share)?;
            kubelet.end(world, &share)?;
            world.expect_no_mapping()
        }
    }
}

/// A kubelet with a known driver.
struct Kubelet<'a> {
    lines: &'a mut Lines,
    csi: Channel,
}

impl<'a> Kubelet<'a> {
    /// Dials the registration, and then CSI at the endpoint from the registration.
    fn register(lines: &'a mut Lines, registration: &Endpoint) -> anyhow::Result<Self> {
        let found = format!("a socket in plugins_registry: {registration}");
        let registry =
            lines.meanwhile("kubelet finds the driver", &found, || dial(registration))?;
        let info: PluginInfo = lines.call(
            "Registration.GetInfo",
            || send::<GetInfo>(&registry, &InfoRequest {}),
            |info| format!("{} {}, CSI at {}", info.r#type, info.name, info.endpoint),
        )?;
        let endpoint = info.endpoint.parse()?;
        let csi = lines.meanwhile("kubelet dials CSI", &info.endpoint, || dial(&endpoint))?;
        lines.call(
            "Node.NodeGetInfo",
            || send::<NodeGetInfo>(&csi, &NodeGetInfoRequest {}),
            |node| format!("CSINode gets the node's id {:?}", node.node_id),
        )?;
        let registered = RegistrationStatus {
            plugin_registered: true,
            error: String::new(),
        };
        lines.call(
            "Registration.NotifyRegistrationStatus",
            || send::<NotifyRegistrationStatus>(&registry, &registered),
            |_| format!("{} is registered", info.name),
        )?;
        Ok(Self { lines, csi })
    }

    fn stage(&mut self, volume: &Volume) -> anyhow::Result<()> {
        let request = NodeStageVolumeRequest {
            volume_id: volume.id.to_owned(),
            publish_context: volume.publish_context.clone(),
            staging_target_path: volume.staging.to_owned(),
            volume_capability: Some(capability()),
            secrets: volume.secrets.clone(),
            volume_context: volume.context.clone(),
        };
        self.call::<NodeStageVolume>("Node.NodeStageVolume", &request, |_| {
            format!("{} at {}", volume.staged, volume.staging)
        })?;
        Ok(())
    }

    fn publish(&mut self, volume: &Volume) -> anyhow::Result<()> {
        let request = NodePublishVolumeRequest {
            volume_id: volume.id.to_owned(),
            publish_context: volume.publish_context.clone(),
            staging_target_path: volume.staging.to_owned(),
            target_path: volume.target.to_owned(),
            volume_capability: Some(capability()),
            readonly: false,
            secrets: volume.secrets.clone(),
            volume_context: volume.context.clone(),
        };
        self.call::<NodePublishVolume>("Node.NodePublishVolume", &request, |_| {
            format!("a link leads there from {}", volume.target)
        })?;
        Ok(())
    }

    /// A pod writes, and its volume grows.
    fn use_disk(&mut self, world: &World, volume: &Volume) -> anyhow::Result<()> {
        let before = self.stats(volume)?;
        self.lines
            .meanwhile("a pod writes a file", &volume.file(), || {
                world.write(volume).map(drop)
            })?;
        self.lines
            .meanwhile("the cloud grows the disk", "3 GiB", || world.grow())?;
        let request = NodeExpandVolumeRequest {
            volume_id: volume.id.to_owned(),
            volume_path: volume.target.to_owned(),
            staging_target_path: volume.staging.to_owned(),
            capacity_range: Some(CapacityRange {
                required_bytes: 3 * GIB,
                limit_bytes: 0,
            }),
            volume_capability: Some(capability()),
            secrets: BTreeMap::new(),
        };
        self.call::<NodeExpandVolume>("Node.NodeExpandVolume", &request, |grown| {
            format!("{} bytes", grown.capacity_bytes)
        })?;
        let after = self.stats(volume)?;
        ensure!(after.total > before.total, "the filesystem did not grow");
        Ok(())
    }

    fn use_share(&mut self, world: &World, volume: &Volume) -> anyhow::Result<()> {
        self.lines
            .meanwhile("a pod writes a file", "and the server has it", || {
                world.write_to_share(volume)
            })?;
        self.stats(volume)?;
        Ok(())
    }

    /// Windows lost the mapping at its restart: a publish with the secrets makes it again.
    fn renew(&mut self, world: &World, volume: &Volume) -> anyhow::Result<()> {
        self.lines
            .meanwhile("the restart", "took the mapping away", || {
                world.expect_no_mapping()
            })?;
        self.publish(volume)
    }

    /// The pod has its data again, and ends.
    fn end(&mut self, world: &World, volume: &Volume) -> anyhow::Result<()> {
        self.lines
            .meanwhile("the pod's file", "is there again", || {
                world.expect_file(volume)
            })?;
        self.stats(volume)?;
        let request = NodeUnpublishVolumeRequest {
            volume_id: volume.id.to_owned(),
            target_path: volume.target.to_owned(),
        };
        self.call::<NodeUnpublishVolume>("Node.NodeUnpublishVolume", &request, |_| {
            "the link is gone".into()
        })?;
        world.expect_none(volume.target)?;
        let request = NodeUnstageVolumeRequest {
            volume_id: volume.id.to_owned(),
            staging_target_path: volume.staging.to_owned(),
        };
        self.call::<NodeUnstageVolume>("Node.NodeUnstageVolume", &request, |_| {
            "unmounted, and the folder is gone".into()
        })?;
        world.expect_none(volume.staging)
    }

    fn stats(&mut self, volume: &Volume) -> anyhow::Result<VolumeUsage> {
        let request = NodeGetVolumeStatsRequest {
            volume_id: volume.id.to_owned(),
            volume_path: volume.target.to_owned(),
            ..Default::default()
        };
        let stats =
            self.call::<NodeGetVolumeStats>("Node.NodeGetVolumeStats", &request, |stats| {
                let usage = stats.usage.first();
                let free = |usage: &VolumeUsage| {
                    format!("{} of {} bytes free", usage.available, usage.total)
                };
                usage.map(free).unwrap_or_default()
            })?;
        stats.usage.into_iter().next().context("no usage")
    }

    fn call<R: Rpc>(
        &mut self,
        name: &'static str,
        request: &R::Request,
        changed: impl FnOnce(&R::Response) -> String,
    ) -> anyhow::Result<R::Response> {
        let csi = &self.csi;
        self.lines.call(name, || send::<R>(csi, request), changed)
    }
}

/// The owner of a tcp port is unknown; under Wine a port replaces the socket.
fn dial(endpoint: &Endpoint) -> anyhow::Result<Channel> {
    let mut options = ChannelOptions::default();
    if let Endpoint::Tcp(_) = endpoint {
        options.owner = Owner::Any;
    }
    Ok(Channel::connect(endpoint.clone(), options)?)
}

fn send<R: Rpc>(channel: &Channel, request: &R::Request) -> anyhow::Result<R::Response> {
    let answer = channel.call(R::PATH, &request.encode_to_vec(), Instant::now() + CALL)?;
    Ok(R::Response::decode(answer.as_slice())?)
}

fn capability() -> VolumeCapability {
    VolumeCapability {
        access_mode: Some(AccessMode {
            mode: Mode::SingleNodeMultiWriter.into(),
        }),
        access_type: Some(AccessType::Mount(MountVolume::default())),
    }
}
