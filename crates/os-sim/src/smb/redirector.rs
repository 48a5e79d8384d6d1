//! What the node's SMB client does: connects, remembers, and leads to the folders of shares.

use std::path::{Path, PathBuf};
use std::{fs, io};

use os::schema::NamedValue;
use os::schema::smb_global_mapping::status;
use os::{Cause, Win32};

use super::control::SmbControl;
use super::credential::Credential;
use super::mapping::{Identity, Mapping, Mappings, RemotePath};
use super::refusal::{ALREADY_ASSIGNED, BAD_DEVICE, NETWORK_ACCESS_DENIED, refuse};
use super::server::{ServerSpec, Share};
use crate::provider::Done;

/// The node's SMB client, for one operation.
pub(crate) struct Redirector {
    mappings: Mappings,
    servers: Vec<(String, ServerSpec)>,
    folder: PathBuf,
}

/// What `MSFT_SmbGlobalMapping.Create` is asked for.
pub(crate) struct Wanted {
    pub(crate) remote: String,
    pub(crate) local: Option<String>,
    pub(crate) credential: Option<String>,
    pub(crate) is_persistent: bool,
    pub(crate) require_integrity: bool,
    pub(crate) require_privacy: bool,
    pub(crate) use_write_through: bool,
}

impl Redirector {
    /// The client of the node in this folder, with the servers as they are now. A node in memory has
    /// none.
    pub(crate) fn new(mappings: Mappings, node: Option<&Path>) -> Done<Self> {
        let control = node.map(SmbControl::at);
        let servers = control.as_ref().map_or(Ok(Vec::new()), SmbControl::servers);
        Ok(Self {
            mappings,
            servers: servers.map_err(out_of_reach)?,
            folder: control.map(|control| control.folder()).unwrap_or_default(),
        })
    }

    pub(crate) fn mappings(&self) -> &Mappings {
        &self.mappings
    }

    pub(crate) fn into_mappings(self) -> Mappings {
        self.mappings
    }

    /// `Status`: what the server's condition means for a mapping that was connected. One that has come
    /// back after a restart stays disconnected until somebody uses it.
    pub(crate) fn status(&self, mapping: &Mapping) -> NamedValue {
        match self.server(&mapping.remote.host) {
            Ok((_, server)) if mapping.was_connected => server.condition.status(),
            _ => status::DISCONNECTED,
        }
    }

    /// Maps a share. A share that is mapped as the same user is left as it is.
    ///
    /// What is looked at first, and so which of several failures is told, is unverified.
    pub(crate) fn create(&mut self, wanted: Wanted) -> Done<Mapping> {
        let mapping = self.connect(wanted).map_err(refuse)?;
        let known = self.mappings.position(
            mapping.local.as_deref().unwrap_or_default(),
            mapping.remote.as_str(),
        );
        match known.and_then(|at| self.mappings.0.get(at)) {
            Some(known) => Ok(known.clone()),
            None => {
                self.mappings.0.push(mapping.clone());
                Ok(mapping)
            }
        }
    }

    /// Takes a mapping away, whoever uses it.
    pub(crate) fn remove(&mut self, local: &str, remote: &str) -> Done<()> {
        match self.mappings.position(local, remote) {
            Some(at) => {
                self.mappings.0.remove(at);
                Ok(())
            }
            None => Err(refuse(Win32::NOT_CONNECTED)),
        }
    }

    /// The folder of a share, for whoever opens a path below `\\host\share`.
    ///
    /// Without a mapping the node tries its own account. With one, the credentials of the mapping have
    /// to be good today: a server asks for them whenever a session is renewed.
    pub(crate) fn share_folder(&mut self, host: &str, share: &str) -> Done<PathBuf> {
        let folder = self.open(host, share)?;
        fs::create_dir_all(&folder).map_err(out_of_reach)?;
        Ok(folder)
    }

    fn open(&mut self, host: &str, share: &str) -> Result<PathBuf, Win32> {
        let mapping = self.mappings.through(host, share);
        let credential = mapping.and_then(|mapping| mapping.identity.credential().cloned());
        let (name, server) = self.server(host)?;
        let admitted = admit(server, share, credential.as_ref())?;
        let folder = self.folder.join(name).join(&admitted.name);
        if let Some(mapping) = self.mappings.through(host, share) {
            mapping.was_connected = true;
        }
        Ok(folder)
    }

    fn connect(&self, wanted: Wanted) -> Result<Mapping, Win32> {
        let remote = RemotePath::parse(&wanted.remote)?;
        let credential = wanted
            .credential
            .as_deref()
            .map(Credential::parse)
            .transpose()?;
        if self.mappings.conflict(&remote.host, credential.as_ref()) {
            return Err(Win32::SESSION_CREDENTIAL_CONFLICT);
        }
        let local = wanted.local.filter(|local| !local.is_empty());
        self.check_letter(local.as_deref(), &remote)?;
        let (_, server) = self.server(&remote.host)?;
        admit(server, &remote.share, credential.as_ref())?;
        if wanted.require_privacy && !server.encryption {
            return Err(NETWORK_ACCESS_DENIED);
        }
        Ok(Mapping {
            remote,
            local,
            identity: credential.map_or(Identity::Machine, Identity::Given),
            is_persistent: wanted.is_persistent,
            was_connected: true,
            require_integrity: wanted.require_integrity,
            require_privacy: wanted.require_privacy,
            use_write_through: wanted.use_write_through,
        })
    }

    fn check_letter(&self, letter: Option<&str>, remote: &RemotePath) -> Result<(), Win32> {
        let Some(letter) = letter else {
            return Ok(());
        };
        if !is_letter(letter) {
            return Err(BAD_DEVICE);
        }
        let is_known = self.mappings.position(letter, remote.as_str()).is_some();
        if self.mappings.uses_letter(letter) && !is_known {
            return Err(ALREADY_ASSIGNED);
        }
        Ok(())
    }

    /// The server that a name or an address leads to, and the name of its file.
    fn server(&self, host: &str) -> Result<(&str, &ServerSpec), Win32> {
        let mut servers = self.servers.iter();
        servers
            .find(|(file, server)| server.has_name(file, host))
            .map(|(file, server)| (file.as_str(), server))
            .ok_or(Win32::BAD_NETPATH)
    }
}

/// Negotiates, logs on and connects to the share.
fn admit<'a>(
    server: &'a ServerSpec,
    share: &str,
    credential: Option<&Credential>,
) -> Result<&'a Share, Win32> {
    server.condition.reach()?;
    server.log_on(credential)?;
    let share = server.share(share)?;
    share.admits(credential)?;
    Ok(share)
}

fn is_letter(text: &str) -> bool {
    matches!(text.as_bytes(), [letter, b':'] if letter.is_ascii_alphabetic())
}

/// The host failed the simulator: nothing that Windows would say.
fn out_of_reach(error: io::Error) -> Cause {
    Cause::Malformed(format!("the simulated node's SMB servers: {error}"))
}
