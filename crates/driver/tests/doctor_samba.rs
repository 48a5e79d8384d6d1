//! `wincsi doctor //server/share` against a real Samba, and against ports that are none.

// Samba is a program of Linux.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

#[path = "../../smb/tests/samba/smbd.rs"]
mod smbd;

use std::io::Write as _;
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use wincsi_driver::doctor::server::{Limits, Rules, Server, Source, look};

use self::smbd::Samba;

/// Only a server that does not answer gets there.
const SHORT: Duration = Duration::from_millis(300);

fn look_at(source: &str, port: u16, privacy: bool, negotiate: Duration) -> Server {
    let limits = Limits {
        negotiate,
        ..Limits::default()
    };
    let rules = Rules {
        limits,
        port: Some(port),
        privacy,
        cluster_dns: None,
    };
    look(&Source::parse(source).unwrap(), &rules)
}

/// The exit code, Windows's code, and the last step.
fn failed(server: &Server) -> (u8, Option<u32>, &str) {
    let failure = server.failure.as_ref();
    let failure = failure.unwrap_or_else(|| panic!("{server}"));
    let step = server.steps.last().unwrap().step;
    (server.exit_code(), failure.code, step)
}

#[test]
fn samba_says_how_it_speaks() {
    // What is set, what the last step has, and the code of a mapping with privacy.
    for (lines, words, code) in [
        ("", "SMB 3.1.1, signing required, encryption AES-", None),
        (
            "smb encrypt = required",
            "SMB 3.1.1, signing required, encryption AES-",
            None,
        ),
        (
            "smb encrypt = off",
            "SMB 3.1.1, signing required, encryption none",
            Some(65),
        ),
        (
            "server signing = disabled\nsmb encrypt = off",
            "signing not required",
            Some(65),
        ),
        (
            "server max protocol = SMB2_10",
            "SMB 2.1, signing required, encryption none",
            Some(65),
        ),
        (
            "server max protocol = SMB3_00",
            "SMB 3.0, signing required, encryption AES-128-CCM",
            None,
        ),
    ] {
        let samba = Samba::with(lines);
        let look = |privacy| {
            look_at(
                "//127.0.0.1/plain",
                samba.port(),
                privacy,
                Limits::default().negotiate,
            )
        };
        let (private, open) = (look(true), look(false));
        assert!(
            private.steps[2].result.contains(words),
            "{lines}: {private}"
        );
        let of_private = private.failure.as_ref().and_then(|failure| failure.code);
        assert_eq!(
            (of_private, open.failure),
            (code, None),
            "{lines}: {private}"
        );
        assert_eq!(private.steps.len(), 3);
    }
}

/// Samba ends the connection of a client that offers SMB 2 and later; another server answers in SMB 1.
#[test]
fn an_smb_1_server_is_none() {
    let lines = "server max protocol = NT1\nserver min protocol = NT1";
    let samba = Samba::with(lines);
    let long = Limits::default().negotiate;
    let server = look_at("//127.0.0.1/plain", samba.port(), true, long);
    assert_eq!(failed(&server), (3, Some(64), "smb"), "{server}");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let answers = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let answer = [&[0, 0, 0, 36, 0xFF][..], b"SMB", &[0; 32]].concat();
        stream.write_all(&answer).unwrap();
        stream
    });
    let server = look_at("//127.0.0.1/plain", port, true, long);
    drop(answers.join().unwrap());
    assert_eq!(failed(&server), (3, None, "smb"), "{server}");
    assert_eq!(server.steps[2].result, "it speaks SMB 1 alone");
}

#[test]
fn a_port_that_is_none_fails_with_53_a_name_may() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let closed = look_at("//127.0.0.1/plain", port, true, SHORT);
    assert_eq!(failed(&closed), (3, Some(53), "tcp"), "{closed}");
    let nameless = look_at("//no-such-server.invalid/plain", port, true, SHORT);
    // Here the system has no code for it, with which Windows says that there is none.
    assert_eq!(failed(&nameless), (4, None, "name"), "{nameless}");
}

#[test]
fn a_port_that_hangs_up_fails_with_64_a_silent_one_may() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // The system accepts, and nobody answers.
    let silent = look_at("//127.0.0.1/plain", port, true, SHORT);
    assert_eq!(failed(&silent), (4, None, "smb"), "{silent}");
    drop(listener.accept());
    let hangs_up = thread::spawn(move || drop(listener.accept()));
    let ended = look_at("//127.0.0.1/plain", port, true, Limits::default().negotiate);
    hangs_up.join().unwrap();
    assert_eq!(failed(&ended), (3, Some(64), "smb"), "{ended}");
}

#[test]
fn a_server_with_an_ipv6_address_is_dialled_there() {
    let listener = TcpListener::bind("[::1]:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = look_at("//[::1]/plain", port, true, SHORT);
    assert_eq!(server.steps[1].result, format!("[::1]:{port} accepts"));
}
