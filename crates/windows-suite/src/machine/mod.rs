//! This machine as a [`MachineFixture`](crate::MachineFixture): what is made on it for a run and a case, and how it goes again.
//!
//! All that files and folders have to do with happens on a volume of the suite's own, in a VHDX file, so that a
//! case which goes wrong deletes or mounts nothing of the machine's. A VHDX file is a disk only as long as its
//! handle is open: it is detached however the process ends.

mod bound;
mod clean_up;
mod disks;
mod files;
mod fixture;
mod lock;
mod services;
mod set_up;

pub use bound::file_cases;
pub use clean_up::{Removal, clean_up, clean_up_under};
pub use fixture::NativeFixture;
pub use lock::Lock;
pub use services::serve;
pub use set_up::Machine;
