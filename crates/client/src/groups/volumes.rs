use node::api::{Cause, Condition, Error, Feature, Result, Volumes};
use node::{Evidence, FormatOptions, Formatted, FoundDisk, FoundVolume, NewSize, Resized};
use os::{Deadline, DiskNumber, PartitionNumber, Space, VolumeId, WinPath};

use super::{Read, bytes, find, malformed, path_text, unsupported};
use crate::dialect::dialects;
use crate::{Node, classify};

const FORMAT: &str = "format volume";
const LIST: &str = "list the volumes of disk";

impl Volumes for Node {
    fn list_on_disk(
        &self,
        disk: DiskNumber,
        partition: Option<PartitionNumber>,
        deadline: Deadline,
    ) -> Result<Vec<VolumeId>> {
        let mut spoken = dialects![
            volume[v2alpha1 v1 v1beta3] ListVolumesOnDisk: ListVolumesOnDiskRequest {
                disk_number: disk.0,
                partition_number: partition.map_or(0, |number| number.0),
            } => |answer| volumes(&answer.volume_ids);
        ];
        if partition.is_none() {
            spoken.extend(dialects![
                volume[v1beta2 v1beta1 v1alpha1] ListVolumesOnDisk: ListVolumesOnDiskRequest {
                    disk_id: disk.to_string(),
                } => |answer| volumes(&answer.volume_ids);
            ]);
        }
        self.look(LIST, &[&disk], deadline, &spoken)
    }

    fn find_on(&self, disk: &FoundDisk, deadline: Deadline) -> Result<FoundVolume> {
        let volume = sole_on(self, disk.number(), deadline)?;
        find::require(self, "find the volume of disk", disk, deadline)?;
        Ok(FoundVolume::on_disk(volume, disk.clone()))
    }

    fn find_at(&self, path: &WinPath, deadline: Deadline) -> Result<FoundVolume> {
        let volume = self.of_target(path, deadline)?;
        Ok(FoundVolume::mounted_at(volume, path.clone()))
    }

    fn mount(&self, volume: &FoundVolume, folder: &WinPath, deadline: Deadline) -> Result<()> {
        let folder_text = path_text("mount", folder)?;
        require(self, "mount", volume, deadline)?;
        let volume = volume.id();
        let spoken = dialects![
            volume[v2alpha1 v1 v1beta3] MountVolume: MountVolumeRequest {
                volume_id: volume.to_string(),
                target_path: folder_text.clone(),
            } => |_| Ok(());
            volume[v1beta2 v1beta1 v1alpha1] MountVolume: MountVolumeRequest {
                volume_id: volume.to_string(),
                path: folder_text.clone(),
            } => |_| Ok(());
        ];
        self.change("mount", &[folder, &volume], deadline, &spoken)
    }

    fn unmount(&self, volume: VolumeId, folder: &WinPath, deadline: Deadline) -> Result<()> {
        let folder_text = path_text("unmount", folder)?;
        let spoken = dialects![
            volume[v2alpha1 v1 v1beta3] UnmountVolume: UnmountVolumeRequest {
                volume_id: volume.to_string(),
                target_path: folder_text.clone(),
            } => |_| Ok(());
            volume[v1beta2 v1beta1 v1alpha1] DismountVolume: DismountVolumeRequest {
                volume_id: volume.to_string(),
                path: folder_text.clone(),
            } => |_| Ok(());
        ];
        self.change("unmount", &[folder, &volume], deadline, &spoken)
    }

    fn is_formatted(&self, volume: VolumeId, deadline: Deadline) -> Result<bool> {
        let spoken = dialects![
            volume[v2alpha1 v1 v1beta3 v1beta2 v1beta1 v1alpha1]
                IsVolumeFormatted: IsVolumeFormattedRequest {
                    volume_id: volume.to_string(),
                } => |answer| Ok(answer.formatted);
        ];
        self.look("look at volume", &[&volume], deadline, &spoken)
    }

    /// The Go server formats any volume, so this queries its filesystem first.
    fn format(&self, volume: &FoundVolume, deadline: Deadline) -> Result<()> {
        let is_formatted = self.is_formatted(volume.id(), deadline)?;
        require(self, FORMAT, volume, deadline)?;
        if is_formatted {
            let text = "it is not overwritten: it has a filesystem";
            let cause = Cause::failed(Condition::NotBlank, text);
            return Err(Error::new(FORMAT, volume.id(), cause));
        }
        format(self, volume.id(), deadline)
    }

    fn ensure_formatted(
        &self,
        volume: &FoundVolume,
        options: &FormatOptions,
        deadline: Deadline,
    ) -> Result<Formatted> {
        require_carried(options).map_err(|cause| Error::new(FORMAT, volume.id(), cause))?;
        let is_formatted = self.is_formatted(volume.id(), deadline)?;
        require(self, FORMAT, volume, deadline)?;
        if is_formatted {
            return Ok(Formatted::Unreported);
        }
        format(self, volume.id(), deadline)?;
        Ok(Formatted::Now)
    }

    fn resize(&self, volume: &FoundVolume, size: NewSize, deadline: Deadline) -> Result<Resized> {
        let name = "resize volume";
        let size = signed(size).map_err(|cause| Error::new(name, volume.id(), cause))?;
        require(self, name, volume, deadline)?;
        let volume = volume.id();
        let spoken = dialects![
            volume[v2alpha1 v1 v1beta3] ResizeVolume: ResizeVolumeRequest {
                volume_id: volume.to_string(),
                size_bytes: size,
            } => |_| Ok(());
            volume[v1beta2 v1beta1 v1alpha1] ResizeVolume: ResizeVolumeRequest {
                volume_id: volume.to_string(),
                size,
            } => |_| Ok(());
        ];
        match self.change(name, &[&volume], deadline, &spoken) {
            Err(error) if !classify::is_nothing_to_grow(&error.cause) => Err(error),
            _ => Ok(Resized::Unreported),
        }
    }

    fn stats(&self, volume: VolumeId, deadline: Deadline) -> Result<Space> {
        let spoken = dialects![
            volume[v2alpha1 v1 v1beta3] GetVolumeStats: GetVolumeStatsRequest {
                volume_id: volume.to_string(),
            } => |answer| space(answer.total_bytes, answer.used_bytes);
            volume[v1beta2 v1beta1] VolumeStats: VolumeStatsRequest {
                volume_id: volume.to_string(),
            } => |answer| space(answer.volume_size, answer.volume_used_size);
        ];
        self.look("look at volume", &[&volume], deadline, &spoken)
    }

    fn disk_number(&self, volume: VolumeId, deadline: Deadline) -> Result<DiskNumber> {
        let spoken = dialects![
            volume[v2alpha1 v1 v1beta3]
                GetDiskNumberFromVolumeId: GetDiskNumberFromVolumeIdRequest {
                    volume_id: volume.to_string(),
                } => |answer| Ok(DiskNumber(answer.disk_number));
            volume[v1beta2 v1beta1] GetVolumeDiskNumber: VolumeDiskNumberRequest {
                volume_id: volume.to_string(),
            } => |answer| disk(answer.disk_number);
        ];
        self.look("find the disk of volume", &[&volume], deadline, &spoken)
    }

    fn of_target(&self, path: &WinPath, deadline: Deadline) -> Result<VolumeId> {
        let name = "find the volume at";
        let text = path_text(name, path)?;
        let spoken = dialects![
            volume[v2alpha1 v1 v1beta3]
                GetVolumeIdFromTargetPath: GetVolumeIdFromTargetPathRequest {
                    target_path: text.clone(),
                } => |answer| volume(&answer.volume_id);
            volume[v1beta2 v1beta1] GetVolumeIdFromMount: VolumeIdFromMountRequest {
                mount: text.clone(),
            } => |answer| volume(&answer.volume_id);
        ];
        self.look(name, &[path], deadline, &spoken)
    }

    fn closest(&self, path: &WinPath, deadline: Deadline) -> Result<VolumeId> {
        let name = "find the volume of";
        let text = path_text(name, path)?;
        let spoken = dialects![
            volume[v2alpha1]
                GetClosestVolumeIdFromTargetPath: GetClosestVolumeIdFromTargetPathRequest {
                    target_path: text.clone(),
                } => |answer| volume(&answer.volume_id);
        ];
        self.look(name, &[path], deadline, &spoken)
    }

    fn flush(&self, volume: VolumeId, deadline: Deadline) -> Result<()> {
        let spoken = dialects![
            volume[v2alpha1 v1 v1beta3 v1beta2] WriteVolumeCache: WriteVolumeCacheRequest {
                volume_id: volume.to_string(),
            } => |_| Ok(());
        ];
        self.change("flush volume", &[&volume], deadline, &spoken)
    }
}

fn sole_on(node: &Node, disk: DiskNumber, deadline: Deadline) -> Result<VolumeId> {
    let found = node.list_on_disk(disk, None, deadline)?;
    let cause = match found.as_slice() {
        [one] => return Ok(*one),
        [] => Cause::failed(Condition::NotFound, "it has none"),
        several => {
            let names: Vec<_> = several.iter().map(VolumeId::to_string).collect();
            let text = format!("not one volume but {}", names.join(", "));
            Cause::failed(Condition::Ambiguous, text)
        }
    };
    Err(Error::new("find the volume of disk", disk, cause))
}

/// Refuses to go on when the volume is not where it was found. No lock is held meanwhile: csi-proxy has none
/// to offer.
fn require(
    node: &Node,
    operation: &'static str,
    volume: &FoundVolume,
    deadline: Deadline,
) -> Result<()> {
    let id = volume.id();
    let text = match volume.evidence() {
        Evidence::Disk(disk) => {
            find::require(node, operation, disk, deadline)?;
            let listed = node.list_on_disk(disk.number(), None, deadline)?;
            (!listed.contains(&id)).then(|| format!("it is not on disk {} now", disk.number()))
        }
        Evidence::Path(path) => {
            let mounted = node.of_target(path, deadline)?;
            (mounted != id).then(|| format!("volume {mounted} is mounted at {path} now"))
        }
    };
    match text {
        None => Ok(()),
        Some(text) => {
            let cause = Cause::failed(Condition::Changed, text);
            Err(Error::new(operation, id, cause))
        }
    }
}

fn format(node: &Node, volume: VolumeId, deadline: Deadline) -> Result<()> {
    let spoken = dialects![
        volume[v2alpha1 v1 v1beta3 v1beta2 v1beta1 v1alpha1] FormatVolume: FormatVolumeRequest {
            volume_id: volume.to_string(),
        } => |_| Ok(());
    ];
    node.change(FORMAT, &[&volume], deadline, &spoken)
}

fn volume(id: &str) -> Read<VolumeId> {
    id.parse().map_err(malformed)
}

/// csi-proxy before 1.3 has an empty id for a partition without a volume, such as the reserved one.
fn volumes(ids: &[String]) -> Read<Vec<VolumeId>> {
    let named = ids.iter().filter(|id| !id.is_empty());
    named.map(|id| volume(id)).collect()
}

/// `FormatVolumeRequest` names the volume and nothing else.
fn require_carried(options: &FormatOptions) -> Read<()> {
    if *options == FormatOptions::default() {
        return Ok(());
    }
    let what = "a format with ReFS, an allocation unit, a label or an access control list";
    Err(unsupported(what, Feature::FormatOptions))
}

/// Zero stands for the maximum.
fn signed(size: NewSize) -> Read<i64> {
    match size {
        NewSize::Maximum => Ok(0),
        NewSize::Bytes(bytes) => i64::try_from(bytes.get())
            .map_err(|_| Cause::InvalidArgument(format!("a size of {bytes} bytes"))),
    }
}

fn space(total: i64, used: i64) -> Read<Space> {
    let (total, used) = (bytes(total)?, bytes(used)?);
    let free = total.checked_sub(used);
    let free = free.ok_or_else(|| malformed(format_args!("{used} of {total} bytes used")))?;
    Ok(Space {
        total,
        free,
        available: free,
    })
}

fn disk(number: i64) -> Read<DiskNumber> {
    let narrow = u32::try_from(number).map(DiskNumber);
    narrow.map_err(|_| malformed(format_args!("a disk with the number {number}")))
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use super::*;

    /// Guards: P39
    #[test]
    fn sizes_and_numbers_are_never_cut() {
        assert_eq!(
            space(10, 4).map(|space| (space.total, space.free)),
            Ok((10, 6))
        );
        assert!(space(4, 10).is_err());
        assert!(space(-1, -1).is_err());
        assert_eq!(disk(1), Ok(DiskNumber(1)));
        assert!(disk(4_294_967_297).is_err());
        assert!(disk(-1).is_err());
        let largest = NewSize::Bytes(NonZeroU64::MAX);
        assert!(matches!(signed(largest), Err(Cause::InvalidArgument(_))));
    }

    #[test]
    fn a_partition_without_a_volume_is_left_out() {
        let id = r"\\?\Volume{6f1c2d3e-0a4b-4c5d-8e6f-7a8b9c0d1e2f}\";
        let ids = [String::new(), id.to_owned()];
        assert_eq!(volumes(&ids), Ok(vec![id.parse().unwrap()]));
        assert!(volumes(&["D:".to_owned()]).is_err());
    }
}
