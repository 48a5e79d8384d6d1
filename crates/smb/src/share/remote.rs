//! A share of a real server.

use std::time::Instant;

use super::steps;
use super::{Entry, Existing, FileId, FolderIds, Listing, OpenFile, Share, Visibility};
use crate::connection::{Connection, Privacy, Server};
use crate::credentials::Credentials;
use crate::error::{Error, Failure, Operation, Outcome, Result};
use crate::name::{Name, SharePath};
use crate::wire::info::{self, Replaces};

/// How many entries are removed at a time: their answers wait for each other in memory.
const AT_A_TIME: usize = 64;

/// A share over a connection of its own. After a failure that [ends it](Failure::ends_connection), open another.
pub struct RemoteShare {
    connection: Connection,
    /// `\\server\share`, for errors.
    place: String,
}

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

    /// Does the steps of an operation until a deadline, and tells whoever called what failed at which path.
    fn run<T>(
        &mut self,
        (operation, path, by): (Operation, &SharePath, Instant),
        steps: impl FnOnce(&mut Connection) -> Outcome<T>,
    ) -> Result<T> {
        self.connection.end_by(by);
        steps(&mut self.connection).map_err(|failure| self.failed(operation, path, failure))
    }

    fn failed(&self, operation: Operation, path: &SharePath, failure: Failure) -> Error {
        failure.at(operation, format!("{}{path}", self.place))
    }
}

impl Share for RemoteShare {
    fn stat(&mut self, path: &SharePath, by: Instant) -> Result<Entry> {
        let (found, id) = self.run((Operation::Stat, path, by), |c| c.attributes(path))?;
        Ok(Entry {
            name: path.names().last().cloned(),
            id,
            kind: steps::kind(found.attributes),
            size: found.size,
            changed: found.changed,
        })
    }

    fn look(&mut self, folders: &[SharePath], by: Instant) -> Result<Vec<Result<FolderIds>>> {
        let root = SharePath::root();
        let looked = self.run((Operation::List, &root, by), |c| c.look(folders))?;
        let each = folders.iter().zip(looked);
        let failed = |path, failure| self.failed(Operation::List, path, failure);
        Ok(each
            .map(|(path, ids)| ids.map_err(|failure| failed(path, failure)))
            .collect())
    }

    fn list_ending(
        &mut self,
        folder: &SharePath,
        ending: &str,
        limit: usize,
        by: Instant,
    ) -> Result<Listing> {
        self.run((Operation::List, folder, by), |c| {
            match c.few_entries(folder, ending, limit)? {
                Some(listing) => Ok(listing),
                None => c.entries(folder, ending, limit),
            }
        })
    }

    fn make_folder(
        &mut self,
        path: &SharePath,
        visibility: Visibility,
        by: Instant,
    ) -> Result<FileId> {
        self.run((Operation::MakeFolder, path, by), |c| {
            c.make_folder(path, visibility)
        })
    }

    fn create(&mut self, path: &SharePath, content: &[u8], by: Instant) -> Result<OpenFile> {
        self.run((Operation::Create, path, by), |c| c.create(path, content))
    }

    fn read(&mut self, path: &SharePath, by: Instant) -> Result<Vec<u8>> {
        self.run((Operation::Read, path, by), |c| c.read(path))
    }

    fn place(&mut self, file: OpenFile, to: &SharePath, by: Instant) -> Result<u64> {
        let request = info::rename(&file.handle, &to.encode(), Replaces::AFile);
        self.run((Operation::Rename, &file.path, by), |c| {
            c.end(request, &file.handle)
        })
    }

    fn discard(&mut self, file: OpenFile, by: Instant) -> Result<()> {
        let request = info::dispose(&file.handle);
        let done = self.run((Operation::Remove, &file.path, by), |c| {
            c.end(request, &file.handle)
        });
        done.map(drop)
    }

    fn close(&mut self, file: OpenFile, by: Instant) -> Result<()> {
        self.run((Operation::Close, &file.path, by), |c| {
            c.close(&file.handle)
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
            c.take(from, id, to, existing)
        })
    }

    fn clear(&mut self, path: &SharePath, by: Instant) -> Result<()> {
        self.run((Operation::Remove, path, by), |c| c.clear(path))
    }

    fn remove_each(&mut self, entries: &[(SharePath, FileId)], by: Instant) -> Result<()> {
        self.connection.end_by(by);
        let mut portions = entries.chunks(AT_A_TIME);
        let done = portions.try_for_each(|some| self.connection.remove_together(some));
        done.map_err(|(path, failure)| self.failed(Operation::Remove, path, failure))
    }

    fn lock(&mut self, path: &SharePath, by: Instant) -> Result<OpenFile> {
        self.run((Operation::Lock, path, by), |c| c.lock(path))
    }
}
