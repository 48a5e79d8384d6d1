//! Layers as hcsshim imports them: tar archives with each file's Windows properties in PAX records.
//!
//! The records are those of go-winio's `backuptar`. A layer's own files lie below `Files/`. Each folder comes before
//! its content (hcsshim#1688). There are no times and no numbers of users, so the bytes are always the same.

use anyhow::Result;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tar::{Builder, EntryType, Header};

use super::{descriptor, hive};

const CONFIG: &str = "Files/Windows/System32/config";
const HIVES: [&str; 5] = ["DEFAULT", "SAM", "SECURITY", "SOFTWARE", "SYSTEM"];

/// The layer required by Windows below any other: folders, and hives without content.
pub(super) fn base() -> Result<Vec<u8>> {
    let mut layer = Layer::new();
    layer.folders(&["Files", "Files/Windows", "Files/Windows/System32", CONFIG])?;
    for name in HIVES {
        layer.file(&format!("{CONFIG}/{name}"), &hive::empty())?;
    }
    layer.end()
}

/// The layer with the exes, at its root, since the runtime starts them by their bare names.
pub(super) fn upper(exes: &[(&str, Vec<u8>)]) -> Result<Vec<u8>> {
    let mut layer = Layer::new();
    layer.folders(&["Files"])?;
    for (name, exe) in exes {
        layer.file(&format!("Files/{name}"), exe)?;
    }
    layer.folders(&["Hives"])?;
    layer.end()
}

/// The only layer of an image for Linux, with a program at its root.
pub(super) fn of_linux(name: &str, program: &[u8]) -> Result<Vec<u8>> {
    let mut archive = Builder::new(Vec::new());
    let mut header = Header::new_ustar();
    header.set_mode(0o755);
    header.set_size(program.len().try_into()?);
    archive.append_data(&mut header, name, program)?;
    Ok(archive.into_inner()?)
}

struct Layer {
    archive: Builder<Vec<u8>>,
    descriptor: String,
}

/// `FILE_ATTRIBUTE_DIRECTORY` and `FILE_ATTRIBUTE_ARCHIVE`.
const FOLDER: &[u8] = b"16";
const ARCHIVE: &[u8] = b"32";

impl Layer {
    fn new() -> Self {
        Self {
            archive: Builder::new(Vec::new()),
            descriptor: STANDARD.encode(descriptor::of_administrators(descriptor::FILE)),
        }
    }

    fn folders(&mut self, paths: &[&str]) -> Result<()> {
        let mut all = paths.iter();
        all.try_for_each(|path| self.entry(EntryType::Directory, FOLDER, path, &[]))
    }

    fn file(&mut self, path: &str, content: &[u8]) -> Result<()> {
        self.entry(EntryType::Regular, ARCHIVE, path, content)
    }

    fn entry(
        &mut self,
        kind: EntryType,
        attributes: &[u8],
        path: &str,
        content: &[u8],
    ) -> Result<()> {
        self.archive.append_pax_extensions([
            ("MSWINDOWS.fileattr", attributes),
            ("MSWINDOWS.rawsd", self.descriptor.as_bytes()),
        ])?;
        let mut header = Header::new_ustar();
        header.set_entry_type(kind);
        header.set_mode(0o755);
        header.set_size(content.len().try_into()?);
        self.archive.append_data(&mut header, path, content)?;
        Ok(())
    }

    fn end(self) -> Result<Vec<u8>> {
        Ok(self.archive.into_inner()?)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use tar::Archive;

    use super::*;

    fn exes() -> Vec<u8> {
        upper(&["a.exe", "b.exe"].map(|name| (name, b"MZ".to_vec()))).unwrap()
    }

    fn paths(layer: &[u8]) -> Vec<String> {
        let mut archive = Archive::new(layer);
        let entries = archive.entries().unwrap();
        entries
            .map(|entry| String::from_utf8(entry.unwrap().path_bytes().into()).unwrap())
            .collect()
    }

    #[test]
    fn each_folder_comes_before_what_lies_in_it() {
        for layer in [base().unwrap(), exes()] {
            let mut seen = BTreeSet::new();
            for path in paths(&layer) {
                let parent = path.rsplit_once('/').map(|(parent, _)| parent.to_owned());
                assert!(parent.is_none_or(|parent| seen.contains(&parent)), "{path}");
                seen.insert(path);
            }
        }
    }

    #[test]
    fn the_layers_have_what_hcsshim_wants_and_nothing_is_taken_away() {
        let (base, upper) = (paths(&base().unwrap()), paths(&exes()));
        let hives = base.iter().filter(|path| path.starts_with(CONFIG)).count();
        assert_eq!((hives, base.len()), (1 + HIVES.len(), 4 + HIVES.len()));
        assert_eq!(upper, ["Files", "Files/a.exe", "Files/b.exe", "Hives"]);
    }
}
