use std::ffi::{OsStr, OsString};
use std::os::windows::ffi::{OsStrExt, OsStringExt};
use std::os::windows::io::OwnedHandle;

use formats::ioctl::{AnswerError, DiskExtent, VolumeDiskExtents};
use os::{
    Cause, Component, DiskNumber, Extent, FileSystem, PathError, Space, VolumeId, VolumeLock,
    Volumes, Win32, WinPath,
};
use windows_sys::Win32::Storage::FileSystem::IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS;
use windows_sys::Win32::System::Ioctl::{
    FSCTL_DISMOUNT_VOLUME, FSCTL_EXTEND_VOLUME, FSCTL_LOCK_VOLUME, FSCTL_UNLOCK_VOLUME,
};

use crate::raw::handle::{self, Purpose};
use crate::raw::volume;
use crate::wide::{self, Wide};
use crate::{failure, files};

/// The flag of `GetVolumeInformationW` for a filesystem mounted read-only
/// (`FILE_READ_ONLY_VOLUME`).
const READ_ONLY_VOLUME: u32 = 0x0008_0000;

/// The most retries for a list that grew since its length was read.
const ATTEMPTS: usize = 4;

/// The machine's volumes, by Win32 and control codes.
#[derive(Debug, Clone, Copy, Default)]
pub struct NativeVolumes;

impl NativeVolumes {
    #[must_use]
    pub fn new() -> Self {
        Self
    }
}

impl Volumes for NativeVolumes {
    fn list(&self) -> os::Result<Vec<VolumeId>> {
        let failed = |cause| failure::error("FindFirstVolumeW", "all volumes", cause);
        let names = volume::names().map_err(|code| failed(code.into()))?;
        let ids = names.iter().map(volume_id);
        ids.collect::<Result<_, _>>().map_err(failed)
    }

    fn extents(&self, volume: VolumeId) -> os::Result<Vec<Extent>> {
        device(volume, Purpose::AskDevice)
            .map_err(Cause::from)
            .and_then(|device| disk_extents(&device))
            .map_err(|cause| failure::error("IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS", volume, cause))
    }

    fn space(&self, volume: VolumeId) -> os::Result<Space> {
        root(volume)
            .and_then(|root| volume::space(&root))
            .map_err(|code| failure::error("GetDiskFreeSpaceExW", volume, code))
    }

    /// With a trailing backslash, required for a path of a share. A link at the end is followed: the query is not about
    /// an entry.
    ///
    /// <https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-getdiskfreespaceexw>
    fn space_at(&self, directory: &WinPath) -> os::Result<Space> {
        Wide::folder(directory)
            .and_then(|directory| volume::space(&directory))
            .map_err(|code| failure::error("GetDiskFreeSpaceExW", directory, code))
    }

    fn file_system(&self, volume: VolumeId) -> os::Result<Option<FileSystem>> {
        match root(volume).and_then(|root| volume::information(&root)) {
            Ok(information) => Ok(file_system(&information)),
            Err(Win32::UNRECOGNIZED_VOLUME) => Ok(None),
            Err(code) => Err(failure::error("GetVolumeInformationW", volume, code)),
        }
    }

    fn mounted_at(&self, folder: &WinPath) -> os::Result<VolumeId> {
        Wide::folder(folder)
            .and_then(|folder| volume::name_at(&folder))
            .map_err(Cause::from)
            .and_then(|name| volume_id(&name))
            .map_err(|cause| failure::error("GetVolumeNameForVolumeMountPointW", folder, cause))
    }

    fn access_paths(&self, volume: VolumeId) -> os::Result<Vec<WinPath>> {
        root(volume)
            .map_err(Cause::from)
            .and_then(|volume| paths(&volume))
            .and_then(|paths| paths.iter().map(|text| path(text)).collect())
            .map_err(|cause| failure::error("GetVolumePathNamesForVolumeNameW", volume, cause))
    }

    fn set_mount_point(&self, folder: &WinPath, volume: VolumeId) -> os::Result<()> {
        Wide::folder(folder)
            .and_then(|folder| volume::mount(&folder, &root(volume)?))
            .map_err(|code| failure::error("SetVolumeMountPointW", folder, code))
    }

    fn delete_mount_point(&self, folder: &WinPath) -> os::Result<()> {
        Wide::folder(folder)
            .and_then(|folder| volume::unmount(&folder))
            .map_err(|code| failure::error("DeleteVolumeMountPointW", folder, code))
    }

    fn delete_reparse_point(&self, folder: &WinPath, volume: VolumeId) -> os::Result<()> {
        Wide::path(folder)
            .and_then(|path| files::take_mount_from(&path, volume))
            .map_err(|code| failure::error("FSCTL_DELETE_REPARSE_POINT", folder, code))
    }

    fn flush(&self, volume: VolumeId) -> os::Result<()> {
        device(volume, Purpose::ChangeDevice)
            .and_then(|device| handle::flush(&device))
            .map_err(|code| failure::error("FlushFileBuffers", volume, code))
    }

    fn lock(&self, volume: VolumeId) -> os::Result<Box<dyn VolumeLock>> {
        let lock = device(volume, Purpose::ChangeDevice)
            .and_then(|device| Lock::take(volume, device))
            .map_err(|code| failure::error("FSCTL_LOCK_VOLUME", volume, code))?;
        Ok(Box::new(lock))
    }

    fn extend(&self, volume: VolumeId, bytes: u64) -> os::Result<()> {
        extend(volume, bytes).map_err(|cause| failure::error("FSCTL_EXTEND_VOLUME", volume, cause))
    }
}

/// A locked volume, by the handle of its lock.
struct Lock {
    volume: VolumeId,
    device: OwnedHandle,
}

impl Lock {
    fn take(volume: VolumeId, device: OwnedHandle) -> Result<Self, Win32> {
        handle::control(&device, FSCTL_LOCK_VOLUME, &[], &mut [])?;
        Ok(Self { volume, device })
    }
}

impl VolumeLock for Lock {
    fn dismount(&self) -> os::Result<()> {
        handle::control(&self.device, FSCTL_DISMOUNT_VOLUME, &[], &mut [])
            .map(drop)
            .map_err(|code| failure::error("FSCTL_DISMOUNT_VOLUME", self.volume, code))
    }
}

impl Drop for Lock {
    /// Closing the handle unlocks too; if this fails, no volume is left to unlock.
    fn drop(&mut self) {
        if let Err(code) = handle::control(&self.device, FSCTL_UNLOCK_VOLUME, &[], &mut []) {
            tracing::debug!(volume = %self.volume, %code, "unlocked by closing the handle alone");
        }
    }
}

fn root(volume: VolumeId) -> Result<Wide, Win32> {
    Wide::new(volume.to_string())
}

fn device(volume: VolumeId, purpose: Purpose) -> Result<OwnedHandle, Win32> {
    handle::open(&Wide::new(volume.device_path())?, purpose)
}

fn volume_id(name: &OsString) -> Result<VolumeId, Cause> {
    let name = name.to_string_lossy();
    name.parse()
        .map_err(|error| Cause::Malformed(format!("{error}")))
}

/// A path from the system. Its names below the root exist, even if Win32 could not make them or they are not Unicode.
fn path(text: &OsStr) -> Result<WinPath, Cause> {
    let malformed = |error: PathError| Cause::Malformed(format!("{text:?}: {error}"));
    let units: Vec<u16> = text.encode_wide().collect();
    let (root, below) = units.split_at(length_of_root(&units));
    let root: WinPath = String::from_utf16_lossy(root).parse().map_err(malformed)?;
    below
        .split(|unit| *unit == SEPARATOR)
        .filter(|name| !name.is_empty())
        .try_fold(root, |path, name| {
            let name = Component::listed(OsString::from_wide(name));
            name.map(|name| path.join(name)).map_err(malformed)
        })
}

/// The backslash.
const SEPARATOR: u16 = 0x5c;

/// Of `C:\` and of `\\?\Volume{...}\`.
fn length_of_root(path: &[u16]) -> usize {
    let verbatim: Vec<u16> = r"\\?\".encode_utf16().collect();
    let before = if path.starts_with(&verbatim) {
        verbatim.len()
    } else {
        0
    };
    let mut rest = path.iter().skip(before);
    rest.position(|unit| *unit == SEPARATOR)
        .map_or(path.len(), |at| before + at + 1)
}

fn file_system(information: &volume::Information) -> Option<FileSystem> {
    let name = information.file_system.to_string_lossy();
    let is_raw = name.is_empty() || name.eq_ignore_ascii_case("RAW");
    (!is_raw).then(|| FileSystem {
        name: name.into_owned(),
        label: information.label.to_string_lossy().into_owned(),
        read_only: information.flags & READ_ONLY_VOLUME != 0,
    })
}

/// Most volumes have one extent; for others the answer has their number.
fn disk_extents(device: &OwnedHandle) -> Result<Vec<Extent>, Cause> {
    let mut room = 1;
    for _ in 0..ATTEMPTS {
        let mut buffer = vec![0; VolumeDiskExtents::length(room)];
        let code = IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS;
        match handle::control(device, code, &[], &mut buffer) {
            Ok(filled) => {
                let answer = buffer.get(..filled).unwrap_or_default();
                let malformed = |error: AnswerError| Cause::Malformed(error.to_string());
                let read = VolumeDiskExtents::parse(answer).map_err(malformed)?;
                return Ok(read.0.into_iter().map(extent).collect());
            }
            Err(Win32::MORE_DATA) => room = (room * 8).min(MOST_EXTENTS),
            Err(code) => return Err(code.into()),
        }
    }
    Err(Win32::MORE_DATA.into())
}

fn extent(read: DiskExtent) -> Extent {
    Extent {
        disk: DiskNumber(read.disk),
        offset: read.offset,
        length: read.length,
    }
}

/// More than any usable volume has; bounds the allocation.
const MOST_EXTENTS: usize = 512;

fn paths(volume: &Wide) -> Result<Vec<OsString>, Cause> {
    let mut buffer = vec![0; 1024];
    for _ in 0..ATTEMPTS {
        match volume::path_names(volume, &mut buffer) {
            (_, Ok(())) => return wide::texts(&buffer),
            (length, Err(Win32::MORE_DATA)) => {
                let length = usize::try_from(length).map_err(|_| Win32::MORE_DATA)?;
                buffer.resize(length.clamp(buffer.len(), MOST_UNITS), 0);
            }
            (_, Err(code)) => return Err(code.into()),
        }
    }
    Err(Win32::MORE_DATA.into())
}

/// 64 Ki characters of paths; bounds the allocation.
const MOST_UNITS: usize = 0x1_0000;

/// The control code takes the volume's whole new length, in sectors. Today's page has lost its
/// parameters; the earlier one names type and unit.
///
/// <https://learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-fsctl_extend_volume>,
/// <https://msdn.microsoft.com/en-us/library/windows/desktop/aa364564(v=vs.85).aspx>
fn extend(volume: VolumeId, bytes: u64) -> Result<(), Cause> {
    let per_sector = volume::bytes_per_sector(&root(volume)?)?;
    let sectors = bytes
        .checked_div(per_sector.into())
        .and_then(|sectors| i64::try_from(sectors).ok())
        .ok_or(Win32::INVALID_PARAMETER)?;
    let device = device(volume, Purpose::ChangeDevice)?;
    let input = sectors.to_le_bytes();
    handle::control(&device, FSCTL_EXTEND_VOLUME, &input, &mut [])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mount manager lists them all, and an odd one hides none of the others.
    #[test]
    fn a_path_of_the_system_may_be_what_win32_could_not_make() {
        let volume = r"\\?\Volume{0a1b2c3d-0000-4000-8000-00000000000a}\";
        let odd = [
            r"C:\",
            r"D:\data\x.\",
            r"C:\m\aux\",
            &format!(r"{volume}mnt \x\"),
        ];
        for text in odd {
            let path = path(text.as_ref()).unwrap();
            let verbatim = path.to_verbatim();
            let verbatim = verbatim.to_string_lossy();
            let plain = verbatim.trim_start_matches(r"\\?\").trim_end_matches('\\');
            let asked = text.trim_start_matches(r"\\?\").trim_end_matches('\\');
            assert_eq!(plain, asked);
        }
    }

    #[test]
    fn half_a_surrogate_in_a_path_is_kept() {
        let units: Vec<u16> = "C:\\m\\".encode_utf16().chain([0xd800]).collect();
        let path = path(&OsString::from_wide(&units)).unwrap();
        let name = path.components().last().unwrap();
        assert_eq!(name.as_os_str().encode_wide().collect::<Vec<_>>(), [0xd800]);
    }

    #[test]
    fn what_has_no_root_is_malformed() {
        for text in ["", "x", r"x\y", r"\\?\", r"C:\a\..\b"] {
            assert!(path(text.as_ref()).is_err(), "{text}");
        }
    }
}
