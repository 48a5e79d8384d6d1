//! A share of a real server: each operation, by the steps of its connection.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::copying::READ;
use super::steps::{self, FEW_ENTRIES, LIST, LOCK, LOCK_BESIDE, LOOK, Opened, REMOVE};
use super::{Existing, FileId, Kind, LONGEST_FILE, Listing, OpenFile, Share, Space};
use crate::connection::{Connection, Login};
use crate::copy::{self, Copied, CopyOrder, Watch};
use crate::error::{Error, Failure, Operation, Outcome, Result};
use crate::name::{Name, SharePath};
use crate::status;
use crate::wire::create::{self, LAST, Open};
use crate::wire::{PAYLOAD, Request, file, info, tree};

/// How many entries are removed at a time: their answers wait for each other in memory.
const AT_A_TIME: usize = 64;

/// A share over a connection of its own, or over that of another one. After a failure that
/// [ends it](Failure::ends_connection), open another.
pub struct RemoteShare {
    connection: Arc<Mutex<Connection>>,
    /// The server's number of it.
    number: u32,
    /// `\\server`.
    server: String,
    name: Name,
}

impl RemoteShare {
    /// Connects to a server, logs on and opens a share. Errors name each step by its [`Operation`].
    pub fn open(login: &Login, by: Instant) -> Result<Self> {
        let connection = Connection::open(login, by)?;
        Self::of(
            Arc::new(Mutex::new(connection)),
            login.server(),
            &login.share,
            by,
        )
    }

    /// Lets copies read and write each file, as if the server copied none by itself.
    #[doc(hidden)]
    pub fn without_server_copies(&mut self) {
        self.connection(Instant::now()).server_copies = None;
    }

    /// Opens another share, or this one once more, over this connection.
    pub(crate) fn another(&self, share: &Name, by: Instant) -> Result<Self> {
        Self::of(Arc::clone(&self.connection), self.server.clone(), share, by)
    }

    /// Opens this share once more.
    pub(crate) fn again(&self, by: Instant) -> Result<Self> {
        self.another(&self.name, by)
    }

    fn of(
        connection: Arc<Mutex<Connection>>,
        server: String,
        name: &Name,
        by: Instant,
    ) -> Result<Self> {
        let mut share = Self {
            connection,
            number: 0,
            server,
            name: name.clone(),
        };
        let mut connection = share.connection(by);
        let opened = connection.open_share(&share.server, name);
        drop(connection);
        let at = |failure: Failure| failure.at(Operation::OpenShare, share.place());
        share.number = opened.map_err(at)?;
        Ok(share)
    }

    /// Does the steps of an operation until a deadline. A failure gets the operation's name and its path.
    pub(crate) fn run<T>(
        &mut self,
        (operation, path, by): (Operation, &SharePath, Instant),
        steps: impl FnOnce(&mut Connection) -> Outcome<T>,
    ) -> Result<T> {
        let done = steps(&mut self.connection(by));
        done.map_err(|failure| self.failed(operation, path, failure))
    }

    /// The connection, whose next requests go to this share and end by then.
    pub(super) fn connection(&self, by: Instant) -> MutexGuard<'_, Connection> {
        // What a panic left half done ends as the protocol is broken.
        let mut connection = self
            .connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        connection.select(self.number);
        connection.end_by(by);
        connection
    }

    fn make(&mut self, path: &SharePath, attributes: u32, by: Instant) -> Result<FileId> {
        let new = Open {
            attributes,
            disposition: create::CREATE,
            options: create::FOLDER,
            ..LOOK
        };
        self.run((Operation::MakeFolder, path, by), |c| c.identify(path, new))
    }

    /// The size of a file, and what it has from a place on.
    fn part(&mut self, path: &SharePath, at: u64, by: Instant) -> Result<(u64, Vec<u8>)> {
        self.run((Operation::Read, path, by), |c| {
            let (opened, answers) = c.once(path, READ, &[file::read(&LAST, at, PAYLOAD)])?;
            match steps::kind(opened.basic.attributes) {
                Kind::Link => return Err(Failure::Link),
                Kind::Folder => return Err(Failure::IsAFolder),
                Kind::File => {}
            }
            let answer = answers.first().ok_or(Failure::Ended)?;
            if answer.0.status == status::END_OF_FILE {
                return Ok((opened.size, Vec::new()));
            }
            c.expect_success(answer)?;
            let data = file::read_answer(&answer.1, PAYLOAD).map(<[u8]>::to_vec);
            let data = data.ok_or_else(|| c.malformed("answer with data"))?;
            Ok((opened.size, data))
        })
    }

    /// What looks at some folders found.
    fn looked(
        &mut self,
        at: &[SharePath],
        found: Vec<Outcome<Opened>>,
        by: Instant,
    ) -> Vec<Result<Listing>> {
        let each = at
            .iter()
            .zip(found)
            .map(|(path, opened)| self.run((Operation::List, path, by), |c| c.ids(path, opened)));
        each.collect()
    }

    pub(crate) fn failed(&self, operation: Operation, path: &SharePath, failure: Failure) -> Error {
        failure.at(operation, format!("{}{path}", self.place()))
    }

    /// `\\server\share`, for errors.
    fn place(&self) -> String {
        format!(r"{}\{}", self.server.escape_debug(), self.name)
    }
}

/// What writes all that a file is to have, in one request, and how many bytes that is.
fn whole_content(content: &[u8]) -> Outcome<(Request, u32)> {
    let size = u32::try_from(content.len()).ok();
    let size = size.filter(|size| *size <= PAYLOAD);
    let size = size.ok_or(Failure::Limit(LONGEST_FILE))?;
    Ok((file::write(&LAST, 0, content, file::WRITE_THROUGH), size))
}

impl Share for RemoteShare {
    fn stat(&mut self, path: &SharePath, by: Instant) -> Result<FileId> {
        self.run((Operation::Stat, path, by), |c| c.identify(path, LOOK))
    }

    fn look(&mut self, folders: &[SharePath], by: Instant) -> Result<Vec<Result<Listing>>> {
        let root = SharePath::root();
        let looks = steps::looks(folders);
        let looked = self.run((Operation::List, &root, by), |c| c.each_once(&looks))?;
        Ok(self.looked(folders, looked, by))
    }

    fn list_ending(
        &mut self,
        folder: &SharePath,
        ending: &str,
        limit: usize,
        beside: &[SharePath],
        by: Instant,
    ) -> Result<(Listing, Vec<Result<Listing>>)> {
        let asked = vec![
            info::id(&LAST),
            info::directory(&LAST, ending, PAYLOAD),
            // After all that fit in one answer, the end.
            info::directory(&LAST, ending, FEW_ENTRIES),
        ];
        let mut asked = vec![(folder, LIST, asked)];
        asked.extend(steps::looks(beside));
        let (listing, looked) = self.run((Operation::List, folder, by), |c| {
            let mut done = c.each_once(&asked)?.into_iter();
            let opened = done.next().ok_or(Failure::Ended)??;
            let listing = match c.first_entries(&opened, limit)? {
                Some(listing) => listing,
                None => c.entries(folder, ending, limit)?,
            };
            Ok((listing, done.collect()))
        })?;
        Ok((listing, self.looked(beside, looked, by)))
    }

    fn make_folder(&mut self, path: &SharePath, by: Instant) -> Result<FileId> {
        self.make(path, create::DIRECTORY, by)
    }

    fn make_hidden_folder(&mut self, path: &SharePath, by: Instant) -> Result<FileId> {
        self.make(path, create::DIRECTORY | create::HIDDEN, by)
    }

    fn create(&mut self, path: &SharePath, content: &[u8], by: Instant) -> Result<OpenFile> {
        let new = Open {
            access: create::WRITE_DATA | create::READ_ATTRIBUTES | create::DELETE,
            attributes: create::NORMAL,
            disposition: create::CREATE,
            options: create::NO_FOLDER,
            // It is open for a moment still when it is in its place, where others read it.
            ..LOOK
        };
        self.run((Operation::Create, path, by), |c| {
            let (asked, size) = whole_content(content)?;
            let (file, _, answers) = c.hold(path, new, &[asked])?;
            let answer = answers.first().ok_or(Failure::Ended);
            let written = answer.and_then(|answer| c.expect_written(answer, size));
            c.kept(&file.handle, written)?;
            Ok(file)
        })
    }

    fn overwrite(&mut self, path: &SharePath, content: &[u8], by: Instant) -> Result<()> {
        let there = Open {
            access: create::WRITE_DATA | create::READ_ATTRIBUTES,
            options: create::NO_FOLDER,
            ..LOOK
        };
        self.run((Operation::Create, path, by), |c| {
            let (asked, size) = whole_content(content)?;
            let (_, answers) = c.once(path, there, &[asked])?;
            let answer = answers.first().ok_or(Failure::Ended)?;
            c.expect_written(answer, size)
        })
    }

    fn place(&mut self, file: OpenFile, to: &SharePath, by: Instant) -> Result<u64> {
        let request = info::rename(&file.handle, &to.encode(), Existing::Replace);
        self.run((Operation::Rename, &file.path, by), |c| {
            c.end(request, &file.handle)
        })
    }

    fn discard(&mut self, file: OpenFile, by: Instant) -> Result<()> {
        let request = info::dispose(&file.handle);
        self.run((Operation::Remove, &file.path, by), |c| {
            c.end(request, &file.handle).map(drop)
        })
    }

    fn read(&mut self, path: &SharePath, by: Instant) -> Result<Vec<u8>> {
        let (size, content) = self.part(path, 0, by)?;
        match size > LONGEST_FILE {
            true => Err(self.failed(Operation::Read, path, Failure::Limit(LONGEST_FILE))),
            false => Ok(content),
        }
    }

    fn write_on(&mut self, file: &OpenFile, at: u64, content: &[u8], by: Instant) -> Result<()> {
        let pieces: Vec<_> = content
            .chunks(PAYLOAD as usize)
            .map(<[u8]>::to_vec)
            .collect();
        self.run((Operation::Create, &file.path, by), |c| {
            c.write_next(file, at, &pieces)?;
            c.flush(file)
        })
    }

    fn read_on(&mut self, path: &SharePath, at: u64, by: Instant) -> Result<Vec<u8>> {
        Ok(self.part(path, at, by)?.1)
    }

    fn close(&mut self, file: OpenFile, by: Instant) -> Result<()> {
        self.run((Operation::Close, &file.path, by), |c| {
            c.call(create::close(&file.handle)).map(drop)
        })
    }

    fn take(
        &mut self,
        from: &SharePath,
        id: FileId,
        to: &SharePath,
        existing: Existing,
        by: Instant,
    ) -> Result<OpenFile> {
        self.run((Operation::Rename, from, by), |c| {
            let (file, opened, _) = c.hold(from, REMOVE, &[])?;
            let existing = match steps::kind(opened.basic.attributes) {
                Kind::File => existing,
                // Samba would let a folder replace an empty one.
                Kind::Folder | Kind::Link => Existing::Refuse,
            };
            let request = info::rename(&file.handle, &to.encode(), existing);
            let moved = steps::same(id, file.id).and_then(|()| c.call(request));
            c.kept(&file.handle, moved)?;
            let path = to.clone();
            Ok(OpenFile { path, ..file })
        })
    }

    fn clear(&mut self, path: &SharePath, by: Instant) -> Result<()> {
        self.run((Operation::Remove, path, by), |c| {
            match c.once(path, REMOVE, &[info::dispose(&LAST)]) {
                Err(Failure::NotFound) => Ok(()),
                done => c.expect_all(&done?.1),
            }
        })
    }

    fn remove_each(&mut self, entries: &[(SharePath, FileId)], by: Instant) -> Result<()> {
        let mut connection = self.connection(by);
        let mut portions = entries.chunks(AT_A_TIME);
        let done = portions.try_for_each(|some| connection.remove_together(some));
        drop(connection);
        done.map_err(|(path, failure)| self.failed(Operation::Remove, path, failure))
    }

    fn lock(&mut self, path: &SharePath, by: Instant) -> Result<OpenFile> {
        let new = Open {
            disposition: create::CREATE,
            options: LOCK.options | create::DELETE_ON_CLOSE,
            ..LOCK
        };
        self.run((Operation::Lock, path, by), |c| {
            match c.hold(path, new, &[]).map_err(steps::or_in_use) {
                Err(Failure::Exists) => c.take_lock(path, LOCK).map_err(steps::or_in_use),
                made => Ok(made?.0),
            }
        })
    }

    fn lock_beside(&mut self, path: &SharePath, by: Instant) -> Result<OpenFile> {
        self.run((Operation::Lock, path, by), |c| {
            c.take_lock(path, LOCK_BESIDE).map_err(steps::or_in_use)
        })
    }

    fn space(&mut self, folder: &SharePath, by: Instant) -> Result<Space> {
        self.run((Operation::Space, folder, by), |c| {
            let (_, answers) = c.once(folder, LOOK, &[info::space(&LAST)])?;
            let answer = answers.first().ok_or(Failure::Ended)?;
            c.expect_success(answer)?;
            let space = info::space_answer(&answer.1);
            space.ok_or_else(|| c.malformed("answer about free space"))
        })
    }

    fn beside(&mut self, share: &Name, by: Instant) -> Result<Box<dyn Share + Send>> {
        Ok(Box::new(self.another(share, by)?))
    }

    fn copy(&mut self, order: &CopyOrder, watch: &mut dyn Watch) -> Result<Copied> {
        copy::copy(self, order, watch)
    }
}

impl Drop for RemoteShare {
    fn drop(&mut self) {
        // What uses the connection too goes on; else it ends now.
        if self.number != 0 && Arc::strong_count(&self.connection) > 1 {
            let mut connection = self.connection(Instant::now());
            connection.later(tree::disconnect());
        }
    }
}
