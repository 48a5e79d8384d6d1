//! The log's lines, and the server after a panic of the log. One test, since a process has one log.

#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

mod support;

use std::io::Write;
use std::time::Instant;

use support::log::Log;
use support::multiplexed::Multiplexed;
use support::{Fixture, call, eventually, frames};
use transport::{Code, ServerOptions};

const ECHO: &str = "/v1.Test/Echo";
const INTERVAL_SECONDS: u64 = 10;

#[test]
fn clients_are_told_of_and_a_log_that_panics_or_is_flooded_harms_nobody() {
    let log = Log::install();
    a_client_is_told_of_with_its_process_id(&log);
    a_panic_in_a_connections_first_turn_closes_it_alone(&log);
    a_panic_in_taking_a_client_leaves_the_door_open(&log);
    a_panic_while_a_call_panics_is_answered(&log);
    a_panic_at_the_end_of_a_connection_leaves_none_behind(&log);
    clients_that_are_turned_away_cost_a_line_an_interval(&log);
    a_panic_while_a_call_is_refused_is_answered(&log);
    calls_that_are_refused_cost_a_line_an_interval(&log);
}

fn a_client_is_told_of_with_its_process_id(log: &Log) {
    let fixture = Fixture::new(ServerOptions::default());
    assert_eq!(call(&fixture.channel(), ECHO, b"hello"), b"hello");
    let lines = log.lines("client connected");
    let process = format!("process {}", std::process::id());
    assert!(
        lines.iter().any(|line| line.contains(&process)),
        "{lines:?}"
    );
}

fn a_panic_in_a_connections_first_turn_closes_it_alone(log: &Log) {
    let fixture = Fixture::new(ServerOptions::default());
    let channel = fixture.channel();
    assert_eq!(call(&channel, ECHO, b"before"), b"before");
    log.explode_at("client connected");
    let mut raw = fixture.raw();
    raw.write_all(&frames::opening()).unwrap();
    support::read_to_close(&mut raw);
    assert!(log.has_exploded());
    eventually("it is forgotten", || {
        fixture.server.usage().connections == 1
    });
    assert_eq!(call(&channel, ECHO, b"after"), b"after");
    assert_eq!(call(&fixture.channel(), ECHO, b"new"), b"new");
    assert_eq!(
        fixture
            .server
            .shutdown(support::TIMEOUT)
            .severed_connections,
        0
    );
}

fn a_panic_in_taking_a_client_leaves_the_door_open(log: &Log) {
    let mut options = ServerOptions::default();
    options.max_connections = 1;
    let fixture = Fixture::new(options);
    let channel = fixture.channel();
    assert_eq!(call(&channel, ECHO, b"before"), b"before");
    log.explode_at("a client is turned away");
    assert_eq!(support::read_to_close(&mut fixture.raw()), b"");
    eventually("the line is written", || log.has_exploded());
    assert_eq!(support::read_to_close(&mut fixture.raw()), b"", "as before");
    drop(channel);
    eventually("there is room", || fixture.server.usage().connections == 0);
    assert_eq!(call(&fixture.channel(), ECHO, b"new"), b"new");
}

fn a_panic_while_a_call_panics_is_answered(log: &Log) {
    let fixture = Fixture::new(ServerOptions::default());
    let channel = fixture.channel();
    log.explode_at("/v1.Test/Panic panicked");
    let status = support::call_err(&channel, "/v1.Test/Panic", b"");
    assert_eq!(status.message, "/v1.Test/Panic failed unexpectedly");
    assert!(log.has_exploded());
    assert_eq!(call(&channel, ECHO, b"after"), b"after");
    assert_eq!(fixture.server.usage().running_calls, 0);
}

fn a_panic_at_the_end_of_a_connection_leaves_none_behind(log: &Log) {
    let fixture = Fixture::new(ServerOptions::default());
    let other = fixture.channel();
    assert_eq!(call(&other, ECHO, b"before"), b"before");
    log.explode_at("connection closed");
    drop(fixture.raw());
    eventually("the line is written", || log.has_exploded());
    eventually("it is forgotten", || {
        fixture.server.usage().connections == 1
    });
    assert_eq!(call(&other, ECHO, b"after"), b"after");
}

fn clients_that_are_turned_away_cost_a_line_an_interval(log: &Log) {
    let mut options = ServerOptions::default();
    options.max_connections = 1;
    let fixture = Fixture::new(options);
    let channel = fixture.channel();
    assert_eq!(call(&channel, ECHO, b"before"), b"before");
    let before = log.count("a client is turned away");
    let start = Instant::now();
    for _ in 0..100 {
        assert_eq!(support::read_to_close(&mut fixture.raw()), b"");
    }
    eventually("all are counted", || {
        fixture.server.usage().turned_away == 100
    });
    let logged = log.lines("a client is turned away");
    let process = format!("process {}", std::process::id());
    assert!(
        logged.iter().all(|line| line.contains(&process)),
        "{logged:?}"
    );
    let lines = u64::try_from(logged.len() - before).unwrap();
    let intervals = start.elapsed().as_secs() / INTERVAL_SECONDS;
    assert!((1..=intervals + 1).contains(&lines), "{lines} lines");
    assert_eq!(call(&channel, ECHO, b"after"), b"after");
}

/// A server with one running call, and no room for another.
fn busy() -> (Fixture, Multiplexed) {
    let mut options = ServerOptions::default();
    options.max_running_calls = 1;
    let fixture = Fixture::new(options);
    let mut client = Multiplexed::open(fixture.raw());
    let _running = client.send("/v1.Test/Gate", b"", &[]);
    fixture.gate.wait_for_waiting(1);
    (fixture, client)
}

fn a_panic_while_a_call_is_refused_is_answered(log: &Log) {
    let (fixture, _client) = busy();
    let channel = fixture.channel();
    log.explode_at("a call is refused");
    let status = support::call_err(&channel, ECHO, b"");
    assert_eq!(status.message, "1 calls run already");
    assert!(log.has_exploded());
    fixture.gate.open();
    eventually("there is room", || {
        fixture.server.usage().running_calls == 0
    });
    assert_eq!(call(&channel, ECHO, b"after"), b"after");
}

fn calls_that_are_refused_cost_a_line_an_interval(log: &Log) {
    let (fixture, _client) = busy();
    let channel = fixture.channel();
    let before = log.count("a call is refused");
    let start = Instant::now();
    for _ in 0..100 {
        let refused = support::call_err(&channel, ECHO, b"").code;
        assert_eq!(refused, Code::ResourceExhausted);
    }
    assert_eq!(fixture.server.usage().refused_calls, 100);
    let lines = log.lines("a call is refused");
    let intervals = start.elapsed().as_secs() / INTERVAL_SECONDS;
    let new = u64::try_from(lines.len() - before).unwrap();
    assert!((1..=intervals + 1).contains(&new), "{new} lines");
    let last = lines.last().unwrap();
    for word in [format!("process {}", std::process::id()), ECHO.to_owned()] {
        assert!(last.contains(&word), "{last}");
    }
    fixture.gate.open();
}
