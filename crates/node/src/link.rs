//! Targets of links, junctions and mounted folders.

use formats::reparse::{Names, Reparse, SymlinkBase, Target};
use os::{
    Cause, Component, Entry, Error, Files, LinkKind, PathError, ReparseTag, Root, VolumeId, Win32,
    WinPath,
};

/// Where an entry leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Leads {
    /// It is no link of any kind.
    Nowhere,
    /// A symbolic link or a junction.
    To(WinPath),
    /// A mounted folder, or a symbolic link to a volume as such.
    ToVolume(VolumeId),
}

/// Where the entry leads, by its own word; whether that exists is another question. A reparse point
/// of another tag (deduplicated, in the cloud, a socket) leads nowhere.
pub(crate) fn leads(files: &dyn Files, path: &WinPath, entry: &Entry) -> os::Result<Leads> {
    if !matches!(
        entry.tag,
        Some(ReparseTag::MOUNT_POINT | ReparseTag::SYMLINK)
    ) {
        return Ok(Leads::Nowhere);
    }
    let data = files.reparse_data(path)?;
    let reparse = Reparse::parse(&data).map_err(|error| malformed(path, error.to_string()))?;
    followed(path, &reparse).map_err(|error| {
        // The link's own word is in this, and in no error.
        tracing::warn!(path = ?path.to_string(), %error, "a link names no path");
        malformed(path, "it names no path".to_owned())
    })
}

/// The kind of the symbolic link of this name that leads to `target`; `None` of an entry that does not.
pub(crate) fn kind_of(
    files: &dyn Files,
    link: &WinPath,
    target: &WinPath,
) -> os::Result<Option<LinkKind>> {
    let entry = files.entry(link)?;
    let leads_there = match leads(files, link, &entry)? {
        Leads::To(there) => there.is_within(target) && target.is_within(&there),
        Leads::ToVolume(there) => {
            let is_link = entry.tag == Some(ReparseTag::SYMLINK);
            is_link && *target == WinPath::of_root(Root::Volume(there))
        }
        Leads::Nowhere => false,
    };
    Ok(leads_there.then(|| kind(&entry)))
}

/// The kind of a symbolic link.
pub(crate) fn kind(link: &Entry) -> LinkKind {
    match link.is_directory() {
        true => LinkKind::Directory,
        false => LinkKind::File,
    }
}

/// The text that a directory link to this stores: of a share with a trailing separator, without which containerd
/// does not follow the link (kubernetes#94213).
pub(crate) fn text_to(target: &WinPath) -> String {
    let plain = target.to_string();
    match target.root() {
        Root::Share { .. } => format!("{}\\", plain.trim_end_matches('\\')),
        Root::Drive(_) | Root::Volume(_) => plain,
    }
}

/// Whether the device below a path was pulled out.
pub(crate) fn is_device_gone(error: &Error) -> bool {
    matches!(
        error.win32(),
        Some(Win32::NO_SUCH_DEVICE | Win32::DEVICE_NOT_CONNECTED)
    )
}

fn followed(path: &WinPath, reparse: &Reparse) -> Result<Leads, PathError> {
    match reparse {
        Reparse::MountPoint(names) => match names.target() {
            Target::Volume(guid) => Ok(Leads::ToVolume(VolumeId(guid))),
            Target::Junction(name) => WinPath::parse_nt(&name).map(Leads::To),
        },
        Reparse::Symlink { names, base } => symlink(path, names, *base).map(to),
        Reparse::Other { .. } => Ok(Leads::Nowhere),
    }
}

fn to(path: WinPath) -> Leads {
    match path.root() {
        Root::Volume(volume) if path.name().is_none() => Leads::ToVolume(*volume),
        _ => Leads::To(path),
    }
}

fn symlink(path: &WinPath, names: &Names, base: SymlinkBase) -> Result<WinPath, PathError> {
    match base {
        SymlinkBase::Absolute => WinPath::parse_nt(&names.substitute),
        SymlinkBase::Relative => relative(path, &names.substitute),
    }
}

/// Follows a relative name from the folder that holds the link, or from its root if the name begins
/// with a separator.
fn relative(link: &WinPath, name: &str) -> Result<WinPath, PathError> {
    let root = WinPath::of_root(link.root().clone());
    let start = if name.starts_with('\\') {
        root
    } else {
        link.parent().unwrap_or(root)
    };
    let mut names = name.split(['\\', '/']).filter(|name| !name.is_empty());
    names.try_fold(start, |path, name| match name {
        "." => Ok(path),
        // Windows stays at the root, too.
        ".." => Ok(path.parent().unwrap_or(path)),
        name => Component::parse(name).map(|name| path.join(name)),
    })
}

fn malformed(path: &WinPath, why: String) -> Error {
    Error::new("FSCTL_GET_REPARSE_POINT", path, Cause::Malformed(why))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> WinPath {
        text.parse().expect(text)
    }

    fn link(substitute: &str, base: SymlinkBase) -> Leads {
        let names = Names {
            substitute: substitute.to_owned(),
            print: String::new(),
        };
        let reparse = Reparse::Symlink { names, base };
        followed(&path(r"C:\var\lib\link"), &reparse).unwrap()
    }

    #[test]
    fn symbolic_links_are_followed_from_their_folder_or_from_the_root() {
        let absolute = |name| link(name, SymlinkBase::Absolute);
        let relative = |name| link(name, SymlinkBase::Relative);
        assert_eq!(absolute(r"\??\D:\data\"), Leads::To(path(r"D:\data")));
        assert_eq!(absolute(r"\??\UNC\h\s\a"), Leads::To(path(r"\\h\s\a")));
        assert_eq!(relative(r"..\x\.\y"), Leads::To(path(r"C:\var\x\y")));
        assert_eq!(relative(r"..\..\..\..\x"), Leads::To(path(r"C:\x")));
        assert_eq!(relative(r"\x"), Leads::To(path(r"C:\x")));
    }

    #[test]
    fn a_volume_as_such_is_no_path() {
        let volume = VolumeId(uuid::Uuid::from_u128(7));
        let names = Names::volume(volume.0);
        let folder = followed(&path(r"C:\m"), &Reparse::MountPoint(names.clone()));
        assert_eq!(folder, Ok(Leads::ToVolume(volume)));
        let symlink = link(&names.substitute, SymlinkBase::Absolute);
        assert_eq!(symlink, Leads::ToVolume(volume));
        let below = format!("{}x", names.substitute);
        let expected = format!(r"{volume}x");
        assert_eq!(
            link(&below, SymlinkBase::Absolute),
            Leads::To(path(&expected))
        );
    }

    #[test]
    fn a_junction_is_followed_like_a_link() {
        let names = Names {
            substitute: r"\??\E:\x".to_owned(),
            print: String::new(),
        };
        let junction = followed(&path(r"C:\m"), &Reparse::MountPoint(names));
        assert_eq!(junction, Ok(Leads::To(path(r"E:\x"))));
    }
}
