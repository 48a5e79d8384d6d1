//! v1alpha1, v1beta1 and v1beta2: disk numbers are text. Each is the one before and some calls
//! more, but `GetDiskNumberByName` is in v1alpha1 alone.

use std::collections::BTreeMap;

use crate::operations::{DiskIdError, DiskState, disk_id};
use crate::registry::Registry;

pub(super) fn register(registry: &mut Registry) {
    v1alpha1::basics(registry);
    by_name(registry);
    v1beta1::basics(registry);
    v1beta1::identity(registry);
    v1beta2::basics(registry);
    v1beta2::identity(registry);
    attach_state(registry);
}

fn by_name(registry: &mut Registry) {
    use wire::disk::v1alpha1::*;
    registry.on::<rpc::GetDiskNumberByName>(|proxy, request, deadline| {
        let disk = proxy.disk_of_page83(&request.disk_name, deadline)?;
        Ok(GetDiskNumberByNameResponse {
            disk_number: disk.to_string(),
        })
    });
}

fn attach_state(registry: &mut Registry) {
    use wire::disk::v1beta2::*;
    registry.on::<rpc::SetAttachState>(|proxy, request, deadline| {
        let wrong = DiskIdError::format("SetAttachState");
        let disk = disk_id::parse(&request.disk_id).map_err(wrong)?;
        let state = DiskState::of(request.is_online);
        proxy.set_disk_state(disk.0, state, deadline)?;
        Ok(SetAttachStateResponse {})
    });
    registry.on::<rpc::GetAttachState>(|proxy, request, deadline| {
        let wrong = DiskIdError::format("GetAttachState");
        let disk = disk_id::parse(&request.disk_id).map_err(wrong)?;
        let is_online = proxy.is_disk_online(disk.0, deadline)?;
        Ok(GetAttachStateResponse { is_online })
    });
}

/// Always both keys, also when the disk has neither.
fn identifiers(ids: node::DiskIds) -> BTreeMap<String, String> {
    [("page83", ids.page83), ("serialNumber", ids.serial)]
        .map(|(key, value)| (key.to_owned(), value))
        .into()
}

/// The calls of all three.
macro_rules! basics {
    () => {
        pub(super) fn basics(registry: &mut Registry) {
            registry.on::<rpc::ListDiskLocations>(|proxy, _, deadline| {
                let disks = proxy.disk_locations(deadline)?.into_iter();
                let disk_locations = disks
                    .map(|(disk, location)| (disk.to_string(), wire_location(location)))
                    .collect();
                Ok(ListDiskLocationsResponse { disk_locations })
            });
            registry.on::<rpc::PartitionDisk>(|proxy, request, deadline| {
                let wrong = DiskIdError::convert(GROUP.version);
                let disk = disk_id::parse(&request.disk_id).map_err(wrong)?;
                proxy.partition_disk(disk.0, deadline)?;
                Ok(PartitionDiskResponse {})
            });
            registry.on::<rpc::Rescan>(|proxy, _, deadline| {
                proxy.rescan(deadline)?;
                Ok(RescanResponse {})
            });
        }

        wire_location!();
    };
}

/// The calls new in v1beta1, also in v1beta2.
macro_rules! identity {
    () => {
        pub(super) fn identity(registry: &mut Registry) {
            registry.on::<rpc::ListDiskIds>(|proxy, _, deadline| {
                let disks = proxy.disk_ids(deadline)?.into_iter();
                let wire_ids = |ids| DiskIds {
                    identifiers: identifiers(ids),
                };
                let disk_ids = disks
                    .map(|(disk, ids)| (disk.to_string(), wire_ids(ids)))
                    .collect();
                Ok(ListDiskIdsResponse { disk_ids })
            });
            registry.on::<rpc::DiskStats>(|proxy, request, deadline| {
                let wrong = DiskIdError::format("DiskStats");
                let disk = disk_id::parse(&request.disk_id).map_err(wrong)?;
                let disk_size = proxy.disk_size(disk.0, deadline)?;
                Ok(DiskStatsResponse { disk_size })
            });
        }
    };
}

mod v1alpha1 {
    use wire::disk::v1alpha1::*;

    use super::*;

    basics!();
}

mod v1beta1 {
    use wire::disk::v1beta1::*;

    use super::*;

    basics!();
    identity!();
}

mod v1beta2 {
    use wire::disk::v1beta2::*;

    use super::*;

    basics!();
    identity!();
}
