//! The records of every `.wincsi` that may say something of a folder, and the locks under which that is decided.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use smb::{Entry, Failure, FileId, Kind, Listing, OpenFile, SharePath};

use super::Error;
use super::call::{Call, Files, VANISHED, prefixes};
use super::names::{Folder, RECORDS, fold, text};
use super::place::{Found, Place};
use super::record::{Record, RecordError, State};
use super::running::lock;

/// How many entries a `.wincsi` may have, or a folder in which a link is looked for.
const MOST_ENTRIES: usize = 200_000;
/// How many folders' records are remembered.
const MOST_FOLDERS: usize = 64;
/// How the names of records end.
const SUFFIX: &str = ".volume";
/// How long a call waits for the lock of a base folder that another controller holds, between two tries.
const PAUSES: [Duration; 2] = [Duration::from_millis(2), Duration::from_millis(30)];

/// A server that has not answered for so long is the reason, and not the lock.
const SILENCE: Duration = Duration::from_secs(2);

/// What was read of records, by the paths of their `.wincsi`, and there by their files' names.
#[derive(Default)]
pub(super) struct Seen(Mutex<HashMap<String, Read>>);

type Read = HashMap<String, (Stamp, Arc<Known>)>;

/// What looks at some folders found.
type Looked = Vec<smb::Result<Listing>>;

/// A file's id, change and size: with the same ones it was not written since.
pub(super) type Stamp = (FileId, u64, u64);

/// What is known of a record.
pub(super) struct Known {
    /// As no two files are named.
    pub(super) key: String,
    pub(super) file: SharePath,
    /// Or why it cannot be read.
    pub(super) volume: Result<KnownVolume, String>,
}

/// A volume, as other volumes' calls need it.
pub(super) struct KnownVolume {
    pub(super) name: String,
    pub(super) path: SharePath,
    pub(super) place: Place,
    pub(super) state: State,
}

/// A `.wincsi` on the way to a folder.
struct Held {
    folder: SharePath,
    /// Its own.
    id: FileId,
    lock: Option<OpenFile>,
}

impl Seen {
    fn of(&self, folder: &str) -> Option<Read> {
        lock(&self.0).get(folder).cloned()
    }

    fn learn(&self, folder: &str, name: String, known: (Stamp, Arc<Known>)) {
        if let Some(files) = lock(&self.0).get_mut(folder) {
            files.insert(name, known);
        }
    }

    fn put(&self, folder: String, files: Read) {
        let mut all = lock(&self.0);
        if all.len() >= MOST_FOLDERS && !all.contains_key(&folder) {
            let other = all.keys().next().cloned();
            other.and_then(|other| all.remove(&other));
        }
        all.insert(folder, files);
    }
}

impl Call<'_> {
    /// Decides something about a folder, while no other call does in any base folder that it lies in. The work gets all
    /// records that may name it but the volume's own, and what is there.
    pub(super) fn decide<T>(
        &mut self,
        own: &Files,
        folder: &Folder,
        work: impl FnOnce(&mut Self, &[Arc<Known>], Found) -> Result<T, Error>,
    ) -> Result<T, Error> {
        // The first time that takes long: it is done before the lock.
        let place = self.base.key_of(&self.records);
        if self.volumes.seen.of(&place).is_none() {
            let id = self.base_records()?;
            self.list(own, &self.base.path, id, &[])?;
        }
        // Between calls of this process a queue is cheaper than tries at the server.
        let _turn = self.volumes.bases.wait(&place, self.by)?;
        let mut held = Vec::new();
        let done = self
            .lock_all(folder, &mut held)
            .and_then(|()| self.list_all(own, folder, &held))
            .and_then(|(known, found)| work(self, &known, found));
        for lock in held.into_iter().rev().filter_map(|held| held.lock) {
            self.unlock(lock);
        }
        done
    }

    /// Locks each `.wincsi` from the share's own folder down, in this order, so that no two calls wait for each other.
    fn lock_all(&mut self, folder: &Folder, held: &mut Vec<Held>) -> Result<(), Error> {
        // A link could lead back to a folder whose lock this call has.
        let above = folder.path().parent().unwrap_or_default();
        let above = self.find(&above)?;
        for (folder, id) in prefixes(&above.path).into_iter().zip(above.ids) {
            let is_base = folder == self.base.path;
            let records = match is_base {
                true => Some(self.base_records()?),
                false => self.records_in(&folder, id)?,
            };
            let Some(id) = records else {
                continue;
            };
            self.record_ids.push(id);
            let path = self
                .base
                .below(&self.base.below(&folder, RECORDS)?, "lock")?;
            let lock = match self.wait_for_lock(&path) {
                // Another user's base folder: its records count, and its own calls look at ours.
                Err(Error::Share(error)) if error.failure == Failure::Denied && !is_base => None,
                lock => Some(lock?),
            };
            held.push(Held { folder, id, lock });
        }
        Ok(())
    }

    fn wait_for_lock(&mut self, path: &SharePath) -> Result<OpenFile, Error> {
        let [mut pause, longest] = PAUSES;
        let mut refused: Option<Instant> = None;
        loop {
            match self.share.lock(path, self.by) {
                Err(error)
                    if error.failure == Failure::InUse && Instant::now() + pause < self.by =>
                {
                    refused = Some(Instant::now());
                    thread::sleep(pause);
                    pause = (pause * 2).min(longest);
                }
                Err(error) if is_by_another(&error.failure, refused) => {
                    return Err(self.is_locked(path, VANISHED));
                }
                lock => return Ok(lock?),
            }
        }
    }

    /// All records, and what is at the folder's place: that is asked with the last list.
    fn list_all(
        &mut self,
        own: &Files,
        folder: &Folder,
        held: &[Held],
    ) -> Result<(Vec<Arc<Known>>, Found), Error> {
        let paths = self.on_the_way(folder.path())?;
        let inside = paths.last().map(|path| self.base.below(path, RECORDS));
        let asked: Vec<_> = paths.iter().cloned().chain(inside.transpose()?).collect();
        let (mut known, mut looked) = (Vec::new(), Vec::new());
        let last = held.len().saturating_sub(1);
        for (at, held) in held.iter().enumerate() {
            let beside = if at == last { &asked[..] } else { &[] };
            let (listed, seen) = self.list(own, &held.folder, held.id, beside)?;
            known.extend(listed);
            looked = seen;
        }
        let inside = looked.pop();
        let mut found = self.found(&paths, looked)?;
        found.holds_records = match inside {
            None => false,
            Some(Ok(_)) => true,
            Some(Err(error)) => match error.failure {
                Failure::NotFound => false,
                Failure::NotAFolder | Failure::Link | Failure::Denied => true,
                _ => return Err(error.into()),
            },
        };
        Ok((known, found))
    }

    /// The records of one base folder. Only those that are new or were written since are read.
    fn list(
        &mut self,
        own: &Files,
        folder: &SharePath,
        id: FileId,
        beside: &[SharePath],
    ) -> Result<(Vec<Arc<Known>>, Looked), Error> {
        let records = self.base.below(folder, RECORDS)?;
        let (listing, looked) =
            self.share
                .list_ending(&records, SUFFIX, MOST_ENTRIES, beside, self.by)?;
        let listing = self.whole(&records, listing)?;
        if listing.id != id {
            let path = self.base.at(&records);
            return Err(Error::Busy(format!("{path} is another folder by now")));
        }
        let own_name = own.record.names().last().map(fold);
        let mut lists_own = !self.has_own || *folder != self.base.path;
        let place = self.base.key_of(&records);
        let before = self.volumes.seen.of(&place).unwrap_or_default();
        let mut files = Read::with_capacity(listing.entries.len());
        let mut failed = None;
        for entry in listing.entries {
            if !fold(&entry.name).ends_with(SUFFIX) {
                continue;
            }
            let name = text(&entry.name);
            lists_own |= Some(fold(&entry.name)) == own_name;
            let mut stamp = (entry.id, entry.changed, entry.size);
            match before.get(&name) {
                // A server without times tells no change.
                Some(known) if known.0 == stamp && stamp.1 != 0 => {
                    files.insert(name, known.clone());
                }
                _ if failed.is_some() => {}
                _ => match self.read_other(own, &records, folder, &name, &entry) {
                    Ok(Some(known)) => {
                        // What cannot be read is read again: perhaps by another user.
                        if known.volume.is_err() {
                            stamp.2 = u64::MAX;
                        }
                        files.insert(name, (stamp, Arc::new(known)));
                    }
                    Ok(None) => {}
                    // What was read is kept: a repeated call goes on there.
                    Err(error) => failed = Some(error),
                },
            }
        }
        if !lists_own {
            let reason = "it has a record that the server does not list, and perhaps others";
            return Err(self.base.blocked(&records, reason));
        }
        let others = files.values().filter(|(_, known)| known.key != own.own);
        let known = others.map(|(_, known)| Arc::clone(known)).collect();
        self.volumes.seen.put(place, files);
        failed.map_or(Ok((known, looked)), Err)
    }

    pub(super) fn learn(&self, files: &Files, record: Record, stamp: Stamp) {
        let name = files.record.names().last().map(text);
        let volume = KnownVolume::new(&self.base.path, record);
        if let (Some(name), Ok(volume)) = (name, volume) {
            let known = Known {
                key: files.own.clone(),
                file: files.record.clone(),
                volume: Ok(volume),
            };
            let place = self.base.key_of(&self.records);
            self.volumes
                .seen
                .learn(&place, name, (stamp, Arc::new(known)));
        }
    }

    fn base_records(&self) -> Result<FileId, Error> {
        let id = self.record_ids.first().copied();
        id.ok_or_else(|| self.failed(&self.records, Failure::NotFound).into())
    }

    /// Reads a record, which may be gone by now; the volume's own is read by its call.
    fn read_other(
        &mut self,
        own: &Files,
        records: &SharePath,
        folder: &SharePath,
        name: &str,
        entry: &Entry,
    ) -> Result<Option<Known>, Error> {
        let file = self.base.below(records, name)?;
        let key = self.base.key_of(&file);
        if key == own.own {
            return Ok(None);
        }
        let read = match entry.kind {
            Kind::File => self.share.read(&file, self.by),
            Kind::Folder | Kind::Link => Err(self.failed(&file, Failure::IsAFolder)),
        };
        let name = name.strip_suffix(SUFFIX).unwrap_or_default();
        let volume = match read {
            Ok(bytes) => Record::parse(&bytes, name)
                .and_then(|record| KnownVolume::new(folder, record))
                .map_err(|error| error.to_string()),
            Err(error) => match error.failure {
                Failure::NotFound | Failure::DeletePending => return Ok(None),
                Failure::Limit(_) | Failure::Link | Failure::IsAFolder | Failure::Denied => {
                    Err(error.failure.to_string())
                }
                _ => return Err(error.into()),
            },
        };
        Ok(Some(Known { key, file, volume }))
    }

    /// A folder with all its entries.
    pub(super) fn list_whole(&mut self, folder: &SharePath) -> Result<Listing, Error> {
        let listing = self.share.list(folder, MOST_ENTRIES, self.by)?;
        self.whole(folder, listing)
    }

    fn whole(&self, folder: &SharePath, listing: Listing) -> Result<Listing, Error> {
        if listing.has_more {
            let reason = format!("it has more than {MOST_ENTRIES} entries");
            return Err(self.base.blocked(folder, reason));
        }
        Ok(listing)
    }
}

impl KnownVolume {
    fn new(base: &SharePath, record: Record) -> Result<Self, RecordError> {
        let folder = record.folder()?;
        let mut names = folder.path().names().iter();
        let path = names.try_fold(base.clone(), |path, name| path.join(name));
        let mut place = Place::new(base, &folder);
        if let Some(held) = record.state.held() {
            if held.above.len() > place.names.len() {
                return Err(RecordError::Folder);
            }
            place.above = held.above.iter().copied().map(FileId).collect();
            place.id = Some(FileId(held.id));
        }
        Ok(Self {
            name: record.name.escape_debug().to_string(),
            path: path.map_err(|_| RecordError::Folder)?,
            place,
            state: record.state,
        })
    }

    /// Whether a folder that is to be deleted is still in its place.
    pub(super) fn is_unmoved(&self, call: &mut Call<'_>) -> Result<bool, Error> {
        let there = call.stat(&self.path)?;
        Ok(there.is_some() && there == self.place.id)
    }

    /// The place of a folder that may have come since the record was written.
    pub(super) fn place_now(&self, call: &mut Call<'_>) -> Result<Place, Error> {
        let mut above = call.ids_at(&self.path)?;
        let is_there = above.len() > self.path.names().len();
        let id = if is_there { above.pop() } else { None };
        let names = self.place.names.clone();
        Ok(Place { names, above, id })
    }
}

/// Whether a lock's last try failed by who has it. Where time ran out within that try, a server that answered the one
/// before a moment ago is there.
fn is_by_another(failure: &Failure, refused: Option<Instant>) -> bool {
    match failure {
        Failure::InUse => true,
        Failure::TimedOut => refused.is_some_and(|at| at.elapsed() < SILENCE),
        _ => false,
    }
}
