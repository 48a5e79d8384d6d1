//! Status codes of the iSCSI initiator service, in our own words.
//!
//! Read from <https://learn.microsoft.com/en-us/windows-hardware/drivers/storage/iscsi-status-qualifiers>,
//! which has more: only what a portal, a login, a session or a CHAP secret can run into is here.
//! The pages of the WMI methods list nothing. The functions of `iscsidsc.dll` that do the same
//! return these codes or Win32 errors, so a number that is not here is looked up there.

use super::codes;
use super::model::{ReturnCode, Returns, Source};

/// The assumed return codes of every method of the iSCSI classes.
pub(crate) const RETURNS: Returns = Returns {
    codes: ALL,
    source: Source::Unverified(
        "the page lists no return codes; these are the initiator service's own, which the \
         functions beneath return as well as Win32 errors",
    ),
};

rows! { ALL: ReturnCode {
    SUCCESS = codes::SUCCESS;
    NON_SPECIFIC_ERROR = ReturnCode::new(0xEFFF_0001, "unspecified error");
    LOGIN_FAILED = ReturnCode::new(0xEFFF_0002, "the login failed");
    CONNECTION_FAILED = ReturnCode::new(0xEFFF_0003, "the connection failed");
    TARGET_MOVED_TEMPORARILY = ReturnCode::new(0xEFFF_0006, "the target moved for a while");
    TARGET_MOVED_PERMANENTLY = ReturnCode::new(0xEFFF_0007, "the target moved for good");
    INITIATOR_ERROR = ReturnCode::new(0xEFFF_0008, "initiator error");
    AUTHENTICATION_FAILURE = ReturnCode::new(0xEFFF_0009, "authentication failed");
    AUTHORIZATION_FAILURE = ReturnCode::new(0xEFFF_000A, "not authorised for the target");
    NOT_FOUND = ReturnCode::new(0xEFFF_000B, "the target does not exist");
    TARGET_REMOVED = ReturnCode::new(0xEFFF_000C, "the target was removed");
    UNSUPPORTED_VERSION = ReturnCode::new(0xEFFF_000D, "unsupported protocol version");
    TOO_MANY_CONNECTIONS = ReturnCode::new(0xEFFF_000E, "too many connections");
    MISSING_PARAMETER = ReturnCode::new(0xEFFF_000F, "missing parameter");
    TARGET_ERROR = ReturnCode::new(0xEFFF_0012, "target error");
    SERVICE_UNAVAILABLE = ReturnCode::new(0xEFFF_0013, "the target's service is unavailable");
    OUT_OF_RESOURCES = ReturnCode::new(0xEFFF_0014, "the target is out of resources");
    CONNECTION_ALREADY_EXISTS = ReturnCode::new(0xEFFF_0015, "the connection exists already");
    SESSION_ALREADY_EXISTS = ReturnCode::new(0xEFFF_0016, "the session exists already");
    INVALID_SESSION_ID = ReturnCode::new(0xEFFF_001C, "no such session");
    SCSI_REQUEST_FAILED = ReturnCode::new(0xEFFF_001D, "the SCSI request failed");
    TOO_MANY_SESSIONS = ReturnCode::new(0xEFFF_001E, "too many sessions");
    SESSION_BUSY = ReturnCode::new(0xEFFF_001F, "the session has a request in progress");
    LOGON_FAILED = ReturnCode::new(0xEFFF_0022, "the logon failed");
    SEND_FAILED = ReturnCode::new(0xEFFF_0023, "sending over TCP failed");
    TRANSPORT_ERROR = ReturnCode::new(0xEFFF_0024, "TCP error");
    TARGET_AUTH_INFO_UNAVAILABLE = ReturnCode::new(0xEFFF_0028, "no credentials for the target");
    TARGET_NOT_FOUND = ReturnCode::new(0xEFFF_0029, "the target is unknown or hidden");
    LOGIN_USER_INFO_BAD = ReturnCode::new(0xEFFF_002A, "a login parameter is not valid");
    INVALID_PORT_NUMBER = ReturnCode::new(0xEFFF_002D, "the port of the initiator is not valid");
    TARGET_PORTAL_ALREADY_EXISTS = ReturnCode::new(0xEFFF_0032, "the portal exists already");
    REQUEST_NOT_SUPPORTED = ReturnCode::new(0xEFFF_0037, "not supported");
    TARGET_OUT_OF_RESOURCES = ReturnCode::new(0xEFFF_0038, "the target lacks resources for this");
    SERVICE_DID_NOT_RESPOND = ReturnCode::new(0xEFFF_0039, "the initiator service did not answer");
    NO_PORTAL_SPECIFIED = ReturnCode::new(0xEFFF_003C, "no portal leads to the target");
    SERVICE_NOT_RUNNING = ReturnCode::new(0xEFFF_003E, "the initiator service is not running");
    TARGET_ALREADY_LOGGED_IN = ReturnCode::new(0xEFFF_003F, "a session with the target exists");
    DEVICE_BUSY_ON_SESSION = ReturnCode::new(0xEFFF_0040, "a disk of the session is in use");
    PERSISTENT_LOGIN_NOT_SAVED = ReturnCode::new(0xEFFF_0041, "the login could not be stored");
    PERSISTENT_LOGIN_NOT_REMOVED = ReturnCode::new(0xEFFF_0042, "the stored login is still there");
    /// The page has the texts of this one and the next exchanged; the names decide.
    PORTAL_NOT_FOUND = ReturnCode::new(0xEFFF_0043, "the portal does not exist");
    INITIATOR_NOT_FOUND = ReturnCode::new(0xEFFF_0044, "the initiator does not exist");
    SHORT_CHAP_SECRET = ReturnCode::new(0xEFFF_0048, "the CHAP secret has fewer than 96 bits");
    INVALID_CHAP_SECRET = ReturnCode::new(0xEFFF_004A, "the CHAP secret breaks the protocol");
    INVALID_TARGET_CHAP_SECRET = ReturnCode::new(0xEFFF_004B, "the target's secret is not valid");
    INVALID_INITIATOR_CHAP_SECRET = ReturnCode::new(0xEFFF_004C, "our own secret is not valid");
    INVALID_CHAP_USER_NAME = ReturnCode::new(0xEFFF_004D, "the CHAP user name is not valid");
    INVALID_LOGON_AUTH_TYPE = ReturnCode::new(0xEFFF_004E, "the authentication type is not valid");
    INVALID_ISCSI_NAME = ReturnCode::new(0xEFFF_0051, "the iSCSI name is not valid");
    INVALID_PARAMETER = ReturnCode::new(0xEFFF_0056, "invalid parameter");
}}
