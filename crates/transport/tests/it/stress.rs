//! Everything at once, with times that make connections change hands constantly: a lost wake-up
//! shows as a call without an answer.

use std::thread;
use std::time::Duration;

use transport::ServerOptions;

use crate::system::support::multiplexed::Multiplexed;
use crate::system::support::{Fixture, call};

const CLIENTS: u64 = 24;
const CALLS: u64 = 150;

fn restless(linger: Duration) -> Fixture {
    let mut options = ServerOptions::default();
    options.linger = linger;
    options.ping_delay = Duration::from_micros(500);
    Fixture::new(options)
}

/// How long a call takes, in microseconds: most are fast, some are slow enough to be relieved.
fn nap(client: u64, index: u64) -> String {
    let dice = (client * 7919 + index * 104_729) % 97;
    match dice {
        0..4 => "6000",
        4..10 => "700",
        _ => "0",
    }
    .to_owned()
}

fn all_calls_are_answered(fixture: &Fixture) {
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            scope.spawn(move || {
                let mut channel = fixture.channel();
                for index in 0..CALLS {
                    let text = nap(client, index);
                    assert_eq!(
                        call(&channel, "/v1.Test/Work", text.as_bytes()),
                        text.as_bytes()
                    );
                    if index % 50 == 49 {
                        channel = fixture.channel();
                    }
                }
            });
        }
    });
    assert_eq!(fixture.server.usage().running_calls, 0);
}

#[test]
fn no_call_is_lost_when_connections_are_parked_after_each() {
    all_calls_are_answered(&restless(Duration::ZERO));
}

#[test]
fn no_call_is_lost_when_connections_are_parked_now_and_then() {
    all_calls_are_answered(&restless(Duration::from_micros(300)));
}

#[test]
fn no_call_is_lost_when_connections_are_never_parked() {
    all_calls_are_answered(&restless(Duration::from_secs(60)));
}

#[test]
fn no_call_is_lost_among_those_of_one_connection() {
    let fixture = restless(Duration::from_micros(300));
    thread::scope(|scope| {
        for client in 0..6 {
            let fixture = &fixture;
            scope.spawn(move || {
                let mut connection = Multiplexed::open(fixture.raw());
                for round in 0..20 {
                    let texts: Vec<_> = (0..20)
                        .map(|index| nap(client, round * 20 + index))
                        .collect();
                    let sent: Vec<_> = texts
                        .iter()
                        .map(|text| connection.send("/v1.Test/Work", text.as_bytes(), &[]))
                        .collect();
                    for (sent, text) in sent.into_iter().zip(&texts) {
                        assert_eq!(connection.wait(sent).unwrap().message(), text.as_bytes());
                    }
                }
            });
        }
    });
}
