use wincsi::smb::{Credentials, MappingStatus, RemotePath};
use wincsi::{Deadline, Error};

use super::{RequestedShare, Share, ShareKind};
use crate::leases::Comparison;
use crate::life::{Call, CallError, Publish, PublishCall, Stage, StageCall};
use crate::record::{Record, Slot, VolumeHandle};

impl ShareKind {
    /// Makes sure that the staging path leads to the share, and that the share is mapped. Where Windows let the mapping go,
    /// as after a restart of the machine, it is made again with the credentials of the request; without any the volume is
    /// abnormal, and a stage has to come first.
    pub fn prove(
        &self,
        proof: PublishCall<'_>,
        credentials: Option<Credentials>,
    ) -> Result<(), CallError> {
        let (publish, deadline) = (proof.publish, proof.deadline);
        let record = proof.record.of::<Share>();
        let record = record.ok_or_else(|| publish.not_staged(None))?;
        let call = self.until(deadline);
        let mappings = call.mappings()?;
        let is_live = call.is_share_live(&record, &mappings)?;
        if is_live && !call.is_refused_since(&record, credentials.as_ref()) {
            self.compare_secret(&record.volume, &record.content.remote, credentials.as_ref());
            return Ok(());
        }
        if credentials.is_some() || record.content.user.is_none() {
            return self.renew(&record, (publish, proof.slot, credentials), deadline);
        }
        let status = mappings.status(record.content.remote.path());
        let is_ok = status == Some(MappingStatus::Ok);
        // What is mapped in another boot may be another user's.
        if is_ok && record.is_of_boot(self.ctx.boot(deadline).as_deref()) {
            return Ok(self.link_share(&record, deadline)?);
        }
        let share = record.content.remote.share();
        let text = format!("{share} is not mapped, or does not answer");
        self.ctx.note_abnormal(&record.volume, &text);
        Err(publish.not_staged(Some(text)))
    }

    /// A persistent volume is served by a mapping with another password: Windows has one for each server.
    pub(super) fn compare_secret(
        &self,
        volume: &VolumeHandle,
        remote: &RemotePath,
        credentials: Option<&Credentials>,
    ) {
        let share = remote.share();
        match credentials.map(|one| self.compare(&share, Some(one))) {
            Some(Comparison::Differs) if self.other_passwords.note(volume) => tracing::warn!(
                "volume {volume}: {share} is mapped with another password, and serves it; \
                 the new one is used once no volume of the share is left on this node"
            ),
            Some(Comparison::Same) => self.other_passwords.end(volume),
            _ => {}
        }
    }

    fn renew(
        &self,
        record: &Record<Share>,
        (publish, slot, credentials): (&Publish, &Slot<'_>, Option<Credentials>),
        deadline: Deadline,
    ) -> Result<(), CallError> {
        let share = &record.content;
        let wanted = RequestedShare {
            remote: share.remote.clone(),
            server: share.server.clone(),
            credentials,
            options: share.options.clone(),
        };
        let turn = StageCall {
            stage: &Stage::again(record),
            slot,
            deadline,
        };
        self.stage(&turn, &wanted)
            .map_err(|error| publish.not_staged_again(error))
    }

    /// The mapping is there, and the link alone is not.
    fn link_share(&self, record: &Record<Share>, deadline: Deadline) -> Result<(), Error> {
        self.ctx.remove_entry(&record.staging, deadline)?;
        let to = record.content.remote.path();
        self.ctx.make_link(to, &record.staging, deadline)
    }
}

impl Call<'_, ShareKind> {
    /// Whether the Secret has another password than the mapping, and the server takes that of the mapping no more.
    pub(super) fn is_refused_since(
        &self,
        record: &Record<Share>,
        credentials: Option<&Credentials>,
    ) -> bool {
        let remote = &record.content.remote;
        let compare = |one| self.compare(&remote.share(), Some(one));
        credentials.map(compare) == Some(Comparison::Differs) && self.space(remote).is_err()
    }
}
