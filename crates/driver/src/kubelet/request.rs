//! Requests, parsed.

use std::collections::BTreeMap;

use wincsi::WinPath;
use wire::csi::v1::VolumeCapability;
use wire::csi::v1::volume_capability::AccessType;
use wire::csi::v1::volume_capability::access_mode::Mode;

use super::{AttributeError, OptionError, SecretError, SourceError};
use crate::life::{PlaceError, place};
use crate::record::{
    Access, Choice, FileSystem, Format, FormatError, HandleError, Lifetime, Targets, VolumeHandle,
    Wanted,
};

/// A request that no repetition helps.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The allocation unit is no number.
    #[error(
        "the attribute allocationUnitSize is {0:?}: it must be a number of bytes, or of KiB as 64K"
    )]
    AllocationUnit(String),
    /// The attributes do not identify one disk.
    #[error(transparent)]
    Attributes(#[from] AttributeError),
    /// A disk belongs to a PersistentVolume.
    #[error("an inline volume has to be a share: its attribute source is missing")]
    InlineDisk,
    /// Source and folder are no share.
    #[error("the volume is refused: {0}")]
    Source(#[from] SourceError),
    /// A mount option has a value that it cannot have.
    #[error(transparent)]
    MountOption(#[from] OptionError),
    /// Mount options that would be ignored.
    #[error("-mount-options=strict refuses mount options: {0}")]
    MountOptions(String),
    /// Nothing on the node keeps pods from writing to a share.
    #[error(
        "-readonly=strict refuses a share that is read-only, because nothing on this node enforces it: give the volume's user a share that it cannot write to"
    )]
    ReadersOfShare,
    /// The Secret holds what Windows cannot take.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// An inline volume names a Secret that is not in the request.
    #[error(
        "the attribute secretName needs the Kubernetes API, which the node plugin does not call: name the Secret as nodePublishSecretRef of the pod's volume"
    )]
    SecretName,
    /// There is no user.
    #[error("the volume has no user: {place} has to name a Secret with the keys username and password, or the mount options have guest", place = place_of_secret(*.0))]
    NoUser(Lifetime),
    /// Without a user Windows may connect as the machine.
    #[error(
        "an inline volume needs a user: without one Windows may connect as the node, so the option guest is for PersistentVolumes"
    )]
    InlineGuest,
    /// Windows has no raw block volumes in pods.
    #[error("block volumes do not exist on Windows: the volume needs volumeMode Filesystem")]
    Block,
    /// Writers on several nodes would destroy the filesystem.
    #[error("NTFS and ReFS on one disk are for the pods of one node: ReadWriteMany is for shares")]
    ManyNodesWrite,
    /// The filesystem is none that Windows formats.
    #[error("filesystem {0:?} does not exist on Windows: fsType must be ntfs, refs or empty")]
    FileSystem(String),
    /// Windows does not format so.
    #[error("the volume cannot be formatted so: {0}")]
    Format(#[from] FormatError),
    /// The volume id is none.
    #[error("the volume id is refused: {0}")]
    VolumeId(HandleError),
    /// Something that the request needs is not in it.
    #[error("the {0} is missing")]
    Missing(&'static str),
    /// A path is none.
    #[error("the {name} {text:?} is no path of Windows: {reason}")]
    Path {
        /// Which path.
        name: &'static str,
        /// What it was given as.
        text: String,
        /// What is wrong with it.
        reason: PlaceError,
    },
}

fn place_of_secret(lifetime: Lifetime) -> &'static str {
    match lifetime {
        Lifetime::Persistent => {
            "nodeStageSecretRef of the PersistentVolume (csi.storage.k8s.io/node-stage-secret-name of its StorageClass)"
        }
        Lifetime::Inline => "nodePublishSecretRef of the pod's volume",
    }
}

/// The volume of a request.
pub(super) fn volume(id: &str) -> Result<VolumeHandle, Refusal> {
    given("volume id", id)?;
    VolumeHandle::parse(id).map_err(Refusal::VolumeId)
}

/// A path of a request, which kubelet writes with or without a drive.
pub(super) fn path(name: &'static str, text: &str) -> Result<WinPath, Refusal> {
    let given = given(name, text)?;
    place(given).map_err(|reason| Refusal::Path {
        name,
        text: text.to_owned(),
        reason,
    })
}

/// A text of a request that may not be empty.
pub(super) fn given<'a>(name: &'static str, text: &'a str) -> Result<&'a str, Refusal> {
    match text {
        "" => Err(Refusal::Missing(name)),
        _ => Ok(text),
    }
}

/// What the capability and the volume's attributes ask for.
pub(super) fn wanted(
    capability: Option<&VolumeCapability>,
    attributes: &BTreeMap<String, String>,
) -> Result<Wanted, Refusal> {
    let capability = capability.ok_or(Refusal::Missing("volume capability"))?;
    let mount = match &capability.access_type {
        Some(AccessType::Mount(mount)) => mount,
        Some(AccessType::Block(_)) => return Err(Refusal::Block),
        None => return Err(Refusal::Missing("access type of the volume capability")),
    };
    let mode = capability.access_mode.as_ref().map(|mode| mode.mode());
    let asks_for_readers = mount.mount_flags.iter().any(|flag| flag == "ro");
    Ok(Wanted {
        format: format(file_system(&mount.fs_type)?, attributes)?,
        access: match mode {
            Some(Mode::SingleNodeReaderOnly) => Access::ReadOnly,
            Some(Mode::MultiNodeReaderOnly) => Access::SharedReadOnly,
            Some(Mode::MultiNodeMultiWriter | Mode::MultiNodeSingleWriter) => {
                return Err(Refusal::ManyNodesWrite);
            }
            _ if asks_for_readers => Access::ReadOnly,
            _ => Access::ReadWrite,
        },
        targets: match mode {
            Some(Mode::SingleNodeSingleWriter) => Targets::One,
            _ => Targets::Many,
        },
    })
}

/// The attributes of a volume that say how a blank one is formatted.
const FORMAT_KEYS: [(&str, &str); 3] = [
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
#[must_use]
pub fn format_rows() -> String {
    let rows = FORMAT_KEYS.iter();
    rows.map(|(key, meaning)| format!("| `{key}` | {meaning} |\n"))
        .collect()
}

fn format(
    file_system: FileSystem,
    attributes: &BTreeMap<String, String>,
) -> Result<Format, Refusal> {
    let [unit, label, list] = FORMAT_KEYS.map(|(key, _)| {
        let value = attributes.get(key).map(String::as_str);
        value.filter(|value| !value.is_empty())
    });
    Ok(Format::of(Choice {
        file_system,
        allocation_unit: unit.map(allocation_unit).transpose()?,
        label: label.unwrap_or_default().to_owned(),
        root_acl: list.map(str::to_owned),
    })?)
}

fn allocation_unit(text: &str) -> Result<u32, Refusal> {
    let (digits, unit) = match text.strip_suffix(['K', 'k']) {
        Some(digits) => (digits, 1024),
        None => (text, 1),
    };
    let bytes = digits.parse::<u32>().ok();
    let bytes = bytes.and_then(|bytes| bytes.checked_mul(unit));
    bytes.ok_or_else(|| Refusal::AllocationUnit(text.to_owned()))
}

fn file_system(name: &str) -> Result<FileSystem, Refusal> {
    match name.to_ascii_lowercase().as_str() {
        "" | "ntfs" => Ok(FileSystem::Ntfs),
        "refs" => Ok(FileSystem::Refs),
        _ => Err(Refusal::FileSystem(name.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use wire::csi::v1::volume_capability::{AccessMode, BlockVolume, MountVolume};

    use super::*;

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

    fn wanted_of(capability: &VolumeCapability) -> Result<Wanted, Refusal> {
        wanted(Some(capability), &BTreeMap::new())
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
        let wanted = wanted(Some(&capability), &attributes.into()).unwrap();
        let choice = wanted.format.choice();
        assert_eq!(choice.allocation_unit, Some(65_536));
        assert_eq!((choice.label.as_str(), &choice.root_acl), ("data", &None));
    }

    #[test]
    fn an_allocation_unit_that_the_filesystem_does_not_have_is_refused() {
        let capability = capability("refs", Mode::SingleNodeWriter);
        for unit in ["8K", "x", "-1", "99999999K"] {
            let attributes = [(String::from("allocationUnitSize"), unit.to_owned())].into();
            assert!(wanted(Some(&capability), &attributes).is_err(), "{unit}");
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
            let wanted = wanted_of(&capability("NTFS", mode)).unwrap();
            assert_eq!(
                (wanted.access, wanted.targets),
                (access, targets),
                "{mode:?}"
            );
        }
    }

    #[test]
    fn a_disk_for_writers_on_many_nodes_is_refused() {
        for mode in [Mode::MultiNodeMultiWriter, Mode::MultiNodeSingleWriter] {
            let refused = wanted_of(&capability("ntfs", mode));
            assert!(matches!(refused, Err(Refusal::ManyNodesWrite)), "{mode:?}");
        }
    }

    #[test]
    fn kubelets_paths_get_their_drive() {
        for text in [
            r"\var\lib\kubelet\x",
            "/var/lib/kubelet/x",
            r"c:\var\lib\kubelet\x",
        ] {
            let path = path("staging path", text).unwrap();
            assert_eq!(path.to_string().to_lowercase(), r"c:\var\lib\kubelet\x");
        }
        assert!(matches!(
            path("target path", ""),
            Err(Refusal::Missing("target path"))
        ));
        assert!(matches!(
            path("target path", r"C:\a\..\b"),
            Err(Refusal::Path { .. })
        ));
    }
}
