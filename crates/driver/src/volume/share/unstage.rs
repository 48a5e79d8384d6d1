use std::sync::Arc;

use wincsi::smb::{RemotePath, UnmapOutcome};
use wincsi::{Condition, Deadline, Error, Feature, ResultExt as _, WinPath};

use crate::record::{Record, Share};
use crate::volume::Volumes;

impl Volumes {
    /// Removes the link, and the mapping if this driver made it and no other volume uses it.
    pub(in crate::volume) fn put_away_share(
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
        match record.made_mapping_in(self.boot(deadline).as_deref()) {
            true => self.unmap_unless_used(remote, deadline)?,
            false => {
                let share = remote.share();
                tracing::info!("volume {volume}: {share} stays mapped, as others mapped it");
            }
        }
        self.shares.claims.release(volume);
        self.shares.figures.forget(volume);
        Ok(())
    }

    /// Unmaps a share of this driver's. Where a volume uses it, the mapping is that volume's to remove.
    pub(super) fn unmap_unless_used(
        &self,
        remote: &RemotePath,
        deadline: Deadline,
    ) -> Result<(), Error> {
        let share = remote.share();
        let unmapped = match self.node.supports(Feature::ConditionalUnmap) {
            true => self.unmap_by_condition(remote, deadline),
            false => self.unmap_between_claims(remote, deadline),
        };
        match unmapped.none_if(Condition::NotMapped)? {
            Some(UnmapOutcome::InUse) => self.adopt(&share, deadline),
            _ if self.shares.claims.users_of(&share).is_empty() => {
                self.shares.secrets.forget(&share);
            }
            _ => {}
        }
        Ok(())
    }

    fn unmap_by_condition(
        &self,
        remote: &RemotePath,
        deadline: Deadline,
    ) -> Result<UnmapOutcome, Error> {
        let (claims, share) = (Arc::clone(&self.shares.claims), remote.share());
        let is_used = move || !claims.users_of(&share).is_empty();
        self.node
            .smb()
            .unmap_unless(remote, Box::new(is_used), deadline)
    }

    fn unmap_between_claims(
        &self,
        remote: &RemotePath,
        deadline: Deadline,
    ) -> Result<UnmapOutcome, Error> {
        let unmap = || self.node.smb().unmap(remote, deadline);
        match self.shares.claims.unmap(&remote.share(), unmap) {
            Some(unmapped) => unmapped.map(|()| UnmapOutcome::Unmapped),
            None => Ok(UnmapOutcome::InUse),
        }
    }

    /// The mapping of a share is this driver's from now on, so that the last of its volumes unmaps it.
    fn adopt(&self, share: &str, deadline: Deadline) {
        let boot = self.boot(deadline);
        for volume in self.shares.claims.adopt(share) {
            let adopted = self.store.slot(&volume).and_then(|slot| {
                slot.change(|record: &mut Record<Share>| {
                    record.boot.clone_from(&boot);
                    record.what.made_mapping = true;
                })
            });
            if let Err(error) = adopted {
                tracing::warn!("volume {volume}: {share} may stay mapped: {error}");
            }
        }
    }
}
