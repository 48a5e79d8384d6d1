//! Reports of waiting operations, and why one must not wait.

use std::any::Any;
use std::error::Error;
use std::time::Duration;
use std::{fmt, iter};

/// Hears of the waits of operations: for a server, which counts the calls that run and has room for few.
pub trait Waits: Send + Sync {
    /// The operation on this thread waits for another, until the answer is dropped, on the same thread.
    /// `None` when its caller has too many that wait: then it is refused ([`Crowded`]), or goes on waiting
    /// where a wait is short anyway.
    ///
    /// It is called under a lock of the node's: it answers at once, and asks the node for nothing.
    fn begin(&self) -> Option<Box<dyn Any>>;
}

/// Nobody counts.
pub(crate) struct Uncounted;

impl Waits for Uncounted {
    fn begin(&self) -> Option<Box<dyn Any>> {
        Some(Box::new(()))
    }
}

/// Why an operation does not wait for another, which has what it needs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{holder} has had it for {} s, and {crowd} wait already", .held.as_secs())]
#[non_exhaustive]
pub struct Crowded {
    /// The operation that has it.
    pub holder: &'static str,
    /// For how long, by the node's clock.
    pub held: Duration,
    /// The calls that wait.
    pub crowd: Crowd,
}

/// Those of whom there are too many that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Crowd {
    /// Operations of the same caller, as [`Waits`] counts them.
    Caller,
    /// So many operations, for whatever on this node.
    Node(usize),
    /// So many operations, for the same object.
    Object(usize),
}

impl Crowded {
    /// The reason why an operation was refused, if it is this one.
    #[must_use]
    pub fn of<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e Self> {
        let mut causes = iter::successors(Some(error), |&error| error.source());
        causes.find_map(|cause| cause.downcast_ref())
    }
}

impl fmt::Display for Crowd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Caller => f.write_str("too many calls of one process"),
            Self::Node(count) => write!(f, "{count} calls"),
            Self::Object(count) => write!(f, "{count} calls for it"),
        }
    }
}
