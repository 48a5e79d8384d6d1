use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::life::News;
use crate::record::VolumeHandle;
use crate::unpoisoned::Unpoisoned;

/// The volumes that are served by a mapping with another password than theirs, and the calls that were.
///
/// Kubelet may publish a volume again and again (`requiresRepublish`): each call counts, and only the first is news.
#[derive(Debug, Default)]
pub(super) struct OtherSecrets {
    calls: AtomicU64,
    volumes: Unpoisoned<BTreeSet<VolumeHandle>>,
}

impl OtherSecrets {
    /// A call came with another password.
    pub(super) fn note(&self, volume: &VolumeHandle) -> News {
        self.calls.fetch_add(1, Ordering::Relaxed);
        match self.volumes.lock().insert(volume.clone()) {
            true => News::Changed,
            false => News::Known,
        }
    }

    /// The volume has the password of its mapping, or is gone.
    pub(super) fn end(&self, volume: &VolumeHandle) {
        self.volumes.lock().remove(volume);
    }

    /// How many calls came with another password.
    pub(super) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_counts_and_the_first_of_a_volume_is_news_until_that_ends() {
        let secrets = OtherSecrets::default();
        let [one, other] = ["a", "b"].map(|name| VolumeHandle::parse(name).unwrap());
        assert_eq!(secrets.note(&one), News::Changed);
        assert_eq!(secrets.note(&one), News::Known);
        assert_eq!(secrets.note(&other), News::Changed);
        secrets.end(&one);
        assert_eq!(secrets.note(&one), News::Changed);
        assert_eq!(secrets.note(&other), News::Known);
        assert_eq!(secrets.calls(), 5);
    }
}
