//! The play: what a driver and the world around it do with one volume and one share.

use std::fs;

use anyhow::{Context as _, ensure};
use node::{
    Credentials, Criterion, DiskQuery, FoundDisk, FoundVolume, MapRequest, NewSize, Page83,
    RemotePath, SerialNumber, Way,
};
use os::{DiskNumber, Space, VolumeId, WinPath};
use os_sim::{Profile, demo};
use zeroize::Zeroizing;

use crate::stage::{self, Stage};

const GIB: u64 = 1 << 30;
const FILE: &str = "hello.txt";
/// The adapter of Azure's data disks.
const AZURE_DATA: u32 = 1;
const TEXT: &str = "written through the volume's folder\n";

pub(crate) fn play(stage: &mut Stage, profile: Option<Profile>) -> anyhow::Result<()> {
    let found = find_disk(stage, &wanted(profile)?)?;
    let volume = make_volume(stage, &found)?;
    let target = stage.kubelet(r"plugins\demo\globalmount")?;
    mount(stage, &volume, &target)?;
    let volume = volume.id();
    use_volume(stage, volume, &target)?;
    grow(stage, found.number(), &target)?;
    map_share(stage)?;
    unmount(stage, &found, volume, &target)
}

/// What the driver of the cloud knows of its disk: Azure's the place, that of EBS the volume, the
/// others an identifier.
fn wanted(profile: Option<Profile>) -> anyhow::Result<DiskQuery> {
    let criteria = match profile {
        None => vec![Criterion::Serial(SerialNumber::parse(demo::DISK_SERIAL)?)],
        Some(Profile::AzureScsi) => {
            let lun = Criterion::Lun(demo::DISK_UNIT.into());
            vec![Criterion::Adapter(AZURE_DATA), lun]
        }
        Some(profile @ Profile::Ebs) => {
            let volume = SerialNumber::parse(demo::disk_identity(profile))?;
            vec![Criterion::Serial(volume)]
        }
        Some(profile @ (Profile::HyperV | Profile::Vsphere)) => {
            let disk = profile.disk(demo::DISK_UNIT, demo::disk_identity(profile));
            // csi-proxy hands out the first identifier alone.
            let first = disk.identifier.first().context("no identifier")?;
            vec![Criterion::Page83(Page83::parse(&first.value)?)]
        }
    };
    Ok(DiskQuery::all(criteria)?)
}

fn find_disk(stage: &mut Stage, wanted: &DiskQuery) -> anyhow::Result<FoundDisk> {
    stage.call(
        "disks.rescan",
        |node, deadline| node.disks().rescan(deadline),
        |()| "the node looked for new disks".into(),
    )?;
    stage.call(
        "disks.find",
        |node, deadline| node.disks().find(wanted, deadline),
        |disk| disk.seen().to_string(),
    )
}

fn make_volume(stage: &mut Stage, found: &FoundDisk) -> anyhow::Result<FoundVolume> {
    let disk = found.number();
    stage.call(
        "disks.partition",
        |node, deadline| node.disks().partition(found, deadline),
        |()| format!("disk {disk}: a partition table and one partition"),
    )?;
    let volume = stage.call(
        "volumes.find_on",
        |node, deadline| node.volumes().find_on(found, deadline),
        |volume| volume.id().to_string(),
    )?;
    ensure!(
        !is_formatted(stage, volume.id())?,
        "a raw disk has a filesystem"
    );
    stage.call(
        "volumes.format",
        |node, deadline| node.volumes().format(&volume, deadline),
        |()| "NTFS".into(),
    )?;
    ensure!(
        is_formatted(stage, volume.id())?,
        "the volume has no filesystem after the format"
    );
    Ok(volume)
}

fn is_formatted(stage: &mut Stage, volume: VolumeId) -> anyhow::Result<bool> {
    stage.call(
        "volumes.is_formatted",
        |node, deadline| node.volumes().is_formatted(volume, deadline),
        |formatted| format!("formatted: {formatted}"),
    )
}

fn mount(stage: &mut Stage, volume: &FoundVolume, target: &WinPath) -> anyhow::Result<()> {
    stage.call(
        "filesystem.make_directory",
        |node, deadline| node.filesystem().make_directory(target, deadline),
        |()| target.to_string(),
    )?;
    stage.call(
        "volumes.mount",
        |node, deadline| node.volumes().mount(volume, target, deadline),
        |()| format!("mounted at {target}"),
    )?;
    let found = stage.call(
        "volumes.of_target",
        |node, deadline| node.volumes().of_target(target, deadline),
        VolumeId::to_string,
    )?;
    ensure!(found == volume.id(), "another volume is mounted there");
    Ok(())
}

fn use_volume(stage: &mut Stage, volume: VolumeId, target: &WinPath) -> anyhow::Result<()> {
    let before = stats(stage, volume)?;
    let written: WinPath = format!(r"{target}\{FILE}").parse()?;
    stage.meanwhile("a pod writes a file", &written.to_string(), |node| {
        fs::write(Stage::volume_folder(node, volume).join(FILE), TEXT)
    })?;
    let exists = stage.call(
        "filesystem.path_exists",
        |node, deadline| node.filesystem().path_exists(&written, deadline),
        |exists| format!("exists: {exists}"),
    )?;
    ensure!(exists, "the file is not seen through the mounted folder");
    let after = stats(stage, volume)?;
    ensure!(after.free < before.free, "the file takes no space");
    stage.call(
        "volumes.flush",
        |node, deadline| node.volumes().flush(volume, deadline),
        |()| "written to the disk".into(),
    )
}

fn stats(stage: &mut Stage, volume: VolumeId) -> anyhow::Result<Space> {
    stage.call(
        "volumes.stats",
        |node, deadline| node.volumes().stats(volume, deadline),
        |space| format!("{} of {} bytes free", space.free, space.total),
    )
}

fn grow(stage: &mut Stage, disk: DiskNumber, target: &WinPath) -> anyhow::Result<()> {
    let volume = stage.call(
        "volumes.find_at",
        |node, deadline| node.volumes().find_at(target, deadline),
        |volume| volume.id().to_string(),
    )?;
    let before = stats(stage, volume.id())?;
    stage.meanwhile("the cloud grows the disk", "3 GiB", |node| {
        stage::grow(&demo::disk_image(node), 3 * GIB)
    })?;
    stage.call(
        "disks.rescan",
        |node, deadline| node.disks().rescan(deadline),
        |()| "the node looked at its disks".into(),
    )?;
    let size = stage.call(
        "disks.size",
        |node, deadline| node.disks().size(disk, deadline),
        |size| format!("disk {disk} has {size} bytes"),
    )?;
    ensure!(size == 3 * GIB, "the node does not see the growth");
    stage.call(
        "volumes.resize",
        |node, deadline| node.volumes().resize(&volume, NewSize::Maximum, deadline),
        |_| "as large as the disk allows".into(),
    )?;
    let after = stats(stage, volume.id())?;
    ensure!(after.total > before.total, "the filesystem did not grow");
    Ok(())
}

fn map_share(stage: &mut Stage) -> anyhow::Result<()> {
    let remote = RemotePath::parse(demo::SHARE)?;
    let link = stage.kubelet(r"plugins\demo\share")?;
    let password = Zeroizing::new(demo::SMB_PASSWORD.to_owned());
    let credentials = Credentials::new(demo::SMB_USER, password);
    let way = Way::from(&link);
    let mapping = MapRequest::of(&remote)
        .with_credentials(credentials.as_ref())
        .with_link(&way);
    stage.call(
        "smb.map",
        |node, deadline| node.smb().map(&mapping, deadline),
        |_| format!("{remote} linked at {link}"),
    )?;
    let is_link = stage.call(
        "filesystem.is_symlink",
        |node, deadline| node.filesystem().is_symlink(&link, deadline),
        |is_link| format!("a link: {is_link}"),
    )?;
    ensure!(is_link, "the link to the share does not lead anywhere");
    stage.call(
        "filesystem.remove_entry",
        |node, deadline| node.filesystem().remove_entry(&link, deadline),
        |()| "the link is gone, the share is not".into(),
    )?;
    stage.call(
        "smb.unmap",
        |node, deadline| node.smb().unmap(&remote, deadline),
        |()| "unmapped".into(),
    )
}

fn unmount(
    stage: &mut Stage,
    disk: &FoundDisk,
    volume: VolumeId,
    target: &WinPath,
) -> anyhow::Result<()> {
    stage.call(
        "volumes.unmount",
        |node, deadline| node.volumes().unmount(volume, target, deadline),
        |()| format!("{target} is a plain folder again"),
    )?;
    stage.call(
        "filesystem.remove_tree",
        |node, deadline| node.filesystem().remove_tree(target, deadline),
        |()| "the folder is gone".into(),
    )?;
    stage.call(
        "disks.take_offline",
        |node, deadline| node.disks().take_offline(disk, deadline),
        |()| format!("disk {} is offline", disk.number()),
    )?;
    stage
        .meanwhile("the pod's file", "is still on the disk", |node| {
            let kept = fs::read_to_string(Stage::volume_folder(node, volume).join(FILE))?;
            Ok(kept == TEXT)
        })?
        .then_some(())
        .context("the file did not survive")
}
