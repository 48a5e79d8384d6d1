use std::io;
use std::path::{Path, PathBuf};

use super::server::{ServerHealth, ServerSpec};
use crate::hardware::HardwareError;
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

    pub(crate) fn folder(&self) -> PathBuf {
        self.0.folder().to_owned()
    }

    pub(crate) fn servers(&self) -> io::Result<Vec<(String, ServerSpec)>> {
        self.0.all()
    }
}
