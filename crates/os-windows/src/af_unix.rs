use os::{AfUnix, Win32};

use crate::failure;
use crate::raw::socket;

/// The `afunix` driver, by the socket that it lets us make or not.
#[derive(Debug, Clone, Copy, Default)]
pub struct NativeAfUnix;

impl NativeAfUnix {
    /// The driver.
    #[must_use]
    pub fn new() -> Self {
        Self
    }
}

/// `WSAEAFNOSUPPORT`, 10047: what a Windows before 10.0.17063 answers, which has no such sockets
/// (<https://devblogs.microsoft.com/commandline/af_unix-comes-to-windows/>).
///
/// <https://learn.microsoft.com/windows/win32/winsock/windows-sockets-error-codes-2>
const NO_SUCH_FAMILY: Win32 = Win32(10047);

/// `WSAENETDOWN`: what is beneath the family has failed, says the page of the call. On Windows it has been seen with
/// sockets of this family where others worked (<https://github.com/libevent/libevent/pull/1625>); why, nobody found.
///
/// <https://learn.microsoft.com/windows/win32/api/winsock2/nf-winsock2-wsasocketw>
const NO_DRIVER: Win32 = Win32(10050);

impl AfUnix for NativeAfUnix {
    /// Any other failure is an error: what Windows answers while the driver is stopped, no page says, and a
    /// provider that cannot be loaded (`WSAEPROVIDERFAILEDINIT`) is no driver that is not there.
    fn is_available(&self) -> os::Result<bool> {
        match socket::make_unix() {
            Ok(()) => Ok(true),
            Err(NO_SUCH_FAMILY | NO_DRIVER) => Ok(false),
            Err(code) => Err(failure::error("WSASocketW", "AF_UNIX", code)),
        }
    }
}
