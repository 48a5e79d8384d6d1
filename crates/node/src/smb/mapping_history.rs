//! The credentials and options of the mappings that this process made.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};

use super::{Credentials, MapOutcome, MappingOptions};
use crate::unpoisoned::Unpoisoned;

/// Credentials and options of this process's mappings: Windows reports few of them. It keeps hashes under a
/// random key of this process, which only show whether two are equal.
#[derive(Default)]
pub(crate) struct MappingHistory {
    key: RandomState,
    shares: Unpoisoned<BTreeMap<String, Hashes>>,
}

struct Hashes {
    /// The hash of the user's name: another secret is still the same user.
    user: u64,
    /// The hash of name and secret.
    secret: u64,
    options: u64,
}

impl MappingHistory {
    /// To be called after a share was mapped with these.
    pub(super) fn remember(
        &self,
        share: &str,
        credentials: Option<&Credentials>,
        options: &MappingOptions,
    ) {
        let hashes = self.hashes(credentials, options);
        self.shares.lock().insert(share.to_owned(), hashes);
    }

    /// To be called after a share was unmapped, or found not to be mapped.
    pub(super) fn forget(&self, share: &str) {
        self.shares.lock().remove(share);
    }

    /// The outcome of reusing an existing mapping for a request with these.
    /// A mapping that another process has replaced since counts as ours: Windows reports the user of no mapping.
    pub(super) fn compare(
        &self,
        share: &str,
        credentials: Option<&Credentials>,
        options: &MappingOptions,
    ) -> MapOutcome {
        let asked = self.hashes(credentials, options);
        match self.shares.lock().get(share) {
            None => MapOutcome::ReusedUnknown,
            Some(known) if known.user != asked.user => MapOutcome::ReusedOtherUser,
            Some(known) if known.secret != asked.secret => MapOutcome::ReusedOtherSecret,
            Some(known) if known.options != asked.options => MapOutcome::ReusedOtherOptions,
            Some(_) => MapOutcome::Reused,
        }
    }

    /// Whether this process mapped the share as another user.
    pub(super) fn is_of_other(&self, share: &str, credentials: Option<&Credentials>) -> bool {
        let user = self.user(credentials);
        self.shares
            .lock()
            .get(share)
            .is_some_and(|known| known.user != user)
    }

    fn user(&self, credentials: Option<&Credentials>) -> u64 {
        let name = credentials.map(|credentials| credentials.parts().0);
        self.key.hash_one(name)
    }

    fn hashes(&self, credentials: Option<&Credentials>, options: &MappingOptions) -> Hashes {
        Hashes {
            user: self.user(credentials),
            secret: self.key.hash_one(credentials.map(Credentials::parts)),
            options: self.key.hash_one(options),
        }
    }
}

#[cfg(test)]
mod tests {
    use zeroize::Zeroizing;

    use super::*;

    fn user(name: &str, password: &str) -> Option<Credentials> {
        Credentials::new(name, Zeroizing::new(password.to_owned()))
    }

    #[test]
    fn a_user_with_another_secret_is_no_other() {
        let known = MappingHistory::default();
        let is_of_other =
            |credentials: Option<Credentials>| known.is_of_other("s", credentials.as_ref());
        assert!(!is_of_other(user("b", "x")), "nobody knows whose it is");
        known.remember("s", user("a", "x").as_ref(), &MappingOptions::default());
        assert!(!is_of_other(user("A", "y")));
        assert!(is_of_other(user("b", "x")));
        assert!(is_of_other(None));
        known.forget("s");
        assert!(!is_of_other(None));
    }

    /// Guards: P74
    #[test]
    fn other_credentials_and_options_than_those_of_the_mapping_are_told() {
        let known = MappingHistory::default();
        let none = MappingOptions::default();
        let compare =
            |credentials: Option<Credentials>| known.compare("s", credentials.as_ref(), &none);
        assert_eq!(compare(user("a", "x")), MapOutcome::ReusedUnknown);
        known.remember("s", user("a", "x").as_ref(), &none);
        assert_eq!(
            compare(user("A", "x")),
            MapOutcome::Reused,
            "names have no case"
        );
        for other in [user("b", "x"), user("ax", ""), None] {
            assert_eq!(compare(other), MapOutcome::ReusedOtherUser);
        }
        let rotated = MapOutcome::ReusedOtherSecret;
        assert_eq!(compare(user("a", "y")), rotated);
        let signed = MappingOptions {
            integrity: Some(true),
            ..MappingOptions::default()
        };
        let credentials = user("a", "x");
        let compared = known.compare("s", credentials.as_ref(), &signed);
        assert_eq!(compared, MapOutcome::ReusedOtherOptions);
        let compared = known.compare("s", user("a", "y").as_ref(), &signed);
        assert_eq!(compared, rotated, "which is told before options");
        known.forget("s");
        assert_eq!(compare(user("a", "x")), MapOutcome::ReusedUnknown);
    }
}
