use uuid::Uuid;

use crate::{DiskNumber, PartitionNumber, Result};

/// The disks as the kernel sees them: device objects, IOCTLs, raw reads.
///
/// All numbers are bytes unless said otherwise. Changing a disk is the provider's business
/// ([`crate::Provider`]); two calls stand here for what it does not do: growing a partition, where its own
/// resize ended half way, and making a disk writable that it does not list, or writable or read-only while it is
/// offline.
pub trait Disks: Send + Sync {
    /// The numbers of the present disks that say theirs, ascending.
    ///
    /// One that is sick, or refuses the question, is not among them: absence proves nothing, and that a
    /// disk is the only one of its kind cannot be learnt here. Disks are told apart by the provider's
    /// list ([`crate::schema::disk`]), whose rows have numbers without the device's help.
    ///
    /// # Errors
    /// The device list cannot be read.
    fn list(&self) -> Result<Vec<DiskNumber>>;

    /// The number of the disk that a device path opens now, such as `MSFT_Disk.Path`
    /// (`IOCTL_STORAGE_GET_DEVICE_NUMBER` on a handle without access rights, which the call does not
    /// need). A number stays with a device until that is removed.
    ///
    /// Sources: <https://learn.microsoft.com/windows-hardware/drivers/storage/msft-disk>,
    /// <https://learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-ioctl_storage_get_device_number>,
    /// <https://learn.microsoft.com/windows-hardware/drivers/ddi/ntddstor/ns-ntddstor-_storage_device_number>.
    ///
    /// # Errors
    /// Nothing has this path ([`Error::is_not_found`](crate::Error::is_not_found)); it is no disk
    /// (`DeviceType` is not `FILE_DEVICE_DISK`), or one without a number (`0xFFFFFFFF`: a single path of
    /// a multi-path disk).
    fn number_of(&self, device_path: &str) -> Result<DiskNumber>;

    /// What tells the disk that a device path opens now from others, by one handle: all answers are of one device. The
    /// handle may read, which the length demands.
    ///
    /// # Errors
    /// As [`Disks::number_of`]; the device may not be read. A question that the device does not answer is an error in
    /// its field.
    fn facts(&self, device_path: &str) -> Result<DiskFacts>;

    /// The `STORAGE_DEVICE_ID_DESCRIPTOR` (SCSI page 0x83) as raw bytes.
    ///
    /// # Errors
    /// No such disk, or it does not answer `IOCTL_STORAGE_QUERY_PROPERTY`.
    fn device_id_page(&self, disk: DiskNumber) -> Result<Vec<u8>>;

    /// Vendor, product, serial and bus, from the `STORAGE_DEVICE_DESCRIPTOR`.
    ///
    /// # Errors
    /// As [`Disks::device_id_page`].
    fn descriptor(&self, disk: DiskNumber) -> Result<DeviceDescriptor>;

    /// Where the disk hangs, from `IOCTL_SCSI_GET_ADDRESS`.
    ///
    /// # Errors
    /// No such disk, or a bus without SCSI addresses.
    fn scsi_address(&self, disk: DiskNumber) -> Result<ScsiAddress>;

    /// The length of the whole disk (`IOCTL_DISK_GET_LENGTH_INFO`).
    ///
    /// # Errors
    /// No such disk, or no media.
    fn length(&self, disk: DiskNumber) -> Result<u64>;

    /// The logical sector size: 512 or 4096.
    ///
    /// # Errors
    /// No such disk.
    fn sector_size(&self, disk: DiskNumber) -> Result<u32>;

    /// The partition table as the kernel knows it (`IOCTL_DISK_GET_DRIVE_LAYOUT_EX`).
    ///
    /// # Errors
    /// No such disk.
    fn layout(&self, disk: DiskNumber) -> Result<DriveLayout>;

    /// Whether the disk is offline or read-only (`IOCTL_DISK_GET_DISK_ATTRIBUTES`).
    ///
    /// # Errors
    /// No such disk.
    fn attributes(&self, disk: DiskNumber) -> Result<DiskAttributes>;

    /// Whether the device itself refuses writes (`IOCTL_DISK_IS_WRITABLE`, on a handle without access rights, as the code
    /// is `FILE_ANY_ACCESS`). The code has no output: it fails with `STATUS_MEDIA_WRITE_PROTECTED`
    /// ([`Win32::WRITE_PROTECT`](crate::Win32::WRITE_PROTECT)) if the device is write-protected.
    ///
    /// The read-only attribute is Windows's own and another thing: a disk may be in a read-only state without it if the
    /// hardware is, a logical unit or a virtual disk on a read-only volume for example
    /// (<https://learn.microsoft.com/openspecs/windows_protocols/ms-vds/d707bc3f-197c-4edc-9b16-c2274c50593f>,
    /// `VDS_DF_CURRENT_READ_ONLY`), and a locked card without it answers the code
    /// (<https://github.com/balena-io-modules/drivelist/pull/183>). No page says what a writable device answers while
    /// the attribute is set, so the answer is of use only while [`Disks::attributes`] reports it clear.
    ///
    /// Sources, from Windows XP and Server 2003 on:
    /// <https://learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-ioctl_disk_is_writable>,
    /// <https://learn.microsoft.com/windows-hardware/drivers/ddi/ntdddisk/ni-ntdddisk-ioctl_disk_is_writable>; its
    /// number and access: <https://ntdoc.m417z.com/ioctl_disk_is_writable>.
    ///
    /// # Errors
    /// No such disk, or the device does not say: `STATUS_IO_DEVICE_ERROR` is one of the documented answers.
    fn is_write_protected(&self, disk: DiskNumber) -> Result<bool>;

    /// Sets or clears the read-only attribute, also for the restarts to come (`IOCTL_DISK_SET_DISK_ATTRIBUTES` with
    /// `Persist`, on a handle that may read and write). Offline and online disks take it; what the hardware allows does not change.
    ///
    /// Sources: <https://learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-ioctl_disk_set_disk_attributes>,
    /// <https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-set_disk_attributes>; diskpart does the
    /// like for a disk that the provider leaves out (<https://github.com/kubernetes-csi/csi-proxy/issues/287>).
    ///
    /// # Errors
    /// No such disk, or it is not to be changed.
    fn set_access(&self, disk: DiskNumber, access: DiskAccess) -> Result<()>;

    /// Fills `buffer` from the disk at `offset`; both must be multiples of the sector size.
    ///
    /// # Errors
    /// No such disk, an unaligned or out-of-range request, a medium error. A short read is an
    /// error: what could not be read is not blank.
    fn read(&self, disk: DiskNumber, offset: u64, buffer: &mut [u8]) -> Result<()>;

    /// Makes the kernel read size and partition table anew (`IOCTL_DISK_UPDATE_PROPERTIES`).
    ///
    /// # Errors
    /// No such disk.
    fn update_properties(&self, disk: DiskNumber) -> Result<()>;

    /// Grows a partition by `by` bytes without touching its filesystem
    /// (`IOCTL_DISK_GROW_PARTITION`; the amount is relative).
    ///
    /// # Errors
    /// No such partition, or the space behind it is not free.
    fn grow_partition(&self, disk: DiskNumber, partition: PartitionNumber, by: u64) -> Result<()>;
}

/// What tells a disk from others, by the questions of [`Disks`]' methods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskFacts {
    /// As [`Disks::number_of`].
    pub number: DiskNumber,
    /// As [`Disks::descriptor`].
    pub descriptor: Result<DeviceDescriptor>,
    /// As [`Disks::device_id_page`].
    pub device_id_page: Result<Vec<u8>>,
    /// As [`Disks::length`].
    pub length: Result<u64>,
    /// As [`Disks::scsi_address`].
    pub scsi_address: Result<ScsiAddress>,
}

/// A disk's own description. Texts are as the device reported them, blanks included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceDescriptor {
    /// The bus that the disk hangs on.
    pub bus: BusType,
    /// The vendor, if the device names one.
    pub vendor: Option<String>,
    /// The product, if the device names one.
    pub product: Option<String>,
    /// The serial number, if the device has one.
    pub serial: Option<String>,
}

/// `STORAGE_BUS_TYPE`, of which the values that matter here have names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BusType(pub u16);

#[allow(missing_docs, reason = "each constant is a documented Windows name")]
impl BusType {
    pub const SCSI: Self = Self(1);
    pub const ATA: Self = Self(3);
    pub const ISCSI: Self = Self(9);
    pub const SAS: Self = Self(10);
    pub const SATA: Self = Self(11);
    pub const FILE_BACKED_VIRTUAL: Self = Self(15);
    pub const SPACES: Self = Self(16);
    pub const NVME: Self = Self(17);
}

/// `SCSI_ADDRESS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ScsiAddress {
    /// The adapter's port number.
    pub port: u8,
    /// The bus of the adapter.
    pub path: u8,
    /// The target on that bus.
    pub target: u8,
    /// The logical unit of that target.
    pub lun: u8,
}

/// A partition table as the kernel reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriveLayout {
    /// The kind of partition table.
    pub style: PartitionStyle,
    /// The partitions in table order; empty entries left out.
    pub partitions: Vec<PartitionEntry>,
}

/// The kind of a partition table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PartitionStyle {
    /// A GUID partition table.
    Gpt {
        /// The disk's GUID.
        disk_id: Uuid,
    },
    /// A master boot record.
    Mbr {
        /// The disk signature.
        signature: u32,
    },
    /// None that Windows recognises. This does not say that the disk is blank.
    Raw,
}

/// One partition of a [`DriveLayout`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionEntry {
    /// Its number.
    pub number: PartitionNumber,
    /// Where it begins, from the start of the disk.
    pub offset: u64,
    /// How long it is.
    pub length: u64,
    /// The type GUID; nil on MBR disks.
    pub kind: Uuid,
    /// The type on MBR disks
    /// (<https://learn.microsoft.com/windows/win32/fileio/disk-partition-types>).
    pub mbr_type: Option<u8>,
    /// The partition's own GUID; nil on MBR disks.
    pub id: Uuid,
}

impl PartitionEntry {
    /// MBR type of a dynamic disk's partition.
    pub const MBR_DYNAMIC: u8 = 0x42;
    /// MBR type of the partition that protects what Storage Spaces have on the disk: `PARTITION_SPACES` of the Windows
    /// SDK's `winioctl.h`.
    pub const MBR_SPACES: u8 = 0xE7;
    /// MBR type of a partition with data of Storage Spaces: `PARTITION_SPACES_DATA` of the same file.
    pub const MBR_SPACES_DATA: u8 = 0xD7;
    /// Type of a basic data partition, `ebd0a0a2-b9e5-4433-87c0-68b6b72699c7`.
    pub const BASIC_DATA: Uuid = Uuid::from_u128(0xebd0a0a2_b9e5_4433_87c0_68b6b72699c7);
    /// Type of the Microsoft reserved partition, `e3c9e316-0b5c-4db8-817d-f92df00215ae`.
    pub const RESERVED: Uuid = Uuid::from_u128(0xe3c9e316_0b5c_4db8_817d_f92df00215ae);
    /// Type of an EFI system partition, `c12a7328-f81f-11d2-ba4b-00a0c93ec93b`.
    pub const EFI_SYSTEM: Uuid = Uuid::from_u128(0xc12a7328_f81f_11d2_ba4b_00a0c93ec93b);
    /// Type of a recovery partition, `de94bba4-06d1-4d40-a16a-bfd50179d6ac`.
    pub const RECOVERY: Uuid = Uuid::from_u128(0xde94bba4_06d1_4d40_a16a_bfd50179d6ac);

    /// The offset of the first byte behind the partition; `None` when that is no 64-bit number.
    #[must_use]
    pub fn end(&self) -> Option<u64> {
        self.offset.checked_add(self.length)
    }
}

/// The access to a disk that Windows allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DiskAccess {
    /// It refuses writes (`DISK_ATTRIBUTE_READ_ONLY`).
    ReadOnly,
    /// It takes them.
    ReadWrite,
    /// It takes them until the next restart, after which it is as it was.
    ReadWriteUntilRestart,
}

/// `GET_DISK_ATTRIBUTES`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DiskAttributes {
    /// The disk is offline: no partition of it has a volume.
    pub offline: bool,
    /// The disk refuses writes.
    pub read_only: bool,
}
