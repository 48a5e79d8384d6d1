//! Named pipes and sockets, overlapped.

mod end;
mod entry;
mod event;
mod listener;
mod operation;
mod owner;
mod pipe;
mod security;
mod socket_file;
mod socket_listener;
mod stream;
mod user;
mod watch;
mod winsock;

use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use self::event::{Event, WaitSet};
use self::listener::PipeListener;
use self::socket_listener::SocketListener;
use super::{Interest, Listener, Waitable};
use crate::{Endpoint, EndpointError, ServerOptions};

pub(crate) use entry::EntryId;
pub(crate) use event::thread_may_end;
pub(crate) use socket_file::{SocketFile, close_folder};
pub(crate) use stream::Stream;
pub(crate) use watch::{Watch, Watcher};

/// The waitable part of a stream or listener.
#[derive(Clone, Debug)]
pub(crate) struct Handles(Arc<Events>);

/// The events of one pipe's operations. They are manual-reset: beginning an operation resets its
/// event and its end sets it, so nothing else ever needs to.
#[derive(Debug)]
struct Events {
    /// Of reading, and of waiting for a client before.
    read: Event,
    /// Made with the first write: a silent connection never needs it.
    write: OnceLock<Event>,
}

impl Handles {
    fn new() -> io::Result<Self> {
        let read = Event::manual_reset()?;
        Ok(Self(Arc::new(Events {
            read,
            write: OnceLock::new(),
        })))
    }

    fn read(&self) -> &Event {
        &self.0.read
    }

    fn write(&self) -> io::Result<&Event> {
        if let Some(event) = self.0.write.get() {
            return Ok(event);
        }
        let event = Event::manual_reset()?;
        Ok(self.0.write.get_or_init(|| event))
    }

    fn pending_write(&self) -> Option<&Event> {
        self.0.write.get()
    }
}

/// The listeners of one endpoint: each of a pipe has a waiting instance; a socket needs one.
pub(crate) fn listen(endpoint: &Endpoint, options: &ServerOptions) -> io::Result<Vec<Listener>> {
    let listener = match endpoint {
        Endpoint::Pipe(name) => {
            let instances = PipeListener::bind(name, options)?.into_iter();
            return Ok(instances.map(|one| Box::new(one) as Listener).collect());
        }
        Endpoint::Socket(path) => SocketListener::at_path(path, options)?,
        Endpoint::Tcp(address) => SocketListener::at_port(*address, options.pipe_buffer_bytes)?,
    };
    Ok(vec![Box::new(listener)])
}

/// An auto-reset event.
#[derive(Debug)]
pub(crate) struct Wakeup(Event);

impl Wakeup {
    pub(crate) fn new() -> io::Result<Self> {
        Event::auto_reset().map(Self)
    }

    pub(crate) fn set(&self) {
        self.0.set();
    }
}

/// Waits until one of `objects` is ready, the event is set (which clears it) or the time is over.
/// `ready` gets an entry for each; those behind the first ready one may be ready as well.
pub(crate) fn wait(
    wakeup: &Wakeup,
    objects: &[impl Waitable],
    timeout: Option<Duration>,
    ready: &mut Vec<Interest>,
) -> io::Result<()> {
    let mut events = WaitSet::new();
    for object in objects {
        let (handles, interest) = (object.handles(), object.interest());
        events.add(interest.read.then(|| handles.read()));
        events.add(if interest.write {
            handles.pending_write()
        } else {
            None
        });
    }
    events.add(Some(&wakeup.0));
    let first = events
        .wait(timeout.map(whole_millis))?
        .map_or(objects.len(), |place| place / 2);
    let may_be = |(index, object): (usize, &_)| match index < first {
        true => Interest::default(),
        false => Waitable::interest(object),
    };
    ready.clear();
    ready.extend(objects.iter().enumerate().map(may_be));
    Ok(())
}

/// A timeout as Win32's waits want it: rounded up to whole milliseconds, so the deadline has passed
/// when the wait ends.
fn whole_millis(timeout: Duration) -> u32 {
    u32::try_from(timeout.as_nanos().div_ceil(1_000_000)).unwrap_or(u32::MAX - 1)
}

/// The endpoint of a server of this name: a pipe, in any folder.
pub(crate) fn local_endpoint(_folder: &Path, name: &str) -> Result<Endpoint, EndpointError> {
    Endpoint::pipe(name)
}
