//! Actions on other processes, as far as they change nothing.

#![cfg(windows)]

use std::{process, thread};

use wincsi_os_windows_testkit::process::thread_names;

#[test]
fn the_threads_of_a_process_are_known_by_name() {
    let names = || thread_names(process::id()).expect("a list");
    let named = thread::Builder::new().name("one of ours".to_owned());
    let named = named.spawn(names).expect("a thread");
    let names = named.join().expect("no panic");
    assert!(names.iter().any(|name| name == "one of ours"), "{names:?}");
    assert!(!names.iter().any(|name| name == "another"), "{names:?}");
}
