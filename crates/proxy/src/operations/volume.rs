use node::{
    DiskError, LookupPath, NewSize, ProviderError, Replaced, ResolvedPath, VisibilityError,
    VolumeError,
};
use os::{Deadline, DiskNumber, ParseVolumeIdError, PartitionNumber, Space, VolumeId};

use super::PipeOperations;
use super::disk_id::{self, ParseUint};
use crate::audit;
use crate::paths::PathRule;

/// An invalid request of the volume group, or a failed operation. The texts of empty fields are
/// csi-proxy's.
#[derive(Debug, thiserror::Error)]
pub(crate) enum VolumeFailure {
    #[error("error getting the closest volume for the path={path}, err={source}")]
    Closest {
        path: String,
        source: Box<VolumeError>,
    },
    /// A disk number in the place of a volume id.
    #[error("volume id: {0}")]
    Disk(#[from] ParseUint),
    #[error("{0}")]
    Empty(&'static str),
    /// csi-proxy looks a volume up by the given text, and finds none.
    #[error("{0}: not found")]
    Id(#[from] ParseVolumeIdError),
    #[error(transparent)]
    Operation(#[from] VolumeError),
    #[error(transparent)]
    Rule(#[from] PathRule),
    /// More bytes than the wire's signed 64 bits hold.
    #[error("volume {volume}: size {bytes} does not fit")]
    Size { volume: VolumeId, bytes: u64 },
}

/// A call under an old name, failed under its name of today. The text is csi-proxy's.
#[derive(Debug, thiserror::Error)]
#[error("Forward to {rpc} failed, err={source}")]
pub(crate) struct Forwarded {
    rpc: &'static str,
    source: VolumeFailure,
}

impl Forwarded {
    pub(crate) fn to(rpc: &'static str) -> impl FnOnce(VolumeFailure) -> Self {
        move |source| Self { rpc, source }
    }

    /// The failure of the call of today.
    pub(crate) fn failure(&self) -> &VolumeFailure {
        &self.source
    }
}

/// Size and use of a filesystem as the wire carries them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stats {
    pub(crate) total_bytes: i64,
    pub(crate) used_bytes: i64,
}

type Result<T> = std::result::Result<T, VolumeFailure>;

impl PipeOperations {
    /// The ids of a disk's volumes; partition 0 stands for all of them. A missing disk or partition has none, as in
    /// csi-proxy; for an existing one an unreadable answer is never "none".
    pub(crate) fn volumes_on_disk(
        &self,
        disk: u32,
        partition: u32,
        deadline: Deadline,
    ) -> Result<Vec<String>> {
        let partition = (partition > 0).then_some(PartitionNumber(partition));
        let volumes = self.node.operations().volumes();
        match volumes.list_on_disk(DiskNumber(disk), partition, deadline) {
            Err(error) if is_absent(&error) => {
                tracing::info!(disk, "no volumes: {error}");
                Ok(Vec::new())
            }
            found => Ok(found?.iter().map(VolumeId::to_string).collect()),
        }
    }

    pub(crate) fn mount(&self, volume_id: &str, target: &str, deadline: Deadline) -> Result<()> {
        let empty = [
            "MountVolumeRequest.VolumeId is empty",
            "MountVolumeRequest.TargetPath is empty",
        ];
        let (volume, folder) = self.volume_and_target(volume_id, target, empty)?;
        Ok(self
            .node
            .operations()
            .volumes()
            .mount(volume, &folder, deadline)?)
    }

    pub(crate) fn unmount(&self, volume_id: &str, target: &str, deadline: Deadline) -> Result<()> {
        let empty = ["volume id empty", "target path empty"];
        let (volume, folder) = self.volume_and_target(volume_id, target, empty)?;
        Ok(self
            .node
            .operations()
            .volumes()
            .unmount(volume, &folder, deadline)?)
    }

    pub(crate) fn is_formatted(&self, volume_id: &str, deadline: Deadline) -> Result<bool> {
        let volume = volume(volume_id, "volume id empty")?;
        Ok(self
            .node
            .operations()
            .volumes()
            .is_formatted(volume, deadline)?)
    }

    pub(crate) fn format(&self, volume_id: &str, deadline: Deadline) -> Result<()> {
        let volume = volume(volume_id, "volume id empty")?;
        let volumes = self.node.operations().volumes();
        // It stays after a failed format, as the old content may be gone.
        let begins = |replaced: &Replaced| remark("began to format", replaced);
        let replaced = volumes.format_noting(volume, deadline, &begins)?;
        remark("formatted", &replaced);
        Ok(())
    }

    /// azuredisk sends the disk number as volume id after it staged a volume: then the disk's one
    /// volume is meant.
    pub(crate) fn resize(&self, volume_id: &str, size: i64, deadline: Deadline) -> Result<()> {
        let volumes = self.node.operations().volumes();
        let volume = if is_number(volume_id) {
            volumes.sole_on_disk(disk_id::parse(volume_id)?, deadline)?
        } else {
            volume(volume_id, "volume id empty")?
        };
        let size = NewSize::from_request(volume, size)?;
        volumes.resize_by_much(volume, size, deadline)?;
        Ok(())
    }

    /// A volume without a filesystem has none of no size: csi-proxy's answer.
    pub(crate) fn stats(&self, volume_id: &str, deadline: Deadline) -> Result<Stats> {
        let volume = volume(volume_id, "volume id empty")?;
        let space = match self.node.operations().volumes().stats(volume, deadline) {
            Err(error) if error.is_unformatted() => Space {
                total: 0,
                free: 0,
                available: 0,
            },
            space => space?,
        };
        let wire =
            |bytes: u64| i64::try_from(bytes).map_err(|_| VolumeFailure::Size { volume, bytes });
        Ok(Stats {
            total_bytes: wire(space.total)?,
            used_bytes: wire(space.total.saturating_sub(space.free))?,
        })
    }

    pub(crate) fn disk_of_volume(&self, volume_id: &str, deadline: Deadline) -> Result<u32> {
        let volume = volume(volume_id, "volume id empty")?;
        Ok(self
            .node
            .operations()
            .volumes()
            .disk_number(volume, deadline)?
            .0)
    }

    pub(crate) fn volume_of_target(&self, target: &str, deadline: Deadline) -> Result<String> {
        let path = self.lookup_target(target)?;
        Ok(self
            .node
            .operations()
            .volumes()
            .of_target(&path, deadline)?
            .to_string())
    }

    pub(crate) fn closest_volume(&self, target: &str, deadline: Deadline) -> Result<String> {
        let path = self.lookup_target(target)?;
        let volume = self.node.operations().volumes().closest(&path, deadline);
        let volume = volume.map_err(|source| VolumeFailure::Closest {
            path: target.to_owned(),
            source: Box::new(source),
        })?;
        Ok(volume.to_string())
    }

    pub(crate) fn flush(&self, volume_id: &str, deadline: Deadline) -> Result<()> {
        let volume = volume(volume_id, "volume id empty")?;
        Ok(self.node.operations().volumes().flush(volume, deadline)?)
    }

    fn volume_and_target(
        &self,
        volume_id: &str,
        target: &str,
        [no_volume, no_target]: [&'static str; 2],
    ) -> Result<(VolumeId, ResolvedPath)> {
        refuse_empty(volume_id, no_volume)?;
        refuse_empty(target, no_target)?;
        let folder = self.mount_point(target)?;
        Ok((volume(volume_id, no_volume)?, folder))
    }

    fn lookup_target(&self, path: &str) -> Result<LookupPath> {
        refuse_empty(path, "target path is empty")?;
        Ok(self.lookup(path)?)
    }
}

/// Notes in the audit log what a format replaced, if anything.
fn remark(done: &str, replaced: &Replaced) {
    match replaced {
        Replaced::FileSystem(name) => audit::remark(format!("{done} over a filesystem: {name}")),
        Replaced::Unknown => audit::remark(format!("{done} without a look at what was there")),
        _ => {}
    }
}

fn is_absent(error: &VolumeError) -> bool {
    matches!(
        error,
        VolumeError::Disk(DiskError::Provider(ProviderError::NotFound { .. }))
            | VolumeError::Visibility(VisibilityError::NoSuchPartition { .. })
    )
}

fn is_number(volume_id: &str) -> bool {
    !volume_id.is_empty() && volume_id.bytes().all(|byte| byte.is_ascii_digit())
}

fn volume(id: &str, empty: &'static str) -> Result<VolumeId> {
    refuse_empty(id, empty)?;
    Ok(id.parse()?)
}

fn refuse_empty(text: &str, complaint: &'static str) -> Result<()> {
    if text.is_empty() {
        return Err(VolumeFailure::Empty(complaint));
    }
    Ok(())
}
