//! SMB: servers around the node, and the node's global mappings of their shares.
//!
//! A server is a file `smb/<server>.toml` of the node's folder ([`ServerSpec`]), and what its shares
//! hold lies in `smb/<server>/<share>/`. The node reaches a share by a UNC path as Windows does: only
//! through a mapping, unless the server takes the node's own account.
//!
//! # What Windows is known for
//! - One server is reached as one user: another mapping to the same server *name* with other
//!   credentials is error 1219, another name or the address of the same server is not.
//! - A mapping is persistent unless told otherwise. After a restart it is listed as disconnected, and
//!   still opens the share, but mapping anything of the same server again is error 1219, because
//!   nothing matches credentials that were saved. Both: kubernetes-csi/csi-driver-smb issue 219.
//!   Some do not open it again until they are removed ([`SavedMappings::StayDead`]).
//! - Since Server 2019 a share that is mapped cannot be mapped again, by the same user either: 0x80041001.
//! - A folder below a mapped share is error 1219, whatever the credentials (the same issue). Nobody told whether the
//!   share is, below which a folder is mapped: both can be had ([`FolderMappings`]).
//! - A mapping that is listed as OK may be useless: who changes a password does not tell the clients.
//!
//! What has no part here: drive letters of mappings in paths, who may use a mapping (`FullAccess`,
//! `DenyAccess`), and the transports of Windows Server 2025. Those arguments are taken, the last ones by a
//! node of that build alone, and change nothing.

mod control;
mod credential;
mod mapping;
mod redirector;
mod refusal;
mod server;

#[cfg(test)]
mod tests;

pub use control::SmbControl;
pub use server::{
    FolderMappings, SavedMappings, ServerHealth, ServerSpec, Share, User, WrongPassword,
};

pub(crate) use mapping::Mappings;
pub(crate) use refusal::{NO_ANSWER, NOBODY_LISTENS};

use std::path::{Path, PathBuf};
use std::sync::Arc;

use os::schema::smb_global_mapping::{
    CLASS, CREATE, LOCAL_PATH, REMOTE_PATH, REMOVE, REQUIRE_INTEGRITY, REQUIRE_PRIVACY, STATUS,
    USE_WRITE_THROUGH, create,
};
use os::schema::{Build, Class, NamedValue};
use os::{Cause, Facility, ObjectPath, Outcome, Space, Value};

use self::mapping::Mapping;
use self::redirector::{Options, Redirector, Wanted};
use crate::machine::Machine;
use crate::provider::{Done, Keyed, MethodCall, Namespace, Object, whole};
use crate::shared_node::SharedNode;

/// The namespace `Root\Microsoft\Windows\Smb`.
pub(crate) struct Smb {
    pub(crate) shared: Arc<SharedNode>,
}

impl Namespace for Smb {
    fn facility(&self) -> Facility {
        Facility::Smb
    }

    fn shared(&self) -> &Arc<SharedNode> {
        &self.shared
    }

    fn objects(&self, class: &'static Class) -> Done<Vec<Box<dyn Object>>> {
        if class.name != CLASS.name {
            return Ok(Vec::new());
        }
        self.with(|redirector| {
            let listed = redirector.listed()?.into_iter();
            let object = |(mapping, status): (&Mapping, _)| {
                let mapping = mapping.clone();
                Box::new(MappingObject { mapping, status }) as _
            };
            Ok(listed.map(object).collect())
        })
    }

    fn associated(
        &self,
        _of: &Keyed<'_>,
        _association: &Class,
        _result: &'static Class,
    ) -> Done<Option<Vec<Box<dyn Object>>>> {
        Ok(None)
    }

    fn invoke(&self, call: &MethodCall<'_>) -> Done<Outcome> {
        match call.method.name {
            name if name == CREATE.name => self.create(call),
            name if name == REMOVE.name => self.remove(call),
            other => Err(Cause::Malformed(format!("{other} is not simulated"))),
        }
    }
}

/// The folder of `\\host\share`, for the file tree: a UNC path leads there through a mapping.
///
/// # Errors
/// What opening the share gives on Windows: no such server or one that is down (53, 59, 64), no such
/// share (67), credentials that are not good today (1326).
pub(crate) fn share_folder(machine: &mut Machine, host: &str, share: &str) -> Done<PathBuf> {
    with(machine, |redirector| redirector.share_folder(host, share))
}

/// As [`share_folder`], of a node that another process may have open: through the mappings that it has now.
pub(crate) fn share_folder_beside(node: &Path, host: &str, share: &str) -> Done<PathBuf> {
    let servers = SmbControl::at(node);
    let known = servers.mappings();
    let known = known.map_err(|error| Cause::Malformed(format!("the node's state: {error}")))?;
    // The build says how a share is mapped, and nothing is mapped here.
    let mut redirector = Redirector::new(Build::SERVER_2022, &known, Some(&servers));
    redirector.share_folder(host, share)
}

/// Size and free space of a share, as each user sees them.
///
/// # Errors
/// As [`share_folder`].
pub(crate) fn space(machine: &mut Machine, host: &str, share: &str) -> Done<Space> {
    with(machine, |redirector| redirector.space(host, share))
}

/// Whether a server answers at a port, as `connect` would find.
///
/// # Errors
/// The codes of `connect` (10060, 10061, 11001).
pub(crate) fn listens(machine: &mut Machine, host: &str, port: u16) -> Done<()> {
    with(machine, |redirector| redirector.listens(host, port))
}

/// Lets `act` work with the node's client, and keeps what it changed.
fn with<T>(machine: &mut Machine, act: impl FnOnce(&mut Redirector<'_>) -> Done<T>) -> Done<T> {
    let build = Build(machine.spec.build);
    let mut redirector = Redirector::new(build, &machine.state.smb, machine.servers.as_ref());
    let done = act(&mut redirector);
    // The state is written whenever it was touched, so it is touched only for a change.
    if let Some(changed) = redirector.changed() {
        machine.state.smb = changed;
    }
    done
}

impl Smb {
    fn with<T>(&self, act: impl FnOnce(&mut Redirector<'_>) -> Done<T>) -> Done<T> {
        self.shared.with(|machine| with(machine, act))
    }

    fn create(&self, call: &MethodCall<'_>) -> Done<Outcome> {
        let wanted = wanted(call);
        let (mapping, status) = self.with(|redirector| redirector.create(wanted))?;
        let created = MappingObject { mapping, status };
        let pathless = || Ok(ObjectPath(String::new()));
        let created = Value::Object(Box::new(whole(&created, &CLASS, pathless)?));
        let mut outcome = Outcome::of(0);
        outcome
            .out
            .insert(create::CREATED_MAPPING.name.to_owned(), created);
        Ok(outcome)
    }

    fn remove(&self, call: &MethodCall<'_>) -> Done<Outcome> {
        let mapping = call.object()?;
        let local = mapping.key(LOCAL_PATH.name)?;
        let remote = mapping.key(REMOTE_PATH.name)?;
        self.with(|redirector| redirector.remove(local, remote))?;
        Ok(Outcome::of(0))
    }
}

fn wanted(call: &MethodCall<'_>) -> Wanted {
    let text = |name| call.text(name).map(str::to_owned);
    let flag = |name| call.bool(name).unwrap_or_default();
    Wanted {
        remote: text(create::REMOTE_PATH.name).unwrap_or_default(),
        local: text(create::LOCAL_PATH.name),
        credential: text(create::CREDENTIAL.name),
        options: Options {
            is_persistent: call.bool(create::PERSISTENT.name).unwrap_or(true),
            require_integrity: flag(create::REQUIRE_INTEGRITY.name),
            require_privacy: flag(create::REQUIRE_PRIVACY.name),
            use_write_through: flag(create::USE_WRITE_THROUGH.name),
        },
    }
}

/// An `MSFT_SmbGlobalMapping`.
struct MappingObject {
    mapping: Mapping,
    status: NamedValue,
}

impl Object for MappingObject {
    fn property(&self, name: &str) -> Option<Value> {
        let mapping = &self.mapping;
        Some(match name {
            // A key, and so never null.
            name if name == LOCAL_PATH.name => {
                Value::text(mapping.local.clone().unwrap_or_default())
            }
            name if name == REMOTE_PATH.name => Value::text(mapping.remote.as_str()),
            name if name == STATUS.name => Value::uint32(self.status.value),
            name if name == REQUIRE_INTEGRITY.name => Value::Bool(mapping.require_integrity),
            name if name == REQUIRE_PRIVACY.name => Value::Bool(mapping.require_privacy),
            name if name == USE_WRITE_THROUGH.name => Value::Bool(mapping.use_write_through),
            _ => return None,
        })
    }
}
