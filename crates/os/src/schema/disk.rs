//! `MSFT_Disk`: a disk as Windows' storage provider sees it.

use super::cim::CimType::{Boolean, Char16, Object, String, Uint16, Uint32, Uint64};
use super::codes::*;
use super::model::{Class, Method, NamedValue, Namespace, Parameter, Property, Source, number};
use super::{extended_status, partition, storage_object};

pub use super::storage_object::{OBJECT_ID, UNIQUE_ID};

const PAGE: Source =
    Source::Page("https://learn.microsoft.com/en-us/windows-hardware/drivers/storage/msft-disk");
const DEFINITION: Source = Source::Definition(
    "https://github.com/microsoft/wmi/blob/master/server2019/root/microsoft/windows/storage/MSFT_Disk.go",
);

/// Names each number of these classes: newer ones than the pages have.
const MODULE_TYPES: Source = module_file!("Storage/Storage.types.ps1xml");

/// How the disk is divided.
pub mod partition_style {
    use super::*;

    rows! { VALUES: NamedValue {
        /// No partition table that Windows knows; the disk need not be empty. PowerShell shows it
        /// as `RAW`.
        UNKNOWN = number(0, "Unknown");
        MBR = number(1, "MBR");
        GPT = number(2, "GPT");
    }}
}

/// Which page 0x83 descriptor [`UNIQUE_ID`] was made from.
pub mod unique_id_format {
    use super::*;

    rows! { VALUES: NamedValue {
        VENDOR_SPECIFIC = number(0, "Vendor Specific");
        VENDOR_ID = number(1, "Vendor Id");
        EUI64 = number(2, "EUI64");
        FCPH_NAME = number(3, "FCPH Name");
        SCSI_NAME_STRING = number(8, "SCSI Name String");
    }}
}

pub mod provisioning_type {
    use super::*;

    rows! { VALUES: NamedValue {
        UNKNOWN = number(0, "Unknown");
        THIN = number(1, "Thin");
        FIXED = number(2, "Fixed");
    }}
}

/// The disk's state; several may hold at once.
pub mod operational_status {
    use super::*;

    rows! { VALUES: NamedValue {
        UNKNOWN = number(0, "Unknown");
        OTHER = number(1, "Other");
        OK = number(2, "OK");
        DEGRADED = number(3, "Degraded");
        STRESSED = number(4, "Stressed");
        PREDICTIVE_FAILURE = number(5, "Predictive Failure");
        ERROR = number(6, "Error");
        NON_RECOVERABLE_ERROR = number(7, "Non-Recoverable Error");
        STARTING = number(8, "Starting");
        STOPPING = number(9, "Stopping");
        STOPPED = number(10, "Stopped");
        IN_SERVICE = number(11, "In Service");
        NO_CONTACT = number(12, "No Contact");
        LOST_COMMUNICATION = number(13, "Lost Communication");
        ABORTED = number(14, "Aborted");
        DORMANT = number(15, "Dormant");
        SUPPORTING_ENTITY_IN_ERROR = number(16, "Supporting Entity in Error");
        COMPLETED = number(17, "Completed");
        POWER_MODE = number(18, "Power Mode");
        RELOCATING = number(19, "Relocating");
        ONLINE = number(0xD010, "Online");
        NOT_READY = number(0xD011, "Not Ready");
        NO_MEDIA = number(0xD012, "No Media");
        OFFLINE = number(0xD013, "Offline");
        FAILED = number(0xD014, "Failed");
    }}
}

pub mod health_status {
    use super::*;

    rows! { VALUES: NamedValue {
        HEALTHY = number(0, "Healthy");
        WARNING = number(1, "Warning");
        UNHEALTHY = number(2, "Unhealthy");
    }}
}

/// How the disk is attached.
pub mod bus_type {
    use super::*;

    rows! { VALUES: NamedValue {
        UNKNOWN = number(0, "Unknown");
        SCSI = number(1, "SCSI");
        ATAPI = number(2, "ATAPI");
        ATA = number(3, "ATA");
        IEEE_1394 = number(4, "1394");
        SSA = number(5, "SSA");
        FIBRE_CHANNEL = number(6, "Fibre Channel");
        USB = number(7, "USB");
        RAID = number(8, "RAID");
        ISCSI = number(9, "iSCSI");
        SAS = number(10, "SAS");
        SATA = number(11, "SATA");
        SD = number(12, "SD");
        MMC = number(13, "MMC");
        /// Reserved for system use.
        VIRTUAL = number(14, "Virtual");
        /// A VHD or VHDX that is attached.
        FILE_BACKED_VIRTUAL = number(15, "File Backed Virtual");
        STORAGE_SPACES = number(16, "Storage Spaces");
        NVME = number(17, "NVMe");
        /// Storage class memory.
        SCM = number(18, "SCM");
        UFS = number(19, "UFS");
    }}
}

/// Why a disk is offline.
pub mod offline_reason {
    use super::*;

    rows! { VALUES: NamedValue {
        /// The disk is online. The page does not have it; recorded from Windows, and the name is that of
        /// `VDS_DISK_OFFLINE_REASON`.
        NONE = number(0, "None");
        /// Offline by request, or by the SAN policy.
        POLICY = number(1, "Policy");
        /// Another path of a multi-path disk.
        REDUNDANT_PATH = number(2, "Redundant Path");
        SNAPSHOT = number(3, "Snapshot");
        /// Another disk has the same signature or GUID: a clone.
        COLLISION = number(4, "Collision");
        RESOURCE_EXHAUSTION = number(5, "Resource Exhaustion");
        CRITICAL_WRITE_FAILURES = number(6, "Critical Write Failures");
        DATA_INTEGRITY_SCAN_REQUIRED = number(7, "Data Integrity Scan Required");
    }}
}

rows! { PROPERTIES: Property {
    /// The path for `CreateFile`: `\\?\scsi#disk&ven_...`.
    PATH = Property::new("Path", String, PAGE).required();
    /// Where the disk sits. The page describes PnP location paths; Windows Server answers
    /// `PCI Slot 3 : Adapter 0 : Port 0 : Target 1 : LUN 0` and the like. May be null.
    LOCATION = Property::new("Location", String, PAGE);
    FRIENDLY_NAME = Property::new("FriendlyName", String, PAGE).required();
    UNIQUE_ID_FORMAT =
        Property::new("UniqueIdFormat", Uint16, PAGE).numbers(unique_id_format::VALUES);
    /// The `N` of `\\.\PhysicalDriveN`. Not the same after a restart.
    NUMBER = Property::new("Number", Uint32, PAGE);
    SERIAL_NUMBER = Property::new("SerialNumber", String, PAGE);
    ADAPTER_SERIAL_NUMBER = Property::new("AdapterSerialNumber", String, DEFINITION);
    FIRMWARE_VERSION = Property::new("FirmwareVersion", String, PAGE);
    MANUFACTURER = Property::new("Manufacturer", String, PAGE);
    MODEL = Property::new("Model", String, PAGE);
    /// Bytes.
    SIZE = Property::new("Size", Uint64, PAGE).required();
    /// Bytes.
    ALLOCATED_SIZE = Property::new("AllocatedSize", Uint64, PAGE).required();
    /// Bytes.
    LOGICAL_SECTOR_SIZE = Property::new("LogicalSectorSize", Uint32, PAGE);
    /// Bytes.
    PHYSICAL_SECTOR_SIZE = Property::new("PhysicalSectorSize", Uint32, PAGE);
    /// Bytes: the largest partition that could be created.
    LARGEST_FREE_EXTENT = Property::new("LargestFreeExtent", Uint64, PAGE);
    NUMBER_OF_PARTITIONS = Property::new("NumberOfPartitions", Uint32, PAGE);
    PROVISIONING_TYPE =
        Property::new("ProvisioningType", Uint16, PAGE).numbers(provisioning_type::VALUES);
    /// The page prints a scalar.
    OPERATIONAL_STATUS = Property::new("OperationalStatus", Uint16, MODULE_TYPES)
        .array()
        .numbers(operational_status::VALUES);
    HEALTH_STATUS = Property::new("HealthStatus", Uint16, PAGE).numbers(health_status::VALUES);
    BUS_TYPE = Property::new("BusType", Uint16, MODULE_TYPES).numbers(bus_type::VALUES);
    PARTITION_STYLE =
        Property::new("PartitionStyle", Uint16, PAGE).required().numbers(partition_style::VALUES);
    /// Null unless the style is MBR.
    SIGNATURE = Property::new("Signature", Uint32, PAGE);
    /// Null unless the style is GPT. In braces.
    GUID = Property::new("Guid", String, PAGE);
    IS_OFFLINE = Property::new("IsOffline", Boolean, PAGE);
    /// [`offline_reason::NONE`] while the disk is online.
    OFFLINE_REASON = Property::new("OfflineReason", Uint16, PAGE).numbers(offline_reason::VALUES);
    IS_READ_ONLY = Property::new("IsReadOnly", Boolean, PAGE);
    /// Holds the system partition.
    IS_SYSTEM = Property::new("IsSystem", Boolean, PAGE);
    IS_CLUSTERED = Property::new("IsClustered", Boolean, PAGE);
    /// Holds the boot partition.
    IS_BOOT = Property::new("IsBoot", Boolean, PAGE);
    /// The firmware starts from it.
    BOOT_FROM_DISK = Property::new("BootFromDisk", Boolean, PAGE);
    IS_HIGHLY_AVAILABLE = Property::new("IsHighlyAvailable", Boolean, DEFINITION);
    IS_SCALE_OUT = Property::new("IsScaleOut", Boolean, DEFINITION);
}}

const CREATE_PARTITION_PAGE: Source = Source::Page(
    "https://learn.microsoft.com/en-us/windows-hardware/drivers/storage/createpartition-msft-disk",
);

/// Parameters of [`CREATE_PARTITION`].
pub mod create_partition {
    use super::*;

    rows! { PARAMETERS: Parameter {
        /// Bytes. Not together with [`USE_MAXIMUM_SIZE`].
        SIZE = Parameter::input("Size", Uint64, CREATE_PARTITION_PAGE);
        USE_MAXIMUM_SIZE = Parameter::input("UseMaximumSize", Boolean, CREATE_PARTITION_PAGE);
        /// Bytes.
        OFFSET = Parameter::input("Offset", Uint64, CREATE_PARTITION_PAGE);
        /// Bytes.
        ALIGNMENT = Parameter::input("Alignment", Uint32, CREATE_PARTITION_PAGE);
        /// Not together with [`ASSIGN_DRIVE_LETTER`]. If it is taken, the partition is created
        /// and [`ACCESS_PATH_IN_USE`] returned.
        DRIVE_LETTER = Parameter::input("DriveLetter", Char16, CREATE_PARTITION_PAGE);
        ASSIGN_DRIVE_LETTER = Parameter::input("AssignDriveLetter", Boolean, CREATE_PARTITION_PAGE);
        /// Only for MBR disks.
        MBR_TYPE = Parameter::input("MbrType", Uint16, CREATE_PARTITION_PAGE)
            .numbers(partition::mbr_type::VALUES);
        /// Only for GPT disks. Basic data when left out.
        GPT_TYPE = Parameter::input("GptType", String, CREATE_PARTITION_PAGE)
            .texts(partition::gpt_type::VALUES);
        IS_HIDDEN = Parameter::input("IsHidden", Boolean, CREATE_PARTITION_PAGE);
        /// Only for MBR disks.
        IS_ACTIVE = Parameter::input("IsActive", Boolean, CREATE_PARTITION_PAGE);
        /// The partition itself, not its path.
        CREATED_PARTITION =
            Parameter::output("CreatedPartition", Object("MSFT_Partition"), DEFINITION);
        EXTENDED_STATUS = extended_status::PARAMETER;
    }}
}

const INITIALIZE_PAGE: Source = Source::Page(
    "https://learn.microsoft.com/en-us/windows-hardware/drivers/storage/initialize-msft-disk",
);

/// Parameters of [`INITIALIZE`].
pub mod initialize {
    use super::*;

    rows! { PARAMETERS: Parameter {
        /// [`partition_style::GPT`] when left out.
        PARTITION_STYLE = Parameter::input("PartitionStyle", Uint16, INITIALIZE_PAGE)
            .numbers(&[partition_style::MBR, partition_style::GPT]);
        EXTENDED_STATUS = extended_status::PARAMETER;
    }}
}

const CLEAR_PAGE: Source = Source::Page(
    "https://learn.microsoft.com/en-us/windows-hardware/drivers/storage/clear-msft-disk",
);

/// Parameters of [`CLEAR`].
pub mod clear {
    use super::*;

    rows! { PARAMETERS: Parameter {
        REMOVE_DATA = Parameter::input("RemoveData", Boolean, CLEAR_PAGE);
        REMOVE_OEM = Parameter::input("RemoveOEM", Boolean, CLEAR_PAGE);
        /// Otherwise the first and the last megabyte are zeroed.
        ZERO_OUT_ENTIRE_DISK = Parameter::input("ZeroOutEntireDisk", Boolean, CLEAR_PAGE);
        SANITIZE = Parameter::input("Sanitize", Boolean, DEFINITION);
        RUN_AS_JOB = Parameter::input("RunAsJob", Boolean, DEFINITION);
        EXTENDED_STATUS = extended_status::PARAMETER;
    }}
}

const SET_ATTRIBUTES_PAGE: Source = Source::Page(
    "https://learn.microsoft.com/en-us/windows-hardware/drivers/storage/msft-disk-setattributes",
);

/// Parameters of [`SET_ATTRIBUTES`]. An omitted one leaves its attribute unchanged.
pub mod set_attributes {
    use super::*;

    rows! { PARAMETERS: Parameter {
        IS_READ_ONLY = Parameter::input("IsReadOnly", Boolean, SET_ATTRIBUTES_PAGE);
        /// Only for MBR disks.
        SIGNATURE = Parameter::input("Signature", Uint32, SET_ATTRIBUTES_PAGE);
        /// Only for GPT disks.
        GUID = Parameter::input("Guid", String, SET_ATTRIBUTES_PAGE);
        EXTENDED_STATUS = extended_status::PARAMETER;
    }}
}

const ONLINE_PAGE: Source = Source::Page(
    "https://learn.microsoft.com/en-us/windows-hardware/drivers/storage/msft-disk-online",
);
const OFFLINE_PAGE: Source = Source::Page(
    "https://learn.microsoft.com/en-us/windows-hardware/drivers/storage/msft-disk-offline",
);
const REFRESH_PAGE: Source = Source::Page(
    "https://learn.microsoft.com/en-us/windows-hardware/drivers/storage/msft-disk-refresh",
);

rows! { METHODS: Method {
    /// Writes an empty partition table onto a disk of style [`partition_style::UNKNOWN`].
    INITIALIZE = Method::instance("Initialize", initialize::PARAMETERS, &[
        SUCCESS, NOT_SUPPORTED, UNSPECIFIED_ERROR, TIMEOUT, FAILED, INVALID_PARAMETER, IN_USE,
        OBJECT_NOT_FOUND, ACCESS_DENIED, NOT_ENOUGH_RESOURCES, CACHE_OUT_OF_DATE,
        DISK_ALREADY_INITIALIZED, BAD_PARTITION_TYPE, TOO_SMALL_FOR_GPT, CLUSTER_MAINTENANCE,
    ], INITIALIZE_PAGE);
    CREATE_PARTITION = Method::instance("CreatePartition", create_partition::PARAMETERS, &[
        SUCCESS, NOT_SUPPORTED, UNSPECIFIED_ERROR, TIMEOUT, FAILED, INVALID_PARAMETER, IN_USE,
        OBJECT_NOT_FOUND, SIZE_NOT_SUPPORTED,
        NOT_ENOUGH_SPACE, ACCESS_DENIED, NOT_ENOUGH_RESOURCES, CACHE_OUT_OF_DATE, SIZE_AMBIGUOUS,
        DISK_NOT_INITIALIZED, DISK_READ_ONLY, DISK_OFFLINE, PARTITION_LIMIT, BAD_ALIGNMENT,
        WRONG_PARTITION_KIND, BAD_PARTITION_TYPE, BEYOND_MBR_LIMIT, BAD_OFFSET, NO_MEDIA,
        REMOVABLE_NOT_EMPTY, BAD_LAYOUT, CLUSTER_MAINTENANCE,
        ACCESS_PATH_IN_USE, HIDDEN_PARTITION, BAD_ACCESS_PATH,
    ], CREATE_PARTITION_PAGE);
    /// Back to style [`partition_style::UNKNOWN`]: everything on the disk is lost.
    CLEAR = Method::instance("Clear", clear::PARAMETERS, &[
        SUCCESS, NOT_SUPPORTED, UNSPECIFIED_ERROR, TIMEOUT, FAILED, INVALID_PARAMETER, IN_USE,
        OBJECT_NOT_FOUND, JOB_STARTED, ACCESS_DENIED, NOT_ENOUGH_RESOURCES, CACHE_OUT_OF_DATE,
        DISK_NOT_INITIALIZED, DISK_READ_ONLY, DISK_OFFLINE, OEM_PARTITIONS_PRESENT,
        DATA_PARTITIONS_PRESENT, CRITICAL_DISK, NO_MEDIA, CLUSTERED,
    ], CLEAR_PAGE);
    ONLINE = Method::instance("Online", &[extended_status::PARAMETER], &[
        SUCCESS, NOT_SUPPORTED, UNSPECIFIED_ERROR, TIMEOUT, FAILED, INVALID_PARAMETER, IN_USE,
        OBJECT_NOT_FOUND, ACCESS_DENIED, NOT_ENOUGH_RESOURCES, CACHE_OUT_OF_DATE, CLUSTER_MAINTENANCE,
    ], ONLINE_PAGE);
    OFFLINE = Method::instance("Offline", &[extended_status::PARAMETER], &[
        SUCCESS, NOT_SUPPORTED, UNSPECIFIED_ERROR, TIMEOUT, FAILED, INVALID_PARAMETER, IN_USE,
        OBJECT_NOT_FOUND, ACCESS_DENIED, NOT_ENOUGH_RESOURCES, CACHE_OUT_OF_DATE, CRITICAL_DISK, CLUSTER_MAINTENANCE,
    ], OFFLINE_PAGE);
    SET_ATTRIBUTES = Method::instance("SetAttributes", set_attributes::PARAMETERS, &[
        SUCCESS, NOT_SUPPORTED, UNSPECIFIED_ERROR, TIMEOUT, FAILED, INVALID_PARAMETER, IN_USE,
        OBJECT_NOT_FOUND, ACCESS_DENIED, NOT_ENOUGH_RESOURCES, CACHE_OUT_OF_DATE,
        DISK_NOT_INITIALIZED, DISK_OFFLINE, WRONG_PARTITION_KIND, CRITICAL_DISK,
        CLUSTER_MAINTENANCE,
    ], SET_ATTRIBUTES_PAGE);
    /// Reads this disk's layout and size anew into the provider's cache.
    REFRESH = Method::instance("Refresh", &[extended_status::PARAMETER], &[
        SUCCESS, NOT_SUPPORTED, UNSPECIFIED_ERROR, TIMEOUT, FAILED, INVALID_PARAMETER, IN_USE,
        OBJECT_NOT_FOUND, ACCESS_DENIED, NOT_ENOUGH_RESOURCES, CACHE_OUT_OF_DATE,
        DISK_NOT_INITIALIZED, DISK_OFFLINE,
    ], REFRESH_PAGE);
}}

pub static CLASS: Class = Class {
    name: "MSFT_Disk",
    namespace: Namespace::Storage,
    base: Some(&storage_object::CLASS),
    properties: PROPERTIES,
    methods: METHODS,
    source: PAGE,
};
