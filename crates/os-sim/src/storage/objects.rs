use std::path::PathBuf;
use std::sync::Arc;

use os::schema::NamedValue;
use os::schema::disk::offline_reason;
use os::{Value, VolumeId};

use super::cache::{CachedDisk, CachedPartition, Shared, Style};
use super::ids;
use crate::hardware::{Arrives, Role};
use crate::machine::{Machine, left_of};
use crate::provider::Object;
use crate::spec::SanPolicy;

/// An `MSFT_Disk`.
pub(super) struct DiskObject {
    pub(super) node: Arc<str>,
    pub(super) disk: Shared<CachedDisk>,
}

/// An `MSFT_Partition`, by its place among those of its disk.
pub(super) struct PartitionObject {
    pub(super) node: Arc<str>,
    pub(super) disk: Shared<CachedDisk>,
    pub(super) index: usize,
}

/// An `MSFT_Volume`, by its partition's place among those of its disk.
pub(super) struct VolumeObject {
    partition: PartitionObject,
    /// Where its files are on the host.
    files: Option<PathBuf>,
}

/// The `MSFT_StorageSetting`.
pub(super) struct SettingObject {
    policy: SanPolicy,
}

impl Object for DiskObject {
    fn property(&self, name: &str) -> Option<Value> {
        self.identity(name)
            .or_else(|| self.make(name))
            .or_else(|| self.size(name))
            .or_else(|| self.state(name))
    }
}

impl DiskObject {
    fn identity(&self, name: &str) -> Option<Value> {
        let disk = &self.disk;
        Some(match name {
            "ObjectId" => Value::text(disk.object_id.as_str()),
            "UniqueId" => Value::text(ids::unique(&self.node, disk).0),
            "UniqueIdFormat" => Value::uint16(ids::unique(&self.node, disk).1),
            "Number" => Value::uint32(disk.number),
            "Path" => Value::text(disk.path.as_str()),
            "Location" => Value::text(disk.location.as_str()),
            "Guid" => match disk.style {
                Style::Gpt(id) => Value::text(ids::braced(id)),
                _ => Value::Null,
            },
            "Signature" => match disk.style {
                Style::Mbr(signature) => Value::uint32(signature),
                _ => Value::Null,
            },
            _ => return pass_through(name),
        })
    }

    fn make(&self, name: &str) -> Option<Value> {
        let spec = &self.disk.spec;
        Some(match name {
            "FriendlyName" => Value::text(spec.friendly_name()),
            "SerialNumber" => text_or_null(spec.serial.as_deref()),
            "AdapterSerialNumber" => Value::Null,
            "FirmwareVersion" => text_or_null(spec.revision.as_deref()),
            "Manufacturer" => text_or_null(spec.vendor.as_deref()),
            "Model" => text_or_null(spec.product.as_deref()),
            "BusType" => Value::uint16(spec.bus.number().0),
            "ProvisioningType" => Value::uint32(spec.provisioning()),
            _ => return None,
        })
    }

    fn size(&self, name: &str) -> Option<Value> {
        let disk = &self.disk;
        let sector_size = disk.spec.sector_size.bytes();
        Some(match name {
            "Size" => Value::uint64(disk.length),
            "AllocatedSize" => Value::uint64(self.allocated()),
            "LargestFreeExtent" => Value::uint64(disk.largest_gap),
            "LogicalSectorSize" | "PhysicalSectorSize" => Value::uint32(sector_size),
            "NumberOfPartitions" => Value::uint32(count(&disk.partitions)),
            _ => return None,
        })
    }

    fn state(&self, name: &str) -> Option<Value> {
        let disk = &self.disk;
        Some(match name {
            "PartitionStyle" => Value::uint16(match disk.style {
                Style::Raw => 0,
                Style::Mbr(_) => 1,
                Style::Gpt(_) => 2,
            }),
            "IsOffline" => Value::Bool(disk.is_offline),
            "OfflineReason" => Value::uint32(self.offline_reason().value),
            "IsReadOnly" => Value::Bool(disk.is_read_only),
            "OperationalStatus" => {
                let status = if disk.is_offline { 0xD013 } else { 0xD010 };
                Value::Array(vec![Value::uint16(status)])
            }
            "HealthStatus" => Value::uint16(0),
            "IsBoot" | "BootFromDisk" => Value::Bool(disk.is_system || self.plays(Role::Boot)),
            "IsSystem" => Value::Bool(disk.is_system || self.plays(Role::System)),
            "IsClustered" => Value::Bool(self.plays(Role::Clustered)),
            "IsHighlyAvailable" | "IsScaleOut" => Value::Bool(false),
            _ => return None,
        })
    }

    fn offline_reason(&self) -> NamedValue {
        let disk = &self.disk;
        match disk.is_offline {
            false => offline_reason::NONE,
            true if disk.spec.arrives == Arrives::RedundantPath => offline_reason::REDUNDANT_PATH,
            true if disk.collides => offline_reason::COLLISION,
            true => offline_reason::POLICY,
        }
    }

    fn plays(&self, role: Role) -> bool {
        self.disk.spec.roles.contains(&role)
    }

    /// A disk without a table has nothing allocated; one with a table all that no partition could be made of.
    fn allocated(&self) -> u64 {
        match self.disk.style {
            Style::Raw => 0,
            _ => self.disk.length.saturating_sub(self.disk.largest_gap),
        }
    }
}

impl Object for PartitionObject {
    fn property(&self, name: &str) -> Option<Value> {
        let partition = self.partition()?;
        self.identity(partition, name)
            .or_else(|| self.state(partition, name))
    }
}

impl PartitionObject {
    fn partition(&self) -> Option<&CachedPartition> {
        self.disk.partitions.get(self.index)
    }

    fn identity(&self, partition: &CachedPartition, name: &str) -> Option<Value> {
        let disk = &self.disk;
        let is_gpt = partition.mbr_type.is_none();
        let on_gpt = |id| {
            if is_gpt {
                Value::text(ids::braced(id))
            } else {
                Value::Null
            }
        };
        Some(match name {
            "ObjectId" => Value::text(ids::partition(&self.node, disk, partition)),
            "UniqueId" => Value::text(ids::unique_partition(&self.node, disk, partition)),
            "DiskId" => Value::text(disk.path.as_str()),
            "DiskNumber" => Value::uint32(disk.number),
            "PartitionNumber" => Value::uint32(partition.number),
            "DriveLetter" => letter(partition.letter),
            "AccessPaths" => paths(&partition.paths),
            "Offset" => Value::uint64(partition.offset),
            "Size" => Value::uint64(partition.length),
            "MbrType" => partition
                .mbr_type
                .map_or(Value::Null, |kind| Value::uint16(u16::from(kind))),
            "GptType" => on_gpt(partition.kind),
            "Guid" => on_gpt(partition.id),
            _ => return pass_through(name),
        })
    }

    fn state(&self, partition: &CachedPartition, name: &str) -> Option<Value> {
        let disk = &self.disk;
        let is_drive_c = partition.letter == Some('C');
        Some(match name {
            "OperationalStatus" => Value::uint16(if disk.is_offline { 4 } else { 1 }),
            "TransitionState" => Value::uint16(1),
            "IsReadOnly" => Value::Bool(partition.is_read_only || disk.is_read_only),
            "IsOffline" => Value::Bool(disk.is_offline),
            "IsSystem" => {
                let is_efi = partition.kind == os::PartitionEntry::EFI_SYSTEM;
                let is_active = partition.mbr_type.is_some() && is_drive_c;
                Value::Bool(is_efi && disk.is_system || is_active)
            }
            "IsBoot" => Value::Bool(is_drive_c),
            "IsActive" => Value::Bool(partition.mbr_type.is_some() && is_drive_c),
            "IsHidden" => Value::Bool(partition.is_hidden),
            "IsShadowCopy" | "IsDAX" => Value::Bool(false),
            "NoDefaultDriveLetter" => Value::Bool(partition.letter.is_none()),
            _ => return None,
        })
    }
}

impl VolumeObject {
    /// None if there is no volume in the partition.
    pub(super) fn of(machine: &Machine, partition: PartitionObject) -> Option<Self> {
        let inner = partition.partition()?;
        inner.volume.as_ref()?;
        Some(Self {
            files: machine.files_of(VolumeId(inner.id)),
            partition,
        })
    }
}

impl Object for VolumeObject {
    fn property(&self, name: &str) -> Option<Value> {
        let partition = self.partition.partition()?;
        let volume = partition.volume.as_ref()?;
        let id = VolumeId(partition.id);
        Some(match name {
            "ObjectId" => Value::text(ids::volume(&self.partition.node, partition)),
            "UniqueId" | "Path" => Value::text(id.to_string()),
            "DriveLetter" => letter(partition.letter),
            "HealthStatus" => Value::uint16(0),
            "DedupMode" => Value::uint32(4),
            "OperationalStatus" => {
                let status = if self.partition.disk.is_offline {
                    0xD013
                } else {
                    2
                };
                Value::Array(vec![Value::uint16(status)])
            }
            "FileSystem" => text_or_null(volume.filesystem.as_deref()),
            "FileSystemLabel" => Value::text(volume.label.clone()),
            "FileSystemType" => Value::uint16(
                volume
                    .kind()
                    .map_or(0, crate::ondisk::FilesystemKind::number),
            ),
            "Size" => Value::uint64(volume.length),
            // Needs all files: counted only on demand, as many queries of volumes do not read it.
            "SizeRemaining" => {
                let files = self.files.as_deref();
                Value::uint64(left_of(volume.room, files, volume.cluster))
            }
            "DriveType" => Value::uint32(3),
            "AllocationUnitSize" => Value::uint32(volume.cluster),
            _ => return pass_through(name),
        })
    }
}

impl SettingObject {
    pub(super) fn of(machine: &Machine) -> Self {
        Self {
            policy: machine.spec.san_policy,
        }
    }
}

impl Object for SettingObject {
    fn property(&self, name: &str) -> Option<Value> {
        Some(match name {
            "NewDiskPolicy" => Value::uint16(match self.policy {
                SanPolicy::OnlineAll => 1,
                SanPolicy::OfflineShared => 2,
                SanPolicy::OfflineAll => 3,
            }),
            "ScrubPolicy" => Value::uint32(1),
            _ => return None,
        })
    }
}

/// Properties that only objects of a remote subsystem have.
fn pass_through(name: &str) -> Option<Value> {
    name.starts_with("PassThrough").then_some(Value::Null)
}

/// U+0000 stands for no letter.
fn letter(letter: Option<char>) -> Value {
    let unit = letter.and_then(|letter| u16::try_from(u32::from(letter)).ok());
    Value::uint16(unit.unwrap_or_default())
}

fn paths(paths: &[String]) -> Value {
    if paths.is_empty() {
        return Value::Null;
    }
    Value::Array(
        paths
            .iter()
            .map(|path| Value::text(path.as_str()))
            .collect(),
    )
}

fn text_or_null(text: Option<&str>) -> Value {
    text.map_or(Value::Null, Value::text)
}

fn count<T>(items: &[T]) -> u32 {
    u32::try_from(items.len()).unwrap_or(u32::MAX)
}
