//! The machine's disks, by control codes.
//!
//! Windows lists disks by their device interface (`SetupDiGetClassDevsW`). Each call opens a disk by its number.
//! `formats::ioctl` reads the answers to control codes. Structures with pointers into their own buffer are read by
//! checked offsets, and no pointer is followed.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::windows::fs::FileExt as _;
use std::os::windows::io::OwnedHandle;

use formats::ioctl::{self, AnswerError, TableStyle};
use os::{
    BusType, Cause, DeviceDescriptor, DiskAccess, DiskAttributes, DiskFacts, DiskNumber, Disks,
    DriveLayout, Error, PartitionEntry, PartitionNumber, PartitionStyle, ScsiAddress, Win32,
};
use windows_sys::Win32::Foundation::{ERROR_BAD_LENGTH, ERROR_INSUFFICIENT_BUFFER};
use windows_sys::Win32::Storage::IscsiDisc::IOCTL_SCSI_GET_ADDRESS;
use windows_sys::Win32::System::Ioctl as codes;

use crate::failure;
use crate::raw::handle::{self, Purpose};
use crate::raw::interfaces;
use crate::wide::Wide;

/// The machine's disks, by control codes. A disk is opened by its number for each call.
#[derive(Debug, Clone, Copy, Default)]
pub struct NativeDisks;

impl NativeDisks {
    #[must_use]
    pub fn new() -> Self {
        Self
    }
}

impl Disks for NativeDisks {
    /// By the devices with the interface of disks. If a disk has several paths, these have no number.
    fn list(&self) -> os::Result<Vec<DiskNumber>> {
        let paths = interfaces::present(&codes::GUID_DEVINTERFACE_DISK)
            .map_err(|code| failure::error("SetupDiEnumDeviceInterfaces", "all disks", code))?;
        let numbers = paths
            .into_iter()
            .filter_map(|path| device_number(path, number_at));
        let ascending: BTreeSet<_> = numbers.collect();
        Ok(ascending.into_iter().collect())
    }

    fn number_of(&self, device_path: &str) -> os::Result<DiskNumber> {
        number_at(device_path.as_ref())
            .and_then(|number| number.ok_or_else(|| Win32::NOT_FOUND.into()))
            .map_err(|cause| failure::error(GET_DEVICE_NUMBER.name, device_path, cause))
    }

    fn facts(&self, device_path: &str) -> os::Result<DiskFacts> {
        let fail = |cause| failure::error(GET_DEVICE_NUMBER.name, device_path, cause);
        let device =
            Wide::new(device_path).and_then(|path| handle::open(&path, GET_LENGTH.purpose));
        let device = device.map_err(|code| fail(code.into()))?;
        let number = GET_DEVICE_NUMBER.answer(&device, ioctl::disk_number);
        let number = number.and_then(|number| number.ok_or_else(|| Win32::NOT_FOUND.into()));
        let disk = DiskNumber(number.map_err(fail)?);
        Ok(DiskFacts {
            number: disk,
            descriptor: descriptor(&device).map_err(failed(QUERY_PROPERTY, disk)),
            device_id_page: property(&device, codes::StorageDeviceIdProperty)
                .map_err(failed(QUERY_PROPERTY, disk)),
            length: GET_LENGTH
                .answer(&device, ioctl::disk_length)
                .map_err(failed(GET_LENGTH.name, disk)),
            scsi_address: GET_ADDRESS
                .answer(&device, ioctl::ScsiAddress::parse)
                .map(scsi_address)
                .map_err(failed(GET_ADDRESS.name, disk)),
        })
    }

    fn device_id_page(&self, disk: DiskNumber) -> os::Result<Vec<u8>> {
        open(disk, Purpose::AskDevice)
            .map_err(Cause::from)
            .and_then(|device| property(&device, codes::StorageDeviceIdProperty))
            .map_err(failed(QUERY_PROPERTY, disk))
    }

    fn descriptor(&self, disk: DiskNumber) -> os::Result<DeviceDescriptor> {
        open(disk, Purpose::AskDevice)
            .map_err(Cause::from)
            .and_then(|device| descriptor(&device))
            .map_err(failed(QUERY_PROPERTY, disk))
    }

    fn scsi_address(&self, disk: DiskNumber) -> os::Result<ScsiAddress> {
        let address = GET_ADDRESS.ask(disk, ioctl::ScsiAddress::parse)?;
        Ok(scsi_address(address))
    }

    fn length(&self, disk: DiskNumber) -> os::Result<u64> {
        GET_LENGTH.ask(disk, ioctl::disk_length)
    }

    fn sector_size(&self, disk: DiskNumber) -> os::Result<u32> {
        GET_GEOMETRY.ask(disk, ioctl::bytes_per_sector)
    }

    fn layout(&self, disk: DiskNumber) -> os::Result<DriveLayout> {
        open(disk, Purpose::ReadDevice)
            .map_err(Cause::from)
            .and_then(|device| layout(&device))
            .map_err(failed("IOCTL_DISK_GET_DRIVE_LAYOUT_EX", disk))
    }

    fn attributes(&self, disk: DiskNumber) -> os::Result<DiskAttributes> {
        let attributes = GET_ATTRIBUTES.ask(disk, ioctl::DiskAttributes::parse)?;
        Ok(DiskAttributes {
            offline: attributes.offline,
            read_only: attributes.read_only,
        })
    }

    fn is_write_protected(&self, disk: DiskNumber) -> os::Result<bool> {
        let code = codes::IOCTL_DISK_IS_WRITABLE;
        let asked = open(disk, Purpose::AskDevice)
            .and_then(|device| handle::control(&device, code, &[], &mut []));
        match asked {
            Ok(_) => Ok(false),
            Err(Win32::WRITE_PROTECT) => Ok(true),
            Err(code) => Err(failed("IOCTL_DISK_IS_WRITABLE", disk)(code)),
        }
    }

    fn set_access(&self, disk: DiskNumber, access: DiskAccess) -> os::Result<()> {
        let code = codes::IOCTL_DISK_SET_DISK_ATTRIBUTES;
        let request = match access {
            DiskAccess::ReadOnly => ioctl::set_read_only(),
            DiskAccess::ReadWrite => ioctl::clear_read_only(),
            DiskAccess::ReadWriteUntilRestart => ioctl::clear_read_only_until_restart(),
        };
        open(disk, Purpose::ChangeDevice)
            .and_then(|device| handle::control(&device, code, &request, &mut []))
            .map_err(failed("IOCTL_DISK_SET_DISK_ATTRIBUTES", disk))?;
        Ok(())
    }

    fn read(&self, disk: DiskNumber, offset: u64, buffer: &mut [u8]) -> os::Result<()> {
        open(disk, Purpose::ReadDevice)
            .map_err(Cause::from)
            .and_then(|device| read(device, offset, buffer))
            .map_err(failed("ReadFile", disk))
    }

    fn update_properties(&self, disk: DiskNumber) -> os::Result<()> {
        let code = codes::IOCTL_DISK_UPDATE_PROPERTIES;
        open(disk, Purpose::AskDevice)
            .and_then(|device| handle::control(&device, code, &[], &mut []))
            .map_err(failed("IOCTL_DISK_UPDATE_PROPERTIES", disk))?;
        Ok(())
    }

    fn grow_partition(
        &self,
        disk: DiskNumber,
        partition: PartitionNumber,
        by: u64,
    ) -> os::Result<()> {
        let code = codes::IOCTL_DISK_GROW_PARTITION;
        ioctl::grow_partition(partition.0, by)
            .ok_or(Win32::INVALID_PARAMETER)
            .and_then(|request| {
                let device = open(disk, Purpose::ChangeDevice)?;
                handle::control(&device, code, &request, &mut [])
            })
            .map_err(failed("IOCTL_DISK_GROW_PARTITION", disk))?;
        Ok(())
    }
}

const QUERY_PROPERTY: &str = "IOCTL_STORAGE_QUERY_PROPERTY";

/// A control code for a structure of a fixed length.
struct Question {
    name: &'static str,
    code: u32,
    /// The structure's length.
    room: usize,
    /// The access required by the code.
    purpose: Purpose,
}

const GET_ADDRESS: Question = Question {
    name: "IOCTL_SCSI_GET_ADDRESS",
    code: IOCTL_SCSI_GET_ADDRESS,
    room: 8,
    purpose: Purpose::AskDevice,
};

const GET_ATTRIBUTES: Question = Question {
    name: "IOCTL_DISK_GET_DISK_ATTRIBUTES",
    code: codes::IOCTL_DISK_GET_DISK_ATTRIBUTES,
    room: 16,
    purpose: Purpose::AskDevice,
};

const GET_DEVICE_NUMBER: Question = Question {
    name: "IOCTL_STORAGE_GET_DEVICE_NUMBER",
    code: codes::IOCTL_STORAGE_GET_DEVICE_NUMBER,
    room: 12,
    purpose: Purpose::AskDevice,
};

const GET_GEOMETRY: Question = Question {
    name: "IOCTL_DISK_GET_DRIVE_GEOMETRY",
    code: codes::IOCTL_DISK_GET_DRIVE_GEOMETRY,
    room: 24,
    purpose: Purpose::AskDevice,
};

const GET_LENGTH: Question = Question {
    name: "IOCTL_DISK_GET_LENGTH_INFO",
    code: codes::IOCTL_DISK_GET_LENGTH_INFO,
    room: 8,
    purpose: Purpose::ReadDevice,
};

impl Question {
    fn ask<T>(
        &self,
        disk: DiskNumber,
        parse: impl FnOnce(&[u8]) -> Result<T, AnswerError>,
    ) -> os::Result<T> {
        open(disk, self.purpose)
            .map_err(Cause::from)
            .and_then(|device| self.answer(&device, parse))
            .map_err(failed(self.name, disk))
    }

    fn answer<T>(
        &self,
        device: &OwnedHandle,
        parse: impl FnOnce(&[u8]) -> Result<T, AnswerError>,
    ) -> Result<T, Cause> {
        let mut buffer = vec![0; self.room];
        let filled = handle::control(device, self.code, &[], &mut buffer)?;
        parse(buffer.get(..filled).unwrap_or_default()).map_err(malformed)
    }
}

fn open(disk: DiskNumber, purpose: Purpose) -> Result<OwnedHandle, Win32> {
    handle::open(&Wide::new(format!(r"\\.\PhysicalDrive{disk}"))?, purpose)
}

fn failed<C: Into<Cause>>(operation: &'static str, disk: DiskNumber) -> impl FnOnce(C) -> Error {
    move |cause| failure::error(operation, format!("disk {disk}"), cause)
}

fn malformed(error: AnswerError) -> Cause {
    Cause::Malformed(error.to_string())
}

/// A device's number. A device without one (gone, failing, or no disk) is skipped: it must not hide all others.
fn device_number(
    path: Result<OsString, Win32>,
    ask: impl FnOnce(&OsStr) -> Result<Option<DiskNumber>, Cause>,
) -> Option<DiskNumber> {
    match path {
        Ok(path) => ask(&path).unwrap_or_else(|cause| {
            let path = path.to_string_lossy();
            tracing::warn!(%path, %cause, "a device does not say which disk it is");
            None
        }),
        Err(code) => {
            tracing::warn!(%code, "a device of a disk does not tell its path");
            None
        }
    }
}

fn number_at(path: &OsStr) -> Result<Option<DiskNumber>, Cause> {
    let device = handle::open(&Wide::new(path)?, GET_DEVICE_NUMBER.purpose)?;
    let number = GET_DEVICE_NUMBER.answer(&device, ioctl::disk_number)?;
    Ok(number.map(DiskNumber))
}

/// The most retries for an answer longer than its buffer.
const ATTEMPTS: usize = 6;

/// Room for most descriptors.
const USUAL_DESCRIPTOR: usize = 1024;

/// Longer than any descriptor; bounds the allocation.
const LONGEST_DESCRIPTOR: usize = 0x10_0000;

/// A descriptor that does not fit comes without its end, and with its full length.
fn property(device: &OwnedHandle, property: codes::STORAGE_PROPERTY_ID) -> Result<Vec<u8>, Cause> {
    let code = codes::IOCTL_STORAGE_QUERY_PROPERTY;
    let kind = codes::PropertyStandardQuery;
    let query = [property.to_le_bytes(), kind.to_le_bytes(), [0; 4]].concat();
    let mut answer = vec![0; USUAL_DESCRIPTOR];
    for _ in 0..ATTEMPTS {
        let filled = handle::control(device, code, &query, &mut answer)?;
        let size = ioctl::size(answer.get(..filled).unwrap_or_default()).map_err(malformed)?;
        if size <= answer.len() {
            answer.truncate(filled);
            return Ok(answer);
        }
        if size > LONGEST_DESCRIPTOR {
            break;
        }
        answer.resize(size, 0);
    }
    Err(Win32::MORE_DATA.into())
}

fn descriptor(device: &OwnedHandle) -> Result<DeviceDescriptor, Cause> {
    let answer = property(device, codes::StorageDeviceProperty)?;
    let read = ioctl::DeviceDescriptor::parse(&answer).map_err(malformed)?;
    let no_bus = |_| Cause::Malformed(format!("no bus type: {}", read.bus));
    Ok(DeviceDescriptor {
        bus: BusType(u16::try_from(read.bus).map_err(no_bus)?),
        vendor: read.vendor,
        product: read.product,
        serial: read.serial,
    })
}

fn scsi_address(read: ioctl::ScsiAddress) -> ScsiAddress {
    ScsiAddress {
        port: read.port,
        path: read.path,
        target: read.target,
        lun: read.lun,
    }
}

/// A GPT has 128 entries unless made otherwise. Only a try shows more:
/// <https://learn.microsoft.com/windows-hardware/drivers/ddi/ntdddisk/ni-ntdddisk-ioctl_disk_get_drive_layout_ex>.
fn layout(device: &OwnedHandle) -> Result<DriveLayout, Cause> {
    let code = codes::IOCTL_DISK_GET_DRIVE_LAYOUT_EX;
    let mut entries = 128;
    for _ in 0..ATTEMPTS {
        let mut answer = vec![0; ioctl::DriveLayout::length(entries)];
        match handle::control(device, code, &[], &mut answer) {
            Ok(filled) => {
                let answer = answer.get(..filled).unwrap_or_default();
                let read = ioctl::DriveLayout::parse(answer).map_err(malformed)?;
                return Ok(drive_layout(read));
            }
            Err(Win32(ERROR_INSUFFICIENT_BUFFER | ERROR_BAD_LENGTH) | Win32::MORE_DATA) => {
                entries *= 2;
            }
            Err(code) => return Err(code.into()),
        }
    }
    Err(Win32::MORE_DATA.into())
}

fn drive_layout(read: ioctl::DriveLayout) -> DriveLayout {
    let entry = |partition: ioctl::LayoutPartition| PartitionEntry {
        number: PartitionNumber(partition.number),
        offset: partition.offset,
        length: partition.length,
        kind: partition.kind,
        mbr_type: partition.mbr_type,
        id: partition.id,
    };
    DriveLayout {
        style: match read.style {
            TableStyle::Gpt { disk_id } => PartitionStyle::Gpt { disk_id },
            TableStyle::Mbr { signature } => PartitionStyle::Mbr { signature },
            TableStyle::Raw => PartitionStyle::Raw,
        },
        partitions: read.partitions.into_iter().map(entry).collect(),
    }
}

/// Reads of a disk are not buffered, so they begin and end at sectors, and need memory aligned to the physical sector,
/// at most 4 KiB: <https://learn.microsoft.com/windows/win32/fileio/file-buffering>.
fn read(device: OwnedHandle, offset: u64, buffer: &mut [u8]) -> Result<(), Cause> {
    let sector = GET_GEOMETRY.answer(&device, ioctl::bytes_per_sector)?;
    let is_aligned = |number: u64| number.is_multiple_of(sector.into());
    let length = u64::try_from(buffer.len()).map_err(|_| Win32::INVALID_PARAMETER)?;
    if !is_aligned(offset) || !is_aligned(length) || offset.checked_add(length).is_none() {
        return Err(Win32::INVALID_PARAMETER.into());
    }
    let file = File::from(device);
    let mut memory = vec![0; STEP.min(buffer.len()) + ALIGNMENT];
    let skipped = memory.as_ptr().align_offset(ALIGNMENT);
    let aligned = memory.get_mut(skipped..).unwrap_or_default();
    let mut at = offset;
    for part in buffer.chunks_mut(STEP) {
        let room = aligned.get_mut(..part.len());
        let room = room.ok_or(Win32::INVALID_PARAMETER)?;
        match file.seek_read(room, at) {
            Ok(count) if count == room.len() => part.copy_from_slice(room),
            Ok(_) => return Err(Win32::HANDLE_EOF.into()),
            Err(error) => return Err(code(&error).into()),
        }
        at += u64::try_from(part.len()).map_err(|_| Win32::INVALID_PARAMETER)?;
    }
    Ok(())
}

/// The bytes of one read; a multiple of every sector size.
const STEP: usize = 0x10_0000;

const ALIGNMENT: usize = 0x1000;

fn code(error: &io::Error) -> Win32 {
    let code = error.raw_os_error();
    let code = code.and_then(|code| u32::try_from(code).ok());
    code.map_or(Win32::GEN_FAILURE, Win32)
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use formats::ioctl;
    use os::{Cause, DiskNumber, Disks, PartitionNumber, Win32};
    use windows_sys::Win32::System::Ioctl as codes;
    use windows_sys::Win32::System::Ioctl::{
        DRIVE_LAYOUT_INFORMATION_EX as Layout, PARTITION_INFORMATION_EX as Entry,
        PARTITION_INFORMATION_GPT as Gpt, STORAGE_DEVICE_DESCRIPTOR as Descriptor,
    };

    use super::{GET_ATTRIBUTES, GET_DEVICE_NUMBER, GET_GEOMETRY, NativeDisks, device_number};

    const FIRST: DiskNumber = DiskNumber(0);

    /// `formats` uses the layouts of the system's headers, as in `windows-sys`.
    #[test]
    fn layouts_are_those_of_the_headers() {
        let entries = offset_of!(Layout, PartitionEntry);
        assert_eq!(ioctl::DriveLayout::length(0), entries);
        assert_eq!(ioctl::DriveLayout::length(1), entries + size_of::<Entry>());
        assert_eq!(offset_of!(Layout, Anonymous), 8);
        assert_eq!(offset_of!(Entry, StartingOffset), 8);
        assert_eq!(offset_of!(Entry, PartitionLength), 16);
        assert_eq!(offset_of!(Entry, PartitionNumber), 24);
        assert_eq!(offset_of!(Entry, Anonymous), 32);
        assert_eq!(offset_of!(Gpt, PartitionType), 0);
        assert_eq!(offset_of!(Gpt, PartitionId), 16);
        assert_eq!(offset_of!(Descriptor, VendorIdOffset), 12);
        assert_eq!(offset_of!(Descriptor, SerialNumberOffset), 24);
        assert_eq!(offset_of!(Descriptor, BusType), 28);
        assert_eq!(offset_of!(codes::DISK_GEOMETRY, BytesPerSector), 20);
        assert_eq!(offset_of!(codes::DISK_GROW_PARTITION, BytesToGrow), 8);
        assert_eq!(offset_of!(codes::GET_DISK_ATTRIBUTES, Attributes), 8);
        assert_eq!(offset_of!(codes::STORAGE_DEVICE_NUMBER, DeviceNumber), 4);
        let request = ioctl::clear_read_only();
        assert_eq!(size_of::<codes::SET_DISK_ATTRIBUTES>(), request.len());
        assert_eq!(offset_of!(codes::SET_DISK_ATTRIBUTES, Attributes), 8);
        assert_eq!(offset_of!(codes::SET_DISK_ATTRIBUTES, AttributesMask), 16);
    }

    #[test]
    fn there_is_room_for_each_structure() {
        assert_eq!(GET_ATTRIBUTES.room, size_of::<codes::GET_DISK_ATTRIBUTES>());
        assert_eq!(
            GET_DEVICE_NUMBER.room,
            size_of::<codes::STORAGE_DEVICE_NUMBER>()
        );
        assert_eq!(GET_GEOMETRY.room, size_of::<codes::DISK_GEOMETRY>());
    }

    #[test]
    fn a_device_that_does_not_say_its_number_hides_no_other() {
        let sick = [Win32::GEN_FAILURE, Win32::NOT_READY, Win32::ACCESS_DENIED];
        let refused = sick.map(|code| Err(Cause::from(code))).into_iter();
        let malformed = Err(Cause::Malformed("short".to_owned()));
        let answers = refused.chain([malformed, Ok(None), Ok(Some(FIRST))]);
        let devices = answers.map(|answer| device_number(Ok("device".into()), |_| answer));
        assert_eq!(devices.flatten().collect::<Vec<_>>(), [FIRST]);
    }

    #[test]
    fn a_device_without_a_path_is_not_asked() {
        let path = Err(Win32::GEN_FAILURE);
        assert_eq!(device_number(path, |_| panic!("asked")), None);
    }

    #[test]
    fn a_path_of_nothing_is_of_no_disk() {
        let nothing = r"\\?\scsi#disk&ven_none#0#{53f56307-b6bf-11d0-94f2-00a0c91efb8b}";
        let found = NativeDisks::new().number_of(nothing);
        assert!(found.is_err_and(|error| error.is_not_found()));
    }

    /// Wine's first drive answers these questions alone.
    #[test]
    fn the_first_drive_says_what_it_is() {
        let disks = NativeDisks::new();
        let number = disks.number_of(r"\\.\PhysicalDrive0");
        assert_eq!(number, Ok(FIRST));
        assert!(matches!(disks.sector_size(FIRST), Ok(512 | 4096)));
        let descriptor = disks.descriptor(FIRST);
        assert!(descriptor.is_ok_and(|descriptor| descriptor.bus.0 != 0));
    }

    #[test]
    fn what_is_not_aligned_or_too_much_never_reaches_the_drive() {
        let disks = NativeDisks::new();
        let mut sectors = [0; 2 * 4096];
        let mut read = |offset, length| {
            let read = disks.read(FIRST, offset, &mut sectors[..length]);
            read.err().and_then(|error| error.win32())
        };
        let refused = Some(Win32::INVALID_PARAMETER);
        assert_eq!(read(1, 4096), refused);
        assert_eq!(read(0, 4095), refused);
        assert_eq!(read(u64::MAX - 4095, 8192), refused);
        let grown = disks.grow_partition(FIRST, PartitionNumber(1), 1 << 63);
        assert_eq!(grown.err().and_then(|error| error.win32()), refused);
    }
}
