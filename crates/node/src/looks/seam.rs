//! The system's disks, volumes and files, of which few looks at each object are under way at a time.
//!
//! What changes something goes through as it is: whoever changes an object holds its lock, and nobody may be
//! told that a change was not made which still is under way. Lists of all disks and volumes go through as
//! well, as they are about no one object; so does that of a directory, which may honestly take long, and so
//! do directories that are held: whoever asks for either holds a path's lock.

use std::sync::Arc;

use os::Dacl;
use os::DeviceDescriptor;
use os::DirEntry;
use os::DiskAttributes;
use os::DiskNumber;
use os::DriveLayout;
use os::Entry;
use os::Extent;
use os::FileSystem;
use os::LinkKind;
use os::Os;
use os::PartitionNumber;
use os::Pin;
use os::Result;
use os::Root;
use os::ScsiAddress;
use os::Space;
use os::VolumeId;
use os::VolumeLock;
use os::WinPath;

use super::Looks;
use super::Object;

/// The same system, so guarded.
pub(crate) fn guarded(os: Os, looks: &Looks) -> Os {
    let disks = Disks {
        disks: os.disks,
        looks: looks.clone(),
    };
    let files = Files {
        files: os.files,
        looks: looks.clone(),
    };
    let volumes = Volumes {
        volumes: os.volumes,
        looks: looks.clone(),
    };
    Os {
        disks: Arc::new(disks),
        files: Arc::new(files),
        volumes: Arc::new(volumes),
        ..os
    }
}

struct Disks {
    disks: Arc<dyn os::Disks>,
    looks: Looks,
}

impl Disks {
    fn look<T>(
        &self,
        disk: DiskNumber,
        ask: impl FnOnce(&dyn os::Disks) -> Result<T>,
    ) -> Result<T> {
        self.looks.at(&Object::Disk(disk), || ask(&*self.disks))
    }
}

impl os::Disks for Disks {
    fn list(&self) -> Result<Vec<DiskNumber>> {
        self.disks.list()
    }

    /// A path does not say which disk it is about: whoever asks knows which one it should be, and guards
    /// that.
    fn number_of(&self, device_path: &str) -> Result<DiskNumber> {
        self.disks.number_of(device_path)
    }

    fn device_id_page(&self, disk: DiskNumber) -> Result<Vec<u8>> {
        self.look(disk, |disks| disks.device_id_page(disk))
    }

    fn descriptor(&self, disk: DiskNumber) -> Result<DeviceDescriptor> {
        self.look(disk, |disks| disks.descriptor(disk))
    }

    fn scsi_address(&self, disk: DiskNumber) -> Result<ScsiAddress> {
        self.look(disk, |disks| disks.scsi_address(disk))
    }

    fn length(&self, disk: DiskNumber) -> Result<u64> {
        self.look(disk, |disks| disks.length(disk))
    }

    fn sector_size(&self, disk: DiskNumber) -> Result<u32> {
        self.look(disk, |disks| disks.sector_size(disk))
    }

    fn layout(&self, disk: DiskNumber) -> Result<DriveLayout> {
        self.look(disk, |disks| disks.layout(disk))
    }

    fn attributes(&self, disk: DiskNumber) -> Result<DiskAttributes> {
        self.look(disk, |disks| disks.attributes(disk))
    }

    fn read(&self, disk: DiskNumber, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.look(disk, |disks| disks.read(disk, offset, buffer))
    }

    fn update_properties(&self, disk: DiskNumber) -> Result<()> {
        self.look(disk, |disks| disks.update_properties(disk))
    }

    fn grow_partition(&self, disk: DiskNumber, partition: PartitionNumber, by: u64) -> Result<()> {
        self.disks.grow_partition(disk, partition, by)
    }
}

struct Files {
    files: Arc<dyn os::Files>,
    looks: Looks,
}

impl Files {
    fn look<T>(&self, path: &WinPath, ask: impl FnOnce(&dyn os::Files) -> Result<T>) -> Result<T> {
        let object = match path.root() {
            Root::Volume(volume) => Object::Files(*volume),
            Root::Drive(_) | Root::Share { .. } => Object::Path(path.folded()),
        };
        self.looks.at(&object, || ask(&*self.files))
    }
}

impl os::Files for Files {
    fn entry(&self, path: &WinPath) -> Result<Entry> {
        self.look(path, |files| files.entry(path))
    }

    fn leads_to_directory(&self, path: &WinPath) -> Result<bool> {
        self.look(path, |files| files.leads_to_directory(path))
    }

    fn reparse_data(&self, path: &WinPath) -> Result<Vec<u8>> {
        self.look(path, |files| files.reparse_data(path))
    }

    fn list(&self, directory: &WinPath) -> Result<Vec<DirEntry>> {
        self.files.list(directory)
    }

    fn pin(&self, directory: &WinPath) -> Result<Pin> {
        self.files.pin(directory)
    }

    fn create_directory(&self, path: &WinPath) -> Result<()> {
        self.files.create_directory(path)
    }

    fn remove_directory(&self, path: &WinPath) -> Result<()> {
        self.files.remove_directory(path)
    }

    fn remove_file(&self, path: &WinPath) -> Result<()> {
        self.files.remove_file(path)
    }

    fn clear_read_only(&self, path: &WinPath) -> Result<()> {
        self.files.clear_read_only(path)
    }

    fn create_symlink(&self, link: &WinPath, target: &str, kind: LinkKind) -> Result<()> {
        self.files.create_symlink(link, target, kind)
    }

    fn dacl(&self, directory: &WinPath) -> Result<String> {
        self.look(directory, |files| files.dacl(directory))
    }

    fn set_dacl(&self, directory: &WinPath, dacl: &Dacl) -> Result<()> {
        self.files.set_dacl(directory, dacl)
    }
}

struct Volumes {
    volumes: Arc<dyn os::Volumes>,
    looks: Looks,
}

impl Volumes {
    fn look<T>(
        &self,
        object: &Object,
        ask: impl FnOnce(&dyn os::Volumes) -> Result<T>,
    ) -> Result<T> {
        self.looks.at(object, || ask(&*self.volumes))
    }
}

impl os::Volumes for Volumes {
    fn list(&self) -> Result<Vec<VolumeId>> {
        self.volumes.list()
    }

    fn extents(&self, volume: VolumeId) -> Result<Vec<Extent>> {
        self.look(&Object::Volume(volume), |volumes| volumes.extents(volume))
    }

    fn space(&self, volume: VolumeId) -> Result<Space> {
        self.look(&Object::Volume(volume), |volumes| volumes.space(volume))
    }

    fn file_system(&self, volume: VolumeId) -> Result<Option<FileSystem>> {
        let object = Object::Volume(volume);
        self.look(&object, |volumes| volumes.file_system(volume))
    }

    fn mounted_at(&self, folder: &WinPath) -> Result<VolumeId> {
        let object = Object::Folder(folder.folded());
        self.look(&object, |volumes| volumes.mounted_at(folder))
    }

    fn access_paths(&self, volume: VolumeId) -> Result<Vec<WinPath>> {
        let object = Object::AccessPaths(volume);
        self.look(&object, |volumes| volumes.access_paths(volume))
    }

    fn set_mount_point(&self, folder: &WinPath, volume: VolumeId) -> Result<()> {
        self.volumes.set_mount_point(folder, volume)
    }

    fn delete_mount_point(&self, folder: &WinPath) -> Result<()> {
        self.volumes.delete_mount_point(folder)
    }

    fn flush(&self, volume: VolumeId) -> Result<()> {
        self.look(&Object::Cache(volume), |volumes| volumes.flush(volume))
    }

    fn lock(&self, volume: VolumeId) -> Result<Box<dyn VolumeLock>> {
        self.volumes.lock(volume)
    }

    fn extend(&self, volume: VolumeId, bytes: u64) -> Result<()> {
        self.volumes.extend(volume, bytes)
    }
}
