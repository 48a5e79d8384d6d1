//! Makes a volume as a copy of another: in `.wincsi/clones` of the base folder, and in its place once it is whole.
//!
//! The record has the id of the copy's folder before that is moved: so a repeated call knows the one that it finds in the
//! place, and what is half made is no volume. All goes over one connection, with the locks of the volume and of its source.

use std::sync::Arc;
use std::time::Instant;

use smb::{CopyOrder, CopyProgress, Existing, Failure, FileId, Share, SharePath, Unsteady};

use super::call::{Call, Files, LIMITS, ROUND};
use super::create::{allow, check};
use super::names::{key, text};
use super::place::{End, Found};
use super::record::{Held, Record, State};
use super::records::Known;
use super::source::{self, HeldSource};
use super::watch::Watched;
use super::{Create, Created, Error, Source, Volumes};

struct Cloning<'a> {
    volumes: &'a Volumes,
    volume: &'a Create,
    source: &'a Source,
    files: Files,
    /// The id of the copy's folder, once the record has it.
    id: Option<FileId>,
    /// Whether the record is of this clone: then a failure takes it back.
    is_begun: bool,
}

pub(super) fn clone(
    call: &mut Call<'_>,
    (volume, source): (&Create, &Source),
) -> Result<(), Error> {
    let is_itself = source
        .name
        .as_ref()
        .is_some_and(|name| key(name) == key(&volume.name));
    if is_itself && source.base.key() == call.base.key() {
        let name = text(&volume.name);
        return Err(Error::Invalid(format!("volume {name} is its own source")));
    }
    let mut cloning = Cloning {
        volumes: call.volumes,
        volume,
        source,
        files: call.files(&volume.name)?,
        id: None,
        is_begun: false,
    };
    if call.record_ids.is_empty() {
        call.make_records()?;
    }
    let lock = cloning.files.lock.clone();
    let made = call.locked(&lock, |call| cloning.run(call));
    if made.is_err() {
        call.unmake_records();
    }
    made
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

impl Cloning<'_> {
    fn run(&mut self, call: &mut Call<'_>) -> Result<(), Error> {
        let own = call.read(&self.files)?;
        if let Some(record) = own.filter(|record| record.state != State::Left) {
            check(self.volume, &record)?;
            self.volumes.remember(self.volume);
            self.is_begun = record.is_of_half_clone();
            let id = record.state.held().map(|held| FileId(held.id));
            let is_there = call.has(self.place(), id)?;
            self.id = id.filter(|_| self.is_begun);
            if is_there {
                return match self.is_begun {
                    // An earlier call ended after it had moved the copy.
                    true => self.finish(call),
                    false => Ok(()),
                };
            }
        }
        let done = self.with_source(call);
        call.discard_aside();
        if done.as_ref().is_err_and(|error| !error.may_pass()) && self.is_begun {
            self.take_back(call);
        }
        done
    }

    fn place(&self) -> &SharePath {
        self.volume.folder.path()
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
            Ok(false) => self.make(call, &held),
            Err(error) => Err(error),
        };
        call.is_clean &= held.release(&mut *beside, Instant::now() + ROUND);
        done
    }

    fn make(&mut self, call: &mut Call<'_>, source: &HeldSource) -> Result<(), Error> {
        self.intend(call)?;
        call.log_leftovers(Some(&self.files));
        let id = self.begin(call)?;
        self.copy(call, source, id)?;
        self.put_in_place(call, id)?;
        self.finish(call)
    }

    /// Writes the record, if the volume can have its place.
    fn intend(&mut self, call: &mut Call<'_>) -> Result<(), Error> {
        if !self.is_begun {
            call.write_aside(&self.files, &Record::intent(self.volume))?;
        }
        let mut is_begun = self.is_begun;
        let done = call.decide(&self.files, &self.volume.folder, |call, known, found| {
            self.expect_free(call, known, &found)?;
            if !is_begun {
                is_begun = true;
                self.volumes.remember(self.volume);
                call.put(&self.files)?;
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

    fn expect_free(
        &self,
        call: &mut Call<'_>,
        known: &[Arc<Known>],
        found: &Found,
    ) -> Result<(), Error> {
        allow(call, self.volume, known, found)?;
        match found.end {
            End::Missing => Ok(()),
            End::Folder(_) | End::File => Err(self.is_taken(call, &found.path)),
        }
    }

    fn is_taken(&self, call: &Call<'_>, path: &SharePath) -> Error {
        let (path, name) = (call.base.at(path), text(&self.volume.name));
        let way_out = "a clone overwrites nothing: move it away, or choose another subDir";
        Error::Exists(format!(
            "{path} is there already, and is not volume {name}; {way_out}"
        ))
    }

    /// Finds or makes the copy's folder, whose id then is in the record.
    fn begin(&mut self, call: &mut Call<'_>) -> Result<FileId, Error> {
        let mut id = call.base_id;
        for path in [
            &call.records.clone(),
            &call.clones.clone(),
            &self.files.copy,
        ] {
            if call.folder_in(path, id)? == End::Missing {
                match call.share.make_folder(path, call.by) {
                    Err(error) if error.failure != Failure::Exists => return Err(error.into()),
                    Ok(_) | Err(_) => {}
                }
            }
            let End::Folder(inner) = call.folder_in(path, id)? else {
                return Err(call.base.blocked(path, "it is no folder"));
            };
            id = inner;
        }
        if self.id != Some(id) {
            let cloning = State::Cloning(Held::new(id, Created::Made, &[]));
            call.write(&self.files, &Record::intent(self.volume).with(cloning))?;
            self.id = Some(id);
        }
        Ok(id)
    }

    fn copy(&self, call: &mut Call<'_>, source: &HeldSource, id: FileId) -> Result<(), Error> {
        let from = self.source.base.at(&source.path);
        let mut watched = Watched::begin(call, self.volume, &from);
        let order = CopyOrder {
            source_share: self.source.base.share.clone(),
            source: source.path.clone(),
            source_id: source.id,
            target: self.files.copy.clone(),
            target_id: id,
            depth: LIMITS.depth,
            patience: ROUND,
            unsteady: Unsteady::Refuse,
        };
        let mut see = |progress: &CopyProgress| watched.see(progress);
        let done = call.share.copy(&order, &mut see);
        // The caller's deadline may have passed.
        call.by = Instant::now() + ROUND;
        watched.end(done)
    }

    fn put_in_place(&self, call: &mut Call<'_>, id: FileId) -> Result<(), Error> {
        call.decide(&self.files, &self.volume.folder, |call, known, found| {
            self.expect_free(call, known, &found)?;
            let above = call.find(&self.place().parent().unwrap_or_default())?;
            call.make_missing(above, &mut None)?;
            let (from, to) = (&self.files.copy, &found.path);
            let Err(error) = call.share.rename(from, id, to, Existing::Refuse, call.by) else {
                return Ok(());
            };
            Err(match error.failure {
                Failure::Exists => self.is_taken(call, to),
                // Samba's answer for a dangling link in the place.
                Failure::NotFound => call.failed(to, Failure::Link).into(),
                // Someone has a file of the copy open: it stays, and is moved by the next call.
                Failure::InUse | Failure::Denied => Error::Busy(error.to_string()),
                _ => error.into(),
            })
        })
    }

    /// The copy is in its place.
    fn finish(&self, call: &mut Call<'_>) -> Result<(), Error> {
        let found = call.find(self.place())?;
        let (id, above) = match (found.end, found.ids.split_last()) {
            (End::Folder(id), Some((_, above))) if Some(id) == self.id => (id, above),
            _ => {
                let path = call.base.at(&found.path);
                return Err(Error::Busy(format!("{path} was moved away just now")));
            }
        };
        let ready = State::Ready(Held::new(id, Created::Made, above));
        call.write(&self.files, &Record::intent(self.volume).with(ready))
    }

    /// After a failure: leaves nothing of the copy, if the connection still works.
    fn take_back(&self, call: &mut Call<'_>) {
        call.by = Instant::now() + ROUND;
        // Behind a link on the way it may be in its place all the same.
        let found = call.find(self.place());
        let is_away =
            found.is_ok_and(|found| !self.id.is_some_and(|id| found.end == End::Folder(id)));
        let forget = |call: &mut Call<'_>| {
            call.clear(&self.files.record)?;
            call.clear(&self.files.aside)
        };
        if is_away && remove_half(call, &self.files, forget).is_ok() {
            self.volumes.forget(&self.volume.name);
        }
    }
}
