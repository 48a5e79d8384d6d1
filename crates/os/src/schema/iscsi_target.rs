//! `MSFT_iSCSITarget`: a target that a portal told of.

use super::cim::CimType::{Boolean, Object, String, Uint16};
use super::iscsi_codes::RETURNS;
use super::model::{Class, Method, NamedText, Namespace, Parameter, Property, Source, text};

const PAGE: Source = Source::Page(
    "https://learn.microsoft.com/en-us/previous-versions/windows/desktop/iscsidisc/msft-iscsitarget",
);
const CONNECT_PAGE: Source = Source::Page(
    "https://learn.microsoft.com/en-us/previous-versions/windows/desktop/iscsidisc/msft-iscsitarget-connect",
);
const DISCONNECT_PAGE: Source = Source::Page(
    "https://learn.microsoft.com/en-us/previous-versions/windows/desktop/iscsidisc/msft-iscsitarget-disconnect",
);
const UPDATE_PAGE: Source = Source::Page(
    "https://learn.microsoft.com/en-us/previous-versions/windows/desktop/iscsidisc/msft-iscsitarget-update",
);
const CONNECT_CMDLET: Source =
    Source::Cmdlet("https://learn.microsoft.com/en-us/powershell/module/iscsi/connect-iscsitarget");
const DEFINITION: Source = Source::Definition(
    "https://github.com/microsoft/wmi/blob/master/server2019/root/microsoft/windows/storage/MSFT_iSCSITarget.go",
);
/// `Connect-IscsiTarget` is static, and the others are called on instances.
const MODULE: Source = module_file!("iSCSI/iSCSITarget.cdxml");

/// The direction of authentication. Upper case: no other spelling is accepted.
pub mod authentication_type {
    use super::*;

    rows! { VALUES: NamedText {
        NONE = text("NONE", "nobody");
        ONE_WAY_CHAP = text("ONEWAYCHAP", "the initiator to the target");
        /// Needs [`SET_CHAP_SECRET`](super::super::iscsi_session::SET_CHAP_SECRET) first.
        MUTUAL_CHAP = text("MUTUALCHAP", "each to the other");
    }}
}

rows! { PROPERTIES: Property {
    /// The target's iSCSI qualified name.
    NODE_ADDRESS = Property::new("NodeAddress", String, PAGE).key();
    IS_CONNECTED = Property::new("IsConnected", Boolean, PAGE);
}}

/// Parameters of [`CONNECT`].
pub mod connect {
    use super::*;

    rows! { PARAMETERS: Parameter {
        NODE_ADDRESS = Parameter::input("NodeAddress", String, CONNECT_PAGE).required();
        TARGET_PORTAL_ADDRESS = Parameter::input("TargetPortalAddress", String, CONNECT_PAGE);
        TARGET_PORTAL_PORT_NUMBER =
            Parameter::input("TargetPortalPortNumber", Uint16, CONNECT_PAGE);
        INITIATOR_PORTAL_ADDRESS =
            Parameter::input("InitiatorPortalAddress", String, CONNECT_PAGE);
        IS_DATA_DIGEST = Parameter::input("IsDataDigest", Boolean, CONNECT_PAGE);
        IS_HEADER_DIGEST = Parameter::input("IsHeaderDigest", Boolean, CONNECT_PAGE);
        REPORT_TO_PNP = Parameter::input("ReportToPnP", Boolean, CONNECT_PAGE);
        AUTHENTICATION_TYPE = Parameter::input("AuthenticationType", String, CONNECT_CMDLET)
            .texts(authentication_type::VALUES);
        CHAP_USERNAME = Parameter::input("ChapUsername", String, DEFINITION);
        /// The secret by which the initiator proves itself.
        CHAP_SECRET = Parameter::input("ChapSecret", String, DEFINITION).secret();
        IS_MULTIPATH_ENABLED = Parameter::input("IsMultipathEnabled", Boolean, CONNECT_PAGE);
        /// Connected again at every restart.
        IS_PERSISTENT = Parameter::input("IsPersistent", Boolean, CONNECT_PAGE);
        INITIATOR_INSTANCE_NAME = Parameter::input("InitiatorInstanceName", String, CONNECT_PAGE);
        CREATED_ISCSI_SESSION =
            Parameter::output("CreatediSCSISession", Object("MSFT_iSCSISession"), DEFINITION);
    }}
}

/// Parameters of [`DISCONNECT`].
pub mod disconnect {
    use super::*;

    rows! { PARAMETERS: Parameter {
        /// The cmdlet lets it be left out and then disconnects the target; whether that is all of
        /// its sessions no page says.
        SESSION_IDENTIFIER = Parameter::input("SessionIdentifier", String, DISCONNECT_PAGE);
    }}
}

rows! { METHODS: Method {
    CONNECT = Method::instance("Connect", connect::PARAMETERS, &[], CONNECT_PAGE)
        .on_class(MODULE)
        .returns(RETURNS);
    DISCONNECT = Method::instance("Disconnect", disconnect::PARAMETERS, &[], DISCONNECT_PAGE)
        .returns(RETURNS);
    UPDATE = Method::instance("Update", &[], &[], UPDATE_PAGE).returns(RETURNS);
}}

pub static CLASS: Class = Class {
    name: "MSFT_iSCSITarget",
    namespace: Namespace::Storage,
    base: None,
    properties: PROPERTIES,
    methods: METHODS,
    source: PAGE,
};
