use std::fmt::Debug;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use wincsi::Feature;
use wincsi::volumes::{FileSystemType, FormatOptions, VolumeId};

use super::Format;
use crate::record::{Access, Content, as_text};

/// Where a disk comes from, as a request names it and a record keeps it. An option that is none is written as null.
pub trait Spec: Clone + Debug + PartialEq + Serialize + DeserializeOwned + Send + Sync {
    /// The kind's name in records.
    const KIND: &'static str;
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Disk<P> {
    #[serde(flatten)]
    pub source: P,
    #[serde(flatten)]
    pub wanted: RequestedDisk,
    /// Whether the disk was offline until this driver brought it online, or was about to.
    pub brought_online: bool,
    /// The volume of Windows that was mounted at the staging path.
    #[serde(default, with = "as_text::option")]
    pub mounted: Option<VolumeId>,
    /// An identifier of SCSI page 0x83 of a disk that the driver attached: what it had at the first stage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// Its size in bytes, as far as the last stage or expansion reported it.
    pub size: Option<u64>,
    /// The length of its disk in bytes when the volume was staged or grown last, on hosts that may leave a growth undone.
    pub disk_bytes: Option<u64>,
}

/// What a volume is to be like.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestedDisk {
    #[serde(flatten)]
    pub format: Format,
    /// Who may write.
    pub access: Access,
}

impl<P: Spec> Content for Disk<P> {
    const KIND: &'static str = P::KIND;
}

impl RequestedDisk {
    /// The features that not each host has, with what needs them.
    pub(crate) fn needs(&self) -> Vec<(Feature, &'static str)> {
        let plain = FormatOptions::new(FileSystemType::Ntfs);
        let special = (*self.format.options() != plain).then_some((
            Feature::FormatOptions,
            "ReFS, an allocation unit, a label or an access control list",
        ));
        let readers = (self.access != Access::ReadWrite)
            .then_some((Feature::ReadOnlyDisks, "a disk that is online read-only"));
        special.into_iter().chain(readers).collect()
    }
}

#[cfg(test)]
mod tests {
    use wincsi::disks::DiskQuery;

    use super::*;
    use crate::kinds::block::Choice;
    use crate::kinds::disk::Attached;
    use crate::record::{Form, Record, State, Targets, TextError, VolumeHandle};

    #[test]
    fn plain_ntfs_for_writers_needs_nothing_of_the_host() {
        let mut wanted = RequestedDisk {
            format: Format::default(),
            access: Access::ReadWrite,
        };
        assert!(wanted.needs().is_empty());
        let label = String::from("data");
        let labelled = Choice {
            label,
            ..Choice::default()
        };
        wanted.format = Format::try_from(labelled).unwrap();
        wanted.access = Access::ReadOnly;
        assert_eq!(wanted.needs().len(), 2);
    }

    fn record() -> Record<Disk<Attached>> {
        let choice = Choice {
            file_system: FileSystemType::Refs,
            allocation_unit: Some(65_536),
            label: String::from("data"),
            root_acl: Some(String::from("D:(A;OICI;FA;;;SY)")),
        };
        let identifier = "v1 page83=600224801234567890abcdef00000001";
        let volume = r"\\?\Volume{6a5cbf4c-0bd5-4d1a-8c6b-64a0ef0f4b9e}\";
        let content = Disk {
            source: Attached {
                disk: DiskQuery::from_record(identifier).unwrap(),
            },
            wanted: RequestedDisk {
                format: Format::try_from(choice).unwrap(),
                access: Access::SharedReadOnly,
            },
            brought_online: true,
            mounted: Some(volume.parse().unwrap()),
            identity: Some(String::from("600224801234567890abcdef00000001")),
            size: Some(1 << 30),
            disk_bytes: Some(2 << 30),
        };
        let staging = r"C:\var\lib\kubelet\plugins\x\globalmount".parse().unwrap();
        let volume = VolumeHandle::parse(r"vol/ä#1").unwrap();
        let mut record = Record::new(volume, staging, content);
        record.state = State::Staged;
        record.boot = Some(String::from("boot 1"));
        record.targets = Targets::One;
        record.published = vec![r"C:\pods\1\mount".parse().unwrap()];
        record
    }

    fn read(text: &str) -> Result<Record, TextError> {
        Record::from_text(text, &[Form::of::<Disk<Attached>>()])
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let written = record().into_any().unwrap();
        let found = read(&written.to_text().unwrap()).unwrap();
        assert_eq!(found, written);
        let (found, written) = (found.of::<Disk<Attached>>().unwrap(), record());
        assert_eq!(found.content, written.content);
        assert_eq!(found.published, written.published);
    }

    #[test]
    fn a_field_that_cannot_be_is_named() {
        let text = record().into_any().unwrap().to_text().unwrap();
        for (from, to) in [("page83=", "page84="), (r"C:\\var", r"C:\\va?r")] {
            let wrong = text.replace(from, to);
            assert_ne!(wrong, text);
            let error = read(&wrong).unwrap_err().to_string();
            assert!(error.contains(to), "{error}");
        }
    }
}
