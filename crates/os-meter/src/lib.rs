//! Counts and times what is asked of the operating system, without changing any of it.
//!
//! [`metered`] wraps a node so that a [`Meter`] hears of each operation: which it was, how long it
//! took, how it ended. The server's metrics are one meter; [`Tally`], which counts exactly, is
//! another. It is a layer ([`os::layer`]): an operation costs two readings of the clock and two calls of
//! the meter, and nothing is allocated, because all names are in the program.
//!
//! Of [`os::Clock`] only waits are told: asking the time is no operation. Time is the machine's own,
//! also when the node's clock is virtual.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod tally;

use std::sync::Arc;
use std::time::{Duration, Instant};

use os::layer::{Layer, Op, Ran, Run};
use os::{Facility, Os, Result};

pub use os::layer::{Ending, Kind};

pub use self::tally::{Counts, Tally};

/// Hears of each operation.
pub trait Meter: Send + Sync {
    /// An operation begins.
    fn began(&self, operation: &MeteredOperation);

    /// An operation ended. Each that began ends, but those that never return.
    fn ended(&self, operation: &MeteredOperation, took: Duration, ending: Ending);

    /// Called when an operation returned something that stays open: a held directory, a locked
    /// volume.
    fn opened(&self, _operation: &MeteredOperation) {}

    /// Called when that was released.
    fn closed(&self, _operation: &MeteredOperation) {}
}

/// Which operation of the operating system. The names are those in errors and fault scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MeteredOperation {
    /// The facility that it belongs to.
    pub facility: Facility,
    /// The Windows call, as [`os::Error::operation`] names it; for providers `query`, `associators`,
    /// `invoke` or `parameters`.
    pub name: &'static str,
    /// The subject of the call, unless its name has it: the class, the method, the property. Empty
    /// otherwise.
    pub subject: &'static str,
    /// The kind of cost.
    pub kind: Kind,
}

impl From<&Op<'_>> for MeteredOperation {
    fn from(op: &Op<'_>) -> Self {
        Self {
            facility: op.facility,
            name: op.name,
            subject: op.subject,
            kind: op.kind,
        }
    }
}

/// The same node, with `meter` hearing of each operation.
#[must_use]
pub fn metered(os: Os, meter: &Arc<dyn Meter>) -> Os {
    let layer: Arc<dyn Layer> = Arc::new(Metering(Arc::clone(meter)));
    os.layered(&layer)
}

struct Metering(Arc<dyn Meter>);

impl Layer for Metering {
    fn around<'run>(&self, op: &Op<'_>, run: Run<'run>) -> Result<Ran<'run>> {
        let mut under_way = UnderWay::begin(op, &*self.0);
        let ran = run.run()?;
        under_way.ending = ran.ending();
        Ok(ran)
    }

    fn opened(&self, op: &Op<'_>) -> Option<Arc<dyn Layer>> {
        let operation = MeteredOperation::from(op);
        self.0.opened(&operation);
        let metering = Self(Arc::clone(&self.0));
        Some(Arc::new(Open {
            metering,
            operation,
        }))
    }
}

/// Around what an operation opened, until that is closed.
struct Open {
    metering: Metering,
    operation: MeteredOperation,
}

impl Layer for Open {
    fn around<'run>(&self, op: &Op<'_>, run: Run<'run>) -> Result<Ran<'run>> {
        self.metering.around(op, run)
    }

    fn opened(&self, op: &Op<'_>) -> Option<Arc<dyn Layer>> {
        self.metering.opened(op)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.metering.0.closed(&self.operation);
    }
}

/// An operation that the meter was told began. It ends when this is dropped, by a panic too.
struct UnderWay<'a> {
    operation: MeteredOperation,
    meter: &'a dyn Meter,
    began: Instant,
    ending: Ending,
}

impl<'a> UnderWay<'a> {
    fn begin(op: &Op<'_>, meter: &'a dyn Meter) -> Self {
        let operation = MeteredOperation::from(op);
        meter.began(&operation);
        Self {
            operation,
            meter,
            began: Instant::now(),
            ending: Ending::Failed,
        }
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.meter
            .ended(&self.operation, self.began.elapsed(), self.ending);
    }
}
