//! Other processes: requests to end as from a container runtime, and their threads' names.

// UNSAFETY: a function of the system is looked up by its name and a thread begun at it, and a structure of ours, passed
// with its size, is filled.
#![expect(unsafe_code)]

use std::ffi::c_void;
use std::os::windows::io::{AsRawHandle as _, BorrowedHandle, FromRawHandle as _, OwnedHandle};
use std::{iter, ptr};

use os::{Error, Win32};
use windows_core::PCWSTR;
use windows_sys::Win32::Foundation::{GetLastError, HANDLE, INVALID_HANDLE_VALUE, LocalFree};
use windows_sys::Win32::System::Console::{CTRL_C_EVENT, CTRL_SHUTDOWN_EVENT};
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, TH32CS_SNAPTHREAD, THREADENTRY32, Thread32First, Thread32Next,
};
use windows_sys::Win32::System::LibraryLoader::{GetModuleHandleW, GetProcAddress};
use windows_sys::Win32::System::Threading::{
    CreateRemoteThread, GetThreadDescription, OpenThread, THREAD_QUERY_LIMITED_INFORMATION,
};
use windows_sys::core::{BOOL, w};

/// The control events that end a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlEvent {
    CtrlC,
    Shutdown,
}

/// Sends a process a control event by a thread at the system's own function for such events.
///
/// The runtime of HostProcess containers does so
/// (<https://github.com/microsoft/hcsshim/blob/main/internal/jobcontainers/process.go>): the process needs no console.
/// The function has the same address in each process, and is not documented by Microsoft.
///
/// # Errors
/// There is no such function, or the process may not be given a thread.
pub fn raise(process: BorrowedHandle<'_>, event: ControlEvent) -> os::Result<()> {
    let routine = control_routine()?;
    let number = match event {
        ControlEvent::CtrlC => CTRL_C_EVENT,
        ControlEvent::Shutdown => CTRL_SHUTDOWN_EVENT,
    };
    let argument = ptr::without_provenance(usize::try_from(number).unwrap_or_default());
    // SAFETY: the handle is open, the function begins threads, its argument is the event, as a number, and the result
    // is nobody else's.
    let thread = unsafe {
        owned(CreateRemoteThread(
            process.as_raw_handle(),
            ptr::null(),
            0,
            Some(routine),
            argument,
            0,
            ptr::null_mut(),
        ))
    };
    thread
        .map(drop)
        .map_err(|code| Error::new("CreateRemoteThread", "a process that is to end", code))
}

/// The names of a process's threads, in the order of the system's list. A thread without one counts as `""`, and a
/// thread that ends meanwhile is left out.
///
/// Sources: <https://learn.microsoft.com/windows/win32/toolhelp/traversing-the-thread-list>,
/// <https://learn.microsoft.com/windows/win32/api/processthreadsapi/nf-processthreadsapi-getthreaddescription>.
///
/// # Errors
/// The system does not list its threads.
pub fn thread_names(process: u32) -> os::Result<Vec<String>> {
    // SAFETY: the function has no preconditions, and its result is nobody else's.
    let snapshot = unsafe { owned(CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0)) }
        .map_err(|code| Error::new("CreateToolhelp32Snapshot", process, code))?;
    let first = next(&snapshot, Thread32First);
    let threads = iter::successors(first, |_| next(&snapshot, Thread32Next));
    let threads = threads.filter(|thread| thread.th32OwnerProcessID == process);
    Ok(threads
        .filter_map(|thread| name(thread.th32ThreadID))
        .collect())
}

type Routine = unsafe extern "system" fn(*mut c_void) -> u32;

fn control_routine() -> os::Result<Routine> {
    // SAFETY: both texts end in a NUL, and the module is part of every process.
    let found = unsafe {
        let library = GetModuleHandleW(w!("kernel32.dll"));
        GetProcAddress(library, c"CtrlRoutine".as_ptr().cast())
    };
    let missing = || Error::new("GetProcAddress", "kernel32.dll: CtrlRoutine", last_error());
    let found = found.ok_or_else(missing)?;
    // SAFETY: the function begins threads, so this is its type.
    Ok(unsafe { std::mem::transmute::<unsafe extern "system" fn() -> isize, Routine>(found) })
}

type Step = unsafe extern "system" fn(HANDLE, *mut THREADENTRY32) -> BOOL;

/// The thread at this step of a list; none at its end.
fn next(snapshot: &OwnedHandle, step: Step) -> Option<THREADENTRY32> {
    let mut entry = THREADENTRY32 {
        dwSize: u32::try_from(size_of::<THREADENTRY32>()).unwrap_or(u32::MAX),
        ..THREADENTRY32::default()
    };
    // SAFETY: the handle is a list of threads, and the structure has its own length.
    let is_there = unsafe { step(snapshot.as_raw_handle(), &raw mut entry) };
    (is_there != 0).then_some(entry)
}

/// A thread's name; none where there is no such thread.
fn name(thread: u32) -> Option<String> {
    // SAFETY: the function has no preconditions, and its result is nobody else's.
    let thread = unsafe { owned(OpenThread(THREAD_QUERY_LIMITED_INFORMATION, 0, thread)) }.ok()?;
    let mut text = ptr::null_mut();
    // SAFETY: the handle is open, and the output is ours.
    let answer = unsafe { GetThreadDescription(thread.as_raw_handle(), &raw mut text) };
    if answer < 0 {
        return None;
    }
    // SAFETY: the call succeeded, so the text is there, ends in a NUL and lives until it is freed.
    let name = unsafe { String::from_utf16_lossy(PCWSTR(text).as_wide()) };
    // SAFETY: its documentation has it freed so, and nothing points to it any more.
    unsafe { LocalFree(text.cast()) };
    Some(name)
}

/// The result of a call that opens a handle.
///
/// # Safety
/// The handle is open and nobody else's, unless the call failed.
unsafe fn owned(handle: HANDLE) -> Result<OwnedHandle, Win32> {
    if handle.is_null() || handle == INVALID_HANDLE_VALUE {
        return Err(last_error());
    }
    // SAFETY: the call succeeded, and the caller vouches for the rest.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

fn last_error() -> Win32 {
    // SAFETY: the function has no preconditions.
    Win32(unsafe { GetLastError() })
}
