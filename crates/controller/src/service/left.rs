use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use program::metrics::{Exposition, Kind};

use crate::volumes::{Left, OnLeft};

/// The label of a delete that came without a Secret.
const NO_SECRET: &str = "no-secret";

/// The folders that stayed behind their volumes, by reasons.
#[derive(Default)]
pub(super) struct LeftFolders(Mutex<BTreeMap<&'static str, u64>>);

impl LeftFolders {
    /// Counts and warns of each folder that stays.
    pub(super) fn watch(left: &Arc<Self>) -> OnLeft {
        let left = Arc::clone(left);
        Box::new(move |volume, why| {
            let (label, reason) = words(why);
            left.add(label);
            let (base, folder) = (&volume.base, volume.folder.path());
            tracing::warn!("the folder {base}{folder} stays: {reason}");
        })
    }

    /// A delete without a Secret, as csi-provisioner makes it once the Secret is gone.
    pub(super) fn add_without_secret(&self, id: &str) {
        self.add(NO_SECRET);
        tracing::warn!("the folder of volume {id:?} stays: the request has no Secret");
    }

    pub(super) fn render(&self, page: &mut Exposition) {
        let name = "wincsi_controller_folders_left_total";
        let help = "Folders that stayed when their volumes were deleted, by reasons.";
        page.family(name, help, Kind::Counter);
        for (reason, count) in self.0.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            page.sample(name, &[("reason", reason)], count);
        }
    }

    fn add(&self, reason: &'static str) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(reason).or_default() += 1;
    }
}

/// The label of the metric, and the reason for the log.
fn words(why: Left) -> (&'static str, &'static str) {
    match why {
        Left::Retained => ("retained", "its class has onDelete: retain"),
        Left::UnknownPolicy => (
            "unknown-policy",
            "the volume's handle has an unknown word as its policy",
        ),
        Left::Found => ("found", "it was there before the volume"),
        Left::Shared => (
            "shared",
            "another volume has it, or a folder in it or above it",
        ),
        Left::HoldsRecords => ("holds-records", "it holds the records of other volumes"),
        Left::Unrecorded => ("unrecorded", "no record proves that it is the volume's own"),
        Left::Replaced => (
            "replaced",
            "it is another folder than the one that was made",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_a_row_of_the_page() {
        let page = include_str!("../../../../docs/controller.md");
        let (_, rest) = page.split_once("### Folders that stay").unwrap_or_default();
        let (table, _) = rest.split_once("\n## ").unwrap_or_default();
        let rows = table.lines().filter_map(|line| line.strip_prefix("| `"));
        let mut rows: Vec<_> = rows.filter_map(|row| row.split('`').next()).collect();
        let reasons = [
            Left::Retained,
            Left::UnknownPolicy,
            Left::Found,
            Left::Shared,
            Left::HoldsRecords,
            Left::Unrecorded,
            Left::Replaced,
        ];
        let mut labels = Vec::from(reasons.map(|why| words(why).0));
        labels.push(NO_SECRET);
        rows.sort_unstable();
        labels.sort_unstable();
        assert_eq!(rows, labels);
    }
}
