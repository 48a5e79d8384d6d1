//! Makes a volume or a snapshot as a copy: in `.wincsi/clones` of the base folder, and in its place once it is whole.
//!
//! The record has the id of the copy's folder before that is moved: so a repeated call knows the one that it finds in the
//! place, and what is half made is none. All goes over one connection, with the locks of the copy and of its source.
//!
//! | target | source | more |
//! |---|---|---|
//! | volume | volume | the place is decided under the locks of all base folders that it lies in |
//! | volume | snapshot | each entry has to be the manifest's |
//! | snapshot | volume | a manifest, which the record has before the rename; the base folder must lie in no volume |

use std::ops::ControlFlow;
use std::time::{Duration, Instant, UNIX_EPOCH};

use smb::{
    CopiedEntry, CopyOrder, CopyProgress, Existing, Failure, FileId, Share, SharePath, Unsteady,
    Watch,
};

use super::call::{Call, Files, LIMITS, ROUND};
use super::create::{allow, check, expect_base_alone};
use super::manifest::{Checker, Writer};
use super::names::key;
use super::place::{End, Found};
use super::record::{Held, Record, State};
use super::source::{self, HeldSource};
use super::watch::Watched;
use super::{Consistency, Create, Created, Error, Origin, Source, Take, Volumes, exists};

/// What is made.
#[derive(Clone, Copy)]
pub(super) enum Target<'a> {
    Volume(&'a Create),
    Snapshot(&'a Take),
}

struct Cloning<'a> {
    volumes: &'a Volumes,
    target: Target<'a>,
    source: &'a Source,
    files: Files,
    /// Below the base folder.
    place: SharePath,
    record: Record,
    /// The id of the copy's folder, once the record has it.
    id: Option<FileId>,
    /// Whether the record is of this copy: then a failure takes it back.
    is_begun: bool,
    /// What was free before the copy.
    free: Option<u64>,
}

/// What looks at each entry of a copy.
enum Entries<'a> {
    Ignored,
    Written(Writer<'a>),
    Checked(Checker),
}

struct Watching<'a, 'b> {
    watched: Watched<'a>,
    entries: Entries<'b>,
}

/// Returns the record of what is whole then.
pub(super) fn copy(
    call: &mut Call<'_>,
    target: Target<'_>,
    source: &Source,
) -> Result<Record, Error> {
    let (files, place, record) = match target {
        Target::Volume(volume) => {
            expect_other(volume, source)?;
            let (files, place) = (call.files(&volume.name)?, volume.folder.path().clone());
            (files, place, Record::intent(volume))
        }
        Target::Snapshot(take) => {
            let name = &take.snapshot.name;
            let (files, place) = (call.snapshot_files(name)?, call.snapshot_place(name)?);
            (files, place, Record::of_snapshot(take))
        }
    };
    let mut cloning = Cloning {
        volumes: call.volumes,
        target,
        source,
        files,
        place,
        record,
        id: None,
        is_begun: false,
        free: None,
    };
    let lock = cloning.files.lock.clone();
    call.in_records(&lock, |call| cloning.run(call))?;
    Ok(cloning.record)
}

fn expect_other(volume: &Create, source: &Source) -> Result<(), Error> {
    match &source.origin {
        Origin::Volume {
            name: Some(name), ..
        } if key(name) == key(&volume.name) && source.base.key() == volume.base.key() => {
            let label = volume.label();
            Err(Error::Invalid(format!("{label} is its own source")))
        }
        Origin::Volume { .. } | Origin::Snapshot(_) => Ok(()),
    }
}

/// Removes a copy that is not in its place: what it has, then by `forget` the record, then the folder, whose id no other has
/// so long.
pub(super) fn remove_half(
    call: &mut Call<'_>,
    files: &Files,
    forget: impl FnOnce(&mut Call<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let id = call.folder_of_records(&files.copy)?;
    if let Some(id) = id {
        call.empty(&files.copy, id)?;
    }
    if let Some(manifest) = &files.manifest {
        call.clear(manifest)?;
    }
    forget(call)?;
    if let Some(id) = id {
        call.share.remove(&files.copy, id, call.by)?;
    }
    Ok(())
}

/// Whether the base folder lies in the source, perhaps by another share's name. Two disks may have one id: so the base's
/// `.wincsi` must be found there too.
fn is_around(
    beside: &mut (dyn Share + Send),
    source: &HeldSource,
    call: &Call<'_>,
) -> Result<bool, Error> {
    let Some(depth) = call.ids.iter().position(|id| *id == source.id) else {
        return Ok(false);
    };
    let mut below = call.records.names().iter().skip(depth);
    let Ok(path) = below.try_fold(source.path.clone(), |path, name| path.join(name)) else {
        return Ok(false);
    };
    match beside.stat(&path, call.by) {
        Ok(id) => Ok(call.record_ids.contains(&id)),
        Err(error) if matches!(error.failure, Failure::NotFound | Failure::NotAFolder) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// A time of the server, or of this machine where the server tells none.
fn or_own_clock(now: u64) -> u64 {
    const TO_1970: Duration = Duration::from_secs(11_644_473_600);
    match now {
        0 => {
            let since = UNIX_EPOCH.elapsed().unwrap_or_default() + TO_1970;
            u64::try_from(since.as_nanos() / 100).unwrap_or(0)
        }
        now => now,
    }
}

impl Target<'_> {
    /// As the log and this process know it.
    pub(super) fn label(&self) -> String {
        match self {
            Self::Volume(volume) => volume.label(),
            Self::Snapshot(take) => take.snapshot.label(),
        }
    }
}

impl Watch for Watching<'_, '_> {
    fn see(&mut self, progress: &CopyProgress) -> ControlFlow<()> {
        self.watched.see(progress)
    }

    fn whole(&mut self, entry: &CopiedEntry<'_>) -> ControlFlow<()> {
        let done = match &mut self.entries {
            Entries::Ignored => Ok(()),
            Entries::Written(writer) => writer.add(entry),
            Entries::Checked(checker) => checker.expect(entry),
        };
        self.watched.go_on(done)
    }
}

impl Cloning<'_> {
    fn run(&mut self, call: &mut Call<'_>) -> Result<(), Error> {
        let own = call.read(&self.files)?;
        if let Some(record) = own.filter(|record| record.state != State::Left) {
            self.check(&record)?;
            self.volumes.remember(self.target.label(), call.base);
            self.is_begun = record.is_of_half_clone();
            let id = record.state.held().map(|held| FileId(held.id));
            if let (Target::Snapshot(_), State::Ready(_)) = (self.target, &record.state) {
                self.record = record;
                let whole = call.expect_whole(&self.files, &self.place, &self.record);
                return whole.map(drop);
            }
            let is_there = call.has(&self.place, id)?;
            if self.is_begun {
                self.id = id;
                self.record = record;
            }
            if is_there {
                return match self.is_begun {
                    // An earlier call ended after it had moved the copy.
                    true => self.finish(call),
                    false => Ok(()),
                };
            }
        }
        let done = self.with_source(call);
        self.volumes
            .book_space(&self.target.label(), self.free, &done);
        call.discard_aside();
        if done.as_ref().is_err_and(|error| !error.may_pass()) && self.is_begun {
            self.take_back(call);
        }
        done
    }

    /// Whether a repeated call asks for the same.
    fn check(&self, record: &Record) -> Result<(), Error> {
        let take = match self.target {
            Target::Volume(volume) => return check(volume, record),
            Target::Snapshot(take) => take,
        };
        let name = take.snapshot.label();
        if record.source.as_ref() != Some(&self.source.id) {
            let source = record.source.as_deref().unwrap_or_default();
            return Err(exists(
                &name,
                &format!("the source {}", source.escape_debug()),
            ));
        }
        match record.state {
            State::Deleting(_) => Err(Error::Busy(format!("{name} is being deleted"))),
            _ => Ok(()),
        }
    }

    fn with_source(&mut self, call: &mut Call<'_>) -> Result<(), Error> {
        let beside = call.share.beside(&self.source.base.share, call.by);
        let mut beside = beside.map_err(|error| source::missing(error.into()))?;
        let held = source::hold(self.volumes, &mut *beside, self.source, call.by)?;
        let done = match is_around(&mut *beside, &held, call) {
            Ok(true) => {
                let (base, path) = (call.base, self.source.base.at(&held.path));
                let text = format!("the base folder {base} lies in the source {path}");
                Err(Error::Invalid(text))
            }
            Ok(false) => self.make(call, &mut *beside, &held),
            Err(error) => Err(error),
        };
        call.is_clean &= held.release(&mut *beside, Instant::now() + ROUND);
        done
    }

    fn make(
        &mut self,
        call: &mut Call<'_>,
        beside: &mut (dyn Share + Send),
        source: &HeldSource,
    ) -> Result<(), Error> {
        self.intend(call, source)?;
        call.log_leftovers(Some(&self.files));
        let id = self.begin(call)?;
        self.copy(call, beside, (source, id))?;
        self.put_in_place(call, id)?;
        self.finish(call)
    }

    /// Writes the record, if the copy can have its place.
    fn intend(&mut self, call: &mut Call<'_>, source: &HeldSource) -> Result<(), Error> {
        if !self.is_begun {
            if let Target::Snapshot(_) = self.target {
                self.record.size = source.size;
            }
            call.write_aside(&self.files, &self.record)?;
        }
        let mut is_begun = self.is_begun;
        let done = self.decide(call, |this, call, _| {
            if !is_begun {
                is_begun = true;
                this.volumes.remember(this.target.label(), call.base);
                call.put(&this.files)?;
            }
            Ok(())
        });
        self.is_begun = is_begun;
        done?;
        match call.is_clean {
            true => Ok(()),
            // It ends with the connection: others would wait for it as long as the copy takes.
            false => Err(Error::Busy(format!(
                "the lock of {} could not be given back; retry",
                call.base
            ))),
        }
    }

    /// Does something while the place is free, and nobody else takes it.
    fn decide(
        &self,
        call: &mut Call<'_>,
        work: impl FnOnce(&Self, &mut Call<'_>, &SharePath) -> Result<(), Error>,
    ) -> Result<(), Error> {
        match self.target {
            Target::Volume(volume) => {
                call.decide(&self.files, &volume.folder, |call, known, found| {
                    allow(call, volume, known, &found)?;
                    self.expect_free(call, &found)?;
                    work(self, call, &found.path)
                })
            }
            Target::Snapshot(take) => call.decide(&self.files, &take.folder, |call, known, _| {
                expect_base_alone(call, known)?;
                let found = call.find(&self.place)?;
                self.expect_free(call, &found)?;
                work(self, call, &found.path)
            }),
        }
    }

    fn expect_free(&self, call: &mut Call<'_>, found: &Found) -> Result<(), Error> {
        match found.end {
            End::Missing => Ok(()),
            End::Folder(_) | End::File => Err(self.is_taken(call, &found.path)),
        }
    }

    fn is_taken(&self, call: &Call<'_>, path: &SharePath) -> Error {
        let (path, label) = (call.base.at(path), self.target.label());
        let way_out = match self.target {
            Target::Volume(_) => ", or choose another subDir",
            Target::Snapshot(_) => "",
        };
        Error::Exists(format!(
            "{path} is there already, and is not {label}; a copy overwrites nothing: move it away{way_out}"
        ))
    }

    /// Finds or makes the copy's folder, whose id then is in the record.
    fn begin(&mut self, call: &mut Call<'_>) -> Result<FileId, Error> {
        let clones = call.clones.clone();
        let id = call.make_in_records(&[&clones, &self.files.copy])?;
        if self.id != Some(id) {
            self.record.state = State::Cloning(Held::new(id, Created::Made, &[]));
            if self.record.taken.is_some() && call.now == 0 {
                // That tells the server's time.
                call.write(&self.files, &self.record)?;
            }
            if let Some(taken) = &mut self.record.taken {
                taken.begun = or_own_clock(call.now);
            }
            call.write(&self.files, &self.record)?;
            self.id = Some(id);
        }
        Ok(id)
    }

    fn copy(
        &mut self,
        call: &mut Call<'_>,
        beside: &mut (dyn Share + Send),
        (source, id): (&HeldSource, FileId),
    ) -> Result<(), Error> {
        let from = self.source.base.at(&source.path);
        let to = call
            .base
            .at(&call.on_the_way(&self.place)?.pop().unwrap_or_default());
        let entries = self.entries(call, beside, (source, id))?;
        let mut watching = Watching {
            watched: Watched::begin(call, &self.target, (&from, &to)),
            entries,
        };
        let order = CopyOrder {
            source_share: self.source.base.share.clone(),
            source: source.path.clone(),
            source_id: source.id,
            target: self.files.copy.clone(),
            target_id: id,
            depth: LIMITS.depth,
            patience: ROUND,
            trusts: matches!(self.target, Target::Volume(_)),
            unsteady: match self.target {
                Target::Snapshot(take) if take.consistency == Consistency::Listed => Unsteady::Keep,
                Target::Snapshot(_) | Target::Volume(_) => Unsteady::Refuse,
            },
        };
        let done = call.share.copy(&order, &mut watching);
        // The caller's deadline may have passed.
        call.by = Instant::now() + ROUND;
        let Watching { watched, entries } = watching;
        let (free, done) = watched.end(done);
        self.free = free;
        let done = done.map_err(|error| self.or_blocked(error));
        match (done, entries, &source.manifest) {
            (Ok(()), Entries::Written(writer), _) => self.end_manifest(call, writer),
            (Err(error), Entries::Written(writer), _) => {
                writer.discard();
                Err(error)
            }
            (Ok(()), Entries::Checked(checker), Some(manifest)) => checker.end(beside, manifest),
            (done, Entries::Checked(_) | Entries::Ignored, _) => done,
        }
    }

    fn entries<'b>(
        &self,
        call: &mut Call<'_>,
        beside: &'b mut (dyn Share + Send),
        (source, id): (&HeldSource, FileId),
    ) -> Result<Entries<'b>, Error> {
        let depth = self.files.copy.names().len();
        if let Some(manifest) = &self.files.manifest {
            let snapshots = call.snapshots.clone();
            call.make_in_records(&[&snapshots])?;
            let writer = Writer::begin(beside, manifest, (&self.record, id), depth)?;
            return Ok(Entries::Written(writer));
        }
        match &source.manifest {
            Some(manifest) => Ok(Entries::Checked(Checker::read(beside, manifest, depth)?)),
            None => Ok(Entries::Ignored),
        }
    }

    /// A strict snapshot of files that change ends; a repeated call would begin with what they are by then.
    fn or_blocked(&self, error: Error) -> Error {
        match (self.target, &error) {
            (Target::Snapshot(take), Error::Share(share))
                if share.failure == Failure::Unsteady
                    && take.consistency == Consistency::Strict =>
            {
                Error::Blocked(format!("{error}, and consistency is strict"))
            }
            _ => error,
        }
    }

    /// The record has what the manifest is before the copy is moved: a call that finds it moved has only to say so.
    fn end_manifest(&mut self, call: &mut Call<'_>, writer: Writer<'_>) -> Result<(), Error> {
        let manifest = writer.end()?;
        if let (changed @ 1.., Target::Snapshot(take)) = (manifest.changed, self.target) {
            let label = take.snapshot.label();
            tracing::warn!(
                "{label}: {changed} files changed while they were copied; its manifest names them"
            );
            self.volumes.figures.add_changed(changed);
        }
        if let Some(taken) = &mut self.record.taken {
            taken.manifest = Some(manifest);
        }
        call.write(&self.files, &self.record)
    }

    fn put_in_place(&self, call: &mut Call<'_>, id: FileId) -> Result<(), Error> {
        self.decide(call, |this, call, to| {
            let above = call.find(&this.place.parent().unwrap_or_default())?;
            call.make_missing(above, &mut None)?;
            let from = &this.files.copy;
            let Err(error) = call.share.rename(from, id, to, Existing::Refuse, call.by) else {
                return Ok(());
            };
            Err(match error.failure {
                Failure::Exists => this.is_taken(call, to),
                // Samba's answer for a dangling link in the place.
                Failure::NotFound => call.failed(to, Failure::Link).into(),
                // Someone has a file of the copy open: it stays, and is moved by the next call.
                Failure::InUse | Failure::Denied => Error::Busy(error.to_string()),
                _ => error.into(),
            })
        })
    }

    /// The copy is in its place.
    fn finish(&mut self, call: &mut Call<'_>) -> Result<(), Error> {
        let found = call.find(&self.place)?;
        let (id, above) = match (found.end, found.ids.split_last()) {
            (End::Folder(id), Some((_, above))) if Some(id) == self.id => (id, above),
            _ => {
                let path = call.base.at(&found.path);
                return Err(Error::Busy(format!("{path} was moved away just now")));
            }
        };
        if let Some(manifest) = self
            .record
            .taken
            .as_ref()
            .and_then(|it| it.manifest.as_ref())
        {
            call.expect_length(&self.files, manifest)?;
        }
        self.record.state = State::Ready(Held::new(id, Created::Made, above));
        call.write(&self.files, &self.record)
    }

    /// After a failure: leaves nothing of the copy, if the connection still works.
    fn take_back(&self, call: &mut Call<'_>) {
        call.by = Instant::now() + ROUND;
        // Behind a link on the way it may be in its place all the same.
        let found = call.find(&self.place);
        let is_away =
            found.is_ok_and(|found| !self.id.is_some_and(|id| found.end == End::Folder(id)));
        let forget = |call: &mut Call<'_>| {
            call.clear(&self.files.record)?;
            call.clear(&self.files.aside)
        };
        if is_away && remove_half(call, &self.files, forget).is_ok() {
            self.volumes.forget(&self.target.label());
        }
    }
}
