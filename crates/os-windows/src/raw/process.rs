//! This process's resources, as the system counts them.

// UNSAFETY: foreign functions fill structures of ours, and get their size.
#![expect(unsafe_code)]

use std::mem;

use os::Win32;
use windows_sys::Win32::Foundation::FILETIME;
use windows_sys::Win32::System::ProcessStatus::{
    K32GetProcessMemoryInfo, PROCESS_MEMORY_COUNTERS_EX,
};
use windows_sys::Win32::System::Threading::{
    GetCurrentProcess, GetProcessHandleCount, GetProcessTimes,
};

use super::outcome;

const EMPTY: FILETIME = FILETIME {
    dwLowDateTime: 0,
    dwHighDateTime: 0,
};

/// When the process began, and its time in the kernel and in user code, in units of 100 ns.
pub(crate) struct Times {
    pub(crate) created: u64,
    pub(crate) kernel: u64,
    pub(crate) user: u64,
}

/// The process's times (`GetProcessTimes`).
pub(crate) fn times() -> Result<Times, Win32> {
    let (mut created, mut exited, mut kernel, mut user) = (EMPTY, EMPTY, EMPTY, EMPTY);
    // SAFETY: the pseudo handle is always good, and each structure is ours.
    outcome(unsafe {
        GetProcessTimes(
            GetCurrentProcess(),
            &mut created,
            &mut exited,
            &mut kernel,
            &mut user,
        )
    })?;
    Ok(Times {
        created: joined(created),
        kernel: joined(kernel),
        user: joined(user),
    })
}

/// The process's memory, in bytes.
pub(crate) struct Memory {
    /// The working set.
    pub(crate) resident: usize,
    /// Memory committed for this process alone (`PrivateUsage`).
    pub(crate) private: usize,
}

/// The process's memory (`K32GetProcessMemoryInfo` with `PROCESS_MEMORY_COUNTERS_EX`).
pub(crate) fn memory() -> Result<Memory, Win32> {
    const SIZE: usize = size_of::<PROCESS_MEMORY_COUNTERS_EX>();
    let size = u32::try_from(SIZE).unwrap_or(u32::MAX);
    // SAFETY: a structure of integers: all zeros is a value of it.
    let mut counters: PROCESS_MEMORY_COUNTERS_EX = unsafe { mem::zeroed() };
    counters.cb = size;
    // SAFETY: the pseudo handle is always good; the structure is as long as we say, and by this length the function
    // recognises the longer form of its declared parameter.
    outcome(unsafe {
        K32GetProcessMemoryInfo(GetCurrentProcess(), (&raw mut counters).cast(), size)
    })?;
    Ok(Memory {
        resident: counters.WorkingSetSize,
        private: counters.PrivateUsage,
    })
}

/// How many handles are open (`GetProcessHandleCount`).
pub(crate) fn handles() -> Result<u32, Win32> {
    let mut count = 0;
    // SAFETY: the pseudo handle is always good, and the number is ours.
    outcome(unsafe { GetProcessHandleCount(GetCurrentProcess(), &mut count) })?;
    Ok(count)
}

fn joined(time: FILETIME) -> u64 {
    u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime)
}
