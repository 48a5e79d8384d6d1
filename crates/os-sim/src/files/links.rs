//! Reparse data: its target, and how the node writes its own links.

use formats::reparse::{Names, Reparse, SymlinkBase, Target};
use formats::symlink;
use os::{Cause, Component, ReparseTag, VolumeId, Win32, WinPath};

use super::names;

/// The path that a link in `directory` leads to, with the names that follow the link.
///
/// # Errors
/// [`Win32::CANT_ACCESS_FILE`] for a tag that nothing here understands, [`Win32::INVALID_NAME`] for
/// a target that is no path.
pub(super) fn follow(
    data: &[u8],
    directory: &WinPath,
    rest: &[Component],
) -> Result<WinPath, Cause> {
    let mut target = match parse(data)? {
        Reparse::MountPoint(names) => absolute(&names.substitute)?,
        Reparse::Symlink { names, base } => match base {
            SymlinkBase::Absolute => absolute(&names.substitute)?,
            SymlinkBase::Relative => relative(&names.substitute, directory)?,
        },
        Reparse::Other { .. } => return Err(Win32::CANT_ACCESS_FILE.into()),
    };
    for name in rest {
        target.push(name.clone());
    }
    Ok(target)
}

/// Data of a tag without any content.
pub(super) fn empty(tag: ReparseTag) -> Vec<u8> {
    [tag.0.to_le_bytes(), [0; 4]].concat()
}

/// The reparse data of a mounted folder.
pub(super) fn mounted_folder(volume: VolumeId) -> Result<Vec<u8>, Cause> {
    encode(&Reparse::MountPoint(Names::volume(volume.0)))
}

/// The volume that a mounted folder leads to; `None` for a junction and everything else.
pub(super) fn mounted_volume(data: &[u8]) -> Option<VolumeId> {
    let Ok(Reparse::MountPoint(names)) = Reparse::parse(data) else {
        return None;
    };
    match names.target() {
        Target::Volume(guid) => Some(VolumeId(guid)),
        Target::Junction(_) => None,
    }
}

/// The reparse data of a symbolic link, as `CreateSymbolicLinkW` makes it.
///
/// # Errors
/// [`Win32::INVALID_PARAMETER`] for a target that the data cannot hold.
pub(super) fn symlink(target: &str) -> Result<Vec<u8>, Cause> {
    encode(&symlink::to(target))
}

fn parse(data: &[u8]) -> Result<Reparse, Cause> {
    Reparse::parse(data).map_err(|_| Win32::INVALID_REPARSE_DATA.into())
}

/// The two failures are a target that is too long and one with a NUL.
fn encode(content: &Reparse) -> Result<Vec<u8>, Cause> {
    content
        .encode()
        .map_err(|_| Win32::INVALID_PARAMETER.into())
}

fn absolute(name: &str) -> Result<WinPath, Cause> {
    WinPath::parse_nt(name).map_err(|_| Win32::INVALID_NAME.into())
}

/// A relative target is taken from the link's directory, or from its root when it begins with a
/// backslash. A slash separates nothing here: only Win32 knows it, and it has not seen the target.
fn relative(text: &str, directory: &WinPath) -> Result<WinPath, Cause> {
    let base = match text.strip_prefix('\\') {
        Some(_) => directory.prefix(0),
        None => directory.clone(),
    };
    text.split('\\').try_fold(base, |path, name| match name {
        "" | "." => Ok(path),
        ".." => path.parent().ok_or(Win32::INVALID_NAME.into()),
        name => Ok(path.join(component(name)?)),
    })
}

fn component(name: &str) -> Result<Component, Cause> {
    if names::is_impossible(name.as_ref()) {
        return Err(Win32::INVALID_NAME.into());
    }
    Component::listed(name.into()).map_err(|_| Win32::INVALID_NAME.into())
}
