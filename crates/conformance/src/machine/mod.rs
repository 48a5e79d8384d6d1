//! This machine as a [`NodeFixture`](crate::NodeFixture): the fixtures made on it for a run and a case, and their
//! removal.
//!
//! Everything with files and folders happens on a volume of the suite's own, in a VHDX file, so a failing case deletes
//! or mounts nothing of the machine's. A VHDX file is a disk only as long as its handle is open: any end of the process
//! detaches it.

mod clean_up;
mod disks;
mod files;
mod fixture;
mod lock;
mod native_folder;
mod services;
mod set_up;

pub use clean_up::{Removal, clean_up, clean_up_under};
pub use fixture::NativeFixture;
pub use lock::Lock;
pub use native_folder::{NativeFolder, file_cases};
pub use services::serve;
pub use set_up::Machine;
