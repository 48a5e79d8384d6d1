use wincsi::Deadline;

use super::{Call, CallError, Volumes};
use crate::code::Leftovers;
use crate::kinds::{Kind, StageFn};
use crate::kubelet::{Refusal, Request};
use crate::path::KubeletPath;
use crate::record::{Content, Lifetime, Record, Slot, Targets, VolumeHandle};

/// A volume that is to be staged.
#[derive(Clone, Debug)]
pub struct Stage {
    pub volume: VolumeHandle,
    /// Where: kubelet's staging path, or the target of an inline volume.
    pub staging: KubeletPath,
    pub targets: Targets,
    pub lifetime: Lifetime,
}

/// A call that has the volume to itself, and stages it.
pub struct StageCall<'a> {
    pub(crate) stage: &'a Stage,
    pub(crate) slot: &'a Slot<'a>,
    /// When its steps end.
    pub(crate) deadline: Deadline,
    /// When it ends, and with it an undo.
    pub(crate) end: Deadline,
}

impl Call<'_, Volumes> {
    /// Stages a volume, as its kind does.
    pub fn stage(&self, request: &Request<'_>) -> Result<(), CallError> {
        self.stage_for_kubelet(request, request.staging())
    }

    /// Stages a volume for kubelet. One that is not staged yet, by no driver of this name, is refused for a misspelt key.
    pub(super) fn stage_for_kubelet(
        &self,
        request: &Request<'_>,
        staging: Result<KubeletPath, Refusal>,
    ) -> Result<(), CallError> {
        let volume = &request.volume;
        let is_first = matches!(self.ctx.store.get(volume), Ok(None));
        let Some(kind) = self.kind_for(request).filter(|_| is_first) else {
            return self.stage_at(request, staging);
        };
        let keys = kind.keys(request.lifetime);
        if let (Err(misspelt), Ok(at)) = (keys.check(request), &staging)
            && !kind.is_foreign_live(self.unrecorded(volume, at))?
        {
            return Err(misspelt.into());
        }
        self.stage_at(request, staging)?;
        let unknown = keys.unknown(request);
        if !unknown.is_empty() {
            tracing::info!("volume {volume}: attributes that wincsi does not have: {unknown:?}");
        }
        Ok(())
    }

    /// Stages the volume of a request at a path.
    pub(super) fn stage_at(
        &self,
        request: &Request<'_>,
        staging: Result<KubeletPath, Refusal>,
    ) -> Result<(), CallError> {
        let at = staging?;
        let (stage, kind, staging) = self
            .parse(request, at.clone())
            .map_err(|refusal| self.of_stage(refusal.into(), &request.volume, &at))?;
        self.stage_by(kind, &stage, staging)
    }

    fn parse(
        &self,
        request: &Request<'_>,
        staging: KubeletPath,
    ) -> Result<(Stage, &dyn Kind, StageFn<'_>), Refusal> {
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
    pub fn stage_by(
        &self,
        kind: &dyn Kind,
        stage: &Stage,
        staging: impl FnOnce(&StageCall<'_>) -> Result<(), CallError>,
    ) -> Result<(), CallError> {
        let _waiting = self.ctx.waiting.begin(kind.waits_for(), stage.lifetime)?;
        let _turn = self.ctx.running.alone(&stage.volume)?;
        let slot = self.ctx.store.slot(&stage.volume)?;
        let staged = staging(&StageCall {
            stage,
            slot: &slot,
            deadline: self.end_of_steps(),
            end: self.deadline,
        });
        staged.map_err(|error| self.of_stage(error, &stage.volume, &stage.staging))
    }
}

impl StageCall<'_> {
    /// The record from before the call, unless the volume is staged as something else; `differs` says what a kind finds.
    pub(crate) fn matching_record<C: Content>(
        &self,
        differs: impl FnOnce(&Record<C>) -> Option<&'static str>,
    ) -> Result<Option<Record<C>>, CallError> {
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

    /// A refusal. While something of the volume is left, kubelet calls again.
    pub(crate) fn refused(&self, error: CallError) -> CallError {
        match self.slot.get() {
            Ok(Some(_)) => error.unfinished(),
            Ok(None) => error,
            // Of a volume whose record cannot be read, something may be left.
            Err(unreadable) => unreadable.into(),
        }
    }

    /// What is left after a stage was taken back. The record goes if nothing is.
    pub(crate) fn end_undo(&self, reverted: Result<(), CallError>) -> Leftovers {
        match reverted.and_then(|()| Ok(self.slot.remove()?)) {
            Ok(()) => Leftovers::None,
            Err(error) => {
                let volume = &self.stage.volume;
                tracing::warn!("volume {volume}: cannot undo the stage: {error}");
                Leftovers::Maybe
            }
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

    pub(crate) fn staged_with_another(&self, what: &'static str) -> CallError {
        CallError::StagedOtherwise(self.volume.clone(), what)
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use transport::Code;
    use wincsi::sim::{ClockMode, Inventory, NodeSpec, SimNode};
    use wincsi::{Feature, Node, NodeApi as _, Options};

    use super::*;
    use crate::record::Store;

    #[test]
    fn an_unreadable_record_lets_no_refusal_be_final() {
        let home = tempfile::tempdir().unwrap();
        let stage = Stage {
            volume: VolumeHandle::parse("v").unwrap(),
            staging: r"C:\staging".parse().unwrap(),
            targets: Targets::Many,
            lifetime: Lifetime::Persistent,
        };
        let code = |text: Option<&str>| {
            let folder = home.path().join(text.unwrap_or("none"));
            drop(Store::open(&folder, &[]).unwrap());
            if text.is_some() {
                let file = folder.join(stage.volume.file_name());
                fs::write(file, r#"{"version": 4}"#).unwrap();
            }
            let store = Store::open(&folder, &[]).unwrap();
            let slot = match store.slot(&stage.volume) {
                Ok(slot) => slot,
                Err(error) => return CallError::from(error).code(),
            };
            let (spec, none) = (NodeSpec::named("n"), Inventory::of(0));
            let sim = SimNode::in_memory(&spec, none, ClockMode::Virtual).unwrap();
            let node = Node::new(sim.os(), Options::default());
            let turn = StageCall {
                stage: &stage,
                slot: &slot,
                deadline: node.deadline(Duration::ZERO),
                end: node.deadline(Duration::ZERO),
            };
            let lacks = CallError::HostLacks {
                volume: stage.volume.clone(),
                what: "it",
                feature: Feature::FormatOptions,
            };
            turn.refused(lacks).code()
        };
        assert_eq!(code(None), Code::FailedPrecondition);
        assert_eq!(code(Some("later")), Code::Unavailable);
    }
}
