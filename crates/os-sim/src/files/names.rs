//! Names on the host and names on the node: case, characters that Windows does not have, and the
//! names that the tree keeps for itself.

use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf, Prefix};
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fs, io, process};

/// The prefix of the names that the tree reserves for itself, in any case.
pub(super) const RESERVED: &str = "$WinCSI.";

/// The marker inside the host directory of a reparse point.
pub(super) const MARKER: &str = "$WinCSI.Reparse";

/// The access control list that somebody set, inside the host directory that it is of.
pub(super) const DACL: &str = "$WinCSI.Dacl";

/// Where new things are built before one rename puts them in place.
const STAGING: &str = "$WinCSI.Staging";

/// Windows counts a name in UTF-16 units.
const LONGEST: usize = 255;

/// Whether the tree keeps this name for itself.
pub(super) fn is_reserved(name: &OsStr) -> bool {
    let text = name.to_string_lossy();
    text.get(..RESERVED.len())
        .is_some_and(|head| head.eq_ignore_ascii_case(RESERVED))
}

/// Whether no entry of the node can have this name.
pub(super) fn is_impossible(name: &OsStr) -> bool {
    let text = name.to_string_lossy();
    let is_long = text.len() > LONGEST && text.encode_utf16().count() > LONGEST;
    is_long || is_reserved(name) || text.chars().any(is_foreign)
}

/// Whether Windows takes two names for the same.
pub(super) fn same(left: &OsStr, right: &OsStr) -> bool {
    match left.is_ascii() && right.is_ascii() {
        true => left.eq_ignore_ascii_case(right),
        false => fold(left) == fold(right),
    }
}

/// The name that the node shows for a host entry. A character that Windows does not have in names is
/// shown as the private-use character that Windows's own Linux subsystem puts in its place
/// (`U+F000` plus the character).
pub(super) fn shown(host: &OsStr) -> OsString {
    match host.to_str() {
        Some(text) if text.chars().any(is_foreign) => {
            text.chars().map(show).collect::<String>().into()
        }
        _ => host.to_owned(),
    }
}

/// One case for all, character by character as NTFS's table does: no character becomes two.
pub(super) fn fold(name: &OsStr) -> String {
    name.to_string_lossy().chars().map(upper).collect()
}

/// A fresh host path in a root's staging folder, which is created if needed. Leftovers of a killed
/// process do not collide: the names contain the process's number and a counter.
pub(super) fn staging(root: &Path) -> io::Result<PathBuf> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let folder = root.join(STAGING);
    match fs::create_dir(&folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let fresh = folder.join(format!("{}-{number}", process::id()));
    match fs::remove_dir_all(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(fresh),
    }
}

/// The folder in the form that lifts Windows's limits on path length and names, where the host is
/// Windows; unchanged elsewhere.
pub(super) fn unlimited(folder: PathBuf) -> PathBuf {
    let on_drive = matches!(
        folder.components().next(),
        Some(Component::Prefix(prefix)) if matches!(prefix.kind(), Prefix::Disk(_))
    );
    if !on_drive || !folder.is_absolute() {
        return folder;
    }
    let mut verbatim = OsString::from(r"\\?\");
    verbatim.push(folder.components().collect::<PathBuf>());
    verbatim.into()
}

fn upper(character: char) -> char {
    let mut upper = character.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(single), None) => single,
        _ => character,
    }
}

fn is_foreign(character: char) -> bool {
    let is_sign = matches!(
        character,
        '<' | '>' | ':' | '"' | '|' | '?' | '*' | '\\' | '/'
    );
    is_sign || character.is_ascii_control()
}

fn show(character: char) -> char {
    if !is_foreign(character) {
        return character;
    }
    char::from_u32(0xF000 + u32::from(character)).unwrap_or(character)
}
