//! Volumes as folders of a base folder on a share, each with a record in the base's hidden folder `.wincsi`.

mod call;
mod clones;
mod create;
mod delete;
mod error;
mod figures;
mod leftovers;
mod manifest;
mod names;
mod place;
mod record;
mod records;
mod running;
mod snapshots;
mod source;
mod watch;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use smb::{FileId, Listing, Name, Server, Share, SharePath};

use self::call::Call;
use self::clones::Target;
pub use self::error::Error;
pub use self::figures::{Figures, Reason};
pub use self::names::{Folder, FolderError};
use self::place::End;
use self::record::Record;
use self::records::Seen;
use self::running::{Done, Turn, Turns, Work, lock};
pub use self::snapshots::{Asked, Consistency, Snapshot, Take, WholeSnapshot};

/// Folders lie deep in folders. What is not used takes no memory.
const STACK: usize = 8 * 1024 * 1024;

/// All that a process knows of volumes: calls that run, what it may have left on shares, records that it read.
pub struct Volumes {
    on_left: OnLeft,
    running: Arc<Turns>,
    bases: Arc<Turns>,
    seen: Seen,
    /// Folders that are no links, by path and id.
    proven: Mutex<HashSet<(String, FileId)>>,
    /// The base folders of what this process began, by labels, until it is deleted.
    begun: Mutex<HashMap<String, String>>,
    /// What was free, in bytes, before copies that were given up for too little space, by their labels.
    starved: Mutex<HashMap<String, u64>>,
    /// Base folders whose leftovers are in the log.
    noticed: Mutex<HashSet<String>>,
    figures: Figures,
}

/// Opens connections to the share of one call, as its user.
pub trait Connector: Send + Sync + 'static {
    /// A connection, new or given back before, which has just looked at these folders.
    fn open(&self, folders: &[SharePath], by: Instant) -> smb::Result<Connected>;

    /// Takes a connection back that holds no lock and had no failure that ends it, for the next call.
    fn give_back(&self, connection: Box<dyn Share + Send>) {
        drop(connection);
    }
}

/// A connection to a share, and what a look at some folders found.
pub type Connected = (Box<dyn Share + Send>, Vec<smb::Result<Listing>>);

/// A base folder: volumes are folders in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    pub server: Server,
    pub share: Name,
    /// The root for a share's own folder.
    pub path: SharePath,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Create {
    pub name: Name,
    pub base: Base,
    pub folder: Folder,
    pub size: u64,
    /// What a repeated call must have too. No secrets: a record on the share keeps them.
    pub parameters: BTreeMap<String, String>,
    /// What it is a copy of.
    pub source: Option<Source>,
}

/// A volume or snapshot to copy, as its handle or id has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The handle or id, which a repeated call must have too.
    pub id: String,
    pub base: Base,
    pub origin: Origin,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    Volume {
        /// As for a [`Delete`].
        name: Option<Name>,
        folder: Folder,
    },
    Snapshot(Name),
}

/// A volume to delete, as its handle has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delete {
    /// Where the record is; a handle of several parts without a name has none.
    pub name: Option<Name>,
    pub base: Base,
    pub folder: Folder,
    pub policy: Policy,
    pub unrecorded: Unrecorded,
}

/// What a delete does with the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    Delete,
    Archive,
    /// It stays, and only the record goes. The reason is counted.
    Keep(Left),
}

/// What is done with a folder that no record has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unrecorded {
    Keep,
    /// For a handle that csi-driver-smb made for this folder alone, and with `-delete-unrecorded`. A folder whose record has
    /// another id goes too.
    Delete,
    /// As `Delete`, but a folder whose record has another id stays: for the rule of names with a UUID.
    DeleteIfNone,
}

/// How a volume came by its folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Created {
    /// It is the volume's own.
    Made,
    /// It was there before: a delete leaves it.
    Found,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deleted {
    /// The folder is gone, with all that was in it, now or before.
    Gone,
    /// The folder has this path now, or was archived before.
    Archived(Option<SharePath>),
    /// The folder stays, and has no record any more.
    Left(Left),
}

/// Why a folder stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Left {
    Retained,
    UnknownPolicy,
    Found,
    Shared,
    HoldsRecords,
    Unrecorded,
    Replaced,
}

/// Is called for each folder that stays, also after the call's end.
pub type OnLeft = Box<dyn Fn(&Delete, Left) + Send + Sync>;

impl Volumes {
    pub fn new(on_left: OnLeft) -> Arc<Self> {
        Arc::new(Self {
            on_left,
            running: Arc::default(),
            bases: Arc::default(),
            seen: Seen::default(),
            proven: Mutex::default(),
            begun: Mutex::default(),
            starved: Mutex::default(),
            noticed: Mutex::default(),
            figures: Figures::default(),
        })
    }

    /// Deletes a volume's folder. If that takes longer than the call, it goes on: the same call waits for it.
    pub fn delete(
        self: &Arc<Self>,
        connector: Arc<dyn Connector>,
        volume: Delete,
        by: Instant,
    ) -> Result<Deleted, Error> {
        let (name, work) = (volume.title(), Work::Delete(volume.clone()));
        let done = self.outlast((&name, &work), by, move |volumes| {
            let deleted = volumes.run_delete(&*connector, &volume, by);
            deleted.map(Done::Deleted)
        })?;
        match done {
            Done::Deleted(deleted) => Ok(deleted),
            _ => Err(another(&name)),
        }
    }

    /// Makes a volume's folder as a copy of its source. If that takes longer than the call, it goes on: the same call waits
    /// for it. A failure after which a repeated call cannot go on leaves nothing of the copy.
    pub fn clone_volume(
        self: &Arc<Self>,
        connector: Arc<dyn Connector>,
        (volume, source): (Create, Source),
        by: Instant,
    ) -> Result<(), Error> {
        let name = self.expect_base(&volume)?;
        let work = Work::Clone(volume.clone());
        let done = self.outlast((&name, &work), by, move |volumes| {
            let over = (&*connector, &volume.base, by);
            volumes.run_copy(over, Target::Volume(&volume), &source)?;
            Ok(Done::Cloned)
        });
        done.map(drop)
    }

    /// Takes a snapshot, or finds that it is taken. What may outlast the call goes on: the same call waits for it. A
    /// failure after which a repeated call cannot go on leaves nothing of it.
    pub fn take_snapshot(
        self: &Arc<Self>,
        connector: Arc<dyn Connector>,
        take: Take,
        by: Instant,
    ) -> Result<WholeSnapshot, Error> {
        let snapshot = &take.snapshot;
        let name = self.expect_begun(&snapshot.base, &snapshot.label())?;
        let work = Work::Take(take.clone());
        let done = self.outlast((&name, &work), by, move |volumes| {
            let over = (&*connector, &take.snapshot.base, by);
            let record = volumes.run_copy(over, Target::Snapshot(&take), &take.source())?;
            Ok(Done::Taken(WholeSnapshot::of(&take.snapshot.name, &record)))
        })?;
        match done {
            Done::Taken(whole) => Ok(whole),
            _ => Err(another(&name)),
        }
    }

    /// Deletes a snapshot; one that is gone is deleted. What may outlast the call goes on.
    pub fn delete_snapshot(
        self: &Arc<Self>,
        connector: Arc<dyn Connector>,
        snapshot: Snapshot,
        by: Instant,
    ) -> Result<(), Error> {
        let name = title(&snapshot.base, &snapshot.label());
        if names::is_reserved(&snapshot.base.path) {
            tracing::warn!("nothing is deleted for {name}: no base folder can be there");
            return Ok(());
        }
        let work = Work::DeleteSnapshot(snapshot.clone());
        let done = self.outlast((&name, &work), by, move |volumes| {
            volumes.over((&*connector, &snapshot.base, by), |call| {
                snapshots::delete(call, &snapshot)
            })?;
            volumes.forget_in(&snapshot.base, &snapshot.label());
            Ok(Done::SnapshotDeleted)
        });
        done.map(drop)
    }

    /// The snapshots of a base folder that are whole, in the order of their files, and whether there are more.
    pub fn snapshots(
        &self,
        connector: &dyn Connector,
        base: &Base,
        asked: &Asked,
        by: Instant,
    ) -> Result<(Vec<WholeSnapshot>, bool), Error> {
        if names::is_reserved(&base.path) {
            return Ok((Vec::new(), false));
        }
        self.over((connector, base, by), |call| snapshots::list(call, asked))
    }

    /// Does something in a thread of its own, or waits for the same that runs already.
    fn outlast(
        self: &Arc<Self>,
        (name, work): (&str, &Work),
        by: Instant,
        run: impl FnOnce(&Self) -> Result<Done, Error> + Send + 'static,
    ) -> Result<Done, Error> {
        let (job, turn) = self.running.begin(name, work)?;
        let volumes = Arc::clone(self);
        start(turn, move || run(&volumes))?;
        job.wait(name, by)
    }

    pub fn figures(&self) -> &Figures {
        &self.figures
    }

    /// Whether a volume's folder is there, for callers who only look.
    pub fn has(
        &self,
        connector: &dyn Connector,
        base: &Base,
        folder: &Folder,
        by: Instant,
    ) -> Result<bool, Error> {
        let found = self.over((connector, base, by), |call| call.find(folder.path()))?;
        Ok(matches!(found.end, End::Folder(_)))
    }

    /// Whether this process may have left something of a volume on a share: then failures that a caller finds itself are
    /// not final either.
    pub fn may_have_left(&self, name: &Name) -> bool {
        lock(&self.begun).contains_key(&names::label("volume", name))
    }

    /// The same, of a snapshot.
    pub fn may_have_left_snapshot(&self, name: &Name) -> bool {
        lock(&self.begun).contains_key(&names::label("snapshot", name))
    }

    /// Makes a volume's folder, or finds that it is made. `Exists` is the one failure after which a repetition can never
    /// succeed.
    pub fn create(
        &self,
        connector: &dyn Connector,
        volume: &Create,
        by: Instant,
    ) -> Result<Created, Error> {
        let name = self.expect_base(volume)?;
        let _turn = self.running.wait(&name, Instant::now())?;
        let lane = self.bases.lane(&volume.base, &name, by)?;
        self.over((connector, &volume.base, by), |call| {
            call.lane = Some(lane);
            create::create(call, volume)
        })
    }

    /// Refuses a base folder where no volume can be, or another one than the name has by now. Returns what calls for the
    /// volume have in common.
    fn expect_base(&self, volume: &Create) -> Result<String, Error> {
        self.expect_begun(&volume.base, &volume.label())?;
        Ok(title(&volume.base, &names::text(&volume.name)))
    }

    fn expect_begun(&self, base: &Base, label: &str) -> Result<String, Error> {
        if names::is_reserved(&base.path) {
            let base = format!("the base folder {base}");
            let lies = "lies in an archive or in the records of volumes";
            return Err(Error::Invalid(format!("{base} {lies}")));
        }
        let before = lock(&self.begun).get(label).cloned();
        if let Some(before) = before.filter(|before| *before != base.key()) {
            return Err(exists(label, &format!("the base folder {before}")));
        }
        Ok(title(base, label))
    }

    fn run_copy(
        &self,
        over: (&dyn Connector, &Base, Instant),
        target: Target<'_>,
        source: &Source,
    ) -> Result<Record, Error> {
        let counted = self.figures.begin();
        let done = self.over(over, |call| clones::copy(call, target, source));
        counted.end(&done);
        done
    }

    fn run_delete(
        &self,
        connector: &dyn Connector,
        volume: &Delete,
        by: Instant,
    ) -> Result<Deleted, Error> {
        if names::is_reserved(&volume.base.path) {
            (self.on_left)(volume, Left::Unrecorded);
            return Ok(Deleted::Left(Left::Unrecorded));
        }
        let lane = self.bases.lane(&volume.base, &volume.title(), by)?;
        let deleted = self.over((connector, &volume.base, by), |call| {
            call.lane = Some(lane);
            delete::delete(call, volume)
        })?;
        if let Some(name) = &volume.name {
            self.forget_in(&volume.base, &names::label("volume", name));
        }
        if let Deleted::Left(left) = deleted {
            (self.on_left)(volume, left);
        }
        Ok(deleted)
    }

    /// Works over a connection. The next call may have it if nothing failed and no lock is held.
    fn over<T>(
        &self,
        (connector, base, by): (&dyn Connector, &Base, Instant),
        work: impl FnOnce(&mut Call<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let (mut share, looked) = connector.open(&Call::first_look(base)?, by)?;
        let mut call = Call::new(self, (&mut *share, looked), base, by)?;
        let done = work(&mut call)?;
        call.log_leftovers(None);
        if call.is_clean {
            connector.give_back(share);
        }
        Ok(done)
    }

    /// From here on something of it may be on the share.
    fn remember(&self, label: String, base: &Base) {
        lock(&self.begun).insert(label, base.key());
    }

    /// After a delete in a base folder.
    fn forget_in(&self, base: &Base, label: &str) {
        lock(&self.starved).remove(label);
        let begun = lock(&self.begun).get(label).cloned();
        if begun == Some(base.key()) {
            self.forget(label);
        }
    }

    fn forget(&self, label: &str) {
        lock(&self.begun).remove(label);
    }
}

impl Create {
    /// As the log, errors and this process name it.
    fn label(&self) -> String {
        names::label("volume", &self.name)
    }
}

impl Delete {
    /// What calls for the volume have in common.
    fn title(&self) -> String {
        match &self.name {
            Some(name) => title(&self.base, &names::text(name)),
            None => format!("{}{}", self.base, self.folder.path()),
        }
    }
}

/// Works in a thread of its own, if it is this call's turn.
fn start(
    turn: Option<Turn>,
    work: impl FnOnce() -> Result<Done, Error> + Send + 'static,
) -> Result<(), Error> {
    let Some(turn) = turn else {
        return Ok(());
    };
    let thread = thread::Builder::new().stack_size(STACK);
    let thread = thread.name("outlast".to_owned());
    let started = thread.spawn(move || turn.end(work()));
    let failed = |error| Error::Busy(format!("no thread can be started: {error}"));
    started.map(drop).map_err(failed)
}

fn exists(label: &str, difference: &str) -> Error {
    Error::Exists(format!("{label} exists already, with {difference}"))
}

/// Who waited for something finds that other work was done to it meanwhile.
fn another(name: &str) -> Error {
    Error::Busy(format!("another call worked on {name} just now"))
}

/// A volume, as calls for it have it in common.
fn title(base: &Base, name: &str) -> String {
    format!("{name} in {}", base.key())
}

impl Base {
    /// A path of the share, as errors name it.
    fn at(&self, path: &SharePath) -> String {
        let host = self.server.host.escape_debug();
        format!(r"\\{host}\{}{path}", self.share)
    }

    /// The base folder, as no two are named.
    fn key(&self) -> String {
        self.key_of(&self.path)
    }

    /// A path of the share, as no two are named.
    fn key_of(&self, path: &SharePath) -> String {
        let Server { host, port } = &self.server;
        let names: Vec<String> = path.names().iter().map(names::fold).collect();
        let (host, share, path) = (
            host.to_lowercase(),
            names::fold(&self.share),
            names.join("/"),
        );
        format!("{host}:{port}/{share}/{path}")
    }

    fn below(&self, folder: &SharePath, name: &str) -> Result<SharePath, Error> {
        let path = Name::new(name).and_then(|name| folder.join(&name));
        path.map_err(|error| self.blocked(folder, error))
    }

    fn blocked(&self, path: &SharePath, reason: impl fmt::Display) -> Error {
        Error::Blocked(format!("{}: {reason}", self.at(path)))
    }
}

impl fmt::Display for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.at(&self.path))
    }
}
