//! Idle connections, and calls that meet their end.

use std::io::Write;
use std::thread;
use std::time::{Duration, Instant};

use transport::ServerOptions;

use super::support::multiplexed::Multiplexed;
use super::support::{Fixture, call, eventually, frames};

const ECHO: &str = "/v1.Test/Echo";

fn idling(max_idle: Duration) -> Fixture {
    let mut options = ServerOptions::default();
    options.max_idle = max_idle;
    Fixture::new(options)
}

#[test]
fn an_idle_client_is_asked_to_go_and_what_it_calls_meanwhile_is_served() {
    // It has as long for its answer.
    let fixture = idling(Duration::from_secs(2));
    let mut raw = fixture.raw();
    let first = frames::call(1, ECHO, b"localhost", b"fine");
    let opening = [frames::opening_with_ack(), first].concat();
    assert!(frames::exchange(&mut raw, &opening, 1).is_some());
    let asked = frames::frame_of(&mut raw, frames::GOAWAY);
    assert_eq!(frames::goaway(&asked), (0x7fff_ffff, 0));
    let ping = frames::frame_of(&mut raw, frames::PING);
    let late = frames::call(3, ECHO, b"localhost", b"late");
    let answer = frames::exchange(&mut raw, &late, 3);
    assert_eq!(answer, Some(frames::message(b"late")));
    let pong = frames::frame(frames::PING, 1, 0, &ping.payload);
    raw.write_all(&pong).unwrap();
    assert_eq!(frames::goaways(&mut raw), [3], "then it is closed");
}

/// Guards: P29
#[test]
fn an_idle_client_that_answers_nothing_is_ended() {
    let fixture = idling(Duration::from_millis(10));
    let mut raw = fixture.raw();
    let first = frames::call(1, ECHO, b"localhost", b"fine");
    let opening = [frames::opening(), first].concat();
    assert!(frames::exchange(&mut raw, &opening, 1).is_some());
    assert_eq!(frames::goaways(&mut raw), [0x7fff_ffff, 1]);
}

#[test]
fn a_client_whose_call_runs_is_not_idle() {
    let fixture = idling(Duration::from_millis(10));
    let idle = fixture.channel();
    assert_eq!(call(&idle, ECHO, b"fine"), b"fine");
    let mut busy = Multiplexed::open(fixture.raw());
    let slow = busy.send("/v1.Test/Gate", b"slow", &[]);
    fixture.gate.wait_for_waiting(1);
    eventually("the idle one has gone", || {
        fixture.server.usage().connections == 1
    });
    fixture.gate.open();
    assert_eq!(busy.wait(slow).unwrap().message(), b"slow");
}

#[test]
fn no_call_is_lost_to_the_end_of_idle_connections() {
    for micros in [0, 200, 1_000] {
        let fixture = idling(Duration::from_micros(micros));
        thread::scope(|scope| {
            for thread in 0..4u64 {
                let channel = fixture.channel();
                scope.spawn(move || {
                    for round in 0..250 {
                        // From no pause to one of twice the time, now and then a little more.
                        let pause = (round * 7 + thread) % 20 * micros.max(50) / 10;
                        let end = Instant::now() + Duration::from_micros(pause);
                        while Instant::now() < end {
                            std::hint::spin_loop();
                        }
                        assert_eq!(call(&channel, ECHO, b"fine"), b"fine");
                    }
                });
            }
        });
        eventually("all have gone", || fixture.server.usage().connections == 0);
    }
}
