use anyhow::Result;
use os_sim::Arrives;
use wire::filesystem::v2alpha1 as filesystem;
use wire::volume::v2alpha1::*;

use crate::Sample;
use crate::Scenario;
use crate::Stage;
use crate::stage::GIB;
use crate::stage::KUBELET;
use crate::stage::Known;
use crate::stage::MOUNTED;

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario::of("volume.ListVolumesOnDisk", list)
        .when("a reserved and a data partition")
        .asking(3, 0)
        .by("6.2", "MSFT_Partition; the volume of each of the two"),
    Scenario::of("volume.ListVolumesOnDisk", list_named)
        .when("one partition named")
        .asking(2, 0)
        .by("6.2", "MSFT_Partition, its volume"),
    Scenario::of("volume.ListVolumesOnDisk", list_nothing)
        .when("a disk without a partition")
        .asking(1, 0)
        .by("6.2", "MSFT_Partition"),
    Scenario::of("volume.MountVolume", mount)
        .when("an empty folder")
        .by("6.3", "SetVolumeMountPoint"),
    Scenario::of("volume.MountVolume", mount_again)
        .when("it is mounted there")
        .opening(1)
        .by("6.3, 6.9", "SetVolumeMountPoint; FindFirstFile for the tag"),
    Scenario::of("volume.UnmountVolume", unmount)
        .when("the volume is there")
        .asking(1, 1)
        .by("6.4", "MSFT_Volume; Flush; DeleteVolumeMountPoint"),
    Scenario::of("volume.UnmountVolume", unmount_what_is_gone)
        .when("its disk is gone; an error with csi-proxy")
        .asking(1, 0)
        .by("6.4", "MSFT_Volume"),
    Scenario::of("volume.IsVolumeFormatted", is_formatted)
        .when("it is")
        .asking(1, 0)
        .by("6.5", "MSFT_Volume.FileSystemType"),
    Scenario::of("volume.IsVolumeFormatted", is_raw)
        .when("it is not")
        .asking(1, 0)
        .by("6.5", "MSFT_Volume.FileSystemType"),
    Scenario::of("volume.FormatVolume", format)
        .asking(1, 1)
        .by("6.6", "MSFT_Volume; Format, whatever is on the volume")
        .more_by(
            1,
            0,
            "MSFT_Disk says whether Windows starts from the disk or a cluster owns it, and by its Path \
             whether it says so of the disk that the kernel has under the number: the provider answers \
             from a cache, and numbers go to other disks when some are pulled out. Without it a driver \
             that took the wrong disk for its own formats a volume of the disk that the node starts \
             from, or of its cluster, as csi-proxy does. MSFT_Volume, which Format is called on, says \
             none of this, and no association leads from it to a disk",
        ),
    Scenario::of("volume.ResizeVolume", resize)
        .when("to a size")
        .asking(3, 2)
        .by("6.7", "MSFT_Volume, its partition, its disk; Resize, Refresh"),
    Scenario::of("volume.ResizeVolume", resize_to_maximum)
        .when("to the maximum")
        .asking(3, 3)
        .by("6.7", "as before; GetSupportedSize"),
    Scenario::of("volume.ResizeVolume", resize_to_nothing_new)
        .when("it is large enough")
        .asking(2, 0)
        .by("6.7", "MSFT_Volume, its partition"),
    Scenario::of("volume.ResizeVolume", resize_to_maximum_again)
        .when("to the maximum, which it has")
        .asking(2, 1)
        .by("6.7", "MSFT_Volume, its partition; GetSupportedSize"),
    Scenario::of("volume.ResizeVolume", resize_by_number)
        .when("the same, by the disk's number; an error with csi-proxy")
        .asking(1, 0)
        .by("6.7, 6.1", "MSFT_Volume, of which none has the number for its name")
        .more_by(
            0,
            1,
            "UpdateHostStorageCache has the storage stack look whether the disk has grown, as for a \
             volume by its name, where csi-proxy calls GetSupportedSize. azuredisk's driver sends the \
             number whenever it stages a volume: csi-proxy refuses it, and the volume is staged at the \
             second attempt and never grown",
        ),
    Scenario::of("volume.GetVolumeStats", stats)
        .asking(1, 0)
        .by("6.8", "MSFT_Volume.Size, SizeRemaining"),
    Scenario::of("volume.GetDiskNumberFromVolumeID", disk_number)
        .asking(2, 0)
        .by("6.8", "MSFT_Volume, its partition"),
    Scenario::of("volume.GetVolumeIDFromTargetPath", of_target)
        .when("a mounted folder")
        .opening(1)
        .by("6.9", "FindFirstFile for the tag; all else by name"),
    Scenario::of("volume.GetVolumeIDFromTargetPath", of_link)
        .when("a link to a mounted folder")
        .opening(1)
        .by("6.9", "FindFirstFile for the tag; all else by name"),
    Scenario::of("volume.GetVolumeIDFromTargetPath", of_plain)
        .when("a plain folder, an error")
        .by("6.9", "attributes by name; no reparse bit"),
    Scenario::of("volume.GetVolumeIDFromTargetPath", of_nothing)
        .when("nothing there, an error")
        .by("6.9", "attributes by name"),
    Scenario::of("volume.GetClosestVolumeIDFromTargetPath", closest_mounted)
        .when("a mounted folder")
        .opening(1)
        .by("6.10, 6.9", "FindFirstFile for the tag; all else by name"),
    Scenario::of("volume.GetClosestVolumeIDFromTargetPath", closest_inside)
        .when("a folder of a mounted volume")
        .opening(1)
        .by("6.10, 6.9", "FindFirstFile for the tag of the mounted folder; all else by name"),
    Scenario::of("volume.GetClosestVolumeIDFromTargetPath", closest_root)
        .when("a folder of drive C")
        .asking(2, 0)
        .by("6.10", "MSFT_Partition by DriveLetter, its volume"),
    Scenario::of("volume.WriteVolumeCache", flush)
        .asking(1, 1)
        .by("6.8", "MSFT_Volume; Flush"),
];

fn list(stage: &Stage) -> Result<Sample> {
    stage.measured::<rpc::ListVolumesOnDisk>(&ListVolumesOnDiskRequest {
        disk_number: stage.volume().disk,
        partition_number: 0,
    })
}

fn list_named(stage: &Stage) -> Result<Sample> {
    stage.measured::<rpc::ListVolumesOnDisk>(&ListVolumesOnDiskRequest {
        disk_number: stage.volume().disk,
        // The first is reserved.
        partition_number: 2,
    })
}

fn list_nothing(stage: &Stage) -> Result<Sample> {
    let spare = stage.plug(Arrives::Online)?;
    let sample = stage.measured::<rpc::ListVolumesOnDisk>(&ListVolumesOnDiskRequest {
        disk_number: spare.number,
        partition_number: 0,
    })?;
    stage.pull(&spare)?;
    Ok(sample)
}

fn mount(stage: &Stage) -> Result<Sample> {
    Ok(mount_and_unmount(stage)?.0)
}

fn unmount(stage: &Stage) -> Result<Sample> {
    Ok(mount_and_unmount(stage)?.1)
}

fn mount_again(stage: &Stage) -> Result<Sample> {
    stage.measured::<rpc::MountVolume>(&MountVolumeRequest {
        volume_id: id(stage),
        target_path: MOUNTED.to_owned(),
    })
}

fn unmount_what_is_gone(stage: &Stage) -> Result<Sample> {
    let spare = stage.plug(Arrives::Online)?;
    let volume_id = stage.volume_on(spare.number)?.volume;
    let target_path = stage.folder()?;
    stage.call::<rpc::MountVolume>(&MountVolumeRequest {
        volume_id: volume_id.clone(),
        target_path: target_path.clone(),
    })?;
    stage.pull(&spare)?;
    let sample = stage.measured::<rpc::UnmountVolume>(&UnmountVolumeRequest {
        volume_id,
        target_path: target_path.clone(),
    })?;
    stage.clear(target_path)?;
    Ok(sample)
}

fn mount_and_unmount(stage: &Stage) -> Result<(Sample, Sample)> {
    let target_path = stage.folder()?;
    let volume_id = id(stage);
    let mounted = stage.measured::<rpc::MountVolume>(&MountVolumeRequest {
        volume_id: volume_id.clone(),
        target_path: target_path.clone(),
    })?;
    let unmounted = stage.measured::<rpc::UnmountVolume>(&UnmountVolumeRequest {
        volume_id,
        target_path: target_path.clone(),
    })?;
    stage.clear(target_path)?;
    Ok((mounted, unmounted))
}

fn is_formatted(stage: &Stage) -> Result<Sample> {
    let volume_id = id(stage);
    stage.measured::<rpc::IsVolumeFormatted>(&IsVolumeFormattedRequest { volume_id })
}

fn is_raw(stage: &Stage) -> Result<Sample> {
    let spare = stage.plug(Arrives::Online)?;
    let volume_id = stage.raw_volume_on(spare.number)?.volume;
    let sample =
        stage.measured::<rpc::IsVolumeFormatted>(&IsVolumeFormattedRequest { volume_id })?;
    stage.pull(&spare)?;
    Ok(sample)
}

fn format(stage: &Stage) -> Result<Sample> {
    let spare = stage.plug(Arrives::Online)?;
    let volume_id = stage.raw_volume_on(spare.number)?.volume;
    let sample = stage.measured::<rpc::FormatVolume>(&FormatVolumeRequest { volume_id })?;
    stage.pull(&spare)?;
    Ok(sample)
}

fn resize(stage: &Stage) -> Result<Sample> {
    resized(stage, 3 << 29)
}

fn resize_to_maximum(stage: &Stage) -> Result<Sample> {
    resized(stage, 0)
}

/// A disk has grown, and the driver has had it looked at, as it must with csi-proxy.
fn resized(stage: &Stage, size_bytes: i64) -> Result<Sample> {
    let spare = stage.plug(Arrives::Online)?;
    let Known { volume, .. } = stage.volume_on(spare.number)?;
    stage.hardware().grow_disk(&spare.name, 2 * GIB)?;
    stage.rescan()?;
    let sample = stage.measured::<rpc::ResizeVolume>(&ResizeVolumeRequest {
        volume_id: volume,
        size_bytes,
    })?;
    stage.pull(&spare)?;
    Ok(sample)
}

fn resize_to_nothing_new(stage: &Stage) -> Result<Sample> {
    asked_for(stage, id(stage), 1 << 30)
}

fn resize_to_maximum_again(stage: &Stage) -> Result<Sample> {
    asked_for(stage, id(stage), 0)
}

fn resize_by_number(stage: &Stage) -> Result<Sample> {
    asked_for(stage, stage.volume().disk.to_string(), 0)
}

fn asked_for(stage: &Stage, volume_id: String, size_bytes: i64) -> Result<Sample> {
    stage.measured::<rpc::ResizeVolume>(&ResizeVolumeRequest {
        volume_id,
        size_bytes,
    })
}

fn stats(stage: &Stage) -> Result<Sample> {
    let volume_id = id(stage);
    stage.measured::<rpc::GetVolumeStats>(&GetVolumeStatsRequest { volume_id })
}

fn disk_number(stage: &Stage) -> Result<Sample> {
    let volume_id = id(stage);
    stage
        .measured::<rpc::GetDiskNumberFromVolumeId>(&GetDiskNumberFromVolumeIdRequest { volume_id })
}

fn of_target(stage: &Stage) -> Result<Sample> {
    let target_path = MOUNTED.to_owned();
    let request = GetVolumeIdFromTargetPathRequest { target_path };
    stage.measured::<rpc::GetVolumeIdFromTargetPath>(&request)
}

fn of_link(stage: &Stage) -> Result<Sample> {
    let target_path = stage.link()?;
    let request = GetVolumeIdFromTargetPathRequest { target_path };
    let sample = stage.measured::<rpc::GetVolumeIdFromTargetPath>(&request)?;
    stage.clear(request.target_path)?;
    Ok(sample)
}

fn of_plain(stage: &Stage) -> Result<Sample> {
    let target_path = stage.folder()?;
    let request = GetVolumeIdFromTargetPathRequest { target_path };
    let sample = stage.refused::<rpc::GetVolumeIdFromTargetPath>(&request)?;
    stage.clear(request.target_path)?;
    Ok(sample)
}

fn of_nothing(stage: &Stage) -> Result<Sample> {
    let target_path = stage.free_path();
    let request = GetVolumeIdFromTargetPathRequest { target_path };
    stage.refused::<rpc::GetVolumeIdFromTargetPath>(&request)
}

fn closest_mounted(stage: &Stage) -> Result<Sample> {
    closest(stage, MOUNTED)
}

fn closest_inside(stage: &Stage) -> Result<Sample> {
    let path = format!(r"{MOUNTED}\inside");
    stage.call::<filesystem::rpc::Mkdir>(&filesystem::MkdirRequest { path: path.clone() })?;
    let sample = closest(stage, &path)?;
    stage.clear(path)?;
    Ok(sample)
}

fn closest_root(stage: &Stage) -> Result<Sample> {
    closest(stage, KUBELET)
}

fn closest(stage: &Stage, path: &str) -> Result<Sample> {
    stage.measured::<rpc::GetClosestVolumeIdFromTargetPath>(
        &GetClosestVolumeIdFromTargetPathRequest {
            target_path: path.to_owned(),
        },
    )
}

fn flush(stage: &Stage) -> Result<Sample> {
    let volume_id = id(stage);
    stage.measured::<rpc::WriteVolumeCache>(&WriteVolumeCacheRequest { volume_id })
}

fn id(stage: &Stage) -> String {
    stage.volume().volume.clone()
}
