//! Volumes that are disks in the end, wherever their disk comes from: stage, grow, unstage, and whether one is mounted where
//! it belongs. A [`Source`] gives the disk.

mod error;
mod expand;
mod publish;
mod record;
mod request;
mod stage;
mod unstage;
mod wanted;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use wincsi::disks::{DiskQuery, FoundDisk};
use wincsi::filesystem::Look;
use wincsi::volumes::{FoundVolume, Space, VolumeId};
use wincsi::{Cause, Condition, Deadline, Error, Feature, ResultExt as _, WinPath};

use super::{InspectFn, Keys, Kind, ProveFn, StageFn, Unrecorded};
use crate::kubelet::{Refusal, Request};
use crate::life::{
    Call, CallError, Capacity, Context, StagingState, is_dangling, is_nothing_mounted,
};
use crate::path::KubeletPath;
use crate::record::{Content as _, Lifetime, Record, VolumeHandle};
use crate::unpoisoned::Unpoisoned;

pub use self::error::Refused;
pub use self::record::{Disk, RequestedDisk, Spec};
pub use self::request::{RequestError, format_rows};
pub use self::wanted::{Choice, Format, FormatError};

/// How long a stage waits for a disk that the controller has just attached. It leaves time for the rest of the call.
pub(super) const ARRIVAL: Duration = Duration::from_secs(60);

pub trait Source: Send + Sync + 'static {
    /// One disk, as a request names it.
    type Spec: Spec;

    /// What attaching it takes of a request's Secret. No record has it.
    type Secret;

    /// Whether a volume must be attached here. Then its record is written before [`Source::attach`], and has the disk's
    /// identity: a place that is another disk's by the next call is not written.
    const ATTACHES: bool = false;

    /// What it takes of a host, and what for.
    const NEEDS: &[(Feature, &str)] = &[];

    /// Whether a request is for a disk from here.
    fn accepts(&self, request: &Request<'_>) -> bool;

    /// The attributes that it reads.
    fn keys(&self) -> Vec<&'static str>;

    /// The keys of a Secret that it reads.
    fn secret_keys(&self) -> &'static [&'static str] {
        &[]
    }

    /// Reads a request. Asks nothing of the node.
    fn read(&self, request: &Request<'_>) -> Result<(Self::Spec, Self::Secret), Refusal>;

    /// The properties that identify the disk once it is attached.
    fn query(&self, spec: &Self::Spec) -> DiskQuery;

    /// Attaches the disk. May be repeated.
    ///
    /// # Errors
    /// It may be attached, or not.
    fn attach(
        &self,
        _of: Use<'_, Self::Spec>,
        _secret: Option<&Self::Secret>,
        _deadline: Deadline,
    ) -> Result<(), CallError> {
        Ok(())
    }

    /// Whether only this driver's volumes use the way to an attached disk: a failed stage leaves others' disks as they are.
    fn is_own(&self, _of: &Use<'_, Self::Spec>) -> bool {
        true
    }

    /// Fails if the way to an attached disk is broken.
    fn check(&self, _of: &Use<'_, Self::Spec>, _deadline: Deadline) -> Result<(), Error> {
        Ok(())
    }

    /// Makes sure that the node can tell of the disk. Whether it can: otherwise an unstage leaves the disk alone.
    fn wake(&self, _of: &Use<'_, Self::Spec>, _deadline: Deadline) -> Result<bool, CallError> {
        Ok(true)
    }

    /// The volume does not use the disk any more: it is detached unless it is in use otherwise. What is not attached is
    /// success.
    ///
    /// # Errors
    /// It may be attached, or not.
    fn detach(
        &self,
        _of: Use<'_, Self::Spec>,
        _is: Leaves,
        _deadline: Deadline,
    ) -> Result<(), CallError> {
        Ok(())
    }
}

/// A volume and its disk.
#[derive(Debug)]
pub struct Use<'a, P> {
    pub volume: &'a VolumeHandle,
    pub disk: &'a P,
}

impl<'a, P> Use<'a, P> {
    fn new(volume: &'a VolumeHandle, disk: &'a P) -> Self {
        Self { volume, disk }
    }
}

/// How a volume leaves its disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaves {
    /// It is offline, or gone.
    Free,
    /// It is in use, or may be.
    InUse,
}

type DiskRecord<S> = Record<Disk<<S as Source>::Spec>>;

/// The kind of volume whose disks come from a source.
pub struct Block<S> {
    ctx: Arc<Context>,
    source: S,
    /// How long a stage waits for its disk.
    arrival: Duration,
    /// The disks that volumes were found to have: two keys may name one.
    found: Unpoisoned<BTreeMap<VolumeHandle, FoundDisk>>,
}

impl<S: Source> Block<S> {
    /// Volumes with disks from here. A stage waits so long for its disk.
    pub fn new(ctx: &Arc<Context>, source: S, arrival: Duration) -> Self {
        Self {
            ctx: Arc::clone(ctx),
            source,
            arrival,
            found: Unpoisoned::default(),
        }
    }

    fn until(&self, deadline: Deadline) -> Call<'_, Self> {
        Call::until(deadline, self)
    }

    fn query(&self, record: &DiskRecord<S>) -> DiskQuery {
        self.source.query(&record.content.source)
    }
}

impl<S: Source> Kind for Block<S> {
    fn name(&self) -> &'static str {
        Disk::<S::Spec>::KIND
    }

    fn accepts(&self, request: &Request<'_>) -> bool {
        self.source.accepts(request)
    }

    fn keys(&self, _lifetime: Lifetime) -> Keys {
        let of_format = request::FORMAT_KEYS.iter().map(|(key, _)| *key);
        Keys {
            attributes: self.source.keys().into_iter().chain(of_format).collect(),
            of_secret: self.source.secret_keys(),
            is_same: |one, other| one == other,
        }
    }

    fn to_stage<'a>(&'a self, request: &Request<'_>) -> Result<StageFn<'a>, Refusal> {
        let wanted = request::wanted(request)?;
        let (source, secret) = self.source.read(request)?;
        Ok(Box::new(move |turn| {
            self.stage(turn, (source, secret), wanted)
        }))
    }

    fn to_publish<'a>(&'a self, request: &Request<'_>) -> Result<ProveFn<'a>, Refusal> {
        request::note_access(&request::wanted(request)?, request);
        Ok(Box::new(|publish| self.prove(publish)))
    }

    fn unstage(
        &self,
        record: Record,
        staging: &KubeletPath,
        deadline: Deadline,
    ) -> Result<(), CallError> {
        let call = self.until(deadline);
        call.unstage_disk(&record.of_kind()?, staging)
    }

    fn inspect(&self) -> InspectFn<'_> {
        Box::new(|record, deadline| self.until(deadline()).staging_state(&record.of_kind()?))
    }

    fn usage(
        &self,
        record: Record,
        at: &KubeletPath,
        deadline: Deadline,
    ) -> Result<Option<Space>, Error> {
        let call = self.until(deadline);
        let record: DiskRecord<S> = record.of_kind()?;
        let of = Use::new(&record.volume, &record.content.source);
        self.source.check(&of, deadline)?;
        let live = call.live(&record, at)?;
        let stats = |found: FoundVolume| self.ctx.node.volumes().stats(found.id(), deadline);
        live.map(stats).transpose()
    }

    fn size(&self, record: Record) -> Option<u64> {
        record.of::<Disk<S::Spec>>()?.content.size
    }

    fn expand(
        &self,
        record: Record,
        path: &str,
        capacity: Capacity,
        deadline: Deadline,
    ) -> Result<u64, CallError> {
        let call = self.until(deadline);
        call.expand_disk(&record.of_kind()?, path, capacity)
    }

    /// A disk that nobody but this driver attached is no other driver's.
    fn ends_abandoned(&self) -> bool {
        S::ATTACHES
    }

    fn forget(&self, volume: &VolumeHandle) {
        self.found.lock().remove(volume);
    }

    fn unstage_foreign(&self, volume: Unrecorded<'_>) -> Result<bool, CallError> {
        match self.ctx.entry(volume.at, volume.deadline)? {
            // A host that cannot tell what is there may have a volume mounted.
            None | Some(Look::MountedFolder { .. }) => {
                self.until(volume.deadline).unstage_unrecorded(volume)?;
                Ok(true)
            }
            Some(_) => Ok(false),
        }
    }
}

impl<S: Source> Call<'_, Block<S>> {
    /// The volume that is mounted where a path leads to by links, if it is the one that the record has.
    fn live(&self, record: &DiskRecord<S>, path: &WinPath) -> Result<Option<FoundVolume>, Error> {
        match self.ctx.node.volumes().find_at(path, self.deadline) {
            Ok(found) if record.content.mounted == Some(found.id()) => Ok(Some(found)),
            Ok(_) => Ok(None),
            Err(error) if is_nothing_mounted(&error) => Ok(None),
            Err(error) => match self.is_stale(path)? {
                true => Ok(None),
                false => Err(error),
            },
        }
    }

    /// What is exactly at a record's staging path.
    fn staging_state(&self, record: &DiskRecord<S>) -> Result<StagingState, Error> {
        let Some(look) = self.ctx.look(&record.staging, self.deadline)? else {
            let live = self.live(record, &record.staging)?;
            return Ok(live.map_or(StagingState::NotMounted, |_| StagingState::Live));
        };
        Ok(match (&look, record.content.mounted) {
            _ if is_dangling(&look) => StagingState::Dangling,
            (Look::MountedFolder { volume, .. }, Some(ours)) if *volume == ours => {
                StagingState::Live
            }
            _ => StagingState::NotMounted,
        })
    }

    /// Whether a mounted folder is there whose volume is gone.
    fn is_stale(&self, at: &WinPath) -> Result<bool, Error> {
        let look = self.ctx.entry(at, self.deadline)?;
        Ok(matches!(look, Some(Look::MountedFolder { is_there, .. }) if !is_there))
    }

    /// Unmounts what is mounted exactly at a path, and removes the folder, if it is empty. What is not there is success,
    /// and of a link the link alone is removed. `recorded` is the volume that the record has there. Returns
    /// the volume that was mounted.
    fn dismount(
        &self,
        at: &WinPath,
        recorded: Option<VolumeId>,
    ) -> Result<Option<VolumeId>, Error> {
        let mounted = match self.ctx.entry(at, self.deadline)? {
            Some(Look::Link(_) | Look::Missing) => None,
            // Also one whose volume is gone, as its disk was pulled out.
            Some(Look::MountedFolder { volume, .. }) => Some(volume),
            // A host that cannot tell follows links, and does not reach a volume whose disk is gone. Its unmount knows both.
            Some(_) | None => match self.mounted_at(at) {
                Err(error) if error.is(Condition::OutOfReach) => Some(recorded.ok_or(error)?),
                Err(error) if error.is(Condition::DanglingLink) => None,
                mounted => mounted?,
            },
        };
        if let Some(volume) = mounted {
            let unmounted = self.ctx.node.volumes().unmount(volume, at, self.deadline);
            unmounted.ok_if(Condition::NotAMountedFolder)?;
        }
        self.ctx.remove(at, self.deadline)?;
        Ok(mounted)
    }

    /// The disk in the place of a record's.
    fn find_disk(&self, record: &DiskRecord<S>) -> Result<FoundDisk, Error> {
        let disks = self.ctx.node.disks();
        disks.find(&self.query(record), self.deadline)
    }

    fn mounted_at(&self, at: &WinPath) -> Result<Option<VolumeId>, Error> {
        match self.ctx.node.volumes().of_target(at, self.deadline) {
            Ok(volume) => Ok(Some(volume)),
            Err(error) if is_nothing_mounted(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Whether a disk is the one of the first stage, if that noted which it was. A clone has the same volumes.
fn is_bound(identity: Option<&str>, disk: &FoundDisk) -> bool {
    let mut identifiers = disk.seen().identifiers.iter();
    identity.is_none_or(|identity| identifiers.any(|own| own == identity))
}

fn require_bound<S: Spec>(
    doing: &'static str,
    record: &Record<Disk<S>>,
    disk: &FoundDisk,
) -> Result<(), Error> {
    let known = record.content.identity.as_deref();
    if is_bound(known, disk) {
        return Ok(());
    }
    let known = known.unwrap_or_default();
    let now = disk.seen().identifiers.first();
    let now = now.map_or("a disk without an identifier", String::as_str);
    let text = format!("{now} is in place of the disk {known}, which was staged");
    let cause = Cause::failed(Condition::Changed, text);
    Err(Error::new(doing, &record.volume, cause))
}
