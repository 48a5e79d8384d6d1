//! The pool, over failing or hung connections.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use os::schema::{Namespace, disk, smb_global_mapping};
use os::{Cause, Clock, Deadline, Hresult, Provider, Query};
use windows::Win32::System::Wmi::IWbemServices;
use windows::core::{Error, HRESULT};

use super::pool::MOST_THREADS;
use super::{Connect, NativeProvider};
use crate::NativeClock;

/// How long a test waits for an expected event.
const TIMEOUT: Duration = Duration::from_secs(20);

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
    let threads = || [Namespace::Storage, Namespace::Smb].map(|it| provider.threads(it));
    assert_eq!(threads(), [0, 0]);
    ask(&provider, disk::CLASS.name, Deadline::NEVER);
    assert_eq!(threads(), [1, 0]);
    for _ in 0..3 {
        ask(&provider, smb_global_mapping::CLASS.name, Deadline::NEVER);
        assert_eq!(threads(), [1, 1]);
    }
}

/// Connecting to the storage namespace hangs until the other end of the channel goes.
struct Hanging {
    released: Mutex<mpsc::Receiver<()>>,
    begun: AtomicUsize,
}

impl Hanging {
    fn provider(clock: &Arc<NativeClock>) -> (Arc<Self>, mpsc::Sender<()>, NativeProvider) {
        let (release, released) = mpsc::channel();
        let hanging = Arc::new(Self {
            released: Mutex::new(released),
            begun: AtomicUsize::new(0),
        });
        let connect = Arc::clone(&hanging) as Arc<dyn Connect>;
        let provider = NativeProvider::over(Arc::clone(clock) as Arc<dyn Clock>, connect);
        (hanging, release, provider)
    }
}

impl Connect for Hanging {
    fn connect(&self, namespace: Namespace) -> windows::core::Result<IWbemServices> {
        if namespace == Namespace::Storage {
            self.begun.fetch_add(1, Ordering::Relaxed);
            let released = self.released.lock();
            let _ = released.unwrap_or_else(PoisonError::into_inner).recv();
        }
        Err(gone())
    }
}

#[test]
fn a_namespace_that_hangs_delays_its_own_callers_until_their_deadline() {
    let clock = Arc::new(NativeClock::new());
    let (_, release, provider) = Hanging::provider(&clock);
    let soon = || Deadline::within(&*clock, Duration::from_millis(50));
    assert_eq!(ask(&provider, disk::CLASS.name, soon()), Cause::TimedOut);
    let other = ask(&provider, smb_global_mapping::CLASS.name, Deadline::NEVER);
    assert_eq!(other, Cause::Hresult(Hresult::RPC_S_SERVER_UNAVAILABLE));
    drop(release);
    let late = ask(&provider, disk::CLASS.name, Deadline::NEVER);
    assert_eq!(late, Cause::Hresult(Hresult::RPC_S_SERVER_UNAVAILABLE));
}

#[test]
fn many_callers_of_a_namespace_that_hangs_share_a_few_threads() {
    let clock = Arc::new(NativeClock::new());
    let (hanging, release, provider) = Hanging::provider(&clock);
    thread::scope(|scope| {
        for _ in 0..4 * MOST_THREADS {
            scope.spawn(|| {
                let limit = Deadline::within(&*clock, TIMEOUT);
                // A deadline may pass before a thread was needed.
                while provider.threads(Namespace::Storage) < MOST_THREADS {
                    let soon = Deadline::within(&*clock, Duration::from_millis(50));
                    assert_eq!(ask(&provider, disk::CLASS.name, soon), Cause::TimedOut);
                    assert!(limit.left(&*clock).is_some(), "too few threads");
                }
                let soon = Deadline::within(&*clock, Duration::from_millis(50));
                assert_eq!(ask(&provider, disk::CLASS.name, soon), Cause::TimedOut);
            });
        }
    });
    assert_eq!(provider.threads(Namespace::Storage), MOST_THREADS);
    drop(release);
    let late = ask(&provider, disk::CLASS.name, Deadline::NEVER);
    assert_eq!(late, Cause::Hresult(Hresult::RPC_S_SERVER_UNAVAILABLE));
    // One for each thread, and one for the last caller: no thread connects for gone callers.
    assert!(hanging.begun.load(Ordering::Relaxed) <= MOST_THREADS + 1);
}

/// As many connections as there may be threads bring their threads down, once the other end of the channel goes.
struct Falling {
    begun: AtomicUsize,
    released: Mutex<mpsc::Receiver<()>>,
}

impl Connect for Falling {
    fn connect(&self, _: Namespace) -> windows::core::Result<IWbemServices> {
        if self.begun.fetch_add(1, Ordering::Relaxed) >= MOST_THREADS {
            return Err(gone());
        }
        let released = self.released.lock();
        let _ = released.unwrap_or_else(PoisonError::into_inner).recv();
        panic!("it fell");
    }
}

#[test]
fn a_thread_that_falls_takes_one_caller_with_it_and_leaves_the_others_a_successor() {
    let (release, released) = mpsc::channel();
    let falling = Arc::new(Falling {
        begun: AtomicUsize::new(0),
        released: Mutex::new(released),
    });
    let provider = NativeProvider::over(Arc::new(NativeClock::new()), falling);
    let call = || ask(&provider, disk::CLASS.name, Deadline::NEVER);
    let causes = thread::scope(|scope| {
        let callers: Vec<_> = (0..2 * MOST_THREADS).map(|_| scope.spawn(call)).collect();
        while provider.waiting(Namespace::Storage) < callers.len() {
            thread::yield_now();
        }
        drop(release);
        let causes = callers.into_iter().map(|it| it.join().expect("no panic"));
        causes.collect::<Vec<_>>()
    });
    let served = Cause::Hresult(Hresult::RPC_S_SERVER_UNAVAILABLE);
    let served = causes.iter().filter(|it| **it == served).count();
    assert_eq!(served, MOST_THREADS);
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
