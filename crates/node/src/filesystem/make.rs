//! Making directories down to the last.

use os::{Deadline, Pin, Win32, WinPath};

use super::FilesystemError;
use crate::{Node, ResolvedPath};

/// A directory that is to be, whose path is locked.
pub(super) struct Making<'a> {
    pub(super) node: &'a Node,
    pub(super) resolved: &'a ResolvedPath,
    pub(super) deadline: Deadline,
}

impl Making<'_> {
    pub(super) fn run(&self) -> Result<(), FilesystemError> {
        match self.resolved.is_confined() {
            true => self.step_by_step(),
            false => self.deepest_first(),
        }
    }

    /// Each directory is held before the next is made in it: what somebody else put there meanwhile
    /// is entered only if it is a directory.
    fn step_by_step(&self) -> Result<(), FilesystemError> {
        let (path, files) = (self.resolved.path(), &*self.node.os().files);
        let depth = path.components().len();
        let held = self.resolved.hold_what_is_there(files);
        let (mut pins, ready): (Vec<Pin>, usize) = held.map_err(|error| self.failed(error))?;
        for below in ready + 1..depth {
            self.node
                .check(self.deadline, "mkdir", self.resolved.asked())?;
            pins.push(self.make_and_hold(pins.last(), below)?);
        }
        self.make_one(pins.last(), path)
    }

    fn make_and_hold(&self, above: Option<&Pin>, depth: usize) -> Result<Pin, FilesystemError> {
        let (path, files) = (self.resolved.path().prefix(depth), &*self.node.os().files);
        let was_there = match self.create(above, &path) {
            Ok(()) => false,
            Err(error) if error.win32() == Some(Win32::ALREADY_EXISTS) => true,
            Err(source) => return Err(self.failed(source)),
        };
        match self.resolved.hold_one(files, above, depth) {
            Err(error) if was_there && error.is_not_found() => Err(self.not_a_directory()),
            held => held.map_err(|error| self.failed(error)),
        }
    }

    fn deepest_first(&self) -> Result<(), FilesystemError> {
        let path = self.resolved.path();
        let depth = path.components().len();
        let mut ready = depth;
        while let Err(error) = self.make_one(None, &path.prefix(ready)) {
            if ready < 2 || !error.is_missing_parent() {
                return Err(error);
            }
            ready -= 1;
        }
        for below in ready + 1..=depth {
            self.node
                .check(self.deadline, "mkdir", self.resolved.asked())?;
            self.make_one(None, &path.prefix(below))?;
        }
        Ok(())
    }

    fn make_one(&self, above: Option<&Pin>, path: &WinPath) -> Result<(), FilesystemError> {
        if path.name().is_none() {
            return self.require_directory(path);
        }
        match self.create(above, path) {
            Ok(()) => Ok(()),
            Err(error) if error.win32() == Some(Win32::ALREADY_EXISTS) => {
                self.require_directory(path)
            }
            Err(source) => Err(self.failed(source)),
        }
    }

    /// In the directory that is held, if one is.
    fn create(&self, above: Option<&Pin>, path: &WinPath) -> os::Result<()> {
        match (above, path.name()) {
            (Some(above), Some(name)) => above.create_directory(name),
            _ => self.node.os().files.create_directory(path),
        }
    }

    /// A link at the end of the path is followed within bounds; one before that is no directory.
    fn require_directory(&self, path: &WinPath) -> Result<(), FilesystemError> {
        let os = self.node.os();
        let leads = match path == self.resolved.path() {
            true => self.resolved.leads_to_directory(os)?,
            false => os.files.leads_to_directory(path),
        };
        match leads.map_err(FilesystemError::inspect(self.resolved.asked()))? {
            true => Ok(()),
            false => Err(self.not_a_directory()),
        }
    }

    fn failed(&self, source: os::Error) -> FilesystemError {
        FilesystemError::mkdir(self.resolved.asked())(source)
    }

    fn not_a_directory(&self) -> FilesystemError {
        FilesystemError::NotADirectory {
            path: self.resolved.asked().to_string(),
        }
    }
}
