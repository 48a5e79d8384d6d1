use std::os::windows::io::OwnedHandle;
use std::sync::{Arc, Once};

use formats::directory::FileId;
use formats::symlink;
use os::{Component, FileAttributes, Held, LinkKind, Pin, Placeholder, Win32, WinPath};
use windows_sys::Win32::System::Ioctl::FSCTL_SET_REPARSE_POINT;

use crate::failure;
use crate::files::{self, MountedFolder};
use crate::raw::identity::{self, Identity};
use crate::raw::relative::{self, Purpose};
use crate::raw::{handle, privilege};
use crate::reach::{self, Inner};
use crate::wide::Wide;

/// A directory held in place by an open handle.
///
/// The handle shares no deletion, so nobody can remove or rename the directory, nor one above it. It cannot prevent a
/// change of the reparse point itself: that needs only the right to write attributes, not covered by sharing ([MS-FSA]
/// 2.1.5.10.37), and an empty directory. Entries are therefore opened by the handle, and nothing is followed: not even
/// the directory itself if it has become a junction. If the open by the handle fails for an existing directory, it is
/// opened by its path, proved to be the entry, and then held ([`reach`]).
pub(crate) struct HeldDirectory {
    path: WinPath,
    handle: Arc<OwnedHandle>,
}

/// The operation's name in errors of a removal, for any of its calls.
const REMOVE: &str = "SetFileInformationByHandle";

impl HeldDirectory {
    /// Holds the handle's directory.
    ///
    /// # Errors
    /// [`Win32::DIRECTORY`] for anything but a plain directory.
    pub(crate) fn of(path: WinPath, handle: OwnedHandle) -> Result<Self, Win32> {
        if is_plain(&handle)? {
            let handle = Arc::new(handle);
            Ok(Self { path, handle })
        } else {
            Err(Win32::DIRECTORY)
        }
    }

    fn open(&self, name: &Component, purpose: Purpose) -> Result<OwnedHandle, Win32> {
        reach::retry_bound_folder(|| relative::open(&self.handle, name.as_os_str(), purpose))
    }

    /// Opens an entry to remove it, a mounted folder after the mount manager forgot it.
    ///
    /// The mount manager has only a call by path. If the path leads elsewhere by now, the volume is unmounted there,
    /// and only our entry is deleted. The call opens the folder itself; whether it succeeds beside a handle open for
    /// deletion is not documented, so our handle is closed meanwhile. If another process puts an entry under the name
    /// in this moment, the entry stays. If it mounts a volume there again, the folder is removed and the mount manager
    /// keeps its record.
    fn removable(&self, name: &Component) -> os::Result<OwnedHandle> {
        let opened = || self.failed(REMOVE, name, self.open(name, Purpose::Remove));
        let entry = opened()?;
        let mounted = self.failed(REMOVE, name, MountedFolder::of(&entry));
        let Some(mounted) = mounted? else {
            return Ok(entry);
        };
        drop(entry);
        mounted.forget(&self.path.join(name.clone()))?;
        self.failed(REMOVE, name, self.open_again(name, &mounted))
    }

    /// Opens a folder closed meanwhile, but no new entry of its name.
    fn open_again(&self, name: &Component, seen: &MountedFolder) -> Result<OwnedHandle, Win32> {
        let entry = self.open(name, Purpose::Remove)?;
        seen.is(&entry).then_some(entry).ok_or(Win32::FILE_INVALID)
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
        let inner = Within { outer: self, name };
        let held = reach::open(&inner).and_then(|handle| Self::of(path, handle));
        self.failed("NtCreateFile", name, held.map(Pin::holding))
    }

    fn remove(&self, name: &Component) -> os::Result<()> {
        let entry = self.removable(name)?;
        let removed = self.delete(name, &entry);
        self.failed(REMOVE, name, removed)
    }

    fn remove_symlink(&self, name: &Component, kind: LinkKind) -> os::Result<()> {
        let removed = self.open(name, Purpose::Remove);
        let removed = removed.and_then(|entry| files::remove_symlink(&entry, kind));
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
                    "the privilege to make symbolic links is not available"
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

fn is_plain(handle: &OwnedHandle) -> Result<bool, Win32> {
    let attributes = handle::attributes(handle)?;
    Ok(attributes.contains(FileAttributes::DIRECTORY)
        && !attributes.contains(FileAttributes::REPARSE_POINT))
}

/// A directory of a held one.
struct Within<'a> {
    outer: &'a HeldDirectory,
    name: &'a Component,
}

impl Inner for Within<'_> {
    type Handle = OwnedHandle;

    fn by_handle(&self) -> Result<OwnedHandle, Win32> {
        relative::open(&self.outer.handle, self.name.as_os_str(), Purpose::Hold)
    }

    fn by_path(&self) -> Result<OwnedHandle, Win32> {
        let path = self.outer.path.join(self.name.clone());
        handle::open(&Wide::path(&path)?, handle::Purpose::HoldEntry)
    }

    fn identity(&self, handle: &OwnedHandle) -> Result<Option<Identity>, Win32> {
        match is_plain(handle)? {
            true => identity::of(handle).map(Some),
            false => Ok(None),
        }
    }

    fn outer(&self) -> Result<Option<Identity>, Win32> {
        self.identity(&self.outer.handle)
    }

    fn listed(&self) -> Result<Option<FileId>, Win32> {
        let wanted = self.name.as_os_str().to_string_lossy().to_lowercase();
        let mut entries = identity::listed(&self.outer.handle)?;
        // Coarser than Windows's comparison: if two names match, none is taken.
        entries.retain(|entry| String::from_utf16_lossy(&entry.name).to_lowercase() == wanted);
        Ok(match entries.as_slice() {
            [entry] => entry.id,
            _ => None,
        })
    }
}

/// An entry held by an open handle until it is a link.
///
/// The handle shares reading alone, so nobody can rename, remove or replace the entry. Others can set a reparse point
/// on it, as on a directory ([MS-FSA] 2.1.5.10.37); then setting ours fails: the tags differ.
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
        let name_of_it = name.as_os_str();
        let renamed = reach::retry_bound_folder(|| {
            relative::rename(&self.entry, &self.directory, name_of_it)
        });
        renamed.map_err(|code| {
            let path = self.path.parent().unwrap_or_else(|| self.path.clone());
            failure::error("NtSetInformationFile", path.join(name.clone()), code)
        })
    }
}

#[cfg(test)]
mod tests {
    use os::Files;

    use super::*;
    use crate::NativeFiles;

    /// A new folder, removed with its content.
    struct Folder(std::path::PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("wincsi-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn with(self, directory: &str) -> Self {
            std::fs::create_dir(self.0.join(directory)).unwrap();
            self
        }

        fn path(&self) -> WinPath {
            self.0.to_str().unwrap().parse().unwrap()
        }

        fn held(&self) -> HeldDirectory {
            let path = Wide::path(&self.path()).unwrap();
            let handle = handle::open(&path, handle::Purpose::HoldEntry).unwrap();
            HeldDirectory::of(self.path(), handle).unwrap()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn is_proved(outer: &HeldDirectory, name: &str) -> Result<bool, Win32> {
        let name = &Component::parse(name).unwrap();
        let opened = reach::open_verified_by_path(&Within { outer, name });
        opened.map(|handle| handle.is_some())
    }

    #[test]
    fn an_entry_of_a_held_directory_is_proved_in_any_case_of_its_name() {
        let mut folder = Folder::new("proved").with("Inner");
        for number in 0..600 {
            folder = folder.with(&format!(
                "another-of-a-list-that-takes-several-blocks-{number}"
            ));
        }
        let outer = folder.held();
        for name in ["Inner", "inner"] {
            assert_eq!(is_proved(&outer, name), Ok(true));
        }
        let missing = is_proved(&outer, "missing");
        assert_eq!(missing, Err(Win32::FILE_NOT_FOUND));
    }

    /// As for the path of a held directory turned into a junction.
    /// Guards: P55
    #[test]
    fn an_equal_name_elsewhere_is_not_proved() {
        let (here, there) = (
            Folder::new("here").with("inner"),
            Folder::new("there").with("inner"),
        );
        let swapped = HeldDirectory {
            path: there.path(),
            ..here.held()
        };
        assert_eq!(is_proved(&swapped, "inner"), Ok(false));
        let empty = Folder::new("empty");
        let emptied = HeldDirectory {
            path: there.path(),
            ..empty.held()
        };
        assert_eq!(is_proved(&emptied, "inner"), Ok(false));
        assert_eq!(is_proved(&there.held(), "inner"), Ok(true));
    }

    #[test]
    fn a_file_is_not_proved() {
        let folder = Folder::new("file");
        std::fs::write(folder.0.join("file"), "x").unwrap();
        assert_eq!(is_proved(&folder.held(), "file"), Ok(false));
    }

    /// As the mount manager's folder is let go while it forgets it.
    /// Guards: P43
    #[test]
    fn what_took_the_name_of_a_folder_meanwhile_is_not_the_folder() {
        let folder = Folder::new("again").with("Inner");
        let (held, name) = (folder.held(), Component::parse("inner").unwrap());
        let seen = {
            let entry = held.open(&name, Purpose::Remove).unwrap();
            let volume = r"\\?\Volume{00000000-0000-0000-0000-000000000bad}\".parse();
            MountedFolder::on(&entry, volume.unwrap())
        };
        held.open_again(&name, &seen).unwrap();
        // It keeps its id, so nothing else gets it.
        std::fs::rename(folder.0.join("Inner"), folder.0.join("moved")).unwrap();
        let folder = folder.with("inner");
        let other = held.open_again(&name, &seen).unwrap_err();
        assert_eq!(other, Win32::FILE_INVALID);
        std::fs::remove_dir(folder.0.join("inner")).unwrap();
        let gone = held.open_again(&name, &seen).unwrap_err();
        assert_eq!(gone, Win32::FILE_NOT_FOUND);
    }

    /// By its path as by its handle: nobody can remove the directory.
    #[test]
    fn what_is_proved_is_held() {
        let folder = Folder::new("kept").with("inner");
        let (outer, name) = (folder.held(), Component::parse("inner").unwrap());
        let within = Within {
            outer: &outer,
            name: &name,
        };
        let kept = reach::open_verified_by_path(&within).unwrap().unwrap();
        let inner = folder.path().join(name.clone());
        let removed = NativeFiles::new().remove_directory(&inner);
        assert_eq!(removed.unwrap_err().win32(), Some(Win32::SHARING_VIOLATION));
        drop(kept);
        NativeFiles::new().remove_directory(&inner).unwrap();
    }
}
