//! Cases and experiments about Windows, run against any implementation of the seam `os`: the simulated node, Wine, COM
//! objects in the process, real Windows. The simulator is only worth something if it fails where Windows would.
//!
//! [`seam`] has the cases about the seam, [`cases`] those about a node's operations on disks, folders, shares and
//! services, [`experiments`] observes what our code assumes. A case has a fixture of its own, and its name begins with
//! its backend: `wine::files::a_junction_is_followed`.
//!
//! # Where an implementation answers otherwise
//! Wine has no symbolic links. A case that fails there is not skipped: a table of [`Deviations`] has it with Wine's
//! answer, and a changed answer is an error. The row goes away when Wine is fixed.
//!
//! # The program for real Windows
//! It makes its fixtures (VHDX files as disks, a share and users of this machine, services of its own), runs the cases
//! one after the other, and removes everything again, even a killed former run's leftovers. It starts no process and
//! needs neither Hyper-V nor PowerShell, but an administrator. [`admission`] decides first what it may do.
//!
//! # Where this has run
//! The cases on the simulated node, on Linux and under Wine, those about the seam under Wine too; the experiments on the
//! simulated node, on Linux. On Windows nothing of it has run; under Wine the refusing, listing and cleaning up has.

pub mod admission;
pub mod arguments;
pub mod cases;
pub mod experiments;
pub mod let_go;
pub mod names;
pub mod seam;

#[cfg(windows)]
pub mod machine;
#[cfg(windows)]
pub mod real;

mod backend;
mod case;
mod failure;
mod fixture;
mod run;

pub use backend::{Backend, Deviations};
pub use case::Case;
pub use failure::{CaseResult, Failure};
pub use fixture::{CaseControl, Fixture, IscsiTarget, NodeFixture, Share, SharedFile};
pub use run::{MakeFixture, NodeRun, one_at_a_time, verdict};
