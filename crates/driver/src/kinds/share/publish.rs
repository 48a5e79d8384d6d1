use wincsi::Error;
use wincsi::smb::{Credentials, MappingStatus};

use super::{RequestedShare, Share, ShareKind};
use crate::leases::Comparison;
use crate::life::{Call, CallError, PublishCall, Stage, StageCall};
use crate::record::{Record, VolumeHandle};

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
        let (call, share) = (self.until(deadline), &record.content);
        let mappings = call.mappings()?;
        let is_live = call.is_share_live(&record, &mappings)?;
        if is_live {
            call.check_folder(&record.volume, &share.remote)?;
        }
        if is_live && !call.is_refused_since(&record, credentials.as_ref())? {
            self.compare_password(&record.volume, &share.remote.share(), credentials.as_ref());
            return Ok(());
        }
        if credentials.is_some() || share.user.is_none() {
            let turn = StageCall {
                stage: &Stage::again(&record),
                slot: proof.slot,
                deadline,
                end: proof.end,
            };
            let staged = self.stage(&turn, &RequestedShare::again(share, credentials));
            return staged.map_err(|error| publish.not_staged_again(error));
        }
        let status = mappings.status(share.remote.path());
        // What is mapped in another boot may be another user's.
        if status == Some(MappingStatus::Ok) && record.is_of_boot(self.leases.boot()) {
            // The link alone is not there.
            self.ctx.remove_entry(&record.staging, deadline)?;
            let to = share.remote.path();
            return Ok(self.ctx.make_link(to, &record.staging, deadline)?);
        }
        let text = format!("{} is not mapped, or does not answer", share.remote.share());
        self.ctx.note_abnormal(&record, self.leases.boot(), &text);
        Err(publish.not_staged(Some(text)))
    }

    /// A persistent volume is served by a mapping with another password or user: Windows has one for each server.
    pub(super) fn compare_password(
        &self,
        volume: &VolumeHandle,
        share: &str,
        credentials: Option<&Credentials>,
    ) {
        match credentials.map(|one| self.compare(share, Some(one))) {
            Some(Comparison::Differs) if self.other_passwords.note(volume) => tracing::warn!(
                "volume {volume}: {share} is mapped with another password or user, and serves it; \
                 the new one is used once no volume of the share is left on this node"
            ),
            Some(Comparison::Same) => self.other_passwords.end(volume),
            _ => {}
        }
    }
}

impl Call<'_, ShareKind> {
    /// Whether the Secret has another password than the mapping, and the server takes that of the mapping no more.
    pub(super) fn is_refused_since(
        &self,
        record: &Record<Share>,
        credentials: Option<&Credentials>,
    ) -> Result<bool, Error> {
        let remote = &record.content.remote;
        let compare = |one| self.compare(&remote.share(), Some(one));
        Ok(credentials.map(compare) == Some(Comparison::Differs) && !self.answers(remote)?)
    }
}
