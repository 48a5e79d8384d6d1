//! An entry of a folder, opened itself: a link is not followed.

// UNSAFETY: an entry's kind, owner and access list are read and set through Win32 alone.
#![expect(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::path::Path;

use windows_sys::Win32::Security::Authorization::SE_FILE_OBJECT;
use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, CreateDirectoryW, FILE_ADD_FILE, FILE_ATTRIBUTE_DIRECTORY,
    FILE_ATTRIBUTE_REPARSE_POINT, FILE_ATTRIBUTE_TAG_INFO, FILE_FLAG_BACKUP_SEMANTICS,
    FILE_FLAG_OPEN_REPARSE_POINT, FILE_LIST_DIRECTORY, FILE_READ_ATTRIBUTES, FILE_SHARE_DELETE,
    FILE_SHARE_READ, FILE_SHARE_WRITE, FileAttributeTagInfo, GetFileInformationByHandle,
    GetFileInformationByHandleEx, READ_CONTROL, WRITE_DAC,
};
use windows_sys::Win32::System::SystemServices::IO_REPARSE_TAG_AF_UNIX;

use super::owner;
use super::security::{self, SecurityDescriptor};

/// The rights to look at an entry.
const LOOK: u32 = FILE_READ_ATTRIBUTES | READ_CONTROL;

/// A link or a socket's file is opened itself, and a folder is at all.
const ITSELF: u32 = FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_BACKUP_SEMANTICS;

#[derive(Debug)]
pub(super) struct Entry(OwnedHandle);

/// The kinds of an entry.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    Folder,
    Socket,
    /// A file without content. In a folder that is bound into a container, Windows Server 2019 shows a socket so,
    /// without its tag (<https://github.com/kubernetes/kubernetes/issues/81397>).
    Empty,
    /// A file, a link, or anything else.
    Other,
}

/// Distinguishes an entry from all others existing on this machine at the same time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct EntryId {
    volume: u32,
    index: [u32; 2],
}

impl Entry {
    /// Opens the entry at `path` to inspect it. Blocks no other user of it.
    pub(super) fn open_to_inspect(path: &Path) -> io::Result<Option<Self>> {
        let share = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
        Self::open(path, LOOK, share, ITSELF)
    }

    /// Opens the entry at `path`, to inspect it and to change its access list. It cannot be renamed or removed
    /// meanwhile: sharing is checked only for rights to list or change an entry.
    pub(super) fn pin(path: &Path) -> io::Result<Option<Self>> {
        let access = LOOK | WRITE_DAC | FILE_LIST_DIRECTORY;
        Self::open(path, access, FILE_SHARE_READ | FILE_SHARE_WRITE, ITSELF)
    }

    /// Opens the folder at `path`, for one caller at a time: each wants to add files, and shares that with nobody.
    /// Windows checks this for opens of the folder, not for files added by their path.
    pub(super) fn lock(path: &Path) -> io::Result<Option<Self>> {
        let (access, flags) = (FILE_ADD_FILE, FILE_FLAG_BACKUP_SEMANTICS);
        Self::open(path, access, FILE_SHARE_READ, flags)
    }

    fn open(path: &Path, access: u32, share: u32, flags: u32) -> io::Result<Option<Self>> {
        let opened = OpenOptions::new()
            .access_mode(access)
            .share_mode(share)
            .custom_flags(flags)
            .open(path);
        match opened {
            Ok(file) => Ok(Some(Self(File::into(file)))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn kind(&self) -> io::Result<Kind> {
        let mut found = FILE_ATTRIBUTE_TAG_INFO::default();
        let length = u32::try_from(size_of_val(&found)).expect("a small struct");
        // SAFETY: the handle is open, and the structure has as many bytes as is said and outlives the call.
        let known = unsafe {
            GetFileInformationByHandleEx(
                self.0.as_raw_handle(),
                FileAttributeTagInfo,
                (&raw mut found).cast(),
                length,
            )
        };
        if known == 0 {
            return Err(io::Error::last_os_error());
        }
        let has = |attribute| found.FileAttributes & attribute != 0;
        Ok(match has(FILE_ATTRIBUTE_REPARSE_POINT) {
            true if found.ReparseTag == IO_REPARSE_TAG_AF_UNIX => Kind::Socket,
            false if has(FILE_ATTRIBUTE_DIRECTORY) => Kind::Folder,
            false if self.is_empty()? => Kind::Empty,
            _ => Kind::Other,
        })
    }

    pub(super) fn id(&self) -> io::Result<EntryId> {
        let found = self.information()?;
        Ok(EntryId {
            volume: found.dwVolumeSerialNumber,
            index: [found.nFileIndexHigh, found.nFileIndexLow],
        })
    }

    fn is_empty(&self) -> io::Result<bool> {
        let found = self.information()?;
        Ok((found.nFileSizeHigh, found.nFileSizeLow) == (0, 0))
    }

    fn information(&self) -> io::Result<BY_HANDLE_FILE_INFORMATION> {
        let mut found = BY_HANDLE_FILE_INFORMATION::default();
        // SAFETY: the handle is open, and the structure outlives the call.
        let known = unsafe { GetFileInformationByHandle(self.0.as_raw_handle(), &raw mut found) };
        match known {
            0 => Err(io::Error::last_os_error()),
            _ => Ok(found),
        }
    }

    /// Its owner, as a SID.
    pub(super) fn owner(&self) -> io::Result<String> {
        owner::name_of(&self.0, SE_FILE_OBJECT)
    }

    /// Its owner, if that is neither this process's user nor an account trusted by clients.
    pub(super) fn foreign_owner(&self) -> io::Result<Option<String>> {
        let owner = self.owner()?;
        Ok((!owner::is_own(&owner)).then_some(owner))
    }

    /// Its access list, in SDDL.
    pub(super) fn access_list(&self) -> io::Result<String> {
        security::access_list(&self.0, SE_FILE_OBJECT)
    }

    /// Sets its access list, without inheritance.
    pub(super) fn set_access_list(&self, security: &SecurityDescriptor) -> io::Result<()> {
        security.protect(&self.0)
    }
}

/// Makes a folder with a descriptor of its own.
pub(super) fn make_folder(path: &Path, security: &SecurityDescriptor) -> io::Result<()> {
    let path: Vec<u16> = path.as_os_str().encode_wide().chain([0]).collect();
    let attributes = security.attributes();
    // SAFETY: `path` ends in a zero, and both it and `attributes` outlive the call.
    match unsafe { CreateDirectoryW(path.as_ptr(), &raw const attributes) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
