//! The memory that all clients together, and one process, can make the server hold.

use std::io::Write;
use std::thread;

use transport::{Code, ServerOptions};

use super::support;
use super::support::{Fixture, RawStream, call, call_err, eventually, frames};

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;
const ECHO: &str = "/v1.Test/Echo";

fn fixture(max_held_bytes: usize) -> Fixture {
    let mut options = ServerOptions::default();
    options.max_held_bytes = max_held_bytes;
    Fixture::new(options)
}

/// The head of a call, and the promise of a message of so many bytes.
fn promise(stream: u32, bytes: usize) -> Vec<u8> {
    let block = frames::call_block(ECHO, b"localhost");
    let mut prefix = vec![0];
    prefix.extend(u32::try_from(bytes).unwrap().to_be_bytes());
    [
        frames::frame(frames::HEADERS, frames::END_HEADERS, stream, &block),
        frames::frame(frames::DATA, 0, stream, &prefix),
    ]
    .concat()
}

/// So many bytes of a 4 MiB message without an end.
fn unfinished(stream: u32, bytes: usize) -> Vec<u8> {
    let mut call = promise(stream, 4 * MIB);
    for _ in 0..bytes / (16 * KIB) {
        call.extend(frames::frame(frames::DATA, 0, stream, &[0; 16 * KIB]));
    }
    call
}

/// A client with so many begun requests of so many bytes each.
fn begun(fixture: &Fixture, requests: u32, bytes: usize) -> RawStream {
    let mut raw = fixture.raw();
    raw.write_all(&frames::opening_with_ack()).unwrap();
    for request in 0..requests {
        // The server may have closed it in between.
        let _ = support::write_or_closed(&mut raw, &unfinished(request * 2 + 1, bytes));
    }
    raw
}

/// Guards: P27
#[test]
fn unfinished_requests_of_many_connections_stay_within_the_budget() {
    let fixture = fixture(2 * MIB);
    let channel = fixture.channel();
    let mut clients = Vec::new();
    for _ in 0..20 {
        clients.push(begun(&fixture, 2, 512 * KIB));
        assert_eq!(call(&channel, ECHO, b"small"), b"small");
        let held = fixture.server.usage().held_bytes;
        assert!(held < 4 * MIB, "{held} bytes");
    }
    eventually("the sum fits", || {
        fixture.server.usage().held_bytes <= 2 * MIB
    });
    assert!(fixture.server.usage().held_bytes > 0, "some are kept");
    drop(clients);
    eventually("nothing is held", || fixture.server.usage().held_bytes == 0);
}

/// Guards: P27
#[test]
fn the_one_that_holds_the_most_is_refused_and_told_so() {
    let fixture = fixture(MIB);
    let mut modest = begun(&fixture, 1, 64 * KIB);
    eventually("it has come", || {
        fixture.server.usage().held_bytes >= 64 * KIB
    });
    let greedy = fixture.channel();
    let refused = call_err(&greedy, ECHO, &vec![0; 3 * MIB]);
    assert_eq!(refused.code, Code::ResourceExhausted);
    assert_eq!(
        refused.message,
        "the server holds too many unfinished requests"
    );
    assert_eq!(call(&greedy, ECHO, b"small"), b"small");
    let rest = frames::frame(frames::RST_STREAM, 0, 1, &8u32.to_be_bytes());
    modest.write_all(&rest).unwrap();
    let next = frames::call(3, ECHO, b"localhost", b"next");
    let answer = frames::exchange(&mut modest, &next, 3);
    assert_eq!(answer, Some(frames::message(b"next")));
}

/// The client takes the small answer only afterwards.
/// Guards: P27
#[test]
fn of_one_client_the_largest_makes_room() {
    let fixture = fixture(MIB);
    let mut raw = fixture.raw();
    let small = [5; 8 * KIB];
    let no_window = frames::frame(frames::SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0]);
    let opening = [frames::PREFACE, &no_window].concat();
    raw.write_all(&opening).unwrap();
    let call = frames::call(1, ECHO, b"localhost", &small);
    raw.write_all(&call).unwrap();
    raw.write_all(&unfinished(3, 2 * MIB)).unwrap();
    let window = frames::frame(frames::WINDOW_UPDATE, 0, 1, &0xffff_u32.to_be_bytes());
    let answer = frames::exchange(&mut raw, &window, 1);
    assert_eq!(answer, Some(frames::message(&small)));
}

#[test]
fn a_flood_of_unfinished_requests_leaves_small_calls_alone() {
    let fixture = fixture(MIB);
    let channel = fixture.channel();
    assert_eq!(call(&channel, ECHO, b"before"), b"before");
    thread::scope(|scope| {
        let flood: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| drop(begun(&fixture, 40, 128 * KIB))))
            .collect();
        while flood.iter().any(|client| !client.is_finished()) {
            assert_eq!(call(&channel, ECHO, b"small"), b"small");
        }
    });
    eventually("they are forgotten", || {
        fixture.server.usage().connections == 1
    });
    assert_eq!(
        call(&fixture.channel(), ECHO, &vec![1; 512 * KIB]).len(),
        512 * KIB,
        "a large call has room again"
    );
}

#[test]
fn promises_of_much_hold_next_to_nothing() {
    let fixture = fixture(64 * MIB);
    let mut raw = fixture.raw();
    raw.write_all(&frames::opening_with_ack()).unwrap();
    for stream in (1..200).step_by(2) {
        raw.write_all(&promise(stream, 4 * MIB)).unwrap();
        let data = frames::frame(frames::DATA, 0, stream, b"x");
        raw.write_all(&data).unwrap();
    }
    eventually("all have come", || {
        fixture.server.usage().held_bytes > 100 * KIB
    });
    let held = fixture.server.usage().held_bytes;
    assert!(held < 400 * KIB, "{held} bytes for a hundred bytes");
}

#[test]
fn requests_that_run_count() {
    let fixture = fixture(MIB);
    let large = vec![7; 700 * KIB];
    thread::scope(|scope| {
        let slow = scope.spawn(|| call(&fixture.channel(), "/v1.Test/Gate", &large));
        fixture.gate.wait_for_waiting(1);
        assert!(fixture.server.usage().held_bytes > 700 * KIB);
        let refused = call_err(&fixture.channel(), ECHO, &large);
        assert_eq!(refused.code, Code::ResourceExhausted);
        assert_eq!(call(&fixture.channel(), ECHO, b"small"), b"small");
        fixture.gate.open();
        assert_eq!(slow.join().unwrap(), large);
    });
    // The client has the response before the server has noted its departure.
    let is_free = || fixture.server.usage().held_bytes == 0;
    eventually("nothing is held", is_free);
    assert_eq!(call(&fixture.channel(), ECHO, &large), large);
    eventually("nothing is held any more", is_free);
}

/// Guards: P27
#[test]
fn responses_that_nobody_takes_count_and_the_greediest_is_closed() {
    let fixture = fixture(MIB);
    let channel = fixture.channel();
    let deaf: Vec<_> = (0..12)
        .map(|_| {
            let mut raw = fixture.raw();
            raw.write_all(&frames::opening_with_window()).unwrap();
            thread::spawn(move || {
                for stream in (1..).step_by(2) {
                    let call = frames::call(stream, "/v1.Test/Large", b"localhost", b"");
                    if raw.write_all(&call).is_err() {
                        return;
                    }
                }
            })
        })
        .collect();
    eventually("one is closed", || {
        deaf.iter().any(thread::JoinHandle::is_finished)
    });
    assert_eq!(call(&channel, ECHO, b"small"), b"small");
    eventually("the sum fits", || fixture.server.usage().held_bytes <= MIB);
    fixture.server.shutdown(std::time::Duration::ZERO);
    for client in deaf {
        client.join().unwrap();
    }
    assert_eq!(fixture.server.usage().held_bytes, 0);
}

#[test]
fn who_would_have_more_than_the_others_is_turned_away_at_the_limit() {
    let mut options = ServerOptions::default();
    options.max_connections = 2;
    let fixture = Fixture::new(options);
    let channels = [(); 2].map(|()| fixture.channel());
    for channel in &channels {
        assert_eq!(call(channel, ECHO, b"fine"), b"fine");
    }
    assert_eq!(support::read_to_close(&mut fixture.raw()), b"");
    assert_eq!(fixture.server.usage().turned_away, 1);
    for channel in &channels {
        assert_eq!(call(channel, ECHO, b"fine"), b"fine");
    }
    assert_eq!(fixture.server.usage().connections, 2);
}

#[test]
fn too_much_input_on_one_connection_is_refused_while_it_stays() {
    let mut options = ServerOptions::default();
    options.max_receive_bytes = 256 * KIB;
    let fixture = Fixture::new(options);
    let mut raw = begun(&fixture, 8, 64 * KIB);
    raw.write_all(&frames::frame(frames::PING, 0, 0, b"all read"))
        .unwrap();
    let mut refused = Vec::new();
    loop {
        let frame = frames::read_frame(&mut raw).unwrap();
        match frame.kind {
            frames::PING if frame.payload == b"all read" => break,
            frames::HEADERS => refused.push(frame.stream),
            _ => {}
        }
    }
    assert!(refused.len() >= 5, "no more than three fit: {refused:?}");
    assert!(!refused.contains(&1), "{refused:?}");
    let held = fixture.server.usage().held_bytes;
    assert!(held < 512 * KIB, "{held} bytes");
    let small = frames::call(17, ECHO, b"localhost", b"small");
    let answer = frames::exchange(&mut raw, &small, 17);
    assert_eq!(answer, Some(frames::message(b"small")), "it goes on");
}
