//! The program, on a simulated node and over the pipes of a csi-proxy.

use std::env;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use proxy::flags::Config;
use proxy::serve;
use wincsi::sim::demo;

const CALLS: [&str; 8] = [
    "stage disk",
    "stage share",
    "publish disk",
    "publish share",
    "unpublish disk",
    "unpublish share",
    "unstage disk",
    "unstage share",
];

fn play(node: &str, password: &str) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_wincsi-example-driver"))
        .arg(format!("--node={node}"))
        .arg(format!("--disk={}", demo::DISK_PAGE83))
        .arg(format!("--share={}", demo::SHARE))
        .arg(format!("--user={}", demo::SMB_USER))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = program.stdin.take().unwrap();
    // A program that refuses its arguments does not listen.
    let _ = input.write_all(format!("{password}\n").as_bytes());
    drop(input);
    program.wait_with_output().unwrap()
}

fn simulated(folder: &Path) -> String {
    format!("simulated:{}", folder.display())
}

/// Where a proxy with `-listen=FOLDER` serves.
fn over_pipes(sockets: &Path) -> String {
    match env::consts::OS {
        "windows" => "pipes".to_owned(),
        _ => format!("sockets:{}", sockets.display()),
    }
}

fn stderr_text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn complaint(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn assert_whole_play(output: &Output) {
    assert!(output.status.success(), "{}", complaint(output));
    let stderr_text = stderr_text(output);
    let done: Vec<_> = stderr_text
        .lines()
        .filter_map(|line| line.strip_suffix(": done"))
        .collect();
    assert_eq!(done, CALLS);
}

#[test]
fn the_play_is_played_on_a_simulated_node_and_again() {
    let folder = tempfile::tempdir().unwrap();
    let node = simulated(folder.path());
    for _ in 0..2 {
        let output = play(&node, demo::SMB_PASSWORD);
        assert_whole_play(&output);
        assert!(stderr_text(&output).starts_with("SIMULATED NODE in "));
    }
}

#[test]
fn the_play_is_played_over_the_pipes_of_a_proxy() {
    let folder = tempfile::tempdir().unwrap();
    let sockets = folder.path().join("sockets");
    let config = Config {
        listen: sockets.clone(),
        simulate: Some(folder.path().join("node")),
        ..Config::default()
    };
    let server = serve::start(&config).unwrap();
    let output = play(&over_pipes(&sockets), demo::SMB_PASSWORD);
    assert_whole_play(&output);
    drop(server);
}

#[test]
fn a_call_that_fails_is_named_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let output = play(&simulated(folder.path()), "another password");
    assert!(!output.status.success(), "{}", stderr_text(&output));
    assert!(
        stderr_text(&output).ends_with("stage disk: done\n"),
        "{}",
        stderr_text(&output)
    );
    let complaint = complaint(&output);
    assert!(complaint.contains("stage share"), "{complaint}");
    assert!(complaint.contains(demo::SHARE), "{complaint}");
    assert!(!complaint.contains("another password"), "{complaint}");
}

#[test]
fn a_node_that_nobody_knows_is_refused() {
    let output = play("imagined", "");
    assert!(!output.status.success());
    assert!(complaint(&output).contains("no such node: imagined"));
}
