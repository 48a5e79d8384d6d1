use super::{Answer, Api, OldVolume, Pipes, ask};

/// The size and used part of a volume's filesystem, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stats {
    pub(crate) total: i64,
    pub(crate) used: i64,
}

/// The same call of v1beta1 and v1beta2: their messages are alike.
macro_rules! ask_old {
    ($pipes:ident, $version:expr, $rpc:ident ($request:ident $fields:tt).$field:ident) => {
        match $version {
            OldVolume::V1Beta1 => ask!($pipes, volume::v1beta1::$rpc($request $fields)).$field,
            OldVolume::V1Beta2 => ask!($pipes, volume::v1beta2::$rpc($request $fields)).$field,
        }
    };
    ($pipes:ident, $version:expr, $rpc:ident ($request:ident $fields:tt)) => {
        match $version {
            OldVolume::V1Beta1 => drop(ask!($pipes, volume::v1beta1::$rpc($request $fields))),
            OldVolume::V1Beta2 => drop(ask!($pipes, volume::v1beta2::$rpc($request $fields))),
        }
    };
}

impl Pipes {
    pub(crate) fn list_volumes_on_disk(&self, disk: u32) -> Answer<Vec<String>> {
        Ok(match self.api {
            Api::V1 => {
                let request = wire::volume::v1::ListVolumesOnDiskRequest {
                    disk_number: disk,
                    partition_number: 0,
                };
                self.call::<wire::volume::v1::rpc::ListVolumesOnDisk>(&request)?
                    .volume_ids
            }
            Api::Fallback(version) => ask_old!(
                self,
                version,
                ListVolumesOnDisk(ListVolumesOnDiskRequest {
                    disk_id: disk.to_string()
                })
                .volume_ids
            ),
        })
    }

    pub(crate) fn is_volume_formatted(&self, volume: &str) -> Answer<bool> {
        Ok(match self.api {
            Api::V1 => {
                ask!(
                    self,
                    volume::v1::IsVolumeFormatted(IsVolumeFormattedRequest { volume_id: volume })
                )
                .formatted
            }
            Api::Fallback(version) => ask_old!(
                self,
                version,
                IsVolumeFormatted(IsVolumeFormattedRequest { volume_id: volume }).formatted
            ),
        })
    }

    pub(crate) fn format_volume(&self, volume: &str) -> Answer<()> {
        match self.api {
            Api::V1 => drop(ask!(
                self,
                volume::v1::FormatVolume(FormatVolumeRequest { volume_id: volume })
            )),
            Api::Fallback(version) => ask_old!(
                self,
                version,
                FormatVolume(FormatVolumeRequest { volume_id: volume })
            ),
        }
        Ok(())
    }

    pub(crate) fn mount_volume(&self, volume: &str, path: &str) -> Answer<()> {
        match self.api {
            Api::V1 => drop(ask!(
                self,
                volume::v1::MountVolume(MountVolumeRequest {
                    volume_id: volume,
                    target_path: path,
                })
            )),
            Api::Fallback(version) => ask_old!(
                self,
                version,
                MountVolume(MountVolumeRequest {
                    volume_id: volume,
                    path
                })
            ),
        }
        Ok(())
    }

    pub(crate) fn unmount_volume(&self, volume: &str, path: &str) -> Answer<()> {
        match self.api {
            Api::V1 => drop(ask!(
                self,
                volume::v1::UnmountVolume(UnmountVolumeRequest {
                    volume_id: volume,
                    target_path: path,
                })
            )),
            Api::Fallback(version) => ask_old!(
                self,
                version,
                DismountVolume(DismountVolumeRequest {
                    volume_id: volume,
                    path
                })
            ),
        }
        Ok(())
    }

    /// Zero means the largest size.
    pub(crate) fn resize_volume(&self, volume: &str, bytes: i64) -> Answer<()> {
        match self.api {
            Api::V1 => drop(ask!(
                self,
                volume::v1::ResizeVolume(ResizeVolumeRequest {
                    volume_id: volume,
                    size_bytes: bytes,
                })
            )),
            Api::Fallback(version) => ask_old!(
                self,
                version,
                ResizeVolume(ResizeVolumeRequest {
                    volume_id: volume,
                    size: bytes
                })
            ),
        }
        Ok(())
    }

    pub(crate) fn volume_stats(&self, volume: &str) -> Answer<Stats> {
        match self.api {
            Api::V1 => {
                let answer = ask!(
                    self,
                    volume::v1::GetVolumeStats(GetVolumeStatsRequest { volume_id: volume })
                );
                Ok(Stats {
                    total: answer.total_bytes,
                    used: answer.used_bytes,
                })
            }
            Api::Fallback(version) => self.old_stats(version, volume),
        }
    }

    fn old_stats(&self, version: OldVolume, volume: &str) -> Answer<Stats> {
        let (total, used) = match version {
            OldVolume::V1Beta1 => {
                let answer = ask!(
                    self,
                    volume::v1beta1::VolumeStats(VolumeStatsRequest { volume_id: volume })
                );
                (answer.volume_size, answer.volume_used_size)
            }
            OldVolume::V1Beta2 => {
                let answer = ask!(
                    self,
                    volume::v1beta2::VolumeStats(VolumeStatsRequest { volume_id: volume })
                );
                (answer.volume_size, answer.volume_used_size)
            }
        };
        Ok(Stats { total, used })
    }

    pub(crate) fn disk_number_of(&self, volume: &str) -> Answer<u32> {
        Ok(match self.api {
            Api::V1 => {
                ask!(
                    self,
                    volume::v1::GetDiskNumberFromVolumeId(GetDiskNumberFromVolumeIdRequest {
                        volume_id: volume,
                    })
                )
                .disk_number
            }
            Api::Fallback(version) => {
                let number = ask_old!(
                    self,
                    version,
                    GetVolumeDiskNumber(VolumeDiskNumberRequest { volume_id: volume }).disk_number
                );
                u32::try_from(number).expect("a disk number")
            }
        })
    }

    pub(crate) fn volume_of_target(&self, path: &str) -> Answer<String> {
        Ok(match self.api {
            Api::V1 => {
                ask!(
                    self,
                    volume::v1::GetVolumeIdFromTargetPath(GetVolumeIdFromTargetPathRequest {
                        target_path: path,
                    })
                )
                .volume_id
            }
            Api::Fallback(version) => ask_old!(
                self,
                version,
                GetVolumeIdFromMount(VolumeIdFromMountRequest { mount: path }).volume_id
            ),
        })
    }

    /// v1beta1 has no such call, and no driver of this version needs it.
    pub(crate) fn write_volume_cache(&self, volume: &str) -> Answer<()> {
        match self.api {
            Api::V1 => drop(ask!(
                self,
                volume::v1::WriteVolumeCache(WriteVolumeCacheRequest { volume_id: volume })
            )),
            Api::Fallback(_) => drop(ask!(
                self,
                volume::v1beta2::WriteVolumeCache(WriteVolumeCacheRequest { volume_id: volume })
            )),
        }
        Ok(())
    }
}

impl From<os::Space> for Stats {
    fn from(space: os::Space) -> Self {
        let bytes = |bytes| i64::try_from(bytes).expect("less than the wire carries");
        Self {
            total: bytes(space.total),
            used: bytes(space.total - space.free),
        }
    }
}
