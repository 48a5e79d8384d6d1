use std::ffi::OsString;

use os::Boot;
use os::BootId;
use os::Cause;
use os::Error;
use os::Paging;
use os::Win32;
use os::WinPath;

use crate::failure;
use crate::raw::page_files;
use crate::raw::registry;

/// What the running system says of its boot, its page files and its crash dump.
#[derive(Debug, Clone, Copy, Default)]
pub struct NativeBoot;

impl NativeBoot {
    /// The boot.
    #[must_use]
    pub fn new() -> Self {
        Self
    }
}

/// A key that the next boot begins without. Windows has no documented name for a boot.
const OURS: &str = r"SOFTWARE\wincsi\Boot";

/// <https://learn.microsoft.com/troubleshoot/windows-client/performance/configure-system-failure-and-recovery-options>
const CRASH_CONTROL: &str = r"SYSTEM\CurrentControlSet\Control\CrashControl";

impl Boot for NativeBoot {
    /// When the first of our processes asked for it after the boot: a volatile key tells.
    fn boot_id(&self) -> os::Result<BootId> {
        let since = registry::volatile_since(OURS);
        let since = since.map_err(|code| failure::error("RegCreateKeyExW", OURS, code))?;
        Ok(BootId(format!("{since:016x}")))
    }

    /// The page files by `EnumPageFilesW`. The dump is written to a page file, or to
    /// `DedicatedDumpFile`, and ends as `DumpFile`.
    fn paging(&self) -> os::Result<Paging> {
        let names = page_files::names();
        let names =
            names.map_err(|code| failure::error("EnumPageFilesW", "all page files", code))?;
        Ok(Paging {
            page_files: names.iter().map(page_file).collect::<os::Result<_>>()?,
            crash_dump: crash_dump()?,
        })
    }
}

fn page_file(name: &OsString) -> os::Result<WinPath> {
    path(name).ok_or_else(|| unread("EnumPageFilesW", name))
}

fn crash_dump() -> os::Result<Option<WinPath>> {
    let failed = |value: &str, code| failure::error("RegGetValueW", value, code);
    let enabled = registry::number(CRASH_CONTROL, ENABLED).map_err(|code| failed(ENABLED, code))?;
    if enabled == 0 {
        return Ok(None);
    }
    let file = match registry::text(CRASH_CONTROL, DEDICATED) {
        Err(code) if code == Win32::FILE_NOT_FOUND => {
            registry::text(CRASH_CONTROL, USUAL).map_err(|code| failed(USUAL, code))?
        }
        dedicated => dedicated.map_err(|code| failed(DEDICATED, code))?,
    };
    let path = path(&file).ok_or_else(|| unread("RegGetValueW", &file))?;
    Ok(Some(path))
}

const ENABLED: &str = "CrashDumpEnabled";
const DEDICATED: &str = "DedicatedDumpFile";
const USUAL: &str = "DumpFile";

/// A path as Win32 or as the object manager writes it.
fn path(name: &OsString) -> Option<WinPath> {
    let text = name.to_str()?;
    WinPath::parse_nt(text).or_else(|_| text.parse()).ok()
}

/// Nothing may be taken for a disk without such a file because its name is in no form that we know.
fn unread(operation: &'static str, name: &OsString) -> Error {
    let cause = Cause::Malformed("neither a drive's path nor one below \\??\\".to_owned());
    Error::new(operation, name.to_string_lossy(), cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_file_is_known_in_both_forms() {
        for name in [r"C:\pagefile.sys", r"\??\C:\pagefile.sys"] {
            let path = page_file(&name.into()).map(|path| path.to_string());
            assert_eq!(path.ok().as_deref(), Some(r"C:\pagefile.sys"));
        }
        assert!(page_file(&r"\Device\HarddiskVolume2\pagefile.sys".into()).is_err());
    }

    #[test]
    fn one_boot_has_one_name_that_does_not_change() {
        let first = registry::volatile_since(OURS);
        assert!(first.is_ok_and(|since| since > 0), "{first:?}");
        assert_eq!(registry::volatile_since(OURS), first);
        let other = registry::volatile_since(r"SOFTWARE\wincsi\Other");
        assert!(other.is_ok() && other != first, "{other:?}");
    }

    #[test]
    fn a_page_file_that_nobody_names_is_an_error_and_not_none() {
        let missing = registry::text(r"SOFTWARE\wincsi\Nothing", "DumpFile");
        assert_eq!(missing.err(), Some(Win32::FILE_NOT_FOUND));
    }
}
