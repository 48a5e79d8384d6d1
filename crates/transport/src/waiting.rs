//! The call running on a thread, and its waits.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::conn::Connection;
use crate::server::{CallSlot, Refusal};

thread_local! {
    static RUNNING: RefCell<Option<CallPermit>> = const { RefCell::new(None) };
}

/// The call on this thread waits for another until this is dropped: it does not count as running, so others run
/// meanwhile.
///
/// To be dropped on the thread, and before the call ends.
#[derive(Debug)]
pub struct Waiting {
    is_counted: bool,
    of_this_thread: PhantomData<*const ()>,
}

impl Waiting {
    /// Where no call runs on this thread, or it waits already, nothing is counted. `None` when too many calls
    /// wait, on the server or of the same process.
    #[must_use]
    pub fn begin() -> Option<Self> {
        let waiting = |is_counted| Self {
            is_counted,
            of_this_thread: PhantomData,
        };
        RUNNING.with_borrow_mut(|running| match running {
            Some(CallPermit {
                place: CallSlot::Waiting,
                ..
            })
            | None => Some(waiting(false)),
            Some(permit) => permit.begin_wait().then(|| waiting(true)),
        })
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if self.is_counted {
            RUNNING.with_borrow_mut(|running| {
                if let Some(permit) = running {
                    permit.end_wait();
                }
            });
        }
    }
}

/// A call, counted until this is dropped.
#[derive(Debug)]
pub(crate) struct CallPermit {
    connection: Arc<Connection>,
    place: CallSlot,
}

impl CallPermit {
    pub(crate) fn to(connection: &Arc<Connection>) -> Result<Self, Refusal> {
        let place = connection.calls().begin(connection.whose())?;
        Ok(Self {
            connection: Arc::clone(connection),
            place,
        })
    }

    /// Runs the call on this thread.
    pub(crate) fn run<T>(self, call: impl FnOnce() -> T) -> T {
        RUNNING.set(Some(self));
        let answer = call();
        drop(RUNNING.take());
        answer
    }

    fn begin_wait(&mut self) -> bool {
        let connection = &self.connection;
        connection
            .calls()
            .begin_wait(connection.whose(), &mut self.place)
    }

    fn end_wait(&mut self) {
        let connection = &self.connection;
        connection
            .calls()
            .end_wait(connection.whose(), &mut self.place);
    }
}

impl Drop for CallPermit {
    fn drop(&mut self) {
        let connection = &self.connection;
        connection.calls().end(connection.whose(), &self.place);
    }
}
