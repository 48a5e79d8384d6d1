use std::sync::Arc;

use os::DeviceDescriptor;
use os::DiskAttributes;
use os::DiskNumber;
use os::Disks;
use os::DriveLayout;
use os::Extent;
use os::FileSystem;
use os::PartitionNumber;
use os::Result;
use os::ScsiAddress;
use os::Space;
use os::VolumeId;
use os::VolumeLock;
use os::Volumes;
use os::WinPath;

use crate::Kind;
use crate::Open;
use crate::Probe;

/// Disks or volumes whose operations are told.
pub(crate) struct Metered<T: ?Sized>(pub(crate) Arc<T>, pub(crate) Probe);

impl Disks for Metered<dyn Disks> {
    fn list(&self) -> Result<Vec<DiskNumber>> {
        self.1.handle("SetupDiGetClassDevsW", || self.0.list())
    }

    fn number_of(&self, device_path: &str) -> Result<DiskNumber> {
        self.1.handle("IOCTL_STORAGE_GET_DEVICE_NUMBER", || {
            self.0.number_of(device_path)
        })
    }

    fn device_id_page(&self, disk: DiskNumber) -> Result<Vec<u8>> {
        let run = || self.0.device_id_page(disk);
        self.1.run(
            Kind::Handle,
            "IOCTL_STORAGE_QUERY_PROPERTY",
            "device id",
            run,
        )
    }

    fn descriptor(&self, disk: DiskNumber) -> Result<DeviceDescriptor> {
        let run = || self.0.descriptor(disk);
        self.1.run(
            Kind::Handle,
            "IOCTL_STORAGE_QUERY_PROPERTY",
            "descriptor",
            run,
        )
    }

    fn scsi_address(&self, disk: DiskNumber) -> Result<ScsiAddress> {
        self.1
            .handle("IOCTL_SCSI_GET_ADDRESS", || self.0.scsi_address(disk))
    }

    fn length(&self, disk: DiskNumber) -> Result<u64> {
        self.1
            .handle("IOCTL_DISK_GET_LENGTH_INFO", || self.0.length(disk))
    }

    fn sector_size(&self, disk: DiskNumber) -> Result<u32> {
        self.1
            .handle("IOCTL_DISK_GET_DRIVE_GEOMETRY", || self.0.sector_size(disk))
    }

    fn layout(&self, disk: DiskNumber) -> Result<DriveLayout> {
        self.1
            .handle("IOCTL_DISK_GET_DRIVE_LAYOUT_EX", || self.0.layout(disk))
    }

    fn attributes(&self, disk: DiskNumber) -> Result<DiskAttributes> {
        self.1
            .handle("IOCTL_DISK_GET_DISK_ATTRIBUTES", || self.0.attributes(disk))
    }

    fn read(&self, disk: DiskNumber, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.1
            .handle("ReadFile", || self.0.read(disk, offset, buffer))
    }

    fn update_properties(&self, disk: DiskNumber) -> Result<()> {
        self.1.handle("IOCTL_DISK_UPDATE_PROPERTIES", || {
            self.0.update_properties(disk)
        })
    }

    fn grow_partition(&self, disk: DiskNumber, partition: PartitionNumber, by: u64) -> Result<()> {
        self.1.handle("IOCTL_DISK_GROW_PARTITION", || {
            self.0.grow_partition(disk, partition, by)
        })
    }
}

impl Volumes for Metered<dyn Volumes> {
    fn list(&self) -> Result<Vec<VolumeId>> {
        self.1.handle("FindFirstVolumeW", || self.0.list())
    }

    fn extents(&self, volume: VolumeId) -> Result<Vec<Extent>> {
        self.1.handle("IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS", || {
            self.0.extents(volume)
        })
    }

    fn space(&self, volume: VolumeId) -> Result<Space> {
        self.1.call("GetDiskFreeSpaceExW", || self.0.space(volume))
    }

    fn file_system(&self, volume: VolumeId) -> Result<Option<FileSystem>> {
        self.1
            .call("GetVolumeInformationW", || self.0.file_system(volume))
    }

    fn mounted_at(&self, folder: &WinPath) -> Result<VolumeId> {
        self.1.call("GetVolumeNameForVolumeMountPointW", || {
            self.0.mounted_at(folder)
        })
    }

    fn access_paths(&self, volume: VolumeId) -> Result<Vec<WinPath>> {
        self.1.call("GetVolumePathNamesForVolumeNameW", || {
            self.0.access_paths(volume)
        })
    }

    fn set_mount_point(&self, folder: &WinPath, volume: VolumeId) -> Result<()> {
        self.1.call("SetVolumeMountPointW", || {
            self.0.set_mount_point(folder, volume)
        })
    }

    fn delete_mount_point(&self, folder: &WinPath) -> Result<()> {
        self.1.call("DeleteVolumeMountPointW", || {
            self.0.delete_mount_point(folder)
        })
    }

    fn flush(&self, volume: VolumeId) -> Result<()> {
        self.1.handle("FlushFileBuffers", || self.0.flush(volume))
    }

    fn lock(&self, volume: VolumeId) -> Result<Box<dyn VolumeLock>> {
        let run = || self.0.lock(volume);
        let lock = self.1.open("FSCTL_LOCK_VOLUME", "", run)?;
        Ok(Box::new(Lock(lock, self.1.clone())))
    }

    fn extend(&self, volume: VolumeId, bytes: u64) -> Result<()> {
        self.1
            .handle("FSCTL_EXTEND_VOLUME", || self.0.extend(volume, bytes))
    }
}

struct Lock(Open<Box<dyn VolumeLock>>, Probe);

impl VolumeLock for Lock {
    fn dismount(&self) -> Result<()> {
        self.1.call("FSCTL_DISMOUNT_VOLUME", || self.0.dismount())
    }
}
