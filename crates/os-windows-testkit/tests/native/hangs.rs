//! What does not return: connections and definitions of classes.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use os::schema::{Namespace, disk, smb_global_mapping};
use os::{Arguments, Cause, Deadline, Instance, Provider, Query, Target};
use os_sim::{Effect, Rule};
use os_windows::{Connect, NativeProvider};
use wincsi_os_windows_testkit::{Hanging, InProcessWmi, On, Said, Trouble};
use windows::Win32::System::Wmi::IWbemServices;

use crate::bench::{A_MOMENT, Bench, CUT, PATIENCE, THREADS, gpt};

const INITIALISE: &str = "MSFT_Disk.Initialize";
const STORAGE: Hanging = Hanging::Connection(Namespace::Storage);

/// More callers than a namespace has threads.
const MANY: usize = 4 * THREADS;

fn mappings(bench: &Bench) -> os::Result<Vec<Instance>> {
    let query = Query::all(smb_global_mapping::CLASS.name, &[]);
    bench.native.query(&query, Deadline::NEVER)
}

#[test]
fn a_connection_that_hangs_delays_no_other_namespace() {
    let bench = Bench::new();
    let hang = bench.wmi.hang(Hanging::Connection(Namespace::Smb));
    thread::scope(|scope| {
        let asked: Vec<_> = (0..MANY)
            .map(|_| scope.spawn(|| mappings(&bench)))
            .collect();
        assert!(hang.wait_for(THREADS, PATIENCE));
        for _ in 0..10 {
            bench.refresh().expect("a query and a method");
        }
        assert_eq!(hang.calls(), THREADS);
        assert!(asked.iter().all(|asked| !asked.is_finished()));
        drop(hang);
        for asked in asked {
            assert_eq!(asked.join().expect("no panic"), Ok(Vec::new()));
        }
    });
}

#[test]
fn callers_of_a_connection_that_hangs_are_answered_at_their_deadlines() {
    let bench = Bench::new();
    let hang = bench.wmi.hang(Hanging::Connection(Namespace::Smb));
    let query = Query::all(smb_global_mapping::CLASS.name, &[]);
    thread::scope(|scope| {
        for _ in 0..MANY {
            scope.spawn(|| {
                let soon = Deadline::within(&*bench.clock, A_MOMENT);
                let error = bench.native.query(&query, soon).expect_err("no end");
                assert_eq!(error.cause, Cause::TimedOut);
            });
        }
    });
    assert!(hang.calls() <= THREADS);
    let made = bench.wmi.connections();
    drop(hang);
    assert_eq!(mappings(&bench), Ok(Vec::new()));
    assert!(bench.wmi.connections() <= made + THREADS);
}

/// The thread that has a connection takes the request for which another one is to make it.
#[test]
fn a_second_connection_that_hangs_delays_nobody() {
    let bench = Bench::new();
    let path = bench.disk().path;
    let rule = bench.node.faults().add(Rule::on(INITIALISE, Effect::Hang));
    thread::scope(|scope| {
        let initialised =
            scope.spawn(|| bench.call(&path, disk::INITIALIZE.name, &gpt(), Deadline::NEVER));
        assert!(bench.node.faults().wait_until_hanging(1, PATIENCE));
        let hang = bench.wmi.hang(STORAGE);
        for _ in 0..10 {
            assert_eq!(bench.disks().expect("disks").len(), 2);
        }
        assert!(hang.wait_for(1, PATIENCE));
        bench.node.faults().remove(rule);
        let outcome = initialised.join().expect("no panic");
        assert_eq!(outcome.expect("an outcome").code, 0);
    });
}

/// The query is lost on the thread on which a method goes on.
#[test]
fn a_thread_with_calls_under_way_leaves_connecting_to_others() {
    let bench = Bench::new();
    let path = bench.disk().path;
    let rule = bench.node.faults().add(Rule::on(INITIALISE, Effect::Hang));
    thread::scope(|scope| {
        let initialised =
            scope.spawn(|| bench.call(&path, disk::INITIALIZE.name, &gpt(), Deadline::NEVER));
        assert!(bench.node.faults().wait_until_hanging(1, PATIENCE));
        let hang = bench.wmi.hang(STORAGE);
        assert_eq!(bench.disks().expect("disks").len(), 2);
        assert!(hang.wait_for(1, PATIENCE));
        let lost = Trouble::Fails(CUT, Said::Nothing);
        bench.wmi.befall(On::Query, lost);
        let asked = scope.spawn(|| bench.disks());
        assert!(hang.wait_for(2, PATIENCE));
        bench.node.faults().remove(rule);
        let outcome = initialised.join().expect("no panic");
        assert_eq!(outcome.expect("an outcome").code, 0);
        assert!(!asked.is_finished());
        drop(hang);
        let found = asked.join().expect("no panic");
        assert_eq!(found.expect("disks").len(), 2);
    });
}

#[test]
fn a_query_that_is_lost_waits_for_a_connection_and_is_asked_once_more() {
    let bench = Bench::new();
    assert_eq!(bench.disks().expect("disks").len(), 2);
    let hang = bench.wmi.hang(STORAGE);
    bench.wmi.befall(On::Query, Trouble::Cut(CUT));
    thread::scope(|scope| {
        let asked: Vec<_> = (0..MANY).map(|_| scope.spawn(|| bench.disks())).collect();
        assert!(hang.wait_for(1, PATIENCE));
        drop(hang);
        for asked in asked {
            let found = asked.join().expect("no panic");
            assert_eq!(found.expect("disks").len(), 2);
        }
    });
    assert!(bench.wmi.connections() <= 2 * THREADS);
}

#[test]
fn a_definition_that_hangs_delays_no_other_call_of_its_namespace() {
    let bench = Bench::new();
    let path = bench.disk().path;
    let hang = bench.wmi.hang(Hanging::Definition(disk::CLASS.name));
    let refresh = || {
        let none = Arguments::none();
        bench.call(&path, disk::REFRESH.name, &none, Deadline::NEVER)
    };
    thread::scope(|scope| {
        let asked: Vec<_> = (0..MANY).map(|_| scope.spawn(refresh)).collect();
        assert!(hang.wait_for(MANY, PATIENCE));
        for _ in 0..10 {
            assert_eq!(bench.disks().expect("disks").len(), 2);
            assert_eq!(bench.rescan().code, 0);
        }
        assert!(asked.iter().all(|asked| !asked.is_finished()));
        drop(hang);
        for asked in asked {
            let outcome = asked.join().expect("no panic");
            assert_eq!(outcome.expect("an outcome").code, 0);
        }
    });
    assert!(bench.wmi.connections() <= THREADS);
}

#[test]
fn a_method_whose_definition_comes_after_its_deadline_is_never_sent() {
    let bench = Bench::new();
    let path = bench.disk().path;
    let hang = bench.wmi.hang(Hanging::Definition(disk::CLASS.name));
    let mut moment = A_MOMENT;
    // The deadline may pass before the call is begun.
    while hang.calls() == 0 {
        let soon = Deadline::within(&*bench.clock, moment);
        let error = bench.call(&path, disk::INITIALIZE.name, &gpt(), soon);
        assert_eq!(error.expect_err("no end").cause, Cause::TimedOut);
        moment = (2 * moment).min(Duration::from_secs(5));
    }
    assert!(!bench.is_initialised());
    drop(hang);
    bench.refresh().expect("a query and a method");
    assert_eq!(bench.times(INITIALISE), 0);
    assert!(!bench.is_initialised());
}

/// The lock of the object would be held for ever.
#[test]
fn a_method_without_a_deadline_waits_a_bounded_time_for_its_definition() {
    let bench = Bench::new();
    let path = bench.disk().path;
    let hang = bench.wmi.hang(Hanging::Definition(disk::CLASS.name));
    let hasty = Arc::new(Hasty(bench.wmi.clone()));
    let native = NativeProvider::over(Arc::clone(&bench.clock), hasty);
    let (target, method) = (Target::Instance(&path), disk::INITIALIZE.name);
    let unsent = native.invoke(target, method, &gpt(), Deadline::NEVER);
    assert_eq!(unsent.expect_err("no end").cause, Cause::TimedOut);
    drop(hang);
    assert_eq!(bench.times(INITIALISE), 0);
    bench.initialise(Deadline::NEVER).expect("an outcome");
    assert!(bench.is_initialised());
}

/// The same WMI, whose definitions are waited for a moment.
struct Hasty(InProcessWmi);

impl Connect for Hasty {
    fn connect(&self, namespace: Namespace) -> windows::core::Result<IWbemServices> {
        self.0.connect(namespace)
    }

    fn definition_within(&self) -> Duration {
        A_MOMENT
    }
}
