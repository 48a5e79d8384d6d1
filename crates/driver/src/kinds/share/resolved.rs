//! Shares of servers that are mapped by the address which the cluster's DNS has for their name.

use wincsi::Feature;
use wincsi::smb::RemotePath;

use super::attributes::resolved;
use super::{RequestedShare, Share, ShareKind};
use crate::life::{CallError, StageCall};
use crate::record::{Lifetime, Record, State};

impl ShareKind {
    /// As [`Self::stage`], of a server that may be one of the cluster.
    pub(super) fn stage_by_name(
        &self,
        turn: &StageCall<'_>,
        wanted: RequestedShare,
    ) -> Result<(), CallError> {
        match self.requests.dns_for(&wanted.remote) {
            Some(dns) => self.stage_resolved(turn, wanted, |given| resolved(given, dns)),
            None => self.stage(turn, &wanted),
        }
    }

    /// As [`Self::stage`], of a server that `resolve` gives the address of. It is asked if the volume is not staged: a name
    /// that nobody resolves now takes nothing from a volume that is.
    pub fn stage_resolved(
        &self,
        turn: &StageCall<'_>,
        mut wanted: RequestedShare,
        resolve: impl FnOnce(&RemotePath) -> Result<RemotePath, CallError>,
    ) -> Result<(), CallError> {
        if self.is_share_staged(turn, &wanted)? {
            return Ok(());
        }
        wanted.remote = resolve(&wanted.remote)?;
        self.stage(turn, &wanted)
    }

    /// Whether nothing is to do, by whatever address the volume was staged.
    fn is_share_staged(
        &self,
        turn: &StageCall<'_>,
        wanted: &RequestedShare,
    ) -> Result<bool, CallError> {
        let record =
            turn.matching_record(|record: &Record<Share>| wanted.differs(&record.content))?;
        let Some(record) = record else {
            return Ok(false);
        };
        let mappings = self.until(turn.deadline).mappings()?;
        let mapped = (record.content.remote, true);
        self.staging(turn, wanted, mapped)?.is_done(&mappings)
    }

    /// The path by the address that a staged volume has, if its server has another by now, while pods have the volume and
    /// its share is mapped: a server that is silent for a while comes back, and files that are open there are not cut.
    pub(super) fn address_in_use(
        &self,
        turn: &StageCall<'_>,
        wanted: &RequestedShare,
    ) -> Result<Option<RemotePath>, CallError> {
        let (record, deadline) = (turn.slot.get()?, turn.deadline);
        let Some(record) = record.and_then(Record::of::<Share>) else {
            return Ok(None);
        };
        let remote = record.content.remote.clone();
        let is_elsewhere = remote.server() != wanted.remote.server();
        let has_pods = !record.published.is_empty() || record.lifetime == Lifetime::Inline;
        let is_in_use = record.state == State::Staged
            && record.is_of_boot(self.ctx.boot(deadline).as_deref())
            && has_pods;
        let keeps = is_elsewhere
            && is_in_use
            && self.ctx.has(Feature::MappingList)
            && self.until(deadline).mappings()?.reach(remote.path());
        Ok(keeps.then_some(remote))
    }
}
