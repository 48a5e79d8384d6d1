mod undo;

use std::time::Duration;

use wincsi::disks::{Criterion, DiskQuery, FoundDisk};
use wincsi::volumes::{FoundVolume, NewSize, Resized, VolumeId};
use wincsi::{Cause, Condition, Deadline, Error, Feature, ResultExt as _, WinPath};

use self::undo::{Failure, StepError, Undo};
use super::StageError;
use crate::life::reconcile::Place;
use crate::life::{Shared, Volumes};
use crate::record::{Access, Disk, Record, Slot, State, VolumeHandle, Wanted};

/// How long a stage waits for a disk that the controller has just attached. It leaves time for the rest of the call.
pub(crate) const ARRIVAL: Duration = Duration::from_secs(60);

/// A NodeStageVolume of a disk.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The volume.
    pub volume: VolumeHandle,
    /// Where kubelet wants it.
    pub staging: WinPath,
    /// The properties that identify the disk.
    pub disk: DiskQuery,
    /// What the volume is to be like.
    pub wanted: Wanted,
}

/// One call that stages a volume.
struct Staging<'a> {
    volumes: &'a Volumes,
    request: &'a Stage,
    slot: &'a Slot<'a>,
    /// The record from before the call.
    before: Option<Record<Disk>>,
    deadline: Deadline,
}

impl Volumes {
    /// Stages a volume: finds its disk, brings it online, partitions and formats it if it is blank, mounts it at the
    /// staging path, and grows it to its end.
    ///
    /// The call undoes a failure that does not go away by itself. If the volume was staged before the call, by its record
    /// or by a mount at the path, nothing is undone, because pods may have files open.
    ///
    /// # Errors
    /// See [`StageError`].
    pub fn stage(&self, request: &Stage) -> Result<(), StageError> {
        let volume = &request.volume;
        let _turn = self.running.alone(volume).map_err(Shared::from)?;
        let slot = self.store.slot(volume).map_err(Shared::from)?;
        let before = slot.get().map_err(Shared::from)?;
        let state = before.as_ref().map(|record| record.state);
        let checked = self.check_host(request);
        let before = checked.and_then(|()| self.agreeing(request, &slot, before));
        let before = before.map_err(|error| match (error, state) {
            (shared @ StageError::Shared(_), _) => shared,
            (refused, None | Some(State::Staged)) => refused,
            // What is left of a stage that did not end is no volume yet.
            (refused, Some(_)) => refused.unfinished(),
        })?;
        self.staging(request, &slot, before, self.deadline()).run()
    }

    /// The record, unless the volume is staged as something else. A disk that is attached again may come to another
    /// place: the request says where it is, and its volume is compared.
    fn agreeing(
        &self,
        request: &Stage,
        slot: &Slot<'_>,
        record: Option<Record>,
    ) -> Result<Option<Record<Disk>>, StageError> {
        let Some(record) = record else {
            return Ok(None);
        };
        let mut record = request.agreeing(record)?;
        if record.what.query == request.disk {
            return Ok(Some(record));
        }
        let elsewhere = self.is_live_elsewhere(&record, &request.disk);
        if elsewhere.map_err(Shared::from)? {
            return Err(request.staged_with_another("disk"));
        }
        record.what.query.clone_from(&request.disk);
        let place = |record: &mut Record<Disk>| record.what.query.clone_from(&request.disk);
        slot.change(place).map_err(Shared::from)?;
        Ok(Some(record))
    }

    /// Whether the volume is mounted, and from another disk than this.
    fn is_live_elsewhere(&self, record: &Record<Disk>, disk: &DiskQuery) -> Result<bool, Error> {
        let (node, deadline) = (&self.node, self.deadline());
        let is_live = self.disk_place(record, deadline)? == Place::Live;
        let Some(volume) = record.what.mounted.filter(|_| is_live) else {
            return Ok(false);
        };
        let named = node.disks().find(disk, deadline);
        match named.none_if(Condition::NotFound)? {
            Some(named) => Ok(!named.holds(volume, node.as_ref(), deadline)?),
            None => Ok(true),
        }
    }

    /// Stages a volume anew from its record, as after a reboot.
    pub(crate) fn restage(
        &self,
        record: &Record<Disk>,
        slot: &Slot<'_>,
        deadline: Deadline,
    ) -> Result<(), StageError> {
        let request = Stage {
            volume: record.volume.clone(),
            staging: record.staging.clone(),
            disk: record.what.query.clone(),
            wanted: record.what.wanted.clone(),
        };
        self.staging(&request, slot, Some(record.clone()), deadline)
            .run()
    }

    fn staging<'a>(
        &'a self,
        request: &'a Stage,
        slot: &'a Slot<'a>,
        before: Option<Record<Disk>>,
        deadline: Deadline,
    ) -> Staging<'a> {
        Staging {
            volumes: self,
            request,
            slot,
            before,
            deadline,
        }
    }

    /// Refuses what the host cannot do, before anything is changed.
    fn check_host(&self, request: &Stage) -> Result<(), StageError> {
        let needs = request.needs().into_iter();
        let mut lacks = needs.filter(|(feature, _)| !self.node.supports(*feature));
        match lacks.next() {
            None => Ok(()),
            Some((feature, what)) => Err(StageError::HostLacks {
                volume: request.volume.clone(),
                what,
                feature,
            }),
        }
    }
}

impl Staging<'_> {
    fn run(self) -> Result<(), StageError> {
        let brought = match self.already_staged() {
            Some(staged) => Ok(staged),
            None => self.bring().map(|(found, size)| (found.id(), size)),
        };
        match brought {
            Ok((volume, size)) => Ok(self.note_staged(volume, size)?),
            Err(failure) => Err(self.fail(failure)),
        }
    }

    /// The volume and its recorded size, if nothing is to do: it is staged by its record, it alone is mounted at the
    /// staging path, its disk is still the one that the request names, and that disk is as writable as it should be.
    /// Whatever differs, or cannot be read, is left to the steps.
    fn already_staged(&self) -> Option<(VolumeId, Option<u64>)> {
        let (node, deadline) = (&self.volumes.node, self.deadline);
        let before = self.before.as_ref();
        let record = before.filter(|record| record.state == State::Staged)?;
        let volume = record.what.mounted?;
        if !node.supports(Feature::ReadOnlyDisks)
            || self.volumes.disk_place(record, deadline).ok()? != Place::Live
        {
            return None;
        }
        let named = node.disks().find(&self.request.disk, deadline).ok()?;
        let is_as_named = named.holds(volume, node.as_ref(), deadline).ok()?;
        let is_read_only = named.is_read_only(node.as_ref(), deadline).ok()?;
        let is_for_readers = self.request.wanted.access != Access::ReadWrite;
        let is_as_wanted = is_as_named && is_read_only == is_for_readers;
        is_as_wanted.then_some((volume, record.what.size))
    }

    /// Each step leaves alone what is as it should be.
    fn bring(&self) -> Result<(FoundVolume, Option<u64>), Failure> {
        let was_staged = self.was_staged();
        let was_staged = was_staged.map_err(|error| self.unknown(error))?;
        let (disk, brought_online) = self.find_and_begin().map_err(|failure| match was_staged {
            true => failure.of_staged(),
            false => failure,
        })?;
        self.mount(&disk).map_err(|error| Failure {
            error: Box::new(StepError::Node(error)),
            undo: match was_staged {
                true => Undo::StagedBefore,
                false => Undo::Mount {
                    disk: Box::new(disk),
                    brought_online,
                },
            },
        })
    }

    fn find_and_begin(&self) -> Result<(FoundDisk, bool), Failure> {
        let disks = self.volumes.node.disks();
        let disk = disks.find_attached(&self.request.disk, self.volumes.arrival, self.deadline);
        let disk = disk.map_err(|error| self.unchanged(StepError::Node(error)))?;
        let brought_online = self.begin(&disk)?;
        Ok((disk, brought_online))
    }

    /// Before the call, by the record or by the path. A stage that began, and mounted nothing, is none.
    fn was_staged(&self) -> Result<bool, Error> {
        let is_recorded = |record: &Record<Disk>| record.state != State::Staging;
        if self.before.as_ref().is_some_and(is_recorded) {
            return Ok(true);
        }
        let staging = &self.request.staging;
        if self.volumes.is_stale(staging, self.deadline)? {
            return Ok(self.before.is_none());
        }
        let mounted = self.volumes.mounted_at(staging, self.deadline)?;
        Ok(mounted.is_some())
    }

    /// Writes the record before the first act on the disk. Whether this driver brings the disk online is part of it.
    fn begin(&self, disk: &FoundDisk) -> Result<bool, Failure> {
        let is_online = disk.is_online(self.volumes.node.as_ref(), self.deadline);
        let is_online = is_online.map_err(|error| self.unchanged(StepError::Node(error)))?;
        self.refuse_other_access(disk)?;
        if is_online {
            self.refuse_writable(disk)?;
        }
        if let Some(record) = &self.before {
            return self.begin_again(record, is_online);
        }
        let record = self.request.record(!is_online);
        self.slot
            .put(record)
            .map_err(|error| self.unchanged(StepError::Shared(error.into())))?;
        self.look_again(disk)?;
        Ok(!is_online)
    }

    /// Another stage may have looked before this one's record was there, and now one of both sees the other's.
    fn look_again(&self, disk: &FoundDisk) -> Result<(), Failure> {
        let looked = self.refuse_other_access(disk);
        if looked.is_err() {
            let removed = self.slot.remove();
            removed.map_err(|error| self.unchanged(StepError::Shared(error.into())))?;
        }
        looked
    }

    fn begin_again(&self, record: &Record<Disk>, is_online: bool) -> Result<bool, Failure> {
        let brought_online = record.what.brought_online || !is_online;
        if brought_online != record.what.brought_online {
            self.slot
                .change(|record: &mut Record<Disk>| record.what.brought_online = true)
                .map_err(|error| self.unchanged(StepError::Shared(error.into())))?;
        }
        Ok(brought_online)
    }

    /// Another volume of the same disk is for readers, and this one for writers, or the other way round.
    fn refuse_other_access(&self, disk: &FoundDisk) -> Result<(), Failure> {
        let Stage { volume, wanted, .. } = self.request;
        let is_other = |record: &Record<Disk>| record.what.wanted.access != wanted.access;
        let other = self
            .volumes
            .other_record_of(volume, disk, is_other, self.deadline);
        match other.map_err(|error| self.unchanged(StepError::Node(error)))? {
            Some(other) => {
                let volume = volume.clone();
                let refused = StageError::OtherAccess { volume, other };
                Err(self.unchanged(StepError::Refused(refused)))
            }
            None => Ok(()),
        }
    }

    /// Windows may have written to a disk that it had online and writable, and another node uses it; but not to a device
    /// that refuses writes. The device is asked while the read-only attribute is clear, as the attribute may be what it
    /// would answer by.
    fn refuse_writable(&self, disk: &FoundDisk) -> Result<(), Failure> {
        if self.request.wanted.access != Access::SharedReadOnly {
            return Ok(());
        }
        match disk.is_read_only(self.volumes.node.as_ref(), self.deadline) {
            Ok(true) => Ok(()),
            Ok(false) if self.is_write_protected(disk) => Ok(()),
            Ok(false) => {
                let volume = self.request.volume.clone();
                let refused = StageError::CameOnlineWritable { volume };
                Err(self.unchanged(StepError::Refused(refused)))
            }
            Err(error) => Err(self.unchanged(StepError::Node(error))),
        }
    }

    /// A device that does not say, or that this host cannot ask, is none that is known to refuse writes.
    fn is_write_protected(&self, disk: &FoundDisk) -> bool {
        let node = &self.volumes.node;
        if !node.supports(Feature::WriteProtection) {
            return false;
        }
        let protected = disk.is_write_protected(node.as_ref(), self.deadline);
        protected.unwrap_or_else(|error| {
            let volume = &self.request.volume;
            tracing::info!(
                "volume {volume}: its device does not say whether it is write-protected: {error}"
            );
            false
        })
    }

    /// The volume, and its size if the node reports one.
    fn mount(&self, disk: &FoundDisk) -> Result<(FoundVolume, Option<u64>), Error> {
        let (node, deadline) = (&self.volumes.node, self.deadline);
        let (access, staging) = (self.request.wanted.access, &self.request.staging);
        let volume = match access {
            Access::ReadWrite => self.make_usable(disk)?,
            Access::ReadOnly | Access::SharedReadOnly => {
                self.bring_recorded_online(disk, || self.bring_online_read_only(disk))?;
                node.volumes().find_on(disk, deadline)?
            }
        };
        node.filesystem().make_directory(staging, deadline)?;
        node.volumes().mount(&volume, staging, deadline)?;
        let size = self.size_after_growth(&volume)?;
        Ok((volume, size))
    }

    /// Grows a volume for writers. A growth reports the size; without one it is read, and then no failure matters.
    fn size_after_growth(&self, volume: &FoundVolume) -> Result<Option<u64>, Error> {
        let (volumes, deadline) = (self.volumes.node.volumes(), self.deadline);
        if self.request.wanted.access == Access::ReadWrite {
            match volumes.resize(volume, NewSize::Maximum, deadline)? {
                Resized::Grown { to: size, .. }
                | Resized::Filled { size }
                | Resized::Unchanged { size } => return Ok(Some(size)),
                _ => {}
            }
        }
        let space = volumes.stats(volume.id(), deadline);
        Ok(space.ok().map(|space| space.total))
    }

    /// A write-protected device whose disk is in use needs no attribute, for which the disk would have to go offline. What
    /// an earlier boot mounted at the staging path no pod of this boot has.
    fn bring_online_read_only(&self, disk: &FoundDisk) -> Result<(), Error> {
        let disks = self.volumes.node.disks();
        let bring = || disks.bring_online_read_only(disk, self.deadline);
        match bring() {
            Err(error) if error.is(Condition::OnlineWritable) => match self.is_of_earlier_boot() {
                _ if self.is_write_protected(disk) => Ok(()),
                true => self.bring_dismounted(disk, bring),
                false => Err(error),
            },
            done => done,
        }
    }

    /// Where it is in use by another path as well, all stays as it was.
    fn bring_dismounted(
        &self,
        disk: &FoundDisk,
        bring: impl FnOnce() -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (node, deadline) = (&self.volumes.node, self.deadline);
        let staging = &self.request.staging;
        let volume = node.volumes().find_on(disk, deadline)?;
        self.volumes.dismount(staging, self.recorded(), deadline)?;
        bring().inspect_err(|_| {
            let files = node.filesystem();
            let mounted = files
                .make_directory(staging, deadline)
                .and_then(|()| node.volumes().mount(&volume, staging, deadline));
            if let Err(error) = mounted {
                tracing::warn!(
                    "volume {} is not mounted again: {error}",
                    self.request.volume
                );
            }
        })
    }

    fn is_of_earlier_boot(&self) -> bool {
        let now = self.volumes.boot(self.deadline);
        let before = self.before.as_ref();
        before.is_some_and(|record| !record.is_of_boot(now.as_deref()))
    }

    fn make_usable(&self, disk: &FoundDisk) -> Result<FoundVolume, Error> {
        let (node, deadline) = (&self.volumes.node, self.deadline);
        self.bring_recorded_online(disk, || node.disks().bring_online(disk, deadline))?;
        self.refuse_write_protected(disk)?;
        node.disks().partition(disk, deadline)?;
        let volume = node.volumes().find_on(disk, deadline)?;
        let options = self.request.wanted.format.options();
        node.volumes()
            .ensure_formatted(&volume, options, deadline)?;
        Ok(volume)
    }

    /// One that came to the place of the disk that was staged before, and was offline, is offline again at once, as other
    /// nodes may use it; unless the host cannot tell whether somebody uses it here by now.
    fn bring_recorded_online(
        &self,
        disk: &FoundDisk,
        bring: impl FnOnce() -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (node, deadline) = (&self.volumes.node, self.deadline);
        if self.recorded().is_none() {
            return bring();
        }
        let is_online = disk.is_online(node.as_ref(), deadline)?;
        if is_online {
            // Another disk that is in use stays as it is.
            self.require_recorded(disk)?;
        }
        bring()?;
        let may_go_back = node.supports(Feature::CheckedOffline) && !is_online;
        let required = self.require_recorded(disk);
        let is_another =
            |error: &Error| error.is(Condition::Changed) || error.is(Condition::NotFound);
        if may_go_back
            && required.as_ref().is_err_and(is_another)
            && let Err(error) = node.disks().take_offline(disk, deadline)
        {
            let volume = &self.request.volume;
            tracing::warn!("volume {volume}: the disk in its place stays online: {error}");
        }
        required
    }

    /// A format or a pod's first write would fail otherwise, in codes that do not name the device.
    fn refuse_write_protected(&self, disk: &FoundDisk) -> Result<(), Error> {
        if !self.is_write_protected(disk) {
            return Ok(());
        }
        let text = "the device of its disk is write-protected, so pods can only read it: end the protection, or \
                    use a ReadOnlyMany volume";
        let cause = Cause::failed(Condition::ReadOnly, text);
        Err(Error::new("stage", &self.request.volume, cause))
    }

    /// Whether the disk has the volume that was staged before: a disk that came to its place is never formatted for it.
    fn require_recorded(&self, disk: &FoundDisk) -> Result<(), Error> {
        let Some(recorded) = self.recorded() else {
            return Ok(());
        };
        let found = self.volumes.node.volumes().find_on(disk, self.deadline)?;
        if found.id() == recorded {
            return Ok(());
        }
        let text = format!("the disk has {}, and {recorded} was staged", found.id());
        let cause = Cause::failed(Condition::Changed, text);
        Err(Error::new("stage", &self.request.volume, cause))
    }

    /// The volume that was staged before.
    fn recorded(&self) -> Option<VolumeId> {
        self.before.as_ref().and_then(|record| record.what.mounted)
    }

    fn note_staged(&self, volume: VolumeId, size: Option<u64>) -> Result<(), Shared> {
        let boot = self.volumes.boot(self.deadline);
        let before = self.before.as_ref();
        let disk_bytes = before
            .and_then(|record| record.what.disk_bytes)
            .or_else(|| self.volumes.growth_base(volume, self.deadline));
        let note = |record: &mut Record<Disk>| {
            record.state = State::Staged;
            record.what.mounted = Some(volume);
            record.what.size = size;
            record.boot = boot;
            record.what.disk_bytes = disk_bytes;
        };
        self.slot.change(note)?;
        self.volumes.note_normal(&self.request.volume, None);
        Ok(())
    }

    /// Without a record the volume may be mounted all the same, and pods have it; but not where Windows has no directory.
    fn unknown(&self, error: Error) -> Failure {
        let is_no_directory = matches!(error.cause, Cause::InvalidArgument(_));
        let failure = self.unchanged(StepError::Node(error));
        match is_no_directory {
            true => failure,
            false => failure.of_staged(),
        }
    }

    /// A failure of a call that changed nothing.
    fn unchanged(&self, error: StepError) -> Failure {
        let undo = match self.before {
            None => Undo::Unchanged,
            Some(_) => Undo::StagedBefore,
        };
        let error = Box::new(error);
        Failure { error, undo }
    }
}

impl Stage {
    /// The features that not each host has, with what needs them.
    fn needs(&self) -> Vec<(Feature, &'static str)> {
        let mut criteria = self.disk.criteria().iter();
        let device = criteria.find_map(Criterion::feature);
        let device =
            device.map(|feature| (feature, "a disk that is found by NVMe namespace or port"));
        device.into_iter().chain(self.wanted.needs()).collect()
    }

    /// The record, unless the volume is staged for another use or at another path.
    fn agreeing(&self, record: Record) -> Result<Record<Disk>, StageError> {
        let record: Record<Disk> = record
            .of()
            .ok_or_else(|| self.staged_with_another("kind of storage"))?;
        match () {
            () if record.what.wanted != self.wanted => Err(self.staged_with_another("capability")),
            () if record.staging != self.staging => Err(self.staged_with_another("staging path")),
            () => Ok(record),
        }
    }

    fn staged_with_another(&self, what: &'static str) -> StageError {
        let volume = self.volume.clone();
        StageError::StagedOtherwise { volume, what }
    }

    fn record(&self, brought_online: bool) -> Record<Disk> {
        Record {
            volume: self.volume.clone(),
            state: State::Staging,
            staging: self.staging.clone(),
            boot: None,
            published: Vec::new(),
            what: Disk {
                query: self.disk.clone(),
                wanted: self.wanted.clone(),
                brought_online,
                mounted: None,
                size: None,
                disk_bytes: None,
            },
        }
    }
}
