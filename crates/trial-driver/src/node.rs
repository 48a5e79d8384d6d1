//! The Node service: what it says to kubelet is here, what it does is `examples/driver`.

use std::sync::Arc;
use std::time::Duration;

use example_driver::Driver;
use node::NewSize;
use node::api::{Condition, Error, NodeApi};
use os::{Deadline, WinPath};
use os_sim::HardwareControl;
use transport::{Code, Status};
use wire::csi::v1::node::{
    NodeExpandVolume, NodeGetCapabilities, NodeGetInfo, NodeGetVolumeStats, NodePublishVolume,
    NodeStageVolume, NodeUnpublishVolume, NodeUnstageVolume,
};
use wire::csi::v1::node_service_capability::rpc::Type as Operation;
use wire::csi::v1::node_service_capability::{self as capability, Rpc};
use wire::csi::v1::volume_capability::AccessType;
use wire::csi::v1::volume_usage::Unit;
use wire::csi::v1::{
    NodeExpandVolumeRequest, NodeExpandVolumeResponse, NodeGetCapabilitiesResponse,
    NodeGetInfoResponse, NodeGetVolumeStatsRequest, NodeGetVolumeStatsResponse,
    NodePublishVolumeRequest, NodePublishVolumeResponse, NodeServiceCapability,
    NodeStageVolumeRequest, NodeStageVolumeResponse, NodeUnpublishVolumeRequest,
    NodeUnpublishVolumeResponse, NodeUnstageVolumeRequest, NodeUnstageVolumeResponse,
    VolumeCapability, VolumeUsage,
};

use crate::router::Router;
use crate::volume::{VolumeName, check_given, named, not_found};

/// How long a call may take: less than the two minutes after which kubelet calls again.
const CALL: Duration = Duration::from_secs(110);

const OPERATIONS: [Operation; 3] = [
    Operation::StageUnstageVolume,
    Operation::GetVolumeStats,
    Operation::ExpandVolume,
];

/// Whether a volume is really published.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Publishing {
    /// As every driver's.
    Works,
    /// Nothing is done, and success is reported.
    Broken,
}

/// The node that kubelet runs on.
pub(crate) struct NodeService {
    pub(crate) driver: Driver,
    pub(crate) node: Arc<dyn NodeApi>,
    /// To tell a volume that does not exist from one whose disk is late.
    pub(crate) hardware: HardwareControl,
    pub(crate) id: String,
    pub(crate) publishing: Publishing,
}

impl NodeService {
    pub(crate) fn register(self, router: &mut Router) {
        let service = Arc::new(self);
        let id = service.id.clone();
        router.on::<NodeGetCapabilities>(|_| Ok(capabilities()));
        router.on::<NodeGetInfo>(move |_| Ok(info(&id)));
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

    fn stage(&self, request: NodeStageVolumeRequest) -> Result<NodeStageVolumeResponse, Status> {
        check_given("volume id", &request.volume_id)?;
        check_given("staging path", &request.staging_target_path)?;
        check_wanted(request.volume_capability.as_ref())?;
        let volume = self.existing(&request.volume_id)?;
        let staging = path(&request.staging_target_path)?;
        self.driver
            .stage_disk(&volume.query()?, &staging)
            .map_err(failed)?;
        Ok(NodeStageVolumeResponse {})
    }

    fn unstage(
        &self,
        request: NodeUnstageVolumeRequest,
    ) -> Result<NodeUnstageVolumeResponse, Status> {
        check_given("volume id", &request.volume_id)?;
        check_given("staging path", &request.staging_target_path)?;
        let volume = named(&request.volume_id)?;
        let staging = path(&request.staging_target_path)?;
        self.driver
            .unstage_disk(&volume.query()?, &staging)
            .map_err(failed)?;
        Ok(NodeUnstageVolumeResponse {})
    }

    fn publish(
        &self,
        request: NodePublishVolumeRequest,
    ) -> Result<NodePublishVolumeResponse, Status> {
        check_given("volume id", &request.volume_id)?;
        check_given("target path", &request.target_path)?;
        check_wanted(request.volume_capability.as_ref())?;
        self.existing(&request.volume_id)?;
        let target = path(&request.target_path)?;
        if request.staging_target_path.is_empty() {
            let text = "the volume is not staged: the staging path is empty";
            return Err(Status::new(Code::FailedPrecondition, text));
        }
        let staging = path(&request.staging_target_path)?;
        self.check_staged(&staging)?;
        if self.publishing == Publishing::Works {
            self.driver.publish(&staging, &target).map_err(failed)?;
        }
        Ok(NodePublishVolumeResponse {})
    }

    fn unpublish(
        &self,
        request: NodeUnpublishVolumeRequest,
    ) -> Result<NodeUnpublishVolumeResponse, Status> {
        check_given("volume id", &request.volume_id)?;
        check_given("target path", &request.target_path)?;
        named(&request.volume_id)?;
        let target = path(&request.target_path)?;
        self.driver.unpublish(&target).map_err(failed)?;
        Ok(NodeUnpublishVolumeResponse {})
    }

    fn stats(
        &self,
        request: NodeGetVolumeStatsRequest,
    ) -> Result<NodeGetVolumeStatsResponse, Status> {
        check_given("volume id", &request.volume_id)?;
        check_given("volume path", &request.volume_path)?;
        self.existing(&request.volume_id)?;
        let at = volume_path(&request.volume_path)?;
        let deadline = self.deadline();
        let volume = self
            .node
            .volumes()
            .of_target(&at, deadline)
            .map_err(failed)?;
        let space = self
            .node
            .volumes()
            .stats(volume, deadline)
            .map_err(failed)?;
        let signed = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
        let usage = VolumeUsage {
            available: signed(space.free),
            total: signed(space.total),
            used: signed(space.total.saturating_sub(space.free)),
            unit: Unit::Bytes.into(),
        };
        Ok(NodeGetVolumeStatsResponse {
            usage: vec![usage],
            ..Default::default()
        })
    }

    fn expand(&self, request: NodeExpandVolumeRequest) -> Result<NodeExpandVolumeResponse, Status> {
        check_given("volume id", &request.volume_id)?;
        check_given("volume path", &request.volume_path)?;
        self.existing(&request.volume_id)?;
        let at = volume_path(&request.volume_path)?;
        let (node, deadline) = (&self.node, self.deadline());
        node.disks().rescan(deadline).map_err(failed)?;
        let volume = node.volumes().find_at(&at, deadline).map_err(failed)?;
        let resized = node.volumes().resize(&volume, NewSize::Maximum, deadline);
        resized.map_err(failed)?;
        let space = node
            .volumes()
            .stats(volume.id(), deadline)
            .map_err(failed)?;
        Ok(NodeExpandVolumeResponse {
            capacity_bytes: i64::try_from(space.total).unwrap_or(i64::MAX),
        })
    }

    fn existing(&self, id: &str) -> Result<VolumeName, Status> {
        let volume = named(id)?;
        let places = [self.hardware.clone(), self.hardware.shelf()];
        let mut lengths = places
            .iter()
            .map(|place| place.disk_length(volume.as_str()));
        match lengths.any(|length| length.is_ok()) {
            true => Ok(volume),
            false => Err(not_found(id)),
        }
    }

    fn check_staged(&self, staging: &WinPath) -> Result<(), Status> {
        match self.node.volumes().of_target(staging, self.deadline()) {
            Ok(_) => Ok(()),
            Err(error) => Err(Status::new(Code::FailedPrecondition, error.to_string())),
        }
    }

    fn deadline(&self) -> Deadline {
        self.node.deadline(CALL)
    }
}

/// Refuses what is no directory on a formatted volume.
pub(crate) fn check_capability(capability: &VolumeCapability) -> Result<(), Status> {
    match &capability.access_type {
        Some(AccessType::Mount(_)) => Ok(()),
        Some(AccessType::Block(_)) => Err(invalid("Windows has no block volumes")),
        None => Err(invalid("the capability has no access type")),
    }
}

fn check_wanted(capability: Option<&VolumeCapability>) -> Result<(), Status> {
    let capability = capability.ok_or_else(|| invalid("no capability is given"))?;
    check_capability(capability)
}

fn capabilities() -> NodeGetCapabilitiesResponse {
    let capability = |operation: Operation| NodeServiceCapability {
        r#type: Some(capability::Type::Rpc(Rpc {
            r#type: operation.into(),
        })),
    };
    NodeGetCapabilitiesResponse {
        capabilities: OPERATIONS.map(capability).into(),
    }
}

fn info(id: &str) -> NodeGetInfoResponse {
    NodeGetInfoResponse {
        node_id: id.to_owned(),
        ..Default::default()
    }
}

fn path(text: &str) -> Result<WinPath, Status> {
    text.parse()
        .map_err(|error| invalid(&format!("{text:?}: {error}")))
}

/// Of a volume that exists a path that cannot be one is a path where it is not.
fn volume_path(text: &str) -> Result<WinPath, Status> {
    path(text).map_err(|status| Status::new(Code::NotFound, status.message))
}

fn invalid(text: &str) -> Status {
    Status::new(Code::InvalidArgument, text)
}

/// Everything may still come right but what is not there.
fn failed(error: Error) -> Status {
    let code = match error.condition() {
        Some(Condition::NotFound | Condition::NotAMountedFolder) => Code::NotFound,
        _ => Code::Unavailable,
    };
    Status::new(code, error.to_string())
}
