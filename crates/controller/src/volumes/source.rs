//! The volume or snapshot that is copied: its folder, and its lock, which copies have beside each other, and no delete
//! beside them.

use std::thread;
use std::time::{Duration, Instant};

use smb::{Failure, FileId, OpenFile, Share, SharePath};

use super::call::{Call, Files, VANISHED};
use super::names::{is_reserved, named_for};
use super::place::End;
use super::record::{Manifest, Record, State};
use super::{Error, Folder, Origin, Source, Volumes};

/// How often a lock is tried that another copy may be just giving back, and how long apart.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(10);

/// A source, as long as it is copied.
pub(super) struct HeldSource {
    pub(super) path: SharePath,
    pub(super) id: FileId,
    /// As its record has it; 0 without one.
    pub(super) size: u64,
    /// Of a snapshot: where it is, and what it has to be.
    pub(super) manifest: Option<(SharePath, Manifest)>,
    lock: OpenFile,
    /// The `.wincsi` of its base folder, if it had none.
    made_records: Option<(SharePath, FileId)>,
}

/// Finds and locks a source, on its share.
pub(super) fn hold(
    volumes: &Volumes,
    share: &mut (dyn Share + Send),
    source: &Source,
    by: Instant,
) -> Result<HeldSource, Error> {
    if is_reserved(&source.base.path) {
        let text = "lies in an archive or in the records of volumes";
        return Err(Error::NotFound(format!(
            "the source {:?} {text}",
            source.id
        )));
    }
    let looked = share.look(&Call::first_look(&source.base)?, by)?;
    let call = Call::new(volumes, (share, looked), &source.base, by);
    let mut call = call.map_err(missing)?;
    if call.record_ids.is_empty() {
        match &source.origin {
            Origin::Volume { folder, .. } => expect_folder(&mut call, folder)?,
            Origin::Snapshot(_) => return Err(gone(source)),
        };
        call.make_records()?;
    }
    let held = lock(&mut call, source);
    if held.is_err() {
        call.unmake_records();
    }
    held
}

/// The failure of what leads to a source.
pub(super) fn missing(error: Error) -> Error {
    match error {
        Error::Invalid(text) => Error::NotFound(format!("the source is missing: {text}")),
        Error::Share(error) if error.failure == Failure::NoSuchShare => {
            Error::NotFound(format!("the source is missing: {error}"))
        }
        other => other,
    }
}

fn lock(call: &mut Call<'_>, source: &Source) -> Result<HeldSource, Error> {
    let files = files(call, source)?;
    let lock = take(call, &files.lock)?;
    let found = match &source.origin {
        Origin::Volume { folder, .. } => expect_ready(call, &files, (source, folder)),
        Origin::Snapshot(name) => {
            let place = call.snapshot_place(name);
            place.and_then(|place| expect_snapshot(call, &files, (source, &place)))
        }
    };
    let Some(lock) = lock else {
        // If it is not ready, that is the answer.
        return found.and_then(|_| Err(call.is_locked(&files.lock, VANISHED)));
    };
    match found {
        Ok((path, id, record)) => Ok(HeldSource {
            path,
            id,
            size: record.as_ref().map_or(0, |record| record.size),
            manifest: record.and_then(|record| files.manifest.zip(record.taken?.manifest)),
            lock,
            made_records: call.made_records(),
        }),
        Err(error) => {
            // If it cannot be given back, it goes with the connection, which no other call has after a failure.
            release(call.share, lock, call.by);
            Err(error)
        }
    }
}

fn files(call: &Call<'_>, source: &Source) -> Result<Files, Error> {
    let (name, folder) = match &source.origin {
        Origin::Volume { name, folder } => (name, folder),
        Origin::Snapshot(name) => return call.snapshot_files(name),
    };
    let name = match name {
        Some(name) => Ok(name.clone()),
        None => named_for(folder),
    };
    call.files(&name.map_err(|error| call.base.blocked(folder.path(), error))?)
}

fn take(call: &mut Call<'_>, path: &SharePath) -> Result<Option<OpenFile>, Error> {
    for _ in 0..TRIES {
        match call.share.lock_beside(path, call.by) {
            Err(error) if error.failure == Failure::InUse => thread::sleep(PAUSE),
            lock => return Ok(Some(lock?)),
        }
    }
    Ok(None)
}

/// The folder of a source, its id, and its record.
type Ready = (SharePath, FileId, Option<Record>);

fn expect_ready(
    call: &mut Call<'_>,
    files: &Files,
    (source, folder): (&Source, &Folder),
) -> Result<Ready, Error> {
    let record = call.read(files)?;
    let record = record.filter(|record| record.is_of(folder));
    expect_state(source, record.as_ref())?;
    let (path, id) = expect_folder(call, folder)?;
    Ok((path, id, record))
}

fn expect_snapshot(
    call: &mut Call<'_>,
    files: &Files,
    (source, place): (&Source, &SharePath),
) -> Result<Ready, Error> {
    let record = call.read(files)?.ok_or_else(|| gone(source))?;
    expect_state(source, Some(&record))?;
    let id = call.expect_whole(files, place, &record)?;
    let path = call.on_the_way(place)?.pop().unwrap_or_default();
    Ok((path, id, Some(record)))
}

fn expect_state(source: &Source, record: Option<&Record>) -> Result<(), Error> {
    let reason = match record.map(|record| &record.state) {
        Some(State::Creating | State::Cloning(_)) => "is not ready yet",
        Some(State::Deleting(_)) => "is being deleted",
        None | Some(State::Ready(_) | State::Left) => return Ok(()),
    };
    let id = &source.id;
    Err(Error::NotFound(format!("the source {id:?} {reason}")))
}

fn gone(source: &Source) -> Error {
    Error::NotFound(format!("the source {:?} is gone", source.id))
}

fn expect_folder(call: &mut Call<'_>, folder: &Folder) -> Result<(SharePath, FileId), Error> {
    let found = call.find(folder.path())?;
    let End::Folder(id) = found.end else {
        let path = call.base.at(&found.path);
        let text = format!("the source's folder {path} is missing");
        return Err(Error::NotFound(text));
    };
    call.prove(&found)?;
    Ok((found.path, id))
}

impl HeldSource {
    /// Returns whether the connection holds no lock of it any more.
    pub(super) fn release(self, share: &mut (dyn Share + Send), by: Instant) -> bool {
        let is_clean = release(share, self.lock, by);
        if let Some((path, id)) = self.made_records {
            let _ = share.remove(&path, id, by);
        }
        is_clean
    }
}

/// Gives a lock back. The last copy removes its file; if that fails, the volume's delete does.
fn release(share: &mut (dyn Share + Send), lock: OpenFile, by: Instant) -> bool {
    let path = lock.path.clone();
    share.close(lock, by).is_ok()
        && match share.lock(&path, by) {
            Ok(last) => share.close(last, by).is_ok(),
            Err(_) => true,
        }
}
