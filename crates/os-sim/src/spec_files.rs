//! Things of the node's surroundings that are one TOML file each: servers, targets.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use std::{fs, io};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::folder;
use crate::hardware::HardwareError;

/// The files `<folder>/<name>.toml`, each the specification of one thing.
#[derive(Debug, Clone)]
pub(crate) struct SpecFiles<T> {
    folder: PathBuf,
    /// Its kind, for errors.
    kind: &'static str,
    /// By name. Each file is read whenever it is needed, and parsed when its text is another.
    parsed: Arc<Mutex<HashMap<String, Parsed<T>>>>,
    names: Arc<Mutex<Names>>,
}

/// The names as the folder had them, which it has while it was not changed since: images of servers lie there too.
#[derive(Debug, Default)]
struct Names {
    all: Vec<String>,
    /// Of the folder when it was read, if that was long after. One just changed may change again in the same tick.
    changed: Option<SystemTime>,
}

/// Longer than a tick of the clock of ext4, XFS, Btrfs and tmpfs, which is the kernel's: 10 ms at most.
const TICK: Duration = Duration::from_millis(50);

/// A file's text, and what it specifies if it reads.
#[derive(Debug, Clone)]
struct Parsed<T> {
    text: String,
    spec: Option<Arc<T>>,
}

impl<T: Serialize + DeserializeOwned> SpecFiles<T> {
    pub(crate) fn new(folder: PathBuf, kind: &'static str) -> Self {
        Self {
            folder,
            kind,
            parsed: Arc::default(),
            names: Arc::default(),
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// All of them by name. One that does not read is as good as none, and is told of.
    pub(crate) fn all(&self) -> io::Result<Vec<(String, Arc<T>)>> {
        let mut all = Vec::new();
        for name in self.names()? {
            if let Some(spec) = self.get(&name)? {
                all.push((name, spec));
            }
        }
        Ok(all)
    }

    /// The one of this name, if there is one, as [`SpecFiles::all`] has it.
    pub(crate) fn get(&self, name: &str) -> io::Result<Option<Arc<T>>> {
        if check_name(name).is_err() {
            return Ok(None);
        }
        let text = folder::text(&self.file(name))?;
        Ok(text.and_then(|text| self.parsed(name, text)))
    }

    /// Adds one.
    pub(crate) fn add(&self, name: &str, spec: &T) -> Result<(), HardwareError> {
        check_name(name)?;
        if self.file(name).exists() {
            return Err(HardwareError::Exists(self.object(name)));
        }
        self.write(name, spec)
    }

    /// Changes one.
    pub(crate) fn change(&self, name: &str, act: impl FnOnce(&mut T)) -> Result<(), HardwareError> {
        let mut spec = self.read(name)?;
        act(&mut spec);
        self.write(name, &spec)
    }

    /// Takes one away, and nothing that lies beside its file.
    pub(crate) fn remove(&self, name: &str) -> Result<(), HardwareError> {
        check_name(name)?;
        let removed = folder::existing(fs::remove_file(self.file(name)));
        match removed.map_err(|source| self.failed(name, source))? {
            Some(()) => Ok(()),
            None => Err(HardwareError::Missing(self.object(name))),
        }
    }

    pub(crate) fn read(&self, name: &str) -> Result<T, HardwareError> {
        check_name(name)?;
        let text = folder::text(&self.file(name)).map_err(|source| self.failed(name, source))?;
        let text = text.ok_or_else(|| HardwareError::Missing(self.object(name)))?;
        toml::from_str(&text).map_err(|error| self.failed(name, io::Error::other(error)))
    }

    fn write(&self, name: &str, spec: &T) -> Result<(), HardwareError> {
        let text = toml::to_string(spec).map_err(io::Error::other);
        text.and_then(|text| {
            fs::create_dir_all(&self.folder)?;
            folder::replace(&self.file(name), text.as_bytes())
        })
        .map_err(|source| self.failed(name, source))
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let changed = folder::existing(self.folder.metadata())?;
        let changed = changed.and_then(|folder| folder.modified().ok());
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if changed.is_none() || names.changed != changed {
            let is_old = |changed: &SystemTime| changed.elapsed().is_ok_and(|age| age > TICK);
            names.changed = changed.filter(is_old);
            names.all = folder::stems(&self.folder, "toml")?;
        }
        Ok(names.all.clone())
    }

    fn parsed(&self, name: &str, text: String) -> Option<Arc<T>> {
        let mut all = self.parsed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all.get(name).filter(|known| known.text == text) {
            return known.spec.clone();
        }
        let spec = toml::from_str(&text).inspect_err(|error| {
            tracing::warn!(kind = self.kind, name, %error, "the file does not read");
        });
        let spec = spec.ok().map(Arc::new);
        let parsed = Parsed {
            text,
            spec: spec.clone(),
        };
        all.insert(name.to_owned(), parsed);
        spec
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.toml"))
    }

    fn object(&self, name: &str) -> String {
        format!("{} {name}", self.kind)
    }

    fn failed(&self, name: &str, source: io::Error) -> HardwareError {
        HardwareError::File {
            object: self.object(name),
            source,
        }
    }
}

/// Names become names of files, on every host.
pub(crate) fn check_name(name: &str) -> Result<(), HardwareError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.starts_with('.') || !name.chars().all(is_plain) {
        return Err(HardwareError::Name(name.to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::SpecFiles;

    #[test]
    fn one_is_added_changed_listed_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let files = SpecFiles::<Vec<String>>::new(folder.path().join("things"), "thing");
        assert!(files.all().unwrap().is_empty());
        assert!(files.remove("a").is_err());
        assert!(files.change("a", Vec::clear).is_err());
        for name in ["", "..", "a/b", r"a\b", ".hidden"] {
            assert!(files.remove(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn a_file_that_another_hand_changes_is_read_anew() {
        let folder = tempfile::tempdir().unwrap();
        let files = SpecFiles::<toml::Table>::new(folder.path().to_owned(), "thing");
        for text in ["x = 1", "x = 2", "x = ", "x = 1"] {
            std::fs::write(folder.path().join("a.toml"), text).unwrap();
            let read = files.get("a").unwrap();
            assert_eq!(
                read.as_deref(),
                toml::from_str(text).ok().as_ref(),
                "{text}"
            );
        }
        std::fs::remove_file(folder.path().join("a.toml")).unwrap();
        assert_eq!(files.get("a").unwrap(), None);
    }

    #[test]
    fn a_file_that_does_not_read_is_as_good_as_none() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.toml"), "x = ").unwrap();
        let files = SpecFiles::<toml::Table>::new(folder.path().to_owned(), "thing");
        assert!(files.all().unwrap().is_empty());
        files.add("b", &toml::Table::new()).unwrap();
        assert!(files.add("b", &toml::Table::new()).is_err());
        let names: Vec<_> = files
            .all()
            .unwrap()
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(names, ["b"]);
        files.remove("b").unwrap();
        assert!(files.all().unwrap().is_empty());
    }
}
