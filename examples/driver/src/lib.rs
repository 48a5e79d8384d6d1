//! The node part of a CSI driver: a disk and an SMB share, staged, published, unpublished, unstaged.
//!
//! It knows [`NodeApi`] alone, so it does not know whether this process or csi-proxy does the work, or
//! whether the node is a simulated one. Each call may be repeated at any time, as kubelet does after
//! an error, a deadline or a restart.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use node::api::{Cause, Condition, Error, NodeApi, Result};
use node::{Credentials, DiskQuery, FormatOptions, MapRequest, NewSize, RemotePath, Way};
use os::{Deadline, PathError, WinPath};

/// How long a call may take: less than the two minutes after which kubelet calls again.
const CALL: Duration = Duration::from_secs(110);

/// A driver on one node.
pub struct Driver {
    /// Who does the work.
    node: Arc<dyn NodeApi>,
    /// Where it keeps which volumes are on which share.
    records: WinPath,
    /// A share that is unmapped for the last volume is not to be mapped for the next at the same time. A
    /// driver for many servers has one lock for each, so that a dead one holds up no other.
    shares: Mutex<()>,
}

impl Driver {
    /// A driver that keeps its records in a folder that outlives it, within kubelet's: csi-proxy does nothing
    /// elsewhere.
    pub fn new(node: Arc<dyn NodeApi>, records: WinPath) -> Self {
        Self {
            node,
            records,
            shares: Mutex::default(),
        }
    }

    /// NodeStageVolume of the disk that all of this is true of.
    pub fn stage_disk(&self, wanted: &DiskQuery, staging: &WinPath) -> Result<()> {
        let (node, deadline) = (&self.node, self.node.deadline(CALL));
        node.disks().rescan(deadline)?;
        let disk = node.disks().find(wanted, deadline)?;
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
        let is_gone = matches!(&disk, Err(error) if says(error, &[Condition::NotFound]));
        match node.volumes().of_target(staging, deadline) {
            Ok(volume) => node.volumes().unmount(volume, staging, deadline)?,
            Err(error) if is_gone && says(&error, &[Condition::OutOfReach]) => {}
            Err(error) if says(&error, &NOTHING_MOUNTED) => {}
            Err(error) => return Err(error),
        }
        self.unpublish(staging)?;
        let offline = disk.and_then(|disk| node.disks().take_offline(&disk, deadline));
        fine_if(offline, &[Condition::NotFound])
    }

    /// NodeStageVolume of a share. All volumes are mapped as one user; a driver with a user for each looks at
    /// what [`node::MapOutcome`] says.
    pub fn stage_share(&self, remote: &RemotePath, user: &Credentials, at: &WinPath) -> Result<()> {
        let (_turn, deadline) = (self.shares.lock(), self.node.deadline(CALL));
        let record = self.record(remote, at)?;
        self.node.filesystem().make_directory(&record, deadline)?;
        let link = Way::from(at);
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
            Some(Err(error)) if says(&error, &[Condition::NotEmpty]) => return Ok(()),
            Some(Err(error)) => return Err(error),
            _ => {}
        }
        let unmapped = self.node.smb().unmap(remote, deadline);
        fine_if(unmapped, &[Condition::NotMapped])
    }

    /// NodePublishVolume: a link for the pod to what is staged.
    pub fn publish(&self, staging: &WinPath, target: &WinPath) -> Result<()> {
        let files = self.node.filesystem();
        let link = |deadline| files.create_symlink(staging, target, deadline);
        self.make_link(target, link)
    }

    /// NodeUnpublishVolume. What the link leads to stays, and a folder with files is refused.
    pub fn unpublish(&self, target: &WinPath) -> Result<()> {
        let deadline = self.node.deadline(CALL);
        let removed = self.node.filesystem().remove_entry(target, deadline);
        fine_if(removed, &[Condition::NotFound])
    }

    /// An empty folder for each volume, in one for its share. It is made before the share is mapped and
    /// outlives the driver, so that what is unmapped after a restart is in no volume's use.
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
            Err(error) if says(&error, &[Condition::AlreadyExists]) => {
                self.unpublish(at)?;
                link(deadline)
            }
            done => done,
        }
    }
}

/// What says that no volume is mounted at a path.
const NOTHING_MOUNTED: [Condition; 2] = [Condition::NotFound, Condition::NotAMountedFolder];

/// Success also for an error that says: what was asked for holds already.
fn fine_if(done: Result<()>, conditions: &[Condition]) -> Result<()> {
    match done {
        Err(error) if says(&error, conditions) => Ok(()),
        done => done,
    }
}

fn says(error: &Error, conditions: &[Condition]) -> bool {
    let condition = error.condition();
    condition.is_some_and(|condition| conditions.contains(&condition))
}
