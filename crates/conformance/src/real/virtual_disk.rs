//! VHDX files as disks, through `virtdisk.dll`.

// UNSAFETY: the functions of a library loaded while the program runs are called by their published types; they read
// structures of ours, the texts in these outlive the call, and the returned handles close themselves here.
#![expect(unsafe_code)]

use std::ffi::CStr;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::path::Path;
use std::ptr;

use os::{DiskNumber, Error, Win32};
use windows_sys::Win32::Foundation::{GetLastError, HANDLE, HMODULE};
use windows_sys::Win32::Security::PSECURITY_DESCRIPTOR;
use windows_sys::Win32::Storage::Vhd::{
    ATTACH_VIRTUAL_DISK_FLAG, ATTACH_VIRTUAL_DISK_FLAG_NO_DRIVE_LETTER,
    ATTACH_VIRTUAL_DISK_PARAMETERS, ATTACH_VIRTUAL_DISK_VERSION_1, CREATE_VIRTUAL_DISK_FLAG,
    CREATE_VIRTUAL_DISK_FLAG_NONE, CREATE_VIRTUAL_DISK_PARAMETERS,
    CREATE_VIRTUAL_DISK_PARAMETERS_0, CREATE_VIRTUAL_DISK_PARAMETERS_0_1,
    CREATE_VIRTUAL_DISK_VERSION_2, DETACH_VIRTUAL_DISK_FLAG, DETACH_VIRTUAL_DISK_FLAG_NONE,
    EXPAND_VIRTUAL_DISK_FLAG, EXPAND_VIRTUAL_DISK_FLAG_NONE, EXPAND_VIRTUAL_DISK_PARAMETERS,
    EXPAND_VIRTUAL_DISK_PARAMETERS_0, EXPAND_VIRTUAL_DISK_PARAMETERS_0_0,
    EXPAND_VIRTUAL_DISK_VERSION_1, OPEN_VIRTUAL_DISK_FLAG, OPEN_VIRTUAL_DISK_FLAG_NONE,
    OPEN_VIRTUAL_DISK_PARAMETERS, OPEN_VIRTUAL_DISK_VERSION_2, VIRTUAL_DISK_ACCESS_MASK,
    VIRTUAL_DISK_ACCESS_NONE, VIRTUAL_STORAGE_TYPE, VIRTUAL_STORAGE_TYPE_DEVICE_VHDX,
    VIRTUAL_STORAGE_TYPE_VENDOR_MICROSOFT,
};
use windows_sys::Win32::System::IO::OVERLAPPED;
use windows_sys::Win32::System::LibraryLoader::{
    GetProcAddress, LOAD_LIBRARY_SEARCH_SYSTEM32, LoadLibraryExW,
};
use windows_sys::core::{PCWSTR, PWSTR, w};

use super::system::wine_version;
use super::wide;

/// The functions of `virtdisk.dll`. The library stays loaded as long as the process lives.
#[derive(Clone, Copy)]
pub struct VirtualDisks {
    attach: Attach,
    create: Create,
    detach: Detach,
    expand: Expand,
    open: Open,
    physical_path: PhysicalPath,
}

type Attach = unsafe extern "system" fn(
    HANDLE,
    PSECURITY_DESCRIPTOR,
    ATTACH_VIRTUAL_DISK_FLAG,
    u32,
    *const ATTACH_VIRTUAL_DISK_PARAMETERS,
    *const OVERLAPPED,
) -> u32;
type Create = unsafe extern "system" fn(
    *const VIRTUAL_STORAGE_TYPE,
    PCWSTR,
    VIRTUAL_DISK_ACCESS_MASK,
    PSECURITY_DESCRIPTOR,
    CREATE_VIRTUAL_DISK_FLAG,
    u32,
    *const CREATE_VIRTUAL_DISK_PARAMETERS,
    *const OVERLAPPED,
    *mut HANDLE,
) -> u32;
type Detach = unsafe extern "system" fn(HANDLE, DETACH_VIRTUAL_DISK_FLAG, u32) -> u32;
type Expand = unsafe extern "system" fn(
    HANDLE,
    EXPAND_VIRTUAL_DISK_FLAG,
    *const EXPAND_VIRTUAL_DISK_PARAMETERS,
    *const OVERLAPPED,
) -> u32;
type Open = unsafe extern "system" fn(
    *const VIRTUAL_STORAGE_TYPE,
    PCWSTR,
    VIRTUAL_DISK_ACCESS_MASK,
    OPEN_VIRTUAL_DISK_FLAG,
    *const OPEN_VIRTUAL_DISK_PARAMETERS,
    *mut HANDLE,
) -> u32;
type PhysicalPath = unsafe extern "system" fn(HANDLE, *mut u32, PWSTR) -> u32;

const VHDX: VIRTUAL_STORAGE_TYPE = VIRTUAL_STORAGE_TYPE {
    DeviceId: VIRTUAL_STORAGE_TYPE_DEVICE_VHDX,
    VendorId: VIRTUAL_STORAGE_TYPE_VENDOR_MICROSOFT,
};

/// The text before the number in `GetVirtualDiskPhysicalPath`'s answer.
const DEVICE: &str = r"\\.\PhysicalDrive";

impl VirtualDisks {
    /// Loads the library and its functions.
    ///
    /// # Errors
    /// The library is missing, or lacks the function named in the error. Wine's has them all by name, but ends the
    /// caller.
    pub fn load() -> os::Result<Self> {
        if wine_version().is_some() {
            let object = "virtdisk.dll: CreateVirtualDisk";
            return Err(Error::new(
                "GetProcAddress",
                object,
                Win32::CALL_NOT_IMPLEMENTED,
            ));
        }
        // SAFETY: the name ends in a NUL; the library is Windows's own, from its own folder.
        let library = unsafe {
            LoadLibraryExW(
                w!("virtdisk.dll"),
                ptr::null_mut(),
                LOAD_LIBRARY_SEARCH_SYSTEM32,
            )
        };
        if library.is_null() {
            return Err(Error::new("LoadLibraryExW", "virtdisk.dll", last_error()));
        }
        // SAFETY: each type is that of the function of this name in Microsoft's header.
        unsafe {
            Ok(Self {
                attach: std::mem::transmute::<Found, Attach>(find(library, c"AttachVirtualDisk")?),
                create: std::mem::transmute::<Found, Create>(find(library, c"CreateVirtualDisk")?),
                detach: std::mem::transmute::<Found, Detach>(find(library, c"DetachVirtualDisk")?),
                expand: std::mem::transmute::<Found, Expand>(find(library, c"ExpandVirtualDisk")?),
                open: std::mem::transmute::<Found, Open>(find(library, c"OpenVirtualDisk")?),
                physical_path: std::mem::transmute::<Found, PhysicalPath>(find(
                    library,
                    c"GetVirtualDiskPhysicalPath",
                )?),
            })
        }
    }

    /// Makes a dynamic VHDX file of so many bytes, a multiple of 512, it stays until removed.
    ///
    /// Sources: <https://learn.microsoft.com/windows/win32/api/virtdisk/nf-virtdisk-createvirtualdisk>,
    /// <https://learn.microsoft.com/windows/win32/api/virtdisk/ns-virtdisk-create_virtual_disk_parameters>.
    ///
    /// # Errors
    /// The file exists already, or its folder does not.
    pub fn create(&self, file: &Path, length: u64) -> os::Result<()> {
        let failed = |code| Error::new("CreateVirtualDisk", file.display(), code);
        let path = wide::wide(file).map_err(failed)?;
        let parameters = CREATE_VIRTUAL_DISK_PARAMETERS {
            Version: CREATE_VIRTUAL_DISK_VERSION_2,
            Anonymous: CREATE_VIRTUAL_DISK_PARAMETERS_0 {
                Version2: CREATE_VIRTUAL_DISK_PARAMETERS_0_1 {
                    MaximumSize: length,
                    SectorSizeInBytes: 512,
                    ..CREATE_VIRTUAL_DISK_PARAMETERS_0_1::default()
                },
            },
        };
        let mut handle = ptr::null_mut();
        // SAFETY: the path ends in a NUL, the parameters are of the version in them, and the output is ours; all else
        // may be null. With this version the access mask has to be none.
        code(unsafe {
            (self.create)(
                &VHDX,
                path.as_ptr(),
                VIRTUAL_DISK_ACCESS_NONE,
                ptr::null_mut(),
                CREATE_VIRTUAL_DISK_FLAG_NONE,
                0,
                &raw const parameters,
                ptr::null(),
                &raw mut handle,
            )
        })
        .map_err(failed)?;
        // SAFETY: the call succeeded, so the handle is open, and nobody else has it.
        drop(unsafe { OwnedHandle::from_raw_handle(handle) });
        Ok(())
    }

    /// Attaches a VHDX file, without drive letters, until the result is dropped or the process ends in any way.
    ///
    /// Sources: <https://learn.microsoft.com/windows/win32/api/virtdisk/nf-virtdisk-attachvirtualdisk>,
    /// <https://learn.microsoft.com/windows/win32/api/virtdisk/ne-virtdisk-attach_virtual_disk_flag>.
    ///
    /// # Errors
    /// There is no such file, it is attached already, or this is no administrator.
    pub fn attach(&self, file: &Path) -> os::Result<AttachedDisk> {
        let handle = self.open(file)?;
        let parameters = ATTACH_VIRTUAL_DISK_PARAMETERS {
            Version: ATTACH_VIRTUAL_DISK_VERSION_1,
            ..ATTACH_VIRTUAL_DISK_PARAMETERS::default()
        };
        // SAFETY: the handle is open, the parameters are of the version in them, and all else may be null.
        code(unsafe {
            (self.attach)(
                handle.as_raw_handle(),
                ptr::null_mut(),
                ATTACH_VIRTUAL_DISK_FLAG_NO_DRIVE_LETTER,
                0,
                &raw const parameters,
                ptr::null(),
            )
        })
        .map_err(|code| Error::new("AttachVirtualDisk", file.display(), code))?;
        Ok(AttachedDisk {
            functions: *self,
            handle,
        })
    }

    /// Makes the disk in a VHDX file longer. The file must not be attached.
    ///
    /// Source: <https://learn.microsoft.com/windows/win32/api/virtdisk/nf-virtdisk-expandvirtualdisk>.
    ///
    /// # Errors
    /// There is no such file, it is attached, or the disk is longer already.
    pub fn expand(&self, file: &Path, length: u64) -> os::Result<()> {
        let handle = self.open(file)?;
        let parameters = EXPAND_VIRTUAL_DISK_PARAMETERS {
            Version: EXPAND_VIRTUAL_DISK_VERSION_1,
            Anonymous: EXPAND_VIRTUAL_DISK_PARAMETERS_0 {
                Version1: EXPAND_VIRTUAL_DISK_PARAMETERS_0_0 { NewSize: length },
            },
        };
        // SAFETY: the handle is open, the parameters are of the version in them, and the call is not overlapped.
        code(unsafe {
            (self.expand)(
                handle.as_raw_handle(),
                EXPAND_VIRTUAL_DISK_FLAG_NONE,
                &raw const parameters,
                ptr::null(),
            )
        })
        .map_err(|code| Error::new("ExpandVirtualDisk", file.display(), code))
    }

    /// Detaches a file attached by another process, such as a former run.
    ///
    /// # Errors
    /// There is no such file, it is not attached, or another handle to it is open.
    pub fn detach(&self, file: &Path) -> os::Result<()> {
        let handle = self.open(file)?;
        self.detach_handle(&handle)
            .map_err(|code| Error::new("DetachVirtualDisk", file.display(), code))
    }

    /// With this version of the parameters the access mask has to be none, and the handle may do all. The pages of the
    /// functions still require bits of the mask; by Microsoft's own sample a handle without any can detach. The file's
    /// volume may be neither compressed nor encrypted nor a share of this machine.
    ///
    /// Sources: <https://learn.microsoft.com/windows/win32/api/virtdisk/nf-virtdisk-openvirtualdisk>,
    /// <https://learn.microsoft.com/windows/win32/api/virtdisk/ns-virtdisk-open_virtual_disk_parameters>,
    /// <https://github.com/microsoft/Windows-classic-samples/blob/main/Samples/Hyper-V/Storage/cpp/DetachVirtualDisk.cpp>.
    fn open(&self, file: &Path) -> os::Result<OwnedHandle> {
        let failed = |code| Error::new("OpenVirtualDisk", file.display(), code);
        let path = wide::wide(file).map_err(failed)?;
        let parameters = OPEN_VIRTUAL_DISK_PARAMETERS {
            Version: OPEN_VIRTUAL_DISK_VERSION_2,
            ..OPEN_VIRTUAL_DISK_PARAMETERS::default()
        };
        let mut handle = ptr::null_mut();
        // SAFETY: the path ends in a NUL, the parameters are of the version in them, and the output is ours.
        code(unsafe {
            (self.open)(
                &VHDX,
                path.as_ptr(),
                VIRTUAL_DISK_ACCESS_NONE,
                OPEN_VIRTUAL_DISK_FLAG_NONE,
                &raw const parameters,
                &raw mut handle,
            )
        })
        .map_err(failed)?;
        // SAFETY: the call succeeded, so the handle is open, and nobody else has it.
        Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
    }

    /// Source: <https://learn.microsoft.com/windows/win32/api/virtdisk/nf-virtdisk-detachvirtualdisk>.
    fn detach_handle(&self, handle: &OwnedHandle) -> Result<(), Win32> {
        // SAFETY: the handle is open.
        code(unsafe { (self.detach)(handle.as_raw_handle(), DETACH_VIRTUAL_DISK_FLAG_NONE, 0) })
    }
}

/// A VHDX file attached as a disk as long as this lives.
pub struct AttachedDisk {
    functions: VirtualDisks,
    handle: OwnedHandle,
}

impl AttachedDisk {
    /// The file's present disk number: `N` of `\\.\PhysicalDriveN`. The system answers once it has found the disk;
    /// whether that is so right after the attach is not documented.
    ///
    /// Source:
    /// <https://learn.microsoft.com/windows/win32/api/virtdisk/nf-virtdisk-getvirtualdiskphysicalpath>.
    ///
    /// # Errors
    /// The system has not found it yet, does not answer, or answers in another form.
    pub fn number(&self) -> os::Result<DiskNumber> {
        let failed = |code| Error::new("GetVirtualDiskPhysicalPath", "a VHDX file", code);
        let mut units = [0_u16; 260];
        let mut bytes = 520;
        // SAFETY: the handle is open, and the buffer is as many bytes long as we say.
        code(unsafe {
            (self.functions.physical_path)(
                self.handle.as_raw_handle(),
                &raw mut bytes,
                units.as_mut_ptr(),
            )
        })
        .map_err(failed)?;
        number_in(&wide::text(&units)).ok_or_else(|| failed(Win32::INVALID_NAME))
    }
}

impl Drop for AttachedDisk {
    /// Closing the handle detaches too; here it happens now, and to the same end.
    fn drop(&mut self) {
        let _ = self.functions.detach_handle(&self.handle);
    }
}

fn number_in(path: &str) -> Option<DiskNumber> {
    let digits = path.strip_prefix(DEVICE)?;
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.parse().ok().filter(|_| is_plain);
    number.map(DiskNumber)
}

type Found = unsafe extern "system" fn() -> isize;

fn find(library: HMODULE, name: &'static CStr) -> os::Result<Found> {
    // SAFETY: the library stays loaded, and the name ends in a NUL.
    let found = unsafe { GetProcAddress(library, name.as_ptr().cast()) };
    found.ok_or_else(|| {
        let object = format!("virtdisk.dll: {}", name.to_string_lossy());
        Error::new("GetProcAddress", object, last_error())
    })
}

fn last_error() -> Win32 {
    // SAFETY: the function has no preconditions.
    Win32(unsafe { GetLastError() })
}

/// These functions answer their code.
fn code(answer: u32) -> Result<(), Win32> {
    match answer {
        0 => Ok(()),
        code => Err(Win32(code)),
    }
}

#[cfg(test)]
mod tests {
    use os::DiskNumber;

    use super::number_in;

    #[test]
    fn a_number_is_read_from_the_whole_path_alone() {
        assert_eq!(number_in(r"\\.\PhysicalDrive12"), Some(DiskNumber(12)));
        for odd in [
            r"\\.\PhysicalDrive",
            r"\\.\PhysicalDrive1a",
            r"\\.\PhysicalDrive+1",
            r"\\.\PhysicalDrive4294967297",
            r"\\.\CDROM0",
            "",
        ] {
            assert_eq!(number_in(odd), None, "{odd}");
        }
    }
}
