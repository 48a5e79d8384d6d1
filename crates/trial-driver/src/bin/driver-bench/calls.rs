//! A volume's calls, as kubelet makes them: each over a connection of its own.

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

/// A volume, which is the disk of this page 0x83 identifier.
#[derive(Clone)]
pub(crate) struct Volume {
    pub(crate) page83: String,
}

impl Volume {
    pub(crate) fn numbered(index: u32) -> Self {
        let page83 = format!("6002248{index:025x}");
        Self { page83 }
    }

    pub(crate) fn staging(&self) -> String {
        format!(
            r"{KUBELET}\plugins\kubernetes.io\csi\bench\{}\globalmount",
            self.page83
        )
    }

    pub(crate) fn target(&self) -> String {
        format!(
            r"{KUBELET}\pods\{}\volumes\kubernetes.io~csi\pv\mount",
            self.page83
        )
    }

    /// Makes a call that succeeds, and returns how long it took.
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
        stage.volume_id.clone_from(&self.page83);
        stage.publish_context = [("page83".to_owned(), self.page83.clone())].into();
        stage.staging_target_path = self.staging();
        stage.volume_capability = Some(capability());
        stage
    }

    fn publish(&self) -> NodePublishVolumeRequest {
        let mut publish = NodePublishVolumeRequest::default();
        publish.volume_id.clone_from(&self.page83);
        publish.staging_target_path = self.staging();
        publish.target_path = self.target();
        publish.volume_capability = Some(capability());
        publish
    }

    fn stats(&self) -> NodeGetVolumeStatsRequest {
        NodeGetVolumeStatsRequest {
            volume_id: self.page83.clone(),
            volume_path: self.target(),
            ..Default::default()
        }
    }

    fn unpublish(&self) -> NodeUnpublishVolumeRequest {
        NodeUnpublishVolumeRequest {
            volume_id: self.page83.clone(),
            target_path: self.target(),
        }
    }

    fn unstage(&self) -> NodeUnstageVolumeRequest {
        NodeUnstageVolumeRequest {
            volume_id: self.page83.clone(),
            staging_target_path: self.staging(),
        }
    }
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
