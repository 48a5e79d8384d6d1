use std::num::NonZeroU64;
use std::sync::Arc;

use program::hidden;
use transport::{Code, Status};
use wire::Rpc;
use wire::csi::v1::node::{
    NodeExpandVolume, NodeGetCapabilities, NodeGetInfo, NodeGetVolumeStats, NodePublishVolume,
    NodeStageVolume, NodeUnpublishVolume, NodeUnstageVolume,
};
use wire::csi::v1::node_service_capability::rpc::Type as Capability;
use wire::csi::v1::volume_usage::Unit;
use wire::csi::v1::{
    CapacityRange, NodeExpandVolumeRequest, NodeExpandVolumeResponse, NodeGetCapabilitiesResponse,
    NodeGetInfoResponse, NodeGetVolumeStatsRequest, NodeGetVolumeStatsResponse,
    NodePublishVolumeResponse, NodeServiceCapability, NodeStageVolumeResponse,
    NodeUnpublishVolumeResponse, NodeUnstageVolumeResponse, VolumeCondition, VolumeUsage,
    node_service_capability as capability,
};

use super::{ForVolume, Refusal, Request, Router, request};
use crate::life::{Call, CallError, Capacity, Volumes};

type VolumeCall<'a> = Call<'a, Volumes>;

const CAPABILITIES: [Capability; 5] = [
    Capability::StageUnstageVolume,
    Capability::GetVolumeStats,
    Capability::ExpandVolume,
    Capability::SingleNodeMultiWriter,
    Capability::VolumeCondition,
];

/// Answers CSI's Node service: for these volumes, on a node that reports this of itself.
pub fn serve_node(volumes: &Arc<Volumes>, info: NodeGetInfoResponse, router: &mut Router) {
    router.on::<NodeGetCapabilities>(|_| Ok(capabilities()));
    router.on::<NodeGetInfo>(move |_| Ok(info.clone()));
    on::<NodeStageVolume>(router, volumes, |volumes, request| {
        volumes.stage(&Request::to_stage(&request)?)?;
        Ok(NodeStageVolumeResponse {})
    });
    on::<NodeUnstageVolume>(router, volumes, |volumes, request| {
        let volume = request::volume(&request.volume_id)?;
        let staging = request::path("staging path", &request.staging_target_path)?;
        volumes.unstage(&volume, &staging)?;
        Ok(NodeUnstageVolumeResponse {})
    });
    on::<NodePublishVolume>(router, volumes, |volumes, request| {
        volumes.publish(&Request::to_publish(&request)?)?;
        Ok(NodePublishVolumeResponse {})
    });
    on::<NodeUnpublishVolume>(router, volumes, |volumes, request| {
        let volume = request::volume(&request.volume_id)?;
        let target = request::path("target path", &request.target_path)?;
        volumes.unpublish(&volume, &target)?;
        Ok(NodeUnpublishVolumeResponse {})
    });
    on::<NodeGetVolumeStats>(router, volumes, stats);
    on::<NodeExpandVolume>(router, volumes, expand);
}

fn on<R: Rpc<Request: ForVolume>>(
    router: &mut Router,
    volumes: &Arc<Volumes>,
    answer: fn(&VolumeCall<'_>, R::Request) -> Result<R::Response, Status>,
) {
    let volumes = Arc::clone(volumes);
    router.on_volume::<R>(move |request, left| answer(&volumes.within(left), request));
}

fn stats(
    volumes: &VolumeCall<'_>,
    request: NodeGetVolumeStatsRequest,
) -> Result<NodeGetVolumeStatsResponse, Status> {
    let volume = request::volume(&request.volume_id)?;
    let path = request::given("volume path", &request.volume_path)?;
    let stats = volumes.stats(&volume, path)?;
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
        message: hidden::shown(&stats.abnormal.unwrap_or_else(normal)),
    };
    Ok(NodeGetVolumeStatsResponse {
        usage: vec![usage],
        volume_condition: Some(condition),
    })
}

fn expand(
    volumes: &VolumeCall<'_>,
    request: NodeExpandVolumeRequest,
) -> Result<NodeExpandVolumeResponse, Status> {
    let volume = request::volume(&request.volume_id)?;
    let path = request::given("volume path", &request.volume_path)?;
    let size = volumes.expand(&volume, path, capacity(request.capacity_range))?;
    Ok(NodeExpandVolumeResponse {
        capacity_bytes: signed(size),
    })
}

impl From<CallError> for Status {
    fn from(error: CallError) -> Self {
        Self::new(error.code(), hidden::shown(&error.to_string()))
    }
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Self {
        Self::new(Code::InvalidArgument, refusal.to_string())
    }
}

fn capabilities() -> NodeGetCapabilitiesResponse {
    let capability = |one: Capability| NodeServiceCapability {
        r#type: Some(capability::Type::Rpc(capability::Rpc {
            r#type: one.into(),
        })),
    };
    NodeGetCapabilitiesResponse {
        capabilities: CAPABILITIES.map(capability).into(),
    }
}

/// CSI has 0 for no limit.
fn capacity(range: Option<CapacityRange>) -> Capacity {
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
