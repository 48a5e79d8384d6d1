use os::Win32;
use serde::{Deserialize, Serialize};

use super::credential::Credential;
use super::server::same_name;

/// The node's table of global mappings, as `state.json` keeps it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Mappings(pub(crate) Vec<Mapping>);

/// A global mapping.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Mapping {
    /// As it was given.
    pub(crate) remote: RemotePath,
    /// A drive letter with its colon.
    pub(crate) local: Option<String>,
    pub(crate) identity: Identity,
    /// Whether it comes back after a restart of the node.
    pub(crate) is_persistent: bool,
    /// Whether the server was reached since the last restart of the node.
    pub(crate) was_connected: bool,
    pub(crate) require_integrity: bool,
    pub(crate) require_privacy: bool,
    pub(crate) use_write_through: bool,
}

/// Whom a mapping is connected as.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Identity {
    /// The credentials that were given.
    Given(Credential),
    /// The node's own account.
    Machine,
    /// The credentials that were given before the restart. They still open the server, but the
    /// redirector does not see them any more, so that nothing matches them: so the Windows team in
    /// kubernetes-csi/csi-driver-smb issue 219.
    Saved(Credential),
}

/// `\\server\share`, with or without folders below it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct RemotePath {
    text: String,
    pub(crate) host: String,
    pub(crate) share: String,
}

impl Mappings {
    /// The mapping with these keys, both as WMI spells them.
    pub(crate) fn position(&self, local: &str, remote: &str) -> Option<usize> {
        self.0.iter().position(|mapping| {
            same_name(mapping.local.as_deref().unwrap_or_default(), local)
                && same_name(&mapping.remote.text, remote)
        })
    }

    /// The place of the mapping through which a share is reached. It is found by the name that was mapped: another
    /// name or an address of the same server is another server.
    pub(crate) fn through(&self, host: &str, share: &str) -> Option<usize> {
        self.0.iter().position(|mapping| {
            mapping.remote.is_on(host) && same_name(&mapping.remote.share, share)
        })
    }

    /// Whether a connection with these credentials would conflict with one to the same server. A caller
    /// without credentials takes the existing connection.
    ///
    /// A folder below a mapped share conflicts whatever the credentials: kubernetes-csi/csi-driver-smb issue
    /// 219 has it with the share `OK`, after a restart of the node. No report has it without a restart.
    /// Folders of one share that is not mapped itself are mapped beside each other (issue 1035).
    pub(crate) fn conflict(&self, remote: &RemotePath, credential: Option<&Credential>) -> bool {
        let Some(credential) = credential else {
            return false;
        };
        let is_on_server = |mapping: &&Mapping| mapping.remote.is_on(&remote.host);
        let mut others = self.0.iter().filter(is_on_server);
        others.any(|it| !it.identity.is_given(credential) || remote.is_below(&it.remote))
    }

    /// Whether a folder of this share is mapped.
    pub(crate) fn has_folder_of(&self, share: &RemotePath) -> bool {
        self.0.iter().any(|mapping| mapping.remote.is_below(share))
    }

    pub(crate) fn uses_letter(&self, letter: &str) -> bool {
        let mut letters = self.0.iter().filter_map(|mapping| mapping.local.as_deref());
        letters.any(|used| same_name(used, letter))
    }

    /// Keeps the part of the table that survives a restart of the node: persistent mappings, not
    /// yet connected.
    pub(crate) fn restart(&mut self) {
        self.0.retain(|mapping| mapping.is_persistent);
        for mapping in &mut self.0 {
            mapping.was_connected = false;
            if let Identity::Given(credential) = &mapping.identity {
                mapping.identity = Identity::Saved(credential.clone());
            }
        }
    }
}

impl Identity {
    pub(crate) fn credential(&self) -> Option<&Credential> {
        match self {
            Self::Given(credential) | Self::Saved(credential) => Some(credential),
            Self::Machine => None,
        }
    }

    /// The user's name compares without regard to case and the password as it is.
    fn is_given(&self, other: &Credential) -> bool {
        match self {
            Self::Given(ours) => ours.is_user(&other.user) && ours.password == other.password,
            Self::Machine | Self::Saved(_) => false,
        }
    }
}

impl RemotePath {
    /// Reads a path as Windows takes it: with backslashes, and none at its end (87, so
    /// kubernetes-csi/csi-driver-smb issue 453).
    pub(crate) fn parse(text: &str) -> Result<Self, Win32> {
        let names = text.strip_prefix(r"\\").ok_or(Win32::INVALID_PARAMETER)?;
        let names: Vec<_> = names.split('\\').collect();
        match names.as_slice() {
            [host, share, ..] if names.iter().all(|name| is_name(name)) => Ok(Self {
                text: text.to_owned(),
                host: (*host).to_owned(),
                share: (*share).to_owned(),
            }),
            _ => Err(Win32::INVALID_PARAMETER),
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it is a folder of that share.
    fn is_below(&self, share: &Self) -> bool {
        let share = share.text.to_lowercase();
        let rest = self.text.to_lowercase();
        rest.strip_prefix(&share)
            .is_some_and(|rest| rest.starts_with('\\'))
    }

    fn is_on(&self, host: &str) -> bool {
        same_name(&self.host, host)
    }
}

impl TryFrom<String> for RemotePath {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).map_err(|_| format!("{text:?} is no path of a share"))
    }
}

impl From<RemotePath> for String {
    fn from(path: RemotePath) -> Self {
        path.text
    }
}

fn is_name(name: &str) -> bool {
    let is_bad = |c: char| c.is_control() || r#"/:*?"<>|"#.contains(c);
    // An IPv6 address has colons in its literal form only, as `fe80--1.ipv6-literal.net` has none.
    !name.is_empty() && !name.contains(is_bad)
}

#[cfg(test)]
mod tests {
    use super::RemotePath;

    #[test]
    fn a_remote_path_has_a_server_and_a_share_and_no_separator_at_its_end() {
        let path = RemotePath::parse(r"\\Files.example.com\data$\a b").unwrap();
        assert_eq!(path.host, "Files.example.com");
        assert_eq!(path.share, "data$");
        for text in [
            "",
            r"\\files",
            r"\\files\",
            r"\\files\data\",
            r"\\\data",
            r"files\data",
            "//files/data",
            r"\\?\UNC\files\data",
            r"C:\data",
        ] {
            assert!(RemotePath::parse(text).is_err(), "{text:?}");
        }
    }
}
