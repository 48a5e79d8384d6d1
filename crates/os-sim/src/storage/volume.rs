//! The methods of `MSFT_Volume`.

use os::schema::codes;
use os::{Hresult, Outcome, Value, VolumeId};

use super::{Found, Storage, failing, format, not_simulated};
use crate::machine::{Home, Machine};
use crate::ondisk::FilesystemKind;
use crate::provider::{Done, MethodCall};

impl Storage {
    pub(super) fn invoke_volume(&self, call: &MethodCall<'_>) -> Done<Outcome> {
        match call.method.name {
            "Flush" => self.on(call, flush),
            "Format" => self.on(call, |machine, found| format::run(machine, found, call)),
            "GetSupportedClusterSizes" => {
                self.on(call, |machine, found| cluster_sizes(machine, found, call))
            }
            "SetFileSystemLabel" => self.on(call, |machine, found| label(machine, found, call)),
            _ => Err(not_simulated(call)),
        }
    }
}

/// The volume that the call is on, when the kernel still has it.
pub(super) fn home(machine: &Machine, found: &Found) -> Done<(VolumeId, Home)> {
    let partition = machine.partition(found).map(|it| VolumeId(it.id));
    let volume = partition.ok_or(Hresult::WBEM_E_NOT_FOUND)?;
    let home = machine.home(volume);
    Ok((volume, home.map_err(|_| Hresult::WBEM_E_NOT_FOUND)?))
}

fn flush(machine: &mut Machine, found: &Found) -> Done<Outcome> {
    let (_, home) = home(machine, found)?;
    if machine.is_read_only(&home) {
        return Ok(failing(codes::FAILED));
    }
    Ok(Outcome::of(0))
}

/// Which code a volume without a filesystem answers is not documented.
fn label(machine: &mut Machine, found: &Found, call: &MethodCall<'_>) -> Done<Outcome> {
    let (volume, home) = home(machine, found)?;
    let filesystem = machine.filesystem(&home).ok().flatten();
    let label = call.text("FileSystemLabel").unwrap_or_default().to_owned();
    if machine.is_read_only(&home) || filesystem.is_none() {
        return Ok(failing(codes::FAILED));
    }
    if !format::is_label(&label) {
        return Ok(failing(codes::INVALID_PARAMETER));
    }
    machine.state.labels.insert(volume.0, label);
    machine.cache_disk(&found.disk);
    Ok(Outcome::of(0))
}

fn cluster_sizes(machine: &Machine, found: &Found, call: &MethodCall<'_>) -> Done<Outcome> {
    let kind = call.text("FileSystem").and_then(FilesystemKind::named);
    let Some(kind) = kind else {
        return Ok(failing(codes::INVALID_PARAMETER));
    };
    let sector = machine.area(&found.disk)?.sector_size;
    let sizes = kind.cluster_sizes().filter(|size| *size >= sector);
    let sizes = sizes.map(Value::uint32).collect();
    Ok(listing("SupportedClusterSizes", sizes))
}

fn listing(name: &str, values: Vec<Value>) -> Outcome {
    let mut outcome = Outcome::of(0);
    outcome.out.insert(name.to_owned(), Value::Array(values));
    outcome
}
