//! A share of a real server.

use std::time::Instant;

use super::{Entry, Existing, FileId, Kind, Listing, Lock, Share, Visibility};
use crate::connection::{Answer, Connection, Privacy, Server};
use crate::credentials::Credentials;
use crate::error::{Error, Failure, Operation, Outcome, Result};
use crate::name::{self, Name, SharePath};
use crate::status;
use crate::wire::create::{self, Disposition, Open};
use crate::wire::info::{self, Listed, Replaces};
use crate::wire::{PAYLOAD, Request, file};

/// How many entries are removed at a time: their answers wait for each other in memory.
const AT_A_TIME: usize = 64;

/// A share over a connection of its own. After a failure that [ends it](Failure::ends_connection), open another.
pub struct RemoteShare {
    connection: Connection,
    /// `\\server\share`, for errors.
    place: String,
}

/// What a path leads to, and its id.
type Found = (create::Answer, FileId);

/// What a path has led to, until it is closed.
struct Opened<'a> {
    connection: &'a mut Connection,
    answer: create::Answer,
    id: FileId,
    by: Instant,
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
        action: impl FnOnce(&mut Opened<'_>) -> Outcome<T>,
    ) -> Result<T> {
        let done = self.opened(path, open, by).and_then(|mut opened| {
            let done = action(&mut opened);
            let closed = opened.call(create::close(&opened.answer.handle));
            let done = done?;
            closed.map(|_| done)
        });
        done.map_err(|failure| self.failed(operation, path, failure))
    }

    fn opened(&mut self, path: &SharePath, open: Open, by: Instant) -> Outcome<Opened<'_>> {
        let opened = self.open_each(&[path], open, by)?.pop();
        let (answer, id) = opened.ok_or(Failure::Ended)??;
        Ok(Opened {
            connection: &mut self.connection,
            answer,
            id,
            by,
        })
    }

    /// Opens each of some paths, and asks for its id.
    fn open_each(
        &mut self,
        paths: &[&SharePath],
        open: Open,
        by: Instant,
    ) -> Outcome<Vec<Outcome<Found>>> {
        let chain = |path: &&SharePath| {
            let id = info::id(&create::LAST).related();
            vec![create::request(&path.encode(), open), id]
        };
        let chains: Vec<Vec<Request>> = paths.iter().map(chain).collect();
        let answers = self.connection.exchange_all(&chains, by)?;
        let (pairs, _) = answers.as_chunks();
        Ok(pairs.iter().map(|pair| self.found(pair, by)).collect())
    }

    /// What an open answers. If the id is missing, the open is undone.
    fn found(&mut self, [opened, id]: &[Answer; 2], by: Instant) -> Outcome<Found> {
        self.connection.expect_success(opened)?;
        let answer = create::Answer::parse(&opened.1);
        let answer = answer.ok_or_else(|| self.connection.malformed("answer to an open"))?;
        if let Err(failure) = self.connection.expect_success(id) {
            self.connection.call(create::close(&answer.handle), by)?;
            return Err(failure);
        }
        match info::id_answer(&id.1) {
            Some(id) => Ok((answer, FileId(id))),
            None => Err(self.connection.malformed("answer about an id")),
        }
    }

    /// Removes entries at once: first all are opened, then those go that have their ids. The failure that ends the
    /// connection counts, else the first.
    fn remove_together(&mut self, entries: &[(SharePath, FileId)], by: Instant) -> Result<()> {
        let open = Open {
            access: create::DELETE | create::READ_ATTRIBUTES | create::WRITE_ATTRIBUTES,
            ..LOOK
        };
        let paths: Vec<&SharePath> = entries.iter().map(|(path, _)| path).collect();
        let opened = self.open_each(&paths, open, by);
        let opened = opened.map_err(|failure| self.failed(Operation::Remove, paths[0], failure))?;
        let mut chains = Vec::new();
        let mut owners = Vec::new();
        let mut failures = Vec::new();
        for ((path, id), opened) in entries.iter().zip(opened) {
            let chain = match opened {
                Ok((opened, found)) if found == *id => removal(&opened),
                Ok((opened, found)) => {
                    let expected = *id;
                    failures.push((path, Failure::Changed { expected, found }));
                    vec![create::close(&opened.handle)]
                }
                Err(failure) => {
                    failures.push((path, failure));
                    continue;
                }
            };
            owners.extend(chain.iter().map(|_| path));
            chains.push(chain);
        }
        let closed = self.connection.exchange_all(&chains, by);
        let closed = closed.unwrap_or_else(|failure| {
            failures.push((paths[0], failure));
            Vec::new()
        });
        for (answer, path) in closed.iter().zip(owners) {
            let done = self.connection.expect_success(answer);
            failures.extend(done.err().map(|failure| (path, failure)));
        }
        let worst = failures
            .into_iter()
            .min_by_key(|(_, failure)| !failure.ends_connection());
        worst.map_or(Ok(()), |(path, failure)| {
            Err(self.failed(Operation::Remove, path, failure))
        })
    }

    fn failed(&self, operation: Operation, path: &SharePath, failure: Failure) -> Error {
        failure.at(operation, format!("{}{path}", self.place))
    }
}

impl Share for RemoteShare {
    fn stat(&mut self, path: &SharePath, by: Instant) -> Result<Entry> {
        self.with(Operation::Stat, path, LOOK, by, |opened| {
            Ok(Entry {
                name: path.names().last().cloned(),
                id: opened.id,
                kind: kind(opened.answer.attributes),
                size: opened.answer.size,
                changed: opened.answer.changed,
            })
        })
    }

    fn list(&mut self, folder: &SharePath, limit: usize, by: Instant) -> Result<Listing> {
        let open = Open {
            access: create::READ_DATA | create::READ_ATTRIBUTES,
            options: create::FOLDER,
            ..LOOK
        };
        self.with(Operation::List, folder, open, by, |opened| {
            match kind(opened.answer.attributes) {
                Kind::Link => Err(Failure::Link),
                Kind::File | Kind::Folder => opened.entries(limit),
            }
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
            |opened| Ok(opened.id),
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
        self.with(Operation::Create, path, open, by, |opened| {
            opened.write_all(content)?;
            opened.call(file::flush(&opened.answer.handle))?;
            Ok(opened.id)
        })
    }

    fn read(&mut self, path: &SharePath, limit: u64, by: Instant) -> Result<Vec<u8>> {
        let open = Open {
            access: create::READ_DATA | create::READ_ATTRIBUTES,
            options: create::NO_FOLDER,
            ..LOOK
        };
        self.with(Operation::Read, path, open, by, |opened| {
            match kind(opened.answer.attributes) {
                Kind::Link => Err(Failure::Link),
                Kind::Folder => Err(Failure::IsAFolder),
                Kind::File => opened.read_all(limit),
            }
        })
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
        self.with(Operation::Rename, from, open, by, |opened| {
            let (expected, found) = (id, opened.id);
            if found != expected {
                return Err(Failure::Changed { expected, found });
            }
            let replaces = match (existing, kind(opened.answer.attributes)) {
                (Existing::Replace, Kind::File) => Replaces::AFile,
                // Samba would let a folder replace an empty one.
                (Existing::Refuse | Existing::Replace, _) => Replaces::Nothing,
            };
            let request = info::rename(&opened.answer.handle, &to.encode(), replaces);
            opened.call(request).map(drop)
        })
    }

    fn remove(&mut self, path: &SharePath, id: FileId, by: Instant) -> Result<()> {
        self.remove_together(&[(path.clone(), id)], by)
    }

    fn remove_each(&mut self, entries: &[(SharePath, FileId)], by: Instant) -> Result<()> {
        let mut portions = entries.chunks(AT_A_TIME);
        portions.try_for_each(|some| self.remove_together(some, by))
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
            options: create::NO_FOLDER,
        };
        let opened = self
            .opened(path, open, by)
            .map(|opened| (opened.answer.handle, opened.answer.size, opened.id));
        let held = opened.and_then(|(handle, size, id)| {
            let failure = match self.stat(path, by) {
                // Only now: a file that someone wrote stays.
                Ok(current) if current.id == id && size == 0 => {
                    match self.connection.call(info::dispose(&handle), by) {
                        Ok(_) => return Ok(handle),
                        Err(failure) => failure,
                    }
                }
                Ok(current) if current.id == id => Failure::Exists,
                Err(error) if error.failure != Failure::NotFound => error.failure,
                // Samba may open a file that its last holder is just removing: a lock on it would exclude no one.
                Ok(_) | Err(_) => Failure::InUse,
            };
            // The file may be gone by now: that is no failure.
            let _ = self.connection.call(create::close(&handle), by);
            Err(failure)
        });
        let handle = held.map_err(|failure| match failure {
            // The last holder's file is on its way out.
            Failure::DeletePending => self.failed(Operation::Lock, path, Failure::InUse),
            other => self.failed(Operation::Lock, path, other),
        })?;
        let path = path.clone();
        Ok(Lock { path, handle })
    }

    fn unlock(&mut self, lock: Lock, by: Instant) -> Result<()> {
        let closed = self.connection.call(create::close(&lock.handle), by);
        let closed = closed.map_err(|failure| self.failed(Operation::Unlock, &lock.path, failure));
        closed.map(drop)
    }
}

impl Opened<'_> {
    fn call(&mut self, request: Request) -> Outcome<Vec<u8>> {
        self.connection.call(request, self.by)
    }

    fn entries(&mut self, limit: usize) -> Outcome<Listing> {
        let mut listing = Listing::default();
        let mut is_first = true;
        loop {
            let request = info::directory(&self.answer.handle);
            let answer = self.connection.exchange(request, self.by)?;
            match answer.0.status {
                status::NO_MORE_FILES => return Ok(listing),
                // Samba's answer for a path that is too long for it: it lists nothing, not even `..`.
                status::NO_SUCH_FILE if is_first => return Ok(listing),
                _ => self.connection.expect_success(&answer)?,
            }
            let listed = info::directory_answer(&answer.1);
            let listed = listed.ok_or_else(|| self.connection.malformed("list of a folder"))?;
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

    fn write_all(&mut self, content: &[u8]) -> Outcome<()> {
        let most = usize::try_from(PAYLOAD).unwrap_or(usize::MAX);
        let mut offset = 0;
        for part in content.chunks(most) {
            let answer = self.call(file::write(&self.answer.handle, offset, part))?;
            let written = file::write_answer(&answer).map(u64::from);
            let part = u64::try_from(part.len()).unwrap_or(u64::MAX);
            if written != Some(part) {
                return Err(self.connection.malformed("count of written bytes"));
            }
            offset += part;
        }
        Ok(())
    }

    fn read_all(&mut self, limit: u64) -> Outcome<Vec<u8>> {
        let mut content = Vec::new();
        loop {
            let offset = u64::try_from(content.len()).unwrap_or(u64::MAX);
            if offset > limit {
                return Err(Failure::Limit(limit));
            }
            // One byte more than the limit shows that there is one.
            let asked = u32::try_from(limit - offset)
                .map_or(PAYLOAD, |left| left.saturating_add(1).min(PAYLOAD));
            let request = file::read(&self.answer.handle, offset, asked);
            let answer = self.connection.exchange(request, self.by)?;
            if answer.0.status == status::END_OF_FILE {
                return Ok(content);
            }
            self.connection.expect_success(&answer)?;
            match file::read_answer(&answer.1, asked) {
                None | Some([]) => return Err(self.connection.malformed("answer with data")),
                Some(data) => content.extend_from_slice(data),
            }
        }
    }
}

/// Removes what is open when it is closed, and closes it.
fn removal(opened: &create::Answer) -> Vec<Request> {
    let mut chain = vec![info::dispose(&opened.handle)];
    if opened.attributes & create::READ_ONLY != 0 {
        let others = opened.attributes & !create::READ_ONLY;
        let attributes = if others == 0 { create::NORMAL } else { others };
        chain.insert(0, info::attributes(&opened.handle, attributes));
        // The file may have another name, which stays.
        chain.push(info::attributes(&opened.handle, opened.attributes));
    }
    chain.push(create::close(&opened.handle));
    chain
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

fn kind(attributes: u32) -> Kind {
    if attributes & create::REPARSE_POINT != 0 {
        Kind::Link
    } else if attributes & create::DIRECTORY != 0 {
        Kind::Folder
    } else {
        Kind::File
    }
}
