use std::io;
use std::path::{Path, PathBuf};

use super::mapping::Mappings;
use super::server::{Server, ServerHealth, ServerSpec, called};
use crate::hardware::HardwareError;
use crate::machine::State;
use crate::spec_files::SpecFiles;

/// The hand that sets up SMB servers around a node, whether or not a process has the node open.
///
/// It edits the node's folder as an operator would; the node notices at once. Cheap to clone.
#[derive(Debug, Clone)]
pub struct SmbControl(SpecFiles<ServerSpec>);

impl SmbControl {
    /// The servers around the node that lives in this folder.
    pub fn at(node: impl AsRef<Path>) -> Self {
        Self(SpecFiles::new(node.as_ref().join("smb"), "SMB server"))
    }

    /// Sets up a server. Its name is one by which it is reached.
    ///
    /// # Errors
    /// There is one of this name; a file cannot be written.
    pub fn add_server(&self, name: &str, server: &ServerSpec) -> Result<(), HardwareError> {
        self.0.add(name, server)
    }

    /// Changes a server: other users, other passwords, other shares.
    ///
    /// # Errors
    /// There is none of this name; its file does not read or cannot be written.
    pub fn change_server(
        &self,
        name: &str,
        act: impl FnOnce(&mut ServerSpec),
    ) -> Result<(), HardwareError> {
        self.0.change(name, act)
    }

    /// Takes a server down, up again, or in between.
    ///
    /// # Errors
    /// As [`SmbControl::change_server`].
    pub fn set_condition(&self, name: &str, condition: ServerHealth) -> Result<(), HardwareError> {
        self.change_server(name, |server| server.condition = condition)
    }

    /// Takes a server away. What its shares hold stays in the folder.
    ///
    /// # Errors
    /// There is none of this name; its file cannot be deleted.
    pub fn remove_server(&self, name: &str) -> Result<(), HardwareError> {
        self.0.remove(name)
    }

    /// Where the content of a share lies on the host, once somebody has used it.
    #[must_use]
    pub fn share_folder(&self, server: &str, share: &str) -> PathBuf {
        self.folder().join(server).join(share)
    }

    /// The node's mappings, `\\server\share` each; also works while a process has the node open.
    ///
    /// # Errors
    /// The node's state cannot be read.
    pub fn mapped(&self) -> Result<Vec<String>, HardwareError> {
        let mappings = self.mappings().map_err(|source| HardwareError::File {
            object: String::from("the node's state"),
            source,
        })?;
        let remotes = mappings.0.iter().map(|one| one.remote.as_str().to_owned());
        Ok(remotes.collect())
    }

    /// The mappings as the node wrote them last, which it does before a call that changes them returns.
    pub(crate) fn mappings(&self) -> io::Result<Mappings> {
        Ok(State::beside(self.0.folder())?.smb)
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.0.folder().to_owned()
    }

    pub(super) fn servers(&self) -> io::Result<Vec<Server>> {
        self.0.all()
    }

    /// The server that a name or an address leads to, and the name of its file.
    pub(super) fn server(&self, host: &str) -> io::Result<Option<Server>> {
        // Most are called as their files are, and then no other is read.
        if let Some(server) = self.0.get(host)? {
            return Ok(Some((host.to_owned(), server)));
        }
        Ok(called(&self.servers()?, host).cloned())
    }
}
