//! Creating and opening pipes: the only calls of CreateNamedPipeW and CreateFileW.

// UNSAFETY: pipes are created, opened and asked about through Win32 alone.
#![expect(unsafe_code)]

use std::{
    io,
    os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle},
    ptr,
    time::{Duration, Instant},
};

use windows_sys::Win32::{
    Foundation::{
        ERROR_FILE_NOT_FOUND, ERROR_PIPE_BUSY, GENERIC_READ, GENERIC_WRITE, INVALID_HANDLE_VALUE,
    },
    Storage::FileSystem::{
        CreateFileW, FILE_FLAG_FIRST_PIPE_INSTANCE, FILE_FLAG_OVERLAPPED, OPEN_EXISTING,
        PIPE_ACCESS_DUPLEX, SECURITY_ANONYMOUS, SECURITY_SQOS_PRESENT,
    },
    System::Pipes::{
        CreateNamedPipeW, DisconnectNamedPipe, GetNamedPipeClientProcessId, PIPE_READMODE_BYTE,
        PIPE_REJECT_REMOTE_CLIENTS, PIPE_TYPE_BYTE, PIPE_UNLIMITED_INSTANCES, PIPE_WAIT,
        WaitNamedPipeW,
    },
};

use super::{operation::is, security::SecurityDescriptor};
use crate::PipeName;

/// How every instance is opened. Without FILE_FLAG_OVERLAPPED a pending read would block writes.
pub(super) const INSTANCE: u32 = PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED;
/// The first instance fails when the name exists, so that nobody can have it before us.
pub(super) const FIRST_INSTANCE: u32 = INSTANCE | FILE_FLAG_FIRST_PIPE_INSTANCE;
/// Bytes, not messages; local clients only.
const MODE: u32 = PIPE_TYPE_BYTE | PIPE_READMODE_BYTE | PIPE_WAIT | PIPE_REJECT_REMOTE_CLIENTS;
/// How a client opens: overlapped too, and the server may not act in the client's name.
pub(super) const CLIENT: u32 = FILE_FLAG_OVERLAPPED | SECURITY_SQOS_PRESENT | SECURITY_ANONYMOUS;

/// What WaitNamedPipeW waits for at a time before the deadline is looked at again.
const BUSY_WAIT: Duration = Duration::from_millis(100);

/// Creates an instance of the pipe; `flags` is [`FIRST_INSTANCE`] or [`INSTANCE`].
pub(super) fn create(
    name: &PipeName,
    flags: u32,
    buffer_bytes: u32,
    security: &SecurityDescriptor,
) -> io::Result<OwnedHandle> {
    let path = wide(name);
    let attributes = security.attributes();
    // SAFETY: `path` ends in a zero, and both it and `attributes` outlive the call.
    let handle = unsafe {
        CreateNamedPipeW(
            path.as_ptr(),
            flags,
            MODE,
            PIPE_UNLIMITED_INSTANCES,
            buffer_bytes,
            buffer_bytes,
            0,
            &raw const attributes,
        )
    };
    owned(handle)
}

/// Opens the client's end, and waits for a free instance until `deadline`.
pub(super) fn open(name: &PipeName, deadline: Instant) -> io::Result<OwnedHandle> {
    let path = wide(name);
    loop {
        // SAFETY: `path` ends in a zero and outlives the call; the other pointers may be null.
        let handle = unsafe {
            CreateFileW(
                path.as_ptr(),
                GENERIC_READ | GENERIC_WRITE,
                0,
                ptr::null(),
                OPEN_EXISTING,
                CLIENT,
                ptr::null_mut(),
            )
        };
        match owned(handle) {
            Err(error) if is(&error, ERROR_PIPE_BUSY) => {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Err(error);
                }
                // Whatever it says, the open is tried again.
                let _ = wait_free(&path, left.min(BUSY_WAIT));
            }
            opened => return opened,
        }
    }
}

/// Whether a pipe of this name exists.
pub(super) fn exists(name: &PipeName) -> bool {
    match wait_free(&wide(name), Duration::from_millis(1)) {
        Ok(()) => true,
        Err(error) => !is(&error, ERROR_FILE_NOT_FOUND),
    }
}

/// Ends the connection with a client, so that the instance can wait for another.
pub(super) fn disconnect(pipe: &OwnedHandle) {
    // SAFETY: the handle is open. It fails when nobody was connected.
    unsafe { DisconnectNamedPipe(pipe.as_raw_handle()) };
}

/// The process id of the client of an instance.
pub(super) fn client_pid(pipe: &OwnedHandle) -> Option<u32> {
    let mut pid = 0;
    // SAFETY: the handle is open and `pid` outlives the call.
    let known = unsafe { GetNamedPipeClientProcessId(pipe.as_raw_handle(), &raw mut pid) };
    (known != 0).then_some(pid)
}

fn wait_free(path: &[u16], time: Duration) -> io::Result<()> {
    // Zero would mean the server's default, and all ones for ever.
    let millis = super::whole_millis(time).max(1);
    // SAFETY: `path` ends in a zero and outlives the call.
    match unsafe { WaitNamedPipeW(path.as_ptr(), millis) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

fn owned(handle: *mut core::ffi::c_void) -> io::Result<OwnedHandle> {
    if handle == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the handle was just made and belongs to nobody else.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

fn wide(name: &PipeName) -> Vec<u16> {
    name.to_string().encode_utf16().chain([0]).collect()
}

#[cfg(test)]
mod tests {
    use std::{fs, mem::size_of, path::Path};

    use windows_sys::{
        Wdk::Storage::FileSystem::{
            FILE_SYNCHRONOUS_IO_ALERT, FILE_SYNCHRONOUS_IO_NONALERT, FileModeInformation,
            NtQueryInformationFile,
        },
        Win32::System::IO::IO_STATUS_BLOCK,
    };

    use super::*;

    const EVERYONE: &str = "D:P(A;;GA;;;WD)";

    /// Whether operations on the handle wait for one another
    /// (<https://learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/ns-ntifs-_file_mode_information>).
    fn is_synchronous(handle: &OwnedHandle) -> bool {
        let mut status = IO_STATUS_BLOCK::default();
        let mut mode = 0u32;
        // SAFETY: the handle is open; FILE_MODE_INFORMATION is one u32, and both it and the status
        // outlive the call, which is synchronous.
        let result = unsafe {
            NtQueryInformationFile(
                handle.as_raw_handle(),
                &raw mut status,
                (&raw mut mode).cast(),
                u32::try_from(size_of::<u32>()).expect("four"),
                FileModeInformation,
            )
        };
        assert_eq!(result, 0, "the mode of a pipe is known");
        mode & (FILE_SYNCHRONOUS_IO_ALERT | FILE_SYNCHRONOUS_IO_NONALERT) != 0
    }

    fn instance(name: &PipeName, flags: u32) -> OwnedHandle {
        let security = SecurityDescriptor::parse(EVERYONE).expect("valid SDDL");
        create(name, flags, 4096, &security).expect("an instance")
    }

    #[test]
    fn every_instance_and_every_client_is_overlapped() {
        let name = PipeName::new("wincsi-test-overlapped").unwrap();
        let first = instance(&name, FIRST_INSTANCE);
        let later = instance(&name, INSTANCE);
        let client = open(&name, Instant::now() + Duration::from_secs(10)).unwrap();
        for (handle, what) in [(first, "first"), (later, "later"), (client, "client")] {
            assert!(!is_synchronous(&handle), "{what}");
        }
    }

    #[test]
    fn an_instance_without_the_flag_is_told_apart() {
        let name = PipeName::new("wincsi-test-synchronous").unwrap();
        assert!(is_synchronous(&instance(
            &name,
            FIRST_INSTANCE & !FILE_FLAG_OVERLAPPED
        )));
    }

    #[test]
    fn pipes_are_created_and_opened_here_alone() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/sys/windows");
        let mut calls = Vec::new();
        for file in fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            let source = fs::read_to_string(&path).unwrap();
            let shipped = source.split("#[cfg(test)]").next().unwrap_or_default();
            let file = path.file_name().unwrap().to_string_lossy().into_owned();
            for call in [
                "CreateNamedPipe",
                "CreateFile",
                "CallNamedPipe",
                "OpenOptions",
            ] {
                let ends = ["W(", "A(", "2(", "::new("].map(|end| format!("{call}{end}"));
                let count: usize = ends.iter().map(|call| shipped.matches(call).count()).sum();
                calls.extend(vec![(file.clone(), call); count]);
            }
        }
        let only = |call| ("pipe.rs".to_owned(), call);
        assert_eq!(calls, [only("CreateNamedPipe"), only("CreateFile")]);
    }
}
