//! Things that are being removed or left while other calls may come for them.

use super::Leases;
use crate::path::KubeletPath;

impl<T> Leases<T> {
    /// Removes a thing that nobody uses, while nobody can take it; none if somebody uses it, or it is being removed.
    pub(crate) fn end<R>(&self, key: &str, remove: impl FnOnce() -> R) -> Option<R> {
        let mut inner = self.inner.lock();
        if inner.users(key, self.boot()) > 0 {
            return None;
        }
        let lease = inner.leases.entry(key.to_owned()).or_default();
        if std::mem::replace(&mut lease.is_ending, true) {
            return None;
        }
        drop(inner);
        let _ending = Ending { of: self, key };
        Some(remove())
    }

    /// A foreign driver's link goes, until what is returned is dropped. Who takes a thing that it leaves has it as ours.
    pub(crate) fn leave_foreign(&self, link: &KubeletPath) -> LeavingForeign<'_, T> {
        let link = link.folded();
        self.inner.lock().left.insert(link.clone(), Vec::new());
        LeavingForeign { of: self, link }
    }

    /// Whether a link of a foreign driver goes just now.
    pub(crate) fn is_left(&self, link: &KubeletPath) -> bool {
        self.inner.lock().left.contains_key(&link.folded())
    }
}

/// A thing that is being removed, until this is dropped.
struct Ending<'a, T> {
    of: &'a Leases<T>,
    key: &'a str,
}

impl<T> Drop for Ending<'_, T> {
    fn drop(&mut self) {
        let mut inner = self.of.inner.lock();
        if let Some(lease) = inner.leases.get_mut(self.key) {
            lease.is_ending = false;
        }
        inner.end_unless_needed(self.key);
    }
}

/// A foreign driver's link that goes, until this is dropped.
pub(crate) struct LeavingForeign<'a, T> {
    of: &'a Leases<T>,
    link: String,
}

impl<T> LeavingForeign<'_, T> {
    /// It leaves this thing.
    pub(crate) fn leaves(&self, key: &str) {
        if let Some(left) = self.of.inner.lock().left.get_mut(&self.link) {
            left.push(key.to_owned());
        }
    }
}

impl<T> Drop for LeavingForeign<'_, T> {
    fn drop(&mut self) {
        self.of.inner.lock().left.remove(&self.link);
    }
}
