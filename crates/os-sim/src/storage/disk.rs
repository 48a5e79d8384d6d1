//! The methods of `MSFT_Disk`, but for `CreatePartition`.

use os::schema::{ReturnCode, codes};
use os::{Hresult, Outcome, PartitionEntry, PartitionStyle};
use uuid::Uuid;

use super::{Found, Storage, failing, not_simulated};
use crate::conditions::OfflineAttributes;
use crate::machine::Machine;
use crate::ondisk::{MIB, gpt, mbr};
use crate::provider::{Done, MethodCall};

const MBR: u64 = 1;

impl Storage {
    pub(super) fn invoke_disk(&self, call: &MethodCall<'_>) -> Done<Outcome> {
        match call.method.name {
            "Clear" => self.on(call, |machine, found| clear(machine, found, call)),
            "CreatePartition" => self.on(call, |machine, found| machine.create(found, call)),
            "Initialize" => self.on(call, |machine, found| initialize(machine, found, call)),
            "Offline" => self.on(call, offline),
            "Online" => self.on(call, online),
            "Refresh" => self.on(call, refresh),
            "SetAttributes" => self.on(call, |machine, found| set_attributes(machine, found, call)),
            _ => Err(not_simulated(call)),
        }
    }
}

impl Machine {
    /// Why the provider cannot work on the disk: it has gone and the cache does not know.
    pub(super) fn gone(&self, found: &Found) -> Option<ReturnCode> {
        let is_present = self.present.contains_key(&found.disk);
        (!is_present).then_some(codes::CACHE_OUT_OF_DATE)
    }

    /// The provider has changed the disk: kernel and cache notice.
    pub(super) fn changed(&mut self, disk: &str) {
        self.settle(disk);
        self.cache_disk(disk);
    }
}

fn initialize(machine: &mut Machine, found: &Found, call: &MethodCall<'_>) -> Done<Outcome> {
    if let Some(code) = machine.gone(found) {
        return Ok(failing(code));
    }
    if machine.disk(&found.disk)?.table.style != PartitionStyle::Raw {
        return Ok(failing(codes::DISK_ALREADY_INITIALIZED));
    }
    if machine.spec.initialize_brings_online {
        machine.change(&found.disk, |disk| {
            disk.is_offline = false;
            disk.is_read_only = false;
        })?;
    }
    if machine.refuses_writes(&found.disk) {
        return Ok(failing(codes::ACCESS_DENIED));
    }
    let outcome = write_table(machine, found, call)?;
    machine.changed(&found.disk);
    Ok(outcome)
}

fn write_table(machine: &Machine, found: &Found, call: &MethodCall<'_>) -> Done<Outcome> {
    let area = machine.area(&found.disk)?;
    if call.u64("PartitionStyle") == Some(MBR) {
        let signature = Uuid::new_v4().as_fields().0;
        return Ok(written(mbr::initialize(area, signature)));
    }
    if area.length < gpt::SMALLEST_DISK {
        return Ok(failing(codes::TOO_SMALL_FOR_GPT));
    }
    let mut done = gpt::initialize(area, Uuid::new_v4());
    if call.half_way.is_some() {
        return Ok(failing(codes::FAILED));
    }
    if done.is_ok() {
        done = gpt::add_reserved(area);
    }
    Ok(written(done))
}

fn clear(machine: &mut Machine, found: &Found, call: &MethodCall<'_>) -> Done<Outcome> {
    if let Some(code) = machine.gone(found) {
        return Ok(failing(code));
    }
    if let Some(code) = refuse_clearing(machine, found, call)? {
        return Ok(failing(code));
    }
    let area = machine.area(&found.disk)?;
    let ends = [0, area.length.saturating_sub(MIB)];
    let zeros = vec![0; 1 << 20];
    let mut done = ends.into_iter().map(|at| area.medium.write(at, &zeros));
    let outcome = written(done.by_ref().collect::<std::io::Result<()>>());
    machine.changed(&found.disk);
    Ok(outcome)
}

fn refuse_clearing(
    machine: &Machine,
    found: &Found,
    call: &MethodCall<'_>,
) -> Done<Option<ReturnCode>> {
    let table = &machine.disk(&found.disk)?.table;
    let kernel = machine.kernel(&found.disk)?;
    let mut partitions = table.partitions.iter();
    let has_data = partitions.any(|partition| partition.kind != PartitionEntry::RESERVED);
    Ok(if table.style == PartitionStyle::Raw {
        Some(codes::DISK_NOT_INITIALIZED)
    } else if machine.is_system_disk(&found.disk) {
        Some(codes::CRITICAL_DISK)
    } else if kernel.is_offline {
        Some(codes::DISK_OFFLINE)
    } else if machine.refuses_writes(&found.disk) {
        Some(codes::DISK_READ_ONLY)
    } else if has_data && call.bool("RemoveData") != Some(true) {
        Some(codes::DATA_PARTITIONS_PRESENT)
    } else {
        None
    })
}

fn online(machine: &mut Machine, found: &Found) -> Done<Outcome> {
    if let Some(code) = machine.gone(found) {
        return Ok(failing(code));
    }
    if machine.has_twin(&found.disk) {
        if machine.refuses_writes(&found.disk) {
            return Ok(failing(codes::INVALID_PARAMETER));
        }
        machine.resign(&found.disk)?;
    }
    machine.change(&found.disk, |disk| {
        disk.is_offline = false;
        disk.collides = false;
    })?;
    machine.changed(&found.disk);
    Ok(Outcome::of(0))
}

fn offline(machine: &mut Machine, found: &Found) -> Done<Outcome> {
    if let Some(code) = machine.gone(found) {
        return Ok(failing(code));
    }
    if machine.is_system_disk(&found.disk) {
        return Ok(failing(codes::CRITICAL_DISK));
    }
    machine.change(&found.disk, |disk| disk.is_offline = true)?;
    machine.changed(&found.disk);
    Ok(Outcome::of(0))
}

/// A disk that has gone is found out here, and its object with it.
fn refresh(machine: &mut Machine, found: &Found) -> Done<Outcome> {
    machine.cache_disk(&found.disk);
    if machine.gone(found).is_some() {
        return Err(Hresult::WBEM_E_NOT_FOUND.into());
    }
    Ok(Outcome::of(0))
}

fn set_attributes(machine: &mut Machine, found: &Found, call: &MethodCall<'_>) -> Done<Outcome> {
    if let Some(code) = machine.gone(found) {
        return Ok(failing(code));
    }
    if call.text("Guid").is_some() || call.u64("Signature").is_some() {
        return Ok(failing(codes::NOT_SUPPORTED));
    }
    let refuses_offline = machine.spec.storage.offline_attributes == OfflineAttributes::Refused;
    if refuses_offline && machine.kernel(&found.disk)?.is_offline {
        return Ok(failing(codes::DISK_OFFLINE));
    }
    if let Some(is_read_only) = call.bool("IsReadOnly") {
        if is_read_only && machine.is_system_disk(&found.disk) {
            return Ok(failing(codes::CRITICAL_DISK));
        }
        machine.change(&found.disk, |disk| {
            disk.is_read_only = is_read_only;
            disk.is_read_only_again = false;
        })?;
    }
    machine.changed(&found.disk);
    Ok(Outcome::of(0))
}

/// The provider's result after a write to the disk, or its failure.
pub(super) fn written(done: std::io::Result<()>) -> Outcome {
    match done {
        Ok(()) => Outcome::of(0),
        Err(error) => Outcome {
            extended: Some(error.to_string()),
            ..Outcome::of(codes::FAILED.code)
        },
    }
}
