//! A volume's calls, as kubelet makes them.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use prost::Message as _;
use transport::{Channel, ChannelOptions, Endpoint};
use wire::Rpc;
use wire::csi::v1::node::{
    NodeGetVolumeStats, NodePublishVolume, NodeStageVolume, NodeUnpublishVolume, NodeUnstageVolume,
};
use wire::csi::v1::volume_capability::access_mode::Mode;
use wire::csi::v1::volume_capability::{AccessMode, AccessType, MountVolume};
use wire::csi::v1::{
    CapacityRange, NodeExpandVolumeRequest, NodeGetVolumeStatsRequest, NodePublishVolumeRequest,
    NodeStageVolumeRequest, NodeUnpublishVolumeRequest, NodeUnstageVolumeRequest, VolumeCapability,
};

/// Kubelet's deadline.
const LIMIT: Duration = Duration::from_secs(120);

/// The user of the shares.
pub const USER: &str = r"FILES\pods";
pub const PASSWORD: &str = "correct horse";

const KUBELET: &str = r"C:\var\lib\kubelet";

/// A call of a volume's life.
#[derive(Clone, Copy)]
pub enum Step {
    Stage,
    Publish,
    Stats,
    Unpublish,
    Unstage,
}

impl Step {
    pub const LIFE: [Self; 5] = [
        Self::Stage,
        Self::Publish,
        Self::Stats,
        Self::Unpublish,
        Self::Unstage,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Stage => NodeStageVolume::METHOD.name,
            Self::Publish => NodePublishVolume::METHOD.name,
            Self::Stats => NodeGetVolumeStats::METHOD.name,
            Self::Unpublish => NodeUnpublishVolume::METHOD.name,
            Self::Unstage => NodeUnstageVolume::METHOD.name,
        }
    }
}

/// A volume, as its PersistentVolume, its Secrets and its attachment describe it.
#[derive(Clone, Default)]
pub struct Volume {
    pub handle: String,
    pub staging: String,
    pub target: String,
    pub publish_context: BTreeMap<String, String>,
    pub volume_context: BTreeMap<String, String>,
    pub stage_secrets: BTreeMap<String, String>,
    pub publish_secrets: BTreeMap<String, String>,
}

impl Volume {
    /// Kubelet's paths for a volume of this name, and a pod.
    pub fn new(handle: &str, name: &str, pod: &str) -> Self {
        Self {
            handle: handle.to_owned(),
            staging: format!(r"{KUBELET}\plugins\kubernetes.io\csi\wincsi.io\{name}\globalmount"),
            target: format!(r"{KUBELET}\pods\{pod}\volumes\kubernetes.io~csi\{name}\mount"),
            ..Self::default()
        }
    }

    /// The disk of this number, with its page 0x83 identifier as the handle.
    pub fn disk(index: u32) -> Self {
        let page83 = format!("6002248{index:025x}");
        Self {
            publish_context: text_map([("page83", &page83)]),
            ..Self::new(&page83, &page83, &page83)
        }
    }

    /// The folder of this number on a share.
    pub fn folder(source: &str, index: u32) -> Self {
        let folder = Self::folder_name(index);
        let handle = format!("{}#{folder}", source.trim_start_matches('/'));
        let name = handle.replace(['/', '#'], "-");
        Self {
            volume_context: text_map([("source", source), ("subDir", &folder)]),
            stage_secrets: text_map([("username", USER), ("password", PASSWORD)]),
            ..Self::new(&handle, &name, &name)
        }
    }

    /// A LUN of a target, whose portals are tried in this order.
    pub fn lun(iqn: &str, lun: u32, [first, second]: [&str; 2]) -> Self {
        let handle = format!("{iqn}-{lun}");
        let name = handle.replace(':', "-");
        let lun = lun.to_string();
        Self {
            volume_context: text_map([
                ("node_attach_driver", "iscsi"),
                ("portal", first),
                ("portals", second),
                ("iqn", iqn),
                ("lun", &lun),
            ]),
            ..Self::new(&handle, &name, &name)
        }
    }

    pub fn folder_name(index: u32) -> String {
        format!("pv-{index}")
    }

    /// Makes a call; it must succeed. Returns its time.
    pub fn call(&self, step: Step, endpoint: &Endpoint) -> anyhow::Result<Duration> {
        match step {
            Step::Stage => call::<NodeStageVolume>(endpoint, &self.stage()),
            Step::Publish => call::<NodePublishVolume>(endpoint, &self.publish()),
            Step::Stats => call::<NodeGetVolumeStats>(endpoint, &self.stats()),
            Step::Unpublish => call::<NodeUnpublishVolume>(endpoint, &self.unpublish()),
            Step::Unstage => call::<NodeUnstageVolume>(endpoint, &self.unstage()),
        }
    }

    pub fn stage(&self) -> NodeStageVolumeRequest {
        NodeStageVolumeRequest {
            volume_id: self.handle.clone(),
            publish_context: self.publish_context.clone(),
            staging_target_path: self.staging.clone(),
            volume_capability: Some(capability()),
            secrets: self.stage_secrets.clone(),
            volume_context: self.volume_context.clone(),
        }
    }

    pub fn publish(&self) -> NodePublishVolumeRequest {
        NodePublishVolumeRequest {
            volume_id: self.handle.clone(),
            publish_context: self.publish_context.clone(),
            staging_target_path: self.staging.clone(),
            target_path: self.target.clone(),
            volume_capability: Some(capability()),
            readonly: false,
            secrets: self.publish_secrets.clone(),
            volume_context: self.volume_context.clone(),
        }
    }

    pub fn expand(&self, bytes: i64) -> NodeExpandVolumeRequest {
        NodeExpandVolumeRequest {
            volume_id: self.handle.clone(),
            volume_path: self.target.clone(),
            staging_target_path: self.staging.clone(),
            capacity_range: Some(CapacityRange {
                required_bytes: bytes,
                limit_bytes: 0,
            }),
            volume_capability: Some(capability()),
            secrets: BTreeMap::new(),
        }
    }

    pub fn stats(&self) -> NodeGetVolumeStatsRequest {
        NodeGetVolumeStatsRequest {
            volume_id: self.handle.clone(),
            volume_path: self.target.clone(),
            ..Default::default()
        }
    }

    pub fn unpublish(&self) -> NodeUnpublishVolumeRequest {
        NodeUnpublishVolumeRequest {
            volume_id: self.handle.clone(),
            target_path: self.target.clone(),
        }
    }

    pub fn unstage(&self) -> NodeUnstageVolumeRequest {
        NodeUnstageVolumeRequest {
            volume_id: self.handle.clone(),
            staging_target_path: self.staging.clone(),
        }
    }
}

pub fn text_map<const N: usize>(entries: [(&str, &str); N]) -> BTreeMap<String, String> {
    let owned = entries.map(|(key, value)| (key.to_owned(), value.to_owned()));
    owned.into()
}

fn capability() -> VolumeCapability {
    VolumeCapability {
        access_type: Some(AccessType::Mount(MountVolume::default())),
        access_mode: Some(AccessMode {
            mode: Mode::SingleNodeWriter.into(),
        }),
    }
}

/// Each over a connection of its own.
fn call<R: Rpc>(endpoint: &Endpoint, request: &R::Request) -> anyhow::Result<Duration> {
    let began = Instant::now();
    let channel = Channel::connect(endpoint.clone(), ChannelOptions::default())?;
    send::<R>(&channel, request)?;
    Ok(began.elapsed())
}

/// Makes a call within kubelet's deadline.
pub fn send<R: Rpc>(channel: &Channel, request: &R::Request) -> anyhow::Result<R::Response> {
    let answer = channel.call(R::PATH, &request.encode_to_vec(), Instant::now() + LIMIT)?;
    Ok(R::Response::decode(answer.as_slice())?)
}
