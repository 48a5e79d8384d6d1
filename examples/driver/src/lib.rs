//! The node part of a CSI driver: a disk and an SMB share, staged, published, unpublished, unstaged.
//!
//! It knows [`NodeApi`] alone, so it does not know whether this process or csi-proxy does the work, or
//! whether the node is a simulated one. Each call may be repeated at any time, as kubelet does after
//! an error, a deadline or a restart.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use wincsi::disks::DiskQuery;
use wincsi::smb::{Credentials, MapRequest, RemotePath, ResolvedPath};
use wincsi::volumes::{FormatOptions, NewSize};
use wincsi::{
    Cause, Condition, Deadline, Error, Feature, NodeApi, PathError, Result, ResultExt, WinPath,
};

/// How long a call may take: less than kubelet's two minutes until its next call.
const CALL: Duration = Duration::from_secs(110);

/// How long a stage waits for a just attached disk. The rest of the call has the time after.
const ARRIVAL: Duration = Duration::from_secs(60);

/// A driver on one node.
pub struct Driver {
    /// The operations on the node.
    node: Arc<dyn NodeApi>,
    /// The records of each share's volumes.
    records: WinPath,
    /// A share must not be mapped for the next volume while it is unmapped for the last. A driver for many servers has
    /// one lock for each, so a dead one delays no other.
    shares: Mutex<()>,
}

impl Driver {
    /// A driver with its records in a lasting folder, within kubelet's: csi-proxy does nothing elsewhere.
    pub fn new(node: Arc<dyn NodeApi>, records: WinPath) -> Self {
        Self {
            node,
            records,
            shares: Mutex::default(),
        }
    }

    /// NodeStageVolume of the disk matching all of `wanted`.
    pub fn stage_disk(&self, wanted: &DiskQuery, staging: &WinPath) -> Result<()> {
        let (node, deadline) = (&self.node, self.node.deadline(CALL));
        let disk = node.disks().find_attached(wanted, ARRIVAL, deadline)?;
        node.disks().bring_online(&disk, deadline)?;
        node.disks().partition(&disk, deadline)?;
        let volume = node.volumes().find_on(&disk, deadline)?;
        let ntfs = FormatOptions::default();
        node.volumes().ensure_formatted(&volume, &ntfs, deadline)?;
        node.filesystem().make_directory(staging, deadline)?;
        node.volumes().mount(&volume, staging, deadline)?;
        node.volumes()
            .resize(&volume, NewSize::Maximum, deadline)
            .map(drop)
    }

    /// NodeUnstageVolume of a disk. The disk may have been pulled out.
    pub fn unstage_disk(&self, wanted: &DiskQuery, staging: &WinPath) -> Result<()> {
        let (node, deadline) = (&self.node, self.node.deadline(CALL));
        node.disks().rescan(deadline)?;
        let disk = node.disks().find(wanted, deadline);
        let is_gone = matches!(&disk, Err(error) if error.is(Condition::NotFound));
        match node.volumes().of_target(staging, deadline) {
            Ok(volume) => node.volumes().unmount(volume, staging, deadline)?,
            Err(error) if is_gone && error.is(Condition::OutOfReach) => {}
            Err(error) if error.is(Condition::NotFound) => {}
            Err(error) if error.is(Condition::NotAMountedFolder) => {}
            Err(error) => return Err(error),
        }
        self.unpublish(staging)?;
        let offline = disk.and_then(|disk| node.disks().take_offline(&disk, deadline));
        offline.ok_if(Condition::NotFound)
    }

    /// NodeStageVolume of a share. All volumes are mapped as one user; a driver with a user for each checks
    /// [`wincsi::smb::MapOutcome`].
    pub fn stage_share(&self, remote: &RemotePath, user: &Credentials, at: &WinPath) -> Result<()> {
        let (_turn, deadline) = (self.shares.lock(), self.node.deadline(CALL));
        let record = self.record(remote, at)?;
        self.node.filesystem().make_directory(&record, deadline)?;
        let link = ResolvedPath::from(at);
        let mapping = MapRequest::of(remote)
            .with_credentials(user)
            .with_link(&link);
        let map = |deadline| self.node.smb().map(&mapping, deadline).map(drop);
        self.make_link(at, map)
    }

    /// NodeUnstageVolume of a share. The mapping is the whole node's: it goes with the last volume on it.
    pub fn unstage_share(&self, remote: &RemotePath, at: &WinPath) -> Result<()> {
        let (_turn, deadline) = (self.shares.lock(), self.node.deadline(CALL));
        self.unpublish(at)?;
        let record = self.record(remote, at)?;
        self.unpublish(&record)?;
        match record.parent().map(|users| self.unpublish(&users)) {
            Some(Err(error)) if error.is(Condition::NotEmpty) => return Ok(()),
            Some(Err(error)) => return Err(error),
            _ => {}
        }
        let unmapped = self.node.smb().unmap(remote, deadline);
        unmapped.ok_if(Condition::NotMapped)
    }

    /// NodePublishVolume: a link for the pod to the staged volume. csi-proxy makes a directory link only to an existing
    /// target.
    pub fn publish(&self, staging: &WinPath, target: &WinPath) -> Result<()> {
        let files = self.node.filesystem();
        let link = |deadline| match self.node.supports(Feature::DirectoryLinks) {
            true => files.link_directory(staging, target, deadline),
            false => files.create_symlink(staging, target, deadline),
        };
        self.make_link(target, link)
    }

    /// NodeUnpublishVolume. The link's target stays, and a folder with files is refused.
    pub fn unpublish(&self, target: &WinPath) -> Result<()> {
        let deadline = self.node.deadline(CALL);
        let removed = self.node.filesystem().remove_entry(target, deadline);
        removed.ok_if(Condition::NotFound)
    }

    /// An empty folder for each volume, in one for its share. It is made before the share is mapped and outlives the
    /// driver, so after a restart no share in use is unmapped.
    fn record(&self, remote: &RemotePath, at: &WinPath) -> Result<WinPath> {
        let volume = at.to_string().replace(['\\', ':'], "-");
        let share = remote.share();
        let share = share.trim_start_matches('\\');
        let refused = |why: PathError| Cause::InvalidArgument(why.to_string());
        let record = format!(r"{}\{share}\{volume}", self.records).parse();
        record.map_err(|why| Error::new("keep a record of", remote, refused(why)))
    }

    /// Makes a link, also where kubelet made an empty folder before the call.
    fn make_link(&self, at: &WinPath, link: impl Fn(Deadline) -> Result<()>) -> Result<()> {
        let deadline = self.node.deadline(CALL);
        if let Some(parent) = at.parent() {
            let files = self.node.filesystem();
            files.make_directory(&parent, deadline)?;
        }
        match link(deadline) {
            Err(error) if error.is(Condition::AlreadyExists) => {
                self.unpublish(at)?;
                link(deadline)
            }
            done => done,
        }
    }
}
