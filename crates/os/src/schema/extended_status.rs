//! `MSFT_StorageExtendedStatus`: details of a storage method's result, besides its return code.

use super::cim::CimType::{Object, String, Uint16, Uint32};
use super::model::{Class, Namespace, Parameter, Property, Source};

const PAGE: Source = Source::Page(
    "https://learn.microsoft.com/en-us/windows-hardware/drivers/storage/msft-storageextendedstatus",
);
/// The CIM base; its own page stands in the archive of another product's documentation.
const DEFINITION: Source = Source::Definition(
    "https://github.com/microsoft/wmi/blob/master/server2019/root/microsoft/windows/storage/CIM_Error.go",
);
/// The method pages print `String` and say "a string that contains an embedded object", which is
/// how MOF writes it. WMI's own type is an object: the generator that prints Hyper-V's embedded
/// strings as `string` prints this one as its class.
pub(crate) const EMBEDDED: Source = Source::Definition(
    "https://github.com/microsoft/wmi/blob/master/server2019/root/microsoft/windows/storage/MSFT_Disk.go",
);

/// The last parameter of nearly every storage method. Null unless the provider has more to say.
pub const PARAMETER: Parameter = Parameter::output(
    "ExtendedStatus",
    Object("MSFT_StorageExtendedStatus"),
    EMBEDDED,
);

rows! { PROPERTIES: Property {
    CIM_STATUS_CODE = Property::new("CIMStatusCode", Uint32, DEFINITION);
    CIM_STATUS_CODE_DESCRIPTION = Property::new("CIMStatusCodeDescription", String, DEFINITION);
    ERROR_TYPE = Property::new("ErrorType", Uint16, DEFINITION);
    /// The text for people, in the system's language.
    MESSAGE = Property::new("Message", String, DEFINITION);
    MESSAGE_ID = Property::new("MessageID", String, DEFINITION);
}}

/// `CIM_Error`, the base of the status with all of its properties. The table has those that our code
/// reads, and leaves the others out.
pub static CIM_ERROR: Class = Class {
    name: "CIM_Error",
    namespace: Namespace::Storage,
    base: None,
    properties: PROPERTIES,
    methods: &[],
    source: PAGE,
};

/// Has no key: it exists only inside a method's answer.
pub static CLASS: Class = Class {
    name: "MSFT_StorageExtendedStatus",
    namespace: Namespace::Storage,
    base: Some(&CIM_ERROR),
    properties: &[],
    methods: &[],
    source: PAGE,
};
