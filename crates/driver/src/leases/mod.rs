//! What volumes of a node share, as a global mapping: each such thing has one lease.
//!
//! A lease says whose the thing is in this boot, and has a slow hash of the credential by which it was made. Its users are
//! the volumes whose records name the thing; no other file has them. So a call writes the record of its own volume and
//! the lease, and no record of another volume.
//!
//! # Whose it is
//! This driver removes only what is ours, and that only in the boot in which it was made. The lease of a
//! foreign thing is written only as long as its kind has noted something of it, as which portal goes with the thing.
//!
//! | event | owner |
//! |---|---|
//! | a volume takes a thing that is not there | presumed: its call makes it, unless another process does first |
//! | a volume takes a thing that is there | as its lease says; presumed if another call presumes it; foreign without a lease |
//! | a volume takes a thing that is there, and presumed it in a call that died | ours, as its unstage would have it |
//! | a foreign thing is gone once a volume has taken it | presumed |
//! | a call made it | ours |
//! | a call met one that no call made, where it presumed its own | foreign; what another call presumes, that call settles |
//! | a call ended well in another way | what it presumed is ours |
//! | a call failed, and what it made may be there | what it presumed is ours |
//! | a call failed, and made nothing | what it presumed is foreign; the rest stays |
//! | a call failed, and the thing of its volume alone is gone | foreign |
//! | a foreign driver's volume leaves it, and volumes of ours use it | ours |
//! | the last volume leaves it to links of another driver | foreign; as before, while a record cannot be read |
//! | the last volume leaves it to the link of a volume whose own thing is gone, or in use | ours |
//! | the thing was removed, or is not there when its last volume leaves | foreign |
//! | the node was restarted, and reports it | foreign |
//! | the lease cannot be read | foreign, until a start without its file |
//!
//! # Deaths between a volume's record and the lease
//! A stage writes the record, then the lease, then acts on the node. An unstage acts, removes the lease, then the record.
//!
//! | a death after | leaves | the next call for the volume |
//! |---|---|---|
//! | the record of a first stage | no lease of its own | removes nothing that no lease names |
//! | the lease, or the act | a presumption of the volume | removes what is there |
//! | the lease of what was made | a thing of ours with a user | a stage makes it again, an unstage removes it |
//! | the removal of the thing | a lease of ours without a thing | removes the lease, and what came in its place |
//! | the removal of the lease | a record | removes the record |
//! | a lease that is kept or given away | as before it | looks at the links again |

mod credential;
mod file;
mod leaving;
mod making;
mod owner;
mod user;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Condvar, OnceLock};

use serde_json::{Map, Value};

pub use self::credential::Hashes;
pub(crate) use self::credential::{Comparison, SecretText};
use self::credential::{Hasher, Known};
use self::file::{Files, LeaseFile, VERSION};
pub(crate) use self::leaving::LeavingForeign;
pub(crate) use self::making::Making;
pub(crate) use self::owner::{Ended, Owner};
pub(crate) use self::user::User;
use crate::record::{Store, StoreError, VolumeHandle};
use crate::unpoisoned::Unpoisoned;

/// The terms on which a volume uses a thing. Two that conflict exclude each other.
pub(crate) trait Terms {
    /// Of the files of leases.
    const KIND: &'static str;
    /// The notes that a lease keeps when its thing becomes another process's, and over a boot.
    const LASTING: &[&str] = &[];
    type Conflict;

    fn conflict_with(&self, _other: &Self) -> Option<Self::Conflict> {
        None
    }
}

/// The leases of one kind of thing.
pub(crate) struct Leases<T> {
    files: Files,
    hasher: Hasher,
    /// Whether volumes have records that cannot be read. Each of them may use each thing.
    has_unreadable_users: bool,
    /// This boot, once the node has reported it: no process outlives its boot.
    boot: OnceLock<String>,
    inner: Unpoisoned<Inner<T>>,
    /// A call that made a thing ended.
    made: Condvar,
}

struct Inner<T> {
    users: BTreeMap<VolumeHandle, User<T>>,
    leases: BTreeMap<String, Lease>,
    /// What volumes of foreign drivers leave now, by the folded paths of their links.
    left: BTreeMap<String, Vec<String>>,
    /// What calls make now.
    makers: Vec<String>,
}

#[derive(Default)]
struct Lease {
    /// Whether this driver made the thing, or has it from another one.
    is_ours: bool,
    /// In this boot.
    boot: Option<String>,
    credential: Option<Known>,
    /// Whether it stays without a user, for a link.
    is_kept: bool,
    /// Whether it was removed, and nobody took it since.
    is_gone: bool,
    /// Whether it is being removed, on a host that does not ask meanwhile who uses it.
    is_ending: bool,
    /// What its kind notes of it, and what a later version has of it.
    raw_fields: Map<String, Value>,
}

/// Why a volume cannot take a thing.
#[derive(Debug)]
pub(crate) enum NotTaken<C> {
    /// This volume uses it, or one like it, by terms that conflict.
    Conflict(C, VolumeHandle),
    Ending,
    /// The lease of what it used before cannot be written.
    Unsaved(StoreError),
}

impl<T: Terms> Leases<T> {
    /// The leases that a process before this one left in the folder of the records, and their users by the records.
    pub(crate) fn open(
        store: &Store,
        mut users: BTreeMap<VolumeHandle, User<T>>,
        hashes: Hashes,
        boot: impl FnOnce() -> Option<String>,
    ) -> Self {
        let (files, found) = Files::open(store.folder(), T::KIND);
        let has_any = !users.is_empty() || !found.is_empty();
        let boot = has_any.then(boot).flatten();
        let is_of_now = |user: &&User<T>| is_of_boot(&user.boot, boot.as_deref());
        let of_now = users
            .values()
            .filter(is_of_now)
            .map(|user| user.key.clone());
        let of_now = BTreeSet::from_iter(of_now);
        for user in users.values_mut() {
            // Presumed in this boot, by a call that died before its record was of this boot.
            let is_recent = |file: &LeaseFile| is_of_boot(&file.boot, boot.as_deref());
            if !of_now.contains(&user.key) && found.get(&user.key).is_some_and(is_recent) {
                user.boot.clone_from(&boot);
            }
            let is_presumed = |file: &LeaseFile| {
                file.owner == Owner::Presumed
                    && is_of_boot(&file.boot, boot.as_deref())
                    && is_of_boot(&file.boot, user.boot.as_deref())
            };
            user.presumes = found.get(&user.key).is_some_and(is_presumed);
            user.is_of_dead = user.presumes;
            user.is_recorded = true;
        }
        let has_unreadable_users = store.unreadable() > 0;
        let used = BTreeSet::from_iter(users.values().map(|user| &user.key));
        let mut leases = BTreeMap::new();
        for (key, file) in found {
            let lease = Lease::of(file, boot.as_deref());
            // Without a user it was kept for a link.
            let is_kept = !used.contains(&key);
            if !is_kept || lease.is_ours {
                leases.insert(key, Lease { is_kept, ..lease });
            } else if !has_unreadable_users {
                warn(&key, files.save(&key, |_| None));
            }
        }
        Self {
            files,
            hasher: Hasher::by(hashes),
            has_unreadable_users,
            boot: boot.map(OnceLock::from).unwrap_or_default(),
            made: Condvar::new(),
            inner: Unpoisoned::new(Inner {
                users,
                leases,
                left: BTreeMap::new(),
                makers: Vec::new(),
            }),
        }
    }

    /// A volume uses a thing from now on, in place of what it used before. The lease is not written: that comes after the
    /// volume's record.
    pub(crate) fn take(
        &self,
        volume: &VolumeHandle,
        user: User<T>,
        is_there: bool,
    ) -> Result<(), NotTaken<T::Conflict>> {
        let mut inner = self.inner.lock();
        inner.check_conflicts(volume, &user)?;
        let key = user.key.clone();
        let is_left = inner.left.values().flatten().any(|left| *left == key);
        let others = inner.users.iter().filter(|(other, of)| {
            *other != volume && of.key == key && is_of_boot(&of.boot, user.boot.as_deref())
        });
        let presumed: Vec<_> = others.map(|(_, other)| other.presumes).collect();
        let is_of_dead = |before: &mut User<T>| {
            std::mem::take(&mut before.is_of_dead)
                && before.key == key
                && is_of_boot(&before.boot, user.boot.as_deref())
        };
        let was_presumed = inner.users.get_mut(volume).is_some_and(is_of_dead);
        let lease = inner.leases.entry(key).or_default();
        if lease.is_ending {
            return Err(NotTaken::Ending);
        }
        lease.begin::<T>(&user.boot, is_there || !presumed.is_empty());
        lease.is_ours |= is_left || is_there && was_presumed;
        // What another call presumes, this one may find.
        let presumes = !is_there || presumed.contains(&true);
        let (same, other) = match inner.users.remove(volume) {
            Some(before) if before.key == user.key => (Some(before), None),
            other => (None, other),
        };
        let is_served = |before: &User<T>| {
            before.is_served && !before.is_leaving && is_of_boot(&before.boot, user.boot.as_deref())
        };
        let user = User {
            presumes,
            is_served: same.as_ref().is_some_and(is_served),
            is_recorded: same.is_some_and(|before| before.is_recorded),
            ..user
        };
        inner.users.insert(volume.clone(), user);
        drop(inner);
        let left = other.map_or(Ok(()), |other| self.end_use(volume, other));
        left.map_err(NotTaken::Unsaved)
    }

    /// A volume uses a thing no more: the lease goes with its last user. If that cannot be written, the volume is a user
    /// still.
    fn end_use(&self, volume: &VolumeHandle, user: User<T>) -> Result<(), StoreError> {
        let saved = self.save(&user.key);
        let mut inner = self.inner.lock();
        match saved {
            Ok(()) => inner.end_unless_needed(&user.key),
            // The lease that stands serves them, and is written with the next change.
            Err(error) if inner.has_users(&user.key) => warn(&user.key, Err(error)),
            Err(error) => {
                inner.users.insert(volume.clone(), user);
                return Err(error);
            }
        }
        Ok(())
    }

    /// The foreign thing that a volume took was gone: its call makes it.
    pub(crate) fn presume(&self, volume: &VolumeHandle) {
        self.change_user(volume, |user| user.presumes = true);
    }

    /// The volume's call makes or replaces the thing, perhaps with another credential than the lease has.
    pub(crate) fn begin(
        &self,
        volume: &VolumeHandle,
        may_change_credential: bool,
    ) -> Result<(), StoreError> {
        self.change_user(volume, |user| {
            user.may_change_credential = may_change_credential;
            user.is_recorded = true;
        });
        self.save_of(volume)
    }

    pub(crate) fn end_call(&self, volume: &VolumeHandle, ended: Ended) -> Result<(), StoreError> {
        let mut inner = self.inner.lock();
        let is_alone = inner.is_alone(volume);
        if let Some((user, lease)) = inner.user_and_lease(volume) {
            let presumed = std::mem::take(&mut user.presumes);
            user.is_served |= matches!(ended, Ended::Made | Ended::MetForeign | Ended::Well);
            // A call that failed may have changed it all the same.
            user.may_change_credential &=
                matches!(ended, Ended::MayBeMade | Ended::InVain | Ended::Gone);
            match ended {
                Ended::Made => (lease.is_ours, lease.is_gone) = (true, false),
                Ended::Well | Ended::MayBeMade => lease.is_ours |= presumed,
                Ended::MetForeign => lease.become_foreign::<T>(),
                // With other users, one of them may have made it meanwhile.
                Ended::Gone if is_alone => lease.become_foreign::<T>(),
                Ended::Gone | Ended::InVain => {}
            }
        }
        drop(inner);
        self.save_of(volume)
    }

    /// The thing is this driver's from now on, so that the last of its volumes removes it. Returns how many use it.
    pub(crate) fn adopt(&self, key: &str) -> usize {
        let mut inner = self.inner.lock();
        let users = inner.users(key, self.boot());
        if users > 0 {
            inner.adopt(key, self.boot());
            drop(inner);
            warn(key, self.save(key));
        }
        users
    }

    /// The thing stays this driver's without a user: it serves the link of a volume whose own is gone, whose unstage removes
    /// it, or is in use, and ends with a later volume.
    pub(crate) fn keep(&self, key: &str) {
        self.inner.lock().adopt(key, self.boot()).is_kept = true;
        warn(key, self.save(key));
    }

    /// What is there from now on is foreign, unless a volume uses it.
    pub(crate) fn give_away(&self, key: &str) -> Result<(), StoreError> {
        self.change_unused(key, |lease| {
            let is_kept = self.has_unreadable_users && lease.is_ours;
            lease.become_foreign::<T>();
            (lease.is_ours, lease.is_kept) = (is_kept, is_kept);
        })
    }

    /// The thing was removed, or was gone. The lease is written when its volume is released.
    pub(crate) fn note_gone(&self, key: &str) -> Result<(), StoreError> {
        self.change_unused(key, |lease| {
            lease.become_foreign::<T>();
            lease.is_gone = true;
        })
    }

    /// Whether a thing was removed, and nobody took it since.
    pub(crate) fn is_gone(&self, key: &str) -> bool {
        let inner = self.inner.lock();
        inner.leases.get(key).is_some_and(|lease| lease.is_gone)
    }

    /// The volume has left. The lease goes with its last user, unless it is kept for a link.
    pub(crate) fn release(&self, volume: &VolumeHandle) -> Result<(), StoreError> {
        let user = self.inner.lock().users.remove(volume);
        user.map_or(Ok(()), |user| self.end_use(volume, user))
    }
}

impl<T> Leases<T> {
    /// This boot, if it is known.
    pub(crate) fn boot(&self) -> Option<&str> {
        self.boot.get().map(String::as_str)
    }

    /// Learns this boot, unless it is known.
    pub(crate) fn learn_boot(&self, boot: impl FnOnce() -> Option<String>) {
        if self.boot.get().is_none()
            && let Some(boot) = boot()
        {
            self.boot.get_or_init(|| boot);
        }
    }

    /// Whose the thing is that a volume uses, as this volume's call has it.
    pub(crate) fn owner(&self, volume: &VolumeHandle) -> Owner {
        let mut inner = self.inner.lock();
        match inner.user_and_lease(volume) {
            // A start that could not read the boot took what was of an earlier one for one of this.
            Some((user, _)) if !is_of_boot(&user.boot, self.boot()) => Owner::Foreign,
            Some((user, _)) if self.files.is_unreadable(&user.key) => Owner::Foreign,
            Some((user, lease)) if lease.is_ours_in(user.boot.as_deref()) => Owner::Ours,
            Some((user, _)) if user.presumes => Owner::Presumed,
            _ => Owner::Foreign,
        }
    }

    /// Notes something of a thing, or takes a note back. The next change of the lease writes it.
    pub(crate) fn note(&self, key: &str, what: &str, value: impl Into<Option<String>>) {
        self.change_note(key, what, |_| value.into());
    }

    /// Changes a note, by its value before, if the thing has a lease.
    pub(crate) fn change_note(
        &self,
        key: &str,
        what: &str,
        change: impl FnOnce(Option<&str>) -> Option<String>,
    ) -> bool {
        let mut inner = self.inner.lock();
        let lease = inner.leases.get_mut(key);
        lease.map(|lease| lease.change_note(what, change)).is_some()
    }

    /// What was noted of a thing; unless it lasts, until that is foreign, or is taken where it is not there.
    pub(crate) fn noted(&self, key: &str, what: &str) -> Option<String> {
        let inner = self.inner.lock();
        let noted = inner.leases.get(key)?.raw_fields.get(what)?.as_str();
        noted.map(str::to_owned)
    }

    /// Changes a note of another thing, of which this value is noted under another name. Returns that thing.
    pub(crate) fn change_note_where(
        &self,
        (noted, value): (&str, &str),
        other_than: &str,
        what: &str,
        change: impl FnOnce(Option<&str>) -> Option<String>,
    ) -> Option<String> {
        let mut inner = self.inner.lock();
        let mut leases = inner.leases.iter_mut();
        let (other, lease) = leases.find(|(other, lease)| {
            *other != other_than && lease.raw_fields.get(noted).is_some_and(|has| has == value)
        })?;
        lease.change_note(what, change);
        Some(other.clone())
    }

    /// Whether a thing is ours. What a call presumes, no other one goes by.
    pub(crate) fn is_ours(&self, key: &str) -> bool {
        let inner = self.inner.lock();
        let lease = inner.leases.get(key);
        lease.is_some_and(|lease| lease.is_ours_in(self.boot())) && !self.files.is_unreadable(key)
    }

    /// The things of ours that are kept for links.
    pub(crate) fn kept_for_links(&self) -> Vec<String> {
        let inner = self.inner.lock();
        let leases = inner.leases.iter();
        let kept = leases.filter(|(_, lease)| lease.is_kept && lease.is_ours_in(self.boot()));
        kept.map(|(key, _)| key.clone()).collect()
    }

    /// Whether a lease is there that cannot be read. Its thing is never removed.
    pub(crate) fn is_unreadable(&self, key: &str) -> bool {
        self.files.is_unreadable(key)
    }

    /// How many leases cannot be read.
    pub(crate) fn unreadable(&self) -> usize {
        self.files.unreadable.len()
    }

    /// With a volume that leaves, its release writes the lease.
    fn change_unused(&self, key: &str, change: impl FnOnce(&mut Lease)) -> Result<(), StoreError> {
        let mut inner = self.inner.lock();
        if inner.users(key, self.boot()) > 0 {
            return Ok(());
        }
        match inner.leases.get_mut(key) {
            // Another call removes it, which may fail.
            Some(lease) if lease.is_ending => return Ok(()),
            Some(lease) => {
                lease.is_kept = false;
                change(lease);
            }
            None => {}
        }
        if inner.has_users(key) {
            return Ok(());
        }
        drop(inner);
        self.save(key)?;
        self.inner.lock().end_unless_needed(key);
        Ok(())
    }

    fn save_of(&self, volume: &VolumeHandle) -> Result<(), StoreError> {
        let inner = self.inner.lock();
        let key = inner.users.get(volume).map(|user| user.key.clone());
        drop(inner);
        key.map_or(Ok(()), |key| self.save(&key))
    }

    /// Writes the lease as it is by then, or removes the file of one that is nobody's.
    pub(crate) fn save(&self, key: &str) -> Result<(), StoreError> {
        let lease = |is_there: bool| self.inner.lock().file_of(key, is_there);
        self.files.save(key, lease)
    }
}

impl<T> Inner<T> {
    fn adopt(&mut self, key: &str, boot: Option<&str>) -> &mut Lease {
        let lease = self.leases.entry(key.to_owned()).or_default();
        lease.is_ours = true;
        lease.is_gone = false;
        lease.boot = boot.map(str::to_owned).or(lease.boot.take());
        lease
    }

    /// What is written of a lease; none if the thing is foreign. A file that is there stays for each user, and one that is
    /// not comes after the record of one.
    fn file_of(&self, key: &str, is_there: bool) -> Option<LeaseFile> {
        let lease = self.leases.get(key)?;
        let users = self.users.values().filter(|user| user.key == key);
        let users: Vec<_> = users.filter(|user| user.is_recorded || is_there).collect();
        // A volume that leaves finds what is gone by its lease.
        let owner = match lease.is_ours || lease.is_gone {
            true if lease.is_kept || !users.is_empty() => Owner::Ours,
            false if users.iter().any(|user| user.presumes) => Owner::Presumed,
            // What its kind noted of it outlives a call in vain.
            false if !users.is_empty() && !lease.raw_fields.is_empty() => Owner::Foreign,
            _ => return None,
        };
        let is_sure = owner == Owner::Ours && !users.iter().any(|user| user.may_change_credential);
        let credential = lease.credential.as_ref().filter(|_| is_sure);
        Some(LeaseFile {
            version: VERSION,
            key: key.to_owned(),
            owner,
            boot: lease.boot.clone(),
            secret: credential.map(|known| known.slow.clone()),
            raw_fields: lease.raw_fields.clone(),
        })
    }

    fn end_unless_needed(&mut self, key: &str) {
        let is_needed = |lease: &Lease| lease.is_ending || lease.is_kept && lease.is_ours;
        if !self.has_users(key) && !self.leases.get(key).is_some_and(is_needed) {
            self.leases.remove(key);
        }
    }
}

impl Lease {
    fn of(file: LeaseFile, boot: Option<&str>) -> Self {
        let is_ours = file.owner == Owner::Ours && is_of_boot(&file.boot, boot);
        Self {
            is_ours,
            credential: file
                .secret
                .filter(|_| is_ours)
                .map(|slow| Known::of(slow, None)),
            boot: file.boot,
            raw_fields: file.raw_fields,
            ..Self::default()
        }
    }

    fn change_note(&mut self, what: &str, change: impl FnOnce(Option<&str>) -> Option<String>) {
        let noted = self.raw_fields.get(what).and_then(Value::as_str);
        match change(noted) {
            Some(value) => self.raw_fields.insert(what.to_owned(), value.into()),
            None => self.raw_fields.remove(what),
        };
    }

    fn become_foreign<T: Terms>(&mut self) {
        (self.is_ours, self.credential) = (false, None);
        self.raw_fields
            .retain(|what, _| T::LASTING.contains(&what.as_str()));
    }

    /// A volume takes the thing, which is there if it is known of. What was known of one of an earlier boot is not of what
    /// comes.
    fn begin<T: Terms>(&mut self, boot: &Option<String>, is_known: bool) {
        if !is_of_boot(&self.boot, boot.as_deref()) || !is_known {
            self.become_foreign::<T>();
        }
        (self.is_gone, self.is_kept) = (false, false);
        if boot.is_some() {
            self.boot.clone_from(boot);
        }
    }

    fn is_ours_in(&self, boot: Option<&str>) -> bool {
        self.is_ours && is_of_boot(&self.boot, boot)
    }
}

/// Whether both are the same, as far as both are known.
fn is_of_boot(one: &Option<String>, boot: Option<&str>) -> bool {
    one.as_deref()
        .zip(boot)
        .is_none_or(|(one, boot)| one == boot)
}

fn warn(key: &str, saved: Result<(), StoreError>) {
    if let Err(error) = saved {
        tracing::warn!("{key} may stay after its last volume: {error}");
    }
}

#[cfg(test)]
mod tests;
