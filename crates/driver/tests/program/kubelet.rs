//! A volume as kubelet drives it.

use transport::Status;
use wire::csi::v1::node::{
    NodeExpandVolume, NodeGetVolumeStats, NodePublishVolume, NodeStageVolume, NodeUnpublishVolume,
    NodeUnstageVolume,
};
use wire::csi::v1::volume_capability::access_mode::Mode;
use wire::csi::v1::volume_capability::{AccessMode, AccessType, MountVolume};
use wire::csi::v1::{
    CapacityRange, NodeExpandVolumeRequest, NodeGetVolumeStatsRequest, NodeGetVolumeStatsResponse,
    NodePublishVolumeRequest, NodeStageVolumeRequest, NodeUnpublishVolumeRequest,
    NodeUnstageVolumeRequest, VolumeCapability,
};

use crate::driver::{Driver, IDENTIFIER};

pub(crate) const STAGING: &str =
    r"C:\var\lib\kubelet\plugins\kubernetes.io\csi\wincsi.io\1\globalmount";
pub(crate) const TARGET: &str = r"C:\var\lib\kubelet\pods\1\volumes\kubernetes.io~csi\pv\mount";

/// A volume of the node's disk.
#[derive(Clone)]
pub(crate) struct Volume {
    pub(crate) handle: String,
    pub(crate) staging: String,
    pub(crate) target: String,
}

impl Volume {
    pub(crate) fn new(handle: &str) -> Self {
        Self {
            handle: handle.to_owned(),
            staging: STAGING.to_owned(),
            target: TARGET.to_owned(),
        }
    }

    pub(crate) fn to_stage(&self) -> NodeStageVolumeRequest {
        let identifier = (String::from("page83"), IDENTIFIER.to_owned());
        NodeStageVolumeRequest {
            volume_id: self.handle.clone(),
            publish_context: [identifier].into(),
            staging_target_path: self.staging.clone(),
            volume_capability: Some(capability()),
            secrets: Default::default(),
            volume_context: Default::default(),
        }
    }

    pub(crate) fn to_publish(&self) -> NodePublishVolumeRequest {
        NodePublishVolumeRequest {
            volume_id: self.handle.clone(),
            publish_context: Default::default(),
            staging_target_path: self.staging.clone(),
            target_path: self.target.clone(),
            volume_capability: Some(capability()),
            readonly: false,
            secrets: Default::default(),
            volume_context: Default::default(),
        }
    }

    pub(crate) fn stage(&self, driver: &Driver) -> Result<(), Status> {
        driver.call::<NodeStageVolume>(&self.to_stage()).map(drop)
    }

    pub(crate) fn stage_with(
        &self,
        driver: &Driver,
        attributes: &[(&str, &str)],
    ) -> Result<(), Status> {
        let mut request = self.to_stage();
        let pairs = attributes.iter();
        let owned = pairs.map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        request.volume_context = owned.collect();
        driver.call::<NodeStageVolume>(&request).map(drop)
    }

    pub(crate) fn publish(&self, driver: &Driver) -> Result<(), Status> {
        let request = self.to_publish();
        driver.call::<NodePublishVolume>(&request).map(drop)
    }

    pub(crate) fn stats(&self, driver: &Driver) -> Result<NodeGetVolumeStatsResponse, Status> {
        driver.call::<NodeGetVolumeStats>(&NodeGetVolumeStatsRequest {
            volume_id: self.handle.clone(),
            volume_path: self.target.clone(),
            staging_target_path: self.staging.clone(),
        })
    }

    pub(crate) fn expand(&self, driver: &Driver, bytes: i64) -> Result<i64, Status> {
        let mut request = NodeExpandVolumeRequest::default();
        request.volume_id.clone_from(&self.handle);
        request.volume_path.clone_from(&self.target);
        request.capacity_range = Some(CapacityRange {
            required_bytes: bytes,
            limit_bytes: 0,
        });
        let answer = driver.call::<NodeExpandVolume>(&request);
        answer.map(|answer| answer.capacity_bytes)
    }

    pub(crate) fn unpublish(&self, driver: &Driver) -> Result<(), Status> {
        let request = NodeUnpublishVolumeRequest {
            volume_id: self.handle.clone(),
            target_path: self.target.clone(),
        };
        driver.call::<NodeUnpublishVolume>(&request).map(drop)
    }

    pub(crate) fn unstage(&self, driver: &Driver) -> Result<(), Status> {
        let request = NodeUnstageVolumeRequest {
            volume_id: self.handle.clone(),
            staging_target_path: self.staging.clone(),
        };
        driver.call::<NodeUnstageVolume>(&request).map(drop)
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
