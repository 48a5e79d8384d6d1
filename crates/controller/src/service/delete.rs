use std::sync::Arc;
use std::time::Instant;

use driver::record::VolumeHandle;
use smb::Name;
use transport::Status;
use wire::csi::v1::{DeleteVolumeRequest, DeleteVolumeResponse};

use super::{Controller, base};
use crate::requests::{Handle, Place, RequestError, Secret, place};
use crate::volumes::{Delete, Deleted, Folder, Policy, Unrecorded};

impl Controller {
    pub(super) fn delete(
        &self,
        request: &DeleteVolumeRequest,
        by: Instant,
    ) -> Result<DeleteVolumeResponse, Status> {
        let id = request.volume_id.as_str();
        if id.is_empty() {
            return Err(RequestError::Missing("volume id").into());
        }
        let target = match Target::read(id) {
            Ok(target) => target,
            Err(why) => {
                tracing::warn!("nothing is deleted for volume {id:?}: {why}");
                return Ok(DeleteVolumeResponse {});
            }
        };
        let Some(secret) = Secret::read(&request.secrets)? else {
            self.left.add_without_secret(id);
            return Ok(DeleteVolumeResponse {});
        };
        let volume = self.wanted(target, &secret);
        let connections = self.connections(&volume.base, &secret);
        match self.volumes.delete(Arc::new(connections), volume, by)? {
            Deleted::Gone | Deleted::Left(_) => {}
            Deleted::Archived(None) => tracing::info!("volume {id:?} is archived"),
            Deleted::Archived(Some(path)) => {
                tracing::info!("volume {id:?} is archived at {path}");
            }
        }
        Ok(DeleteVolumeResponse {})
    }

    fn wanted(&self, target: Target, secret: &Secret) -> Delete {
        Delete {
            name: target.name,
            base: base(&target.place, secret),
            folder: target.folder,
            policy: target.policy,
            unrecorded: match (self.deletes_unrecorded, target.is_named_by_provisioner) {
                (true, _) => Unrecorded::Delete,
                (false, true) => Unrecorded::DeleteIfNone,
                (false, false) => Unrecorded::Keep,
            },
        }
    }
}

/// What a handle names.
pub(super) struct Target {
    pub(super) place: Place,
    pub(super) folder: Folder,
    pub(super) name: Option<Name>,
    pub(super) source: String,
    policy: Policy,
    /// Whether it has no third field, and one folder with the UUID of csi-provisioner's names.
    is_named_by_provisioner: bool,
}

impl Target {
    pub(super) fn read(id: &str) -> Result<Self, RequestError> {
        VolumeHandle::parse(id)?;
        let handle = Handle::read(id).ok_or(RequestError::Form)?;
        let place = Place::read(&handle.source, &handle.folder)?;
        let folder = Folder::new(place.folder.clone())?;
        let name = match (handle.name.as_str(), place.folder.names()) {
            ("", [folder]) => Some(folder.clone()),
            ("", _) => None,
            (name, _) => Some(place::volume_name(name)?),
        };
        let is_alone = handle.name.is_empty() && place.folder.names().len() == 1;
        Ok(Self {
            folder,
            name,
            policy: handle.policy(),
            source: handle.source,
            is_named_by_provisioner: is_alone && ends_in_uuid(&handle.folder),
            place,
        })
    }
}

/// Whether a name ends in a UUID, as those of csi-provisioner do behind its prefix.
fn ends_in_uuid(name: &str) -> bool {
    const GROUPS: [usize; 5] = [8, 4, 4, 4, 12];
    let name = name.trim_end_matches(['/', '\\']);
    let mut groups = name.rsplit('-');
    let is_hex = |group: &str| group.bytes().all(|byte| byte.is_ascii_hexdigit());
    // Before the first there is the prefix, as in `pvc-UUID`.
    GROUPS.iter().rev().all(|length| {
        let group = groups.next();
        group.is_some_and(|group| group.len() == *length && is_hex(group))
    })
}
