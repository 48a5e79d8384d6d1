//! What a stage that failed leaves.

use wincsi::{Cause, Condition, Error, Feature};

use super::ShareStage;
use crate::cluster_dns::ClusterDns;
use crate::code::Leftovers;
use crate::kinds::share::Share;
use crate::kinds::share::mappings::Mappings;
use crate::leases::{Ended, Owner};
use crate::life::{CallError, may_come_through};
use crate::record::{Record, State, StoreError};

impl ShareStage<'_> {
    pub(super) fn fail(&self, error: Error) -> CallError {
        let is_over = !may_come_through(&error);
        self.end_presumption(&error);
        let left = match &self.before {
            // Before the first act.
            None if error.is(Condition::PathRefused) => {
                self.abandon();
                Leftovers::None
            }
            None if is_over || self.is_unmade(&error) => self.undo(),
            Some(before) if self.is_unmade(&error) => {
                self.end_call(Ended::Gone);
                self.keep_boot(before.boot.as_deref());
                Leftovers::Maybe
            }
            Some(before) if self.is_refused_anew(before, &error) => {
                self.keep_boot(before.boot.as_deref());
                Leftovers::Maybe
            }
            _ => Leftovers::Maybe,
        };
        CallError::Node {
            error: Box::new(self.explained(error)),
            left,
        }
    }

    /// With the user, as the server got it, or with the flag without which Windows has the name of a server.
    fn explained(&self, mut error: Error) -> Error {
        let is_of_cluster = || ClusterDns::is_of_cluster(&self.remote.server());
        match (error.condition(), self.wanted.user()) {
            (Some(Condition::LogonFailure | Condition::AccessDenied), Some(user)) => {
                error.object += &format!(" as {user}");
            }
            (Some(Condition::ServerNotFound | Condition::OutOfReach), _) if is_of_cluster() => {
                error.object += ", a name of the cluster without -cluster-dns";
            }
            _ => {}
        }
        error
    }

    /// Whether the map ended and left nothing, also of a mapping that was to be made anew: then nobody waits for this
    /// volume's server, and what is mapped when kubelet calls again is another's.
    fn is_unmade(&self, error: &Error) -> bool {
        let is_mapped = |mappings: Mappings| mappings.reach(self.remote.path());
        !is_open(error) && self.mappings().is_ok_and(|mappings| !is_mapped(mappings))
    }

    /// Whether a volume of an earlier boot was refused by what others mapped in this one. Taken for one of this boot, it
    /// would be served by that at the next call.
    fn is_refused_anew(&self, before: &Record<Share>, error: &Error) -> bool {
        !is_open(error)
            && !before.is_of_boot(self.leases.boot())
            && self.leases.owner(self.volume()) != Owner::Ours
    }

    /// The volume is of the boot in which it was mapped last.
    pub(super) fn keep_boot(&self, boot: Option<&str>) {
        self.end_call(Ended::InVain);
        self.leases.set_boot(self.volume(), boot);
        let noted = (self.turn.slot).change(|record| record.boot = boot.map(str::to_owned));
        warn_of_mark(noted);
    }

    /// A call that failed leaves no mapping that it made, unless it did not end or says that it could not remove it: then
    /// what is mapped is another's, or was left to the volume meanwhile.
    fn end_presumption(&self, error: &Error) {
        let is_of_other_terms =
            error.is(Condition::OtherOptions) || error.is(Condition::CredentialsConflict);
        let may_stay = match self.ctx.has(Feature::FolderCheck) {
            true => is_open(error) || error.is(Condition::NotReady),
            // Such a failure of a first stage is of a mapping that is there, which this call did not make.
            false => !is_of_other_terms || self.before.is_some(),
        };
        self.end_call(match may_stay {
            true => Ended::MayBeMade,
            false => Ended::InVain,
        });
    }

    pub(super) fn end_call(&self, ended: Ended) {
        warn_of_mark(self.leases.end_call(self.volume(), ended));
    }

    /// A stage that cannot begin made nothing. A first one has no record and no user of the mapping, and what was left to
    /// it meanwhile goes.
    pub(super) fn abandon(&self) {
        if self.before.is_some() {
            return self.end_call(Ended::InVain);
        }
        let (leases, volume, share) = (&self.leases, self.volume(), &self.share);
        leases.leave(volume);
        if leases.is_ours(share) {
            let call = self.until(self.turn.end);
            if let Err(error) = call.unmap_unless_used(&self.remote) {
                tracing::warn!("volume {volume}: {share} may stay mapped: {error}");
            }
        }
        warn_of_mark(leases.release(volume));
        warn_of_mark(self.turn.slot.remove());
    }

    /// The record goes if nothing is left of the volume.
    pub(super) fn undo(&self) -> Leftovers {
        self.turn.end_undo(self.revert())
    }

    fn revert(&self) -> Result<(), CallError> {
        let (call, slot) = (self.until(self.turn.end), self.turn.slot);
        warn_of_mark(slot.change(|record| record.state = State::Unstaging));
        match slot.get().ok().flatten().and_then(Record::of::<Share>) {
            // Link and mapping were there before the first stage of this driver, and pods may use them.
            Some(record) if record.content.taken_over => Ok(self.release(&record.volume)?),
            Some(record) => call.unstage_share(&record, &record.staging),
            None => Ok(()),
        }
    }
}

pub(in crate::kinds::share) fn warn_of_mark(marked: Result<(), StoreError>) {
    if let Err(error) = marked {
        tracing::warn!("the record or the lease is not marked: {error}");
    }
}

/// Whether nobody knows what became of the operation.
pub(in crate::kinds::share) fn is_open(error: &Error) -> bool {
    matches!(error.cause, Cause::Deadline | Cause::Lost { .. })
}
