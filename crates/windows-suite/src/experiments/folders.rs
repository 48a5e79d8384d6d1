//! Mounted folders, links, and calls by the handle of a directory.

use formats::reparse::{Reparse, Target};
use os::{LinkKind, Win32};

use super::handles::{self, churn};
use super::{Sight, Sights, told};
use crate::cases::{Play, below};
use crate::{Failure, Stand};

/// An ordinary folder; the one of a HostProcess container is named by `--calls-by-handle`.
pub(super) fn calls_by_handle(stand: &dyn Stand) -> Sights {
    let counts = churn(stand.node().os(), stand.folder(), handles::SHORT)?;
    Ok(vec![counts.sight()])
}

/// The disk goes away below the folder, as one that a cloud detaches by force.
pub(super) fn vanished_volume(stand: &dyn Stand) -> Sights {
    let (disk, _, folder) = Play::on(stand).mounted("vanished")?;
    stand.unplug(disk)?;
    let os = stand.node().os();
    let deleted = os.volumes.delete_mount_point(&folder);
    let left = os.files.entry(&folder);
    let tag = left.as_ref().ok().and_then(|entry| entry.tag);
    let is_as_assumed = deleted.is_ok() && left.is_ok() && tag.is_none();
    let seen = format!(
        "DeleteVolumeMountPointW: {}; then the folder: {}, tag {tag:?}",
        told(&deleted),
        told(&left),
    );
    Ok(vec![Sight::of(is_as_assumed, seen)])
}

pub(super) fn mounted_folder(stand: &dyn Stand) -> Sights {
    let (_, volume, folder) = Play::on(stand).mounted("mounted")?;
    let data = stand.node().os().files.reparse_data(&folder)?;
    let parsed = Reparse::parse(&data).map_err(Failure::odd)?;
    let leads_to = match &parsed {
        Reparse::MountPoint(names) => Some(names.target()),
        _ => None,
    };
    let is_as_assumed = leads_to == Some(Target::Volume(volume.0));
    let file = below(&folder, "file")?;
    let written = stand.write_file(&file, b"through the folder");
    let seen = format!(
        "volume {volume}: {parsed:?}; a file in it: {}",
        told(&written)
    );
    Ok(vec![Sight::of(is_as_assumed, seen)])
}

/// What kubelet gives a container, where a link was made before what it leads to was there.
pub(super) fn file_link(stand: &dyn Stand) -> Sights {
    let (target, link) = (
        below(stand.folder(), "real")?,
        below(stand.folder(), "link")?,
    );
    let files = &stand.node().os().files;
    files.create_directory(&target)?;
    stand.write_file(&below(&target, "file")?, b"behind the link")?;
    files.create_symlink(&link, &target.to_string(), LinkKind::File)?;
    let opened = files.leads_to_directory(&link);
    let passed = files.entry(&below(&link, "file")?);
    let is_denied = |code: Option<Win32>| code == Some(Win32::ACCESS_DENIED);
    let is_as_assumed = is_denied(opened.as_ref().err().and_then(os::Error::win32))
        && is_denied(passed.as_ref().err().and_then(os::Error::win32));
    let seen = format!(
        "the directory: {}; a file behind the link: {}",
        told(&opened),
        told(&passed)
    );
    Ok(vec![Sight::of(is_as_assumed, seen)])
}
