//! `MSFT_Disk.CreatePartition`.

use os::schema::{self, ReturnCode, codes};
use os::{Outcome, PartitionEntry, PartitionStyle, VolumeId, WinPath};
use uuid::Uuid;

use super::disk::written;
use super::{Found, answering, failing, partition_object, pathless};
use crate::machine::Machine;
use crate::ondisk::gpt::{self, NewPartition};
use crate::ondisk::{MIB, Table};
use crate::provider::{Done, MethodCall, whole};

impl Machine {
    pub(super) fn create(&mut self, found: &Found, call: &MethodCall<'_>) -> Done<Outcome> {
        if let Some(code) = self.refuse_creating(found)? {
            return Ok(failing(code));
        }
        let new = match self.planned(found, call)? {
            Ok(new) => new,
            Err(code) => return Ok(failing(code)),
        };
        let outcome = written(gpt::add(self.area(&found.disk)?, &new));
        let is_letter_free = self.give_letter(VolumeId(new.id), call);
        self.changed(&found.disk);
        if outcome.code != codes::SUCCESS.code {
            return Ok(outcome);
        }
        let mut outcome = self.created(found, &new)?;
        if !is_letter_free {
            outcome.code = codes::ACCESS_PATH_IN_USE.code.into();
        }
        Ok(outcome)
    }

    fn refuse_creating(&self, found: &Found) -> Done<Option<ReturnCode>> {
        if let Some(code) = self.gone(found) {
            return Ok(Some(code));
        }
        let kernel = self.kernel(&found.disk)?;
        let style = self.disk(&found.disk)?.table.style;
        Ok(if style == PartitionStyle::Raw {
            Some(codes::DISK_NOT_INITIALIZED)
        } else if kernel.is_offline {
            Some(codes::DISK_OFFLINE)
        } else if self.refuses_writes(&found.disk) {
            Some(codes::DISK_READ_ONLY)
        } else if matches!(style, PartitionStyle::Mbr { .. }) {
            Some(codes::NOT_SUPPORTED)
        } else if gpt::is_full(self.area(&found.disk)?) {
            Some(codes::PARTITION_LIMIT)
        } else {
            None
        })
    }

    /// The partition that the arguments ask for, or why there cannot be one.
    fn planned(
        &self,
        found: &Found,
        call: &MethodCall<'_>,
    ) -> Done<Result<NewPartition, ReturnCode>> {
        let size = call.u64("Size");
        let is_whole = call.bool("UseMaximumSize") == Some(true);
        if is_whole == size.is_some() {
            return Ok(Err(codes::SIZE_AMBIGUOUS));
        }
        let Some(kind) = kind(call) else {
            return Ok(Err(codes::BAD_PARTITION_TYPE));
        };
        if call.u64("MbrType").is_some() || call.bool("IsActive") == Some(true) {
            return Ok(Err(codes::WRONG_PARTITION_KIND));
        }
        let table = &self.disk(&found.disk)?.table;
        let length = self.kernel(&found.disk)?.length;
        let place = stretch(table, length, size, call.u64("Offset"));
        Ok(place.map(|(offset, length)| NewPartition {
            kind,
            id: Uuid::new_v4(),
            name: "Basic data partition",
            offset,
            length,
            is_hidden: call.bool("IsHidden") == Some(true),
        }))
    }

    /// Gives the volume the requested letter; false if no such letter was free.
    fn give_letter(&mut self, volume: VolumeId, call: &MethodCall<'_>) -> bool {
        let wanted = call.u32("DriveLetter").and_then(char::from_u32);
        let letter = match wanted.filter(|letter| *letter != '\0') {
            Some(letter) => Some(letter.to_ascii_uppercase()),
            None if call.bool("AssignDriveLetter") == Some(true) => self.free_letter(),
            None => return true,
        };
        letter.is_some_and(|letter| self.assign_letter(letter, volume))
    }

    /// The first letter from D on that no volume has.
    pub(super) fn free_letter(&self) -> Option<char> {
        ('D'..='Z').find(|letter| {
            let root = WinPath::of_root(os::Root::Drive(*letter));
            self.volume_of_letter(&root).is_err()
        })
    }

    /// Gives a volume a letter, unless it is taken.
    pub(super) fn assign_letter(&mut self, letter: char, volume: VolumeId) -> bool {
        let root = WinPath::of_root(os::Root::Drive(letter));
        let is_free = self.volume_of_letter(&root).is_err();
        if is_free {
            self.remember_mount(root, volume);
        }
        is_free
    }

    fn created(&self, found: &Found, new: &NewPartition) -> Done<Outcome> {
        // With a partition of the dynamic kind the disk leaves the provider's list.
        if self.is_unlisted(&found.disk) {
            return Ok(Outcome::of(0));
        }
        let disk = self.state.storage.disks.get(&found.disk);
        let index = disk.and_then(|disk| disk.index(Some(new.offset)));
        let (Some(disk), Some(index)) = (disk, index) else {
            return Ok(failing(codes::FAILED));
        };
        let object = partition_object(self, disk, index);
        let instance = whole(&object, &schema::partition::CLASS, || Ok(pathless()))?;
        Ok(answering("CreatedPartition", instance))
    }
}

fn kind(call: &MethodCall<'_>) -> Option<Uuid> {
    match call.text("GptType") {
        None => Some(PartitionEntry::BASIC_DATA),
        Some(text) => {
            let bare = text.trim_start_matches('{').trim_end_matches('}');
            Uuid::try_parse(bare).ok()
        }
    }
}

/// Offset and length for a partition of this size, the largest one when there is no size.
fn stretch(
    table: &Table,
    length: u64,
    size: Option<u64>,
    offset: Option<u64>,
) -> Result<(u64, u64), ReturnCode> {
    let (start, most) = table.largest_gap(length).ok_or(codes::NOT_ENOUGH_SPACE)?;
    let offset = offset.unwrap_or(start);
    if !offset.is_multiple_of(MIB) || offset < start {
        return Err(codes::BAD_OFFSET);
    }
    let most = most.saturating_sub(offset - start);
    let size = size.unwrap_or(most).next_multiple_of(MIB);
    if size == 0 || size > most {
        return Err(codes::NOT_ENOUGH_SPACE);
    }
    Ok((offset, size))
}
