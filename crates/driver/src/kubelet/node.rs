use std::num::NonZeroU64;
use std::sync::Arc;

use transport::{Code, Status};
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
    NodePublishVolumeResponse, NodeServiceCapability, NodeStageVolumeResponse,
    NodeUnpublishVolumeResponse, NodeUnstageVolumeResponse, VolumeCondition, VolumeUsage,
};

use super::{Refusal, Request, Router, Topology, request};
use crate::life::{CallError, Capacity, Volumes};

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
    /// How many volumes the node takes; zero leaves it to Kubernetes.
    pub max_volumes: i64,
    pub topology: Topology,
}

pub struct NodeService {
    volumes: Arc<Volumes>,
    info: NodeInfo,
}

impl NodeService {
    pub fn new(volumes: Arc<Volumes>, info: NodeInfo) -> Self {
        Self { volumes, info }
    }

    pub fn register(self, router: &mut Router) {
        let service = Arc::new(self);
        service.on::<NodeGetCapabilities>(router, |_, _| Ok(capabilities()));
        service.on::<NodeGetInfo>(router, |service, _| Ok(service.info()));
        service.on::<NodeStageVolume>(router, |service, request| {
            service.volumes.stage(&Request::to_stage(&request)?)?;
            Ok(NodeStageVolumeResponse {})
        });
        service.on::<NodeUnstageVolume>(router, |service, request| {
            let volume = request::volume(&request.volume_id)?;
            let staging = request::path("staging path", &request.staging_target_path)?;
            service.volumes.unstage(&volume, &staging)?;
            Ok(NodeUnstageVolumeResponse {})
        });
        service.on::<NodePublishVolume>(router, |service, request| {
            service.volumes.publish(&Request::to_publish(&request)?)?;
            Ok(NodePublishVolumeResponse {})
        });
        service.on::<NodeUnpublishVolume>(router, |service, request| {
            let volume = request::volume(&request.volume_id)?;
            let target = request::path("target path", &request.target_path)?;
            service.volumes.unpublish(&volume, &target)?;
            Ok(NodeUnpublishVolumeResponse {})
        });
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

    fn stats(
        &self,
        request: NodeGetVolumeStatsRequest,
    ) -> Result<NodeGetVolumeStatsResponse, Status> {
        let volume = request::volume(&request.volume_id)?;
        let path = request::given("volume path", &request.volume_path)?;
        let stats = self.volumes.stats(&volume, path)?;
        let usage = VolumeUsage {
            // Both are optional, and left out as zero.
            available: stats.space.map_or(0, |space| signed(space.available)),
            used: stats.used().map_or(0, signed),
            total: signed(stats.total),
            unit: Unit::Bytes.into(),
        };
        let normal = || String::from("the volume is mounted and answers");
        let condition = VolumeCondition {
            abnormal: stats.abnormal.is_some(),
            message: stats.abnormal.unwrap_or_else(normal),
        };
        Ok(NodeGetVolumeStatsResponse {
            usage: vec![usage],
            volume_condition: Some(condition),
        })
    }

    fn expand(&self, request: NodeExpandVolumeRequest) -> Result<NodeExpandVolumeResponse, Status> {
        let volume = request::volume(&request.volume_id)?;
        let path = request::given("volume path", &request.volume_path)?;
        let capacity = capacity(request.capacity_range);
        let size = self.volumes.expand(&volume, path, capacity)?;
        Ok(NodeExpandVolumeResponse {
            capacity_bytes: signed(size),
        })
    }
}

impl From<CallError> for Status {
    fn from(error: CallError) -> Self {
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
