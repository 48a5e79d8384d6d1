mod undo;

use wincsi::disks::{Criterion, DiskQuery, FoundDisk};
use wincsi::volumes::{FormatOptions, FoundVolume, NewSize, Resized, VolumeId};
use wincsi::{Cause, Condition, Error, Feature, ResultExt as _};

use self::undo::Undo;
use super::{
    Block, Disk, DiskRecord, Refused, RequestedDisk, Source, Use, is_bound, require_bound,
};
use crate::kinds::Kind as _;
use crate::life::{Call, CallError, StageCall, StagingState};
use crate::record::{Access, Record, State, VolumeHandle};

/// One call that stages a volume.
struct DiskStage<'a, S: Source> {
    block: Call<'a, Block<S>>,
    turn: &'a StageCall<'a>,
    source: S::Spec,
    /// None if a record is staged again.
    secret: Option<S::Secret>,
    wanted: RequestedDisk,
    /// The record from before the call.
    before: Option<DiskRecord<S>>,
    /// What a failure takes back.
    undo: Undo,
}

impl<S: Source> Block<S> {
    /// Stages a volume: attaches and finds its disk, brings it online, partitions and formats it if it is blank, mounts it
    /// at the staging path, and grows it to its end.
    ///
    /// The call undoes a failure that does not go away by itself. If the volume was staged before the call, by its record
    /// or by a mount at the path, nothing is undone, because pods may have files open.
    pub fn stage(
        &self,
        turn: &StageCall<'_>,
        (source, secret): (S::Spec, S::Secret),
        wanted: RequestedDisk,
    ) -> Result<(), CallError> {
        if let Some((feature, what)) = self.lacks(&self.source.query(&source), &wanted) {
            return Err(turn.refused(CallError::HostLacks {
                volume: turn.stage.volume.clone(),
                what,
                feature,
            }));
        }
        let is_otherwise =
            |record: &Record<Disk<_>>| (record.content.wanted != wanted).then_some("capability");
        let mut before = turn.matching_record(is_otherwise)?;
        if let Some(record) = &mut before {
            self.follow(turn, record, &source)?;
        }
        self.run(turn, (source, Some(secret)), wanted, before)
    }

    /// Stages a volume anew from its record, as after a reboot.
    pub(super) fn restage(
        &self,
        turn: &StageCall<'_>,
        record: DiskRecord<S>,
    ) -> Result<(), CallError> {
        let (source, wanted) = (record.content.source.clone(), record.content.wanted.clone());
        self.run(turn, (source, None), wanted, Some(record))
    }

    fn run(
        &self,
        turn: &StageCall<'_>,
        (source, secret): (S::Spec, Option<S::Secret>),
        wanted: RequestedDisk,
        before: Option<DiskRecord<S>>,
    ) -> Result<(), CallError> {
        let staging = DiskStage {
            block: self.until(turn.deadline),
            turn,
            source,
            secret,
            wanted,
            before,
            undo: Undo::Unchanged,
        };
        staging.run()
    }

    /// A disk that is attached again may come to another place: the request says where it is, and its volume is compared.
    fn follow(
        &self,
        turn: &StageCall<'_>,
        record: &mut DiskRecord<S>,
        source: &S::Spec,
    ) -> Result<(), CallError> {
        if record.content.source == *source {
            return Ok(());
        }
        // Where the disk was attached it would stay so, and nobody would know of it.
        let moves = self.source.query(&record.content.source) != self.source.query(source);
        if S::ATTACHES && moves {
            return Err(turn.refused(turn.stage.staged_with_another("disk")));
        }
        if self
            .until(turn.deadline)
            .is_live_elsewhere(record, &self.source.query(source))?
        {
            return Err(turn.refused(turn.stage.staged_with_another("disk")));
        }
        record.content.source.clone_from(source);
        let follow = |record: &mut DiskRecord<S>| record.content.source.clone_from(source);
        Ok(turn.slot.change_of(follow)?)
    }

    /// What the host cannot do, which is looked at before anything is changed.
    fn lacks(&self, query: &DiskQuery, wanted: &RequestedDisk) -> Option<(Feature, &'static str)> {
        let device = query.criteria().iter().find_map(Criterion::feature);
        let device =
            device.map(|feature| (feature, "a disk that is found by NVMe namespace or port"));
        let needs = S::NEEDS.iter().copied().chain(device);
        let mut needs = needs.chain(wanted.needs());
        needs.find(|(feature, _)| !self.ctx.has(*feature))
    }
}

impl<S: Source> Call<'_, Block<S>> {
    /// Whether the volume is mounted, and from another disk than this.
    fn is_live_elsewhere(&self, record: &DiskRecord<S>, disk: &DiskQuery) -> Result<bool, Error> {
        let node = &self.ctx.node;
        let is_live = self.staging_state(record)? == StagingState::Live;
        let Some(volume) = record.content.mounted.filter(|_| is_live) else {
            return Ok(false);
        };
        let named = node.disks().find(disk, self.deadline);
        match named.none_if(Condition::NotFound)? {
            Some(named) => Ok(!named.holds(volume, node.as_ref(), self.deadline)?),
            None => Ok(true),
        }
    }
}

impl<S: Source> DiskStage<'_, S> {
    fn run(mut self) -> Result<(), CallError> {
        let brought = match self.already_staged() {
            Some(staged) => Ok(staged),
            None => self.bring().map(|(found, size)| (found.id(), size)),
        };
        match brought {
            Ok((volume, size)) => Ok(self.note_staged(volume, size)?),
            Err(error) => {
                let (error, volume) = (self.fail(error), &self.turn.stage.volume);
                if !self.block.ctx.store.has(volume) {
                    self.block.forget(volume);
                }
                Err(error)
            }
        }
    }

    /// The volume and its recorded size, if nothing is to do: it is staged by its record, it alone is mounted at the
    /// staging path, its disk is still the one that the request names, and that disk is as writable as it should be.
    /// Whatever differs, or cannot be read, is left to the steps.
    fn already_staged(&self) -> Option<(VolumeId, Option<u64>)> {
        let (node, deadline) = (&self.block.ctx.node, self.block.deadline);
        let before = self.before.as_ref();
        let record = before.filter(|record| record.state == State::Staged)?;
        let volume = record.content.mounted?;
        if !self.block.ctx.has(Feature::ReadOnlyDisks)
            || self.block.staging_state(record).ok()? != StagingState::Live
        {
            return None;
        }
        let named = node.disks().find(&self.query(), deadline).ok()?;
        let is_as_named = named.holds(volume, node.as_ref(), deadline).ok()?;
        let is_read_only = named.is_read_only(node.as_ref(), deadline).ok()?;
        let is_for_readers = self.wanted.access != Access::ReadWrite;
        let is_bound = is_bound(record.content.identity.as_deref(), &named);
        let is_as_wanted = is_as_named && is_bound && is_read_only == is_for_readers;
        is_as_wanted.then_some((volume, record.content.size))
    }

    /// Each step leaves alone what is as it should be.
    fn bring(&mut self) -> Result<(FoundVolume, Option<u64>), CallError> {
        let was_staged = match self.was_staged() {
            Ok(was_staged) => was_staged,
            Err(error) => {
                self.undo = self.undo_of_look(&error);
                return Err(error.into());
            }
        };
        if was_staged {
            self.undo = Undo::StagedBefore;
        }
        if S::ATTACHES && self.before.is_none() {
            self.refuse_source_of_other_access()?;
        }
        if !was_staged {
            self.undo = self.nothing_changed();
        }
        self.attach()?;
        let disk = self.find()?;
        self.bind(&disk)?;
        let brought_online = self.begin(&disk)?;
        if !was_staged {
            let disk = Box::new(disk.clone());
            self.undo = Undo::Mount {
                disk,
                brought_online,
            };
        }
        Ok(self.mount(&disk)?)
    }

    /// Attaches the disk, where its source does so. The record comes first.
    fn attach(&self) -> Result<(), CallError> {
        if S::ATTACHES && self.before.is_none() {
            self.put_record(false)?;
        }
        let of = Use::new(&self.turn.stage.volume, &self.source);
        let (source, deadline) = (&self.block.source, self.block.deadline);
        source.attach(of, self.secret.as_ref(), deadline)
    }

    /// Requires the disk of the first stage in its place, and notes which it is at the first.
    fn bind(&self, disk: &FoundDisk) -> Result<(), CallError> {
        if !S::ATTACHES {
            return Ok(());
        }
        let volume = &self.turn.stage.volume;
        let before = self.before.as_ref();
        let known = before.filter(|record| record.content.identity.is_some());
        match (known, disk.seen().identifiers.first()) {
            (Some(record), _) => Ok(require_bound("stage", record, disk)?),
            (None, Some(now)) => {
                let note = |record: &mut DiskRecord<S>| record.content.identity = Some(now.clone());
                Ok(self.turn.slot.change_of(note)?)
            }
            (None, None) => Err(Refused::Anonymous {
                volume: volume.clone(),
            }
            .into()),
        }
    }

    /// Before the disk is attached, the records alone tell.
    fn refuse_source_of_other_access(&self) -> Result<(), CallError> {
        let volume = &self.turn.stage.volume;
        let mut others = self.block.others_from(volume, &self.source);
        let other = others.find(|record| self.has_other_access(record));
        self.refuse_beside(other.map(|record| record.volume))
    }

    fn find(&self) -> Result<FoundDisk, Error> {
        let (disks, wait) = (self.block.ctx.node.disks(), self.block.arrival);
        disks.find_attached(&self.query(), wait, self.block.deadline)
    }

    fn query(&self) -> DiskQuery {
        self.block.source.query(&self.source)
    }

    /// Before the call, by the record or by the path. A stage that began, and mounted nothing, is none.
    fn was_staged(&self) -> Result<bool, Error> {
        let is_recorded = |record: &DiskRecord<S>| record.state != State::Staging;
        if self.before.as_ref().is_some_and(is_recorded) {
            return Ok(true);
        }
        let staging = &self.turn.stage.staging;
        if self.block.is_stale(staging)? {
            return Ok(self.before.is_none());
        }
        let mounted = self.block.mounted_at(staging)?;
        Ok(mounted.is_some())
    }

    /// Writes the record before the first act on the disk. Whether this driver brings the disk online is part of it.
    fn begin(&self, disk: &FoundDisk) -> Result<bool, CallError> {
        let is_online = disk.is_online(self.block.ctx.node.as_ref(), self.block.deadline)?;
        // Before the look: of two stages at once, one sees the other's.
        let volume = self.turn.stage.volume.clone();
        self.block.found.lock().insert(volume, disk.clone());
        self.refuse_other_access(disk)?;
        if is_online {
            self.refuse_writable(disk)?;
        }
        let before = self.before.as_ref();
        let before = before.map(|record| record.content.brought_online);
        match before.or(S::ATTACHES.then_some(false)) {
            None => {
                self.put_record(!is_online)?;
                // Another stage may have looked before this one's record was there, and now one of both sees the other's.
                self.refuse_other_access(disk).or_else(|refused| {
                    self.turn.slot.remove()?;
                    Err(refused)
                })?;
            }
            Some(false) if !is_online => {
                let note = |record: &mut DiskRecord<S>| record.content.brought_online = true;
                self.turn.slot.change_of(note)?;
            }
            Some(_) => {}
        }
        self.warn_of_second_writer(disk);
        Ok(before == Some(true) || !is_online)
    }

    fn put_record(&self, brought_online: bool) -> Result<(), CallError> {
        let record = self.turn.stage.record(Disk {
            source: self.source.clone(),
            wanted: self.wanted.clone(),
            brought_online,
            mounted: None,
            identity: None,
            size: None,
            disk_bytes: None,
        });
        Ok(self.turn.slot.put(record)?)
    }

    /// Another volume of the same disk is for readers, and this one for writers, or the other way round.
    fn refuse_other_access(&self, disk: &FoundDisk) -> Result<(), CallError> {
        let volume = &self.turn.stage.volume;
        let is_other = |other: &_| self.has_other_access(other);
        self.refuse_beside(self.block.other_record_of(volume, disk, is_other)?)
    }

    /// Compares records only: the node is not asked.
    fn warn_of_second_writer(&self, disk: &FoundDisk) {
        let volume = &self.turn.stage.volume;
        let mut others = self.block.ctx.store.records_of::<Disk<S::Spec>>();
        let names_disk = |other: &DiskRecord<S>| {
            self.wanted.access == Access::ReadWrite
                && other.volume != *volume
                && self.block.has_found(other, disk)
        };
        if let Some(DiskRecord::<S> { volume: other, .. }) = others.find(names_disk) {
            tracing::warn!("volume {volume} has the disk of volume {other}, and both write to it");
        }
    }

    fn has_other_access(&self, record: &DiskRecord<S>) -> bool {
        record.content.wanted.access != self.wanted.access
    }

    fn refuse_beside(&self, other: Option<VolumeHandle>) -> Result<(), CallError> {
        let volume = self.turn.stage.volume.clone();
        other.map_or(Ok(()), |other| {
            Err(Refused::OtherAccess { volume, other }.into())
        })
    }

    /// Windows may have written to a disk that it had online and writable, and another node uses it; but not to a device
    /// that refuses writes. The device is asked while the read-only attribute is clear, as the attribute may be what it
    /// would answer by.
    fn refuse_writable(&self, disk: &FoundDisk) -> Result<(), CallError> {
        if self.wanted.access != Access::SharedReadOnly
            || disk.is_read_only(self.block.ctx.node.as_ref(), self.block.deadline)?
            || self.is_write_protected(disk)
        {
            return Ok(());
        }
        let volume = self.turn.stage.volume.clone();
        Err(Refused::CameOnlineWritable { volume }.into())
    }

    /// A device that does not say, or that this host cannot ask, is none that is known to refuse writes.
    fn is_write_protected(&self, disk: &FoundDisk) -> bool {
        let protected = self.block.ctx.is_write_protected(disk, self.block.deadline);
        protected.unwrap_or_else(|error| {
            let volume = &self.turn.stage.volume;
            tracing::info!(
                "volume {volume}: its device does not say whether it is write-protected: {error}"
            );
            false
        })
    }

    /// The volume, and its size if the node reports one.
    fn mount(&self, disk: &FoundDisk) -> Result<(FoundVolume, Option<u64>), Error> {
        let (node, deadline) = (&self.block.ctx.node, self.block.deadline);
        let (access, staging) = (self.wanted.access, &self.turn.stage.staging);
        let format = (access == Access::ReadWrite).then(|| self.wanted.format.options());
        let file_system = format.map(FormatOptions::file_system);
        node.disks().check_content(disk, file_system, deadline)?;
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
        let (volumes, deadline) = (self.block.ctx.node.volumes(), self.block.deadline);
        if self.wanted.access == Access::ReadWrite {
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
        let disks = self.block.ctx.node.disks();
        let bring = || disks.bring_online_read_only(disk, self.block.deadline);
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
        let (node, deadline) = (&self.block.ctx.node, self.block.deadline);
        let staging = &self.turn.stage.staging;
        let volume = node.volumes().find_on(disk, deadline)?;
        self.block.dismount(staging, self.recorded())?;
        bring().inspect_err(|_| {
            let files = node.filesystem();
            let made = files.make_directory(staging, deadline);
            let mounted = made.and_then(|()| node.volumes().mount(&volume, staging, deadline));
            if let Err(error) = mounted {
                let volume = &self.turn.stage.volume;
                tracing::warn!("volume {volume} is not mounted again: {error}");
            }
        })
    }

    fn is_of_earlier_boot(&self) -> bool {
        let now = self.block.ctx.boot(self.block.deadline);
        let before = self.before.as_ref();
        before.is_some_and(|record| !record.is_of_boot(now.as_deref()))
    }

    fn make_usable(&self, disk: &FoundDisk) -> Result<FoundVolume, Error> {
        let (node, deadline) = (&self.block.ctx.node, self.block.deadline);
        self.bring_recorded_online(disk, || node.disks().bring_online(disk, deadline))?;
        self.refuse_write_protected(disk)?;
        node.disks().partition(disk, deadline)?;
        let volume = node.volumes().find_on(disk, deadline)?;
        let options = self.wanted.format.options();
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
        let (node, deadline) = (&self.block.ctx.node, self.block.deadline);
        if self.recorded().is_none() {
            return bring();
        }
        let is_online = disk.is_online(node.as_ref(), deadline)?;
        if is_online {
            // Another disk that is in use stays as it is.
            self.require_recorded(disk)?;
        }
        bring()?;
        let required = self.require_recorded(disk);
        let is_another =
            |error: &Error| error.is(Condition::Changed) || error.is(Condition::NotFound);
        let volume = &self.turn.stage.volume;
        if !is_online
            && required.as_ref().is_err_and(is_another)
            && let Err(error) = self.block.release(volume, disk)
        {
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
        Err(Error::new("stage", &self.turn.stage.volume, cause))
    }

    /// Whether the disk has the volume that was staged before: a disk that came to its place is never formatted for it.
    fn require_recorded(&self, disk: &FoundDisk) -> Result<(), Error> {
        let Some(recorded) = self.recorded() else {
            return Ok(());
        };
        let volumes = self.block.ctx.node.volumes();
        let found = volumes.find_on(disk, self.block.deadline)?;
        if found.id() == recorded {
            return Ok(());
        }
        let text = format!("the disk has {}, and {recorded} was staged", found.id());
        let cause = Cause::failed(Condition::Changed, text);
        Err(Error::new("stage", &self.turn.stage.volume, cause))
    }

    /// The volume that was staged before.
    fn recorded(&self) -> Option<VolumeId> {
        self.before.as_ref()?.content.mounted
    }

    fn note_staged(&self, volume: VolumeId, size: Option<u64>) -> Result<(), CallError> {
        let boot = self.block.ctx.boot(self.block.deadline);
        let before = self.before.as_ref();
        let disk_bytes = before
            .and_then(|record| record.content.disk_bytes)
            .or_else(|| self.block.growth_base(volume));
        let note = |record: &mut DiskRecord<S>| {
            record.state = State::Staged;
            record.content.mounted = Some(volume);
            record.content.size = size;
            record.boot = boot;
            record.content.disk_bytes = disk_bytes;
        };
        self.turn.slot.change_of(note)?;
        self.block.ctx.note_normal(&self.turn.stage.volume, None);
        Ok(())
    }

    /// Without a record the volume may be mounted all the same, and pods have it; but not where Windows has no directory.
    fn undo_of_look(&self, error: &Error) -> Undo {
        match error.cause {
            Cause::InvalidArgument(_) if self.before.is_none() => Undo::Unchanged,
            _ => Undo::StagedBefore,
        }
    }

    /// Of a call that changed nothing, but that the disk may be attached.
    fn nothing_changed(&self) -> Undo {
        match self.before {
            None if S::ATTACHES => Undo::Attached,
            None => Undo::Unchanged,
            Some(_) => Undo::StagedBefore,
        }
    }
}
