use wire::volume::v1::*;

use crate::registry::Registry;

pub(super) fn register(registry: &mut Registry) {
    reports(registry);
    mounts(registry);
    changes(registry);
}

fn reports(registry: &mut Registry) {
    registry.on::<rpc::ListVolumesOnDisk>(|proxy, request, deadline| {
        let volume_ids =
            proxy.volumes_on_disk(request.disk_number, request.partition_number, deadline)?;
        Ok(ListVolumesOnDiskResponse { volume_ids })
    });
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
