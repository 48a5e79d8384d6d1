use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

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
    Unreadable {
        file: PathBuf,
        reason: Arc<TextError>,
    },
}

/// The records of all volumes, a file each. One process has them, as it trusts what it remembers of them.
///
/// A file that is no record of this version stays as it is: the calls for its volume fail, and only these.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    forms: Arc<[Form]>,
    unreadable: usize,
    files: Unpoisoned<RecordFiles>,
    _lock: File,
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
    forms: Arc<[Form]>,
    content: Unpoisoned<FileContent>,
}

#[derive(Clone, Debug)]
enum FileContent {
    None,
    /// The text of a record that reads: a tenth of what the record takes in memory.
    Record(Box<str>),
    Unreadable(Arc<TextError>),
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
        let forms = Arc::from(forms);
        if let Some(parent) = folder.parent() {
            fs::create_dir_all(parent).map_err(failed("make", parent))?;
        }
        transport::close_folder(folder).map_err(failed("close", folder))?;
        let lock = lock::take(folder, patience)?;
        let (mut files, mut unreadable) = (RecordFiles::new(), 0);
        for entry in fs::read_dir(folder).map_err(failed("list", folder))? {
            let file = entry.map_err(failed("list", folder))?.path();
            match file.extension().and_then(OsStr::to_str) {
                Some("json") => {}
                // A death left it in the middle of a write.
                Some(NEW) => {
                    fs::remove_file(&file).map_err(failed("remove", &file))?;
                    continue;
                }
                _ => continue,
            }
            let record_file =
                RecordFile::read(file, &forms).inspect_err(|error| tracing::error!("{error}"));
            match record_file {
                Ok((record_file, Some(volume))) => {
                    drop(files.insert(volume, Arc::new(record_file)))
                }
                _ => unreadable += 1,
            }
        }
        Ok(Self {
            folder: folder.to_owned(),
            forms,
            unreadable,
            files: Unpoisoned::new(files),
            _lock: lock,
        })
    }

    /// The file of a volume's record.
    ///
    /// # Errors
    /// Its file is there and cannot be read.
    pub fn slot(&self, volume: &VolumeHandle) -> Result<Slot<'_>, StoreError> {
        let record_file = match self.record_file(volume) {
            Some(record_file) => record_file,
            None => self.find(volume)?,
        };
        Ok(Slot {
            store: self,
            volume: volume.clone(),
            record_file,
        })
    }

    /// That of a volume that was not remembered.
    fn find(&self, volume: &VolumeHandle) -> Result<Arc<RecordFile>, StoreError> {
        let record_file = self.read(volume)?;
        match record_file.has_record() {
            true => Ok(self.remember(volume, Arc::new(record_file))),
            false => Ok(Arc::new(record_file)),
        }
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

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The volume's record is there, and cannot be used.
    pub(crate) fn unreadable_record(&self, volume: &VolumeHandle, reason: TextError) -> StoreError {
        StoreError::Unreadable {
            file: self.folder.join(volume.file_name()),
            reason: Arc::new(reason),
        }
    }

    fn read(&self, volume: &VolumeHandle) -> Result<RecordFile, StoreError> {
        let (record_file, found) =
            RecordFile::read(self.folder.join(volume.file_name()), &self.forms)?;
        // Handles whose files have one name can be made: the name is a hash.
        record_file.require(volume, found.as_ref())?;
        Ok(record_file)
    }

    fn record_file(&self, volume: &VolumeHandle) -> Option<Arc<RecordFile>> {
        self.files.lock().get(volume).cloned()
    }

    /// The volume's file from now on: another call may have been faster.
    fn remember(&self, volume: &VolumeHandle, record_file: Arc<RecordFile>) -> Arc<RecordFile> {
        Arc::clone(
            self.files
                .lock()
                .entry(volume.clone())
                .or_insert(record_file),
        )
    }
}

impl Slot<'_> {
    pub fn get(&self) -> Result<Option<Record>, StoreError> {
        self.record_file().get()
    }

    /// Replaces the record. After a crash there is the old one or the new one, whole.
    ///
    /// # Errors
    /// The system refuses, or there is one that cannot be read.
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
    /// The system refuses, or there is one that cannot be read.
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
    /// Reads a file, and the volume of the record in it.
    fn read(
        file: PathBuf,
        forms: &Arc<[Form]>,
    ) -> Result<(Self, Option<VolumeHandle>), StoreError> {
        let (content, volume) = match fs::read(&file) {
            // What is no text is no record.
            Ok(bytes) => FileContent::of(&file, &String::from_utf8_lossy(&bytes), forms),
            Err(error) if error.kind() == ErrorKind::NotFound => (FileContent::None, None),
            Err(error) => return Err(failed("read", &file)(error)),
        };
        let record_file = Self {
            file,
            forms: Arc::clone(forms),
            content: Unpoisoned::new(content),
        };
        Ok((record_file, volume))
    }

    fn get(&self) -> Result<Option<Record>, StoreError> {
        match &*self.content.lock() {
            FileContent::None => Ok(None),
            FileContent::Record(text) => self.parsed(text).map(Some),
            FileContent::Unreadable(reason) => Err(self.unreadable(Arc::clone(reason))),
        }
    }

    fn put<C: Content>(&self, record: Record<C>) -> Result<(), StoreError> {
        let mut content = self.content.lock();
        let record = record
            .into_any()
            .map_err(|reason| self.unreadable(reason))?;
        self.write(&mut content, &record)
    }

    fn change(
        &self,
        how: impl FnOnce(Record) -> Result<Record, TextError>,
    ) -> Result<(), StoreError> {
        let mut content = self.content.lock();
        let FileContent::Record(text) = &*content else {
            return Ok(());
        };
        let record = how(self.parsed(text)?).map_err(|reason| self.unreadable(reason))?;
        self.write(&mut content, &record)
    }

    fn remove(&self) -> Result<(), StoreError> {
        let mut content = self.content.lock();
        if let FileContent::Unreadable(reason) = &*content {
            return Err(self.unreadable(Arc::clone(reason)));
        }
        match fs::remove_file(&self.file) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            removed => removed.map_err(failed("remove", &self.file))?,
        }
        *content = FileContent::None;
        Ok(())
    }

    fn write(&self, content: &mut FileContent, record: &Record) -> Result<(), StoreError> {
        if let FileContent::Unreadable(reason) = content {
            return Err(self.unreadable(Arc::clone(reason)));
        }
        let text = record.to_text().map_err(|reason| self.unreadable(reason))?;
        if !matches!(content, FileContent::Record(there) if **there == *text) {
            replace(&self.file, &text).map_err(failed("write", &self.file))?;
            *content = FileContent::Record(text.into());
        }
        Ok(())
    }

    /// A record of another volume is none of this one.
    fn require(
        &self,
        volume: &VolumeHandle,
        found: Option<&VolumeHandle>,
    ) -> Result<(), StoreError> {
        let other = found.filter(|found| *found != volume);
        other.map_or(Ok(()), |other| Err(self.unreadable(of_other(other))))
    }

    fn has_record(&self) -> bool {
        matches!(&*self.content.lock(), FileContent::Record(_))
    }

    fn parsed(&self, text: &str) -> Result<Record, StoreError> {
        Record::from_text(text, &self.forms).map_err(|reason| self.unreadable(reason))
    }

    fn unreadable(&self, reason: impl Into<Arc<TextError>>) -> StoreError {
        let (file, reason) = (self.file.clone(), reason.into());
        StoreError::Unreadable { file, reason }
    }
}

impl FileContent {
    fn of(file: &Path, text: &str, forms: &[Form]) -> (Self, Option<VolumeHandle>) {
        let own_name = |volume: VolumeHandle| match file.ends_with(volume.file_name()) {
            true => Ok(volume),
            false => Err(of_other(&volume)),
        };
        let volume = Record::from_text(text, forms).and_then(|record| own_name(record.volume));
        match volume {
            Ok(volume) => (Self::Record(text.into()), Some(volume)),
            Err(reason) => {
                tracing::error!("the record {} is not read: {reason}", file.display());
                (Self::Unreadable(Arc::new(reason)), None)
            }
        }
    }
}

fn of_other(volume: &VolumeHandle) -> TextError {
    let volume = volume.clone();
    TextError::OtherVolume { volume }
}

/// Of the file that is written beside a record.
const NEW: &str = "new";

/// Writes a file beside as far as the disk, and renames it.
pub(crate) fn replace(file: &Path, text: &str) -> io::Result<()> {
    let beside = file.with_extension(NEW);
    let mut new = File::create(&beside)?;
    new.write_all(text.as_bytes())?;
    new.sync_all()?;
    drop(new);
    fs::rename(&beside, file)
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
