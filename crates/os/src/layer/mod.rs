//! Layers: code that runs around each operation of the seam and changes no answer.
//!
//! A [`Layer`] sees which operation begins ([`Op`]), runs it, and sees how it ended. It may wait before,
//! refuse instead, or fail afterwards; it cannot claim an answer that the system did not give, because only
//! [`Run::run`] makes the [`Ran`] that it must return. The forwarding is written once, in `layer/seam.rs`.
//!
//! # Order
//! From the caller to the system, and why:
//!
//! | layer | where | why there |
//! |---|---|---|
//! | looks in flight | `node`, around files, disks and volumes | outermost: a look that it refuses, or that waits for another, is no operation of the system, and counts in no metric |
//! | metrics, counts | `os-meter`, around all facilities | next to the system, so that a duration is the system's own; in csi-proxy's test of costs around `os-windows` as well, so that a query counts once |
//! | happenings, sentry | tests of `node` and `proxy`, around what a test names | outside all of the system: what they do stands for other processes |
//! | gate of the files | `os-sim`, around its file tree | innermost: a fault is what the simulated system itself does, so all others see it |
//!
//! Doubles in tests that change answers are no layers: they implement a `Forward…` trait ([`forward`]).
//!
//! # Clock
//! A layer sees [`Clock::sleep`](crate::Clock::sleep) and nothing else of the clock: asking the time is no
//! operation. It cannot keep a wait from passing.
//!
//! # Cost
//! A layer costs an operation two dynamic calls and no allocation; what a layer does comes on top.
//! `cargo run --release -p wincsi-os-meter --example layer_cost` measures it.

pub mod forward;
mod op;
mod seam;

use std::marker::PhantomData;
use std::sync::Arc;

use crate::{Facility, Os, Result};

pub use self::op::{Access, Kind, Object, Op};
pub use self::seam::METHODS;

/// Code around each operation.
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use wincsi_os::layer::{Ending, Layer, Op, Ran, Run};
///
/// /// Counts the operations that failed.
/// struct Failures(AtomicU64);
///
/// impl Layer for Failures {
///     fn around<'run>(&self, _: &Op<'_>, run: Run<'run>) -> wincsi_os::Result<Ran<'run>> {
///         let ran = run.run();
///         if !matches!(&ran, Ok(ran) if ran.ending() == Ending::Done) {
///             self.0.fetch_add(1, Ordering::Relaxed);
///         }
///         ran
///     }
/// }
/// ```
pub trait Layer: Send + Sync {
    /// Runs the operation, or refuses it.
    ///
    /// # Errors
    /// Those of the operation; those of the layer, which may have run the operation before it fails.
    fn around<'run>(&self, op: &Op<'_>, run: Run<'run>) -> Result<Ran<'run>>;

    /// The operation opened something: it holds a directory or locked a volume. Returns the layer around
    /// it, which is dropped when it has been closed; `None` leaves it without one.
    fn opened(&self, _op: &Op<'_>) -> Option<Arc<dyn Layer>> {
        None
    }
}

/// An operation that can be run, once.
pub struct Run<'run> {
    operation: &'run mut dyn FnMut() -> Result<Ending>,
    call: PhantomData<Invariant<'run>>,
}

impl<'run> Run<'run> {
    fn of(operation: &'run mut dyn FnMut() -> Result<Ending>) -> Self {
        let call = PhantomData;
        Self { operation, call }
    }

    /// Runs it.
    ///
    /// # Errors
    /// Those of the operation.
    pub fn run(self) -> Result<Ran<'run>> {
        let ending = (self.operation)()?;
        let call = PhantomData;
        Ok(Ran { ending, call })
    }
}

/// Proof that this operation was run and answered. That of another does not serve:
/// ```compile_fail
/// use std::sync::Mutex;
/// use wincsi_os::layer::{Layer, Op, Ran, Run};
///
/// struct Replay(Mutex<Option<Ran<'static>>>);
///
/// impl Layer for Replay {
///     fn around<'run>(&self, _: &Op<'_>, run: Run<'run>) -> wincsi_os::Result<Ran<'run>> {
///         match self.0.lock().unwrap().take() {
///             Some(earlier) => Ok(earlier),
///             None => run.run(),
///         }
///     }
/// }
/// ```
pub struct Ran<'run> {
    ending: Ending,
    call: PhantomData<Invariant<'run>>,
}

impl Ran<'_> {
    /// How it ended.
    #[must_use]
    pub fn ending(&self) -> Ending {
        self.ending
    }
}

/// Neither longer nor shorter: each call of [`Layer::around`] has a lifetime of its own.
type Invariant<'run> = fn(&'run ()) -> &'run ();

/// How an operation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ending {
    /// With an answer.
    Done,
    /// With an error, a panic, or a provider's return value other than zero; also with none.
    Failed,
}

/// A facility of a node, around which a layer can be put.
pub trait Part: Sized {
    /// The same, with the layer around each operation.
    #[must_use]
    fn layered(self, facility: Facility, layer: &Arc<dyn Layer>) -> Self;
}

impl Os {
    /// This node with the layer around each operation.
    #[must_use]
    pub fn layered(self, layer: &Arc<dyn Layer>) -> Self {
        Self {
            afunix: self.afunix.layered(Facility::AfUnix, layer),
            boot: self.boot.layered(Facility::Boot, layer),
            clock: self.clock.layered(Facility::Clock, layer),
            disks: self.disks.layered(Facility::Disks, layer),
            event_log: self.event_log.layered(Facility::EventLog, layer),
            files: self.files.layered(Facility::Files, layer),
            firmware: self.firmware.layered(Facility::Firmware, layer),
            iscsi: self.iscsi.layered(Facility::Iscsi, layer),
            processes: self.processes.layered(Facility::Processes, layer),
            services: self.services.layered(Facility::Services, layer),
            smb: self.smb.layered(Facility::Smb, layer),
            storage: self.storage.layered(Facility::Storage, layer),
            volumes: self.volumes.layered(Facility::Volumes, layer),
        }
    }
}

/// A part of a node with a layer around it.
struct Layered<T> {
    inner: T,
    facility: Facility,
    // Behind `inner`, and so dropped after it: only then is it closed.
    layer: Arc<dyn Layer>,
}

impl<T> Layered<T> {
    fn pass<A>(
        &self,
        op: &Op<'_>,
        ending: fn(&A) -> Ending,
        mut run: impl FnMut(&T) -> Result<A>,
    ) -> Result<A> {
        let mut answer = None;
        let mut operation = || {
            let given = run(&self.inner)?;
            Ok(ending(answer.insert(given)))
        };
        self.layer.around(op, Run::of(&mut operation))?;
        Ok(answer.expect("`Ran` comes from the `Run` that puts the answer here"))
    }

    /// The object that an operation opened, with the layer's own layer around it.
    fn opened<O>(&self, op: &Op<'_>, inner: O, holding: fn(Layered<O>) -> O) -> O {
        match self.layer.opened(op) {
            Some(layer) => holding(Layered {
                inner,
                facility: self.facility,
                layer,
            }),
            None => inner,
        }
    }
}
