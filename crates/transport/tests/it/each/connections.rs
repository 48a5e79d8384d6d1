//! Connections as they come and go: silent, rude, deaf; and servers as they start and stop.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{slice, thread};

use transport::{BindError, CallError, Channel, Endpoint, Server, ServerOptions};

use super::support;
use super::support::multiplexed::Multiplexed;
use super::support::{Fixture, Gate, Home, RawStream, TIMEOUT, call, connect, eventually, frames};

/// Clients that never read.
const DEAF: usize = 20;
/// Calls of each, for a megabyte and a half.
const DEAF_CALLS: usize = 24;
/// The part left at the server, with any size of a socket's or a pipe's buffers.
const LEFT_BYTES: usize = 1 << 20;
const CROWD: usize = 1_000;
/// Threads of a pool without waits: a busy machine may make it a few more.
const FEW: usize = 32;
/// csi-proxy's group-versions.
const ENDPOINTS: usize = 23;

fn fixture() -> Fixture {
    Fixture::new(ServerOptions::default())
}

fn short(handshake_timeout: Duration) -> Fixture {
    let mut options = ServerOptions::default();
    options.handshake_timeout = handshake_timeout;
    Fixture::new(options)
}

/// Guards: P29
#[test]
fn a_thousand_silent_connections_cost_no_threads_and_no_time() {
    support::allow_many_connections();
    let fixture = fixture();
    let silent: Vec<_> = (0..CROWD).map(|_| fixture.raw()).collect();
    eventually("all are accepted", || {
        fixture.server.usage().connections == CROWD
    });
    let channel = fixture.channel();
    for _ in 0..100 {
        assert_eq!(call(&channel, "/v1.Test/Echo", b"fine"), b"fine");
    }
    let usage = fixture.server.usage();
    assert_eq!(usage.connections, CROWD + 1);
    assert!(usage.threads < FEW, "{usage:?}");
    drop(silent);
    eventually("they are forgotten", || {
        fixture.server.usage().connections == 1
    });
}

#[test]
fn a_thousand_idle_connections_cost_no_threads() {
    support::allow_many_connections();
    let mut options = ServerOptions::default();
    options.linger = Duration::from_millis(1);
    let fixture = Fixture::new(options);
    let idle: Vec<_> = (0..CROWD)
        .map(|_| {
            let channel = fixture.channel();
            assert_eq!(call(&channel, "/v1.Test/Echo", b"fine"), b"fine");
            channel
        })
        .collect();
    let usage = fixture.server.usage();
    assert_eq!(usage.connections, CROWD);
    assert!(usage.threads < FEW, "{usage:?}");
    for channel in &idle {
        assert_eq!(call(channel, "/v1.Test/Echo", b"again"), b"again");
    }
    assert_eq!(
        fixture.server.usage().connections,
        CROWD,
        "each went on with its own"
    );
}

#[test]
fn connections_that_say_nothing_are_closed_in_the_end() {
    let fixture = short(Duration::from_millis(50));
    let mut silent = fixture.raw();
    assert_eq!(support::read_to_close(&mut silent), b"");
    eventually("it is forgotten", || {
        fixture.server.usage().connections == 0
    });
}

#[test]
fn half_a_preface_is_closed_in_the_end_and_a_whole_one_stays() {
    let fixture = short(Duration::from_millis(50));
    let mut whole = Multiplexed::open(fixture.raw());
    let first = whole.send("/v1.Test/Echo", b"first", &[]);
    assert_eq!(whole.wait(first).unwrap().message(), b"first");
    let mut half = fixture.raw();
    half.write_all(&frames::PREFACE[..10]).unwrap();
    support::read_to_close(&mut half);
    let second = whole.send("/v1.Test/Echo", b"second", &[]);
    assert_eq!(whole.wait(second).unwrap().message(), b"second");
}

#[test]
fn an_opening_that_comes_byte_by_byte_is_understood() {
    let fixture = fixture();
    let mut raw = fixture.raw();
    let mut bytes = frames::opening();
    bytes.extend(frames::call(
        1,
        "/v1.Test/Echo",
        br"\\.\pipe\x",
        b"slow typist",
    ));
    let (last, rest) = bytes.split_last().unwrap();
    for byte in rest {
        raw.write_all(&[*byte]).unwrap();
    }
    let answer = frames::exchange(&mut raw, &[*last], 1);
    assert_eq!(answer, Some(frames::message(b"slow typist")));
}

#[test]
fn what_is_not_http2_is_closed_at_once_for_itself_alone() {
    let fixture = fixture();
    let channel = fixture.channel();
    let junk: [&[u8]; 4] = [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        &[0; 100],
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\r",
        &[0xff; 70_000],
    ];
    for bytes in junk {
        let mut raw = fixture.raw();
        // It may be closed before all is written.
        let _ = support::write_or_closed(&mut raw, bytes);
        support::read_to_close(&mut raw);
    }
    eventually("they are forgotten", || {
        fixture.server.usage().connections == 1
    });
    assert_eq!(call(&channel, "/v1.Test/Echo", b"fine"), b"fine");
}

#[test]
fn malformed_frames_are_closed_for_themselves_alone() {
    let fixture = fixture();
    let channel = fixture.channel();
    let bad: [Vec<u8>; 6] = [
        frames::frame(9, 4, 1, b"\x82"),
        frames::frame(frames::HEADERS, 4, 1, &[0x80]),
        frames::frame(frames::HEADERS, 4, 1, &[0; 20_000]),
        [
            frames::frame(frames::HEADERS, 0, 1, b"\x82"),
            frames::frame(frames::DATA, 0, 1, b"x"),
        ]
        .concat(),
        frames::frame(frames::SETTINGS, 0, 0, b"odd"),
        frames::frame(frames::DATA, 1, 7, b"data on no stream"),
    ];
    for bytes in bad {
        let mut raw = fixture.raw();
        raw.write_all(&[frames::opening(), bytes].concat()).unwrap();
        support::read_to_close(&mut raw);
    }
    eventually("they are forgotten", || {
        fixture.server.usage().connections == 1
    });
    assert_eq!(call(&channel, "/v1.Test/Echo", b"fine"), b"fine");
}

#[test]
fn clients_that_never_read_delay_nobody() {
    // Nothing but the end of the test ends them.
    let fixture = stalling(Duration::from_secs(3600));
    let deaf: Vec<_> = (0..DEAF).map(|_| deaf_client(&fixture)).collect();
    let held = || fixture.server.usage().held_bytes;
    let channel = fixture.channel();
    // While they are getting stuck, too.
    eventually("each has more to take than the system takes for it", || {
        assert_eq!(call(&channel, "/v1.Test/Echo", b"fine"), b"fine");
        held() >= DEAF * LEFT_BYTES
    });
    for _ in 0..100 {
        assert_eq!(call(&channel, "/v1.Test/Echo", b"fine"), b"fine");
    }
    assert!(held() >= DEAF * LEFT_BYTES, "they are stuck all the while");
    assert_eq!(fixture.server.usage().connections, DEAF + 1);
    drop(deaf);
}

/// Guards: P29
#[test]
fn clients_that_never_read_are_closed() {
    let fixture = stalling(Duration::from_millis(100));
    let deaf: Vec<_> = (0..DEAF).map(|_| deaf_client(&fixture)).collect();
    eventually("they are forgotten", || {
        fixture.server.usage().connections == 0
    });
    // A call taken over by another thread ends after its connection.
    eventually("nothing is held", || fixture.server.usage().held_bytes == 0);
    drop(deaf);
}

#[test]
fn clients_that_call_without_end_and_never_read_are_closed() {
    let fixture = stalling(Duration::from_millis(100));
    thread::scope(|scope| {
        for _ in 0..DEAF {
            let mut raw = fixture.raw();
            scope.spawn(move || {
                let opened = raw.write_all(&frames::opening_with_window());
                let mut calls = (1..).step_by(2).map(large_call);
                while opened.is_ok() && calls.next().is_some_and(|it| raw.write_all(&it).is_ok()) {}
            });
        }
    });
    eventually("they are forgotten", || {
        fixture.server.usage().connections == 0
    });
}

fn stalling(timeout: Duration) -> Fixture {
    let mut options = ServerOptions::default();
    options.write_stall_timeout = timeout;
    Fixture::new(options)
}

/// A client that sends its calls and never reads.
fn deaf_client(fixture: &Fixture) -> RawStream {
    let mut raw = fixture.raw();
    let calls = (1..).step_by(2).take(DEAF_CALLS).flat_map(large_call);
    let bytes = [frames::opening_with_window(), calls.collect()].concat();
    raw.write_all(&bytes).unwrap();
    raw
}

/// A call with an answer of 64 KiB.
fn large_call(stream: u32) -> Vec<u8> {
    frames::call(stream, "/v1.Test/Large", b"localhost", b"")
}

#[test]
fn responses_that_the_client_gives_no_window_for_are_given_up() {
    let mut options = ServerOptions::default();
    options.write_stall_timeout = Duration::from_millis(50);
    let fixture = Fixture::new(options);
    let mut raw = fixture.raw();
    // A window of zero for every stream: SETTINGS_INITIAL_WINDOW_SIZE is number 4.
    let settings = frames::frame(frames::SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0]);
    let call = frames::call(1, "/v1.Test/Echo", b"localhost", b"never comes");
    let bytes = [frames::PREFACE, &settings, &call].concat();
    assert_eq!(
        frames::exchange(&mut raw, &bytes, 1),
        None,
        "the stream is reset"
    );
}

/// Guards: P15
#[test]
fn a_shutdown_lets_calls_finish() {
    let fixture = fixture();
    let channel = fixture.channel();
    let Fixture {
        server,
        gate,
        endpoint,
        _home,
    } = fixture;
    thread::scope(|scope| {
        let slow = scope.spawn(|| call(&channel, "/v1.Test/Gate", b"slow"));
        gate.wait_for_waiting(1);
        let stopping = scope.spawn(move || server.shutdown(TIMEOUT));
        eventually("no new client gets in", || !accepts(&endpoint));
        gate.open();
        assert_eq!(slow.join().unwrap(), b"slow");
        let report = stopping.join().unwrap();
        assert_eq!((report.severed_connections, report.abandoned_calls), (0, 0));
    });
}

#[test]
fn a_shutdown_waits_no_longer_than_told() {
    let fixture = fixture();
    let mut client = Multiplexed::open(fixture.raw());
    let _stuck = client.send("/v1.Test/Gate", b"", &[]);
    fixture.gate.wait_for_waiting(1);
    let report = fixture.server.shutdown(Duration::from_millis(10));
    assert_eq!((report.severed_connections, report.abandoned_calls), (1, 1));
    fixture.gate.open();
    fixture.gate.wait_for_passed(1);
}

#[test]
fn a_shutdown_refuses_new_calls_of_old_clients_as_unavailable() {
    let Fixture {
        server,
        gate,
        endpoint,
        _home,
    } = fixture();
    let mut idle = support::open(&endpoint);
    let first = frames::call(1, "/v1.Test/Echo", b"localhost", b"");
    let opening = [frames::opening(), first].concat();
    assert!(frames::exchange(&mut idle, &opening, 1).is_some());
    let mut client = Multiplexed::open(support::open(&endpoint));
    let slow = client.send("/v1.Test/Gate", b"slow", &[]);
    gate.wait_for_waiting(1);
    thread::scope(|scope| {
        let stopping = scope.spawn(|| server.shutdown(TIMEOUT));
        assert_eq!(frames::goaways(&mut idle), [1], "the shutdown has begun");
        let late = client.send("/v1.Test/Echo", b"late", &[]);
        let refused = client.wait(late).unwrap();
        assert_eq!(
            (refused.code(), refused.text().as_str()),
            (14, "the server is shutting down")
        );
        gate.open();
        assert_eq!(client.wait(slow).unwrap().message(), b"slow");
        drop(client);
        let report = stopping.join().unwrap();
        assert_eq!((report.severed_connections, report.abandoned_calls), (0, 0));
    });
}

#[test]
fn an_idle_client_gets_a_goaway_that_names_its_last_call() {
    let fixture = fixture();
    let mut raw = fixture.raw();
    let bytes = [
        frames::opening(),
        frames::call(1, "/v1.Test/Echo", b"localhost", b"fine"),
    ];
    let answer = frames::exchange(&mut raw, &bytes.concat(), 1);
    assert_eq!(answer, Some(frames::message(b"fine")));
    let report = fixture.server.shutdown(TIMEOUT);
    assert_eq!(report.severed_connections, 0);
    assert_eq!(frames::goaways(&mut raw), [1], "then it is closed");
}

#[test]
fn a_busy_client_gets_a_goaway_before_its_answer_and_one_after() {
    let fixture = fixture();
    let mut raw = fixture.raw();
    let bytes = [
        frames::opening(),
        frames::call(1, "/v1.Test/Gate", b"localhost", b"slow"),
    ];
    raw.write_all(&bytes.concat()).unwrap();
    fixture.gate.wait_for_waiting(1);
    thread::scope(|scope| {
        let stopping = scope.spawn(|| fixture.server.shutdown(TIMEOUT));
        let first = loop {
            let frame = frames::read_frame(&mut raw).unwrap();
            if frame.kind == frames::GOAWAY {
                break frame;
            }
        };
        // Go clients make a new connection at the first, and keep this one for the calls on it.
        assert_eq!(frames::goaway(&first), (0x7fff_ffff, 0));
        fixture.gate.open();
        let answer = frames::exchange(&mut raw, &[], 1);
        assert_eq!(answer, Some(frames::message(b"slow")));
        assert_eq!(frames::goaways(&mut raw), [1]);
        assert_eq!(stopping.join().unwrap().severed_connections, 0);
    });
}

#[test]
fn a_second_shutdown_is_harmless_and_tells_what_is_left() {
    let fixture = fixture();
    let mut client = Multiplexed::open(fixture.raw());
    let _stuck = client.send("/v1.Test/Gate", b"", &[]);
    fixture.gate.wait_for_waiting(1);
    let first = fixture.server.shutdown(Duration::ZERO);
    assert_eq!((first.severed_connections, first.abandoned_calls), (1, 1));
    let second = fixture.server.shutdown(Duration::from_millis(10));
    assert_eq!((second.severed_connections, second.abandoned_calls), (0, 1));
    fixture.gate.open();
    eventually("the call ends", || {
        fixture.server.usage().running_calls == 0
    });
    let third = fixture.server.shutdown(Duration::ZERO);
    assert_eq!((third.severed_connections, third.abandoned_calls), (0, 0));
    assert_eq!(fixture.server.usage().threads, 0);
}

#[test]
fn an_idle_client_is_told_and_goes() {
    let fixture = fixture();
    let silent = fixture.raw();
    let channel = fixture.channel();
    assert_eq!(call(&channel, "/v1.Test/Echo", b"fine"), b"fine");
    let report = fixture.server.shutdown(TIMEOUT);
    assert_eq!(report.severed_connections, 0);
    assert!(report.elapsed < TIMEOUT, "{report:?}");
    drop(silent);
}

#[test]
fn a_channel_finds_a_server_that_has_been_started_again() {
    let Fixture {
        server,
        gate,
        endpoint,
        _home,
    } = fixture();
    let channel = connect(&endpoint);
    assert_eq!(call(&channel, "/v1.Test/Echo", b"one"), b"one");
    server.shutdown(TIMEOUT);
    let failed = channel.call("/v1.Test/Echo", b"none", Instant::now() + TIMEOUT);
    assert!(
        matches!(failed, Err(CallError::Connect { .. })),
        "{failed:?}"
    );
    let _server = support::serve(&endpoint, &gate, ServerOptions::default());
    assert_eq!(call(&channel, "/v1.Test/Echo", b"two"), b"two");
}

#[test]
fn a_server_outlives_the_thread_that_bound_it() {
    // Windows cancels the operations of an ending thread, including waits for clients.
    let fixture = thread::spawn(fixture).join().unwrap();
    for _ in 0..5 {
        assert_eq!(call(&fixture.channel(), "/v1.Test/Echo", b"fine"), b"fine");
    }
}

#[test]
fn a_channel_outlives_the_threads_that_call_on_it() {
    let fixture = fixture();
    let channel = fixture.channel();
    for _ in 0..5 {
        let channel = channel.clone();
        let called = thread::spawn(move || call(&channel, "/v1.Test/Echo", b"fine"));
        assert_eq!(called.join().unwrap(), b"fine");
    }
    assert_eq!(
        fixture.server.usage().connections,
        1,
        "all went over one connection"
    );
}

#[test]
fn an_endpoint_has_one_server_and_a_failed_one_leaves_nothing() {
    let home = Home::new();
    let gate = Arc::new(Gate::default());
    let taken = home.endpoint(&support::unique());
    let free = home.endpoint(&support::unique());
    let _first = support::serve(&taken, &gate, ServerOptions::default());
    let services = [&free, &taken].map(|endpoint| (endpoint.clone(), support::service(&gate)));
    let second = Server::bind(services.to_vec(), ServerOptions::default());
    let Err(BindError::Endpoints(failures)) = second else {
        panic!("refused, not {second:?}")
    };
    assert_eq!(failures.len(), 1);
    assert_eq!(failures[0].endpoint, taken);
    let _third = support::serve(&free, &gate, ServerOptions::default());
    assert_eq!(call(&connect(&free), "/v1.Test/Echo", b"fine"), b"fine");
}

/// Guards: P3
#[test]
fn an_endpoint_that_is_taken_costs_itself_only_and_is_served_once_it_is_free() {
    let (home, gate) = (Home::new(), Arc::new(Gate::default()));
    let [free, first, second] = [(); 3].map(|()| home.endpoint(&support::unique()));
    let other = support::serve(&first, &gate, ServerOptions::default());
    let still = support::serve(&second, &gate, ServerOptions::default());
    let services =
        [&free, &first, &second].map(|endpoint| (endpoint.clone(), support::service(&gate)));
    let server = Server::bind_free(services.to_vec(), ServerOptions::default()).unwrap();
    assert_eq!(server.taken(), [first.clone(), second.clone()]);
    assert_eq!(call(&connect(&free), "/v1.Test/Echo", b"fine"), b"fine");
    assert_eq!(server.retry_taken(), []);
    drop(other);
    assert_eq!(server.retry_taken(), slice::from_ref(&first));
    assert_eq!(server.taken(), [second]);
    let (before, client) = (server.usage().connections, connect(&first));
    assert_eq!(call(&client, "/v1.Test/Echo", b"fine"), b"fine");
    assert!(server.usage().connections > before, "another answered");
    drop(still);
    server.shutdown(TIMEOUT);
    assert_eq!(server.retry_taken(), []);
    assert!(!accepts(&first), "it was closed with the others");
}

#[test]
fn a_server_whose_endpoints_are_all_taken_does_not_start() {
    let (home, gate) = (Home::new(), Arc::new(Gate::default()));
    let endpoint = home.endpoint(&support::unique());
    let _other = support::serve(&endpoint, &gate, ServerOptions::default());
    let services = vec![(endpoint.clone(), support::service(&gate))];
    match Server::bind_free(services, ServerOptions::default()) {
        Err(BindError::Endpoints(failures)) => assert_eq!(failures[0].endpoint, endpoint),
        other => panic!("refused, not {other:?}"),
    }
}

#[test]
fn an_endpoint_that_can_never_be_had_keeps_a_server_from_starting_though_another_is_free() {
    let (home, gate) = (Home::new(), Arc::new(Gate::default()));
    let endpoints = [
        home.endpoint(&support::unique()),
        Endpoint::socket("/there-is-no-such-folder/nor-this/socket"),
    ];
    let services = endpoints.map(|endpoint| (endpoint, support::service(&gate)));
    let failed = Server::bind_free(services.to_vec(), ServerOptions::default());
    assert!(matches!(failed, Err(BindError::Endpoints(failures)) if failures.len() == 1));
}

#[test]
fn a_socket_whose_path_is_too_long_is_refused_by_name() {
    let path = format!("{}{}", support::ROOT, "s".repeat(107));
    let services = vec![(Endpoint::socket(&path), support::service(&Arc::default()))];
    let refused = Server::bind(services, ServerOptions::default()).unwrap_err();
    let text = refused.to_string();
    assert!(
        text.contains(&path) && text.contains("at most 107 bytes"),
        "{text}"
    );
}

#[test]
fn many_endpoints_with_silent_connections_cost_no_more_threads_than_one() {
    support::allow_many_connections();
    let (home, gate) = (Home::new(), Arc::new(Gate::default()));
    let endpoints: Vec<_> = (0..ENDPOINTS)
        .map(|_| home.endpoint(&support::unique()))
        .collect();
    let services = endpoints
        .iter()
        .map(|endpoint| (endpoint.clone(), support::service(&gate)));
    let server = Server::bind(services.collect(), ServerOptions::default()).unwrap();
    let before = server.usage().threads;
    let silent: Vec<_> = (0..CROWD)
        .map(|index| support::open(&endpoints[index % ENDPOINTS]))
        .collect();
    eventually("all are accepted", || server.usage().connections == CROWD);
    for endpoint in &endpoints {
        assert_eq!(call(&connect(endpoint), "/v1.Test/Echo", b"fine"), b"fine");
    }
    let after = server.usage().threads;
    assert!(before == 1 && after < FEW, "{before} and {after} threads");
    drop(silent);
    eventually("they are forgotten", || server.usage().connections == 0);
    assert_eq!(server.shutdown(TIMEOUT).severed_connections, 0);
}

#[test]
fn of_many_endpoints_the_one_that_fails_is_named_and_the_others_are_closed() {
    let (home, gate) = (Home::new(), Arc::new(Gate::default()));
    let endpoints: Vec<_> = (0..ENDPOINTS)
        .map(|_| home.endpoint(&support::unique()))
        .collect();
    let taken = &endpoints[ENDPOINTS / 2];
    let _first = support::serve(taken, &gate, ServerOptions::default());
    let services: Vec<_> = endpoints
        .iter()
        .map(|endpoint| (endpoint.clone(), support::service(&gate)))
        .collect();
    let failed = Server::bind(services, ServerOptions::default()).unwrap_err();
    let text = failed.to_string();
    assert!(
        text.contains(&format!("cannot listen on {taken}: ")),
        "{text}"
    );
    for endpoint in endpoints.iter().filter(|endpoint| *endpoint != taken) {
        assert!(!text.contains(&endpoint.to_string()), "{text}");
        assert!(!accepts(endpoint), "{endpoint} is closed");
    }
    assert_eq!(call(&connect(taken), "/v1.Test/Echo", b"fine"), b"fine");
}

#[test]
fn connections_over_the_bound_are_turned_away() {
    let mut options = ServerOptions::default();
    options.max_connections = 2;
    let fixture = Fixture::new(options);
    let first = fixture.channel();
    assert_eq!(call(&first, "/v1.Test/Echo", b"fine"), b"fine");
    let _second = fixture.raw();
    eventually("both are in", || fixture.server.usage().connections == 2);
    let mut third = fixture.raw();
    assert_eq!(support::read_to_close(&mut third), b"");
    assert_eq!(call(&first, "/v1.Test/Echo", b"fine"), b"fine");
}

/// Whether a server listens there.
fn accepts(endpoint: &Endpoint) -> bool {
    let mut options = support::channel_options();
    options.connect_timeout = Duration::from_millis(1);
    Channel::connect(endpoint.clone(), options).is_ok()
}
