//! Counts and times what is asked of the operating system, without changing any of it.
//!
//! [`metered`] wraps a node so that a [`Meter`] hears of each operation: which it was, how long it
//! took, how it ended. The server's metrics are one meter; [`Tally`], which counts exactly, is
//! another. An operation costs two readings of the clock and two calls of the meter: nothing is
//! allocated, because all names are in the program.
//!
//! Of [`os::Clock`] only waits are told: asking the time is no operation. Time is the machine's own,
//! also when the node's clock is virtual.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod devices;
mod files;
mod open;
mod provider;
mod system;
mod tally;

use std::sync::Arc;
use std::time::Duration;
use std::time::Instant;

use os::Facility;
use os::Os;
use os::Result;

use self::open::Open;

pub use self::tally::Counts;
pub use self::tally::Tally;

/// Hears of each operation.
pub trait Meter: Send + Sync {
    /// An operation begins.
    fn began(&self, operation: &Operation);

    /// An operation ended. Each that began ends, but those that never return.
    fn ended(&self, operation: &Operation, took: Duration, ending: Ending);

    /// What an operation gave out is open: a directory that is held, a volume that is locked.
    fn opened(&self, _operation: &Operation) {}

    /// What an operation gave out was let go.
    fn closed(&self, _operation: &Operation) {}
}

/// Which operation of the operating system. The names are those in errors and fault scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Operation {
    /// The facility that it belongs to.
    pub facility: Facility,
    /// The Windows call, as [`os::Error::operation`] names it; for providers `query`, `associators` or
    /// `invoke`.
    pub name: &'static str,
    /// What the call is used for where its name does not say: the class, the method, the property.
    /// Empty otherwise.
    pub subject: &'static str,
    /// What it costs.
    pub kind: Kind,
}

/// What an operation costs the system, as `os-windows` does it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A call by name, or on a handle that is open already.
    Call,
    /// Opens a handle to a file, a device or a service, and uses it.
    Handle,
    /// Runs a method of a WMI provider.
    Method,
    /// Has a WMI provider answer a query.
    Query,
    /// Lets time pass.
    Wait,
}

/// How an operation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ending {
    /// With an answer.
    Done,
    /// With an error, a panic, or a provider's return value other than zero.
    Failed,
}

/// The same node, with `meter` hearing of each operation.
#[must_use]
pub fn metered(os: Os, meter: &Arc<dyn Meter>) -> Os {
    let probe = |facility| Probe {
        facility,
        meter: Arc::clone(meter),
    };
    Os {
        afunix: Arc::new(system::Metered(os.afunix, probe(Facility::AfUnix))),
        boot: Arc::new(system::Metered(os.boot, probe(Facility::Boot))),
        clock: Arc::new(system::Metered(os.clock, probe(Facility::Clock))),
        disks: Arc::new(devices::Metered(os.disks, probe(Facility::Disks))),
        event_log: Arc::new(system::Metered(os.event_log, probe(Facility::EventLog))),
        files: Arc::new(files::Metered(os.files, probe(Facility::Files))),
        firmware: Arc::new(system::Metered(os.firmware, probe(Facility::Firmware))),
        iscsi: Arc::new(provider::Metered(os.iscsi, probe(Facility::Iscsi))),
        services: Arc::new(system::Metered(os.services, probe(Facility::Services))),
        smb: Arc::new(provider::Metered(os.smb, probe(Facility::Smb))),
        storage: Arc::new(provider::Metered(os.storage, probe(Facility::Storage))),
        volumes: Arc::new(devices::Metered(os.volumes, probe(Facility::Volumes))),
    }
}

/// What one facility tells the meter.
#[derive(Clone)]
struct Probe {
    facility: Facility,
    meter: Arc<dyn Meter>,
}

impl Probe {
    fn call<T>(&self, name: &'static str, run: impl FnOnce() -> Result<T>) -> Result<T> {
        self.run(Kind::Call, name, "", run)
    }

    fn handle<T>(&self, name: &'static str, run: impl FnOnce() -> Result<T>) -> Result<T> {
        self.run(Kind::Handle, name, "", run)
    }

    fn run<T>(
        &self,
        kind: Kind,
        name: &'static str,
        subject: &'static str,
        run: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        self.judged(kind, name, subject, run, Result::is_ok)
    }

    /// Opens a handle that stays open until the answer is dropped.
    fn open<T>(
        &self,
        name: &'static str,
        subject: &'static str,
        run: impl FnOnce() -> Result<T>,
    ) -> Result<Open<T>> {
        let given = self.run(Kind::Handle, name, subject, run)?;
        let operation = self.operation(Kind::Handle, name, subject);
        Ok(Open::new(given, operation, &self.meter))
    }

    /// As [`Probe::run`], where more than the absence of an error is asked of an answer.
    fn judged<T>(
        &self,
        kind: Kind,
        name: &'static str,
        subject: &'static str,
        run: impl FnOnce() -> Result<T>,
        is_done: impl FnOnce(&Result<T>) -> bool,
    ) -> Result<T> {
        let operation = self.operation(kind, name, subject);
        let mut underway = Underway::begin(operation, &*self.meter);
        let answer = run();
        if is_done(&answer) {
            underway.ending = Ending::Done;
        }
        answer
    }

    fn operation(&self, kind: Kind, name: &'static str, subject: &'static str) -> Operation {
        Operation {
            facility: self.facility,
            name,
            subject,
            kind,
        }
    }
}

/// An operation that the meter was told began. It ends when this is dropped, by a panic too.
struct Underway<'a> {
    operation: Operation,
    meter: &'a dyn Meter,
    began: Instant,
    ending: Ending,
}

impl<'a> Underway<'a> {
    fn begin(operation: Operation, meter: &'a dyn Meter) -> Self {
        meter.began(&operation);
        Self {
            operation,
            meter,
            began: Instant::now(),
            ending: Ending::Failed,
        }
    }
}

impl Drop for Underway<'_> {
    fn drop(&mut self) {
        self.meter
            .ended(&self.operation, self.began.elapsed(), self.ending);
    }
}
