//! A record as JSON.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use wincsi::WinPath;
use wincsi::disks::DiskQuery;
use wincsi::smb::RemotePath;

use super::{
    Access, ByKind, Choice, Disk, FileSystem, Format, Lifetime, Record, SecretHash, Share,
    ShareOptions, State, Targets, VolumeHandle, Wanted, What,
};

/// The versions that are written, of disks and of shares. One that is not known is left alone.
const DISKS: u32 = 1;
const SHARES: u32 = 2;

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
    #[error("of version {0}; this wincsi reads versions {DISKS} and {SHARES}")]
    Version(u32),
}

#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

/// A record of a disk, of version 1: as it was when there were no other volumes.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct DiskText {
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

/// A record of a share, of version 2.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ShareText {
    version: u32,
    volume: String,
    state: StateText,
    staging: String,
    remote: String,
    /// What is mapped, if it is a folder and not the share.
    #[serde(skip_serializing_if = "Option::is_none")]
    mapped: Option<String>,
    server: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<SecretHash>,
    options: ShareOptions,
    targets: TargetsText,
    made_mapping: bool,
    taken_over: bool,
    lifetime: LifetimeText,
    #[serde(skip_serializing_if = "Option::is_none")]
    boot: Option<String>,
    published: Vec<String>,
}

/// An enum whose variants are written in kebab-case, and its conversions.
macro_rules! kebab {
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

kebab!(StateText State Staging Staged Unstaging);
kebab!(FileSystemText FileSystem Ntfs Refs);
kebab!(AccessText Access ReadWrite ReadOnly SharedReadOnly);
kebab!(TargetsText Targets One Many);
kebab!(LifetimeText Lifetime Persistent Inline);

impl Record {
    /// The record as one line of JSON.
    pub(super) fn to_text(&self) -> Result<String, TextError> {
        Ok(match self.clone().by_kind() {
            ByKind::Disk(record) => serde_json::to_string(&DiskText::of(&record))?,
            ByKind::Share(record) => serde_json::to_string(&ShareText::of(record))?,
        })
    }

    pub(super) fn from_text(text: &str) -> Result<Self, TextError> {
        let Versioned { version } = serde_json::from_str(text)?;
        match version {
            DISKS => serde_json::from_str::<DiskText>(text)?.read(),
            SHARES => serde_json::from_str::<ShareText>(text)?.read(),
            later => Err(TextError::Version(later)),
        }
    }
}

impl DiskText {
    fn of(record: &Record<Disk>) -> Self {
        let disk = &record.what;
        let choice = disk.wanted.format.choice().clone();
        Self {
            version: DISKS,
            volume: record.volume.as_str().to_owned(),
            state: record.state.into(),
            staging: record.staging.to_string(),
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
            boot: record.boot.clone(),
            disk_bytes: disk.disk_bytes,
            published: written(&record.published),
        }
    }

    fn read(self) -> Result<Record, TextError> {
        let disk = Disk {
            query: DiskQuery::from_record(&self.disk)
                .map_err(|error| value("disk", &self.disk, &error.to_string()))?,
            wanted: Wanted {
                format: format(Choice {
                    file_system: self.file_system.into(),
                    allocation_unit: self.allocation_unit,
                    label: self.label,
                    root_acl: self.root_acl,
                })?,
                access: self.access.into(),
                targets: self.targets.into(),
            },
            brought_online: self.brought_online,
            mounted: match self.mounted {
                Some(id) => Some(parsed("mounted", &id)?),
                None => None,
            },
            size: self.size,
            disk_bytes: self.disk_bytes,
        };
        Ok(Record {
            volume: volume(&self.volume)?,
            state: self.state.into(),
            staging: parsed("staging", &self.staging)?,
            boot: self.boot,
            published: targets(&self.published)?,
            what: What::Disk(disk),
        })
    }
}

impl ShareText {
    fn of(record: Record<Share>) -> Self {
        let share = record.what;
        Self {
            version: SHARES,
            volume: record.volume.as_str().to_owned(),
            state: record.state.into(),
            staging: record.staging.to_string(),
            remote: share.remote.to_string(),
            mapped: (share.remote.mapped_folders() > 0).then(|| share.remote.share()),
            server: share.server,
            user: share.user,
            secret: share.secret,
            options: share.options,
            targets: share.targets.into(),
            made_mapping: share.made_mapping,
            taken_over: share.taken_over,
            lifetime: share.lifetime.into(),
            boot: record.boot,
            published: written(&record.published),
        }
    }

    fn read(self) -> Result<Record, TextError> {
        let share = Share {
            remote: remote(&self.remote, self.mapped.as_deref())?,
            server: self.server,
            user: self.user,
            secret: self.secret,
            options: self.options,
            targets: self.targets.into(),
            made_mapping: self.made_mapping,
            taken_over: self.taken_over,
            lifetime: self.lifetime.into(),
        };
        Ok(Record {
            volume: volume(&self.volume)?,
            state: self.state.into(),
            staging: parsed("staging", &self.staging)?,
            boot: self.boot,
            published: targets(&self.published)?,
            what: What::Share(share),
        })
    }
}

fn written(paths: &[WinPath]) -> Vec<String> {
    paths.iter().map(WinPath::to_string).collect()
}

fn targets(texts: &[String]) -> Result<Vec<WinPath>, TextError> {
    texts.iter().map(|path| parsed("published", path)).collect()
}

fn volume(text: &str) -> Result<VolumeHandle, TextError> {
    VolumeHandle::parse(text).map_err(|error| value("volume", text, &error.to_string()))
}

fn remote(text: &str, mapped: Option<&str>) -> Result<RemotePath, TextError> {
    let parse = |field, text| {
        RemotePath::parse(text).map_err(|error| value(field, text, &error.to_string()))
    };
    let remote = parse("remote", text)?;
    let Some(mapped) = mapped else {
        return Ok(remote);
    };
    let through = remote.through(&parse("mapped", mapped)?);
    through.ok_or_else(|| value("mapped", mapped, "the remote path is elsewhere"))
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

    fn record_of_share() -> Record {
        let share = Share {
            remote: RemotePath::parse("//Files/Data$/ordner/ä").unwrap(),
            server: String::from("files"),
            user: Some(String::from(r"DOMAIN\user")),
            secret: Some(SecretHash(String::from("$argon2id$"))),
            options: ShareOptions {
                privacy: Some(true),
                ..ShareOptions::default()
            },
            targets: Targets::Many,
            made_mapping: true,
            taken_over: false,
            lifetime: Lifetime::Inline,
        };
        Record {
            what: What::Share(share),
            ..record()
        }
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let mut by_folder = record_of_share();
        if let What::Share(share) = &mut by_folder.what {
            share.remote = share.remote.clone().folder_itself();
            share.taken_over = true;
        }
        for record in [record(), record_of_share(), by_folder] {
            let text = record.to_text().unwrap();
            assert_eq!(Record::from_text(&text).unwrap(), record);
        }
    }

    #[test]
    fn a_record_of_a_later_version_is_named_by_its_version_whatever_else_is_in_it() {
        let error = Record::from_text(r#"{"version": 3, "volumes": []}"#).unwrap_err();
        assert!(matches!(error, TextError::Version(3)), "{error}");
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
