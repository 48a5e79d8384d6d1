//! Names of volumes and folders, as they are compared and as files are named for them.

use sha2::{Digest, Sha256};
use smb::{Name, NameError, SharePath};

/// The folder of a base that has its records.
pub(super) const RECORDS: &str = ".wincsi";
/// How the folders of archived volumes begin.
pub(super) const ARCHIVED: &str = "archived-";

/// A volume's folder, by its path below the base folder: never the base folder itself, with no part `.wincsi` and no first
/// part that begins `archived-`, both in any case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder(SharePath);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FolderError {
    #[error("it is the base folder itself")]
    Empty,
    #[error("it has a part .wincsi, which holds the records of volumes")]
    Records,
    #[error("it begins with archived-, as the folders of archived volumes do")]
    Archive,
}

impl Folder {
    pub fn new(path: SharePath) -> Result<Self, FolderError> {
        let names: Vec<String> = path.names().iter().map(fold).collect();
        let first = names.first().ok_or(FolderError::Empty)?;
        if names.iter().any(|name| name == RECORDS) {
            return Err(FolderError::Records);
        }
        if first.starts_with(ARCHIVED) {
            return Err(FolderError::Archive);
        }
        Ok(Self(path))
    }

    /// Its path below the base folder.
    pub fn path(&self) -> &SharePath {
        &self.0
    }

    /// Whether its last part is this name, which no other volume has.
    pub(super) fn is_named(&self, volume: &Name) -> bool {
        self.0.names().last() == Some(volume)
    }
}

/// What the files of a volume are named in `.wincsi`: its name if no two servers read that differently, else a hash.
pub(super) fn key(volume: &Name) -> String {
    let text = text(volume);
    let is_plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
    // Windows's names of devices are shorter, the hashes longer.
    match (5..=64).contains(&text.len()) && text.bytes().all(is_plain) {
        true => text,
        false => format!("sha256-{}", hash(volume.units())),
    }
}

/// The name of a volume whose handle has only a folder, so that its delete has a lock and a record too.
pub(super) fn named_for(folder: &Folder) -> Result<Name, NameError> {
    let parts: Vec<&[u16]> = folder.0.names().iter().map(Name::units).collect();
    let units = parts.join([u16::from(b'/')].as_slice());
    let digits: String = hash(&units).chars().take(40).collect();
    Name::new(&format!("folder-{digits}"))
}

/// Whether a path has a part in which archives or records are, so that no base folder may be there.
pub(super) fn is_reserved(base: &SharePath) -> bool {
    let mut names = base.names().iter().map(fold);
    names.any(|name| name == RECORDS || name.starts_with(ARCHIVED))
}

/// A name without case, as servers compare it. Where they differ about a letter, two names may be one here: then a folder
/// stays that could go.
pub(super) fn fold(name: &Name) -> String {
    let alone = |mut mapped: Vec<char>, c| match mapped.pop() {
        Some(only) if mapped.is_empty() => only,
        _ => c,
    };
    text(name)
        .chars()
        .map(|c| alone(c.to_uppercase().collect(), c))
        .map(|c| alone(c.to_lowercase().collect(), c))
        .collect()
}

/// What the log, errors and this process call a volume or snapshot.
pub(super) fn label(kind: &str, name: &Name) -> String {
    format!("{kind} {}", text(name))
}

/// A name as text; what is no Unicode becomes one letter.
pub(super) fn text(name: &Name) -> String {
    String::from_utf16_lossy(name.units())
}

fn hash(units: &[u16]) -> String {
    let bytes: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
    hex(&Sha256::digest(bytes))
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A path with `/` between its names, as [`SharePath::new`] reads it.
pub(super) fn path_text(path: &SharePath) -> String {
    let names: Vec<String> = path.names().iter().map(text).collect();
    names.join("/")
}

#[cfg(test)]
mod tests {
    use smb::{Name, SharePath};

    use super::{Folder, FolderError, fold, key};

    #[test]
    fn folders_of_records_and_archives_are_refused() {
        for (path, error) in [
            ("", FolderError::Empty),
            (".wincsi", FolderError::Records),
            ("a/.WinCSI/b", FolderError::Records),
            (".w\u{131}nc\u{17f}i", FolderError::Records),
            ("archived-", FolderError::Archive),
            ("Archived-a/b", FolderError::Archive),
            ("arch\u{131}ved-a", FolderError::Archive),
        ] {
            let path = SharePath::new(path).unwrap();
            assert_eq!(Folder::new(path.clone()), Err(error), "{path}");
        }
        for path in ["a", "a/archived-b", ".wincs", "archived", "x.wincsi"] {
            assert!(Folder::new(SharePath::new(path).unwrap()).is_ok(), "{path}");
        }
    }

    #[test]
    fn each_name_has_a_key_of_its_own() {
        let names = ["pvc-1", "Pvc-1", "pvc_1", "nul", "\u{e4}", "p\u{28}vc-1"];
        let key = |name: &str| key(&Name::new(name).unwrap());
        let mut keys = names.map(key).to_vec();
        keys.push(key(&keys[1]));
        assert_eq!(keys[0], "pvc-1");
        assert!(keys.iter().all(|key| key.len() < 80 && key.is_ascii()));
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), 7);
    }

    #[test]
    fn case_is_folded_letter_by_letter() {
        let fold = |name| fold(&Name::new(name).unwrap());
        for (one, other, is_same) in [
            ("Data", "dATA", true),
            ("\u{c4}", "\u{e4}", true),
            ("\u{3c3}", "\u{3c2}", true),
            ("stra\u{df}e", "strasse", false),
            ("a", "b", false),
        ] {
            assert_eq!(fold(one) == fold(other), is_same, "{one} {other}");
        }
    }
}
