use std::fs;

use wincsi_windows_suite::names;

use super::said;
use super::suite;

/// What the program says of Wine.
pub(crate) const WHY_NOT: &str = "this is Wine ";

#[test]
fn a_clean_up_finds_what_a_killed_run_left_by_its_name_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let ours = at(&names::disk_file(7));
    let foreign = at("accounts.vhdx");
    for file in [&ours, &foreign] {
        fs::write(file, "a disk").expect("a file");
    }
    let arguments = ["--clean-up", "--i-may-change-this-machine"];
    let output = suite(folder.path(), &arguments);
    let told = said(&output.stdout);
    eprintln!("{told}\n{}", said(&output.stderr));
    assert!(!ours.exists(), "{told}");
    assert!(foreign.exists(), "{told}");
    assert!(!at(names::LOCK).exists(), "{told}");
}
