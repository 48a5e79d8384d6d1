use wincsi::{Cause, Condition, Deadline, Error, WinPath};

use super::{Call, CallError, Context, Volumes};
use crate::code;
use crate::kinds::Kind;
use crate::kubelet::{Refusal, Request};
use crate::path::KubeletPath;
use crate::record::{Lifetime, Record, Slot, State, Targets, VolumeHandle};

/// A staged volume that is to be published.
#[derive(Clone, Debug)]
pub struct Publish {
    pub volume: VolumeHandle,
    pub staging: KubeletPath,
    /// Where the pod finds it.
    pub target: KubeletPath,
    pub targets: Targets,
}

/// A publish before the link is made: the staging path has to be the volume's own.
pub struct PublishCall<'a> {
    pub(crate) publish: &'a Publish,
    pub(crate) record: Record,
    pub(crate) slot: &'a Slot<'a>,
    /// When its steps end.
    pub(crate) deadline: Deadline,
    /// When it ends.
    pub(crate) end: Deadline,
}

impl CallError {
    /// Of a link that was not made.
    pub fn of_link(volume: &VolumeHandle, error: Error) -> Self {
        match (error.condition(), &error.cause) {
            (Some(Condition::AlreadyExists | Condition::NotEmpty), _)
            | (_, Cause::InvalidArgument(_)) => Self::TargetTaken(volume.clone(), Box::new(error)),
            _ => error.into(),
        }
    }

    /// Whether the failure is of a place where no link of this driver can be.
    fn is_of_no_link(&self) -> bool {
        matches!(self, Self::TargetTaken(..)) || self.is(Condition::PathRefused)
    }
}

impl Call<'_, Volumes> {
    /// Publishes a staged volume, or an inline one, which is staged at its target.
    pub fn publish(&self, request: &Request<'_>) -> Result<(), CallError> {
        self.publish_request(request).map_err(|error| {
            match code::is_final(error.code()) && self.is_at_target(request) {
                // After a final code kubelet never unpublishes.
                true => error.unfinished(),
                false => error,
            }
        })
    }

    fn publish_request(&self, request: &Request<'_>) -> Result<(), CallError> {
        if request.lifetime == Lifetime::Inline {
            return self.stage_for_kubelet(request, request.target());
        }
        let kind = self.kind_for(request).ok_or(Refusal::NoKind)?;
        let (proving, targets) = (kind.to_publish(request)?, request.targets()?);
        self.take_over(kind, request);
        if request.staging.is_empty() {
            return Err(CallError::NoStaging);
        }
        let publish = Publish {
            volume: request.volume.clone(),
            staging: request.staging()?,
            target: request.target()?,
            targets,
        };
        self.publish_by(kind, &publish, proving)
    }

    /// A directory link at the target leads to the staging path, which is proved to be this volume's live mount or link,
    /// so that no pod writes to the node's own disk.
    pub fn publish_by(
        &self,
        kind: &dyn Kind,
        request: &Publish,
        proving: impl FnOnce(PublishCall<'_>) -> Result<(), CallError>,
    ) -> Result<(), CallError> {
        let (ctx, volume, target) = (&self.ctx, &request.volume, &request.target);
        let _turn = ctx.running.at(volume, &target.folded())?;
        let slot = ctx.store.slot(volume)?;
        let record = slot.get()?;
        // This driver may have begun a stage before: kubelet publishes what another driver staged.
        let is_begun =
            |record: &Record| record.state == State::Staging && record.kind == kind.name();
        if record.as_ref().is_none_or(is_begun) {
            // Another driver of this name may have staged it.
            return match kind.is_foreign_live(self.unrecorded(volume, &request.staging))? {
                true => ctx.link(request, self.deadline),
                false => Err(request.not_staged(None)),
            };
        }
        let record = record
            .filter(|record| record.state == State::Staged && record.staging == request.staging)
            .ok_or_else(|| request.not_staged(None))?;
        let _waiting = ctx.waiting.begin(kind.waits_for(), record.lifetime)?;
        let deadline = self.end_of_steps();
        proving(PublishCall {
            publish: request,
            record,
            slot: &slot,
            deadline,
            end: self.deadline,
        })?;
        ctx.forget_gone_target(&slot, request, deadline)?;
        ctx.note_target(&slot, request)?;
        let linked = ctx.link(request, deadline);
        if linked.as_ref().is_err_and(CallError::is_of_no_link) {
            slot.change(|record| record.published.retain(|one| one != target))?;
        }
        linked
    }

    /// Whether the volume is at the target, or was about to be, by its record. One that cannot be read may say so.
    fn is_at_target(&self, request: &Request<'_>) -> bool {
        let Ok(target) = request.target() else {
            return false;
        };
        let record = self.ctx.store.get(&request.volume);
        record.map_or(true, |record| {
            record.is_some_and(|record| record.is_at(&target))
        })
    }

    /// Gives a volume that another driver of this name staged a record, if the publish has a Secret: from then on it is
    /// renewed, measured and reported as this driver's own. One that cannot have it is published as it is.
    fn take_over(&self, kind: &dyn Kind, request: &Request<'_>) {
        let (volume, store) = (&request.volume, &self.ctx.store);
        let Ok(at) = &request.staging() else {
            return;
        };
        let is_foreign = || kind.is_foreign_live(self.unrecorded(volume, at));
        if request.secrets.is_empty()
            || !matches!(store.get(volume), Ok(None))
            || !is_foreign().unwrap_or(false)
        {
            return;
        }
        match self.stage_at(request, Ok(at.clone())) {
            Ok(()) => tracing::info!("volume {volume} is taken over from another driver"),
            Err(refusal) => kind.note_not_taken_over(volume, &refusal.to_string()),
        }
    }
}

impl Context {
    /// Forgets the targets of a volume that may have one where nothing is any more, as where an operator removed the folder of a pod
    /// that did not end: kubelet calls no unstage while another pod wants the volume.
    fn forget_gone_target(
        &self,
        slot: &Slot<'_>,
        request: &Publish,
        deadline: Deadline,
    ) -> Result<(), CallError> {
        while let Some(other) = slot.get()?.and_then(|record| request.in_its_way(&record)) {
            // A publish that runs there has noted the target before it makes the link.
            let _turn = self.running.at(&request.volume, &other.folded())?;
            if self.node.filesystem().path_exists(&other, deadline)? {
                break;
            }
            let volume = &request.volume;
            tracing::warn!("volume {volume} is published at {other} no more: nothing is there");
            slot.change(|record| record.published.retain(|one| *one != other))?;
        }
        Ok(())
    }

    /// Checks and notes the target in one step, as another publish may run beside.
    fn note_target(&self, slot: &Slot<'_>, request: &Publish) -> Result<(), CallError> {
        let mut other = None;
        slot.change(|record| {
            other = request.in_its_way(record);
            if other.is_none() && !record.published.contains(&request.target) {
                record.published.push(request.target.clone());
            }
        })?;
        other.map_or(Ok(()), |target| {
            Err(CallError::PublishedElsewhere(
                request.volume.clone(),
                target,
            ))
        })
    }

    fn link(&self, request: &Publish, deadline: Deadline) -> Result<(), CallError> {
        let target = &request.target;
        let made = match self.link_target_to_staging(request, deadline) {
            Err(error) if error.is(Condition::AlreadyExists) => {
                // Kubelet makes an empty folder there; anything else is refused and stays.
                self.clear(target, deadline)
                    .and_then(|()| self.link_target_to_staging(request, deadline))
            }
            made => made,
        };
        made.map_err(|error| CallError::of_link(&request.volume, error))
    }

    fn link_target_to_staging(&self, request: &Publish, deadline: Deadline) -> Result<(), Error> {
        if let Some(parent) = request.target.parent() {
            let files = self.node.filesystem();
            files.make_directory(&parent, deadline)?;
        }
        self.make_link(&request.staging, &request.target, deadline)
    }

    /// Removes an empty directory.
    fn clear(&self, target: &WinPath, deadline: Deadline) -> Result<(), Error> {
        let files = self.node.filesystem();
        match files.is_symlink(target, deadline) {
            Ok(true) => {
                let cause = Cause::InvalidArgument(String::from("another link is there"));
                Err(Error::new("publish at", target, cause))
            }
            Ok(false) => self.remove_entry(target, deadline),
            Err(error) => Err(error),
        }
    }
}

impl Publish {
    pub(crate) fn not_staged(&self, why: Option<String>) -> CallError {
        CallError::NotStaged {
            volume: self.volume.clone(),
            staging: self.staging.clone(),
            why,
        }
    }

    /// The volume could not be staged again. What kept the call from its end is no refusal.
    pub(crate) fn not_staged_again(&self, error: CallError) -> CallError {
        match error.is_refusal() {
            true => self.not_staged(Some(error.to_string())),
            false => error,
        }
    }

    /// Another target of a volume that may have one.
    fn in_its_way(&self, record: &Record) -> Option<KubeletPath> {
        let is_one = self.targets == Targets::One || record.targets == Targets::One;
        let mut others = record.published.iter();
        let other = others.find(|target| **target != self.target);
        other.filter(|_| is_one).cloned()
    }
}
