use wincsi::smb::{Credentials, MapOutcome, MapRequest, RemotePath, ResolvedPath};
use wincsi::{Condition, Deadline, Error, Feature, WinPath};

use super::StageError;
use super::claims::{Claim, Refused};
use super::secrets::Comparison;
use crate::code::Left;
use crate::record::{Lifetime, Record, Share, ShareOptions, Slot, State, Targets, VolumeHandle};
use crate::volume::{NodeError, Shared, Volumes};

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

/// One call that stages a share.
struct Staging<'a> {
    volumes: &'a Volumes,
    request: &'a Stage,
    slot: &'a Slot<'a>,
    /// The record from before the call.
    before: Option<Record<Share>>,
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
        let _turn = self.running.alone(&request.volume).map_err(Shared::from)?;
        let slot = self.store.slot(&request.volume).map_err(Shared::from)?;
        self.stage_share_in_turn(request, &slot)
    }

    /// As [`Self::stage_share`]; the caller has the volume's turn.
    pub(super) fn stage_share_in_turn(
        &self,
        request: &Stage,
        slot: &Slot<'_>,
    ) -> Result<(), StageError> {
        let before = slot.get().map_err(Shared::from)?;
        let before = before.map(|record| request.agreeing(record)).transpose()?;
        let deadline = self.deadline();
        let staging = Staging {
            volumes: self,
            request,
            slot,
            before,
            boot: self.boot(deadline),
            deadline,
        };
        staging.run()
    }
}

impl Staging<'_> {
    fn run(self) -> Result<(), StageError> {
        if self.is_staged()? {
            self.compare_secret();
            return Ok(());
        }
        self.check_host()?;
        self.start_over().map_err(Shared::from)?;
        self.check_mapping()?;
        let share = self.request.wanted.remote.share();
        let is_ours = self.claim(&share)?;
        self.begin(is_ours)?;
        match self.map() {
            Ok(outcome) => self.note_staged(&share, outcome),
            Err(error) => Err(self.fail(error)),
        }
    }

    /// Whether nothing is to do: the volume is staged by its record, and the share answers at its mapping.
    fn is_staged(&self) -> Result<bool, StageError> {
        let before = self.before.as_ref();
        let Some(record) = before.filter(|record| record.state == State::Staged) else {
            return Ok(false);
        };
        let is_live = self.volumes.is_share_live(record, self.deadline);
        Ok(is_live.map_err(Shared::from)?)
    }

    /// A driver that died in a stage may have mapped the share, and nobody knows with which credential. If no other volume
    /// uses that mapping, it goes.
    fn start_over(&self) -> Result<(), Error> {
        let interrupted = self
            .before
            .as_ref()
            .filter(|record| record.state == State::Staging);
        match interrupted {
            Some(record) if record.made_mapping_in(self.boot.as_deref()) => {
                self.volumes.shares.claims.leave(&record.volume);
                self.volumes
                    .unmap_unless_used(&record.what.remote, self.deadline)
            }
            _ => Ok(()),
        }
    }

    fn check_host(&self) -> Result<(), StageError> {
        let Stage { volume, wanted, .. } = self.request;
        let lacks = |what, feature| StageError::HostLacks {
            volume: volume.clone(),
            what,
            feature,
        };
        let supports = |feature| self.volumes.node.supports(feature);
        if wanted.options != ShareOptions::default() && !supports(Feature::MapOptions) {
            return Err(lacks("mount options", Feature::MapOptions));
        }
        if wanted.lifetime == Lifetime::Inline && !supports(Feature::MappingList) {
            return Err(lacks(
                "the list of mappings, as an inline volume",
                Feature::MappingList,
            ));
        }
        Ok(())
    }

    /// An inline volume is its author's, who may name each server: a mapping that is there serves it only if it was made
    /// with the volume's own credential. Nor may it be made anew with another.
    fn check_mapping(&self) -> Result<(), StageError> {
        let Stage { volume, wanted, .. } = self.request;
        if wanted.lifetime == Lifetime::Persistent {
            return Ok(());
        }
        let is_mapped = self.volumes.is_mapped(&wanted.remote, self.deadline);
        if !is_mapped.map_err(Shared::from)? {
            return Ok(());
        }
        self.refuse_others(volume, &wanted.remote.share())
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
            share: share.to_owned(),
            user: wanted.user().map(|user| user.to_lowercase()),
            is_ours: self.makes_mapping().map_err(Shared::from)?,
            is_leaving: false,
        };
        let claimed = self.volumes.shares.claims.claim(volume, claim);
        claimed.map_err(|refused| match refused {
            Refused::OtherUser(other) => StageError::OtherUser {
                volume: volume.clone(),
                server: wanted.server.clone(),
                user: wanted.user().map(str::to_owned),
                other,
            },
            Refused::Unmapping => StageError::Unmapping {
                volume: volume.clone(),
                share: share.to_owned(),
            },
        })
    }

    /// Whether this driver made the mapping in this boot, or is about to. A host that does not list mappings has none of others, as far
    /// as anybody can tell.
    fn makes_mapping(&self) -> Result<bool, Error> {
        let before = self.before.as_ref();
        if before.is_some_and(|record| record.made_mapping_in(self.boot.as_deref())) {
            return Ok(true);
        }
        let remote = &self.request.wanted.remote;
        let is_mapped = self.volumes.is_mapped(remote, self.deadline);
        match self.volumes.node.supports(Feature::MappingList) {
            true => is_mapped.map(|is_mapped| !is_mapped),
            false => Ok(true),
        }
    }

    /// Writes the record before the first act on the node.
    fn begin(&self, is_ours: bool) -> Result<(), StageError> {
        let written = match &self.before {
            None => self
                .slot
                .put(self.request.record(is_ours, self.boot.clone())),
            Some(_) => self.slot.change(|record: &mut Record<Share>| {
                if record.state == State::Unstaging {
                    record.state = State::Staging;
                }
                record.boot.clone_from(&self.boot);
                record.what.made_mapping = is_ours;
                record.what.remote = self.request.wanted.remote.clone();
                record.what.user = self.request.wanted.user().map(str::to_owned);
            }),
        };
        if written.is_err() && self.before.is_none() {
            self.volumes.shares.claims.release(&self.request.volume);
        }
        Ok(written.map_err(Shared::from)?)
    }

    /// Maps the share and makes the link. What kubelet or a volume before left at the staging path goes: an empty
    /// directory, or a link that leads elsewhere.
    fn map(&self) -> Result<MapOutcome, Error> {
        match self.map_with_link() {
            Err(error) if error.is(Condition::AlreadyExists) => {
                self.volumes
                    .remove_entry(&self.request.staging, self.deadline)?;
                self.map_with_link()
            }
            done => done,
        }
    }

    fn map_with_link(&self) -> Result<MapOutcome, Error> {
        let Stage {
            staging, wanted, ..
        } = self.request;
        let node = &self.volumes.node;
        if let Some(parent) = staging.parent() {
            node.filesystem().make_directory(&parent, self.deadline)?;
        }
        let link = ResolvedPath::from(staging);
        let mut request = MapRequest::of(&wanted.remote)
            .with_credentials(wanted.credentials.as_ref())
            .with_link(&link);
        if node.supports(Feature::MapOptions) {
            request = request.with_options(wanted.options.of_mapping());
        }
        node.smb().map(&request, self.deadline)
    }

    fn note_staged(&self, share: &str, outcome: MapOutcome) -> Result<(), StageError> {
        let secrets = &self.volumes.shares.secrets;
        let is_made = match outcome {
            MapOutcome::Made => true,
            // Most likely, if no other volume needed the mapping before.
            MapOutcome::Unreported => self.volumes.shares.claims.users_of(share).len() == 1,
            _ => false,
        };
        let secret = match is_made {
            true => secrets.note(share, self.request.wanted.credentials.as_ref()),
            false => {
                self.compare_secret();
                secrets.hash_of(share)
            }
        };
        let note = |record: &mut Record<Share>| {
            record.state = State::Staged;
            record.what.secret = secret;
        };
        self.slot.change(note).map_err(Shared::from)?;
        self.volumes.note_normal(&self.request.volume, None);
        Ok(())
    }

    /// A persistent volume is served by a mapping with another password: Windows has one for each server.
    fn compare_secret(&self) {
        let wanted = &self.request.wanted;
        let (share, credentials) = (wanted.remote.share(), wanted.credentials.as_ref());
        let shares = &self.volumes.shares;
        if shares.secrets.compare(&share, credentials) == Comparison::Differs {
            shares.note_other_secret();
            let volume = &self.request.volume;
            tracing::warn!(
                "volume {volume}: {share} is mapped with another password, and serves it; \
                 the new one is used once no volume of the share is left on this node"
            );
        }
    }

    fn fail(&self, error: Error) -> StageError {
        let left = match &self.before {
            Some(_) => Left::Something,
            None if error.is_transient() => Left::Something,
            None => self.undo(),
        };
        Shared::from(Box::new(NodeError { error, left })).into()
    }

    /// The record goes if nothing is left of the volume.
    fn undo(&self) -> Left {
        let (volume, deadline) = (&self.request.volume, self.volumes.deadline());
        let undone = self.take_back(deadline);
        let undone = undone.map_err(Shared::from);
        match undone.and_then(|()| Ok(self.slot.remove()?)) {
            Ok(()) => Left::Nothing,
            Err(error) => {
                tracing::warn!("volume {volume}: cannot undo the stage: {error}");
                Left::Something
            }
        }
    }

    fn take_back(&self, deadline: Deadline) -> Result<(), Error> {
        let mark = |record: &mut Record| record.state = State::Unstaging;
        if let Err(error) = self.slot.change(mark) {
            tracing::warn!("the record is not marked: {error}");
        }
        match self.slot.get().ok().flatten().and_then(Record::of) {
            Some(record) => self
                .volumes
                .put_away_share(&record, &record.staging, deadline),
            None => Ok(()),
        }
    }
}

impl Stage {
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

    fn record(&self, made_mapping: bool, boot: Option<String>) -> Record<Share> {
        Record {
            volume: self.volume.clone(),
            state: State::Staging,
            staging: self.staging.clone(),
            boot,
            published: Vec::new(),
            what: Share {
                remote: self.wanted.remote.clone(),
                server: self.wanted.server.clone(),
                user: self.wanted.user().map(str::to_owned),
                secret: None,
                options: self.wanted.options.clone(),
                targets: self.wanted.targets,
                made_mapping,
                lifetime: self.wanted.lifetime,
            },
        }
    }
}

impl Wanted {
    fn user(&self) -> Option<&str> {
        self.credentials.as_ref().map(Credentials::username)
    }
}
