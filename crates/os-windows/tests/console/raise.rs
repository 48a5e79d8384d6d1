//! Control events as a process gets them.

// UNSAFETY: a function of the system is looked up by its name a thread begun there and a library loaded, for the tests alone.
#![expect(unsafe_code)]

use std::ffi::c_void;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::{mem, ptr};

use windows_sys::Win32::System::LibraryLoader::{GetModuleHandleW, GetProcAddress, LoadLibraryW};
use windows_sys::Win32::System::Threading::{CreateThread, INFINITE, WaitForSingleObject};
use windows_sys::core::w;

/// Begins a thread at the system's own function for control events, as container runtimes do to end a program, and
/// waits for its end. Windows's function ends its thread and never returns; so no thread of ours may call it.
///
/// <https://github.com/microsoft/hcsshim/blob/main/internal/jobcontainers/process.go>
pub(crate) fn raise(event: usize) {
    // SAFETY: both texts end in a NUL, and the module is part of every process.
    let found = unsafe {
        GetProcAddress(
            GetModuleHandleW(w!("kernel32.dll")),
            c"CtrlRoutine".as_ptr().cast(),
        )
    };
    let Some(routine) = found else {
        return println!("no CtrlRoutine");
    };
    // SAFETY: the function begins threads, so this is its type.
    let routine =
        unsafe { mem::transmute::<unsafe extern "system" fn() -> isize, CtrlRoutine>(routine) };
    // SAFETY: the routine stays loaded, and its argument is the event, as a number.
    let thread = unsafe {
        CreateThread(
            ptr::null(),
            0,
            Some(routine),
            ptr::without_provenance(event),
            0,
            ptr::null_mut(),
        )
    };
    if thread.is_null() {
        return println!("no thread");
    }
    // SAFETY: the handle is open, and nobody else has it.
    let thread = unsafe { OwnedHandle::from_raw_handle(thread) };
    // SAFETY: the handle is open during the call.
    unsafe { WaitForSingleObject(thread.as_raw_handle(), INFINITE) };
}

type CtrlRoutine = unsafe extern "system" fn(*mut c_void) -> u32;

/// Loads user32.dll.
pub(crate) fn load_user32() -> bool {
    // SAFETY: the text ends in a NUL, and the library is the system's own.
    !unsafe { LoadLibraryW(w!("user32.dll")) }.is_null()
}
