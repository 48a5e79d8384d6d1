//! A thread's membership in the process's multithreaded apartment.

// UNSAFETY: COM is entered and left by foreign functions.
#![expect(unsafe_code)]

use std::marker::PhantomData;

use windows::Win32::System::Com::{COINIT_MULTITHREADED, CoInitializeEx, CoUninitialize};

use super::Called;
use super::failure::fault;

/// As long as this lives, the thread may call COM. It cannot leave the thread; the thread's COM
/// values have to be dropped before.
pub(in crate::wmi) struct Apartment(PhantomData<*const ()>);

impl Apartment {
    /// Enters (`CoInitializeEx`).
    pub(in crate::wmi) fn enter() -> Called<Self> {
        // SAFETY: no preconditions; it is balanced by the call in `drop`, even if the thread had
        // entered before.
        let entered = unsafe { CoInitializeEx(None, COINIT_MULTITHREADED) };
        entered.ok().map_err(fault)?;
        Ok(Self(PhantomData))
    }
}

impl Drop for Apartment {
    fn drop(&mut self) {
        // SAFETY: this thread entered, and leaves once for it.
        unsafe { CoUninitialize() };
    }
}
