//! The symbolic link that `CreateSymbolicLinkW` makes of a target.

use crate::reparse::{Names, Reparse, SymlinkBase};

/// The object manager's name for Win32's `\\?\`.
const NT_PREFIX: &str = r"\??\";
const WIN32_PREFIX: &str = r"\\?\";

/// A link that stores `target`: a drive, share or volume becomes a name of the object manager, and the rest
/// stays as it is written.
#[must_use]
pub fn to(target: &str) -> Reparse {
    let (substitute, base) = match object_name(target) {
        Some(name) => (name, SymlinkBase::Absolute),
        None => (target.to_owned(), SymlinkBase::Relative),
    };
    let print = target.to_owned();
    Reparse::Symlink {
        names: Names { substitute, print },
        base,
    }
}

fn object_name(target: &str) -> Option<String> {
    for verbatim in [WIN32_PREFIX, NT_PREFIX] {
        if let Some(rest) = target.strip_prefix(verbatim) {
            return Some(format!("{NT_PREFIX}{rest}"));
        }
    }
    let target = target.replace('/', "\\");
    if let Some(share) = target.strip_prefix(r"\\") {
        return Some(format!(r"{NT_PREFIX}UNC\{}", collapse(share)));
    }
    let letter = target.chars().next().filter(char::is_ascii_alphabetic)?;
    let below = target.get(1..)?.strip_prefix(':')?;
    Some(format!(r"{NT_PREFIX}{letter}:\{}", collapse(below)))
}

/// Drops what Win32 drops on the way to an object name: empty names, `.`, and `..` with the name
/// before it. A trailing backslash stays.
fn collapse(below: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in below.split('\\') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    let mut text = names.join("\\");
    if below.ends_with('\\') && !names.is_empty() {
        text.push('\\');
    }
    text
}
