//! The record of a volume. The file is a stranger's: bounded, strict, and believed only about the handle's folder.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use smb::{FileId, LONGEST_FILE, Name, SharePath};

use super::names::{self, Folder, path_text, text};
use super::{Create, Created, Take};

/// Of a folder that was made empty, and of a clone, which no older controller must take for one.
const VERSIONS: [u32; 2] = [1, 2];
/// Of a snapshot.
const SNAPSHOT: u32 = 3;

/// What `.wincsi` knows of a volume or snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    version: u32,
    pub(super) name: String,
    /// Below the base folder, with `/` between its parts; of a snapshot its source's.
    folder: String,
    pub(super) size: u64,
    parameters: BTreeMap<String, String>,
    /// The handle of the volume, or the id of the snapshot, that it is a copy of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) source: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) taken: Option<Box<Taken>>,
    pub(super) state: State,
}

/// What a snapshot has more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Taken {
    /// When its copy began, in units of 100 ns since 1601 by the server's clock.
    pub(super) begun: u64,
    /// Once it is written.
    pub(super) manifest: Option<Manifest>,
}

/// The file beside a snapshot's folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    /// In bytes.
    pub(super) length: u64,
    pub(super) sha256: String,
    /// How many files changed while they were copied.
    pub(super) changed: u64,
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
    #[error("it is no record (line {line}, column {column})")]
    Malformed { line: usize, column: usize },
    #[error("it has version {0}, which is not known")]
    Version(u32),
    #[error("it is of another name")]
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
            taken: None,
            state: State::Creating,
        }
    }

    /// Of a snapshot that is to be taken.
    pub(super) fn of_snapshot(take: &Take) -> Self {
        Self {
            version: SNAPSHOT,
            source: Some(take.source_id.clone()),
            taken: Some(Box::default()),
            ..Self::new(&take.snapshot.name, &take.folder)
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

    /// Whether it is of a copy whose folder may be in its place only if it has the record's id.
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

    /// The record of a volume with this key.
    pub(super) fn parse(bytes: &[u8], key: &str) -> Result<Self, RecordError> {
        Self::parse_any(bytes, key, &VERSIONS)
    }

    pub(super) fn parse_snapshot(bytes: &[u8], key: &str) -> Result<Self, RecordError> {
        Self::parse_any(bytes, key, &[SNAPSHOT])
    }

    fn parse_any(bytes: &[u8], key: &str, versions: &[u32]) -> Result<Self, RecordError> {
        // No word of the file: it may be anything.
        let malformed = |error: serde_json::Error| RecordError::Malformed {
            line: error.line(),
            column: error.column(),
        };
        let Versioned { version } = serde_json::from_slice(bytes).map_err(malformed)?;
        if !versions.contains(&version) {
            return Err(RecordError::Version(version));
        }
        let record: Self = serde_json::from_slice(bytes).map_err(malformed)?;
        if record.taken.is_some() != (version == SNAPSHOT) {
            return Err(RecordError::Version(version));
        }
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

    const SNAPSHOT: &[u8] =
        br#"{"version":3,"name":"pvc-1","folder":"ns/data","size":7,"parameters":{},
        "source":"a/b#c##","taken":{"begun":9,"manifest":{"length":8,"sha256":"0f","changed":1}},
        "state":{"ready":{"id":5,"origin":"made","above":[1,2]}}}"#;

    proptest! {
        #[test]
        fn a_strangers_file_is_a_record_or_none(
            noise in vec(any::<u8>(), 0..200),
            changes in vec((0..GOOD.len(), any::<u8>()), 0..4),
            cut in 0..GOOD.len(),
        ) {
            let parsers = [Record::parse, Record::parse_snapshot];
            for (number, good) in [GOOD, SNAPSHOT].into_iter().enumerate() {
                let (parse, other) = (parsers[number], parsers[1 - number]);
                prop_assert!(other(good, "pvc-1").is_err());
                let mut changed = good.to_vec();
                changes.iter().for_each(|(at, byte)| changed[*at] = *byte);
                for bytes in [&noise, &changed, &changed[..cut]] {
                    let Ok(record) = parse(bytes, "pvc-1") else {
                        prop_assert!(bytes != good);
                        continue;
                    };
                    prop_assert!(record.name == "pvc-1" && record.folder().is_ok());
                    let again = record.encode().and_then(|it| parse(&it, "pvc-1"));
                    prop_assert_eq!(again, Ok(record));
                }
            }
        }
    }
}
