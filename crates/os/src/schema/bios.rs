//! `Win32_BIOS`: the firmware's description of the machine.

use super::cim::CimType::{Boolean, DateTime, String, Uint8, Uint16};
use super::model::{Build, Class, NamedValue, Namespace, Property, Source, number};

const ELEMENT_PAGE: Source =
    Source::Page("https://learn.microsoft.com/en-us/windows/win32/cimwin32prov/cim-bioselement");
/// Has the key properties, [`element::VERSION`] too.
const SOFTWARE_ELEMENT_PAGE: Source = Source::Page(
    "https://learn.microsoft.com/en-us/windows/win32/cimwin32prov/cim-softwareelement",
);
const PAGE: Source =
    Source::Page("https://learn.microsoft.com/en-us/windows/win32/cimwin32prov/win32-bios");

pub mod software_element_state {
    use super::*;

    rows! { VALUES: NamedValue {
        DEPLOYABLE = number(0, "Deployable");
        INSTALLABLE = number(1, "Installable");
        EXECUTABLE = number(2, "Executable");
        RUNNING = number(3, "Running");
    }}
}

/// Properties of `CIM_BIOSElement`.
pub mod element {
    use super::*;

    rows! { PROPERTIES: Property {
        BUILD_NUMBER = Property::new("BuildNumber", String, ELEMENT_PAGE);
        CAPTION = Property::new("Caption", String, ELEMENT_PAGE);
        CODE_SET = Property::new("CodeSet", String, ELEMENT_PAGE);
        DESCRIPTION = Property::new("Description", String, ELEMENT_PAGE);
        IDENTIFICATION_CODE = Property::new("IdentificationCode", String, ELEMENT_PAGE);
        INSTALL_DATE = Property::new("InstallDate", DateTime, ELEMENT_PAGE);
        LANGUAGE_EDITION = Property::new("LanguageEdition", String, ELEMENT_PAGE);
        MANUFACTURER = Property::new("Manufacturer", String, ELEMENT_PAGE);
        NAME = Property::new("Name", String, ELEMENT_PAGE).key();
        OTHER_TARGET_OS = Property::new("OtherTargetOS", String, ELEMENT_PAGE);
        PRIMARY_BIOS = Property::new("PrimaryBIOS", Boolean, ELEMENT_PAGE);
        /// The machine's serial number, as the firmware has it. Virtual machines answer anything
        /// from a UUID to nothing.
        SERIAL_NUMBER = Property::new("SerialNumber", String, ELEMENT_PAGE);
        SOFTWARE_ELEMENT_ID = Property::new("SoftwareElementID", String, ELEMENT_PAGE).key();
        SOFTWARE_ELEMENT_STATE = Property::new("SoftwareElementState", Uint16, ELEMENT_PAGE)
            .key()
            .numbers(software_element_state::VALUES);
        STATUS = Property::new("Status", String, ELEMENT_PAGE);
        TARGET_OPERATING_SYSTEM =
            Property::new("TargetOperatingSystem", Uint16, ELEMENT_PAGE).key();
        VERSION = Property::new("Version", String, SOFTWARE_ELEMENT_PAGE).key();
    }}
}

pub use element::SERIAL_NUMBER;

rows! { PROPERTIES: Property {
    BIOS_CHARACTERISTICS = Property::new("BiosCharacteristics", Uint16, PAGE).array();
    BIOS_VERSION = Property::new("BIOSVersion", String, PAGE).array();
    CURRENT_LANGUAGE = Property::new("CurrentLanguage", String, PAGE);
    EMBEDDED_CONTROLLER_MAJOR_VERSION =
        Property::new("EmbeddedControllerMajorVersion", Uint8, PAGE).since(Build::SERVER_2016);
    EMBEDDED_CONTROLLER_MINOR_VERSION =
        Property::new("EmbeddedControllerMinorVersion", Uint8, PAGE).since(Build::SERVER_2016);
    INSTALLABLE_LANGUAGES = Property::new("InstallableLanguages", Uint16, PAGE);
    LIST_OF_LANGUAGES = Property::new("ListOfLanguages", String, PAGE).array();
    RELEASE_DATE = Property::new("ReleaseDate", DateTime, PAGE);
    SMBIOS_BIOS_VERSION = Property::new("SMBIOSBIOSVersion", String, PAGE);
    SMBIOS_MAJOR_VERSION = Property::new("SMBIOSMajorVersion", Uint16, PAGE);
    SMBIOS_MINOR_VERSION = Property::new("SMBIOSMinorVersion", Uint16, PAGE);
    SMBIOS_PRESENT = Property::new("SMBIOSPresent", Boolean, PAGE);
    SYSTEM_BIOS_MAJOR_VERSION =
        Property::new("SystemBiosMajorVersion", Uint8, PAGE).since(Build::SERVER_2016);
    SYSTEM_BIOS_MINOR_VERSION =
        Property::new("SystemBiosMinorVersion", Uint8, PAGE).since(Build::SERVER_2016);
}}

/// `CIM_BIOSElement`, abstract: a query for it is answered with instances of [`CLASS`].
pub static ELEMENT: Class = Class {
    name: "CIM_BIOSElement",
    namespace: Namespace::CimV2,
    base: None,
    properties: element::PROPERTIES,
    methods: &[],
    source: ELEMENT_PAGE,
};

pub static CLASS: Class = Class {
    name: "Win32_BIOS",
    namespace: Namespace::CimV2,
    base: Some(&ELEMENT),
    properties: PROPERTIES,
    methods: &[],
    source: PAGE,
};
