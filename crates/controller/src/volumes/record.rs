//! The record of a volume. The file is a stranger's: bounded, strict, and believed only about the handle's folder.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use smb::{FileId, LONGEST_FILE, Name, SharePath};

use super::names::{self, Folder, path_text, text};
use super::{Create, Created};

const VERSION: u32 = 1;

/// What `.wincsi` knows of a volume.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    version: u32,
    pub(super) name: String,
    /// Below the base folder, with `/` between its parts.
    folder: String,
    size: u64,
    parameters: BTreeMap<String, String>,
    pub(super) state: State,
}

/// How far a volume is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum State {
    /// The folder may not be there yet.
    Creating,
    Ready(Held),
    /// It is to be moved away, or was.
    Deleting(Held),
    /// A delete left the folder: a repeated one must not take it for one without a record.
    Left,
}

/// The folder that a volume has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Held {
    pub(super) id: u64,
    pub(super) origin: Created,
    /// The ids of the folders above it, from the share's own down.
    pub(super) above: Vec<u64>,
}

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
    #[error("it would be longer than {LONGEST_FILE} bytes")]
    TooLong,
}

/// Only the version, which decides whether the rest can be read.
#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

impl Record {
    /// Of a folder that is to be made, or to be deleted without having a record.
    pub(super) fn new(name: &Name, folder: &Folder) -> Self {
        Self {
            version: VERSION,
            name: text(name),
            folder: path_text(folder.path()),
            size: 0,
            parameters: BTreeMap::new(),
            state: State::Creating,
        }
    }

    pub(super) fn intent(volume: &Create) -> Self {
        Self {
            size: volume.size,
            parameters: volume.parameters.clone(),
            ..Self::new(&volume.name, &volume.folder)
        }
    }

    pub(super) fn with(self, state: State) -> Self {
        Self { state, ..self }
    }

    /// The record of a volume that goes. Without parameters it is never too long.
    pub(super) fn without_parameters(self) -> Self {
        let parameters = BTreeMap::new();
        Self { parameters, ..self }
    }

    pub(super) fn is_of(&self, folder: &Folder) -> bool {
        self.folder == path_text(folder.path())
    }

    pub(super) fn folder(&self) -> Result<Folder, RecordError> {
        let path = SharePath::new(&self.folder).map_err(|_| RecordError::Folder)?;
        Folder::new(path).map_err(|_| RecordError::Folder)
    }

    /// What a repeated create asks for differently.
    pub(super) fn difference(&self, volume: &Create) -> Option<String> {
        let (mine, others) = (&self.parameters, &volume.parameters);
        if !self.is_of(&volume.folder) {
            Some(format!("the folder {}", self.folder.escape_debug()))
        } else if self.size != volume.size {
            Some(format!("the size {}", self.size))
        } else {
            let mut keys = mine.keys().chain(others.keys());
            let key = keys.find(|key| mine.get(*key) != others.get(*key));
            key.map(|key| format!("another parameter {}", key.escape_debug()))
        }
    }

    pub(super) fn encode(&self) -> Result<Vec<u8>, RecordError> {
        let bytes = serde_json::to_vec(self).map_err(|_| RecordError::TooLong)?;
        match u64::try_from(bytes.len()) {
            Ok(length) if length <= LONGEST_FILE => Ok(bytes),
            _ => Err(RecordError::TooLong),
        }
    }

    pub(super) fn parse(bytes: &[u8], key: &str) -> Result<Self, RecordError> {
        // No word of the file: it may be anything.
        let malformed = |error: serde_json::Error| RecordError::Malformed {
            line: error.line(),
            column: error.column(),
        };
        let Versioned { version } = serde_json::from_slice(bytes).map_err(malformed)?;
        if version != VERSION {
            return Err(RecordError::Version(version));
        }
        let record: Self = serde_json::from_slice(bytes).map_err(malformed)?;
        let name = Name::new(&record.name).map_err(|_| RecordError::OtherName)?;
        if names::key(&name) != key {
            return Err(RecordError::OtherName);
        }
        record.folder()?;
        Ok(record)
    }
}

impl State {
    pub(super) fn held(&self) -> Option<&Held> {
        match self {
            Self::Creating | Self::Left => None,
            Self::Ready(held) | Self::Deleting(held) => Some(held),
        }
    }
}

impl Held {
    pub(super) fn new(id: FileId, origin: Created, above: &[FileId]) -> Self {
        let above = above.iter().map(|id| id.0).collect();
        Self {
            id: id.0,
            origin,
            above,
        }
    }
}
