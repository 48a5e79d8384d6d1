use transport::Code;
use wincsi::disks::{DiskQuery, FoundDisk};
use wincsi::volumes::{FileSystemType, FormatOptions, FoundVolume, NewSize};
use wincsi::{Condition, Deadline, Error, WinPath};

use super::{ARRIVAL, DiskVolumes, NodeError, Shared};
use crate::code::{Left, Rpc};
use crate::record::{Access, FileSystem, Record, Slot, State, VolumeHandle, Wanted};

/// A NodeStageVolume of a disk.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The volume.
    pub volume: VolumeHandle,
    /// Where kubelet wants it.
    pub staging: WinPath,
    /// What the disk is told by.
    pub disk: DiskQuery,
    /// What the volume is to be like.
    pub wanted: Wanted,
}

/// Why a volume was not staged.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// The volume is staged with another capability, at another path or from another disk.
    #[error("volume {volume} is staged with another {what}")]
    StagedOtherwise {
        /// The volume.
        volume: VolumeHandle,
        /// What differs.
        what: &'static str,
    },
    /// What may keep each call from its end.
    #[error(transparent)]
    Shared(#[from] Shared),
}

impl StageError {
    /// The code for kubelet.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::StagedOtherwise { .. } => Code::AlreadyExists,
            Self::Shared(shared) => shared.code(Rpc::Stage),
        }
    }
}

/// A failed step, and the disk that it was about, if one was found.
struct Stuck {
    error: Error,
    reached: Option<Box<Reached>>,
}

/// The disk of a volume as a stage found it.
struct Reached {
    disk: FoundDisk,
    was_online: bool,
}

impl DiskVolumes {
    /// Stages a volume: its disk is found, brought online, partitioned and formatted where it is blank, mounted at the
    /// staging path, and grown to its end.
    ///
    /// A failure that cannot come right by itself is undone, unless the volume was staged before this call: then nothing
    /// is undone, because pods may have files open.
    ///
    /// # Errors
    /// See [`StageError`].
    pub fn stage(&self, request: &Stage) -> Result<(), StageError> {
        let volume = &request.volume;
        let _turn = self.running.alone(volume).map_err(Shared::from)?;
        let slot = self.store.slot(volume).map_err(Shared::from)?;
        let before = slot.get().map_err(Shared::from)?;
        if let Some(record) = &before {
            request.agrees_with(record)?;
        }
        self.stage_from(request, before.as_ref(), &slot)?;
        Ok(())
    }

    fn stage_from(
        &self,
        request: &Stage,
        before: Option<&Record>,
        slot: &Slot,
    ) -> Result<(), Shared> {
        let record = before.cloned().unwrap_or_else(|| request.record());
        if before.is_none() {
            slot.put(&record)?;
        }
        match self.bring(request, self.deadline()) {
            Ok(found) => Ok(slot.put(&Record {
                state: State::Staged,
                mounted: Some(found.id()),
                boot: self.boot()?,
                ..record
            })?),
            Err(stuck) if before.is_none() => Err(self.give_up(request, slot, *stuck)?.into()),
            Err(stuck) => Err(stuck.error.into()),
        }
    }

    /// Each step leaves alone what is as it should be.
    fn bring(&self, request: &Stage, deadline: Deadline) -> Result<FoundVolume, Box<Stuck>> {
        let disks = self.node.disks();
        let nothing = |error| {
            let reached = None;
            Box::new(Stuck { error, reached })
        };
        let disk = disks
            .find_attached(&request.disk, ARRIVAL, deadline)
            .map_err(nothing)?;
        let was_online = disks.is_online(disk.number(), deadline).map_err(nothing)?;
        self.mount(request, &disk, deadline).map_err(|error| {
            let reached = Some(Box::new(Reached { disk, was_online }));
            Box::new(Stuck { error, reached })
        })
    }

    fn mount(
        &self,
        request: &Stage,
        disk: &FoundDisk,
        deadline: Deadline,
    ) -> Result<FoundVolume, Error> {
        let volume = match request.wanted.access {
            Access::ReadWrite => self.make_usable(request, disk, deadline)?,
            Access::ReadOnly => {
                self.node.disks().bring_online_read_only(disk, deadline)?;
                self.node.volumes().find_on(disk, deadline)?
            }
        };
        let files = self.node.filesystem();
        files.make_directory(&request.staging, deadline)?;
        self.node
            .volumes()
            .mount(&volume, &request.staging, deadline)?;
        if request.wanted.access == Access::ReadWrite {
            self.node
                .volumes()
                .resize(&volume, NewSize::Maximum, deadline)?;
        }
        Ok(volume)
    }

    fn make_usable(
        &self,
        request: &Stage,
        disk: &FoundDisk,
        deadline: Deadline,
    ) -> Result<FoundVolume, Error> {
        self.node.disks().bring_online(disk, deadline)?;
        self.node.disks().partition(disk, deadline)?;
        let volume = self.node.volumes().find_on(disk, deadline)?;
        let options = format_options(request.wanted.file_system);
        self.node
            .volumes()
            .ensure_formatted(&volume, &options, deadline)?;
        Ok(volume)
    }

    /// After a stage of a volume that was not staged before: the record goes if nothing is left of the volume.
    fn give_up(
        &self,
        request: &Stage,
        slot: &Slot,
        stuck: Stuck,
    ) -> Result<Box<NodeError>, Shared> {
        let Stuck { error, reached } = stuck;
        let left = match reached {
            None => Left::Nothing,
            Some(_) if error.is_transient() => Left::Something,
            Some(reached) => self.undo(request, &reached),
        };
        if left == Left::Nothing {
            slot.remove()?;
        }
        Ok(Box::new(NodeError { error, left }))
    }

    fn undo(&self, request: &Stage, reached: &Reached) -> Left {
        match self.take_back(request, reached) {
            Ok(()) => Left::Nothing,
            Err(error) => {
                tracing::warn!("volume {}: cannot undo the stage: {error}", request.volume);
                Left::Something
            }
        }
    }

    fn take_back(&self, request: &Stage, reached: &Reached) -> Result<(), Error> {
        let deadline = self.deadline();
        self.dismount(&request.staging, deadline)?;
        if reached.was_online {
            return Ok(());
        }
        match self.node.disks().take_offline(&reached.disk, deadline) {
            Err(error) if error.is(Condition::NotFound) => Ok(()),
            done => done,
        }
    }
}

impl Stage {
    /// Refuses to stage a volume that is staged as something else.
    fn agrees_with(&self, record: &Record) -> Result<(), StageError> {
        let what = match () {
            () if record.wanted != self.wanted => "capability",
            () if record.staging != self.staging => "staging path",
            () if record.disk != self.disk => "disk",
            () => return Ok(()),
        };
        let volume = self.volume.clone();
        Err(StageError::StagedOtherwise { volume, what })
    }

    fn record(&self) -> Record {
        Record {
            volume: self.volume.clone(),
            state: State::Staging,
            staging: self.staging.clone(),
            disk: self.disk.clone(),
            wanted: self.wanted.clone(),
            mounted: None,
            boot: None,
            published: Vec::new(),
        }
    }
}

fn format_options(file_system: FileSystem) -> FormatOptions {
    FormatOptions::new(match file_system {
        FileSystem::Ntfs => FileSystemType::Ntfs,
        FileSystem::Refs => FileSystemType::Refs,
    })
}

impl DiskVolumes {
    /// Stages a volume anew from its record, as after a reboot.
    pub(super) fn restage(&self, record: &Record, slot: &Slot) -> Result<(), Shared> {
        let request = Stage {
            volume: record.volume.clone(),
            staging: record.staging.clone(),
            disk: record.disk.clone(),
            wanted: record.wanted.clone(),
        };
        self.stage_from(&request, Some(record), slot)
    }
}
