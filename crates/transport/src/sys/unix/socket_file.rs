//! The file of a Unix socket, and its folder.

use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{fs, io, thread};

use rustix::fs::{
    AtFlags, Dir, DirEntry, FileType, FlockOperation, Mode, OFlags, fchmod, flock, fstat, mkdir,
    open, stat, statat,
};
use rustix::io::Errno;
use rustix::process::{Uid, geteuid};

use super::super::folder::{self, Contents, PAUSE, TIMEOUT, Unfit};
use crate::SocketFolder;

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// A socket as it was seen at a path.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
    id: EntryId,
    owner: u32,
}

/// Distinguishes a file from all others existing on this machine at the same time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct EntryId {
    device: u64,
    inode: u64,
}

impl SocketFile {
    /// The socket at `path`; links are not followed.
    ///
    /// # Errors
    /// Fails if something else is there.
    pub(crate) fn at(path: &Path) -> io::Result<Option<Self>> {
        match fs::symlink_metadata(path) {
            Ok(meta) if meta.file_type().is_socket() => Ok(Some(Self {
                path: path.to_owned(),
                id: EntryId {
                    device: meta.dev(),
                    inode: meta.ino(),
                },
                owner: meta.uid(),
            })),
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn id(&self) -> EntryId {
        self.id
    }

    /// Its owner, unless that is this process's user.
    pub(crate) fn foreign_owner(&self) -> Option<String> {
        foreign(self.owner)
    }

    /// Removes it, unless another has taken its place.
    pub(crate) fn remove(&self) -> io::Result<()> {
        match Self::at(&self.path) {
            Ok(Some(now)) if now.id == self.id => fs::remove_file(&self.path),
            _ => Ok(()),
        }
    }
}

/// The folder of a socket being made, until dropped.
pub(super) struct HeldFolder {
    path: PathBuf,
    /// Its lock blocks other starting servers.
    fd: OwnedFd,
}

impl HeldFolder {
    /// Checks that the socket lies in the held folder.
    pub(super) fn check_place(&self) -> io::Result<()> {
        let (held, now) = (fstat(&self.fd)?, stat(&self.path)?);
        match (held.st_dev, held.st_ino) == (now.st_dev, now.st_ino) {
            true => Ok(()),
            false => Err(Unfit::MovedFolder(self.path.clone()).into()),
        }
    }
}

/// Holds the folder of a socket about to be made, closed if it is the server's. Until the result is dropped, no other
/// starting server takes a socket there for an unserved one.
pub(super) fn hold_folder(folder: &Path, whose: SocketFolder) -> io::Result<HeldFolder> {
    let fd = match whose {
        SocketFolder::Own => closed_folder(folder, Contents::Sockets)?,
        SocketFolder::OwnWithFiles => closed_folder(folder, Contents::OwnFiles)?,
        SocketFolder::Foreign => open(folder, FOLDER, Mode::empty())?,
    };
    lock(&fd, folder, Instant::now() + TIMEOUT)?;
    let path = folder.to_owned();
    Ok(HeldFolder { path, fd })
}

/// [`crate::close_folder`].
pub(crate) fn close_folder(folder: &Path) -> io::Result<()> {
    closed_folder(folder, Contents::OwnFiles).map(drop)
}

/// Ensures that only this process's user puts anything into the folder. A folder of sockets alone is closed to others
/// altogether; in another, readable by others, the sockets' own mode keeps them out.
fn closed_folder(folder: &Path, contents: Contents) -> io::Result<OwnedFd> {
    match made_or_opened(folder) {
        Ok(fd) => {
            close(&fd, folder, contents)?;
            Ok(fd)
        }
        Err(Errno::NOTDIR | Errno::LOOP) => Err(Unfit::NoFolder(folder.to_owned()).into()),
        Err(error) => Err(error.into()),
    }
}

fn made_or_opened(folder: &Path) -> Result<OwnedFd, Errno> {
    let opened = || open(folder, FOLDER | OFlags::NOFOLLOW, Mode::empty());
    match opened() {
        Err(Errno::NOENT) => match mkdir(folder, Mode::RWXU) {
            // Another starting server has made it.
            Ok(()) | Err(Errno::EXIST) => opened(),
            Err(error) => Err(error),
        },
        opened => opened,
    }
}

/// Waits until no other starting server has the folder, at most until `deadline`. Any account with read access can lock
/// it, so a server then goes on without the lock.
fn lock(fd: &OwnedFd, folder: &Path, deadline: Instant) -> io::Result<()> {
    loop {
        match flock(fd, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) if Instant::now() < deadline => thread::sleep(PAUSE),
            Err(Errno::WOULDBLOCK) => {
                folder::tell_of_holder(folder);
                return Ok(());
            }
            Err(Errno::INTR) => {}
            locked => return Ok(locked?),
        }
    }
}

fn close(fd: &OwnedFd, folder: &Path, contents: Contents) -> io::Result<()> {
    let found = fstat(fd)?;
    if let Some(owner) = foreign(found.st_uid) {
        let folder = folder.to_owned();
        return Err(Unfit::ForeignFolder { folder, owner }.into());
    }
    let mode = Mode::from_raw_mode(found.st_mode);
    if !mode.intersects(Mode::RWXG | Mode::RWXO) {
        return Ok(());
    }
    for entry in Dir::read_from(fd)? {
        let entry = entry?;
        let is_itself = [c".", c".."].contains(&entry.file_name());
        if !is_itself && !may_stay(fd, &entry, contents)? {
            return match mode.intersects(Mode::WGRP | Mode::WOTH) {
                true => Err(contents.refuse(folder).into()),
                false => Ok(()),
            };
        }
    }
    Ok(fchmod(fd, Mode::RWXU)?)
}

fn may_stay(folder: &OwnedFd, entry: &DirEntry, contents: Contents) -> io::Result<bool> {
    Ok(match contents {
        Contents::Sockets => entry.file_type() == FileType::Socket,
        Contents::OwnFiles => {
            let found = statat(folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)?;
            foreign(found.st_uid).is_none()
        }
    })
}

/// The user, unless it is this process's.
fn foreign(uid: u32) -> Option<String> {
    (Uid::from_raw(uid) != geteuid()).then(|| format!("user {uid}"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::os::unix::net::UnixListener;

    use super::*;

    fn mode(folder: &Path) -> u32 {
        fs::metadata(folder).unwrap().permissions().mode() & 0o777
    }

    fn open_to_all(folder: &Path) {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn a_folder_is_made_closed_and_one_of_sockets_alone_is_closed() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("sockets");
        closed_folder(&folder, Contents::Sockets).unwrap();
        assert_eq!(mode(&folder), 0o700);
        open_to_all(&folder);
        let _left = UnixListener::bind(folder.join("left.sock")).unwrap();
        closed_folder(&folder, Contents::Sockets).unwrap();
        assert_eq!(mode(&folder), 0o700);
    }

    /// Guards: P6
    #[test]
    fn a_folder_that_others_may_write_in_for_something_else_is_refused_and_left_as_it_is() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("note"), "of somebody").unwrap();
        let set =
            |mode| fs::set_permissions(home.path(), fs::Permissions::from_mode(mode)).unwrap();
        for harmless in [0o700, 0o755] {
            set(harmless);
            closed_folder(home.path(), Contents::Sockets).unwrap();
            assert_eq!(mode(home.path()), harmless);
        }
        for shared in [0o775, 0o1777] {
            set(shared);
            let refused = closed_folder(home.path(), Contents::Sockets).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
            assert!(refused.to_string().contains("holds more than sockets"));
            assert_eq!(mode(home.path()), shared & 0o777);
        }
    }

    /// Guards: P6
    #[test]
    fn a_link_is_no_folder_and_a_file_is_none() {
        let home = tempfile::tempdir().unwrap();
        let (link, file) = (home.path().join("link"), home.path().join("file"));
        symlink(home.path(), &link).unwrap();
        fs::write(&file, "").unwrap();
        for path in [link, file] {
            let refused = closed_folder(&path, Contents::Sockets).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::NotADirectory, "{refused}");
        }
    }

    #[test]
    fn a_folder_is_waited_for_until_its_holder_lets_go_or_for_a_while() {
        let home = tempfile::tempdir().unwrap();
        let hold = || hold_folder(home.path(), SocketFolder::Foreign);
        let is_locked = || {
            let fd = open(home.path(), FOLDER, Mode::empty()).unwrap();
            flock(fd, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK)
        };
        let first = hold().unwrap();
        assert!(is_locked());
        let fd = open(home.path(), FOLDER, Mode::empty()).unwrap();
        lock(&fd, home.path(), Instant::now()).unwrap();
        drop(first);
        assert!(!is_locked());
        let _second = hold().unwrap();
        assert!(is_locked());
    }

    /// Guards: P6
    #[test]
    fn a_folder_in_another_place_than_where_it_was_closed_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let [above, aside] = ["above", "aside"].map(|name| home.path().join(name));
        let folder = above.join("sockets");
        fs::create_dir(&above).unwrap();
        let held = hold_folder(&folder, SocketFolder::Own).unwrap();
        held.check_place().unwrap();
        fs::rename(&above, &aside).unwrap();
        fs::create_dir_all(&folder).unwrap();
        let refused = held.check_place().unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
    }

    /// Guards: P6
    #[test]
    fn what_another_user_owns_is_told_with_the_user() {
        let own = geteuid().as_raw();
        assert_eq!(foreign(own), None);
        assert_eq!(foreign(own + 1), Some(format!("user {}", own + 1)));
    }

    #[test]
    fn a_socket_is_removed_and_what_took_its_place_is_not() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a.sock");
        let first = UnixListener::bind(&path).unwrap();
        let file = SocketFile::at(&path).unwrap().unwrap();
        // It keeps its inode, so no other file gets the number.
        fs::rename(&path, home.path().join("aside")).unwrap();
        let _second = UnixListener::bind(&path).unwrap();
        file.remove().unwrap();
        assert!(SocketFile::at(&path).unwrap().is_some());
        SocketFile::at(&path).unwrap().unwrap().remove().unwrap();
        assert!(SocketFile::at(&path).unwrap().is_none());
        drop(first);
    }

    #[test]
    fn a_folder_of_own_files_that_was_open_is_closed() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("records");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("record"), "").unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(closed_folder(&folder, Contents::Sockets).is_err());
        close_folder(&folder).unwrap();
        assert_eq!(
            folder.metadata().unwrap().permissions().mode() & 0o777,
            0o700
        );
    }
}
