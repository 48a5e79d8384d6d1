//! Unix sockets, tcp, poll and epoll.

mod listener;
mod socket_file;
mod stream;
mod watch;

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use std::{array, io};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::{read, write};

use super::{Interest, Waitable};
use crate::pool::Worker;
use crate::{Endpoint, EndpointError};

pub(crate) use listener::listen_at as listen;
pub(crate) use socket_file::{EntryId, SocketFile, close_folder};
pub(crate) use stream::Stream;
pub(crate) use watch::{Watch, Watcher};

/// The most objects of one wait.
const MOST: usize = Worker::MOST;

/// The waitable part of a stream or listener.
#[derive(Clone, Debug)]
pub(crate) struct Handles(Arc<OwnedFd>);

/// The address family of a socket.
#[derive(Clone, Copy, Debug)]
enum Family {
    Unix,
    Tcp,
}

/// An eventfd.
#[derive(Debug)]
pub(crate) struct Wakeup(OwnedFd);

impl Wakeup {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(eventfd(
            0,
            EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK,
        )?))
    }

    pub(crate) fn set(&self) {
        // The only possible failure is a full counter, and then the event is set.
        let _ = write(&self.0, &1u64.to_ne_bytes());
    }

    fn clear(&self) {
        let _ = read(&self.0, &mut [0; 8]);
    }
}

/// Waits until one of `objects` is ready, the event is set (which clears it) or the time is over.
/// `ready` gets an entry for each.
pub(crate) fn wait(
    wakeup: &Wakeup,
    objects: &[impl Waitable],
    timeout: Option<Duration>,
    ready: &mut Vec<Interest>,
) -> io::Result<()> {
    let own = || PollFd::new(&wakeup.0, PollFlags::IN);
    let mut fds: [PollFd<'_>; MOST + 1] = array::from_fn(|index| match objects.get(index) {
        Some(object) => PollFd::new(&*object.handles().0, poll_flags(object.interest())),
        None => own(),
    });
    let fds = &mut fds[..=objects.len()];
    ready.clear();
    ready.resize(objects.len(), Interest::default());
    match poll(fds, timeout.map(timespec).as_ref()) {
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => return Ok(()),
        Err(error) => return Err(error.into()),
    }
    if !fds[objects.len()].revents().is_empty() {
        wakeup.clear();
    }
    for (ready, fd) in ready.iter_mut().zip(fds) {
        let found = fd.revents();
        let broken = found.intersects(PollFlags::HUP | PollFlags::ERR);
        ready.read = broken || found.contains(PollFlags::IN);
        ready.write = broken || found.contains(PollFlags::OUT);
    }
    Ok(())
}

/// A thread's end cancels nothing here.
pub(crate) fn thread_may_end() -> bool {
    true
}

fn poll_flags(interest: Interest) -> PollFlags {
    let read = if interest.read {
        PollFlags::IN
    } else {
        PollFlags::empty()
    };
    let write = if interest.write {
        PollFlags::OUT
    } else {
        PollFlags::empty()
    };
    read | write
}

fn timespec(timeout: Duration) -> Timespec {
    Timespec::try_from(timeout).unwrap_or(Timespec {
        tv_sec: i64::from(i32::MAX),
        tv_nsec: 0,
    })
}

/// Where a server of this name listens: a socket in the folder.
pub(crate) fn local_endpoint(folder: &Path, name: &str) -> Result<Endpoint, EndpointError> {
    Ok(Endpoint::socket(folder.join(format!("{name}.sock"))))
}
