//! Volumes as folders of a base folder on a share, each with a record in the base's hidden folder `.wincsi`.

mod call;
mod create;
mod delete;
mod error;
mod names;
mod place;
mod record;
mod records;
mod running;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use smb::{FileId, Listing, Name, Server, Share, SharePath};

use self::call::Call;
pub use self::error::{Class, Error};
pub use self::names::{Folder, FolderError};
use self::place::End;
use self::records::Seen;
use self::running::{Turns, lock};

/// All that a process knows of volumes: calls that run, what it may have left on shares, records that it read.
pub struct Volumes {
    on_left: OnLeft,
    running: Arc<Turns>,
    bases: Arc<Turns>,
    seen: Seen,
    /// Folders that are no links, by path and id.
    proven: Mutex<HashSet<(String, FileId)>>,
    /// The base folders of volumes that this process began, until they are deleted.
    begun: Mutex<HashMap<String, String>>,
}

/// Opens connections to the share of one call, as its user.
pub trait Connector: Send + Sync + 'static {
    /// A connection, new or given back before, which has just looked at these folders.
    ///
    /// # Errors
    /// Those of [`RemoteShare::open`](smb::RemoteShare::open) and [`Share::look`].
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

/// A volume to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Create {
    pub name: Name,
    pub base: Base,
    pub folder: Folder,
    pub size: u64,
    /// What a repeated call must have too. No secrets: a record on the share keeps them.
    pub parameters: BTreeMap<String, String>,
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

/// What a create did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Created {
    /// The folder is the volume's own.
    Made,
    /// The folder was there before: a delete leaves it.
    Found,
}

/// What a delete did.
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
    /// The class says so.
    Retained,
    /// The handle has an unknown policy.
    UnknownPolicy,
    /// It was there before the volume.
    Found,
    /// Another volume has it, has a folder in it, or has a folder that it lies in.
    Shared,
    /// It holds the records of volumes.
    HoldsRecords,
    /// It has no record.
    Unrecorded,
    /// It is another folder than the record's.
    Replaced,
}

/// A failed create, and whether something of the volume may be on the share because of this process.
#[derive(Debug)]
pub struct CreateError {
    pub error: Error,
    pub leftover: Leftover,
}

/// See [`CreateError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leftover {
    Nothing,
    Possible,
}

/// Is called for each folder that stays, also after the call's end.
pub type OnLeft = Box<dyn Fn(&Delete, Left) + Send + Sync>;

impl Volumes {
    /// Without any volumes yet.
    #[must_use]
    pub fn new(on_left: OnLeft) -> Arc<Self> {
        Arc::new(Self {
            on_left,
            running: Arc::default(),
            bases: Arc::default(),
            seen: Seen::default(),
            proven: Mutex::default(),
            begun: Mutex::default(),
        })
    }

    /// Makes a volume's folder, or finds that it is made.
    ///
    /// # Errors
    /// Any; `Exists` is the one after which a repetition can never succeed.
    pub fn create(
        &self,
        connector: &dyn Connector,
        volume: &Create,
        by: Instant,
    ) -> Result<Created, CreateError> {
        self.try_create(connector, volume, by)
            .map_err(|error| CreateError {
                error,
                leftover: self.leftover(&volume.name),
            })
    }

    /// Deletes a volume's folder. If that takes longer than the call, it goes on: the same call waits for it.
    ///
    /// # Errors
    /// Any but `Exists` and `BaseInVolume`.
    pub fn delete(
        self: &Arc<Self>,
        connector: Arc<dyn Connector>,
        volume: Delete,
        by: Instant,
    ) -> Result<Deleted, Error> {
        let name = volume.title();
        let (job, turn) = self.running.begin_delete(&name, &volume)?;
        if let Some(turn) = turn {
            let volumes = Arc::clone(self);
            let thread = thread::Builder::new().name("delete".to_owned());
            let started = thread.spawn(move || {
                turn.end(volumes.run_delete(&*connector, &volume, by));
            });
            started.map_err(|error| Error::Busy(format!("no thread can be started: {error}")))?;
        }
        job.wait(&name, by)
    }

    /// Whether a volume's folder is there, for callers who only look.
    ///
    /// # Errors
    /// Those of the share; `Link` and a missing base folder among them.
    pub fn has(
        &self,
        connector: &dyn Connector,
        base: &Base,
        folder: &Folder,
        by: Instant,
    ) -> Result<bool, Error> {
        let mut connected = connector.open(&Call::first_look(base)?, by)?;
        let found = Call::new(self, &mut connected, base, by)?.find(folder.path())?;
        connector.give_back(connected.0);
        Ok(matches!(found.end, End::Folder(_)))
    }

    /// Whether this process may have left something of a volume on a share: then failures that a caller finds itself are
    /// not final either.
    #[must_use]
    pub fn leftover(&self, name: &Name) -> Leftover {
        if lock(&self.begun).contains_key(&names::text(name)) {
            Leftover::Possible
        } else {
            Leftover::Nothing
        }
    }

    fn try_create(
        &self,
        connector: &dyn Connector,
        volume: &Create,
        by: Instant,
    ) -> Result<Created, Error> {
        let name = names::text(&volume.name);
        if names::is_reserved(&volume.base.path) {
            return Err(Error::ReservedBase(volume.base.to_string()));
        }
        let _turn = self
            .running
            .wait(&title(&volume.base, &name), Instant::now())?;
        let before = lock(&self.begun).get(&name).cloned();
        if let Some(base) = before.filter(|base| *base != records::key(&volume.base)) {
            let difference = format!("the base folder {base}");
            return Err(Error::Exists { name, difference });
        }
        let mut connected = connector.open(&Call::first_look(&volume.base)?, by)?;
        let (created, is_clean) = create::create(self, &mut connected, volume, by)?;
        if is_clean {
            connector.give_back(connected.0);
        }
        Ok(created)
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
        let mut connected = connector.open(&Call::first_look(&volume.base)?, by)?;
        let (deleted, is_clean) = delete::delete(self, &mut connected, volume, by)?;
        if is_clean {
            connector.give_back(connected.0);
        }
        if let Some(name) = &volume.name
            && lock(&self.begun).get(&names::text(name)) == Some(&records::key(&volume.base))
        {
            self.forget(name);
        }
        if let Deleted::Left(left) = deleted {
            (self.on_left)(volume, left);
        }
        Ok(deleted)
    }

    /// From here on something of the volume may be on the share.
    fn remember(&self, volume: &Create) {
        let base = records::key(&volume.base);
        lock(&self.begun).insert(names::text(&volume.name), base);
    }

    fn forget(&self, name: &Name) {
        lock(&self.begun).remove(&names::text(name));
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

/// A volume, as calls for it have it in common.
fn title(base: &Base, name: &str) -> String {
    format!("{name} in {}", records::key(base))
}

impl Left {
    /// The value of the metric's label.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Retained => "retained",
            Self::UnknownPolicy => "unknown-policy",
            Self::Found => "found",
            Self::Shared => "shared",
            Self::HoldsRecords => "holds-records",
            Self::Unrecorded => "unrecorded",
            Self::Replaced => "replaced",
        }
    }
}

impl fmt::Display for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.server.host.escape_debug();
        write!(f, r"\\{host}\{}{}", self.share, self.path)
    }
}
