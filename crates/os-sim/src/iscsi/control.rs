use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::server::ServerSpec;
use super::state::IscsiState;
use crate::hardware::HardwareError;
use crate::machine::State;
use crate::spec_files::{SpecFiles, check_name};

/// The hand that sets up iSCSI servers around a node, whether or not a process has the node open.
///
/// It edits the node's folder as an operator would; the node notices before its next operation. Cheap
/// to clone.
#[derive(Debug, Clone)]
pub struct IscsiControl(SpecFiles<ServerSpec>);

impl IscsiControl {
    /// The servers around the node that lives in this folder.
    pub fn at(node: impl AsRef<Path>) -> Self {
        Self(SpecFiles::new(node.as_ref().join("iscsi"), "iSCSI server"))
    }

    /// Sets up a server.
    ///
    /// # Errors
    /// There is one of this name; a file cannot be written.
    pub fn add_server(&self, name: &str, server: &ServerSpec) -> Result<(), HardwareError> {
        self.0.add(name, server)
    }

    /// Changes a server: other targets, other secrets.
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

    /// A server as it is now.
    ///
    /// # Errors
    /// There is none of this name; its file does not read.
    pub fn server(&self, name: &str) -> Result<ServerSpec, HardwareError> {
        self.0.read(name)
    }

    /// Takes a server down, which takes its disks out of the node, or up again.
    ///
    /// # Errors
    /// As [`IscsiControl::change_server`].
    pub fn set_down(&self, name: &str, is_down: bool) -> Result<(), HardwareError> {
        self.change_server(name, |server| server.is_down = is_down)
    }

    /// Takes a server away. Its images stay in the folder.
    ///
    /// # Errors
    /// There is none of this name; its file cannot be deleted.
    pub fn remove_server(&self, name: &str) -> Result<(), HardwareError> {
        self.0.remove(name)
    }

    /// Makes a blank image of `length` bytes, or enlarges the one that is there.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn set_image(&self, image: &str, length: u64) -> Result<(), HardwareError> {
        check_name(image)?;
        let file = self.image(image);
        fs::create_dir_all(self.0.folder())
            .and_then(|()| File::options().create(true).append(true).open(file))
            .and_then(|file| file.set_len(length))
            .map_err(|source| HardwareError::File {
                object: format!("image {image}"),
                source,
            })
    }

    /// Where an image lies on the host. It keeps what a node wrote to the disk.
    #[must_use]
    pub fn image(&self, image: &str) -> PathBuf {
        self.0.folder().join(format!("{image}.img"))
    }

    /// The targets of the node's sessions, also while a process has the node open.
    ///
    /// # Errors
    /// The node's state cannot be read.
    pub fn sessions(&self) -> Result<Vec<String>, HardwareError> {
        let sessions = self.state()?.sessions.into_iter();
        Ok(sessions.map(|session| session.login.target).collect())
    }

    /// The addresses of the portals that the node asks for targets, also while a process has the node open.
    ///
    /// # Errors
    /// The node's state cannot be read.
    pub fn portals(&self) -> Result<Vec<String>, HardwareError> {
        let portals = self.state()?.portals.into_iter();
        Ok(portals.map(|portal| portal.endpoint.address).collect())
    }

    /// The initiator as the node wrote it last, which it does before a call that changes it returns.
    fn state(&self) -> Result<IscsiState, HardwareError> {
        let state = State::beside(self.0.folder());
        let state = state.map_err(|source| HardwareError::File {
            object: String::from("the node's state"),
            source,
        })?;
        Ok(state.iscsi)
    }

    pub(crate) fn servers(&self) -> io::Result<Vec<Arc<ServerSpec>>> {
        let servers = self.0.all()?;
        Ok(servers.into_iter().map(|(_, server)| server).collect())
    }
}
