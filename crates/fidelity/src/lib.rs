//! Which operations of the seam have been executed, and where.
//!
//! A test program puts a layer around the operations that it runs ([`watched`]) and hands what a
//! [`Recorder`] saw to [`settle`]. That compares it with the program's file in `records/`, so that a test that no longer
//! executes an operation fails, or writes the file anew when `cargo xtask fidelity` asks for it.
//! `docs/fidelity.md` is written from these files and from nothing else; a test holds it against them. What it sums up is
//! the [`full_report`].
//!
//! What no test can execute is assumed of Windows: [`EXPERIMENTS`] has each assumption, what rests on it, and what
//! settles it on a server, whose answers are [`Observation`]s of the same record.
//!
//! The operations are the methods that a layer sees ([`os::layer::METHODS`]; one that is missing there does
//! not compile), and the classes, associations and methods of [`os::schema`].

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
