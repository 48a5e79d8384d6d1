mod failure;
mod map;

use wincsi::smb::{MapOutcome, RemotePath};
use wincsi::{Condition, Deadline, Error, Feature};

use super::claims::{Claim, Refused, Whose};
use super::secrets::Comparison;
use super::unstage::Unmapped;
use super::{Shares, Stage, StageError};
use crate::code::Left;
use crate::life::{Shared, Volumes};
use crate::record::{Lifetime, Record, SecretHash, Share, Slot, State, VolumeHandle};

/// One call that stages a share.
pub(crate) struct Staging<'a> {
    volumes: &'a Volumes,
    request: &'a Stage,
    slot: &'a Slot<'a>,
    /// The record from before the call.
    before: Option<Record<Share>>,
    /// The request's path, and how much of it is to be mapped.
    remote: RemotePath,
    /// Whether that was mapped when the call began. A host that does not list mappings has none of others, as far as
    /// anybody can tell.
    was_mapped: bool,
    /// This boot, if the node reports it.
    boot: Option<String>,
    deadline: Deadline,
}

impl Volumes {
    /// Stages a share: it is mapped, unless it is, and a directory link at the staging path leads to it.
    ///
    /// # Errors
    /// See [`StageError`].
    pub fn stage_share(&self, request: &Stage) -> Result<(), StageError> {
        let Stage { volume, wanted, .. } = request;
        self.in_turn(volume, wanted.lifetime, |slot| {
            self.stage_share_in_turn(request, slot, self.deadline())
        })
    }

    /// As [`Self::stage_share`]; the caller has the volume's turn.
    pub(crate) fn stage_share_in_turn(
        &self,
        request: &Stage,
        slot: &Slot<'_>,
        deadline: Deadline,
    ) -> Result<(), StageError> {
        let wanted = self.address_of_pods(request, slot, deadline)?;
        let wanted = wanted.as_ref().unwrap_or(&request.wanted.remote);
        let mapped = self.best_mapped(wanted, deadline);
        let mapped = mapped.map_err(Shared::from)?;
        let stage = |mapped| {
            self.staging_of_share(request, slot, mapped, deadline)?
                .run()
        };
        match stage(mapped) {
            Err(error) if error.is(Condition::CredentialsConflict) => {
                match self.mapped_beside_others(wanted, deadline) {
                    Ok(Some(folder)) => stage((folder, false)),
                    // The conflict is what an operator has to know of.
                    Ok(None) | Err(_) => Err(error),
                }
            }
            staged => staged,
        }
    }

    pub(crate) fn staging_of_share<'a>(
        &'a self,
        request: &'a Stage,
        slot: &'a Slot<'_>,
        (remote, was_mapped): (RemotePath, bool),
        deadline: Deadline,
    ) -> Result<Staging<'a>, StageError> {
        let before = slot.get().map_err(Shared::from)?;
        let before = before
            .map(|record| request.agreeing_or_left(record))
            .transpose()?;
        Ok(Staging {
            volumes: self,
            request,
            slot,
            before,
            remote,
            was_mapped,
            boot: self.boot(deadline),
            deadline,
        })
    }
}

/// What a call has done when it is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Did {
    Nothing,
    Map,
}

impl Staging<'_> {
    fn run(mut self) -> Result<(), StageError> {
        if self.is_done()? {
            return Ok(());
        }
        let share = self.remote.share();
        self.prepare(&share)
            .map_err(|error| self.refuse(error, Did::Nothing))?;
        match self.map() {
            Ok(outcome) => {
                let accepted = self.accept(&share, outcome);
                accepted.map_err(|error| self.refuse(error, Did::Map))?;
                self.note_staged(&share, outcome)
            }
            Err(error) => Err(self.fail(error)),
        }
    }

    /// Whether the volume is staged; then only its credential is compared.
    pub(crate) fn is_done(&self) -> Result<bool, StageError> {
        let is_staged = self.is_staged()?;
        if is_staged {
            self.compare_secret();
        }
        Ok(is_staged)
    }

    /// All that comes before the first act on the node.
    fn prepare(&mut self, share: &str) -> Result<(), StageError> {
        self.check_host()?;
        self.start_over().map_err(Shared::from)?;
        let Shares {
            claims, secrets, ..
        } = &self.volumes.shares;
        if !self.was_mapped
            && self.volumes.node.supports(Feature::MappingList)
            && !claims.is_used(share, self.boot.as_deref())
        {
            secrets.forget(share);
        }
        self.check_mapping()?;
        let taken_over = self.is_taken_over().map_err(Shared::from)?;
        let is_ours = self.claim(share)?;
        self.begin(is_ours, taken_over)?;
        self.note_adopted(is_ours)
    }

    /// Refuses a mapping that was made meanwhile as another user, or for an inline volume with another credential.
    fn accept(&self, share: &str, outcome: MapOutcome) -> Result<(), StageError> {
        let Stage { volume, wanted, .. } = self.request;
        match (outcome, wanted.lifetime) {
            (MapOutcome::ReusedOtherUser, _)
            | (MapOutcome::ReusedOtherSecret, Lifetime::Inline) => Err(StageError::OthersMapping {
                volume: volume.clone(),
                share: share.to_owned(),
                is_known: true,
            }),
            (MapOutcome::ReusedUnknown, Lifetime::Inline)
                if self.is_ours_by(outcome) == Some(false) =>
            {
                // Another process mapped it after this call had looked: what is known is of the mapping before.
                self.disown();
                self.volumes.shares.secrets.forget(share);
                Err(StageError::OthersMapping {
                    volume: volume.clone(),
                    share: share.to_owned(),
                    is_known: false,
                })
            }
            (MapOutcome::ReusedUnknown, Lifetime::Inline) => self.refuse_others(volume, share),
            _ => Ok(()),
        }
    }

    /// A refusal is final, and kubelet may forget the volume: so nothing is left of it, or kubelet calls again.
    fn refuse(&self, error: StageError, did: Did) -> StageError {
        let left = match (&error, &self.before, did) {
            (StageError::Shared(_), _, _) | (_, None, Did::Nothing) => return error,
            (_, Some(record), _) if record.state == State::Staged => {
                if !record.is_of_boot(self.boot.as_deref()) {
                    self.stay_in(record.boot.as_deref());
                }
                Left::Something
            }
            _ => self.undo(),
        };
        match left {
            Left::Nothing => error,
            Left::Something => StageError::Unfinished(Box::new(error)),
        }
    }

    /// Whether nothing is to do: the volume is staged by its record, and the share answers at its mapping.
    fn is_staged(&self) -> Result<bool, StageError> {
        let before = self.before.as_ref();
        let Some(record) = before.filter(|record| record.state == State::Staged) else {
            return Ok(false);
        };
        if record.what.lifetime == Lifetime::Inline && !self.has_credential_of_mapping() {
            return Ok(false);
        }
        let is_live = self.volumes.is_share_live(record, self.deadline);
        let credentials = self.request.wanted.credentials.as_ref();
        Ok(is_live.map_err(Shared::from)? && !self.volumes.is_refused_since(record, credentials))
    }

    fn has_credential_of_mapping(&self) -> bool {
        let credentials = self.request.wanted.credentials.as_ref();
        let secrets = &self.volumes.shares.secrets;
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
        self.volumes.shares.claims.leave(&record.volume);
        let remote = &record.what.remote;
        let unmapped = self.volumes.unmap_unless_used(remote, self.deadline)?;
        let is_same = self.same_mapping().is_some();
        self.was_mapped &= !is_same || unmapped == Unmapped::InUse;
        Ok(())
    }

    fn check_host(&self) -> Result<(), StageError> {
        let Stage { volume, wanted, .. } = self.request;
        let feature = Feature::MappingList;
        match wanted.lifetime {
            Lifetime::Inline if !self.volumes.node.supports(feature) => {
                Err(StageError::HostLacks {
                    volume: volume.clone(),
                    what: "the list of mappings, as an inline volume",
                    feature,
                })
            }
            _ => Ok(()),
        }
    }

    /// An inline volume is its author's, who may name each server: a mapping that is there serves it only if it was made
    /// with the volume's own credential. Nor may it be made anew with another.
    fn check_mapping(&self) -> Result<(), StageError> {
        let Stage { volume, wanted, .. } = self.request;
        if wanted.lifetime == Lifetime::Persistent || !self.was_mapped {
            return Ok(());
        }
        self.refuse_others(volume, &self.remote.share())
    }

    fn refuse_others(&self, volume: &VolumeHandle, share: &str) -> Result<(), StageError> {
        let credentials = self.request.wanted.credentials.as_ref();
        let compared = self.volumes.shares.secrets.compare(share, credentials);
        match compared {
            Comparison::Same => Ok(()),
            Comparison::Differs | Comparison::Unknown => Err(StageError::OthersMapping {
                volume: volume.clone(),
                share: share.to_owned(),
                is_known: compared == Comparison::Differs,
            }),
        }
    }

    /// Claims the share, and returns whether its mapping is this driver's.
    fn claim(&self, share: &str) -> Result<bool, StageError> {
        let Stage { volume, wanted, .. } = self.request;
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
        let claimed = self.volumes.shares.claims.claim(volume, claim);
        let is_ours = claimed.map_err(|refused| match refused {
            Refused::OtherUser(other) => StageError::OtherUser {
                volume: volume.clone(),
                server: wanted.server.clone(),
                user: wanted.user().map(str::to_owned),
                other,
            },
            Refused::OtherPort(other) => StageError::OtherPort {
                volume: volume.clone(),
                server: wanted.server.clone(),
                other,
            },
            Refused::Unmapping => StageError::Unmapping {
                volume: volume.clone(),
                share: share.to_owned(),
            },
        })?;
        if is_ours {
            return Ok(true);
        }
        let has_gone = self.has_gone().inspect_err(|_| self.give_up());
        let has_gone = has_gone.map_err(Shared::from)?;
        if has_gone {
            self.volumes.shares.claims.presume(volume);
        }
        Ok(has_gone)
    }

    /// Whether another's mapping that was there when the call began went before the claim.
    fn has_gone(&self) -> Result<bool, Error> {
        if !self.was_mapped {
            return Ok(false);
        }
        let mapped = self
            .volumes
            .mapped_on_the_way(&self.remote, self.deadline)?;
        Ok(!mapped.contains(&self.remote))
    }

    /// Another driver may have left the mapping to this volume after the claim, before there was a record to note it in.
    fn note_adopted(&self, is_ours: bool) -> Result<(), StageError> {
        let claims = &self.volumes.shares.claims;
        if is_ours || !claims.is_ours(&self.request.volume) {
            return Ok(());
        }
        let note = |record: &mut Record<Share>| record.what.made_mapping = true;
        Ok(self.slot.change(note).map_err(Shared::from)?)
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
        before.filter(|record| record.what.remote.share() == self.remote.share())
    }

    /// Whether another driver staged the volume: by no record of this mapping, the link is there.
    fn is_taken_over(&self) -> Result<bool, Error> {
        if let Some(record) = self.same_mapping() {
            return Ok(record.what.taken_over);
        }
        if !self.was_mapped {
            return Ok(false);
        }
        let (staging, path) = (&self.request.staging, self.remote.path());
        self.volumes.leads_to(staging, path, self.deadline)
    }

    /// Writes the record before the first act on the node.
    fn begin(&self, is_ours: bool, taken_over: bool) -> Result<(), StageError> {
        let secret = self.secret_of_mapping();
        let written = match &self.before {
            None => {
                let mut record = self.record(is_ours, taken_over);
                record.what.secret = secret;
                self.slot.put(record)
            }
            Some(_) => self.slot.change(|record: &mut Record<Share>| {
                if record.state == State::Unstaging {
                    record.state = State::Staging;
                }
                record.boot.clone_from(&self.boot);
                record.what.made_mapping = is_ours;
                record.what.taken_over = taken_over;
                record.what.remote = self.remote.clone();
                record.what.secret.clone_from(&secret);
                record.what.user = self.request.wanted.user().map(str::to_owned);
            }),
        };
        let written = written.inspect_err(|_| self.give_up());
        Ok(written.map_err(Shared::from)?)
    }

    /// The hash of the credential that the share is mapped with after the call, however that ends: that of the mapping, if
    /// the call has the same one. With another one the mapping may be made anew.
    fn secret_of_mapping(&self) -> Option<SecretHash> {
        let is_known = self.was_mapped && self.has_credential_of_mapping();
        let secrets = &self.volumes.shares.secrets;
        is_known
            .then(|| secrets.hash_of(&self.remote.share()))
            .flatten()
    }

    fn record(&self, made_mapping: bool, taken_over: bool) -> Record<Share> {
        let Stage {
            volume,
            staging,
            wanted,
        } = self.request;
        Record {
            volume: volume.clone(),
            state: State::Staging,
            staging: staging.clone(),
            boot: self.boot.clone(),
            published: Vec::new(),
            what: Share {
                remote: self.remote.clone(),
                server: wanted.server.clone(),
                user: wanted.user().map(str::to_owned),
                secret: None,
                options: wanted.options.clone(),
                targets: wanted.targets,
                made_mapping,
                taken_over,
                lifetime: wanted.lifetime,
            },
        }
    }

    fn note_staged(&self, share: &str, outcome: MapOutcome) -> Result<(), StageError> {
        let Shares {
            claims, secrets, ..
        } = &self.volumes.shares;
        let is_made = match outcome {
            MapOutcome::Made => true,
            // Most likely, if no other volume needed the mapping before.
            MapOutcome::Unreported => claims.users_of(share, self.boot.as_deref()).len() == 1,
            _ => false,
        };
        let is_same = matches!(outcome, MapOutcome::Reused | MapOutcome::ReusedOtherOptions);
        let secret = match is_made || is_same {
            true => secrets.note(share, self.request.wanted.credentials.as_ref()),
            false if self.is_ours_by(outcome) == Some(false) => {
                secrets.forget(share);
                None
            }
            false => {
                self.compare_secret();
                secrets.hash_of(share)
            }
        };
        let is_ours = self.is_ours_by(outcome);
        match is_ours {
            Some(is_ours) => claims.note_whose(&self.request.volume, is_ours),
            None => drop(claims.settle(&self.request.volume, true)),
        }
        if is_made {
            self.note_secret(share, secret.as_ref());
        }
        // Another publish that renewed the mapping in vain may have left the volume to the boot before.
        claims.stay_in(&self.request.volume, self.boot.as_deref());
        let note = |record: &mut Record<Share>| {
            record.state = State::Staged;
            record.boot.clone_from(&self.boot);
            record.what.made_mapping = is_ours.unwrap_or(record.what.made_mapping);
            record.what.secret = secret;
        };
        self.slot.change(note).map_err(Shared::from)?;
        self.volumes.note_normal(&self.request.volume, None);
        Ok(())
    }

    /// Whether the mapping turned out to be this driver's; none if it is whose the claim has it.
    fn is_ours_by(&self, outcome: MapOutcome) -> Option<bool> {
        let whose = self.volumes.shares.claims.whose(&self.request.volume);
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
        for volume in self.volumes.shares.claims.users_of(share, boot) {
            let noted = self.volumes.store.slot(&volume).and_then(|slot| {
                slot.change(|record: &mut Record<Share>| record.what.secret = secret.cloned())
            });
            if let Err(error) = noted {
                tracing::warn!("volume {volume}: its record has an old credential: {error}");
            }
        }
    }

    fn compare_secret(&self) {
        let Stage { volume, wanted, .. } = self.request;
        let credentials = wanted.credentials.as_ref();
        self.volumes
            .compare_secret(volume, &self.remote, credentials);
    }
}
