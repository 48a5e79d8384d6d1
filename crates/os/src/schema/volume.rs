//! `MSFT_Volume`: what is in a partition, formatted or not.

use super::cim::CimType::{Boolean, Char16, Object, String, Uint16, Uint32, Uint64};
use super::codes::*;
use super::model::{
    Build, Class, Method, NamedValue, Namespace, Parameter, Property, Source, number,
};
use super::{extended_status, storage_object};

pub use super::storage_object::{OBJECT_ID, UNIQUE_ID};

const PAGE: Source =
    Source::Page("https://learn.microsoft.com/en-us/windows-hardware/drivers/storage/msft-volume");
const DEFINITION: Source = Source::Definition(
    "https://github.com/microsoft/wmi/blob/master/server2019/root/microsoft/windows/storage/MSFT_Volume.go",
);

pub mod health_status {
    use super::*;

    rows! { VALUES: NamedValue {
        HEALTHY = number(0, "Healthy");
        SCAN_NEEDED = number(1, "Scan Needed");
        SPOT_FIX_NEEDED = number(2, "Spot Fix Needed");
        FULL_REPAIR_NEEDED = number(3, "Full Repair Needed");
    }}
}

pub mod drive_type {
    use super::*;

    rows! { VALUES: NamedValue {
        UNKNOWN = number(0, "Unknown");
        INVALID_ROOT_PATH = number(1, "Invalid Root Path");
        REMOVABLE = number(2, "Removable");
        FIXED = number(3, "Fixed");
        REMOTE = number(4, "Remote");
        CD_ROM = number(5, "CD-ROM");
        RAM_DISK = number(6, "RAM Disk");
    }}
}

pub mod dedup_mode {
    use super::*;

    rows! { VALUES: NamedValue {
        DISABLED = number(0, "Disabled");
        GENERAL_PURPOSE = number(1, "GeneralPurpose");
        HYPER_V = number(2, "HyperV");
        BACKUP = number(3, "Backup");
        NOT_AVAILABLE = number(4, "NotAvailable");
    }}
}

pub mod file_system_type {
    use super::*;

    rows! { VALUES: NamedValue {
        /// Not formatted, or not with anything that Windows knows.
        UNKNOWN = number(0, "Unknown");
        UFS = number(2, "UFS");
        HFS = number(3, "HFS");
        FAT = number(4, "FAT");
        FAT16 = number(5, "FAT16");
        FAT32 = number(6, "FAT32");
        NTFS4 = number(7, "NTFS4");
        NTFS5 = number(8, "NTFS5");
        XFS = number(9, "XFS");
        AFS = number(10, "AFS");
        EXT2 = number(11, "EXT2");
        EXT3 = number(12, "EXT3");
        REISER_FS = number(13, "ReiserFS");
        NTFS = number(14, "NTFS");
        REFS = number(15, "ReFS");
        CSVFS_NTFS = number(0x8000, "CSVFS_NTFS");
        CSVFS_REFS = number(0x8001, "CSVFS_ReFS");
    }}
}

rows! { PROPERTIES: Property {
    /// No letter: null, or U+0000 as in a
    /// [partition's](super::partition::DRIVE_LETTER).
    DRIVE_LETTER = Property::new("DriveLetter", Char16, PAGE);
    /// `\\?\Volume{guid}\`.
    PATH = Property::new("Path", String, PAGE).required();
    HEALTH_STATUS = Property::new("HealthStatus", Uint16, PAGE).numbers(health_status::VALUES);
    OPERATIONAL_STATUS = Property::new("OperationalStatus", Uint16, DEFINITION).array();
    /// `NTFS`, `ReFS`, `FAT32`, `CSVFS`.
    FILE_SYSTEM = Property::new("FileSystem", String, PAGE);
    FILE_SYSTEM_LABEL = Property::new("FileSystemLabel", String, PAGE);
    FILE_SYSTEM_TYPE = Property::new("FileSystemType", Uint16, PAGE)
        .numbers(file_system_type::VALUES)
        .since(Build::SERVER_2016);
    /// Bytes, of the file system.
    SIZE = Property::new("Size", Uint64, PAGE);
    /// Bytes.
    SIZE_REMAINING = Property::new("SizeRemaining", Uint64, PAGE);
    DRIVE_TYPE = Property::new("DriveType", Uint32, PAGE).numbers(drive_type::VALUES);
    DEDUP_MODE = Property::new("DedupMode", Uint32, PAGE)
        .numbers(dedup_mode::VALUES)
        .since(Build::SERVER_2016);
    /// Bytes.
    ALLOCATION_UNIT_SIZE = Property::new("AllocationUnitSize", Uint32, DEFINITION);
}}

const FORMAT_PAGE: Source = Source::Page(
    "https://learn.microsoft.com/en-us/windows-hardware/drivers/storage/format-msft-volume",
);

/// Parameters of [`FORMAT`].
pub mod format {
    use super::*;

    rows! { PARAMETERS: Parameter {
        /// `ExFAT`, `FAT`, `FAT32`, `NTFS` or `ReFS`.
        FILE_SYSTEM = Parameter::input("FileSystem", String, FORMAT_PAGE);
        FILE_SYSTEM_LABEL = Parameter::input("FileSystemLabel", String, FORMAT_PAGE);
        /// Bytes.
        ALLOCATION_UNIT_SIZE = Parameter::input("AllocationUnitSize", Uint32, FORMAT_PAGE);
        /// Otherwise a quick format.
        FULL = Parameter::input("Full", Boolean, FORMAT_PAGE);
        FORCE = Parameter::input("Force", Boolean, FORMAT_PAGE);
        /// Not for ReFS.
        COMPRESS = Parameter::input("Compress", Boolean, FORMAT_PAGE);
        /// Not for ReFS.
        SHORT_FILE_NAME_SUPPORT = Parameter::input("ShortFileNameSupport", Boolean, FORMAT_PAGE);
        /// ReFS only.
        SET_INTEGRITY_STREAMS = Parameter::input("SetIntegrityStreams", Boolean, FORMAT_PAGE);
        /// Not for ReFS.
        USE_LARGE_FRS = Parameter::input("UseLargeFRS", Boolean, FORMAT_PAGE);
        DISABLE_HEAT_GATHERING = Parameter::input("DisableHeatGathering", Boolean, FORMAT_PAGE);
        IS_DAX = Parameter::input("IsDAX", Boolean, DEFINITION);
        RUN_AS_JOB = Parameter::input("RunAsJob", Boolean, DEFINITION);
        FORMATTED_VOLUME = Parameter::output("FormattedVolume", Object("MSFT_Volume"), DEFINITION);
        EXTENDED_STATUS = extended_status::PARAMETER;
    }}
}

const SET_FILE_SYSTEM_LABEL_PAGE: Source = Source::Page(
    "https://learn.microsoft.com/en-us/windows-hardware/drivers/storage/msft-volume-setfilesystemlabel",
);

/// Parameters of [`SET_FILE_SYSTEM_LABEL`].
pub mod set_file_system_label {
    use super::*;

    rows! { PARAMETERS: Parameter {
        FILE_SYSTEM_LABEL = Parameter::input("FileSystemLabel", String, SET_FILE_SYSTEM_LABEL_PAGE);
        EXTENDED_STATUS = extended_status::PARAMETER;
    }}
}

const GET_SUPPORTED_CLUSTER_SIZES_PAGE: Source = Source::Page(
    "https://learn.microsoft.com/en-us/windows-hardware/drivers/storage/msft-volume-getsupportedclustersizes",
);

/// Parameters of [`GET_SUPPORTED_CLUSTER_SIZES`].
pub mod get_supported_cluster_sizes {
    use super::*;

    rows! { PARAMETERS: Parameter {
        FILE_SYSTEM = Parameter::input("FileSystem", String, GET_SUPPORTED_CLUSTER_SIZES_PAGE);
        /// Bytes each.
        SUPPORTED_CLUSTER_SIZES =
            Parameter::output("SupportedClusterSizes", Uint32, GET_SUPPORTED_CLUSTER_SIZES_PAGE)
                .array();
        EXTENDED_STATUS = extended_status::PARAMETER;
    }}
}

const FLUSH_PAGE: Source = Source::Page(
    "https://learn.microsoft.com/en-us/windows-hardware/drivers/storage/msft-volume-flush",
);

rows! { METHODS: Method {
    FORMAT = Method::instance("Format", format::PARAMETERS, &[
        SUCCESS, NOT_SUPPORTED, UNSPECIFIED_ERROR, TIMEOUT, FAILED, INVALID_PARAMETER,
        WRONG_ARCHITECTURE, JOB_STARTED, SIZE_NOT_SUPPORTED, ACCESS_DENIED, UNEXPECTED_IO_ERROR,
        CLUSTER_MAINTENANCE_FORMAT, CLUSTER_MAINTENANCE, CRITICAL_PARTITION,
        BAD_CLUSTER_SIZE, FILE_SYSTEM_NOT_SUPPORTED, NO_QUICK_FORMAT, TOO_MANY_CLUSTERS,
        BAD_UDF_VERSION, CLUSTER_SIZE_MISALIGNED, DRIVE_READ_ONLY, PARTITION_MISALIGNED,
    ], FORMAT_PAGE);
    /// Writes the file system's cache to the disk.
    FLUSH = Method::instance("Flush", &[], &[
        SUCCESS, NOT_SUPPORTED, UNSPECIFIED_ERROR, TIMEOUT, FAILED, INVALID_PARAMETER,
    ], FLUSH_PAGE).since(Build::SERVER_2012_R2);
    SET_FILE_SYSTEM_LABEL =
        Method::instance("SetFileSystemLabel", set_file_system_label::PARAMETERS, &[
        SUCCESS, NOT_SUPPORTED, UNSPECIFIED_ERROR, TIMEOUT, FAILED, INVALID_PARAMETER,
    ], SET_FILE_SYSTEM_LABEL_PAGE);
    GET_SUPPORTED_CLUSTER_SIZES =
        Method::instance("GetSupportedClusterSizes", get_supported_cluster_sizes::PARAMETERS, &[
            SUCCESS, NOT_SUPPORTED, UNSPECIFIED_ERROR, TIMEOUT, FAILED, INVALID_PARAMETER,
        ], GET_SUPPORTED_CLUSTER_SIZES_PAGE);
}}

pub static CLASS: Class = Class {
    name: "MSFT_Volume",
    namespace: Namespace::Storage,
    base: Some(&storage_object::CLASS),
    properties: PROPERTIES,
    methods: METHODS,
    source: PAGE,
};
