//! The methods of `MSFT_Volume`.

use std::fs;
use std::io;
use std::path::Path;

use os::Hresult;
use os::Outcome;
use os::Value;
use os::VolumeId;
use os::schema;
use os::schema::ReturnCode;
use os::schema::codes;

use super::Found;
use super::Storage;
use super::answering;
use super::disk::written;
use super::failing;
use super::not_simulated;
use super::pathless;
use super::volume_object;
use crate::folder;
use crate::machine::Home;
use crate::machine::Machine;
use crate::ondisk::FilesystemKind;
use crate::ondisk::filesystem;
use crate::provider::Call;
use crate::provider::Done;
use crate::provider::whole;

const CLUSTER_SIZES: [u32; 5] = [4096, 8192, 16384, 32768, 65536];

impl Storage {
    pub(super) fn invoke_volume(&self, call: &Call<'_>) -> Done<Outcome> {
        match call.method.name {
            "Flush" => self.on(call, flush),
            "Format" => self.on(call, |machine, found| format(machine, found, call)),
            "GetSupportedClusterSizes" => Ok(listing(
                "SupportedClusterSizes",
                CLUSTER_SIZES.map(Value::uint32).to_vec(),
            )),
            "GetSupportedFileSystems" => Ok(listing(
                "SupportedFileSystems",
                ["NTFS", "ReFS"].map(Value::text).to_vec(),
            )),
            "SetFileSystemLabel" => self.on(call, |machine, found| label(machine, found, call)),
            _ => Err(not_simulated(call)),
        }
    }
}

/// The volume that the call is on, when the kernel still has it.
fn home(machine: &Machine, found: &Found) -> Done<(VolumeId, Home)> {
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

fn label(machine: &mut Machine, found: &Found, call: &Call<'_>) -> Done<Outcome> {
    let (volume, _) = home(machine, found)?;
    let label = call.text("FileSystemLabel").unwrap_or_default().to_owned();
    machine.state.labels.insert(volume.0, label);
    machine.cache_disk(&found.disk);
    Ok(Outcome::of(0))
}

/// What was there is unrecognisable first, then its files go, then the new boot sector is written: a
/// process that dies on the way leaves a RAW volume.
fn format(machine: &mut Machine, found: &Found, call: &Call<'_>) -> Done<Outcome> {
    let (volume, home) = home(machine, found)?;
    let plan = match planned(machine, volume, &home, call)? {
        Ok(plan) => plan,
        Err(code) => return Ok(failing(code)),
    };
    let area = machine.area(&home.disk)?;
    let mut done = filesystem::wipe(area, &home.partition);
    if call.half_way {
        machine.cache_disk(&found.disk);
        return Ok(failing(codes::FAILED));
    }
    if let Some(folder) = machine.files_of(volume) {
        done = done.and_then(|()| empty(&folder));
    }
    done = done.and_then(|()| {
        let (kind, cluster) = plan;
        filesystem::write(area, &home.partition, kind, cluster)
    });
    let label = call.text("FileSystemLabel").unwrap_or_default().to_owned();
    machine.state.labels.insert(volume.0, label);
    machine.holds.remove(&volume);
    machine.cache_disk(&found.disk);
    if done.is_err() {
        return Ok(written(done));
    }
    formatted(machine, found)
}

type Plan = (FilesystemKind, Option<u32>);

/// What to format with, or why not.
fn planned(
    machine: &Machine,
    volume: VolumeId,
    home: &Home,
    call: &Call<'_>,
) -> Done<Result<Plan, ReturnCode>> {
    let name = call.text("FileSystem").unwrap_or("NTFS");
    let kind = FilesystemKind::named(name).filter(|kind| *kind != FilesystemKind::Fat32);
    let Some(kind) = kind else {
        return Ok(Err(codes::FILE_SYSTEM_NOT_SUPPORTED));
    };
    let cluster = call.u32("AllocationUnitSize").filter(|size| *size != 0);
    let spec = &machine.disk(&home.disk)?.disk.spec;
    let is_held = machine.holds.contains_key(&volume) && call.bool("Force") != Some(true);
    Ok(if machine.is_system(volume) {
        Err(codes::CRITICAL_PARTITION)
    } else if machine.is_read_only(home) {
        Err(codes::DRIVE_READ_ONLY)
    } else if is_held || machine.locked.contains(&volume) {
        Err(codes::ACCESS_DENIED)
    } else if cluster.is_some_and(|size| !CLUSTER_SIZES.contains(&size)) {
        Err(codes::BAD_CLUSTER_SIZE)
    } else if spec.is_unreadable(home.partition.offset, home.partition.length) {
        Err(codes::UNEXPECTED_IO_ERROR)
    } else {
        Ok((kind, cluster))
    })
}

fn formatted(machine: &Machine, found: &Found) -> Done<Outcome> {
    let disk = machine.state.storage.disks.get(&found.disk);
    let index = disk.and_then(|disk| disk.index(found.partition));
    let (Some(disk), Some(index)) = (disk, index) else {
        return Ok(failing(codes::FAILED));
    };
    let Some(object) = volume_object(machine, disk, index) else {
        return Ok(failing(codes::FAILED));
    };
    let instance = whole(&*object, &schema::volume::CLASS, || Ok(pathless()))?;
    Ok(answering("FormattedVolume", instance))
}

/// Takes away a volume's files.
fn empty(folder: &Path) -> io::Result<()> {
    folder::existing(fs::remove_dir_all(folder))?;
    fs::create_dir_all(folder)
}

fn listing(name: &str, values: Vec<Value>) -> Outcome {
    let mut outcome = Outcome::of(0);
    outcome.out.insert(name.to_owned(), Value::Array(values));
    outcome
}
