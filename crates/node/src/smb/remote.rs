use std::fmt;

use os::{Root, WinPath};

use super::{Ipv6Server, SmbError};

/// The UNC path of a share or of a folder below one, and how much of it is mapped: the share, unless
/// [`RemotePath::folder_itself`] or [`RemotePath::through`] says otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemotePath {
    path: WinPath,
    /// How many folders below the share are part of what is mapped.
    mapped_folders: usize,
}

impl RemotePath {
    /// Parses a path as clients send it: with any separators, and with or without the leading ones. A server with an
    /// IPv6 address, `//fe80::1%3/share` or `//[fe80::1]/share`, gets the one name that Windows accepts for it,
    /// `fe80--1s3.ipv6-literal.net`; another spelling of such a name does too.
    ///
    /// # Errors
    /// The path is empty, has no server or share, or a name that no server or folder can have.
    pub fn parse(text: &str) -> Result<Self, SmbError> {
        Self::read(text, |server| {
            let address = Ipv6Server::read(server);
            address.map_or_else(|| server.to_owned(), Ipv6Server::name)
        })
    }

    /// As [`RemotePath::parse`], but keeps the server's name, as csi-proxy does. An IPv6 address is refused,
    /// as no UNC path has colons.
    ///
    /// # Errors
    /// As [`RemotePath::parse`].
    pub fn parse_as_given(text: &str) -> Result<Self, SmbError> {
        Self::read(text, str::to_owned)
    }

    fn read(text: &str, name: impl FnOnce(&str) -> String) -> Result<Self, SmbError> {
        if text.is_empty() {
            return Err(SmbError::EmptyRemotePath);
        }
        let invalid = || SmbError::InvalidRemotePath {
            path: text.to_owned(),
        };
        let names: Vec<_> = text
            .split(['\\', '/'])
            .filter(|name| !name.is_empty())
            .collect();
        let [server, folders @ ..] = names.as_slice() else {
            return Err(invalid());
        };
        if [".", "?"].contains(server) {
            return Err(invalid());
        }
        let path = format!(r"\\{}\{}", name(server), folders.join("\\"));
        let path = path.parse().map_err(|_| invalid())?;
        Ok(Self {
            path,
            mapped_folders: 0,
        })
    }

    /// The same path, mapped itself instead of its share. Others map folders so, such as csi-driver-smb in HostProcess
    /// containers; while such a mapping exists, Windows may refuse the share's (1219).
    ///
    /// Each operation then works on that mapping. It needs [`Feature::FolderMappings`](crate::api::Feature), unless
    /// the path is a share's root.
    #[must_use]
    pub fn folder_itself(self) -> Self {
        Self {
            mapped_folders: self.path.components().len(),
            ..self
        }
    }

    /// The same path, reached by the mapping of this folder: of the share, or of the path or a parent of it. `None` if
    /// the path is elsewhere.
    #[must_use]
    pub fn through(&self, mapped: &Self) -> Option<Self> {
        let folders = mapped.path.components().len();
        let is_within = self.mapped_part(folders)?.folded() == mapped.path.folded();
        is_within.then(|| Self {
            path: self.path.clone(),
            mapped_folders: folders,
        })
    }

    /// How many folders below the share are part of what is mapped.
    #[must_use]
    pub fn mapped_folders(&self) -> usize {
        self.mapped_folders
    }

    /// The share and that many folders; `None` if the path has fewer.
    fn mapped_part(&self, folders: usize) -> Option<WinPath> {
        let mut names = self.path.components().iter();
        let share = WinPath::of_root(self.path.root().clone());
        (0..folders).try_fold(share, |path, _| Some(path.join(names.next()?.clone())))
    }

    /// The path itself.
    #[must_use]
    pub fn path(&self) -> &WinPath {
        &self.path
    }

    /// The mapped path, usually the share: `\\server\share` in lower case, as csi-proxy spells it.
    #[must_use]
    pub fn share(&self) -> String {
        let root = self.root().to_string();
        root.trim_end_matches('\\').to_lowercase()
    }

    /// The mapped path, usually the root of the share.
    pub(super) fn root(&self) -> WinPath {
        let part = self.mapped_part(self.mapped_folders);
        part.unwrap_or_else(|| self.path.clone())
    }

    /// The server's name, in lower case: names that differ only in case mean one server.
    ///
    /// Windows uses one user's credentials for a server at a time, by this name. It refuses a mapping as another user
    /// while there is one (1219, [`Condition::CredentialsConflict`](crate::api::Condition::CredentialsConflict)),
    /// whichever share it is of. Two names of one server, an alias or its address, count as two servers.
    #[must_use]
    pub fn server(&self) -> String {
        match self.path.root() {
            Root::Share { host, .. } => host.to_lowercase(),
            other => other.to_string(),
        }
    }

    /// The server's address, if its name is an IPv6 address: [`RemotePath::server`] has the name for UNC paths.
    #[must_use]
    pub fn ipv6_server(&self) -> Option<Ipv6Server> {
        Ipv6Server::read(&self.server())
    }
}

impl fmt::Display for RemotePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link;

    #[test]
    fn the_share_is_the_first_two_names_whatever_separates_them() {
        for text in [
            r"\\Server\Share\Sub\dir",
            "//Server/Share/Sub/dir",
            r"Server\Share\Sub\dir\",
            r"\Server\\Share/Sub/dir",
        ] {
            let remote = RemotePath::parse(text).unwrap();
            assert_eq!(remote.share(), r"\\server\share");
            assert_eq!(remote.server(), "server");
            assert_eq!(link::text_to(remote.path()), r"\\Server\Share\Sub\dir\");
        }
        let share = RemotePath::parse("//Server/Share").unwrap();
        assert_eq!(link::text_to(share.path()), r"\\Server\Share\");
    }

    #[test]
    fn what_is_mapped_may_be_a_folder_on_the_way() {
        let remote = |text| RemotePath::parse(text).unwrap();
        let path = remote("//Server/Share/Sub/dir");
        let whole = path.clone().folder_itself();
        assert_eq!(whole.share(), r"\\server\share\sub\dir");
        assert_eq!((whole.server(), whole.mapped_folders()), (path.server(), 2));
        assert_eq!(whole.path(), path.path());
        let through = |text| path.through(&remote(text)).map(|path| path.share());
        let sub = Some(String::from(r"\\server\share\sub"));
        assert_eq!(through("//SERVER/share/sub"), sub);
        assert_eq!(
            through("//server/share/SUB/dir/").as_ref(),
            Some(&whole.share())
        );
        assert_eq!(through("//server/share"), Some(path.share()));
        for elsewhere in [
            "//server/share/su",
            "//server/share/sub/dir/x",
            "//other/share",
        ] {
            assert_eq!(through(elsewhere), None, "{elsewhere}");
        }
        let share = remote("//server/share").folder_itself();
        assert_eq!(share.share(), r"\\server\share");
    }

    #[test]
    fn a_server_that_is_named_by_an_ipv6_address_has_one_name() {
        for text in [
            "//fe80::1%3/Share/dir",
            r"\\[FE80::0:1%3]\Share\dir",
            r"\\FE80-0--1s3.ipv6-literal.net\Share\dir",
        ] {
            let remote = RemotePath::parse(text).unwrap();
            assert_eq!(remote.server(), "fe80--1s3.ipv6-literal.net");
            let text = r"\\fe80--1s3.ipv6-literal.net\Share\dir\";
            assert_eq!(link::text_to(remote.path()), text);
            assert_eq!(remote.ipv6_server().unwrap().to_string(), "fe80::1%3");
        }
        assert_eq!(
            RemotePath::parse("//server/share").unwrap().ipv6_server(),
            None
        );
        assert!(RemotePath::parse("//fe80::1%eth0/share").is_err());
    }

    #[test]
    fn what_names_no_share_is_refused() {
        assert_eq!(RemotePath::parse(""), Err(SmbError::EmptyRemotePath));
        for text in [
            r"\\server",
            r"\\\",
            r"\\?\UNC\server\share",
            r"\\.\pipe\x",
            r"\\server\share\..\other",
            "\\\\server\\sha\0re",
            r"C:\folder",
        ] {
            let error = RemotePath::parse(text).unwrap_err();
            let expected = format!("remote path ({text}) is invalid");
            assert_eq!(error.to_string(), expected);
            assert_eq!(RemotePath::parse_as_given(text), Err(error));
        }
    }

    /// csi-proxy's clients get the path that they sent.
    #[test]
    fn a_path_as_it_is_given_has_no_ipv6_address_and_no_other_name() {
        let literal = r"\\FE80-0--1.ipv6-literal.net\share";
        let remote = RemotePath::parse_as_given(literal).unwrap();
        assert_eq!(remote.to_string().trim_end_matches('\\'), literal);
        for text in ["//fe80::1/share", "//[fe80::1]/share"] {
            let error = RemotePath::parse_as_given(text).unwrap_err();
            let expected = format!("remote path ({text}) is invalid");
            assert_eq!(error.to_string(), expected);
        }
    }
}
