//! A share of a real server.

use std::time::Instant;

use super::{Entry, Existing, FileId, Kind, Listing, Lock, Share, Visibility};
use crate::connection::{Connection, Privacy, Server};
use crate::credentials::Credentials;
use crate::error::{Failure, Operation, Outcome, Result};
use crate::name::{self, Name, SharePath};
use crate::status;
use crate::wire::create::{self, Disposition, Handle, Open};
use crate::wire::info::{self, Listed, Replaces};
use crate::wire::{PAYLOAD, file};

/// A share over a connection of its own. After a failure that [ends it](Failure::ends_connection), open another.
pub struct RemoteShare {
    connection: Connection,
    /// `\\server\share`, for errors.
    place: String,
}

/// An open that neither makes nor excludes anything.
const LOOK: Open = Open {
    access: create::READ_ATTRIBUTES,
    attributes: 0,
    sharing: create::SHARE_ALL,
    disposition: Disposition::Open,
    options: 0,
};

impl RemoteShare {
    /// Connects to a server, logs on and opens a share.
    ///
    /// # Errors
    /// Each step by its [`Operation`]; `LogonRefused`, `Guest`, `Anonymous`, `Dialect`, `NoEncryption`, `NoSuchShare`.
    pub fn open(
        server: &Server,
        share: &Name,
        credentials: &Credentials,
        privacy: Privacy,
        by: Instant,
    ) -> Result<Self> {
        let connection = Connection::open(server, share, credentials, privacy, by)?;
        let place = format!(r"\\{}\{share}", server.host.escape_debug());
        Ok(Self { connection, place })
    }

    /// Opens a path, does something with it, and closes it after failures too.
    fn with<T>(
        &mut self,
        operation: Operation,
        path: &SharePath,
        open: Open,
        by: Instant,
        action: impl FnOnce(&mut Connection, &create::Answer) -> Outcome<T>,
    ) -> Result<T> {
        let done = self.opened(path, open, by).and_then(|opened| {
            let done = action(&mut self.connection, &opened);
            let closed = self.close(&opened.handle, by);
            let done = done?;
            closed.map(|()| done)
        });
        done.map_err(|failure| failure.at(operation, format!("{}{path}", self.place)))
    }

    fn opened(&mut self, path: &SharePath, open: Open, by: Instant) -> Outcome<create::Answer> {
        let answer = self
            .connection
            .call(&create::request(&path.encode(), open), by)?;
        let parsed = create::Answer::parse(&answer);
        parsed.ok_or_else(|| self.connection.end(Failure::Malformed("answer to an open")))
    }

    /// Whether a path still leads to what is open. Samba may open a file that its last holder is just removing: a lock on
    /// it would exclude no one.
    fn is_current(
        &mut self,
        path: &SharePath,
        opened: &create::Answer,
        by: Instant,
    ) -> Outcome<bool> {
        let id = id_of(&mut self.connection, opened, by)?;
        match self.stat(path, by) {
            Ok(entry) => Ok(entry.id == id),
            Err(error) if error.failure == Failure::NotFound => Ok(false),
            Err(error) => Err(error.failure),
        }
    }

    fn close(&mut self, handle: &Handle, by: Instant) -> Outcome<()> {
        self.connection.call(&create::close(handle), by).map(drop)
    }
}

impl Share for RemoteShare {
    fn stat(&mut self, path: &SharePath, by: Instant) -> Result<Entry> {
        self.with(Operation::Stat, path, LOOK, by, |connection, opened| {
            Ok(Entry {
                name: path.names().last().cloned(),
                id: id_of(connection, opened, by)?,
                kind: kind(opened.attributes),
                size: opened.size,
                changed: opened.changed,
            })
        })
    }

    fn list(&mut self, folder: &SharePath, limit: usize, by: Instant) -> Result<Listing> {
        let open = Open {
            access: create::READ_DATA | create::READ_ATTRIBUTES,
            options: create::FOLDER,
            ..LOOK
        };
        self.with(Operation::List, folder, open, by, |connection, opened| {
            if kind(opened.attributes) == Kind::Link {
                return Err(Failure::Link);
            }
            entries(connection, &opened.handle, limit, by)
        })
    }

    fn make_folder(
        &mut self,
        path: &SharePath,
        visibility: Visibility,
        by: Instant,
    ) -> Result<FileId> {
        let hidden = match visibility {
            Visibility::Shown => 0,
            Visibility::Hidden => create::HIDDEN,
        };
        let open = Open {
            attributes: create::DIRECTORY | hidden,
            disposition: Disposition::Create,
            options: create::FOLDER,
            ..LOOK
        };
        self.with(
            Operation::MakeFolder,
            path,
            open,
            by,
            |connection, opened| id_of(connection, opened, by),
        )
    }

    fn create(&mut self, path: &SharePath, content: &[u8], by: Instant) -> Result<FileId> {
        let open = Open {
            access: create::WRITE_DATA | create::READ_ATTRIBUTES,
            attributes: create::NORMAL,
            sharing: create::SHARE_NOTHING,
            disposition: Disposition::Create,
            options: create::NO_FOLDER,
        };
        self.with(Operation::Create, path, open, by, |connection, opened| {
            write_all(connection, &opened.handle, content, by)?;
            connection.call(&file::flush(&opened.handle), by)?;
            id_of(connection, opened, by)
        })
    }

    fn read(&mut self, path: &SharePath, limit: u64, by: Instant) -> Result<Vec<u8>> {
        let open = Open {
            access: create::READ_DATA | create::READ_ATTRIBUTES,
            options: create::NO_FOLDER,
            ..LOOK
        };
        self.with(
            Operation::Read,
            path,
            open,
            by,
            |connection, opened| match kind(opened.attributes) {
                Kind::Link => Err(Failure::Link),
                Kind::Folder => Err(Failure::IsAFolder),
                Kind::File => read_all(connection, &opened.handle, limit, by),
            },
        )
    }

    fn rename(
        &mut self,
        from: &SharePath,
        id: FileId,
        to: &SharePath,
        existing: Existing,
        by: Instant,
    ) -> Result<()> {
        let open = Open {
            access: create::DELETE | create::READ_ATTRIBUTES,
            ..LOOK
        };
        self.with(Operation::Rename, from, open, by, |connection, opened| {
            expect_id(connection, opened, id, by)?;
            let replaces = match (existing, kind(opened.attributes)) {
                (Existing::Replace, Kind::File) => Replaces::AFile,
                // Samba would let a folder replace an empty one.
                (Existing::Refuse | Existing::Replace, _) => Replaces::Nothing,
            };
            let request = info::rename(&opened.handle, &to.encode(), replaces);
            connection.call(&request, by).map(drop)
        })
    }

    fn remove(&mut self, path: &SharePath, id: FileId, by: Instant) -> Result<()> {
        let open = Open {
            access: create::DELETE | create::READ_ATTRIBUTES | create::WRITE_ATTRIBUTES,
            ..LOOK
        };
        self.with(Operation::Remove, path, open, by, |connection, opened| {
            expect_id(connection, opened, id, by)?;
            if opened.attributes & create::READ_ONLY != 0 {
                let others = opened.attributes & !create::READ_ONLY;
                let attributes = if others == 0 { create::NORMAL } else { others };
                connection.call(&info::attributes(&opened.handle, attributes), by)?;
            }
            connection
                .call(&info::dispose(&opened.handle), by)
                .map(drop)
        })
    }

    fn lock(&mut self, path: &SharePath, by: Instant) -> Result<Lock> {
        let open = Open {
            access: create::READ_DATA
                | create::WRITE_DATA
                | create::READ_ATTRIBUTES
                | create::DELETE,
            attributes: create::HIDDEN,
            sharing: create::SHARE_NOTHING,
            disposition: Disposition::OpenOrCreate,
            options: create::NO_FOLDER | create::DELETE_ON_CLOSE,
        };
        let held = self.opened(path, open, by).and_then(|opened| {
            let checked = self.is_current(path, &opened, by);
            if checked == Ok(true) {
                return Ok(opened.handle);
            }
            // The file may be gone by now: that is no failure.
            let _ = self.close(&opened.handle, by);
            Err(checked.err().unwrap_or(Failure::InUse))
        });
        let held = held.map_err(|failure| match failure {
            // The last holder's file is on its way out.
            Failure::DeletePending => Failure::InUse,
            other => other,
        });
        let object = || format!("{}{path}", self.place);
        let handle = held.map_err(|failure| failure.at(Operation::Lock, object()))?;
        Ok(Lock {
            path: path.clone(),
            handle,
        })
    }

    fn unlock(&mut self, lock: Lock, by: Instant) -> Result<()> {
        let closed = self.close(&lock.handle, by);
        closed.map_err(|failure| {
            failure.at(Operation::Unlock, format!("{}{}", self.place, lock.path))
        })
    }
}

fn id_of(connection: &mut Connection, opened: &create::Answer, by: Instant) -> Outcome<FileId> {
    let answer = connection.call(&info::id(&opened.handle), by)?;
    let id = info::id_answer(&answer);
    let id = id.ok_or_else(|| connection.end(Failure::Malformed("answer about an id")))?;
    Ok(FileId(id))
}

fn expect_id(
    connection: &mut Connection,
    opened: &create::Answer,
    expected: FileId,
    by: Instant,
) -> Outcome<()> {
    let found = id_of(connection, opened, by)?;
    if found != expected {
        return Err(Failure::Changed { expected, found });
    }
    Ok(())
}

fn entries(
    connection: &mut Connection,
    handle: &Handle,
    limit: usize,
    by: Instant,
) -> Outcome<Listing> {
    let mut listing = Listing::default();
    let mut is_first = true;
    loop {
        let (header, answer) = connection.exchange(&info::directory(handle), by)?;
        match header.status {
            status::SUCCESS => {}
            status::NO_MORE_FILES => return Ok(listing),
            // Samba's answer for a path that is too long for it: it lists nothing, not even `..`.
            status::NO_SUCH_FILE if is_first => return Ok(listing),
            status => return Err(connection.refused(status)),
        }
        let listed = info::directory_answer(&answer);
        let listed =
            listed.ok_or_else(|| connection.end(Failure::Malformed("list of a folder")))?;
        for entry in listed {
            if listing.entries.len() >= limit {
                listing.has_more = true;
                return Ok(listing);
            }
            listing.take(entry)?;
        }
        is_first = false;
    }
}

impl Listing {
    fn take(&mut self, listed: Listed) -> Outcome<()> {
        const DOT: u16 = b'.' as u16;
        // A server without ids sends 0.
        let id = Some(FileId(listed.id)).filter(|id| id.0 != 0);
        match listed.name.as_slice() {
            [DOT] => self.itself = id,
            [DOT, DOT] => self.above = id,
            units => {
                let name = Name::from_units(units).map_err(|error| Failure::Name {
                    name: name::escape(units),
                    error,
                })?;
                self.entries.push(Entry {
                    name: Some(name),
                    id: FileId(listed.id),
                    kind: kind(listed.attributes),
                    size: listed.size,
                    changed: listed.changed,
                });
            }
        }
        Ok(())
    }
}

fn write_all(
    connection: &mut Connection,
    handle: &Handle,
    content: &[u8],
    by: Instant,
) -> Outcome<()> {
    let most = usize::try_from(PAYLOAD).unwrap_or(usize::MAX);
    let mut offset = 0;
    for part in content.chunks(most) {
        let answer = connection.call(&file::write(handle, offset, part), by)?;
        let written = file::write_answer(&answer).map(u64::from);
        let part = u64::try_from(part.len()).unwrap_or(u64::MAX);
        if written != Some(part) {
            return Err(connection.end(Failure::Malformed("count of written bytes")));
        }
        offset += part;
    }
    Ok(())
}

fn read_all(
    connection: &mut Connection,
    handle: &Handle,
    limit: u64,
    by: Instant,
) -> Outcome<Vec<u8>> {
    let mut content = Vec::new();
    loop {
        let offset = u64::try_from(content.len()).unwrap_or(u64::MAX);
        if offset > limit {
            return Err(Failure::Limit(limit));
        }
        // One byte more than the limit shows that there is one.
        let asked = u32::try_from(limit - offset)
            .map_or(PAYLOAD, |left| left.saturating_add(1).min(PAYLOAD));
        let (header, answer) = connection.exchange(&file::read(handle, offset, asked), by)?;
        match header.status {
            status::SUCCESS => {}
            status::END_OF_FILE => return Ok(content),
            status => return Err(connection.refused(status)),
        }
        match file::read_answer(&answer, asked) {
            None | Some([]) => return Err(connection.end(Failure::Malformed("answer with data"))),
            Some(data) => content.extend_from_slice(data),
        }
    }
}

fn kind(attributes: u32) -> Kind {
    if attributes & create::REPARSE_POINT != 0 {
        Kind::Link
    } else if attributes & create::DIRECTORY != 0 {
        Kind::Folder
    } else {
        Kind::File
    }
}
