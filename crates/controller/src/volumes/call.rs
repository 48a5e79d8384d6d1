//! One call's connection, and what it does in the `.wincsi` of its base folder.

use std::thread;
use std::time::{Duration, Instant};

use smb::{
    Existing, Failure, FileId, Limits, Listing, Name, OpenFile, Operation, Share, SharePath,
    remove_content,
};

use super::names::{self, RECORDS};
use super::place::End;
use super::record::Record;
use super::running::Turn;
use super::{Base, Error, Volumes};

/// A record that another client reads just now is replaced later: Windows refuses that meanwhile (assumed), Samba not.
const REPLACE_TRIES: u32 = 5;
const REPLACE_PAUSE: Duration = Duration::from_millis(20);

/// How long a server may take for one round of what outlasts its call.
pub(super) const ROUND: Duration = Duration::from_secs(120);
/// After so many rounds someone else may be adding entries. The next call goes on.
const MOST_ROUNDS: u32 = 1_000;
/// How much such a round removes, and how deep folders may lie in folders.
pub(super) const LIMITS: Limits = Limits {
    depth: 256,
    entries: 1_000,
};

/// Who else may have a lock that no clone takes.
pub(super) const VANISHED: &str = "or one whose machine vanished";

/// A call's connection: what it does ends with it, and with its locks.
pub(super) struct Call<'a> {
    pub(super) volumes: &'a Volumes,
    pub(super) share: &'a mut (dyn Share + Send),
    pub(super) base: &'a Base,
    pub(super) by: Instant,
    /// Its turn in the base folder; a long walk keeps no other call waiting.
    pub(super) lane: Option<Turn>,
    /// The ids of the folders from the share's own to the base folder.
    pub(super) ids: Vec<FileId>,
    pub(super) base_id: FileId,
    /// The base's `.wincsi`, and where in it deleted folders go, copies are made, and snapshots stay.
    pub(super) records: SharePath,
    pub(super) deleted: SharePath,
    pub(super) clones: SharePath,
    pub(super) snapshots: SharePath,
    /// The ids of each `.wincsi` that was met: no volume's folder is one, or lies in one, by whichever name.
    pub(super) record_ids: Vec<FileId>,
    /// The base's `.wincsi`, if this call made it.
    made_records: Option<FileId>,
    /// Whether the volume has a record, which each list has to show.
    pub(super) has_own: bool,
    /// A record that was written aside and is not in its place yet, with its length.
    aside: Option<(OpenFile, Record, u64)>,
    /// When this call last wrote a record, by the server's clock; 0 if that is not known.
    pub(super) now: u64,
    /// Whether each lock was given back.
    pub(super) is_clean: bool,
    /// Whether a folder may be there that this call failed to make.
    pub(super) is_unsure: bool,
}

/// Where the files of a volume or snapshot are.
pub(super) struct Files {
    pub(super) key: String,
    /// The record's file, as no two are named.
    pub(super) own: String,
    pub(super) record: SharePath,
    /// The record, while it is being written.
    pub(super) aside: SharePath,
    /// The file that a volume's calls lock.
    pub(super) lock: SharePath,
    /// Where its folder goes when it is deleted.
    pub(super) moved: SharePath,
    /// Where its folder is until it is whole, if it is a copy.
    pub(super) copy: SharePath,
    /// Of a snapshot.
    pub(super) manifest: Option<SharePath>,
}

impl<'a> Call<'a> {
    /// What a call looks at first: the folders from the share's own to the base folder, and the base's `.wincsi`.
    pub(super) fn first_look(base: &Base) -> Result<Vec<SharePath>, Error> {
        let mut folders = prefixes(&base.path);
        folders.push(base.below(&base.path, RECORDS)?);
        Ok(folders)
    }

    /// Finds the base folder in what the [`first_look`](Self::first_look) saw.
    pub(super) fn new(
        volumes: &'a Volumes,
        (share, looked): (&'a mut (dyn Share + Send), Vec<smb::Result<Listing>>),
        base: &'a Base,
        by: Instant,
    ) -> Result<Self, Error> {
        let records = base.below(&base.path, RECORDS)?;
        let mut call = Self {
            volumes,
            share,
            base,
            by,
            lane: None,
            ids: Vec::new(),
            base_id: FileId(0),
            deleted: base.below(&records, "deleted")?,
            clones: base.below(&records, "clones")?,
            snapshots: base.below(&records, "snapshots")?,
            records,
            record_ids: Vec::new(),
            made_records: None,
            has_own: false,
            aside: None,
            now: 0,
            is_clean: true,
            is_unsure: false,
        };
        let mut looked = looked.into_iter();
        for (path, looked) in prefixes(&base.path).iter().zip(&mut looked) {
            call.base_id = call.base_folder(path, looked)?;
            call.ids.push(call.base_id);
        }
        if let Some(looked) = looked.next()
            && let End::Folder(id) = call.end(&call.records, looked, call.base_id)?
        {
            call.record_ids.push(id);
        }
        Ok(call)
    }

    /// Works on a volume or snapshot under its lock, in the base's `.wincsi`.
    pub(super) fn in_records<T>(
        &mut self,
        lock: &SharePath,
        work: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if self.record_ids.is_empty() {
            self.make_records()?;
        }
        let done = self.locked(lock, work);
        if done.is_err() {
            self.unmake_records();
        }
        done
    }

    pub(super) fn locked<T>(
        &mut self,
        path: &SharePath,
        work: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let lock = match self.share.lock(path, self.by) {
            Err(error) if error.failure == Failure::InUse => {
                let more = "one whose machine vanished, or a copy of it";
                return Err(self.is_locked(path, more));
            }
            lock => lock?,
        };
        let done = work(self);
        self.unlock(lock);
        done
    }

    /// A lock that cannot be given back goes with the connection, which no other call may have then.
    pub(super) fn unlock(&mut self, lock: OpenFile) {
        self.is_clean &= self.share.close(lock, self.by).is_ok();
    }

    pub(super) fn make_records(&mut self) -> Result<(), Error> {
        match self.share.make_hidden_folder(&self.records, self.by) {
            Ok(id) => self.made_records = Some(id),
            Err(error) if error.failure == Failure::Exists => {}
            Err(error) => return Err(error.into()),
        }
        match self.records_in(&self.base.path, self.base_id) {
            Ok(id) => self.record_ids.extend(id),
            Err(error) => {
                self.unmake_records();
                return Err(error);
            }
        }
        Ok(())
    }

    /// Removes it, if this call made it and nothing is in it: it may lie in a volume, which it would keep.
    pub(super) fn unmake_records(&mut self) {
        if let Some(id) = self.made_records {
            let _ = self.share.remove(&self.records, id, self.by);
        }
    }

    /// The base's `.wincsi`, if this call made it.
    pub(super) fn made_records(&self) -> Option<(SharePath, FileId)> {
        self.made_records.map(|id| (self.records.clone(), id))
    }

    /// The id of the `.wincsi` in a folder, if it has one that is no link.
    pub(super) fn records_in(
        &mut self,
        folder: &SharePath,
        id: FileId,
    ) -> Result<Option<FileId>, Error> {
        let path = self.base.below(folder, RECORDS)?;
        match self.folder_in(&path, id)? {
            End::Folder(id) => Ok(Some(id)),
            End::Missing | End::File => Ok(None),
        }
    }

    pub(super) fn files(&self, volume: &Name) -> Result<Files, Error> {
        self.files_named(names::key(volume), ["volume", "new", "lock"], "")
    }

    /// Those of a snapshot, which may have a volume's name.
    pub(super) fn snapshot_files(&self, snapshot: &Name) -> Result<Files, Error> {
        self.snapshot_files_by(&names::key(snapshot))
    }

    pub(super) fn snapshot_files_by(&self, key: &str) -> Result<Files, Error> {
        let manifest = self
            .base
            .below(&self.snapshots, &format!("{key}.manifest"))?;
        let suffixes = ["snapshot", "snapshot-new", "snapshot-lock"];
        Ok(Files {
            manifest: Some(manifest),
            ..self.files_named(key.to_owned(), suffixes, ".snapshot")?
        })
    }

    fn files_named(
        &self,
        key: String,
        [record, aside, lock]: [&str; 3],
        folder: &str,
    ) -> Result<Files, Error> {
        let file = |suffix| self.base.below(&self.records, &format!("{key}.{suffix}"));
        let folder = format!("{key}{folder}");
        Ok(Files {
            own: self.base.key_of(&file(record)?),
            record: file(record)?,
            aside: file(aside)?,
            lock: file(lock)?,
            moved: self.base.below(&self.deleted, &folder)?,
            copy: self.base.below(&self.clones, &folder)?,
            manifest: None,
            key,
        })
    }

    /// The record of a volume or snapshot, which this call has locked.
    pub(super) fn read(&mut self, files: &Files) -> Result<Option<Record>, Error> {
        let bytes = match self.share.read(&files.record, self.by) {
            Err(error) if error.failure == Failure::NotFound => return Ok(None),
            read => read?,
        };
        self.has_own = files.manifest.is_none();
        let record = match files.manifest {
            Some(_) => Record::parse_snapshot(&bytes, &files.key),
            None => Record::parse(&bytes, &files.key),
        };
        let record = record.map_err(|error| self.base.blocked(&files.record, error))?;
        Ok(Some(record))
    }

    pub(super) fn write_aside(&mut self, files: &Files, record: &Record) -> Result<(), Error> {
        let bytes = encoded(record)?;
        let file = match self.share.create(&files.aside, &bytes, self.by) {
            // Of a call that ended before its rename: this one has its lock.
            Err(error) if error.failure == Failure::Exists => {
                self.clear(&files.aside)?;
                self.share.create(&files.aside, &bytes, self.by)
            }
            created => created,
        };
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.aside = Some((file?, record.clone(), size));
        Ok(())
    }

    /// Puts the record that was written aside in its place.
    pub(super) fn put(&mut self, files: &Files) -> Result<(), Error> {
        let Some((file, record, size)) = self.aside.take() else {
            return Ok(());
        };
        let (id, from, to) = (file.id, &files.aside, &files.record);
        let placed = self.share.place(file, to, self.by);
        if let Ok(changed) = placed {
            self.now = changed;
            if files.manifest.is_none() {
                self.learn(files, record, (id, changed, size));
            }
        }
        let mut placed = placed.map(drop);
        // Some other status, as Samba has for a rename that would wait for another client.
        let may_pass = |failure: &_| {
            matches!(
                failure,
                Failure::Denied | Failure::InUse | Failure::Status(_)
            )
        };
        for _ in 1..REPLACE_TRIES {
            match placed {
                Err(error) if may_pass(&error.failure) => {
                    thread::sleep(REPLACE_PAUSE);
                    placed = self.share.rename(from, id, to, Existing::Replace, self.by);
                }
                _ => break,
            }
        }
        Ok(placed?)
    }

    pub(super) fn write(&mut self, files: &Files, record: &Record) -> Result<(), Error> {
        let prepared = self.aside.as_ref().map(|(_, aside, _)| aside);
        if prepared != Some(record) {
            self.discard_aside();
            self.write_aside(files, record)?;
        }
        self.put(files)
    }

    /// Writes the record of what is to go. Only that makes room on a full share: there it is written over the record that
    /// is there, which needs none. Should the server crash meanwhile, a person has to look at the record.
    pub(super) fn write_to_go(&mut self, files: &Files, record: &Record) -> Result<(), Error> {
        let full = match self.write(files, record) {
            Err(Error::Share(error)) if error.failure == Failure::Full => error,
            written => return written,
        };
        self.clear(&files.aside)?;
        let Ok(old) = self.share.read(&files.record, self.by) else {
            return Err(full.into());
        };
        let mut bytes = encoded(record)?;
        // Blanks in place of what is left of it.
        bytes.resize(bytes.len().max(old.len()), b' ');
        Ok(self.share.overwrite(&files.record, &bytes, self.by)?)
    }

    /// After a failure.
    pub(super) fn discard_aside(&mut self) {
        if let Some((file, ..)) = self.aside.take() {
            self.is_clean &= self.share.discard(file, self.by).is_ok();
        }
    }

    /// Finds or makes folders in `.wincsi`, each in the one before it. Returns the last one's id.
    pub(super) fn make_in_records(&mut self, paths: &[&SharePath]) -> Result<FileId, Error> {
        let (mut id, records) = (self.base_id, self.records.clone());
        for path in std::iter::once(&records).chain(paths.iter().copied()) {
            if self.folder_in(path, id)? == End::Missing {
                match self.share.make_folder(path, self.by) {
                    Err(error) if error.failure != Failure::Exists => return Err(error.into()),
                    Ok(_) | Err(_) => {}
                }
            }
            let End::Folder(inner) = self.folder_in(path, id)? else {
                return Err(self.base.blocked(path, "it is no folder"));
            };
            id = inner;
        }
        Ok(id)
    }

    /// The folder at a path in `.wincsi`, of which each part is looked at.
    pub(super) fn folder_of_records(&mut self, path: &SharePath) -> Result<Option<FileId>, Error> {
        let mut id = self.base_id;
        for path in prefixes(path).iter().skip(self.ids.len()) {
            id = match self.folder_in(path, id)? {
                End::Folder(id) => id,
                End::Missing => return Ok(None),
                End::File => return Err(self.base.blocked(path, "it is no folder")),
            };
        }
        Ok(Some(id))
    }

    /// Removes what is in a folder, in rounds, of which each has a deadline.
    pub(super) fn empty(&mut self, path: &SharePath, id: FileId) -> Result<(), Error> {
        for _ in 0..MOST_ROUNDS {
            self.by = Instant::now() + ROUND;
            let removed = match remove_content(self.share, path, id, LIMITS, self.by) {
                Err(error) if error.failure == Failure::Limit(LIMITS.entries) => {
                    self.lane = None;
                    continue;
                }
                removed => removed?,
            };
            if removed.unproved > 0 {
                let path = self.base.at(path);
                tracing::warn!(
                    "{path}: of its folders only their kind shows that they are no links"
                );
            }
            return Ok(());
        }
        Err(Error::GoesOn(format!("removing {}", self.base.at(path))))
    }

    /// Removes a file or an empty folder, if it is there.
    pub(super) fn clear(&mut self, path: &SharePath) -> Result<(), Error> {
        match self.share.clear(path, self.by) {
            // It may be read-only.
            Err(error) if error.failure == Failure::Denied => match self.stat(path)? {
                Some(id) => Ok(self.share.remove(path, id, self.by)?),
                None => Ok(()),
            },
            cleared => Ok(cleared?),
        }
    }

    pub(super) fn stat(&mut self, path: &SharePath) -> Result<Option<FileId>, Error> {
        match self.share.stat(path, self.by) {
            Ok(id) => Ok(Some(id)),
            Err(error) if matches!(error.failure, Failure::NotFound | Failure::NotAFolder) => {
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn is_locked(&self, path: &SharePath, more: &str) -> Error {
        let path = self.base.at(path);
        Error::Busy(format!("another controller, {more}, has locked {path}"))
    }

    /// The id of the base folder, or of one above it.
    fn base_folder(&self, path: &SharePath, looked: smb::Result<Listing>) -> Result<FileId, Error> {
        if self.ids.is_empty() {
            return Ok(looked?.id);
        }
        match self.end(path, looked, self.base_id)? {
            End::Folder(id) => Ok(id),
            End::Missing => Err(self.no_base(path, Failure::NotFound)),
            End::File => Err(self.no_base(path, Failure::NotAFolder)),
        }
    }

    fn no_base(&self, path: &SharePath, failure: Failure) -> Error {
        let missing = self.failed(path, failure);
        Error::Invalid(format!("the base folder is missing: {missing}"))
    }

    pub(super) fn failed(&self, path: &SharePath, failure: Failure) -> smb::Error {
        smb::Error {
            operation: Operation::Stat,
            object: self.base.at(path),
            failure,
        }
    }
}

fn encoded(record: &Record) -> Result<Vec<u8>, Error> {
    let too_long = |error| Error::Invalid(format!("the record of {}: {error}", record.name));
    record.encode().map_err(too_long)
}

/// The paths of a folder and of those above it, from the share's own down.
pub(super) fn prefixes(path: &SharePath) -> Vec<SharePath> {
    let mut paths: Vec<SharePath> =
        std::iter::successors(Some(path.clone()), SharePath::parent).collect();
    paths.reverse();
    paths
}
