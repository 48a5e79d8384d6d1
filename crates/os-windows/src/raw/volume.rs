//! Calls on volumes and mounted folders by name.

// UNSAFETY: foreign functions read texts of ours, and fill buffers of ours and get their length.
#![expect(unsafe_code)]

use std::ffi::OsString;
use std::ptr;

use os::{Space, Win32};
use windows_sys::Win32::Foundation::{ERROR_NO_MORE_FILES, HANDLE, INVALID_HANDLE_VALUE, MAX_PATH};
use windows_sys::Win32::Storage::FileSystem::{
    DeleteVolumeMountPointW, FindFirstVolumeW, FindNextVolumeW, FindVolumeClose,
    GetDiskFreeSpaceExW, GetDiskFreeSpaceW, GetVolumeInformationW,
    GetVolumeNameForVolumeMountPointW, GetVolumePathNamesForVolumeNameW, SetVolumeMountPointW,
};

use super::{last_error, outcome};
use crate::wide::{self, Wide};

/// Room for a text and its NUL: a volume's name takes 50 characters, a label at most 33.
const ROOM: usize = 261;
const ROOM_U32: u32 = MAX_PATH + 1;

/// The answer of `GetVolumeInformationW`.
pub(crate) struct Information {
    pub(crate) file_system: OsString,
    pub(crate) flags: u32,
    pub(crate) label: OsString,
}

/// The names of all volumes (`FindFirstVolumeW`), as the system spells them.
pub(crate) fn names() -> Result<Vec<OsString>, Win32> {
    let mut buffer = room();
    // SAFETY: the buffer is as long as we say.
    let handle = unsafe { FindFirstVolumeW(buffer.as_mut_ptr(), ROOM_U32) };
    if handle == INVALID_HANDLE_VALUE {
        return Err(last_error());
    }
    let search = VolumeSearch(handle);
    let mut names = vec![wide::text(&buffer)];
    loop {
        // SAFETY: the search is open, and the buffer is as long as we say.
        match outcome(unsafe { FindNextVolumeW(search.0, buffer.as_mut_ptr(), ROOM_U32) }) {
            Ok(()) => names.push(wide::text(&buffer)),
            Err(Win32(ERROR_NO_MORE_FILES)) => return Ok(names),
            Err(code) => return Err(code),
        }
    }
}

/// The name of the volume mounted at a folder (`GetVolumeNameForVolumeMountPointW`).
pub(crate) fn name_at(folder: &Wide) -> Result<OsString, Win32> {
    let mut buffer = room();
    // SAFETY: the folder ends in a NUL, and the buffer is as long as we say.
    outcome(unsafe {
        GetVolumeNameForVolumeMountPointW(folder.as_ptr(), buffer.as_mut_ptr(), ROOM_U32)
    })?;
    Ok(wide::text(&buffer))
}

/// `SetVolumeMountPointW`.
pub(crate) fn mount(folder: &Wide, volume: &Wide) -> Result<(), Win32> {
    // SAFETY: both texts end in a NUL.
    outcome(unsafe { SetVolumeMountPointW(folder.as_ptr(), volume.as_ptr()) })
}

/// `DeleteVolumeMountPointW`.
pub(crate) fn unmount(folder: &Wide) -> Result<(), Win32> {
    // SAFETY: the text ends in a NUL.
    outcome(unsafe { DeleteVolumeMountPointW(folder.as_ptr()) })
}

/// The size and the free space of a directory's filesystem (`GetDiskFreeSpaceExW`).
pub(crate) fn space(directory: &Wide) -> Result<Space, Win32> {
    let (mut available, mut total, mut free) = (0, 0, 0);
    // SAFETY: the directory ends in a NUL, and the three numbers are ours.
    outcome(unsafe {
        GetDiskFreeSpaceExW(
            directory.as_ptr(),
            &raw mut available,
            &raw mut total,
            &raw mut free,
        )
    })?;
    Ok(Space {
        total,
        free,
        available,
    })
}

/// The length of a filesystem's sectors (`GetDiskFreeSpaceW`).
pub(crate) fn bytes_per_sector(root: &Wide) -> Result<u32, Win32> {
    let (mut sectors, mut bytes, mut free, mut total) = (0, 0, 0, 0);
    // SAFETY: the root ends in a NUL, and the four numbers are ours.
    outcome(unsafe {
        GetDiskFreeSpaceW(
            root.as_ptr(),
            &raw mut sectors,
            &raw mut bytes,
            &raw mut free,
            &raw mut total,
        )
    })?;
    Ok(bytes)
}

/// `GetVolumeInformationW`.
pub(crate) fn information(root: &Wide) -> Result<Information, Win32> {
    let (mut label, mut file_system) = (room(), room());
    let mut flags = 0;
    // SAFETY: the root ends in a NUL, both buffers are as long as we say, and the unrequested
    // numbers may be null.
    outcome(unsafe {
        GetVolumeInformationW(
            root.as_ptr(),
            label.as_mut_ptr(),
            ROOM_U32,
            ptr::null_mut(),
            ptr::null_mut(),
            &raw mut flags,
            file_system.as_mut_ptr(),
            ROOM_U32,
        )
    })?;
    Ok(Information {
        file_system: wide::text(&file_system),
        flags,
        label: wide::text(&label),
    })
}

/// Fills `buffer` with the list of a volume's paths and returns the list's length, possibly larger
/// with [`Win32::MORE_DATA`] (`GetVolumePathNamesForVolumeNameW`).
pub(crate) fn path_names(volume: &Wide, buffer: &mut [u16]) -> (u32, Result<(), Win32>) {
    let Ok(room) = u32::try_from(buffer.len()) else {
        return (0, Err(Win32::INVALID_PARAMETER));
    };
    let mut length = 0;
    // SAFETY: the volume ends in a NUL, and the buffer is as long as we say.
    let answer = unsafe {
        GetVolumePathNamesForVolumeNameW(
            volume.as_ptr(),
            buffer.as_mut_ptr(),
            room,
            &raw mut length,
        )
    };
    (length, outcome(answer))
}

/// A search for volumes. It ends with its value.
struct VolumeSearch(HANDLE);

impl Drop for VolumeSearch {
    fn drop(&mut self) {
        // SAFETY: the search is open, and this is its end. A failure leaves nothing to be done.
        unsafe { FindVolumeClose(self.0) };
    }
}

fn room() -> [u16; ROOM] {
    [0; ROOM]
}
