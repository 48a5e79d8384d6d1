mod failure;
mod map;

use wincsi::smb::{MapOutcome, RemotePath};
use wincsi::{Condition, Error, Feature};

use super::claims::{Claim, Conflict, Whose};
use super::secrets::Comparison;
use super::unstage::Unmapped;
use super::{Refused, SecretHash, Share, Shares, Wanted};
use crate::code::Left;
use crate::life::{CallError, Turn};
use crate::record::{Lifetime, Record, State};

/// One call that stages a share.
pub(super) struct Staging<'a> {
    shares: &'a Shares,
    turn: &'a Turn<'a>,
    wanted: &'a Wanted,
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

impl Shares {
    /// Stages a share: it is mapped, unless it is, and a directory link at the staging path leads to it.
    pub fn stage(&self, turn: &Turn<'_>, wanted: &Wanted) -> Result<(), CallError> {
        let address = self.address_of_pods(turn, wanted)?;
        let remote = address.as_ref().unwrap_or(&wanted.remote);
        let mapped = self.best_mapped(remote, turn.deadline)?;
        let stage = |mapped| self.staging(turn, wanted, mapped)?.run();
        match stage(mapped) {
            Err(error) if error.is(Condition::CredentialsConflict) => {
                match self.mapped_beside_others(remote, turn.deadline) {
                    Ok(Some(folder)) => stage((folder, false)),
                    // The conflict is what an operator has to know of.
                    Ok(None) | Err(_) => Err(error),
                }
            }
            staged => staged,
        }
    }

    pub(super) fn staging<'a>(
        &'a self,
        turn: &'a Turn<'_>,
        wanted: &'a Wanted,
        (remote, was_mapped): (RemotePath, bool),
    ) -> Result<Staging<'a>, CallError> {
        Ok(Staging {
            shares: self,
            turn,
            wanted,
            before: turn.agreeing(|record: &Record<Share>| wanted.differs(&record.content))?,
            remote,
            was_mapped,
            boot: self.ctx.boot(turn.deadline),
        })
    }
}

impl Staging<'_> {
    fn run(mut self) -> Result<(), CallError> {
        if self.is_done()? {
            return Ok(());
        }
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
    pub(super) fn is_done(&self) -> Result<bool, CallError> {
        let is_staged = self.is_staged()?;
        if is_staged {
            self.compare_secret();
        }
        Ok(is_staged)
    }

    /// All that comes before the first act on the node.
    fn prepare(&mut self, share: &str) -> Result<(), CallError> {
        self.check_host()?;
        self.start_over()?;
        let Shares {
            claims, secrets, ..
        } = self.shares;
        if !self.was_mapped
            && self.shares.ctx.node.supports(Feature::MappingList)
            && !claims.is_used(share, self.boot.as_deref())
        {
            secrets.forget(share);
        }
        self.check_mapping()?;
        let taken_over = self.is_taken_over()?;
        let is_ours = self.claim(share)?;
        self.begin(is_ours, taken_over)?;
        self.note_adopted(is_ours)
    }

    /// Refuses a mapping that was made meanwhile as another user, or for an inline volume with another credential.
    fn accept(&self, share: &str, outcome: MapOutcome) -> Result<(), CallError> {
        match (outcome, self.turn.stage.lifetime) {
            (MapOutcome::ReusedOtherUser, _)
            | (MapOutcome::ReusedOtherSecret, Lifetime::Inline) => {
                Err(self.others_mapping(share, true))
            }
            (MapOutcome::ReusedUnknown, Lifetime::Inline)
                if self.is_ours_by(outcome) == Some(false) =>
            {
                // Another process mapped it after this call had looked: what is known is of the mapping before.
                self.disown();
                self.shares.secrets.forget(share);
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
                    self.stay_in(record.boot.as_deref());
                }
                Left::Something
            }
            _ => self.undo(),
        };
        match left {
            Left::Nothing => error,
            Left::Something => error.unfinished(),
        }
    }

    /// Whether nothing is to do: the volume is staged by its record, and the share answers at its mapping.
    fn is_staged(&self) -> Result<bool, CallError> {
        let before = self.before.as_ref();
        let Some(record) = before.filter(|record| record.state == State::Staged) else {
            return Ok(false);
        };
        if record.lifetime == Lifetime::Inline && !self.has_credential_of_mapping() {
            return Ok(false);
        }
        let is_live = self.shares.is_share_live(record, self.turn.deadline);
        let credentials = self.wanted.credentials.as_ref();
        Ok(is_live? && !self.shares.is_refused_since(record, credentials))
    }

    fn has_credential_of_mapping(&self) -> bool {
        let credentials = self.wanted.credentials.as_ref();
        let secrets = &self.shares.secrets;
        secrets.compare(&self.remote.share(), credentials) == Comparison::Same
    }

    /// What an earlier stage mapped goes, unless another volume uses it: by one that did not end nobody knows with which
    /// credential, and where the server has another address by now it is the wrong one.
    fn start_over(&mut self) -> Result<(), Error> {
        let Some(record) = &self.before else {
            return Ok(());
        };
        let is_over = record.state == State::Staging || self.same_mapping().is_none();
        if !is_over || !record.made_mapping_in(self.boot.as_deref()) {
            return Ok(());
        }
        self.shares.claims.leave(&record.volume);
        let remote = &record.content.remote;
        let unmapped = self.shares.unmap_unless_used(remote, self.turn.deadline)?;
        let is_same = self.same_mapping().is_some();
        self.was_mapped &= !is_same || unmapped == Unmapped::InUse;
        Ok(())
    }

    fn check_host(&self) -> Result<(), CallError> {
        let (stage, feature) = (self.turn.stage, Feature::MappingList);
        if stage.lifetime == Lifetime::Persistent || self.shares.ctx.node.supports(feature) {
            return Ok(());
        }
        Err(CallError::HostLacks {
            volume: stage.volume.clone(),
            what: "the list of mappings, as an inline volume",
            feature,
        })
    }

    /// An inline volume is its author's, who may name each server: a mapping that is there serves it only if it was made
    /// with the volume's own credential. Nor may it be made anew with another.
    fn check_mapping(&self) -> Result<(), CallError> {
        if self.turn.stage.lifetime == Lifetime::Persistent || !self.was_mapped {
            return Ok(());
        }
        self.refuse_others(&self.remote.share())
    }

    fn refuse_others(&self, share: &str) -> Result<(), CallError> {
        let credentials = self.wanted.credentials.as_ref();
        match self.shares.secrets.compare(share, credentials) {
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

    /// Claims the share, and returns whether its mapping is this driver's.
    fn claim(&self, share: &str) -> Result<bool, CallError> {
        let (volume, wanted) = (&self.turn.stage.volume, self.wanted);
        let claim = Claim {
            server: wanted.server.clone(),
            address: self.remote.server(),
            share: share.to_owned(),
            user: wanted.user().map(|user| user.to_lowercase()),
            port: wanted.options.tcp_port,
            whose: self.whose_mapping(),
            boot: self.boot.clone(),
            is_leaving: false,
        };
        let claimed = self.shares.claims.claim(volume, claim);
        let is_ours = claimed.map_err(|refused| match refused {
            Conflict::OtherUser(other) => Refused::OtherUser {
                volume: volume.clone(),
                server: wanted.server.clone(),
                user: wanted.user().map(str::to_owned),
                other,
            },
            Conflict::OtherPort(other) => Refused::OtherPort {
                volume: volume.clone(),
                server: wanted.server.clone(),
                other,
            },
            Conflict::Unmapping => Refused::Unmapping {
                volume: volume.clone(),
                share: share.to_owned(),
            },
        })?;
        if is_ours {
            return Ok(true);
        }
        let has_gone = self.has_gone().inspect_err(|_| self.give_up());
        let has_gone = has_gone?;
        if has_gone {
            self.shares.claims.presume(volume);
        }
        Ok(has_gone)
    }

    /// Whether another's mapping that was there when the call began went before the claim.
    fn has_gone(&self) -> Result<bool, Error> {
        if !self.was_mapped {
            return Ok(false);
        }
        let mapped = self
            .shares
            .mapped_on_the_way(&self.remote, self.turn.deadline)?;
        Ok(!mapped.contains(&self.remote))
    }

    /// Another driver may have left the mapping to this volume after the claim, before there was a record to note it in.
    fn note_adopted(&self, is_ours: bool) -> Result<(), CallError> {
        let claims = &self.shares.claims;
        if is_ours || !claims.is_ours(&self.turn.stage.volume) {
            return Ok(());
        }
        let note = |record: &mut Record<Share>| record.content.made_mapping = true;
        Ok(self.turn.slot.change_of(note)?)
    }

    /// Whether this driver made the mapping in this boot, or is about to.
    fn whose_mapping(&self) -> Whose {
        let made = |record: &Record<Share>| record.made_mapping_in(self.boot.as_deref());
        match self.same_mapping().is_some_and(made) {
            _ if !self.was_mapped => Whose::Presumed,
            true => Whose::Ours,
            false => Whose::Others,
        }
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
        if !self.was_mapped {
            return Ok(false);
        }
        let (staging, path) = (&self.turn.stage.staging, self.remote.path());
        self.shares.leads_to(staging, path, self.turn.deadline)
    }

    /// Writes the record before the first act on the node.
    fn begin(&self, is_ours: bool, taken_over: bool) -> Result<(), CallError> {
        let secret = self.secret_of_mapping();
        let written = match &self.before {
            None => {
                let mut record = self.record(is_ours, taken_over);
                record.content.secret = secret;
                self.turn.slot.put(record)
            }
            Some(_) => self.turn.slot.change_of(|record: &mut Record<Share>| {
                if record.state == State::Unstaging {
                    record.state = State::Staging;
                }
                record.boot.clone_from(&self.boot);
                record.content.made_mapping = is_ours;
                record.content.taken_over = taken_over;
                record.content.remote = self.remote.clone();
                record.content.secret.clone_from(&secret);
                record.content.user = self.wanted.user().map(str::to_owned);
            }),
        };
        let written = written.inspect_err(|_| self.give_up());
        Ok(written?)
    }

    /// The hash of the credential that the share is mapped with after the call, however that ends: that of the mapping, if
    /// the call has the same one. With another one the mapping may be made anew.
    fn secret_of_mapping(&self) -> Option<SecretHash> {
        match self.was_mapped && self.has_credential_of_mapping() {
            true => self.shares.secrets.hash_of(&self.remote.share()),
            false => None,
        }
    }

    fn record(&self, made_mapping: bool, taken_over: bool) -> Record<Share> {
        let mut record = self.turn.stage.record(Share {
            remote: self.remote.clone(),
            server: self.wanted.server.clone(),
            user: self.wanted.user().map(str::to_owned),
            secret: None,
            options: self.wanted.options.clone(),
            made_mapping,
            taken_over,
        });
        record.boot.clone_from(&self.boot);
        record
    }

    fn note_staged(&self, share: &str, outcome: MapOutcome) -> Result<(), CallError> {
        let Shares {
            claims, secrets, ..
        } = self.shares;
        let is_made = match outcome {
            MapOutcome::Made => true,
            // Most likely, if no other volume needed the mapping before.
            MapOutcome::Unreported => claims.users_of(share, self.boot.as_deref()).len() == 1,
            _ => false,
        };
        let is_same = matches!(outcome, MapOutcome::Reused | MapOutcome::ReusedOtherOptions);
        let is_ours = self.is_ours_by(outcome);
        let secret = match is_made || is_same {
            true => secrets.note(share, self.wanted.credentials.as_ref()),
            false if is_ours == Some(false) => {
                secrets.forget(share);
                None
            }
            false => {
                self.compare_secret();
                secrets.hash_of(share)
            }
        };
        match is_ours {
            Some(is_ours) => claims.note_whose(&self.turn.stage.volume, is_ours),
            None => drop(claims.settle(&self.turn.stage.volume, true)),
        }
        if is_made {
            self.note_secret(share, secret.as_ref());
        }
        // Another publish that renewed the mapping in vain may have left the volume to the boot before.
        claims.stay_in(&self.turn.stage.volume, self.boot.as_deref());
        let note = |record: &mut Record<Share>| {
            record.state = State::Staged;
            record.boot.clone_from(&self.boot);
            record.content.made_mapping = is_ours.unwrap_or(record.content.made_mapping);
            record.content.secret = secret;
        };
        self.turn.slot.change_of(note)?;
        self.shares.ctx.note_normal(&self.turn.stage.volume, None);
        Ok(())
    }

    /// Whether the mapping turned out to be this driver's; none if it is whose the claim has it.
    fn is_ours_by(&self, outcome: MapOutcome) -> Option<bool> {
        let whose = self.shares.claims.whose(&self.turn.stage.volume);
        match outcome {
            // Also in place of another's that was of no use any more.
            MapOutcome::Made => Some(true),
            // Another process mapped the share after this call had looked, or one that it found at work.
            MapOutcome::ReusedUnknown if !self.was_mapped || whose == Some(Whose::Presumed) => {
                Some(false)
            }
            _ => None,
        }
    }

    /// The mapping that was just made is that of all volumes of the share.
    fn note_secret(&self, share: &str, secret: Option<&SecretHash>) {
        let boot = self.boot.as_deref();
        for volume in self.shares.claims.users_of(share, boot) {
            let noted = self.shares.ctx.store.slot(&volume).and_then(|slot| {
                slot.change_of(|record: &mut Record<Share>| record.content.secret = secret.cloned())
            });
            if let Err(error) = noted {
                tracing::warn!("volume {volume}: its record has an old credential: {error}");
            }
        }
    }

    fn compare_secret(&self) {
        let volume = &self.turn.stage.volume;
        let credentials = self.wanted.credentials.as_ref();
        self.shares
            .compare_secret(volume, &self.remote, credentials);
    }
}
