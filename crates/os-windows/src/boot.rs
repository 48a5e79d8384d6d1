use std::ffi::{OsStr, OsString};

use os::{Boot, BootId, Cause, Error, Paging, Win32, WinPath};

use crate::failure;
use crate::raw::{page_files, registry, windows_directory};

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
        let names = page_files::names().map_err(unlisted)?;
        Ok(Paging {
            page_files: names.iter().map(page_file).collect::<os::Result<_>>()?,
            crash_dump: crash_dump(&Registry)?,
        })
    }
}

/// Wine sets no code, and what Windows answers without a page file is written nowhere. Only a list
/// that succeeds says that there is none; after anything else no disk can be told from one with a page
/// file, so that callers write to none.
fn unlisted(code: Win32) -> Error {
    let cause = match code {
        Win32(0) => {
            let meaning = "it failed without a code, so every disk may hold a page file";
            Cause::Malformed(meaning.to_owned())
        }
        code => code.into(),
    };
    failure::error("EnumPageFilesW", "all page files", cause)
}

fn page_file(name: &OsString) -> os::Result<WinPath> {
    path(name).ok_or_else(|| unread("EnumPageFilesW", name))
}

/// What the system is set to do when it stops. A value that is not there is `None`.
trait CrashControl {
    fn number(&self, value: &'static str) -> os::Result<Option<u32>>;
    fn text(&self, value: &'static str) -> os::Result<Option<OsString>>;
    fn windows_directory(&self) -> os::Result<OsString>;
}

struct Registry;

impl CrashControl for Registry {
    fn number(&self, value: &'static str) -> os::Result<Option<u32>> {
        if_there(value, registry::number(CRASH_CONTROL, value))
    }

    fn text(&self, value: &'static str) -> os::Result<Option<OsString>> {
        if_there(value, registry::text(CRASH_CONTROL, value))
    }

    fn windows_directory(&self) -> os::Result<OsString> {
        windows_directory::path().map_err(|code| {
            failure::error("GetSystemWindowsDirectoryW", "the Windows directory", code)
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

/// A dump that is not told where to go goes to `MEMORY.DMP` in the Windows directory. That none is made
/// where nothing is set is unverified: the page has the values alone.
fn crash_dump(control: &impl CrashControl) -> os::Result<Option<WinPath>> {
    if control.number(ENABLED)?.unwrap_or(0) == 0 {
        return Ok(None);
    }
    let file = match control.text(DEDICATED)? {
        Some(dedicated) => dedicated,
        None => match control.text(FILE)? {
            Some(file) => file,
            None => usual(&control.windows_directory()?),
        },
    };
    let path = path(&file).ok_or_else(|| unread("RegGetValueW", &file))?;
    Ok(Some(path))
}

/// The page of `GetSystemWindowsDirectoryW` has a root with a backslash at its end, and one without.
fn usual(windows: &OsStr) -> OsString {
    let mut file = windows.to_owned();
    if !windows.to_string_lossy().ends_with('\\') {
        file.push("\\");
    }
    file.push("MEMORY.DMP");
    file
}

const ENABLED: &str = "CrashDumpEnabled";
const DEDICATED: &str = "DedicatedDumpFile";
const FILE: &str = "DumpFile";

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
    use std::time::{Duration, Instant};

    use super::*;

    /// What is set, in a system below `C:\Windows`.
    #[derive(Default)]
    struct Set {
        enabled: Option<u32>,
        dedicated: Option<&'static str>,
        file: Option<&'static str>,
    }

    impl CrashControl for Set {
        fn number(&self, _: &'static str) -> os::Result<Option<u32>> {
            Ok(self.enabled)
        }

        fn text(&self, value: &'static str) -> os::Result<Option<OsString>> {
            let text = if value == DEDICATED {
                self.dedicated
            } else {
                self.file
            };
            Ok(text.map(OsString::from))
        }

        fn windows_directory(&self) -> os::Result<OsString> {
            Ok(r"C:\Windows".into())
        }
    }

    fn dump(control: &Set) -> Option<String> {
        let path = crash_dump(control).expect("a path in a form that we know");
        path.map(|path| path.to_string())
    }

    #[test]
    fn a_system_that_is_not_told_to_dump_dumps_nothing() {
        let file = Some(r"D:\MEMORY.DMP");
        for enabled in [None, Some(0)] {
            let set = Set {
                enabled,
                file,
                dedicated: file,
            };
            assert_eq!(dump(&set), None, "{enabled:?}");
        }
    }

    #[test]
    fn a_dump_without_a_place_goes_to_the_windows_directory() {
        let enabled = Some(7);
        let none = Set {
            enabled,
            ..Set::default()
        };
        assert_eq!(dump(&none).as_deref(), Some(r"C:\Windows\MEMORY.DMP"));
        let file = Some(r"D:\crash.dmp");
        let named = Set {
            enabled,
            file,
            ..Set::default()
        };
        assert_eq!(dump(&named).as_deref(), file);
        let dedicated = Some(r"E:\dedicated.sys");
        let both = Set {
            enabled,
            file,
            dedicated,
        };
        assert_eq!(dump(&both).as_deref(), dedicated);
        assert_eq!(usual(r"C:\".as_ref()), r"C:\MEMORY.DMP");
        assert_eq!(usual("C:".as_ref()), r"C:\MEMORY.DMP");
    }

    #[test]
    fn a_dump_to_a_place_of_no_known_form_is_an_error() {
        let file = Some(r"\Device\HarddiskVolume2\MEMORY.DMP");
        let set = Set {
            enabled: Some(1),
            file,
            ..Set::default()
        };
        assert!(crash_dump(&set).is_err());
    }

    #[test]
    fn only_a_value_that_is_not_there_is_none() {
        let absent: Result<u32, _> = Err(Win32::FILE_NOT_FOUND);
        assert_eq!(if_there(ENABLED, absent), Ok(None));
        let denied: Result<u32, _> = Err(Win32::ACCESS_DENIED);
        let error = if_there(ENABLED, denied).expect_err("denied");
        assert_eq!(error.win32(), Some(Win32::ACCESS_DENIED));
    }

    #[test]
    fn the_windows_directory_is_one_of_a_drive() {
        let directory = Registry.windows_directory().expect("it has one");
        assert!(path(&directory).is_some(), "{directory:?}");
    }

    #[test]
    fn a_page_file_is_known_in_both_forms() {
        for name in [r"C:\pagefile.sys", r"\??\C:\pagefile.sys"] {
            let path = page_file(&name.into()).map(|path| path.to_string());
            assert_eq!(path.ok().as_deref(), Some(r"C:\pagefile.sys"));
        }
        assert!(page_file(&r"\Device\HarddiskVolume2\pagefile.sys".into()).is_err());
    }

    #[test]
    fn page_files_that_are_not_listed_without_a_code_are_no_success() {
        let silent = unlisted(Win32(0));
        assert_eq!(silent.win32(), None);
        assert!(
            silent.to_string().contains("every disk may hold"),
            "{silent}"
        );
        let refused = unlisted(Win32::ACCESS_DENIED);
        assert_eq!(refused.win32(), Some(Win32::ACCESS_DENIED));
    }

    #[test]
    fn one_boot_has_one_name_that_does_not_change() {
        let first = registry::volatile_since(OURS);
        assert!(first.is_ok_and(|since| since > 0), "{first:?}");
        assert_eq!(registry::volatile_since(OURS), first);
        let keys = (0..).map(|number| format!(r"SOFTWARE\wincsi\Other\{number}"));
        let others = keys.map(|key| registry::volatile_since(&key).expect("a key"));
        let mut others = within(Duration::from_secs(10), others);
        // Keys that are made within one tick of the system's clock have the same time.
        assert!(others.any(|other| Ok(other) != first), "{first:?}");
    }

    fn within<T>(bound: Duration, all: impl Iterator<Item = T>) -> impl Iterator<Item = T> {
        let began = Instant::now();
        all.take_while(move |_| began.elapsed() < bound)
    }

    #[test]
    fn a_page_file_that_nobody_names_is_an_error_and_not_none() {
        let missing = registry::text(r"SOFTWARE\wincsi\Nothing", "DumpFile");
        assert_eq!(missing.err(), Some(Win32::FILE_NOT_FOUND));
    }
}
