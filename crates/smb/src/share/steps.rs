//! What operations have in common: an open, and what is asked of it in the same message.

use super::{Basic, Entry, FileId, Kind, Listing, OpenFile};
use crate::connection::{Answer, Connection};
use crate::error::{Failure, Outcome};
use crate::name::{self, Name, SharePath};
use crate::status;
use crate::wire::create::{self, Handle, LAST, Open};
use crate::wire::info::{self, Listed};
use crate::wire::{PAYLOAD, Request, file};

/// Room for `.` and `..`, or for an entry with a name of any length.
pub(super) const FEW_ENTRIES: u32 = 1024;

/// What an open answers, and what the requests behind it do.
pub(super) type Opened = (create::Answer, Vec<Answer>);

/// An open that neither makes nor excludes anything.
pub(super) const LOOK: Open = Open {
    access: create::READ_ATTRIBUTES,
    attributes: 0,
    sharing: create::SHARE_ALL,
    disposition: create::OPEN,
    options: 0,
};

pub(super) const LIST: Open = Open {
    access: create::READ_DATA | create::READ_ATTRIBUTES,
    options: create::FOLDER,
    ..LOOK
};

pub(super) const REMOVE: Open = Open {
    access: create::DELETE | create::READ_ATTRIBUTES,
    ..LOOK
};

pub(super) const LOCK: Open = Open {
    access: create::READ_DATA | create::WRITE_DATA | create::READ_ATTRIBUTES | create::DELETE,
    attributes: create::HIDDEN,
    sharing: create::SHARE_NOTHING,
    disposition: create::OPEN_OR_CREATE,
    options: create::NO_FOLDER,
};

/// A lock beside others of its kind: those who may write it are kept out, and keep it out.
pub(super) const LOCK_BESIDE: Open = Open {
    access: create::READ_DATA | create::READ_ATTRIBUTES,
    sharing: create::SHARE_READ,
    ..LOCK
};

impl Connection {
    /// Opens a path, asks for its id, and does more with it, in one message. It stays open, unless its id is not told.
    /// Returns the answer to the open too, and what the last requests do.
    pub(super) fn hold(
        &mut self,
        path: &SharePath,
        open: Open,
        more: &[Request],
    ) -> Outcome<(OpenFile, create::Answer, Vec<Answer>)> {
        let more = [&[info::id(&LAST)], more].concat();
        let mut answers = self.exchange_all(&[chain(path, open, &more)])?.into_iter();
        let opened = answers.next().ok_or(Failure::Ended)?;
        let opened = self.opened(&opened)?;
        let handle = opened.handle;
        let id = self.id(answers.next().as_ref());
        let id = self.kept(&handle, id)?;
        let path = path.clone();
        Ok((OpenFile { path, handle, id }, opened, answers.collect()))
    }

    /// Opens a path, asks for its id, and closes it, in one message.
    pub(super) fn identify(&mut self, path: &SharePath, open: Open) -> Outcome<FileId> {
        let (_, answers) = self.once(path, open, &[info::id(&LAST)])?;
        self.id(answers.first())
    }

    /// The same, with other questions.
    pub(super) fn once(
        &mut self,
        path: &SharePath,
        open: Open,
        more: &[Request],
    ) -> Outcome<Opened> {
        let done = self.each_once(&[(path, open, more.to_vec())])?.pop();
        done.ok_or(Failure::Ended)?
    }

    /// The same for several paths, in any order.
    pub(super) fn each_once(
        &mut self,
        asked: &[(&SharePath, Open, Vec<Request>)],
    ) -> Outcome<Vec<Outcome<Opened>>> {
        let chains = asked.iter().map(|(path, open, more)| {
            let more = [more.as_slice(), &[create::close(&LAST)]].concat();
            chain(path, *open, &more)
        });
        let chains: Vec<_> = chains.collect();
        let mut answers = self.exchange_all(&chains)?.into_iter();
        let mut each = Vec::new();
        for chain in &chains {
            let answers = answers.by_ref().take(chain.len()).collect();
            match self.opened_and_closed(answers) {
                Err(failure) if failure.ends_connection() => return Err(failure),
                done => each.push(done),
            }
        }
        Ok(each)
    }

    fn opened_and_closed(&mut self, mut answers: Vec<Answer>) -> Outcome<Opened> {
        let mut more = answers.split_off(1);
        let opened = self.opened(answers.first().ok_or(Failure::Ended)?)?;
        self.expect_closed(&more, &opened.handle)?;
        more.pop();
        Ok((opened, more))
    }

    pub(super) fn opened(&mut self, answer: &Answer) -> Outcome<create::Answer> {
        self.expect_success(answer)?;
        let opened = create::Answer::parse(&answer.1);
        opened.ok_or_else(|| self.malformed("answer to an open"))
    }

    /// What the last of some answers says of a close. Samba removes at the close, and its failure is told there.
    pub(super) fn expect_closed(&mut self, answers: &[Answer], handle: &Handle) -> Outcome<()> {
        let (closed, before) = answers.split_last().ok_or(Failure::Ended)?;
        let mut before = before.iter().map(|(header, _)| header.status);
        let is_skipped = before.any(|status| status != status::SUCCESS);
        match self.expect_success(closed) {
            // A server skips what follows a request that failed (MS-SMB2 3.3.5.2.7.2).
            Err(failure) if is_skipped && !failure.ends_connection() => {
                self.later(create::close(handle));
                Ok(())
            }
            done => done,
        }
    }

    pub(super) fn id(&mut self, answer: Option<&Answer>) -> Outcome<FileId> {
        let answer = answer.ok_or(Failure::Ended)?;
        self.expect_success(answer)?;
        let id = info::id_answer(&answer.1).map(FileId);
        id.ok_or_else(|| self.malformed("answer about an id"))
    }

    /// After a failure, what is open is closed.
    pub(super) fn kept<T>(&mut self, handle: &Handle, done: Outcome<T>) -> Outcome<T> {
        done.inspect_err(|_| self.later(create::close(handle)))
    }

    /// Does something with what is open, and closes it, in one message. Returns when it has changed.
    pub(crate) fn end(&mut self, last: Request, handle: &Handle) -> Outcome<u64> {
        let chain = vec![last, create::close_and_tell(&LAST).related()];
        let answers = self.exchange_all(&[chain])?;
        self.ended(&answers, handle)
    }

    /// What the answers to a chain say whose last request closes; it is closed after a failure too.
    pub(super) fn ended(&mut self, answers: &[Answer], handle: &Handle) -> Outcome<u64> {
        let (closed, before) = answers.split_last().ok_or(Failure::Ended)?;
        let done = self.expect_all(before);
        self.expect_closed(answers, handle)?;
        done.map(|()| create::changed(&closed.1).unwrap_or(0))
    }

    pub(super) fn expect_all(&mut self, answers: &[Answer]) -> Outcome<()> {
        let mut answers = answers.iter();
        answers.try_for_each(|answer| self.expect_success(answer))
    }

    /// The ids of a folder, and of the one above it.
    pub(super) fn ids(&mut self, path: &SharePath, looked: Outcome<Opened>) -> Outcome<Listing> {
        let (opened, answers) = looked?;
        let mut listing = Listing::of(FileId(0), opened.basic.attributes)?;
        if let Some(answer) = answers.first().filter(|_| *path != SharePath::root()) {
            self.take_entries(&mut listing, answer, 0)?;
        }
        // Of a share's own folder, and where a server lists none.
        if listing.id == FileId(0) {
            listing.id = match path.names() {
                [] => self.id(answers.first())?,
                _ => self.identify(path, LOOK)?,
            };
        }
        Ok(listing)
    }

    /// The entries that came with an open, if the folder's end or the limit is among them.
    pub(super) fn first_entries(
        &mut self,
        (opened, answers): &Opened,
        limit: usize,
    ) -> Outcome<Option<Listing>> {
        let mut listing = Listing::of(self.id(answers.first())?, opened.basic.attributes)?;
        for answer in answers.iter().skip(1) {
            if self.take_entries(&mut listing, answer, limit)? {
                return Ok(Some(listing));
            }
        }
        Ok(None)
    }

    /// The entries of a folder, one message after the other.
    pub(super) fn entries(
        &mut self,
        folder: &SharePath,
        ending: &str,
        limit: usize,
    ) -> Outcome<Listing> {
        let (open, opened, _) = self.hold(folder, LIST, &[])?;
        let mut listing = Listing::of(open.id, opened.basic.attributes);
        while let Ok(found) = &mut listing {
            let next = info::directory(&open.handle, ending, PAYLOAD);
            let answer = self.exchange(next)?;
            match self.take_entries(found, &answer, limit) {
                Ok(false) => {}
                Ok(true) => break,
                Err(failure) => listing = Err(failure),
            }
        }
        let closed = self.call(create::close(&open.handle));
        let listing = listing?;
        closed.map(|_| listing)
    }

    /// Takes some entries, and returns whether these were all, or as many as the limit.
    pub(super) fn take_entries(
        &mut self,
        listing: &mut Listing,
        answer: &Answer,
        limit: usize,
    ) -> Outcome<bool> {
        match answer.0.status {
            // The second is Samba's answer for a path that is too long for it: it lists nothing, not even `..`.
            status::NO_MORE_FILES | status::NO_SUCH_FILE => return Ok(true),
            _ => self.expect_success(answer)?,
        }
        let listed = info::directory_answer(&answer.1);
        let listed = listed.ok_or_else(|| self.malformed("list of a folder"))?;
        let mut listed = listed.into_iter();
        listed.try_for_each(|entry| listing.take(entry, limit))?;
        Ok(listing.has_more)
    }

    /// Takes a lock's file that is there: its last holder may be just removing it, and it may be none.
    pub(super) fn take_lock(&mut self, path: &SharePath, open: Open) -> Outcome<OpenFile> {
        let (lock, ..) = self.hold(path, open, &[])?;
        let now = self.once(path, LOOK, &[info::id(&LAST)]);
        let now = now.and_then(|(now, answers)| Ok((now.size, self.id(answers.first())?)));
        let taken = match now {
            Ok((0, id)) if id == lock.id && open.sharing != create::SHARE_NOTHING => Ok(()),
            // Only now: a file that someone wrote stays.
            Ok((0, id)) if id == lock.id => self.call(info::dispose(&lock.handle)).map(drop),
            Ok((_, id)) if id == lock.id => Err(Failure::Exists),
            Err(failure) if failure != Failure::NotFound => Err(failure),
            // Samba may open a file that its last holder is just removing: a lock on it would exclude no one.
            Ok(_) | Err(_) => Err(Failure::InUse),
        };
        if taken.is_err() {
            // At once: the next try may be this connection's.
            let _ = self.call(create::close(&lock.handle));
        }
        taken.map(|()| lock)
    }

    /// Whether a write did all of its work.
    pub(super) fn expect_written(&mut self, answer: &Answer, size: u32) -> Outcome<()> {
        self.expect_success(answer)?;
        match file::write_answer(&answer.1) == Some(size) {
            true => Ok(()),
            false => Err(self.malformed("count of written bytes")),
        }
    }

    /// Removes entries at once: first all are opened, then those go that have their ids. The failure that ends the
    /// connection counts, else the first.
    pub(super) fn remove_together<'a>(
        &mut self,
        entries: &'a [(SharePath, FileId)],
    ) -> Result<(), (&'a SharePath, Failure)> {
        let open = Open {
            access: REMOVE.access | create::WRITE_ATTRIBUTES,
            ..LOOK
        };
        let asked = [info::id(&LAST)];
        let chains = entries.iter().map(|(path, _)| chain(path, open, &asked));
        let first = &entries[0].0;
        let opened = self.exchange_all(&Vec::from_iter(chains));
        let opened = opened.map_err(|failure| (first, failure))?;
        let (mut failures, mut found) = (Vec::new(), Vec::new());
        let (pairs, _) = opened.as_chunks();
        for ((path, id), pair) in entries.iter().zip(pairs) {
            match self.expect_id(pair, *id) {
                Ok(opened) => found.push((path, opened.handle, removal(&opened))),
                Err(failure) => failures.push((path, failure)),
            }
        }
        let chains: Vec<_> = found.iter().map(|(.., chain)| chain.clone()).collect();
        match self.exchange_all(&chains) {
            Err(failure) => failures.push((first, failure)),
            Ok(answers) => {
                let mut answers = answers.into_iter();
                for (path, handle, chain) in found {
                    let answers: Vec<_> = answers.by_ref().take(chain.len()).collect();
                    let done = self.ended(&answers, &handle);
                    failures.extend(done.err().map(|failure| (path, failure)));
                }
            }
        }
        let worst = failures
            .into_iter()
            .min_by_key(|(_, failure)| !failure.ends_connection());
        worst.map_or(Ok(()), Err)
    }

    /// What was opened, if it has this id.
    fn expect_id(
        &mut self,
        [opened, id]: &[Answer; 2],
        expected: FileId,
    ) -> Outcome<create::Answer> {
        let opened = self.opened(opened)?;
        let id = self.id(Some(id)).and_then(|found| same(expected, found));
        self.kept(&opened.handle, id).map(|()| opened)
    }
}

/// The last holder's file of a lock is on its way out.
pub(super) fn or_in_use(failure: Failure) -> Failure {
    match failure {
        Failure::DeletePending => Failure::InUse,
        other => other,
    }
}

/// What is asked to look at folders.
pub(super) fn looks(folders: &[SharePath]) -> Vec<(&SharePath, Open, Vec<Request>)> {
    let each = folders.iter().map(|path| match path.names() {
        // A user may work in a folder of a share without a right to list all.
        [] => (path, LOOK, vec![info::id(&LAST)]),
        _ => (path, LIST, vec![info::directory(&LAST, "", FEW_ENTRIES)]),
    });
    each.collect()
}

pub(super) fn chain(path: &SharePath, open: Open, more: &[Request]) -> Vec<Request> {
    let more = more.iter().cloned().map(Request::related);
    let opening = create::request(&path.encode(), open);
    [opening].into_iter().chain(more).collect()
}

pub(super) fn same(expected: FileId, found: FileId) -> Outcome<()> {
    if expected == found {
        return Ok(());
    }
    Err(Failure::Changed { expected, found })
}

/// Removes what is open when it is closed, and closes it.
fn removal(opened: &create::Answer) -> Vec<Request> {
    let mut chain = vec![info::dispose(&opened.handle)];
    let attributes = opened.basic.attributes;
    if attributes & create::READ_ONLY != 0 {
        let others = attributes & !create::READ_ONLY;
        let writable = if others == 0 { create::NORMAL } else { others };
        let only = |attributes| Basic {
            attributes,
            ..Basic::default()
        };
        chain = vec![
            info::set_basic(&opened.handle, only(writable)),
            info::dispose(&LAST).related(),
            // The file may have another name, which stays.
            info::set_basic(&LAST, only(attributes)).related(),
        ];
    }
    chain.push(create::close(&LAST).related());
    chain
}

impl Listing {
    /// Of a folder, without entries yet.
    pub(super) fn of(id: FileId, attributes: u32) -> Outcome<Self> {
        match kind(attributes) {
            Kind::Link => Err(Failure::Link),
            Kind::Folder | Kind::File => Ok(Self {
                id,
                ..Self::default()
            }),
        }
    }

    fn take(&mut self, listed: Listed, limit: usize) -> Outcome<()> {
        const DOT: u16 = b'.' as u16;
        match listed.name.as_slice() {
            [DOT] => self.id = FileId(listed.id),
            [DOT, DOT] => self.above = Some(FileId(listed.id)).filter(|id| id.is_told()),
            _ if self.entries.len() >= limit => self.has_more = true,
            units => {
                let name = Name::from_units(units).map_err(|error| Failure::Name {
                    name: name::escape(units),
                    error,
                })?;
                self.entries.push(Entry {
                    name,
                    id: FileId(listed.id),
                    kind: kind(listed.basic.attributes),
                    size: listed.size,
                    changed: listed.changed,
                    basic: listed.basic,
                });
            }
        }
        Ok(())
    }
}

pub(super) fn kind(attributes: u32) -> Kind {
    if attributes & create::REPARSE_POINT != 0 {
        Kind::Link
    } else if attributes & create::DIRECTORY != 0 {
        Kind::Folder
    } else {
        Kind::File
    }
}
