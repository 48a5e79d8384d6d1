//! The node part of a CSI driver: a disk and an SMB share, staged, published, unpublished, unstaged.
//!
//! It knows [`NodeApi`] alone, so it does not know whether this process or csi-proxy does the work, or
//! whether the node is a simulated one. Each call may be repeated at any time, as kubelet does after
//! an error, a deadline or a restart.

use std::sync::Arc;
use std::time::Duration;

use node::Credentials;
use node::DiskQuery;
use node::FormatOptions;
use node::Mapping;
use node::MappingOptions;
use node::NewSize;
use node::RemotePath;
use node::Way;
use node::api::Condition;
use node::api::Error;
use node::api::NodeApi;
use node::api::Result;
use os::Deadline;
use os::WinPath;

/// How long a call may take: less than the two minutes after which kubelet calls again.
const CALL: Duration = Duration::from_secs(110);

/// A driver on one node.
pub struct Driver {
    /// Who does the work.
    pub node: Arc<dyn NodeApi>,
}

impl Driver {
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
        node.volumes().mount(volume.id(), staging, deadline)?;
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
            Err(error) if is_gone || says(&error, &NOTHING_MOUNTED) => {}
            Err(error) => return Err(error),
        }
        self.unpublish(staging)?;
        let offline = disk.and_then(|disk| node.disks().take_offline(&disk, deadline));
        fine_if(offline, &[Condition::NotFound])
    }

    /// NodeStageVolume of a share.
    pub fn stage_share(&self, remote: &RemotePath, user: &Credentials, at: &WinPath) -> Result<()> {
        let link = Way::from(at);
        let mapping = Mapping {
            remote,
            credentials: Some(user),
            link: Some(&link),
            options: MappingOptions::default(),
        };
        let map = |deadline| self.node.smb().map(&mapping, deadline);
        self.make_link(at, map)
    }

    /// NodeUnstageVolume of a share that no other volume is on: the mapping goes with it.
    pub fn unstage_share(&self, remote: &RemotePath, at: &WinPath) -> Result<()> {
        self.unpublish(at)?;
        let unmapped = self.node.smb().unmap(remote, self.node.deadline(CALL));
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
