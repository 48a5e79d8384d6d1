use std::sync::Arc;

use os::Win32;
use os::schema::NamedValue;
use os::schema::smb_global_mapping::status;
use serde::{Deserialize, Serialize};

use super::credential::Credential;
use crate::secret::Secret;

/// Where SMB is spoken over TCP.
const SMB_PORT: u16 = 445;

/// An SMB server: the content of `smb/<server>.toml`. What its shares hold lies in
/// `smb/<server>/<share>/`.
///
/// ```
/// use wincsi_os_sim::smb::ServerSpec;
///
/// let server: ServerSpec = toml::from_str(
///     r#"
///     names = ["files.example.com", "10.0.0.5"]
///
///     [[user]]
///     name = 'EXAMPLE\alice'
///     password = "secret"
///
///     [[share]]
///     name = "data"
///     "#,
/// )
/// .unwrap();
/// assert!(server.encryption);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct ServerSpec {
    /// The names and addresses that lead to it, beside the name of its file.
    pub names: Vec<String>,
    /// How it fares.
    pub condition: ServerHealth,
    /// Whether it can encrypt.
    pub encryption: bool,
    /// Whether the node's own account may log on, which takes a domain.
    pub machine_accounts: bool,
    /// The fate of the node's mappings of its shares at a restart of the node.
    pub saved_mappings: SavedMappings,
    /// Whether a share is mapped beside a mapping of one of its folders.
    pub folder_mappings: FolderMappings,
    /// The TCP ports that it listens at while it is not down.
    pub tcp_ports: Vec<u16>,
    /// Its error for a wrong password.
    pub wrong_password: WrongPassword,
    /// The users that may log on.
    pub user: Vec<User>,
    /// Its shares.
    pub share: Vec<Share>,
}

/// A user of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct User {
    /// `DOMAIN\user` or `user@domain`, as the node has to write it.
    pub name: String,
    /// The password of today.
    pub password: Secret,
}

/// A share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Share {
    /// Its name.
    pub name: String,
    /// The users that may access it; an empty list means everybody.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub users: Vec<String>,
    /// How large its filesystem is, in bytes.
    #[serde(default = "one_tebibyte")]
    pub size: u64,
    /// How much of it each user may fill, in bytes; nothing said is all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<u64>,
}

fn one_tebibyte() -> u64 {
    1 << 40
}

/// How a server fares.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServerHealth {
    /// It answers.
    #[default]
    Up,
    /// It does not answer.
    Down,
    /// It drops every session.
    Dropping,
    /// It answers nonsense.
    Failing,
    /// It is paused.
    Paused,
    /// It answers, but the share's storage does not.
    Unavailable,
}

/// The fate of persistent mappings at a restart of the node. They are listed as disconnected either way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SavedMappings {
    /// They are connected when somebody uses them.
    #[default]
    Reconnect,
    /// They stay disconnected, although the server answers, until they are removed: some do on Windows Server
    /// 2025 (kubernetes-sigs/azurefile-csi-driver issue 2974 and pull request 3416). No report has the code of
    /// their use: 53 is assumed.
    StayDead,
}

/// The result of mapping a share while a folder of it is mapped, with the same credentials.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FolderMappings {
    /// It is mapped beside.
    #[default]
    Beside,
    /// It is refused with 1219, as the folder is while the share is mapped. No record has either (assumption 47 of
    /// the suite for Windows).
    InTheWay,
}

/// A server's error for a wrong password.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WrongPassword {
    /// The same as to an unknown user (`STATUS_LOGON_FAILURE`), so that nobody can guess names:
    /// Windows and Samba.
    #[default]
    LogonFailure,
    /// That it is wrong (`STATUS_WRONG_PASSWORD`): seen of ksmbd, namjaejeon/ksmbd issue 120.
    WrongPassword,
}

impl ServerSpec {
    /// A server with this user and this share, that can encrypt.
    #[must_use]
    pub fn sharing(share: &str, user: &str, password: &str) -> Self {
        Self {
            user: vec![User {
                name: user.to_owned(),
                password: Secret::from(password),
            }],
            share: vec![Share {
                name: share.to_owned(),
                users: Vec::new(),
                size: one_tebibyte(),
                quota: None,
            }],
            ..Self::default()
        }
    }

    /// Reached by this name or address too.
    #[must_use]
    pub fn also_named(mut self, name: &str) -> Self {
        self.names.push(name.to_owned());
        self
    }

    /// Its share of this name that can lie in a folder.
    pub(crate) fn share(&self, name: &str) -> Result<&Share, Win32> {
        let mut shares = self.share.iter();
        shares
            .find(|share| same_name(&share.name, name))
            .filter(|share| share.is_plain())
            .ok_or(Win32::BAD_NET_NAME)
    }

    /// Whether these credentials, or the node's own account, are good today.
    pub(crate) fn log_on(&self, credential: Option<&Credential>) -> Result<(), Win32> {
        let Some(credential) = credential else {
            let accepted = self.machine_accounts.then_some(());
            return accepted.ok_or(Win32::LOGON_FAILURE);
        };
        let mut users = self.user.iter();
        match users.find(|user| credential.is_user(&user.name)) {
            Some(user) if user.password == credential.password => Ok(()),
            Some(_) => Err(self.wrong_password.code()),
            None => Err(Win32::LOGON_FAILURE),
        }
    }
}

impl Default for ServerSpec {
    fn default() -> Self {
        Self {
            names: Vec::new(),
            condition: ServerHealth::Up,
            encryption: true,
            machine_accounts: false,
            saved_mappings: SavedMappings::default(),
            folder_mappings: FolderMappings::default(),
            tcp_ports: vec![SMB_PORT],
            wrong_password: WrongPassword::default(),
            user: Vec::new(),
            share: Vec::new(),
        }
    }
}

impl Share {
    pub(crate) fn admits(&self, credential: Option<&Credential>) -> Result<(), Win32> {
        let is_named = |name: &String| credential.is_some_and(|who| who.is_user(name));
        if self.users.is_empty() || self.users.iter().any(is_named) {
            return Ok(());
        }
        Err(Win32::ACCESS_DENIED)
    }

    /// Whether the name can be that of a folder, which keeps it where it belongs.
    fn is_plain(&self) -> bool {
        let is_bad = |c: char| c.is_control() || r#"\/:*?"<>|"#.contains(c);
        !self.name.is_empty() && !self.name.starts_with('.') && !self.name.contains(is_bad)
    }
}

impl ServerHealth {
    /// The `Status` of a mapping that was connected.
    pub(crate) fn status(self) -> NamedValue {
        match self {
            Self::Up => status::OK,
            Self::Down => status::DISCONNECTED,
            Self::Dropping | Self::Failing => status::NETWORK_ERROR,
            Self::Paused => status::PAUSED,
            Self::Unavailable => status::UNAVAILABLE,
        }
    }

    /// The error of a call that has to reach the server.
    pub(crate) fn reach(self) -> Result<(), Win32> {
        match self {
            Self::Up => Ok(()),
            Self::Down => Err(Win32::BAD_NETPATH),
            Self::Dropping => Err(Win32::NETNAME_DELETED),
            Self::Failing => Err(Win32::UNEXP_NET_ERR),
            Self::Paused => Err(Win32::SHARING_PAUSED),
            Self::Unavailable => Err(Win32::SEM_TIMEOUT),
        }
    }
}

impl WrongPassword {
    fn code(self) -> Win32 {
        match self {
            Self::LogonFailure => Win32::LOGON_FAILURE,
            Self::WrongPassword => Win32::INVALID_PASSWORD,
        }
    }
}

/// A server and the name of its file.
pub(super) type Server = (String, Arc<ServerSpec>);

/// The server that a name or an address leads to. The name of its file comes first.
pub(super) fn called<'a>(servers: &'a [Server], host: &str) -> Option<&'a Server> {
    let is_also_called = |server: &ServerSpec| server.names.iter().any(|it| same_name(it, host));
    let by_file = servers.iter().find(|(file, _)| same_name(file, host));
    by_file.or_else(|| servers.iter().find(|(_, server)| is_also_called(server)))
}

/// Names of servers and shares compare without regard to case.
pub(crate) fn same_name(left: &str, right: &str) -> bool {
    match left.is_ascii() && right.is_ascii() {
        true => left.eq_ignore_ascii_case(right),
        false => left.to_lowercase() == right.to_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use os::Win32;

    use super::{ServerSpec, WrongPassword};
    use crate::smb::credential::Credential;

    fn log_on(server: &ServerSpec, credential: &str) -> Result<(), Win32> {
        server.log_on(Some(&Credential::parse(credential).unwrap()))
    }

    #[test]
    fn a_user_is_let_in_by_name_without_case_and_by_password_with_it() {
        let server = ServerSpec::sharing("data", r"DOM\alice", "Secret");
        assert_eq!(log_on(&server, r"dom\\ALICE:Secret"), Ok(()));
        assert_eq!(
            log_on(&server, r"DOM\\alice:secret"),
            Err(Win32::LOGON_FAILURE)
        );
        assert_eq!(
            log_on(&server, r"DOM\\bob:Secret"),
            Err(Win32::LOGON_FAILURE)
        );
        let announcing = ServerSpec {
            wrong_password: WrongPassword::WrongPassword,
            ..server
        };
        assert_eq!(
            log_on(&announcing, r"DOM\\alice:x"),
            Err(Win32::INVALID_PASSWORD)
        );
    }

    #[test]
    fn the_nodes_own_account_needs_a_domain() {
        let server = ServerSpec::default();
        assert_eq!(server.log_on(None), Err(Win32::LOGON_FAILURE));
        let domain = ServerSpec {
            machine_accounts: true,
            ..server
        };
        assert_eq!(domain.log_on(None), Ok(()));
    }

    #[test]
    fn shares_stay_in_their_folder() {
        for name in ["", ".", "..", "../x", r"..\x", "a/b", "c:"] {
            let server = ServerSpec::sharing(name, r"D\u", "");
            assert_eq!(
                server.share(name).unwrap_err(),
                Win32::BAD_NET_NAME,
                "{name:?}"
            );
        }
        let server = ServerSpec::sharing("Geheim $", r"D\u", "");
        assert_eq!(server.share("GEHEIM $").unwrap().name, "Geheim $");
    }

    #[test]
    fn misspelt_words_are_refused() {
        assert!(toml::from_str::<ServerSpec>("condition = \"up\"").is_ok());
        assert!(toml::from_str::<ServerSpec>("conditon = \"up\"").is_err());
        assert!(toml::from_str::<ServerSpec>("condition = \"sick\"").is_err());
    }
}
