//! The conditions, with their names on the wire.

use std::fmt;

/// The table of conditions: the enum, all of them and their names.
macro_rules! conditions {
    (
        $(#[$about:meta])+
        pub enum Condition {$($(#[$doc:meta])+ $condition:ident = $name:literal,)+}
    ) => {
        $(#[$about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Condition {
            $($(#[$doc])+ $condition,)+
        }

        impl Condition {
            /// All conditions.
            pub const ALL: &[Self] = &[$(Self::$condition),+];

            /// Its name, `not-found` say: wincsi's server sends it with a failure, and its client reads it. Names
            /// stay as they are.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$condition => $name,)+
                }
            }
        }
    };
}

conditions! {
/// The node's finding when it could not do what was requested: one for each case in which a driver acts
/// differently.
///
/// Each condition lists its codes: Win32's ([`Condition::WIN32`] has them all), those of the methods of
/// `MSFT_Disk`, `MSFT_Partition` and `MSFT_Volume` ([`os::schema::codes`]) from 40000 on, and the iSCSI
/// initiator's ([`os::schema::iscsi_codes`]) in hexadecimal. A code that no condition lists is
/// [`Condition::Other`]; [`Error::code`](super::Error::code) has it all the same.
pub enum Condition {
    /// Windows denies access, or an iSCSI target does to this initiator (5, 40001, 0xEFFF000A).
    AccessDenied = "access-denied",
    /// The iSCSI target is connected already (0xEFFF0015, 0xEFFF0016, 0xEFFF003F).
    AlreadyConnected = "already-connected",
    /// Something else has the name (80, 183), or the portal is known already (0xEFFF0032).
    AlreadyExists = "already-exists",
    /// Several objects match where there must be one.
    Ambiguous = "ambiguous",
    /// Another disk has the number of the one that was found, or the volume is not where it was found.
    Changed = "changed",
    /// Another user's credentials are in use for the same server (1219), or for the same share, and its server
    /// denies that user what is asked for. Once no volume of the other user is left, the share can be unmapped.
    CredentialsConflict = "credentials-conflict",
    /// Another call holds the object for too long, too many calls run, or too many wait for the same object. The text
    /// has the call that holds it, and since when. A call of several steps may have been done in part.
    Crowded = "crowded",
    /// A link on the way leads to something that does not exist.
    DanglingLink = "dangling-link",
    /// The disk does not work or is no longer connected (433, 1117, 1167, 40004, 0xEFFF001D): a matter for
    /// the controller that attaches it.
    DeviceFailed = "device-failed",
    /// The disk is one that is never written, or Windows runs from it, or it is a cluster's (40018, 41009,
    /// 41018, 41019, 42010).
    Guarded = "guarded",
    /// Somebody has it open or works on it (32, 170, storage's 6, 0xEFFF001F, 0xEFFF0040).
    InUse = "in-use",
    /// The server does not accept the user's name or password (86, 1312, 1326), nor an iSCSI target the
    /// CHAP name or secret (0xEFFF0009, 0xEFFF0028), or the initiator knows that none would (0xEFFF0048,
    /// 0xEFFF004A to 0xEFFF004D).
    LogonFailure = "logon-failure",
    /// The volume would have to grow beyond its disk, or there is not space enough on disk or volume (112,
    /// 40000, 41014).
    NoRoom = "no-room",
    /// The path exists, and no volume is mounted there.
    NotAMountedFolder = "not-a-mounted-folder",
    /// The disk, the volume or what the path leads to does not answer: a call to it from before has not ended.
    /// What a call does in several steps may have been done in part.
    NotAnswering = "not-answering",
    /// The content that would be overwritten is not blank (41007, 41008).
    NotBlank = "not-blank",
    /// The directory is not empty (145).
    NotEmpty = "not-empty",
    /// The object itself does not exist: the path, disk, volume, service, portal, target or session (2, 3,
    /// storage's 8, 1060, 0xEFFF000B, 0xEFFF000C, 0xEFFF001C, 0xEFFF0029, 0xEFFF003C, 0xEFFF0043).
    NotFound = "not-found",
    /// The share is not mapped (2250).
    NotMapped = "not-mapped",
    /// The device, the target or a service of Windows is not ready or short of resources for now (21,
    /// storage's 3, 40002, 41015, 0xEFFF0013, 0xEFFF0014, 0xEFFF0038, 0xEFFF0039; WMI that is not reached), or
    /// what was done does not show yet: a volume, its filesystem, or the state of a service. Or a call that failed
    /// could not remove what it had made: the mapping of a share.
    NotReady = "not-ready",
    /// The disk is offline (41003): bring it online, and call again.
    Offline = "offline",
    /// The disk is online and writable, and a volume of it has an access path or is in use, so that it is not taken
    /// offline to be made read-only: unmount the volume, and call again.
    OnlineWritable = "online-writable",
    /// None of these.
    Other = "other",
    /// The volume has another filesystem than it was to have.
    OtherFileSystem = "other-file-system",
    /// The share is mapped already, without an option that was demanded. Once no volume is on it any more, it
    /// can be unmapped and mapped with the option.
    OtherOptions = "other-options",
    /// The storage provider sees the disk as it was, not as the kernel sees it now (40003, 41000, 41001, and 8 of a
    /// disk to be taken offline): have the disks looked at anew, and call again.
    OutOfDate = "out-of-date",
    /// The root of the path cannot be reached, so nothing is known about the path itself.
    OutOfReach = "out-of-reach",
    /// The proxy does not let clients name this path.
    PathRefused = "path-refused",
    /// The disk or volume takes no writes (19, 41002, 43006).
    ReadOnly = "read-only",
    /// The file server of a share that is mapped, or the network to it, is away now: the mapping stays, and
    /// works again when the server does.
    ServerAway = "server-away",
    /// The file server is not found, or has no such share (53, 67); no connection with an iSCSI target comes
    /// about (0xEFFF0003, 0xEFFF0023, 0xEFFF0024).
    ServerNotFound = "server-not-found",
    /// The service that is needed does not run (1062, 0xEFFF003E): start it, and call again.
    ServiceStopped = "service-stopped",
    /// Another volume is mounted there (42002).
    TargetInUse = "target-in-use",
    /// One that does not say enough of itself may be the one that is meant.
    Uncertain = "uncertain",
    /// The node's build of Windows has no such option.
    UnknownOption = "unknown-option",
}
}

impl Condition {
    /// Whether the same call may succeed later without action by the driver: an object in use becomes free,
    /// a missing one becomes ready or reachable, and the provider sees the change. A driver still returns
    /// an error when its time is up, and is called again.
    ///
    /// Conditions that need another action first ([`Condition::Offline`], [`Condition::ServiceStopped`],
    /// [`Condition::Changed`]) are not among them.
    #[must_use]
    pub fn is_transient(self) -> bool {
        matches!(
            self,
            Self::Crowded
                | Self::InUse
                | Self::NotAnswering
                | Self::NotReady
                | Self::OutOfDate
                | Self::ServerAway
                | Self::ServerNotFound
                | Self::Uncertain
        )
    }

    /// The condition of a name; `None` for a name that a newer server may know.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|condition| condition.name() == name)
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Servers and clients of different releases meet: a name that is here stays.
    const RELEASED: &str = "access-denied already-connected already-exists ambiguous changed \
        credentials-conflict crowded dangling-link device-failed guarded in-use logon-failure no-room \
        not-a-mounted-folder not-answering not-blank not-empty not-found not-mapped not-ready offline \
        online-writable other other-file-system other-options out-of-date out-of-reach path-refused \
        read-only server-away server-not-found service-stopped target-in-use uncertain unknown-option";

    #[test]
    fn the_names_of_the_conditions_on_the_wire_stay_as_they_are() {
        let names: Vec<_> = Condition::ALL.iter().map(|one| one.name()).collect();
        assert_eq!(names.join(" "), RELEASED);
        for condition in Condition::ALL {
            assert_eq!(Condition::named(condition.name()), Some(*condition));
            let letters = format!("{condition:?}").to_lowercase();
            assert_eq!(condition.name().replace('-', ""), letters);
        }
        assert_eq!(Condition::named("of-a-newer-server"), None);
    }
}
