//! What a request wants of a disk.

use std::collections::BTreeMap;

use wincsi::volumes::FileSystemType;
use wire::csi::v1::volume_capability::access_mode::Mode;

use super::{Choice, Format, FormatError, RequestedDisk};
use crate::kubelet::{Refusal, Request};
use crate::record::{Access, Lifetime};

/// Why a request for a disk is refused.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    #[error(
        "the attribute allocationUnitSize is {0:?}: it must be a number of bytes, or of KiB as 64K"
    )]
    AllocationUnit(String),
    #[error("filesystem {0:?} does not exist on Windows: fsType must be ntfs, refs or empty")]
    FileSystem(String),
    #[error("the volume cannot be formatted so: {0}")]
    Format(#[from] FormatError),
    #[error("an inline volume has to be a share: its attribute source is missing")]
    Inline,
    /// Writers on several nodes would destroy the filesystem.
    #[error("NTFS and ReFS on one disk are for the pods of one node: ReadWriteMany is for shares")]
    ManyNodesWrite,
}

impl From<RequestError> for Refusal {
    fn from(error: RequestError) -> Self {
        Self::of_kind(error)
    }
}

/// What the capability and the volume's attributes ask for.
pub(super) fn wanted(request: &Request<'_>) -> Result<RequestedDisk, Refusal> {
    if request.lifetime == Lifetime::Inline {
        return Err(RequestError::Inline.into());
    }
    let mount = request.mount()?;
    let asks_for_readers = mount.mount_flags.iter().any(|flag| flag == "ro");
    Ok(RequestedDisk {
        format: format(file_system(&mount.fs_type)?, request.context)?,
        access: match request.mode() {
            Some(Mode::SingleNodeReaderOnly) => Access::ReadOnly,
            Some(Mode::MultiNodeReaderOnly) => Access::SharedReadOnly,
            Some(Mode::MultiNodeMultiWriter | Mode::MultiNodeSingleWriter) => {
                return Err(RequestError::ManyNodesWrite.into());
            }
            _ if asks_for_readers => Access::ReadOnly,
            _ => Access::ReadWrite,
        },
    })
}

/// Windows has no read-only link: pods of one volume share what its disk allows.
pub(super) fn note_access(wanted: &RequestedDisk, request: &Request<'_>) {
    if request.of_pod != Access::ReadWrite && wanted.access == Access::ReadWrite {
        let volume = &request.volume;
        tracing::warn!("volume {volume}: readOnly of the pod is accepted and has no effect");
    }
}

/// The attributes of a volume that say how a blank one is formatted.
pub(super) const FORMAT_KEYS: [(&str, &str); 3] = [
    (
        "allocationUnitSize",
        "in bytes, or in KiB as `64K`; empty is Windows's own choice",
    ),
    ("label", "up to 32 characters"),
    (
        "rootAcl",
        "the access control list of the root directory, in SDDL: `D:(A;OICI;FA;;;SY)...`",
    ),
];

/// These keys as rows of Markdown, for docs/disks.md.
#[doc(hidden)]
pub fn format_rows() -> String {
    let rows = FORMAT_KEYS.iter();
    rows.map(|(key, meaning)| format!("| `{key}` | {meaning} |\n"))
        .collect()
}

fn format(
    file_system: FileSystemType,
    attributes: &BTreeMap<String, String>,
) -> Result<Format, RequestError> {
    let [unit, label, list] = FORMAT_KEYS.map(|(key, _)| {
        let value = attributes.get(key).map(String::as_str);
        value.filter(|value| !value.is_empty())
    });
    Ok(Format::try_from(Choice {
        file_system,
        allocation_unit: unit.map(allocation_unit).transpose()?,
        label: label.unwrap_or_default().to_owned(),
        root_acl: list.map(str::to_owned),
    })?)
}

fn allocation_unit(text: &str) -> Result<u32, RequestError> {
    let (digits, unit) = match text.strip_suffix(['K', 'k']) {
        Some(digits) => (digits, 1024),
        None => (text, 1),
    };
    let bytes = digits.parse::<u32>().ok();
    let bytes = bytes.and_then(|bytes| bytes.checked_mul(unit));
    bytes.ok_or_else(|| RequestError::AllocationUnit(text.to_owned()))
}

fn file_system(name: &str) -> Result<FileSystemType, RequestError> {
    match name {
        "" => Ok(FileSystemType::default()),
        _ => name
            .parse()
            .map_err(|_| RequestError::FileSystem(name.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use wire::csi::v1::VolumeCapability;
    use wire::csi::v1::volume_capability::{AccessMode, AccessType, BlockVolume, MountVolume};

    use super::*;
    use crate::record::{Targets, VolumeHandle};

    fn capability(fs_type: &str, mode: Mode) -> VolumeCapability {
        let mount = MountVolume {
            fs_type: fs_type.to_owned(),
            ..Default::default()
        };
        VolumeCapability {
            access_type: Some(AccessType::Mount(mount)),
            access_mode: Some(AccessMode { mode: mode.into() }),
        }
    }

    fn wanted_with(
        capability: &VolumeCapability,
        context: &BTreeMap<String, String>,
    ) -> Result<(RequestedDisk, Targets), Refusal> {
        let none = BTreeMap::new();
        let request = Request {
            volume: VolumeHandle::parse("v").unwrap(),
            lifetime: Lifetime::Persistent,
            staging: "",
            target: "",
            context,
            publish_context: &none,
            secrets: &none,
            capability: Some(capability),
            of_pod: Access::ReadWrite,
        };
        Ok((wanted(&request)?, request.targets()?))
    }

    fn wanted_of(capability: &VolumeCapability) -> Result<(RequestedDisk, Targets), Refusal> {
        wanted_with(capability, &BTreeMap::new())
    }

    fn is_refused_as(refused: &Result<(RequestedDisk, Targets), Refusal>, text: &str) -> bool {
        let refused = refused.as_ref().unwrap_err();
        refused.to_string().contains(text)
    }

    #[test]
    fn attributes_say_how_a_blank_volume_is_formatted() {
        let capability = capability("refs", Mode::SingleNodeWriter);
        let attributes = [
            ("allocationUnitSize", "64K"),
            ("label", "data"),
            ("rootAcl", ""),
        ];
        let attributes = attributes.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let (wanted, _) = wanted_with(&capability, &attributes.into()).unwrap();
        let choice = wanted.format.choice();
        assert_eq!(choice.allocation_unit, Some(65_536));
        assert_eq!((choice.label.as_str(), &choice.root_acl), ("data", &None));
    }

    #[test]
    fn an_allocation_unit_that_the_filesystem_does_not_have_is_refused() {
        let capability = capability("refs", Mode::SingleNodeWriter);
        for unit in ["8K", "x", "-1", "99999999K"] {
            let attributes = [(String::from("allocationUnitSize"), unit.to_owned())].into();
            assert!(wanted_with(&capability, &attributes).is_err(), "{unit}");
        }
    }

    #[test]
    fn filesystems_of_linux_and_block_volumes_are_refused_by_name() {
        let ext4 = wanted_of(&capability("ext4", Mode::SingleNodeWriter)).unwrap_err();
        assert!(ext4.to_string().contains("\"ext4\""), "{ext4}");
        let block = VolumeCapability {
            access_type: Some(AccessType::Block(BlockVolume {})),
            access_mode: None,
        };
        assert!(matches!(wanted_of(&block), Err(Refusal::Block)));
    }

    #[test]
    fn modes_say_who_may_write_and_how_many_targets_there_are() {
        for (mode, access, targets) in [
            (Mode::SingleNodeWriter, Access::ReadWrite, Targets::Many),
            (
                Mode::SingleNodeMultiWriter,
                Access::ReadWrite,
                Targets::Many,
            ),
            (
                Mode::SingleNodeSingleWriter,
                Access::ReadWrite,
                Targets::One,
            ),
            (Mode::SingleNodeReaderOnly, Access::ReadOnly, Targets::Many),
            (
                Mode::MultiNodeReaderOnly,
                Access::SharedReadOnly,
                Targets::Many,
            ),
        ] {
            let (wanted, of_mode) = wanted_of(&capability("NTFS", mode)).unwrap();
            assert_eq!((wanted.access, of_mode), (access, targets), "{mode:?}");
        }
    }

    #[test]
    fn a_disk_for_writers_on_many_nodes_is_refused() {
        for mode in [Mode::MultiNodeMultiWriter, Mode::MultiNodeSingleWriter] {
            let refused = wanted_of(&capability("ntfs", mode));
            assert!(is_refused_as(&refused, "ReadWriteMany"), "{mode:?}");
        }
    }
}
