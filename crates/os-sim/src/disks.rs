use std::sync::Arc;

use os::{
    Cause, DeviceDescriptor, DiskAccess, DiskAttributes, DiskFacts, DiskNumber, DriveLayout,
    Facility, PartitionNumber, Result, ScsiAddress, Win32,
};

use crate::conditions::ProtectionAnswer;
use crate::gate::Op;
use crate::hardware::{IdentifierPage, page83};
use crate::machine::{Machine, Present};
use crate::ondisk;
use crate::shared_node::SharedNode;

/// The kernel's disks.
pub(crate) struct Disks(pub(crate) Arc<SharedNode>);

impl Disks {
    fn run<T>(
        &self,
        operation: &'static str,
        disk: DiskNumber,
        act: impl FnOnce(&mut Machine, &str) -> std::result::Result<T, Cause>,
    ) -> Result<T> {
        let op = Op::new(Facility::Disks, operation, format!("disk {disk}"));
        self.0.run(&op, |machine| {
            let name = machine.disk_name(disk)?;
            act(machine, &name)
        })
    }
}

impl os::Disks for Disks {
    fn list(&self) -> Result<Vec<DiskNumber>> {
        let op = Op::new(Facility::Disks, "SetupDiGetClassDevsW", "disks");
        self.0.run(&op, |machine| Ok(machine.disk_numbers()))
    }

    fn number_of(&self, device_path: &str) -> Result<DiskNumber> {
        let op = Op::new(
            Facility::Disks,
            "IOCTL_STORAGE_GET_DEVICE_NUMBER",
            device_path,
        );
        self.0.run(&op, |machine| machine.number_at(device_path))
    }

    /// Each question is an operation of its own, which faults may meet.
    fn facts(&self, device_path: &str) -> Result<DiskFacts> {
        let number = self.number_of(device_path)?;
        Ok(DiskFacts {
            number,
            descriptor: self.descriptor(number),
            device_id_page: self.device_id_page(number),
            length: self.length(number),
            scsi_address: self.scsi_address(number),
        })
    }

    fn device_id_page(&self, disk: DiskNumber) -> Result<Vec<u8>> {
        self.run("IOCTL_STORAGE_QUERY_PROPERTY", disk, |machine, name| {
            let spec = &machine.disk(name)?.disk.spec;
            match spec.identifier_page {
                IdentifierPage::Answered => page83::descriptor(&spec.identifier),
                IdentifierPage::Failing => Err(Win32::IO_DEVICE.into()),
                IdentifierPage::Malformed => Ok(vec![0xff; 12]),
                IdentifierPage::Refused => Err(Win32::INVALID_FUNCTION.into()),
            }
        })
    }

    fn descriptor(&self, disk: DiskNumber) -> Result<DeviceDescriptor> {
        self.run("IOCTL_STORAGE_QUERY_PROPERTY", disk, |machine, name| {
            Ok(descriptor(machine.disk(name)?))
        })
    }

    fn scsi_address(&self, disk: DiskNumber) -> Result<ScsiAddress> {
        self.run("IOCTL_SCSI_GET_ADDRESS", disk, |machine, name| {
            let address = machine.disk(name)?.disk.spec.scsi_address();
            address.ok_or_else(|| Win32::INVALID_FUNCTION.into())
        })
    }

    fn length(&self, disk: DiskNumber) -> Result<u64> {
        self.run("IOCTL_DISK_GET_LENGTH_INFO", disk, |machine, name| {
            Ok(machine.kernel(name)?.length)
        })
    }

    fn sector_size(&self, disk: DiskNumber) -> Result<u32> {
        self.run("IOCTL_DISK_GET_DRIVE_GEOMETRY", disk, |machine, name| {
            Ok(machine.disk(name)?.disk.spec.sector_size.bytes())
        })
    }

    fn layout(&self, disk: DiskNumber) -> Result<DriveLayout> {
        self.run("IOCTL_DISK_GET_DRIVE_LAYOUT_EX", disk, |machine, name| {
            Ok(machine.disk(name)?.table.layout())
        })
    }

    fn attributes(&self, disk: DiskNumber) -> Result<DiskAttributes> {
        self.run("IOCTL_DISK_GET_DISK_ATTRIBUTES", disk, |machine, name| {
            let kernel = machine.kernel(name)?;
            Ok(DiskAttributes {
                offline: kernel.is_offline,
                read_only: kernel.is_read_only,
            })
        })
    }

    fn is_write_protected(&self, disk: DiskNumber) -> Result<bool> {
        self.run("IOCTL_DISK_IS_WRITABLE", disk, |machine, name| {
            let is_protected = machine.disk(name)?.disk.spec.write_protected;
            Ok(match machine.spec.storage.write_protection {
                ProtectionAnswer::Device => is_protected,
                ProtectionAnswer::DeviceOrAttribute => machine.refuses_writes(name),
            })
        })
    }

    fn set_access(&self, disk: DiskNumber, access: DiskAccess) -> Result<()> {
        self.run("IOCTL_DISK_SET_DISK_ATTRIBUTES", disk, |machine, name| {
            machine.change(name, |disk| {
                disk.is_read_only_again =
                    access == DiskAccess::ReadWriteUntilRestart && disk.is_read_only;
                disk.is_read_only = access == DiskAccess::ReadOnly;
            })
        })
    }

    fn read(&self, disk: DiskNumber, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.run("ReadFile", disk, |machine, name| {
            read(machine, name, offset, buffer)
        })
    }

    fn update_properties(&self, disk: DiskNumber) -> Result<()> {
        self.run("IOCTL_DISK_UPDATE_PROPERTIES", disk, |machine, name| {
            machine.reread(name).map_err(|_| Win32::IO_DEVICE.into())
        })
    }

    fn grow_partition(&self, disk: DiskNumber, partition: PartitionNumber, by: u64) -> Result<()> {
        self.run("IOCTL_DISK_GROW_PARTITION", disk, |machine, name| {
            grow(machine, name, partition, by)
        })
    }
}

fn descriptor(present: &Present) -> DeviceDescriptor {
    let spec = &present.disk.spec;
    DeviceDescriptor {
        bus: spec.bus.number(),
        vendor: spec.vendor.clone(),
        product: spec.product.clone(),
        serial: spec.serial.clone(),
    }
}

fn read(
    machine: &Machine,
    name: &str,
    offset: u64,
    buffer: &mut [u8],
) -> std::result::Result<(), Cause> {
    let area = machine.area(name)?;
    let sector = u64::from(area.sector_size);
    let length = u64::try_from(buffer.len()).map_err(|_| Win32::INVALID_PARAMETER)?;
    if !offset.is_multiple_of(sector) || !length.is_multiple_of(sector) {
        return Err(Win32::INVALID_PARAMETER.into());
    }
    if offset
        .checked_add(length)
        .is_none_or(|end| end > area.length)
    {
        return Err(Win32::SECTOR_NOT_FOUND.into());
    }
    let done = area.read(offset, buffer);
    done.map_err(|_| Win32::IO_DEVICE.into())
}

fn grow(
    machine: &mut Machine,
    name: &str,
    number: PartitionNumber,
    by: u64,
) -> std::result::Result<(), Cause> {
    let area = machine.area(name)?;
    let table = &machine.disk(name)?.table;
    let partition = table.partition(number.0).ok_or(Win32::FILE_NOT_FOUND)?;
    if machine.refuses_writes(name) {
        return Err(Win32::WRITE_PROTECT.into());
    }
    let length = partition.length.checked_add(by);
    let length = length.ok_or(Win32::INVALID_PARAMETER)?;
    let reaches = partition.offset.checked_add(length);
    let reach = table.reach(area.length, area.sector_size);
    if reaches.is_none_or(|end| end > table.limit(partition, reach)) {
        return Err(Win32::INVALID_PARAMETER.into());
    }
    ondisk::resize(area, partition, length).map_err(|_| Win32::IO_DEVICE)?;
    machine.settle(name);
    Ok(())
}
