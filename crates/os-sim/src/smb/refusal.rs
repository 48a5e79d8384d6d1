//! How a failure of the SMB classes reaches the caller.

use os::{Cause, Win32};

/// `ERROR_ALREADY_ASSIGNED`: the drive letter is in use.
pub(crate) const ALREADY_ASSIGNED: Win32 = Win32(85);
/// `ERROR_BAD_DEVICE`: no drive letter.
pub(crate) const BAD_DEVICE: Win32 = Win32(1200);
/// `WSAETIMEDOUT`, `WSAECONNREFUSED` and `WSAHOST_NOT_FOUND`: what `connect` ends with.
///
/// <https://learn.microsoft.com/windows/win32/winsock/windows-sockets-error-codes-2>
pub(crate) const NO_ANSWER: Win32 = Win32(10060);
pub(crate) const NOBODY_LISTENS: Win32 = Win32(10061);
pub(crate) const NO_SUCH_HOST: Win32 = Win32(11001);

/// The call fails, and its error object (`MSFT_WmiError`) carries the Win32 code: `New-SmbGlobalMapping`
/// reports `Windows System Error 53`, which is taken to be that object's `MessageID`, or made of its
/// `error_Type` and `error_Code`. The class table has no other return code than 0, and its row says that
/// this is unverified: should a node return the code instead, this is the one place to change.
pub(crate) fn refuse(code: Win32) -> Cause {
    Cause::Win32(code)
}
