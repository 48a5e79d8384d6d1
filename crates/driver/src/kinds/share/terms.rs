use std::num::NonZeroU16;

use wincsi::smb::Credentials;
use zeroize::Zeroizing;

use super::Share;
use crate::leases::{self, SecretText, User};
use crate::record::{Content as _, Record, State};

/// The terms on which a volume uses a mapping. Windows logs on to a server as one user at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Terms {
    /// The server as the volume names it, in lower case.
    pub(super) server: String,
    /// The same as Windows has it: the address, where the name was looked up.
    pub(super) address: String,
    /// As whom, in lower case: names of users have no case.
    pub(super) user: Option<String>,
    /// Another TCP port of the server than SMB's.
    pub(super) port: Option<NonZeroU16>,
}

/// What two volumes of a server have otherwise.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Conflict {
    User,
    /// At another port another server may be.
    Port,
}

impl leases::Terms for Terms {
    const KIND: &'static str = Share::KIND;
    type Conflict = Conflict;

    /// One server, by its name or by its address, as two users or at two ports. A mapping tells nobody its port, so that
    /// its share serves each volume of that name.
    fn conflict_with(&self, other: &Self) -> Option<Conflict> {
        let is_near = self.server == other.server || self.address == other.address;
        match () {
            () if !is_near => None,
            () if self.user != other.user => Some(Conflict::User),
            () if self.port != other.port => Some(Conflict::Port),
            () => None,
        }
    }
}

/// A volume of a record, as a user of its mapping.
pub(super) fn user_of(record: &Record<Share>) -> User<Terms> {
    let share = &record.content;
    let terms = Terms {
        server: share.server.clone(),
        address: share.remote.server(),
        user: share.user.as_ref().map(|user| user.to_lowercase()),
        port: share.options.tcp_port,
    };
    let mut user = User::new(share.remote.share(), terms, record.boot.clone());
    user.is_leaving = record.state == State::Unstaging;
    user.is_served = record.state == State::Staged;
    user
}

/// The user in lower case, as names of users have no case, and the password; both are empty without a user.
pub(super) fn secret_text(credentials: Option<&Credentials>) -> SecretText {
    let Some(credentials) = credentials else {
        return Zeroizing::default();
    };
    let (user, password) = (credentials.username(), credentials.expose_password());
    let user = user.to_lowercase();
    let mut text = Zeroizing::new(String::with_capacity(user.len() + 1 + password.len()));
    text.push_str(&user);
    text.push('\0');
    text.push_str(password);
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tempfile::TempDir;

    use super::*;
    use crate::leases::{Hashes, Leases, NotTaken};
    use crate::record::{Store, VolumeHandle};

    type Taken = Result<(), NotTaken<Conflict>>;

    struct Fixture(
        Leases<Terms>,
        #[expect(dead_code, reason = "kept until the leases go")] TempDir,
    );

    impl Fixture {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let store = Store::open(folder.path(), &[]).unwrap();
            let leases = Leases::open(&store, BTreeMap::new(), Hashes::QUICK, || None);
            Self(leases, folder)
        }

        fn take(&self, name: &str, share: &str, terms: Terms) -> Taken {
            self.take_in("now", name, share, terms)
        }

        fn take_in(&self, boot: &str, name: &str, share: &str, terms: Terms) -> Taken {
            let user = User::new(share.to_owned(), terms, Some(boot.to_owned()));
            self.0.take(&volume(name), user, true)
        }
    }

    fn volume(name: &str) -> VolumeHandle {
        VolumeHandle::parse(name).unwrap()
    }

    fn terms(user: &str) -> Terms {
        Terms {
            server: String::from("files"),
            address: String::from("files"),
            user: Some(user.to_owned()),
            port: None,
        }
    }

    fn is_conflict(taken: Taken, expected: &Conflict, with: &str) -> bool {
        matches!(taken, Err(NotTaken::Conflict(conflict, other))
            if conflict == *expected && other == volume(with))
    }

    #[test]
    fn one_server_is_used_as_one_user_and_the_refusal_names_the_volume() {
        let fixture = Fixture::new();
        fixture.take("a", "s", terms("one")).unwrap();
        fixture.take("b", "t", terms("one")).unwrap();
        let refused = fixture.take("c", "u", terms("two"));
        assert!(is_conflict(refused, &Conflict::User, "a"));
        for name in ["a", "b"] {
            fixture.0.release(&volume(name)).unwrap();
        }
        fixture.take("c", "u", terms("two")).unwrap();
    }

    #[test]
    fn two_names_of_a_server_do_not_bring_two_users_to_one_mapping() {
        let fixture = Fixture::new();
        fixture.take("a", "s", terms("one")).unwrap();
        let by_another_name = Terms {
            server: String::from("alias"),
            ..terms("two")
        };
        let refused = fixture.take("b", "t", by_another_name);
        assert!(is_conflict(refused, &Conflict::User, "a"));
    }

    /// At another port another server may be, perhaps that of a pod's author.
    /// Guards: P77
    #[test]
    fn one_server_is_used_at_one_port() {
        let fixture = Fixture::new();
        let at_a_port = Terms {
            port: NonZeroU16::new(4450),
            ..terms("one")
        };
        fixture.take("a", "s", at_a_port.clone()).unwrap();
        let refused = fixture.take("b", "s", terms("one"));
        assert!(is_conflict(refused, &Conflict::Port, "a"));
        fixture.take("c", "s", at_a_port).unwrap();
    }

    #[test]
    fn a_user_of_an_earlier_boot_is_in_nobodys_way() {
        let fixture = Fixture::new();
        for name in ["a", "b"] {
            fixture.take_in("before", name, "s", terms("one")).unwrap();
        }
        for name in ["a", "b"] {
            fixture.take(name, "s", terms("two")).unwrap();
        }
        assert!(fixture.take("c", "s", terms("one")).is_err());
    }
}
