use std::num::NonZeroU64;
use std::sync::Arc;

use transport::{Code, Status};
use wincsi::WinPath;
use wincsi::smb::Credentials;
use wire::csi::v1::node::{
    NodeExpandVolume, NodeGetCapabilities, NodeGetInfo, NodeGetVolumeStats, NodePublishVolume,
    NodeStageVolume, NodeUnpublishVolume, NodeUnstageVolume,
};
use wire::csi::v1::node_service_capability::rpc::Type as Capability;
use wire::csi::v1::node_service_capability::{self as capability, Rpc};
use wire::csi::v1::volume_usage::Unit;
use wire::csi::v1::{
    self, NodeExpandVolumeRequest, NodeExpandVolumeResponse, NodeGetCapabilitiesResponse,
    NodeGetInfoResponse, NodeGetVolumeStatsRequest, NodeGetVolumeStatsResponse,
    NodePublishVolumeRequest, NodePublishVolumeResponse, NodeServiceCapability,
    NodeStageVolumeRequest, NodeStageVolumeResponse, NodeUnpublishVolumeRequest,
    NodeUnpublishVolumeResponse, NodeUnstageVolumeRequest, NodeUnstageVolumeResponse,
    VolumeCondition, VolumeUsage,
};

use super::{Refusal, Router, Topology, request};
use crate::code;
use crate::kinds::block::{self as disk, Capacity};
use crate::kinds::disk::{Attributes, Luns};
use crate::kinds::share;
use crate::kinds::share::attributes::ShareRequests;
use crate::kinds::share::attributes::{ShareRequest, resolved};
use crate::life::{Publish, Stats, Volumes};
use crate::record::{Access, Lifetime, Targets, VolumeHandle};

const CAPABILITIES: [Capability; 5] = [
    Capability::StageUnstageVolume,
    Capability::GetVolumeStats,
    Capability::ExpandVolume,
    Capability::SingleNodeMultiWriter,
    Capability::VolumeCondition,
];

/// What the driver reports of its node.
#[derive(Clone, Debug, Default)]
pub struct NodeInfo {
    /// The node's id, for the controller.
    pub id: String,
    /// What azuredisk's key `LUN` counts.
    pub luns: Luns,
    /// How many volumes the node takes; zero leaves it to Kubernetes.
    pub max_volumes: i64,
    /// Where the node is.
    pub topology: Topology,
}

/// The Node service.
pub struct NodeService {
    volumes: Arc<Volumes>,
    info: NodeInfo,
    shares: Arc<ShareRequests>,
}

impl NodeService {
    /// The service of a node.
    pub fn new(volumes: Arc<Volumes>, info: NodeInfo) -> Self {
        Self {
            volumes,
            info,
            shares: Arc::default(),
        }
    }

    /// The service, with requests for shares read by these.
    #[must_use]
    pub fn with_shares(mut self, shares: &Arc<ShareRequests>) -> Self {
        self.shares = Arc::clone(shares);
        self
    }

    /// Answers its RPCs.
    pub fn register(self, router: &mut Router) {
        let service = Arc::new(self);
        service.on::<NodeGetCapabilities>(router, |_, _| Ok(capabilities()));
        service.on::<NodeGetInfo>(router, |service, _| Ok(service.info()));
        service.on::<NodeStageVolume>(router, Self::stage);
        service.on::<NodeUnstageVolume>(router, Self::unstage);
        service.on::<NodePublishVolume>(router, Self::publish);
        service.on::<NodeUnpublishVolume>(router, Self::unpublish);
        service.on::<NodeGetVolumeStats>(router, Self::stats);
        service.on::<NodeExpandVolume>(router, Self::expand);
    }

    fn on<R: wire::Rpc>(
        self: &Arc<Self>,
        router: &mut Router,
        answer: fn(&Self, R::Request) -> Result<R::Response, Status>,
    ) {
        let service = Arc::clone(self);
        router.on::<R>(move |request| answer(&service, request));
    }

    fn info(&self) -> NodeGetInfoResponse {
        let segments = self.info.topology.segments();
        NodeGetInfoResponse {
            node_id: self.info.id.clone(),
            max_volumes_per_node: self.info.max_volumes,
            accessible_topology: (!segments.is_empty()).then(|| v1::Topology {
                segments: segments.clone().into_iter().collect(),
            }),
        }
    }

    fn stage(&self, request: NodeStageVolumeRequest) -> Result<NodeStageVolumeResponse, Status> {
        let volume = request::volume(&request.volume_id)?;
        request::given("staging path", &request.staging_target_path)?;
        let share = ShareRequest {
            context: &request.volume_context,
            secrets: &request.secrets,
            capability: request.volume_capability.as_ref(),
            of_pod: Access::ReadWrite,
        };
        match share.is_one() {
            true => self.stage_share(volume, &share, &request.staging_target_path)?,
            false => self.stage_disk(volume, &request)?,
        }
        Ok(NodeStageVolumeResponse {})
    }

    fn stage_disk(
        &self,
        volume: VolumeHandle,
        request: &NodeStageVolumeRequest,
    ) -> Result<(), Status> {
        let stage = self.disk_stage(&volume, request);
        let stage = stage.map_err(|refusal| {
            self.unless_left(&volume, Lifetime::Persistent, Status::from(refusal))
        })?;
        let staged = self.volumes.stage(&stage);
        staged.map_err(|error| Status::new(error.code(), error.to_string()))
    }

    fn disk_stage(
        &self,
        volume: &VolumeHandle,
        request: &NodeStageVolumeRequest,
    ) -> Result<disk::Stage, Refusal> {
        let attributes = Attributes {
            handle: &request.volume_id,
            publish: &request.publish_context,
            volume: &request.volume_context,
        };
        let capability = request.volume_capability.as_ref();
        Ok(disk::Stage {
            volume: volume.clone(),
            disk: attributes.query(self.info.luns)?,
            staging: request::path("staging path", &request.staging_target_path)?,
            wanted: request::wanted(capability, &request.volume_context)?,
        })
    }

    fn stage_share(
        &self,
        volume: VolumeHandle,
        share: &ShareRequest<'_>,
        staging: &str,
    ) -> Result<(), Status> {
        let staging = request::path("staging path", staging)?;
        self.stage_share_at(volume, share, Lifetime::Persistent, staging)
    }

    fn stage_share_at(
        &self,
        volume: VolumeHandle,
        share: &ShareRequest<'_>,
        lifetime: Lifetime,
        staging: WinPath,
    ) -> Result<(), Status> {
        let report = |event: &str| self.volumes.report(event);
        let what = (lifetime, self.volumes.share_options_on_host());
        let wanted = self.shares.wanted(&volume, share, what, report);
        let wanted =
            wanted.map_err(|refusal| self.unless_left(&volume, lifetime, refusal.into()))?;
        let mut stage = share::Stage {
            volume: volume.clone(),
            staging,
            wanted,
        };
        let Some(dns) = self.shares.dns_for(&stage.wanted.remote) else {
            return Ok(self.volumes.stage_share(&stage)?);
        };
        self.volumes.stage_resolved_share(&mut stage, |given| {
            let resolved = resolved(given, dns);
            resolved.map_err(|refusal| self.unless_left(&volume, lifetime, refusal))
        })
    }

    /// After a final code kubelet may forget the volume: not while something of an earlier call is left of it.
    fn unless_left(&self, volume: &VolumeHandle, lifetime: Lifetime, refusal: Status) -> Status {
        match self.volumes.is_left(volume, lifetime) {
            true => Status::new(Code::Unavailable, refusal.message),
            false => refusal,
        }
    }

    fn unstage(
        &self,
        request: NodeUnstageVolumeRequest,
    ) -> Result<NodeUnstageVolumeResponse, Status> {
        let volume = request::volume(&request.volume_id)?;
        let staging = request::path("staging path", &request.staging_target_path)?;
        let unstaged = self.volumes.unstage(&volume, &staging);
        unstaged.map_err(|error| Status::new(error.code(), error.to_string()))?;
        Ok(NodeUnstageVolumeResponse {})
    }

    fn publish(
        &self,
        request: NodePublishVolumeRequest,
    ) -> Result<NodePublishVolumeResponse, Status> {
        let volume = request::volume(&request.volume_id)?;
        request::given("target path", &request.target_path)?;
        let published = self.publish_volume(&volume, &request);
        published
            .map_err(|refusal| self.unless_published(&volume, &request.target_path, refusal))?;
        Ok(NodePublishVolumeResponse {})
    }

    /// After a final code kubelet never unpublishes: not while the volume is at the target by an earlier call.
    fn unless_published(&self, volume: &VolumeHandle, target: &str, refusal: Status) -> Status {
        let is_there = || {
            let target = request::path("target path", target);
            target.is_ok_and(|target| self.volumes.is_at(volume, &target))
        };
        match code::is_final(refusal.code) && is_there() {
            true => Status::new(Code::Unavailable, refusal.message),
            false => refusal,
        }
    }

    fn publish_volume(
        &self,
        volume: &VolumeHandle,
        request: &NodePublishVolumeRequest,
    ) -> Result<(), Status> {
        let share = ShareRequest {
            context: &request.volume_context,
            secrets: &request.secrets,
            capability: request.volume_capability.as_ref(),
            of_pod: match request.readonly {
                true => Access::ReadOnly,
                false => Access::ReadWrite,
            },
        };
        match (share.is_one(), share.lifetime()) {
            (true, Lifetime::Inline) => self.publish_inline(volume, &share, request),
            (true, Lifetime::Persistent) => {
                let asked = self.shares.publish(volume, &share)?;
                self.take_over(volume, &share, &request.staging_target_path);
                self.publish_staged(volume, request, asked)
            }
            (false, Lifetime::Inline) => Err(Refusal::InlineDisk.into()),
            (false, Lifetime::Persistent) => {
                let capability = request.volume_capability.as_ref();
                let wanted = request::wanted(capability, &request.volume_context)?;
                if request.readonly && wanted.access == Access::ReadWrite {
                    // Windows has no read-only link: pods of one volume share what its disk allows.
                    tracing::warn!(
                        "volume {volume}: readOnly of the pod is accepted and has no effect"
                    );
                }
                self.publish_staged(volume, request, (wanted.targets, None))
            }
        }
    }

    /// Gives a share that another driver of this name staged a record, if the publish has a Secret: from then on it is
    /// renewed, measured and reported as this driver's own. One that cannot have it is published as it is.
    fn take_over(&self, volume: &VolumeHandle, share: &ShareRequest<'_>, staging: &str) {
        if share.secrets.is_empty() || !self.volumes.is_of_another_driver(volume, staging) {
            return;
        }
        match self.stage_share(volume.clone(), share, staging) {
            Ok(()) => tracing::info!("volume {volume} is taken over from another driver"),
            Err(refusal) => self.shares.note_not_taken_over(volume, &refusal.message),
        }
    }

    fn publish_staged(
        &self,
        volume: &VolumeHandle,
        request: &NodePublishVolumeRequest,
        (targets, credentials): (Targets, Option<Credentials>),
    ) -> Result<(), Status> {
        if request.staging_target_path.is_empty() {
            let text = "the volume is not staged: the staging path is missing";
            return Err(Status::new(Code::FailedPrecondition, text));
        }
        let publish = Publish {
            volume: volume.clone(),
            staging: request::path("staging path", &request.staging_target_path)?,
            target: request::path("target path", &request.target_path)?,
            targets,
        };
        let published = self.volumes.publish(&publish, credentials);
        published.map_err(|error| Status::new(error.code(), error.to_string()))
    }

    fn publish_inline(
        &self,
        volume: &VolumeHandle,
        share: &ShareRequest<'_>,
        request: &NodePublishVolumeRequest,
    ) -> Result<(), Status> {
        let target = request::path("target path", &request.target_path)?;
        self.stage_share_at(volume.clone(), share, Lifetime::Inline, target)
    }

    fn unpublish(
        &self,
        request: NodeUnpublishVolumeRequest,
    ) -> Result<NodeUnpublishVolumeResponse, Status> {
        let volume = request::volume(&request.volume_id)?;
        let target = request::path("target path", &request.target_path)?;
        let unpublished = self.volumes.unpublish(&volume, &target);
        unpublished.map_err(|error| Status::new(error.code(), error.to_string()))?;
        Ok(NodeUnpublishVolumeResponse {})
    }

    fn stats(
        &self,
        request: NodeGetVolumeStatsRequest,
    ) -> Result<NodeGetVolumeStatsResponse, Status> {
        let volume = request::volume(&request.volume_id)?;
        let path = request::given("volume path", &request.volume_path)?;
        let Stats { usage, abnormal } = self
            .volumes
            .stats(&volume, path)
            .map_err(|error| Status::new(error.code(), error.to_string()))?;
        let condition = VolumeCondition {
            abnormal: abnormal.is_some(),
            message: abnormal.unwrap_or_else(|| String::from("the volume is mounted and answers")),
        };
        let usage = VolumeUsage {
            // Both are optional, and left out as zero.
            available: usage.space.map_or(0, |space| signed(space.available)),
            used: usage.used().map_or(0, signed),
            total: signed(usage.total),
            unit: Unit::Bytes.into(),
        };
        Ok(NodeGetVolumeStatsResponse {
            usage: vec![usage],
            volume_condition: Some(condition),
        })
    }

    fn expand(&self, request: NodeExpandVolumeRequest) -> Result<NodeExpandVolumeResponse, Status> {
        let volume = request::volume(&request.volume_id)?;
        let path = request::given("volume path", &request.volume_path)?;
        let size = self
            .volumes
            .expand(&volume, path, capacity(request.capacity_range))
            .map_err(|error| Status::new(error.code(), error.to_string()))?;
        Ok(NodeExpandVolumeResponse {
            capacity_bytes: signed(size),
        })
    }
}

impl From<share::StageError> for Status {
    fn from(error: share::StageError) -> Self {
        Self::new(error.code(), error.to_string())
    }
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Self {
        Self::new(Code::InvalidArgument, refusal.to_string())
    }
}

fn capabilities() -> NodeGetCapabilitiesResponse {
    let capability = |one: Capability| NodeServiceCapability {
        r#type: Some(capability::Type::Rpc(Rpc { r#type: one.into() })),
    };
    NodeGetCapabilitiesResponse {
        capabilities: CAPABILITIES.map(capability).into(),
    }
}

/// CSI has 0 for no limit.
fn capacity(range: Option<v1::CapacityRange>) -> Capacity {
    let range = range.unwrap_or_default();
    let limit = u64::try_from(range.limit_bytes).ok();
    Capacity {
        wanted: u64::try_from(range.required_bytes).ok(),
        limit: limit.and_then(NonZeroU64::new),
    }
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
