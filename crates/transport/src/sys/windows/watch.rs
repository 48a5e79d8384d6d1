//! Parked pipes: the system's thread pool waits for their events.

// UNSAFETY: the thread pool's waits are Win32 functions, and keep a handle and a callback of ours until they are
// closed. This module alone makes and closes them.
#![expect(unsafe_code)]

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{fmt, io, ptr};

use windows_sys::Win32::Foundation::FILETIME;
use windows_sys::Win32::System::Threading::{
    CloseThreadpoolWait, CreateThreadpoolWait, PTP_CALLBACK_INSTANCE, PTP_WAIT, SetThreadpoolWait,
    WaitForThreadpoolWaitCallbacks,
};

use super::super::{Interest, Target};
use super::Handles;
use super::event::Event;

/// The system's own thread pool does the watching.
#[derive(Debug)]
pub(crate) struct Watcher(());

/// A registration for events of one stream or listener.
pub(crate) struct Watch {
    target: Target,
    armed: Mutex<Armed>,
}

/// The waits that were set, and their events, kept open meanwhile: closing an event under a wait is
/// undefined.
#[derive(Default)]
struct Armed {
    first: Option<Wait>,
    second: Option<Wait>,
    handles: Option<Handles>,
    /// Never set: for a wait for the time alone.
    never: Option<Event>,
}

/// The target of each wait's callback, by the number of the wait.
///
/// Not by a pointer: under Wine 8 a callback was seen to run after its wait had been set to nothing, its callbacks
/// waited for and itself closed, as Microsoft's page requires. Its number then has no target.
static TARGETS: Mutex<BTreeMap<usize, Target>> = Mutex::new(BTreeMap::new());
static NEXT: AtomicUsize = AtomicUsize::new(1);

/// A wait of the system's thread pool.
struct Wait {
    wait: PTP_WAIT,
    number: usize,
}

impl Watcher {
    #[expect(clippy::unnecessary_wraps, reason = "the name that both systems share")]
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(()))
    }

    #[expect(clippy::unnecessary_wraps, reason = "the name that both systems share")]
    pub(crate) fn watch(&self, target: Target) -> io::Result<Watch> {
        Ok(Watch {
            target,
            armed: Mutex::default(),
        })
    }
}

impl Watch {
    /// Notifies the target once, when `handles` are ready or the time is over. Replaces an earlier
    /// arming.
    pub(crate) fn arm(
        &self,
        handles: &Handles,
        interest: Interest,
        timeout: Option<Duration>,
    ) -> io::Result<()> {
        let mut armed = self.armed.lock().unwrap_or_else(PoisonError::into_inner);
        let Armed {
            first,
            second,
            never,
            ..
        } = &mut *armed;
        let read = interest.read.then(|| handles.read());
        let write = if interest.write {
            handles.pending_write()
        } else {
            None
        };
        let (event, other) = match read.or(write) {
            Some(event) => (event, read.and(write)),
            None => (never_set(never)?, None),
        };
        made(first, &self.target)?.set(Some(event), timeout);
        if let Some(other) = other {
            made(second, &self.target)?.set(Some(other), None);
        } else if let Some(second) = second {
            second.set(None, None);
        }
        armed.handles = Some(handles.clone());
        Ok(())
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}

impl Wait {
    fn new(target: &Target) -> io::Result<Self> {
        let number = NEXT.fetch_add(1, Relaxed);
        targets().insert(number, Target::clone(target));
        let context = ptr::without_provenance_mut(number);
        // SAFETY: the callback takes its context for a number and follows no pointer.
        let wait = unsafe { CreateThreadpoolWait(Some(fired), context, ptr::null()) };
        if wait == 0 {
            let error = io::Error::last_os_error();
            forget(number);
            return Err(error);
        }
        Ok(Self { wait, number })
    }

    /// Waits for `event` or the time; None waits for nothing.
    fn set(&self, event: Option<&Event>, timeout: Option<Duration>) {
        let handle = event.map_or(ptr::null_mut(), Event::raw);
        let time = timeout.map(relative);
        let time = time.as_ref().map_or(ptr::null(), ptr::from_ref);
        // SAFETY: the wait is open, and the event stays open until the wait is set again or closed:
        // `Armed` keeps it, and drops its waits first.
        unsafe { SetThreadpoolWait(self.wait, handle, time) };
    }
}

impl Drop for Wait {
    /// Never runs within the callback: the connection's driver drops the watch, and the callback
    /// only queues.
    fn drop(&mut self) {
        forget(self.number);
        self.set(None, None);
        // SAFETY: the wait is open, and nobody uses it afterwards.
        unsafe {
            WaitForThreadpoolWaitCallbacks(self.wait, 1);
            CloseThreadpoolWait(self.wait);
        }
    }
}

fn targets() -> MutexGuard<'static, BTreeMap<usize, Target>> {
    TARGETS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the target of this number.
fn forget(number: usize) {
    let target = targets().remove(&number);
    // Not under the lock: the drop may close other waits.
    drop(target);
}

/// Runs on a thread of the system's.
unsafe extern "system" fn fired(
    _instance: PTP_CALLBACK_INSTANCE,
    number: *mut c_void,
    _wait: PTP_WAIT,
    _result: u32,
) {
    // A panic must not cross the system's frames.
    if catch_unwind(AssertUnwindSafe(|| notify(number.addr()))).is_err() {
        tracing::error!("a callback of the thread pool panicked");
    }
}

fn notify(number: usize) {
    let target = targets().get(&number).cloned();
    if let Some(target) = target {
        target.ready();
    }
}

fn made<'a>(slot: &'a mut Option<Wait>, target: &Target) -> io::Result<&'a Wait> {
    if slot.is_none() {
        *slot = Some(Wait::new(target)?);
    }
    Ok(slot.as_ref().expect("just made"))
}

fn never_set(slot: &mut Option<Event>) -> io::Result<&Event> {
    if slot.is_none() {
        *slot = Some(Event::manual_reset()?);
    }
    Ok(slot.as_ref().expect("just made"))
}

/// A time from now on: negative, in units of 100 ns.
fn relative(timeout: Duration) -> FILETIME {
    let units = i64::try_from(timeout.as_nanos().div_ceil(100)).unwrap_or(i64::MAX);
    let bytes = (-units.max(1)).to_le_bytes();
    let half =
        |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    FILETIME {
        dwLowDateTime: half(0),
        dwHighDateTime: half(4),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::SeqCst;

    use super::super::super::{Ready, Target};
    use super::{Wait, notify};

    #[derive(Default)]
    struct Notified(AtomicUsize);

    impl Ready for Notified {
        fn ready(self: Arc<Self>) {
            self.0.fetch_add(1, SeqCst);
        }
    }

    #[test]
    fn a_callback_that_comes_after_its_wait_was_closed_tells_nobody() {
        let notified = Arc::new(Notified::default());
        let target: Target = notified.clone();
        let wait = Wait::new(&target).unwrap();
        let number = wait.number;
        notify(number);
        assert_eq!(notified.0.load(SeqCst), 1);
        drop(wait);
        notify(number);
        assert_eq!(notified.0.load(SeqCst), 1);
        drop(target);
        assert_eq!(Arc::strong_count(&notified), 1, "it is kept by nobody");
    }
}
