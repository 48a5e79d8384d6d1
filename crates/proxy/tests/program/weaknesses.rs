//! Weaknesses of csi-proxy's process, absent here, by their number in our notes on it.

use std::path::Path;

use crate::exe::{Server, exe, serving, turn};
use crate::{call, platform};

/// Guards: P14
#[test]
fn weakness_4_a_failed_start_is_a_text_and_an_exit_code_and_no_panic() {
    let _turn = turn();
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("node"), "no folder").expect("a file");
    let ended = exe(&serving(folder.path()));
    assert_eq!(ended.code, Some(1), "{}", ended.output);
    assert!(ended.output.contains("start failed: "), "{}", ended.output);
    assert!(!ended.output.contains("panicked"), "{}", ended.output);
}

/// Guards: P3
#[test]
fn weakness_4_an_endpoint_that_is_taken_is_named() {
    let _turn = turn();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let taken = platform::take_endpoint(folder.path(), "csi-proxy-disk-v1");
    let arguments = serving(folder.path());
    let mut server = Server::in_folder(folder, &arguments);
    let text = server.output();
    let line = text.lines().find(|line| line.contains(TAKEN));
    assert!(
        line.is_some_and(|line| line.contains("csi-proxy-disk-v1")),
        "{text}"
    );
    // The others were free: they are not blamed, and served.
    assert!(!text.contains("csi-proxy-volume-v1"), "{text}");
    assert!(call::answers(server.folder.path()));
    drop(taken);
    server.wait_for("free again and served: ");
    assert!(call::disks_answer(server.folder.path()));
    assert!(!server.output().contains("panicked"));
}

const TAKEN: &str = "served by another process: ";

/// Guards: P14
#[test]
fn weakness_4_a_start_whose_endpoints_are_all_taken_is_a_text_and_an_exit_code() {
    let _turn = turn();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let names = || wire::GROUPS.iter().map(wire::Group::pipe_name);
    let taken: Vec<_> = names()
        .map(|name| platform::take_endpoint(folder.path(), &name))
        .collect();
    let ended = exe(&serving(folder.path()));
    drop(taken);
    assert_eq!(ended.code, Some(1), "{}", ended.output);
    let text = &ended.output;
    assert!(text.contains("start failed: cannot listen on "), "{text}");
    for name in names() {
        assert!(text.contains(&name), "{name}: {text}");
    }
    assert!(!text.contains("panicked"), "{text}");
}

/// Guards: P25
#[test]
fn weakness_6_junk_at_one_endpoint_stops_neither_it_nor_another() {
    let _turn = turn();
    let server = Server::start();
    let folder: &Path = server.folder.path();
    for junk in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 4096], &[0; 9], b""] {
        platform::send_to(folder, "csi-proxy-disk-v1", junk);
    }
    assert!(call::answers(folder));
    assert!(call::disks_answer(folder));
    assert!(!server.output().contains("panicked"));
}
