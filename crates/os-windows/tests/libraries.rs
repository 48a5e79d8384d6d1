//! The search for libraries, in a process of its own: its setting cannot be undone.

// UNSAFETY: a library is loaded through Win32 alone.
#![allow(unsafe_code)]
#![cfg(windows)]

use std::path::Path;
use std::{env, fs};

use wincsi_os_windows::search_system32_only;
use windows_sys::Win32::System::LibraryLoader::LoadLibraryW;

/// Whether a library of this name is found. It stays loaded, so each name is tried once.
fn loads(name: &str) -> bool {
    let wide: Vec<u16> = name.encode_utf16().chain([0]).collect();
    // SAFETY: the text ends in a zero and outlives the call. The file is this program (its start is not run again) or
    // one of the system's own.
    !unsafe { LoadLibraryW(wide.as_ptr()) }.is_null()
}

/// Puts a loadable file beside this program.
fn plant(name: &str) -> String {
    let program = env::current_exe().expect("this program");
    fs::copy(&program, program.with_file_name(name)).expect("a copy beside it");
    name.to_owned()
}

/// Guards: P10
#[test]
fn what_lies_beside_the_program_is_not_loaded_once_that_is_asked_for() {
    let (before, after) = (plant("wincsi-before.dll"), plant("wincsi-after.dll"));
    assert!(loads(&before), "the folder is looked into by default");
    search_system32_only().expect("it is set");
    assert!(!loads(&after));
    assert!(loads("version.dll"), "System32 is looked into");
    let program = env::current_exe().expect("this program");
    let folder = program.parent().unwrap_or(Path::new(""));
    assert!(loads(&folder.join(&after).to_string_lossy()));
}
