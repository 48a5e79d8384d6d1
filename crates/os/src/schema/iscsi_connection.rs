//! `MSFT_iSCSIConnection`: a TCP connection of a session.

use super::cim::CimType::{String, Uint32};
use super::model::{Class, Namespace, Property, Source};

const PAGE: Source = Source::Page(
    "https://learn.microsoft.com/en-us/previous-versions/windows/desktop/iscsidisc/msft-iscsiconnection",
);

rows! { PROPERTIES: Property {
    CONNECTION_IDENTIFIER = Property::new("ConnectionIdentifier", String, PAGE).key();
    /// `0.0.0.0` unless told otherwise.
    INITIATOR_ADDRESS = Property::new("InitiatorAddress", String, PAGE);
    TARGET_ADDRESS = Property::new("TargetAddress", String, PAGE);
    INITIATOR_PORT_NUMBER = Property::new("InitiatorPortNumber", Uint32, PAGE);
    /// `uint32` here, `uint16` in a portal.
    TARGET_PORT_NUMBER = Property::new("TargetPortNumber", Uint32, PAGE);
}}

pub static CLASS: Class = Class {
    name: "MSFT_iSCSIConnection",
    namespace: Namespace::Storage,
    base: None,
    properties: PROPERTIES,
    methods: &[],
    source: PAGE,
};
