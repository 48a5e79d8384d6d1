mod failure;
mod map;

use wincsi::smb::{MapOutcome, RemotePath};
use wincsi::{Condition, Deadline, Error, Feature};

use super::mappings::Mappings;
use super::terms::{Conflict, Terms, secret_text};
use super::unstage::Unmapped;
use super::{Refused, RequestedShare, Share, ShareKind};
use crate::code::Leftovers;
use crate::leases::{Comparison, Ended, NotTaken, Owner, User};
use crate::life::{Call, CallError, StageCall};
use crate::record::{Lifetime, Record, State};

/// One call that stages a share.
pub(super) struct ShareStage<'a> {
    shares: Call<'a, ShareKind>,
    turn: &'a StageCall<'a>,
    wanted: &'a RequestedShare,
    /// The record from before the call.
    before: Option<Record<Share>>,
    /// The request's path, and how much of it is to be mapped.
    remote: RemotePath,
    /// Whether that was mapped when the call began. A host that does not list mappings has none of others, as far as
    /// anybody can tell.
    was_mapped: bool,
    /// This boot, if the node reports it.
    boot: Option<String>,
}

impl ShareKind {
    /// Stages a share: it is mapped, unless it is, and a directory link at the staging path leads to it.
    pub fn stage(&self, turn: &StageCall<'_>, wanted: &RequestedShare) -> Result<(), CallError> {
        let address = self.address_in_use(turn, wanted)?;
        let remote = address.as_ref().unwrap_or(&wanted.remote);
        if self.is_known_to_be_mapped(turn, remote)? {
            return self.staging(turn, wanted, (remote.clone(), true))?.run();
        }
        let mappings = self.until(turn.deadline).mappings()?;
        let stage = |mapped| {
            let staging = self.staging(turn, wanted, mapped)?;
            match staging.is_done(&mappings)? {
                true => Ok(()),
                false => staging.run(),
            }
        };
        match stage(mappings.best_way_to(remote)) {
            Err(error) if error.is(Condition::CredentialsConflict) => {
                match self.folder_beside_others(remote, turn.deadline) {
                    Ok(Some(folder)) => stage((folder, false)),
                    // The conflict is what an operator has to know of.
                    Ok(None) | Err(_) => Err(error),
                }
            }
            staged => staged,
        }
    }

    /// Whether volumes use the mapping of the share, by its lease, and this volume has no record. Then nobody asks Windows
    /// before the node does. For an inline volume somebody always does: another process may have mapped the share since.
    fn is_known_to_be_mapped(
        &self,
        turn: &StageCall<'_>,
        remote: &RemotePath,
    ) -> Result<bool, CallError> {
        let (share, boot) = (remote.share(), self.ctx.boot(turn.deadline));
        Ok(turn.stage.lifetime == Lifetime::Persistent
            && turn.slot.get()?.is_none()
            && self.ctx.has(Feature::MappingList)
            && self.leases.is_ours(&share, boot.as_deref())
            && self.leases.users(&share, boot.as_deref()) > 0)
    }

    fn folder_beside_others(
        &self,
        remote: &RemotePath,
        deadline: Deadline,
    ) -> Result<Option<RemotePath>, Error> {
        match self.ctx.has(Feature::FolderMappings) {
            true => Ok(self
                .until(deadline)
                .mappings()?
                .folder_beside_others(remote)),
            false => Ok(None),
        }
    }

    pub(super) fn staging<'a>(
        &'a self,
        turn: &'a StageCall<'_>,
        wanted: &'a RequestedShare,
        (remote, was_mapped): (RemotePath, bool),
    ) -> Result<ShareStage<'a>, CallError> {
        Ok(ShareStage {
            shares: self.until(turn.deadline),
            turn,
            wanted,
            before: turn
                .matching_record(|record: &Record<Share>| wanted.differs(&record.content))?,
            remote,
            was_mapped,
            boot: self.ctx.boot(turn.deadline),
        })
    }
}

impl ShareStage<'_> {
    fn run(mut self) -> Result<(), CallError> {
        let share = self.remote.share();
        let prepared = self.prepare(&share);
        prepared.map_err(|error| match self.before {
            // Nothing was done yet.
            None => error,
            Some(_) => self.refuse(error),
        })?;
        match self.map() {
            Ok(outcome) => {
                let accepted = self.accept(&share, outcome);
                accepted.map_err(|error| self.refuse(error))?;
                self.note_staged(&share, outcome)
            }
            Err(error) => Err(self.fail(error)),
        }
    }

    /// Whether the volume is staged; then only its credential is compared.
    pub(super) fn is_done(&self, mappings: &Mappings) -> Result<bool, CallError> {
        let is_staged = self.is_staged(mappings)?;
        if is_staged {
            self.compare_secret();
        }
        Ok(is_staged)
    }

    /// All that comes before the first act on the node.
    fn prepare(&mut self, share: &str) -> Result<(), CallError> {
        self.check_host()?;
        self.start_over()?;
        self.check_mapping()?;
        let taken_over = self.is_taken_over()?;
        self.take(share)?;
        self.begin(taken_over)
    }

    /// Refuses a mapping that was made meanwhile as another user, or for an inline volume with another credential.
    fn accept(&self, share: &str, outcome: MapOutcome) -> Result<(), CallError> {
        match (outcome, self.turn.stage.lifetime) {
            (MapOutcome::ReusedOtherUser, _)
            | (MapOutcome::ReusedOtherSecret, Lifetime::Inline) => {
                Err(self.others_mapping(share, true))
            }
            (MapOutcome::ReusedUnknown, Lifetime::Inline)
                if self.ended_by(outcome) == Ended::MetForeign =>
            {
                // Another process mapped it after this call had looked: what is known is of the mapping before.
                self.end_call(Ended::MetForeign);
                Err(self.others_mapping(share, false))
            }
            (MapOutcome::ReusedUnknown, Lifetime::Inline) => self.refuse_others(share),
            _ => Ok(()),
        }
    }

    /// A refusal is final, and kubelet may forget the volume: so nothing is left of it, or kubelet calls again.
    fn refuse(&self, error: CallError) -> CallError {
        let left = match &self.before {
            _ if !error.is_refusal() => return error,
            Some(record) if record.state == State::Staged => {
                if !record.is_of_boot(self.boot.as_deref()) {
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

    /// Whether nothing is to do: the volume is staged by its record, and the share answers at its mapping.
    fn is_staged(&self, mappings: &Mappings) -> Result<bool, CallError> {
        let before = self.before.as_ref();
        let Some(record) = before.filter(|record| record.state == State::Staged) else {
            return Ok(false);
        };
        if record.lifetime == Lifetime::Inline && !self.has_credential_of_mapping() {
            return Ok(false);
        }
        let is_live = self.shares.is_share_live(record, mappings);
        let credentials = self.wanted.credentials.as_ref();
        Ok(is_live? && !self.shares.is_refused_since(record, credentials))
    }

    fn has_credential_of_mapping(&self) -> bool {
        let (share, credentials) = (self.remote.share(), self.wanted.credentials.as_ref());
        self.shares.compare(&share, credentials) == Comparison::Same
    }

    /// What an earlier stage mapped goes, unless another volume uses it: by one that did not end nobody knows with which
    /// credential, and where the server has another address by now it is the wrong one.
    fn start_over(&mut self) -> Result<(), CallError> {
        let Some(record) = &self.before else {
            return Ok(());
        };
        let (leases, is_same) = (&self.shares.leases, self.same_mapping().is_some());
        let is_over = record.state == State::Staging || !is_same;
        if is_over && leases.owner(&record.volume) != Owner::Foreign {
            leases.leave(&record.volume);
            let remote = &record.content.remote;
            let unmapped = self.shares.unmap_unless_used(remote)?;
            self.was_mapped &= !is_same || unmapped == Unmapped::InUse;
        }
        Ok(())
    }

    fn check_host(&self) -> Result<(), CallError> {
        let (stage, what) = (self.turn.stage, "the list of mappings, as an inline volume");
        match stage.lifetime {
            Lifetime::Persistent => Ok(()),
            Lifetime::Inline => {
                (self.shares.ctx).require(Feature::MappingList, &stage.volume, what)
            }
        }
    }

    /// An inline volume is its author's, who may name each server: a mapping that is there serves it only if it was made
    /// with the volume's own credential. Nor may another credential replace it.
    fn check_mapping(&self) -> Result<(), CallError> {
        if self.turn.stage.lifetime == Lifetime::Persistent || !self.was_mapped {
            return Ok(());
        }
        self.refuse_others(&self.remote.share())
    }

    fn refuse_others(&self, share: &str) -> Result<(), CallError> {
        let credentials = self.wanted.credentials.as_ref();
        match self.shares.compare(share, credentials) {
            Comparison::Same => Ok(()),
            other => Err(self.others_mapping(share, other == Comparison::Differs)),
        }
    }

    fn others_mapping(&self, share: &str, is_known: bool) -> CallError {
        let (volume, share) = (self.turn.stage.volume.clone(), share.to_owned());
        let refused = Refused::OthersMapping {
            volume,
            share,
            is_known,
        };
        refused.into()
    }

    /// Takes the mapping. A foreign one that is gone by now is presumed to be made by this call.
    fn take(&self, share: &str) -> Result<(), CallError> {
        let (leases, volume, wanted) = (&self.shares.leases, &self.turn.stage.volume, self.wanted);
        let terms = Terms {
            server: wanted.server.clone(),
            address: self.remote.server(),
            user: wanted.user().map(str::to_lowercase),
            port: wanted.options.tcp_port,
        };
        let user = User::new(share.to_owned(), terms, self.boot.clone());
        let taken = leases.take(volume, user, self.was_mapped);
        taken.map_err(|reason| self.not_taken(share, reason))?;
        if leases.owner(volume) == Owner::Foreign
            && self
                .has_gone()
                .inspect_err(|_| self.abandon_first_stage())?
        {
            leases.presume(volume);
        }
        Ok(())
    }

    fn not_taken(&self, share: &str, reason: NotTaken<Conflict>) -> CallError {
        let volume = self.turn.stage.volume.clone();
        let server = self.wanted.server.clone();
        let refused = match reason {
            NotTaken::Unsaved(error) => return error.into(),
            NotTaken::Conflict(Conflict::User, other) => Refused::OtherUser {
                volume,
                server,
                user: self.wanted.user().map(str::to_owned),
                other,
            },
            NotTaken::Conflict(Conflict::Port, other) => Refused::OtherPort {
                volume,
                server,
                other,
            },
            NotTaken::Ending => Refused::Unmapping {
                volume,
                share: share.to_owned(),
            },
        };
        refused.into()
    }

    /// Whether another's mapping that was there when the call began went before the claim.
    fn has_gone(&self) -> Result<bool, Error> {
        if !self.was_mapped {
            return Ok(false);
        }
        let mappings = self.shares.mappings()?;
        Ok(!mappings.ways_to(&self.remote).contains(&self.remote))
    }

    /// The record from before the call, if it was staged by the same mapping.
    fn same_mapping(&self) -> Option<&Record<Share>> {
        let before = self.before.as_ref();
        before.filter(|record| record.content.remote.share() == self.remote.share())
    }

    /// Whether another driver staged the volume: by no record of this mapping, the link is there.
    fn is_taken_over(&self) -> Result<bool, Error> {
        if let Some(record) = self.same_mapping() {
            return Ok(record.content.taken_over);
        }
        let is_ours = self
            .shares
            .leases
            .is_ours(&self.remote.share(), self.boot.as_deref());
        if !self.was_mapped || self.before.is_some() && is_ours {
            return Ok(false);
        }
        let (staging, path) = (&self.turn.stage.staging, self.remote.path());
        self.shares.leads_to(staging, path)
    }

    /// Writes the record, and then the lease, before the first act on the node.
    fn begin(&self, taken_over: bool) -> Result<(), CallError> {
        let begun = match &self.before {
            None => self.turn.slot.put(self.record(taken_over)),
            Some(_) => self.turn.slot.change_of(|record: &mut Record<Share>| {
                if record.state == State::Unstaging {
                    record.state = State::Staging;
                }
                record.boot.clone_from(&self.boot);
                record.content.taken_over = taken_over;
                record.content.remote = self.remote.clone();
                record.content.user = self.wanted.user().map(str::to_owned);
            }),
        };
        // With another credential the node may replace the mapping.
        let may_change_credential = !(self.was_mapped && self.has_credential_of_mapping());
        let (leases, volume) = (&self.shares.leases, &self.turn.stage.volume);
        let begun = begun.and_then(|()| leases.begin(volume, may_change_credential));
        Ok(begun.inspect_err(|_| self.abandon_first_stage())?)
    }

    fn record(&self, taken_over: bool) -> Record<Share> {
        let mut record = self.turn.stage.record(Share {
            remote: self.remote.clone(),
            server: self.wanted.server.clone(),
            user: self.wanted.user().map(str::to_owned),
            options: self.wanted.options.clone(),
            taken_over,
        });
        record.boot.clone_from(&self.boot);
        record
    }

    fn note_staged(&self, share: &str, outcome: MapOutcome) -> Result<(), CallError> {
        let (leases, volume) = (&self.shares.leases, &self.turn.stage.volume);
        let boot = self.boot.as_deref();
        let is_made = match outcome {
            MapOutcome::Made => true,
            // Most likely, if no other volume needed the mapping before.
            MapOutcome::Unreported => leases.users(share, boot) == 1,
            _ => false,
        };
        let is_same = matches!(outcome, MapOutcome::Reused | MapOutcome::ReusedOtherOptions);
        if is_made || is_same {
            leases.note_credential(share, &secret_text(self.wanted.credentials.as_ref()));
        } else {
            self.compare_secret();
        }
        leases.set_boot(volume, boot);
        leases.end_call(volume, self.ended_by(outcome))?;
        let note = |record: &mut Record| {
            record.state = State::Staged;
            // Another publish that renewed the mapping in vain may have left the volume to the boot before.
            record.boot.clone_from(&self.boot);
        };
        self.turn.slot.change(note)?;
        self.shares.ctx.note_normal(volume, None);
        Ok(())
    }

    fn ended_by(&self, outcome: MapOutcome) -> Ended {
        let owner = self.shares.leases.owner(&self.turn.stage.volume);
        match outcome {
            // Also in place of another's that was of no use any more.
            MapOutcome::Made => Ended::Made,
            // Another process mapped the share after this call had looked, or one that it found at work.
            MapOutcome::ReusedUnknown if !self.was_mapped || owner == Owner::Presumed => {
                Ended::MetForeign
            }
            _ => Ended::Well,
        }
    }

    fn compare_secret(&self) {
        let volume = &self.turn.stage.volume;
        let credentials = self.wanted.credentials.as_ref();
        self.shares
            .compare_secret(volume, &self.remote, credentials);
    }
}
