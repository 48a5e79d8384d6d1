//! Deletes a volume: its record says so, its folder is moved away, and there goes what is in it, then the record, then
//! the folder, whose id no other has so long. So a repeated call never takes a new folder in the old place for its own.

use std::sync::Arc;
use std::time::Instant;

use smb::{Existing, Failure, FileId, Kind, Name, OpenFile, SharePath};
use transport::Code;

use super::call::{Call, Files, LIMITS, ROUND};
use super::clones::remove_half;
use super::names::{ARCHIVED, RECORDS, named_for, text};
use super::place::{End, Found};
use super::record::{Held, Record, State};
use super::records::Known;
use super::{Created, Delete, Deleted, Error, Left, Policy, Unrecorded};

/// How many entries of a folder without a record are looked through for a `.wincsi`.
const MOST_LOOKED_THROUGH: usize = 1_000_000;

struct Deleting<'a> {
    volume: &'a Delete,
    name: Name,
    files: Files,
}

/// What is known of the volume's record.
enum Own {
    None,
    /// It names another folder than the handle: it says nothing of this one, and is not this volume's.
    OtherFolder,
    Record(Record),
}

/// What was decided about the folder.
enum Decided {
    /// It is to go, and is where its content may go; open if this call moved it.
    Moved(FileId, Option<OpenFile>),
    Ended(Deleted),
}

impl Own {
    /// Whether the record has the id of what was found.
    fn has(&self, end: End) -> bool {
        match (self, end) {
            (Self::Record(record), End::Folder(id)) => {
                record.state.held().is_some_and(|held| held.id == id.0)
            }
            _ => false,
        }
    }
}

pub(super) fn delete(call: &mut Call<'_>, volume: &Delete) -> Result<Deleted, Error> {
    let name = volume.name.clone();
    let name = name.map_or_else(|| named_for(&volume.folder), Ok);
    let name = name.map_err(|error| call.base.blocked(volume.folder.path(), error))?;
    let deleting = Deleting {
        volume,
        files: call.files(&name)?,
        name,
    };
    if call.record_ids.is_empty() {
        if let Some(deleted) = deleting.without_records(call)? {
            return Ok(deleted);
        }
        call.make_records()?;
    }
    let deleted = call.locked(&deleting.files.lock, |call| deleting.run(call));
    call.unmake_records();
    deleted
}

impl Deleting<'_> {
    fn run(&self, call: &mut Call<'_>) -> Result<Deleted, Error> {
        let own = match call.read(&self.files) {
            Ok(None) => Own::None,
            Ok(Some(record)) if record.is_of(&self.volume.folder) => Own::Record(record),
            Ok(Some(_)) => Own::OtherFolder,
            // It stops deletes, and this is none.
            Err(error) if self.keeps() && error.code() == Code::FailedPrecondition => {
                Own::OtherFolder
            }
            Err(error) => return Err(error),
        };
        if let Some(deleted) = self.end_half(call, &own)? {
            return Ok(deleted);
        }
        let decided = self.decided(call, &own);
        call.discard_aside();
        match decided? {
            Decided::Moved(id, open) => self.finish(call, id, open),
            Decided::Ended(deleted) => {
                self.forget(call, own, &deleted)?;
                Ok(deleted)
            }
        }
    }

    /// Ends with a clone that was never in its place: no policy keeps half of a volume.
    fn end_half(&self, call: &mut Call<'_>, own: &Own) -> Result<Option<Deleted>, Error> {
        match own {
            Own::Record(record) if record.is_of_half_clone() => {
                let (id, place) = (record.state.held(), self.volume.folder.path());
                if call.has(place, id.map(|held| FileId(held.id)))? {
                    return Ok(None);
                }
                let is_free = matches!(call.find(place), Ok(found) if found.end == End::Missing);
                // A repeated call must not take what is there for a folder without a record.
                let deleted = match is_free || self.volume.unrecorded == Unrecorded::Keep {
                    true => Deleted::Gone,
                    false => Deleted::Left(Left::Unrecorded),
                };
                let own = Own::Record(record.clone());
                remove_half(call, &self.files, |call| self.forget(call, own, &deleted))?;
                Ok(Some(deleted))
            }
            // An earlier call may have ended between these two.
            Own::None => {
                let _ = call.share.clear(&self.files.copy, call.by);
                Ok(None)
            }
            Own::Record(_) | Own::OtherFolder => Ok(None),
        }
    }

    /// A folder that is gone, or stays, has no record any more. But where a folder without one would go, a repeated call
    /// must know that it was decided to leave this one.
    fn forget(&self, call: &mut Call<'_>, own: Own, deleted: &Deleted) -> Result<(), Error> {
        let is_left = matches!(deleted, Deleted::Left(_)) && !self.keeps();
        match own {
            Own::OtherFolder => {}
            Own::Record(record) if is_left && self.volume.unrecorded != Unrecorded::Keep => {
                if record.state != State::Left {
                    let left = record.without_parameters().with(State::Left);
                    call.write(&self.files, &left)?;
                }
            }
            Own::None if is_left && self.volume.unrecorded != Unrecorded::Keep => {
                let left = Record::new(&self.name, &self.volume.folder).with(State::Left);
                call.write(&self.files, &left)?;
            }
            Own::None | Own::Record(_) => call.clear(&self.files.record)?,
        }
        call.clear(&self.files.aside)
    }

    fn keeps(&self) -> bool {
        matches!(self.volume.policy, Policy::Keep(_))
    }

    fn decided(&self, call: &mut Call<'_>, own: &Own) -> Result<Decided, Error> {
        match self.volume.policy {
            Policy::Keep(reason) => return Ok(Decided::Ended(Deleted::Left(reason))),
            Policy::Archive => {}
            Policy::Delete => {
                if let Some(decided) = self.resume(call, own)? {
                    return Ok(decided);
                }
            }
        }
        let folder = &self.volume.folder;
        if self.volume.unrecorded != Unrecorded::Keep {
            let found = call.find(folder.path())?;
            if let (false, End::Folder(id)) = (own.has(found.end), found.end) {
                // Base folders may lie in it. That may take long, and so it is done before the locks.
                let mut left = MOST_LOOKED_THROUGH;
                if holds_records(call, &found.path, id, LIMITS.depth, &mut left)? {
                    return Ok(Decided::Ended(Deleted::Left(Left::HoldsRecords)));
                }
            }
        }
        self.prepare(call, own)?;
        call.decide(&self.files, folder, |call, known, found| {
            self.decide(call, own, known, &found)
        })
    }

    /// Writes the record of a volume that probably goes, before other calls have to wait for that.
    fn prepare(&self, call: &mut Call<'_>, own: &Own) -> Result<(), Error> {
        if let Own::Record(record) = own
            && let State::Ready(held) = &record.state
            && held.origin == Created::Made
        {
            let state = State::Deleting(held.clone());
            let record = record.clone().without_parameters().with(state);
            match call.write_aside(&self.files, &record) {
                // Then it is written otherwise.
                Err(Error::Share(error)) if error.failure == Failure::Full => {}
                written => written?,
            }
        }
        Ok(())
    }

    fn gone(&self) -> Deleted {
        match self.volume.policy {
            Policy::Archive => Deleted::Archived(None),
            Policy::Delete | Policy::Keep(_) => Deleted::Gone,
        }
    }

    /// What a handle without any record in its base comes to, if nothing has to be written for that.
    fn without_records(&self, call: &mut Call<'_>) -> Result<Option<Deleted>, Error> {
        if let Policy::Keep(reason) = self.volume.policy {
            return Ok(Some(Deleted::Left(reason)));
        }
        let found = call.find(self.volume.folder.path())?;
        call.prove(&found)?;
        Ok(match (found.end, self.volume.unrecorded) {
            (End::Missing, _) => Some(self.gone()),
            (_, Unrecorded::Keep) => Some(Deleted::Left(Left::Unrecorded)),
            (_, Unrecorded::Delete | Unrecorded::DeleteIfNone) => None,
        })
    }

    /// Goes on with a folder that an earlier call moved away.
    fn resume(&self, call: &mut Call<'_>, own: &Own) -> Result<Option<Decided>, Error> {
        let held = match own {
            Own::None => None,
            Own::Record(record) => match &record.state {
                State::Deleting(held) => Some(held),
                State::Creating | State::Cloning(_) | State::Ready(_) | State::Left => {
                    return Ok(None);
                }
            },
            Own::OtherFolder => return Ok(None),
        };
        match (call.folder_of_records(&self.files.moved)?, held) {
            (Some(found), Some(held)) if found.0 == held.id => {
                call.clear(&self.files.aside)?;
                Ok(Some(Decided::Moved(found, None)))
            }
            (Some(found), None) => {
                // Its record went, and before that all that was in it.
                call.share.remove(&self.files.moved, found, call.by)?;
                // That may be another's doing, where a folder needs no record to go.
                let is_all = self.volume.unrecorded == Unrecorded::Keep;
                Ok(is_all.then(|| Decided::Ended(self.gone())))
            }
            (Some(_) | None, _) => Ok(None),
        }
    }

    /// Under the locks: whether the folder goes, and if so, moves it away.
    fn decide(
        &self,
        call: &mut Call<'_>,
        own: &Own,
        known: &[Arc<Known>],
        found: &Found,
    ) -> Result<Decided, Error> {
        // A record that has the id of a folder was written when that was no link.
        if !own.has(found.end) {
            call.prove(found)?;
        }
        let id = match self.allow(found, own) {
            Ok(id) => id,
            Err(deleted) => return Ok(Decided::Ended(deleted)),
        };
        if self.is_shared(call, found, known)? {
            return Ok(Decided::Ended(Deleted::Left(Left::Shared)));
        }
        if found.is_in(&call.record_ids) || found.holds_records {
            return Ok(Decided::Ended(Deleted::Left(Left::HoldsRecords)));
        }
        let record = match own {
            Own::Record(record) => record.clone(),
            Own::None | Own::OtherFolder => Record::new(&self.name, &self.volume.folder),
        };
        let above = found.ids.split_last().map_or(&[][..], |(_, above)| above);
        let state = State::Deleting(Held::new(id, Created::Made, above));
        if record.state != state {
            call.write_to_go(&self.files, &record.without_parameters().with(state))?;
        }
        match self.volume.policy {
            Policy::Archive => self.archive(call, &found.path, id),
            Policy::Delete | Policy::Keep(_) => self.move_away(call, &found.path, id),
        }
    }

    /// The folder that may go, by its record, or what the delete comes to without that.
    fn allow(&self, found: &Found, own: &Own) -> Result<FileId, Deleted> {
        let left = |left| Err(Deleted::Left(left));
        let id = match found.end {
            End::Missing => return Err(self.gone()),
            End::File => None,
            End::Folder(id) => Some(id),
        };
        let unrecorded = self.volume.unrecorded;
        let state = match own {
            Own::None if unrecorded != Unrecorded::Keep => {
                return id.ok_or(Deleted::Left(Left::Unrecorded));
            }
            Own::None | Own::OtherFolder => return left(Left::Unrecorded),
            Own::Record(record) => &record.state,
        };
        match (state, id) {
            // It counts as found: see `create`.
            (State::Left, _) => left(Left::Unrecorded),
            (State::Creating, _) if !self.volume.folder.is_named(&self.name) => left(Left::Found),
            (State::Creating, Some(id)) => Ok(id),
            (State::Ready(held) | State::Cloning(held) | State::Deleting(held), Some(id))
                if held.id == id.0 =>
            {
                match held.origin {
                    Created::Made => Ok(id),
                    Created::Found => left(Left::Found),
                }
            }
            // It was moved away: this folder came after it.
            (State::Deleting(_), _) if self.volume.policy == Policy::Archive => Err(self.gone()),
            (State::Ready(held), _) if held.origin == Created::Found => left(Left::Found),
            (State::Ready(_), Some(id)) if unrecorded == Unrecorded::Delete => Ok(id),
            (State::Creating | State::Cloning(_) | State::Ready(_) | State::Deleting(_), _) => {
                left(Left::Replaced)
            }
        }
    }

    /// Whether another volume has the folder, one in it, or one that it lies in.
    fn is_shared(
        &self,
        call: &mut Call<'_>,
        found: &Found,
        known: &[Arc<Known>],
    ) -> Result<bool, Error> {
        let place = found.place(&call.base.path, &self.volume.folder);
        for known in known {
            let other = known.volume.as_ref().map_err(|reason| {
                let reason = format!("{reason}; no volume beside it can be deleted");
                call.base.blocked(&known.file, reason)
            })?;
            let overlaps = match other.state {
                State::Ready(_) => other.place.overlaps(&place),
                State::Deleting(_) => other.place.overlaps(&place) && other.is_unmoved(call)?,
                State::Creating | State::Cloning(_) => {
                    other.place.overlaps(&place)
                        || place.may_have_short_names(&other.place)
                            && other.place_now(call)?.overlaps(&place)
                }
                State::Left => false,
            };
            if overlaps {
                let (path, name) = (call.base.at(&found.path), &other.name);
                tracing::info!("{path} is volume {name}'s too");
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn move_away(
        &self,
        call: &mut Call<'_>,
        path: &SharePath,
        id: FileId,
    ) -> Result<Decided, Error> {
        let to = &self.files.moved;
        let moved = match call.share.take(path, id, to, Existing::Refuse, call.by) {
            Err(error) if error.failure == Failure::NotFound => {
                match call.share.make_folder(&call.deleted, call.by) {
                    Err(error) if error.failure != Failure::Exists => return Err(error.into()),
                    Ok(_) | Err(_) => {}
                }
                call.share.take(path, id, to, Existing::Refuse, call.by)
            }
            // An empty folder may be there of an earlier volume of this name.
            Err(error) if error.failure == Failure::Exists => {
                call.clear(to)?;
                call.share.take(path, id, to, Existing::Refuse, call.by)
            }
            moved => moved,
        };
        Ok(Decided::Moved(id, Some(moved?)))
    }

    /// No archive takes the place of another.
    fn archive(&self, call: &mut Call<'_>, path: &SharePath, id: FileId) -> Result<Decided, Error> {
        let mut names: Vec<String> = self.volume.folder.path().names().iter().map(text).collect();
        if let Some(first) = names.first_mut() {
            first.insert_str(0, ARCHIVED);
        }
        let last = names.pop().unwrap_or_default();
        let above = names
            .iter()
            .try_fold(SharePath::root(), |path, name| call.base.below(&path, name))?;
        let above = call.find(&above)?;
        call.prove(&above)?;
        let folder = above.path.clone();
        call.make_missing(above, &mut None)?;
        let (name, key) = (text(&self.name), &self.files.key);
        let others = format!("{ARCHIVED}{key}-{:x}", id.0);
        for to in [
            call.base.below(&folder, &last),
            call.base.below(&folder, &format!("{last}-{name}")),
            // Where these are taken, or too long.
            call.base.below(&call.base.path, &others),
        ] {
            let Ok(to) = to else { continue };
            match call.share.rename(path, id, &to, Existing::Refuse, call.by) {
                Ok(()) => return Ok(Decided::Ended(Deleted::Archived(Some(to)))),
                // Not found: Samba's answer for a dangling link in the place.
                Err(error) if matches!(error.failure, Failure::Exists | Failure::NotFound) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(call
            .base
            .blocked(path, "each name that its archive could have is taken"))
    }

    /// Removes what was moved away.
    fn finish(
        &self,
        call: &mut Call<'_>,
        id: FileId,
        open: Option<OpenFile>,
    ) -> Result<Deleted, Error> {
        let path = &self.files.moved;
        call.empty(path, id)?;
        call.clear(&self.files.record)?;
        let gone = match open.map(|folder| call.share.discard(folder, call.by)) {
            // It may be read-only.
            Some(Err(error)) if error.failure == Failure::Denied => None,
            done => done,
        };
        let gone = gone.unwrap_or_else(|| call.share.remove(path, id, call.by));
        match gone {
            Err(error) if error.failure == Failure::NotEmpty => {
                Err(call.failed(path, Failure::HiddenContent).into())
            }
            removed => Ok(removed.map(|()| self.gone())?),
        }
    }
}

/// Whether there is a `.wincsi` in a folder, or in one in it, as deep as that.
fn holds_records(
    call: &mut Call<'_>,
    path: &SharePath,
    id: FileId,
    depth: u64,
    left: &mut usize,
) -> Result<bool, Error> {
    if call.stat(&call.base.below(path, RECORDS)?)?.is_some() {
        return Ok(true);
    }
    if depth == 0 {
        return Ok(false);
    }
    call.by = Instant::now() + ROUND;
    call.lane = None;
    let entries = call.list_whole(path)?.entries;
    *left = left.checked_sub(entries.len()).ok_or_else(|| {
        let reason = format!("it has more than {MOST_LOOKED_THROUGH} entries to look through");
        call.base.blocked(path, reason)
    })?;
    for entry in entries {
        if entry.kind != Kind::Folder {
            continue;
        }
        let inner = path.join(&entry.name);
        let inner = inner.map_err(|error| call.base.blocked(path, error))?;
        if let End::Folder(inner_id) = call.folder_in(&inner, id)?
            && holds_records(call, &inner, inner_id, depth - 1, left)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}
