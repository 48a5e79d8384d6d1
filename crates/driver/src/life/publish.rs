use transport::Code;
use wincsi::smb::Credentials;
use wincsi::{Cause, Condition, Deadline, Error, Feature, WinPath};

use super::{Shared, Volumes};
use crate::record::{ByKind, Record, Slot, State, Targets, VolumeHandle, What};

/// A NodePublishVolume.
#[derive(Clone, Debug)]
pub struct Publish {
    /// The volume.
    pub volume: VolumeHandle,
    /// Where it is staged.
    pub staging: WinPath,
    /// Where the pod finds it.
    pub target: WinPath,
    /// How many targets there may be.
    pub targets: Targets,
}

/// Why a volume was not published.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// The volume is not staged at that path.
    #[error("volume {volume} is not staged at {staging}{}", because(why.as_deref()))]
    NotStaged {
        /// The volume.
        volume: VolumeHandle,
        /// The path that kubelet named.
        staging: WinPath,
        /// Why it could not be staged there again, if it was tried.
        why: Option<String>,
    },
    /// The volume may have one target, and has it.
    #[error("volume {volume} is published at {target}, and may have one target only")]
    PublishedElsewhere {
        /// The volume.
        volume: VolumeHandle,
        /// The target that it has.
        target: WinPath,
    },
    /// Something else is at the target.
    #[error("cannot publish volume {volume}: {error}")]
    TargetTaken {
        /// The volume.
        volume: VolumeHandle,
        /// What is there.
        error: Box<Error>,
    },
    /// What may keep each call from its end.
    #[error(transparent)]
    Shared(#[from] Shared),
}

impl PublishError {
    /// Of a link that was not made.
    pub(crate) fn of_link(volume: &VolumeHandle, error: Error) -> Self {
        match (error.condition(), &error.cause) {
            (Some(Condition::AlreadyExists | Condition::NotEmpty), _)
            | (_, Cause::InvalidArgument(_)) => Self::TargetTaken {
                volume: volume.clone(),
                error: Box::new(error),
            },
            _ => Shared::from(error).into(),
        }
    }

    /// The code for kubelet.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::NotStaged { .. } | Self::PublishedElsewhere { .. } => Code::FailedPrecondition,
            Self::TargetTaken { .. } => Code::AlreadyExists,
            Self::Shared(shared) => shared.code(),
        }
    }
}

impl Volumes {
    /// Publishes a staged volume: a directory link at the target leads to the staging path, which is proved to be this
    /// volume's live mount or link, so that no pod writes to the node's own disk. With credentials, the mapping of a share
    /// is made again where Windows let it go.
    ///
    /// # Errors
    /// See [`PublishError`].
    pub fn publish(
        &self,
        request: &Publish,
        credentials: Option<Credentials>,
    ) -> Result<(), PublishError> {
        let (volume, target) = (&request.volume, &request.target);
        let turn = self.running.at(volume, &target.folded());
        let _turn = turn.map_err(Shared::from)?;
        let slot = self.store.slot(volume).map_err(Shared::from)?;
        let record = slot.get().map_err(Shared::from)?;
        if record.as_ref().is_none_or(is_begun_share) {
            return self.publish_unrecorded(request);
        }
        let record = record
            .filter(|record| record.state == State::Staged && record.staging == request.staging)
            .ok_or_else(|| request.not_staged())?;
        let _waiting = self.wait_for_server_of(&record).map_err(Shared::from)?;
        // One for all of it: kubelet waits two minutes.
        let deadline = self.deadline();
        self.prove(record, &slot, (request, credentials), deadline)?;
        self.forget_gone_target(&slot, request, deadline)?;
        self.note_target(&slot, request)?;
        let linked = self.link(request, deadline);
        if let Err(PublishError::TargetTaken { .. }) = &linked {
            let forget = |record: &mut Record| record.published.retain(|one| one != target);
            slot.change(forget).map_err(Shared::from)?;
        }
        linked
    }

    /// Whether the volume is at a path, or was about to be, by its record.
    pub(crate) fn is_at(&self, volume: &VolumeHandle, path: &WinPath) -> bool {
        let record = self.store.get(volume).ok().flatten();
        record.is_some_and(|record| record.is_at(path))
    }

    /// Publishes a share that another driver of this name staged, if it is mapped. This driver may have begun before: kubelet
    /// publishes what is staged.
    fn publish_unrecorded(&self, request: &Publish) -> Result<(), PublishError> {
        let is_live = self.is_unrecorded_live(&request.volume, &request.staging);
        match is_live.map_err(Shared::from)? {
            true => self.link(request, self.deadline()),
            false => Err(request.not_staged()),
        }
    }

    /// Forgets the targets of a volume that may have one where nothing is any more, as where an operator removed the folder of a pod
    /// that did not end: kubelet calls no unstage while another pod wants the volume.
    fn forget_gone_target(
        &self,
        slot: &Slot<'_>,
        request: &Publish,
        deadline: Deadline,
    ) -> Result<(), Shared> {
        while let Some(other) = slot.get()?.and_then(|record| request.in_its_way(&record)) {
            // A publish that runs there has noted the target before it makes the link.
            let _turn = self.running.at(&request.volume, &other.folded())?;
            if self.node.filesystem().path_exists(&other, deadline)? {
                break;
            }
            let volume = &request.volume;
            tracing::warn!("volume {volume} is published at {other} no more: nothing is there");
            let forget = |record: &mut Record| record.published.retain(|one| *one != other);
            slot.change(forget)?;
        }
        Ok(())
    }

    /// Checks and notes the target in one step, as another publish may run beside.
    fn note_target(&self, slot: &Slot<'_>, request: &Publish) -> Result<(), PublishError> {
        let mut checked = Ok(());
        let note = |record: &mut Record| {
            checked = request.check_targets(record);
            if checked.is_ok() && !record.published.contains(&request.target) {
                record.published.push(request.target.clone());
            }
        };
        slot.change(note).map_err(Shared::from)?;
        checked
    }

    /// Makes sure that the staging path is the volume's own, and makes it so where it was, as after a reboot.
    fn prove(
        &self,
        record: Record,
        slot: &Slot<'_>,
        (request, credentials): (&Publish, Option<Credentials>),
        deadline: Deadline,
    ) -> Result<(), PublishError> {
        match record.by_kind() {
            ByKind::Disk(record) => self.prove_disk(&record, slot, request, deadline),
            ByKind::Share(record) => {
                self.prove_share(&record, slot, (request, credentials), deadline)
            }
        }
    }

    fn link(&self, request: &Publish, deadline: Deadline) -> Result<(), PublishError> {
        let target = &request.target;
        let made = match self.make_link(request, deadline) {
            Err(error) if error.is(Condition::AlreadyExists) => {
                // Kubelet makes an empty folder there; anything else is refused and stays.
                self.clear(target, deadline)
                    .and_then(|()| self.make_link(request, deadline))
            }
            made => made,
        };
        made.map_err(|error| PublishError::of_link(&request.volume, error))
    }

    fn make_link(&self, request: &Publish, deadline: Deadline) -> Result<(), Error> {
        let files = self.node.filesystem();
        if let Some(parent) = request.target.parent() {
            files.make_directory(&parent, deadline)?;
        }
        let (staging, target) = (&request.staging, &request.target);
        match self.node.supports(Feature::DirectoryLinks) {
            true => files.link_directory(staging, target, deadline),
            false => files.create_symlink(staging, target, deadline),
        }
    }

    /// Removes an empty directory.
    fn clear(&self, target: &WinPath, deadline: Deadline) -> Result<(), Error> {
        let files = self.node.filesystem();
        match files.is_symlink(target, deadline) {
            Ok(true) => Err(Error::new(
                "publish at",
                target,
                Cause::InvalidArgument(String::from("another link is there")),
            )),
            Ok(false) => self.remove_entry(target, deadline),
            Err(error) => Err(error),
        }
    }
}

fn is_begun_share(record: &Record) -> bool {
    record.state == State::Staging && matches!(record.what, What::Share(_))
}

fn because(why: Option<&str>) -> String {
    why.map_or_else(String::new, |why| format!(": {why}"))
}

impl Publish {
    pub(crate) fn not_staged(&self) -> PublishError {
        PublishError::NotStaged {
            volume: self.volume.clone(),
            staging: self.staging.clone(),
            why: None,
        }
    }

    /// The same, where it was tried to stage the volume again.
    pub(crate) fn not_staged_as(&self, why: impl ToString) -> PublishError {
        PublishError::NotStaged {
            volume: self.volume.clone(),
            staging: self.staging.clone(),
            why: Some(why.to_string()),
        }
    }

    fn check_targets(&self, record: &Record) -> Result<(), PublishError> {
        match self.in_its_way(record) {
            Some(target) => Err(PublishError::PublishedElsewhere {
                volume: self.volume.clone(),
                target,
            }),
            None => Ok(()),
        }
    }

    /// Another target of a volume that may have one.
    fn in_its_way(&self, record: &Record) -> Option<WinPath> {
        let is_one = self.targets == Targets::One || record.targets() == Targets::One;
        let mut others = record.published.iter();
        let other = others.find(|target| **target != self.target);
        other.filter(|_| is_one).cloned()
    }
}
