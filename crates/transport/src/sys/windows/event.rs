//! Events, and waiting for several of them.

// UNSAFETY: events are made, set and waited for through Win32 alone; there is no safe API.
#![expect(unsafe_code)]

use std::marker::PhantomData;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle, RawHandle};
use std::{io, ptr};

use windows_sys::Win32::Foundation::{HANDLE, WAIT_FAILED, WAIT_OBJECT_0, WAIT_TIMEOUT};
use windows_sys::Win32::System::Threading::{
    CreateEventW, GetCurrentThread, GetThreadIOPendingFlag, INFINITE, SetEvent,
    WaitForMultipleObjects,
};

/// An event without a name.
#[derive(Debug)]
pub(super) struct Event(OwnedHandle);

impl Event {
    pub(super) fn manual_reset() -> io::Result<Self> {
        Self::new(1)
    }

    pub(super) fn auto_reset() -> io::Result<Self> {
        Self::new(0)
    }

    fn new(manual_reset: i32) -> io::Result<Self> {
        // SAFETY: all pointers may be null; the handle is checked before it is owned.
        let handle = unsafe { CreateEventW(ptr::null(), manual_reset, 0, ptr::null()) };
        if handle.is_null() {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the handle was just made and belongs to nobody else.
        Ok(Self(unsafe { OwnedHandle::from_raw_handle(handle) }))
    }

    pub(super) fn set(&self) {
        // SAFETY: the handle is open as long as `self` is. SetEvent fails for a bad handle alone.
        unsafe { SetEvent(self.raw()) };
    }

    pub(super) fn raw(&self) -> RawHandle {
        self.0.as_raw_handle()
    }
}

/// MAXIMUM_WAIT_OBJECTS: the most handles of one Win32 wait.
const MOST: usize = 64;

/// Events to be waited for together, at most [`MOST`].
pub(super) struct WaitSet<'a> {
    handles: [HANDLE; MOST],
    /// The place at which each was added, missing ones counted.
    places: [usize; MOST],
    count: usize,
    added: usize,
    _events: PhantomData<&'a Event>,
}

impl<'a> WaitSet<'a> {
    pub(super) fn new() -> Self {
        Self {
            handles: [ptr::null_mut(); MOST],
            places: [0; MOST],
            count: 0,
            added: 0,
            _events: PhantomData,
        }
    }

    /// Adds an event, or a place without one.
    pub(super) fn add(&mut self, event: Option<&'a Event>) {
        if let Some(event) = event {
            self.handles[self.count] = event.raw();
            self.places[self.count] = self.added;
            self.count += 1;
        }
        self.added += 1;
    }

    /// Waits at most `timeout` milliseconds; the first place with its event set.
    pub(super) fn wait(&self, timeout: Option<u32>) -> io::Result<Option<usize>> {
        let count = u32::try_from(self.count).expect("at most 64");
        let timeout = timeout.unwrap_or(INFINITE);
        // SAFETY: the first `count` handles are open events, borrowed for longer than this call.
        let result = unsafe { WaitForMultipleObjects(count, self.handles.as_ptr(), 0, timeout) };
        match result {
            WAIT_TIMEOUT => Ok(None),
            WAIT_FAILED => Err(io::Error::last_os_error()),
            index => {
                let index = usize::try_from(index - WAIT_OBJECT_0).expect("u32 fits");
                Ok(self.places.get(index).copied())
            }
        }
    }
}

/// Whether this thread may end: Windows cancels the pending operations of an ending thread, so a thread with a parked
/// connection's read stays
/// (<https://learn.microsoft.com/windows/win32/api/processthreadsapi/nf-processthreadsapi-getthreadiopendingflag>).
pub(crate) fn thread_may_end() -> bool {
    let mut pending = 0;
    // SAFETY: the pseudo handle of the current thread is always valid, `pending` outlives the call.
    let known = unsafe { GetThreadIOPendingFlag(GetCurrentThread(), &raw mut pending) };
    known != 0 && pending == 0
}
