//! The log's lines about clients, and the program while nobody reads its log.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::sync::mpsc;
use std::thread;

use client::Client;
use wire::volume::v1 as volume;

use crate::exe::{Server, TIMEOUT, look_until, turn};
use crate::{call, platform};

#[test]
fn verbosity_2_shows_who_connects_and_why_a_connection_ends() {
    let _turn = turn();
    let server = Server::with_flags(&["-v=2"]);
    assert!(call::answers(server.folder.path()));
    platform::send_to(server.folder.path(), "csi-proxy-disk-v1", &[0xff; 64]);
    let peer = format!("peer=process {}", std::process::id());
    wait_for_line(
        &server,
        &["client connected", "csi-proxy-filesystem-v1", &peer],
    );
    wait_for_line(
        &server,
        &["connection closed", "csi-proxy-filesystem-v1", &peer],
    );
    let junk = "reason=the connection does not begin with the HTTP/2 preface";
    wait_for_line(
        &server,
        &["connection closed", "csi-proxy-disk-v1", &peer, junk],
    );
}

#[test]
fn looks_of_the_health_page_are_told_at_verbosity_5_alone() {
    let _turn = turn();
    for (flag, is_logged) in [("-v=4", false), ("-v=5", true)] {
        let server = Server::with_flags(&[flag, "-healthz-bind-address=127.0.0.1:0"]);
        wait_for_line(&server, &["http://"]);
        let health = call::page(&server.output(), "/healthz");
        assert!(health.contains("endpoints: 23 of 23 answer"), "{health}");
        assert!(call::answers(server.folder.path()));
        // Earlier lines are in front of it.
        wait_for_line(&server, &["request method=/v1.Filesystem/PathExists"]);
        let own = format!("peer=process {}", server.process().id());
        let output = server.output();
        assert_eq!(output.contains(&own), is_logged, "{flag}: {output}");
    }
}

#[test]
fn the_start_logs_the_verdict_of_each_disk() {
    let _turn = turn();
    let server = Server::with_flags(&[]);
    wait_for_line(
        &server,
        &["disk guard: disk 0 is never written: it holds the boot volume"],
    );
}

#[test]
fn standard_error_that_nobody_reads_holds_up_neither_calls_nor_the_end() {
    let _turn = turn();
    let mut server = unread();
    for _ in 0..MORE_THAN_A_PIPE_HOLDS {
        fail(server.folder.path());
    }
    assert!(call::answers(server.folder.path()));
    platform::ask_to_end(&server, platform::REQUESTS[0]);
    assert_eq!(server.end().code(), Some(0));
}

#[test]
fn lines_that_nobody_read_are_counted_where_they_are_missing() {
    let _turn = turn();
    let mut server = unread();
    for _ in 0..MORE_THAN_THE_LOG_HOLDS {
        fail(server.folder.path());
    }
    let mut errors = BufReader::new(server.errors());
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        let mut line = String::new();
        while errors.read_line(&mut line).is_ok_and(|length| length > 0) {
            let _ = sender.send(std::mem::take(&mut line));
        }
    });
    let mut failures = 0;
    let lost: usize = loop {
        let line = lines.recv_timeout(TIMEOUT).expect("the loss is told");
        failures += usize::from(line.contains("failed: "));
        if let Some((_, lines)) =
            line.split_once("standard error was not read: lines are missing here lines=")
        {
            break lines.trim().parse().expect("a number");
        }
    };
    assert_eq!(failures + lost, MORE_THAN_THE_LOG_HOLDS);
    fail(server.folder.path());
    let line = lines.recv_timeout(TIMEOUT).expect("a line");
    assert!(line.contains("failed: "), "{line}");
}

/// 64 KiB or less on systems of our time. A failure is a line of more than half a KiB.
const MORE_THAN_A_PIPE_HOLDS: usize = 400;

/// The log (up to 256 KiB on their way to the pipe and as much again waiting), and the pipe.
const MORE_THAN_THE_LOG_HOLDS: usize = 1500;

fn unread() -> Server {
    let server = Server::unread();
    look_until(
        || "a server that answers".to_owned(),
        || call::answers(server.folder.path()),
    );
    server
}

/// A failing call, logged with a long line.
fn fail(folder: &Path) {
    let request = volume::IsVolumeFormattedRequest {
        volume_id: "no volume ".repeat(50),
    };
    let client = Client::local(folder.join("sockets"));
    let answer = client.call::<volume::rpc::IsVolumeFormatted>(&request, TIMEOUT);
    let error = answer.expect_err("there is none").to_string();
    assert!(error.contains("no volume no volume"), "{error}");
}

fn wait_for_line(server: &Server, words: &[&str]) {
    let is_it = |line: &str| words.iter().all(|word| line.contains(word));
    look_until(
        || format!("{words:?} in {}", server.output()),
        || server.output().lines().any(is_it),
    );
}
