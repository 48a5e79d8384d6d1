//! Sockets, to find out the kinds available.

// UNSAFETY: a socket is made and closed by foreign functions, between the start and the end of the library.
#![expect(unsafe_code)]

use os::Win32;
use windows_sys::Win32::Networking::WinSock::{
    AF_UNIX, INVALID_SOCKET, SOCK_STREAM, WSA_FLAG_NO_HANDLE_INHERIT, WSA_FLAG_OVERLAPPED,
    WSACleanup, WSADATA, WSAGetLastError, WSASocketW, WSAStartup, closesocket,
};

/// Makes a Unix socket, and closes it (`WSASocketW`).
///
/// <https://learn.microsoft.com/windows/win32/api/winsock2/nf-winsock2-wsasocketw>
pub(crate) fn make_unix() -> Result<(), Win32> {
    let _library = Library::start()?;
    // SAFETY: the library has started; no provider is named and no group.
    let socket = unsafe {
        WSASocketW(
            AF_UNIX.into(),
            SOCK_STREAM,
            0,
            std::ptr::null(),
            0,
            WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT,
        )
    };
    if socket == INVALID_SOCKET {
        return Err(last_error());
    }
    // SAFETY: the socket is open, and this is its end. A failure leaves nothing to be done.
    unsafe { closesocket(socket) };
    Ok(())
}

/// Sockets can be made while this lives; the system counts the users.
struct Library;

/// The version of the library's interface, 2.2.
const VERSION: u16 = 0x0202;

impl Library {
    /// `WSAStartup`.
    fn start() -> Result<Self, Win32> {
        let mut about = WSADATA::default();
        // SAFETY: the structure is ours and outlives the call.
        match unsafe { WSAStartup(VERSION, &raw mut about) } {
            0 => Ok(Self),
            code => Err(Win32(code.cast_unsigned())),
        }
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: balances the start.
        unsafe { WSACleanup() };
    }
}

fn last_error() -> Win32 {
    // SAFETY: the function has no preconditions.
    Win32(unsafe { WSAGetLastError() }.cast_unsigned())
}
