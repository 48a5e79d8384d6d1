//! `MSFT_Volume.Format`.

use std::path::Path;
use std::{fs, io};

use os::schema::volume::format as parameter;
use os::schema::{self, ReturnCode, codes};
use os::{Outcome, VolumeId};

use super::disk::written;
use super::volume::home;
use super::{Found, answering, failing, pathless, volume_object};
use crate::folder;
use crate::machine::{Home, Machine, letter, moment};
use crate::ondisk::{FilesystemKind, Formatting, filesystem};
use crate::provider::{Done, MethodCall, whole};

/// Above it NTFS does not compress
/// (<https://learn.microsoft.com/windows-server/administration/windows-commands/format>).
const LARGEST_COMPRESSED: u32 = 4096;

/// In UTF-16 units
/// (<https://learn.microsoft.com/windows/win32/api/winbase/nf-winbase-setvolumelabelw>).
const LONGEST_LABEL: usize = 32;

/// Makes the old content unrecognisable first, then removes its files, then writes the new filesystem: an
/// interruption leaves a RAW volume, perhaps with one copy of a boot sector.
pub(super) fn run(machine: &mut Machine, found: &Found, call: &MethodCall<'_>) -> Done<Outcome> {
    let (volume, home) = home(machine, found)?;
    let wanted = match possible(machine, volume, &home, call)? {
        Ok(wanted) => wanted,
        Err(code) => return Ok(failing(code)),
    };
    let area = machine.area(&home.disk)?;
    let mut done = filesystem::wipe(area, &home.partition);
    if let Some(first) = call.half_way {
        done = done.and_then(|()| filesystem::begin(area, &home.partition, wanted, first));
        machine.cache_disk(&found.disk);
        return Ok(match done {
            Ok(()) => failing(codes::FAILED),
            failed => written(failed),
        });
    }
    if let Some(folder) = machine.files_of(volume) {
        done = done.and_then(|()| empty(&folder));
    }
    done = done.and_then(|()| filesystem::write(area, &home.partition, wanted));
    machine.state.labels.insert(volume.0, label(call));
    machine.holds.remove(&volume);
    machine.cache_disk(&found.disk);
    if done.is_err() {
        return Ok(written(done));
    }
    formatted(machine, found)
}

pub(super) fn is_label(text: &str) -> bool {
    text.encode_utf16().count() <= LONGEST_LABEL
}

fn label(call: &MethodCall<'_>) -> String {
    let label = call.text(parameter::FILE_SYSTEM_LABEL.name);
    label.unwrap_or_default().to_owned()
}

/// The options of the format, or why it is refused.
fn possible(
    machine: &Machine,
    volume: VolumeId,
    home: &Home,
    call: &MethodCall<'_>,
) -> Done<Result<Formatting, ReturnCode>> {
    let wanted = match wanted(call) {
        Ok(wanted) => wanted,
        Err(code) => return Ok(Err(code)),
    };
    let spec = &machine.disk(&home.disk)?.disk.spec;
    let is_forced = call.bool(parameter::FORCE.name) == Some(true);
    if is_unsettled(machine, volume, home, call) {
        return Ok(Err(codes::INVALID_PARAMETER));
    }
    let is_held = machine.holds.contains_key(&volume) && !is_forced;
    Ok(if machine.is_system(volume) {
        Err(codes::CRITICAL_PARTITION)
    } else if machine.is_read_only(home) {
        Err(codes::DRIVE_READ_ONLY)
    } else if is_held || machine.locked.contains(&volume) {
        Err(codes::ACCESS_DENIED)
    } else if wanted.cluster < machine.area(&home.disk)?.sector_size {
        Err(codes::CLUSTER_SIZE_MISALIGNED)
    } else if wanted.has_too_many_clusters(home.partition.length) {
        Err(codes::TOO_MANY_CLUSTERS)
    } else if spec.is_unreadable(home.partition.offset, home.partition.length) {
        Err(codes::UNEXPECTED_IO_ERROR)
    } else {
        Ok(wanted)
    })
}

/// Whether a fault has it that the volume is too new, as long as it has no letter.
fn is_unsettled(machine: &Machine, volume: VolumeId, home: &Home, call: &MethodCall<'_>) -> bool {
    let Some(time) = call.unsettled else {
        return false;
    };
    let came = machine.state.disks.get(&home.disk);
    let came = came.and_then(|disk| disk.volumes.get(&volume.0));
    let paths = machine.state.paths_of(volume);
    let has_letter = paths.iter().any(|path| letter(path).is_some());
    !has_letter && came.is_some_and(|came| machine.now < moment(*came).after(time))
}

/// The options in the arguments, independent of the volume.
fn wanted(call: &MethodCall<'_>) -> Result<Formatting, ReturnCode> {
    let name = call.text(parameter::FILE_SYSTEM.name).unwrap_or("NTFS");
    let kind = FilesystemKind::named(name).filter(|kind| kind.grows());
    let kind = kind.ok_or(codes::FILE_SYSTEM_NOT_SUPPORTED)?;
    let cluster = call.u32(parameter::ALLOCATION_UNIT_SIZE.name);
    let cluster = cluster.filter(|size| *size != 0);
    let cluster = cluster.unwrap_or(kind.default_cluster_size());
    if !kind.cluster_sizes().any(|size| size == cluster) {
        return Err(codes::BAD_CLUSTER_SIZE);
    }
    let is_compressed = call.bool(parameter::COMPRESS.name) == Some(true);
    if is_compressed && cluster > LARGEST_COMPRESSED {
        return Err(codes::BAD_CLUSTER_SIZE);
    }
    if names_what_it_has_not(kind, call) || !is_label(&label(call)) {
        return Err(codes::INVALID_PARAMETER);
    }
    Ok(Formatting {
        kind,
        cluster,
        has_large_records: call.bool(parameter::USE_LARGE_FRS.name) == Some(true),
    })
}

/// The page of the method wants some parameters left out for one filesystem or the other. Which code
/// it answers otherwise is not documented.
fn names_what_it_has_not(kind: FilesystemKind, call: &MethodCall<'_>) -> bool {
    let unsuited: &[_] = match kind {
        FilesystemKind::Refs => &[
            parameter::COMPRESS,
            parameter::SHORT_FILE_NAME_SUPPORT,
            parameter::USE_LARGE_FRS,
        ],
        _ => &[parameter::SET_INTEGRITY_STREAMS],
    };
    let mut unsuited = unsuited.iter();
    unsuited.any(|parameter| call.bool(parameter.name).is_some())
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
