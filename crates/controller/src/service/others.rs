use std::time::Instant;

use driver::record::VolumeHandle;
use program::hidden;
use transport::{Code, Status};
use wire::csi::v1::controller_service_capability::rpc::Type as Operation;
use wire::csi::v1::controller_service_capability::{self as capability, Rpc};
use wire::csi::v1::validate_volume_capabilities_response::Confirmed;
use wire::csi::v1::{
    ControllerExpandVolumeRequest, ControllerExpandVolumeResponse,
    ControllerGetCapabilitiesResponse, ControllerServiceCapability,
    ValidateVolumeCapabilitiesRequest, ValidateVolumeCapabilitiesResponse,
};

use super::create::{mount_flags, size};
use super::{Controller, base};
use crate::requests::{Handle, Place, RequestError, Secret};
use crate::volumes::Folder;

/// Nothing lists volumes or capacity, whose requests have no Secret.
const OPERATIONS: [Operation; 6] = [
    Operation::CreateDeleteVolume,
    Operation::CloneVolume,
    Operation::CreateDeleteSnapshot,
    Operation::ListSnapshots,
    Operation::ExpandVolume,
    Operation::SingleNodeMultiWriter,
];

pub(super) fn capabilities() -> ControllerGetCapabilitiesResponse {
    let capability = |operation: Operation| ControllerServiceCapability {
        r#type: Some(capability::Type::Rpc(Rpc {
            r#type: operation.into(),
        })),
    };
    ControllerGetCapabilitiesResponse {
        capabilities: OPERATIONS.map(capability).into(),
    }
}

impl Controller {
    /// A size is no quota: any is granted, and nothing is written.
    pub(super) fn expand(
        &self,
        request: &ControllerExpandVolumeRequest,
        _by: Instant,
    ) -> Result<ControllerExpandVolumeResponse, Status> {
        if request.volume_id.is_empty() {
            return Err(RequestError::Missing("volume id").into());
        }
        if request.capacity_range.is_none() {
            return Err(RequestError::Missing("size").into());
        }
        let size = size(request.capacity_range)?;
        Ok(ControllerExpandVolumeResponse {
            capacity_bytes: i64::try_from(size).unwrap_or(i64::MAX),
            node_expansion_required: false,
        })
    }

    pub(super) fn validate(
        &self,
        request: &ValidateVolumeCapabilitiesRequest,
        by: Instant,
    ) -> Result<ValidateVolumeCapabilitiesResponse, Status> {
        if request.volume_id.is_empty() {
            return Err(RequestError::Missing("volume id").into());
        }
        if request.volume_capabilities.is_empty() {
            return Err(RequestError::Missing("volume capability").into());
        }
        self.expect_volume(request, by)?;
        let checked = mount_flags(&request.volume_capabilities);
        let message = checked.as_ref().err().map(ToString::to_string);
        let confirmed = checked.is_ok().then(|| Confirmed {
            volume_context: request.volume_context.clone(),
            volume_capabilities: request.volume_capabilities.clone(),
            parameters: request.parameters.clone(),
            ..Default::default()
        });
        Ok(ValidateVolumeCapabilitiesResponse {
            confirmed,
            message: message.unwrap_or_default(),
        })
    }

    /// With a Secret the folder has to be there, else its handle has to be one.
    fn expect_volume(
        &self,
        request: &ValidateVolumeCapabilitiesRequest,
        by: Instant,
    ) -> Result<(), Status> {
        let id = &request.volume_id;
        let none = || {
            let text = format!("there is no volume {id:?}");
            Status::new(Code::NotFound, hidden::shown(&text))
        };
        VolumeHandle::parse(id).map_err(|_| none())?;
        let handle = Handle::read(id).ok_or_else(none)?;
        let place = Place::read(&handle.source, &handle.folder).map_err(|_| none())?;
        let folder = Folder::new(place.folder.clone()).map_err(|_| none())?;
        let Some(secret) = Secret::read(&request.secrets)? else {
            return Ok(());
        };
        let base = base(&place, &secret);
        let connections = self.connections(&base, &secret);
        match self.volumes.has(&connections, &base, &folder, by)? {
            true => Ok(()),
            false => Err(none()),
        }
    }
}
