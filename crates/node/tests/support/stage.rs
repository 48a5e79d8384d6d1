//! The calls of a driver that stages a block volume.

use os::VolumeId;
use wincsi_node::NewSize;

use super::DATA;
use super::Rig;
use super::STAGING;
use super::crash::told;

impl Rig {
    /// From a disk of whatever content to a volume that is mounted at [`STAGING`].
    pub(crate) fn stage(&self) -> Result<VolumeId, String> {
        let (node, soon) = (&self.node, self.soon());
        told(node.disks().rescan(soon))?;
        let ids = told(node.disks().ids(soon))?;
        let found = ids.iter().find(|(_, ids)| ids.serial == DATA);
        let (&disk, _) = found.ok_or("the disk is not there")?;
        told(node.disks().set_online(disk, soon))?;
        told(node.disks().partition(disk, soon))?;
        let volumes = told(node.volumes().list_on_disk(disk, None, soon))?;
        let volume = *volumes.first().ok_or("the disk has no volume")?;
        if !told(node.volumes().is_formatted(volume, soon))? {
            told(node.volumes().format(volume, soon))?;
        }
        let make = |at| node.filesystem().make_directory(at, soon);
        told(make(told(self.way(STAGING))?))?;
        told(node.volumes().mount(volume, told(self.way(STAGING))?, soon))?;
        Ok(volume)
    }

    /// As [`Rig::stage`], with a volume as large as its disk in the end.
    pub(crate) fn stage_and_grow(&self) -> Result<(), String> {
        let volume = self.stage()?;
        let volumes = self.node.volumes();
        told(volumes.resize(volume, NewSize::Maximum, self.soon())).map(drop)
    }
}
