use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use os::{AfUnix, Cause, Win32};

use crate::failure;
use crate::raw::socket;

/// Sockets: the `afunix` driver, tested by making a socket, and TCP by connecting.
#[derive(Debug, Clone, Copy, Default)]
pub struct NativeAfUnix;

impl NativeAfUnix {
    #[must_use]
    pub fn new() -> Self {
        Self
    }
}

/// `WSAEAFNOSUPPORT`, 10047: the answer of Windows before 10.0.17063, without such sockets
/// (<https://devblogs.microsoft.com/commandline/af_unix-comes-to-windows/>).
///
/// <https://learn.microsoft.com/windows/win32/winsock/windows-sockets-error-codes-2>
const NO_SUCH_FAMILY: Win32 = Win32(10047);

/// `WSAENETDOWN`: the layer below the family has failed, by the call's page. It was seen on Windows with sockets of
/// this family while others worked (<https://github.com/libevent/libevent/pull/1625>); the cause is unknown.
///
/// <https://learn.microsoft.com/windows/win32/api/winsock2/nf-winsock2-wsasocketw>
const NO_DRIVER: Win32 = Win32(10050);

/// `WSAETIMEDOUT` and `WSAHOST_NOT_FOUND`: no answer in time, and a name without an address.
///
/// <https://learn.microsoft.com/windows/win32/winsock/windows-sockets-error-codes-2>
const NO_ANSWER: Win32 = Win32(10060);
const NO_SUCH_HOST: Win32 = Win32(11001);

impl AfUnix for NativeAfUnix {
    /// Any other failure is an error: Windows's answer with a stopped driver is not documented, and a provider that
    /// fails to load (`WSAEPROVIDERFAILEDINIT`) is not a missing driver.
    fn is_available(&self) -> os::Result<bool> {
        match socket::make_unix() {
            Ok(()) => Ok(true),
            Err(NO_SUCH_FAMILY | NO_DRIVER) => Ok(false),
            Err(code) => Err(failure::error("WSASocketW", "AF_UNIX", code)),
        }
    }

    /// `getaddrinfo`, and `connect` to each of its addresses: each has its share of the time that is left.
    fn connect(&self, host: &str, port: u16, within: Duration) -> os::Result<()> {
        let begun = Instant::now();
        let failed = |cause| failure::error("connect", format_args!("{host}:{port}"), cause);
        let addresses = (host, port).to_socket_addrs();
        let addresses = addresses.map_err(|error| failed(cause(&error)))?;
        let mut why = Cause::Win32(NO_SUCH_HOST);
        let count = u32::try_from(addresses.len()).unwrap_or(u32::MAX);
        for (remaining, address) in (1..=count).rev().zip(addresses) {
            let left = within.saturating_sub(begun.elapsed()) / remaining;
            if left.is_zero() {
                return Err(failed(NO_ANSWER.into()));
            }
            match TcpStream::connect_timeout(&address, left) {
                Ok(_) => return Ok(()),
                Err(error) => why = cause(&error),
            }
        }
        Err(failed(why))
    }
}

fn cause(error: &io::Error) -> Cause {
    if error.kind() == io::ErrorKind::TimedOut {
        return NO_ANSWER.into();
    }
    let code = error.raw_os_error().map(u32::try_from);
    match code {
        Some(Ok(code)) => Win32(code).into(),
        _ => Cause::Malformed(error.to_string()),
    }
}
