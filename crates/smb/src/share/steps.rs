//! The steps of operations: an open, and what is asked of it in the same message.

use super::{
    Entry, Existing, FileId, FolderIds, Kind, LONGEST_FILE, Listing, OpenFile, Visibility,
};
use crate::connection::{Answer, Connection};
use crate::error::{Failure, Outcome};
use crate::name::{self, Name, SharePath};
use crate::status;
use crate::wire::create::{self, Disposition, Handle, LAST, Open};
use crate::wire::info::{self, Listed, Replaces};
use crate::wire::{PAYLOAD, Request, file};

/// Room for `.` and `..`, or for an entry with a name of any length.
const FEW_ENTRIES: u32 = 1024;

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

/// The open of what is moved or removed.
const REMOVE: Open = Open {
    access: create::DELETE | create::READ_ATTRIBUTES,
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

impl Connection {
    /// Opens a path, and does more with what is open, in one message.
    fn begin(&mut self, path: &SharePath, open: Open, more: &[Request]) -> Outcome<Opened> {
        let chain = chain(path, open, more);
        let mut answers = self.exchange_all(&[chain])?;
        let more = answers.split_off(1);
        let opened = answers.pop().ok_or(Failure::Ended)?;
        Ok((self.opened(&opened)?, more))
    }

    /// The same, and closes it.
    fn once(&mut self, path: &SharePath, open: Open, more: &[Request]) -> Outcome<Opened> {
        let done = self.each_once(&[(path, open)], more)?.pop();
        done.ok_or(Failure::Ended)?
    }

    /// The same for several paths, in any order.
    fn each_once(
        &mut self,
        paths: &[(&SharePath, Open)],
        more: &[Request],
    ) -> Outcome<Vec<Outcome<Opened>>> {
        let more = [more, &[create::close(&LAST)]].concat();
        let chains = paths.iter().map(|(path, open)| chain(path, *open, &more));
        let chains: Vec<_> = chains.collect();
        let mut answers = self.exchange_all(&chains)?.into_iter();
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
        self.expect_success(answer)?;
        let opened = create::Answer::parse(&answer.1);
        opened.ok_or_else(|| self.malformed("answer to an open"))
    }

    fn expect_closed(&mut self, closed: &Answer, handle: &Handle) -> Outcome<()> {
        match self.expect_success(closed) {
            Err(failure) if failure.ends_connection() => return Err(failure),
            // A server skips what follows a request that failed (MS-SMB2 3.3.5.2.7.2).
            Err(_) => self.later(create::close(handle)),
            Ok(()) => {}
        }
        Ok(())
    }

    fn id(&mut self, answer: Option<&Answer>) -> Outcome<FileId> {
        let answer = answer.ok_or(Failure::Ended)?;
        self.expect_success(answer)?;
        let id = info::id_answer(&answer.1).map(FileId);
        id.ok_or_else(|| self.malformed("answer about an id"))
    }

    /// Opens a path, and asks for its id.
    fn identify(&mut self, path: &SharePath, open: Open) -> Outcome<(create::Answer, FileId)> {
        let (opened, answers) = self.begin(path, open, &[info::id(&LAST)])?;
        let id = self.id(answers.first());
        self.kept(&opened, id).map(|id| (opened, id))
    }

    /// After a failure, what is open is closed.
    fn kept<T>(&mut self, opened: &create::Answer, done: Outcome<T>) -> Outcome<T> {
        done.inspect_err(|_| self.later(create::close(&opened.handle)))
    }

    /// Does something with what is open, and closes it, in one message. Returns when it has changed.
    pub(super) fn end(&mut self, last: Request, handle: &Handle) -> Outcome<u64> {
        let chain = vec![last, create::close_and_tell(&LAST).related()];
        let answers = self.exchange_all(&[chain])?;
        self.ended(&answers, handle)
    }

    /// What the answers to a chain say whose last request closes; it is closed after a failure too.
    fn ended(&mut self, answers: &[Answer], handle: &Handle) -> Outcome<u64> {
        let (closed, before) = answers.split_last().ok_or(Failure::Ended)?;
        let mut before = before.iter();
        let done = before.try_for_each(|answer| self.expect_success(answer));
        self.expect_closed(closed, handle)?;
        done.map(|()| create::changed(&closed.1).unwrap_or(0))
    }

    /// The ids of folders, and of those above them.
    pub(super) fn look(&mut self, folders: &[SharePath]) -> Outcome<Vec<Outcome<FolderIds>>> {
        let opens = folders.iter().map(|path| match path.names() {
            // A user may work in a folder of a share without a right to list all.
            [] => (path, LOOK),
            _ => (path, LIST),
        });
        let asked = [info::id(&LAST), info::directory(&LAST, "", FEW_ENTRIES)];
        let looked = self.each_once(&Vec::from_iter(opens), &asked)?;
        let each = folders.iter().zip(looked);
        Ok(each
            .map(|(path, looked)| looked.and_then(|looked| self.ids(path, &looked)))
            .collect())
    }

    fn ids(&mut self, path: &SharePath, (opened, answers): &Opened) -> Outcome<FolderIds> {
        let mut listing = self.listing(opened, answers)?;
        // What is above a share's own is not told.
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
    pub(super) fn few_entries(
        &mut self,
        folder: &SharePath,
        ending: &str,
        limit: usize,
    ) -> Outcome<Option<Listing>> {
        let asked = [
            info::id(&LAST),
            info::directory(&LAST, ending, PAYLOAD),
            // After all that fit in one answer, the end.
            info::directory(&LAST, ending, FEW_ENTRIES),
        ];
        let (opened, answers) = self.once(folder, LIST, &asked)?;
        let mut listing = self.listing(&opened, &answers)?;
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
        let (opened, answers) = self.begin(folder, LIST, &[info::id(&LAST)])?;
        let mut listing = self.listing(&opened, &answers);
        while let Ok(found) = &mut listing {
            let next = info::directory(&opened.handle, ending, PAYLOAD);
            let answer = self.exchange(next)?;
            match self.take_entries(found, &answer, limit) {
                Ok(false) => {}
                Ok(true) => break,
                Err(failure) => listing = Err(failure),
            }
        }
        self.later(create::close(&opened.handle));
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
            _ => self.expect_success(answer)?,
        }
        let listed = info::directory_answer(&answer.1);
        let listed = listed.ok_or_else(|| self.malformed("list of a folder"))?;
        let mut listed = listed.into_iter();
        listed.try_for_each(|entry| listing.take(entry, limit))?;
        Ok(listing.has_more)
    }

    /// Makes a lock's file, which is removed when it is closed, or takes one that is there.
    pub(super) fn lock(&mut self, path: &SharePath) -> Outcome<OpenFile> {
        let new = Open {
            disposition: Disposition::Create,
            options: create::NO_FOLDER | create::DELETE_ON_CLOSE,
            ..LOCK
        };
        match self.identify(path, new) {
            Err(Failure::Exists) => self.take_lock(path),
            made => made.map(|(opened, id)| OpenFile::new(path, &opened, id)),
        }
        .map_err(|failure| match failure {
            // The last holder's file is on its way out.
            Failure::DeletePending => Failure::InUse,
            other => other,
        })
    }

    /// Takes a lock's file that is there: its last holder may be just removing it, and it may be none.
    fn take_lock(&mut self, path: &SharePath) -> Outcome<OpenFile> {
        let (opened, id) = self.identify(path, LOCK)?;
        let taken = match self.attributes(path) {
            // Only now: a file that someone wrote stays.
            Ok((now, found)) if found == id && now.size == 0 => {
                self.call(info::dispose(&opened.handle)).map(drop)
            }
            Ok((_, found)) if found == id => Err(Failure::Exists),
            Err(failure) if failure != Failure::NotFound => Err(failure),
            // Samba may open a file that its last holder is just removing: a lock on it would exclude no one.
            Ok(_) | Err(_) => Err(Failure::InUse),
        };
        if let Err(failure) = taken {
            // At once: the next try may be this connection's.
            let _ = self.close(&opened.handle);
            return Err(failure);
        }
        Ok(OpenFile::new(path, &opened, id))
    }

    pub(super) fn attributes(&mut self, path: &SharePath) -> Outcome<(create::Answer, FileId)> {
        let (found, answers) = self.once(path, LOOK, &[info::id(&LAST)])?;
        let id = self.id(answers.first())?;
        Ok((found, id))
    }

    pub(super) fn close(&mut self, handle: &Handle) -> Outcome<()> {
        self.call(create::close(handle)).map(drop)
    }

    pub(super) fn make_folder(
        &mut self,
        path: &SharePath,
        visibility: Visibility,
    ) -> Outcome<FileId> {
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
        let (_, answers) = self.once(path, open, &[info::id(&LAST)])?;
        self.id(answers.first())
    }

    /// Makes a file, which stays open.
    pub(super) fn create(&mut self, path: &SharePath, content: &[u8]) -> Outcome<OpenFile> {
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
        let (opened, answers) = self.begin(path, open, &requests)?;
        let id = self.written(&answers, size);
        let id = self.kept(&opened, id)?;
        Ok(OpenFile::new(path, &opened, id))
    }

    fn written(&mut self, answers: &[Answer], size: u32) -> Outcome<FileId> {
        let [id, written, flushed] = answers else {
            return Err(Failure::Ended);
        };
        let id = self.id(Some(id))?;
        self.expect_success(written)?;
        if file::write_answer(&written.1) != Some(size) {
            return Err(self.malformed("count of written bytes"));
        }
        self.expect_success(flushed)?;
        Ok(id)
    }

    pub(super) fn read(&mut self, path: &SharePath) -> Outcome<Vec<u8>> {
        let open = Open {
            access: create::READ_DATA | create::READ_ATTRIBUTES,
            options: create::NO_FOLDER,
            ..LOOK
        };
        let (opened, answers) = self.once(path, open, &[file::read(&LAST, 0, PAYLOAD)])?;
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
        self.expect_success(answer)?;
        let data = file::read_answer(&answer.1, PAYLOAD).map(<[u8]>::to_vec);
        data.ok_or_else(|| self.malformed("answer with data"))
    }

    /// Moves what has this id, and keeps it open.
    pub(super) fn take(
        &mut self,
        from: &SharePath,
        id: FileId,
        to: &SharePath,
        existing: Existing,
    ) -> Outcome<OpenFile> {
        let (opened, found) = self.identify(from, REMOVE)?;
        let replaces = match (existing, kind(opened.attributes)) {
            (Existing::Replace, Kind::File) => Replaces::AFile,
            // Samba would let a folder replace an empty one.
            (Existing::Refuse | Existing::Replace, _) => Replaces::Nothing,
        };
        let request = info::rename(&opened.handle, &to.encode(), replaces);
        let moved = same(id, found).and_then(|()| self.call(request));
        self.kept(&opened, moved)?;
        Ok(OpenFile::new(to, &opened, id))
    }

    /// Removes what is at a path, if something is there.
    pub(super) fn clear(&mut self, path: &SharePath) -> Outcome<()> {
        match self.once(path, REMOVE, &[info::dispose(&LAST)]) {
            Err(Failure::NotFound) => Ok(()),
            done => {
                let (_, answers) = done?;
                let mut answers = answers.iter();
                answers.try_for_each(|answer| self.expect_success(answer))
            }
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
        let mut failures = Vec::new();
        let mut found = Vec::new();
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
        self.kept(&opened, id).map(|()| opened)
    }
}

impl OpenFile {
    fn new(path: &SharePath, opened: &create::Answer, id: FileId) -> Self {
        let (path, handle) = (path.clone(), opened.handle);
        Self { path, handle, id }
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

pub(super) fn kind(attributes: u32) -> Kind {
    if attributes & create::REPARSE_POINT != 0 {
        Kind::Link
    } else if attributes & create::DIRECTORY != 0 {
        Kind::Folder
    } else {
        Kind::File
    }
}
