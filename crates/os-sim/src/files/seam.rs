//! The tree as the seam's [`Files`]: the lock, and the name of each call.

use os::{Cause, Dacl, DirEntry, Entry, Error, Files, LinkKind, Pin, WinPath};

use super::FileTree;

impl Files for FileTree {
    fn entry(&self, path: &WinPath) -> os::Result<Entry> {
        self.look("GetFileAttributesExW", path, || self.entry_itself(path))
    }

    fn leads_to_directory(&self, path: &WinPath) -> os::Result<bool> {
        self.look("CreateFileW", path, || {
            Ok(self.followed(path)?.found()?.entry().is_directory())
        })
    }

    fn reparse_data(&self, path: &WinPath) -> os::Result<Vec<u8>> {
        self.look("FSCTL_GET_REPARSE_POINT", path, || {
            self.raw_reparse_data(path)
        })
    }

    fn list(&self, directory: &WinPath) -> os::Result<Vec<DirEntry>> {
        self.look("FindFirstFileExW", directory, || self.listed(directory))
    }

    fn list_some(&self, directory: &WinPath, most: usize) -> os::Result<Vec<DirEntry>> {
        let mut listed = self.list(directory)?;
        listed.truncate(most);
        Ok(listed)
    }

    fn pin(&self, directory: &WinPath) -> os::Result<Pin> {
        self.look("CreateFileW", directory, || self.pinned(directory))
    }

    fn create_directory(&self, path: &WinPath) -> os::Result<()> {
        self.change("CreateDirectoryW", path, || self.make_directory(path))
    }

    fn remove_directory(&self, path: &WinPath) -> os::Result<()> {
        let unmounted = self.change("RemoveDirectoryW", path, || self.take_directory(path))?;
        if let Some((folder, volume)) = unmounted {
            self.mounts.forget(&folder, volume);
        }
        Ok(())
    }

    fn remove_file(&self, path: &WinPath) -> os::Result<()> {
        self.change("DeleteFileW", path, || self.take_file(path))
    }

    fn remove_symlink(&self, path: &WinPath, kind: LinkKind) -> os::Result<()> {
        self.change("SetFileInformationByHandle", path, || {
            self.take_symlink(path, kind)
        })
    }

    fn clear_read_only(&self, path: &WinPath) -> os::Result<()> {
        self.change("SetFileAttributesW", path, || self.make_writable(path))
    }

    fn create_symlink(&self, link: &WinPath, target: &str, kind: LinkKind) -> os::Result<()> {
        self.change("CreateSymbolicLinkW", link, || {
            self.make_symlink(link, target, kind)
        })
    }

    fn dacl(&self, directory: &WinPath) -> os::Result<String> {
        self.look("GetSecurityInfo", directory, || {
            self.listed_rights(directory)
        })
    }

    fn set_dacl(&self, directory: &WinPath, dacl: &Dacl) -> os::Result<()> {
        self.change("SetSecurityInfo", directory, || {
            self.list_rights(directory, dacl)
        })
    }
}

impl FileTree {
    pub(super) fn look<T>(
        &self,
        operation: &'static str,
        path: &WinPath,
        effect: impl FnOnce() -> Result<T, Cause>,
    ) -> os::Result<T> {
        let _looking = self.looking();
        effect().map_err(|cause| Error::new(operation, path, cause))
    }

    pub(super) fn change<T>(
        &self,
        operation: &'static str,
        path: &WinPath,
        effect: impl FnOnce() -> Result<T, Cause>,
    ) -> os::Result<T> {
        let _changing = self.changing();
        effect().map_err(|cause| Error::new(operation, path, cause))
    }
}
