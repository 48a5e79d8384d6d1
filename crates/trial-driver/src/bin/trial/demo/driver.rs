//! The play: the life of one volume and one share, by a driver and the world around it.

use std::fs;

use anyhow::{Context as _, ensure};
use wincsi::disks::{Criterion, DiskNumber, DiskQuery, FoundDisk, Page83, SerialNumber};
use wincsi::sim::{Profile, demo};
use wincsi::smb::{Credentials, MapRequest, RemotePath, ResolvedPath};
use wincsi::volumes::{FoundVolume, NewSize, Space, VolumeId};
use wincsi::{WinPath, Zeroizing};

use super::printer::{self, CallPrinter};

const GIB: u64 = 1 << 30;
const FILE: &str = "hello.txt";
/// The adapter of Azure's data disks.
const AZURE_DATA: u32 = 1;
const TEXT: &str = "written through the volume's folder\n";

/// Makes a call of an operation, and prints its line: its name, and a text about the answer.
macro_rules! call {
    ($printer:ident: $group:ident.$call:ident($($given:expr),*) => $answer:pat, $($text:tt)+) => {
        $printer.call(
            concat!(stringify!($group), ".", stringify!($call)),
            |node, deadline| node.$group().$call($($given,)* deadline),
            |$answer| format!($($text)+),
        )
    };
}

pub(crate) fn play(printer: &mut CallPrinter, profile: Option<Profile>) -> anyhow::Result<()> {
    let found = find_disk(printer, &wanted(profile)?)?;
    let volume = make_volume(printer, &found)?;
    let target = r"C:\var\lib\kubelet\plugins\demo\globalmount".parse()?;
    mount(printer, &volume, &target)?;
    let volume = volume.id();
    use_volume(printer, volume, &target)?;
    grow(printer, found.number(), &target)?;
    map_share(printer)?;
    unmount(printer, &found, volume, &target)
}

/// A cloud driver's knowledge of its disk: Azure's the place, EBS's the volume, the others an identifier.
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
    call!(printer: disks.rescan() => (), "the node looked for new disks")?;
    call!(printer: disks.find(wanted) => disk, "{}", disk.seen())
}

fn make_volume(printer: &mut CallPrinter, found: &FoundDisk) -> anyhow::Result<FoundVolume> {
    let disk = found.number();
    call!(printer: disks.partition(found) => (),
        "disk {disk}: a partition table and one partition")?;
    let volume = call!(printer: volumes.find_on(found) => volume, "{}", volume.id())?;
    let is_formatted = is_formatted(printer, volume.id())?;
    ensure!(!is_formatted, "a raw disk has a filesystem");
    call!(printer: volumes.format(&volume) => (), "NTFS")?;
    let is_formatted = self::is_formatted(printer, volume.id())?;
    ensure!(
        is_formatted,
        "the volume has no filesystem after the format"
    );
    Ok(volume)
}

fn is_formatted(printer: &mut CallPrinter, volume: VolumeId) -> anyhow::Result<bool> {
    call!(printer: volumes.is_formatted(volume) => formatted, "formatted: {formatted}")
}

fn mount(printer: &mut CallPrinter, volume: &FoundVolume, target: &WinPath) -> anyhow::Result<()> {
    call!(printer: filesystem.make_directory(target) => (), "{target}")?;
    call!(printer: volumes.mount(volume, target) => (), "mounted at {target}")?;
    let found = call!(printer: volumes.of_target(target) => volume, "{volume}")?;
    ensure!(found == volume.id(), "another volume is mounted there");
    Ok(())
}

fn use_volume(printer: &mut CallPrinter, volume: VolumeId, target: &WinPath) -> anyhow::Result<()> {
    let before = stats(printer, volume)?;
    let written: WinPath = format!(r"{target}\{FILE}").parse()?;
    printer.meanwhile("a pod writes a file", &written.to_string(), |node| {
        fs::write(CallPrinter::volume_folder(node, volume).join(FILE), TEXT)
    })?;
    let exists = call!(printer: filesystem.path_exists(&written) => exists, "exists: {exists}")?;
    ensure!(exists, "the file is not seen through the mounted folder");
    let after = stats(printer, volume)?;
    ensure!(after.free < before.free, "the file takes no space");
    call!(printer: volumes.flush(volume) => (), "written to the disk")
}

fn stats(printer: &mut CallPrinter, volume: VolumeId) -> anyhow::Result<Space> {
    call!(printer: volumes.stats(volume) => Space { total, free, .. },
        "{free} of {total} bytes free")
}

fn grow(printer: &mut CallPrinter, disk: DiskNumber, target: &WinPath) -> anyhow::Result<()> {
    let volume = call!(printer: volumes.find_at(target) => volume, "{}", volume.id())?;
    let before = stats(printer, volume.id())?;
    printer.meanwhile("the cloud grows the disk", "3 GiB", |node| {
        printer::grow(&demo::disk_image(node), 3 * GIB)
    })?;
    call!(printer: disks.rescan() => (), "the node looked at its disks")?;
    let size = call!(printer: disks.size(disk) => size, "disk {disk} has {size} bytes")?;
    ensure!(size == 3 * GIB, "the node does not see the growth");
    call!(printer: volumes.resize(&volume, NewSize::Maximum) => _, "as large as the disk allows")?;
    let after = stats(printer, volume.id())?;
    ensure!(after.total > before.total, "the filesystem did not grow");
    Ok(())
}

fn map_share(printer: &mut CallPrinter) -> anyhow::Result<()> {
    let remote = RemotePath::parse(demo::SHARE)?;
    let link = r"C:\var\lib\kubelet\plugins\demo\share".parse()?;
    let password = Zeroizing::new(demo::SMB_PASSWORD.to_owned());
    let credentials = Credentials::new(demo::SMB_USER, password);
    let resolved = ResolvedPath::from(&link);
    let mapping = MapRequest::of(&remote)
        .with_credentials(credentials.as_ref())
        .with_link(&resolved);
    call!(printer: smb.map(&mapping) => _, "{remote} linked at {link}")?;
    let is_link = call!(printer: filesystem.is_symlink(&link) => is_link, "a link: {is_link}")?;
    ensure!(is_link, "the link to the share does not lead anywhere");
    call!(printer: filesystem.remove_entry(&link) => (), "the link is gone, the share is not")?;
    call!(printer: smb.unmap(&remote) => (), "unmapped")
}

fn unmount(
    printer: &mut CallPrinter,
    disk: &FoundDisk,
    volume: VolumeId,
    target: &WinPath,
) -> anyhow::Result<()> {
    call!(printer: volumes.unmount(volume, target) => (), "{target} is a plain folder again")?;
    call!(printer: filesystem.remove_tree(target) => (), "the folder is gone")?;
    call!(printer: disks.take_offline(disk) => (), "disk {} is offline", disk.number())?;
    let kept = printer.meanwhile("the pod's file", "is still on the disk", |node| {
        fs::read_to_string(CallPrinter::volume_folder(node, volume).join(FILE))
    })?;
    ensure!(kept == TEXT, "the file did not survive");
    Ok(())
}
