//! Hung connections and hung definitions of classes.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use os::schema::{Namespace, disk, smb_global_mapping};
use os::{Arguments, Cause, Deadline, Instance, Provider, Query, Target};
use os_sim::{Effect, Rule};
use os_windows::{Connect, NativeProvider};
use wincsi_os_windows_testkit::{ErrorInfo, Hanging, InProcessWmi, On, Trouble};
use windows::Win32::System::Wmi::IWbemServices;

use crate::provider_fixture::{A_MOMENT, CUT, ProviderFixture, THREADS, TIMEOUT, gpt};

const INITIALISE: &str = "MSFT_Disk.Initialize";
const STORAGE: Hanging = Hanging::Connection(Namespace::Storage);

/// More callers than a namespace has threads.
const MANY: usize = 4 * THREADS;

fn mappings(fixture: &ProviderFixture) -> os::Result<Vec<Instance>> {
    let query = Query::all(smb_global_mapping::CLASS.name, &[]);
    fixture.native.query(&query, Deadline::NEVER)
}

#[test]
fn a_connection_that_hangs_delays_no_other_namespace() {
    let fixture = ProviderFixture::new();
    let hang = fixture.wmi.hang(Hanging::Connection(Namespace::Smb));
    thread::scope(|scope| {
        let asked: Vec<_> = (0..MANY)
            .map(|_| scope.spawn(|| mappings(&fixture)))
            .collect();
        assert!(hang.wait_for(THREADS, TIMEOUT));
        for _ in 0..10 {
            fixture.refresh().expect("a query and a method");
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
    let fixture = ProviderFixture::new();
    let hang = fixture.wmi.hang(Hanging::Connection(Namespace::Smb));
    let query = Query::all(smb_global_mapping::CLASS.name, &[]);
    thread::scope(|scope| {
        for _ in 0..MANY {
            scope.spawn(|| {
                let soon = Deadline::within(&*fixture.clock, A_MOMENT);
                let error = fixture.native.query(&query, soon).expect_err("no end");
                assert_eq!(error.cause, Cause::TimedOut);
            });
        }
    });
    assert!(hang.calls() <= THREADS);
    let made = fixture.wmi.connections();
    drop(hang);
    assert_eq!(mappings(&fixture), Ok(Vec::new()));
    assert!(fixture.wmi.connections() <= made + THREADS);
}

/// The connected thread takes the request for which another thread connects.
#[test]
fn a_second_connection_that_hangs_delays_nobody() {
    let fixture = ProviderFixture::new();
    let path = fixture.disk().path;
    let rule = fixture
        .node
        .faults()
        .add(Rule::on(INITIALISE, Effect::Hang));
    thread::scope(|scope| {
        let initialised =
            scope.spawn(|| fixture.call(&path, disk::INITIALIZE.name, &gpt(), Deadline::NEVER));
        assert!(fixture.node.faults().wait_until_hanging(1, TIMEOUT));
        let hang = fixture.wmi.hang(STORAGE);
        for _ in 0..10 {
            assert_eq!(fixture.disks().expect("disks").len(), 2);
        }
        assert!(hang.wait_for(1, TIMEOUT));
        fixture.node.faults().remove(rule);
        let outcome = initialised.join().expect("no panic");
        assert_eq!(outcome.expect("an outcome").code, 0);
    });
}

/// The query is lost on the thread with a running method.
#[test]
fn a_thread_with_calls_under_way_leaves_connecting_to_others() {
    let fixture = ProviderFixture::new();
    let path = fixture.disk().path;
    let rule = fixture
        .node
        .faults()
        .add(Rule::on(INITIALISE, Effect::Hang));
    thread::scope(|scope| {
        let initialised =
            scope.spawn(|| fixture.call(&path, disk::INITIALIZE.name, &gpt(), Deadline::NEVER));
        assert!(fixture.node.faults().wait_until_hanging(1, TIMEOUT));
        let hang = fixture.wmi.hang(STORAGE);
        assert_eq!(fixture.disks().expect("disks").len(), 2);
        assert!(hang.wait_for(1, TIMEOUT));
        let lost = Trouble::Fails(CUT, ErrorInfo::Nothing);
        fixture.wmi.inject(On::Query, lost);
        let asked = scope.spawn(|| fixture.disks());
        assert!(hang.wait_for(2, TIMEOUT));
        fixture.node.faults().remove(rule);
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
    let fixture = ProviderFixture::new();
    assert_eq!(fixture.disks().expect("disks").len(), 2);
    let hang = fixture.wmi.hang(STORAGE);
    fixture.wmi.inject(On::Query, Trouble::Cut(CUT));
    thread::scope(|scope| {
        let asked: Vec<_> = (0..MANY).map(|_| scope.spawn(|| fixture.disks())).collect();
        assert!(hang.wait_for(1, TIMEOUT));
        drop(hang);
        for asked in asked {
            let found = asked.join().expect("no panic");
            assert_eq!(found.expect("disks").len(), 2);
        }
    });
    assert!(fixture.wmi.connections() <= 2 * THREADS);
}

#[test]
fn a_definition_that_hangs_delays_no_other_call_of_its_namespace() {
    let fixture = ProviderFixture::new();
    let path = fixture.disk().path;
    let hang = fixture.wmi.hang(Hanging::Definition(disk::CLASS.name));
    let refresh = || {
        let none = Arguments::none();
        fixture.call(&path, disk::REFRESH.name, &none, Deadline::NEVER)
    };
    thread::scope(|scope| {
        let asked: Vec<_> = (0..MANY).map(|_| scope.spawn(refresh)).collect();
        assert!(hang.wait_for(MANY, TIMEOUT));
        for _ in 0..10 {
            assert_eq!(fixture.disks().expect("disks").len(), 2);
            assert_eq!(fixture.rescan().code, 0);
        }
        assert!(asked.iter().all(|asked| !asked.is_finished()));
        drop(hang);
        for asked in asked {
            let outcome = asked.join().expect("no panic");
            assert_eq!(outcome.expect("an outcome").code, 0);
        }
    });
    assert!(fixture.wmi.connections() <= THREADS);
}

#[test]
fn a_method_whose_definition_comes_after_its_deadline_is_never_sent() {
    let fixture = ProviderFixture::new();
    let path = fixture.disk().path;
    let hang = fixture.wmi.hang(Hanging::Definition(disk::CLASS.name));
    let mut moment = A_MOMENT;
    // The deadline may pass before the call is begun.
    while hang.calls() == 0 {
        let soon = Deadline::within(&*fixture.clock, moment);
        let error = fixture.call(&path, disk::INITIALIZE.name, &gpt(), soon);
        assert_eq!(error.expect_err("no end").cause, Cause::TimedOut);
        moment = (2 * moment).min(Duration::from_secs(5));
    }
    assert!(!fixture.is_initialised());
    drop(hang);
    fixture.refresh().expect("a query and a method");
    assert_eq!(fixture.times(INITIALISE), 0);
    assert!(!fixture.is_initialised());
}

/// The lock of the object would be held for ever.
#[test]
fn a_method_without_a_deadline_waits_a_bounded_time_for_its_definition() {
    let fixture = ProviderFixture::new();
    let path = fixture.disk().path;
    let hang = fixture.wmi.hang(Hanging::Definition(disk::CLASS.name));
    let hasty = Arc::new(Hasty(fixture.wmi.clone()));
    let native = NativeProvider::over(Arc::clone(&fixture.clock), hasty);
    let (target, method) = (Target::Instance(&path), disk::INITIALIZE.name);
    let unsent = native.invoke(target, method, &gpt(), Deadline::NEVER);
    assert_eq!(unsent.expect_err("no end").cause, Cause::TimedOut);
    drop(hang);
    assert_eq!(fixture.times(INITIALISE), 0);
    fixture.initialise(Deadline::NEVER).expect("an outcome");
    assert!(fixture.is_initialised());
}

/// The same WMI, with a short wait for definitions.
struct Hasty(InProcessWmi);

impl Connect for Hasty {
    fn connect(&self, namespace: Namespace) -> windows::core::Result<IWbemServices> {
        self.0.connect(namespace)
    }

    fn definition_within(&self) -> Duration {
        A_MOMENT
    }
}
