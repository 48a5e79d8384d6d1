use std::sync::Arc;

use wincsi::smb::{RemotePath, UnmapOutcome};
use wincsi::{Condition, Error, Feature, ResultExt as _};

use super::takeover::LinkOf;
use super::{Share, ShareKind};
use crate::leases::Owner;
use crate::life::{Call, CallError};
use crate::path::KubeletPath;
use crate::record::Record;

/// What became of a mapping that a volume leaves; none if it was gone.
pub(super) type Unmapped = Option<UnmapOutcome>;

pub(super) const IN_USE: Unmapped = Some(UnmapOutcome::InUse);

impl Call<'_, ShareKind> {
    /// Removes the link, and the mapping if this driver made it and no other volume uses it.
    pub(super) fn unstage_share(
        &self,
        record: &Record<Share>,
        staging: &KubeletPath,
    ) -> Result<(), CallError> {
        self.ctx.remove_entry(staging, self.deadline)?;
        if *staging != record.staging {
            self.ctx.remove_entry(&record.staging, self.deadline)?;
        }
        let (volume, remote) = (&record.volume, &record.content.remote);
        self.leases.leave(volume);
        let unmapped = self.leave_mapping(record)?;
        if unmapped.is_none() || record.content.taken_over {
            // Another driver had the volume before or meanwhile, by a mapping of its own.
            let leaving = self.leases.leave_foreign(&record.staging);
            self.leave_foreign_mappings(&leaving, remote)?;
        }
        self.leave_kept_mappings(remote)?;
        self.release(volume)?;
        if self.leases.users(&remote.share()) == 0 {
            self.owed.forget(&remote.share());
        }
        self.figures.forget(volume);
        Ok(())
    }

    fn leave_mapping(&self, record: &Record<Share>) -> Result<Unmapped, CallError> {
        let (volume, remote) = (&record.volume, &record.content.remote);
        let share = remote.share();
        if self.leases.is_gone(&share) {
            return Ok(None);
        }
        let is_ours = self.leases.owner(volume) != Owner::Foreign || self.leases.is_ours(&share);
        if is_ours || record.content.taken_over {
            return self.unmap_unless_used(remote);
        }
        self.leases.give_away(&share)?;
        tracing::info!("volume {volume}: a mapping of {share} would be others', and stays");
        Ok(IN_USE)
    }

    /// The link may have led through a mapping that was kept for it, and what kept another may have been unreadable.
    fn leave_kept_mappings(&self, remote: &RemotePath) -> Result<(), CallError> {
        for kept in self.leases.kept_for_links() {
            let Ok(mapped) = RemotePath::parse(&kept) else {
                continue;
            };
            match remote.through(&mapped) {
                Some(mapped) => drop(self.unmap_unless_used(&mapped)?),
                // Another volume's trouble is none of this one.
                None => {
                    if let Err(error) = self.unmap_unless_used(&mapped.folder_itself()) {
                        tracing::warn!("{kept} stays mapped: {error}");
                    }
                }
            }
        }
        Ok(())
    }

    /// Unmaps a share that is this driver's to unmap. Where a volume uses it, the mapping is that volume's to remove, and
    /// where another driver's link leads there, that link's.
    pub(super) fn unmap_unless_used(&self, remote: &RemotePath) -> Result<Unmapped, CallError> {
        let share = remote.share();
        if self.leases.adopt(&share) > 0 {
            return Ok(IN_USE);
        }
        match self.link_through(remote)? {
            None => return self.unmap_unused(remote),
            Some(LinkOf::Record | LinkOf::Unknown) => self.leases.keep(&share),
            // They may have replaced it meanwhile, as another user.
            Some(LinkOf::Stranger) => self.leases.give_away(&share)?,
        }
        Ok(IN_USE)
    }

    fn unmap_unused(&self, remote: &RemotePath) -> Result<Unmapped, CallError> {
        let share = remote.share();
        let mut unmapped = self.unmap_once(remote)?;
        // A volume that took the share meanwhile may have left it by now.
        if unmapped == IN_USE && self.leases.adopt(&share) == 0 {
            unmapped = self.unmap_once(remote)?;
        }
        match unmapped {
            // A person's, with a drive letter; or a volume's.
            IN_USE => self.leases.give_away(&share)?,
            _ => self.leases.note_gone(&share)?,
        }
        Ok(unmapped)
    }

    fn unmap_once(&self, remote: &RemotePath) -> Result<Unmapped, Error> {
        let (smb, share) = (self.ctx.node.smb(), remote.share());
        let unmapped = match self.ctx.has(Feature::ConditionalUnmap) {
            true => {
                let (leases, share) = (Arc::clone(&self.leases), share);
                let is_used = move || leases.users(&share) > 0;
                smb.unmap_unless(remote, Box::new(is_used), self.deadline)
            }
            false => {
                let unmap = || smb.unmap(remote, self.deadline);
                let unmapped = self.leases.end(&share, unmap);
                // Another call that unmaps it now has a volume whose record stays until then.
                unmapped.map_or(Ok(UnmapOutcome::InUse), |unmapped| {
                    unmapped.map(|()| UnmapOutcome::Unmapped)
                })
            }
        };
        unmapped.none_if(Condition::NotMapped)
    }
}
