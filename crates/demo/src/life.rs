//! The play: what a driver and the world around it do with one volume and one share.

use std::fs;

use anyhow::Context as _;
use anyhow::ensure;
use wire::disk::v1 as disk;
use wire::filesystem::v1 as filesystem;
use wire::smb::v1 as smb;
use wire::volume::v1 as volume;

use crate::stage;
use crate::stage::Stage;

const GIB: u64 = 1 << 30;
const FILE: &str = "hello.txt";
const TEXT: &str = "written through the volume's folder\n";

pub(crate) fn play(stage: &mut Stage) -> anyhow::Result<()> {
    let number = find_disk(stage)?;
    let id = make_volume(stage, number)?;
    let target = stage.kubelet(r"plugins\demo\globalmount");
    mount(stage, &id, &target)?;
    use_volume(stage, &id, &target)?;
    grow(stage, number, &id)?;
    map_share(stage)?;
    unmount(stage, number, &id, &target)
}

fn find_disk(stage: &mut Stage) -> anyhow::Result<u32> {
    stage.call::<disk::rpc::Rescan>(&disk::RescanRequest {}, |_| {
        "the node looked for new disks".into()
    })?;
    let ids = stage.call::<disk::rpc::ListDiskIds>(&disk::ListDiskIdsRequest {}, |answer| {
        format!("{} disks", answer.disk_ids.len())
    })?;
    let found: Vec<_> = ids
        .disk_ids
        .iter()
        .filter(|(_, ids)| ids.serial_number == os_sim::demo::DISK_SERIAL)
        .map(|(number, _)| *number)
        .collect();
    let [number] = found.as_slice() else {
        anyhow::bail!(
            "{} disks have the serial {}",
            found.len(),
            os_sim::demo::DISK_SERIAL
        );
    };
    Ok(*number)
}

fn make_volume(stage: &mut Stage, disk_number: u32) -> anyhow::Result<String> {
    let partition = disk::PartitionDiskRequest { disk_number };
    stage.call::<disk::rpc::PartitionDisk>(&partition, |_| {
        format!("disk {disk_number}: a partition table and one partition")
    })?;
    let list = volume::ListVolumesOnDiskRequest {
        disk_number,
        partition_number: 0,
    };
    let volumes = stage
        .call::<volume::rpc::ListVolumesOnDisk>(&list, |answer| answer.volume_ids.join(" "))?
        .volume_ids;
    let [id] = volumes.as_slice() else {
        anyhow::bail!("the disk has {} volumes, not one", volumes.len());
    };
    format(stage, id)?;
    Ok(id.clone())
}

fn format(stage: &mut Stage, volume_id: &str) -> anyhow::Result<()> {
    let volume_id = volume_id.to_owned();
    let ask = volume::IsVolumeFormattedRequest {
        volume_id: volume_id.clone(),
    };
    let word = |formatted: bool| {
        if formatted {
            "formatted"
        } else {
            "not formatted"
        }
    };
    let tell = |answer: &volume::IsVolumeFormattedResponse| word(answer.formatted).to_owned();
    let before = stage.call::<volume::rpc::IsVolumeFormatted>(&ask, tell)?;
    ensure!(!before.formatted, "a raw disk has a filesystem");
    let request = volume::FormatVolumeRequest { volume_id };
    stage.call::<volume::rpc::FormatVolume>(&request, |_| "NTFS".into())?;
    let after = stage.call::<volume::rpc::IsVolumeFormatted>(&ask, tell)?;
    ensure!(
        after.formatted,
        "the volume has no filesystem after the format"
    );
    Ok(())
}

fn mount(stage: &mut Stage, volume_id: &str, target: &str) -> anyhow::Result<()> {
    let (volume_id, path) = (volume_id.to_owned(), target.to_owned());
    stage
        .call::<filesystem::rpc::Mkdir>(&filesystem::MkdirRequest { path: path.clone() }, |_| {
            path.clone()
        })?;
    let request = volume::MountVolumeRequest {
        volume_id: volume_id.clone(),
        target_path: path.clone(),
    };
    stage.call::<volume::rpc::MountVolume>(&request, |_| format!("mounted at {path}"))?;
    let lookup = volume::GetVolumeIdFromTargetPathRequest {
        target_path: path.clone(),
    };
    let found = stage.call::<volume::rpc::GetVolumeIdFromTargetPath>(&lookup, |answer| {
        answer.volume_id.clone()
    })?;
    ensure!(
        found.volume_id == volume_id,
        "another volume is mounted there"
    );
    Ok(())
}

fn use_volume(stage: &mut Stage, volume_id: &str, target: &str) -> anyhow::Result<()> {
    let before = stats(stage, volume_id)?;
    let written = format!(r"{target}\{FILE}");
    stage.meanwhile("a pod writes a file", &written, |node| {
        fs::write(Stage::volume_folder(node, volume_id).join(FILE), TEXT)
    })?;
    let ask = filesystem::PathExistsRequest { path: written };
    let seen = stage
        .call::<filesystem::rpc::PathExists>(&ask, |answer| format!("exists: {}", answer.exists))?;
    ensure!(
        seen.exists,
        "the file is not seen through the mounted folder"
    );
    let after = stats(stage, volume_id)?;
    ensure!(
        after.used_bytes > before.used_bytes,
        "the file takes no space"
    );
    let flush = volume::WriteVolumeCacheRequest {
        volume_id: volume_id.to_owned(),
    };
    stage.call::<volume::rpc::WriteVolumeCache>(&flush, |_| "written to the disk".into())?;
    Ok(())
}

fn stats(stage: &mut Stage, volume_id: &str) -> anyhow::Result<volume::GetVolumeStatsResponse> {
    let request = volume::GetVolumeStatsRequest {
        volume_id: volume_id.to_owned(),
    };
    stage.call::<volume::rpc::GetVolumeStats>(&request, |answer| {
        format!("{} of {} bytes used", answer.used_bytes, answer.total_bytes)
    })
}

fn grow(stage: &mut Stage, disk_number: u32, volume_id: &str) -> anyhow::Result<()> {
    let before = stats(stage, volume_id)?;
    stage.meanwhile("the cloud grows the disk", "3 GiB", |node| {
        stage::grow(&os_sim::demo::disk_image(node), 3 * GIB)
    })?;
    stage.call::<disk::rpc::Rescan>(&disk::RescanRequest {}, |_| {
        "the node looked at its disks".into()
    })?;
    let size = stage
        .call::<disk::rpc::GetDiskStats>(&disk::GetDiskStatsRequest { disk_number }, |answer| {
            format!("disk {disk_number} has {} bytes", answer.total_bytes)
        })?;
    ensure!(
        u64::try_from(size.total_bytes)? == 3 * GIB,
        "the node does not see the growth"
    );
    let resize = volume::ResizeVolumeRequest {
        volume_id: volume_id.to_owned(),
        size_bytes: 0,
    };
    stage.call::<volume::rpc::ResizeVolume>(&resize, |_| "as large as the disk allows".into())?;
    let after = stats(stage, volume_id)?;
    ensure!(
        after.total_bytes > before.total_bytes,
        "the filesystem did not grow"
    );
    Ok(())
}

fn map_share(stage: &mut Stage) -> anyhow::Result<()> {
    let remote_path = os_sim::demo::SHARE.to_owned();
    let link = stage.kubelet(r"plugins\demo\share");
    let request = smb::NewSmbGlobalMappingRequest {
        remote_path: remote_path.clone(),
        local_path: link.clone(),
        username: os_sim::demo::SMB_USER.to_owned(),
        password: os_sim::demo::SMB_PASSWORD.to_owned(),
    };
    stage.call::<smb::rpc::NewSmbGlobalMapping>(&request, |_| {
        format!("{remote_path} linked at {link}")
    })?;
    let ask = filesystem::IsSymlinkRequest { path: link.clone() };
    let seen = stage.call::<filesystem::rpc::IsSymlink>(&ask, |answer| {
        format!("a link: {}", answer.is_symlink)
    })?;
    ensure!(
        seen.is_symlink,
        "the link to the share does not lead anywhere"
    );
    let unlink = filesystem::RmdirRequest {
        path: link.clone(),
        force: false,
    };
    stage
        .call::<filesystem::rpc::Rmdir>(&unlink, |_| "the link is gone, the share is not".into())?;
    let remove = smb::RemoveSmbGlobalMappingRequest { remote_path };
    stage.call::<smb::rpc::RemoveSmbGlobalMapping>(&remove, |_| "unmapped".into())?;
    Ok(())
}

fn unmount(
    stage: &mut Stage,
    disk_number: u32,
    volume_id: &str,
    target: &str,
) -> anyhow::Result<()> {
    let path = target.to_owned();
    let request = volume::UnmountVolumeRequest {
        volume_id: volume_id.to_owned(),
        target_path: path.clone(),
    };
    stage.call::<volume::rpc::UnmountVolume>(&request, |_| {
        format!("{path} is a plain folder again")
    })?;
    stage
        .call::<filesystem::rpc::Rmdir>(&filesystem::RmdirRequest { path, force: true }, |_| {
            "the folder is gone".into()
        })?;
    let offline = disk::SetDiskStateRequest {
        disk_number,
        is_online: false,
    };
    stage
        .call::<disk::rpc::SetDiskState>(&offline, |_| format!("disk {disk_number} is offline"))?;
    stage
        .meanwhile("the pod's file", "is still on the disk", |node| {
            let kept = fs::read_to_string(Stage::volume_folder(node, volume_id).join(FILE))?;
            Ok(kept == TEXT)
        })?
        .then_some(())
        .context("the file did not survive")
}
