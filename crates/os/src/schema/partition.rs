//! `MSFT_Partition`: a partition of a disk.

use super::cim::CimType::{Boolean, Char16, String, Uint16, Uint32, Uint64};
use super::codes::*;
use super::model::{
    Class, Method, NamedText, NamedValue, Namespace, Parameter, Property, Source, number, text,
};
use super::{extended_status, storage_object};

pub use super::storage_object::{OBJECT_ID, UNIQUE_ID};

const PAGE: Source = Source::Page(
    "https://learn.microsoft.com/en-us/windows-hardware/drivers/storage/msft-partition",
);
const DEFINITION: Source = Source::Definition(
    "https://github.com/microsoft/wmi/blob/master/server2019/root/microsoft/windows/storage/MSFT_Partition.go",
);

/// Names each number and GUID of a partition's type: more than the page has.
const MODULE_TYPES: Source = module_file!("Storage/Storage.types.ps1xml");

pub mod operational_status {
    use super::*;

    rows! { VALUES: NamedValue {
        UNKNOWN = number(0, "Unknown");
        ONLINE = number(1, "Online");
        NO_MEDIA = number(3, "No Media");
        OFFLINE = number(4, "Offline");
        FAILED = number(5, "Failed");
    }}
}

pub mod transition_state {
    use super::*;

    rows! { VALUES: NamedValue {
        RESERVED = number(0, "Reserved");
        STABLE = number(1, "Stable");
        EXTENDED = number(2, "Being extended");
        SHRUNK = number(3, "Being shrunk");
        RECONFIGURED = number(4, "Being reconfigured");
        RESTRIPED = number(8, "Being restriped");
    }}
}

pub mod mbr_type {
    use super::*;

    rows! { VALUES: NamedValue {
        FAT12 = number(1, "FAT12");
        XENIX_ROOT = number(2, "Xenix");
        XENIX_USR = number(3, "Xenix");
        FAT16 = number(4, "FAT16");
        EXTENDED = number(5, "Extended");
        HUGE = number(6, "Huge");
        /// NTFS or exFAT.
        IFS = number(7, "IFS");
        OS2_BOOT_MANAGER = number(10, "OS/2 BootMgr");
        FAT32_CHS = number(11, "FAT32");
        FAT32 = number(12, "FAT32 XINT13");
        XINT13 = number(14, "XINT13");
        XINT13_EXTENDED = number(15, "XINT13 Extended");
        PREP = number(65, "PReP");
        /// Of a dynamic disk.
        LDM = number(66, "LDM");
        UNIX = number(99, "Unix");
        /// Of a disk in a storage pool.
        SPACE_PROTECTIVE = number(231, "Space Protective");
    }}
}

/// Partition types of GPT. The page prints them bare; WMI takes and gives them in braces and in
/// lower case.
pub mod gpt_type {
    use super::*;

    rows! { VALUES: NamedText {
        SYSTEM = text("{c12a7328-f81f-11d2-ba4b-00a0c93ec93b}", "System Partition");
        MICROSOFT_RESERVED = text("{e3c9e316-0b5c-4db8-817d-f92df00215ae}", "Microsoft Reserved");
        BASIC_DATA = text("{ebd0a0a2-b9e5-4433-87c0-68b6b72699c7}", "Basic data");
        LDM_METADATA = text("{5808c8aa-7e8f-42e0-85d2-e1e90434cfb3}", "LDM Metadata");
        LDM_DATA = text("{af9b60a0-1431-4f62-bc68-3311714a69ad}", "LDM Data");
        MICROSOFT_RECOVERY = text("{de94bba4-06d1-4d40-a16a-bfd50179d6ac}", "Microsoft Recovery");
        SPACE_PROTECTIVE = text("{e75caf8f-f680-4cee-afa3-b001e56efc2d}", "Space Protective");
        S2D_CACHE = text("{eeff8352-dd2a-44db-ae83-bee1cf7481dc}", "S2D Cache");
        S2D_CACHE_METADATA = text("{03aaa829-ebfc-4e7e-aac9-c4d76c63b24b}", "S2D Cache Metadata");
    }}
}

rows! { PROPERTIES: Property {
    /// The disk's [`PATH`](super::disk::PATH): PowerShell shows it as `DiskPath`.
    DISK_ID = Property::new("DiskId", String, MODULE_TYPES);
    /// The disk's [`Number`](super::disk::NUMBER). By its page it is never null; for a clustered disk it was null
    /// (<https://github.com/dsccommunity/StorageDsc/issues/224>).
    DISK_NUMBER = Property::new("DiskNumber", Uint32, PAGE);
    /// Counts in order of offset, so it changes when a partition before this one comes or goes.
    PARTITION_NUMBER = Property::new("PartitionNumber", Uint32, PAGE).required();
    /// Documented as null when there is none; Windows answers U+0000, as programs show that test
    /// for it.
    DRIVE_LETTER = Property::new("DriveLetter", Char16, PAGE);
    /// Drive letters, mounted folders, and the volume's GUID path.
    ACCESS_PATHS = Property::new("AccessPaths", String, PAGE).array();
    OPERATIONAL_STATUS =
        Property::new("OperationalStatus", Uint16, PAGE).numbers(operational_status::VALUES);
    TRANSITION_STATE =
        Property::new("TransitionState", Uint16, PAGE).numbers(transition_state::VALUES);
    /// Bytes from the start of the disk.
    OFFSET = Property::new("Offset", Uint64, DEFINITION);
    /// Bytes.
    SIZE = Property::new("Size", Uint64, PAGE);
    /// Null unless the disk is MBR. Copied from the table, so any byte; [`mbr_type`] names some.
    MBR_TYPE = Property::new("MbrType", Uint16, MODULE_TYPES);
    /// Null unless the disk is GPT. Copied from the table, so any GUID; [`gpt_type`] names some.
    GPT_TYPE = Property::new("GptType", String, MODULE_TYPES);
    /// Null unless the disk is GPT. In braces.
    GUID = Property::new("Guid", String, PAGE);
    IS_READ_ONLY = Property::new("IsReadOnly", Boolean, PAGE);
    IS_OFFLINE = Property::new("IsOffline", Boolean, PAGE);
    IS_SYSTEM = Property::new("IsSystem", Boolean, PAGE);
    IS_BOOT = Property::new("IsBoot", Boolean, PAGE);
    /// Documented as null unless the disk is MBR; Windows answers false on GPT
    /// (<https://github.com/dsccommunity/StorageDsc/issues/224>).
    IS_ACTIVE = Property::new("IsActive", Boolean, PAGE);
    /// The mount manager does not see it: no letter, no GUID path.
    IS_HIDDEN = Property::new("IsHidden", Boolean, PAGE);
    IS_SHADOW_COPY = Property::new("IsShadowCopy", Boolean, PAGE);
    IS_DAX = Property::new("IsDAX", Boolean, DEFINITION);
    NO_DEFAULT_DRIVE_LETTER = Property::new("NoDefaultDriveLetter", Boolean, PAGE);
}}

const ADD_ACCESS_PATH_PAGE: Source = Source::Page(
    "https://learn.microsoft.com/en-us/windows-hardware/drivers/storage/addaccesspath-msft-partition",
);

/// Parameters of [`ADD_ACCESS_PATH`].
pub mod add_access_path {
    use super::*;

    rows! { PARAMETERS: Parameter {
        /// A letter, or an empty folder on NTFS. Not together with [`ASSIGN_DRIVE_LETTER`].
        ACCESS_PATH = Parameter::input("AccessPath", String, ADD_ACCESS_PATH_PAGE);
        ASSIGN_DRIVE_LETTER = Parameter::input("AssignDriveLetter", Boolean, ADD_ACCESS_PATH_PAGE);
        EXTENDED_STATUS = extended_status::PARAMETER;
    }}
}

const REMOVE_ACCESS_PATH_PAGE: Source = Source::Page(
    "https://learn.microsoft.com/en-us/windows-hardware/drivers/storage/removeaccesspath-msft-partition",
);

/// Parameters of [`REMOVE_ACCESS_PATH`].
pub mod remove_access_path {
    use super::*;

    rows! { PARAMETERS: Parameter {
        ACCESS_PATH = Parameter::input("AccessPath", String, REMOVE_ACCESS_PATH_PAGE).required();
        EXTENDED_STATUS = extended_status::PARAMETER;
    }}
}

const GET_SUPPORTED_SIZE_PAGE: Source = Source::Page(
    "https://learn.microsoft.com/en-us/windows-hardware/drivers/storage/msft-partition-getsupportedsizes",
);

/// Parameters of [`GET_SUPPORTED_SIZE`].
pub mod get_supported_size {
    use super::*;

    rows! { PARAMETERS: Parameter {
        /// Bytes.
        SIZE_MIN = Parameter::output("SizeMin", Uint64, GET_SUPPORTED_SIZE_PAGE);
        /// Bytes.
        SIZE_MAX = Parameter::output("SizeMax", Uint64, GET_SUPPORTED_SIZE_PAGE);
        EXTENDED_STATUS = extended_status::PARAMETER;
    }}
}

const RESIZE_PAGE: Source = Source::Page(
    "https://learn.microsoft.com/en-us/windows-hardware/drivers/storage/msft-partition-resize",
);

/// Parameters of [`RESIZE`].
pub mod resize {
    use super::*;

    rows! { PARAMETERS: Parameter {
        /// Bytes, not zero.
        SIZE = Parameter::input("Size", Uint64, RESIZE_PAGE).required();
        EXTENDED_STATUS = extended_status::PARAMETER;
    }}
}

const DELETE_OBJECT_PAGE: Source = Source::Page(
    "https://learn.microsoft.com/en-us/windows-hardware/drivers/storage/msft-partition-deleteobject",
);
const ONLINE_PAGE: Source = Source::Page(
    "https://learn.microsoft.com/en-us/windows-hardware/drivers/storage/msft-partition-online",
);
const OFFLINE_PAGE: Source = Source::Page(
    "https://learn.microsoft.com/en-us/windows-hardware/drivers/storage/msft-partition-offline",
);

rows! { METHODS: Method {
    DELETE_OBJECT = Method::instance("DeleteObject", &[extended_status::PARAMETER], &[
        SUCCESS, NOT_SUPPORTED, UNSPECIFIED_ERROR, TIMEOUT, FAILED, INVALID_PARAMETER, IN_USE,
        ACCESS_DENIED, NOT_ENOUGH_RESOURCES, DISK_READ_ONLY, CLUSTER_MAINTENANCE,
        ACCESS_PATHS_LEFT, EXTENDED_NOT_EMPTY, CRITICAL_PARTITION,
    ], DELETE_OBJECT_PAGE);
    ADD_ACCESS_PATH = Method::instance("AddAccessPath", add_access_path::PARAMETERS, &[
        SUCCESS, NOT_SUPPORTED, UNSPECIFIED_ERROR, TIMEOUT, FAILED, INVALID_PARAMETER,
        ACCESS_DENIED, NOT_ENOUGH_RESOURCES,
        ACCESS_PATH_IN_USE, HIDDEN_PARTITION, BAD_ACCESS_PATH, SEVERAL_DRIVE_LETTERS,
        NO_DRIVE_LETTER,
    ], ADD_ACCESS_PATH_PAGE);
    /// Removes it even while it is in use.
    REMOVE_ACCESS_PATH = Method::instance("RemoveAccessPath", remove_access_path::PARAMETERS, &[
        SUCCESS, NOT_SUPPORTED, UNSPECIFIED_ERROR, TIMEOUT, FAILED, INVALID_PARAMETER,
        ACCESS_DENIED, NOT_ENOUGH_RESOURCES,
        VOLUME_GUID_PATH, CRITICAL_DRIVE_LETTER, BAD_ACCESS_PATH,
    ], REMOVE_ACCESS_PATH_PAGE);
    /// Of the partition and the file system in it: NTFS, or none.
    RESIZE = Method::instance("Resize", resize::PARAMETERS, &[
        SUCCESS, NOT_SUPPORTED, UNSPECIFIED_ERROR, TIMEOUT, FAILED, INVALID_PARAMETER, IN_USE,
        SIZE_NOT_SUPPORTED, NOT_ENOUGH_SPACE, ACCESS_DENIED, NOT_ENOUGH_RESOURCES,
        DISK_READ_ONLY, VOLUME_HAS_ERRORS, UNKNOWN_FILE_SYSTEM, DATA_PARTITIONS_ONLY,
    ], RESIZE_PAGE);
    /// Asks the defragmenter where the last immovable file is, so it needs that service.
    GET_SUPPORTED_SIZE = Method::instance("GetSupportedSize", get_supported_size::PARAMETERS, &[
        SUCCESS, NOT_SUPPORTED, UNSPECIFIED_ERROR, TIMEOUT, FAILED, INVALID_PARAMETER, IN_USE,
        SIZE_NOT_SUPPORTED, ACCESS_DENIED, NOT_ENOUGH_RESOURCES,
        VOLUME_HAS_ERRORS, UNKNOWN_FILE_SYSTEM,
    ], GET_SUPPORTED_SIZE_PAGE);
    /// Mounts the volume in it, if there is one.
    ONLINE = Method::instance("Online", &[extended_status::PARAMETER], &[
        SUCCESS, NOT_SUPPORTED, UNSPECIFIED_ERROR, TIMEOUT, FAILED, INVALID_PARAMETER, IN_USE,
        ACCESS_DENIED, NOT_ENOUGH_RESOURCES, DATA_PARTITIONS_ONLY,
    ], ONLINE_PAGE);
    /// Dismounts the volume in it, until brought online or given an access path.
    OFFLINE = Method::instance("Offline", &[extended_status::PARAMETER], &[
        SUCCESS, NOT_SUPPORTED, UNSPECIFIED_ERROR, TIMEOUT, FAILED, INVALID_PARAMETER, IN_USE,
        ACCESS_DENIED, NOT_ENOUGH_RESOURCES, CLUSTER_MAINTENANCE, DATA_PARTITIONS_ONLY,
        ACCESS_PATHS_PRESENT,
    ], OFFLINE_PAGE);
}}

pub static CLASS: Class = Class {
    name: "MSFT_Partition",
    namespace: Namespace::Storage,
    base: Some(&storage_object::CLASS),
    properties: PROPERTIES,
    methods: METHODS,
    source: PAGE,
};
