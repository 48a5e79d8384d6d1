//! v1alpha1, v1beta1 and v1beta2, each the one before and some calls more. csi-proxy forwards
//! renamed calls to their new names, and says so when they fail.

use crate::operations::{DiskIdError, Forwarded, disk_id};
use crate::registry::Registry;

pub(super) fn register(registry: &mut Registry) {
    v1alpha1::register(registry);
    v1beta1::register(registry);
    v1beta1::look_ups(registry);
    v1beta2::register(registry);
    v1beta2::look_ups(registry);
    write_volume_cache(registry);
}

/// The call of v1beta2 alone.
fn write_volume_cache(registry: &mut Registry) {
    use wire::volume::v1beta2::*;
    registry.on::<rpc::WriteVolumeCache>(|proxy, request, deadline| {
        proxy.flush(&request.volume_id, deadline)?;
        Ok(WriteVolumeCacheResponse {})
    });
}

/// The calls of all three.
macro_rules! basics {
    () => {
        pub(super) fn register(registry: &mut Registry) {
            volumes(registry);
            mounts(registry);
            changes(registry);
        }

        fn volumes(registry: &mut Registry) {
            registry.on::<rpc::ListVolumesOnDisk>(|proxy, request, deadline| {
                let disk = disk_id::parse(&request.disk_id).map_err(DiskIdError::Parse)?;
                let volume_ids = proxy.volumes_on_disk(disk.0, 0, deadline)?;
                Ok(ListVolumesOnDiskResponse { volume_ids })
            });
            registry.on::<rpc::IsVolumeFormatted>(|proxy, request, deadline| {
                let formatted = proxy.is_formatted(&request.volume_id, deadline)?;
                Ok(IsVolumeFormattedResponse { formatted })
            });
        }

        fn mounts(registry: &mut Registry) {
            registry.on::<rpc::MountVolume>(|proxy, request, deadline| {
                proxy.mount(&request.volume_id, &request.path, deadline)?;
                Ok(MountVolumeResponse {})
            });
            registry.on::<rpc::DismountVolume>(|proxy, request, deadline| {
                let unmounted = proxy.unmount(&request.volume_id, &request.path, deadline);
                unmounted.map_err(Forwarded::to("UnmountVolume"))?;
                Ok(DismountVolumeResponse {})
            });
        }

        fn changes(registry: &mut Registry) {
            registry.on::<rpc::FormatVolume>(|proxy, request, deadline| {
                proxy.format(&request.volume_id, deadline)?;
                Ok(FormatVolumeResponse {})
            });
            registry.on::<rpc::ResizeVolume>(|proxy, request, deadline| {
                proxy.resize(&request.volume_id, request.size, deadline)?;
                Ok(ResizeVolumeResponse {})
            });
        }
    };
}

/// The calls new in v1beta1, also in v1beta2.
macro_rules! look_ups {
    () => {
        pub(super) fn look_ups(registry: &mut Registry) {
            registry.on::<rpc::VolumeStats>(|proxy, request, deadline| {
                let stats = proxy.stats(&request.volume_id, deadline);
                let stats = stats.map_err(Forwarded::to("GetVolumeStats"))?;
                Ok(VolumeStatsResponse {
                    volume_size: stats.total_bytes,
                    volume_used_size: stats.used_bytes,
                })
            });
            registry.on::<rpc::GetVolumeDiskNumber>(|proxy, request, deadline| {
                let disk = proxy.disk_of_volume(&request.volume_id, deadline);
                let disk = disk.map_err(Forwarded::to("GetDiskNumberFromVolumeID"))?;
                Ok(VolumeDiskNumberResponse {
                    disk_number: disk.into(),
                })
            });
            registry.on::<rpc::GetVolumeIdFromMount>(|proxy, request, deadline| {
                let volume_id = proxy.volume_of_target(&request.mount, deadline);
                let volume_id = volume_id.map_err(Forwarded::to("GetVolumeIDFromTargetPath"))?;
                Ok(VolumeIdFromMountResponse { volume_id })
            });
        }
    };
}

mod v1alpha1 {
    use wire::volume::v1alpha1::*;

    use super::*;

    basics!();
}

mod v1beta1 {
    use wire::volume::v1beta1::*;

    use super::*;

    basics!();
    look_ups!();
}

mod v1beta2 {
    use wire::volume::v1beta2::*;

    use super::*;

    basics!();
    look_ups!();
}
