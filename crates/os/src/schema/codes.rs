//! Return codes of the storage management classes, in our own words.
//!
//! One number means one thing in all of the namespace; which method returns which is on the
//! method's row. Read from the method pages below
//! <https://learn.microsoft.com/en-us/windows-hardware/drivers/storage/msft-disk>,
//! `msft-partition` and `msft-volume`. Codes that no page has for a method are those of the repository of a Windows 11,
//! which `fixtures/wmi.py` of this crate names and a test compares.

use super::model::ReturnCode;

rows! { ALL: ReturnCode {
    SUCCESS = ReturnCode::new(0, "success");
    NOT_SUPPORTED = ReturnCode::new(1, "not supported");
    UNSPECIFIED_ERROR = ReturnCode::new(2, "unspecified error");
    TIMEOUT = ReturnCode::new(3, "timeout");
    FAILED = ReturnCode::new(4, "failed");
    INVALID_PARAMETER = ReturnCode::new(5, "invalid parameter");
    IN_USE = ReturnCode::new(6, "the object is in use");
    /// A 32-bit caller on 64-bit Windows.
    WRONG_ARCHITECTURE = ReturnCode::new(7, "not supported from x86 on x64");
    /// Recorded of Windows 11 for the methods of disks; on no page.
    OBJECT_NOT_FOUND = ReturnCode::new(8, "object not found");
    /// Only where the caller asked for a job.
    JOB_STARTED = ReturnCode::new(4096, "parameters checked, job started");
    SIZE_NOT_SUPPORTED = ReturnCode::new(4097, "size not supported");

    NOT_ENOUGH_SPACE = ReturnCode::new(40000, "not enough free space");
    ACCESS_DENIED = ReturnCode::new(40001, "access denied");
    NOT_ENOUGH_RESOURCES = ReturnCode::new(40002, "not enough resources");
    CACHE_OUT_OF_DATE = ReturnCode::new(40003, "the provider's cache is out of date");
    UNEXPECTED_IO_ERROR = ReturnCode::new(40004, "unexpected I/O error");
    SIZE_AMBIGUOUS =
        ReturnCode::new(40005, "exactly one of a size and the maximum size must be given");
    /// So on the page of `Format` alone; every other page, and the record, has [`CLUSTER_MAINTENANCE`] for it.
    CLUSTER_MAINTENANCE_FORMAT = ReturnCode::new(40018, "clustered disk outside maintenance mode");

    DISK_NOT_INITIALIZED = ReturnCode::new(41000, "the disk is not initialised");
    DISK_ALREADY_INITIALIZED = ReturnCode::new(41001, "the disk is already initialised");
    DISK_READ_ONLY = ReturnCode::new(41002, "the disk is read-only");
    DISK_OFFLINE = ReturnCode::new(41003, "the disk is offline");
    PARTITION_LIMIT = ReturnCode::new(41004, "the disk cannot hold another partition");
    BAD_ALIGNMENT = ReturnCode::new(41005, "alignment is not a multiple of the sector size");
    WRONG_PARTITION_KIND =
        ReturnCode::new(41006, "a parameter does not suit this kind of partition");
    OEM_PARTITIONS_PRESENT = ReturnCode::new(41007, "OEM partitions are present");
    DATA_PARTITIONS_PRESENT = ReturnCode::new(41008, "data partitions are present");
    CRITICAL_DISK = ReturnCode::new(41009, "not on a critical disk");
    BAD_PARTITION_TYPE = ReturnCode::new(41010, "the partition type is not valid");
    BEYOND_MBR_LIMIT = ReturnCode::new(41011, "an MBR disk is usable up to 2 TiB only");
    BAD_OFFSET = ReturnCode::new(41012, "the offset is not valid");
    TOO_SMALL_FOR_GPT = ReturnCode::new(41014, "the disk is too small for GPT");
    NO_MEDIA = ReturnCode::new(41015, "no media in the device");
    /// So recorded; the page of `CreatePartition` has "the specified partition offset is not valid".
    REMOVABLE_NOT_EMPTY =
        ReturnCode::new(41016, "not on a removable disk that is not empty, or a bad offset");
    BAD_LAYOUT = ReturnCode::new(41017, "the partition layout is not valid");
    CLUSTER_MAINTENANCE = ReturnCode::new(41018, "clustered disk outside maintenance mode");
    CLUSTERED = ReturnCode::new(41019, "the disk must leave the cluster first");

    ACCESS_PATHS_LEFT = ReturnCode::new(42000, "partition deleted, its access paths were not");
    EXTENDED_NOT_EMPTY = ReturnCode::new(42001, "the extended partition holds others");
    ACCESS_PATH_IN_USE = ReturnCode::new(42002, "the access path is already in use");
    HIDDEN_PARTITION = ReturnCode::new(42004, "a hidden partition takes no access path");
    VOLUME_GUID_PATH = ReturnCode::new(42005, "a volume GUID path cannot be removed");
    CRITICAL_DRIVE_LETTER =
        ReturnCode::new(42006, "the letter of a boot or pagefile partition stays");
    BAD_ACCESS_PATH = ReturnCode::new(42007, "the access path is not valid");
    VOLUME_HAS_ERRORS = ReturnCode::new(42008, "a volume with errors cannot be shrunk");
    UNKNOWN_FILE_SYSTEM = ReturnCode::new(42009, "unknown file system");
    CRITICAL_PARTITION = ReturnCode::new(42010, "not on a system or critical partition");
    DATA_PARTITIONS_ONLY = ReturnCode::new(42011, "on data partitions only");
    /// Recorded, as the next two; on no page.
    SEVERAL_DRIVE_LETTERS = ReturnCode::new(42012, "a partition has one drive letter");
    NO_DRIVE_LETTER = ReturnCode::new(42013, "this kind of partition takes no drive letter");
    ACCESS_PATHS_PRESENT = ReturnCode::new(42014, "the volume still has an access path");

    BAD_CLUSTER_SIZE = ReturnCode::new(43000, "the cluster size is not valid");
    FILE_SYSTEM_NOT_SUPPORTED = ReturnCode::new(43001, "the file system is not supported");
    NO_QUICK_FORMAT = ReturnCode::new(43002, "the volume cannot be quick formatted");
    TOO_MANY_CLUSTERS = ReturnCode::new(43003, "more clusters than 32 bits count");
    BAD_UDF_VERSION = ReturnCode::new(43004, "the UDF version is not supported");
    CLUSTER_SIZE_MISALIGNED =
        ReturnCode::new(43005, "the cluster size is no multiple of the physical sector");
    DRIVE_READ_ONLY = ReturnCode::new(43006, "the drive is read-only");
    /// Recorded; the page gives the number without words.
    PARTITION_MISALIGNED = ReturnCode::new(
        43034,
        "a thinly provisioned or DAX partition does not start at a cluster's boundary",
    );
}}
