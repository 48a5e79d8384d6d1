//! A record as JSON.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use wincsi::WinPath;
use wincsi::disks::DiskQuery;

use super::{
    Access, Choice, Disk, FileSystem, Format, HandleError, Record, State, Targets, VolumeHandle,
    Wanted, What,
};

/// The version that is written. One that is not known is left alone.
const VERSION: u32 = 1;

/// Why a text is no record that this version reads.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    /// It is no JSON of this form.
    #[error("malformed: {0}")]
    Malformed(#[from] serde_json::Error),
    /// A field has a value that it cannot have.
    #[error("{field} is {value:?}: {reason}")]
    Value {
        /// The field.
        field: &'static str,
        /// Its value.
        value: String,
        /// What is wrong with it.
        reason: String,
    },
    /// It is a record of another volume than its file's name says.
    #[error("it is of volume {volume}, whose record has another name")]
    OtherVolume {
        /// The volume.
        volume: VolumeHandle,
    },
    /// A later version wrote it.
    #[error("of version {0}; this wincsi reads version {VERSION}")]
    Version(u32),
}

#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Text {
    version: u32,
    volume: String,
    state: StateText,
    staging: String,
    disk: String,
    file_system: FileSystemText,
    #[serde(skip_serializing_if = "Option::is_none")]
    allocation_unit: Option<u32>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    label: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    root_acl: Option<String>,
    access: AccessText,
    targets: TargetsText,
    brought_online: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    mounted: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    boot: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disk_bytes: Option<u64>,
    published: Vec<String>,
}

/// An enum whose variants are written in kebab-case, and its conversions.
macro_rules! written {
    ($text:ident $of:ident $($variant:ident)+) => {
        #[derive(Clone, Copy, Deserialize, Serialize)]
        #[serde(rename_all = "kebab-case")]
        enum $text {
            $($variant),+
        }

        impl From<$of> for $text {
            fn from(of: $of) -> Self {
                match of {
                    $($of::$variant => Self::$variant),+
                }
            }
        }

        impl From<$text> for $of {
            fn from(text: $text) -> Self {
                match text {
                    $($text::$variant => Self::$variant),+
                }
            }
        }
    };
}

written!(StateText State Staging Staged Unstaging);
written!(FileSystemText FileSystem Ntfs Refs);
written!(AccessText Access ReadWrite ReadOnly SharedReadOnly);
written!(TargetsText Targets One Many);

impl Record {
    /// The record as one line of JSON.
    pub(super) fn to_text(&self) -> Result<String, TextError> {
        let What::Disk(disk) = &self.what;
        let choice = disk.wanted.format.choice().clone();
        let text = Text {
            version: VERSION,
            volume: self.volume.as_str().to_owned(),
            state: self.state.into(),
            staging: self.staging.to_string(),
            disk: disk.query.to_record(),
            file_system: choice.file_system.into(),
            allocation_unit: choice.allocation_unit,
            label: choice.label,
            root_acl: choice.root_acl,
            access: disk.wanted.access.into(),
            targets: disk.wanted.targets.into(),
            brought_online: disk.brought_online,
            mounted: disk.mounted.map(|id| id.to_string()),
            size: disk.size,
            boot: self.boot.clone(),
            disk_bytes: disk.disk_bytes,
            published: self.published.iter().map(WinPath::to_string).collect(),
        };
        Ok(serde_json::to_string(&text)?)
    }

    pub(super) fn from_text(text: &str) -> Result<Self, TextError> {
        let Versioned { version } = serde_json::from_str(text)?;
        if version != VERSION {
            return Err(TextError::Version(version));
        }
        let text: Text = serde_json::from_str(text)?;
        let volume = VolumeHandle::parse(&text.volume);
        let refused = |error: HandleError| value("volume", &text.volume, &error.to_string());
        let published = text.published.iter().map(|path| parsed("published", path));
        Ok(Self {
            volume: volume.map_err(refused)?,
            state: text.state.into(),
            staging: parsed("staging", &text.staging)?,
            boot: text.boot,
            published: published.collect::<Result<_, _>>()?,
            what: What::Disk(Disk {
                query: DiskQuery::from_record(&text.disk)
                    .map_err(|error| value("disk", &text.disk, &error.to_string()))?,
                wanted: Wanted {
                    format: format(Choice {
                        file_system: text.file_system.into(),
                        allocation_unit: text.allocation_unit,
                        label: text.label,
                        root_acl: text.root_acl,
                    })?,
                    access: text.access.into(),
                    targets: text.targets.into(),
                },
                brought_online: text.brought_online,
                mounted: match text.mounted {
                    Some(id) => Some(parsed("mounted", &id)?),
                    None => None,
                },
                size: text.size,
                disk_bytes: text.disk_bytes,
            }),
        })
    }
}

fn format(choice: Choice) -> Result<Format, TextError> {
    let written = format!("{choice:?}");
    Format::of(choice).map_err(|error| value("format", &written, &error.to_string()))
}

fn parsed<T: FromStr<Err: ToString>>(field: &'static str, text: &str) -> Result<T, TextError> {
    text.parse()
        .map_err(|error: T::Err| value(field, text, &error.to_string()))
}

fn value(field: &'static str, value: &str, reason: &str) -> TextError {
    TextError::Value {
        field,
        value: value.to_owned(),
        reason: reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        Record {
            volume: VolumeHandle::parse(r"vol/ä#1").unwrap(),
            state: State::Staged,
            staging: r"C:\var\lib\kubelet\plugins\x\globalmount".parse().unwrap(),
            boot: Some(String::from("boot 1")),
            published: vec![r"C:\pods\1\mount".parse().unwrap()],
            what: What::Disk(Disk {
                query: DiskQuery::from_record("v1 page83=600224801234567890abcdef00000001")
                    .unwrap(),
                wanted: Wanted {
                    format: Format::of(Choice {
                        file_system: FileSystem::Refs,
                        allocation_unit: Some(65_536),
                        label: String::from("data"),
                        root_acl: Some(String::from("D:(A;OICI;FA;;;SY)")),
                    })
                    .unwrap(),
                    access: Access::SharedReadOnly,
                    targets: Targets::One,
                },
                brought_online: true,
                mounted: Some(
                    r"\\?\Volume{6a5cbf4c-0bd5-4d1a-8c6b-64a0ef0f4b9e}\"
                        .parse()
                        .unwrap(),
                ),
                size: Some(1 << 30),
                disk_bytes: Some(2 << 30),
            }),
        }
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let text = record().to_text().unwrap();
        assert_eq!(Record::from_text(&text).unwrap(), record());
    }

    #[test]
    fn a_record_of_a_later_version_is_named_by_its_version_whatever_else_is_in_it() {
        let error = Record::from_text(r#"{"version": 2, "volumes": []}"#).unwrap_err();
        assert!(matches!(error, TextError::Version(2)), "{error}");
    }

    #[test]
    fn a_field_that_cannot_be_is_named() {
        let text = record().to_text().unwrap();
        for (from, to) in [("page83=", "page84="), (r"C:\\var", r"C:\\va?r")] {
            let wrong = text.replace(from, to);
            assert_ne!(wrong, text);
            let error = Record::from_text(&wrong).unwrap_err();
            assert!(matches!(error, TextError::Value { .. }), "{error}");
        }
    }
}
