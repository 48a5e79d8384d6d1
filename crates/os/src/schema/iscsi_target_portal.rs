//! `MSFT_iSCSITargetPortal`: an address that the initiator queries for targets.

use super::cim::CimType::{Boolean, Object, String, Uint16};
use super::iscsi_codes::RETURNS;
use super::iscsi_target::authentication_type;
use super::model::{Class, Method, Namespace, Parameter, Property, Source};

const PAGE: Source = Source::Page(
    "https://learn.microsoft.com/en-us/previous-versions/windows/desktop/iscsidisc/msft-iscsitargetportal",
);
const NEW_PAGE: Source = Source::Page(
    "https://learn.microsoft.com/en-us/previous-versions/windows/desktop/iscsidisc/msft-iscsitargetportal-new",
);
const REMOVE_PAGE: Source = Source::Page(
    "https://learn.microsoft.com/en-us/previous-versions/windows/desktop/iscsidisc/msft-iscsitargetportal-remove",
);
const UPDATE_PAGE: Source = Source::Page(
    "https://learn.microsoft.com/en-us/previous-versions/windows/desktop/iscsidisc/msft-iscsitargetportal-update",
);
const DEFINITION: Source = Source::Definition(
    "https://github.com/microsoft/wmi/blob/master/server2019/root/microsoft/windows/storage/MSFT_iSCSITargetPortal.go",
);
/// `New-IscsiTargetPortal` is static, and the others are called on instances.
const MODULE: Source = module_file!("iSCSI/iSCSITargetPortal.cdxml");

rows! { PROPERTIES: Property {
    /// The only key: only a query can distinguish two ports of one address.
    TARGET_PORTAL_ADDRESS = Property::new("TargetPortalAddress", String, PAGE).key();
    /// 3260 unless told otherwise.
    TARGET_PORTAL_PORT_NUMBER = Property::new("TargetPortalPortNumber", Uint16, PAGE);
    INITIATOR_INSTANCE_NAME = Property::new("InitiatorInstanceName", String, PAGE);
    INITIATOR_PORTAL_ADDRESS = Property::new("InitiatorPortalAddress", String, PAGE);
    IS_HEADER_DIGEST = Property::new("IsHeaderDigest", Boolean, PAGE);
    IS_DATA_DIGEST = Property::new("IsDataDigest", Boolean, PAGE);
}}

/// Parameters of [`NEW`].
pub mod new {
    use super::*;

    rows! { PARAMETERS: Parameter {
        TARGET_PORTAL_ADDRESS =
            Parameter::input("TargetPortalAddress", String, NEW_PAGE).required();
        TARGET_PORTAL_PORT_NUMBER = Parameter::input("TargetPortalPortNumber", Uint16, NEW_PAGE);
        INITIATOR_INSTANCE_NAME = Parameter::input("InitiatorInstanceName", String, NEW_PAGE);
        INITIATOR_PORTAL_ADDRESS = Parameter::input("InitiatorPortalAddress", String, NEW_PAGE);
        AUTHENTICATION_TYPE = Parameter::input("AuthenticationType", String, DEFINITION)
            .texts(authentication_type::VALUES);
        CHAP_USERNAME = Parameter::input("ChapUsername", String, DEFINITION);
        CHAP_SECRET = Parameter::input("ChapSecret", String, DEFINITION).secret();
        IS_HEADER_DIGEST = Parameter::input("IsHeaderDigest", Boolean, NEW_PAGE);
        IS_DATA_DIGEST = Parameter::input("IsDataDigest", Boolean, NEW_PAGE);
        CREATED_TARGET_PORTAL =
            Parameter::output("CreatedTargetPortal", Object("MSFT_iSCSITargetPortal"), DEFINITION);
    }}
}

/// Parameters of [`REMOVE`]. The object selects the portal; these narrow it down.
pub mod remove {
    use super::*;

    rows! { PARAMETERS: Parameter {
        INITIATOR_INSTANCE_NAME = Parameter::input("InitiatorInstanceName", String, REMOVE_PAGE);
        INITIATOR_PORTAL_ADDRESS = Parameter::input("InitiatorPortalAddress", String, REMOVE_PAGE);
        TARGET_PORTAL_PORT_NUMBER = Parameter::input("TargetPortalPortNumber", Uint16, REMOVE_PAGE);
        TARGET_PORTAL_ADDRESS = Parameter::input("TargetPortalAddress", String, REMOVE_PAGE);
    }}
}

/// Parameters of [`UPDATE`]. The object selects the portal; these narrow it down.
pub mod update {
    use super::*;

    rows! { PARAMETERS: Parameter {
        INITIATOR_INSTANCE_NAME = Parameter::input("InitiatorInstanceName", String, UPDATE_PAGE);
        INITIATOR_PORTAL_ADDRESS = Parameter::input("InitiatorPortalAddress", String, UPDATE_PAGE);
        TARGET_PORTAL_ADDRESS = Parameter::input("TargetPortalAddress", String, UPDATE_PAGE);
        TARGET_PORTAL_PORT_NUMBER = Parameter::input("TargetPortalPortNumber", Uint16, UPDATE_PAGE);
    }}
}

rows! { METHODS: Method {
    NEW = Method::instance("New", new::PARAMETERS, &[], NEW_PAGE)
        .on_class(MODULE)
        .returns(RETURNS);
    REMOVE = Method::instance("Remove", remove::PARAMETERS, &[], REMOVE_PAGE).returns(RETURNS);
    /// Queries the portal's targets again.
    UPDATE = Method::instance("Update", update::PARAMETERS, &[], UPDATE_PAGE).returns(RETURNS);
}}

pub static CLASS: Class = Class {
    name: "MSFT_iSCSITargetPortal",
    namespace: Namespace::Storage,
    base: None,
    properties: PROPERTIES,
    methods: METHODS,
    source: PAGE,
};
