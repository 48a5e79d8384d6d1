//! `MSFT_Partition.Resize` and `GetSupportedSize`.

use os::schema::{ReturnCode, codes};
use os::{Outcome, Value, VolumeId};

use super::disk::written;
use super::{Found, failing};
use crate::machine::Machine;
use crate::ondisk::{self, Filesystem, MIB, Partition, Table, filesystem, gpt};
use crate::provider::{Done, MethodCall};

impl Machine {
    /// The partition first, then the filesystem in it.
    pub(super) fn resize(&mut self, found: &Found, call: &MethodCall<'_>) -> Done<Outcome> {
        let Some(partition) = self.partition(found).cloned() else {
            return Ok(failing(codes::FAILED));
        };
        if self.kernel(&found.disk)?.is_offline || self.refuses_writes(&found.disk) {
            return Ok(failing(codes::ACCESS_DENIED));
        }
        let area = self.area(&found.disk)?;
        let size = call.u64("Size").unwrap_or_default();
        let size = size / u64::from(area.sector_size) * u64::from(area.sector_size);
        let filesystem = Filesystem::read(area, &partition);
        let size = match self.granted(found, &partition, filesystem, size) {
            Ok(size) => size,
            Err(outcome) => return Ok(outcome),
        };
        let mut outcome = written(ondisk::resize(area, &partition, size));
        if call.half_way.is_some() {
            outcome = failing(codes::FAILED);
        } else if let Some(filesystem) = filesystem.filter(|_| outcome.code == 0) {
            outcome = written(filesystem::extend(area, &partition, filesystem, size));
        }
        self.changed(&found.disk);
        Ok(outcome)
    }

    /// The defragmenter computes how far the partition could shrink, so without its service the
    /// call fails. Source: kubernetes-sigs/aws-ebs-csi-driver issue 2877, which has the code, too.
    pub(super) fn supported_size(&self, found: &Found) -> Done<Outcome> {
        let Some(partition) = self.partition(found) else {
            return Ok(failing(codes::FAILED));
        };
        if self.is_disabled("defragsvc") {
            return Ok(failing(codes::FAILED));
        }
        let filesystem = Filesystem::read(self.area(&found.disk)?, partition);
        if let Some(code) = unknown(filesystem) {
            return Ok(failing(code));
        }
        let least = self.smallest(partition, filesystem);
        let most = self.reach(found, partition) - partition.offset;
        let mut outcome = Outcome::of(0);
        let mut answer = |name: &str, size| outcome.out.insert(name.to_owned(), size);
        answer("SizeMin", Value::uint64(least));
        answer("SizeMax", Value::uint64(most));
        Ok(outcome)
    }

    /// The size that the partition gets, which may be less than requested: up to where
    /// `CreatePartition` stops, although `GetSupportedSize` counts the rest.
    fn granted(
        &self,
        found: &Found,
        partition: &Partition,
        filesystem: Option<Filesystem>,
        size: u64,
    ) -> Result<u64, Outcome> {
        if let Some(code) = unknown(filesystem) {
            return Err(failing(code));
        }
        let is_growing = size > partition.length;
        if is_growing && size - partition.length < MIB {
            return Err(too_little());
        }
        let most = self.reach(found, partition) - partition.offset;
        if size > most || size < self.smallest(partition, filesystem) {
            return Err(failing(codes::SIZE_NOT_SUPPORTED));
        }
        let size = size.min(self.usable(found, partition) - partition.offset);
        match size == partition.length || is_growing && size < partition.length {
            true => Err(already()),
            false => Ok(size),
        }
    }

    /// How far the partition could reach as far as the provider knows the disk: up to the backup of the table.
    fn reach(&self, found: &Found, partition: &Partition) -> u64 {
        let backup = gpt::backup(self.sector_size(found));
        self.end(found, partition, |length| length.saturating_sub(backup))
    }

    /// How far it can be made to reach.
    fn usable(&self, found: &Found, partition: &Partition) -> u64 {
        self.end(found, partition, Table::end_of_room)
    }

    fn end(&self, found: &Found, partition: &Partition, of_disk: impl Fn(u64) -> u64) -> u64 {
        let cached = self.state.storage.disks.get(&found.disk);
        let length = cached.map_or(0, |disk| disk.length);
        let table = self.present.get(&found.disk).map(|present| &present.table);
        let next = table.and_then(|table| table.next(partition));
        let reach = table.map(|table| table.reach(length, self.sector_size(found)));
        let end = next.unwrap_or_else(|| of_disk(reach.unwrap_or(length)));
        end.max(partition.end())
    }

    fn sector_size(&self, found: &Found) -> u32 {
        self.area(&found.disk).map_or(512, |area| area.sector_size)
    }

    fn smallest(&self, partition: &Partition, filesystem: Option<Filesystem>) -> u64 {
        let Some(filesystem) = filesystem else {
            return MIB;
        };
        let free = self.free_space(VolumeId(partition.id), &filesystem);
        (filesystem.length - free).next_multiple_of(MIB)
    }
}

/// Text and code: kubernetes-csi/csi-proxy pull request 364.
fn too_little() -> Outcome {
    Outcome {
        extended: Some("The size of the extent is less than the minimum of 1MB.".to_owned()),
        ..Outcome::of(codes::SIZE_NOT_SUPPORTED.code)
    }
}

/// Code: actions/runner-images issue 7032, which has the text, too.
fn already() -> Outcome {
    Outcome {
        extended: Some("The partition is already the requested size.".to_owned()),
        ..Outcome::of(codes::SIZE_NOT_SUPPORTED.code)
    }
}

fn unknown(filesystem: Option<Filesystem>) -> Option<ReturnCode> {
    let is_unknown = filesystem.is_some_and(|it| !it.kind.grows());
    is_unknown.then_some(codes::UNKNOWN_FILE_SYSTEM)
}
