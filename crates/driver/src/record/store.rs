use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{OfVolume, Record, TextError, VolumeHandle, lock};

/// Why a record was not read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system refused.
    #[error("cannot {operation} {}: {source}", file.display())]
    Io {
        /// What was attempted.
        operation: &'static str,
        /// The file or folder.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another process has the records.
    #[error(
        "another process has the records in {}: end it, or give each driver a -state-dir of its own",
        folder.display()
    )]
    InUse {
        /// The folder.
        folder: PathBuf,
    },
    /// The file is no record that this version reads. It stays as it is.
    #[error("the record {} is not read: {reason}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        reason: Arc<TextError>,
    },
}

/// The records of all volumes, a file each. One process has them, as it trusts what it remembers of them.
///
/// A file that is no record of this version stays as it is: the calls for its volume fail, and only these.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    unreadable: usize,
    places: Mutex<Places>,
    _lock: File,
}

/// Of volumes that have a record, and no others: anybody may make up handles.
type Places = BTreeMap<VolumeHandle, Arc<Place>>;

/// The place of one volume's record. Calls for one volume change it in turn, those for others side by side.
///
/// While there is no record, one call at a time may make one.
#[derive(Debug)]
pub struct Slot<'a> {
    store: &'a Store,
    volume: VolumeHandle,
    place: Arc<Place>,
}

#[derive(Debug)]
struct Place {
    file: PathBuf,
    content: Mutex<Content>,
}

#[derive(Clone, Debug)]
enum Content {
    None,
    /// The text of a record that reads: a tenth of what the record takes in memory.
    Record(Box<str>),
    Unreadable(Arc<TextError>),
}

impl Store {
    /// The records in a folder, which is made if it is missing, and closed to all but administrators: what a record says is
    /// mounted and taken offline.
    ///
    /// # Errors
    /// Another process has them; the folder cannot be closed; it or a file of it cannot be read.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        Self::open_within(folder, Duration::ZERO)
    }

    /// As [`Store::open`], and waits so long for another process to end that has them.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_within(folder: &Path, patience: Duration) -> Result<Self, StoreError> {
        if let Some(parent) = folder.parent() {
            fs::create_dir_all(parent).map_err(failed("make", parent))?;
        }
        transport::close_folder(folder).map_err(failed("close", folder))?;
        let lock = lock::take(folder, patience)?;
        let (mut places, mut unreadable) = (Places::new(), 0);
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
            let place = Place::read(file).inspect_err(|error| tracing::error!("{error}"));
            match place {
                Ok((place, Some(volume))) => drop(places.insert(volume, Arc::new(place))),
                _ => unreadable += 1,
            }
        }
        Ok(Self {
            folder: folder.to_owned(),
            unreadable,
            places: Mutex::new(places),
            _lock: lock,
        })
    }

    /// The place of a volume's record.
    ///
    /// # Errors
    /// Its file is there and cannot be read.
    pub fn slot(&self, volume: &VolumeHandle) -> Result<Slot<'_>, StoreError> {
        let place = match self.place(volume) {
            Some(place) => place,
            None => self.find(volume)?,
        };
        Ok(Slot {
            store: self,
            volume: volume.clone(),
            place,
        })
    }

    /// The place of a volume that was not remembered.
    fn find(&self, volume: &VolumeHandle) -> Result<Arc<Place>, StoreError> {
        let place = self.read(volume)?;
        match place.has_record() {
            true => Ok(self.remember(volume, Arc::new(place))),
            false => Ok(Arc::new(place)),
        }
    }

    /// The volume's record, if there is one.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn get(&self, volume: &VolumeHandle) -> Result<Option<Record>, StoreError> {
        match self.place(volume) {
            Some(place) => place.get(),
            None => self.read(volume)?.get(),
        }
    }

    /// All records that were read, each parsed when it is taken: together they would take much memory.
    pub fn records(&self) -> impl Iterator<Item = Record> + use<> {
        let places = Vec::from_iter(self.places().values().cloned());
        let places = places.into_iter();
        places.filter_map(|place| place.get().ok().flatten())
    }

    /// All records of one kind.
    pub fn records_of<W: OfVolume>(&self) -> impl Iterator<Item = Record<W>> + use<W> {
        self.records().filter_map(Record::of)
    }

    /// The volumes that have a record.
    pub fn volumes(&self) -> Vec<VolumeHandle> {
        self.places().keys().cloned().collect()
    }

    /// Whether the volume has a record.
    pub fn has(&self, volume: &VolumeHandle) -> bool {
        self.places().contains_key(volume)
    }

    /// How many volumes have a record.
    pub fn recorded(&self) -> usize {
        self.places().len()
    }

    /// How many files are no record that this version reads.
    pub fn unreadable(&self) -> usize {
        self.unreadable
    }

    fn read(&self, volume: &VolumeHandle) -> Result<Place, StoreError> {
        let (place, found) = Place::read(self.folder.join(volume.file_name()))?;
        // Handles whose files have one name can be made: the name is a hash.
        place.require(volume, found.as_ref())?;
        Ok(place)
    }

    fn place(&self, volume: &VolumeHandle) -> Option<Arc<Place>> {
        self.places().get(volume).cloned()
    }

    /// The volume's place from now on: another call may have been faster.
    fn remember(&self, volume: &VolumeHandle, place: Arc<Place>) -> Arc<Place> {
        Arc::clone(self.places().entry(volume.clone()).or_insert(place))
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot<'_> {
    /// The record, if there is one.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn get(&self) -> Result<Option<Record>, StoreError> {
        self.place().get()
    }

    /// Replaces the record. After a crash there is the old one or the new one, whole.
    ///
    /// # Errors
    /// The system refuses, or there is one that cannot be read.
    pub fn put<W: OfVolume>(&self, record: Record<W>) -> Result<(), StoreError> {
        // Other calls share the place from before there is a file that they could read into another.
        let place = self.store.remember(&self.volume, Arc::clone(&self.place));
        let written = place.put(&record.of_any());
        if !place.has_record() {
            self.store.places().remove(&self.volume);
        }
        written
    }

    /// Changes the record, if there is one of this kind, as one step among the calls for its volume.
    ///
    /// # Errors
    /// As [`Slot::put`].
    pub fn change<W: OfVolume>(&self, how: impl FnOnce(&mut Record<W>)) -> Result<(), StoreError> {
        self.place().change(how)
    }

    /// Removes the record. One that is gone already is success.
    ///
    /// # Errors
    /// The system refuses, or there is one that cannot be read.
    pub fn remove(&self) -> Result<(), StoreError> {
        self.place().remove()?;
        self.store.places().remove(&self.volume);
        Ok(())
    }

    /// That which all calls share, once there is a record.
    fn place(&self) -> Arc<Place> {
        let shared = self.store.place(&self.volume);
        shared.unwrap_or_else(|| Arc::clone(&self.place))
    }
}

impl Place {
    /// The place of a file, and the volume of the record in it.
    fn read(file: PathBuf) -> Result<(Self, Option<VolumeHandle>), StoreError> {
        let (content, volume) = match fs::read(&file) {
            // What is no text is no record.
            Ok(bytes) => Content::of(&file, &String::from_utf8_lossy(&bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => (Content::None, None),
            Err(error) => return Err(failed("read", &file)(error)),
        };
        let content = Mutex::new(content);
        Ok((Self { file, content }, volume))
    }

    fn get(&self) -> Result<Option<Record>, StoreError> {
        match &*self.content() {
            Content::None => Ok(None),
            Content::Record(text) => self.parsed(text).map(Some),
            Content::Unreadable(reason) => Err(self.unreadable(reason)),
        }
    }

    fn put(&self, record: &Record) -> Result<(), StoreError> {
        let mut content = self.content();
        self.write(&mut content, record)
    }

    fn change<W: OfVolume>(&self, how: impl FnOnce(&mut Record<W>)) -> Result<(), StoreError> {
        let mut content = self.content();
        let record = match &*content {
            Content::Record(text) => self.parsed(text)?.of(),
            _ => None,
        };
        let Some(mut record) = record else {
            return Ok(());
        };
        how(&mut record);
        self.write(&mut content, &record.of_any())
    }

    fn remove(&self) -> Result<(), StoreError> {
        let mut content = self.content();
        if let Content::Unreadable(reason) = &*content {
            return Err(self.unreadable(reason));
        }
        match fs::remove_file(&self.file) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(failed("remove", &self.file)(error))
            }
            _ => {
                *content = Content::None;
                Ok(())
            }
        }
    }

    fn write(&self, content: &mut Content, record: &Record) -> Result<(), StoreError> {
        if let Content::Unreadable(reason) = content {
            return Err(self.unreadable(reason));
        }
        let unwritable = |reason| self.unreadable(&Arc::new(reason));
        let text = record.to_text().map_err(unwritable)?;
        if !matches!(content, Content::Record(there) if **there == *text) {
            replace(&self.file, &text).map_err(failed("write", &self.file))?;
            *content = Content::Record(text.into());
        }
        Ok(())
    }

    /// A record of another volume is none of this one.
    fn require(
        &self,
        volume: &VolumeHandle,
        found: Option<&VolumeHandle>,
    ) -> Result<(), StoreError> {
        match found {
            Some(other) if other != volume => Err(self.unreadable(&Arc::new(of_other(other)))),
            _ => Ok(()),
        }
    }

    fn has_record(&self) -> bool {
        matches!(&*self.content(), Content::Record(_))
    }

    fn parsed(&self, text: &str) -> Result<Record, StoreError> {
        Record::from_text(text).map_err(|reason| self.unreadable(&Arc::new(reason)))
    }

    fn unreadable(&self, reason: &Arc<TextError>) -> StoreError {
        StoreError::Unreadable {
            file: self.file.clone(),
            reason: Arc::clone(reason),
        }
    }

    fn content(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Content {
    fn of(file: &Path, text: &str) -> (Self, Option<VolumeHandle>) {
        let has_its_name = |volume: &VolumeHandle| {
            let name = volume.file_name();
            file.file_name() == Some(OsStr::new(&name))
        };
        let volume =
            Record::from_text(text).and_then(|record| match has_its_name(&record.volume) {
                true => Ok(record.volume),
                false => Err(of_other(&record.volume)),
            });
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
fn replace(file: &Path, text: &str) -> io::Result<()> {
    let beside = file.with_extension(NEW);
    let mut new = File::create(&beside)?;
    new.write_all(text.as_bytes())?;
    new.sync_all()?;
    drop(new);
    fs::rename(&beside, file)
}

pub(super) fn failed(
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
mod tests {
    mod places;

    use tempfile::TempDir;
    use wincsi::disks::DiskQuery;

    use super::*;
    use crate::record::{Access, Disk, Format, State, Targets, Wanted, What};

    fn volume() -> VolumeHandle {
        VolumeHandle::parse("server/share#1").unwrap()
    }

    fn record() -> Record {
        Record {
            volume: volume(),
            state: State::Staging,
            staging: r"C:\staging".parse().unwrap(),
            boot: None,
            published: Vec::new(),
            what: What::Disk(Disk {
                query: DiskQuery::from_record("v1 page83=600224801234567890abcdef00000001")
                    .unwrap(),
                wanted: Wanted {
                    format: Format::default(),
                    access: Access::ReadWrite,
                    targets: Targets::Many,
                },
                brought_online: true,
                mounted: None,
                size: None,
                disk_bytes: None,
            }),
        }
    }

    fn folder() -> TempDir {
        tempfile::tempdir().unwrap()
    }

    #[test]
    fn a_record_outlives_its_process_and_goes_once() {
        let folder = folder();
        let store = Store::open(folder.path()).unwrap();
        store.slot(&volume()).unwrap().put(record()).unwrap();

        drop(store);
        let store = Store::open(folder.path()).unwrap();
        assert_eq!(Vec::from_iter(store.records()), [record()]);
        let slot = store.slot(&volume()).unwrap();
        slot.change(|record: &mut Record| record.state = State::Staged)
            .unwrap();
        let staged = slot.get().unwrap().map(|record: Record| record.state);
        assert_eq!(staged, Some(State::Staged));

        slot.remove().unwrap();
        slot.remove().unwrap();
        drop(store);
        assert_eq!(Store::open(folder.path()).unwrap().volumes(), []);
    }

    #[test]
    fn a_record_of_a_later_version_fails_its_volumes_calls_alone_and_stays() {
        let folder = folder();
        let file = folder.path().join(volume().file_name());
        fs::write(&file, r#"{"version": 7}"#).unwrap();
        let store = Store::open(folder.path()).unwrap();
        let slot = store.slot(&volume()).unwrap();
        assert!(slot.get().is_err());
        assert!(slot.put(record()).is_err());
        assert!(slot.remove().is_err());
        assert_eq!(fs::read_to_string(&file).unwrap(), r#"{"version": 7}"#);
        let other = VolumeHandle::parse("other").unwrap();
        assert_eq!(store.get(&other).unwrap(), None);
    }

    #[test]
    fn what_a_death_left_of_a_write_is_no_record() {
        let folder = folder();
        let file = folder.path().join(volume().file_name());
        fs::write(file.with_extension("new"), "{").unwrap();
        let store = Store::open(folder.path()).unwrap();
        assert_eq!(store.get(&volume()).unwrap(), None);
        assert!(!file.with_extension("new").exists());
        store.slot(&volume()).unwrap().put(record()).unwrap();
        assert_eq!(Vec::from_iter(store.records()), [record()]);
    }

    #[test]
    fn one_process_has_the_records_and_another_touches_nothing() {
        let folder = folder();
        let store = Store::open(folder.path()).unwrap();
        let written = folder
            .path()
            .join(volume().file_name())
            .with_extension("new");
        fs::write(&written, "{").unwrap();
        let refused = Store::open(folder.path()).unwrap_err().to_string();
        let names = [folder.path().to_str().unwrap(), "-state-dir"];
        assert!(names.iter().all(|name| refused.contains(name)), "{refused}");
        assert!(written.exists());
        drop(store);
        Store::open(folder.path()).unwrap();
    }

    #[test]
    fn nothing_is_kept_of_volumes_without_a_record() {
        let folder = folder();
        let store = Store::open(folder.path()).unwrap();
        for number in 0..100 {
            let unknown = VolumeHandle::parse(&format!("unknown-{number}")).unwrap();
            let slot = store.slot(&unknown).unwrap();
            assert_eq!(slot.get().unwrap(), None);
            slot.change(|record: &mut Record| record.state = State::Staged)
                .unwrap();
            assert_eq!(store.places().len(), 0);
            slot.remove().unwrap();
        }
        let slot = store.slot(&volume()).unwrap();
        slot.put(record()).unwrap();
        assert_eq!(Vec::from_iter(store.records()), [record()]);
        slot.remove().unwrap();
        assert_eq!(store.places().len(), 0);
    }

    #[test]
    fn a_record_that_came_later_is_shared_by_calls_at_once() {
        let folder = folder();
        let store = Store::open(folder.path()).unwrap();
        let text = record().to_text().unwrap();
        fs::write(folder.path().join(volume().file_name()), text).unwrap();
        let [one, other] = [(); 2].map(|()| store.slot(&volume()).unwrap());
        one.change(|record: &mut Record| record.state = State::Staged)
            .unwrap();
        let seen = other.get().unwrap().map(|record: Record| record.state);
        assert_eq!(seen, Some(State::Staged));
        assert_eq!(store.recorded(), 1);
    }

    #[test]
    fn a_record_of_another_volume_fails_the_calls_and_stays() {
        let folder = folder();
        let other = VolumeHandle::parse("other").unwrap();
        let (text, file) = (
            record().to_text().unwrap(),
            folder.path().join(other.file_name()),
        );
        fs::write(&file, &text).unwrap();
        let store = Store::open(folder.path()).unwrap();
        assert_eq!((store.recorded(), store.unreadable()), (0, 1));
        let slot = store.slot(&other).unwrap();
        assert!(slot.get().is_err() && store.get(&other).is_err());
        assert!(slot.put(record()).is_err() && slot.remove().is_err());
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }

    #[test]
    fn handles_whose_files_have_one_name_are_two_volumes() {
        let folder = folder();
        let file = folder.path().join(volume().file_name());
        fs::write(&file, record().to_text().unwrap()).unwrap();
        let (place, found) = Place::read(file).unwrap();
        place.require(&volume(), found.as_ref()).unwrap();
        let other = VolumeHandle::parse("other").unwrap();
        assert!(place.require(&other, found.as_ref()).is_err());
    }
}
