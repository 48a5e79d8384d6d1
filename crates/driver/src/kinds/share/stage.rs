mod failure;
mod map;

use std::ops::Deref;
use std::sync::atomic::Ordering;

use wincsi::smb::{Credentials, MapOutcome, RemotePath};
use wincsi::{Condition, Error, Feature};

pub(super) use self::failure::{is_open, warn_of_mark};
use super::mappings::Mappings;
use super::terms::{Conflict, secret_text, user_of};
use super::unstage::IN_USE;
use super::{Refused, RequestedShare, Share, ShareKind};
use crate::code::Leftovers;
use crate::leases::{Comparison, Ended, NotTaken, Owner};
use crate::life::{Call, CallError, StageCall};
use crate::record::{Lifetime, Record, State, VolumeHandle};

/// One call that stages a share.
pub(super) struct ShareStage<'a> {
    call: Call<'a, ShareKind>,
    turn: &'a StageCall<'a>,
    wanted: &'a RequestedShare,
    /// The record from before the call.
    before: Option<Record<Share>>,
    /// The request's path, and how much of it is to be mapped.
    remote: RemotePath,
    /// What is to be mapped.
    share: String,
    /// Whether that was mapped when the call began. A host that does not list mappings has none of others, as far as
    /// anybody can tell.
    was_mapped: bool,
}

impl<'a> Deref for ShareStage<'a> {
    type Target = Call<'a, ShareKind>;

    fn deref(&self) -> &Self::Target {
        &self.call
    }
}

impl ShareKind {
    /// Stages a share: it is mapped, unless it is, and a directory link at the staging path leads to it.
    pub fn stage(&self, turn: &StageCall<'_>, wanted: &RequestedShare) -> Result<(), CallError> {
        let call = self.until(turn.deadline);
        let address = call.address_in_use(turn, wanted)?;
        let remote = address.as_ref().unwrap_or(&wanted.remote);
        if self.is_known_to_be_mapped(turn, &remote.share())? {
            return self.staging(turn, wanted, (remote.clone(), true))?.run();
        }
        let mappings = call.mappings()?;
        let stage = |mapped| {
            let staging = self.staging(turn, wanted, mapped)?;
            match staging.is_done(&mappings)? {
                true => Ok(()),
                false => staging.run(),
            }
        };
        let staged = turn.matching_record(|record| wanted.differs(record))?;
        let staged = staged.filter(|record| {
            record.state == State::Staged && record.is_of_boot(self.leases.boot())
        });
        let serves = staged.map(|record| record.content.remote.share());
        match stage(mappings.best_way_to(remote, serves)) {
            Err(error) if error.is(Condition::CredentialsConflict) => {
                let now = call.mappings().ok();
                match now.and_then(|mappings| mappings.folder_beside_others(remote)) {
                    Some(folder) => stage((folder, false)),
                    // The conflict is what an operator has to know of.
                    None => Err(error),
                }
            }
            staged => staged,
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
        if let Some(record) = turn.matching_record(|record| wanted.differs(record))? {
            let mappings = self.until(turn.deadline).mappings()?;
            // Whatever address it was staged by.
            let mapped = (record.content.remote, true);
            if self.staging(turn, &wanted, mapped)?.is_done(&mappings)? {
                return Ok(());
            }
        }
        wanted.remote = resolve(&wanted.remote)?;
        self.stage(turn, &wanted)
    }

    /// Whether volumes use the mapping of the share, by its lease, and this volume has no record. Then nobody asks Windows
    /// before the node does. For an inline volume somebody always does: another process may have mapped the share since.
    fn is_known_to_be_mapped(&self, turn: &StageCall<'_>, share: &str) -> Result<bool, CallError> {
        Ok(turn.stage.lifetime == Lifetime::Persistent
            && turn.slot.get()?.is_none()
            && self.ctx.has(Feature::MappingList)
            && self.leases.is_ours(share)
            && self.leases.users(share) > 0)
    }

    fn staging<'a>(
        &'a self,
        turn: &'a StageCall<'_>,
        wanted: &'a RequestedShare,
        (remote, was_mapped): (RemotePath, bool),
    ) -> Result<ShareStage<'a>, CallError> {
        Ok(ShareStage {
            call: self.until(turn.deadline),
            turn,
            wanted,
            before: turn.matching_record(|record| wanted.differs(record))?,
            share: remote.share(),
            remote,
            was_mapped,
        })
    }
}

impl Call<'_, ShareKind> {
    /// The path by the address that a staged volume has, if its server has another by now, while pods have the volume and
    /// its share is mapped: a server that is silent for a while comes back, and files that are open there are not cut.
    fn address_in_use(
        &self,
        turn: &StageCall<'_>,
        wanted: &RequestedShare,
    ) -> Result<Option<RemotePath>, CallError> {
        let Some(record) = turn.slot.get()?.and_then(Record::of::<Share>) else {
            return Ok(None);
        };
        let remote = &record.content.remote;
        let has_pods = !record.published.is_empty() || record.lifetime == Lifetime::Inline;
        let keeps = remote.server() != wanted.remote.server()
            && record.state == State::Staged
            && record.is_of_boot(self.leases.boot())
            && has_pods
            && self.ctx.has(Feature::MappingList)
            && self.mappings()?.reach(remote.path());
        Ok(keeps.then(|| remote.clone()))
    }
}

impl ShareStage<'_> {
    fn run(mut self) -> Result<(), CallError> {
        self.prepare().map_err(|error| match self.before {
            // Nothing was done yet.
            None => error,
            Some(_) => self.refuse(error),
        })?;
        let _making = (!self.was_mapped).then(|| self.leases.making(&self.share));
        let outcome = self.map().map_err(|error| self.fail(error))?;
        self.accept(outcome).map_err(|error| self.refuse(error))?;
        self.note_staged(outcome)
    }

    /// All that comes before the first act on the node.
    fn prepare(&mut self) -> Result<(), CallError> {
        self.check_host()?;
        self.start_over()?;
        self.check_mapping()?;
        let record = self.record(self.is_taken_over()?);
        self.take(&record)?;
        self.begin(record)
    }

    fn volume(&self) -> &VolumeHandle {
        &self.turn.stage.volume
    }

    fn credentials(&self) -> Option<&Credentials> {
        self.wanted.credentials.as_ref()
    }

    /// Refuses a mapping that was made meanwhile as another user, or for an inline volume with another credential.
    fn accept(&self, outcome: MapOutcome) -> Result<(), CallError> {
        self.check_folder(self.volume(), &self.remote)?;
        match (outcome, self.turn.stage.lifetime) {
            (MapOutcome::ReusedOtherUser, _)
            | (MapOutcome::ReusedOtherSecret, Lifetime::Inline) => Err(self.others_mapping(true)),
            (MapOutcome::ReusedUnknown, Lifetime::Inline)
                if self.ended_by(outcome) == Ended::MetForeign =>
            {
                // Another process mapped it after this call had looked: what is known is of the mapping before.
                self.end_call(Ended::MetForeign);
                Err(self.others_mapping(false))
            }
            (MapOutcome::ReusedUnknown, Lifetime::Inline) => self.refuse_others(),
            _ => Ok(()),
        }
    }

    /// A refusal is final, and kubelet may forget the volume: so nothing is left of it, or kubelet calls again.
    fn refuse(&self, error: CallError) -> CallError {
        let left = match &self.before {
            _ if !error.is_refusal() => return error,
            Some(record) if record.state == State::Staged => {
                if !record.is_of_boot(self.leases.boot()) {
                    self.keep_boot(record.boot.as_deref());
                }
                Leftovers::Maybe
            }
            _ => self.undo(),
        };
        match left {
            Leftovers::None => error,
            Leftovers::Maybe => error.unfinished(),
        }
    }

    /// Whether nothing is to do: the volume is staged by its record, and the share answers at its mapping. Then only its
    /// credential is compared.
    fn is_done(&self, mappings: &Mappings) -> Result<bool, CallError> {
        let before = self.before.as_ref();
        let Some(record) = before.filter(|record| record.state == State::Staged) else {
            return Ok(false);
        };
        if record.lifetime == Lifetime::Inline && !self.has_credential_of_mapping() {
            return Ok(false);
        }
        let is_done = self.is_share_live(record, mappings)?
            && !self.is_refused_since(record, self.credentials())?
            && (self.check_folder(&record.volume, &record.content.remote)).is_ok();
        if is_done {
            self.compare_password(self.volume(), &self.share, self.credentials());
        }
        Ok(is_done)
    }

    fn has_credential_of_mapping(&self) -> bool {
        self.compare(&self.share, self.credentials()) == Comparison::Same
    }

    /// What an earlier stage mapped goes, unless another volume uses it: by one that did not end nobody knows with which
    /// credential, and where the server has another address by now it is the wrong one.
    fn start_over(&mut self) -> Result<(), CallError> {
        let Some(record) = &self.before else {
            return Ok(());
        };
        let is_same = self.same_mapping().is_some();
        let is_over = record.state == State::Staging || !is_same;
        if is_over && self.leases.owner(&record.volume) != Owner::Foreign {
            self.leases.leave(&record.volume);
            let unmapped = self.unmap_unless_used(&record.content.remote)?;
            self.was_mapped &= !is_same || unmapped == IN_USE;
        }
        Ok(())
    }

    fn check_host(&self) -> Result<(), CallError> {
        let what = "the list of mappings, as an inline volume";
        match self.turn.stage.lifetime {
            Lifetime::Persistent => Ok(()),
            Lifetime::Inline => (self.ctx).require(Feature::MappingList, self.volume(), what),
        }
    }

    /// An inline volume is its author's, who may name each server: a mapping that is there serves it only if it was made
    /// with the volume's own credential. Nor may another credential replace it.
    fn check_mapping(&mut self) -> Result<(), CallError> {
        if self.turn.stage.lifetime == Lifetime::Persistent || !self.was_mapped {
            return Ok(());
        }
        let left = self.ctx.left_until(self.deadline);
        if self.leases.wait_for_makers(&self.share, left) && self.has_gone()? {
            self.was_mapped = false;
            return Ok(());
        }
        self.refuse_others()
    }

    fn refuse_others(&self) -> Result<(), CallError> {
        match self.compare(&self.share, self.credentials()) {
            Comparison::Same => Ok(()),
            other => Err(self.others_mapping(other == Comparison::Differs)),
        }
    }

    fn others_mapping(&self, is_known: bool) -> CallError {
        if self.turn.stage.lifetime == Lifetime::Inline {
            self.refused_inline.fetch_add(1, Ordering::Relaxed);
        }
        let refused = Refused::OthersMapping {
            share: self.share.clone(),
            is_known,
        };
        refused.into()
    }

    /// Takes the mapping. A foreign one that is gone by now is presumed to be made by this call.
    fn take(&self, record: &Record<Share>) -> Result<(), CallError> {
        let (leases, volume) = (&self.leases, self.volume());
        let taken = leases.take(volume, user_of(record), self.was_mapped);
        taken.map_err(|reason| self.not_taken(reason))?;
        let has_gone = || self.has_gone().inspect_err(|_| self.abandon());
        if leases.owner(volume) == Owner::Foreign && has_gone()? {
            leases.presume(volume);
        }
        Ok(())
    }

    fn not_taken(&self, reason: NotTaken<Conflict>) -> CallError {
        let (volume, server) = (self.volume().clone(), self.wanted.server.clone());
        let refused = match reason {
            NotTaken::Unsaved(error) => return error.into(),
            NotTaken::Conflict(Conflict::User, other) => Refused::OtherUser {
                volume,
                server,
                user: self.wanted.user(),
                other,
            },
            NotTaken::Conflict(Conflict::Port, other) => Refused::OtherPort {
                volume,
                server,
                other,
            },
            NotTaken::Ending => Refused::Unmapping {
                volume,
                share: self.share.clone(),
            },
        };
        refused.into()
    }

    /// Whether another's mapping that was there when the call began went before the claim.
    fn has_gone(&self) -> Result<bool, Error> {
        Ok(self.was_mapped
            && !self
                .mappings()?
                .ways_to(&self.remote)
                .contains(&self.remote))
    }

    /// The record from before the call, if it was staged by the same mapping.
    fn same_mapping(&self) -> Option<&Record<Share>> {
        let before = self.before.as_ref();
        before.filter(|record| record.content.remote.share() == self.share)
    }

    /// Whether another driver staged the volume: by no record of this mapping, the link is there.
    fn is_taken_over(&self) -> Result<bool, Error> {
        if let Some(record) = self.same_mapping() {
            return Ok(record.content.taken_over);
        }
        if !self.was_mapped || self.before.is_some() && self.leases.is_ours(&self.share) {
            return Ok(false);
        }
        self.ctx
            .leads_to(&self.turn.stage.staging, self.remote.path(), self.deadline)
    }

    fn record(&self, taken_over: bool) -> Record<Share> {
        let mut record = self.turn.stage.record(Share {
            remote: self.remote.clone(),
            server: self.wanted.server.clone(),
            user: self.wanted.user(),
            options: self.wanted.options.clone(),
            taken_over,
        });
        record.boot = self.leases.boot().map(str::to_owned);
        record
    }

    /// Writes the record, and then the lease, before the first act on the node.
    fn begin(&self, record: Record<Share>) -> Result<(), CallError> {
        let begun = match &self.before {
            None => self.turn.slot.put(record),
            Some(_) => self.turn.slot.change_of(|there: &mut Record<Share>| {
                if there.state == State::Unstaging {
                    there.state = State::Staging;
                }
                (there.boot, there.content) = (record.boot, record.content);
            }),
        };
        // With another credential the node may replace the mapping.
        let may_change_credential = !(self.was_mapped && self.has_credential_of_mapping());
        let begun = begun.and_then(|()| self.leases.begin(self.volume(), may_change_credential));
        Ok(begun.inspect_err(|_| self.abandon())?)
    }

    fn note_staged(&self, outcome: MapOutcome) -> Result<(), CallError> {
        let (leases, volume) = (&self.leases, self.volume());
        self.owed.forget(&self.share);
        let has_credential = match outcome {
            MapOutcome::Made | MapOutcome::Reused | MapOutcome::ReusedOtherOptions => true,
            // It is made, most likely, if no other volume needed the mapping before.
            MapOutcome::Unreported => leases.users(&self.share) == 1,
            _ => false,
        };
        match has_credential {
            true => leases.note_credential(&self.share, &secret_text(self.credentials())),
            false => self.compare_password(volume, &self.share, self.credentials()),
        }
        leases.set_boot(volume, leases.boot());
        leases.end_call(volume, self.ended_by(outcome))?;
        self.turn.slot.change(|record| {
            record.state = State::Staged;
            // Another publish that renewed the mapping in vain may have left the volume to the boot before.
            record.boot = leases.boot().map(str::to_owned);
        })?;
        self.ctx.note_normal(volume, None);
        Ok(())
    }

    fn ended_by(&self, outcome: MapOutcome) -> Ended {
        let is_presumed = || self.leases.owner(self.volume()) == Owner::Presumed;
        match outcome {
            // Also in place of another's that was of no use any more.
            MapOutcome::Made => Ended::Made,
            // Another process mapped the share after this call had looked, or one that it found at work.
            MapOutcome::ReusedUnknown if !self.was_mapped || is_presumed() => Ended::MetForeign,
            _ => Ended::Well,
        }
    }
}
