//! A share of a real server.

use std::time::Instant;

use super::{Entry, Existing, FileId, Kind, LONGEST_FILE, Listing, OpenFile, Share, Visibility};
use crate::connection::{Answer, Connection, Privacy, Server};
use crate::credentials::Credentials;
use crate::error::{Error, Failure, Operation, Outcome, Result};
use crate::name::{self, Name, SharePath};
use crate::status;
use crate::wire::create::{self, Disposition, Handle, LAST, Open};
use crate::wire::info::{self, Listed, Replaces};
use crate::wire::{PAYLOAD, Request, file};

/// How many entries are removed at a time: their answers wait for each other in memory.
const AT_A_TIME: usize = 64;

/// Room for `.` and `..`, or for an entry with a name of any length.
const FEW_ENTRIES: u32 = 1024;

/// A share over a connection of its own. After a failure that [ends it](Failure::ends_connection), open another.
pub struct RemoteShare {
    connection: Connection,
    /// `\\server\share`, for errors.
    place: String,
}

/// What a path leads to, and its id.
type Found = (create::Answer, FileId);

/// The open of a lock.
const LOCK: Open = Open {
    access: create::READ_DATA | create::WRITE_DATA | create::READ_ATTRIBUTES | create::DELETE,
    attributes: create::HIDDEN,
    sharing: create::SHARE_NOTHING,
    disposition: Disposition::OpenOrCreate,
    options: create::NO_FOLDER,
};

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

    /// Opens a path, asks for its id, and does more with what is open, in one message.
    fn begin(
        &mut self,
        path: &SharePath,
        open: Open,
        more: Vec<Request>,
        by: Instant,
    ) -> Outcome<(Found, Vec<Answer>)> {
        let mut chain = opening(path, open);
        chain.extend(more.into_iter().map(Request::related));
        let mut answers = self.connection.exchange_all(&[chain], by)?;
        let more = answers.split_off(2);
        let (pairs, _) = answers.as_chunks();
        let found = pairs.iter().map(|pair| self.found(pair, by)).next();
        Ok((found.ok_or(Failure::Ended)??, more))
    }

    /// The same, and closes it. What the server answers to the request is the caller's to judge.
    fn once(
        &mut self,
        path: &SharePath,
        open: Open,
        more: Option<Request>,
        by: Instant,
    ) -> Outcome<(Found, Option<Answer>)> {
        let more = more.into_iter().chain([create::close(&LAST)]).collect();
        let (found, mut answers) = self.begin(path, open, more, by)?;
        let closed = answers.pop().ok_or(Failure::Ended)?;
        match self.connection.expect_success(&closed) {
            Err(failure) if failure.ends_connection() => return Err(failure),
            // A server may skip what follows a request that failed.
            Err(_) => self.close(&found.0.handle, by)?,
            Ok(()) => {}
        }
        Ok((found, answers.pop()))
    }

    /// What an open answers. If the id is missing, the open is undone.
    fn found(&mut self, [opened, id]: &[Answer; 2], by: Instant) -> Outcome<Found> {
        self.connection.expect_success(opened)?;
        let answer = create::Answer::parse(&opened.1);
        let answer = answer.ok_or_else(|| self.connection.malformed("answer to an open"))?;
        if let Err(failure) = self.connection.expect_success(id) {
            // Where it is closed already, that is no failure.
            let _ = self.close(&answer.handle, by);
            return Err(failure);
        }
        match info::id_answer(&id.1) {
            Some(id) => Ok((answer, FileId(id))),
            None => Err(self.connection.malformed("answer about an id")),
        }
    }

    fn close(&mut self, handle: &Handle, by: Instant) -> Outcome<()> {
        self.connection.call(create::close(handle), by).map(drop)
    }

    /// Does something with what is open, and closes it, in one message: the server closes it after a failure too.
    fn end(&mut self, last: Request, handle: &Handle, by: Instant) -> Outcome<()> {
        let chain = vec![last, create::close(handle)];
        let answers = self.connection.exchange_all(&[chain], by)?;
        let mut answers = answers.iter();
        answers.try_for_each(|answer| self.connection.expect_success(answer))
    }

    /// The entries of an open folder: first those that came with the open. Without a limit for entries it is closed by now.
    fn entries(
        &mut self,
        (opened, id): &Found,
        answers: Vec<Answer>,
        limit: usize,
        by: Instant,
    ) -> Outcome<Listing> {
        if kind(opened.attributes) == Kind::Link {
            return Err(Failure::Link);
        }
        let (mut listing, mut is_first) = (Listing::default(), true);
        listing.id = *id;
        let mut answers = answers.into_iter();
        loop {
            let answer = match answers.next() {
                Some(answer) => answer,
                None if limit == 0 => return Ok(listing),
                None => {
                    let next = info::directory(&opened.handle, PAYLOAD);
                    self.connection.exchange(next, by)?
                }
            };
            match answer.0.status {
                status::NO_MORE_FILES => return Ok(listing),
                // Samba's answer for a path that is too long for it: it lists nothing, not even `..`.
                status::NO_SUCH_FILE if is_first => return Ok(listing),
                _ => self.connection.expect_success(&answer)?,
            }
            let listed = info::directory_answer(&answer.1);
            let listed = listed.ok_or_else(|| self.connection.malformed("list of a folder"))?;
            for entry in listed {
                listing.take(entry, limit)?;
            }
            if listing.has_more {
                return Ok(listing);
            }
            is_first = false;
        }
    }

    /// Makes a lock's file, which no other client has then: it is removed when it is closed.
    fn make_lock(&mut self, path: &SharePath, by: Instant) -> Outcome<Found> {
        let open = Open {
            disposition: Disposition::Create,
            options: create::NO_FOLDER | create::DELETE_ON_CLOSE,
            ..LOCK
        };
        Ok(self.begin(path, open, Vec::new(), by)?.0)
    }

    /// Takes a lock's file that is there: its last holder may be just removing it, and it may be none.
    fn take_lock(&mut self, path: &SharePath, by: Instant) -> Outcome<Found> {
        let (found, _) = self.begin(path, LOCK, Vec::new(), by)?;
        let failure = match self.once(path, LOOK, None, by) {
            // Only now: a file that someone wrote stays.
            Ok(((current, id), _)) if id == found.1 && current.size == 0 => {
                let dispose = info::dispose(&found.0.handle);
                match self.connection.call(dispose, by) {
                    Ok(_) => return Ok(found),
                    Err(failure) => failure,
                }
            }
            Ok(((_, id), _)) if id == found.1 => Failure::Exists,
            Err(failure) if failure != Failure::NotFound => failure,
            // Samba may open a file that its last holder is just removing: a lock on it would exclude no one.
            Ok(_) | Err(_) => Failure::InUse,
        };
        // The file may be gone by now: that is no failure.
        let _ = self.close(&found.0.handle, by);
        Err(failure)
    }

    /// Makes a file, which stays open.
    fn write(&mut self, path: &SharePath, content: &[u8], by: Instant) -> Outcome<Found> {
        let size = u32::try_from(content.len()).ok();
        let size = size.filter(|size| *size <= PAYLOAD);
        let size = size.ok_or(Failure::Limit(LONGEST_FILE))?;
        let open = Open {
            access: create::WRITE_DATA | create::READ_ATTRIBUTES | create::DELETE,
            attributes: create::NORMAL,
            disposition: Disposition::Create,
            options: create::NO_FOLDER,
            // It is open for a moment still when it is in its place, where others read it.
            ..LOOK
        };
        let requests = vec![file::write(&LAST, 0, content), file::flush(&LAST)];
        let (found, answers) = self.begin(path, open, requests, by)?;
        if let Err(failure) = self.written(&answers, size) {
            // It is not kept from the next call.
            let _ = self.close(&found.0.handle, by);
            return Err(failure);
        }
        Ok(found)
    }

    fn written(&mut self, answers: &[Answer], size: u32) -> Outcome<()> {
        let mut all = answers.iter();
        all.try_for_each(|answer| self.connection.expect_success(answer))?;
        let written = answers
            .first()
            .and_then(|(_, message)| file::write_answer(message));
        match written {
            Some(written) if written == size => Ok(()),
            _ => Err(self.connection.malformed("count of written bytes")),
        }
    }

    /// What was read of a file, by the answer to its open and that to the read.
    fn content(&mut self, opened: &create::Answer, answer: Option<Answer>) -> Outcome<Vec<u8>> {
        match kind(opened.attributes) {
            Kind::Link => return Err(Failure::Link),
            Kind::Folder => return Err(Failure::IsAFolder),
            Kind::File if opened.size > LONGEST_FILE => return Err(Failure::Limit(LONGEST_FILE)),
            Kind::File => {}
        }
        let answer = answer.ok_or(Failure::Ended)?;
        if answer.0.status == status::END_OF_FILE {
            return Ok(Vec::new());
        }
        self.connection.expect_success(&answer)?;
        match file::read_answer(&answer.1, PAYLOAD) {
            Some(data) => Ok(data.to_vec()),
            None => Err(self.connection.malformed("answer with data")),
        }
    }

    /// Removes entries at once: first all are opened, then those go that have their ids. The failure that ends the
    /// connection counts, else the first.
    fn remove_together(&mut self, entries: &[(SharePath, FileId)], by: Instant) -> Result<()> {
        let open = Open {
            access: create::DELETE | create::READ_ATTRIBUTES | create::WRITE_ATTRIBUTES,
            ..LOOK
        };
        let opening: Vec<_> = entries
            .iter()
            .map(|(path, _)| opening(path, open))
            .collect();
        let first = &entries[0].0;
        let opened = self.connection.exchange_all(&opening, by);
        let opened = self.told(Operation::Remove, first, opened)?;
        let (pairs, _) = opened.as_chunks();
        let mut chains = Vec::new();
        let mut owners = Vec::new();
        let mut failures = Vec::new();
        for ((path, id), pair) in entries.iter().zip(pairs) {
            let chain = match self.found(pair, by) {
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
            failures.push((first, failure));
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

    /// The result of an operation, as its caller has it.
    fn told<T>(&self, operation: Operation, path: &SharePath, done: Outcome<T>) -> Result<T> {
        done.map_err(|failure| self.failed(operation, path, failure))
    }

    fn opened(
        &self,
        operation: Operation,
        path: &SharePath,
        done: Outcome<Found>,
    ) -> Result<OpenFile> {
        let (opened, id) = self.told(operation, path, done)?;
        Ok(OpenFile {
            path: path.clone(),
            handle: opened.handle,
            id,
        })
    }

    fn failed(&self, operation: Operation, path: &SharePath, failure: Failure) -> Error {
        failure.at(operation, format!("{}{path}", self.place))
    }
}

impl Share for RemoteShare {
    fn stat(&mut self, path: &SharePath, by: Instant) -> Result<Entry> {
        let done = self.once(path, LOOK, None, by);
        let ((found, id), _) = self.told(Operation::Stat, path, done)?;
        Ok(Entry {
            name: path.names().last().cloned(),
            id,
            kind: kind(found.attributes),
            size: found.size,
            changed: found.changed,
        })
    }

    fn list(&mut self, folder: &SharePath, limit: usize, by: Instant) -> Result<Listing> {
        let open = Open {
            access: create::READ_DATA | create::READ_ATTRIBUTES,
            options: create::FOLDER,
            ..LOOK
        };
        let few = || info::directory(&LAST, FEW_ENTRIES);
        let listing = if limit == 0 {
            let done = self.once(folder, open, Some(few()), by);
            done.and_then(|(found, answer)| self.entries(&found, Vec::from_iter(answer), 0, by))
        } else {
            // After all entries that fit in one answer, the end.
            let requests = vec![info::directory(&LAST, PAYLOAD), few()];
            let done = self.begin(folder, open, requests, by);
            done.and_then(|(found, answers)| {
                let listing = self.entries(&found, answers, limit, by);
                let closed = self.close(&found.0.handle, by);
                let listing = listing?;
                closed.map(|()| listing)
            })
        };
        self.told(Operation::List, folder, listing)
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
        let done = self.once(path, open, None, by);
        let ((_, id), _) = self.told(Operation::MakeFolder, path, done)?;
        Ok(id)
    }

    fn create(&mut self, path: &SharePath, content: &[u8], by: Instant) -> Result<OpenFile> {
        let done = self.write(path, content, by);
        self.opened(Operation::Create, path, done)
    }

    fn place(&mut self, file: OpenFile, to: &SharePath, by: Instant) -> Result<()> {
        let request = info::rename(&file.handle, &to.encode(), Replaces::AFile);
        let done = self.end(request, &file.handle, by);
        self.told(Operation::Rename, &file.path, done)
    }

    fn discard(&mut self, file: OpenFile, by: Instant) -> Result<()> {
        let done = self.end(info::dispose(&file.handle), &file.handle, by);
        self.told(Operation::Remove, &file.path, done)
    }

    fn read(&mut self, path: &SharePath, by: Instant) -> Result<Vec<u8>> {
        let open = Open {
            access: create::READ_DATA | create::READ_ATTRIBUTES,
            options: create::NO_FOLDER,
            ..LOOK
        };
        let request = file::read(&LAST, 0, PAYLOAD);
        let done = self.once(path, open, Some(request), by);
        let content = done.and_then(|((found, _), answer)| self.content(&found, answer));
        self.told(Operation::Read, path, content)
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
        let opened = self.begin(from, open, Vec::new(), by);
        let done = opened.and_then(|((opened, found), _)| {
            if found != id {
                self.close(&opened.handle, by)?;
                let expected = id;
                return Err(Failure::Changed { expected, found });
            }
            let replaces = match (existing, kind(opened.attributes)) {
                (Existing::Replace, Kind::File) => Replaces::AFile,
                // Samba would let a folder replace an empty one.
                (Existing::Refuse | Existing::Replace, _) => Replaces::Nothing,
            };
            let request = info::rename(&opened.handle, &to.encode(), replaces);
            self.end(request, &opened.handle, by)
        });
        self.told(Operation::Rename, from, done)
    }

    fn remove(&mut self, path: &SharePath, id: FileId, by: Instant) -> Result<()> {
        self.remove_each(&[(path.clone(), id)], by)
    }

    fn clear(&mut self, path: &SharePath, by: Instant) -> Result<()> {
        let open = Open {
            access: create::DELETE | create::READ_ATTRIBUTES,
            ..LOOK
        };
        let done = self.once(path, open, Some(info::dispose(&LAST)), by);
        let done = done.and_then(|(_, disposed)| {
            self.connection
                .expect_success(&disposed.ok_or(Failure::Ended)?)
        });
        match done {
            Err(Failure::NotFound) => Ok(()),
            done => self.told(Operation::Remove, path, done),
        }
    }

    fn remove_each(&mut self, entries: &[(SharePath, FileId)], by: Instant) -> Result<()> {
        let mut portions = entries.chunks(AT_A_TIME);
        portions.try_for_each(|some| self.remove_together(some, by))
    }

    fn lock(&mut self, path: &SharePath, by: Instant) -> Result<OpenFile> {
        let made = match self.make_lock(path, by) {
            Err(Failure::Exists) => self.take_lock(path, by),
            made => made,
        };
        let held = made.map_err(|failure| match failure {
            // The last holder's file is on its way out.
            Failure::DeletePending => Failure::InUse,
            other => other,
        });
        self.opened(Operation::Lock, path, held)
    }

    fn unlock(&mut self, lock: OpenFile, by: Instant) -> Result<()> {
        let closed = self.close(&lock.handle, by);
        self.told(Operation::Unlock, &lock.path, closed)
    }
}

/// Opens a path, and asks for its id.
fn opening(path: &SharePath, open: Open) -> Vec<Request> {
    vec![
        create::request(&path.encode(), open),
        info::id(&LAST).related(),
    ]
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
    fn take(&mut self, listed: Listed, limit: usize) -> Outcome<()> {
        const DOT: u16 = b'.' as u16;
        match listed.name.as_slice() {
            [DOT] => {}
            // A server without ids sends 0.
            [DOT, DOT] => self.above = Some(FileId(listed.id)).filter(|id| id.0 != 0),
            _ if self.entries.len() >= limit => self.has_more = true,
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
