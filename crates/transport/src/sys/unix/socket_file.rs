//! The file of a Unix socket, and the folder that it is in.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, FileType, Mode, OFlags, fchmod, fstat, open};
use rustix::io::Errno;
use rustix::process::{Uid, geteuid};

use super::super::folder::Unfit;

/// A socket as it was seen at a path.
#[derive(Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    inode: u64,
    owner: u32,
}

impl SocketFile {
    /// The socket at `path`; links are not followed.
    ///
    /// # Errors
    /// When something else is there.
    pub(super) fn at(path: &Path) -> io::Result<Option<Self>> {
        match fs::symlink_metadata(path) {
            Ok(meta) if meta.file_type().is_socket() => Ok(Some(Self {
                path: path.to_owned(),
                inode: meta.ino(),
                owner: meta.uid(),
            })),
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whose it is, unless it is this process's user's.
    pub(super) fn foreign_owner(&self) -> Option<String> {
        foreign(self.owner)
    }

    /// Removes it, unless another has taken its place.
    pub(super) fn remove(&self) -> io::Result<()> {
        match Self::at(&self.path) {
            Ok(Some(now)) if now.inode == self.inode => fs::remove_file(&self.path),
            _ => Ok(()),
        }
    }
}

/// Makes sure that nobody but this process's user puts anything into the folder. One that holds sockets alone is
/// closed to others altogether; in another, which others may only read, the sockets' own mode keeps them out.
pub(super) fn close_folder(folder: &Path) -> io::Result<()> {
    let make = || DirBuilder::new().mode(0o700).create(folder);
    let fd = match opened(folder) {
        Err(Errno::NOENT) => {
            make()?;
            opened(folder)
        }
        opened => opened,
    };
    match fd {
        Ok(fd) => close(&fd, folder),
        Err(Errno::NOTDIR | Errno::LOOP) => Err(Unfit::NoFolder(folder.to_owned()).into()),
        Err(error) => Err(error.into()),
    }
}

fn opened(folder: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    open(folder, flags, Mode::empty())
}

fn close(fd: &OwnedFd, folder: &Path) -> io::Result<()> {
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
        if !is_itself && entry.file_type() != FileType::Socket {
            return match mode.intersects(Mode::WGRP | Mode::WOTH) {
                true => Err(Unfit::SharedFolder(folder.to_owned()).into()),
                false => Ok(()),
            };
        }
    }
    Ok(fchmod(fd, Mode::RWXU)?)
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
        close_folder(&folder).unwrap();
        assert_eq!(mode(&folder), 0o700);
        open_to_all(&folder);
        let _left = UnixListener::bind(folder.join("left.sock")).unwrap();
        close_folder(&folder).unwrap();
        assert_eq!(mode(&folder), 0o700);
    }

    #[test]
    fn a_folder_that_others_may_write_in_for_something_else_is_refused_and_left_as_it_is() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("note"), "of somebody").unwrap();
        let set =
            |mode| fs::set_permissions(home.path(), fs::Permissions::from_mode(mode)).unwrap();
        for harmless in [0o700, 0o755] {
            set(harmless);
            close_folder(home.path()).unwrap();
            assert_eq!(mode(home.path()), harmless);
        }
        for shared in [0o775, 0o1777] {
            set(shared);
            let refused = close_folder(home.path()).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
            assert!(refused.to_string().contains("holds more than sockets"));
            assert_eq!(mode(home.path()), shared & 0o777);
        }
    }

    #[test]
    fn a_link_is_no_folder_and_a_file_is_none() {
        let home = tempfile::tempdir().unwrap();
        let (link, file) = (home.path().join("link"), home.path().join("file"));
        symlink(home.path(), &link).unwrap();
        fs::write(&file, "").unwrap();
        for path in [link, file] {
            let refused = close_folder(&path).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::NotADirectory, "{refused}");
        }
    }

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
        // It keeps its inode, so that no other has the number.
        fs::rename(&path, home.path().join("aside")).unwrap();
        let _second = UnixListener::bind(&path).unwrap();
        file.remove().unwrap();
        assert!(SocketFile::at(&path).unwrap().is_some());
        SocketFile::at(&path).unwrap().unwrap().remove().unwrap();
        assert!(SocketFile::at(&path).unwrap().is_none());
        drop(first);
    }
}
