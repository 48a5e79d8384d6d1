//! The conditions' names on the wire.

use std::fmt;

use super::Condition;

macro_rules! names {
    ($($condition:ident $name:literal)+) => {
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

names! {
    AccessDenied "access-denied"
    AlreadyConnected "already-connected"
    AlreadyExists "already-exists"
    Ambiguous "ambiguous"
    Changed "changed"
    CredentialsConflict "credentials-conflict"
    Crowded "crowded"
    DanglingLink "dangling-link"
    DeviceFailed "device-failed"
    Guarded "guarded"
    InUse "in-use"
    LogonFailure "logon-failure"
    NoRoom "no-room"
    NotAMountedFolder "not-a-mounted-folder"
    NotAnswering "not-answering"
    NotBlank "not-blank"
    NotEmpty "not-empty"
    NotFound "not-found"
    NotMapped "not-mapped"
    NotReady "not-ready"
    Offline "offline"
    Other "other"
    OtherFileSystem "other-file-system"
    OtherOptions "other-options"
    OutOfDate "out-of-date"
    OutOfReach "out-of-reach"
    PathRefused "path-refused"
    ReadOnly "read-only"
    ServerAway "server-away"
    ServerNotFound "server-not-found"
    ServiceStopped "service-stopped"
    TargetInUse "target-in-use"
    Uncertain "uncertain"
    UnknownOption "unknown-option"
}

impl Condition {
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
        not-a-mounted-folder not-answering not-blank not-empty not-found not-mapped not-ready offline other \
        other-file-system other-options out-of-date out-of-reach path-refused read-only server-away \
        server-not-found service-stopped target-in-use uncertain unknown-option";

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
