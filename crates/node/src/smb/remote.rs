use std::fmt;

use os::{Root, WinPath};

use super::SmbError;

/// The UNC path of a share or of a folder below one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemotePath(WinPath);

impl RemotePath {
    /// Reads a path as clients send it: with any separators, and with or without the leading ones.
    ///
    /// # Errors
    /// It is empty, has no server and share, or a name that no server or folder can have.
    pub fn parse(text: &str) -> Result<Self, SmbError> {
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
        if matches!(names.first(), Some(&("." | "?")) | None) {
            return Err(invalid());
        }
        let path = format!(r"\\{}", names.join("\\"));
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

    /// The server's name, of which Windows holds one set of credentials.
    pub(super) fn server(&self) -> String {
        match self.0.root() {
            Root::Share { host, .. } => host.to_lowercase(),
            other => other.to_string(),
        }
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
            assert_eq!(
                error.to_string(),
                format!("remote path ({text}) is invalid")
            );
        }
    }
}
