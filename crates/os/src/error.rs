use std::fmt;

use crate::SystemText;

/// The result of a call into the operating system.
pub type Result<T> = std::result::Result<T, Error>;

/// A failed call into the operating system: the operation, its object, and the cause.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{operation} {object}: {cause}")]
pub struct Error {
    /// The call that failed, by its Windows name (`SetVolumeMountPointW`, `MSFT_Disk.Initialize`).
    pub operation: &'static str,
    /// The object of the call: a path, a volume id, a disk number, a class.
    pub object: String,
    /// Why it failed.
    pub cause: Cause,
    /// The system's text, if it has more than the code: no code matches on it.
    #[source]
    pub system_text: Option<SystemText>,
}

impl Error {
    /// An error of `operation` on `object`.
    pub fn new(
        operation: &'static str,
        object: impl fmt::Display,
        cause: impl Into<Cause>,
    ) -> Self {
        Self {
            operation,
            object: object.to_string(),
            cause: cause.into(),
            system_text: None,
        }
    }

    /// The same, with the system's text.
    #[must_use]
    pub fn with_system_text(self, system_text: Option<SystemText>) -> Self {
        Self {
            system_text,
            ..self
        }
    }

    /// The Win32 code, when the cause is one, as such or in an HRESULT.
    #[must_use]
    pub fn win32(&self) -> Option<Win32> {
        match self.cause {
            Cause::Win32(code) => Some(code),
            Cause::Hresult(code) => code.win32(),
            _ => None,
        }
    }

    /// Whether the object itself does not exist (not when a directory above it is out of reach).
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        let of_wmi = Cause::Hresult(Hresult::WBEM_E_NOT_FOUND);
        let of_win32 = [Win32::FILE_NOT_FOUND, Win32::PATH_NOT_FOUND];
        self.cause == of_wmi || self.win32().is_some_and(|code| of_win32.contains(&code))
    }
}

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// A Win32 error code.
    #[error("{0}")]
    Win32(Win32),
    /// A COM or WMI failure code.
    #[error("{0}")]
    Hresult(Hresult),
    /// A return code of the storage provider, with which a call failed that returns none
    /// ([`crate::schema::codes`] has them).
    #[error("the storage provider failed with its code {0}")]
    Storage(u32),
    /// The call did not end before its deadline; it may still take effect.
    #[error("did not end before its deadline")]
    TimedOut,
    /// The system returned something that contradicts its documentation.
    #[error("malformed answer: {0}")]
    Malformed(String),
    /// The call was not made, as one on the same object has been under way for long.
    #[error("does not answer: a call from before has not ended")]
    NotAnswering,
    /// This node has no such facility.
    #[error("not available on this node: {0}")]
    Unavailable(&'static str),
}

impl From<Win32> for Cause {
    fn from(code: Win32) -> Self {
        Self::Win32(code)
    }
}

impl From<Hresult> for Cause {
    fn from(code: Hresult) -> Self {
        Self::Hresult(code)
    }
}

/// A Win32 error code, with Microsoft's English text for those that matter here.
///
/// Source: <https://learn.microsoft.com/windows/win32/debug/system-error-codes>.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Win32(pub u32);

macro_rules! win32_codes {
    ($($name:ident = $code:literal, $text:literal;)*) => {
        #[allow(missing_docs, reason = "each constant is a documented Windows name and carries its text")]
        impl Win32 {
            $(pub const $name: Self = Self($code);)*

            /// Microsoft's English text of the code, where we carry it.
            #[must_use]
            pub fn text(self) -> Option<&'static str> {
                match self.0 {
                    $($code => Some($text),)*
                    _ => None,
                }
            }
        }
    };
}

win32_codes! {
    INVALID_FUNCTION = 1, "Incorrect function.";
    FILE_NOT_FOUND = 2, "The system cannot find the file specified.";
    PATH_NOT_FOUND = 3, "The system cannot find the path specified.";
    ACCESS_DENIED = 5, "Access is denied.";
    INVALID_HANDLE = 6, "The handle is invalid.";
    NOT_ENOUGH_MEMORY = 8, "Not enough memory resources are available to process this command.";
    OUTOFMEMORY = 14, "Not enough memory resources are available to complete this operation.";
    WRITE_PROTECT = 19, "The media is write protected.";
    NOT_READY = 21, "The device is not ready.";
    SECTOR_NOT_FOUND = 27, "The drive cannot find the sector requested.";
    GEN_FAILURE = 31, "A device attached to the system is not functioning.";
    SHARING_VIOLATION = 32, "The process cannot access the file because it is being used by another process.";
    HANDLE_EOF = 38, "Reached the end of the file.";
    NOT_SUPPORTED = 50, "The request is not supported.";
    REM_NOT_LIST = 51, "Windows cannot find the network path. Verify that the network path is correct and the destination computer is not busy or turned off. If Windows still cannot find the network path, contact your network administrator.";
    BAD_NETPATH = 53, "The network path was not found.";
    NETWORK_BUSY = 54, "The network is busy.";
    UNEXP_NET_ERR = 59, "An unexpected network error occurred.";
    NETNAME_DELETED = 64, "The specified network name is no longer available.";
    NETWORK_ACCESS_DENIED = 65, "Network access is denied.";
    BAD_NET_NAME = 67, "The network name cannot be found.";
    SHARING_PAUSED = 70, "The remote server has been paused or is in the process of being started.";
    REQ_NOT_ACCEP = 71, "No more connections can be made to this remote computer at this time because there are already as many connections as the computer can accept.";
    FILE_EXISTS = 80, "The file exists.";
    ALREADY_ASSIGNED = 85, "The local device name is already in use.";
    INVALID_PASSWORD = 86, "The specified network password is not correct.";
    INVALID_PARAMETER = 87, "The parameter is incorrect.";
    DISK_FULL = 112, "There is not enough space on the disk.";
    CALL_NOT_IMPLEMENTED = 120, "This function is not supported on this system.";
    SEM_TIMEOUT = 121, "The semaphore timeout period has expired.";
    INVALID_NAME = 123, "The filename, directory name, or volume label syntax is incorrect.";
    DIR_NOT_EMPTY = 145, "The directory is not empty.";
    BUSY = 170, "The requested resource is in use.";
    ALREADY_EXISTS = 183, "Cannot create a file when that file already exists.";
    FILENAME_EXCED_RANGE = 206, "The filename or extension is too long.";
    MORE_DATA = 234, "More data is available.";
    DIRECTORY = 267, "The directory name is invalid.";
    UNRECOGNIZED_VOLUME = 1005, "The volume does not contain a recognized file system. Please make sure that all required file system drivers are loaded and that the volume is not corrupted.";
    FILE_INVALID = 1006, "The volume for a file has been externally altered so that the opened file is no longer valid.";
    NO_SUCH_SERVICE = 1060, "The specified service does not exist as an installed service.";
    SERVICE_ALREADY_RUNNING = 1056, "An instance of the service is already running.";
    SERVICE_CANNOT_ACCEPT_CTRL = 1061, "The service cannot accept control messages at this time.";
    SERVICE_NOT_ACTIVE = 1062, "The service has not been started.";
    DEPENDENT_SERVICES_RUNNING = 1051, "A stop control has been sent to a service that other running services are dependent on.";
    SERVICE_DISABLED = 1058, "The service cannot be started, either because it is disabled or because it has no enabled devices associated with it.";
    SHUTDOWN_IN_PROGRESS = 1115, "A system shutdown is in progress.";
    IO_DEVICE = 1117, "The request could not be performed because of an I/O device error.";
    DEVICE_NOT_CONNECTED = 1167, "The device is not connected.";
    NOT_FOUND = 1168, "Element not found.";
    CANT_ACCESS_FILE = 1920, "The file cannot be accessed by the system.";
    CANT_RESOLVE_FILENAME = 1921, "The name of the file cannot be resolved by the system.";
    NO_SUCH_DEVICE = 433, "A device which does not exist was specified.";
    SESSION_CREDENTIAL_CONFLICT = 1219, "Multiple connections to a server or shared resource by the same user, using more than one user name, are not allowed. Disconnect all previous connections to the server or shared resource and try again.";
    NO_NETWORK = 1222, "The network is not present or not started.";
    CONNECTION_REFUSED = 1225, "The remote computer refused the network connection.";
    NETWORK_UNREACHABLE = 1231, "The network location cannot be reached. For information about network troubleshooting, see Windows Help.";
    HOST_UNREACHABLE = 1232, "The network location cannot be reached. For information about network troubleshooting, see Windows Help.";
    PROTOCOL_UNREACHABLE = 1233, "The network location cannot be reached. For information about network troubleshooting, see Windows Help.";
    PORT_UNREACHABLE = 1234, "No service is operating at the destination network endpoint on the remote system.";
    CONNECTION_ABORTED = 1236, "The network connection was aborted by the local system.";
    NOT_AUTHENTICATED = 1244, "The operation being requested was not performed because the user has not been authenticated.";
    HOST_DOWN = 1256, "The remote system is not available. For information about network troubleshooting, see Windows Help.";
    NO_LOGON_SERVERS = 1311, "There are currently no logon servers available to service the logon request.";
    NO_SUCH_LOGON_SESSION = 1312, "A specified logon session does not exist. It may already have been terminated.";
    LOGON_FAILURE = 1326, "The user name or password is incorrect.";
    ACCOUNT_RESTRICTION = 1327, "Account restrictions are preventing this user from signing in. For example: blank passwords aren't allowed, sign-in times are limited, or a policy restriction has been enforced.";
    INVALID_LOGON_HOURS = 1328, "Your account has time restrictions that keep you from signing in right now.";
    INVALID_WORKSTATION = 1329, "This user isn't allowed to sign in to this computer.";
    PASSWORD_EXPIRED = 1330, "The password for this account has expired.";
    ACCOUNT_DISABLED = 1331, "This user can't sign in because this account is currently disabled.";
    NO_SYSTEM_RESOURCES = 1450, "Insufficient system resources exist to complete the requested service.";
    COMMITMENT_LIMIT = 1455, "The paging file is too small for this operation to complete.";
    INTERNAL_ERROR = 1359, "An internal error occurred.";
    TIMEOUT = 1460, "This operation returned because the timeout period expired.";
    ACCOUNT_EXPIRED = 1793, "The user's account has expired.";
    PASSWORD_MUST_CHANGE = 1907, "The user's password must be changed before signing in.";
    ACCOUNT_LOCKED_OUT = 1909, "The referenced account is currently locked out and may not be logged on to.";
    NOT_CONNECTED = 2250, "This network connection does not exist.";
    OPEN_FILES = 2401, "This network connection has files open or requests pending.";
    DEVICE_IN_USE = 2404, "The device is in use by an active process and cannot be disconnected.";
    NOT_A_REPARSE_POINT = 4390, "The file or directory is not a reparse point.";
    INVALID_REPARSE_DATA = 4392, "The data present in the reparse point buffer is invalid.";
    REPARSE_TAG_MISMATCH = 4394, "There is a mismatch between the tag specified in the request and the tag present in the reparse point.";
    REPARSE_TAG_INVALID = 4393, "The tag present in the reparse point buffer is invalid.";
    REPARSE_POINT_ENCOUNTERED = 4395, "The object manager encountered a reparse point while retrieving an object.";
}

impl fmt::Display for Win32 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.text() {
            Some(text) => f.write_str(text),
            None => write!(f, "Windows error {}", self.0),
        }
    }
}

impl fmt::Debug for Win32 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Win32({})", self.0)
    }
}

/// A COM or WMI result code, with an English text for those that operators meet.
///
/// Source of the names: <https://learn.microsoft.com/windows/win32/wmisdk/wmi-error-constants>. The texts are
/// our words.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hresult(pub u32);

macro_rules! hresults {
    ($($name:ident = $code:literal, $text:literal;)*) => {
        #[allow(missing_docs, reason = "each constant is a documented Windows name and carries its text")]
        impl Hresult {
            $(pub const $name: Self = Self($code);)*

            /// An English text of the code, where we carry it: ours, or of a Win32 code in it Microsoft's.
            #[must_use]
            pub fn text(self) -> Option<&'static str> {
                match self.0 {
                    $($code => Some($text),)*
                    _ => self.win32()?.text(),
                }
            }
        }
    };
}

hresults! {
    WBEM_E_FAILED = 0x8004_1001, "WMI failed and does not say why";
    WBEM_E_NOT_FOUND = 0x8004_1002, "not found";
    WBEM_E_ACCESS_DENIED = 0x8004_1003, "access denied";
    WBEM_E_PROVIDER_FAILURE = 0x8004_1004, "the provider failed and does not say why";
    WBEM_E_TYPE_MISMATCH = 0x8004_1005, "a value has the wrong type";
    WBEM_E_OUT_OF_MEMORY = 0x8004_1006, "WMI is out of memory";
    WBEM_E_INVALID_PARAMETER = 0x8004_1008, "a parameter is wrong or missing";
    WBEM_E_NOT_SUPPORTED = 0x8004_100C, "not supported";
    WBEM_E_INVALID_NAMESPACE = 0x8004_100E, "this node has no such WMI namespace";
    WBEM_E_INVALID_CLASS = 0x8004_1010, "this node has no such WMI class";
    WBEM_E_PROVIDER_NOT_FOUND = 0x8004_1011, "the class names a provider that this node does not have";
    WBEM_E_PROVIDER_LOAD_FAILURE = 0x8004_1013, "the provider cannot be loaded";
    WBEM_E_INITIALIZATION_FAILURE = 0x8004_1014, "WMI or the provider did not start";
    WBEM_E_TRANSPORT_FAILURE = 0x8004_1015, "the connection to WMI broke";
    WBEM_E_INVALID_QUERY = 0x8004_1017, "the query does not parse or names an unknown property";
    WBEM_E_PROVIDER_NOT_CAPABLE = 0x8004_1024, "the provider does not do this";
    WBEM_E_INVALID_METHOD = 0x8004_102E, "the class has no such method";
    WBEM_E_INVALID_METHOD_PARAMETERS = 0x8004_102F, "the method has no such parameter, or of another type";
    WBEM_E_CALL_CANCELLED = 0x8004_1032, "the call was cancelled";
    WBEM_E_SHUTTING_DOWN = 0x8004_1033, "WMI is being shut down";
    RPC_S_SERVER_UNAVAILABLE = 0x8007_06BA, "the service behind the call is not reached";
    RPC_S_CALL_FAILED = 0x8007_06BE, "the service behind the call went away during it";
}

impl Hresult {
    /// The Win32 code of a failure of `FACILITY_WIN32` (`HRESULT_FROM_WIN32`,
    /// <https://learn.microsoft.com/windows/win32/api/winerror/nf-winerror-hresult_from_win32>); or a Win32 code that
    /// a provider returned as it is. The iSCSI initiator fails with 0x54f, which is `ERROR_INTERNAL_ERROR`.
    #[must_use]
    pub fn win32(self) -> Option<Win32> {
        let has_code = self.0 >> 16 == 0x8007 || self.is_bare();
        has_code.then_some(Win32(self.0 & 0xFFFF))
    }

    /// Whether a call that ended with this failed: the highest bit is set, or it is a plain Win32 code. The only
    /// successes without a facility are `S_OK` and `S_FALSE`.
    #[must_use]
    pub fn is_failure(self) -> bool {
        self.0 >> 31 == 1 || self.is_bare()
    }

    fn is_bare(self) -> bool {
        (2..=0xFFFF).contains(&self.0)
    }
}

impl fmt::Display for Hresult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.text() {
            Some(text) => write!(f, "{text} (HRESULT 0x{:08X})", self.0),
            None => write!(f, "HRESULT 0x{:08X}", self.0),
        }
    }
}

impl fmt::Debug for Hresult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hresult(0x{:08X})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{Error, Hresult, Win32};

    fn win32(code: u32) -> Option<Win32> {
        Error::new("ExecMethod", "x", Hresult(code)).win32()
    }

    #[test]
    fn an_hresult_of_win32s_tells_its_code() {
        assert_eq!(win32(0x8007_04C3), Some(Win32::SESSION_CREDENTIAL_CONFLICT));
        assert_eq!(win32(0x0007_0005), None);
        assert_eq!(win32(0x54F), Some(Win32::INTERNAL_ERROR));
        assert_eq!((win32(0), win32(1)), (None, None));
        assert_eq!(win32(Hresult::WBEM_E_ACCESS_DENIED.0), None);
        assert!(Error::new("ExecMethod", "x", Hresult(0x8007_0002)).is_not_found());
    }

    #[test]
    fn a_win32_code_without_a_facility_is_a_failure_and_no_success_is() {
        for failed in [2, 0x54F, 0xFFFF, 0x8004_1001, 0xEFFF_003E] {
            assert!(Hresult(failed).is_failure(), "{failed:#x}");
        }
        // S_OK, S_FALSE, WBEM_S_TIMEDOUT, a code of Win32's facility that is a success.
        for good in [0, 1, 0x0004_0004, 0x0007_0005] {
            assert!(!Hresult(good).is_failure(), "{good:#x}");
        }
    }

    #[test]
    fn an_hresult_is_told_in_words_and_by_its_code() {
        let system_text = |code| Hresult(code).to_string();
        assert_eq!(system_text(0x8004_1002), "not found (HRESULT 0x80041002)");
        assert_eq!(
            system_text(0x8004_1013),
            "the provider cannot be loaded (HRESULT 0x80041013)"
        );
        assert_eq!(
            system_text(0x8007_045B),
            "A system shutdown is in progress. (HRESULT 0x8007045B)"
        );
        assert_eq!(system_text(0xEFFF_0029), "HRESULT 0xEFFF0029");
    }
}
