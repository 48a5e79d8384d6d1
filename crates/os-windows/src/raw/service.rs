//! Services by the service control manager.

// UNSAFETY: handles come from and go to foreign functions; these fill buffers of ours with
// structures that point into the same buffers.
#![expect(unsafe_code)]

use std::ffi::OsString;
use std::{ptr, slice};

use os::{Cause, Win32};
use windows_sys::Win32::System::Services::{
    CloseServiceHandle, ControlService, ENUM_SERVICE_STATUSW, EnumDependentServicesW,
    OpenSCManagerW, OpenServiceW, QUERY_SERVICE_CONFIGW, QueryServiceConfigW, QueryServiceStatusEx,
    SC_HANDLE, SC_MANAGER_CONNECT, SC_STATUS_PROCESS_INFO, SERVICE_ACTIVE, SERVICE_CONTROL_STOP,
    SERVICE_ENUMERATE_DEPENDENTS, SERVICE_QUERY_CONFIG, SERVICE_QUERY_STATUS, SERVICE_START,
    SERVICE_STATUS, SERVICE_STATUS_PROCESS, SERVICE_STOP, StartServiceW,
};

use super::handle::size_of_u32;
use super::{last_error, outcome};
use crate::wide::{self, Wide};

/// The purpose of an open service: only its rights are requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To list its dependents.
    ListDependents,
    /// To query its configuration and state.
    Query,
    /// To start it.
    Start,
    /// To stop it.
    Stop,
}

impl Purpose {
    fn access(self) -> u32 {
        match self {
            Self::ListDependents => SERVICE_ENUMERATE_DEPENDENTS,
            Self::Query => SERVICE_QUERY_CONFIG | SERVICE_QUERY_STATUS,
            Self::Start => SERVICE_START,
            Self::Stop => SERVICE_STOP,
        }
    }
}

/// An open service.
pub(crate) struct Service(Handle);

/// The wanted parts of `QueryServiceConfigW`'s answer.
pub(crate) struct Config {
    /// `dwStartType`.
    pub(crate) start_type: u32,
    pub(crate) display_name: OsString,
    /// `lpBinaryPathName`.
    pub(crate) command: OsString,
}

impl Service {
    /// Opens the service of a name (`OpenServiceW`).
    pub(crate) fn open(name: &Wide, purpose: Purpose) -> Result<Self, Win32> {
        // SAFETY: no machine is this one, no database the active one.
        let manager =
            Handle::of(unsafe { OpenSCManagerW(ptr::null(), ptr::null(), SC_MANAGER_CONNECT) })?;
        // SAFETY: the manager is open, and the name ends in a NUL and outlives the call.
        Handle::of(unsafe { OpenServiceW(manager.0, name.as_ptr(), purpose.access()) }).map(Self)
    }

    /// `QueryServiceConfigW`; its answer has at most 8 KiB.
    ///
    /// <https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-queryserviceconfigw>
    pub(crate) fn config(&self) -> Result<Config, Cause> {
        let mut buffer = Buffer::of_bytes(8 * 1024)?;
        let mut needed = 0;
        // SAFETY: the handle is open, and the buffer is as long as we say and aligned for any of
        // the structures of this module.
        outcome(unsafe {
            let config = buffer.as_mut_ptr().cast::<QUERY_SERVICE_CONFIGW>();
            QueryServiceConfigW(self.0.0, config, buffer.length, &raw mut needed)
        })?;
        let config: &QUERY_SERVICE_CONFIGW = buffer.first()?;
        Ok(Config {
            start_type: config.dwStartType,
            display_name: buffer.text(config.lpDisplayName)?,
            command: buffer.text(config.lpBinaryPathName)?,
        })
    }

    /// `dwCurrentState` (`QueryServiceStatusEx`).
    pub(crate) fn state(&self) -> Result<u32, Win32> {
        let mut status = SERVICE_STATUS_PROCESS::default();
        let mut needed = 0;
        // SAFETY: the handle is open, and the level fills a structure of exactly this type and size.
        outcome(unsafe {
            QueryServiceStatusEx(
                self.0.0,
                SC_STATUS_PROCESS_INFO,
                ptr::from_mut(&mut status).cast(),
                size_of_u32::<SERVICE_STATUS_PROCESS>(),
                &raw mut needed,
            )
        })?;
        Ok(status.dwCurrentState)
    }

    /// The names of its dependents that are not stopped (`EnumDependentServicesW`).
    pub(crate) fn running_dependents(&self) -> Result<Vec<OsString>, Cause> {
        let mut room = USUAL_LIST;
        for _ in 0..ATTEMPTS {
            let mut buffer = Buffer::of_bytes(room)?;
            match self.list_dependents(&mut buffer) {
                (count, _, Ok(())) => return buffer.names(count),
                (_, needed, Err(Win32::MORE_DATA)) => {
                    room = next_room(room, needed);
                }
                (_, _, Err(code)) => return Err(code.into()),
            }
        }
        Err(Win32::MORE_DATA.into())
    }

    /// How many were listed, and with [`Win32::MORE_DATA`] how many bytes are needed: see [`next_room`].
    fn list_dependents(&self, buffer: &mut Buffer) -> (u32, u32, Result<(), Win32>) {
        let (mut count, mut needed) = (0, 0);
        // SAFETY: the handle is open, and the buffer is as long as we say and aligned for any of
        // the structures of this module.
        let answer = unsafe {
            EnumDependentServicesW(
                self.0.0,
                SERVICE_ACTIVE,
                buffer.as_mut_ptr().cast(),
                buffer.length,
                &raw mut needed,
                &raw mut count,
            )
        };
        (count, needed, outcome(answer))
    }

    /// `StartServiceW`.
    pub(crate) fn start(&self) -> Result<(), Win32> {
        // SAFETY: the handle is open, and no arguments are announced.
        outcome(unsafe { StartServiceW(self.0.0, 0, ptr::null()) })
    }

    /// `ControlService` with `SERVICE_CONTROL_STOP`.
    pub(crate) fn stop(&self) -> Result<(), Win32> {
        let mut status = SERVICE_STATUS::default();
        // SAFETY: the handle is open, and the structure is ours.
        outcome(unsafe { ControlService(self.0.0, SERVICE_CONTROL_STOP, &raw mut status) })
    }
}

/// The most retries for a list that grew since its length was read.
const ATTEMPTS: usize = 4;

/// Room for the dependents of most services.
const USUAL_LIST: u32 = 16 * 1024;

/// The longest buffer in the manager's protocol. The function's own page limits the list to 64,000 bytes.
///
/// <https://learn.microsoft.com/openspecs/windows_protocols/ms-scmr/6269bea8-9dd3-4092-bd33-67cec685d38e>,
/// <https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-enumdependentservicesw>
const LONGEST_LIST: u32 = 256 * 1024;

/// Room enough, whether `needed` is for the whole list or for the rest: the two pages disagree, and neither case has
/// been seen.
fn next_room(room: u32, needed: u32) -> u32 {
    room.saturating_add(needed).min(LONGEST_LIST)
}

/// A handle of the service control manager. It closes with its value.
struct Handle(SC_HANDLE);

impl Handle {
    /// A call's result, with null as its failure. To be called right after it.
    fn of(answer: SC_HANDLE) -> Result<Self, Win32> {
        if answer.is_null() {
            return Err(last_error());
        }
        Ok(Self(answer))
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the handle is open, and this is its end. A failure leaves nothing to be done.
        unsafe { CloseServiceHandle(self.0) };
    }
}

/// Memory that calls fill with structures and, behind them, the structures' texts.
struct Buffer {
    /// Words, for the alignment of pointers.
    words: Vec<u64>,
    length: u32,
}

/// The structures in a [`Buffer`].
///
/// # Safety
/// Any bits are a value of the type, and `u64` is aligned for it.
unsafe trait Plain {}

// SAFETY: the structure has integers and raw pointers alone.
unsafe impl Plain for ENUM_SERVICE_STATUSW {}
// SAFETY: the structure has integers and raw pointers alone.
unsafe impl Plain for QUERY_SERVICE_CONFIGW {}

impl Buffer {
    fn of_bytes(length: u32) -> Result<Self, Win32> {
        let bytes = usize::try_from(length).map_err(|_| Win32::INVALID_PARAMETER)?;
        let words = vec![0; bytes.div_ceil(size_of::<u64>())];
        Ok(Self { words, length })
    }

    fn as_mut_ptr(&mut self) -> *mut u64 {
        self.words.as_mut_ptr()
    }

    /// The names of this many services.
    fn names(&self, count: u32) -> Result<Vec<OsString>, Cause> {
        let services = self.structures::<ENUM_SERVICE_STATUSW>(count)?;
        let names = services
            .iter()
            .map(|service| self.text(service.lpServiceName));
        names.collect()
    }

    fn first<T: Plain>(&self) -> Result<&T, Cause> {
        let structures = self.structures(1)?;
        structures.first().ok_or_else(malformed)
    }

    /// The structures at its start.
    fn structures<T: Plain>(&self, count: u32) -> Result<&[T], Cause> {
        let count = usize::try_from(count).map_err(|_| malformed())?;
        let bytes = count.checked_mul(size_of::<T>()).ok_or_else(malformed)?;
        if bytes > self.words.len() * size_of::<u64>() {
            return Err(malformed());
        }
        // SAFETY: the words are initialised, there are as many bytes as just checked, they stay
        // unchanged as long as they are borrowed, and `Plain` promises the rest.
        Ok(unsafe { slice::from_raw_parts(self.words.as_ptr().cast(), count) })
    }

    /// A structure's text, at an address that must lie in the buffer: the pointer itself is not followed.
    fn text(&self, at: *const u16) -> Result<OsString, Cause> {
        let distance = at.addr().checked_sub(self.words.as_ptr().addr());
        let unit = distance
            .filter(|distance| distance.is_multiple_of(size_of::<u16>()))
            .map(|distance| distance / size_of::<u16>());
        let units = self.units();
        let text = unit.and_then(|unit| units.get(unit..));
        let text = text.filter(|text| text.contains(&0));
        Ok(wide::text(text.ok_or_else(malformed)?))
    }

    fn units(&self) -> &[u16] {
        let count = self.words.len() * (size_of::<u64>() / size_of::<u16>());
        // SAFETY: words are initialised, aligned for units, and have this many of them.
        unsafe { slice::from_raw_parts(self.words.as_ptr().cast(), count) }
    }
}

fn malformed() -> Cause {
    Cause::Malformed("a structure that leaves its buffer".to_owned())
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use windows_sys::Win32::System::Services::ENUM_SERVICE_STATUSW;

    use super::{Buffer, LONGEST_LIST, next_room};

    #[test]
    fn the_next_room_holds_the_list_and_the_rest_of_it() {
        assert_eq!(next_room(16, 40), 56);
        assert_eq!(next_room(16, 0), 16);
        for (room, needed) in [(LONGEST_LIST, 1), (16, u32::MAX), (u32::MAX, u32::MAX)] {
            assert_eq!(next_room(room, needed), LONGEST_LIST);
        }
    }

    fn buffer() -> Buffer {
        let mut buffer = Buffer::of_bytes(24).unwrap();
        buffer.words = vec![0, 0x0062_0061, u64::MAX];
        buffer
    }

    #[test]
    fn texts_are_read_within_their_buffer_alone() {
        let buffer = buffer();
        let start = buffer.words.as_ptr().cast::<u16>();
        let text = |unit| buffer.text(start.wrapping_add(unit)).ok();
        assert_eq!(text(4), Some("ab".into()));
        assert_eq!(text(0), Some("".into()));
        assert_eq!(text(8), None, "no NUL before the end");
        assert_eq!(text(12), None, "behind the end");
        assert_eq!(text(usize::MAX / 2), None);
        assert!(buffer.text(ptr::null()).is_err());
        let odd = start.cast::<u8>().wrapping_add(9).cast();
        assert!(buffer.text(odd).is_err());
    }

    #[test]
    fn structures_are_no_more_than_fit() {
        let mut buffer = buffer();
        let room = buffer.words.len() * 8 / size_of::<ENUM_SERVICE_STATUSW>();
        assert_eq!(room, 0);
        buffer
            .words
            .resize(3 * size_of::<ENUM_SERVICE_STATUSW>() / 8, 0);
        for (count, fits) in [(0, true), (3, true), (4, false), (u32::MAX, false)] {
            let found = buffer.structures::<ENUM_SERVICE_STATUSW>(count);
            assert_eq!(found.is_ok(), fits, "{count}");
        }
    }
}
