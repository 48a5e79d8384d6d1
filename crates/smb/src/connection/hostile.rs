//! Servers that break the protocol before a session has keys. Those that break it later are attacks on a real Samba's
//! answers, in tests/samba.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use zeroize::Zeroizing;

use super::{Connection, Login, Privacy, Server};
use crate::credentials::Credentials;
use crate::error::{Error, Failure, Operation};
use crate::name::Name;
use crate::status;
use crate::vectors;

/// Long for loopback, and for a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(200);

/// What a server sends after each request, with its length before it.
type Script = Vec<Vec<u8>>;

const ANSWER: Failure = Failure::Malformed("answer to the negotiation");
const CHOICE: Failure = Failure::Malformed("choice of algorithms or sizes");
const OTHER: Failure = Failure::Malformed("answer, to another request");
const HEADER: Failure = Failure::Malformed("header");
const LENGTH: Failure = Failure::Malformed("length");

#[test]
fn negotiations_that_break_the_protocol_are_refused() {
    let with = |at: usize, bytes: &[u8]| {
        let mut message = negotiated();
        message[at..at + bytes.len()].copy_from_slice(bytes);
        message
    };
    let failed = |status| answer(0, 0, status, &[9, 0, 0, 0, 0, 0, 0, 0, 0]);
    let (gone, none) = (failed(0xC000_0203), failed(status::NOT_SUPPORTED));
    let ended = Failure::Lost("the server ended the session, status 0xC0000203".into());
    let dialect = |text: &str| Failure::Dialect(text.into());
    for (what, message, expected) in [
        ("SMB 3.0.2", with(68, &[2, 3]), dialect("it chose 0x0302")),
        ("SMB 2.0.2", with(68, &[2, 2]), dialect("it chose 0x0202")),
        ("SMB 2", with(68, &[0xff, 2]), dialect("it chose 0x02ff")),
        ("an ended session", gone, ended),
        ("none of ours", none, dialect("it refuses that dialect")),
        ("SMB 1", with(0, &[0xff]), HEADER),
        ("another id", with(24, &[1]), OTHER),
        ("another command", with(12, &[1]), OTHER),
        ("a request", with(16, &[0]), HEADER),
        ("a compound", with(20, &[64]), HEADER),
        ("no structure", with(64, &[0]), ANSWER),
        ("contexts far away", with(124, &[0xff; 4]), ANSWER),
        ("many contexts", with(70, &[0xff; 2]), ANSWER),
        ("another hash", with(0x1c0 + 12, &[9]), CHOICE),
        ("another cipher", with(0x1c0 + 58, &[1]), CHOICE),
        ("tiny reads", with(96, &[0; 4]), CHOICE),
        ("no cipher", with(0x1c0 + 58, &[0]), Failure::NoEncryption),
        ("cut", negotiated()[..100].to_vec(), ANSWER),
    ] {
        let error = refused(Privacy::Required, vec![framed(&message)], PATIENCE);
        assert_eq!(error.operation, Operation::Negotiate);
        assert_eq!(error.failure, expected, "{what}");
    }
}

#[test]
fn logons_that_break_the_protocol_are_refused() {
    let negotiated = framed(&negotiated());
    let challenge = |status, body: &[u8]| framed(&answer(1, 1, status, body));
    let more = status::MORE_PROCESSING_REQUIRED;
    let empty = |flags| [9, 0, flags, 0, 72, 0, 0, 0];
    let good = challenge(more, &vectors::CHALLENGED[64..]);
    let once = |status, body: &[u8]| vec![challenge(status, body)];
    let second = |status, flags| framed(&answer(1, 2, status, &empty(flags)));
    let twice = |status, flags| vec![good.clone(), second(status, flags)];
    let unsigned = Failure::Unprotected("it is not signed");
    let no_token = Failure::Malformed("token of the logon");
    let far_away = [9, 0, 0, 0, 0xff, 0xff, 9, 0];
    let form = Failure::Malformed("answer to the logon");
    let wrong = 0xC000_006D;
    let mut weak = vectors::CHALLENGED[64..].to_vec();
    // The flag of 128 bits, in the challenge's fourth byte of flags.
    weak[8 + 31 + 23] &= !0x20;
    for (what, answers, expected) in [
        ("a guest", twice(0, 1), Failure::Guest),
        ("nobody", twice(0, 2), Failure::Anonymous),
        ("a guest at once", once(0, &empty(1)), Failure::Guest),
        ("nobody at once", once(0, &empty(0)), Failure::Anonymous),
        ("no signature", twice(0, 0), unsigned),
        ("no end", twice(more, 0), Failure::Status(more)),
        ("a weak logon", once(more, &weak), Failure::WeakLogon),
        ("no token", once(more, &empty(0)), no_token),
        ("a token far away", once(more, &far_away), form),
        ("password", twice(wrong, 0), Failure::LogonRefused(wrong)),
    ] {
        let script = [vec![negotiated.clone()], answers].concat();
        let error = refused(Privacy::Offered, script, PATIENCE);
        assert_eq!(error.operation, Operation::LogOn, "{what}");
        assert_eq!(error.failure, expected, "{what}");
        assert!(!error.object.contains("secret"));
    }
}

#[test]
fn lengths_that_no_answer_has_are_refused() {
    for (bytes, expected) in [
        (vec![0xff; 4], LENGTH),
        (vec![0, 1, 0x40, 1], LENGTH),
        (vec![0, 0, 0, 0], HEADER),
        (vec![0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0], HEADER),
        (vec![], Failure::TimedOut),
        (vec![0, 0], Failure::TimedOut),
        (vec![0, 0, 1, 0, 0xfe], Failure::TimedOut),
    ] {
        let is_late = expected == Failure::TimedOut;
        let patience = if is_late { SHORT } else { PATIENCE };
        let error = refused(Privacy::Offered, vec![bytes.clone()], patience);
        assert_eq!(error.failure, expected, "{bytes:?}");
    }
}

#[test]
fn a_trickle_ends_at_the_deadline() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(&[0, 1, 0, 0]).unwrap();
        // One byte for each that the client would wait for: it ends when the client does.
        let pause = Some(Duration::from_millis(1));
        stream.set_read_timeout(pause).unwrap();
        let mut sent = 0_u32;
        while stream.write_all(&[0xfe]).is_ok() {
            sent += 1;
            let _ = stream.read(&mut [0; 512]);
        }
        sent
    });
    let error = open(port, Privacy::Offered, SHORT).err().unwrap();
    assert_eq!(error.failure, Failure::TimedOut);
    assert!(server.join().unwrap() > 1);
}

#[test]
fn a_server_that_is_away_is_named() {
    let away = TcpListener::bind("127.0.0.1:0").unwrap().local_addr();
    let port = away.unwrap().port();
    let error = open(port, Privacy::Offered, PATIENCE).err().unwrap();
    assert!(matches!(error.failure, Failure::Unreachable(_)));
    let named = format!("connect to 127.0.0.1 port {port}: ");
    assert!(error.to_string().starts_with(&named));
}

/// Opens a share of a server that answers by a script, then waits for the client's end.
fn refused(privacy: Privacy, script: Script, patience: Duration) -> Error {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        for frame in script {
            read_request(&mut stream);
            stream.write_all(&frame).unwrap();
        }
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let error = open(port, privacy, patience).err().unwrap();
    server.join().unwrap();
    error
}

fn open(port: u16, privacy: Privacy, patience: Duration) -> crate::Result<Connection> {
    let server = Server {
        host: "127.0.0.1".to_owned(),
        port,
    };
    let password = Zeroizing::new("secret".to_owned());
    let credentials = Credentials::new("user", None, password).unwrap();
    let login = Login {
        server,
        share: Name::new("share").unwrap(),
        credentials,
        privacy,
    };
    Connection::open(&login, Instant::now() + patience)
}

fn negotiated() -> Vec<u8> {
    answer(0, 0, status::SUCCESS, &vectors::NEGOTIATED[64..])
}

fn answer(command: u8, message: u8, status: u32, body: &[u8]) -> Vec<u8> {
    let mut header = [0; 64];
    header[..6].copy_from_slice(b"\xfeSMB\x40\0");
    header[8..12].copy_from_slice(&status.to_le_bytes());
    (header[12], header[14], header[16], header[24]) = (command, 1, 1, message);
    [&header, body].concat()
}

fn framed(message: &[u8]) -> Vec<u8> {
    let len = u32::try_from(message.len()).unwrap();
    [len.to_be_bytes().as_slice(), message].concat()
}

fn read_request(stream: &mut TcpStream) {
    let mut length = [0; 4];
    stream.read_exact(&mut length).unwrap();
    let mut message = vec![0; usize::try_from(u32::from_be_bytes(length)).unwrap()];
    stream.read_exact(&mut message).unwrap();
}
