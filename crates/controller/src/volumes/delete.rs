//! Deletes a volume: its record says so, its folder is moved away, and there goes what is in it, then the record, then
//! the folder, whose id no other has so long. So a repeated call never takes a new folder in the old place for its own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use smb::{Existing, Failure, FileId, Limits, Name, Share, SharePath, Visibility, remove_content};

use super::call::Call;
use super::names::{ARCHIVED, Key, RECORDS, named_for, text};
use super::place::{End, Found};
use super::record::{Held, Origin, Record, State};
use super::records::{Known, Step};
use super::{Delete, Deleted, Error, Left, Policy, Unrecorded, Volumes};

/// How long a server may take for one round of a long delete.
const ROUND: Duration = Duration::from_secs(120);
/// How much such a round removes, and how deep folders may lie in folders.
const LIMITS: Limits = Limits {
    depth: 256,
    entries: 1_000,
};

/// A volume that is being deleted.
struct Deleting<'a> {
    volumes: &'a Volumes,
    volume: &'a Delete,
    name: Name,
    key: Key,
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
    /// It is to go, and is where its content may go.
    Moved(FileId),
    Ended(Deleted),
}

/// Whether a folder may go.
enum Allowed {
    Yes(FileId),
    No(Deleted),
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

pub(super) fn delete(
    volumes: &Volumes,
    share: &mut (dyn Share + Send),
    volume: &Delete,
    by: Instant,
) -> Result<(Deleted, bool), Error> {
    let mut call = Call::new(share, &volume.base, by)?;
    let name = volume
        .name
        .clone()
        .map_or_else(|| named_for(&volume.folder), Ok);
    let name = name.map_err(|error| call.blocked(volume.folder.path(), error))?;
    let deleting = Deleting {
        volumes,
        volume,
        key: Key::of(&name),
        name,
    };
    let lock = call.lock_of(&deleting.key)?;
    let deleted = match call.locked(&lock, |call| deleting.run(call)) {
        Err(error) if error.is_missing_lock() => match deleting.without_records(&mut call)? {
            Some(deleted) => Ok(deleted),
            None => {
                call.make_records()?;
                call.locked(&lock, |call| deleting.run(call))
            }
        },
        deleted => deleted,
    };
    deleted.map(|deleted| (deleted, call.is_clean))
}

impl Deleting<'_> {
    fn run(&self, call: &mut Call<'_>) -> Result<Deleted, Error> {
        let own = match call.read(&self.key) {
            Ok(None) => Own::None,
            Ok(Some(record)) if record.folder == self.volume.folder => Own::Record(record),
            Ok(Some(_)) => Own::OtherFolder,
            // It stops deletes, and this is none.
            Err(Error::Blocked { .. }) if self.keeps() => Own::OtherFolder,
            Err(error) => return Err(error),
        };
        match self.decided(call, &own)? {
            Decided::Moved(id) => self.finish(call, id),
            Decided::Ended(deleted) => {
                if matches!(own, Own::Record(_)) {
                    call.forget(&self.key)?;
                }
                call.remove_aside(&self.key)?;
                Ok(deleted)
            }
        }
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
        call.decide(self.volumes, &self.volume.folder, |call, known| {
            self.decide(call, own, known)
        })
    }

    fn keeps(&self) -> bool {
        matches!(self.volume.policy, Policy::Keep(_))
    }

    fn gone(&self) -> Deleted {
        match self.volume.policy {
            Policy::Archive => Deleted::Archived(None),
            Policy::Delete | Policy::Keep(_) => Deleted::Gone,
        }
    }

    /// What a handle without any record in its base comes to, if nothing has to be written for that.
    fn without_records(&self, call: &mut Call<'_>) -> Result<Option<Deleted>, Error> {
        match (self.volume.policy, self.volume.unrecorded) {
            (Policy::Keep(reason), _) => Ok(Some(Deleted::Left(reason))),
            (_, Unrecorded::Keep) => {
                let found = call.find(self.volume.folder.path())?;
                Ok(Some(match found.end {
                    End::Missing => self.gone(),
                    End::Folder(_) | End::File => Deleted::Left(Left::Unrecorded),
                }))
            }
            (_, Unrecorded::Delete | Unrecorded::DeleteIfNone) => Ok(None),
        }
    }

    /// Goes on with a folder that an earlier call moved away.
    fn resume(&self, call: &mut Call<'_>, own: &Own) -> Result<Option<Decided>, Error> {
        let held = match own {
            Own::None => None,
            Own::Record(record) => match &record.state {
                State::Deleting(held) => Some(held),
                State::Creating | State::Ready(_) => return Ok(None),
            },
            Own::OtherFolder => return Ok(None),
        };
        match (self.moved(call)?, held) {
            (Some(found), Some(held)) if found.0 == held.id => Ok(Some(Decided::Moved(found))),
            (Some(found), None) => {
                // Its record went, and before that all that was in it.
                let path = call.deleted_of(&self.key)?;
                call.share.remove(&path, found, call.by)?;
                Ok(Some(Decided::Ended(self.gone())))
            }
            (Some(_) | None, _) => Ok(None),
        }
    }

    /// The folder that was moved away, if there is one.
    fn moved(&self, call: &mut Call<'_>) -> Result<Option<FileId>, Error> {
        let (records, deleted) = (call.records()?, call.deleted()?);
        let End::Folder(records) = call.folder_in(&records, call.base_id)? else {
            return Ok(None);
        };
        let End::Folder(deleted) = call.folder_in(&deleted, records)? else {
            return Ok(None);
        };
        let path = call.deleted_of(&self.key)?;
        match call.folder_in(&path, deleted)? {
            End::Folder(id) => Ok(Some(id)),
            End::Missing => Ok(None),
            End::File => Err(call.blocked(&path, "it is no folder")),
        }
    }

    /// Under the locks: whether the folder goes, and if so, moves it away.
    fn decide(
        &self,
        call: &mut Call<'_>,
        own: &Own,
        known: &[Arc<Known>],
    ) -> Result<Decided, Error> {
        let found = call.find(self.volume.folder.path())?;
        // A record that has the id of a folder was written when that was no link.
        if !own.has(found.end) {
            call.prove(self.volumes, &found)?;
        }
        let id = match self.allow(&found, own) {
            Allowed::Yes(id) => id,
            Allowed::No(deleted) => return Ok(Decided::Ended(deleted)),
        };
        if self.is_shared(call, &found, known)? {
            return Ok(Decided::Ended(Deleted::Left(Left::Shared)));
        }
        if call.stat(&call.below(&found.path, RECORDS)?)?.is_some() {
            return Ok(Decided::Ended(Deleted::Left(Left::HoldsRecords)));
        }
        let record = match own {
            Own::Record(record) => record.clone(),
            Own::None | Own::OtherFolder => {
                Record::unrecorded(self.name.clone(), self.volume.folder.clone())
            }
        };
        let above = found.ids.split_last().map_or(&[][..], |(_, above)| above);
        let state = State::Deleting(Held::new(id, Origin::Made, above));
        if record.state != state {
            call.write(&self.key, &record.with(state))?;
        }
        match self.volume.policy {
            Policy::Archive => self.archive(call, &found.path, id),
            Policy::Delete | Policy::Keep(_) => self.move_away(call, &found.path, id),
        }
    }

    /// What the record says of what is in the folder's place.
    fn allow(&self, found: &Found, own: &Own) -> Allowed {
        let left = |left| Allowed::No(Deleted::Left(left));
        let id = match found.end {
            End::Missing => return Allowed::No(self.gone()),
            End::File => None,
            End::Folder(id) => Some(id),
        };
        let unrecorded = self.volume.unrecorded;
        let held = match own {
            Own::None if unrecorded != Unrecorded::Keep => {
                return id.map_or_else(|| left(Left::Unrecorded), Allowed::Yes);
            }
            Own::None | Own::OtherFolder => return left(Left::Unrecorded),
            Own::Record(record) => &record.state,
        };
        match (held, id) {
            // It counts as found: see `create`.
            (State::Creating, _) if !self.volume.folder.is_named(&self.name) => left(Left::Found),
            (State::Creating, Some(id)) => Allowed::Yes(id),
            (State::Ready(held) | State::Deleting(held), Some(id)) if held.id == id.0 => {
                match held.origin {
                    Origin::Made => Allowed::Yes(id),
                    Origin::Found => left(Left::Found),
                }
            }
            // It was moved away, and this is another's by now.
            (State::Deleting(_), _) if self.volume.policy == Policy::Archive => {
                Allowed::No(self.gone())
            }
            (State::Ready(_), Some(id)) if unrecorded == Unrecorded::Delete => Allowed::Yes(id),
            (State::Creating | State::Ready(_) | State::Deleting(_), _) => left(Left::Replaced),
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
        let own = call.record_of(&self.key)?;
        for known in known {
            let other = match &**known {
                Known::Volume(other) if other.file == own => continue,
                Known::Volume(other) => other,
                Known::Unreadable { path, reason } => {
                    let reason = format!("{reason}; no volume beside it can be deleted");
                    return Err(call.blocked(path, reason));
                }
            };
            let overlaps = match other.step {
                Step::Ready => other.place.overlaps(&place),
                Step::Deleting => other.place.overlaps(&place) && other.is_unmoved(call)?,
                Step::Creating => other.place_now(call)?.overlaps(&place),
            };
            if overlaps {
                let (path, name) = (call.at(&found.path), &other.name);
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
        let to = call.deleted_of(&self.key)?;
        let moved = match call.share.rename(path, id, &to, Existing::Refuse, call.by) {
            Err(error) if error.failure == Failure::NotFound => {
                call.make_if_missing(&call.deleted()?, Visibility::Shown)?;
                call.share.rename(path, id, &to, Existing::Refuse, call.by)
            }
            // An empty folder may be there of an earlier volume of this name.
            Err(error) if error.failure == Failure::Exists => {
                call.remove(&to)?;
                call.share.rename(path, id, &to, Existing::Refuse, call.by)
            }
            moved => moved,
        };
        moved?;
        Ok(Decided::Moved(id))
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
            .try_fold(SharePath::root(), |path, name| call.below(&path, name))?;
        let above = call.find(&above)?;
        call.prove(self.volumes, &above)?;
        let folder = above.path.clone();
        call.make_missing(above, &mut None)?;
        let first = call.below(&folder, &last)?;
        let second = call.below(&folder, &format!("{last}-{}", self.key.text()))?;
        let to = match call
            .share
            .rename(path, id, &first, Existing::Refuse, call.by)
        {
            Err(error) if error.failure == Failure::Exists => {
                call.share
                    .rename(path, id, &second, Existing::Refuse, call.by)?;
                second
            }
            renamed => renamed.map(|()| first)?,
        };
        Ok(Decided::Ended(Deleted::Archived(Some(to))))
    }

    /// Removes what was moved away, in rounds, of which each has a deadline.
    fn finish(&self, call: &mut Call<'_>, id: FileId) -> Result<Deleted, Error> {
        let path = call.deleted_of(&self.key)?;
        loop {
            call.by = Instant::now() + ROUND;
            match remove_content(call.share, &path, id, LIMITS, call.by) {
                Err(error) if error.failure == Failure::Limit(LIMITS.entries) => {}
                Err(error) => return Err(error.into()),
                Ok(removed) => {
                    if removed.unproved > 0 {
                        tracing::warn!(
                            "{}: of {} folders only their kind shows that they are no links",
                            call.at(&path),
                            removed.unproved
                        );
                    }
                    break;
                }
            }
        }
        call.by = Instant::now() + ROUND;
        call.forget(&self.key)?;
        call.remove_aside(&self.key)?;
        match call.share.remove(&path, id, call.by) {
            Err(error) if error.failure == Failure::NotEmpty => {
                Err(call.failed(&path, Failure::HiddenContent).into())
            }
            removed => Ok(removed.map(|()| self.gone())?),
        }
    }
}
