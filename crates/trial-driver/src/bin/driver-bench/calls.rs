//! A volume's calls, as kubelet makes them: each over a connection of its own.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use prost::Message;
use transport::{Channel, ChannelOptions, Endpoint};
use wire::Rpc;
use wire::csi::v1::node::{
    NodeGetVolumeStats, NodePublishVolume, NodeStageVolume, NodeUnpublishVolume, NodeUnstageVolume,
};
use wire::csi::v1::volume_capability::access_mode::Mode;
use wire::csi::v1::volume_capability::{AccessMode, AccessType, MountVolume};
use wire::csi::v1::{
    NodeGetVolumeStatsRequest, NodePublishVolumeRequest, NodeStageVolumeRequest,
    NodeUnpublishVolumeRequest, NodeUnstageVolumeRequest, VolumeCapability,
};

/// Kubelet's deadline.
const LIMIT: Duration = Duration::from_secs(120);

/// The user of the shares.
pub(crate) const USER: &str = r"FILES\pods";
pub(crate) const PASSWORD: &str = "correct horse";

const KUBELET: &str = r"C:\var\lib\kubelet";

/// A call of a volume's life.
#[derive(Clone, Copy)]
pub(crate) enum Step {
    Stage,
    Publish,
    Stats,
    Unpublish,
    Unstage,
}

impl Step {
    pub(crate) const LIFE: [Self; 5] = [
        Self::Stage,
        Self::Publish,
        Self::Stats,
        Self::Unpublish,
        Self::Unstage,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Stage => NodeStageVolume::METHOD.name,
            Self::Publish => NodePublishVolume::METHOD.name,
            Self::Stats => NodeGetVolumeStats::METHOD.name,
            Self::Unpublish => NodeUnpublishVolume::METHOD.name,
            Self::Unstage => NodeUnstageVolume::METHOD.name,
        }
    }
}

/// A volume, as its PersistentVolume and its Secret describe it.
#[derive(Clone, Default)]
pub(crate) struct Volume {
    pub(crate) handle: String,
    publish_context: BTreeMap<String, String>,
    volume_context: BTreeMap<String, String>,
    secrets: BTreeMap<String, String>,
}

impl Volume {
    /// The disk of this number, with its page 0x83 identifier as the handle.
    pub(crate) fn disk(index: u32) -> Self {
        let page83 = format!("6002248{index:025x}");
        Self {
            handle: page83.clone(),
            publish_context: text_map([("page83", page83)]),
            ..Self::default()
        }
    }

    /// The folder of this number on a share.
    pub(crate) fn folder(source: &str, index: u32) -> Self {
        let folder = Self::folder_name(index);
        Self {
            handle: format!("{}#{folder}", source.trim_start_matches('/')),
            volume_context: text_map([("source", source.to_owned()), ("subDir", folder)]),
            secrets: text_map([
                ("username", USER.to_owned()),
                ("password", PASSWORD.to_owned()),
            ]),
            ..Self::default()
        }
    }

    pub(crate) fn folder_name(index: u32) -> String {
        format!("pv-{index}")
    }

    pub(crate) fn staging(&self) -> String {
        let name = self.name();
        format!(r"{KUBELET}\plugins\kubernetes.io\csi\bench\{name}\globalmount")
    }

    pub(crate) fn target(&self) -> String {
        let name = self.name();
        format!(r"{KUBELET}\pods\{name}\volumes\kubernetes.io~csi\pv\mount")
    }

    fn name(&self) -> String {
        self.handle.replace(['/', '#'], "-")
    }

    /// Makes a call; it must succeed. Returns its time.
    pub(crate) fn call(&self, step: Step, endpoint: &Endpoint) -> anyhow::Result<Duration> {
        match step {
            Step::Stage => call::<NodeStageVolume>(endpoint, &self.stage()),
            Step::Publish => call::<NodePublishVolume>(endpoint, &self.publish()),
            Step::Stats => call::<NodeGetVolumeStats>(endpoint, &self.stats()),
            Step::Unpublish => call::<NodeUnpublishVolume>(endpoint, &self.unpublish()),
            Step::Unstage => call::<NodeUnstageVolume>(endpoint, &self.unstage()),
        }
    }

    fn stage(&self) -> NodeStageVolumeRequest {
        let mut stage = NodeStageVolumeRequest::default();
        stage.volume_id.clone_from(&self.handle);
        stage.publish_context.clone_from(&self.publish_context);
        stage.volume_context.clone_from(&self.volume_context);
        stage.secrets.clone_from(&self.secrets);
        stage.staging_target_path = self.staging();
        stage.volume_capability = Some(capability());
        stage
    }

    fn publish(&self) -> NodePublishVolumeRequest {
        let mut publish = NodePublishVolumeRequest::default();
        publish.volume_id.clone_from(&self.handle);
        publish.volume_context.clone_from(&self.volume_context);
        publish.staging_target_path = self.staging();
        publish.target_path = self.target();
        publish.volume_capability = Some(capability());
        publish
    }

    fn stats(&self) -> NodeGetVolumeStatsRequest {
        NodeGetVolumeStatsRequest {
            volume_id: self.handle.clone(),
            volume_path: self.target(),
            ..Default::default()
        }
    }

    fn unpublish(&self) -> NodeUnpublishVolumeRequest {
        NodeUnpublishVolumeRequest {
            volume_id: self.handle.clone(),
            target_path: self.target(),
        }
    }

    fn unstage(&self) -> NodeUnstageVolumeRequest {
        NodeUnstageVolumeRequest {
            volume_id: self.handle.clone(),
            staging_target_path: self.staging(),
        }
    }
}

fn text_map<const N: usize>(entries: [(&str, String); N]) -> BTreeMap<String, String> {
    let entries = entries.into_iter();
    entries
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
}

fn capability() -> VolumeCapability {
    VolumeCapability {
        access_type: Some(AccessType::Mount(MountVolume::default())),
        access_mode: Some(AccessMode {
            mode: Mode::SingleNodeWriter.into(),
        }),
    }
}

fn call<R: Rpc>(endpoint: &Endpoint, request: &R::Request) -> anyhow::Result<Duration> {
    let began = Instant::now();
    let channel = Channel::connect(endpoint.clone(), ChannelOptions::default())?;
    channel.call(R::PATH, &request.encode_to_vec(), began + LIMIT)?;
    Ok(began.elapsed())
}
