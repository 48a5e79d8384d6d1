//! The system's event log.

// UNSAFETY: events are written through foreign functions alone.
#![expect(unsafe_code)]

use std::ptr;

use os::{EventLevel, Win32};
use windows_sys::Win32::Foundation::HANDLE;
use windows_sys::Win32::System::EventLog::{
    DeregisterEventSource, EVENTLOG_ERROR_TYPE, EVENTLOG_INFORMATION_TYPE, EVENTLOG_WARNING_TYPE,
    RegisterEventSourceW, ReportEventW,
};

use super::{last_error, outcome};
use crate::wide::Wide;

/// A source of events, as the log knows it.
pub(crate) struct Source(HANDLE);

impl Source {
    /// Opens the log under a source's name (`RegisterEventSourceW`).
    pub(crate) fn open(name: &Wide) -> Result<Self, Win32> {
        // SAFETY: the name ends in a NUL and outlives the call; no server is this machine.
        let handle = unsafe { RegisterEventSourceW(ptr::null(), name.as_ptr()) };
        if handle.is_null() {
            return Err(last_error());
        }
        Ok(Self(handle))
    }

    /// Writes one event of one text (`ReportEventW`).
    pub(crate) fn report(&self, level: EventLevel, id: u32, text: &Wide) -> Result<(), Win32> {
        let kind = match level {
            EventLevel::Error => EVENTLOG_ERROR_TYPE,
            EventLevel::Information => EVENTLOG_INFORMATION_TYPE,
            EventLevel::Warning => EVENTLOG_WARNING_TYPE,
        };
        let texts = [text.as_ptr()];
        // SAFETY: the handle is open, there is one text as we say, it ends in a NUL and outlives the
        // call; no user and no data are announced.
        outcome(unsafe {
            ReportEventW(
                self.0,
                kind,
                0,
                id,
                ptr::null_mut(),
                1,
                0,
                texts.as_ptr(),
                ptr::null(),
            )
        })
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        // SAFETY: the handle is open and used no more.
        unsafe { DeregisterEventSource(self.0) };
    }
}
