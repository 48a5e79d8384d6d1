use std::sync::Arc;

use os::Component;
use os::DirEntry;
use os::Entry;
use os::Files;
use os::Held;
use os::LinkKind;
use os::Pin;
use os::Result;
use os::WinPath;

use crate::Kind;
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
        let run = || self.0.pin(directory);
        let pin = self.1.run(Kind::Handle, "CreateFileW", "pin", run)?;
        Ok(MeteredHeld::over(pin, &self.1))
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
}

/// A held directory through which operations are told, and those through the directories held in it.
struct MeteredHeld(Pin, Probe);

impl MeteredHeld {
    fn over(pin: Pin, probe: &Probe) -> Pin {
        Pin::holding(Self(pin, probe.clone()))
    }
}

impl Held for MeteredHeld {
    fn pin(&self, name: &Component) -> Result<Pin> {
        let run = || self.0.pin(name);
        let pin = self.1.run(Kind::Handle, "NtCreateFile", "pin", run)?;
        Ok(Self::over(pin, &self.1))
    }

    fn remove(&self, name: &Component) -> Result<()> {
        self.1
            .handle("SetFileInformationByHandle", || self.0.remove(name))
    }

    fn create_directory(&self, name: &Component) -> Result<()> {
        let run = || self.0.create_directory(name);
        self.1.run(Kind::Handle, "NtCreateFile", "create", run)
    }
}
