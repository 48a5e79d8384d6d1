//! What the fixtures on real Windows are made of: virtual disks, a share, a user, reparse points.
//!
//! Nothing here starts a process or needs Hyper-V. `virtdisk.dll` is loaded on demand: a missing function is then an
//! error with its name, not a program that does not start.
//!
//! # Where this has run
//! Nowhere on Windows. Under Wine 8 [`is_elevated`], [`free_drive`], [`computer_name`], [`windows_build`] and the
//! removal of a missing share and a missing user. Wine has no virtual disks.

mod control;
mod network;
mod system;
mod virtual_disk;
mod wide;

pub(crate) use control::code;
pub use control::{become_reparse_point, drive_layout, set_reparse_point};
pub use network::{NewUser, add_share, add_user, remove_share, remove_user};
pub use system::{computer_name, free_drive, is_elevated, windows_build, wine_version};
pub use virtual_disk::{AttachedDisk, VirtualDisks};

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::VirtualDisks;

    #[test]
    fn virtual_disks_are_there_or_the_function_that_is_missing_is_named() {
        let missing = VirtualDisks::load().err();
        let missing = missing.map(|error| format!("{}: {}", error.operation, error.object));
        let wanted = super::wine_version()
            .map(|_| "GetProcAddress: virtdisk.dll: CreateVirtualDisk".to_owned());
        assert_eq!(missing, wanted);
    }

    #[test]
    fn the_process_and_the_machine_are_known() {
        super::is_elevated().expect("the token says");
        // Wine 8 passes for Windows 7.
        assert!(super::windows_build() >= 7601, "{}", super::windows_build());
        assert!(!super::computer_name().expect("a name").is_empty());
    }

    #[test]
    fn a_free_drive_is_nobodys() {
        let letter = super::free_drive().expect("a letter");
        assert!(('D'..='Z').contains(&letter));
        assert!(!Path::new(&format!(r"{letter}:\")).exists());
    }
}
