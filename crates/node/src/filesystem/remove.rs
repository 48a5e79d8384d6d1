//! Recursive removal that cannot be led astray.

use os::{
    Cause, Component, Deadline, DirEntry, Entry, FileAttributes, Files, PathError, Pin, Win32,
    WinPath,
};

use super::FilesystemError;
use crate::{Node, ResolvedPath, leftover};

/// No path has more names: it has at most 32,767 characters, separators included
/// (<https://learn.microsoft.com/windows/win32/fileio/maximum-file-path-limitation>).
const MAX_DEPTH: usize = 16_384;

/// How often a directory that others keep filling is emptied.
const ATTEMPTS: u32 = 4;

/// Removes one entry as such: of a link, junction or mounted folder the entry and no more.
pub(super) fn look_and_remove(files: &dyn Files, path: &WinPath) -> os::Result<()> {
    let found = files.entry(path)?;
    entry(files, path, &found)
}

/// Removes an entry of a held directory. A directory with only leftovers of links counts as empty.
pub(super) fn in_held(
    files: &dyn Files,
    directory: &Pin,
    name: &Component,
    path: &WinPath,
) -> os::Result<()> {
    match directory.remove(name) {
        Err(error) if error.win32() == Some(Win32::DIR_NOT_EMPTY) => {
            let inner = directory.pin(name)?;
            let swept = leftover::sweep(files, &inner, path, None);
            inner.release();
            match swept {
                0 => Err(error),
                _ => directory.remove(name),
            }
        }
        removed => removed,
    }
}

fn entry(files: &dyn Files, path: &WinPath, entry: &Entry) -> os::Result<()> {
    if entry.attributes.contains(FileAttributes::READ_ONLY) {
        files.clear_read_only(path)?;
    }
    if entry.is_directory() {
        files.remove_directory(path)
    } else {
        files.remove_file(path)
    }
}

/// A walk through a tree that removes it from below.
///
/// Each directory is pinned before it is listed and until it is empty, and what is in it is pinned
/// and removed by the directory itself: a list is a hint, and whatever becomes of a path meanwhile,
/// nothing but the directory's own entries goes. The stack is ours, because the depth of the tree is
/// somebody else's choice.
pub(super) struct Walk<'a> {
    files: &'a dyn Files,
    node: &'a Node,
    deadline: Deadline,
    /// The directories held above the root; empty if the caller trusts the path.
    above: Vec<Pin>,
    /// The directories that are being emptied, each within the one before it.
    stack: Vec<Frame>,
    /// The path of the last of them.
    current: WinPath,
    /// The path that errors name: those below it are written by strangers.
    asked: &'a WinPath,
    keep_root: bool,
}

struct Frame {
    pin: Pin,
    left: Vec<DirEntry>,
    /// The directory as it was found.
    entry: Entry,
    attempts: u32,
}

impl<'a> Walk<'a> {
    /// A walk that begins where `resolved` leads.
    pub(super) fn new(
        node: &'a Node,
        resolved: &'a ResolvedPath,
        above: Vec<Pin>,
        deadline: Deadline,
    ) -> Self {
        Self {
            files: &*node.os().files,
            node,
            deadline,
            above,
            stack: Vec::new(),
            current: resolved.path().clone(),
            asked: resolved.asked(),
            keep_root: false,
        }
    }

    /// Removes the entry and everything below it; a missing one is success.
    pub(super) fn remove(mut self) -> Result<(), FilesystemError> {
        let root = self.current.clone();
        match self.entry_at(&root)? {
            None => Ok(()),
            Some(entry) => {
                self.meet(root, entry, ATTEMPTS)?;
                self.run()
            }
        }
    }

    /// Removes everything below a plain directory.
    pub(super) fn clear(mut self, entry: Entry) -> Result<(), FilesystemError> {
        let root = self.current.clone();
        self.keep_root = true;
        self.enter(root, entry, 1)?;
        self.run()
    }

    fn run(&mut self) -> Result<(), FilesystemError> {
        while let Some(frame) = self.stack.last_mut() {
            self.node.check(self.deadline, "remove", self.asked)?;
            match frame.left.pop() {
                Some(child) => {
                    let name = Component::listed(child.name)
                        .map_err(|error| self.impossible_name(&error))?;
                    self.meet(self.current.join(name), child.entry, ATTEMPTS)?;
                }
                None => self.leave()?,
            }
        }
        Ok(())
    }

    /// Removes an entry, or begins to empty it if it is a plain directory.
    fn meet(&mut self, path: WinPath, entry: Entry, attempts: u32) -> Result<(), FilesystemError> {
        if !is_plain_directory(&entry) {
            return self.remove_entry(&path, &entry);
        }
        match self.enter(path.clone(), entry, attempts) {
            Err(FilesystemError::Remove { source, .. }) if source.is_not_found() => Ok(()),
            Err(FilesystemError::Remove { source, .. })
                if source.win32() == Some(Win32::DIRECTORY) =>
            {
                self.meet_replaced(&path, source)
            }
            entered => entered,
        }
    }

    /// Removes what took the place of a directory after it was listed.
    fn meet_replaced(&self, path: &WinPath, source: os::Error) -> Result<(), FilesystemError> {
        match self.entry_at(path)? {
            None => Ok(()),
            Some(entry) if is_plain_directory(&entry) => Err(self.failed(path)(source)),
            Some(entry) => self.remove_entry(path, &entry),
        }
    }

    fn enter(&mut self, path: WinPath, entry: Entry, attempts: u32) -> Result<(), FilesystemError> {
        if self.stack.len() >= MAX_DEPTH {
            return Err(FilesystemError::TooDeep {
                path: self.asked.to_string(),
                at: path.to_string(),
            });
        }
        let pinned = match (self.holder(), path.name()) {
            (Some(holder), Some(name)) => holder.pin(name),
            _ => self.files.pin(&path),
        };
        let pin = pinned.map_err(self.failed(&path))?;
        let left = self.files.list(&path).map_err(self.failed(&path))?;
        self.refuse_reparse_point(&path)?;
        self.stack.push(Frame {
            pin,
            left,
            entry,
            attempts,
        });
        self.current = path;
        Ok(())
    }

    /// A pin keeps a directory's name, not its nature: a volume may be mounted there meanwhile, and
    /// what was listed then is on that volume. Only an empty directory can become a reparse point, so
    /// one that is none now stays none while it holds what was listed.
    fn refuse_reparse_point(&self, path: &WinPath) -> Result<(), FilesystemError> {
        let entry = self.files.entry(path);
        match is_plain_directory(&entry.map_err(self.failed(path))?) {
            true => Ok(()),
            false => Err(FilesystemError::BecameReparsePoint {
                path: self.asked.to_string(),
                at: path.to_string(),
            }),
        }
    }

    /// Removes the directory that has been emptied, and goes back to the one above it.
    fn leave(&mut self) -> Result<(), FilesystemError> {
        let Some(frame) = self.stack.pop() else {
            return Ok(());
        };
        let path = self.current.clone();
        if let Some(above) = path.parent() {
            self.current = above;
        }
        frame.pin.release();
        if self.stack.is_empty() && self.keep_root {
            return Ok(());
        }
        match self.remove_entry(&path, &frame.entry) {
            Err(FilesystemError::Remove { source, .. })
                if source.win32() == Some(Win32::DIR_NOT_EMPTY) && frame.attempts > 1 =>
            {
                self.meet(path, frame.entry, frame.attempts - 1)
            }
            removed => removed,
        }
    }

    fn remove_entry(&self, path: &WinPath, found: &Entry) -> Result<(), FilesystemError> {
        let removed = match (self.holder(), path.name()) {
            (Some(holder), Some(name)) => holder.remove(name),
            _ => entry(self.files, path, found),
        };
        match removed {
            Err(error) if error.is_not_found() => Ok(()),
            removed => removed.map_err(self.failed(path)),
        }
    }

    /// The directory that holds what is being met: the last on the stack, or the one above all.
    fn holder(&self) -> Option<&Pin> {
        let last = self.stack.last().map(|frame| &frame.pin);
        last.or(self.above.last())
    }

    fn entry_at(&self, path: &WinPath) -> Result<Option<Entry>, FilesystemError> {
        match self.files.entry(path) {
            Ok(entry) => Ok(Some(entry)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(source) => Err(self.failed(path)(source)),
        }
    }

    fn impossible_name(&self, error: &PathError) -> FilesystemError {
        let cause = Cause::Malformed(error.to_string());
        let source = os::Error::new("FindNextFileW", &self.current, cause);
        self.failed(&self.current)(source)
    }

    fn failed(&self, at: &WinPath) -> impl FnOnce(os::Error) -> FilesystemError + use<> {
        FilesystemError::remove(self.asked, at)
    }
}

/// Whether there is something to enter: links, junctions and mounted folders are not.
fn is_plain_directory(entry: &Entry) -> bool {
    let reparse = entry.attributes.contains(FileAttributes::REPARSE_POINT);
    entry.is_directory() && !reparse && entry.tag.is_none()
}
