//! The program as it is started: what it refuses, what it lists, and, under Wine, what it cleans up.

use std::path::Path;
use std::process::Command;
use std::process::Output;

use wincsi_windows_suite::cases;

#[cfg_attr(windows, path = "wine.rs")]
#[cfg_attr(not(windows), path = "elsewhere.rs")]
mod platform;

/// Runs the program with a folder of the test's own, so that no default is ever touched.
fn suite(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wincsi-windows-suite"));
    command.arg("--folder").arg(folder).args(arguments);
    command.output().expect("the program starts")
}

fn said(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace("\r\n", "\n")
}

#[test]
fn it_does_nothing_without_leave() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = folder.path().join("suite");
    for arguments in [&[][..], &["life::"], &["--clean-up"], &["--keep"]] {
        let output = suite(&own, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let said = said(&output.stderr);
        assert!(said.contains("--i-may-change-this-machine"), "{said}");
        assert!(!own.exists(), "{arguments:?}");
    }
}

#[test]
fn its_list_has_every_case() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = suite(folder.path(), &["--list"]);
    assert_eq!(output.status.code(), Some(0));
    let told = said(&output.stdout);
    let seam = os_suite::cases().map(|case| case.name);
    for name in seam.chain(cases::all().map(|case| case.name)) {
        let is_listed = told
            .lines()
            .any(|line| line.split(' ').next() == Some(name));
        assert!(is_listed, "{name}");
    }
}

#[test]
fn it_says_why_it_runs_no_case_here() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = folder.path().join("suite");
    let output = suite(&own, &["--i-may-change-this-machine"]);
    assert_eq!(output.status.code(), Some(2));
    let said = said(&output.stderr);
    assert!(said.contains(platform::WHY_NOT), "{said}");
    assert!(!own.exists());
}
