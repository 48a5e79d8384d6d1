use transport::Code;
use wincsi::{Condition, Deadline, Feature, WinPath};

use super::{Context, ErrorOfKind, Shared, Volumes};
use crate::in_flight::Busy;
use crate::kinds::{Kind, Staging};
use crate::kubelet::{Refusal, Request};
use crate::record::{Content, Lifetime, Record, Slot, State, StoreError, Targets, VolumeHandle};

/// A volume that is to be staged.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The volume.
    pub volume: VolumeHandle,
    /// Where: kubelet's staging path, or the target of an inline volume.
    pub staging: WinPath,
    /// How many targets there may be.
    pub targets: Targets,
    /// How long the volume lives.
    pub lifetime: Lifetime,
}

/// A call that has the volume to itself, and stages it.
pub struct Turn<'a> {
    pub(crate) stage: &'a Stage,
    pub(crate) slot: &'a Slot<'a>,
    /// When the call ends.
    pub(crate) deadline: Deadline,
}

/// Why a volume was not staged.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// The request is refused.
    #[error(transparent)]
    Request(#[from] Refusal),
    /// The host mode cannot do what the volume needs.
    #[error(
        "volume {volume} needs {what}, which -host=proxy does not have ({feature}): use -host=native"
    )]
    HostLacks {
        /// The volume.
        volume: VolumeHandle,
        /// What it needs.
        what: &'static str,
        /// The feature that the host lacks.
        feature: Feature,
    },
    /// The volume is staged as something else.
    #[error("volume {volume} is staged with another {what}")]
    StagedOtherwise {
        /// The volume.
        volume: VolumeHandle,
        /// What differs.
        what: &'static str,
    },
    /// The kind refuses the volume.
    #[error(transparent)]
    OfKind(#[from] ErrorOfKind),
    /// The volume is refused, and something of an earlier call is left of it: kubelet calls again.
    #[error(transparent)]
    Unfinished(Box<Self>),
    /// What may keep each call from its end.
    #[error(transparent)]
    Shared(#[from] Shared),
}

impl StageError {
    /// The code for kubelet.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::Request(_) => Code::InvalidArgument,
            Self::HostLacks { .. } => Code::FailedPrecondition,
            Self::StagedOtherwise { .. } => Code::AlreadyExists,
            Self::OfKind(refused) => refused.code(),
            Self::Unfinished(_) => Code::Unavailable,
            Self::Shared(shared) => shared.code(),
        }
    }

    /// Whether the node failed so.
    pub(crate) fn is(&self, condition: Condition) -> bool {
        match self {
            Self::Shared(Shared::Node(failed)) => failed.error.is(condition),
            _ => false,
        }
    }

    pub(crate) fn unfinished(self) -> Self {
        Self::Unfinished(Box::new(self))
    }
}

impl From<StoreError> for StageError {
    fn from(error: StoreError) -> Self {
        Shared::from(error).into()
    }
}

impl From<Busy> for StageError {
    fn from(busy: Busy) -> Self {
        Shared::from(busy).into()
    }
}

impl From<wincsi::Error> for StageError {
    fn from(error: wincsi::Error) -> Self {
        Shared::from(error).into()
    }
}

impl Volumes {
    /// Stages a volume, as its kind does.
    ///
    /// # Errors
    /// See [`StageError`].
    pub fn stage(&self, request: &Request<'_>) -> Result<(), StageError> {
        self.stage_at(request, request.staging())
    }

    /// Stages the volume of a request at a path. After a final code kubelet may forget the volume: a refused request has
    /// none while something of an earlier call is left of it.
    pub(super) fn stage_at(
        &self,
        request: &Request<'_>,
        staging: Result<WinPath, Refusal>,
    ) -> Result<(), StageError> {
        let read = staging.and_then(|staging| self.read(request, staging));
        let staged = read
            .map_err(StageError::from)
            .and_then(|(stage, kind, staging)| self.ctx.stage(&stage, kind.waits_for(), staging));
        staged.map_err(|error| match error {
            StageError::Request(_) if self.is_left(&request.volume, request.lifetime) => {
                error.unfinished()
            }
            error => error,
        })
    }

    fn read(
        &self,
        request: &Request<'_>,
        staging: WinPath,
    ) -> Result<(Stage, &dyn Kind, Staging<'_>), Refusal> {
        let kind = self.kind_for(request).ok_or(Refusal::NoKind)?;
        let stage = Stage {
            volume: request.volume.clone(),
            staging,
            targets: request.targets()?,
            lifetime: request.lifetime,
        };
        Ok((stage, kind, kind.to_stage(request)?))
    }

    /// Stages a volume in a way that its kind made of a request.
    ///
    /// # Errors
    /// See [`StageError`].
    pub fn stage_by<K: Kind>(
        &self,
        kind: &K,
        stage: &Stage,
        staging: impl FnOnce(&Turn<'_>) -> Result<(), StageError>,
    ) -> Result<(), StageError> {
        self.ctx.stage(stage, kind.waits_for(), staging)
    }
}

impl Context {
    fn stage(
        &self,
        stage: &Stage,
        waits_for: Option<&'static str>,
        staging: impl FnOnce(&Turn<'_>) -> Result<(), StageError>,
    ) -> Result<(), StageError> {
        let waiting = self.waiting.begin(waits_for, stage.lifetime);
        let _waiting = waiting.map_err(Shared::from)?;
        let _turn = self.running.alone(&stage.volume)?;
        let slot = self.store.slot(&stage.volume)?;
        staging(&Turn {
            stage,
            slot: &slot,
            deadline: self.deadline(),
        })
    }
}

impl Turn<'_> {
    /// The record from before the call, unless the volume is staged as something else; `differs` says what a kind finds.
    pub(crate) fn agreeing<C: Content>(
        &self,
        differs: impl FnOnce(&Record<C>) -> Option<&'static str>,
    ) -> Result<Option<Record<C>>, StageError> {
        let Some(record) = self.slot.get()? else {
            return Ok(None);
        };
        let of_kind = record.of();
        let otherwise = match &of_kind {
            None => Some("kind of storage"),
            Some(record) => self.stage.differs(record).or_else(|| differs(record)),
        };
        match otherwise {
            Some(what) => Err(self.refused(self.stage.staged_with_another(what))),
            None => Ok(of_kind),
        }
    }

    /// A refusal. What is left of a stage that did not end is no volume yet, and kubelet calls again.
    pub(crate) fn refused(&self, error: StageError) -> StageError {
        let state = self.slot.get().ok().flatten().map(|record| record.state);
        match state {
            None | Some(State::Staged) => error,
            Some(_) => error.unfinished(),
        }
    }
}

impl Stage {
    /// A volume of a record, staged anew.
    pub(crate) fn again<C>(record: &Record<C>) -> Self {
        Self {
            volume: record.volume.clone(),
            staging: record.staging.clone(),
            targets: record.targets,
            lifetime: record.lifetime,
        }
    }

    /// The record of a stage that begins.
    pub(crate) fn record<C: Content>(&self, content: C) -> Record<C> {
        let mut record = Record::new(self.volume.clone(), self.staging.clone(), content);
        record.targets = self.targets;
        record.lifetime = self.lifetime;
        record
    }

    pub(crate) fn staged_with_another(&self, what: &'static str) -> StageError {
        let volume = self.volume.clone();
        StageError::StagedOtherwise { volume, what }
    }

    fn differs<C>(&self, record: &Record<C>) -> Option<&'static str> {
        match () {
            () if record.targets != self.targets => Some("capability"),
            () if record.lifetime != self.lifetime => Some("lifetime"),
            () if record.staging != self.staging => Some("staging path"),
            () => None,
        }
    }
}
