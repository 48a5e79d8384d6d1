//! Makes a volume: its record, its folder, then the record again, with the folder's id.

use std::sync::Arc;

use smb::{Failure, FileId, SharePath};

use super::call::{Call, Files};
use super::names::fold;
use super::place::{End, Found, Place};
use super::record::{Held, Record, State};
use super::records::Known;
use super::{Create, Created, Error, Volumes, exists};

/// What a call knows of the volume that it makes.
struct Making<'a> {
    volumes: &'a Volumes,
    volume: &'a Create,
    files: Files,
    /// Whether the record is of this call: then a failure takes it back.
    is_first: bool,
    /// The folder, once this call has made it.
    made: Option<(SharePath, FileId)>,
}

pub(super) fn create(call: &mut Call<'_>, volume: &Create) -> Result<Created, Error> {
    let mut making = Making {
        volumes: call.volumes,
        volume,
        files: call.files(&volume.name)?,
        is_first: false,
        made: None,
    };
    let lock = making.files.lock.clone();
    call.in_records(&lock, |call| making.run(call))
}

impl Making<'_> {
    fn run(&mut self, call: &mut Call<'_>) -> Result<Created, Error> {
        let own = call.read(&self.files)?;
        self.is_first = own.is_none();
        if let Some(record) = own.filter(|record| record.state != State::Left) {
            check(self.volume, &record)?;
            self.volumes.remember(self.volume.label(), call.base);
            if let State::Ready(held) = &record.state
                && call.has(self.volume.folder.path(), Some(FileId(held.id)))?
            {
                return Ok(held.origin);
            }
        }
        let made = self.make(call);
        call.discard_aside();
        if made.is_err() && self.is_first && !call.is_unsure {
            self.take_back(call);
        }
        made
    }

    fn make(&mut self, call: &mut Call<'_>) -> Result<Created, Error> {
        let intent = Record::intent(self.volume);
        call.write_aside(&self.files, &intent)?;
        let found = call.decide(&self.files, &self.volume.folder, |call, known, found| {
            allow(call, self.volume, known, &found)?;
            self.volumes.remember(self.volume.label(), call.base);
            call.put(&self.files)?;
            Ok(found)
        })?;
        let held = self.folder(call, found)?;
        let origin = held.origin;
        call.write(&self.files, &intent.with(State::Ready(held)))?;
        Ok(origin)
    }

    /// Makes the folder, and those above it that are missing.
    fn folder(&mut self, call: &mut Call<'_>, found: Found) -> Result<Held, Error> {
        let path = found.path.clone();
        let mut ids = call.make_missing(found, &mut self.made)?;
        let is_new = self.made.as_ref().is_some_and(|(made, _)| *made == path);
        let is_own = is_new || self.volume.folder.is_named(&self.volume.name);
        let origin = if is_own {
            Created::Made
        } else {
            Created::Found
        };
        let id = ids.pop().unwrap_or(call.base_id);
        Ok(Held::new(id, origin, &ids))
    }

    /// After a failure: leaves nothing of the volume, if the connection still works.
    fn take_back(&self, call: &mut Call<'_>) {
        let mut remove = || {
            if let Some((path, id)) = &self.made {
                call.share.remove(path, *id, call.by)?;
            }
            call.clear(&self.files.record)?;
            call.clear(&self.files.aside)
        };
        if remove().is_ok() {
            self.volumes.forget(&self.volume.label());
        }
    }
}

/// Whether a repeated call asks for the same.
pub(super) fn check(volume: &Create, record: &Record) -> Result<(), Error> {
    let label = volume.label();
    if let Some(difference) = record.difference(volume) {
        return Err(exists(&label, &difference));
    }
    match record.state {
        State::Deleting(_) => Err(Error::Busy(format!("{label} is being deleted"))),
        State::Creating | State::Cloning(_) | State::Ready(_) | State::Left => Ok(()),
    }
}

/// Whether the folder can be this volume's now.
pub(super) fn allow(
    call: &mut Call<'_>,
    volume: &Create,
    known: &[Arc<Known>],
    found: &Found,
) -> Result<(), Error> {
    call.prove(found)?;
    // A base folder inside of a volume would go with it.
    if found.holds_records || found.is_in(&call.record_ids) {
        return Err(holds_records(call, &found.path));
    }
    if found.end == End::File {
        return Err(call.failed(&found.path, Failure::NotAFolder).into());
    }
    expect_base_alone(call, known)?;
    let place = found.place(&call.base.path, &volume.folder);
    for known in known {
        let Ok(other) = &known.volume else {
            continue;
        };
        if other.state == State::Left {
            continue;
        }
        let is_here = !matches!(other.state, State::Deleting(_));
        let overlaps = place.is_named_in(&other.place) || place.has_id_of(&other.place);
        if !is_here && overlaps && other.is_unmoved(call)? {
            let (volume, path) = (&other.name, call.base.at(&other.path));
            return Err(Error::Busy(format!(
                "volume {volume} is being deleted, and its folder {path} is not moved away yet"
            )));
        }
    }
    Ok(())
}

/// Refuses a base folder that lies in a volume, whose delete would take what is in the base.
pub(super) fn expect_base_alone(call: &Call<'_>, known: &[Arc<Known>]) -> Result<(), Error> {
    let base = base_place(call);
    for known in known {
        let Ok(other) = &known.volume else {
            continue;
        };
        let is_named = match other.state {
            State::Left => continue,
            State::Deleting(_) => false,
            State::Creating | State::Cloning(_) | State::Ready(_) => base.is_named_in(&other.place),
        };
        if is_named || base.has_id_of(&other.place) {
            let (volume, records) = (&other.name, call.base.at(&known.file));
            return Err(Error::Invalid(format!(
                "the base folder {} lies in volume {volume}, whose record is in {records}",
                call.base
            )));
        }
    }
    Ok(())
}

fn holds_records(call: &Call<'_>, path: &SharePath) -> Error {
    let path = call.base.at(path);
    Error::Invalid(format!(
        "{path} holds records of volumes, so it can be no volume"
    ))
}

/// The base folder, as records may name it.
fn base_place(call: &Call<'_>) -> Place {
    let mut above = call.ids.clone();
    Place {
        names: call.base.path.names().iter().map(fold).collect(),
        id: above.pop(),
        above,
    }
}
