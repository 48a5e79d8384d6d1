use std::os::windows::io::OwnedHandle;
use std::sync::{Arc, Once};

use formats::symlink;
use os::{Component, FileAttributes, Held, LinkKind, Pin, Placeholder, Win32, WinPath};
use windows_sys::Win32::System::Ioctl::FSCTL_SET_REPARSE_POINT;

use crate::raw::relative::{self, Purpose};
use crate::raw::{handle, privilege};
use crate::{failure, files};

/// A directory that is held in place by an open handle.
///
/// The handle shares no deletion, so nobody can remove or rename the directory, nor one above it.
/// What it cannot keep out is a change of the reparse point itself: that takes no more than leave to
/// write attributes, which sharing does not govern ([MS-FSA] 2.1.5.10.37), and an empty directory.
/// Entries are therefore opened by the handle, and nothing is followed: not even the directory
/// itself, should it have become a junction.
pub(crate) struct HeldDirectory {
    path: WinPath,
    handle: Arc<OwnedHandle>,
}

/// How a removal that fails is named, whichever of its calls it was.
const REMOVE: &str = "SetFileInformationByHandle";

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
            let handle = Arc::new(handle);
            Ok(Self { path, handle })
        } else {
            Err(Win32::DIRECTORY)
        }
    }

    fn open(&self, name: &Component, purpose: Purpose) -> Result<OwnedHandle, Win32> {
        relative::open(&self.handle, name.as_os_str(), purpose)
    }

    /// Opens an entry to remove it, a mounted folder after the mount manager forgot it.
    ///
    /// The mount manager is told by the folder's path, for which it has no other call: if the path
    /// leads elsewhere by now, it unmounts there, and nothing is deleted but our entry. The call opens
    /// the folder itself, and whether it suffers a handle that is open for deletion is written nowhere,
    /// so ours is closed meanwhile. In that moment whoever may write in this directory can put another
    /// entry under the name, or mount a volume there anew: that is then what goes, without the mount
    /// manager's knowledge, but still an entry of this directory, and an empty one.
    fn removable(&self, name: &Component) -> os::Result<OwnedHandle> {
        let opened = || self.failed(REMOVE, name, self.open(name, Purpose::Remove));
        let entry = opened()?;
        let mounted = self.failed(REMOVE, name, files::volume_mounted_at(&entry));
        let Some(volume) = mounted? else {
            return Ok(entry);
        };
        drop(entry);
        files::forget(&self.path.join(name.clone()), volume)?;
        opened()
    }

    fn delete(&self, name: &Component, entry: &OwnedHandle) -> Result<(), Win32> {
        let attributes = handle::attributes(entry)?;
        if attributes.contains(FileAttributes::READ_ONLY) {
            let writable = self.open(name, Purpose::ChangeAttributes)?;
            relative::set_attributes(&writable, files::without_read_only(attributes))?;
        }
        relative::delete(entry)
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
        let entry = self.removable(name)?;
        let removed = self.delete(name, &entry);
        self.failed(REMOVE, name, removed)
    }

    fn create_directory(&self, name: &Component) -> os::Result<()> {
        let created = self.open(name, Purpose::CreateDirectory);
        self.failed("NtCreateFile", name, created.map(drop))
    }

    fn reserve(&self, name: &Component, kind: LinkKind) -> os::Result<Box<dyn Placeholder>> {
        static PRIVILEGE: Once = Once::new();
        PRIVILEGE.call_once(|| {
            if let Err(code) = privilege::enable_symbolic_links() {
                tracing::warn!(
                    ?code,
                    "the privilege to make symbolic links is not to be had"
                );
            }
        });
        let purpose = match kind {
            LinkKind::Directory => Purpose::ReserveDirectory,
            LinkKind::File => Purpose::ReserveFile,
        };
        let entry = self.failed("NtCreateFile", name, self.open(name, purpose))?;
        Ok(Box::new(Reserved {
            directory: Arc::clone(&self.handle),
            path: self.path.join(name.clone()),
            entry,
        }))
    }
}

/// An entry that is held by an open handle until it is a link.
///
/// The handle shares reading alone, so nobody can rename, remove or replace the entry. As a directory's, its own
/// reparse point can be set by others ([MS-FSA] 2.1.5.10.37), and then refuses ours: the tags differ.
struct Reserved {
    directory: Arc<OwnedHandle>,
    path: WinPath,
    entry: OwnedHandle,
}

impl Placeholder for Reserved {
    fn become_symlink(&self, target: &str) -> os::Result<()> {
        let data = symlink::to(target).encode();
        let set = data
            .map_err(|_| Win32::INVALID_PARAMETER)
            .and_then(|data| handle::control(&self.entry, FSCTL_SET_REPARSE_POINT, &data, &mut []));
        set.map(drop)
            .map_err(|code| failure::error("FSCTL_SET_REPARSE_POINT", &self.path, code))
    }

    fn rename(&self, name: &Component) -> os::Result<()> {
        let renamed = relative::rename(&self.entry, &self.directory, name.as_os_str());
        renamed.map_err(|code| {
            let path = self.path.parent().unwrap_or_else(|| self.path.clone());
            failure::error("NtSetInformationFile", path.join(name.clone()), code)
        })
    }
}
