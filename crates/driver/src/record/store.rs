use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::file_system::{FILE_SYSTEM, FileSystem, NEW};
use super::{Content, Form, Record, TextError, VolumeHandle, lock};
use crate::unpoisoned::Unpoisoned;

/// Why a record was not read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("cannot {operation} {}: {source}", file.display())]
    Io {
        operation: &'static str,
        file: PathBuf,
        source: io::Error,
    },
    #[error(
        "another process has the records in {}: end it, or give each driver a -state-dir of its own",
        folder.display()
    )]
    InUse { folder: PathBuf },
    /// The file is no record that this version reads. It stays as it is.
    #[error("the record {} is not read: {reason}", file.display())]
    Unreadable { file: PathBuf, reason: TextError },
}

/// The records of all volumes, a file each. One process has them, as it trusts what it remembers of them.
///
/// A file that is no record of this version stays as it is: the calls for its volume fail, and only these.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    forms: Vec<Form>,
    unreadable: usize,
    files: Unpoisoned<RecordFiles>,
    by: &'static FileSystem,
    _lock: File,
}

/// What [`Store::peek`] sees.
#[derive(Debug, Default)]
pub struct Peeked {
    /// By their volumes.
    pub records: Vec<Record>,
    /// Why each other file is no record.
    pub unreadable: Vec<StoreError>,
}

/// Of volumes that have a record, and no others: anybody may make up handles.
type RecordFiles = BTreeMap<VolumeHandle, Arc<RecordFile>>;

/// The file of one volume's record. Calls for one volume change it in turn, those for others side by side.
///
/// While there is no record, one call at a time may make one.
#[derive(Debug)]
pub struct Slot<'a> {
    store: &'a Store,
    volume: VolumeHandle,
    record_file: Arc<RecordFile>,
}

#[derive(Debug)]
struct RecordFile {
    file: PathBuf,
    by: &'static FileSystem,
    /// The text of the record, which reads: a tenth of what the record takes in memory.
    text: Unpoisoned<Option<Box<str>>>,
}

impl Store {
    /// The records of these kinds in a folder, which is made if it is missing, and closed to all but administrators: what a record says is
    /// mounted and taken offline.
    ///
    /// # Errors
    /// Another process has them; the folder cannot be closed; it or a file of it cannot be read.
    pub fn open(folder: &Path, forms: &[Form]) -> Result<Self, StoreError> {
        Self::open_within(folder, forms, Duration::ZERO)
    }

    /// As [`Store::open`], and waits so long for another process to end that has them.
    pub fn open_within(
        folder: &Path,
        forms: &[Form],
        patience: Duration,
    ) -> Result<Self, StoreError> {
        Self::open_by(&FILE_SYSTEM, folder, forms, patience)
    }

    fn open_by(
        by: &'static FileSystem,
        folder: &Path,
        forms: &[Form],
        patience: Duration,
    ) -> Result<Self, StoreError> {
        if let Some(parent) = folder.parent() {
            fs::create_dir_all(parent).map_err(failed("make", parent))?;
        }
        transport::close_folder(folder).map_err(failed("close", folder))?;
        let lock = lock::take(folder, patience)?;
        let (mut files, mut unreadable) = (RecordFiles::new(), 0);
        for entry in fs::read_dir(folder).map_err(failed("list", folder))? {
            let file = entry.map_err(failed("list", folder))?.path();
            match file.extension().and_then(OsStr::to_str) {
                Some("json") => match RecordFile::read(file, forms, by).inspect_err(log) {
                    Ok((record_file, Some(volume))) => {
                        files.insert(volume, Arc::new(record_file));
                    }
                    _ => unreadable += 1,
                },
                // A death left it in the middle of a write. The next write of the record takes its place.
                Some(NEW) => {
                    if let Err(error) = by.remove(&file).map_err(failed("remove", &file)) {
                        tracing::warn!("what is left of a write stays: {error}");
                    }
                }
                _ => {}
            }
        }
        Ok(Self {
            folder: folder.to_owned(),
            forms: forms.to_vec(),
            unreadable,
            files: Unpoisoned::new(files),
            by,
            _lock: lock,
        })
    }

    /// The records in a folder as they are now, beside the process that has them: without its lock, and nothing is written. A
    /// folder that is missing has none.
    ///
    /// # Errors
    /// The folder cannot be listed.
    pub fn peek(folder: &Path, forms: &[Form]) -> Result<Peeked, StoreError> {
        let mut peeked = Peeked::default();
        let entries = match fs::read_dir(folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(peeked),
            entries => entries.map_err(failed("list", folder))?,
        };
        for entry in entries {
            let file = entry.map_err(failed("list", folder))?.path();
            if file.extension() != Some(OsStr::new("json")) {
                continue;
            }
            let read = RecordFile::read(file, forms, &FILE_SYSTEM);
            match read.and_then(|(record_file, _)| record_file.get()) {
                Ok(record) => peeked.records.extend(record),
                Err(error) => peeked.unreadable.push(error),
            }
        }
        peeked
            .records
            .sort_by(|one, other| one.volume.cmp(&other.volume));
        Ok(peeked)
    }

    /// The file of a volume's record.
    ///
    /// # Errors
    /// Its file is there and cannot be read, or is no record of the volume that this version reads.
    pub fn slot(&self, volume: &VolumeHandle) -> Result<Slot<'_>, StoreError> {
        let record_file = match self.record_file(volume) {
            Some(record_file) => record_file,
            None => match Arc::new(self.read(volume)?) {
                found if found.has_record() => self.remember(volume, found),
                none => none,
            },
        };
        Ok(Slot {
            store: self,
            volume: volume.clone(),
            record_file,
        })
    }

    pub fn get(&self, volume: &VolumeHandle) -> Result<Option<Record>, StoreError> {
        match self.record_file(volume) {
            Some(record_file) => record_file.get(),
            None => self.read(volume)?.get(),
        }
    }

    /// All records that were read, each parsed when it is taken: together they would take much memory.
    pub fn records(&self) -> impl Iterator<Item = Record> + use<> {
        let files = Vec::from_iter(self.files.lock().values().cloned());
        let files = files.into_iter();
        files.filter_map(|record_file| record_file.get().ok().flatten())
    }

    pub fn records_of<C: Content>(&self) -> impl Iterator<Item = Record<C>> + use<C> {
        self.records().filter_map(Record::of)
    }

    pub fn volumes(&self) -> Vec<VolumeHandle> {
        self.files.lock().keys().cloned().collect()
    }

    pub fn has(&self, volume: &VolumeHandle) -> bool {
        self.files.lock().contains_key(volume)
    }

    pub fn recorded(&self) -> usize {
        self.files.lock().len()
    }

    /// How many files are no record that this version reads.
    pub fn unreadable(&self) -> usize {
        self.unreadable
    }

    pub(crate) fn forms(&self) -> &[Form] {
        &self.forms
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The volume's record is there, and cannot be used.
    pub(crate) fn unreadable_record(&self, volume: &VolumeHandle, reason: TextError) -> StoreError {
        StoreError::Unreadable {
            file: self.folder.join(volume.file_name()),
            reason,
        }
    }

    fn read(&self, volume: &VolumeHandle) -> Result<RecordFile, StoreError> {
        let (record_file, found) =
            RecordFile::read(self.folder.join(volume.file_name()), &self.forms, self.by)
                .inspect_err(log)?;
        // Handles whose files have one name can be made: the name is a hash.
        record_file.require(volume, found)?;
        Ok(record_file)
    }

    fn record_file(&self, volume: &VolumeHandle) -> Option<Arc<RecordFile>> {
        self.files.lock().get(volume).cloned()
    }

    /// The volume's file from now on: another call may have been faster.
    fn remember(&self, volume: &VolumeHandle, record_file: Arc<RecordFile>) -> Arc<RecordFile> {
        let mut files = self.files.lock();
        Arc::clone(files.entry(volume.clone()).or_insert(record_file))
    }
}

impl Slot<'_> {
    pub fn get(&self) -> Result<Option<Record>, StoreError> {
        self.record_file().get()
    }

    /// Replaces the record. After a crash there is the old one or the new one, whole.
    ///
    /// # Errors
    /// The system refuses.
    pub fn put<C: Content>(&self, record: Record<C>) -> Result<(), StoreError> {
        // Other calls share this from before there is a file that they could read into another.
        let record_file = self
            .store
            .remember(&self.volume, Arc::clone(&self.record_file));
        let written = record_file.put(record);
        if !record_file.has_record() {
            self.store.files.lock().remove(&self.volume);
        }
        written
    }

    /// Changes the record, if there is one, as one step among the calls for its volume.
    pub fn change(&self, how: impl FnOnce(&mut Record)) -> Result<(), StoreError> {
        self.record_file().change(|mut record| {
            how(&mut record);
            Ok(record)
        })
    }

    /// As [`Slot::change`], of a record of this kind.
    pub fn change_of<C: Content>(
        &self,
        how: impl FnOnce(&mut Record<C>),
    ) -> Result<(), StoreError> {
        self.record_file()
            .change(|record| match record.clone().of() {
                Some(mut of_kind) => {
                    how(&mut of_kind);
                    of_kind.into_any()
                }
                None => Ok(record),
            })
    }

    /// Removes the record. One that is gone already is success.
    ///
    /// # Errors
    /// The system refuses.
    pub fn remove(&self) -> Result<(), StoreError> {
        self.record_file().remove()?;
        self.store.files.lock().remove(&self.volume);
        Ok(())
    }

    /// That which all calls share, once there is a record.
    fn record_file(&self) -> Arc<RecordFile> {
        let shared = self.store.record_file(&self.volume);
        shared.unwrap_or_else(|| Arc::clone(&self.record_file))
    }
}

impl RecordFile {
    /// Reads a file, and the volume of the record in it, if there is one.
    fn read(
        file: PathBuf,
        forms: &[Form],
        by: &'static FileSystem,
    ) -> Result<(Self, Option<VolumeHandle>), StoreError> {
        let text = match fs::read(&file) {
            // What is no text is no record.
            Ok(bytes) => Some(String::from_utf8_lossy(&bytes).into()),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(failed("read", &file)(error)),
        };
        let text = Unpoisoned::new(text);
        let record_file = Self { file, by, text };
        let volume = record_file.volume(forms);
        Ok((record_file, volume?))
    }

    fn volume(&self, forms: &[Form]) -> Result<Option<VolumeHandle>, StoreError> {
        let text = self.text.lock();
        let Some(text) = text.as_deref() else {
            return Ok(None);
        };
        let own = Record::from_text(text, forms).and_then(|Record { volume, .. }| {
            match self.file.ends_with(volume.file_name()) {
                true => Ok(Some(volume)),
                false => Err(TextError::OtherVolume { volume }),
            }
        });
        own.map_err(|reason| self.unreadable(reason))
    }

    fn get(&self) -> Result<Option<Record>, StoreError> {
        let text = self.text.lock();
        let record = text.as_deref().map(parsed).transpose();
        record.map_err(|reason| self.unreadable(reason))
    }

    fn put<C: Content>(&self, record: Record<C>) -> Result<(), StoreError> {
        self.rewrite(|_| record.into_any().map(Some))
    }

    fn change(
        &self,
        how: impl FnOnce(Record) -> Result<Record, TextError>,
    ) -> Result<(), StoreError> {
        self.rewrite(|text| {
            let record = text.map(parsed).transpose()?;
            record.map(how).transpose()
        })
    }

    /// Replaces the record by what becomes of the text of the one before, if anything does.
    fn rewrite(
        &self,
        how: impl FnOnce(Option<&str>) -> Result<Option<Record>, TextError>,
    ) -> Result<(), StoreError> {
        let mut text = self.text.lock();
        let new =
            how(text.as_deref()).and_then(|new| new.as_ref().map(Record::to_text).transpose());
        match new.map_err(|reason| self.unreadable(reason))? {
            Some(new) if text.as_deref() != Some(&*new) => {
                let written = self.by.replace(&self.file, &new);
                written.map_err(failed("write", &self.file))?;
                *text = Some(new.into());
            }
            _ => {}
        }
        Ok(())
    }

    fn remove(&self) -> Result<(), StoreError> {
        let mut text = self.text.lock();
        let removed = self.by.remove(&self.file);
        removed.map_err(failed("remove", &self.file))?;
        *text = None;
        Ok(())
    }

    /// A record of another volume is none of this one.
    fn require(
        &self,
        volume: &VolumeHandle,
        found: Option<VolumeHandle>,
    ) -> Result<(), StoreError> {
        match found.filter(|found| found != volume) {
            Some(volume) => Err(self.unreadable(TextError::OtherVolume { volume })),
            None => Ok(()),
        }
    }

    fn has_record(&self) -> bool {
        self.text.lock().is_some()
    }

    fn unreadable(&self, reason: TextError) -> StoreError {
        let file = self.file.clone();
        StoreError::Unreadable { file, reason }
    }
}

/// The record of a text that was read before, or written.
fn parsed(text: &str) -> Result<Record, TextError> {
    Ok(serde_json::from_str(text)?)
}

fn log(error: &StoreError) {
    tracing::error!("{error}");
}

pub(crate) fn failed(
    operation: &'static str,
    file: &Path,
) -> impl Fn(io::Error) -> StoreError + use<> {
    let file = file.to_owned();
    move |source| StoreError::Io {
        operation,
        file: file.clone(),
        source,
    }
}

#[cfg(test)]
mod tests;
