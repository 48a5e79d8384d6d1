use std::sync::Arc;

use wincsi::smb::{RemotePath, UnmapOutcome};
use wincsi::{Condition, Error, Feature, ResultExt as _, WinPath};

use super::takeover::LinkOf;
use super::{Share, ShareKind};
use crate::leases::Owner;
use crate::life::{Call, CallError};
use crate::record::Record;

/// What became of a mapping that a volume leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unmapped {
    /// It stays, for others.
    InUse,
    Now,
    /// It was gone.
    Before,
}

impl Call<'_, ShareKind> {
    /// Removes the link, and the mapping if this driver made it and no other volume uses it.
    pub(super) fn unstage_share(
        &self,
        record: &Record<Share>,
        staging: &WinPath,
    ) -> Result<(), CallError> {
        self.ctx.remove_entry(staging, self.deadline)?;
        if *staging != record.staging {
            self.ctx.remove_entry(&record.staging, self.deadline)?;
        }
        let (volume, remote) = (&record.volume, &record.content.remote);
        self.leases.leave(volume);
        let unmapped = self.leave_mapping(record)?;
        if unmapped == Unmapped::Before || record.content.taken_over {
            // Another driver had the volume before or meanwhile, by a mapping of its own.
            let leaving = self.leases.leave_foreign(&record.staging);
            self.leave_foreign_mappings(&leaving, remote)?;
        }
        self.leave_kept_mappings(remote)?;
        self.release(volume)?;
        self.figures.forget(volume);
        Ok(())
    }

    fn leave_mapping(&self, record: &Record<Share>) -> Result<Unmapped, CallError> {
        let (remote, boot) = (&record.content.remote, self.ctx.boot(self.deadline));
        let (volume, share) = (&record.volume, remote.share());
        if self.leases.is_gone(&share) {
            return Ok(Unmapped::Before);
        }
        let is_ours = self.leases.owner(volume) != Owner::Foreign
            || self.leases.is_ours(&share, boot.as_deref());
        if is_ours || record.content.taken_over {
            return self.unmap_unless_used(remote);
        }
        self.leases.give_away(&share, boot.as_deref())?;
        tracing::info!("volume {volume}: a mapping of {share} would be others', and stays");
        Ok(Unmapped::InUse)
    }

    /// The link may have led through a mapping that was kept for it.
    fn leave_kept_mappings(&self, remote: &RemotePath) -> Result<(), CallError> {
        for kept in self
            .leases
            .kept_for_links(self.ctx.boot(self.deadline).as_deref())
        {
            let mapped = RemotePath::parse(&kept).ok();
            if let Some(mapped) = mapped.and_then(|mapped| remote.through(&mapped)) {
                self.unmap_unless_used(&mapped)?;
            }
        }
        Ok(())
    }

    /// Unmaps a share that is this driver's to unmap. Where a volume uses it, the mapping is that volume's to remove, and
    /// where another driver's link leads there, that link's.
    pub(super) fn unmap_unless_used(&self, remote: &RemotePath) -> Result<Unmapped, CallError> {
        let (share, boot) = (remote.share(), self.ctx.boot(self.deadline));
        let boot = boot.as_deref();
        if self.leases.adopt(&share, boot) > 0 {
            return Ok(Unmapped::InUse);
        }
        match self.link_through(remote)? {
            Some(LinkOf::Record) => {
                self.leases.keep_for_link(&share, boot);
                return Ok(Unmapped::InUse);
            }
            Some(LinkOf::Stranger) => {
                // They may have replaced it meanwhile, as another user.
                self.leases.give_away(&share, boot)?;
                return Ok(Unmapped::InUse);
            }
            None => {}
        }
        let mut unmapped = self.unmap_once(remote, boot)?;
        // A volume that took the share meanwhile may have left it by now.
        if unmapped == Unmapped::InUse && self.leases.adopt(&share, boot) == 0 {
            unmapped = self.unmap_once(remote, boot)?;
        }
        match unmapped {
            // A person's, with a drive letter; or a volume's.
            Unmapped::InUse => self.leases.give_away(&share, boot)?,
            Unmapped::Now | Unmapped::Before => self.leases.note_gone(&share, boot)?,
        }
        Ok(unmapped)
    }

    fn unmap_once(&self, remote: &RemotePath, boot: Option<&str>) -> Result<Unmapped, Error> {
        let unmapped = match self.ctx.has(Feature::ConditionalUnmap) {
            true => self.unmap_by_condition(remote, boot.map(str::to_owned)),
            false => self.unmap_between_claims(remote, boot),
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
    ) -> Result<UnmapOutcome, Error> {
        let (leases, share) = (Arc::clone(&self.leases), remote.share());
        let is_used = move || leases.users(&share, boot.as_deref()) > 0;
        self.ctx
            .node
            .smb()
            .unmap_unless(remote, Box::new(is_used), self.deadline)
    }

    fn unmap_between_claims(
        &self,
        remote: &RemotePath,
        boot: Option<&str>,
    ) -> Result<UnmapOutcome, Error> {
        let unmap = || self.ctx.node.smb().unmap(remote, self.deadline);
        match self.leases.end(&remote.share(), boot, unmap) {
            Some(unmapped) => unmapped.map(|()| UnmapOutcome::Unmapped),
            // Another call that unmaps it now has a volume whose record stays until then.
            None => Ok(UnmapOutcome::InUse),
        }
    }
}
