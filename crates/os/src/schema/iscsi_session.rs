//! `MSFT_iSCSISession`: what connects the initiator to a target.

use super::cim::CimType::{Boolean, String, Uint32};
use super::iscsi_codes::RETURNS;
use super::iscsi_target::authentication_type;
use super::model::{Class, Method, Namespace, Parameter, Property, Source};

const PAGE: Source = Source::Page(
    "https://learn.microsoft.com/en-us/previous-versions/windows/desktop/iscsidisc/msft-iscsisession",
);
const REGISTER_PAGE: Source = Source::Page(
    "https://learn.microsoft.com/en-us/previous-versions/windows/desktop/iscsidisc/msft-iscsisession-register",
);
const UNREGISTER_PAGE: Source = Source::Page(
    "https://learn.microsoft.com/en-us/previous-versions/windows/desktop/iscsidisc/msft-iscsisession-unregister",
);
const SET_CHAP_SECRET_PAGE: Source = Source::Page(
    "https://learn.microsoft.com/en-us/previous-versions/windows/desktop/iscsidisc/msft-iscsisession-setchapsecret",
);
const DEFINITION: Source = Source::Definition(
    "https://github.com/microsoft/wmi/blob/master/server2019/root/microsoft/windows/storage/MSFT_iSCSISession.go",
);
/// `Set-IscsiChapSecret` is static, and the others are called on instances.
const MODULE: Source = module_file!("iSCSI/iSCSISession.cdxml");

rows! { PROPERTIES: Property {
    SESSION_IDENTIFIER = Property::new("SessionIdentifier", String, PAGE).key();
    INITIATOR_SIDE_IDENTIFIER = Property::new("InitiatorSideIdentifier", String, PAGE);
    TARGET_SIDE_IDENTIFIER = Property::new("TargetSideIdentifier", String, PAGE);
    NUMBER_OF_CONNECTIONS = Property::new("NumberOfConnections", Uint32, PAGE);
    /// The target's iSCSI qualified name.
    TARGET_NODE_ADDRESS = Property::new("TargetNodeAddress", String, PAGE);
    INITIATOR_PORTAL_ADDRESS = Property::new("InitiatorPortalAddress", String, PAGE);
    IS_DATA_DIGEST = Property::new("IsDataDigest", Boolean, PAGE);
    IS_HEADER_DIGEST = Property::new("IsHeaderDigest", Boolean, PAGE);
    AUTHENTICATION_TYPE =
        Property::new("AuthenticationType", String, PAGE).texts(authentication_type::VALUES);
    /// The initiator's iSCSI qualified name.
    INITIATOR_NODE_ADDRESS = Property::new("InitiatorNodeAddress", String, PAGE);
    INITIATOR_INSTANCE_NAME = Property::new("InitiatorInstanceName", String, PAGE);
    IS_CONNECTED = Property::new("IsConnected", Boolean, PAGE);
    /// Connected again at every restart.
    IS_PERSISTENT = Property::new("IsPersistent", Boolean, PAGE);
    IS_DISCOVERED = Property::new("IsDiscovered", Boolean, PAGE);
}}

/// Parameters of [`REGISTER`].
pub mod register {
    use super::*;

    rows! { PARAMETERS: Parameter {
        IS_MULTIPATH_ENABLED = Parameter::input("IsMultipathEnabled", Boolean, REGISTER_PAGE);
        CHAP_USERNAME = Parameter::input("ChapUsername", String, DEFINITION);
        CHAP_SECRET = Parameter::input("ChapSecret", String, DEFINITION).secret();
    }}
}

/// Parameters of [`SET_CHAP_SECRET`].
pub mod set_chap_secret {
    use super::*;

    rows! { PARAMETERS: Parameter {
        /// The secret by which targets prove themselves: 12 to 16 bytes unless the connection is
        /// under IPsec.
        /// <https://learn.microsoft.com/en-us/windows/win32/api/iscsidsc/nf-iscsidsc-setiscsiinitiatorchapsharedsecret>
        CHAP_SECRET = Parameter::input("ChapSecret", String, SET_CHAP_SECRET_PAGE).secret();
    }}
}

rows! { METHODS: Method {
    /// Makes the session persistent.
    REGISTER =
        Method::instance("Register", register::PARAMETERS, &[], REGISTER_PAGE).returns(RETURNS);
    /// Makes the session last until the restart only.
    UNREGISTER = Method::instance("Unregister", &[], &[], UNREGISTER_PAGE).returns(RETURNS);
    /// For the whole machine.
    SET_CHAP_SECRET =
        Method::instance("SetCHAPSecret", set_chap_secret::PARAMETERS, &[], SET_CHAP_SECRET_PAGE)
            .on_class(MODULE)
            .returns(RETURNS);
}}

pub static CLASS: Class = Class {
    name: "MSFT_iSCSISession",
    namespace: Namespace::Storage,
    base: None,
    properties: PROPERTIES,
    methods: METHODS,
    source: PAGE,
};
