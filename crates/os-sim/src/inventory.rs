use os::PartitionEntry;
use uuid::Uuid;

use crate::hardware::{
    Arrives, Bus, Content, DiskSpec, HardwareControl, HardwareError, IdentifierKind,
};
use crate::ondisk::gpt::{self, NewPartition};
use crate::ondisk::{Area, FilesystemKind, Formatting, MIB, Table, filesystem};

/// A node of many volumes, to measure how work grows with their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inventory {
    /// How many disks there are beside the system disk, each online and with one NTFS volume.
    pub volumes: u32,
    /// How many bytes each of these disks has.
    pub length: u64,
}

impl Inventory {
    /// So many volumes of 1 GiB.
    #[must_use]
    pub fn of(volumes: u32) -> Self {
        Self {
            volumes,
            length: 1 << 30,
        }
    }

    /// Plugs the disks in.
    pub(crate) fn plug_into(self, hardware: &HardwareControl) -> Result<(), HardwareError> {
        for index in 0..self.volumes {
            let name = format!("data{index:05}");
            let serial = format!("DATA{index:05}");
            let spec = DiskSpec::on(Bus::Sas)
                .serial(&serial)
                .identified(IdentifierKind::Naa, &format!("6002248{index:025x}"))
                .arriving(Arrives::Online);
            hardware.attach_disk(&name, &spec, &Content::blank(self.length))?;
            self.fill(hardware, &name)
                .map_err(|source| HardwareError::File {
                    object: name,
                    source,
                })?;
        }
        Ok(())
    }

    fn fill(self, hardware: &HardwareControl, name: &str) -> std::io::Result<()> {
        let medium = hardware.expect_disk(name).map_err(std::io::Error::other)?;
        let area = Area::sound(&medium, self.length, 512);
        gpt::initialize(area, Uuid::new_v4())?;
        let data = NewPartition {
            kind: PartitionEntry::BASIC_DATA,
            id: Uuid::new_v4(),
            name: "Basic data partition",
            offset: MIB,
            length: self.length - 2 * MIB,
            is_hidden: false,
        };
        gpt::add(area, &data)?;
        for partition in &Table::read(area).partitions {
            filesystem::write(area, partition, Formatting::of(FilesystemKind::Ntfs))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use os::{Deadline, Query};

    use super::Inventory;
    use crate::{ClockMode, NodeSpec, SimNode};

    #[test]
    fn every_volume_is_there_in_both_views() {
        let spec = NodeSpec::default();
        let node = SimNode::in_memory(&spec, Inventory::of(50), ClockMode::Virtual).unwrap();
        let os = node.os();
        // Drive C and the EFI system partition are volumes as well.
        let volumes = os.volumes.list().unwrap();
        assert_eq!(volumes.len(), 52);
        let query = Query::all("MSFT_Volume", &["Size", "FileSystem"]);
        let provided = os.storage.query(&query, Deadline::NEVER).unwrap();
        assert_eq!(provided.len(), 52);
        for volume in volumes {
            assert_eq!(os.volumes.extents(volume).unwrap().len(), 1);
            assert!(os.volumes.space(volume).unwrap().free > 0);
        }
    }
}
