use std::collections::BTreeMap;
use std::time::Duration;

use wincsi::smb::MappingStatus;
use wincsi::volumes::Space;
use wincsi::{Deadline, Error};

use super::{Share, ShareKind};
use crate::life::Call;
use crate::path::KubeletPath;
use crate::record::{Record, VolumeHandle};
use crate::unpoisoned::Unpoisoned;

/// How long the figures of a share are good unless a flag has another time: a server counts them each time it is asked.
pub(super) const FRESH: Duration = Duration::from_secs(600);

/// The figures of shares, by volume and path, and until when they are good.
#[derive(Debug)]
pub(super) struct Figures {
    fresh_for: Duration,
    kept: Unpoisoned<Kept>,
}

type Kept = BTreeMap<(VolumeHandle, String), (Deadline, Space)>;

impl Figures {
    pub(super) fn fresh_for(fresh_for: Duration) -> Self {
        let kept = Unpoisoned::default();
        Self { fresh_for, kept }
    }

    fn fresh(&self, volume: &VolumeHandle, at: &KubeletPath, now: Deadline) -> Option<Space> {
        let figures = self.kept.lock();
        let (until, space) = figures.get(&(volume.clone(), at.folded()))?;
        (now < *until).then_some(*space)
    }

    /// The volume is not at that path any more.
    pub(super) fn forget_at(&self, volume: &VolumeHandle, at: &KubeletPath) {
        self.kept.lock().remove(&(volume.clone(), at.folded()));
    }

    /// The volume is unstaged.
    pub(super) fn forget(&self, volume: &VolumeHandle) {
        self.kept.lock().retain(|(other, _), _| other != volume);
    }
}

impl Call<'_, ShareKind> {
    /// Size and free space of a share, if the path belongs to the volume and leads to it; none if the share is not mapped
    /// any more. The figures may be as old as `-vol-stats-cache-expire-in-minutes` while Windows calls the mapping OK.
    pub(super) fn measure(
        &self,
        record: &Record<Share>,
        at: &KubeletPath,
    ) -> Result<Option<Space>, Error> {
        if !self.is_share_at(record, at)? {
            return Ok(None);
        }
        let (mut mappings, path) = (self.mappings()?, record.content.remote.path());
        if !mappings.reach(path) {
            if !self.make_owed(record) {
                return Ok(None);
            }
            mappings = self.mappings()?;
        }
        let status = mappings.status(path);
        let (figures, now) = (&self.figures, self.ctx.node.deadline(Duration::ZERO));
        let fresh = figures.fresh(&record.volume, at, now);
        if let (Some(space), None | Some(MappingStatus::Ok)) = (fresh, status) {
            return Ok(Some(space));
        }
        let space = self.space(&record.content.remote)?;
        let (key, until) = ((record.volume.clone(), at.folded()), figures.fresh_for);
        let kept = (self.ctx.node.deadline(until), space);
        figures.kept.lock().insert(key, kept);
        if !matches!(self.ctx.store.get(&record.volume), Ok(Some(_))) {
            // The volume was unstaged meanwhile.
            figures.forget(&record.volume);
        }
        Ok(Some(space))
    }

    fn is_share_at(&self, record: &Record<Share>, at: &KubeletPath) -> Result<bool, Error> {
        let (staging, path) = (&record.staging, record.content.remote.path());
        let leads_to_staging = at == staging || self.ctx.leads_to(at, staging, self.deadline)?;
        Ok(leads_to_staging && self.ctx.leads_to(staging, path, self.deadline)?)
    }
}
