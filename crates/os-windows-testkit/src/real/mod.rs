//! What a suite on real Windows makes for itself: virtual disks, a share, a user, reparse points. And what tests
//! do to other processes.
//!
//! Nothing here starts a process or needs Hyper-V. `virtdisk.dll` is loaded when it is asked for: what is missing
//! is an error with a name then, not a program that does not start.
//!
//! # Where this has run
//! Nowhere on Windows. Under Wine 8 [`is_elevated`], [`free_drive`], [`computer_name`], [`raise`],
//! [`thread_names`] and the removal of a share and a user that are not there. Wine has no virtual disks.

mod network;
mod process;
mod reparse;
mod system;
mod virtual_disk;
mod wide;

pub use network::NewUser;
pub use network::add_share;
pub use network::add_user;
pub use network::remove_share;
pub use network::remove_user;
pub use process::ControlEvent;
pub use process::raise;
pub use process::thread_names;
pub use reparse::set_reparse_point;
pub use system::computer_name;
pub use system::free_drive;
pub use system::is_elevated;
pub use system::wine_version;
pub use virtual_disk::AttachedDisk;
pub use virtual_disk::VirtualDisks;
