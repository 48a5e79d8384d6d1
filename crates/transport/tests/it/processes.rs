//! One process's share of a server, and the room left for another.

use std::env;
use std::io::Write;
use std::process::{Command, Stdio};

use transport::ServerOptions;

use crate::system::support;
use crate::system::support::multiplexed::Multiplexed;
use crate::system::support::{Fixture, call, call_err, eventually, frames};

const ECHO: &str = "/v1.Test/Echo";
/// Set for a test started as another process: the endpoint to call.
const ENDPOINT: &str = "TRANSPORT_TEST_ENDPOINT";

/// Guards: P26
#[test]
fn a_process_with_its_share_of_calls_leaves_room_for_another() {
    if called_as_another_process() {
        return;
    }
    let mut options = ServerOptions::default();
    options.max_process_calls = 2;
    let fixture = Fixture::new(options);
    let mut client = Multiplexed::open(fixture.raw());
    let slow = [(); 2].map(|()| client.send("/v1.Test/Gate", b"slow", &[]));
    fixture.gate.wait_for_waiting(2);
    let refused = call_err(&fixture.channel(), ECHO, b"");
    assert_eq!(
        refused.to_string(),
        "ResourceExhausted: 2 calls of one process run already"
    );
    assert_eq!(fixture.server.usage().refused_calls, 1);
    assert!(another_process_is_answered(
        &fixture,
        "a_process_with_its_share_of_calls_leaves_room_for_another"
    ));
    fixture.gate.open();
    for call in slow {
        assert_eq!(client.wait(call).unwrap().message(), b"slow");
    }
    assert_eq!(call(&fixture.channel(), ECHO, b"after"), b"after");
}

/// Guards: P26
#[test]
fn a_process_with_its_share_of_connections_leaves_room_for_another() {
    if called_as_another_process() {
        return;
    }
    let mut options = ServerOptions::default();
    options.max_process_connections = 2;
    let fixture = Fixture::new(options);
    let first = fixture.channel();
    assert_eq!(call(&first, ECHO, b"first"), b"first");
    let second = fixture.raw();
    eventually("both are in", || fixture.server.usage().connections == 2);
    assert_eq!(support::read_to_close(&mut fixture.raw()), b"");
    assert_eq!(fixture.server.usage().turned_away, 1);
    assert!(another_process_is_answered(
        &fixture,
        "a_process_with_its_share_of_connections_leaves_room_for_another"
    ));
    drop(second);
    eventually("there is room", || fixture.server.usage().connections == 1);
    assert_eq!(call(&fixture.channel(), ECHO, b"after"), b"after");
}

/// Guards: P28
#[test]
fn at_the_limit_the_longest_idle_connection_of_the_client_with_the_most_makes_room() {
    if called_as_another_process() {
        return;
    }
    let mut options = ServerOptions::default();
    options.max_connections = 3;
    let fixture = Fixture::new(options);
    let mut clients = [(); 3].map(|()| fixture.raw());
    for client in &mut clients {
        let call = frames::call(1, ECHO, b"localhost", b"fine");
        let bytes = [frames::opening(), call].concat();
        assert!(frames::exchange(client, &bytes, 1).is_some());
    }
    let [mut second, mut idle, mut third] = clients;
    for client in [&mut second, &mut third] {
        let call = frames::call(3, ECHO, b"localhost", b"again");
        assert!(frames::exchange(client, &call, 3).is_some());
    }
    assert!(another_process_is_answered(
        &fixture,
        "at_the_limit_the_longest_idle_connection_of_the_client_with_the_most_makes_room"
    ));
    let mut last = None;
    while let Some(frame) = frames::read_frame(&mut idle) {
        last = Some(frame).filter(|frame| frame.kind == frames::GOAWAY);
    }
    assert_eq!(last.map(|frame| frames::goaway(&frame)), Some((1, 0)));
    for client in [&mut second, &mut third] {
        let call = frames::call(5, ECHO, b"localhost", b"still here");
        assert!(frames::exchange(client, &call, 5).is_some());
    }
    assert_eq!(fixture.server.usage().turned_away, 0);
}

/// Guards: P28
#[test]
fn a_response_that_nobody_takes_keeps_no_connection_at_the_limit() {
    if called_as_another_process() {
        return;
    }
    let mut options = ServerOptions::default();
    options.max_connections = 2;
    let fixture = Fixture::new(options);
    let mut clients = [(); 2].map(|()| fixture.raw());
    for client in &mut clients {
        let no_window = frames::frame(frames::SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0]);
        let call = frames::call(1, ECHO, b"localhost", b"untaken");
        let bytes = [frames::PREFACE, &no_window, &call].concat();
        client.write_all(&bytes).unwrap();
        // Its head comes, and of its body nothing may.
        assert_eq!(frames::frame_of(client, frames::HEADERS).stream, 1);
    }
    assert!(another_process_is_answered(
        &fixture,
        "a_response_that_nobody_takes_keeps_no_connection_at_the_limit"
    ));
    assert_eq!(fixture.server.usage().turned_away, 0);
}

/// Calls when this test was started as another process.
fn called_as_another_process() -> bool {
    let endpoint = env::var(ENDPOINT);
    if let Ok(endpoint) = &endpoint {
        let channel = support::connect(&endpoint.parse().unwrap());
        assert_eq!(call(&channel, ECHO, b"other"), b"other");
    }
    endpoint.is_ok()
}

/// Starts a test of this program as another process.
fn another_process_is_answered(fixture: &Fixture, test: &str) -> bool {
    let other = Command::new(env::current_exe().unwrap())
        .args([&format!("processes::{test}"), "--exact"])
        .env(ENDPOINT, fixture.endpoint.to_string())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&other.stdout);
    other.status.success() && output.contains("1 passed")
}
