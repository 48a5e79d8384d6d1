//! Mounted folders, links, and calls by the handle of a directory.

use formats::reparse::{Reparse, Target};
use os::{LinkKind, Win32};

use super::handles::{self, churn};
use super::{Sight, Sights, outcome_text};
use crate::cases::{Play, below};
use crate::{Failure, NodeFixture};

/// An ordinary folder; `--calls-by-handle` names the one of a HostProcess container.
pub(super) fn calls_by_handle(fixture: &dyn NodeFixture) -> Sights {
    let counts = churn(fixture.os(), fixture.folder(), handles::SHORT)?;
    Ok(vec![counts.sight()])
}

/// The disk goes away below the folder, as after a cloud's forced detach.
pub(super) fn vanished_volume(fixture: &dyn NodeFixture) -> Sights {
    let (disk, _, folder) = Play::on(fixture).mounted("vanished")?;
    fixture.unplug(disk)?;
    let os = fixture.os();
    let deleted = os.volumes.delete_mount_point(&folder);
    let left = os.files.entry(&folder);
    let tag = left.as_ref().ok().and_then(|entry| entry.tag);
    let is_as_assumed = deleted.is_ok() && left.is_ok() && tag.is_none();
    let seen = format!(
        "DeleteVolumeMountPointW: {}; then the folder: {}, tag {tag:?}",
        outcome_text(&deleted),
        outcome_text(&left),
    );
    Ok(vec![Sight::of(is_as_assumed, seen)])
}

pub(super) fn mounted_folder(fixture: &dyn NodeFixture) -> Sights {
    let (_, volume, folder) = Play::on(fixture).mounted("mounted")?;
    let data = fixture.os().files.reparse_data(&folder)?;
    let parsed = Reparse::parse(&data).map_err(Failure::unexpected)?;
    let leads_to = match &parsed {
        Reparse::MountPoint(names) => Some(names.target()),
        _ => None,
    };
    let is_as_assumed = leads_to == Some(Target::Volume(volume.0));
    let file = below(&folder, "file")?;
    let written = fixture.write_file(&file, b"through the folder");
    let seen = format!(
        "volume {volume}: {parsed:?}; a file in it: {}",
        outcome_text(&written)
    );
    Ok(vec![Sight::of(is_as_assumed, seen)])
}

/// As Rmdir of a volume's folder removes it.
pub(super) fn held_mounted_folder(fixture: &dyn NodeFixture) -> Sights {
    let (_, _, folder) = Play::on(fixture).mounted("held")?;
    let files = &fixture.os().files;
    let (Some(above), Some(name)) = (folder.parent(), folder.name()) else {
        return Err(Failure::unexpected("a folder without a name"));
    };
    let removed = files.pin(&above)?.remove(name);
    let left = files.entry(&folder);
    let is_gone = matches!(&left, Err(error) if error.is_not_found());
    let seen = format!(
        "the removal: {}; then: {}",
        outcome_text(&removed),
        outcome_text(&left)
    );
    Ok(vec![Sight::of(removed.is_ok() && is_gone, seen)])
}

/// Kubelet's case for a container: a link made before its target.
pub(super) fn file_link(fixture: &dyn NodeFixture) -> Sights {
    let (target, link) = (
        below(fixture.folder(), "real")?,
        below(fixture.folder(), "link")?,
    );
    let files = &fixture.os().files;
    files.create_directory(&target)?;
    fixture.write_file(&below(&target, "file")?, b"behind the link")?;
    files.create_symlink(&link, &target.to_string(), LinkKind::File)?;
    let opened = files.leads_to_directory(&link);
    let passed = files.entry(&below(&link, "file")?);
    let is_denied = |code: Option<Win32>| code == Some(Win32::ACCESS_DENIED);
    let is_as_assumed = is_denied(opened.as_ref().err().and_then(os::Error::win32))
        && is_denied(passed.as_ref().err().and_then(os::Error::win32));
    let seen = format!(
        "the directory: {}; a file behind the link: {}",
        outcome_text(&opened),
        outcome_text(&passed)
    );
    Ok(vec![Sight::of(is_as_assumed, seen)])
}
