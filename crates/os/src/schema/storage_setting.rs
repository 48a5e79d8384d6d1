//! `MSFT_StorageSetting`: settings of the whole machine, and the rescan.

use super::cim::CimType::{Object, Uint16, Uint32};
use super::codes::SUCCESS;
use super::model::{
    Class, Method, NamedValue, Namespace, Parameter, Property, Returns, Source, number,
};

const PAGE: Source = Source::Page(
    "https://learn.microsoft.com/en-us/windows-hardware/drivers/storage/msft-storagesetting",
);
const GET_PAGE: Source = Source::Page(
    "https://learn.microsoft.com/en-us/windows-hardware/drivers/storage/msft-storagesetting-get",
);
const UPDATE_PAGE: Source = Source::Page(
    "https://learn.microsoft.com/en-us/windows-hardware/drivers/storage/msft-storagesetting-updatehoststoragecache",
);
const DEFINITION: Source = Source::Definition(
    "https://github.com/microsoft/wmi/blob/master/server2019/root/microsoft/windows/storage/MSFT_StorageSetting.go",
);
/// Its cmdlets are all static.
const STATIC: Source = module_file!("Storage/StorageSetting.cdxml");
const RETURNS: Returns = Returns {
    codes: &[SUCCESS],
    source: Source::Unverified(
        "the page lists no return codes; 0 is success as in the rest of the namespace",
    ),
};

/// Windows's action for a disk that it sees for the first time.
pub mod new_disk_policy {
    use super::*;

    rows! { VALUES: NamedValue {
        UNKNOWN = number(0, "Unknown");
        ONLINE_ALL = number(1, "Online All");
        /// Disks of a shared bus stay offline.
        OFFLINE_SHARED = number(2, "Offline Shared");
        OFFLINE_ALL = number(3, "Offline All");
        OFFLINE_INTERNAL = number(4, "Offline Internal");
    }}
}

/// Which files the data integrity scanner reads.
pub mod scrub_policy {
    use super::*;

    rows! { VALUES: NamedValue {
        OFF = number(0, "Off");
        INTEGRITY_STREAMS = number(1, "Integrity Streams");
        ALL = number(2, "All");
    }}
}

rows! { PROPERTIES: Property {
    NEW_DISK_POLICY = Property::new("NewDiskPolicy", Uint16, PAGE).numbers(new_disk_policy::VALUES);
    SCRUB_POLICY = Property::new("ScrubPolicy", Uint32, PAGE).numbers(scrub_policy::VALUES);
}}

/// Parameters of [`GET`].
pub mod get {
    use super::*;

    rows! { PARAMETERS: Parameter {
        /// The page calls it `StorageSettings`.
        STORAGE_SETTING =
            Parameter::output("StorageSetting", Object("MSFT_StorageSetting"), DEFINITION);
    }}
}

rows! { METHODS: Method {
    GET = Method::instance("Get", get::PARAMETERS, &[], GET_PAGE)
        .on_class(STATIC)
        .returns(RETURNS);
    /// Reads the disks anew into the provider's cache: the rescan after a hot-add.
    UPDATE_HOST_STORAGE_CACHE = Method::instance("UpdateHostStorageCache", &[], &[], UPDATE_PAGE)
        .on_class(STATIC)
        .returns(RETURNS);
}}

/// Has no key: its methods are called on the class.
pub static CLASS: Class = Class {
    name: "MSFT_StorageSetting",
    namespace: Namespace::Storage,
    base: None,
    properties: PROPERTIES,
    methods: METHODS,
    source: PAGE,
};
