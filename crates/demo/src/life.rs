//! The play: the life of one volume and one share, by a driver and the world around it.

use std::fs;

use anyhow::{Context as _, ensure};
use wincsi::disks::{Criterion, DiskNumber, DiskQuery, FoundDisk, Page83, SerialNumber};
use wincsi::sim::{Profile, demo};
use wincsi::smb::{Credentials, MapRequest, RemotePath, ResolvedPath};
use wincsi::volumes::{FoundVolume, NewSize, Space, VolumeId};
use wincsi::{WinPath, Zeroizing};

use crate::printer::{self, CallPrinter};

const GIB: u64 = 1 << 30;
const FILE: &str = "hello.txt";
/// The adapter of Azure's data disks.
const AZURE_DATA: u32 = 1;
const TEXT: &str = "written through the volume's folder\n";

pub(crate) fn play(printer: &mut CallPrinter, profile: Option<Profile>) -> anyhow::Result<()> {
    let found = find_disk(printer, &wanted(profile)?)?;
    let volume = make_volume(printer, &found)?;
    let target = printer.kubelet(r"plugins\demo\globalmount")?;
    mount(printer, &volume, &target)?;
    let volume = volume.id();
    use_volume(printer, volume, &target)?;
    grow(printer, found.number(), &target)?;
    map_share(printer)?;
    unmount(printer, &found, volume, &target)
}

/// A cloud driver's knowledge of its disk: Azure's the place, EBS's the volume, the others an
/// identifier.
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

fn find_disk(printer: &mut CallPrinter, wanted: &DiskQuery) -> anyhow::Result<FoundDisk> {
    printer.call(
        "disks.rescan",
        |node, deadline| node.disks().rescan(deadline),
        |()| "the node looked for new disks".into(),
    )?;
    printer.call(
        "disks.find",
        |node, deadline| node.disks().find(wanted, deadline),
        |disk| disk.seen().to_string(),
    )
}

fn make_volume(printer: &mut CallPrinter, found: &FoundDisk) -> anyhow::Result<FoundVolume> {
    let disk = found.number();
    printer.call(
        "disks.partition",
        |node, deadline| node.disks().partition(found, deadline),
        |()| format!("disk {disk}: a partition table and one partition"),
    )?;
    let volume = printer.call(
        "volumes.find_on",
        |node, deadline| node.volumes().find_on(found, deadline),
        |volume| volume.id().to_string(),
    )?;
    ensure!(
        !is_formatted(printer, volume.id())?,
        "a raw disk has a filesystem"
    );
    printer.call(
        "volumes.format",
        |node, deadline| node.volumes().format(&volume, deadline),
        |()| "NTFS".into(),
    )?;
    ensure!(
        is_formatted(printer, volume.id())?,
        "the volume has no filesystem after the format"
    );
    Ok(volume)
}

fn is_formatted(printer: &mut CallPrinter, volume: VolumeId) -> anyhow::Result<bool> {
    printer.call(
        "volumes.is_formatted",
        |node, deadline| node.volumes().is_formatted(volume, deadline),
        |formatted| format!("formatted: {formatted}"),
    )
}

fn mount(printer: &mut CallPrinter, volume: &FoundVolume, target: &WinPath) -> anyhow::Result<()> {
    printer.call(
        "filesystem.make_directory",
        |node, deadline| node.filesystem().make_directory(target, deadline),
        |()| target.to_string(),
    )?;
    printer.call(
        "volumes.mount",
        |node, deadline| node.volumes().mount(volume, target, deadline),
        |()| format!("mounted at {target}"),
    )?;
    let found = printer.call(
        "volumes.of_target",
        |node, deadline| node.volumes().of_target(target, deadline),
        VolumeId::to_string,
    )?;
    ensure!(found == volume.id(), "another volume is mounted there");
    Ok(())
}

fn use_volume(printer: &mut CallPrinter, volume: VolumeId, target: &WinPath) -> anyhow::Result<()> {
    let before = stats(printer, volume)?;
    let written: WinPath = format!(r"{target}\{FILE}").parse()?;
    printer.meanwhile("a pod writes a file", &written.to_string(), |node| {
        fs::write(CallPrinter::volume_folder(node, volume).join(FILE), TEXT)
    })?;
    let exists = printer.call(
        "filesystem.path_exists",
        |node, deadline| node.filesystem().path_exists(&written, deadline),
        |exists| format!("exists: {exists}"),
    )?;
    ensure!(exists, "the file is not seen through the mounted folder");
    let after = stats(printer, volume)?;
    ensure!(after.free < before.free, "the file takes no space");
    printer.call(
        "volumes.flush",
        |node, deadline| node.volumes().flush(volume, deadline),
        |()| "written to the disk".into(),
    )
}

fn stats(printer: &mut CallPrinter, volume: VolumeId) -> anyhow::Result<Space> {
    printer.call(
        "volumes.stats",
        |node, deadline| node.volumes().stats(volume, deadline),
        |space| format!("{} of {} bytes free", space.free, space.total),
    )
}

fn grow(printer: &mut CallPrinter, disk: DiskNumber, target: &WinPath) -> anyhow::Result<()> {
    let volume = printer.call(
        "volumes.find_at",
        |node, deadline| node.volumes().find_at(target, deadline),
        |volume| volume.id().to_string(),
    )?;
    let before = stats(printer, volume.id())?;
    printer.meanwhile("the cloud grows the disk", "3 GiB", |node| {
        printer::grow(&demo::disk_image(node), 3 * GIB)
    })?;
    printer.call(
        "disks.rescan",
        |node, deadline| node.disks().rescan(deadline),
        |()| "the node looked at its disks".into(),
    )?;
    let size = printer.call(
        "disks.size",
        |node, deadline| node.disks().size(disk, deadline),
        |size| format!("disk {disk} has {size} bytes"),
    )?;
    ensure!(size == 3 * GIB, "the node does not see the growth");
    printer.call(
        "volumes.resize",
        |node, deadline| node.volumes().resize(&volume, NewSize::Maximum, deadline),
        |_| "as large as the disk allows".into(),
    )?;
    let after = stats(printer, volume.id())?;
    ensure!(after.total > before.total, "the filesystem did not grow");
    Ok(())
}

fn map_share(printer: &mut CallPrinter) -> anyhow::Result<()> {
    let remote = RemotePath::parse(demo::SHARE)?;
    let link = printer.kubelet(r"plugins\demo\share")?;
    let password = Zeroizing::new(demo::SMB_PASSWORD.to_owned());
    let credentials = Credentials::new(demo::SMB_USER, password);
    let resolved = ResolvedPath::from(&link);
    let mapping = MapRequest::of(&remote)
        .with_credentials(credentials.as_ref())
        .with_link(&resolved);
    printer.call(
        "smb.map",
        |node, deadline| node.smb().map(&mapping, deadline),
        |_| format!("{remote} linked at {link}"),
    )?;
    let is_link = printer.call(
        "filesystem.is_symlink",
        |node, deadline| node.filesystem().is_symlink(&link, deadline),
        |is_link| format!("a link: {is_link}"),
    )?;
    ensure!(is_link, "the link to the share does not lead anywhere");
    printer.call(
        "filesystem.remove_entry",
        |node, deadline| node.filesystem().remove_entry(&link, deadline),
        |()| "the link is gone, the share is not".into(),
    )?;
    printer.call(
        "smb.unmap",
        |node, deadline| node.smb().unmap(&remote, deadline),
        |()| "unmapped".into(),
    )
}

fn unmount(
    printer: &mut CallPrinter,
    disk: &FoundDisk,
    volume: VolumeId,
    target: &WinPath,
) -> anyhow::Result<()> {
    printer.call(
        "volumes.unmount",
        |node, deadline| node.volumes().unmount(volume, target, deadline),
        |()| format!("{target} is a plain folder again"),
    )?;
    printer.call(
        "filesystem.remove_tree",
        |node, deadline| node.filesystem().remove_tree(target, deadline),
        |()| "the folder is gone".into(),
    )?;
    printer.call(
        "disks.take_offline",
        |node, deadline| node.disks().take_offline(disk, deadline),
        |()| format!("disk {} is offline", disk.number()),
    )?;
    printer
        .meanwhile("the pod's file", "is still on the disk", |node| {
            let kept = fs::read_to_string(CallPrinter::volume_folder(node, volume).join(FILE))?;
            Ok(kept == TEXT)
        })?
        .then_some(())
        .context("the file did not survive")
}
