//! v1beta3, v1 and v2alpha1.

use crate::registry::Registry;

pub(super) fn register(registry: &mut Registry) {
    v1beta3::register(registry);
    v1::register(registry);
    v2alpha1::register(registry);
    closest(registry);
}

/// The call of v2alpha1 alone.
fn closest(registry: &mut Registry) {
    use wire::volume::v2alpha1::*;
    registry.on::<rpc::GetClosestVolumeIdFromTargetPath>(|proxy, request, deadline| {
        let volume_id = proxy.closest_volume(&request.target_path, deadline)?;
        Ok(GetClosestVolumeIdFromTargetPathResponse { volume_id })
    });
}

macro_rules! version {
    ($version:ident) => {
        mod $version {
            use wire::volume::$version::*;

            use crate::registry::Registry;

            pub(super) fn register(registry: &mut Registry) {
                volumes(registry);
                places(registry);
                mounts(registry);
                changes(registry);
            }

            fn volumes(registry: &mut Registry) {
                registry.on::<rpc::IsVolumeFormatted>(|proxy, request, deadline| {
                    let formatted = proxy.is_formatted(&request.volume_id, deadline)?;
                    Ok(IsVolumeFormattedResponse { formatted })
                });
                registry.on::<rpc::GetVolumeStats>(|proxy, request, deadline| {
                    let stats = proxy.stats(&request.volume_id, deadline)?;
                    Ok(GetVolumeStatsResponse {
                        total_bytes: stats.total_bytes,
                        used_bytes: stats.used_bytes,
                    })
                });
            }

            fn places(registry: &mut Registry) {
                registry.on::<rpc::ListVolumesOnDisk>(|proxy, request, deadline| {
                    let (disk, partition) = (request.disk_number, request.partition_number);
                    let volume_ids = proxy.volumes_on_disk(disk, partition, deadline)?;
                    Ok(ListVolumesOnDiskResponse { volume_ids })
                });
                registry.on::<rpc::GetDiskNumberFromVolumeId>(|proxy, request, deadline| {
                    let disk_number = proxy.disk_of_volume(&request.volume_id, deadline)?;
                    Ok(GetDiskNumberFromVolumeIdResponse { disk_number })
                });
                registry.on::<rpc::GetVolumeIdFromTargetPath>(|proxy, request, deadline| {
                    let volume_id = proxy.volume_of_target(&request.target_path, deadline)?;
                    Ok(GetVolumeIdFromTargetPathResponse { volume_id })
                });
            }

            fn mounts(registry: &mut Registry) {
                registry.on::<rpc::MountVolume>(|proxy, request, deadline| {
                    proxy.mount(&request.volume_id, &request.target_path, deadline)?;
                    Ok(MountVolumeResponse {})
                });
                registry.on::<rpc::UnmountVolume>(|proxy, request, deadline| {
                    proxy.unmount(&request.volume_id, &request.target_path, deadline)?;
                    Ok(UnmountVolumeResponse {})
                });
            }

            fn changes(registry: &mut Registry) {
                registry.on::<rpc::FormatVolume>(|proxy, request, deadline| {
                    proxy.format(&request.volume_id, deadline)?;
                    Ok(FormatVolumeResponse {})
                });
                registry.on::<rpc::ResizeVolume>(|proxy, request, deadline| {
                    proxy.resize(&request.volume_id, request.size_bytes, deadline)?;
                    Ok(ResizeVolumeResponse {})
                });
                registry.on::<rpc::WriteVolumeCache>(|proxy, request, deadline| {
                    proxy.flush(&request.volume_id, deadline)?;
                    Ok(WriteVolumeCacheResponse {})
                });
            }
        }
    };
}

version!(v1beta3);
version!(v1);
version!(v2alpha1);
