//! Files, directories and links.

mod error;
mod remove;

use os::Deadline;
use os::Entry;
use os::Files;
use os::LinkKind;
use os::Root;
use os::Win32;
use os::WinPath;

pub use self::error::FilesystemError;
use self::remove::Walk;
use crate::Node;
use crate::link;
use crate::link::Leads;
use crate::locks::Held;
use crate::locks::Key;

/// The operations on files, directories and links of a [`Node`].
///
/// Paths are taken as they are: whether a client may name them is for the caller to decide.
pub struct Filesystem<'a> {
    node: &'a Node,
}

impl<'a> Filesystem<'a> {
    pub(crate) fn new(node: &'a Node) -> Self {
        Self { node }
    }

    /// Whether an entry of this name exists; a dangling link does.
    ///
    /// # Errors
    /// The path cannot be looked at for another reason than that it is missing.
    pub fn path_exists(&self, path: &WinPath, deadline: Deadline) -> Result<bool, FilesystemError> {
        self.node.check(deadline, "look at", path)?;
        Ok(self.look(path)?.is_some())
    }

    /// Creates a directory and those above it; one that is there already, or a link to one, is
    /// success.
    ///
    /// # Errors
    /// Something other than a directory has the name, or Windows refuses.
    pub fn make_directory(
        &self,
        path: &WinPath,
        deadline: Deadline,
    ) -> Result<(), FilesystemError> {
        let _held = self.lock("mkdir", path, deadline)?;
        let depth = path.components().len();
        let mut ready = depth;
        while let Err(error) = self.make_one(&path.prefix(ready)) {
            if ready < 2 || !error.is_missing_parent() {
                return Err(error);
            }
            ready -= 1;
        }
        for below in ready + 1..=depth {
            self.node.check(deadline, "mkdir", path)?;
            self.make_one(&path.prefix(below))?;
        }
        Ok(())
    }

    /// Removes one entry: a file, an empty directory, or a link, junction or mounted folder, whose
    /// target stays untouched.
    ///
    /// # Errors
    /// There is no such entry, a directory is not empty, or Windows refuses.
    pub fn remove_entry(&self, path: &WinPath, deadline: Deadline) -> Result<(), FilesystemError> {
        let _held = self.lock("remove", path, deadline)?;
        let entry = self.files().entry(path);
        let entry = entry.map_err(FilesystemError::remove(path))?;
        remove::entry(self.files(), path, &entry).map_err(FilesystemError::remove(path))
    }

    /// Removes an entry and, if it is a plain directory, everything in it. What is missing already
    /// is success. No reparse point is entered, the path itself included: links, junctions and
    /// mounted folders go as entries, and what they lead to stays.
    ///
    /// # Errors
    /// An entry cannot be removed; those before it are gone.
    pub fn remove_tree(&self, path: &WinPath, deadline: Deadline) -> Result<(), FilesystemError> {
        let _held = self.lock_tree("remove", path, deadline)?;
        Walk::new(self.node, path, deadline).remove()
    }

    /// Empties a plain directory, as [`Filesystem::remove_tree`] does, and keeps it.
    ///
    /// # Errors
    /// There is no such directory, it is a reparse point, or an entry cannot be removed; those
    /// before it are gone.
    pub fn remove_contents(
        &self,
        path: &WinPath,
        deadline: Deadline,
    ) -> Result<(), FilesystemError> {
        let _held = self.lock_tree("remove contents of", path, deadline)?;
        let entry = self.files().entry(path);
        let entry = entry.map_err(FilesystemError::remove(path))?;
        if let Some(tag) = entry.tag {
            let path = path.to_string();
            return Err(FilesystemError::NotEntered { path, tag });
        }
        Walk::new(self.node, path, deadline).clear(entry)
    }

    /// Creates a symbolic link at `link` that leads to `source`: a directory link if `source` leads to
    /// a directory now, otherwise a file link. A link that is there and leads to `source` already is
    /// success.
    ///
    /// # Errors
    /// Anything else has the link's name, or Windows refuses.
    pub fn create_symlink(
        &self,
        source: &WinPath,
        link: &WinPath,
        deadline: Deadline,
    ) -> Result<(), FilesystemError> {
        let _held = self.lock("symlink", link, deadline)?;
        let kind = match self.files().leads_to_directory(source) {
            Ok(true) => LinkKind::Directory,
            Ok(false) => LinkKind::File,
            Err(error) if error.is_not_found() => LinkKind::File,
            Err(error) => return Err(FilesystemError::inspect(source)(error)),
        };
        let created = link::ensure(self.files(), link, source, &source.to_string(), kind);
        created.map_err(|error| FilesystemError::CreateLink {
            link: link.to_string(),
            target: source.to_string(),
            source: error,
        })
    }

    /// Whether the entry is a symbolic link, junction or mounted folder, and what it leads to
    /// exists.
    ///
    /// # Errors
    /// There is no such entry, or it or what it leads to cannot be looked at.
    pub fn is_symlink(&self, path: &WinPath, deadline: Deadline) -> Result<bool, FilesystemError> {
        self.node.check(deadline, "look at", path)?;
        let inspect = FilesystemError::inspect;
        let entry = self.files().entry(path).map_err(inspect(path))?;
        match link::leads(self.files(), path, &entry).map_err(inspect(path))? {
            Leads::Nowhere => Ok(false),
            Leads::To(target) => self.is_there(&target),
            Leads::ToVolume(volume) => self.is_there(&WinPath::of_root(Root::Volume(volume))),
        }
    }

    /// Whether a link's target exists; a volume whose disk is gone does not.
    fn is_there(&self, target: &WinPath) -> Result<bool, FilesystemError> {
        match self.files().entry(target) {
            Ok(_) => Ok(true),
            Err(error) if error.is_not_found() || link::is_device_gone(&error) => Ok(false),
            Err(source) => Err(FilesystemError::inspect(target)(source)),
        }
    }

    fn make_one(&self, path: &WinPath) -> Result<(), FilesystemError> {
        if path.name().is_none() {
            return self.require_directory(path);
        }
        match self.files().create_directory(path) {
            Ok(()) => Ok(()),
            Err(error) if error.win32() == Some(Win32::ALREADY_EXISTS) => {
                self.require_directory(path)
            }
            Err(source) => Err(FilesystemError::CreateDirectory {
                path: path.to_string(),
                source,
            }),
        }
    }

    fn require_directory(&self, path: &WinPath) -> Result<(), FilesystemError> {
        let leads = self.files().leads_to_directory(path);
        match leads.map_err(FilesystemError::inspect(path))? {
            true => Ok(()),
            false => Err(FilesystemError::NotADirectory {
                path: path.to_string(),
            }),
        }
    }

    fn look(&self, path: &WinPath) -> Result<Option<Entry>, FilesystemError> {
        match self.files().entry(path) {
            Ok(entry) => Ok(Some(entry)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(source) => Err(FilesystemError::inspect(path)(source)),
        }
    }

    fn lock(
        &self,
        operation: &'static str,
        path: &WinPath,
        deadline: Deadline,
    ) -> Result<Held, FilesystemError> {
        let keys = vec![Key::target(path)];
        Ok(self.node.locks().take(operation, keys, deadline)?)
    }

    fn lock_tree(
        &self,
        operation: &'static str,
        path: &WinPath,
        deadline: Deadline,
    ) -> Result<Held, FilesystemError> {
        let keys = vec![Key::subtree(path)];
        Ok(self.node.locks().take(operation, keys, deadline)?)
    }

    fn files(&self) -> &'a dyn Files {
        &*self.node.os().files
    }
}
