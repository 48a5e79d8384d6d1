//! Texts and paths in Win32's form.
//!
//! A path goes out in its verbatim form (`\\?\`), so it may have any length and Win32 does not interpret its names.
//! Microsoft documents the calls on mounted folders (`SetVolumeMountPointW`, `DeleteVolumeMountPointW` and the queries
//! beside them) with plain paths, and no run of ours has shown Windows accepting others. These calls get the plain form
//! if it has fewer than 258 units (`MAX_PATH` then has room for the trailing backslash and the NUL) and parses back to
//! the checked path. Otherwise they get the verbatim form, since there is no other.

use std::ffi::{OsStr, OsString};
use std::os::windows::ffi::{OsStrExt, OsStringExt};

use formats::multi_string;
use os::{Cause, Win32, WinPath};

/// A text for a Win32 call: UTF-16 with one NUL, at its end.
pub(crate) struct Wide(Vec<u16>);

impl Wide {
    /// The text.
    ///
    /// # Errors
    /// [`Win32::INVALID_NAME`] when there is a NUL in it: the system would see less than was meant.
    pub(crate) fn new(text: impl AsRef<OsStr>) -> Result<Self, Win32> {
        let mut units: Vec<u16> = text.as_ref().encode_wide().collect();
        if units.contains(&0) {
            return Err(Win32::INVALID_NAME);
        }
        units.push(0);
        Ok(Self(units))
    }

    /// A path in its verbatim form.
    ///
    /// # Errors
    /// As [`Wide::new`].
    pub(crate) fn path(path: &WinPath) -> Result<Self, Win32> {
        Self::new(path.to_verbatim())
    }

    /// The pattern of a search for everything in a directory.
    ///
    /// # Errors
    /// As [`Wide::new`].
    pub(crate) fn everything_in(directory: &WinPath) -> Result<Self, Win32> {
        let mut pattern = with_backslash(directory.to_verbatim());
        pattern.push("*");
        Self::new(pattern)
    }

    /// A path with a trailing backslash, as required by the calls on mounted folders. They are
    /// documented with plain paths, so the verbatim form is only for a path beyond `MAX_PATH`, or
    /// with a name that Win32 would change.
    ///
    /// # Errors
    /// As [`Wide::new`].
    pub(crate) fn folder(path: &WinPath) -> Result<Self, Win32> {
        Self::new(with_backslash(plain_or_verbatim(path)))
    }

    /// A symbolic link by its path, in the verbatim form, and its stored target: the unchanged text. Others read the
    /// target, and expect `C:\` or `\\host\share`.
    ///
    /// # Errors
    /// As [`Wide::new`].
    pub(crate) fn symlink(link: &WinPath, target: &str) -> Result<(Self, Self), Win32> {
        Ok((Self::path(link)?, Self::new(target)?))
    }

    /// The text for a call, valid as long as this is.
    pub(crate) fn as_ptr(&self) -> *const u16 {
        self.0.as_ptr()
    }
}

/// The text at the start of a call's buffer, up to its NUL.
pub(crate) fn text(buffer: &[u16]) -> OsString {
    let end = buffer.iter().position(|unit| *unit == 0);
    OsString::from_wide(&buffer[..end.unwrap_or(buffer.len())])
}

/// The texts of a list: each ends in a NUL, and an empty one ends the list.
///
/// # Errors
/// The list has no end.
pub(crate) fn texts(buffer: &[u16]) -> Result<Vec<OsString>, Cause> {
    let texts = multi_string::texts(buffer);
    let texts = texts.map_err(|error| Cause::Malformed(error.to_string()))?;
    Ok(texts.into_iter().map(OsString::from_wide).collect())
}

fn plain_or_verbatim(path: &WinPath) -> OsString {
    let plain = path.to_plain();
    let means_the_same = plain
        .to_str()
        .is_some_and(|text| text.parse().as_ref() == Ok(path));
    if means_the_same && plain.encode_wide().count() < LONGEST_PLAIN {
        plain
    } else {
        path.to_verbatim()
    }
}

/// `MAX_PATH` without the backslash and the NUL after it.
const LONGEST_PLAIN: usize = 258;

/// A root's own text ends in a backslash already.
fn with_backslash(mut text: OsString) -> OsString {
    if !text.to_string_lossy().ends_with('\\') {
        text.push("\\");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use os::{Component, Win32, WinPath};

    use super::{Wide, plain_or_verbatim, text, texts, with_backslash};

    fn units(text: &str) -> Vec<u16> {
        text.encode_utf16().collect()
    }

    /// Guards: P49
    #[test]
    fn a_nul_never_cuts_a_path_short() {
        assert_eq!(Wide::new("a\0b").err(), Some(Win32::INVALID_NAME));
        assert_eq!(Wide::new("a").map(|wide| wide.0), Ok(vec![0x61, 0]));
    }

    #[test]
    fn a_folder_ends_in_one_backslash() {
        let text = |path: WinPath| with_backslash(plain_or_verbatim(&path));
        let parsed = |path: &str| -> WinPath { path.parse().expect(path) };
        assert_eq!(text(parsed(r"C:\")), r"C:\");
        assert_eq!(text(parsed(r"C:\a")), r"C:\a\");
        assert_eq!(text(parsed(r"\\host\share")), r"\\host\share\");
        let listed = |name: &str| Component::listed(name.into()).expect(name);
        let dotted = parsed(r"C:\").join(listed("dot."));
        assert_eq!(text(dotted), r"\\?\C:\dot.\");
        let long = parsed(r"C:\")
            .join(listed(&"x".repeat(255)))
            .join(listed("y"));
        assert!(text(long).to_string_lossy().starts_with(r"\\?\C:\x"));
    }

    #[test]
    fn a_symlink_has_a_verbatim_path_and_a_plain_target() {
        let texts = |link: &str, target: &str| {
            let [link, target] = [link, target].map(|path| path.parse::<WinPath>().expect(path));
            let (link, target) = Wide::symlink(&link, &target.to_string()).expect("no NUL");
            [link, target].map(|wide| text(&wide.0))
        };
        let (local, verbatim) = (r"C:\pods\a\mount", r"\\?\C:\pods\a\mount");
        let folder = r"D:\staged\b";
        assert_eq!(texts(local, folder), [verbatim, folder]);
        assert_eq!(texts(verbatim, r"\\?\D:\staged\b"), [verbatim, folder]);
        let share = r"\\host\share\folder";
        assert_eq!(texts(local, share), [verbatim, share]);
        assert_eq!(
            texts(local, r"\\?\UNC\host\share\folder"),
            [verbatim, share]
        );
        let on_share = r"\\?\UNC\host\share\link";
        assert_eq!(texts(r"\\host\share\link", folder), [on_share, folder]);
        let root = r"\\host\share\";
        let (_, target) = Wide::symlink(&local.parse().expect(local), root).expect("no NUL");
        assert_eq!(text(&target.0), root);
    }

    #[test]
    fn buffers_end_at_their_nul_and_lists_at_their_empty_text() {
        assert_eq!(text(&units("ab\0cd")), OsStr::new("ab"));
        assert_eq!(text(&units("ab")), OsStr::new("ab"));
        let listed = texts(&units("C:\\\0C:\\m\\\0\0rest")).expect("it ends");
        assert_eq!(listed, ["C:\\", "C:\\m\\"]);
        assert_eq!(texts(&units("\0")), Ok(Vec::new()));
        assert!(texts(&units("C:\\")).is_err());
    }

    #[test]
    fn lone_surrogates_survive() {
        assert_eq!(text(&[0x61, 0xD800, 0]).len(), 4);
    }
}
