//! One behaviour suite for the seam `os`, run unchanged against every implementation.
//!
//! A [`Case`] states a part of a facility's contract: an error code, the effect of removing a link,
//! the equality of names. The simulator is only worth something if it fails where Windows would, so
//! it has the same cases as `os-windows`; that runs them on Windows and under Wine.
//!
//! # Running it
//! An implementation has a test target without Rust's harness (`tests/suite.rs`) with a `main` that passes a
//! constructor to [`run`]. Every case gets a [`Fixture`] of its own and is printed as one test; the command line is
//! that of any Rust test.
//!
//! # Where an implementation answers otherwise
//! Wine has no symbolic links. A case that fails there is not skipped: a table of [`Deviation`]s
//! has it with Wine's answer, and a changed answer is an error. The row goes away when Wine is
//! fixed.

#![forbid(unsafe_code)]

mod case;
mod clock;
mod deviation;
mod disks;
mod failure;
mod files;
mod fixture;
mod folder_fixture;
mod harness;
mod iscsi;
mod services;
mod smb;
mod storage;
mod system;
mod volumes;

pub use case::{Case, cases};
pub use deviation::Deviation;
pub use failure::SuiteFailure;
pub use fixture::{CaseControl, Fixture, IscsiTarget, Share};
pub use harness::{Implementation, run, run_with};
