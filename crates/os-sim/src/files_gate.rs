//! The file tree behind the gate.

use std::path::Path;
use std::sync::Arc;

use os::Cause;
use os::Component;
use os::Dacl;
use os::DirEntry;
use os::Entry;
use os::Facility;
use os::Files;
use os::Held;
use os::LinkKind;
use os::Pin;
use os::Result;
use os::VolumeId;
use os::WinPath;
use uuid::Uuid;

use crate::files::FileTree;
use crate::gate::Op;
use crate::machine::Machine;
use crate::world::World;

/// The node's files, every call through the gate.
#[derive(Clone)]
pub(crate) struct GatedFiles {
    pub(crate) world: Arc<World>,
    pub(crate) tree: FileTree,
}

impl GatedFiles {
    fn pass<T>(
        &self,
        operation: &'static str,
        path: &WinPath,
        act: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let op = Op::new(Facility::Files, operation, path);
        self.world
            .gate
            .pass(&op, || act().map_err(|error| error.cause))
    }

    /// The same pin, every call through the gate.
    fn gated(&self, directory: &WinPath, pin: Pin) -> Pin {
        Pin::holding(GatedHeld {
            files: self.clone(),
            path: directory.clone(),
            _hold: self.hold(directory),
            pin,
        })
    }

    /// Counts a handle on the volume that the directory lies on, for whoever wants to lock it.
    fn hold(&self, directory: &WinPath) -> Option<Hold> {
        let host = self.tree.host_path(directory).ok()?;
        let held = self.world.with(|machine| {
            let volume = volume_of(machine, &host);
            if let Some(volume) = volume {
                machine.hold(volume);
            }
            Ok::<_, Cause>(volume)
        });
        Some(Hold {
            volume: held.ok()??,
            world: Arc::clone(&self.world),
        })
    }
}

/// The volume on whose folder a host path lies. The outermost folder that is named like a volume
/// counts; hosts spell what is above it in several ways.
fn volume_of(machine: &Machine, host: &Path) -> Option<VolumeId> {
    let names = host
        .iter()
        .filter_map(|name| Uuid::try_parse(name.to_str()?).ok());
    let mut volumes = names.map(VolumeId);
    volumes.find(|volume| machine.home(*volume).is_ok())
}

impl Files for GatedFiles {
    fn entry(&self, path: &WinPath) -> Result<Entry> {
        self.pass("GetFileAttributesExW", path, || self.tree.entry(path))
    }

    fn leads_to_directory(&self, path: &WinPath) -> Result<bool> {
        self.pass("CreateFileW", path, || self.tree.leads_to_directory(path))
    }

    fn reparse_data(&self, path: &WinPath) -> Result<Vec<u8>> {
        self.pass("FSCTL_GET_REPARSE_POINT", path, || {
            self.tree.reparse_data(path)
        })
    }

    fn list(&self, directory: &WinPath) -> Result<Vec<DirEntry>> {
        self.pass("FindFirstFileExW", directory, || self.tree.list(directory))
    }

    fn pin(&self, directory: &WinPath) -> Result<Pin> {
        self.pass("CreateFileW", directory, || {
            let pin = self.tree.pin(directory)?;
            Ok(self.gated(directory, pin))
        })
    }

    fn create_directory(&self, path: &WinPath) -> Result<()> {
        self.pass("CreateDirectoryW", path, || {
            self.tree.create_directory(path)
        })
    }

    fn remove_directory(&self, path: &WinPath) -> Result<()> {
        self.pass("RemoveDirectoryW", path, || {
            self.tree.remove_directory(path)
        })
    }

    fn remove_file(&self, path: &WinPath) -> Result<()> {
        self.pass("DeleteFileW", path, || self.tree.remove_file(path))
    }

    fn clear_read_only(&self, path: &WinPath) -> Result<()> {
        self.pass("SetFileAttributesW", path, || {
            self.tree.clear_read_only(path)
        })
    }

    fn create_symlink(&self, link: &WinPath, target: &str, kind: LinkKind) -> Result<()> {
        self.pass("CreateSymbolicLinkW", link, || {
            self.tree.create_symlink(link, target, kind)
        })
    }

    fn dacl(&self, directory: &WinPath) -> Result<String> {
        self.pass("GetSecurityInfo", directory, || self.tree.dacl(directory))
    }

    fn set_dacl(&self, directory: &WinPath, dacl: &Dacl) -> Result<()> {
        self.pass("SetSecurityInfo", directory, || {
            self.tree.set_dacl(directory, dacl)
        })
    }
}

/// A directory that somebody holds.
struct GatedHeld {
    files: GatedFiles,
    path: WinPath,
    _hold: Option<Hold>,
    pin: Pin,
}

impl Held for GatedHeld {
    fn pin(&self, name: &Component) -> Result<Pin> {
        let path = self.path.join(name.clone());
        self.files.pass("NtCreateFile", &path, || {
            let pin = self.pin.pin(name)?;
            Ok(self.files.gated(&path, pin))
        })
    }

    fn remove(&self, name: &Component) -> Result<()> {
        let path = self.path.join(name.clone());
        self.files.pass("SetFileInformationByHandle", &path, || {
            self.pin.remove(name)
        })
    }

    fn create_directory(&self, name: &Component) -> Result<()> {
        let path = self.path.join(name.clone());
        self.files
            .pass("NtCreateFile", &path, || self.pin.create_directory(name))
    }
}

/// An open handle on a volume.
pub(crate) struct Hold {
    pub(crate) volume: VolumeId,
    pub(crate) world: Arc<World>,
}

impl Drop for Hold {
    fn drop(&mut self) {
        // A handle that closes has nobody to tell; the count is in memory anyway.
        let _ = self.world.with(|machine| {
            machine.let_go(self.volume);
            Ok(())
        });
    }
}
