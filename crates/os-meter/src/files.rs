use std::sync::Arc;

use os::Component;
use os::Dacl;
use os::DirEntry;
use os::Entry;
use os::Files;
use os::Held;
use os::LinkKind;
use os::Pin;
use os::Result;
use os::WinPath;

use crate::Kind;
use crate::Open;
use crate::Probe;

/// Files whose operations are told.
pub(crate) struct Metered(pub(crate) Arc<dyn Files>, pub(crate) Probe);

impl Files for Metered {
    fn entry(&self, path: &WinPath) -> Result<Entry> {
        self.1.call("GetFileAttributesExW", || self.0.entry(path))
    }

    fn leads_to_directory(&self, path: &WinPath) -> Result<bool> {
        let run = || self.0.leads_to_directory(path);
        self.1.run(Kind::Handle, "CreateFileW", "follow", run)
    }

    fn reparse_data(&self, path: &WinPath) -> Result<Vec<u8>> {
        self.1
            .handle("FSCTL_GET_REPARSE_POINT", || self.0.reparse_data(path))
    }

    fn list(&self, directory: &WinPath) -> Result<Vec<DirEntry>> {
        self.1.handle("FindFirstFileExW", || self.0.list(directory))
    }

    fn pin(&self, directory: &WinPath) -> Result<Pin> {
        let pin = self
            .1
            .open("CreateFileW", "pin", || self.0.pin(directory))?;
        Ok(Pin::holding(MeteredPin(pin, self.1.clone())))
    }

    fn create_directory(&self, path: &WinPath) -> Result<()> {
        self.1
            .call("CreateDirectoryW", || self.0.create_directory(path))
    }

    fn remove_directory(&self, path: &WinPath) -> Result<()> {
        self.1
            .call("RemoveDirectoryW", || self.0.remove_directory(path))
    }

    fn remove_file(&self, path: &WinPath) -> Result<()> {
        self.1.call("DeleteFileW", || self.0.remove_file(path))
    }

    fn clear_read_only(&self, path: &WinPath) -> Result<()> {
        self.1
            .call("SetFileAttributesW", || self.0.clear_read_only(path))
    }

    fn create_symlink(&self, link: &WinPath, target: &str, kind: LinkKind) -> Result<()> {
        self.1.call("CreateSymbolicLinkW", || {
            self.0.create_symlink(link, target, kind)
        })
    }

    fn dacl(&self, directory: &WinPath) -> Result<String> {
        self.1.handle("GetSecurityInfo", || self.0.dacl(directory))
    }

    fn set_dacl(&self, directory: &WinPath, dacl: &Dacl) -> Result<()> {
        let run = || self.0.set_dacl(directory, dacl);
        self.1.handle("SetSecurityInfo", run)
    }
}

/// A held directory whose operations are told.
struct MeteredPin(Open<Pin>, Probe);

impl Held for MeteredPin {
    fn pin(&self, name: &Component) -> Result<Pin> {
        let run = || self.0.pin(name);
        let pin = self.1.open("NtCreateFile", "pin", run)?;
        Ok(Pin::holding(Self(pin, self.1.clone())))
    }

    fn remove(&self, name: &Component) -> Result<()> {
        let run = || self.0.remove(name);
        self.1.handle("SetFileInformationByHandle", run)
    }

    fn create_directory(&self, name: &Component) -> Result<()> {
        let run = || self.0.create_directory(name);
        self.1
            .run(Kind::Handle, "NtCreateFile", "create directory", run)
    }
}
