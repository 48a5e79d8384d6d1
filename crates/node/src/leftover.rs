//! Removal of links that were unfinished when the process died.
//!
//! A link is made under a name of our form first, as an empty entry or a link, and then renamed. If the process dies
//! between, the entry stays and would keep a pod's folder from being removed, so the next call or start removes it.
//! A call that is still making its link holds the entry, so that one stays.

use os::{Component, Entry, Files, Pin, ReparseTag, Win32, WinPath};
use uuid::Uuid;

use crate::ResolvedPath;

/// The start of the names; 32 hexadecimal digits follow.
const PREFIX: &str = ".wincsi-link-";

/// How many entries one sweep tries to remove.
const TRIES: usize = 64;

/// A name that nobody can foresee.
///
/// # Panics
/// Never: nothing in it is refused in names.
pub(crate) fn new_name() -> Component {
    let name = format!("{PREFIX}{}", Uuid::new_v4().simple());
    Component::parse(&name).expect("letters, digits, dots and dashes")
}

/// Whether a path ends in such a name.
pub(crate) fn is_named_so(path: &WinPath) -> bool {
    path.name().is_some_and(is_name)
}

pub(crate) fn is_name(name: &Component) -> bool {
    let name = name.as_os_str().to_str();
    let number = name.and_then(|name| name.strip_prefix(PREFIX));
    number.is_some_and(|number| number.len() == 32 && Uuid::try_parse(number).is_ok())
}

/// Whether the entry may be removed: a link, or an empty directory or file, as far as the entry shows.
fn is_nothing(entry: &Entry) -> bool {
    match entry.tag {
        Some(tag) => tag == ReparseTag::SYMLINK,
        None => entry.size == 0,
    }
}

/// Whether an entry of this directory is an empty leftover of a link. A directory that cannot be listed is not one,
/// unless another call holds it to make a link of it.
pub(crate) fn is_left(
    files: &dyn Files,
    directory: &WinPath,
    name: &Component,
    entry: &Entry,
) -> bool {
    if !is_name(name) || !is_nothing(entry) {
        return false;
    }
    match entry.tag {
        None if entry.is_directory() => is_empty(files, &directory.join(name.clone())),
        _ => true,
    }
}

/// A link that takes the directory's place is not followed: it may lead to a foreign server.
fn is_empty(files: &dyn Files, directory: &WinPath) -> bool {
    let pinned = files.pin(directory);
    match pinned.and_then(|_pin| files.list_some(directory, 1)) {
        Ok(listed) => listed.is_empty(),
        Err(error) => error.is_not_found() || is_in_use(&error),
    }
}

/// Removes stale `.wincsi-link-*` entries from the parent directory, the last of the pins.
pub(crate) fn sweep_beside(files: &dyn Files, resolved: &ResolvedPath, pins: &[Pin]) {
    if let (Some(directory), Some(above)) = (pins.last(), resolved.path().parent()) {
        sweep(files, directory, &above, None);
    }
}

/// Removes stale entries from a held directory at `path`, except `mine`, the caller's own: at most [`TRIES`],
/// because others may have made any number of them. Returns how many it removed.
pub(crate) fn sweep(
    files: &dyn Files,
    directory: &Pin,
    path: &WinPath,
    mine: Option<&Component>,
) -> usize {
    let listed = match files.list(path) {
        Ok(listed) => listed,
        Err(error) => {
            tracing::debug!(%path, %error, "what is left of links is not looked for");
            return 0;
        }
    };
    let names = listed
        .into_iter()
        .filter(|found| is_nothing(&found.entry))
        .filter_map(|found| Component::listed(found.name).ok())
        .filter(|name| is_name(name) && Some(name) != mine);
    let (mut removed, mut refused) = (0, Vec::new());
    for name in names.take(TRIES) {
        match try_to_remove(files, directory, &path.join(name)) {
            Ok(went) => removed += usize::from(went),
            Err(error) => refused.push(error),
        }
    }
    // One line, since others choose how many entries there are.
    if let Some(error) = refused.first() {
        let count = refused.len();
        tracing::warn!(%path, count, %error, "what is left of links cannot be removed");
    }
    removed
}

/// Removes an empty entry of a held directory.
pub(crate) fn remove(files: &dyn Files, directory: &Pin, at: &WinPath) {
    if let Err(error) = try_to_remove(files, directory, at) {
        tracing::warn!(%at, %error, "what is left of a link cannot be removed");
    }
}

/// Returns whether it removed the entry. An entry that is held, or is no longer empty, stays; that
/// is no error.
fn try_to_remove(files: &dyn Files, directory: &Pin, at: &WinPath) -> os::Result<bool> {
    let (Ok(entry), Some(name)) = (files.entry(at), at.name()) else {
        return Ok(false);
    };
    if !is_nothing(&entry) {
        return Ok(false);
    }
    match directory.remove(name) {
        Err(error) if is_in_use(&error) => {
            tracing::debug!(%at, %error, "what is named like the rest of a link stays");
            Ok(false)
        }
        removed => removed.map(|()| true),
    }
}

/// Whether another process is making a link of the entry, or has filled it.
fn is_in_use(error: &os::Error) -> bool {
    matches!(
        error.win32(),
        Some(Win32::SHARING_VIOLATION | Win32::DIR_NOT_EMPTY)
    )
}

#[cfg(test)]
mod tests {
    use os::FileAttributes;

    use super::*;

    fn named(name: &str) -> bool {
        is_name(&Component::parse(name).expect(name))
    }

    #[test]
    fn names_are_of_one_form_and_each_is_new() {
        let (one, other) = (new_name(), new_name());
        assert_ne!(one, other);
        assert!(is_name(&one) && is_name(&other));
        let number = "0123456789abcdef0123456789abcdef";
        assert!(named(&format!("{PREFIX}{number}")));
        for name in [
            PREFIX.trim_end_matches('-').to_owned(),
            format!("{PREFIX}{}", &number[1..]),
            format!("{PREFIX}{number}0"),
            format!("{PREFIX}g{}", &number[1..]),
            format!("{PREFIX}{}-{}", &number[..15], &number[..16]),
            format!("x{PREFIX}{number}"),
            number.to_owned(),
        ] {
            assert!(!named(&name), "{name}");
        }
    }

    #[test]
    fn what_holds_something_or_is_another_reparse_point_stays() {
        let entry = |tag, size| Entry {
            attributes: FileAttributes::NORMAL,
            tag,
            size,
        };
        assert!(is_nothing(&entry(None, 0)));
        assert!(is_nothing(&entry(Some(ReparseTag::SYMLINK), 0)));
        assert!(!is_nothing(&entry(None, 1)));
        assert!(!is_nothing(&entry(Some(ReparseTag::MOUNT_POINT), 0)));
    }
}
