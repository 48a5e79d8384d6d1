//! Guards nothing by luck: each attack names the message that it changes, and must fail the call.

use std::time::{Duration, Instant};

use wincsi_smb::{Failure, FileId, Privacy, Result, Share};

use crate::operations::{at, failure};
use crate::proxy::{Attack, From, Instead, between, framed, one, unchanged};
use crate::server::{PASSWORD, Samba, open, soon, user};

/// The messages of one side: NEGOTIATE, SESSION_SETUP twice, TREE_CONNECT, CREATE with what follows it.
const MESSAGES: usize = 5;
const CREATE: usize = 4;
/// Long for loopback, and for a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(20);
/// For attacks that end in silence.
const SHORT: Duration = Duration::from_millis(300);

const WAYS: [(&str, Privacy); 2] = [
    ("plain", Privacy::Offered),
    ("encrypted", Privacy::Required),
];

#[test]
fn without_an_attack_each_way_works() {
    for way in WAYS {
        let samba = Samba::start();
        let none = Box::new(|_, _, message: &[u8]| unchanged(message));
        let (done, requests) = attacked(&samba, way, PATIENCE, none);
        let error = done.err().map(|e| e.to_string());
        assert_eq!((error, requests), (None, MESSAGES));
    }
}

#[test]
fn each_changed_bit_fails_the_call() {
    let samba = Samba::start();
    for way in WAYS {
        for number in 0..MESSAGES {
            for place in [5, 8, 14, 17, 21, 26, 40, 50, 70, 77, 997] {
                let attack = flipped((From::Server, number), place, place % 8);
                let (done, _) = attacked(&samba, way, PATIENCE, attack);
                let error = done.expect_err(&format!("{way:?}: message {number}, byte {place}"));
                assert!(error.failure.ends_connection() || number < 3, "{error}");
            }
        }
    }
}

#[test]
fn each_changed_request_before_keys_fails() {
    let samba = Samba::start();
    for way in WAYS {
        // Ciphers, the dialect's place, capabilities, the client's id, a salt; the logon's flags and names.
        for (number, places) in [(0, [160, 164, 72, 77, 120]), (1, [67, 70, 130, 140, 89])] {
            for place in places {
                let attack = flipped((From::Client, number), place, 0);
                let (done, _) = attacked(&samba, way, PATIENCE, attack);
                assert!(done.is_err(), "{way:?}: message {number}, byte {place}");
            }
        }
    }
}

#[test]
fn replayed_shortened_and_stray_answers_fail() {
    let samba = Samba::start();
    for way in WAYS {
        for number in 0..MESSAGES {
            for kind in ["replayed", "twice", "short", "empty", "long", "garbage"] {
                let mut last = Vec::new();
                let attack = move |from, n, message: &[u8]| {
                    if from == From::Client {
                        return unchanged(message);
                    }
                    let before = std::mem::replace(&mut last, message.to_vec());
                    if n != number {
                        return unchanged(message);
                    }
                    Instead::Frames(match kind {
                        "replayed" => vec![before],
                        "twice" => vec![message.to_vec(), message.to_vec()],
                        "short" => vec![message[..message.len() - 1].to_vec()],
                        "empty" => vec![Vec::new()],
                        "long" => vec![[message, &[0; 90_000]].concat()],
                        _ => vec![vec![0xa5; message.len()]],
                    })
                };
                let (done, _) = attacked(&samba, way, PATIENCE, Box::new(attack));
                // The last answer's double is read by no one.
                let is_harmless = kind == "twice" && number == MESSAGES - 1;
                let what = format!("{way:?}: {kind} message {number}");
                assert_eq!(done.is_ok(), is_harmless, "{what}");
            }
        }
    }
}

/// Several answers may wait in memory for the last.
#[test]
fn one_of_several_answers_is_not_long() {
    let samba = Samba::start();
    let entries = [0, 1].map(|n| (at(&n.to_string()), FileId(n)));
    for (share, privacy) in WAYS {
        let longer = |message: &[u8]| Instead::Frames(vec![[message, &[0; 21 * 4_096]].concat()]);
        let attack = one((From::Server, CREATE), longer);
        let (port, _) = between(samba.port(), attack);
        let mut share = open(port, share, &user(), PASSWORD, privacy, soon()).unwrap();
        let failed = failure(share.remove_each(&entries, soon()));
        assert_eq!(failed, Failure::Malformed("length"));
    }
}

#[test]
fn silence_and_trickles_end_at_the_deadline() {
    let samba = Samba::start();
    for way in WAYS {
        for number in [0, 2, CREATE] {
            for sent in [0, 2, 4, 40] {
                let cut = move |message: &[u8]| {
                    Instead::BytesThenSilence(framed(message)[..sent].to_vec())
                };
                let started = Instant::now();
                let (done, _) = attacked(&samba, way, SHORT, one((From::Server, number), cut));
                let error = done.unwrap_err();
                // A busy machine may need longer for the messages before; the deadline is the same.
                let is_in_time = error.failure == Failure::TimedOut;
                assert!(is_in_time, "{way:?}: message {number}: {error}");
                assert!(started.elapsed() < PATIENCE);
            }
        }
    }
}

#[test]
fn nothing_is_sent_again_after_a_lost_answer() {
    let samba = Samba::start();
    for way in WAYS {
        for number in 0..MESSAGES {
            for side in [From::Client, From::Server] {
                let attack = one((side, number), |_| Instead::End);
                let (done, requests) = attacked(&samba, way, PATIENCE, attack);
                let error = done.unwrap_err();
                assert!(matches!(error.failure, Failure::Lost(_)), "{error}");
                assert_eq!(requests, number + 1, "{way:?}: {side:?} {number}");
                let made = samba.root().join("made").exists();
                let was_sent = number == CREATE && side == From::Server;
                assert_eq!(made, was_sent, "{way:?}: {side:?} {number}");
            }
        }
    }
}

/// Guards: P89
#[test]
fn an_encrypted_session_takes_no_plain_answer() {
    let samba = Samba::start();
    let attack = |from, n, message: &[u8]| match (from, n) {
        (From::Server, 3..) => {
            let mut plain = vec![0; 200];
            plain[..6].copy_from_slice(b"\xfeSMB\x40\0");
            plain[16] = 1;
            Instead::Frames(vec![plain])
        }
        (From::Client, 3..) => {
            assert!(message.starts_with(b"\xfdSMB"), "a plain request");
            unchanged(message)
        }
        _ => unchanged(message),
    };
    let (done, _) = attacked(&samba, WAYS[1], PATIENCE, Box::new(attack));
    let failure = done.unwrap_err().failure;
    assert_eq!(failure, Failure::Unprotected("it is not encrypted"));
}

/// Flips a bit of one message, of a byte that counts on from its end.
fn flipped(at: (From, usize), place: usize, bit: usize) -> Attack {
    one(at, move |message| {
        let mut message = message.to_vec();
        let place = place % message.len();
        message[place] ^= 1 << bit;
        Instead::Frames(vec![message])
    })
}

/// Opens a share through a man in the middle and makes a folder there. After a failure the share is used once more.
fn attacked(
    samba: &Samba,
    (share, privacy): (&str, Privacy),
    patience: Duration,
    attack: Attack,
) -> (Result<()>, usize) {
    // Of the attack before.
    let _ = std::fs::remove_dir(samba.root().join("made"));
    let (port, requests) = between(samba.port(), attack);
    let by = Instant::now() + patience;
    let done = open(port, share, &user(), PASSWORD, privacy, by).and_then(|mut share| {
        let made = share.make_folder(&at("made"), by).map(drop);
        if let Err(error) = &made
            && error.failure.ends_connection()
        {
            assert_eq!(failure(share.stat(&at(""), by)), Failure::Ended);
        }
        made
    });
    let requests = *requests.lock().unwrap();
    (done, requests)
}
