use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SocketType};
use wincsi_smb::{Failure, Operation, Privacy, Share};

use crate::operations::{at, put};
use crate::server::{PASSWORD, Samba, open, soon, user};

const LOGON_FAILURE: u32 = 0xC000_006D;

/// Guards: P89
#[test]
fn sessions_of_nobody_and_missing_shares_are_refused() {
    let samba = Samba::start();
    let (me, log_on, to_share) = (&*user(), Operation::LogOn, Operation::OpenShare);
    let wrong = Failure::LogonRefused(LOGON_FAILURE);
    for (who, password, share, operation, failure) in [
        (me, "wrong", "plain", log_on, wrong),
        (me, PASSWORD, "none", to_share, Failure::NoSuchShare),
        (me, PASSWORD, "IPC$", to_share, Failure::NotADisk),
        // Samba makes a guest of a user that it does not know.
        ("nobody-here", PASSWORD, "plain", log_on, Failure::Guest),
    ] {
        for privacy in [Privacy::Offered, Privacy::Required] {
            let opened = open(samba.port(), share, who, password, privacy, soon());
            let error = opened.err().unwrap();
            let found = (error.operation, &error.failure);
            assert_eq!(found, (operation, &failure), "{who} {share}");
            let text = format!("{error} {error:?}");
            assert!(!text.contains(password), "{text}");
        }
    }
}

#[test]
fn a_standalone_server_takes_any_domain() {
    let samba = Samba::start();
    let (me, privacy) = (user(), Privacy::Required);
    for who in [
        format!(r"ELSEWHERE\{me}"),
        format!("{me}@elsewhere.example"),
    ] {
        let opened = open(samba.port(), "plain", &who, PASSWORD, privacy, soon());
        assert_eq!(opened.err().map(|error| error.to_string()), None, "{who}");
    }
}

/// Guards: P89
#[test]
fn a_server_without_3_1_1_or_encryption_is_refused() {
    let (old, plain) = ("server max protocol = SMB3_02", "server smb encrypt = off");
    for (lines, privacy, refused) in [
        (old, Privacy::Offered, "3.1.1"),
        (old, Privacy::Required, "3.1.1"),
        (plain, Privacy::Offered, ""),
        (plain, Privacy::Required, "AES-GCM"),
    ] {
        let samba = Samba::with(lines);
        let opened = open(samba.port(), "plain", &user(), PASSWORD, privacy, soon());
        let error = opened.err().map(|error| error.to_string());
        let error = error.unwrap_or_default();
        let is_refused = error.starts_with("negotiate with");
        assert_eq!(is_refused, !refused.is_empty(), "{privacy:?}: {error}");
        assert!(error.contains(refused), "{error}");
    }
}

#[test]
fn each_cipher_of_ours_is_enough() {
    for (only, is_ours) in [
        ("AES-128-GCM", true),
        ("AES-256-GCM", true),
        ("AES-256-CCM", false),
    ] {
        let samba = Samba::with(&format!("server smb3 encryption algorithms = {only}"));
        for (share, privacy, refused) in [
            ("plain", Privacy::Required, Failure::NoEncryption),
            ("encrypted", Privacy::Offered, Failure::Denied),
        ] {
            let opened = open(samba.port(), share, &user(), PASSWORD, privacy, soon());
            if !is_ours {
                assert_eq!(opened.err().unwrap().failure, refused, "{only}");
                continue;
            }
            let mut share = opened.unwrap();
            let id = put(&mut share, "file", b"secret");
            assert_eq!(share.read(&at("file"), soon()).unwrap(), b"secret");
            share.remove(&at("file"), id, soon()).unwrap();
        }
    }
}

#[test]
fn a_deadline_in_the_past_sends_nothing() {
    let samba = Samba::start();
    let past = Instant::now() - Duration::from_secs(1);
    is_late(samba.port(), past);
}

#[test]
fn an_unanswered_connect_ends_at_the_deadline() {
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    rustix::net::bind(&socket, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    rustix::net::listen(&socket, 0).unwrap();
    let bound = SocketAddr::try_from(rustix::net::getsockname(&socket).unwrap()).unwrap();
    // One connection fills the queue; Linux answers no other.
    let _first = TcpStream::connect(bound).unwrap();
    let by = Instant::now() + Duration::from_millis(200);
    is_late(bound.port(), by);
}

fn is_late(port: u16, by: Instant) {
    let opened = open(port, "plain", &user(), PASSWORD, Privacy::Offered, by);
    let error = opened.err().unwrap();
    let found = (error.operation, error.failure);
    assert_eq!(found, (Operation::Connect, Failure::TimedOut));
}
