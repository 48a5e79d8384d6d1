//! The volume that is cloned: its folder, and its lock, which clones have beside each other, and no delete beside them.

use std::thread;
use std::time::{Duration, Instant};

use smb::{Failure, FileId, OpenFile, Share, SharePath};

use super::call::{Call, Files, VANISHED};
use super::names::{is_reserved, named_for};
use super::place::End;
use super::record::State;
use super::{Error, Source, Volumes};

/// How often a lock is tried that another clone may be just giving back, and how long apart.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(10);

/// A source, as long as it is cloned.
pub(super) struct HeldSource {
    pub(super) path: SharePath,
    pub(super) id: FileId,
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
        expect_folder(&mut call, source)?;
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
    let found = expect_ready(call, &files, source).and_then(|()| expect_folder(call, source));
    let Some(lock) = lock else {
        // If it is not ready, that is the answer.
        return found.and_then(|_| Err(call.is_locked(&files.lock, VANISHED)));
    };
    match found {
        Ok((path, id)) => Ok(HeldSource {
            path,
            id,
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
    let name = match &source.name {
        Some(name) => Ok(name.clone()),
        None => named_for(&source.folder),
    };
    call.files(&name.map_err(|error| call.base.blocked(source.folder.path(), error))?)
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

fn expect_ready(call: &mut Call<'_>, files: &Files, source: &Source) -> Result<(), Error> {
    let record = call.read(files)?;
    let record = record.filter(|record| record.is_of(&source.folder));
    let reason = match record.map(|record| record.state) {
        Some(State::Creating | State::Cloning(_)) => "is not ready yet",
        Some(State::Deleting(_)) => "is being deleted",
        None | Some(State::Ready(_) | State::Left) => return Ok(()),
    };
    let id = &source.id;
    Err(Error::NotFound(format!("the source {id:?} {reason}")))
}

fn expect_folder(call: &mut Call<'_>, source: &Source) -> Result<(SharePath, FileId), Error> {
    let found = call.find(source.folder.path())?;
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

/// Gives a lock back. The last clone removes its file; if that fails, the volume's delete does.
fn release(share: &mut (dyn Share + Send), lock: OpenFile, by: Instant) -> bool {
    let path = lock.path.clone();
    share.close(lock, by).is_ok()
        && match share.lock(&path, by) {
            Ok(last) => share.close(last, by).is_ok(),
            Err(_) => true,
        }
}
