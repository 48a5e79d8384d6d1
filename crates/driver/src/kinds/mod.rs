//! Kinds of volumes: each is one folder here, and one row of the table that the program hands to the driver.

pub mod block;
pub mod disk;
pub mod iscsi;
mod keys;
pub mod share;

use std::any::Any;
use std::sync::Arc;

use program::metrics::Exposition;
use wincsi::volumes::Space;
use wincsi::{Deadline, Error};

use self::block::Block;
use self::disk::AttachedDisks;
use self::iscsi::IscsiDisks;
use self::share::ShareKind;
use crate::kubelet::{Refusal, Request};
use crate::life::{CallError, Capacity, Context, PublishCall, StageCall, StagingState};
use crate::path::KubeletPath;
use crate::record::{Content, Form, Lifetime, Record, VolumeHandle};

pub use self::keys::Keys;

/// How a volume of a request is staged.
pub type StageFn<'a> = Box<dyn FnOnce(&StageCall<'_>) -> Result<(), CallError> + 'a>;

/// How the staging path is made sure to be the volume's own before a publish, and made so where it was, as after a reboot.
pub type ProveFn<'a> = Box<dyn FnOnce(PublishCall<'_>) -> Result<(), CallError> + 'a>;

/// What is exactly at a record's staging path. What many volumes share is read once; each look has a deadline of its own.
pub type InspectFn<'a> =
    Box<dyn Fn(Record, NewDeadline<'_>) -> Result<StagingState, Error> + Sync + 'a>;

/// The deadline of a look that begins now.
pub type NewDeadline<'a> = &'a dyn Fn() -> Deadline;

/// A kind of volume. Records that it is given are its own.
pub trait Kind: Any + Send + Sync {
    /// Its name in records.
    fn name(&self) -> &'static str;

    /// Whether a request is for a volume of this kind, unless one before it in the table accepts it.
    fn accepts(&self, request: &Request<'_>) -> bool;

    /// The keys that it reads of such a volume.
    fn keys(&self, lifetime: Lifetime) -> Keys;

    /// Reads a request to stage a volume. Asks nothing of the node.
    fn to_stage<'a>(&'a self, request: &Request<'_>) -> Result<StageFn<'a>, Refusal>;

    /// Reads a request to publish a staged volume. Asks nothing of the node.
    fn to_publish<'a>(&'a self, request: &Request<'_>) -> Result<ProveFn<'a>, Refusal>;

    /// Takes down all of a volume but its record. May be repeated.
    fn unstage(
        &self,
        record: Record,
        staging: &KubeletPath,
        deadline: Deadline,
    ) -> Result<(), CallError>;

    /// Looks at many volumes.
    fn inspect(&self) -> InspectFn<'_>;

    /// Size and free space of a volume, if it is at the path.
    fn usage(
        &self,
        record: Record,
        at: &KubeletPath,
        deadline: Deadline,
    ) -> Result<Option<Space>, Error>;

    /// What the volumes are called whose calls wait for servers; none if no call does.
    fn waits_for(&self) -> Option<&'static str> {
        None
    }

    /// Refuses a volume of which this host has no figures.
    fn check_usage(&self, _record: &Record) -> Result<(), CallError> {
        Ok(())
    }

    /// The size in bytes, as far as it is recorded.
    fn size(&self, _record: Record) -> Option<u64> {
        None
    }

    /// Grows a volume, and returns its size in bytes. One whose size is its server's business has the size that is wanted.
    fn expand(
        &self,
        _record: Record,
        _path: &str,
        capacity: Capacity,
        _deadline: Deadline,
    ) -> Result<u64, CallError> {
        Ok(capacity.wanted.unwrap_or_default())
    }

    /// This boot, with which all ends that a stage makes.
    fn boot(&self) -> Option<&str> {
        None
    }

    /// Whether a volume that kubelet forgot is unstaged. Otherwise its record alone goes: what is on the node may be another
    /// driver's by now.
    fn ends_abandoned(&self) -> bool {
        false
    }

    /// The volume is at the target no more.
    fn unpublished(&self, _volume: &VolumeHandle, _target: &KubeletPath) {}

    /// The volume has no record any more.
    fn forget(&self, _volume: &VolumeHandle) {}

    /// Adds what the kind counts to a page of metrics.
    fn render(&self, _page: &mut Exposition) {}

    /// Whether another driver of this name staged a volume there that is live.
    fn is_foreign_live(&self, _volume: Unrecorded<'_>) -> Result<bool, Error> {
        Ok(false)
    }

    /// A volume that another driver staged cannot have a record.
    fn note_not_taken_over(&self, _volume: &VolumeHandle, _why: &str) {}

    /// Takes down an inline volume that another driver of this name published; whether there is one of this kind.
    fn unpublish_foreign(&self, _volume: Unrecorded<'_>) -> Result<bool, CallError> {
        Ok(false)
    }

    /// Takes down a staged volume; whether there is one of this kind.
    fn unstage_foreign(&self, _volume: Unrecorded<'_>) -> Result<bool, CallError> {
        Ok(false)
    }

    /// Size and free space of a volume, if one of this kind is there.
    fn usage_of_foreign(&self, _volume: Unrecorded<'_>) -> Result<Option<Space>, Error> {
        Ok(None)
    }
}

/// A volume without a record, where a call has it.
#[derive(Clone, Copy)]
pub struct Unrecorded<'a> {
    pub(crate) volume: &'a VolumeHandle,
    pub(crate) at: &'a KubeletPath,
    /// When the call ends.
    pub(crate) deadline: Deadline,
}

pub struct Row {
    form: Form,
    make: Box<Make>,
}

type Make = dyn FnOnce(&Arc<Context>) -> Box<dyn Kind>;

impl Row {
    pub fn of<C: Content, K: Kind>(make: impl FnOnce(&Arc<Context>) -> K + 'static) -> Self {
        Self {
            form: Form::of::<C>(),
            make: Box::new(|ctx| Box::new(make(ctx))),
        }
    }

    pub(crate) fn make(self, ctx: &Arc<Context>) -> Box<dyn Kind> {
        (self.make)(ctx)
    }

    /// The records of the kinds of a table.
    pub fn forms(table: &[Self]) -> Vec<Form> {
        table.iter().map(|row| row.form).collect()
    }
}

/// What the kinds may be told.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    pub disks: disk::Settings,
    pub iscsi: iscsi::Settings,
    pub shares: share::Settings,
}

/// The kinds. A request is for the first that accepts it, so [`AttachedDisks`] comes last: it accepts each.
pub fn table(settings: Settings) -> Vec<Row> {
    let Settings {
        disks,
        iscsi,
        shares,
    } = settings;
    vec![
        Row::of::<block::Disk<iscsi::Target>, _>(move |ctx| {
            Block::new(ctx, IscsiDisks::new(ctx, iscsi), block::ARRIVAL)
        }),
        Row::of::<share::Share, _>(move |ctx| ShareKind::new(ctx, shares)),
        Row::of::<block::Disk<disk::Attached>, _>(move |ctx| {
            Block::new(ctx, AttachedDisks::new(disks.luns), disks.arrival)
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_that_accepts_each_request_comes_last() {
        let forms = Row::forms(&table(Settings::default()));
        let last = format!("{:?}", forms.last().unwrap());
        assert!(last.contains(r#"kind: "disk""#), "{last}");
    }
}
