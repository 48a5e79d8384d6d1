//! The suite for real Windows: what `os` and `node` promise, tried on Windows Server itself.
//!
//! It makes what it needs (VHDX files as disks, a share and users of this machine, services of its own), runs
//! the cases one after the other, and takes everything away again, also what a former run that was killed
//! left over. It starts no process and needs neither Hyper-V nor PowerShell, but an administrator.
//!
//! A [`plan`] is `os-suite`'s cases, those of [`cases`] and the [`experiments`], which are written over a [`MachineFixture`],
//! so that the simulated node runs them too; the module `machine` makes the stand of Windows. What may be done is
//! decided by [`admission`], before anything is.
//!
//! # Where this has run
//! Its cases on the simulated node, on Linux and under Wine, its experiments there on Linux. On Windows nothing of it has run; under Wine what
//! refuses, lists and cleans up has.

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
