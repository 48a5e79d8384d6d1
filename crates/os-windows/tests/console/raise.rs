//! Control events as a process gets them.

// UNSAFETY: a function of the system is looked up by its name and a library is loaded, for the tests alone.
#![expect(unsafe_code)]

use std::ffi::c_void;
use std::mem;

use windows_sys::Win32::System::LibraryLoader::GetModuleHandleW;
use windows_sys::Win32::System::LibraryLoader::GetProcAddress;
use windows_sys::Win32::System::LibraryLoader::LoadLibraryW;
use windows_sys::core::w;

type CtrlRoutine = unsafe extern "system" fn(*mut c_void) -> u32;

/// Enters the function that the system begins its thread for a control event with. Container runtimes
/// begin a thread there too, to ask a program to end.
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
    // SAFETY: its argument is the event, as a number.
    unsafe { routine(std::ptr::without_provenance_mut(event)) };
}

/// Loads what makes windows.
pub(crate) fn load_user32() -> bool {
    // SAFETY: the text ends in a NUL, and the library is the system's own.
    !unsafe { LoadLibraryW(w!("user32.dll")) }.is_null()
}
