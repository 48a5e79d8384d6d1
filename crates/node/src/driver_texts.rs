//! The texts of failures that drivers in the field look for.
//!
//! csi-proxy tells all failures by text alone, and drivers know some by fragments of PowerShell's
//! words, from the years when it ran PowerShell. Nearly all of them are taken for "that is done
//! already", and the driver goes on. So each may be said of its one condition only: said of any
//! other, it makes a driver detach a disk in use, or hand a pod somebody else's volume.
//!
//! No error prints a name that was read from a directory or a link: a pod that writes there could write a text that drivers
//! match on. The log and a field of the error have the name. Nor does an error print what Windows says in its own language
//! ([`os::SystemText`]), so that the wire is the same in every language; the log and
//! [`Error::system_text`](crate::api::Error::system_text) have it.

/// A text, who looks for it and what we do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Matched {
    /// The fragment that drivers look for.
    pub words: &'static str,
    /// The call, by its newest name, in whose failures they look.
    pub call: &'static str,
    /// The drivers.
    pub drivers: &'static [&'static str],
    /// The meaning that they read in it.
    pub reads_as: &'static str,
    /// When it is said.
    pub returned: Returned,
}

/// When a [`Matched`] text is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returned {
    /// Of this condition and no other.
    When(&'static str),
    /// Not at all, for this reason.
    Never(&'static str),
}

/// aws-ebs looks for `(Get-Item -Path \S+).Target, output: , error: <nil>`: csi-proxy 1.2 ran that
/// command, and a plain directory has no target.
pub const PLAIN_DIRECTORY: &str = "(Get-Item -Path $Env:mountpath).Target, output: , error: <nil>";
/// PowerShell's, of a path that is missing.
pub const MISSING: &str = "because it does not exist";
/// PowerShell's `Remove-PartitionAccessPath`.
pub const NOT_MOUNTED: &str = "The access path is not valid";
/// PowerShell's `Remove-SmbGlobalMapping`.
pub const NOT_MAPPED: &str = "No MSFT_SmbGlobalMapping objects found";
/// The category of PowerShell's `New-Item` for a name that is taken.
pub const NAME_TAKEN: &str = "ResourceExists";
/// Windows's, of code 2.
pub const FILE_NOT_FOUND: &str = "The system cannot find the file specified";
/// csi-proxy's own, of a path without a drive.
pub const NOT_ABSOLUTE: &str = "not an absolute Windows path";
/// PowerShell's `Add-PartitionAccessPath`.
pub const PATH_IN_USE: &str = "The requested access path is already in use";
/// PowerShell's `Resize-Partition`.
pub const EXTENT_TOO_SMALL: &str = "The size of the extent is less than the minimum of 1MB";
/// Microsoft's, of the initiator's code 0xEFFF003F.
pub const LOGGED_IN: &str = "The target has already been logged in via an iSCSI session";
/// PowerShell's category for a query that finds nothing.
pub const OBJECT_NOT_FOUND: &str = "ObjectNotFound";

/// All of them.
pub const ALL: &[Matched] = &[
    Matched {
        words: PLAIN_DIRECTORY,
        call: "GetVolumeIDFromTargetPath",
        drivers: &["aws-ebs"],
        reads_as: "nothing is mounted there",
        returned: Returned::When("the path is a plain directory"),
    },
    Matched {
        words: MISSING,
        call: "GetVolumeIDFromTargetPath",
        drivers: &["aws-ebs"],
        reads_as: "nothing is mounted there",
        returned: Returned::When("the path is missing, and its parent can be reached"),
    },
    Matched {
        words: NOT_MOUNTED,
        call: "UnmountVolume",
        drivers: &["democratic-csi"],
        reads_as: "it is unmounted",
        returned: Returned::When("the path is a plain directory, or does not exist"),
    },
    Matched {
        words: NOT_MAPPED,
        call: "RemoveSmbGlobalMapping",
        drivers: &["democratic-csi"],
        reads_as: "it is removed",
        returned: Returned::When("the share is not mapped"),
    },
    Matched {
        words: NAME_TAKEN,
        call: "NewSmbGlobalMapping",
        drivers: &["democratic-csi"],
        reads_as: "it is mapped and linked, if IsSymlink reports a link",
        // A driver would take a link that leads elsewhere for its own.
        returned: Returned::When(
            "a file or directory has the link's name; not if a link that leads elsewhere has it",
        ),
    },
    Matched {
        words: FILE_NOT_FOUND,
        call: "Rmdir",
        drivers: &["democratic-csi"],
        reads_as: "it is removed",
        returned: Returned::When("the entry does not exist"),
    },
    Matched {
        words: NOT_ABSOLUTE,
        call: "PathExists, IsSymlink",
        drivers: &["democratic-csi"],
        reads_as: "it does not exist",
        returned: Returned::When(
            "the path is relative (`x`, `C:x`) or empty; `/x` is on drive C for IsSymlink, and \
             PathExists refuses it in other words",
        ),
    },
    Matched {
        words: PATH_IN_USE,
        call: "MountVolume",
        drivers: &["democratic-csi"],
        reads_as: "it is mounted there already",
        // Of another volume that is mounted there, a driver would go on with that one.
        returned: Returned::Never(
            "if it is, the call succeeds; of another volume the error has other words",
        ),
    },
    Matched {
        words: EXTENT_TOO_SMALL,
        call: "ResizeVolume",
        drivers: &["democratic-csi", "gce-pd"],
        reads_as: "the volume is as large as it can be",
        returned: Returned::Never("if it is, the call succeeds"),
    },
    Matched {
        words: LOGGED_IN,
        call: "ConnectTarget",
        drivers: &["democratic-csi"],
        reads_as: "the target is connected",
        returned: Returned::When(
            "a session of the target has lost its connection, which Windows tries to restore",
        ),
    },
    Matched {
        words: OBJECT_NOT_FOUND,
        call: "GetTargetDisks, DisconnectTarget",
        drivers: &["democratic-csi"],
        reads_as: "the target has no disks, or is disconnected",
        returned: Returned::When(
            "the initiator does not know the portal, or the portal not the target, and the target has \
             no session",
        ),
    },
];

#[cfg(test)]
mod tests {
    use os::Win32;

    use super::*;

    #[test]
    fn windows_says_of_a_missing_file_what_drivers_look_for() {
        let text = Win32::FILE_NOT_FOUND.text();
        assert!(text.is_some_and(|text| text.starts_with(FILE_NOT_FOUND)));
    }

    #[test]
    fn no_text_contains_another() {
        for one in ALL {
            let others = ALL.iter().filter(|other| other.words != one.words);
            let mut within = others.filter(|other| one.words.contains(other.words));
            assert_eq!(within.next(), None, "{}", one.words);
        }
    }
}
