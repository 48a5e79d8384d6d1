use super::{Inner, Lease, Leases, NotTaken, Terms, is_of_boot};
use crate::record::VolumeHandle;

/// A volume that uses a thing.
#[derive(Clone, Debug)]
pub(crate) struct User<T> {
    pub(crate) key: String,
    pub(crate) terms: T,
    /// The boot in which it was staged, if the node reports boots.
    pub(crate) boot: Option<String>,
    pub(crate) is_leaving: bool,
    /// Whether the thing has served it in that boot.
    pub(crate) is_served: bool,
    /// Whether its call makes the thing, as far as that call knows.
    pub(super) presumes: bool,
    /// Whether that call died with its process.
    pub(super) is_of_dead: bool,
    /// Whether its call may give the thing another credential.
    pub(super) may_change_credential: bool,
    /// Whether its record is there.
    pub(super) is_recorded: bool,
}

impl<T> User<T> {
    /// A volume that is staged, or is being staged.
    pub(crate) fn new(key: String, terms: T, boot: Option<String>) -> Self {
        Self {
            key,
            terms,
            boot,
            is_leaving: false,
            is_served: false,
            presumes: false,
            is_of_dead: false,
            may_change_credential: false,
            is_recorded: false,
        }
    }
}

impl<T> Leases<T> {
    /// How many volumes use a thing in this boot: those of an earlier one are staged again first.
    pub(crate) fn users(&self, key: &str) -> usize {
        self.inner.lock().users(key, self.boot())
    }

    /// Whether another volume uses a thing, or its record has done so since an earlier boot.
    pub(crate) fn has_others(&self, key: &str, volume: &VolumeHandle) -> bool {
        let inner = self.inner.lock();
        let mut others = inner.users.iter().filter(|(other, _)| *other != volume);
        others.any(|(_, user)| user.key == key && !user.is_leaving)
    }

    /// Whether a thing has served a volume in this boot.
    pub(crate) fn serves(&self, key: &str) -> bool {
        let inner = self.inner.lock();
        inner.users_of(key, self.boot()).any(|user| user.is_served)
    }

    /// The volume is of this boot: the thing was not made for it since.
    pub(crate) fn set_boot(&self, volume: &VolumeHandle, boot: Option<&str>) {
        self.change_user(volume, |user| user.boot = boot.map(str::to_owned));
    }

    /// The volume uses the thing no more. Until [`Self::release`] no other volume counts it as a user.
    pub(crate) fn leave(&self, volume: &VolumeHandle) {
        self.change_user(volume, |user| user.is_leaving = true);
    }

    pub(super) fn change_user(&self, volume: &VolumeHandle, change: impl FnOnce(&mut User<T>)) {
        self.inner.lock().users.get_mut(volume).map(change);
    }
}

impl<T: Terms> Inner<T> {
    pub(super) fn check_conflicts(
        &self,
        volume: &VolumeHandle,
        user: &User<T>,
    ) -> Result<(), NotTaken<T::Conflict>> {
        for (other, of) in &self.users {
            let is_beside = other != volume && is_of_boot(&of.boot, user.boot.as_deref());
            if let Some(conflict) = user.terms.conflict_with(&of.terms).filter(|_| is_beside) {
                return Err(NotTaken::Conflict(conflict, other.clone()));
            }
        }
        Ok(())
    }
}

impl<T> Inner<T> {
    pub(super) fn user_and_lease(
        &mut self,
        volume: &VolumeHandle,
    ) -> Option<(&mut User<T>, &mut Lease)> {
        let user = self.users.get_mut(volume)?;
        let lease = self.leases.entry(user.key.clone()).or_default();
        Some((user, lease))
    }

    pub(super) fn users(&self, key: &str, boot: Option<&str>) -> usize {
        self.users_of(key, boot).count()
    }

    fn users_of(&self, key: &str, boot: Option<&str>) -> impl Iterator<Item = &User<T>> {
        let users = self.users.values();
        users
            .filter(move |user| user.key == key && !user.is_leaving && is_of_boot(&user.boot, boot))
    }

    /// Whether no other volume uses, or leaves, what this one uses.
    pub(super) fn is_alone(&self, volume: &VolumeHandle) -> bool {
        let key = self.users.get(volume).map(|user| &user.key);
        let mut others = self.users.iter().filter(|(other, _)| *other != volume);
        !others.any(|(_, other)| Some(&other.key) == key)
    }

    /// Also those that leave, and those of an earlier boot.
    pub(super) fn has_users(&self, key: &str) -> bool {
        self.users.values().any(|user| user.key == key)
    }
}
