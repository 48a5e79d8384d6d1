//! The suite for real Windows: the promises of `os` and `node`, tried on Windows Server itself.
//!
//! It makes its fixtures (VHDX files as disks, a share and users of this machine, services of its own), runs the cases
//! one after the other, and removes everything again, even a killed former run's leftovers. It starts no process and
//! needs neither Hyper-V nor PowerShell, but an administrator.
//!
//! A [`plan`] is `os-suite`'s cases, those of [`cases`] and the [`experiments`], written over a [`MachineFixture`], so
//! the simulated node runs them too; the module `machine` makes the fixture of Windows. [`admission`] decides first
//! what the suite may do.
//!
//! # Where this has run
//! Its cases on the simulated node, on Linux and under Wine, its experiments there on Linux. On Windows nothing of it
//! has run; under Wine the refusing, listing and cleaning up has.

#![forbid(unsafe_code)]

pub mod admission;
pub mod arguments;
pub mod cases;
pub mod experiments;
pub mod inventory;
pub mod leftovers;
pub mod let_go;
pub mod names;
pub mod plan;
pub mod run;

#[cfg(windows)]
pub mod machine;

mod failure;
mod fixture;

pub use failure::CaseFailure;
pub use fixture::{MachineFixture, Share};
