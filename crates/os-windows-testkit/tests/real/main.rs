//! The fixtures for real Windows, as far as they change nothing.

#![cfg(windows)]

use std::path::Path;
use std::{process, thread};

use wincsi_os_windows_testkit::real::{self, VirtualDisks};

#[test]
fn virtual_disks_are_there_or_the_function_that_is_missing_is_named() {
    let loaded = VirtualDisks::load();
    let missing = loaded
        .err()
        .map(|error| format!("{}: {}", error.operation, error.object));
    let wanted =
        real::wine_version().map(|_| "GetProcAddress: virtdisk.dll: CreateVirtualDisk".to_owned());
    assert_eq!(missing, wanted);
}

#[test]
fn the_process_and_the_machine_are_known() {
    real::is_elevated().expect("the token says");
    // Wine 8 passes for Windows 7.
    assert!(real::windows_build() >= 7601, "{}", real::windows_build());
    assert!(!real::computer_name().expect("a name").is_empty());
}

#[test]
fn a_free_drive_is_nobodys() {
    let letter = real::free_drive().expect("a letter");
    assert!(('D'..='Z').contains(&letter));
    assert!(!Path::new(&format!(r"{letter}:\")).exists());
}

#[test]
fn the_threads_of_a_process_are_known_by_name() {
    let names = || real::thread_names(process::id()).expect("a list");
    let named = thread::Builder::new().name("one of ours".to_owned());
    let named = named.spawn(names).expect("a thread");
    let names = named.join().expect("no panic");
    assert!(names.iter().any(|name| name == "one of ours"), "{names:?}");
    assert!(!names.iter().any(|name| name == "another"), "{names:?}");
}
