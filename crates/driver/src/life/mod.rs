//! The life of a volume, of any kind: stage, publish, report, grow, unpublish, unstage, and what a start compares.
//!
//! Every operation may be repeated at any point, also by another process after this one died. Each takes its turn among
//! the calls for its volume ([`crate::in_flight`]), and writes the record before it changes the node.

mod call;
mod context;
mod error;
mod expand;
mod health;
mod kubelet;
mod links;
mod pipes;
mod publish;
mod reconcile;
mod stage;
mod stats;
mod unpublish;
mod unstage;
mod vol_data;
mod waiting;

use std::any::Any;
use std::sync::Arc;

use program::metrics::{Exposition, Kind as Metric};
use wincsi::NodeApi;
use wincsi::filesystem::Look;

use crate::code;
use crate::kinds::{Kind, Row};
use crate::kubelet::Request;
use crate::machine::Machine;
use crate::path::KubeletPath;
use crate::record::{Record, Store, StoreError, TextError, VolumeHandle};

pub(crate) use self::call::CALL;
pub use self::call::Call;
pub use self::context::Context;
pub(crate) use self::context::is_nothing_mounted;
pub use self::error::CallError;
pub(crate) use self::error::may_come_through;
pub use self::expand::Capacity;
pub use self::kubelet::{Kubelet, KubeletPathError};
pub(crate) use self::kubelet::{LONGEST_NAME, kubelet_path, utf16_length};
pub use self::publish::{Publish, PublishCall};
pub(crate) use self::reconcile::is_dangling;
pub use self::reconcile::{Reconciliation, StagingState};
pub use self::stage::{Stage, StageCall};
pub use self::stats::Stats;
pub use self::waiting::TooManyWaiting;

pub struct Volumes {
    ctx: Arc<Context>,
    kinds: Vec<Box<dyn Kind>>,
}

impl Volumes {
    /// The volumes of a node, of these kinds, with the records of what was done of them before.
    pub fn new(
        node: Arc<dyn NodeApi>,
        store: Store,
        machine: Arc<dyn Machine>,
        kubelet: Kubelet,
        kinds: Vec<Row>,
    ) -> Self {
        let ctx = Arc::new(Context::new(node, store, machine, kubelet));
        let kinds = kinds.into_iter().map(|row| row.make(&ctx)).collect();
        Self { ctx, kinds }
    }

    /// The kind of this type, if the table has it.
    pub fn kind<K: Kind>(&self) -> Option<&K> {
        let mut kinds = self.kinds.iter().map(|kind| kind.as_ref() as &dyn Any);
        kinds.find_map(<dyn Any>::downcast_ref)
    }

    pub(crate) fn context(&self) -> &Context {
        &self.ctx
    }

    /// Adds what is known of the volumes to a page of metrics, without a query to the node.
    pub fn render(&self, page: &mut Exposition) {
        let store = &self.ctx.store;
        let help = "Volumes that have a record.";
        page.gauge("wincsi_volumes", help, store.recorded());
        let help = "Records that this version cannot read, and leaves alone.";
        page.gauge("wincsi_records_unreadable", help, store.unreadable());
        let name = "wincsi_volume_abnormal";
        page.family(name, "1 for each volume that is abnormal.", Metric::Gauge);
        for volume in self.ctx.health.abnormal_volumes() {
            page.sample(name, &[("volume", volume.as_str())], 1);
        }
        for kind in &self.kinds {
            kind.render(page);
        }
    }

    /// The kind that a request is for: the first that accepts it.
    fn kind_for(&self, request: &Request<'_>) -> Option<&dyn Kind> {
        let mut kinds = self.kinds.iter();
        let kind = kinds.find(|kind| kind.accepts(request));
        kind.map(Box::as_ref)
    }

    fn kind_of(&self, record: &Record) -> Result<&dyn Kind, StoreError> {
        let mut kinds = self.kinds.iter();
        let kind = kinds.find(|kind| kind.name() == record.kind);
        kind.map(Box::as_ref).ok_or_else(|| {
            let reason = TextError::Kind(record.kind.clone());
            self.ctx.store.unreadable_record(&record.volume, reason)
        })
    }
}

impl Call<'_, Volumes> {
    /// A failure of a stage. While something is left of the volume it is not final: kubelet may not know of an earlier
    /// call that came through, and would never take the volume down.
    fn of_stage(&self, error: CallError, volume: &VolumeHandle, at: &KubeletPath) -> CallError {
        match code::is_final(error.code()) && self.is_left(volume, at) {
            true => error.unfinished(),
            false => error,
        }
    }

    /// Whether a record is left, or a link or a mount beside kubelet's own file about the volume. Where that cannot be read
    /// it may be.
    fn is_left(&self, volume: &VolumeHandle, at: &KubeletPath) -> bool {
        let is_entry = || match self.ctx.look(at, self.deadline) {
            Ok(look) => matches!(look, Some(Look::Link(_) | Look::MountedFolder { .. })),
            Err(error) => may_come_through(&error),
        };
        let record = self.ctx.store.get(volume);
        record.map_or(true, |record| record.is_some())
            || self.ctx.is_of_kubelet(volume, at) && is_entry()
    }
}
