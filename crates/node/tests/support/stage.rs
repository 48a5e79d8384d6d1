//! The calls of a driver that stages a block volume.

use os::VolumeId;
use wincsi_node::NewSize;

use super::crash::told;
use super::{DATA, Rig, STAGING};

impl Rig {
    /// From a disk of whatever content to a volume that is mounted at [`STAGING`].
    pub(crate) fn stage(&self) -> Result<VolumeId, String> {
        let (node, soon) = (&self.node, self.soon());
        told(node.operations().disks().rescan(soon))?;
        let ids = told(node.operations().disks().ids(soon))?;
        let found = ids.iter().find(|(_, ids)| ids.serial == DATA);
        let (&disk, _) = found.ok_or("the disk is not there")?;
        told(node.operations().disks().set_online(disk, soon))?;
        told(node.operations().disks().partition(disk, soon))?;
        let volumes = told(node.operations().volumes().list_on_disk(disk, None, soon))?;
        let volume = *volumes.first().ok_or("the disk has no volume")?;
        if !told(node.operations().volumes().is_formatted(volume, soon))? {
            told(node.operations().volumes().format(volume, soon))?;
        }
        let make = |at| node.operations().filesystem().make_directory(at, soon);
        told(make(told(self.way(STAGING))?))?;
        told(
            node.operations()
                .volumes()
                .mount(volume, told(self.way(STAGING))?, soon),
        )?;
        Ok(volume)
    }

    /// As [`Rig::stage`], with a volume as large as its disk in the end.
    pub(crate) fn stage_and_grow(&self) -> Result<(), String> {
        let volume = self.stage()?;
        let volumes = self.node.operations().volumes();
        told(volumes.resize(volume, NewSize::Maximum, self.soon())).map(drop)
    }
}
