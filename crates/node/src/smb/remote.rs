use std::fmt;

use os::{Root, WinPath};

use super::{Ipv6Server, SmbError};

/// The UNC path of a share or of a folder below one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemotePath(WinPath);

impl RemotePath {
    /// Reads a path as clients send it: with any separators, and with or without the leading ones. A server that is
    /// named by an IPv6 address, `//fe80::1%3/share` or `//[fe80::1]/share`, gets the one name by which Windows knows
    /// it, `fe80--1s3.ipv6-literal.net`, and so does one that has such a name in another spelling.
    ///
    /// # Errors
    /// It is empty, has no server and share, or a name that no server or folder can have.
    pub fn parse(text: &str) -> Result<Self, SmbError> {
        Self::read(text, |server| {
            let address = Ipv6Server::read(server);
            address.map_or_else(|| server.to_owned(), Ipv6Server::name)
        })
    }

    /// As [`RemotePath::parse`], with the server as it is named: so csi-proxy's clients have it, which an IPv6
    /// address is refused to, as no UNC path has colons.
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
        path.parse().map(Self).map_err(|_| invalid())
    }

    /// The path as such.
    #[must_use]
    pub fn path(&self) -> &WinPath {
        &self.0
    }

    /// The share, which is what is mapped: `\\server\share` in lower case, as csi-proxy spells it.
    #[must_use]
    pub fn share(&self) -> String {
        let root = self.0.root().to_string();
        root.trim_end_matches('\\').to_lowercase()
    }

    /// The root of the share.
    pub(super) fn root(&self) -> WinPath {
        WinPath::of_root(self.0.root().clone())
    }

    /// The server, as it was named, in small letters: names that differ in case alone are one server's.
    ///
    /// Windows uses one user's credentials for a server at a time, by this name: a mapping as another user is refused
    /// while there is one (1219, [`Condition::CredentialsConflict`](crate::api::Condition::CredentialsConflict)),
    /// whichever share it is of. Two names of one server, an alias or its address, are two servers there.
    #[must_use]
    pub fn server(&self) -> String {
        match self.0.root() {
            Root::Share { host, .. } => host.to_lowercase(),
            other => other.to_string(),
        }
    }

    /// The address of the server, if it is named by an IPv6 address: [`RemotePath::server`] has the name that stands
    /// for it.
    #[must_use]
    pub fn ipv6_server(&self) -> Option<Ipv6Server> {
        Ipv6Server::read(&self.server())
    }
}

impl fmt::Display for RemotePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
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

    /// csi-proxy's clients are told what they were.
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
