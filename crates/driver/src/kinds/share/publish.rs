use wincsi::smb::{Credentials, MappingStatus, RemotePath};
use wincsi::{Deadline, Error, Feature};

use super::secrets::Comparison;
use super::{Shares, Stage, StageError, Wanted, status_of};
use crate::life::health::News;
use crate::life::{Publish, PublishError, Shared, Volumes};
use crate::record::{Record, Share, Slot, VolumeHandle};

impl Volumes {
    /// Makes sure that the staging path leads to the share, and that the share is mapped. Where Windows let the mapping go,
    /// as after a restart of the machine, it is made again with the credentials of the request; without any the volume is
    /// abnormal, and a stage has to come first.
    pub(crate) fn prove_share(
        &self,
        record: &Record<Share>,
        slot: &Slot<'_>,
        (request, credentials): (&Publish, Option<Credentials>),
        deadline: Deadline,
    ) -> Result<(), PublishError> {
        let is_live = self.is_share_live(record, deadline);
        if is_live.map_err(Shared::from)? && !self.is_refused_since(record, credentials.as_ref()) {
            self.compare_secret(&record.volume, &record.what.remote, credentials.as_ref());
            return Ok(());
        }
        if credentials.is_some() || record.what.user.is_none() {
            return self.renew(record, slot, (request, credentials), deadline);
        }
        let mappings = self.mappings_of(&record.what.remote, deadline);
        let mappings = mappings.map_err(Shared::from)?;
        let is_ok = status_of(mappings.as_deref()) == Some(MappingStatus::Ok);
        // What is mapped in another boot may be another user's.
        if is_ok && record.is_of_boot(self.boot(deadline).as_deref()) {
            return Ok(self.link_share(record, deadline).map_err(Shared::from)?);
        }
        let share = record.what.remote.share();
        let text = format!("{share} is not mapped, or does not answer");
        self.note_abnormal(&record.volume, &text);
        Err(request.not_staged_as(text))
    }

    /// A persistent volume is served by a mapping with another password: Windows has one for each server.
    pub(crate) fn compare_secret(
        &self,
        volume: &VolumeHandle,
        remote: &RemotePath,
        credentials: Option<&Credentials>,
    ) {
        let Shares {
            secrets,
            other_secrets,
            ..
        } = &self.shares;
        let share = remote.share();
        match credentials.map(|one| secrets.compare(&share, Some(one))) {
            Some(Comparison::Differs) => {
                if other_secrets.note(volume) == News::Changed {
                    tracing::warn!(
                        "volume {volume}: {share} is mapped with another password, and serves it; \
                         the new one is used once no volume of the share is left on this node"
                    );
                }
            }
            Some(Comparison::Same) => other_secrets.end(volume),
            Some(Comparison::Unknown) | None => {}
        }
    }

    /// Whether the Secret has another password than the mapping, and the server takes that of the mapping no more.
    pub(crate) fn is_refused_since(
        &self,
        record: &Record<Share>,
        credentials: Option<&Credentials>,
    ) -> bool {
        let share = record.what.remote.share();
        let compare = |one| self.shares.secrets.compare(&share, Some(one));
        credentials.map(compare) == Some(Comparison::Differs) && self.share_space(record).is_err()
    }

    fn renew(
        &self,
        record: &Record<Share>,
        slot: &Slot<'_>,
        (request, credentials): (&Publish, Option<Credentials>),
        deadline: Deadline,
    ) -> Result<(), PublishError> {
        let share = &record.what;
        let stage = Stage {
            volume: record.volume.clone(),
            staging: record.staging.clone(),
            wanted: Wanted {
                remote: share.remote.clone(),
                server: share.server.clone(),
                credentials,
                options: share.options.clone(),
                targets: share.targets,
                lifetime: share.lifetime,
            },
        };
        let staged = self.stage_share_in_turn(&stage, slot, deadline);
        staged.map_err(|error| match error {
            StageError::Shared(shared) => shared.into(),
            refused => request.not_staged_as(refused),
        })
    }

    /// The mapping is there, and the link alone is not.
    fn link_share(&self, record: &Record<Share>, deadline: Deadline) -> Result<(), Error> {
        let (to, at) = (record.what.remote.path(), &record.staging);
        self.remove_entry(at, deadline)?;
        let files = self.node.filesystem();
        match self.node.supports(Feature::DirectoryLinks) {
            true => files.link_directory(to, at, deadline),
            false => files.create_symlink(to, at, deadline),
        }
    }
}
