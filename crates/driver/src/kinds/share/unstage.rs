use std::sync::Arc;

use wincsi::smb::{RemotePath, UnmapOutcome};
use wincsi::{Condition, Deadline, Error, Feature, ResultExt as _, WinPath};

use crate::life::Volumes;
use crate::record::{Record, Share};

/// What became of a mapping that a volume leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unmapped {
    /// It stays, for others.
    InUse,
    /// It was removed.
    Now,
    /// It was gone.
    Before,
}

impl Volumes {
    /// Removes the link, and the mapping if this driver made it and no other volume uses it.
    pub(crate) fn put_away_share(
        &self,
        record: &Record<Share>,
        staging: &WinPath,
        deadline: Deadline,
    ) -> Result<(), Error> {
        self.remove_entry(staging, deadline)?;
        if *staging != record.staging {
            self.remove_entry(&record.staging, deadline)?;
        }
        let (volume, remote) = (&record.volume, &record.what.remote);
        self.shares.claims.leave(volume);
        let unmapped = self.leave_mapping(record, deadline)?;
        if unmapped == Unmapped::Before || record.what.taken_over {
            // Another driver had the volume before or meanwhile, by a mapping of its own.
            let leaving = self.shares.claims.leave_others(&record.staging);
            self.leave_mappings_of_others(&leaving, remote, deadline)?;
        }
        self.shares.forget(volume);
        self.shares.figures.forget(volume);
        Ok(())
    }

    fn leave_mapping(&self, record: &Record<Share>, deadline: Deadline) -> Result<Unmapped, Error> {
        let (remote, boot) = (&record.what.remote, self.boot(deadline));
        let share = remote.share();
        let is_ours = record.made_mapping_in(boot.as_deref())
            || self.shares.claims.has_ours(&share, boot.as_deref());
        match is_ours || record.what.taken_over {
            true => self.unmap_unless_used(remote, deadline),
            false => {
                let volume = &record.volume;
                if !self.is_used(&share, boot.as_deref()) {
                    self.shares.secrets.forget(&share);
                }
                tracing::info!("volume {volume}: a mapping of {share} would be others', and stays");
                Ok(Unmapped::InUse)
            }
        }
    }

    /// Unmaps a share that is this driver's to unmap. Where a volume uses it, the mapping is that volume's to remove, and
    /// where another driver's link leads there, that link's.
    pub(crate) fn unmap_unless_used(
        &self,
        remote: &RemotePath,
        deadline: Deadline,
    ) -> Result<Unmapped, Error> {
        let (share, boot) = (remote.share(), self.boot(deadline));
        if self.is_used(&share, boot.as_deref()) {
            self.adopt(&share, deadline);
            return Ok(Unmapped::InUse);
        }
        if self.is_of_a_letter(remote, deadline)? || self.is_used_by_others(remote, deadline)? {
            // They may have mapped it anew meanwhile, as another user.
            if !self.is_used(&share, boot.as_deref()) {
                self.shares.secrets.forget(&share);
            }
            return Ok(Unmapped::InUse);
        }
        let unmapped = self.unmap_once(remote, boot.as_deref(), deadline)?;
        // A volume that claimed the share meanwhile may have left it by now.
        let unmapped = match unmapped {
            Unmapped::InUse if self.adopt(&share, deadline) == 0 => {
                self.unmap_once(remote, boot.as_deref(), deadline)?
            }
            done => done,
        };
        if unmapped != Unmapped::InUse && !self.is_used(&share, boot.as_deref()) {
            self.shares.secrets.forget(&share);
        }
        Ok(unmapped)
    }

    fn unmap_once(
        &self,
        remote: &RemotePath,
        boot: Option<&str>,
        deadline: Deadline,
    ) -> Result<Unmapped, Error> {
        let unmapped = match self.node.supports(Feature::ConditionalUnmap) {
            true => self.unmap_by_condition(remote, boot.map(str::to_owned), deadline),
            false => self.unmap_between_claims(remote, boot, deadline),
        };
        Ok(match unmapped.none_if(Condition::NotMapped)? {
            Some(UnmapOutcome::InUse) => Unmapped::InUse,
            Some(_) => Unmapped::Now,
            None => Unmapped::Before,
        })
    }

    fn is_used(&self, share: &str, boot: Option<&str>) -> bool {
        self.shares.claims.is_used(share, boot)
    }

    fn unmap_by_condition(
        &self,
        remote: &RemotePath,
        boot: Option<String>,
        deadline: Deadline,
    ) -> Result<UnmapOutcome, Error> {
        let (claims, share) = (Arc::clone(&self.shares.claims), remote.share());
        let is_used = move || claims.is_used(&share, boot.as_deref());
        self.node
            .smb()
            .unmap_unless(remote, Box::new(is_used), deadline)
    }

    fn unmap_between_claims(
        &self,
        remote: &RemotePath,
        boot: Option<&str>,
        deadline: Deadline,
    ) -> Result<UnmapOutcome, Error> {
        let unmap = || self.node.smb().unmap(remote, deadline);
        match self.shares.claims.unmap(&remote.share(), boot, unmap) {
            Some(unmapped) => unmapped.map(|()| UnmapOutcome::Unmapped),
            // Another call that unmaps it now has a volume whose record stays until then.
            None => Ok(UnmapOutcome::InUse),
        }
    }

    /// The mapping of a share is this driver's from now on, so that the last of its volumes unmaps it. Returns how many
    /// use it. Only the records of which that is news are written: a hundred volumes leave a share one by one.
    fn adopt(&self, share: &str, deadline: Deadline) -> usize {
        let boot = self.boot(deadline);
        let adopted = self.shares.claims.adopt(share, boot.as_deref());
        for volume in &adopted.new {
            let noted = self.store.slot(volume).and_then(|slot| {
                slot.change(|record: &mut Record<Share>| {
                    record.boot.clone_from(&boot);
                    record.what.made_mapping = true;
                })
            });
            if let Err(error) = noted {
                tracing::warn!("volume {volume}: {share} may stay mapped: {error}");
                self.shares.claims.disown(volume);
            }
        }
        adopted.users
    }
}
