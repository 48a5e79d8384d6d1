//! The play of kubelet: it finds a driver's socket, registers the driver, and has it stage, publish, report, unpublish
//! and unstage three volumes, a disk that grows, a share, and a LUN of an iSCSI target. Between the acts the node
//! restarts, as after a loss of power.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use clap::ValueEnum;
use transport::{Channel, ChannelOptions, Endpoint, Owner};
use wincsi::WinPath;
use wincsi::sim::demo;
use wincsi::sim::files::FileTree;
use wincsi::sim::iscsi::IscsiControl;
use wincsi::sim::smb::SmbControl;
use wincsi_trial_driver::{Volume, send, text_map};
use wire::Rpc;
use wire::csi::v1::node::{
    NodeExpandVolume, NodeGetInfo, NodeGetVolumeStats, NodePublishVolume, NodeStageVolume,
    NodeUnpublishVolume, NodeUnstageVolume,
};
use wire::csi::v1::{NodeGetInfoRequest, VolumeUsage};
use wire::pluginregistration::v1::registration::{GetInfo, NotifyRegistrationStatus};
use wire::pluginregistration::v1::{InfoRequest, PluginInfo, RegistrationStatus};

use super::printer::{self, Lines};

const GIB: i64 = 1 << 30;
const FILE: &str = "hello.txt";
const TEXT: &str = "written by a pod\n";

/// The played time: before the restart of the node, or after.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Act {
    First,
    Second,
}

/// The controller passes on the disk's identifier from the attachment.
fn disk() -> Volume {
    Volume {
        publish_context: text_map([("page83", demo::DISK_PAGE83)]),
        ..Volume::new("demo-volume", "demo", "demo")
    }
}

fn share() -> Volume {
    let source = demo::SHARE.replace('\\', "/");
    let secrets = text_map([
        ("username", demo::SMB_USER),
        ("password", demo::SMB_PASSWORD),
    ]);
    Volume {
        volume_context: text_map([("source", &source)]),
        stage_secrets: secrets.clone(),
        publish_secrets: secrets,
        ..Volume::new("demo-share", "share", "demo")
    }
}

/// As democratic-csi writes it.
fn lun() -> Volume {
    Volume {
        volume_context: text_map([
            ("node_attach_driver", "iscsi"),
            ("portal", demo::ISCSI_ADDRESS),
            ("portals", ""),
            ("interface", ""),
            ("iqn", demo::ISCSI_TARGET),
            ("lun", "0"),
        ]),
        ..Volume::new("demo-lun", "lun", "demo")
    }
}

fn file_of(volume: &Volume) -> String {
    format!(r"{}\{FILE}", volume.target)
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
        let file: WinPath = file_of(volume).parse()?;
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
        let file: WinPath = file_of(volume).parse()?;
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

    fn expect_sessions(&self, expected: &[&str]) -> anyhow::Result<()> {
        let sessions = IscsiControl::at(&self.folder).sessions()?;
        ensure!(sessions == expected, "the node has sessions {sessions:?}");
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
    let (disk, share, lun) = (disk(), share(), lun());
    let mut kubelet = Kubelet::register(lines, registration)?;
    kubelet.stage(&disk, &format!("the disk {} is mounted", demo::DISK_PAGE83))?;
    kubelet.publish(&disk)?;
    match act {
        Act::First => {
            kubelet.use_disk(world, &disk)?;
            let staged = format!("{} is mapped, and linked", demo::SHARE);
            kubelet.stage(&share, &staged)?;
            kubelet.publish(&share)?;
            kubelet.use_share(world, &share)?;
            kubelet.begin_lun(world, &lun)?;
            kubelet.write(world, &lun)
        }
        Act::Second => {
            kubelet.end(world, &disk)?;
            kubelet.renew(world, &share)?;
            kubelet.end(world, &share)?;
            world.expect_no_mapping()?;
            kubelet.begin_lun(world, &lun)?;
            kubelet.end(world, &lun)?;
            kubelet.expect_sessions(world, "ended with its last volume", &[])
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
        let mut kubelet = Self { lines, csi };
        kubelet.call::<NodeGetInfo>(&NodeGetInfoRequest {}, |node| {
            format!("CSINode gets the node's id {:?}", node.node_id)
        })?;
        let registered = RegistrationStatus {
            plugin_registered: true,
            error: String::new(),
        };
        kubelet.lines.call(
            "Registration.NotifyRegistrationStatus",
            || send::<NotifyRegistrationStatus>(&registry, &registered),
            |_| format!("{} is registered", info.name),
        )?;
        Ok(kubelet)
    }

    fn stage(&mut self, volume: &Volume, staged: &str) -> anyhow::Result<()> {
        self.call::<NodeStageVolume>(&volume.stage(), |_| {
            format!("{staged} at {}", volume.staging)
        })?;
        Ok(())
    }

    fn publish(&mut self, volume: &Volume) -> anyhow::Result<()> {
        self.call::<NodePublishVolume>(&volume.publish(), |_| {
            format!("a link leads there from {}", volume.target)
        })?;
        Ok(())
    }

    /// A pod writes, and its volume grows.
    fn use_disk(&mut self, world: &World, volume: &Volume) -> anyhow::Result<()> {
        let before = self.stats(volume)?;
        self.write(world, volume)?;
        self.lines
            .meanwhile("the cloud grows the disk", "3 GiB", || world.grow())?;
        self.call::<NodeExpandVolume>(&volume.expand(3 * GIB), |grown| {
            format!("{} bytes", grown.capacity_bytes)
        })?;
        let after = self.stats(volume)?;
        ensure!(after.total > before.total, "the filesystem did not grow");
        Ok(())
    }

    fn write(&mut self, world: &World, volume: &Volume) -> anyhow::Result<()> {
        self.lines
            .meanwhile("a pod writes a file", &file_of(volume), || {
                world.write(volume).map(drop)
            })
    }

    /// A session is no more after a restart, and a stage makes it again.
    fn begin_lun(&mut self, world: &World, volume: &Volume) -> anyhow::Result<()> {
        world.expect_sessions(&[])?;
        self.stage(volume, "its LUN is mounted")?;
        self.expect_sessions(world, demo::ISCSI_TARGET, &[demo::ISCSI_TARGET])?;
        self.publish(volume)
    }

    fn expect_sessions(&mut self, world: &World, shown: &str, all: &[&str]) -> anyhow::Result<()> {
        let check = || world.expect_sessions(all);
        self.lines.meanwhile("the iSCSI session", shown, check)
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
        self.call::<NodeUnpublishVolume>(&volume.unpublish(), |_| "the link is gone".into())?;
        world.expect_none(&volume.target)?;
        self.call::<NodeUnstageVolume>(&volume.unstage(), |_| {
            "unmounted, and the folder is gone".into()
        })?;
        world.expect_none(&volume.staging)
    }

    fn stats(&mut self, volume: &Volume) -> anyhow::Result<VolumeUsage> {
        let stats = self.call::<NodeGetVolumeStats>(&volume.stats(), |stats| {
            let usage = stats.usage.first();
            let free =
                |usage: &VolumeUsage| format!("{} of {} bytes free", usage.available, usage.total);
            usage.map(free).unwrap_or_default()
        })?;
        stats.usage.into_iter().next().context("no usage")
    }

    fn call<R: Rpc>(
        &mut self,
        request: &R::Request,
        changed: impl FnOnce(&R::Response) -> String,
    ) -> anyhow::Result<R::Response> {
        let (name, csi) = (format!("Node.{}", R::METHOD.name), &self.csi);
        self.lines.call(&name, || send::<R>(csi, request), changed)
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
