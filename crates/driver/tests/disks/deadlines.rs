//! Calls that end before what they began on the node.

use std::thread;
use std::time::Duration;

use transport::Code;
use wincsi::Win32;

use crate::fixture::Fixture;

/// How long a call lasts at most.
const CALL: Duration = Duration::from_secs(110);

#[test]
fn a_format_that_outlives_its_call_is_joined() {
    let fixture = &Fixture::new();
    fixture.sim.take_trace();
    fixture.hang_once("MSFT_Volume.Format", "*");
    thread::scope(|scope| {
        let first = scope.spawn(|| fixture.stage());
        fixture.wait_until_one_hangs();
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
    let trace = fixture.sim.take_trace();
    let formats = trace
        .iter()
        .filter(|op| op.operation == "MSFT_Volume.Format");
    assert_eq!(formats.count(), 1);
}

#[test]
fn an_undo_ends_with_its_call() {
    let fixture = &Fixture::new();
    fixture.delay_once("MSFT_Disk.CreatePartition", Duration::from_secs(80));
    fixture.fail("SetVolumeMountPointW", Win32::ACCESS_DENIED);
    fixture.hang_once("MSFT_Disk.Offline", "*");
    thread::scope(|scope| {
        let staging = scope.spawn(|| fixture.stage());
        fixture.wait_until_one_hangs();
        fixture.let_pass(CALL - Duration::from_secs(80));
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
