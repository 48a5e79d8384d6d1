//! The running system's boot, page files and crash dump.

mod crash_dump;
mod page_files;

use std::ffi::OsString;

use os::{Boot, BootId, Cause, Error, Paging, Win32, WinPath};

use self::page_files::Known;
use crate::failure;
use crate::raw::{computer_name, registry};

/// The running system's boot, page files and crash dump.
#[derive(Debug, Clone, Copy, Default)]
pub struct NativeBoot;

impl NativeBoot {
    #[must_use]
    pub fn new() -> Self {
        Self
    }
}

/// A key that is gone after the next boot. Windows has no documented name for a boot: no known page has the
/// prefetcher's number (`BootId`), and none says that the boot's time stays the same when the clock is set.
const OURS: &str = r"SOFTWARE\wincsi\Boot";

impl Boot for NativeBoot {
    /// The time of our processes' first query after the boot, kept by a volatile key.
    fn boot_id(&self) -> os::Result<BootId> {
        let since = registry::volatile_since(OURS);
        let since = since.map_err(|code| failure::error("RegCreateKeyExW", OURS, code))?;
        Ok(BootId(format!("{since:016x}")))
    }

    fn computer_name(&self) -> os::Result<String> {
        let name = computer_name::dns_host().map_err(Cause::from);
        let text = name.and_then(|name| {
            let malformed = |name| Cause::Malformed(format!("{name:?}"));
            name.into_string().map_err(malformed)
        });
        text.map_err(|cause| failure::error("GetComputerNameExW", "the DNS host name", cause))
    }

    /// The page files by `EnumPageFilesW`. The dump is written to a page file, or to
    /// `DedicatedDumpFile`, and ends as `DumpFile`.
    fn paging(&self) -> os::Result<Paging> {
        let Known { files, unknown } = page_files::known();
        let crash_dump = crash_dump::known();
        Ok(Paging {
            page_files: files,
            unknown: unknown.or_else(|| crash_dump.as_ref().err().cloned()),
            crash_dump: crash_dump.unwrap_or_default(),
        })
    }
}

fn if_there<T>(value: &str, read: Result<T, Win32>) -> os::Result<Option<T>> {
    match read {
        Err(Win32::FILE_NOT_FOUND) => Ok(None),
        read => read
            .map(Some)
            .map_err(|code| failure::error("RegGetValueW", value, code)),
    }
}

/// A path as Win32 or as the object manager writes it.
fn path(name: &OsString) -> Option<WinPath> {
    let text = name.to_str()?;
    WinPath::parse_nt(text).or_else(|_| text.parse()).ok()
}

/// A file's name in an unknown form must not make a disk look free of such files.
fn unread(operation: &'static str, name: &OsString) -> Error {
    let cause = Cause::Malformed("neither a drive's path nor one below \\??\\".to_owned());
    Error::new(operation, name.to_string_lossy(), cause)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn only_a_value_that_is_not_there_is_none() {
        let absent: Result<u32, _> = Err(Win32::FILE_NOT_FOUND);
        assert_eq!(if_there("DumpFile", absent), Ok(None));
        let denied: Result<u32, _> = Err(Win32::ACCESS_DENIED);
        let error = if_there("DumpFile", denied).expect_err("denied");
        assert_eq!(error.win32(), Some(Win32::ACCESS_DENIED));
    }

    #[test]
    fn one_boot_has_one_name_that_does_not_change() {
        let first = registry::volatile_since(OURS);
        assert!(first.is_ok_and(|since| since > 0), "{first:?}");
        assert_eq!(registry::volatile_since(OURS), first);
        let keys = (0..).map(|number| format!(r"SOFTWARE\wincsi\Other\{number}"));
        let others = keys.map(|key| registry::volatile_since(&key).expect("a key"));
        let mut others = within(Duration::from_secs(10), others);
        // Keys made within one tick of the system's clock have the same time.
        assert!(others.any(|other| Ok(other) != first), "{first:?}");
    }

    fn within<T>(bound: Duration, all: impl Iterator<Item = T>) -> impl Iterator<Item = T> {
        let began = Instant::now();
        all.take_while(move |_| began.elapsed() < bound)
    }

    #[test]
    fn a_text_that_nobody_wrote_is_an_error_and_no_empty_text() {
        let missing = registry::text(r"SOFTWARE\wincsi\Nothing", "DumpFile");
        assert_eq!(missing.err(), Some(Win32::FILE_NOT_FOUND));
    }
}
