//! The record of a volume. The file is a stranger's: bounded, strict, and believed only about the handle's folder.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use smb::{FileId, LONGEST_FILE, Name, SharePath};

use super::names::{self, Folder, path_text, text};
use super::{Create, Created};

/// Of a folder that was made empty, and of a clone, which no older controller must take for one.
const VERSIONS: [u32; 2] = [1, 2];

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
    /// The handle of the volume that it is a clone of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    pub(super) state: State,
}

/// How far a volume is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum State {
    /// The folder may not be there yet.
    Creating,
    /// The folder is the copy that is being made, and is in its place perhaps, not before it is whole.
    Cloning(Held),
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
    #[error("it has version {0}, and only those up to {known} are known", known = VERSIONS[1])]
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
            version: VERSIONS[0],
            name: text(name),
            folder: path_text(folder.path()),
            size: 0,
            parameters: BTreeMap::new(),
            source: None,
            state: State::Creating,
        }
    }

    pub(super) fn intent(volume: &Create) -> Self {
        let source = volume.source.as_ref().map(|source| source.id.clone());
        Self {
            version: VERSIONS[usize::from(source.is_some())],
            size: volume.size,
            parameters: volume.parameters.clone(),
            source,
            ..Self::new(&volume.name, &volume.folder)
        }
    }

    /// Whether it is of a clone whose folder may be in its place only if it has the record's id.
    pub(super) fn is_of_half_clone(&self) -> bool {
        let is_begun = matches!(self.state, State::Creating | State::Cloning(_));
        is_begun && self.source.is_some()
    }

    pub(super) fn with(self, state: State) -> Self {
        Self { state, ..self }
    }

    /// The record of a volume that goes. Without parameters it is never too long.
    pub(super) fn without_parameters(self) -> Self {
        Self {
            version: VERSIONS[0],
            parameters: BTreeMap::new(),
            source: None,
            ..self
        }
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
        } else if self.source.as_ref() != volume.source.as_ref().map(|source| &source.id) {
            let source = self.source.as_deref().unwrap_or("none");
            Some(format!("the source {}", source.escape_debug()))
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
        if !VERSIONS.contains(&version) {
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
            Self::Cloning(held) | Self::Ready(held) | Self::Deleting(held) => Some(held),
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

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::Record;

    const GOOD: &[u8] = br#"{"version":1,"name":"pvc-1","folder":"ns/data","size":7,"parameters":
        {"source":"//a/b"},"state":{"ready":{"id":5,"origin":"made","above":[1,2]}}}"#;

    proptest! {
        #[test]
        fn a_strangers_file_is_a_record_or_none(
            noise in vec(any::<u8>(), 0..200),
            changes in vec((0..GOOD.len(), any::<u8>()), 0..4),
            cut in 0..GOOD.len(),
        ) {
            let mut changed = GOOD.to_vec();
            changes.iter().for_each(|(at, byte)| changed[*at] = *byte);
            for bytes in [&noise, &changed, &changed[..cut]] {
                let Ok(record) = Record::parse(bytes, "pvc-1") else {
                    prop_assert!(bytes != GOOD);
                    continue;
                };
                prop_assert!(record.name == "pvc-1" && record.folder().is_ok());
                let again = record.encode().and_then(|it| Record::parse(&it, "pvc-1"));
                prop_assert_eq!(again, Ok(record));
            }
        }
    }
}
