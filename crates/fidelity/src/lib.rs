//! The executed operations of the seam, and where they ran.
//!
//! A test program puts a layer around its operations ([`watched`]) and passes the record of a [`Recorder`] to
//! [`settle`]. This compares it with the program's file in `records/`, so a test fails if it no longer executes an
//! operation, or writes the file again for `cargo xtask fidelity`. `docs/fidelity.md` is written from these files
//! alone, and a test compares it with them. It sums up the [`full_report`].
//!
//! Facts that no test can execute are assumed of Windows: [`EXPERIMENTS`] has each assumption, its dependents, and the
//! experiment to settle it on a server. The answers are [`Observation`]s of the same record.
//!
//! The operations are the methods of a layer ([`os::layer::METHODS`]; a missing one does not compile), and the classes,
//! associations and methods of [`os::schema`].

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod assumptions;
mod coverage;
mod experiments;
mod observation;
mod operations;
mod page;
mod program;
mod record;
mod unbacked;
mod watch;

pub use assumptions::list as assumptions;
pub use experiments::{EXPERIMENTS, Experiment, experiment};
pub use observation::{NoObservation, Observation, Verdict};
pub use operations::{SeamOperation, operations};
pub use page::{full_report, page};
pub use program::{Program, report, settle, write};
pub use record::{Cases, Record, Recorder};
pub use watch::{watch, watched};
