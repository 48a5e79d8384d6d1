use std::sync::Arc;

use wincsi::smb::{RemotePath, UnmapOutcome};
use wincsi::{Condition, Deadline, Error, Feature, ResultExt as _, WinPath};

use super::{Share, Shares};
use crate::record::Record;

/// What became of a mapping that a volume leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unmapped {
    /// It stays, for others.
    InUse,
    /// It was removed.
    Now,
    /// It was gone.
    Before,
}

impl Shares {
    /// Removes the link, and the mapping if this driver made it and no other volume uses it.
    pub(super) fn unstage_share(
        &self,
        record: &Record<Share>,
        staging: &WinPath,
        deadline: Deadline,
    ) -> Result<(), Error> {
        self.ctx.remove_entry(staging, deadline)?;
        if *staging != record.staging {
            self.ctx.remove_entry(&record.staging, deadline)?;
        }
        let (volume, remote) = (&record.volume, &record.content.remote);
        self.claims.leave(volume);
        let unmapped = self.leave_mapping(record, deadline)?;
        if unmapped == Unmapped::Before || record.content.taken_over {
            // Another driver had the volume before or meanwhile, by a mapping of its own.
            let leaving = self.claims.leave_others(&record.staging);
            self.leave_mappings_of_others(&leaving, remote, deadline)?;
        }
        self.release(volume);
        self.figures.forget(volume);
        Ok(())
    }

    fn leave_mapping(&self, record: &Record<Share>, deadline: Deadline) -> Result<Unmapped, Error> {
        let (remote, boot) = (&record.content.remote, self.ctx.boot(deadline));
        let share = remote.share();
        let is_ours = record.made_mapping_in(boot.as_deref())
            || self.claims.has_ours(&share, boot.as_deref());
        if is_ours || record.content.taken_over {
            return self.unmap_unless_used(remote, deadline);
        }
        self.forget_secret_unless_used(&share, boot.as_deref());
        let volume = &record.volume;
        tracing::info!("volume {volume}: a mapping of {share} would be others', and stays");
        Ok(Unmapped::InUse)
    }

    fn forget_secret_unless_used(&self, share: &str, boot: Option<&str>) {
        if !self.claims.is_used(share, boot) {
            self.secrets.forget(share);
        }
    }

    /// Unmaps a share that is this driver's to unmap. Where a volume uses it, the mapping is that volume's to remove, and
    /// where another driver's link leads there, that link's.
    pub(super) fn unmap_unless_used(
        &self,
        remote: &RemotePath,
        deadline: Deadline,
    ) -> Result<Unmapped, Error> {
        let (share, boot) = (remote.share(), self.ctx.boot(deadline));
        if self.claims.is_used(&share, boot.as_deref()) {
            self.adopt(&share, deadline);
            return Ok(Unmapped::InUse);
        }
        if self.is_of_a_letter(remote, deadline)? || self.is_used_by_others(remote, deadline)? {
            // They may have mapped it anew meanwhile, as another user.
            self.forget_secret_unless_used(&share, boot.as_deref());
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
        if unmapped != Unmapped::InUse {
            self.forget_secret_unless_used(&share, boot.as_deref());
        }
        Ok(unmapped)
    }

    fn unmap_once(
        &self,
        remote: &RemotePath,
        boot: Option<&str>,
        deadline: Deadline,
    ) -> Result<Unmapped, Error> {
        let unmapped = match self.ctx.node.supports(Feature::ConditionalUnmap) {
            true => self.unmap_by_condition(remote, boot.map(str::to_owned), deadline),
            false => self.unmap_between_claims(remote, boot, deadline),
        };
        Ok(match unmapped.none_if(Condition::NotMapped)? {
            Some(UnmapOutcome::InUse) => Unmapped::InUse,
            Some(_) => Unmapped::Now,
            None => Unmapped::Before,
        })
    }

    fn unmap_by_condition(
        &self,
        remote: &RemotePath,
        boot: Option<String>,
        deadline: Deadline,
    ) -> Result<UnmapOutcome, Error> {
        let (claims, share) = (Arc::clone(&self.claims), remote.share());
        let is_used = move || claims.is_used(&share, boot.as_deref());
        self.ctx
            .node
            .smb()
            .unmap_unless(remote, Box::new(is_used), deadline)
    }

    fn unmap_between_claims(
        &self,
        remote: &RemotePath,
        boot: Option<&str>,
        deadline: Deadline,
    ) -> Result<UnmapOutcome, Error> {
        let unmap = || self.ctx.node.smb().unmap(remote, deadline);
        match self.claims.unmap(&remote.share(), boot, unmap) {
            Some(unmapped) => unmapped.map(|()| UnmapOutcome::Unmapped),
            // Another call that unmaps it now has a volume whose record stays until then.
            None => Ok(UnmapOutcome::InUse),
        }
    }

    /// The mapping of a share is this driver's from now on, so that the last of its volumes unmaps it. Returns how many
    /// use it. Only the records of which that is news are written: a hundred volumes leave a share one by one.
    fn adopt(&self, share: &str, deadline: Deadline) -> usize {
        let boot = self.ctx.boot(deadline);
        let adopted = self.claims.adopt(share, boot.as_deref());
        for volume in &adopted.new {
            let noted = self.ctx.store.slot(volume).and_then(|slot| {
                slot.change_of(|record: &mut Record<Share>| {
                    record.boot.clone_from(&boot);
                    record.content.made_mapping = true;
                })
            });
            if let Err(error) = noted {
                tracing::warn!("volume {volume}: {share} may stay mapped: {error}");
                self.claims.disown(volume);
            }
        }
        adopted.users
    }
}
