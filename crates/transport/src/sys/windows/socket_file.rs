//! The file of a Unix socket, and its folder.
//!
//! Connecting needs the right to write to the socket's file, and the file inherits the folder's access list
//! (<https://devblogs.microsoft.com/commandline/af_unix-comes-to-windows/>): so closing the folder before making the
//! socket closes the socket. None of this has run on Windows.

use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{fs, io, thread};

use windows_sys::Win32::Foundation::ERROR_SHARING_VIOLATION;

use super::super::folder::{Contents, PAUSE, TIMEOUT, Unfit, tell_of_holder};
use super::entry::{Entry, EntryId, Kind, make_folder};
use super::operation::is;
use super::security::SecurityDescriptor;
use crate::SocketFolder;

/// Access to a folder of sockets and its entries: LocalSystem and Administrators.
const FOLDER_SECURITY: &str = "D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)";

/// A socket as it was seen at a path.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
    id: EntryId,
    foreign_owner: Option<String>,
}

impl SocketFile {
    /// The socket at `path`; links are not followed.
    ///
    /// # Errors
    /// Fails if something else is there.
    pub(crate) fn at(path: &Path) -> io::Result<Option<Self>> {
        Self::of_kinds(&[Kind::Socket], path)
    }

    /// What a bind just made at `path`, whether or not it is seen as a socket.
    pub(super) fn made_at(path: &Path) -> io::Result<Option<Self>> {
        Self::of_kinds(&[Kind::Socket, Kind::Empty], path)
    }

    /// What may be a dead server's socket at `path`: in the server's own folder also a file without content.
    pub(super) fn stale_at(path: &Path, whose: SocketFolder) -> io::Result<Option<Self>> {
        match whose {
            SocketFolder::Own | SocketFolder::OwnWithFiles => Self::made_at(path),
            SocketFolder::Foreign => Self::at(path),
        }
    }

    fn of_kinds(kinds: &[Kind], path: &Path) -> io::Result<Option<Self>> {
        let Some(entry) = Entry::open_to_inspect(path)? else {
            return Ok(None);
        };
        match kinds.contains(&entry.kind()?) {
            true => Ok(Some(Self {
                path: path.to_owned(),
                id: entry.id()?,
                foreign_owner: entry.foreign_owner()?,
            })),
            false => Err(io::ErrorKind::AlreadyExists.into()),
        }
    }

    pub(crate) fn id(&self) -> EntryId {
        self.id
    }

    /// Its owner, unless that is this process's.
    pub(crate) fn foreign_owner(&self) -> Option<String> {
        self.foreign_owner.clone()
    }

    /// Removes it, unless another has taken its place.
    pub(crate) fn remove(&self) -> io::Result<()> {
        match Self::made_at(&self.path) {
            Ok(Some(now)) if now.id == self.id => fs::remove_file(&self.path),
            _ => Ok(()),
        }
    }
}

/// The folder of a socket being made, until dropped.
#[derive(Debug)]
pub(super) struct HeldFolder {
    path: PathBuf,
    /// Keeps the folder in its place; absent for another's folder, so nothing of it changes.
    pin: Option<Entry>,
    /// Blocks other starting servers.
    _lock: Option<Entry>,
}

impl HeldFolder {
    /// Checks that the socket lies in the held folder: the pin keeps only the folder's own name, and a folder above
    /// could be replaced.
    pub(super) fn check_place(&self) -> io::Result<()> {
        let Some(pin) = &self.pin else {
            return Ok(());
        };
        let now = Entry::open_to_inspect(&self.path)?.map(|entry| entry.id());
        match now.transpose()? == Some(pin.id()?) {
            true => Ok(()),
            false => Err(Unfit::MovedFolder(self.path.clone()).into()),
        }
    }
}

/// Holds the folder of a socket about to be made, closed if it is the server's. Until the result is dropped, no other
/// starting server takes a socket there for an unserved one.
pub(super) fn hold_folder(folder: &Path, whose: SocketFolder) -> io::Result<HeldFolder> {
    let deadline = Instant::now() + TIMEOUT;
    let pin = match whose {
        SocketFolder::Own => Some(closed_folder(folder, Contents::Sockets, deadline)?),
        SocketFolder::OwnWithFiles => Some(closed_folder(folder, Contents::OwnFiles, deadline)?),
        SocketFolder::Foreign => None,
    };
    Ok(HeldFolder {
        path: folder.to_owned(),
        pin,
        _lock: locked(folder, deadline)?,
    })
}

/// [`crate::close_folder`].
pub(crate) fn close_folder(folder: &Path) -> io::Result<()> {
    closed_folder(folder, Contents::OwnFiles, Instant::now() + TIMEOUT).map(drop)
}

/// Waits until no other starting server has the folder, at most until `deadline`. Any account with read access can
/// block the lock, so a server then goes on without it.
fn locked(folder: &Path, deadline: Instant) -> io::Result<Option<Entry>> {
    match retry_until(deadline, || Entry::lock(folder)) {
        Err(error) if is(&error, ERROR_SHARING_VIOLATION) => {
            tell_of_holder(folder);
            Ok(None)
        }
        locked => locked,
    }
}

/// Retries an open until others' conflicting handles are closed, at most until `deadline`.
fn retry_until<T>(deadline: Instant, open: impl Fn() -> io::Result<T>) -> io::Result<T> {
    loop {
        match open() {
            Err(error) if is(&error, ERROR_SHARING_VIOLATION) && Instant::now() < deadline => {
                thread::sleep(PAUSE);
            }
            opened => return opened,
        }
    }
}

/// Ensures that only LocalSystem and Administrators enter the folder.
fn closed_folder(folder: &Path, contents: Contents, deadline: Instant) -> io::Result<Entry> {
    let security = SecurityDescriptor::parse(FOLDER_SECURITY)?;
    let pinned = || retry_until(deadline, || Entry::pin(folder));
    let entry = match pinned()? {
        Some(entry) => entry,
        None => {
            made(folder, &security)?;
            pinned()?.ok_or(io::ErrorKind::NotFound)?
        }
    };
    close(&entry, folder, contents, &security)?;
    Ok(entry)
}

/// Makes the folder, unless another starting server has made it.
fn made(folder: &Path, security: &SecurityDescriptor) -> io::Result<()> {
    match make_folder(folder, security) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

fn close(
    entry: &Entry,
    folder: &Path,
    contents: Contents,
    security: &SecurityDescriptor,
) -> io::Result<()> {
    if entry.kind()? != Kind::Folder {
        return Err(Unfit::NoFolder(folder.to_owned()).into());
    }
    if let Some(owner) = entry.foreign_owner()? {
        let folder = folder.to_owned();
        return Err(Unfit::ForeignFolder { folder, owner }.into());
    }
    if is_closed(&entry.access_list()?) {
        return Ok(());
    }
    for found in fs::read_dir(folder)? {
        let found = Entry::open_to_inspect(&found?.path())?;
        if !found.map_or(Ok(true), |found| may_stay(&found, contents))? {
            return Err(contents.refuse(folder).into());
        }
    }
    entry.set_access_list(security)
}

fn may_stay(found: &Entry, contents: Contents) -> io::Result<bool> {
    Ok(match contents {
        Contents::Sockets => found.kind()? == Kind::Socket,
        Contents::OwnFiles => found.foreign_owner()?.is_none(),
    })
}

/// Whether an access list in SDDL lets in only LocalSystem and Administrators, without inheritance.
fn is_closed(list: &str) -> bool {
    let Some((flags, entries)) = list
        .strip_prefix("D:")
        .and_then(|rest| rest.split_once('('))
    else {
        return false;
    };
    let is_of_ours = |entry: &str| [";SY)", ";BA)"].iter().any(|end| entry.ends_with(end));
    flags.contains('P') && entries.split('(').all(is_of_ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: &str = "D:P(A;OICI;FA;;;WD)";

    fn open_to_all(folder: &Path) -> String {
        let entry = Entry::pin(folder).unwrap().unwrap();
        let security = SecurityDescriptor::parse(OPEN).unwrap();
        entry.set_access_list(&security).unwrap();
        entry.access_list().unwrap()
    }

    fn list_of(folder: &Path) -> String {
        Entry::open_to_inspect(folder)
            .unwrap()
            .unwrap()
            .access_list()
            .unwrap()
    }

    #[test]
    fn a_folder_is_made_closed_and_an_empty_one_is_closed() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("sockets");
        drop(hold_folder(&folder, SocketFolder::Own).unwrap());
        let made = list_of(&folder);
        assert_ne!(open_to_all(&folder), made);
        drop(hold_folder(&folder, SocketFolder::Own).unwrap());
        assert_eq!(list_of(&folder), made);
        println!("{made}");
    }

    /// A driver's records lie beside its socket.
    /// Guards: P5
    #[test]
    fn an_open_folder_with_files_is_closed_for_the_server_whose_they_are() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("driver");
        fs::create_dir_all(folder.join("volumes")).unwrap();
        let open = open_to_all(&folder);
        hold_folder(&folder, SocketFolder::Own).unwrap_err();
        assert_eq!(list_of(&folder), open);
        drop(hold_folder(&folder, SocketFolder::OwnWithFiles).unwrap());
        assert_ne!(list_of(&folder), open);
    }

    /// Guards: P6
    #[test]
    fn a_folder_keeps_its_name_while_a_socket_is_made_in_it() {
        let home = tempfile::tempdir().unwrap();
        let [folder, aside] = ["sockets", "aside"].map(|name| home.path().join(name));
        let held = hold_folder(&folder, SocketFolder::Own).unwrap();
        let refused = fs::rename(&folder, &aside).unwrap_err();
        assert!(is(&refused, ERROR_SHARING_VIOLATION), "{refused}");
        fs::write(folder.join("a.sock"), "as a socket is made").unwrap();
        held.check_place().unwrap();
        drop(held);
        fs::rename(&folder, &aside).unwrap();
    }

    /// Guards: P6
    #[test]
    fn a_folder_in_another_place_than_where_it_was_closed_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let [above, aside] = ["above", "aside"].map(|name| home.path().join(name));
        let folder = above.join("sockets");
        fs::create_dir(&above).unwrap();
        let held = hold_folder(&folder, SocketFolder::Own).unwrap();
        // Windows should refuse this already, with nothing left to check; Wine does not.
        if fs::rename(&above, &aside).is_ok() {
            fs::create_dir_all(&folder).unwrap();
            let refused = held.check_place().unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied, "{refused}");
        }
    }

    #[test]
    fn a_folder_is_waited_for_until_its_holder_lets_go_or_for_a_while() {
        let home = tempfile::tempdir().unwrap();
        let lock_now = || locked(home.path(), Instant::now()).unwrap();
        let first = hold_folder(home.path(), SocketFolder::Foreign).unwrap();
        assert!(lock_now().is_none(), "another server has it");
        let waiting = home.path().to_owned();
        let second = thread::spawn(move || locked(&waiting, Instant::now() + TIMEOUT * 6));
        drop(first);
        let second = second.join().unwrap().unwrap();
        assert!(second.is_some() && lock_now().is_none());
        fs::write(home.path().join("a.sock"), "as a socket is made").unwrap();
        assert!(
            fs::read_dir(home.path()).unwrap().count() == 1,
            "others may list it"
        );
        drop(second);
        assert!(lock_now().is_some());
    }

    /// Guards: P6
    #[test]
    fn a_folder_that_others_may_enter_for_something_else_is_refused_and_left_as_it_is() {
        let home = tempfile::tempdir().unwrap();
        let open = open_to_all(home.path());
        fs::write(home.path().join("note"), "of somebody").unwrap();
        let refused = hold_folder(home.path(), SocketFolder::Own).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
        assert!(refused.to_string().contains("holds more than sockets"));
        assert_eq!(list_of(home.path()), open);
    }

    /// Guards: P6, P7
    #[test]
    fn a_file_is_neither_a_folder_nor_a_socket() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("file");
        assert!(SocketFile::at(&file).unwrap().is_none());
        fs::write(&file, "").unwrap();
        let refused = hold_folder(&file, SocketFolder::Own).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::NotADirectory, "{refused}");
        for foreign in [
            SocketFile::at(&file),
            SocketFile::stale_at(&file, SocketFolder::Foreign),
        ] {
            assert_eq!(foreign.unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        }
    }

    /// Server 2019 shows it so in a folder that is bound into a container.
    /// Guards: P6
    #[test]
    fn an_empty_file_is_of_bind_or_of_its_own_folder() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("a.sock");
        fs::write(&file, "").unwrap();
        let made = SocketFile::made_at(&file).unwrap().unwrap();
        for own in [SocketFolder::Own, SocketFolder::OwnWithFiles] {
            let stale = SocketFile::stale_at(&file, own).unwrap().unwrap();
            assert_eq!(stale.id(), made.id());
        }
        fs::write(&file, "of somebody").unwrap();
        for found in [
            SocketFile::made_at(&file),
            SocketFile::stale_at(&file, SocketFolder::Own),
        ] {
            assert_eq!(found.unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        }
        made.remove().unwrap();
        assert!(file.exists(), "it is no socket any more");
        fs::write(&file, "").unwrap();
        made.remove().unwrap();
        assert!(!file.exists());
    }

    #[test]
    fn an_entry_has_an_id_of_its_own_and_an_owner_that_is_ours() {
        let home = tempfile::tempdir().unwrap();
        let [first, second] = ["a", "b"].map(|name| {
            let path = home.path().join(name);
            fs::write(&path, "").unwrap();
            Entry::open_to_inspect(&path).unwrap().unwrap()
        });
        assert_eq!(first.id().unwrap(), first.id().unwrap());
        assert_ne!(first.id().unwrap(), second.id().unwrap());
        assert_eq!(first.foreign_owner().unwrap(), None);
    }

    #[test]
    fn a_list_is_closed_when_it_is_protected_and_names_nobody_else() {
        for (list, expected) in [
            (FOLDER_SECURITY, true),
            ("D:PAI(A;OICI;FA;;;BA)(A;OICI;FA;;;SY)", true),
            ("D:AI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)", false),
            ("D:P(A;OICI;FA;;;SY)(A;OICI;FR;;;BU)", false),
            ("D:P(A;;FR;;;WD)(A;OICI;FA;;;SY)", false),
            ("D:P(A;;FA;;;S-1-5-21-1-2-3-1000)", false),
            ("D:P(XA;;FA;;;WD;(@User.x == (1)))", false),
            ("D:P", false),
            ("D:NO_ACCESS_CONTROL", false),
            ("", false),
        ] {
            assert_eq!(is_closed(list), expected, "{list}");
        }
    }
}
