//! Calls that end before what they began on the node.

use std::thread;
use std::time::Duration;

use transport::Code;
use wincsi::Win32;

use crate::fixture::{CALLS, Fixture, TARGET};

/// How long a call lasts at most.
const CALL: Duration = Duration::from_secs(110);

/// A client that waits less.
const SHORT: Duration = Duration::from_secs(30);

#[test]
fn a_call_ends_when_its_client_waits_no_more() {
    for (name, call) in CALLS {
        let fixture = &published();
        fixture.hang_once("*", "*");
        thread::scope(|scope| {
            let running = scope.spawn(|| call(fixture, SHORT));
            fixture.wait_for_hang(1);
            fixture.let_pass(SHORT);
            let is_in_time = fixture.becomes(|_| running.is_finished());
            fixture.heal();
            assert!(is_in_time, "{name}");
            let code = running.join().unwrap().map_err(|refused| refused.code);
            // With the figures of the last call, and what is wrong.
            let expected = (name != "stats").then_some(Code::DeadlineExceeded);
            assert_eq!(code.err(), expected, "{name}");
        });
        assert_eq!(fixture.records(), 1, "{name}");
    }
}

/// The code is none after which kubelet forgets the volume, and nothing is known of a volume that was not looked at.
#[test]
fn a_call_whose_time_is_over_starts_no_step() {
    for (name, call) in CALLS {
        let fixture = published();
        fixture.take_trace();
        let refused = call(&fixture, Duration::ZERO).unwrap_err();
        assert_eq!(refused.code, Code::DeadlineExceeded, "{name}: {refused}");
        assert_eq!(fixture.take_trace(), [], "{name}");
        assert_eq!(fixture.records(), 1, "{name}");
        assert_eq!(fixture.events(), [""; 0], "{name}");
        fixture.unpublish(TARGET).unwrap();
        fixture.unstage().unwrap();
        fixture.assert_put_away(name);
    }
}

fn published() -> Fixture {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.publish(TARGET).unwrap();
    fixture.stats(TARGET).unwrap();
    fixture
}

#[test]
fn a_format_that_outlives_its_call_is_joined() {
    let fixture = &Fixture::new();
    fixture.take_trace();
    fixture.hang_once("MSFT_Volume.Format", "*");
    thread::scope(|scope| {
        let first = scope.spawn(|| fixture.stage());
        fixture.wait_for_hang(1);
        fixture.let_pass(CALL);
        // Its end, and no undo behind the format, which would wait for it.
        let is_in_time = fixture.becomes(|_| first.is_finished());
        let met = [Fixture::stage, Fixture::unstage].map(|call| {
            let running = scope.spawn(move || call(fixture));
            fixture.becomes(|_| {
                fixture.let_pass(Duration::from_secs(1));
                running.is_finished()
            });
            running
        });
        let left = (fixture.is_online(), fixture.records());
        fixture.heal();
        assert!(is_in_time);
        for ended in [first].into_iter().chain(met) {
            let refused = ended.join().unwrap().unwrap_err();
            assert_eq!(refused.code(), Code::DeadlineExceeded, "{refused}");
        }
        assert_eq!(left, (true, 1));
    });
    fixture.stage().unwrap();
    let trace = fixture.take_trace();
    let formats = trace
        .iter()
        .filter(|op| op.operation == "MSFT_Volume.Format");
    assert_eq!(formats.count(), 1);
}

#[test]
fn an_undo_ends_with_its_call() {
    undo_ends_with_a_call_of((Duration::MAX, CALL));
    undo_ends_with_a_call_of((SHORT, SHORT));
}

fn undo_ends_with_a_call_of((client, call): (Duration, Duration)) {
    let fixture = &Fixture::new().with_client(client);
    let of_steps = call * 7 / 10;
    fixture.delay_once("MSFT_Disk.CreatePartition", of_steps);
    fixture.fail("SetVolumeMountPointW", Win32::ACCESS_DENIED);
    fixture.hang_once("MSFT_Disk.Offline", "*");
    thread::scope(|scope| {
        let staging = scope.spawn(|| fixture.stage());
        fixture.wait_for_hang(1);
        fixture.let_pass(call - of_steps);
        let is_in_time = fixture.becomes(|_| staging.is_finished());
        let left = fixture.records();
        fixture.heal();
        assert!(is_in_time);
        let refused = staging.join().unwrap().unwrap_err();
        assert_eq!(refused.code(), Code::Unavailable, "{refused}");
        assert_eq!(left, 1);
    });
    fixture.unstage().unwrap();
    fixture.assert_put_away("after the unstage");
}
