//! The methods of `MSFT_Partition`, but for `Resize`, `GetSupportedSize` and the access paths.

use os::schema::codes;
use os::{Outcome, PartitionEntry};

use super::disk::written;
use super::{Found, Storage, failing, not_simulated};
use crate::machine::Machine;
use crate::ondisk::{Partition, gpt};
use crate::provider::{Done, MethodCall};

impl Storage {
    pub(super) fn invoke_partition(&self, call: &MethodCall<'_>) -> Done<Outcome> {
        match call.method.name {
            "AddAccessPath" => self.add_access_path(call),
            "DeleteObject" => self.on(call, delete),
            "GetSupportedSize" => self.on(call, |machine, found| machine.supported_size(found)),
            "Offline" => self.on(call, offline),
            "Online" => self.on(call, online),
            "RemoveAccessPath" => self.remove_access_path(call),
            "Resize" => self.on(call, |machine, found| machine.resize(found, call)),
            _ => Err(not_simulated(call)),
        }
    }
}

impl Machine {
    /// The partition as the kernel has it; `None` when it has gone and the cache does not know.
    pub(super) fn partition(&self, found: &Found) -> Option<&Partition> {
        let table = &self.present.get(&found.disk)?.table;
        let mut partitions = table.partitions.iter();
        partitions.find(|partition| Some(partition.offset) == found.partition)
    }
}

fn online(machine: &mut Machine, found: &Found) -> Done<Outcome> {
    let Some(partition) = machine.partition(found) else {
        return Ok(failing(codes::FAILED));
    };
    if partition.kind != PartitionEntry::BASIC_DATA && partition.mbr_type.is_none() {
        return Ok(failing(codes::DATA_PARTITIONS_ONLY));
    }
    let id = partition.id;
    machine.change(&found.disk, |disk| {
        disk.offline_volumes.retain(|offline| *offline != id);
    })?;
    machine.changed(&found.disk);
    Ok(Outcome::of(0))
}

fn offline(machine: &mut Machine, found: &Found) -> Done<Outcome> {
    let Some(partition) = machine.partition(found) else {
        return Ok(failing(codes::FAILED));
    };
    let id = partition.id;
    let is_data = partition.kind == PartitionEntry::BASIC_DATA || partition.mbr_type.is_some();
    if !is_data || machine.is_system(os::VolumeId(id)) {
        return Ok(failing(codes::DATA_PARTITIONS_ONLY));
    }
    machine.change(&found.disk, |disk| disk.offline_volumes.push(id))?;
    machine.changed(&found.disk);
    Ok(Outcome::of(0))
}

fn delete(machine: &mut Machine, found: &Found) -> Done<Outcome> {
    let Some(partition) = machine.partition(found) else {
        return Ok(failing(codes::FAILED));
    };
    let is_offline = machine.kernel(&found.disk)?.is_offline;
    let is_refused = is_offline || machine.refuses_writes(&found.disk);
    if is_refused || machine.is_system_disk(&found.disk) || partition.mbr_type.is_some() {
        return Ok(failing(codes::ACCESS_DENIED));
    }
    let volume = partition.id;
    let outcome = written(gpt::remove(machine.area(&found.disk)?, partition));
    machine.state.mounts.retain(|mount| mount.volume != volume);
    machine.changed(&found.disk);
    Ok(outcome)
}
