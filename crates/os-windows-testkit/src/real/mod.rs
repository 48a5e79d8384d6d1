//! Fixtures of a suite on real Windows: virtual disks, a share, a user, reparse points. And actions of tests on other
//! processes.
//!
//! Nothing here starts a process or needs Hyper-V. `virtdisk.dll` is loaded on demand: a missing function is then an
//! error with its name, not a program that does not start.
//!
//! # Where this has run
//! Nowhere on Windows. Under Wine 8 [`is_elevated`], [`free_drive`], [`computer_name`], [`windows_build`], [`raise`],
//! [`thread_names`] and the removal of a missing share and a missing user. Wine has no virtual disks.

mod layout;
mod network;
mod process;
mod reparse;
mod system;
mod virtual_disk;
mod wide;

pub use layout::drive_layout;
pub use network::{NewUser, add_share, add_user, remove_share, remove_user};
pub use process::{ControlEvent, raise, thread_names};
pub use reparse::{become_reparse_point, set_reparse_point};
pub use system::{computer_name, free_drive, is_elevated, windows_build, wine_version};
pub use virtual_disk::{AttachedDisk, VirtualDisks};
