//! The associations between iSCSI objects, and with disks.

use super::cim::CimType::Reference;
use super::model::{Class, Namespace, Property, Source};

/// `MSFT_iSCSITargetToiSCSITargetPortal`: the targets that a portal reported.
pub mod target_to_target_portal {
    use super::*;

    const PAGE: Source = Source::Page(
        "https://learn.microsoft.com/en-us/previous-versions/windows/desktop/iscsidisc/msft-iscsitargettoiscsitargetportal",
    );

    rows! { PROPERTIES: Property {
        TARGET = Property::new("iSCSITarget", Reference("MSFT_iSCSITarget"), PAGE).key();
        TARGET_PORTAL =
            Property::new("iSCSITargetPortal", Reference("MSFT_iSCSITargetPortal"), PAGE).key();
    }}

    pub static CLASS: Class = Class {
        name: "MSFT_iSCSITargetToiSCSITargetPortal",
        namespace: Namespace::Storage,
        base: None,
        properties: PROPERTIES,
        methods: &[],
        source: PAGE,
    };
}

/// `MSFT_iSCSITargetToiSCSISession`: which sessions a target has.
pub mod target_to_session {
    use super::*;

    const PAGE: Source = Source::Page(
        "https://learn.microsoft.com/en-us/previous-versions/windows/desktop/iscsidisc/msft-iscsitargettoiscsisession",
    );

    rows! { PROPERTIES: Property {
        TARGET = Property::new("iSCSITarget", Reference("MSFT_iSCSITarget"), PAGE).key();
        SESSION = Property::new("iSCSISession", Reference("MSFT_iSCSISession"), PAGE).key();
    }}

    pub static CLASS: Class = Class {
        name: "MSFT_iSCSITargetToiSCSISession",
        namespace: Namespace::Storage,
        base: None,
        properties: PROPERTIES,
        methods: &[],
        source: PAGE,
    };
}

/// `MSFT_iSCSITargetToiSCSIConnection`: which connections a target has.
pub mod target_to_connection {
    use super::*;

    const PAGE: Source = Source::Page(
        "https://learn.microsoft.com/en-us/previous-versions/windows/desktop/iscsidisc/msft-iscsitargettoiscsiconnection",
    );

    rows! { PROPERTIES: Property {
        TARGET = Property::new("iSCSITarget", Reference("MSFT_iSCSITarget"), PAGE).key();
        CONNECTION =
            Property::new("iSCSIConnection", Reference("MSFT_iSCSIConnection"), PAGE).key();
    }}

    pub static CLASS: Class = Class {
        name: "MSFT_iSCSITargetToiSCSIConnection",
        namespace: Namespace::Storage,
        base: None,
        properties: PROPERTIES,
        methods: &[],
        source: PAGE,
    };
}

/// `MSFT_iSCSISessionToiSCSIConnection`: which connections a session has.
pub mod session_to_connection {
    use super::*;

    const PAGE: Source = Source::Page(
        "https://learn.microsoft.com/en-us/previous-versions/windows/desktop/iscsidisc/msft-iscsisessiontoiscsiconnection",
    );

    rows! { PROPERTIES: Property {
        SESSION = Property::new("iSCSISession", Reference("MSFT_iSCSISession"), PAGE).key();
        CONNECTION =
            Property::new("iSCSIConnection", Reference("MSFT_iSCSIConnection"), PAGE).key();
    }}

    pub static CLASS: Class = Class {
        name: "MSFT_iSCSISessionToiSCSIConnection",
        namespace: Namespace::Storage,
        base: None,
        properties: PROPERTIES,
        methods: &[],
        source: PAGE,
    };
}

/// `MSFT_iSCSISessionToDisk`: which disks a session brought.
pub mod session_to_disk {
    use super::*;

    const PAGE: Source = Source::Page(
        "https://learn.microsoft.com/en-us/previous-versions/windows/desktop/iscsidisc/msft-iscsisessiontodisk",
    );

    rows! { PROPERTIES: Property {
        SESSION = Property::new("iSCSISession", Reference("MSFT_iSCSISession"), PAGE).key();
        DISK = Property::new("Disk", Reference("MSFT_Disk"), PAGE).key();
    }}

    pub static CLASS: Class = Class {
        name: "MSFT_iSCSISessionToDisk",
        namespace: Namespace::Storage,
        base: None,
        properties: PROPERTIES,
        methods: &[],
        source: PAGE,
    };
}

/// `MSFT_iSCSIConnectionToDisk`: which disks a connection leads to.
pub mod connection_to_disk {
    use super::*;

    const PAGE: Source = Source::Page(
        "https://learn.microsoft.com/en-us/previous-versions/windows/desktop/iscsidisc/msft-iscsiconnectiontodisk",
    );

    rows! { PROPERTIES: Property {
        CONNECTION =
            Property::new("iSCSIConnection", Reference("MSFT_iSCSIConnection"), PAGE).key();
        DISK = Property::new("Disk", Reference("MSFT_Disk"), PAGE).key();
    }}

    pub static CLASS: Class = Class {
        name: "MSFT_iSCSIConnectionToDisk",
        namespace: Namespace::Storage,
        base: None,
        properties: PROPERTIES,
        methods: &[],
        source: PAGE,
    };
}
