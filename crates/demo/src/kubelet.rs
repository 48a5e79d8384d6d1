//! The play of kubelet: it finds a driver's socket, registers the driver, and has it stage, publish, report, grow,
//! unpublish and unstage a volume. Between the acts the node restarts, as a machine does that lost its power.

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
const VOLUME: &str = "demo-volume";
const STAGING: &str = r"C:\var\lib\kubelet\plugins\kubernetes.io\csi\wincsi.io\demo\globalmount";
const TARGET: &str = r"C:\var\lib\kubelet\pods\demo\volumes\kubernetes.io~csi\demo\mount";
const FILE: &str = "hello.txt";
const TEXT: &str = "written by a pod\n";

/// What is played: the time before the restart of the node, or after.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Act {
    First,
    Second,
}

/// What is around the driver: the hardware of its node, and the files as a pod sees them.
pub(crate) struct World {
    folder: PathBuf,
    files: FileTree,
    file: WinPath,
}

impl World {
    pub(crate) fn of(folder: &Path, drive_c: &Path) -> anyhow::Result<Self> {
        Ok(Self {
            folder: folder.to_owned(),
            files: FileTree::beside(folder, drive_c),
            file: format!(r"{TARGET}\{FILE}").parse()?,
        })
    }

    fn write(&self) -> anyhow::Result<()> {
        self.files.write_file(&self.file, TEXT.as_bytes())?;
        let place = self.files.host_path(&self.file)?;
        let kept = fs::read_to_string(&place)?;
        ensure!(kept == TEXT, "{} has something else", place.display());
        Ok(())
    }

    fn expect_file(&self) -> anyhow::Result<()> {
        let kept = self.files.read_file(&self.file)?;
        ensure!(kept == TEXT.as_bytes(), "{}: another text", self.file);
        Ok(())
    }

    fn expect_none(&self, path: &str) -> anyhow::Result<()> {
        let left = self.files.host_path(&path.parse()?);
        let left = left.is_ok_and(|place| place.exists());
        ensure!(!left, "{path} is left");
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
    let mut kubelet = Kubelet::register(lines, registration)?;
    kubelet.stage()?;
    kubelet.publish()?;
    match act {
        Act::First => kubelet.use_volume(world),
        Act::Second => kubelet.end(world),
    }
}

/// A kubelet that knows a driver.
struct Kubelet<'a> {
    lines: &'a mut Lines,
    csi: Channel,
}

impl<'a> Kubelet<'a> {
    /// Dials the registration, and then CSI where the registration says that it is.
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

    fn stage(&mut self) -> anyhow::Result<()> {
        let request = NodeStageVolumeRequest {
            volume_id: VOLUME.to_owned(),
            publish_context: publish_context(),
            staging_target_path: STAGING.to_owned(),
            volume_capability: Some(capability()),
            secrets: BTreeMap::new(),
            volume_context: BTreeMap::new(),
        };
        self.call::<NodeStageVolume>("Node.NodeStageVolume", &request, |_| {
            format!("the disk {} is mounted at {STAGING}", demo::DISK_PAGE83)
        })?;
        Ok(())
    }

    fn publish(&mut self) -> anyhow::Result<()> {
        let request = NodePublishVolumeRequest {
            volume_id: VOLUME.to_owned(),
            publish_context: publish_context(),
            staging_target_path: STAGING.to_owned(),
            target_path: TARGET.to_owned(),
            volume_capability: Some(capability()),
            readonly: false,
            secrets: BTreeMap::new(),
            volume_context: BTreeMap::new(),
        };
        self.call::<NodePublishVolume>("Node.NodePublishVolume", &request, |_| {
            format!("a link leads there from {TARGET}")
        })?;
        Ok(())
    }

    /// The first act from here on: a pod writes, and its volume grows.
    fn use_volume(&mut self, world: &World) -> anyhow::Result<()> {
        let before = self.stats()?;
        let written = world.file.to_string();
        self.lines
            .meanwhile("a pod writes a file", &written, || world.write())?;
        self.lines
            .meanwhile("the cloud grows the disk", "3 GiB", || world.grow())?;
        let request = NodeExpandVolumeRequest {
            volume_id: VOLUME.to_owned(),
            volume_path: TARGET.to_owned(),
            staging_target_path: STAGING.to_owned(),
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
        let after = self.stats()?;
        ensure!(after.total > before.total, "the filesystem did not grow");
        Ok(())
    }

    /// The second act from here on: the pod has its data again, and ends.
    fn end(&mut self, world: &World) -> anyhow::Result<()> {
        self.lines
            .meanwhile("the pod's file", "is there again", || world.expect_file())?;
        self.stats()?;
        let request = NodeUnpublishVolumeRequest {
            volume_id: VOLUME.to_owned(),
            target_path: TARGET.to_owned(),
        };
        self.call::<NodeUnpublishVolume>("Node.NodeUnpublishVolume", &request, |_| {
            "the link is gone".into()
        })?;
        world.expect_none(TARGET)?;
        let request = NodeUnstageVolumeRequest {
            volume_id: VOLUME.to_owned(),
            staging_target_path: STAGING.to_owned(),
        };
        self.call::<NodeUnstageVolume>("Node.NodeUnstageVolume", &request, |_| {
            "unmounted, and the folder is gone".into()
        })?;
        world.expect_none(STAGING)
    }

    fn stats(&mut self) -> anyhow::Result<VolumeUsage> {
        let request = NodeGetVolumeStatsRequest {
            volume_id: VOLUME.to_owned(),
            volume_path: TARGET.to_owned(),
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

/// Nobody can say whose a tcp port is, which takes the place of a socket under Wine.
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

/// What the controller hands on from the attachment: by what the disk is told.
fn publish_context() -> BTreeMap<String, String> {
    BTreeMap::from([("page83".to_owned(), demo::DISK_PAGE83.to_owned())])
}

fn capability() -> VolumeCapability {
    VolumeCapability {
        access_mode: Some(AccessMode {
            mode: Mode::SingleNodeMultiWriter.into(),
        }),
        access_type: Some(AccessType::Mount(MountVolume::default())),
    }
}
