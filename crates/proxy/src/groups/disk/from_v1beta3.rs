//! v1beta3 and v1: the same messages in two packages.

use crate::registry::Registry;

pub(super) fn register(registry: &mut Registry) {
    v1beta3::register(registry);
    v1::register(registry);
}

macro_rules! version {
    ($version:ident) => {
        mod $version {
            use wire::disk::$version::*;

            use crate::operations::DiskState;
            use crate::registry::Registry;

            pub(super) fn register(registry: &mut Registry) {
                lists(registry);
                one(registry);
                changes(registry);
            }

            fn lists(registry: &mut Registry) {
                registry.on::<rpc::ListDiskLocations>(|proxy, _, deadline| {
                    let disks = proxy.disk_locations(deadline)?.into_iter();
                    let disk_locations = disks
                        .map(|(disk, location)| (disk.0, wire_location(location)))
                        .collect();
                    Ok(ListDiskLocationsResponse { disk_locations })
                });
                registry.on::<rpc::ListDiskIds>(|proxy, _, deadline| {
                    let disks = proxy.disk_ids(deadline)?.into_iter();
                    let disk_ids = disks.map(|(disk, ids)| (disk.0, wire_ids(ids))).collect();
                    Ok(ListDiskIdsResponse { disk_ids })
                });
            }

            fn one(registry: &mut Registry) {
                registry.on::<rpc::GetDiskStats>(|proxy, request, deadline| {
                    let total_bytes = proxy.disk_size(request.disk_number, deadline)?;
                    Ok(GetDiskStatsResponse { total_bytes })
                });
                registry.on::<rpc::GetDiskState>(|proxy, request, deadline| {
                    let is_online = proxy.is_disk_online(request.disk_number, deadline)?;
                    Ok(GetDiskStateResponse { is_online })
                });
            }

            fn changes(registry: &mut Registry) {
                registry.on::<rpc::PartitionDisk>(|proxy, request, deadline| {
                    proxy.partition_disk(request.disk_number, deadline)?;
                    Ok(PartitionDiskResponse {})
                });
                registry.on::<rpc::Rescan>(|proxy, _, deadline| {
                    proxy.rescan(deadline)?;
                    Ok(RescanResponse {})
                });
                registry.on::<rpc::SetDiskState>(|proxy, request, deadline| {
                    let state = DiskState::of(request.is_online);
                    proxy.set_disk_state(request.disk_number, state, deadline)?;
                    Ok(SetDiskStateResponse {})
                });
            }

            wire_location!();

            fn wire_ids(ids: node::DiskIds) -> DiskIds {
                DiskIds {
                    page83: ids.page83,
                    serial_number: ids.serial,
                }
            }
        }
    };
}

version!(v1beta3);
version!(v1);
