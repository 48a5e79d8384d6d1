//! One thread watches all parked connections.

use std::collections::{BTreeSet, HashMap};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{fmt, io, thread};

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;

use super::super::{Interest, Target};
use super::{Handles, Wakeup, timespec};
use crate::panics::contain;
use crate::throttle::Throttle;

const WAKEUP_ID: u64 = 0;
const BATCH: usize = 64;
/// How long the thread lets everybody look for themselves when epoll fails, before it tries again.
const PAUSE: Duration = Duration::from_millis(100);

/// Owns the thread; it ends when the watcher is dropped.
#[derive(Debug)]
pub(crate) struct Watcher(Arc<Shared>);

/// A registration for events of one stream or listener.
#[derive(Debug)]
pub(crate) struct Watch {
    shared: Arc<Shared>,
    id: u64,
    /// The registered handles, kept open so their numbers stay theirs.
    handles: Mutex<Option<Handles>>,
}

#[derive(Debug)]
struct Shared {
    epoll: OwnedFd,
    wakeup: Wakeup,
    closing: AtomicBool,
    targets: Mutex<Targets>,
    /// Of the lines about epoll.
    failing: Throttle,
}

#[derive(Default)]
struct Targets {
    next_id: u64,
    entries: HashMap<u64, Entry>,
    deadlines: BTreeSet<(Instant, u64)>,
}

struct Entry {
    target: Target,
    deadline: Option<Instant>,
}

impl Watcher {
    pub(crate) fn new() -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let wakeup = Wakeup::new()?;
        epoll::add(
            &epoll,
            &wakeup.0,
            EventData::new_u64(WAKEUP_ID),
            EventFlags::IN,
        )?;
        let shared = Arc::new(Shared {
            epoll,
            wakeup,
            closing: AtomicBool::new(false),
            targets: Mutex::default(),
            failing: Throttle::default(),
        });
        let watching = Arc::clone(&shared);
        thread::Builder::new()
            .name("transport-watch".to_owned())
            .stack_size(128 << 10)
            .spawn(move || watching.run())?;
        Ok(Self(shared))
    }

    pub(crate) fn watch(&self, target: Target) -> io::Result<Watch> {
        let mut targets = self.0.targets();
        targets.next_id += 1;
        let id = targets.next_id;
        targets.entries.insert(
            id,
            Entry {
                target,
                deadline: None,
            },
        );
        Ok(Watch {
            shared: Arc::clone(&self.0),
            id,
            handles: Mutex::new(None),
        })
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.0.closing.store(true, Ordering::Release);
        self.0.wakeup.set();
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
        self.shared
            .set_deadline(self.id, timeout.map(|timeout| Instant::now() + timeout));
        let mut registered = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        let data = EventData::new_u64(self.id);
        let flags = event_flags(interest);
        match &*registered {
            Some(_) => epoll::modify(&self.shared.epoll, &handles.0, data, flags)?,
            None => epoll::add(&self.shared.epoll, &handles.0, data, flags)?,
        }
        *registered = Some(handles.clone());
        Ok(())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut targets = self.shared.targets();
        if let Some(Entry {
            deadline: Some(deadline),
            ..
        }) = targets.entries.remove(&self.id)
        {
            targets.deadlines.remove(&(deadline, self.id));
        }
        drop(targets);
        if let Ok(Some(handles)) = self.handles.get_mut() {
            let _ = epoll::delete(&self.shared.epoll, handles.0.as_fd());
        }
    }
}

impl Shared {
    /// Watches until the watcher is dropped. Nothing else ends the thread: without it parked
    /// connections would never be served again.
    fn run(&self) {
        let mut events = Vec::with_capacity(BATCH);
        while !self.closing.load(Ordering::Acquire) {
            events.clear();
            let timeout = self.time_to_next().map(timespec);
            let waited = epoll::wait(&self.epoll, spare_capacity(&mut events), timeout.as_ref());
            for target in self.found(waited.map(drop), &events) {
                contain("a watched object", || target.ready());
            }
        }
    }

    /// The targets to notify after a wait. After a failed wait, all: they check their handles
    /// themselves, and arm again.
    fn found(&self, waited: Result<(), Errno>, events: &[Event]) -> Vec<Target> {
        match waited {
            Ok(()) | Err(Errno::INTR) => self.due(events),
            Err(error) => {
                if let Some(held_back) = self.failing.pass() {
                    let log = || tracing::error!(%error, held_back, "epoll failed");
                    contain("logging", log);
                }
                thread::park_timeout(PAUSE);
                self.targets().all()
            }
        }
    }

    fn targets(&self) -> MutexGuard<'_, Targets> {
        self.targets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_deadline(&self, id: u64, deadline: Option<Instant>) {
        let mut targets = self.targets();
        let earliest = targets.deadlines.first().copied();
        targets.set_deadline(id, deadline);
        let is_new_earliest = deadline.is_some() && targets.deadlines.first().copied() < earliest
            || deadline.is_some() && earliest.is_none();
        drop(targets);
        if is_new_earliest {
            self.wakeup.set();
        }
    }

    fn time_to_next(&self) -> Option<Duration> {
        let targets = self.targets();
        let (deadline, _) = targets.deadlines.first()?;
        Some(deadline.saturating_duration_since(Instant::now()))
    }

    /// The targets to notify: those with events, and those whose time is over.
    fn due(&self, events: &[Event]) -> Vec<Target> {
        let mut targets = self.targets();
        let mut due = Vec::with_capacity(events.len());
        for event in events {
            match event.data.u64() {
                WAKEUP_ID => self.wakeup.clear(),
                id => due.extend(targets.fire(id)),
            }
        }
        let now = Instant::now();
        while let Some(&(deadline, id)) = targets.deadlines.first()
            && deadline <= now
        {
            due.extend(targets.fire(id));
        }
        due
    }
}

impl Targets {
    /// Everybody, with no deadline left.
    fn all(&mut self) -> Vec<Target> {
        self.deadlines.clear();
        let take = |entry: &mut Entry| {
            entry.deadline = None;
            Arc::clone(&entry.target)
        };
        self.entries.values_mut().map(take).collect()
    }

    fn fire(&mut self, id: u64) -> Option<Target> {
        self.set_deadline(id, None);
        self.entries.get(&id).map(|entry| Arc::clone(&entry.target))
    }

    fn set_deadline(&mut self, id: u64, deadline: Option<Instant>) {
        let Some(entry) = self.entries.get_mut(&id) else {
            return;
        };
        if let Some(old) = entry.deadline.take() {
            self.deadlines.remove(&(old, id));
        }
        entry.deadline = deadline;
        self.deadlines
            .extend(deadline.map(|deadline| (deadline, id)));
    }
}

impl fmt::Debug for Targets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Targets")
            .field("entries", &self.entries.len())
            .finish_non_exhaustive()
    }
}

fn event_flags(interest: Interest) -> EventFlags {
    let read = if interest.read {
        EventFlags::IN
    } else {
        EventFlags::empty()
    };
    let write = if interest.write {
        EventFlags::OUT
    } else {
        EventFlags::empty()
    };
    read | write | EventFlags::ONESHOT
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::super::super::Ready;
    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(30);
    const READ: Interest = Interest {
        read: true,
        write: false,
    };

    /// Reports a notification; panics if set to.
    struct Notified {
        sender: Mutex<Sender<&'static str>>,
        name: &'static str,
    }

    impl Ready for Notified {
        fn ready(self: Arc<Self>) {
            self.sender.lock().unwrap().send(self.name).unwrap();
            assert_ne!(self.name, "panics");
        }
    }

    fn notified(name: &'static str) -> (Target, Receiver<&'static str>) {
        let (sender, receiver) = channel();
        let sender = Mutex::new(sender);
        (Arc::new(Notified { sender, name }), receiver)
    }

    fn socket() -> (Handles, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (Handles(Arc::new(ours.into())), theirs)
    }

    #[test]
    fn a_failed_wait_has_everybody_look_for_themselves() {
        let watcher = Watcher::new().unwrap();
        let (target, _receiver) = notified("armed");
        let watch = watcher.watch(target).unwrap();
        let (handles, _theirs) = socket();
        watch.arm(&handles, READ, None).unwrap();
        for error in [Errno::BADF, Errno::INVAL, Errno::NOMEM] {
            assert_eq!(watcher.0.found(Err(error), &[]).len(), 1, "{error}");
        }
    }

    #[test]
    fn an_interrupted_wait_is_none() {
        let watcher = Watcher::new().unwrap();
        let (target, _receiver) = notified("armed");
        let watch = watcher.watch(target).unwrap();
        let (handles, _theirs) = socket();
        watch.arm(&handles, READ, None).unwrap();
        assert!(watcher.0.found(Err(Errno::INTR), &[]).is_empty());
    }

    #[test]
    fn the_thread_outlives_a_callback_that_panics() {
        let watcher = Watcher::new().unwrap();
        for name in ["panics", "after it"] {
            let (target, receiver) = notified(name);
            let watch = watcher.watch(target).unwrap();
            let (handles, _theirs) = socket();
            watch
                .arm(&handles, Interest::default(), Some(Duration::ZERO))
                .unwrap();
            assert_eq!(receiver.recv_timeout(TIMEOUT), Ok(name));
        }
    }

    #[test]
    fn a_time_is_kept_although_the_object_cannot_be_watched() {
        let watcher = Watcher::new().unwrap();
        let (target, receiver) = notified("in time");
        let watch = watcher.watch(target).unwrap();
        // epoll refuses files.
        let file = Handles(Arc::new(
            std::fs::File::open("/proc/self/exe").unwrap().into(),
        ));
        assert!(watch.arm(&file, READ, Some(Duration::ZERO)).is_err());
        assert_eq!(receiver.recv_timeout(TIMEOUT), Ok("in time"));
    }
}
