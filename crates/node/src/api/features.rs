//! Abilities that not every backend has.

use std::fmt;

/// The result of a call that needs the feature, if the call fails.
const UNSUPPORTED: &str = "`Unsupported`";

/// Name, what a node with the feature does, and what happens where a backend lacks it.
struct Row(&'static str, &'static str, &'static str);

/// The table of features: the enum, its pages and docs/guide.md have it from here.
macro_rules! features {
    ($($feature:ident $name:literal: $what:literal, $without:expr;)+) => {
        /// Abilities of the node in this process that csi-proxy's protocol does not carry.
        ///
        /// [`NodeApi::supports`](super::NodeApi::supports) answers without a call to the node, so that a driver
        /// can refuse a volume before it changes anything. If the backend lacks a feature, a call that needs it
        /// fails with [`Cause::Unsupported`](super::Cause::Unsupported), or behaves as [`Feature::without`]
        /// describes. An ability that an older csi-proxy lacks is no feature, as the proxy may be another one at
        /// the next call.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Feature {
            $(#[doc = concat!($what, ".")] $feature,)+
        }

        impl Feature {
            /// All features, by name.
            pub const ALL: &[Self] = &[$(Self::$feature),+];

            fn row(self) -> Row {
                match self {
                    $(Self::$feature => Row($name, $what, $without),)+
                }
            }
        }
    };
}

features![
    BlankProof "blank-proof": "A format overwrites only what is proved to be blank",
        "the Go proxy formats a filesystem unknown to Windows";
    CheckedOffline "checked-offline": "`Disks::take_offline` refuses a disk while a volume of it is in use or mounted",
        "the disk goes offline though files are open";
    ConditionalUnmap "conditional-unmap": "`Smb::unmap_unless`", UNSUPPORTED;
    ContentLooks "content-looks": "`Disks::check_content` reads a disk",
        "nothing is read";
    DeviceCriteria "device-criteria": "`Disks::find` by NVMe namespace, port, PCI device or function",
        UNSUPPORTED;
    DirectoryLinks "directory-links": "`Filesystem::link_directory`", UNSUPPORTED;
    EntryLooks "entry-looks": "`Filesystem::look`, `Filesystem::read_link` and `Filesystem::list`", UNSUPPORTED;
    ErrorCodes "error-codes": "`Error::code` and `Error::system_text`", "both are `None`";
    FolderCheck "folder-check": "`Smb::map` refuses a folder that the share lacks",
        "the link leads nowhere";
    FolderMappings "folder-mappings": "`Smb::map`, `Smb::unmap` and `Smb::unmap_unless` of a folder's own mapping",
        UNSUPPORTED;
    FormatOptions "format-options":
        "`Volumes::ensure_formatted` with ReFS, allocation unit, label or access control list", UNSUPPORTED;
    GuardedDisks "guarded-disks": "`Disks::find` excludes disks that are never written",
        "our proxy refuses to change them";
    HiddenClones "hidden-clones": "`Disks::find` finds a read-only clone missing in Windows's list",
        "`NotFound`";
    LockedChecks "locked-checks": "The locks of disk and volume cover the proof before a change",
        "calls prove it before the change, without a lock";
    LoginOptions "login-options": "`Iscsi::connect_with` with options", UNSUPPORTED;
    MapOptions "map-options": "`Smb::map` with options", UNSUPPORTED;
    MappingList "mapping-list": "`Smb::mappings`", UNSUPPORTED;
    OfflineReasons "offline-reasons":
        "`Disks::offline_reason`; `Disks::bring_online` and `Disks::partition` refuse a second path to a disk",
        "`Unsupported`; both paths are online";
    Outcomes "outcomes":
        "`Smb::map`, `Iscsi::connect_with`, `Volumes::ensure_formatted` and `Volumes::resize` report what they did",
        "`Unreported`, except for a new format";
    PortalAuthentication "portal-authentication": "`Iscsi::add_portal` with CHAP", UNSUPPORTED;
    PortalProbe "portal-probe": "`Iscsi::probe`", UNSUPPORTED;
    PortalRefresh "portal-refresh": "`Iscsi::refresh`", UNSUPPORTED;
    ReadOnlyDisks "read-only-disks": "`Disks::bring_online_read_only` and `Disks::is_read_only`", UNSUPPORTED;
    SessionList "session-list": "`Iscsi::sessions`", UNSUPPORTED;
    SessionLogout "session-logout": "`Iscsi::log_out`", UNSUPPORTED;
    SmallGrowth "small-growth": "`Volumes::resize` grows by any number of MiB",
        "less than 100 MiB is no growth";
    SpaceByPath "space-by-path": "`Filesystem::space`", UNSUPPORTED;
    StaleMounts "stale-mounts":
        "`Volumes::mount` and `Filesystem::make_directory` replace a mounted folder whose volume is gone",
        "they fail until `Filesystem::remove_entry` removes it";
    SystemIdentity "system-identity": "`System::boot_id`, `System::command_lines`, `System::computer_name` and `System::uuid`", UNSUPPORTED;
    WriteProtection "write-protection": "`Disks::is_write_protected`", UNSUPPORTED;
];

impl Feature {
    /// Its name, `map-options` say, which stays as it is.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// The effect if a backend lacks it, for people.
    #[must_use]
    pub fn without(self) -> &'static str {
        self.row().2
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The features in Markdown, for docs/guide.md: a table, and then those that are just missing.
#[doc(hidden)]
#[must_use]
pub fn feature_table() -> String {
    let (missing, rows): (Vec<_>, Vec<_>) = Feature::ALL
        .iter()
        .map(|feature| feature.row())
        .partition(|Row(_, _, without)| *without == UNSUPPORTED);
    let rows = rows.iter();
    let rows: String = rows
        .map(|Row(name, what, without)| format!("| `{name}` | {what} | {without} |\n"))
        .collect();
    let missing = missing.iter();
    let missing = missing
        .map(|Row(name, what, _)| format!("{what} (`{name}`)"))
        .collect::<Vec<_>>()
        .join(", ");
    format!(
        "| feature | with it | without it, over csi-proxy's pipes |\n|---|---|---|\n{rows}\n\
         These are {UNSUPPORTED} there: {missing}.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kebab_case_in_order_and_each_the_name_of_one_feature() {
        let names: Vec<_> = Feature::ALL.iter().map(|feature| feature.name()).collect();
        assert!(names.is_sorted_by(|one, next| one < next), "{names:?}");
        for (feature, name) in Feature::ALL.iter().zip(names) {
            let letters: String = format!("{feature:?}").to_lowercase();
            assert_eq!(name.replace('-', ""), letters);
        }
    }
}
