//! One behaviour suite for the seam `os`, run unchanged against every implementation.
//!
//! A [`Case`] states what a facility means: an error code, what stays when a link is removed, which
//! names are one name. The simulator is only worth something if it fails where Windows would, so it
//! answers to the same cases as `os-windows`, which runs them on Windows and under Wine.
//!
//! # Running it
//! An implementation has a test target without Rust's harness (`tests/suite.rs`) whose `main` hands
//! a constructor to [`run`]. Every case gets a [`Fixture`] of its own and is printed as one test;
//! the command line is that of any Rust test. [`run_recorded`] also holds what the cases execute against
//! the records behind `docs/fidelity.md`.
//!
//! # Where an implementation answers otherwise
//! Wine has no symbolic links. A case that fails there is not skipped: it stands in a table of
//! [`Deviation`]s with the answer that Wine gives, and it is an error when the answer changes. The
//! row goes away when Wine learns it.

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
pub use fidelity::Program;
pub use fixture::{CaseControl, Fixture, IscsiTarget, Share};
pub use harness::{Implementation, run, run_recorded, run_with};
