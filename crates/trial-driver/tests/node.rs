//! The program for making the simulated node, as harnesses start it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn trial_node(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trial"));
    command
        .arg("node")
        .args(arguments)
        .env("RUST_BACKTRACE", "0");
    command.output().expect("the program starts")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a temporary folder has a plain name")
}

fn printed_path(output: &Output) -> PathBuf {
    assert!(output.status.success(), "{output:?}");
    PathBuf::from(String::from_utf8_lossy(&output.stdout).trim())
}

#[test]
fn a_node_is_made_and_written_on_while_nobody_has_it_open() {
    let folder = tempfile::tempdir().unwrap();
    let node = folder.path().join("node");
    let drive_c = printed_path(&trial_node(&["make", text(&node), "--name", "node-1"]));
    assert!(drive_c.starts_with(&node) && drive_c.is_dir());

    let write = |path| trial_node(&["write", text(&node), "--drive-c", text(&drive_c), path, "a"]);
    let written = printed_path(&write(r"C:\Windows\a.txt"));
    assert_eq!(written, drive_c.join("Windows").join("a.txt"));
    let refused = write(r"C:\none\a.txt");
    let stderr_text = String::from_utf8_lossy(&refused.stderr);
    assert!(
        !refused.status.success() && stderr_text.contains(r"C:\none\a.txt"),
        "{stderr_text}"
    );
}
