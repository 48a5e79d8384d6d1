//! Volumes that another driver of this name staged, as csi-driver-smb did before this one.
//!
//! They have no record: kubelet's file beside the link names driver and volume, and the link tells the share. With the
//! last link goes the mapping, of the share or of a folder on the way: who made it is gone.

use std::collections::BTreeMap;

use wincsi::filesystem::Root;
use wincsi::smb::RemotePath;
use wincsi::volumes::Space;
use wincsi::{Error, Feature, WinPath};

use super::mappings::covers;
use super::unstage::IN_USE;
use super::{Share, ShareKind, Terms};
use crate::kinds::Unrecorded;
use crate::leases::LeavingForeign;
use crate::life::{Call, CallError};
use crate::path::KubeletPath;
use crate::record::{Record, State};

/// Whose link leads through a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinkOf {
    /// A volume's of this boot, whose own mapping is gone.
    Record,
    /// Another driver's, or one of which nothing is known.
    Stranger,
    /// Perhaps somebody's: not all links could be read.
    Unknown,
}

impl Call<'_, ShareKind> {
    /// The share of a volume without a record: the path is a link to it, and kubelet's file beside it names this driver
    /// and the volume.
    pub(super) fn foreign_share(&self, of: Unrecorded<'_>) -> Result<Option<RemotePath>, Error> {
        if !self.ctx.is_of_kubelet(of.volume, of.at) {
            return Ok(None);
        }
        let target = self.ctx.link_target(of.at, self.deadline)?;
        Ok(target.as_ref().and_then(remote_of))
    }

    /// Size and free space of such a volume, if the path is its staging path or a link to it.
    pub(super) fn measure_foreign(&self, of: Unrecorded<'_>) -> Result<Option<Space>, Error> {
        let target = self.ctx.link_target(of.at, self.deadline)?;
        let staging = target.filter(|target| remote_of(target).is_none());
        let staging = staging.map(KubeletPath::from);
        let at = staging.as_ref().unwrap_or(of.at);
        let remote = self.foreign_share(Unrecorded { at, ..of })?;
        remote.map(|remote| self.space(&remote)).transpose()
    }

    /// Removes the link of such a volume, and before it the mappings that nobody else uses: a call that is repeated
    /// still finds them by the link. Whether there is one.
    pub(super) fn end_foreign(&self, of: Unrecorded<'_>) -> Result<bool, CallError> {
        let (volume, link) = (of.volume, of.at);
        let Some(remote) = self.foreign_share(of)? else {
            return Ok(false);
        };
        tracing::info!("volume {volume} was staged by another driver, by a link to {remote}");
        // Until the link is gone: another call that counts links does not count this one.
        let leaving = self.leases.leave_foreign(link);
        self.leave_foreign_mappings(&leaving, &remote)?;
        self.ctx.remove_entry(link, self.deadline)?;
        Ok(true)
    }

    /// Removes each mapping by which the link leads to the path, unless somebody else uses it.
    pub(super) fn leave_foreign_mappings(
        &self,
        leaving: &LeavingForeign<'_, Terms>,
        remote: &RemotePath,
    ) -> Result<(), CallError> {
        for mapped in self.mappings()?.ways_to(remote) {
            leaving.leaves(&mapped.share());
            if self.unmap_unless_used(&mapped)? == IN_USE {
                tracing::info!("{} stays mapped, as others use it", mapped.share());
            }
        }
        Ok(())
    }

    /// Whose link leads through a mapping that no volume uses by its record.
    pub(super) fn link_through(&self, mapped: &RemotePath) -> Result<Option<LinkOf>, Error> {
        let share = mapped.share();
        if self.leases.is_unreadable(&share) {
            return Ok(Some(LinkOf::Stranger));
        }
        if !self.ctx.has(Feature::EntryLooks) {
            // A volume whose record cannot be read may use each share.
            let may_be_used = self.ctx.store.unreadable() > 0;
            return Ok(may_be_used.then_some(LinkOf::Stranger));
        }
        let recorded = self.links_of_records();
        let unknown = |error: Error| {
            tracing::warn!("{share} stays mapped, as a link may lead there: {error}");
            Ok(Some(LinkOf::Unknown))
        };
        let mut links = match self.ctx.stagings_and_mounts(self.deadline) {
            Ok(links) => links,
            Err(error) => return unknown(error),
        };
        links.retain(|link| !self.leases.is_left(link));
        for link in links {
            let record = match recorded.get(&link.folded()) {
                Some(None) => continue,
                record => record.and_then(Option::as_ref),
            };
            let target = match self.ctx.link_target(&link, self.deadline) {
                Ok(target) => target,
                Err(error) => return unknown(error),
            };
            if !target.is_some_and(|target| covers(&share, &target)) {
                continue;
            }
            let of = match record {
                None => LinkOf::Stranger,
                Some(record) if self.has_own_mapping(record, mapped)? => continue,
                Some(_) => LinkOf::Record,
            };
            tracing::info!("{share} stays mapped, as {link} leads there");
            return Ok(Some(of));
        }
        Ok(None)
    }

    /// Whether a volume of a record needs no other mapping: it is one of this mapping's own, which leave it by their
    /// records, or its own mapping is there.
    fn has_own_mapping(&self, record: &Record<Share>, mapped: &RemotePath) -> Result<bool, Error> {
        let remote = &record.content.remote;
        Ok(remote.share() == mapped.share() || self.mappings()?.ways_to(remote).contains(remote))
    }

    /// The links of the records to shares, by their folded paths: each with its record, if it is of this boot, and none if
    /// it needs no mapping, as those of all pods to a staging path.
    pub(super) fn links_of_records(&self) -> BTreeMap<String, Option<Record<Share>>> {
        let mut links = BTreeMap::new();
        for record in self.ctx.store.records() {
            let published = record.published.iter();
            links.extend(published.map(|link| (link.folded(), None)));
            if let Some(record) = record.of::<Share>() {
                let is_of_boot = record.is_of_boot(self.leases.boot());
                let is_live = record.state != State::Unstaging && is_of_boot;
                links.insert(record.staging.folded(), is_live.then_some(record));
            }
        }
        links
    }
}

/// The share of a link's target, or the folder below it.
fn remote_of(target: &WinPath) -> Option<RemotePath> {
    match target.root() {
        Root::Share { .. } => RemotePath::parse(&target.to_string()).ok(),
        _ => None,
    }
}
