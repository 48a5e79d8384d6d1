//! The file of a Unix socket, and the folder that it is in.
//!
//! Connecting needs the right to write to the socket's file, and the file has the access list that its folder
//! hands down (<https://devblogs.microsoft.com/commandline/af_unix-comes-to-windows/>): so a folder that is closed
//! before the socket is made closes the socket. None of this has run on Windows.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::super::folder::Unfit;
use super::entry::{Entry, EntryId, Kind, make_folder};
use super::security::SecurityDescriptor;

/// Who may enter a folder of sockets, and what is made in it: LocalSystem and Administrators.
const FOLDER_SECURITY: &str = "D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)";

/// A socket as it was seen at a path.
#[derive(Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    id: EntryId,
    foreign_owner: Option<String>,
}

impl SocketFile {
    /// The socket at `path`; links are not followed.
    ///
    /// # Errors
    /// When something else is there.
    pub(super) fn at(path: &Path) -> io::Result<Option<Self>> {
        let Some(entry) = Entry::look(path)? else {
            return Ok(None);
        };
        match entry.kind()? {
            Kind::Socket => Ok(Some(Self {
                path: path.to_owned(),
                id: entry.id()?,
                foreign_owner: entry.foreign_owner()?,
            })),
            Kind::Folder | Kind::Other => Err(io::ErrorKind::AlreadyExists.into()),
        }
    }

    /// Whose it is, unless it is this process's.
    pub(super) fn foreign_owner(&self) -> Option<String> {
        self.foreign_owner.clone()
    }

    /// Removes it, unless another has taken its place.
    pub(super) fn remove(&self) -> io::Result<()> {
        match Self::at(&self.path) {
            Ok(Some(now)) if now.id == self.id => fs::remove_file(&self.path),
            _ => Ok(()),
        }
    }
}

/// Makes sure that nobody but LocalSystem and Administrators enters the folder.
pub(super) fn close_folder(folder: &Path) -> io::Result<()> {
    let security = SecurityDescriptor::parse(FOLDER_SECURITY)?;
    let entry = match Entry::to_secure(folder)? {
        Some(entry) => entry,
        None => {
            make_folder(folder, &security)?;
            Entry::to_secure(folder)?.ok_or(io::ErrorKind::NotFound)?
        }
    };
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
        let found = Entry::look(&found?.path())?.map(|entry| entry.kind());
        if !matches!(found.transpose()?, Some(Kind::Socket) | None) {
            return Err(Unfit::SharedFolder(folder.to_owned()).into());
        }
    }
    entry.set_access_list(&security)
}

/// Whether an access list in SDDL lets in LocalSystem and Administrators alone, whatever stands above.
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
        let entry = Entry::to_secure(folder).unwrap().unwrap();
        let security = SecurityDescriptor::parse(OPEN).unwrap();
        entry.set_access_list(&security).unwrap();
        entry.access_list().unwrap()
    }

    fn list_of(folder: &Path) -> String {
        Entry::look(folder).unwrap().unwrap().access_list().unwrap()
    }

    #[test]
    fn a_folder_is_made_closed_and_an_empty_one_is_closed() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("sockets");
        close_folder(&folder).unwrap();
        let made = list_of(&folder);
        assert_ne!(open_to_all(&folder), made);
        close_folder(&folder).unwrap();
        assert_eq!(list_of(&folder), made);
        println!("{made}");
    }

    #[test]
    fn a_folder_that_others_may_enter_for_something_else_is_refused_and_left_as_it_is() {
        let home = tempfile::tempdir().unwrap();
        let open = open_to_all(home.path());
        fs::write(home.path().join("note"), "of somebody").unwrap();
        let refused = close_folder(home.path()).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
        assert!(refused.to_string().contains("holds more than sockets"));
        assert_eq!(list_of(home.path()), open);
    }

    #[test]
    fn a_file_is_neither_a_folder_nor_a_socket() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("file");
        assert!(SocketFile::at(&file).unwrap().is_none());
        fs::write(&file, "").unwrap();
        let refused = close_folder(&file).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::NotADirectory, "{refused}");
        let refused = SocketFile::at(&file).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
    }

    #[test]
    fn an_entry_has_an_id_of_its_own_and_an_owner_that_is_ours() {
        let home = tempfile::tempdir().unwrap();
        let [first, second] = ["a", "b"].map(|name| {
            let path = home.path().join(name);
            fs::write(&path, "").unwrap();
            Entry::look(&path).unwrap().unwrap()
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
