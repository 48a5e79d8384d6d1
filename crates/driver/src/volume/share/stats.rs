use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use wincsi::smb::MappingStatus;
use wincsi::volumes::Space;
use wincsi::{Deadline, Error, WinPath};

use crate::record::{Record, Share, VolumeHandle};
use crate::volume::Volumes;

/// How long the figures of a share are good: a server counts them each time it is asked.
const FRESH: Duration = Duration::from_secs(600);

/// The figures of shares, by volume and path, and until when they are good.
#[derive(Debug, Default)]
pub(super) struct Figures(Mutex<BTreeMap<(VolumeHandle, String), (Deadline, Space)>>);

impl Figures {
    /// The figures that are still good now.
    fn fresh(&self, volume: &VolumeHandle, at: &WinPath, now: Deadline) -> Option<Space> {
        let figures = self.lock();
        let (until, space) = figures.get(&(volume.clone(), at.folded()))?;
        (now < *until).then_some(*space)
    }

    fn keep(&self, volume: &VolumeHandle, at: &WinPath, (until, space): (Deadline, Space)) {
        let key = (volume.clone(), at.folded());
        self.lock().insert(key, (until, space));
    }

    /// The volume is unstaged.
    pub(super) fn forget(&self, volume: &VolumeHandle) {
        self.lock().retain(|(other, _), _| other != volume);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(VolumeHandle, String), (Deadline, Space)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Volumes {
    /// Size and free space of a share, if the path belongs to the volume and leads to it; none if the share is not mapped
    /// any more. The figures may be ten minutes old while Windows calls the mapping OK.
    pub(in crate::volume) fn measure_share(
        &self,
        record: &Record<Share>,
        at: &WinPath,
    ) -> Result<Option<Space>, Error> {
        let deadline = self.node.deadline(super::ANSWER);
        if !self.is_share_at(record, at, deadline)? {
            return Ok(None);
        }
        let status = self.mapping_status(&record.what.remote, deadline)?;
        let (figures, now) = (&self.shares.figures, self.node.deadline(Duration::ZERO));
        let fresh = figures.fresh(&record.volume, at, now);
        if let (Some(space), None | Some(MappingStatus::Ok)) = (fresh, status) {
            return Ok(Some(space));
        }
        let space = self.share_space(record)?;
        figures.keep(&record.volume, at, (self.node.deadline(FRESH), space));
        Ok(Some(space))
    }

    fn is_share_at(
        &self,
        record: &Record<Share>,
        at: &WinPath,
        deadline: Deadline,
    ) -> Result<bool, Error> {
        let leads_to_staging =
            *at == record.staging || self.leads_to(at, &record.staging, deadline)?;
        Ok(leads_to_staging
            && self.leads_to_share(&record.staging, record, deadline)?
            && self.is_mapped(&record.what.remote, deadline)?)
    }
}
