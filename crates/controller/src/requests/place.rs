use std::collections::BTreeMap;

use driver::kinds::share::attributes;
use smb::{Name, SharePath};

use super::RequestError;

/// Characters that a resolver, a server or a client may take for a separator.
const LIKE_SEPARATORS: [char; 4] = ['\u{2044}', '\u{2215}', '\u{ff0f}', '\u{ff3c}'];

/// A folder of a share, as the node reads a volume's source and `subDir`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// A name in DNS or an address.
    pub host: String,
    pub share: Name,
    /// The folder below which the volumes are; the share's root if the source has none.
    pub base: SharePath,
    pub folder: SharePath,
}

impl Place {
    /// The folder of a volume. What the node would refuse is, and what lies in the folder of the records.
    pub fn read(source: &str, folder: &str) -> Result<Self, RequestError> {
        check("source", source)?;
        check("subDir", folder)?;
        let (host, share) = server_and_share(source);
        let base = names(source, "")?;
        let mut names = names(source, folder)?;
        let folder = names.split_off(base.len());
        Ok(Self {
            host,
            share: Name::new(share)?,
            base: path(&base)?,
            folder: path(&folder)?,
        })
    }
}

/// The name of a volume, which is a file's and perhaps a folder's.
pub(crate) fn volume_name(name: &str) -> Result<Name, RequestError> {
    const SOMEWHERE: &str = "//server/share";
    if name.is_empty() {
        return Err(RequestError::Missing("name"));
    }
    if name.contains(['/', '\\']) {
        return Err(RequestError::Separator);
    }
    Place::read(SOMEWHERE, name)?;
    Ok(Name::new(name)?)
}

/// The names below the share, as the node reads them.
fn names(source: &str, folder: &str) -> Result<Vec<Name>, RequestError> {
    let pairs = [("source", source), ("subDir", folder)];
    let context: BTreeMap<_, _> = pairs
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into();
    let remote = attributes::remote(&context)?;
    let components = remote.path().components().iter();
    components
        .map(|component| {
            let text = component.as_os_str().to_string_lossy();
            match in_each_case(&text).any(|name| name == ".wincsi") {
                true => Err(RequestError::Records),
                false => Ok(Name::new(&text)?),
            }
        })
        .collect()
}

/// A name in lower case, by two ways: servers have rules of their own, and letters as `ı` are small, yet have another
/// one's capital.
fn in_each_case(name: &str) -> impl Iterator<Item = String> {
    [name.to_lowercase(), name.to_uppercase().to_lowercase()].into_iter()
}

/// Refuses what the node does not: names that a server, or the reader of a handle, may take for others.
fn check(of: &'static str, text: &str) -> Result<(), RequestError> {
    if text.trim() != text {
        return Err(RequestError::Blanks(of.to_owned()));
    }
    if text.contains("${") {
        return Err(RequestError::Template);
    }
    let is_refused = |one: &char| *one == '#' || LIKE_SEPARATORS.contains(one);
    match text.chars().find(is_refused) {
        Some(refused) => Err(RequestError::Character(refused)),
        None => Ok(()),
    }
}

/// The node has another name for a server with an IPv6 address.
fn server_and_share(source: &str) -> (String, &str) {
    let mut names = source.split(['/', '\\']).filter(|name| !name.is_empty());
    let host = names.next().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    (host.to_owned(), names.next().unwrap_or_default())
}

fn path(names: &[Name]) -> Result<SharePath, RequestError> {
    let root = SharePath::root();
    let path = names.iter().try_fold(root, |path, name| path.join(name));
    Ok(path?)
}
