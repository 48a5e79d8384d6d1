//! Making a symbolic link where a path led when its directory was held, whatever became of the path meanwhile.
//!
//! An empty directory can be made a junction while it is held ([MS-FSA] 2.1.5.10.37). So an entry with a name of
//! ours is reserved in the directory first: as long as that is there the directory stays what it is. The entry
//! becomes the link through its own handle, and then gets the link's name, if nothing has that.

use os::{Cause, Component, Error, Files, LinkKind, Pin, Placeholder, Win32, WinPath};

use crate::notes::Note;
use crate::{Node, ResolvedPath, leftover, link};

/// A link that is to be, or is.
pub(crate) struct NewLink<'a> {
    pub(crate) node: &'a Node,
    pub(crate) resolved: &'a ResolvedPath,
    /// Where it leads.
    pub(crate) target: &'a WinPath,
    pub(crate) kind: LinkKind,
}

/// The place of a link, which nobody can exchange as long as this is kept.
pub(crate) enum LinkSlot<'a> {
    /// A path whose caller answers for it.
    Path,
    /// An entry that is reserved beside it.
    Reserved(Reserved<'a>),
    /// The link is there. What is above it is held.
    Taken(Vec<Pin>),
}

/// The entry with the name of the link.
enum Found {
    Nothing,
    /// Such a link.
    Link,
    /// A file link to the same target, which no directory can be entered through.
    FileLink,
}

impl<'a> NewLink<'a> {
    /// Holds the place of the link. What is left of others in the same directory goes.
    ///
    /// # Errors
    /// [`Win32::ALREADY_EXISTS`] when something else has the name; Windows refuses.
    pub(crate) fn place(&self) -> os::Result<LinkSlot<'a>> {
        let pins = self.resolved.hold(self.files())?;
        match self.found(&pins)? {
            Found::Link => Ok(LinkSlot::Taken(pins)),
            Found::FileLink | Found::Nothing => self.reserve(pins),
        }
    }

    /// Makes the link, which stores `text`, unless it is there. A file link to the same target gives way to a
    /// directory link once that is made and lacks the name alone.
    pub(crate) fn make(&self, place: LinkSlot<'a>, text: &str) -> os::Result<()> {
        let mut place = match place {
            LinkSlot::Taken(pins) => match self.found(&pins)? {
                Found::Link => return Ok(()),
                Found::FileLink | Found::Nothing => self.reserve(pins)?,
            },
            place => place,
        };
        match self.put(&mut place, text) {
            Err(error) if error.win32() == Some(Win32::ALREADY_EXISTS) => {
                match self.found(place.pins()) {
                    Ok(Found::Link) => Ok(()),
                    Ok(Found::FileLink) => self.exchange(&mut place, text, error),
                    _ => Err(error),
                }
            }
            made => made,
        }
    }

    fn put(&self, place: &mut LinkSlot<'a>, text: &str) -> os::Result<()> {
        match place {
            LinkSlot::Reserved(reserved) => reserved.become_link(text, self.resolved.path()),
            _ => self
                .files()
                .create_symlink(self.resolved.path(), text, self.kind),
        }
    }

    /// Puts the link in the place of the file link that was found. What came there meanwhile has the name: `taken`.
    fn exchange(&self, place: &mut LinkSlot<'a>, text: &str, taken: Error) -> os::Result<()> {
        match self.remove_file_link(place.pins()) {
            Err(error) if is_no_such_link(&error) => return Err(taken),
            Err(error) if !error.is_not_found() => return Err(error),
            _ => {}
        }
        self.put(place, text)
    }

    fn remove_file_link(&self, pins: &[Pin]) -> os::Result<()> {
        match (pins.last(), self.resolved.path().name()) {
            (Some(directory), Some(name)) => directory.remove_symlink(name, LinkKind::File),
            _ => self
                .files()
                .remove_symlink(self.resolved.path(), LinkKind::File),
        }
    }

    /// The existing entry: by its path, and then by the held directory, if there is one. The path
    /// may lead through a junction that replaced that directory meanwhile.
    fn found(&self, pins: &[Pin]) -> os::Result<Found> {
        let path = self.resolved.path();
        match link::kind_of(self.files(), path, self.target) {
            Ok(Some(kind)) => match (pins.last(), path.name()) {
                (Some(directory), Some(name)) if !has_link(directory, name)? => Ok(Found::Nothing),
                _ => Ok(self.judged(kind)),
            },
            Err(error) if error.is_not_found() => Ok(Found::Nothing),
            Err(error) if !matches!(error.cause, Cause::Malformed(_)) => Err(error),
            _ => Err(Error::new(
                "CreateSymbolicLinkW",
                path,
                Win32::ALREADY_EXISTS,
            )),
        }
    }

    fn judged(&self, kind: LinkKind) -> Found {
        match (kind, self.kind) {
            (LinkKind::File, LinkKind::Directory) => Found::FileLink,
            _ => Found::Link,
        }
    }

    fn files(&self) -> &'a dyn Files {
        &*self.node.os().files
    }

    fn reserve(&self, pins: Vec<Pin>) -> os::Result<LinkSlot<'a>> {
        let (Some(directory), Some(above)) = (pins.last(), self.resolved.path().parent()) else {
            return Ok(LinkSlot::Path);
        };
        let name = leftover::new_name();
        let at = above.join(name.clone());
        let notes = self.node.state.notes.as_ref();
        let note = notes.and_then(|notes| notes.note(self.files(), &name, &above));
        let placeholder = match directory.reserve(&name, self.kind) {
            Ok(placeholder) => placeholder,
            Err(error) => {
                leftover::remove(self.files(), directory, &at);
                return Err(error);
            }
        };
        // Now that the directory is not empty, its path leads to it.
        leftover::sweep(self.files(), directory, &above, Some(&name));
        Ok(LinkSlot::Reserved(Reserved {
            files: self.files(),
            placeholder: Some(placeholder),
            at,
            pins,
            _note: note,
        }))
    }
}

impl LinkSlot<'_> {
    fn pins(&self) -> &[Pin] {
        match self {
            Self::Path => &[],
            Self::Reserved(reserved) => &reserved.pins,
            Self::Taken(pins) => pins,
        }
    }
}

/// Whether an entry of a directory that is held can be a link. No reparse point is followed, not even the directory.
///
/// # Errors
/// [`Win32::REPARSE_POINT_ENCOUNTERED`] when the directory is one by now.
fn has_link(directory: &Pin, name: &Component) -> os::Result<bool> {
    match directory.pin(name) {
        Ok(_) => Ok(false),
        Err(error) if error.is_not_found() => Ok(false),
        Err(error) if is_no_directory(&error) => Ok(true),
        Err(error) => Err(error),
    }
}

/// Whether the entry is another than a link of the kind that was to go.
fn is_no_such_link(error: &Error) -> bool {
    matches!(
        error.win32(),
        Some(Win32::NOT_A_REPARSE_POINT | Win32::REPARSE_TAG_MISMATCH)
    )
}

/// Whether the entry is there and no plain directory, or another process that makes it still has it open.
fn is_no_directory(error: &Error) -> bool {
    matches!(
        error.win32(),
        Some(Win32::DIRECTORY | Win32::SHARING_VIOLATION)
    )
}

/// An entry that is held, in a directory that is held. It goes when this is dropped, unless it is the link.
pub(crate) struct Reserved<'a> {
    files: &'a dyn Files,
    placeholder: Option<Box<dyn Placeholder>>,
    at: WinPath,
    pins: Vec<Pin>,
    // Behind the others: it goes after the entry.
    _note: Option<Note<'a>>,
}

impl Reserved<'_> {
    fn become_link(&mut self, text: &str, path: &WinPath) -> os::Result<()> {
        let (Some(placeholder), Some(name)) = (&self.placeholder, path.name()) else {
            return Ok(());
        };
        placeholder.become_symlink(text)?;
        placeholder.rename(name)?;
        // It has no name of ours any more.
        self.pins.clear();
        Ok(())
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        // Nobody can remove it while it is held.
        self.placeholder = None;
        if let Some(directory) = self.pins.last() {
            leftover::remove(self.files, directory, &self.at);
        }
    }
}
