use std::sync::Arc;

use os::{
    Cause, Extent, Facility, FileSystem, Result, Root, Space, VolumeId, VolumeLock, Win32, WinPath,
};

use crate::files::FileTree;
use crate::gate::Op;
use crate::machine::{Home, Machine};
use crate::ondisk::{Filesystem, filesystem};
use crate::shared_node::SharedNode;
use crate::smb;

/// The mount manager and the mounted filesystems.
pub(crate) struct Volumes {
    pub(crate) shared: Arc<SharedNode>,
    pub(crate) tree: FileTree,
}

impl Volumes {
    fn run<T>(
        &self,
        operation: &'static str,
        volume: VolumeId,
        act: impl FnOnce(&mut Machine, Home) -> std::result::Result<T, Cause>,
    ) -> Result<T> {
        let op = Op::new(Facility::Volumes, operation, volume);
        self.shared.run(&op, |machine| {
            let home = machine.home(volume)?;
            act(machine, home)
        })
    }

    fn pass<T>(
        &self,
        operation: &'static str,
        folder: &WinPath,
        act: impl FnOnce() -> std::result::Result<T, Cause>,
    ) -> Result<T> {
        let op = Op::new(Facility::Volumes, operation, folder);
        self.shared.gate.pass(&op, act)
    }
}

impl os::Volumes for Volumes {
    fn list(&self) -> Result<Vec<VolumeId>> {
        let op = Op::new(Facility::Volumes, "FindFirstVolumeW", "volumes");
        self.shared.run(&op, |machine| Ok(machine.volume_ids()))
    }

    fn extents(&self, volume: VolumeId) -> Result<Vec<Extent>> {
        let operation = "IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS";
        self.run(operation, volume, |_, home| Ok(home.extents()))
    }

    fn space(&self, volume: VolumeId) -> Result<Space> {
        self.run("GetDiskFreeSpaceExW", volume, |machine, home| {
            let filesystem = mounted(machine, volume, &home)?;
            Ok(space(machine, volume, &filesystem))
        })
    }

    fn space_at(&self, directory: &WinPath) -> Result<Space> {
        self.pass("GetDiskFreeSpaceExW", directory, || {
            let root = unwrapped(self.tree.root_behind(directory))?;
            self.shared.with(|machine| {
                let volume = match &root {
                    Root::Share { host, share } => return smb::space(machine, host, share),
                    Root::Drive(_) => machine.volume_of_letter(&WinPath::of_root(root.clone()))?,
                    Root::Volume(volume) => *volume,
                };
                let home = machine.home(volume)?;
                let filesystem = mounted(machine, volume, &home)?;
                Ok(space(machine, volume, &filesystem))
            })
        })
    }

    fn file_system(&self, volume: VolumeId) -> Result<Option<FileSystem>> {
        self.run("GetVolumeInformationW", volume, |machine, home| {
            let filesystem = machine.filesystem(&home)?;
            Ok(filesystem.map(|filesystem| FileSystem {
                name: filesystem.kind.name().to_owned(),
                label: machine.label(volume),
                read_only: machine.is_read_only(&home),
            }))
        })
    }

    fn mounted_at(&self, folder: &WinPath) -> Result<VolumeId> {
        self.pass("GetVolumeNameForVolumeMountPointW", folder, || {
            let volume = match folder.components() {
                [] => self.shared.with(|machine| root_volume(machine, folder))?,
                _ => unwrapped(self.tree.mounted_volume(folder))?,
            };
            self.shared.with(|machine| machine.home(volume))?;
            Ok(volume)
        })
    }

    fn access_paths(&self, volume: VolumeId) -> Result<Vec<WinPath>> {
        let operation = "GetVolumePathNamesForVolumeNameW";
        self.run(operation, volume, |machine, _| {
            Ok(machine.state.paths_of(volume))
        })
    }

    fn set_mount_point(&self, folder: &WinPath, volume: VolumeId) -> Result<()> {
        self.pass("SetVolumeMountPointW", folder, || {
            self.shared.with(|machine| machine.home(volume))?;
            let path = unwrapped(self.tree.set_mount_point(folder, volume))?;
            self.shared.with(|machine| {
                machine.remember_mount(path, volume);
                Ok(())
            })
        })
    }

    fn delete_mount_point(&self, folder: &WinPath) -> Result<()> {
        self.pass("DeleteVolumeMountPointW", folder, || {
            if folder.components().is_empty() {
                return self.shared.with(|machine| machine.forget_letter(folder));
            }
            let (path, _) = unwrapped(self.tree.remove_mount_point(folder))?;
            self.shared.with(|machine| {
                machine.forget_mount(&path);
                Ok(())
            })
        })
    }

    fn delete_reparse_point(&self, folder: &WinPath, volume: VolumeId) -> Result<()> {
        self.pass("FSCTL_DELETE_REPARSE_POINT", folder, || {
            unwrapped(self.tree.remove_reparse_point(folder, volume))
        })
    }

    fn flush(&self, volume: VolumeId) -> Result<()> {
        self.run("FlushFileBuffers", volume, |machine, home| {
            if machine.is_read_only(&home) {
                return Err(Win32::WRITE_PROTECT.into());
            }
            Ok(())
        })
    }

    fn lock(&self, volume: VolumeId) -> Result<Box<dyn VolumeLock>> {
        let op = Op::new(Facility::Volumes, "FSCTL_LOCK_VOLUME", volume);
        // A lock that was taken by a call that then fails goes with it, as its handle does.
        let lock = self.shared.gate.pass(&op, || {
            self.shared.with(|machine| {
                machine.home(volume)?;
                machine.lock(volume)
            })?;
            Ok(Lock {
                volume,
                shared: Arc::clone(&self.shared),
            })
        })?;
        Ok(Box::new(lock))
    }

    /// Only for NTFS, ReFS and RAW, and by at least a cluster
    /// (<https://learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-fsctl_extend_volume>). The
    /// code is that of an unsupported control code.
    fn extend(&self, volume: VolumeId, bytes: u64) -> Result<()> {
        self.run("FSCTL_EXTEND_VOLUME", volume, |machine, home| {
            let filesystem = mounted(machine, volume, &home)?;
            if machine.is_read_only(&home) {
                return Err(Win32::WRITE_PROTECT.into());
            }
            if !filesystem.kind.grows() {
                return Err(Win32::INVALID_FUNCTION.into());
            }
            let least = filesystem.length + u64::from(filesystem.cluster);
            if bytes > home.partition.length || filesystem.kind.usable(bytes) < least {
                return Err(Win32::INVALID_PARAMETER.into());
            }
            let area = machine.area_of(&home)?;
            filesystem::extend(area, &home.partition, filesystem, bytes)
                .map_err(|_| Win32::IO_DEVICE.into())
        })
    }
}

/// The filesystem of a volume that somebody wants to use.
pub(crate) fn mounted(
    machine: &Machine,
    volume: VolumeId,
    home: &Home,
) -> std::result::Result<Filesystem, Cause> {
    if machine.locked.contains(&volume) {
        return Err(Win32::ACCESS_DENIED.into());
    }
    let filesystem = machine.filesystem(home)?;
    filesystem.ok_or_else(|| Win32::UNRECOGNIZED_VOLUME.into())
}

fn space(machine: &Machine, volume: VolumeId, filesystem: &Filesystem) -> Space {
    let free = machine.free_space(volume, filesystem);
    Space {
        total: filesystem.length,
        free,
        available: free,
    }
}

/// The volume of a drive letter, or of a volume's own root.
fn root_volume(machine: &Machine, root: &WinPath) -> std::result::Result<VolumeId, Cause> {
    match root.root() {
        Root::Volume(volume) => Ok(*volume),
        _ => machine.volume_of_letter(root),
    }
}

fn unwrapped<T>(done: Result<T>) -> std::result::Result<T, Cause> {
    done.map_err(|error| error.cause)
}

/// A volume that is ours until this is dropped.
struct Lock {
    volume: VolumeId,
    shared: Arc<SharedNode>,
}

impl VolumeLock for Lock {
    fn dismount(&self) -> Result<()> {
        let op = Op::new(Facility::Volumes, "FSCTL_DISMOUNT_VOLUME", self.volume);
        self.shared.run(&op, |machine| {
            machine.home(self.volume)?;
            machine.holds.remove(&self.volume);
            Ok(())
        })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // An unlock cannot report an error of the host; the lock is in memory anyway.
        let _ = self.shared.with(|machine| {
            machine.locked.remove(&self.volume);
            Ok(())
        });
    }
}
