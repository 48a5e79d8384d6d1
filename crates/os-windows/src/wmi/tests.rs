//! The pool, over connections that fail or hang.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::time::Duration;

use os::Cause;
use os::Clock;
use os::Deadline;
use os::Hresult;
use os::Provider;
use os::Query;
use os::schema::Namespace;
use os::schema::disk;
use os::schema::smb_global_mapping;
use windows::Win32::System::Wmi::IWbemServices;
use windows::core::Error;
use windows::core::HRESULT;

use super::Connect;
use super::NativeProvider;
use crate::NativeClock;

fn ask(provider: &NativeProvider, class: &'static str, deadline: Deadline) -> Cause {
    let found = provider.query(&Query::all(class, &[]), deadline);
    found.expect_err("no connection").cause
}

fn gone() -> Error {
    Error::from_hresult(HRESULT(Hresult::RPC_S_SERVER_UNAVAILABLE.0.cast_signed()))
}

#[derive(Default)]
struct Failing(AtomicUsize);

impl Connect for Failing {
    fn connect(&self, _: Namespace) -> windows::core::Result<IWbemServices> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Err(gone())
    }
}

#[test]
fn a_connection_that_fails_is_made_anew_by_the_next_call() {
    let failing = Arc::new(Failing::default());
    let clock = Arc::new(NativeClock::new());
    let provider = NativeProvider::over(clock, Arc::clone(&failing) as Arc<dyn Connect>);
    for attempt in 1..=3 {
        let cause = ask(&provider, disk::CLASS.name, Deadline::NEVER);
        assert_eq!(cause, Cause::Hresult(Hresult::RPC_S_SERVER_UNAVAILABLE));
        assert_eq!(failing.0.load(Ordering::Relaxed), attempt);
    }
}

#[test]
fn threads_are_made_when_they_are_needed_and_no_sooner() {
    let failing = Arc::new(Failing::default());
    let provider = NativeProvider::over(Arc::new(NativeClock::new()), failing);
    assert_eq!(provider.threads(), 0);
    for class in [disk::CLASS.name, smb_global_mapping::CLASS.name] {
        ask(&provider, class, Deadline::NEVER);
    }
    assert!((1..=2).contains(&provider.threads()));
}

/// Connecting to the storage namespace hangs until the other end of the channel goes.
struct Hanging(Mutex<mpsc::Receiver<()>>);

impl Connect for Hanging {
    fn connect(&self, namespace: Namespace) -> windows::core::Result<IWbemServices> {
        if namespace == Namespace::Storage {
            let released = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = released.recv();
        }
        Err(gone())
    }
}

#[test]
fn a_namespace_that_hangs_delays_its_own_callers_until_their_deadline() {
    let (release, hangs) = mpsc::channel();
    let clock = Arc::new(NativeClock::new());
    let hanging = Arc::new(Hanging(Mutex::new(hangs)));
    let provider = NativeProvider::over(Arc::clone(&clock) as Arc<dyn Clock>, hanging);
    let soon = || Deadline::within(&*clock, Duration::from_millis(50));
    assert_eq!(ask(&provider, disk::CLASS.name, soon()), Cause::TimedOut);
    let other = ask(&provider, smb_global_mapping::CLASS.name, Deadline::NEVER);
    assert_eq!(other, Cause::Hresult(Hresult::RPC_S_SERVER_UNAVAILABLE));
    drop(release);
    let late = ask(&provider, disk::CLASS.name, Deadline::NEVER);
    assert_eq!(late, Cause::Hresult(Hresult::RPC_S_SERVER_UNAVAILABLE));
}

#[test]
fn a_deadline_that_has_passed_asks_nothing() {
    let failing = Arc::new(Failing::default());
    let clock = Arc::new(NativeClock::new());
    let passed = Deadline(clock.now());
    let provider = NativeProvider::over(clock, Arc::clone(&failing) as Arc<dyn Connect>);
    assert_eq!(ask(&provider, disk::CLASS.name, passed), Cause::TimedOut);
    assert_eq!(failing.0.load(Ordering::Relaxed), 0);
}
