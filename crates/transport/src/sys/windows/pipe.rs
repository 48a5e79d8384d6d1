//! Creating and opening pipes: the only calls of CreateNamedPipeW and CreateFileW.

// UNSAFETY: pipes are created, opened and queried through Win32 alone.
#![expect(unsafe_code)]

use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::time::{Duration, Instant};
use std::{io, ptr};

use windows_sys::Win32::Foundation::{
    ERROR_FILE_NOT_FOUND, ERROR_PIPE_BUSY, GENERIC_READ, GENERIC_WRITE, INVALID_HANDLE_VALUE,
};
use windows_sys::Win32::Storage::FileSystem::{
    CreateFileW, FILE_FLAG_FIRST_PIPE_INSTANCE, FILE_FLAG_OVERLAPPED, OPEN_EXISTING,
    PIPE_ACCESS_DUPLEX, SECURITY_ANONYMOUS, SECURITY_SQOS_PRESENT,
};
use windows_sys::Win32::System::Pipes::{
    CreateNamedPipeW, DisconnectNamedPipe, GetNamedPipeClientProcessId, PIPE_READMODE_BYTE,
    PIPE_REJECT_REMOTE_CLIENTS, PIPE_TYPE_BYTE, PIPE_UNLIMITED_INSTANCES, PIPE_WAIT,
    WaitNamedPipeW,
};

use super::operation::is;
use super::security::SecurityDescriptor;
use crate::PipeName;

/// How every instance is opened. Without FILE_FLAG_OVERLAPPED a pending read would block writes.
pub(super) const INSTANCE: u32 = PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED;
/// The first instance fails if the name exists, so nobody can have it before us.
pub(super) const FIRST_INSTANCE: u32 = INSTANCE | FILE_FLAG_FIRST_PIPE_INSTANCE;
/// Bytes, not messages; local clients only.
const MODE: u32 = PIPE_TYPE_BYTE | PIPE_READMODE_BYTE | PIPE_WAIT | PIPE_REJECT_REMOTE_CLIENTS;
/// How a client opens: overlapped too, and the server may not act in the client's name.
pub(super) const CLIENT: u32 = FILE_FLAG_OVERLAPPED | SECURITY_SQOS_PRESENT | SECURITY_ANONYMOUS;

/// One wait of WaitNamedPipeW, before the deadline is checked again.
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
                // The open is tried again in any case.
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

/// Ends the connection with a client, so the instance can wait for another.
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
    use std::fs;
    use std::mem::size_of;
    use std::path::{Path, PathBuf};

    use windows_sys::Wdk::Storage::FileSystem::{
        FILE_SYNCHRONOUS_IO_ALERT, FILE_SYNCHRONOUS_IO_NONALERT, FileModeInformation,
        NtQueryInformationFile,
    };
    use windows_sys::Win32::Foundation::ERROR_ACCESS_DENIED;
    use windows_sys::Win32::Security::Authorization::SE_KERNEL_OBJECT;
    use windows_sys::Win32::System::IO::IO_STATUS_BLOCK;
    use windows_sys::Win32::System::LibraryLoader::{GetModuleHandleW, GetProcAddress};
    use windows_sys::Win32::System::Pipes::{GetNamedPipeInfo, PIPE_TYPE_MESSAGE};
    use windows_sys::core::w;

    use super::super::listener::PipeListener;
    use super::super::security::access_list;
    use super::*;
    use crate::ServerOptions;

    const EVERYONE: &str = "D:P(A;;GA;;;WD)";

    /// Whether operations on the handle wait for one another
    /// (<https://learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/ns-ntifs-_file_mode_information>).
    fn is_synchronous(handle: &OwnedHandle) -> bool {
        let mut status = IO_STATUS_BLOCK::default();
        let mut mode = 0u32;
        // SAFETY: the handle is open; FILE_MODE_INFORMATION is one u32, and both it and the status
        // outlive the synchronous call.
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

    /// The system's data about a pipe.
    #[derive(Debug)]
    struct Properties {
        kind: u32,
        buffers: [u32; 2],
    }

    fn properties(pipe: &OwnedHandle) -> Properties {
        let (mut kind, mut output, mut input) = (0, 0, 0);
        // SAFETY: the handle is open, and the numbers outlive the call.
        let known = unsafe {
            GetNamedPipeInfo(
                pipe.as_raw_handle(),
                &raw mut kind,
                &raw mut output,
                &raw mut input,
                ptr::null_mut(),
            )
        };
        assert_ne!(known, 0, "{}", io::Error::last_os_error());
        Properties {
            kind,
            buffers: [output, input],
        }
    }

    /// Whether the system is Wine: it has a function that Windows lacks.
    fn is_wine() -> bool {
        // SAFETY: both texts end in a NUL, and the module is part of every process.
        unsafe {
            let library = GetModuleHandleW(w!("ntdll.dll"));
            GetProcAddress(library, c"wine_get_version".as_ptr().cast()).is_some()
        }
    }

    /// A client of a server's listeners, which are open as long as these.
    fn client_of(name: &str, options: &ServerOptions) -> (OwnedHandle, Vec<PipeListener>) {
        let name = PipeName::new(name).unwrap();
        let listeners = PipeListener::bind(&name, options).unwrap();
        let client = open(&name, Instant::now() + Duration::from_secs(10)).unwrap();
        (client, listeners)
    }

    #[test]
    fn pipes_take_bytes_and_have_buffers_whatever_the_options_say() {
        for (bytes, expected) in [(4096, 4096), (0, 1)] {
            let options = ServerOptions {
                pipe_buffer_bytes: bytes,
                ..ServerOptions::default()
            };
            let name = format!("wincsi-test-buffers-{bytes}");
            let (client, _listeners) = client_of(&name, &options);
            let found = properties(&client);
            assert_eq!(found.kind & PIPE_TYPE_MESSAGE, 0, "{found:?}");
            assert!(
                found.buffers.iter().all(|&size| size >= expected),
                "{found:?}"
            );
        }
        assert!(ServerOptions::default().pipe_buffer_bytes > 0);
    }

    /// No test can be a client of another machine here, so this checks the flags passed to the
    /// system.
    /// Guards: P1
    #[test]
    fn clients_of_other_machines_are_rejected() {
        assert_eq!(
            MODE & PIPE_REJECT_REMOTE_CLIENTS,
            PIPE_REJECT_REMOTE_CLIENTS
        );
    }

    /// Guards: P2
    #[test]
    fn the_first_instance_is_exclusive() {
        let name = PipeName::new("wincsi-test-exclusive").unwrap();
        let _first = instance(&name, FIRST_INSTANCE);
        let security = SecurityDescriptor::parse(EVERYONE).expect("valid SDDL");
        match create(&name, FIRST_INSTANCE, 4096, &security) {
            Err(error) => assert!(is(&error, ERROR_ACCESS_DENIED), "{error}"),
            // Wine takes the flag and does nothing with it.
            Ok(_) => assert!(is_wine()),
        }
    }

    /// Guards: P1
    #[test]
    fn a_pipe_lets_in_whom_the_options_say() {
        let changed = ServerOptions {
            security: "D:P(A;;GA;;;SY)(A;;GR;;;LS)".to_owned(),
            ..ServerOptions::default()
        };
        // Wine keeps the generic rights as written; Windows would map them to those of a file
        // (https://learn.microsoft.com/windows/win32/ipc/named-pipe-security-and-access-rights).
        for (options, kept, mapped) in [
            (
                ServerOptions::default(),
                "D:P(A;;GA;;;SY)(A;;GA;;;BA)",
                "D:P(A;;FA;;;SY)(A;;FA;;;BA)",
            ),
            (
                changed,
                "D:P(A;;GA;;;SY)(A;;GR;;;LS)",
                "D:P(A;;FA;;;SY)(A;;FR;;;LS)",
            ),
        ] {
            let (client, _listeners) = client_of("wincsi-test-security", &options);
            let found = access_list(&client, SE_KERNEL_OBJECT).unwrap();
            assert!([kept, mapped].contains(&found.as_str()), "{found}");
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
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let mut calls = Vec::new();
        for folder in fs::read_dir(crates).unwrap() {
            for path in sources(&folder.unwrap().path().join("src")) {
                calls.extend(calls_of_pipes(crates, &path));
            }
        }
        let here = "transport/src/sys/windows/pipe.rs";
        calls.sort_unstable();
        let expected = [
            // Where the names of pipes are written, and read.
            ("transport/src/endpoint.rs", r"\pipe\"),
            ("transport/src/endpoint.rs", r"\pipe\"),
            // An entry of a folder, not a pipe.
            ("transport/src/sys/windows/entry.rs", "OpenOptions"),
            (here, "CreateFile"),
            (here, "CreateNamedPipe"),
            (here, "WaitNamedPipe"),
        ];
        assert_eq!(calls, expected.map(|(file, call)| (file.to_owned(), call)));
    }

    /// A shipped file's calls on pipes: its path and the call, for each time.
    fn calls_of_pipes(crates: &Path, path: &Path) -> Vec<(String, &'static str)> {
        let source = fs::read_to_string(path).unwrap();
        let shipped = source.split("#[cfg(test)]").next().unwrap_or_default();
        let code: Vec<_> = shipped
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .collect();
        let code = code.join("\n");
        let file = path.strip_prefix(crates).unwrap().to_string_lossy();
        let file = file.replace('\\', "/");
        let everywhere = ["CreateNamedPipe", "CallNamedPipe", "WaitNamedPipe"];
        // Files are opened elsewhere too; a pipe needs its name for that.
        let of_files: &[_] = match file.starts_with("transport/src/sys/windows/") {
            true => &["CreateFile", "OpenOptions"],
            false => &[],
        };
        let ends = ["W(", "A(", "2(", "File(", "::new("];
        let counted = everywhere.iter().chain(of_files).map(|call| {
            let count = ends
                .iter()
                .map(|end| code.matches(&format!("{call}{end}")).count());
            (*call, count.sum())
        });
        let names = [r"\pipe\", "named_pipe"].map(|name| (name, code.matches(name).count()));
        counted
            .chain(names)
            .flat_map(|(call, count): (_, usize)| vec![(file.clone(), call); count])
            .collect()
    }

    /// All sources in a folder except tests.
    fn sources(folder: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            match (path.is_dir(), name.as_str()) {
                (true, "tests") | (false, "tests.rs") => {}
                (true, _) => found.extend(sources(&path)),
                (false, name) if name.ends_with(".rs") => found.push(path),
                (false, _) => {}
            }
        }
        found
    }
}
