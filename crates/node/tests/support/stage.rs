//! The calls of a driver that stages a block volume.

use os::VolumeId;
use wincsi_node::NewSize;

use super::crash::with_text_error;
use super::{DATA, NodeFixture, STAGING};

impl NodeFixture {
    /// From a disk of whatever content to a volume that is mounted at [`STAGING`].
    pub(crate) fn stage(&self) -> Result<VolumeId, String> {
        let (node, soon) = (&self.node, self.soon());
        with_text_error(node.operations().disks().rescan(soon))?;
        let ids = with_text_error(node.operations().disks().ids(soon))?;
        let found = ids.iter().find(|(_, ids)| ids.serial == DATA);
        let (&disk, _) = found.ok_or("the disk is not there")?;
        with_text_error(node.operations().disks().set_online(disk, soon))?;
        with_text_error(node.operations().disks().partition(disk, soon))?;
        let volumes = with_text_error(node.operations().volumes().list_on_disk(disk, None, soon))?;
        let volume = *volumes.first().ok_or("the disk has no volume")?;
        if !with_text_error(node.operations().volumes().is_formatted(volume, soon))? {
            with_text_error(node.operations().volumes().format(volume, soon))?;
        }
        let make = |at| node.operations().filesystem().make_directory(at, soon);
        with_text_error(make(with_text_error(self.resolved(STAGING))?))?;
        with_text_error(node.operations().volumes().mount(
            volume,
            with_text_error(self.resolved(STAGING))?,
            soon,
        ))?;
        Ok(volume)
    }

    /// As [`NodeFixture::stage`], with a volume as large as its disk in the end.
    pub(crate) fn stage_and_grow(&self) -> Result<(), String> {
        let volume = self.stage()?;
        let volumes = self.node.operations().volumes();
        with_text_error(volumes.resize(volume, NewSize::Maximum, self.soon())).map(drop)
    }
}
