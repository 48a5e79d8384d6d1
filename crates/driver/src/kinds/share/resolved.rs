//! Shares of servers that are mapped by the address which the cluster's DNS has for their name.

use wincsi::smb::RemotePath;
use wincsi::{Deadline, Feature};

use super::{Stage, StageError};
use crate::life::{Shared, Volumes};
use crate::record::{Lifetime, Record, Share, Slot, State};

impl Volumes {
    /// As [`Self::stage_share`], of a request that names the server: `resolve` gives its path by the server's address, and
    /// is asked in the volume's turn, if the volume is not staged. A name that nobody resolves now takes nothing from a
    /// volume that is.
    ///
    /// # Errors
    /// As [`Self::stage_share`]; that of `resolve`.
    pub fn stage_resolved_share<E: From<StageError>>(
        &self,
        request: &mut Stage,
        resolve: impl FnOnce(&RemotePath) -> Result<RemotePath, E>,
    ) -> Result<(), E> {
        let (volume, lifetime) = (request.volume.clone(), request.wanted.lifetime);
        self.in_turn(&volume, lifetime, |slot| {
            let deadline = self.deadline();
            if self.is_share_staged(request, slot, deadline)? {
                return Ok(());
            }
            request.wanted.remote = resolve(&request.wanted.remote)?;
            Ok(self.stage_share_in_turn(request, slot, deadline)?)
        })
    }

    /// Whether nothing is to do, by whatever address the volume was staged.
    fn is_share_staged(
        &self,
        request: &Stage,
        slot: &Slot<'_>,
        deadline: Deadline,
    ) -> Result<bool, StageError> {
        let Some(record) = slot.get().map_err(Shared::from)? else {
            return Ok(false);
        };
        let remote = request.agreeing_or_left(record)?.what.remote;
        self.staging_of_share(request, slot, (remote, true), deadline)?
            .is_done()
    }

    /// The path by the address that a staged volume has, if its server has another by now, while pods have the volume and
    /// its share is mapped: a server that is silent for a while comes back, and files that are open there are not cut.
    pub(crate) fn address_of_pods(
        &self,
        request: &Stage,
        slot: &Slot<'_>,
        deadline: Deadline,
    ) -> Result<Option<RemotePath>, StageError> {
        let record = slot
            .get()
            .map_err(Shared::from)?
            .and_then(Record::of::<Share>);
        let Some(record) = record else {
            return Ok(None);
        };
        let remote = record.what.remote.clone();
        let is_elsewhere = remote.server() != request.wanted.remote.server();
        let has_pods = !record.published.is_empty() || record.what.lifetime == Lifetime::Inline;
        let is_in_use = record.state == State::Staged
            && record.is_of_boot(self.boot(deadline).as_deref())
            && has_pods;
        let keeps = is_elsewhere
            && is_in_use
            && self.node.supports(Feature::MappingList)
            && self.is_mapped(&remote, deadline).map_err(Shared::from)?;
        Ok(keeps.then_some(remote))
    }
}
