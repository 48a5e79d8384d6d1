//! Requests, parsed.

use wincsi::WinPath;
use wire::csi::v1::VolumeCapability;
use wire::csi::v1::volume_capability::AccessType;
use wire::csi::v1::volume_capability::access_mode::Mode;

use super::AttributeError;
use crate::record::{Access, FileSystem, Targets, VolumeHandle, Wanted};

/// The drive of a path that kubelet wrote without one (`\var\lib\kubelet\...`).
const DRIVE: char = 'C';

/// A request that no repetition helps.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The attributes do not tell one disk.
    #[error(transparent)]
    Attributes(#[from] AttributeError),
    /// Windows has no raw block volumes in pods.
    #[error("block volumes do not exist on Windows: the volume needs volumeMode Filesystem")]
    Block,
    /// The filesystem is none that Windows formats.
    #[error("filesystem {0:?} does not exist on Windows: fsType must be ntfs, refs or empty")]
    FileSystem(String),
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
        reason: String,
    },
}

/// The volume of a request.
pub(super) fn volume(id: &str) -> Result<VolumeHandle, Refusal> {
    VolumeHandle::parse(id).ok_or(Refusal::Missing("volume id"))
}

/// A path of a request, which kubelet writes with or without a drive.
pub(super) fn path(name: &'static str, text: &str) -> Result<WinPath, Refusal> {
    let given = given(name, text)?;
    WinPath::parse_on_drive(given, DRIVE).map_err(|reason| Refusal::Path {
        name,
        text: text.to_owned(),
        reason: reason.to_string(),
    })
}

/// A text of a request that may not be empty.
pub(super) fn given<'a>(name: &'static str, text: &'a str) -> Result<&'a str, Refusal> {
    match text {
        "" => Err(Refusal::Missing(name)),
        _ => Ok(text),
    }
}

/// What the capability of a request asks for.
pub(super) fn wanted(capability: Option<&VolumeCapability>) -> Result<Wanted, Refusal> {
    let capability = capability.ok_or(Refusal::Missing("volume capability"))?;
    let mount = match &capability.access_type {
        Some(AccessType::Mount(mount)) => mount,
        Some(AccessType::Block(_)) => return Err(Refusal::Block),
        None => return Err(Refusal::Missing("access type of the volume capability")),
    };
    let mode = capability.access_mode.as_ref().map(|mode| mode.mode());
    let asks_for_readers = mount.mount_flags.iter().any(|flag| flag == "ro");
    Ok(Wanted {
        file_system: file_system(&mount.fs_type)?,
        access: match mode {
            Some(Mode::SingleNodeReaderOnly | Mode::MultiNodeReaderOnly) => Access::ReadOnly,
            _ if asks_for_readers => Access::ReadOnly,
            _ => Access::ReadWrite,
        },
        targets: match mode {
            Some(Mode::SingleNodeSingleWriter) => Targets::One,
            _ => Targets::Many,
        },
    })
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

    #[test]
    fn filesystems_of_linux_and_block_volumes_are_refused_by_name() {
        let ext4 = wanted(Some(&capability("ext4", Mode::SingleNodeWriter))).unwrap_err();
        assert!(ext4.to_string().contains("\"ext4\""), "{ext4}");
        let block = VolumeCapability {
            access_type: Some(AccessType::Block(BlockVolume {})),
            access_mode: None,
        };
        assert!(matches!(wanted(Some(&block)), Err(Refusal::Block)));
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
            (Mode::MultiNodeReaderOnly, Access::ReadOnly, Targets::Many),
        ] {
            let wanted = wanted(Some(&capability("NTFS", mode))).unwrap();
            assert_eq!(
                (wanted.access, wanted.targets),
                (access, targets),
                "{mode:?}"
            );
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
