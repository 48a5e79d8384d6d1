use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::record::VolumeHandle;
use crate::unpoisoned::Unpoisoned;

/// The volumes that are served by a mapping with another password than theirs, and the calls that were.
///
/// Kubelet may publish a volume again and again (`requiresRepublish`): each call counts, and only the first is news.
#[derive(Debug, Default)]
pub(super) struct OtherPasswords {
    calls: AtomicU64,
    volumes: Unpoisoned<BTreeSet<VolumeHandle>>,
}

impl OtherPasswords {
    /// A call came with another password. Whether it is the volume's first.
    pub(super) fn note(&self, volume: &VolumeHandle) -> bool {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.volumes.lock().insert(volume.clone())
    }

    /// The volume has the password of its mapping, or is gone.
    pub(super) fn end(&self, volume: &VolumeHandle) {
        self.volumes.lock().remove(volume);
    }

    pub(super) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_counts_and_the_first_of_a_volume_is_news_until_that_ends() {
        let secrets = OtherPasswords::default();
        let [one, other] = ["a", "b"].map(|name| VolumeHandle::parse(name).unwrap());
        assert!(secrets.note(&one));
        assert!(!secrets.note(&one));
        assert!(secrets.note(&other));
        secrets.end(&one);
        assert!(secrets.note(&one));
        assert!(!secrets.note(&other));
        assert_eq!(secrets.calls(), 5);
    }
}
