//! A share of a real server.

use std::time::Instant;

use super::{
    Entry, Existing, FileId, FolderIds, Kind, LONGEST_FILE, Listing, Lock, OpenFile, Share,
    Visibility,
};
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

/// What an open answers, and what the requests behind it do.
type Opened = (create::Answer, Vec<Answer>);

/// An open that neither makes nor excludes anything.
const LOOK: Open = Open {
    access: create::READ_ATTRIBUTES,
    attributes: 0,
    sharing: create::SHARE_ALL,
    disposition: Disposition::Open,
    options: 0,
};

/// The open of a folder whose entries are listed.
const LIST: Open = Open {
    access: create::READ_DATA | create::READ_ATTRIBUTES,
    options: create::FOLDER,
    ..LOOK
};

/// The open of a lock.
const LOCK: Open = Open {
    access: create::READ_DATA | create::WRITE_DATA | create::READ_ATTRIBUTES | create::DELETE,
    attributes: create::HIDDEN,
    sharing: create::SHARE_NOTHING,
    disposition: Disposition::OpenOrCreate,
    options: create::NO_FOLDER,
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

    /// Opens a path, and does more with what is open, in one message.
    fn begin(
        &mut self,
        path: &SharePath,
        open: Open,
        more: &[Request],
        by: Instant,
    ) -> Outcome<Opened> {
        let chain = chain(path, open, more);
        let mut answers = self.connection.exchange_all(&[chain], by)?;
        let more = answers.split_off(1);
        let opened = answers.pop().ok_or(Failure::Ended)?;
        Ok((self.opened(&opened)?, more))
    }

    /// The same, and closes it.
    fn once(
        &mut self,
        path: &SharePath,
        open: Open,
        more: &[Request],
        by: Instant,
    ) -> Outcome<Opened> {
        let done = self.each_once(&[(path, open)], more, by)?.pop();
        done.ok_or(Failure::Ended)?
    }

    /// The same for several paths, in any order.
    fn each_once(
        &mut self,
        paths: &[(&SharePath, Open)],
        more: &[Request],
        by: Instant,
    ) -> Outcome<Vec<Outcome<Opened>>> {
        let more = [more, &[create::close(&LAST)]].concat();
        let chains = paths.iter().map(|(path, open)| chain(path, *open, &more));
        let chains: Vec<_> = chains.collect();
        let mut answers = self.connection.exchange_all(&chains, by)?.into_iter();
        let each = paths.iter().map(|_| {
            let opened = answers.next().ok_or(Failure::Ended)?;
            let mut more: Vec<_> = answers.by_ref().take(more.len()).collect();
            let opened = self.opened(&opened)?;
            let closed = more.pop().ok_or(Failure::Ended)?;
            self.expect_closed(&closed, &opened.handle)?;
            Ok((opened, more))
        });
        Ok(each.collect())
    }

    fn opened(&mut self, answer: &Answer) -> Outcome<create::Answer> {
        self.connection.expect_success(answer)?;
        let opened = create::Answer::parse(&answer.1);
        opened.ok_or_else(|| self.connection.malformed("answer to an open"))
    }

    fn expect_closed(&mut self, closed: &Answer, handle: &Handle) -> Outcome<()> {
        match self.connection.expect_success(closed) {
            Err(failure) if failure.ends_connection() => return Err(failure),
            // A server skips what follows a request that failed (MS-SMB2 3.3.5.2.7.2).
            Err(_) => self.connection.later(create::close(handle)),
            Ok(()) => {}
        }
        Ok(())
    }

    fn id(&mut self, answer: Option<&Answer>) -> Outcome<FileId> {
        let answer = answer.ok_or(Failure::Ended)?;
        self.connection.expect_success(answer)?;
        let id = info::id_answer(&answer.1).map(FileId);
        id.ok_or_else(|| self.connection.malformed("answer about an id"))
    }

    /// Opens a path, and asks for its id.
    fn identify(
        &mut self,
        path: &SharePath,
        open: Open,
        by: Instant,
    ) -> Outcome<(create::Answer, FileId)> {
        let (opened, answers) = self.begin(path, open, &[info::id(&LAST)], by)?;
        let id = self.id(answers.first());
        self.kept(&opened, id).map(|id| (opened, id))
    }

    /// After a failure, what is open is closed.
    fn kept<T>(&mut self, opened: &create::Answer, done: Outcome<T>) -> Outcome<T> {
        done.inspect_err(|_| self.connection.later(create::close(&opened.handle)))
    }

    /// Does something with what is open, and closes it, in one message. Returns when it has changed.
    fn end(&mut self, last: Request, handle: &Handle, by: Instant) -> Outcome<u64> {
        let chain = vec![last, create::close_and_tell(&LAST).related()];
        let answers = self.connection.exchange_all(&[chain], by)?;
        let [done, closed] = answers.as_slice() else {
            return Err(Failure::Ended);
        };
        let done = self.connection.expect_success(done);
        self.expect_closed(closed, handle)?;
        done.map(|()| create::changed(&closed.1).unwrap_or(0))
    }

    /// The id of a folder, and of that above it, which is nobody's affair for a share's own.
    fn ids(&mut self, path: &SharePath, (opened, answers): &Opened) -> Outcome<FolderIds> {
        let mut listing = self.listing(opened, answers)?;
        if let Some(answer) = answers.get(1).filter(|_| *path != SharePath::root()) {
            self.take_entries(&mut listing, answer, 0)?;
        }
        let (id, above) = (listing.id, listing.above);
        Ok(FolderIds { id, above })
    }

    /// The listing of a folder, without entries yet.
    fn listing(&mut self, opened: &create::Answer, answers: &[Answer]) -> Outcome<Listing> {
        if kind(opened.attributes) == Kind::Link {
            return Err(Failure::Link);
        }
        let id = self.id(answers.first())?;
        Ok(Listing {
            id,
            ..Listing::default()
        })
    }

    /// The entries of a folder, in one message, if its end or the limit is among the first ones.
    fn few_entries(
        &mut self,
        folder: &SharePath,
        ending: &str,
        limit: usize,
        by: Instant,
    ) -> Outcome<Option<Listing>> {
        let asked = [
            info::id(&LAST),
            info::directory(&LAST, ending, PAYLOAD),
            // After all that fit in one answer, the end.
            info::directory(&LAST, ending, FEW_ENTRIES),
        ];
        let (opened, answers) = self.once(folder, LIST, &asked, by)?;
        let mut listing = self.listing(&opened, &answers)?;
        for answer in answers.iter().skip(1) {
            if self.take_entries(&mut listing, answer, limit)? {
                return Ok(Some(listing));
            }
        }
        Ok(None)
    }

    /// The entries of a folder, one message after the other.
    fn entries(
        &mut self,
        folder: &SharePath,
        ending: &str,
        limit: usize,
        by: Instant,
    ) -> Outcome<Listing> {
        let (opened, answers) = self.begin(folder, LIST, &[info::id(&LAST)], by)?;
        let mut listing = self.listing(&opened, &answers);
        while let Ok(found) = &mut listing {
            let next = info::directory(&opened.handle, ending, PAYLOAD);
            let answer = self.connection.exchange(next, by)?;
            match self.take_entries(found, &answer, limit) {
                Ok(false) => {}
                Ok(true) => break,
                Err(failure) => listing = Err(failure),
            }
        }
        self.connection.later(create::close(&opened.handle));
        listing
    }

    /// Takes some entries, and returns whether these were all, or as many as the limit.
    fn take_entries(
        &mut self,
        listing: &mut Listing,
        answer: &Answer,
        limit: usize,
    ) -> Outcome<bool> {
        match answer.0.status {
            // The second is Samba's answer for a path that is too long for it: it lists nothing, not even `..`.
            status::NO_MORE_FILES | status::NO_SUCH_FILE => return Ok(true),
            _ => self.connection.expect_success(answer)?,
        }
        let listed = info::directory_answer(&answer.1);
        let listed = listed.ok_or_else(|| self.connection.malformed("list of a folder"))?;
        let mut listed = listed.into_iter();
        listed.try_for_each(|entry| listing.take(entry, limit))?;
        Ok(listing.has_more)
    }

    /// Makes a lock's file, which no other client has then: it is removed when it is closed.
    fn make_lock(&mut self, path: &SharePath, by: Instant) -> Outcome<Handle> {
        let open = Open {
            disposition: Disposition::Create,
            options: create::NO_FOLDER | create::DELETE_ON_CLOSE,
            ..LOCK
        };
        Ok(self.begin(path, open, &[], by)?.0.handle)
    }

    /// Takes a lock's file that is there: its last holder may be just removing it, and it may be none.
    fn take_lock(&mut self, path: &SharePath, by: Instant) -> Outcome<Handle> {
        let (opened, id) = self.identify(path, LOCK, by)?;
        let taken = match self.attributes(path, by) {
            // Only now: a file that someone wrote stays.
            Ok((now, found)) if found == id && now.size == 0 => {
                let dispose = info::dispose(&opened.handle);
                self.connection.call(dispose, by).map(|_| opened.handle)
            }
            Ok((_, found)) if found == id => Err(Failure::Exists),
            Err(failure) if failure != Failure::NotFound => Err(failure),
            // Samba may open a file that its last holder is just removing: a lock on it would exclude no one.
            Ok(_) | Err(_) => Err(Failure::InUse),
        };
        // At once: the next try may be this connection's.
        if taken.is_err() {
            let _ = self.close(&opened.handle, by);
        }
        taken
    }

    fn attributes(&mut self, path: &SharePath, by: Instant) -> Outcome<(create::Answer, FileId)> {
        let (found, answers) = self.once(path, LOOK, &[info::id(&LAST)], by)?;
        let id = self.id(answers.first())?;
        Ok((found, id))
    }

    fn close(&mut self, handle: &Handle, by: Instant) -> Outcome<()> {
        self.connection.call(create::close(handle), by).map(drop)
    }

    /// Makes a file, which stays open.
    fn write(
        &mut self,
        path: &SharePath,
        content: &[u8],
        by: Instant,
    ) -> Outcome<(Handle, FileId)> {
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
        let requests = [
            info::id(&LAST),
            file::write(&LAST, 0, content),
            file::flush(&LAST),
        ];
        let (opened, answers) = self.begin(path, open, &requests, by)?;
        let id = self.written(&answers, size);
        self.kept(&opened, id).map(|id| (opened.handle, id))
    }

    fn written(&mut self, answers: &[Answer], size: u32) -> Outcome<FileId> {
        let [id, written, flushed] = answers else {
            return Err(Failure::Ended);
        };
        let id = self.id(Some(id))?;
        self.connection.expect_success(written)?;
        if file::write_answer(&written.1) != Some(size) {
            return Err(self.connection.malformed("count of written bytes"));
        }
        self.connection.expect_success(flushed)?;
        Ok(id)
    }

    /// What was read of a file, by the answer to its open and that to the read.
    fn content(&mut self, (opened, answers): &Opened) -> Outcome<Vec<u8>> {
        match kind(opened.attributes) {
            Kind::Link => return Err(Failure::Link),
            Kind::Folder => return Err(Failure::IsAFolder),
            Kind::File if opened.size > LONGEST_FILE => return Err(Failure::Limit(LONGEST_FILE)),
            Kind::File => {}
        }
        let answer = answers.first().ok_or(Failure::Ended)?;
        if answer.0.status == status::END_OF_FILE {
            return Ok(Vec::new());
        }
        self.connection.expect_success(answer)?;
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
        let asked = [info::id(&LAST)];
        let chains = entries.iter().map(|(path, _)| chain(path, open, &asked));
        let chains: Vec<_> = chains.collect();
        let first = &entries[0].0;
        let opened = self.connection.exchange_all(&chains, by);
        let opened = self.told(Operation::Remove, first, opened)?;
        let mut chains = Vec::new();
        let mut owners = Vec::new();
        let mut failures = Vec::new();
        let (pairs, _) = opened.as_chunks();
        for ((path, id), [opened, found]) in entries.iter().zip(pairs) {
            match self.to_remove(opened, found, *id) {
                Ok(opened) => {
                    let chain = removal(&opened);
                    owners.push((path, opened.handle, chain.len()));
                    chains.push(chain);
                }
                Err(failure) => failures.push((path, failure)),
            }
        }
        let closed = self.connection.exchange_all(&chains, by);
        let mut closed = closed
            .unwrap_or_else(|failure| {
                failures.push((first, failure));
                Vec::new()
            })
            .into_iter();
        for (path, handle, length) in owners {
            let answers: Vec<_> = closed.by_ref().take(length).collect();
            let mut each = answers.iter();
            let done = each.try_for_each(|answer| self.connection.expect_success(answer));
            failures.extend(done.err().map(|failure| (path, failure)));
            if let Some(closed) = answers.last() {
                failures.extend(
                    self.expect_closed(closed, &handle)
                        .err()
                        .map(|failure| (path, failure)),
                );
            }
        }
        let worst = failures
            .into_iter()
            .min_by_key(|(_, failure)| !failure.ends_connection());
        worst.map_or(Ok(()), |(path, failure)| {
            Err(self.failed(Operation::Remove, path, failure))
        })
    }

    /// What was opened, if it has this id.
    fn to_remove(
        &mut self,
        opened: &Answer,
        id: &Answer,
        expected: FileId,
    ) -> Outcome<create::Answer> {
        let opened = self.opened(opened)?;
        let id = self.id(Some(id)).and_then(|found| same(expected, found));
        self.kept(&opened, id).map(|()| opened)
    }

    /// The result of an operation, as its caller has it.
    fn told<T>(&self, operation: Operation, path: &SharePath, done: Outcome<T>) -> Result<T> {
        done.map_err(|failure| self.failed(operation, path, failure))
    }

    fn failed(&self, operation: Operation, path: &SharePath, failure: Failure) -> Error {
        failure.at(operation, format!("{}{path}", self.place))
    }
}

impl Share for RemoteShare {
    fn stat(&mut self, path: &SharePath, by: Instant) -> Result<Entry> {
        let found = self.attributes(path, by);
        let (found, id) = self.told(Operation::Stat, path, found)?;
        Ok(Entry {
            name: path.names().last().cloned(),
            id,
            kind: kind(found.attributes),
            size: found.size,
            changed: found.changed,
        })
    }

    fn look(&mut self, folders: &[SharePath], by: Instant) -> Result<Vec<Result<FolderIds>>> {
        let opens = folders.iter().map(|path| match path.names() {
            // A user may work in a folder of a share without a right to list all.
            [] => (path, LOOK),
            _ => (path, LIST),
        });
        let asked = [info::id(&LAST), info::directory(&LAST, "", FEW_ENTRIES)];
        let looked = self.each_once(&Vec::from_iter(opens), &asked, by);
        let first = folders.first().cloned().unwrap_or_default();
        let looked = self.told(Operation::List, &first, looked)?;
        let each = folders.iter().zip(looked).map(|(path, looked)| {
            let ids = looked.and_then(|looked| self.ids(path, &looked));
            self.told(Operation::List, path, ids)
        });
        Ok(each.collect())
    }

    fn list_ending(
        &mut self,
        folder: &SharePath,
        ending: &str,
        limit: usize,
        by: Instant,
    ) -> Result<Listing> {
        let listing = self.few_entries(folder, ending, limit, by);
        let listing = match listing {
            Ok(None) => self.entries(folder, ending, limit, by),
            Ok(Some(listing)) => Ok(listing),
            Err(failure) => Err(failure),
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
        let made = self.once(path, open, &[info::id(&LAST)], by);
        let id = made.and_then(|(_, answers)| self.id(answers.first()));
        self.told(Operation::MakeFolder, path, id)
    }

    fn create(&mut self, path: &SharePath, content: &[u8], by: Instant) -> Result<OpenFile> {
        let written = self.write(path, content, by);
        let (handle, id) = self.told(Operation::Create, path, written)?;
        let path = path.clone();
        Ok(OpenFile { path, handle, id })
    }

    fn place(&mut self, file: OpenFile, to: &SharePath, by: Instant) -> Result<u64> {
        let request = info::rename(&file.handle, &to.encode(), Replaces::AFile);
        let done = self.end(request, &file.handle, by);
        self.told(Operation::Rename, &file.path, done)
    }

    fn discard(&mut self, file: OpenFile, by: Instant) -> Result<()> {
        let done = self.end(info::dispose(&file.handle), &file.handle, by);
        self.told(Operation::Remove, &file.path, done.map(drop))
    }

    fn read(&mut self, path: &SharePath, by: Instant) -> Result<Vec<u8>> {
        let open = Open {
            access: create::READ_DATA | create::READ_ATTRIBUTES,
            options: create::NO_FOLDER,
            ..LOOK
        };
        let done = self.once(path, open, &[file::read(&LAST, 0, PAYLOAD)], by);
        let content = done.and_then(|read| self.content(&read));
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
        let done = self.identify(from, open, by).and_then(|(opened, found)| {
            self.kept(&opened, same(id, found))?;
            let replaces = match (existing, kind(opened.attributes)) {
                (Existing::Replace, Kind::File) => Replaces::AFile,
                // Samba would let a folder replace an empty one.
                (Existing::Refuse | Existing::Replace, _) => Replaces::Nothing,
            };
            let request = info::rename(&opened.handle, &to.encode(), replaces);
            self.end(request, &opened.handle, by)
        });
        self.told(Operation::Rename, from, done.map(drop))
    }

    fn take(
        &mut self,
        from: &SharePath,
        id: FileId,
        to: &SharePath,
        by: Instant,
    ) -> Result<OpenFile> {
        let open = Open {
            access: create::DELETE | create::READ_ATTRIBUTES,
            ..LOOK
        };
        let done = self.identify(from, open, by).and_then(|(opened, found)| {
            let request = info::rename(&opened.handle, &to.encode(), Replaces::Nothing);
            let done = same(id, found).and_then(|()| self.connection.call(request, by));
            self.kept(&opened, done).map(|_| opened.handle)
        });
        let handle = self.told(Operation::Rename, from, done)?;
        let path = to.clone();
        Ok(OpenFile { path, handle, id })
    }

    fn remove(&mut self, path: &SharePath, id: FileId, by: Instant) -> Result<()> {
        self.remove_each(&[(path.clone(), id)], by)
    }

    fn clear(&mut self, path: &SharePath, by: Instant) -> Result<()> {
        let open = Open {
            access: create::DELETE | create::READ_ATTRIBUTES,
            ..LOOK
        };
        let done = self.once(path, open, &[info::dispose(&LAST)], by);
        let done = done.and_then(|(_, disposed)| {
            let mut disposed = disposed.iter();
            disposed.try_for_each(|answer| self.connection.expect_success(answer))
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

    fn lock(&mut self, path: &SharePath, by: Instant) -> Result<Lock> {
        let made = match self.make_lock(path, by) {
            Err(Failure::Exists) => self.take_lock(path, by),
            made => made,
        };
        let held = made.map_err(|failure| match failure {
            // The last holder's file is on its way out.
            Failure::DeletePending => Failure::InUse,
            other => other,
        });
        let handle = self.told(Operation::Lock, path, held)?;
        let path = path.clone();
        Ok(Lock { path, handle })
    }

    fn unlock(&mut self, lock: Lock, by: Instant) -> Result<()> {
        let closed = self.close(&lock.handle, by);
        self.told(Operation::Unlock, &lock.path, closed)
    }
}

/// Opens a path, and does more with what is open.
fn chain(path: &SharePath, open: Open, more: &[Request]) -> Vec<Request> {
    let more = more.iter().cloned().map(Request::related);
    let opening = create::request(&path.encode(), open);
    [opening].into_iter().chain(more).collect()
}

fn same(expected: FileId, found: FileId) -> Outcome<()> {
    if expected == found {
        return Ok(());
    }
    Err(Failure::Changed { expected, found })
}

/// Removes what is open when it is closed, and closes it.
fn removal(opened: &create::Answer) -> Vec<Request> {
    let mut chain = vec![info::dispose(&opened.handle)];
    if opened.attributes & create::READ_ONLY != 0 {
        let others = opened.attributes & !create::READ_ONLY;
        let attributes = if others == 0 { create::NORMAL } else { others };
        chain = vec![
            info::attributes(&opened.handle, attributes),
            info::dispose(&LAST).related(),
            // The file may have another name, which stays.
            info::attributes(&LAST, opened.attributes).related(),
        ];
    }
    chain.push(create::close(&LAST).related());
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
