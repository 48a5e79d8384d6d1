//! The node's SMB client: connects, keeps records, and leads to the folders of shares.

use std::borrow::Cow;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use os::schema::smb_global_mapping::status;
use os::schema::{Build, NamedValue};
use os::{Cause, Hresult, Space, Win32};

use super::control::SmbControl;
use super::credential::Credential;
use super::mapping::{Identity, Mapping, Mappings, RemotePath};
use super::refusal::{
    ALREADY_ASSIGNED, BAD_DEVICE, NO_ANSWER, NO_SUCH_HOST, NOBODY_LISTENS, refuse,
};
use super::server::{
    FolderMappings, SavedMappings, Server, ServerHealth, ServerSpec, Share, called,
};
use crate::folder;
use crate::machine::occupied;
use crate::provider::Done;

/// The allocation unit of the server's filesystem, in bytes.
const CLUSTER: u64 = 4096;

/// The node's SMB client, for one operation.
pub(crate) struct Redirector<'a> {
    build: Build,
    /// A copy once they are changed.
    mappings: Cow<'a, Mappings>,
    /// A node in memory has no servers.
    servers: Option<&'a SmbControl>,
}

/// A request to `MSFT_SmbGlobalMapping.Create`.
pub(crate) struct Wanted {
    pub(crate) remote: String,
    pub(crate) local: Option<String>,
    pub(crate) credential: Option<String>,
    pub(crate) options: Options,
}

/// The options of a mapping.
pub(crate) struct Options {
    pub(crate) is_persistent: bool,
    pub(crate) require_integrity: bool,
    pub(crate) require_privacy: bool,
    pub(crate) use_write_through: bool,
}

/// The parsed request.
struct Request {
    remote: RemotePath,
    local: Option<String>,
    credential: Option<Credential>,
    options: Options,
}

impl<'a> Redirector<'a> {
    /// The client of a node with these mappings and servers.
    pub(crate) fn new(
        build: Build,
        mappings: &'a Mappings,
        servers: Option<&'a SmbControl>,
    ) -> Self {
        Self {
            build,
            mappings: Cow::Borrowed(mappings),
            servers,
        }
    }

    /// The mappings, if they were changed.
    pub(crate) fn changed(self) -> Option<Mappings> {
        match self.mappings {
            Cow::Borrowed(_) => None,
            Cow::Owned(changed) => Some(changed),
        }
    }

    /// All mappings, and how each fares.
    pub(crate) fn listed(&self) -> Done<Vec<(&Mapping, NamedValue)>> {
        let servers = self.servers.map_or(Ok(Vec::new()), SmbControl::servers);
        let servers = servers.map_err(out_of_reach)?;
        let listed = self.mappings.0.iter().map(|mapping| {
            let server = called(&servers, &mapping.remote.host);
            let status = status_of(mapping, server.map(|(_, server)| &**server));
            (mapping, status)
        });
        Ok(listed.collect())
    }

    /// Maps a share. Since Server 2019 a share that is mapped already fails with 0x80041001, `Generic
    /// failure ` (Azure/aks-engine#327, kubernetes/kubernetes#75180, Azure/aksArc#111, and by its people
    /// microsoft/K8s-Storage-Plugins#8, which calls it new in that build); before, it is left as it is.
    ///
    /// The order of the checks, and so which of several failures is reported, is unverified.
    pub(crate) fn create(&mut self, wanted: Wanted) -> Done<(Mapping, NamedValue)> {
        let request = Request::parse(wanted).map_err(refuse)?;
        let server = self.find(&request.remote.host)?;
        let server = server.as_ref().map(|(_, server)| &**server);
        self.refuse_conflict(&request, server).map_err(refuse)?;
        let mapping = match self.known(&request) {
            Some(_) if self.build >= Build::SERVER_2019 => {
                return Err(Hresult::WBEM_E_FAILED.into());
            }
            Some(known) => known.clone(),
            None => {
                let mapping = self.connect(request, server).map_err(refuse)?;
                self.mappings.to_mut().0.push(mapping.clone());
                mapping
            }
        };
        let status = status_of(&mapping, server);
        Ok((mapping, status))
    }

    /// Whether a server listens at the port of this name or address.
    ///
    /// # Errors
    /// The codes of `connect`: the name does not exist, the host does not answer, or nothing
    /// listens.
    pub(crate) fn listens(&self, host: &str, port: u16) -> Done<()> {
        let (_, server) = self.find(host)?.ok_or(NO_SUCH_HOST)?;
        match server.condition {
            ServerHealth::Down => Err(NO_ANSWER.into()),
            _ if server.tcp_ports.contains(&port) => Ok(()),
            _ => Err(NOBODY_LISTENS.into()),
        }
    }

    /// Takes a mapping away, even one in use.
    pub(crate) fn remove(&mut self, local: &str, remote: &str) -> Done<()> {
        match self.mappings.position(local, remote) {
            Some(at) => {
                self.mappings.to_mut().0.remove(at);
                Ok(())
            }
            None => Err(refuse(Win32::NOT_CONNECTED)),
        }
    }

    /// The folder of a share, for a caller that opens a path below `\\host\share`.
    ///
    /// Without a mapping the node tries its own account. With one, the credentials of the mapping have
    /// to be good today: a server asks for them whenever a session is renewed.
    pub(crate) fn share_folder(&mut self, host: &str, share: &str) -> Done<PathBuf> {
        let (folder, _) = self.open(host, share)?;
        Ok(folder)
    }

    /// Size and free space of a share, for a caller that queries a path below it.
    pub(crate) fn space(&mut self, host: &str, share: &str) -> Done<Space> {
        let (folder, server) = self.open(host, share)?;
        let Share { size, quota, .. } = server.share(share)?;
        let used = occupied(&folder, CLUSTER).map_err(out_of_reach)?;
        let free = size.saturating_sub(used);
        let quota = quota.unwrap_or(*size);
        Ok(Space {
            total: quota.min(*size),
            free,
            available: free.min(quota.saturating_sub(used)),
        })
    }

    fn open(&mut self, host: &str, share: &str) -> Done<(PathBuf, Arc<ServerSpec>)> {
        let servers = self.servers.ok_or(Win32::BAD_NETPATH)?;
        let (file, server) = self.find(host)?.ok_or(Win32::BAD_NETPATH)?;
        let through = self.mappings.through(host, share);
        let mapping = through.and_then(|at| self.mappings.0.get(at));
        let identity = mapping.map(|mapping| &mapping.identity);
        if matches!(identity, Some(Identity::Saved(_))) {
            server.saved_mappings.reach()?;
        }
        let admitted = admit(&server, share, identity.and_then(Identity::credential))?;
        if let Some(at) = through.filter(|_| mapping.is_some_and(|it| !it.was_connected)) {
            self.mappings.to_mut().0[at].was_connected = true;
        }
        let folder = servers.share_folder(&file, &admitted.name);
        folder::make(&folder).map_err(out_of_reach)?;
        Ok((folder, server))
    }

    fn refuse_conflict(&self, request: &Request, server: Option<&ServerSpec>) -> Result<(), Win32> {
        let (remote, credential) = (&request.remote, request.credential.as_ref());
        let refuses = |server: &ServerSpec| server.folder_mappings == FolderMappings::InTheWay;
        let is_in_the_way = server.is_some_and(refuses) && self.mappings.has_folder_of(remote);
        match is_in_the_way || self.mappings.conflict(remote, credential) {
            true => Err(Win32::SESSION_CREDENTIAL_CONFLICT),
            false => Ok(()),
        }
    }

    fn known(&self, request: &Request) -> Option<&Mapping> {
        let local = request.local.as_deref().unwrap_or_default();
        let at = self.mappings.position(local, request.remote.as_str())?;
        self.mappings.0.get(at)
    }

    fn connect(&self, request: Request, server: Option<&ServerSpec>) -> Result<Mapping, Win32> {
        self.check_letter(request.local.as_deref(), &request.remote)?;
        let server = server.ok_or(Win32::BAD_NETPATH)?;
        admit(server, &request.remote.share, request.credential.as_ref())?;
        if request.options.require_privacy && !server.encryption {
            // csi-proxy issue 311, csi-driver-smb issue 655.
            return Err(Win32::NETWORK_ACCESS_DENIED);
        }
        Ok(request.into_mapping())
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

    /// The server that a name or an address leads to, as it is now.
    fn find(&self, host: &str) -> Done<Option<Server>> {
        let found = self.servers.map(|servers| servers.server(host));
        let found = found.transpose().map_err(out_of_reach)?;
        Ok(found.flatten())
    }
}

/// `Status`: the server's condition for a mapping that was connected. A mapping that has come back
/// after a restart stays disconnected until its first use.
fn status_of(mapping: &Mapping, server: Option<&ServerSpec>) -> NamedValue {
    match server {
        Some(server) if mapping.was_connected => server.condition.status(),
        _ => status::DISCONNECTED,
    }
}

impl Request {
    fn parse(wanted: Wanted) -> Result<Self, Win32> {
        let credential = wanted.credential.as_deref();
        Ok(Self {
            remote: RemotePath::parse(&wanted.remote)?,
            local: wanted.local.filter(|local| !local.is_empty()),
            credential: credential.map(Credential::parse).transpose()?,
            options: wanted.options,
        })
    }

    fn into_mapping(self) -> Mapping {
        Mapping {
            remote: self.remote,
            local: self.local,
            identity: self.credential.map_or(Identity::Machine, Identity::Given),
            is_persistent: self.options.is_persistent,
            was_connected: true,
            require_integrity: self.options.require_integrity,
            require_privacy: self.options.require_privacy,
            use_write_through: self.options.use_write_through,
        }
    }
}

impl SavedMappings {
    fn reach(self) -> Result<(), Win32> {
        match self {
            Self::Reconnect => Ok(()),
            Self::StayDead => Err(Win32::BAD_NETPATH),
        }
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
