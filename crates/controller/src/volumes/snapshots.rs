//! Snapshots: whole trees in `.wincsi/snapshots` of the base folder of their volumes, which no volume has.
//!
//! | file in `.wincsi` | what |
//! |---|---|
//! | `KEY.snapshot` | the record: as a volume's, with the same states, and the manifest's length and hash |
//! | `KEY.snapshot-lock` | the lock: a call has it alone, restores beside each other |
//! | `snapshots/KEY`, `snapshots/KEY.manifest` | the tree, and each of its entries ([`manifest`](super::manifest)) |
//! | `clones/KEY.snapshot`, `deleted/KEY.snapshot` | the tree before it is whole, and when it goes |
//!
//! [`clones`](super::clones) makes them and what is restored from them, with the turns, the space and the lines of the log
//! of a clone. Here they are deleted and listed: as a volume's, the record says so, the folder is moved away, its
//! content goes, then manifest, record and folder.

use smb::{Existing, Failure, FileId, Name, SharePath};
use transport::Code;

use super::call::{Call, Files};
use super::clones::remove_half;
use super::names::{RECORDS, key, label, text};
use super::place::End;
use super::record::{Manifest, Record, State};
use super::{Base, Error, Folder, Origin, Source};

/// How the names of records end.
const SUFFIX: &str = ".snapshot";
/// How many of them a base may have.
const MOST_RECORDS: usize = 200_000;

/// A snapshot, as its id has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    pub name: Name,
    pub base: Base,
}

/// A snapshot to take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Take {
    /// Its base is the volume's.
    pub snapshot: Snapshot,
    /// The volume's handle, which a repeated call must have too.
    pub source_id: String,
    /// As for a [`Delete`](super::Delete).
    pub volume: Option<Name>,
    pub folder: Folder,
    pub consistency: Consistency,
}

/// What becomes of a snapshot of files that change while they are copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Consistency {
    /// It is whole, and its manifest names them.
    #[default]
    Listed,
    /// It fails.
    Strict,
}

/// A snapshot that is whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WholeSnapshot {
    pub name: Name,
    /// What its files are named for.
    pub key: String,
    /// Of the volume.
    pub source_id: String,
    /// Of the volume, as its record had it; 0 without one.
    pub size: u64,
    /// When its copy began, in units of 100 ns since 1601 by the server's clock.
    pub begun: u64,
}

/// Which snapshots of a base folder are listed.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    pub name: Option<Name>,
    /// Those of a volume, by its handle.
    pub source_id: Option<String>,
    /// Those that come after this key, whose snapshot may be gone.
    pub after: Option<String>,
    pub most: usize,
}

impl Snapshot {
    pub(super) fn label(&self) -> String {
        label("snapshot", &self.name)
    }
}

impl Take {
    pub(super) fn source(&self) -> Source {
        Source {
            id: self.source_id.clone(),
            base: self.snapshot.base.clone(),
            origin: Origin::Volume {
                name: self.volume.clone(),
                folder: self.folder.clone(),
            },
        }
    }
}

impl WholeSnapshot {
    pub(super) fn of(name: &Name, record: &Record) -> Self {
        Self {
            name: name.clone(),
            key: key(name),
            source_id: record.source.clone().unwrap_or_default(),
            size: record.size,
            begun: record.taken.as_ref().map_or(0, |taken| taken.begun),
        }
    }
}

impl Call<'_> {
    /// Where a snapshot's folder is, below the base folder.
    pub(super) fn snapshot_place(&self, name: &Name) -> Result<SharePath, Error> {
        let path = self.base.below(&SharePath::root(), RECORDS)?;
        let path = self.base.below(&path, "snapshots")?;
        self.base.below(&path, &key(name))
    }

    /// The id of a snapshot's folder, if that and the manifest are there as the record has them.
    pub(super) fn expect_whole(
        &mut self,
        files: &Files,
        place: &SharePath,
        record: &Record,
    ) -> Result<FileId, Error> {
        let manifest = record.taken.as_ref().and_then(|it| it.manifest.as_ref());
        let (State::Ready(held), Some(manifest)) = (&record.state, manifest) else {
            let reason = "the record of a snapshot that is not whole";
            return Err(self.base.blocked(&files.record, reason));
        };
        let id = FileId(held.id);
        if !self.has(place, Some(id))? {
            let path = self.on_the_way(place)?.pop().unwrap_or_default();
            let reason = "it is not the folder that the snapshot's record has: that is gone";
            return Err(self.base.blocked(&path, reason));
        }
        self.expect_length(files, manifest)?;
        Ok(id)
    }

    /// What the manifest has is seen when it is restored.
    pub(super) fn expect_length(
        &mut self,
        files: &Files,
        manifest: &Manifest,
    ) -> Result<(), Error> {
        let Some(path) = &files.manifest else {
            return Ok(());
        };
        let last = match self
            .share
            .read_on(path, manifest.length.saturating_sub(1), self.by)
        {
            Err(error) if error.failure == Failure::NotFound => Vec::new(),
            last => last?,
        };
        match last.len() == 1 {
            true => Ok(()),
            false => {
                let reason = "the manifest is missing, or has another length than the record says";
                Err(self.base.blocked(path, reason))
            }
        }
    }
}

/// Deletes a snapshot, or what is left of it. What its record does not prove to be its own stays, and is an error.
pub(super) fn delete(call: &mut Call<'_>, snapshot: &Snapshot) -> Result<(), Error> {
    if call.record_ids.is_empty() {
        return Ok(());
    }
    let files = call.snapshot_files(&snapshot.name)?;
    let place = call.snapshot_place(&snapshot.name)?;
    call.locked(&files.lock, |call| {
        let record = call.read(&files)?;
        let found = call.find(&place)?;
        let held = record.as_ref().and_then(|record| record.state.held());
        let own = held.map(|held| FileId(held.id));
        match (record, found.end) {
            (Some(record), End::Folder(id)) if Some(id) == own => {
                move_away(call, &files, (&found.path, id), record)?;
                end(call, &files, own)
            }
            (Some(_), End::Missing) => end(call, &files, own),
            (_, End::Folder(_) | End::File) => {
                let reason = "no record of a snapshot has it: remove it by hand";
                Err(call.base.blocked(&found.path, reason))
            }
            // An earlier call may have ended after the record went: then these have nothing in them.
            (None, End::Missing) => {
                call.clear(&files.copy)?;
                call.clear(&files.aside)?;
                call.clear(&files.moved)
            }
        }
    })
}

fn move_away(
    call: &mut Call<'_>,
    files: &Files,
    (path, id): (&SharePath, FileId),
    record: Record,
) -> Result<(), Error> {
    if let State::Ready(held) | State::Cloning(held) = &record.state {
        let state = State::Deleting(held.clone());
        call.write_to_go(files, &record.with(state))?;
    }
    let deleted = call.deleted.clone();
    call.make_in_records(&[&deleted])?;
    // An empty folder may be there of an earlier snapshot of this name.
    call.clear(&files.moved)?;
    let (to, by) = (&files.moved, call.by);
    Ok(call.share.rename(path, id, to, Existing::Refuse, by)?)
}

/// Removes what is not in its place.
fn end(call: &mut Call<'_>, files: &Files, own: Option<FileId>) -> Result<(), Error> {
    let moved = call.folder_of_records(&files.moved)?;
    if let Some(id) = moved.filter(|id| Some(*id) == own) {
        call.empty(&files.moved, id)?;
    }
    remove_half(call, files, |call| {
        call.clear(&files.record)?;
        call.clear(&files.aside)
    })?;
    match moved {
        // Its record went, and before that all that was in it.
        Some(id) => match call.share.remove(&files.moved, id, call.by) {
            Err(error) if error.failure == Failure::NotEmpty => {
                Err(call.failed(&files.moved, Failure::HiddenContent).into())
            }
            removed => Ok(removed?),
        },
        None => Ok(()),
    }
}

/// Lists what is whole. A record that cannot be read is of none.
pub(super) fn list(
    call: &mut Call<'_>,
    asked: &Asked,
) -> Result<(Vec<WholeSnapshot>, bool), Error> {
    let mut whole = Vec::new();
    if call.record_ids.is_empty() {
        return Ok((whole, false));
    }
    for key in keys(call, asked)? {
        let Some(snapshot) = look(call, &key, asked.source_id.as_ref())? else {
            continue;
        };
        if whole.len() >= asked.most {
            return Ok((whole, true));
        }
        whole.push(snapshot);
    }
    Ok((whole, false))
}

/// The keys of those that may be meant, sorted.
fn keys(call: &mut Call<'_>, asked: &Asked) -> Result<Vec<String>, Error> {
    if let Some(name) = &asked.name {
        return Ok(vec![key(name)]);
    }
    let (records, by) = (call.records.clone(), call.by);
    let (listing, _) = call
        .share
        .list_ending(&records, SUFFIX, MOST_RECORDS, &[], by)?;
    if listing.has_more {
        let reason = format!("it has more than {MOST_RECORDS} snapshots");
        return Err(call.base.blocked(&records, reason));
    }
    let names = listing.entries.iter().map(|entry| text(&entry.name));
    let keys = names.filter_map(|name| name.strip_suffix(SUFFIX).map(str::to_owned));
    let is_next = |key: &String| asked.after.as_ref().is_none_or(|after| key > after);
    let mut keys: Vec<String> = keys.filter(is_next).collect();
    keys.sort_unstable();
    Ok(keys)
}

/// The snapshot with a key, if it is whole, and of this source.
fn look(
    call: &mut Call<'_>,
    key: &str,
    source_id: Option<&String>,
) -> Result<Option<WholeSnapshot>, Error> {
    let looked = call.snapshot_files_by(key).and_then(|files| {
        let is_of = |record: &Record| {
            let is_its = source_id.is_none() || record.source.as_ref() == source_id;
            is_its && matches!(record.state, State::Ready(_))
        };
        let Some(record) = call.read(&files)?.filter(is_of) else {
            return Ok(None);
        };
        let Ok(name) = Name::new(&record.name) else {
            return Ok(None);
        };
        let place = call.snapshot_place(&name)?;
        call.expect_whole(&files, &place, &record)?;
        Ok(Some(WholeSnapshot::of(&name, &record)))
    });
    match looked {
        Err(error)
            if [Code::FailedPrecondition, Code::PermissionDenied].contains(&error.code()) =>
        {
            tracing::warn!("{key} in {} is listed as no snapshot: {error}", call.base);
            Ok(None)
        }
        looked => looked,
    }
}
