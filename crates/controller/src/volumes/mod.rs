//! Volumes as folders of a base folder on a share, each with a record in the base's hidden folder `.wincsi`.

mod error;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use smb::{Name, Server, Share, SharePath};

pub use self::error::{Class, Error};

/// All that a process knows of volumes: calls that run, what it left on shares, records that it read.
pub struct Volumes {}

/// Opens connections to the share of one call, as its user.
pub trait Connector: Send + Sync + 'static {
    /// A connection that works: a new one, or one that came back and still answers.
    ///
    /// # Errors
    /// Those of [`RemoteShare::open`](smb::RemoteShare::open).
    fn open(&self, by: Instant) -> smb::Result<Box<dyn Share + Send>>;

    /// Takes a connection back that holds no lock and had no failure that ends it, for the next call.
    fn give_back(&self, connection: Box<dyn Share + Send>) {
        drop(connection);
    }
}

/// A base folder: volumes are folders in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    pub server: Server,
    pub share: Name,
    /// The root for a share's own folder.
    pub path: SharePath,
}

/// A volume's folder, by its path below the base folder: never the base folder itself, with no part `.wincsi` and no first
/// part that begins `archived-`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder(SharePath);

/// Why a path is no volume's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FolderError {
    #[error("it is the base folder itself")]
    Empty,
    #[error("it has a part .wincsi, which holds the records of volumes")]
    Records,
    #[error("it begins with archived-, as the folders of archived volumes do")]
    Archive,
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
    pub fn new(_on_left: OnLeft) -> Arc<Self> {
        todo!()
    }

    /// Makes a volume's folder, or finds that it is made.
    ///
    /// # Errors
    /// Any; `Exists` is the one after which a repetition can never succeed.
    pub fn create(
        &self,
        _connector: &dyn Connector,
        _volume: &Create,
        _by: Instant,
    ) -> Result<Created, CreateError> {
        todo!()
    }

    /// Deletes a volume's folder. If that takes longer, it goes on.
    ///
    /// # Errors
    /// Any but `Exists` and `BaseInVolume`.
    pub fn delete(
        self: &Arc<Self>,
        _connector: Arc<dyn Connector>,
        _volume: Delete,
        _by: Instant,
    ) -> Result<Deleted, Error> {
        todo!()
    }

    /// Whether this process may have left something of a volume on a share: then failures that a caller finds itself are
    /// not final either.
    #[must_use]
    pub fn leftover(&self, _name: &Name) -> Leftover {
        todo!()
    }
}

/// Whether a volume's folder is there, for callers who only look.
///
/// # Errors
/// Those of the share; `Blocked` for a file or link.
pub fn exists(
    _share: &mut dyn Share,
    _base: &Base,
    _folder: &Folder,
    _by: Instant,
) -> Result<bool, Error> {
    todo!()
}

impl Folder {
    /// # Errors
    /// If no volume may have this folder.
    pub fn new(_path: SharePath) -> Result<Self, FolderError> {
        todo!()
    }

    #[must_use]
    pub fn path(&self) -> &SharePath {
        &self.0
    }
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
