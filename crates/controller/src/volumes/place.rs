//! Where folders are, by names without case and by ids, and which of them are links.

use smb::{Failure, FileId, Listing, SharePath};

use super::Error;
use super::call::{Call, prefixes};
use super::names::{Folder, fold};
use super::running::lock;

/// How many folders are remembered that are no links.
const MOST_PROVEN: usize = 10_000;

/// A folder and those above it, from the share's own down: a server may know one by several names (`data`, `Data`,
/// `LONGNA~1`), and another may have its name by now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Without case.
    pub(super) names: Vec<String>,
    /// Of those above it that are known to be there.
    pub(super) above: Vec<FileId>,
    /// Its own, if it is known to be there.
    pub(super) id: Option<FileId>,
}

/// What is at a folder's path.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) path: SharePath,
    /// The ids of the folders from the share's own down that are there, the folder's own last if it is.
    pub(super) ids: Vec<FileId>,
    pub(super) end: End,
    /// Whether a `.wincsi` is in it, where that was asked.
    pub(super) holds_records: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Folder(FileId),
    Missing,
    /// A file, there or on the way.
    File,
}

impl Place {
    /// A folder below a base folder.
    pub(super) fn new(base: &SharePath, folder: &Folder) -> Self {
        let names = base.names().iter().chain(folder.path().names());
        Self {
            names: names.map(fold).collect(),
            above: Vec::new(),
            id: None,
        }
    }

    /// Whether two folders are one, or one lies in the other.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.is_named_in(other)
            || other.is_named_in(self)
            || self.has_id_of(other)
            || other.has_id_of(self)
    }

    /// Whether a server may know one of two folders by a name that it made up, as `LONGNA~1`.
    pub(super) fn may_have_short_names(&self, other: &Self) -> bool {
        let mut names = self.names.iter().chain(&other.names);
        names.any(|name| name.contains('~'))
    }

    /// Whether by its name it is the other folder, or lies in it.
    pub(super) fn is_named_in(&self, other: &Self) -> bool {
        self.names.starts_with(&other.names)
    }

    /// Whether the other folder's id is its own, or that of one above it.
    pub(super) fn has_id_of(&self, other: &Self) -> bool {
        other.id.is_some()
            && (self.id == other.id || other.id.is_some_and(|id| self.above.contains(&id)))
    }
}

impl Found {
    /// Whether it is one of these folders, or lies in one.
    pub(super) fn is_in(&self, folders: &[FileId]) -> bool {
        self.ids.iter().any(|id| folders.contains(id))
    }

    /// The place of a folder that was looked for in a base folder.
    pub(super) fn place(&self, base: &SharePath, folder: &Folder) -> Place {
        let mut above = self.ids.clone();
        let id = match self.end {
            End::Folder(_) => above.pop(),
            End::Missing | End::File => None,
        };
        Place {
            above,
            id,
            ..Place::new(base, folder)
        }
    }
}

impl Call<'_> {
    /// What is at a path below the base folder. A folder is taken for one only if its `..` is the folder above.
    pub(super) fn find(&mut self, below: &SharePath) -> Result<Found, Error> {
        let paths = self.on_the_way(below)?;
        let looked = self.share.look(&paths, self.by)?;
        self.found(&paths, looked)
    }

    /// Whether the folder at a path below the base folder has this id. A link there is another folder.
    pub(super) fn has(&mut self, below: &SharePath, id: Option<FileId>) -> Result<bool, Error> {
        match self.find(below) {
            Err(Error::Share(error)) if error.failure == Failure::Link => Ok(false),
            found => {
                let end = found?.end;
                Ok(id.is_some_and(|id| end == End::Folder(id)))
            }
        }
    }

    /// The paths from below the base folder down to another one.
    pub(super) fn on_the_way(&self, below: &SharePath) -> Result<Vec<SharePath>, Error> {
        let mut path = self.base.path.clone();
        let paths = below.names().iter().map(|name| {
            let next = path.join(name);
            path = next.map_err(|error| self.base.blocked(&path, error))?;
            Ok(path.clone())
        });
        paths.collect()
    }

    /// What looks at each of these paths found.
    pub(super) fn found(
        &self,
        paths: &[SharePath],
        looked: Vec<smb::Result<Listing>>,
    ) -> Result<Found, Error> {
        let mut found = Found {
            path: paths.last().unwrap_or(&self.base.path).clone(),
            ids: self.ids.clone(),
            end: End::Folder(self.base_id),
            holds_records: false,
        };
        for (path, looked) in paths.iter().zip(looked) {
            if let End::Folder(above) = found.end {
                found.end = self.end(path, looked, above)?;
            }
            if let End::Folder(id) = found.end {
                // A link to a folder above.
                if found.ids.contains(&id) {
                    return Err(self.failed(path, Failure::Link).into());
                }
                found.ids.push(id);
            }
        }
        Ok(found)
    }

    /// Refuses links that the rule of `..` does not see: those to a folder beside them, which lists twice then. Once is
    /// enough for a path and id: a link that came since leads to the same folder.
    pub(super) fn prove(&mut self, found: &Found) -> Result<(), Error> {
        let paths = prefixes(&found.path).into_iter().zip(&found.ids);
        for (path, id) in paths.skip(self.ids.len()) {
            let key = (self.base.key_of(&path), *id);
            if lock(&self.volumes.proven).contains(&key) {
                continue;
            }
            let above = path.parent().unwrap_or_default();
            let listing = self.list_whole(&above)?;
            let same = listing.entries.iter().filter(|entry| entry.id == *id);
            if same.count() != 1 {
                return Err(self.failed(&path, Failure::Link).into());
            }
            let mut proven = lock(&self.volumes.proven);
            if proven.len() >= MOST_PROVEN {
                proven.clear();
            }
            proven.insert(key);
        }
        Ok(())
    }

    /// Makes the folders that are missing at a path, and returns the ids of all. The last that was made is told.
    pub(super) fn make_missing(
        &mut self,
        found: Found,
        made: &mut Option<(SharePath, FileId)>,
    ) -> Result<Vec<FileId>, Error> {
        let mut ids = found.ids;
        for path in prefixes(&found.path).into_iter().skip(ids.len()) {
            let above = ids.last().copied().unwrap_or(self.base_id);
            let new = match self.share.make_folder(&path, self.by) {
                Ok(id) => Some(id),
                Err(error) if error.failure == Failure::Exists => None,
                Err(error) => {
                    // It may have failed after the folder was made.
                    self.is_unsure = self.stat(&path).is_ok_and(|there| there.is_some());
                    return Err(error.into());
                }
            };
            if let Some(id) = new {
                *made = Some((path.clone(), id));
            }
            ids.push(self.enter(&path, new, above)?);
        }
        Ok(ids)
    }

    /// The id of a folder that was made or met. Where more than the base folder is above it, a link may have come into the
    /// place of one of these: then it is not where its path says.
    fn enter(
        &mut self,
        path: &SharePath,
        made: Option<FileId>,
        above: FileId,
    ) -> Result<FileId, Error> {
        if let Some(id) = made.filter(|_| above == self.base_id) {
            return Ok(id);
        }
        match self.folder_in(path, above)? {
            End::Folder(id) if made.is_none_or(|made| made == id) => Ok(id),
            End::Folder(_) => Err(self.failed(path, Failure::Link).into()),
            End::Missing | End::File => Err(self.failed(path, Failure::NotAFolder).into()),
        }
    }

    /// What is at a path, whose folder above has this id.
    pub(super) fn folder_in(&mut self, path: &SharePath, above: FileId) -> Result<End, Error> {
        let looked = self.share.look(std::slice::from_ref(path), self.by)?.pop();
        looked.map_or(Ok(End::Missing), |looked| self.end(path, looked, above))
    }

    /// What a look found at a path, whose folder above has this id.
    pub(super) fn end(
        &self,
        path: &SharePath,
        looked: smb::Result<Listing>,
        above: FileId,
    ) -> Result<End, Error> {
        let ids = match looked {
            Ok(ids) => ids,
            Err(error) if error.failure == Failure::NotFound => return Ok(End::Missing),
            Err(error) if error.failure == Failure::NotAFolder => return Ok(End::File),
            Err(error) => return Err(error.into()),
        };
        match ids.above {
            Some(found) if found != above => {
                return Err(self.failed(path, Failure::Link).into());
            }
            Some(_) => {}
            None => tracing::warn!(
                "{}: the server does not say which folder it is in, so only its kind shows that it is no link",
                self.base.at(path)
            ),
        }
        Ok(End::Folder(ids.id))
    }

    /// The ids at a path, as far as there is something. Those of the base folder are known.
    pub(super) fn ids_at(&mut self, path: &SharePath) -> Result<Vec<FileId>, Error> {
        let is_below = path.names().starts_with(self.base.path.names());
        let mut ids = if is_below {
            self.ids.clone()
        } else {
            Vec::new()
        };
        for path in prefixes(path).into_iter().skip(ids.len()) {
            match self.stat(&path)? {
                Some(id) => ids.push(id),
                None => break,
            }
        }
        Ok(ids)
    }
}
