//! Where a crash dump goes.

use std::ffi::{OsStr, OsString};

use os::{Win32, WinPath};

use super::{if_there, path, unread};
use crate::failure;
use crate::raw::{registry, windows_directory};

/// <https://learn.microsoft.com/troubleshoot/windows-client/performance/configure-system-failure-and-recovery-options>
const CRASH_CONTROL: &str = r"SYSTEM\CurrentControlSet\Control\CrashControl";

const ENABLED: &str = "CrashDumpEnabled";
const DEDICATED: &str = "DedicatedDumpFile";
const FILE: &str = "DumpFile";

/// `ERROR_UNSUPPORTED_TYPE`, returned by `RegGetValueW` for a value of another type than requested (seen on Wine; its
/// page names no code).
const UNSUPPORTED_TYPE: Win32 = Win32(1630);

/// Where a dump would go, if anywhere.
///
/// # Errors
/// The registry, or the Windows directory where it decides, cannot be read.
pub(super) fn known() -> os::Result<Option<WinPath>> {
    place(&Registry)
}

/// The system's settings for a crash. A missing value is `None`.
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

    /// No text where the value is of another type.
    fn text(&self, value: &'static str) -> os::Result<Option<OsString>> {
        match registry::text(CRASH_CONTROL, value) {
            Err(UNSUPPORTED_TYPE) => Ok(None),
            read => if_there(value, read),
        }
    }

    fn windows_directory(&self) -> os::Result<OsString> {
        windows_directory::path().map_err(|code| {
            failure::error("GetSystemWindowsDirectoryW", "the Windows directory", code)
        })
    }
}

/// A dump without a set place goes to `MEMORY.DMP` in the Windows directory. It is unverified that none is made without
/// settings: the page has only the values. A value without a drive's path counts as none: Windows writes no file by it.
fn place(control: &impl CrashControl) -> os::Result<Option<WinPath>> {
    if control.number(ENABLED)?.unwrap_or(0) == 0 {
        return Ok(None);
    }
    for value in [DEDICATED, FILE] {
        let set = control.text(value)?;
        if let Some(path) = set.as_ref().and_then(path) {
            return Ok(Some(path));
        }
    }
    let usual = usual(&control.windows_directory()?);
    let path = path(&usual).ok_or_else(|| unread("GetSystemWindowsDirectoryW", &usual));
    path.map(Some)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The settings of a system below `C:\Windows`.
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
        let path = place(control).expect("a path in a form that we know");
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
    fn a_place_that_is_empty_or_no_path_of_a_drive_is_not_set() {
        let file = Some(r"D:\crash.dmp");
        for odd in [
            "",
            " ",
            "dump.sys",
            r"\Device\HarddiskVolume2\dump.sys",
            r"E:dump.sys",
        ] {
            let set = Set {
                enabled: Some(1),
                dedicated: Some(odd),
                file,
            };
            assert_eq!(dump(&set).as_deref(), file, "{odd:?}");
            let set = Set {
                file: Some(odd),
                ..set
            };
            assert_eq!(
                dump(&set).as_deref(),
                Some(r"C:\Windows\MEMORY.DMP"),
                "{odd:?}"
            );
        }
    }

    #[test]
    fn a_value_of_another_type_has_its_code() {
        let (key, value) = (
            r"SOFTWARE\Microsoft\Windows NT\CurrentVersion",
            "CurrentVersion",
        );
        assert!(registry::text(key, value).is_ok());
        assert_eq!(registry::number(key, value), Err(UNSUPPORTED_TYPE));
    }

    #[test]
    fn the_windows_directory_is_one_of_a_drive() {
        let directory = Registry.windows_directory().expect("it has one");
        assert!(path(&directory).is_some(), "{directory:?}");
    }
}
