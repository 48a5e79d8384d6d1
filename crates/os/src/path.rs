use std::ffi::{OsStr, OsString};
use std::fmt;
use std::str::FromStr;

use crate::VolumeId;

/// An absolute Windows path, parsed once: no `.`, no `..`, no empty or dangerous component.
///
/// `\` and `/` both separate, on every operating system; repeated and trailing separators are
/// dropped; `\\?\` in front is understood and not kept. What Win32 would silently change into
/// another name (trailing dots and blanks, reserved device names, stream suffixes) is refused, so
/// that the name that was checked is the name that is used. Source:
/// <https://learn.microsoft.com/windows/win32/fileio/naming-a-file>.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WinPath {
    root: Root,
    components: Vec<Component>,
}

impl WinPath {
    /// The root itself.
    #[must_use]
    pub fn of_root(root: Root) -> Self {
        Self {
            root,
            components: Vec::new(),
        }
    }

    /// Parses a path, taking `drive` for one that begins with a separator but names no drive
    /// (`\var\lib\kubelet`, `/var/lib/kubelet`).
    ///
    /// # Errors
    /// As [`WinPath::from_str`], but for [`PathError::NotAbsolute`] in that case.
    pub fn parse_on_drive(text: &str, drive: char) -> Result<Self, PathError> {
        if is_rooted_without_drive(text) {
            return format!("{drive}:{text}").parse();
        }
        text.parse()
    }

    /// Parses a name of the object manager as reparse points store it: `\??\C:\x`,
    /// `\??\UNC\host\share\x`, `\??\Volume{GUID}\`.
    ///
    /// # Errors
    /// As [`WinPath::from_str`]; [`PathError::NotAbsolute`] for a name outside `\??\`.
    pub fn parse_nt(text: &str) -> Result<Self, PathError> {
        let rest = text.strip_prefix(r"\??\").ok_or(PathError::NotAbsolute)?;
        parse_verbatim(rest)
    }

    /// The root of the path.
    #[must_use]
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// The names below the root.
    #[must_use]
    pub fn components(&self) -> &[Component] {
        &self.components
    }

    /// The last name; `None` for a root.
    #[must_use]
    pub fn name(&self) -> Option<&Component> {
        self.components.last()
    }

    /// The path without its last name; `None` for a root.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        let (_, above) = self.components.split_last()?;
        Some(Self {
            root: self.root.clone(),
            components: above.to_vec(),
        })
    }

    /// The path of an entry in this directory.
    #[must_use]
    pub fn join(&self, name: Component) -> Self {
        let mut joined = self.clone();
        joined.push(name);
        joined
    }

    /// Makes it the path of an entry in this directory.
    pub fn push(&mut self, name: Component) {
        self.components.push(name);
    }

    /// The first `depth` names of the path.
    #[must_use]
    pub fn prefix(&self, depth: usize) -> Self {
        Self {
            root: self.root.clone(),
            components: self.components.iter().take(depth).cloned().collect(),
        }
    }

    /// Whether this is `ancestor` or lies below it. Names compare whole, so a sibling such as
    /// `kubelet-evil` is not inside `kubelet`, and without regard to ASCII case alone: Unicode joins
    /// names that NTFS keeps apart (U+212A, the kelvin sign, with `k`).
    #[must_use]
    pub fn is_within(&self, ancestor: &Self) -> bool {
        let roots = (self.root.to_string(), ancestor.root.to_string());
        roots.0.eq_ignore_ascii_case(&roots.1)
            && self.components.len() >= ancestor.components.len()
            && self
                .components
                .iter()
                .zip(&ancestor.components)
                .all(|(ours, theirs)| ours.0.eq_ignore_ascii_case(&theirs.0))
    }

    /// A text that two paths share when Windows takes them for the same: the key of locks and maps.
    ///
    /// Windows compares with a table of its own. Unicode lower case is coarser: it may join names that
    /// Windows keeps apart, which costs a lock a wait, but decides nothing.
    #[must_use]
    pub fn folded(&self) -> String {
        let mut text = self.root.folded();
        for component in &self.components {
            text.push('\\');
            text.push_str(&component.folded());
        }
        text
    }

    /// The form for calls on the object itself, free of Win32's parsing and length limit: `\\?\C:\x`,
    /// `\\?\UNC\host\share\x`, `\\?\Volume{GUID}\x`.
    #[must_use]
    pub fn to_verbatim(&self) -> OsString {
        let mut text = OsString::from(self.root.verbatim());
        self.push_components(&mut text);
        text
    }

    /// The plain form, as links store it and people read it.
    #[must_use]
    pub fn to_plain(&self) -> OsString {
        let mut text = OsString::from(self.root.to_string());
        self.push_components(&mut text);
        text
    }

    fn push_components(&self, text: &mut OsString) {
        for (index, component) in self.components.iter().enumerate() {
            if index > 0 {
                text.push("\\");
            }
            text.push(component.as_os_str());
        }
    }
}

impl fmt::Display for WinPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_plain().to_string_lossy())
    }
}

impl FromStr for WinPath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        let text = text.replace('/', "\\");
        if let Some(rest) = text.strip_prefix(r"\\?\") {
            return parse_verbatim(rest);
        }
        match text.strip_prefix(r"\\") {
            Some(rest) => parse_share(rest),
            None => parse_drive(&text),
        }
    }
}

/// The root of an absolute path. Prints with a trailing backslash.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Root {
    /// A drive letter, in upper case.
    Drive(char),
    /// A share of a server.
    Share {
        /// The server's name or address.
        host: String,
        /// The share's name.
        share: String,
    },
    /// A volume by its GUID.
    Volume(VolumeId),
}

impl Root {
    fn verbatim(&self) -> String {
        match self {
            Self::Drive(letter) => format!(r"\\?\{letter}:\"),
            Self::Share { host, share } => format!(r"\\?\UNC\{host}\{share}\"),
            Self::Volume(id) => id.to_string(),
        }
    }

    fn folded(&self) -> String {
        self.to_string().trim_end_matches('\\').to_lowercase()
    }
}

impl fmt::Display for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Drive(letter) => write!(f, r"{letter}:\"),
            Self::Share { host, share } => write!(f, r"\\{host}\{share}\"),
            Self::Volume(id) => id.fmt(f),
        }
    }
}

/// One name of a path: never empty, `.`, `..`, nor with a separator or NUL in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Component(OsString);

impl Component {
    /// Parses a name that a client gave.
    ///
    /// # Errors
    /// A character or form that Windows refuses or changes.
    pub fn parse(name: &str) -> Result<Self, PathError> {
        refuse_structure(name)?;
        refuse_characters(name)?;
        refuse_changing_forms(name)?;
        Ok(Self(OsString::from(name)))
    }

    /// Takes a name that the system listed. Such names exist, so what Win32 could not create is let
    /// through, and is reached by its verbatim path.
    ///
    /// # Errors
    /// Empty, `.`, `..`, a separator or NUL: no entry can be called that.
    pub fn listed(name: OsString) -> Result<Self, PathError> {
        refuse_structure(&name.to_string_lossy())?;
        Ok(Self(name))
    }

    /// The name.
    #[must_use]
    pub fn as_os_str(&self) -> &OsStr {
        &self.0
    }

    fn folded(&self) -> String {
        self.0.to_string_lossy().to_lowercase()
    }
}

impl fmt::Display for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_string_lossy())
    }
}

/// Why a text is no path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// A name with `..`, or `.`.
    #[error("path has a relative component")]
    Relative,
    /// A name that Windows takes for a device.
    #[error("path names the device {0:?}")]
    Device(String),
    /// A character that no name may have.
    #[error("path has the character {0:?}")]
    Character(char),
    /// The text is empty.
    #[error("path is empty")]
    Empty,
    /// No drive, share or volume in front.
    #[error("path is not absolute")]
    NotAbsolute,
    /// A name that ends in a dot or a blank, which Windows would drop.
    #[error("path has a name that ends in a dot or a blank: {0:?}")]
    Trailing(String),
}

fn is_rooted_without_drive(text: &str) -> bool {
    let mut characters = text.chars();
    let is_separator = |c: Option<char>| matches!(c, Some('/' | '\\'));
    is_separator(characters.next()) && !is_separator(characters.next())
}

fn parse_verbatim(rest: &str) -> Result<WinPath, PathError> {
    if let Some(share) = strip_prefix_ignoring_case(rest, r"UNC\") {
        return parse_share(share);
    }
    if strip_prefix_ignoring_case(rest, "Volume{").is_none() {
        return parse_drive(rest);
    }
    let (volume, below) = rest.split_once('\\').unwrap_or((rest, ""));
    let id = format!(r"\\?\{volume}")
        .parse()
        .map_err(|_| PathError::NotAbsolute)?;
    with_components(Root::Volume(id), below)
}

fn strip_prefix_ignoring_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (head, tail) = text.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then_some(tail)
}

fn parse_drive(text: &str) -> Result<WinPath, PathError> {
    let mut characters = text.chars();
    let letter = characters.next().ok_or(PathError::Empty)?;
    let below = characters.as_str().strip_prefix(":\\");
    match below {
        Some(below) if letter.is_ascii_alphabetic() => {
            with_components(Root::Drive(letter.to_ascii_uppercase()), below)
        }
        _ => Err(PathError::NotAbsolute),
    }
}

fn parse_share(text: &str) -> Result<WinPath, PathError> {
    let mut names = text.splitn(3, '\\');
    let (Some(host), Some(share)) = (names.next(), names.next()) else {
        return Err(PathError::NotAbsolute);
    };
    if host.is_empty() || share.is_empty() {
        return Err(PathError::NotAbsolute);
    }
    let root = Root::Share {
        host: checked_host(host)?,
        share: Component::parse(share)?.to_string(),
    };
    with_components(root, names.next().unwrap_or(""))
}

fn checked_host(host: &str) -> Result<String, PathError> {
    refuse_structure(host)?;
    refuse_characters(host)?;
    Ok(host.to_owned())
}

fn with_components(root: Root, below: &str) -> Result<WinPath, PathError> {
    let components = below
        .split('\\')
        .filter(|name| !name.is_empty())
        .map(Component::parse)
        .collect::<Result<_, _>>()?;
    Ok(WinPath { root, components })
}

fn refuse_structure(name: &str) -> Result<(), PathError> {
    match name {
        "" => Err(PathError::Empty),
        "." | ".." => Err(PathError::Relative),
        _ => match name.chars().find(|c| matches!(c, '\0' | '\\' | '/')) {
            Some(character) => Err(PathError::Character(character)),
            None => Ok(()),
        },
    }
}

fn refuse_characters(name: &str) -> Result<(), PathError> {
    let forbidden = |c: &char| c.is_control() || r#"<>:"|?*"#.contains(*c);
    match name.chars().find(forbidden) {
        Some(character) => Err(PathError::Character(character)),
        None => Ok(()),
    }
}

fn refuse_changing_forms(name: &str) -> Result<(), PathError> {
    if name.ends_with(['.', ' ']) {
        return Err(PathError::Trailing(name.to_owned()));
    }
    let stem = name.split('.').next().unwrap_or(name).trim_end();
    if is_device(stem) {
        return Err(PathError::Device(stem.to_owned()));
    }
    Ok(())
}

fn is_device(stem: &str) -> bool {
    const NAMES: [&str; 6] = ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"];
    if NAMES.iter().any(|name| stem.eq_ignore_ascii_case(name)) {
        return true;
    }
    let mut characters = stem.chars();
    let Some(last) = characters.next_back() else {
        return false;
    };
    let port = characters.as_str();
    (port.eq_ignore_ascii_case("COM") || port.eq_ignore_ascii_case("LPT"))
        && (matches!(last, '1'..='9' | '\u{b9}' | '\u{b2}' | '\u{b3}'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Component, PathError, WinPath};

    fn path(text: &str) -> WinPath {
        text.parse().expect(text)
    }

    #[test]
    fn both_separators_and_any_number_of_them_make_the_same_path() {
        assert_eq!(path(r"c:\var\lib"), path("C:/var//lib/"));
        assert_eq!(path(r"\\?\C:\var\lib"), path(r"C:\var\lib"));
        assert_eq!(path(r"\\host\share\sub").to_string(), r"\\host\share\sub");
        assert_eq!(path("//host/share").to_string(), r"\\host\share\");
        assert_eq!(path(r"\\?\UNC\host\share\sub"), path(r"\\host\share\sub"));
        assert_eq!(path("C:/").to_string(), r"C:\");
    }

    /// Guards: P49
    #[test]
    fn verbatim_forms_keep_their_kind() {
        assert_eq!(path("C:/a/b").to_verbatim(), r"\\?\C:\a\b");
        assert_eq!(path("//h/s/b").to_verbatim(), r"\\?\UNC\h\s\b");
        let volume = r"\\?\Volume{6f1c2d3e-0a4b-4c5d-8e6f-7a8b9c0d1e2f}\a";
        assert_eq!(path(volume).to_verbatim(), volume);
        assert_eq!(
            WinPath::parse_nt(&volume.replacen(r"\\?\", r"\??\", 1)),
            Ok(path(volume))
        );
    }

    /// Guards: P49
    #[test]
    fn what_windows_would_change_is_refused() {
        for text in [
            "",
            "C:",
            "C",
            "var",
            r"\var",
            "/var",
            r"C:\a\..\b",
            r"C:\.\b",
            r"C:\a.",
            r"C:\a ",
            r"C:\a:stream",
            r"C:\nul",
            r"C:\NUL.txt",
            r"C:\com1",
            r"C:\LPT9.x",
            r"C:\a*",
            r"C:\a?",
            "C:\\a\0b",
            "C:\\a\nb",
            r"C:\<",
            r"\\host",
            r"\\host\",
            r"\\\share",
            r"\\.\pipe\x\..",
            r"1:\a",
            r"\\?\GLOBALROOT\Device",
            r"\??\C:\a",
            "\u{e9}:\\a",
        ] {
            assert!(text.parse::<WinPath>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_path_without_a_drive_gets_one_only_when_asked() {
        assert_eq!(
            WinPath::parse_on_drive("/var/lib", 'C'),
            Ok(path(r"C:\var\lib"))
        );
        assert_eq!(WinPath::parse_on_drive(r"\var", 'D'), Ok(path(r"D:\var")));
        assert_eq!(
            WinPath::parse_on_drive("var", 'C'),
            Err(PathError::NotAbsolute)
        );
        assert_eq!(WinPath::parse_on_drive(r"\\h\s", 'C'), Ok(path(r"\\h\s")));
    }

    #[test]
    fn a_sibling_with_the_same_beginning_is_outside() {
        let kubelet = path(r"C:\var\lib\kubelet");
        assert!(path(r"c:\VAR\lib\Kubelet\pods").is_within(&kubelet));
        assert!(kubelet.is_within(&kubelet));
        assert!(!path(r"C:\var\lib\kubelet-evil").is_within(&kubelet));
        assert!(!path(r"D:\var\lib\kubelet").is_within(&kubelet));
        assert!(!path("C:\\var\\lib\\\u{212a}ubelet").is_within(&kubelet));
        assert!(!path(r"C:\var\lib").is_within(&kubelet));
    }

    #[test]
    fn listed_names_may_be_what_win32_cannot_create() {
        assert!(Component::listed("trailing. ".into()).is_ok());
        assert!(Component::listed("nul".into()).is_ok());
        assert!(Component::listed("..".into()).is_err());
        assert!(Component::listed("a\\b".into()).is_err());
    }

    proptest! {
        #[test]
        fn parsing_never_panics_and_printing_parses_back(text in "(C:|//|\\\\\\\\\\?\\\\)?[a-zA-Z./\\\\ é:*{}]{0,24}") {
            if let Ok(parsed) = text.parse::<WinPath>() {
                prop_assert_eq!(parsed.to_string().parse::<WinPath>(), Ok(parsed.clone()));
                let verbatim = parsed.to_verbatim().to_string_lossy().into_owned();
                prop_assert_eq!(verbatim.parse::<WinPath>(), Ok(parsed));
            }
        }
    }
}
