use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use program::hidden;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::Owner;
use super::credential::SecretHash;
use crate::record::{FILE_SYSTEM, StoreError, failed};
use crate::unpoisoned::Unpoisoned;

/// The namespace of the names of lease files: a random UUID, which stays.
const LEASES: Uuid = Uuid::from_u128(0x8d1b_6a0e_42c7_4f5d_b7f0_93c1_6e2a_5d84);

pub(super) const VERSION: u32 = 1;

/// What is written of a thing that is not foreign.
///
/// Fields that this version does not know are kept, and written back. What an older version must not overlook raises the
/// version.
#[derive(Serialize, Deserialize)]
pub(super) struct LeaseFile {
    pub(super) version: u32,
    pub(super) key: String,
    pub(super) owner: Owner,
    /// The boot in which the thing was made, if the node reports boots.
    pub(super) boot: Option<String>,
    pub(super) secret: Option<SecretHash>,
    /// Of the kind, and of later versions.
    #[serde(flatten)]
    pub(super) raw_fields: Map<String, Value>,
}

/// The files of leases of one kind, in the folder of the records. One that cannot be read stays as it is.
#[derive(Debug)]
pub(super) struct Files {
    folder: PathBuf,
    kind: &'static str,
    pub(super) unreadable: BTreeSet<PathBuf>,
    /// The texts of the files that are there, by key.
    written: Unpoisoned<BTreeMap<String, String>>,
}

impl Files {
    /// The files of a process before this one. None of them keeps a process from its start: a thing whose lease is not read
    /// is foreign.
    pub(super) fn open(folder: &Path, kind: &'static str) -> (Self, BTreeMap<String, LeaseFile>) {
        let mut files = Self {
            folder: folder.to_owned(),
            kind,
            unreadable: BTreeSet::new(),
            written: Unpoisoned::default(),
        };
        let mut leases = BTreeMap::new();
        for file in files.list() {
            match files.read(&file) {
                Ok((text, lease)) => {
                    files.written.lock().insert(lease.key.clone(), text);
                    leases.insert(lease.key.clone(), lease);
                }
                Err(error) => {
                    tracing::error!("the lease {} is not read: {error}", file.display());
                    files.unreadable.insert(file);
                }
            }
        }
        (files, leases)
    }

    /// Whether the lease of a thing is there and cannot be read.
    pub(super) fn is_unreadable(&self, key: &str) -> bool {
        self.unreadable.contains(&self.file(key))
    }

    /// Writes what `lease` has by the time at which no other call writes one, told whether there is a file; removes the
    /// file if that is nothing.
    pub(super) fn save(
        &self,
        key: &str,
        lease: impl FnOnce(bool) -> Option<LeaseFile>,
    ) -> Result<(), StoreError> {
        let file = self.file(key);
        if self.unreadable.contains(&file) {
            return Ok(());
        }
        let mut written = self.written.lock();
        let lease = lease(written.contains_key(key));
        let text = lease.map(|lease| serde_json::to_string(&lease)).transpose();
        match text.map_err(|error| failed("write", &file)(error.into()))? {
            None if written.contains_key(key) => {
                let removed = FILE_SYSTEM.remove(&file);
                removed.map_err(failed("remove", &file))?;
                written.remove(key);
            }
            Some(text) if written.get(key) != Some(&text) => {
                let replaced = FILE_SYSTEM.replace(&file, &text);
                replaced.map_err(failed("write", &file))?;
                written.insert(key.to_owned(), text);
            }
            _ => {}
        }
        Ok(())
    }

    fn list(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let prefix = format!("{}-", self.kind);
        let is_lease = |file: &PathBuf| {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(&prefix) && name.ends_with(".lease")
        };
        entries.map(|entry| entry.path()).filter(is_lease).collect()
    }

    fn read(&self, file: &Path) -> io::Result<(String, LeaseFile)> {
        let text = fs::read_to_string(file)?;
        let lease: LeaseFile = serde_json::from_str(&text)?;
        hidden::hide(&lease.key);
        match lease.version == VERSION && self.file(&lease.key) == file {
            true => Ok((text, lease)),
            false => Err(io::Error::other("it is of another version or thing")),
        }
    }

    fn file(&self, key: &str) -> PathBuf {
        let name = Uuid::new_v5(&LEASES, key.as_bytes());
        self.folder.join(format!("{}-{name}.lease", self.kind))
    }
}
