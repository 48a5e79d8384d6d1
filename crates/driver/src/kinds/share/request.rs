use wincsi::WinPath;
use wincsi::smb::{Credentials, RemotePath};

use super::StageError;
use crate::record::{Lifetime, Record, Share, ShareOptions, State, Targets, VolumeHandle};

/// A NodeStageVolume of a share.
pub struct Stage {
    /// The volume.
    pub volume: VolumeHandle,
    /// Where kubelet wants it.
    pub staging: WinPath,
    /// What the volume is to be like.
    pub wanted: Wanted,
}

/// What a volume that is a share is to be like.
pub struct Wanted {
    /// The share, or the folder below it.
    pub remote: RemotePath,
    /// The server as the volume names it, in lower case.
    pub server: String,
    /// As whom; `None` is without a user.
    pub credentials: Option<Credentials>,
    /// What the mapping is to be like.
    pub options: ShareOptions,
    /// How many targets there may be.
    pub targets: Targets,
    /// How long the volume lives.
    pub lifetime: Lifetime,
}

impl Stage {
    /// As [`Self::agreeing`]; what is left of a stage that did not end is no volume yet, and kubelet calls again.
    pub(crate) fn agreeing_or_left(&self, record: Record) -> Result<Record<Share>, StageError> {
        let is_staged = record.state == State::Staged;
        self.agreeing(record).map_err(|error| match is_staged {
            true => error,
            false => StageError::Unfinished(Box::new(error)),
        })
    }

    /// The record, unless the volume is staged as something else. Another address of the server and another user are no
    /// other volume: names are resolved anew, and secrets change.
    fn agreeing(&self, record: Record) -> Result<Record<Share>, StageError> {
        let otherwise = |what| {
            let volume = self.volume.clone();
            StageError::StagedOtherwise { volume, what }
        };
        let record: Record<Share> = record.of().ok_or_else(|| otherwise("kind of storage"))?;
        let share = &record.what;
        match () {
            () if share.targets != self.wanted.targets => Err(otherwise("capability")),
            () if share.lifetime != self.wanted.lifetime => Err(otherwise("lifetime")),
            () if record.staging != self.staging => Err(otherwise("staging path")),
            () if share.options != self.wanted.options => Err(otherwise("mount options")),
            () if share.server != self.wanted.server || !self.has_same_folder(share) => {
                Err(otherwise("source"))
            }
            () => Ok(record),
        }
    }

    /// Whether share and folder are the same, whatever the server's address is.
    fn has_same_folder(&self, share: &Share) -> bool {
        let below_server = |remote: &RemotePath| {
            let text = remote.to_string().to_lowercase();
            text.trim_start_matches('\\')
                .split_once('\\')
                .map(|(_, folder)| folder.trim_end_matches('\\').to_owned())
        };
        below_server(&share.remote) == below_server(&self.wanted.remote)
    }
}

impl Wanted {
    pub(crate) fn user(&self) -> Option<&str> {
        self.credentials.as_ref().map(Credentials::username)
    }
}
