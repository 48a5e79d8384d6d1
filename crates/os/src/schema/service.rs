//! `Win32_Service` and what depends on what, as WMI sees the service control manager.

use super::cim::CimType::{Boolean, DateTime, Reference, String, Uint16, Uint32};
use super::model::{
    Build, Class, Method, NamedText, NamedValue, Namespace, Property, ReturnCode, Source, number,
    text,
};

const BASE_PAGE: Source =
    Source::Page("https://learn.microsoft.com/en-us/windows/win32/cimwin32prov/win32-baseservice");
const PAGE: Source =
    Source::Page("https://learn.microsoft.com/en-us/windows/win32/cimwin32prov/win32-service");

/// What is at stake when the service does not start at boot.
pub mod error_control {
    use super::*;

    rows! { VALUES: NamedText {
        IGNORE = text("Ignore", "the user is not told");
        NORMAL = text("Normal", "the user is told");
        SEVERE = text("Severe", "restart with the last known good configuration");
        CRITICAL = text("Critical", "restart with a good configuration, then give up");
        UNKNOWN = text("Unknown", "unknown");
    }}
}

pub mod service_type {
    use super::*;

    rows! { VALUES: NamedText {
        KERNEL_DRIVER = text("Kernel Driver", "Kernel Driver");
        FILE_SYSTEM_DRIVER = text("File System Driver", "File System Driver");
        ADAPTER = text("Adapter", "Adapter");
        RECOGNIZER_DRIVER = text("Recognizer Driver", "Recognizer Driver");
        OWN_PROCESS = text("Own Process", "Own Process");
        SHARE_PROCESS = text("Share Process", "Share Process");
        INTERACTIVE_PROCESS = text("Interactive Process", "Interactive Process");
    }}
}

pub mod start_mode {
    use super::*;

    rows! { VALUES: NamedText {
        /// Drivers only.
        BOOT = text("Boot", "by the boot loader");
        /// Drivers only.
        SYSTEM = text("System", "by the kernel");
        AUTO = text("Auto", "by the service control manager at boot");
        MANUAL = text("Manual", "when asked for");
        DISABLED = text("Disabled", "never");
    }}
}

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

/// Properties of the abstract base.
pub mod base {
    use super::*;

    rows! { PROPERTIES: Property {
        ACCEPT_PAUSE = Property::new("AcceptPause", Boolean, BASE_PAGE);
        ACCEPT_STOP = Property::new("AcceptStop", Boolean, BASE_PAGE);
        CAPTION = Property::new("Caption", String, BASE_PAGE);
        CREATION_CLASS_NAME = Property::new("CreationClassName", String, BASE_PAGE);
        DESCRIPTION = Property::new("Description", String, BASE_PAGE);
        DESKTOP_INTERACT = Property::new("DesktopInteract", Boolean, BASE_PAGE);
        /// The name for people. Compared without case.
        DISPLAY_NAME = Property::new("DisplayName", String, BASE_PAGE);
        ERROR_CONTROL =
            Property::new("ErrorControl", String, BASE_PAGE).texts(error_control::VALUES);
        /// A Win32 error; 1066 refers to [`SERVICE_SPECIFIC_EXIT_CODE`].
        EXIT_CODE = Property::new("ExitCode", Uint32, BASE_PAGE);
        INSTALL_DATE = Property::new("InstallDate", DateTime, BASE_PAGE);
        /// The name in the registry. Compared without case.
        NAME = Property::new("Name", String, BASE_PAGE).key();
        /// The command line of the binary.
        PATH_NAME = Property::new("PathName", String, BASE_PAGE);
        SERVICE_SPECIFIC_EXIT_CODE =
            Property::new("ServiceSpecificExitCode", Uint32, BASE_PAGE);
        SERVICE_TYPE = Property::new("ServiceType", String, BASE_PAGE).texts(service_type::VALUES);
        STARTED = Property::new("Started", Boolean, BASE_PAGE);
        START_MODE = Property::new("StartMode", String, BASE_PAGE).texts(start_mode::VALUES);
        /// The account that it runs under.
        START_NAME = Property::new("StartName", String, BASE_PAGE);
        STATE = Property::new("State", String, BASE_PAGE).texts(state::VALUES);
        STATUS = Property::new("Status", String, BASE_PAGE);
        SYSTEM_CREATION_CLASS_NAME =
            Property::new("SystemCreationClassName", String, BASE_PAGE);
        SYSTEM_NAME = Property::new("SystemName", String, BASE_PAGE);
        /// 0 for none.
        TAG_ID = Property::new("TagId", Uint32, BASE_PAGE);
    }}
}

pub use base::{NAME, START_MODE, STATE};

rows! { PROPERTIES: Property {
    /// Counts up during a long start or stop.
    CHECK_POINT = Property::new("CheckPoint", Uint32, PAGE);
    DELAYED_AUTO_START = Property::new("DelayedAutoStart", Boolean, PAGE).since(Build::SERVER_2016);
    PROCESS_ID = Property::new("ProcessId", Uint32, PAGE);
    /// Milliseconds until the next [`CHECK_POINT`] is due.
    WAIT_HINT = Property::new("WaitHint", Uint32, PAGE);
}}

/// What [`START_SERVICE`] and [`STOP_SERVICE`] return, in our own words. Not Win32 errors.
pub mod codes {
    use super::*;

    rows! { ALL: ReturnCode {
        /// Which is not to say done: look at [`STATE`].
        ACCEPTED = ReturnCode::new(0, "accepted");
        NOT_SUPPORTED = ReturnCode::new(1, "not supported");
        ACCESS_DENIED = ReturnCode::new(2, "access denied");
        DEPENDENTS_RUNNING = ReturnCode::new(3, "running services depend on it");
        INVALID_CONTROL = ReturnCode::new(4, "the control is not valid for the service");
        /// What stopping a stopped service returns.
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

/// `Win32_DependentService`: which service needs which.
pub mod dependent {
    use super::*;

    const PAGE: Source = Source::Page(
        "https://learn.microsoft.com/en-us/windows/win32/cimwin32prov/win32-dependentservice",
    );

    pub mod type_of_dependency {
        use super::*;

        rows! { VALUES: NamedValue {
            UNKNOWN = number(0, "Unknown");
            OTHER = number(1, "Other");
            MUST_HAVE_COMPLETED = number(2, "Service Must Have Completed");
            MUST_BE_STARTED = number(3, "Service Must Be Started");
            MUST_NOT_BE_STARTED = number(4, "Service Must Not Be Started");
        }}
    }

    rows! { PROPERTIES: Property {
        /// The service that is needed.
        ANTECEDENT = Property::new("Antecedent", Reference("Win32_BaseService"), PAGE).key();
        /// The service that needs it.
        DEPENDENT = Property::new("Dependent", Reference("Win32_BaseService"), PAGE).key();
        TYPE_OF_DEPENDENCY =
            Property::new("TypeOfDependency", Uint16, PAGE).numbers(type_of_dependency::VALUES);
    }}

    pub static CLASS: Class = Class {
        name: "Win32_DependentService",
        namespace: Namespace::CimV2,
        base: None,
        properties: PROPERTIES,
        methods: &[],
        source: PAGE,
    };
}
