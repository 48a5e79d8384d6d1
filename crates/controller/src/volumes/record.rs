//! The record of a volume. The file is a stranger's: bounded, strict, and believed only about the handle's folder.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use smb::{FileId, Name, SharePath};

use super::names::{Folder, Key, path_text, text};
use super::{Create, Created};

/// How long a record may be, in bytes.
pub(super) const LONGEST: u64 = 64 * 1024;

const VERSION: u32 = 1;

/// What `.wincsi` knows of a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) name: Name,
    pub(super) folder: Folder,
    pub(super) size: u64,
    pub(super) parameters: BTreeMap<String, String>,
    pub(super) state: State,
}

/// How far a volume is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum State {
    /// The folder may not be there yet.
    Creating,
    /// It is there.
    Ready(Held),
    /// It is to be moved away, or was.
    Deleting(Held),
}

/// The folder that a volume has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Held {
    pub(super) id: u64,
    pub(super) origin: Origin,
    /// The ids of the folders above it, from the share's own down.
    pub(super) above: Vec<u64>,
}

/// How a volume came by its folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Origin {
    Made,
    Found,
}

/// Why a file is no record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum RecordError {
    #[error("it is no record of a volume (line {line}, column {column})")]
    Malformed { line: usize, column: usize },
    #[error("it has version {0}, and only {VERSION} is known")]
    Version(u32),
    #[error("it is of a volume with another name")]
    OtherName,
    #[error("its folder cannot be a volume's")]
    Folder,
    #[error("it would be longer than {LONGEST} bytes")]
    TooLong,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: u32,
    name: String,
    folder: String,
    size: u64,
    parameters: BTreeMap<String, String>,
    state: State,
}

/// Only the version, which decides whether the rest can be read.
#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

impl Record {
    /// The intent to make a volume.
    pub(super) fn intent(volume: &Create) -> Self {
        Self {
            name: volume.name.clone(),
            folder: volume.folder.clone(),
            size: volume.size,
            parameters: volume.parameters.clone(),
            state: State::Creating,
        }
    }

    pub(super) fn with(&self, state: State) -> Self {
        Self {
            state,
            ..self.clone()
        }
    }

    /// Of a folder that has none, to delete it.
    pub(super) fn unrecorded(name: Name, folder: Folder) -> Self {
        Self {
            name,
            folder,
            size: 0,
            parameters: BTreeMap::new(),
            state: State::Creating,
        }
    }

    /// What a repeated create asks for differently.
    pub(super) fn difference(&self, volume: &Create) -> Option<String> {
        if self.folder != volume.folder {
            Some(format!("the folder {}", path_text(self.folder.path())))
        } else if self.size != volume.size {
            Some(format!("the size {}", self.size))
        } else if self.parameters != volume.parameters {
            let differs = |key: &&String| self.parameters.get(*key) != volume.parameters.get(*key);
            let keys = self.parameters.keys().chain(volume.parameters.keys());
            let key = keys.into_iter().find(differs);
            key.map(|key| format!("another parameter {}", key.escape_debug()))
        } else {
            None
        }
    }

    pub(super) fn encode(&self) -> Result<Vec<u8>, RecordError> {
        let file = File {
            version: VERSION,
            name: text(&self.name),
            folder: path_text(self.folder.path()),
            size: self.size,
            parameters: self.parameters.clone(),
            state: self.state.clone(),
        };
        let bytes = serde_json::to_vec(&file).map_err(|_| RecordError::TooLong)?;
        match u64::try_from(bytes.len()) {
            Ok(length) if length <= LONGEST => Ok(bytes),
            _ => Err(RecordError::TooLong),
        }
    }

    /// Reads the record of the volume with this key.
    pub(super) fn parse(bytes: &[u8], key: &str) -> Result<Self, RecordError> {
        // No word of the file: it may be anything.
        let malformed = |error: serde_json::Error| RecordError::Malformed {
            line: error.line(),
            column: error.column(),
        };
        let version = serde_json::from_slice(bytes).map(|v: Versioned| v.version);
        match version.map_err(malformed)? {
            VERSION => {}
            other => return Err(RecordError::Version(other)),
        }
        let file: File = serde_json::from_slice(bytes).map_err(malformed)?;
        let name = Name::new(&file.name).map_err(|_| RecordError::OtherName)?;
        if Key::of(&name).text() != key {
            return Err(RecordError::OtherName);
        }
        let folder = SharePath::new(&file.folder).map_err(|_| RecordError::Folder)?;
        Ok(Self {
            name,
            folder: Folder::new(folder).map_err(|_| RecordError::Folder)?,
            size: file.size,
            parameters: file.parameters,
            state: file.state,
        })
    }
}

impl State {
    pub(super) fn held(&self) -> Option<&Held> {
        match self {
            Self::Creating => None,
            Self::Ready(held) | Self::Deleting(held) => Some(held),
        }
    }
}

impl Held {
    pub(super) fn new(id: FileId, origin: Origin, above: &[FileId]) -> Self {
        let above = above.iter().map(|id| id.0).collect();
        Self {
            id: id.0,
            origin,
            above,
        }
    }
}

impl From<Origin> for Created {
    fn from(origin: Origin) -> Self {
        match origin {
            Origin::Made => Self::Made,
            Origin::Found => Self::Found,
        }
    }
}
