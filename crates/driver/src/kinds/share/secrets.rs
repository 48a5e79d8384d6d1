//! With which credentials shares are mapped, as far as this driver knows.
//!
//! A record keeps a slow, salted hash, and no other trace of a credential. In memory a hash is compared under a key that
//! this process drew, so that the slow one is made once for each mapping, and tried once for each credential.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher as _, RandomState};

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{self, PasswordHasher as _, PasswordVerifier as _};
use argon2::{Algorithm, Argon2, Params, Version};
use wincsi::smb::Credentials;
use zeroize::Zeroizing;

use super::{SecretHash, Share};
use crate::record::Record;
use crate::unpoisoned::Unpoisoned;

/// How slow the hashes of credentials are: memory in KiB, and passes.
#[derive(Clone, Copy, Debug)]
pub struct Hashes(u32, u32);

impl Hashes {
    /// The least of both that OWASP names for Argon2id
    /// (<https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html>).
    pub const SLOW: Self = Self(7 * 1024, 5);
    /// They are worth nothing: for tests that stage thousands of times.
    pub const QUICK: Self = Self(8, 1);
}

/// How many credentials that a mapping does not have are remembered, so that a caller who repeats one costs little.
const REFUTED: usize = 8;

/// What is known of the credentials of mappings, by share.
#[derive(Debug, Default)]
pub(super) struct Secrets {
    key: RandomState,
    shares: Unpoisoned<BTreeMap<String, Known>>,
    /// Held while a slow hash is made: each takes 7 MiB.
    hashing: Unpoisoned<()>,
    cost: Hashes,
}

impl Default for Hashes {
    fn default() -> Self {
        Self::SLOW
    }
}

#[derive(Debug)]
struct Known {
    slow: SecretHash,
    quick: Option<u64>,
    refuted: Vec<u64>,
}

/// A credential beside that of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    /// It is the same.
    Same,
    /// It is another.
    Differs,
    /// This driver does not know with which the share was mapped.
    Unknown,
}

impl Secrets {
    /// What the records of a driver before this one tell of the mappings that it made in this boot.
    pub(super) fn of(records: &[Record<Share>], boot: Option<&str>, hashes: Hashes) -> Self {
        let made = records.iter().filter(|record| record.made_mapping_in(boot));
        let mut of_shares = BTreeMap::<_, BTreeSet<_>>::new();
        for Record { content, .. } in made {
            let of_share = of_shares.entry(content.remote.share()).or_default();
            of_share.insert(content.secret.as_ref().map(|slow| &slow.0));
        }
        // A process that died while it made a mapping anew may have left the hash of the one before in some records.
        let known = of_shares.into_iter().filter_map(|(share, hashes)| {
            let mut hashes = hashes.into_iter();
            match (hashes.next()?, hashes.next()) {
                (Some(slow), None) => Some((share, Known::of(SecretHash(slow.clone())))),
                _ => None,
            }
        });
        Self {
            shares: Unpoisoned::new(known.collect()),
            cost: hashes,
            ..Self::default()
        }
    }

    /// Notes with which credentials a share was mapped just now, and returns their hash for the record; none if it cannot
    /// be made, and then nothing is known of the mapping.
    pub(super) fn note(
        &self,
        share: &str,
        credentials: Option<&Credentials>,
    ) -> Option<SecretHash> {
        let text = text_of(credentials);
        let quick = self.quick(&text);
        let noted = || self.shares.lock().get(share)?.of_quick(quick);
        if let Some(slow) = noted() {
            return Some(slow);
        }
        let _one_at_a_time = self.hashing.lock();
        // A hundred volumes of a share are staged at once: the first one's hash serves all.
        if let Some(slow) = noted() {
            return Some(slow);
        }
        let slow = self.slow(&text)?;
        let known = Known {
            quick: Some(quick),
            ..Known::of(slow.clone())
        };
        self.shares.lock().insert(share.to_owned(), known);
        Some(slow)
    }

    /// The hash of the credential with which a share is mapped.
    pub(super) fn hash_of(&self, share: &str) -> Option<SecretHash> {
        self.shares
            .lock()
            .get(share)
            .map(|known| known.slow.clone())
    }

    /// Compares a credential with that of a share's mapping.
    pub(super) fn compare(&self, share: &str, credentials: Option<&Credentials>) -> Comparison {
        let text = text_of(credentials);
        let quick = self.quick(&text);
        if let Ok(compared) = self.quickly(share, quick) {
            return compared;
        }
        let _one_at_a_time = self.hashing.lock();
        // Another call may have compared it meanwhile.
        let slow = match self.quickly(share, quick) {
            Ok(compared) => return compared,
            Err(slow) => slow,
        };
        let is_same = self.verify(&slow, &text);
        if let Some(known) = self.shares.lock().get_mut(share)
            && known.slow == slow
        {
            known.learn(quick, is_same);
        }
        match is_same {
            true => Comparison::Same,
            false => Comparison::Differs,
        }
    }

    /// The share is not mapped any more.
    pub(super) fn forget(&self, share: &str) {
        self.shares.lock().remove(share);
    }

    /// The slow hash, if the quick one does not tell.
    fn quickly(&self, share: &str, quick: u64) -> Result<Comparison, SecretHash> {
        let shares = self.shares.lock();
        let Some(known) = shares.get(share) else {
            return Ok(Comparison::Unknown);
        };
        match known.compare(quick) {
            Comparison::Unknown => Err(known.slow.clone()),
            compared => Ok(compared),
        }
    }

    fn quick(&self, text: &str) -> u64 {
        self.key.hash_one(text)
    }

    fn slow(&self, text: &str) -> Option<SecretHash> {
        let argon2 = self.argon2();
        let hashed = argon2.and_then(|argon2| argon2.hash_password(text.as_bytes()));
        hashed
            .map(|hash: PasswordHash| SecretHash(hash.to_string()))
            .inspect_err(|error| tracing::error!("a credential cannot be hashed: {error}"))
            .ok()
    }

    fn verify(&self, slow: &SecretHash, text: &str) -> bool {
        let (Ok(hash), Ok(argon2)) = (PasswordHash::new(&slow.0), self.argon2()) else {
            return false;
        };
        argon2.verify_password(text.as_bytes(), &hash).is_ok()
    }

    fn argon2(&self) -> password_hash::Result<Argon2<'static>> {
        let Hashes(memory, passes) = self.cost;
        let params = Params::new(memory, passes, 1, None)?;
        Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
    }
}

impl Known {
    fn of(slow: SecretHash) -> Self {
        Self {
            slow,
            quick: None,
            refuted: Vec::new(),
        }
    }

    /// The slow hash, if it is known to be of this credential.
    fn of_quick(&self, quick: u64) -> Option<SecretHash> {
        (self.quick == Some(quick)).then(|| self.slow.clone())
    }

    fn compare(&self, quick: u64) -> Comparison {
        match self.quick {
            Some(known) if known == quick => Comparison::Same,
            Some(_) => Comparison::Differs,
            None if self.refuted.contains(&quick) => Comparison::Differs,
            None => Comparison::Unknown,
        }
    }

    fn learn(&mut self, quick: u64, is_same: bool) {
        match is_same {
            true => self.quick = Some(quick),
            false => {
                self.refuted.truncate(REFUTED - 1);
                self.refuted.insert(0, quick);
            }
        }
    }
}

/// The user in lower case, as names of users have no case, and the password; both are empty without a user.
fn text_of(credentials: Option<&Credentials>) -> Zeroizing<String> {
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
    use std::sync::Barrier;
    use std::thread;

    use wincsi::smb::RemotePath;

    use super::*;
    use crate::kinds::share::ShareOptions;
    use crate::record::{State, VolumeHandle};

    fn user(name: &str, password: &str) -> Credentials {
        Credentials::new(name, Zeroizing::new(password.to_owned())).unwrap()
    }

    #[test]
    fn a_credential_is_compared_with_that_of_the_mapping() {
        let secrets = Secrets::default();
        let (one, other) = (user("U", "one"), user("u", "two"));
        assert_eq!(secrets.compare("s", Some(&one)), Comparison::Unknown);
        secrets.note("s", Some(&one)).unwrap();
        assert_eq!(
            secrets.compare("s", Some(&user("u", "one"))),
            Comparison::Same
        );
        assert_eq!(secrets.compare("s", Some(&other)), Comparison::Differs);
        assert_eq!(secrets.compare("s", None), Comparison::Differs);
        secrets.forget("s");
        assert_eq!(secrets.compare("s", Some(&one)), Comparison::Unknown);
    }

    /// Guards: P80
    #[test]
    fn the_next_process_knows_it_by_the_hash_alone() {
        let one = user("u", "canary");
        let slow = Secrets::default().note("s", Some(&one)).unwrap();
        assert!(!slow.0.contains("canary"));
        let next = Secrets::default();
        next.shares
            .lock()
            .insert(String::from("s"), Known::of(slow));
        assert_eq!(
            next.compare("s", Some(&user("u", "two"))),
            Comparison::Differs
        );
        assert_eq!(next.compare("s", Some(&one)), Comparison::Same);
        assert_eq!(
            next.compare("s", Some(&user("u", "two"))),
            Comparison::Differs
        );
    }

    /// As a process left them that died between a mapping and the records of all its volumes.
    #[test]
    fn records_of_one_mapping_that_differ_tell_nothing_of_it() {
        let one = user("u", "one");
        let slow = Secrets::default().note(r"\\files\data", Some(&one));
        let of = |secret: &Option<SecretHash>| {
            let share = Share {
                remote: RemotePath::parse(r"\\files\data").unwrap(),
                server: String::from("files"),
                user: Some(String::from("u")),
                secret: secret.clone(),
                options: ShareOptions::default(),
                made_mapping: true,
                taken_over: false,
            };
            let (volume, staging) = (VolumeHandle::parse("a").unwrap(), r"C:\staging");
            let mut record = Record::new(volume, staging.parse().unwrap(), share);
            record.state = State::Staged;
            record
        };
        let compared = |records: &[Record<Share>]| {
            let secrets = Secrets::of(records, None, Hashes::SLOW);
            secrets.compare(r"\\files\data", Some(&one))
        };
        assert_eq!(compared(&[of(&slow), of(&slow)]), Comparison::Same);
        assert_eq!(compared(&[of(&slow), of(&None)]), Comparison::Unknown);
    }

    /// A hash has a salt of its own.
    #[test]
    fn volumes_that_are_staged_at_once_have_one_hash() {
        const VOLUMES: usize = 8;
        let (secrets, all_there) = (Secrets::default(), Barrier::new(VOLUMES));
        let hashes = thread::scope(|scope| {
            let note = || {
                all_there.wait();
                secrets.note("s", Some(&user("u", "one"))).unwrap().0
            };
            let noting = [(); VOLUMES].map(|()| scope.spawn(note));
            noting.map(|noted| noted.join().unwrap())
        });
        assert_eq!(BTreeSet::from(hashes).len(), 1);
    }

    #[test]
    fn equal_credentials_have_different_hashes() {
        let secrets = Secrets::default();
        let one = user("u", "one");
        assert_ne!(secrets.note("s", Some(&one)), secrets.note("t", Some(&one)));
    }
}
