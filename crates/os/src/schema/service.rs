//! `Win32_Service` and the dependencies of services, as WMI sees the service control manager.

use super::cim::CimType::{Boolean, String, Uint32};
use super::model::{Class, Method, NamedText, Namespace, Property, ReturnCode, Source, text};

const BASE_PAGE: Source =
    Source::Page("https://learn.microsoft.com/en-us/windows/win32/cimwin32prov/win32-baseservice");
const PAGE: Source =
    Source::Page("https://learn.microsoft.com/en-us/windows/win32/cimwin32prov/win32-service");

pub mod state {
    use super::*;

    rows! { VALUES: NamedText {
        STOPPED = text("Stopped", "Stopped");
        START_PENDING = text("Start Pending", "Start Pending");
        STOP_PENDING = text("Stop Pending", "Stop Pending");
        RUNNING = text("Running", "Running");
        CONTINUE_PENDING = text("Continue Pending", "Continue Pending");
        PAUSE_PENDING = text("Pause Pending", "Pause Pending");
        PAUSED = text("Paused", "Paused");
        UNKNOWN = text("Unknown", "Unknown");
    }}
}

/// Properties of the abstract base: those by which the tests of the native provider know a service of
/// Wine's. The page has more.
pub mod base {
    use super::*;

    rows! { PROPERTIES: Property {
        ACCEPT_STOP = Property::new("AcceptStop", Boolean, BASE_PAGE);
        /// The name in the registry. Compared without case.
        NAME = Property::new("Name", String, BASE_PAGE).key();
        STATE = Property::new("State", String, BASE_PAGE).texts(state::VALUES);
        /// 0 for none.
        TAG_ID = Property::new("TagId", Uint32, BASE_PAGE);
    }}
}

pub use base::{NAME, STATE};

rows! { PROPERTIES: Property {
    PROCESS_ID = Property::new("ProcessId", Uint32, PAGE);
}}

/// Return codes of [`START_SERVICE`] and [`STOP_SERVICE`], in our own words. Not Win32 errors.
pub mod codes {
    use super::*;

    rows! { ALL: ReturnCode {
        /// Accepted, but maybe not done: look at [`STATE`].
        ACCEPTED = ReturnCode::new(0, "accepted");
        NOT_SUPPORTED = ReturnCode::new(1, "not supported");
        ACCESS_DENIED = ReturnCode::new(2, "access denied");
        DEPENDENTS_RUNNING = ReturnCode::new(3, "running services depend on it");
        INVALID_CONTROL = ReturnCode::new(4, "the control is not valid for the service");
        /// The result of stopping a stopped service.
        CANNOT_ACCEPT_CONTROL = ReturnCode::new(5, "the service's state forbids the control");
        NOT_STARTED = ReturnCode::new(6, "the service has not been started");
        START_TIMEOUT = ReturnCode::new(7, "the service did not respond to the start in time");
        START_FAILED = ReturnCode::new(8, "unknown failure at start");
        PATH_NOT_FOUND = ReturnCode::new(9, "the service's binary was not found");
        ALREADY_RUNNING = ReturnCode::new(10, "the service is already running");
        DATABASE_LOCKED = ReturnCode::new(11, "the service database is locked");
        DEPENDENCY_DELETED = ReturnCode::new(12, "a service that it depends on was deleted");
        DEPENDENCY_FAILED = ReturnCode::new(13, "a service that it depends on was not found");
        DISABLED = ReturnCode::new(14, "the service is disabled");
        LOGON_FAILED = ReturnCode::new(15, "the service's account could not log on");
        MARKED_FOR_DELETION = ReturnCode::new(16, "the service is being deleted");
        NO_THREAD = ReturnCode::new(17, "the service has no thread");
        CIRCULAR_DEPENDENCY = ReturnCode::new(18, "the service depends on itself");
        DUPLICATE_NAME = ReturnCode::new(19, "a service of this name is running");
        INVALID_NAME = ReturnCode::new(20, "the name has characters that are not valid");
        INVALID_PARAMETER = ReturnCode::new(21, "invalid parameter");
        INVALID_ACCOUNT = ReturnCode::new(22, "the account is invalid or lacks permission");
        EXISTS = ReturnCode::new(23, "the service exists already");
        ALREADY_PAUSED = ReturnCode::new(24, "the service is paused");
    }}
}

const START_PAGE: Source = Source::Page(
    "https://learn.microsoft.com/en-us/windows/win32/cimwin32prov/startservice-method-in-class-win32-service",
);
const STOP_PAGE: Source = Source::Page(
    "https://learn.microsoft.com/en-us/windows/win32/cimwin32prov/stopservice-method-in-class-win32-service",
);

rows! { METHODS: Method {
    START_SERVICE = Method::instance("StartService", &[], codes::ALL, START_PAGE);
    /// Returns [`codes::DEPENDENTS_RUNNING`] rather than stopping those.
    STOP_SERVICE = Method::instance("StopService", &[], codes::ALL, STOP_PAGE);
}}

/// `Win32_BaseService`, abstract: services and drivers. Its methods are left to [`CLASS`].
pub static BASE: Class = Class {
    name: "Win32_BaseService",
    namespace: Namespace::CimV2,
    base: None,
    properties: base::PROPERTIES,
    methods: &[],
    source: BASE_PAGE,
};

pub static CLASS: Class = Class {
    name: "Win32_Service",
    namespace: Namespace::CimV2,
    base: Some(&BASE),
    properties: PROPERTIES,
    methods: METHODS,
    source: PAGE,
};
