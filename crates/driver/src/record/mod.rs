//! Records: what this driver did of each volume, kept across restarts of the driver and of the machine.
//!
//! A record is written before the act that it tells of, and goes after everything else of the volume has gone. So a
//! driver that died knows what may be left, and an unstage without any context finds its disk.

pub(crate) mod as_text;
mod file_system;
mod lock;
mod store;

use std::{fmt, mem};

use program::hidden;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;
use wincsi::{Cause, Error};

pub(crate) use self::file_system::FILE_SYSTEM;
pub(crate) use self::store::failed;
pub use self::store::{Peeked, Slot, Store, StoreError};
use crate::path::KubeletPath;

/// A volume's id in CSI, as the controller or the author of a PV chose it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct VolumeHandle(String);

/// The namespace of the names of record files: a random UUID, which stays.
const RECORDS: Uuid = Uuid::from_u128(0x5b0e_8c1e_3f0a_4c58_9a51_2d6c_b7e4_91f3);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandleError {
    #[error("it is empty")]
    Empty,
    /// It is longer than any that a controller makes.
    #[error("it has {0} bytes, and may have {LONGEST} at most", LONGEST = VolumeHandle::LONGEST)]
    TooLong(usize),
}

impl VolumeHandle {
    /// The most bytes of a handle. CSI's limit of 128 bytes (spec.md, "Size Limits") is less than what drivers use: the
    /// resource id of an Azure disk has up to 272 characters, as its resource group has 90 and its name 80
    /// (<https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules>).
    pub const LONGEST: usize = 1024;

    /// # Errors
    /// The text is empty or too long.
    pub fn parse(text: &str) -> Result<Self, HandleError> {
        match text.len() {
            0 => Err(HandleError::Empty),
            length if length > Self::LONGEST => Err(HandleError::TooLong(length)),
            _ => {
                // csi-driver-smb's have server, share and subDir.
                hidden::hide(text);
                Ok(Self(text.to_owned()))
            }
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name of the volume's record: handles have characters that file names have not, and differ in case.
    pub(crate) fn file_name(&self) -> String {
        format!("{}.json", Uuid::new_v5(&RECORDS, self.0.as_bytes()))
    }
}

impl TryFrom<String> for VolumeHandle {
    type Error = HandleError;

    fn try_from(text: String) -> Result<Self, HandleError> {
        Self::parse(&text)
    }
}

impl fmt::Display for VolumeHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// What this driver did of a volume: as a volume of any kind, or with what its kind has of it.
///
/// Fields that this version does not know are kept, and written back. What an older version must not overlook raises the
/// version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record<C = ()> {
    version: u32,
    pub kind: String,
    pub volume: VolumeHandle,
    pub state: State,
    /// Where kubelet wants it staged.
    #[serde(with = "as_text")]
    pub staging: KubeletPath,
    /// The boot in which it was staged last, where the node reports one.
    pub boot: Option<String>,
    pub targets: Targets,
    pub lifetime: Lifetime,
    /// Where it is published, or was about to be.
    #[serde(with = "as_text::list")]
    pub published: Vec<KubeletPath>,
    #[serde(skip)]
    pub content: C,
    /// Of the kind, and of later versions.
    #[serde(flatten)]
    raw_fields: Map<String, Value>,
}

/// What a kind has of its volumes in their records. An option that is none is written as null.
pub trait Content: Serialize + DeserializeOwned {
    /// The kind's name in records.
    const KIND: &'static str;
}

/// A kind of records that this process reads.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    kind: &'static str,
    check: fn(&Record) -> Result<(), TextError>,
}

/// How far a volume is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// A stage began and did not end.
    Staging,
    Staged,
    /// An unstage began and did not end.
    Unstaging,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lifetime {
    /// As long as its PV: kubelet stages it.
    Persistent,
    /// As long as its pod: kubelet publishes it and nothing else.
    Inline,
}

/// How many targets a volume may be published at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Targets {
    /// One (`SINGLE_NODE_SINGLE_WRITER`).
    One,
    Many,
}

/// Who may write to a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    ReadWrite,
    /// Pods read; a disk comes online read-only and is never formatted, grown or labelled.
    ReadOnly,
    /// The same, of a volume that other nodes have too (`MULTI_NODE_READER_ONLY`).
    SharedReadOnly,
}

/// The version that is written. Those before it were written by builds that were not released, and are not read.
const VERSION: u32 = 3;

/// Why a text is no record that this version reads.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    /// It is no JSON of this form, or a field has a value that it cannot have.
    #[error("malformed: {0}")]
    Malformed(#[from] serde_json::Error),
    #[error("it is of volume {volume}, whose record has another name")]
    OtherVolume { volume: VolumeHandle },
    #[error("of kind {0:?}, which this wincsi does not have")]
    Kind(String),
    #[error("its kind has a field {0:?}, as each record has")]
    Name(String),
    #[error("of version {0}; this wincsi reads version {VERSION}")]
    Version(u32),
}

#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

impl Form {
    pub const fn of<C: Content>() -> Self {
        Self {
            kind: C::KIND,
            check: |record| record.read::<C>().map(drop),
        }
    }
}

impl Record {
    /// Reads a record of one of these kinds.
    ///
    /// # Errors
    /// It is none of this version.
    pub fn from_text(text: &str, forms: &[Form]) -> Result<Self, TextError> {
        let Versioned { version } = serde_json::from_str(text)?;
        if version != VERSION {
            return Err(TextError::Version(version));
        }
        let record: Self = serde_json::from_str(text)?;
        match forms.iter().find(|form| form.kind == record.kind) {
            Some(form) => (form.check)(&record).map(|()| record),
            None => Err(TextError::Kind(record.kind)),
        }
    }

    /// The text of the record.
    ///
    /// # Errors
    /// It has none in JSON.
    pub fn to_text(&self) -> Result<String, TextError> {
        Ok(serde_json::to_string(self)?)
    }

    /// The record, if it is of this kind.
    pub fn of<C: Content>(self) -> Option<Record<C>> {
        match self.kind == C::KIND {
            true => self.read().ok().map(|content| self.with(content)),
            false => None,
        }
    }

    /// The record, which has to be of this kind.
    pub fn of_kind<C: Content>(self) -> Result<Record<C>, Error> {
        let volume = self.volume.clone();
        self.of().ok_or_else(|| {
            let cause = Cause::Malformed(format!("it is no {}", C::KIND));
            Error::new("read the record of", volume, cause)
        })
    }

    fn read<C: Content>(&self) -> Result<C, TextError> {
        let fields = Value::Object(self.raw_fields.clone());
        Ok(serde_json::from_value(fields)?)
    }
}

impl<C: Content> Record<C> {
    /// The record of a volume whose stage begins.
    pub fn new(volume: VolumeHandle, staging: KubeletPath, content: C) -> Self {
        Self {
            version: VERSION,
            kind: C::KIND.to_owned(),
            volume,
            state: State::Staging,
            staging,
            boot: None,
            targets: Targets::Many,
            lifetime: Lifetime::Persistent,
            published: Vec::new(),
            content,
            raw_fields: Map::new(),
        }
    }

    /// The record, as one of any kind.
    ///
    /// # Errors
    /// The content has no text in JSON.
    pub fn into_any(mut self) -> Result<Record, TextError> {
        let mut raw_fields = mem::take(&mut self.raw_fields);
        let envelope = serde_json::to_value(&self)?;
        if let Value::Object(fields) = serde_json::to_value(&self.content)? {
            if let Some(name) = fields.keys().find(|name| envelope.get(name).is_some()) {
                return Err(TextError::Name(name.clone()));
            }
            keep_unknown(&mut raw_fields, fields);
        }
        self.raw_fields = raw_fields;
        Ok(self.with(()))
    }
}

/// Replaces the fields that this version knows, also within a field.
fn keep_unknown(before: &mut Map<String, Value>, known: Map<String, Value>) {
    for (name, value) in known {
        match (before.get_mut(&name), value) {
            (Some(Value::Object(before)), Value::Object(known)) => keep_unknown(before, known),
            (_, value) => drop(before.insert(name, value)),
        }
    }
}

impl<C> Record<C> {
    /// Whether the volume was staged in this boot, as far as both boots are known.
    pub(crate) fn is_of_boot(&self, boot: Option<&str>) -> bool {
        let boots = self.boot.as_deref().zip(boot);
        boots.is_none_or(|(of_record, now)| of_record == now)
    }

    /// Whether the volume belongs at a path: it is staged or published there.
    pub fn is_at(&self, path: &KubeletPath) -> bool {
        self.staging == *path || self.published.contains(path)
    }

    fn with<T>(self, content: T) -> Record<T> {
        Record {
            version: self.version,
            kind: self.kind,
            volume: self.volume,
            state: self.state,
            staging: self.staging,
            boot: self.boot,
            targets: self.targets,
            lifetime: self.lifetime,
            published: self.published,
            content,
            raw_fields: self.raw_fields,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_may_be_as_long_as_azures_and_has_a_limit() {
        let (group, disk) = ("g".repeat(90), "d".repeat(80));
        let azure = format!(
            "/subscriptions/{}/resourceGroups/{group}/providers/Microsoft.Compute/disks/{disk}",
            Uuid::nil()
        );
        assert_eq!(azure.len(), 272);
        VolumeHandle::parse(&azure).unwrap();
        let handle = |length| VolumeHandle::parse(&"x".repeat(length));
        assert!(handle(VolumeHandle::LONGEST).is_ok());
        assert_eq!(handle(0), Err(HandleError::Empty));
        assert_eq!(handle(1025), Err(HandleError::TooLong(1025)));
    }

    #[test]
    fn a_record_of_a_later_version_is_named_by_its_version_whatever_else_is_in_it() {
        for other in [1, 2, 4] {
            let text = format!(r#"{{"version": {other}, "volumes": []}}"#);
            let error = Record::from_text(&text, &[]).unwrap_err();
            assert!(
                matches!(error, TextError::Version(found) if found == other),
                "{error}"
            );
        }
    }
}
