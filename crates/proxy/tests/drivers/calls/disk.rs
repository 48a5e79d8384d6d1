use std::collections::BTreeMap;

use super::{Answer, Api, Pipes, ask};

/// The identifiers of a disk.
pub(crate) struct DiskIds {
    pub(crate) page83: String,
    pub(crate) serial_number: String,
}

impl Pipes {
    pub(crate) fn rescan(&self) -> Answer<()> {
        match self.api {
            Api::V1 => drop(ask!(self, disk::v1::Rescan(RescanRequest {}))),
            Api::Fallback(_) => drop(ask!(self, disk::v1beta2::Rescan(RescanRequest {}))),
        }
        Ok(())
    }

    /// The logical unit of each disk with one, as text.
    pub(crate) fn list_disk_locations(&self) -> Answer<BTreeMap<u32, String>> {
        Ok(match self.api {
            Api::V1 => ask!(
                self,
                disk::v1::ListDiskLocations(ListDiskLocationsRequest {})
            )
            .disk_locations
            .into_iter()
            .map(|(disk, location)| (disk, location.lun_id))
            .collect(),
            Api::Fallback(_) => ask!(
                self,
                disk::v1beta2::ListDiskLocations(ListDiskLocationsRequest {})
            )
            .disk_locations
            .into_iter()
            .map(|(disk, location)| (number(&disk), location.lun_id))
            .collect(),
        })
    }

    pub(crate) fn list_disk_ids(&self) -> Answer<BTreeMap<u32, DiskIds>> {
        Ok(match self.api {
            Api::V1 => ask!(self, disk::v1::ListDiskIds(ListDiskIdsRequest {}))
                .disk_ids
                .into_iter()
                .map(|(disk, ids)| {
                    let (page83, serial_number) = (ids.page83, ids.serial_number);
                    (
                        disk,
                        DiskIds {
                            page83,
                            serial_number,
                        },
                    )
                })
                .collect(),
            Api::Fallback(_) => ask!(self, disk::v1beta2::ListDiskIds(ListDiskIdsRequest {}))
                .disk_ids
                .into_iter()
                .map(|(disk, mut ids)| (number(&disk), identifiers(&mut ids.identifiers)))
                .collect(),
        })
    }

    pub(crate) fn partition_disk(&self, disk: u32) -> Answer<()> {
        match self.api {
            Api::V1 => drop(ask!(
                self,
                disk::v1::PartitionDisk(PartitionDiskRequest { disk_number: disk })
            )),
            Api::Fallback(_) => drop(ask!(
                self,
                disk::v1beta2::PartitionDisk(PartitionDiskRequest {
                    disk_id: disk.to_string(),
                })
            )),
        }
        Ok(())
    }

    pub(crate) fn set_disk_state(&self, disk: u32, state: State) -> Answer<()> {
        let is_online = state == State::Online;
        match self.api {
            Api::V1 => drop(ask!(
                self,
                disk::v1::SetDiskState(SetDiskStateRequest {
                    disk_number: disk,
                    is_online,
                })
            )),
            Api::Fallback(_) => drop(ask!(
                self,
                disk::v1beta2::SetAttachState(SetAttachStateRequest {
                    disk_id: disk.to_string(),
                    is_online,
                })
            )),
        }
        Ok(())
    }

    /// The length of the disk in bytes.
    pub(crate) fn disk_stats(&self, disk: u32) -> Answer<i64> {
        Ok(match self.api {
            Api::V1 => {
                ask!(
                    self,
                    disk::v1::GetDiskStats(GetDiskStatsRequest { disk_number: disk })
                )
                .total_bytes
            }
            Api::Fallback(_) => {
                ask!(
                    self,
                    disk::v1beta2::DiskStats(DiskStatsRequest {
                        disk_id: disk.to_string(),
                    })
                )
                .disk_size
            }
        })
    }
}

/// Whether a disk's volumes are to be reachable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Offline,
    Online,
}

fn identifiers(map: &mut BTreeMap<String, String>) -> DiskIds {
    let mut taken = |key: &str| map.remove(key).expect(key);
    DiskIds {
        page83: taken("page83"),
        serial_number: taken("serialNumber"),
    }
}

fn number(text: &str) -> u32 {
    text.parse().expect("a disk number")
}
