//! By which credentials things were made, as far as this driver knows.
//!
//! A lease keeps a slow, salted hash, and no other trace of a credential. In memory a hash is compared under a key that
//! this process drew, so that the slow one is made once for each thing, and tried once for each credential.

use std::hash::{BuildHasher as _, RandomState};

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{self, PasswordHasher as _, PasswordVerifier as _};
use argon2::{Algorithm, Argon2, Params, Version};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::{Inner, Leases};
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

/// How many credentials that a thing does not have are remembered, so that a caller who repeats one costs little.
const REFUTED: usize = 8;

/// A credential as one text.
pub(crate) type SecretText = Zeroizing<String>;

/// A slow, salted hash of a credential, in the PHC string format
/// (<https://github.com/P-H-C/phc-string-format/blob/master/phc-sf-spec.md>).
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(transparent)]
pub(super) struct SecretHash(String);

/// The credential of a thing.
pub(super) struct Known {
    pub(super) slow: SecretHash,
    quick: Option<u64>,
    refuted: Vec<u64>,
}

/// A credential beside that of a thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Same,
    Differs,
    /// This driver does not know by which the thing was made.
    Unknown,
}

impl<T> Leases<T> {
    /// The thing was made by this credential just now.
    pub(crate) fn note_credential(&self, key: &str, text: &SecretText) {
        let quick = self.hasher.quick(text);
        let is_noted = || self.quickly(key, quick) == Ok(Comparison::Same);
        if is_noted() {
            return;
        }
        let _one_at_a_time = self.hasher.hashing.lock();
        // A hundred volumes of a thing are staged at once: the first one's hash serves all.
        if is_noted() {
            return;
        }
        let slow = self.hasher.slow(text);
        let known = slow.map(|slow| Known::of(slow, Some(quick)));
        if let Some(lease) = self.inner.lock().leases.get_mut(key) {
            lease.credential = known;
        }
    }

    /// Compares a credential with that of the thing.
    pub(crate) fn compare(&self, key: &str, text: &SecretText) -> Comparison {
        let quick = self.hasher.quick(text);
        if let Ok(compared) = self.quickly(key, quick) {
            return compared;
        }
        let _one_at_a_time = self.hasher.hashing.lock();
        // Another call may have compared it meanwhile.
        let slow = match self.quickly(key, quick) {
            Ok(compared) => return compared,
            Err(slow) => slow,
        };
        let is_same = self.hasher.verify(&slow, text);
        if let Some(known) = self.inner.lock().known(key)
            && known.slow == slow
        {
            known.learn(quick, is_same);
        }
        match is_same {
            true => Comparison::Same,
            false => Comparison::Differs,
        }
    }

    /// The slow hash, if the quick one does not tell.
    fn quickly(&self, key: &str, quick: u64) -> Result<Comparison, SecretHash> {
        let mut inner = self.inner.lock();
        let Some(known) = inner.known(key) else {
            return Ok(Comparison::Unknown);
        };
        known.compare(quick).ok_or_else(|| known.slow.clone())
    }
}

impl<T> Inner<T> {
    fn known(&mut self, key: &str) -> Option<&mut Known> {
        self.leases.get_mut(key)?.credential.as_mut()
    }
}

#[derive(Debug)]
pub(super) struct Hasher {
    key: RandomState,
    /// Held while a slow hash is made: each takes 7 MiB.
    hashing: Unpoisoned<()>,
    cost: Hashes,
}

impl Hasher {
    pub(super) fn by(cost: Hashes) -> Self {
        let (key, hashing) = Default::default();
        Self { key, hashing, cost }
    }

    fn quick(&self, text: &SecretText) -> u64 {
        self.key.hash_one(text.as_str())
    }

    fn slow(&self, text: &SecretText) -> Option<SecretHash> {
        let argon2 = self.argon2();
        let hashed = argon2.and_then(|argon2| argon2.hash_password(text.as_bytes()));
        hashed
            .map(|hash: PasswordHash| SecretHash(hash.to_string()))
            .inspect_err(|error| tracing::error!("a credential cannot be hashed: {error}"))
            .ok()
    }

    fn verify(&self, slow: &SecretHash, text: &SecretText) -> bool {
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
    pub(super) fn of(slow: SecretHash, quick: Option<u64>) -> Self {
        let refuted = Vec::new();
        Self {
            slow,
            quick,
            refuted,
        }
    }

    fn compare(&self, quick: u64) -> Option<Comparison> {
        match self.quick {
            Some(known) if known == quick => Some(Comparison::Same),
            Some(_) => Some(Comparison::Differs),
            None if self.refuted.contains(&quick) => Some(Comparison::Differs),
            None => None,
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
