//! The node part of a CSI driver: a disk and a share, staged, published, unpublished and unstaged.

use std::time::Duration;

use wincsi::disks::DiskQuery;
use wincsi::volumes::FormatOptions;
use wincsi::{NodeApi, Result, WinPath};

/// Less than the two minutes after which kubelet calls again.
const CALL: Duration = Duration::from_secs(110);

/// How long a stage waits for a disk that is being attached.
const ARRIVAL: Duration = Duration::from_secs(60);

/// NodeStageVolume: formats the one disk that meets the query, and mounts it at `staging`.
pub fn stage(node: &dyn NodeApi, wanted: &DiskQuery, staging: &WinPath) -> Result<()> {
    let deadline = node.deadline(CALL);
    let disk = node.disks().find_attached(wanted, ARRIVAL, deadline)?;
    node.disks().bring_online(&disk, deadline)?;
    node.disks().partition(&disk, deadline)?;
    let volume = node.volumes().find_on(&disk, deadline)?;
    let ntfs = FormatOptions::default();
    node.volumes().ensure_formatted(&volume, &ntfs, deadline)?;
    node.filesystem().make_directory(staging, deadline)?;
    node.volumes().mount(&volume, staging, deadline)
}

use wincsi::{Condition, Deadline, Feature, ResultExt};

/// NodePublishVolume.
pub fn publish(node: &dyn NodeApi, staging: &WinPath, target: &WinPath) -> Result<()> {
    let files = node.filesystem();
    let link = |deadline| match node.supports(Feature::DirectoryLinks) {
        true => files.link_directory(staging, target, deadline),
        false => files.create_symlink(staging, target, deadline),
    };
    make_link(node, target, link)
}

/// Kubelet may have made an empty folder there.
fn make_link(
    node: &dyn NodeApi,
    at: &WinPath,
    link: impl Fn(Deadline) -> Result<()>,
) -> Result<()> {
    let deadline = node.deadline(CALL);
    if let Some(parent) = at.parent() {
        node.filesystem().make_directory(&parent, deadline)?;
    }
    match link(deadline) {
        Err(error) if error.is(Condition::AlreadyExists) => {
            unpublish(node, at)?;
            link(deadline)
        }
        done => done,
    }
}

/// NodeUnpublishVolume: removes a link or an empty folder.
pub fn unpublish(node: &dyn NodeApi, target: &WinPath) -> Result<()> {
    let removed = node.filesystem().remove_entry(target, node.deadline(CALL));
    removed.ok_if(Condition::NotFound)
}

/// NodeUnstageVolume of a disk, which may have been pulled out.
pub fn unstage(node: &dyn NodeApi, wanted: &DiskQuery, staging: &WinPath) -> Result<()> {
    let deadline = node.deadline(CALL);
    node.disks().rescan(deadline)?;
    let disk = node.disks().find(wanted, deadline);
    let disk = disk.none_if(Condition::NotFound)?;
    match node.volumes().of_target(staging, deadline) {
        Ok(volume) => node.volumes().unmount(volume, staging, deadline)?,
        Err(error) if error.is(Condition::NotFound) => {}
        Err(error) if error.is(Condition::NotAMountedFolder) => {}
        Err(error) if error.is(Condition::OutOfReach) && disk.is_none() => {}
        Err(error) => return Err(error),
    }
    unpublish(node, staging)?;
    match disk {
        Some(disk) => node.disks().take_offline(&disk, deadline),
        None => Ok(()),
    }
}

use std::sync::Mutex;

use wincsi::smb::{Credentials, MapRequest, RemotePath, ResolvedPath};
use wincsi::{Cause, Error, PathError};

/// Within kubelet's folder: csi-proxy does nothing elsewhere.
const SHARES: &str = r"C:\var\lib\kubelet\plugins\first\shares";

/// A share must not be mapped for the next volume while it is unmapped for the last. A driver for many servers has a
/// lock for each, so a dead one delays no other.
static TURN: Mutex<()> = Mutex::new(());

/// NodeStageVolume of a share.
pub fn stage_share(
    node: &dyn NodeApi,
    remote: &RemotePath,
    user: &Credentials,
    staging: &WinPath,
) -> Result<()> {
    let _turn = TURN.lock();
    let record = record(remote, staging)?;
    node.filesystem()
        .make_directory(&record, node.deadline(CALL))?;
    let link = ResolvedPath::from(staging);
    let request = MapRequest::of(remote)
        .with_credentials(user)
        .with_link(&link);
    let map = |deadline| node.smb().map(&request, deadline).map(drop);
    make_link(node, staging, map)
}

/// NodeUnstageVolume of a share. The mapping goes with the last volume on it.
pub fn unstage_share(node: &dyn NodeApi, remote: &RemotePath, staging: &WinPath) -> Result<()> {
    let _turn = TURN.lock();
    unpublish(node, staging)?;
    let record = record(remote, staging)?;
    unpublish(node, &record)?;
    match record.parent().map(|users| unpublish(node, &users)) {
        Some(Err(error)) if error.is(Condition::NotEmpty) => return Ok(()),
        Some(Err(error)) => return Err(error),
        _ => {}
    }
    let unmapped = node.smb().unmap(remote, node.deadline(CALL));
    unmapped.ok_if(Condition::NotMapped)
}

/// An empty folder for each volume, in one for its share. It is made before the share is mapped and outlives the
/// driver, so after a restart no share in use is unmapped.
fn record(remote: &RemotePath, staging: &WinPath) -> Result<WinPath> {
    let share = remote.share();
    let share = share.trim_start_matches('\\');
    let volume = staging.to_string().replace(['\\', ':'], "-");
    let refused = |why: PathError| Cause::InvalidArgument(why.to_string());
    let record = format!(r"{SHARES}\{share}\{volume}").parse();
    record.map_err(|why| Error::new("keep a record of", remote, refused(why)))
}
