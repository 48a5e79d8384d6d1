//! Waiting for disks that are being attached: many callers, few rescans.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use os::Win32;
use os_sim::{Arrivals, Bus, Content, DiskSpec, Effect, NodeSpec, Rule, RuleId, StorageConditions};
use wincsi_node::api::{Cause, Condition, Error, NodeApi};
use wincsi_node::{DiskQuery, FoundDisk, Options};

use crate::support::stuck::{TIMEOUT, serial};
use crate::support::{GIB, NodeFixture};

const RESCAN: &str = "MSFT_StorageSetting.UpdateHostStorageCache";

/// The one list of disks that each look asks for.
const QUERY: &str = "IWbemServices.ExecQuery";
const DISKS: &str = "MSFT_Disk";

const CALLERS: usize = 100;

/// A disk that is there from the start on.
const OLD: &str = "old";

/// A disk that comes late.
const NEW: &str = "new";

const MINUTE: Duration = Duration::from_secs(60);

type Answer = Receiver<Result<FoundDisk, Error>>;

/// A node with one data disk, whose storage provider sees new disks only by a rescan.
fn fixture() -> NodeFixture {
    let spec = NodeSpec {
        storage: StorageConditions {
            arrivals: Arrivals::OnRescan,
            ..StorageConditions::default()
        },
        ..NodeSpec::named("node-1")
    };
    let fixture = NodeFixture::of(&spec, Options::default());
    fixture.plug(&DiskSpec::on(Bus::Sas).serial(OLD).lun(1), OLD, GIB);
    let _ = fixture.take_trace();
    fixture
}

fn attach(fixture: &NodeFixture) {
    let spec = DiskSpec::on(Bus::Sas).serial(NEW).lun(2);
    let hardware = fixture.hardware();
    hardware
        .attach_disk(NEW, &spec, &Content::blank(GIB))
        .unwrap();
}

fn find(fixture: &NodeFixture, wanted: &DiskQuery, patience: Duration) -> Result<FoundDisk, Error> {
    let disks = NodeApi::disks(&fixture.node);
    disks.find_attached(wanted, patience, fixture.soon())
}

/// Somebody who waits for the late disk, on a thread of its own.
fn call(fixture: &NodeFixture, patience: Duration) -> Answer {
    let (node, soon) = (fixture.node.clone(), fixture.soon());
    let (answer, answered) = mpsc::channel();
    thread::spawn(move || {
        let found = NodeApi::disks(&node).find_attached(&serial(NEW), patience, soon);
        let _ = answer.send(found);
    });
    answered
}

fn hang(fixture: &NodeFixture) -> RuleId {
    fixture.hang(RESCAN)
}

/// The operations from the first count on.
struct Done<'a> {
    fixture: &'a NodeFixture,
    reads: usize,
    rescans: usize,
}

impl<'a> Done<'a> {
    fn on(fixture: &'a NodeFixture) -> Self {
        let _ = fixture.take_trace();
        Self {
            fixture,
            reads: 0,
            rescans: 0,
        }
    }

    fn count(&mut self) {
        for op in self.fixture.take_trace() {
            self.reads += usize::from(op.operation == QUERY && op.object == DISKS);
            self.rescans += usize::from(op.operation == RESCAN);
        }
    }

    /// Waits until so many have looked, so that all of them have come.
    fn wait_for_looks(&mut self, reads: usize) {
        let end = Instant::now() + TIMEOUT;
        while self.reads < reads {
            assert!(Instant::now() < end, "{} looked", self.reads);
            self.count();
            thread::yield_now();
        }
    }

    fn rescans(&mut self) -> usize {
        self.count();
        self.rescans
    }
}

/// The answer, while the clock goes on until it comes.
fn answer_of(fixture: &NodeFixture, call: &Answer) -> Result<FoundDisk, Error> {
    let end = Instant::now() + TIMEOUT;
    while Instant::now() < end {
        fixture.let_pass(Duration::from_secs(5));
        if let Ok(answer) = call.recv_timeout(Duration::from_millis(200)) {
            return answer;
        }
    }
    panic!("a call is not answered");
}

fn number(found: Result<FoundDisk, Error>) -> os::DiskNumber {
    found.unwrap().number()
}

#[test]
fn a_disk_that_is_there_costs_no_rescan() {
    let fixture = fixture();
    let mut done = Done::on(&fixture);
    find(&fixture, &serial(OLD), MINUTE).unwrap();
    assert_eq!(done.rescans(), 0);
}

#[test]
fn a_disk_that_came_is_found_by_one_rescan_however_short_the_patience() {
    for patience in [Duration::ZERO, MINUTE] {
        let fixture = fixture();
        attach(&fixture);
        let mut done = Done::on(&fixture);
        let found = find(&fixture, &serial(NEW), patience);
        assert_eq!(number(found), fixture.disk_of(NEW));
        assert_eq!(done.rescans(), 1);
    }
}

/// All have come when the first rescan ends, which began before; so the second serves them all.
#[test]
fn a_hundred_callers_find_a_disk_that_comes_late_by_one_rescan_together() {
    let fixture = fixture();
    let mut done = Done::on(&fixture);
    let first_hangs = hang(&fixture);
    let first = call(&fixture, MINUTE);
    fixture.wait_for_hang(1);
    let others: Vec<_> = (0..CALLERS).map(|_| call(&fixture, MINUTE)).collect();
    done.wait_for_looks(1 + CALLERS);
    let second_hangs = hang(&fixture);
    fixture.faults().remove(first_hangs);
    done.wait_for_looks(1 + CALLERS + 1);
    fixture.wait_for_hang(1);
    attach(&fixture);
    fixture.faults().remove(second_hangs);
    for call in others.iter().chain([&first]) {
        let found = call.recv_timeout(TIMEOUT).unwrap();
        assert_eq!(number(found), fixture.disk_of(NEW));
    }
    assert_eq!(done.rescans(), 2);
}

#[test]
fn a_rescan_that_hangs_holds_nobody_whose_disk_is_there() {
    let fixture = fixture();
    let hanging = hang(&fixture);
    let waiting = call(&fixture, MINUTE);
    fixture.wait_for_hang(1);
    for _ in 0..3 {
        find(&fixture, &serial(OLD), MINUTE).unwrap();
    }
    attach(&fixture);
    fixture.faults().remove(hanging);
    let found = waiting.recv_timeout(TIMEOUT).unwrap();
    assert_eq!(number(found), fixture.disk_of(NEW));
}

/// Windows sees most disks that come by itself.
#[test]
fn a_disk_that_windows_notices_is_found_while_a_rescan_hangs() {
    let fixture = NodeFixture::new();
    let hanging = hang(&fixture);
    let waiting = call(&fixture, MINUTE * 10);
    fixture.wait_for_hang(1);
    attach(&fixture);
    let attached = fixture.os().clock.now();
    let found = answer_of(&fixture, &waiting);
    assert_eq!(number(found), fixture.disk_of(NEW));
    let took = attached.until(fixture.os().clock.now());
    assert!(took < MINUTE * 5, "{took:?}");
    fixture.faults().remove(hanging);
}

#[test]
fn a_rescan_that_hangs_is_told_after_the_patience_and_no_other_is_begun() {
    let fixture = fixture();
    let mut done = Done::on(&fixture);
    let hanging = hang(&fixture);
    let calls: Vec<_> = (0..10).map(|_| call(&fixture, MINUTE)).collect();
    fixture.wait_for_hang(1);
    done.wait_for_looks(10);
    for call in &calls {
        let error = answer_of(&fixture, call).unwrap_err();
        assert_eq!(error.condition(), Some(Condition::NotAnswering), "{error}");
        assert!(error.to_string().contains("no disk with"), "{error}");
    }
    assert_eq!(done.rescans(), 1);
    attach(&fixture);
    fixture.faults().remove(hanging);
    let found = find(&fixture, &serial(NEW), MINUTE);
    assert_eq!(number(found), fixture.disk_of(NEW));
}

#[test]
fn at_the_deadline_a_call_ends_whatever_its_patience() {
    let fixture = fixture();
    let hanging = hang(&fixture);
    let (node, clock) = (fixture.node.clone(), &fixture.os().clock);
    let soon = os::Deadline::within(&**clock, Duration::from_secs(20));
    let (answer, answered) = mpsc::channel();
    thread::spawn(move || {
        let found = NodeApi::disks(&node).find_attached(&serial(NEW), MINUTE, soon);
        let _ = answer.send(found);
    });
    fixture.wait_for_hang(1);
    let error = answer_of(&fixture, &answered).unwrap_err();
    assert_eq!(error.cause, Cause::Deadline);
    fixture.faults().remove(hanging);
}

#[test]
fn a_disk_that_never_comes_is_an_error_after_the_patience_with_what_was_seen() {
    let fixture = fixture();
    let mut done = Done::on(&fixture);
    let begun = fixture.os().clock.now();
    let error = find(&fixture, &serial(NEW), MINUTE).unwrap_err();
    let took = begun.until(fixture.os().clock.now());
    assert_eq!(error.condition(), Some(Condition::NotFound), "{error}");
    assert!(matches!(error.cause, Cause::NotIdentified(_)), "{error}");
    assert!((MINUTE..MINUTE * 2).contains(&took), "{took:?}");
    let rescans = done.rescans();
    assert!((10..=20).contains(&rescans), "{rescans}");
}

#[test]
fn what_no_rescan_can_mend_is_told_at_once() {
    let fixture = fixture();
    let twin = DiskSpec::on(Bus::Sas).serial(OLD).lun(3);
    fixture.plug(&twin, "twin", GIB);
    let mut done = Done::on(&fixture);
    let error = find(&fixture, &serial(OLD), MINUTE).unwrap_err();
    assert_eq!(error.condition(), Some(Condition::Ambiguous), "{error}");
    assert_eq!(done.rescans(), 0);
}

#[test]
fn a_rescan_that_is_refused_ends_the_calls_that_it_was_for() {
    let fixture = fixture();
    let refused = fixture.fail(RESCAN, Win32::ACCESS_DENIED);
    let mut done = Done::on(&fixture);
    let error = find(&fixture, &serial(NEW), MINUTE).unwrap_err();
    assert_eq!(error.condition(), Some(Condition::AccessDenied), "{error}");
    assert_eq!(done.rescans(), 1);
    fixture.faults().remove(refused);
    attach(&fixture);
    let found = find(&fixture, &serial(NEW), MINUTE);
    assert_eq!(number(found), fixture.disk_of(NEW), "and no later one");
}

#[test]
fn a_rescan_that_fails_for_now_is_made_again_until_the_patience_is_over() {
    let fixture = fixture();
    let not_ready = || Rule::on(RESCAN, Effect::fail(Win32::NOT_READY));
    fixture.fault(not_ready().times(2));
    attach(&fixture);
    let mut done = Done::on(&fixture);
    let found = find(&fixture, &serial(NEW), MINUTE);
    assert_eq!(number(found), fixture.disk_of(NEW));
    assert_eq!(done.rescans(), 3);
    fixture.fault(not_ready());
    let error = find(&fixture, &serial("never"), MINUTE).unwrap_err();
    assert_eq!(error.condition(), Some(Condition::NotReady), "{error}");
}
