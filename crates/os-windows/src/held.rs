use std::os::windows::io::OwnedHandle;

use os::Component;
use os::FileAttributes;
use os::Held;
use os::Pin;
use os::Win32;
use os::WinPath;

use crate::failure;
use crate::files;
use crate::raw::handle;
use crate::raw::relative;
use crate::raw::relative::Purpose;

/// A directory that is held in place by an open handle.
///
/// The handle shares no deletion, so nobody can remove or rename the directory, nor one above it.
/// What it cannot keep out is a change of the reparse point itself: that takes no more than leave to
/// write attributes, which sharing does not govern ([MS-FSA] 2.1.5.10.37), and an empty directory.
/// Entries are therefore opened by the handle, and nothing is followed: not even the directory
/// itself, should it have become a junction.
pub(crate) struct HeldDirectory {
    path: WinPath,
    handle: OwnedHandle,
}

impl HeldDirectory {
    /// Holds what the handle is on.
    ///
    /// # Errors
    /// [`Win32::DIRECTORY`] for anything but a plain directory.
    pub(crate) fn of(path: WinPath, handle: OwnedHandle) -> Result<Self, Win32> {
        let attributes = handle::attributes(&handle)?;
        let is_plain = attributes.contains(FileAttributes::DIRECTORY)
            && !attributes.contains(FileAttributes::REPARSE_POINT);
        if is_plain {
            Ok(Self { path, handle })
        } else {
            Err(Win32::DIRECTORY)
        }
    }

    fn open(&self, name: &Component, purpose: Purpose) -> Result<OwnedHandle, Win32> {
        relative::open(&self.handle, name.as_os_str(), purpose)
    }

    /// The mount manager is told of a mounted folder by its path, for which it has no other call: if
    /// the path leads elsewhere by now, it unmounts there, and nothing is deleted but our entry.
    fn delete(&self, name: &Component) -> Result<(), Win32> {
        let entry = self.open(name, Purpose::Remove)?;
        let attributes = handle::attributes(&entry)?;
        let is_reparse_point = attributes.contains(FileAttributes::REPARSE_POINT);
        if is_reparse_point && attributes.contains(FileAttributes::DIRECTORY) {
            files::forget_if_mounted(&self.path.join(name.clone()))?;
        }
        if attributes.contains(FileAttributes::READ_ONLY) {
            let writable = self.open(name, Purpose::ChangeAttributes)?;
            relative::set_attributes(&writable, files::without_read_only(attributes))?;
        }
        relative::delete(&entry)
    }

    fn failed<T>(
        &self,
        call: &'static str,
        name: &Component,
        outcome: Result<T, Win32>,
    ) -> os::Result<T> {
        outcome.map_err(|code| failure::error(call, self.path.join(name.clone()), code))
    }
}

impl Held for HeldDirectory {
    fn pin(&self, name: &Component) -> os::Result<Pin> {
        let path = self.path.join(name.clone());
        let held = self
            .open(name, Purpose::Hold)
            .and_then(|handle| Self::of(path, handle));
        self.failed("NtCreateFile", name, held.map(Pin::holding))
    }

    fn remove(&self, name: &Component) -> os::Result<()> {
        let removed = self.delete(name);
        self.failed("SetFileInformationByHandle", name, removed)
    }

    fn create_directory(&self, name: &Component) -> os::Result<()> {
        let created = self.open(name, Purpose::CreateDirectory);
        self.failed("NtCreateFile", name, created.map(drop))
    }
}
