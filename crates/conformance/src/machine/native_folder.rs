//! A folder of this machine, for cases about the seam.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use node::api::NodeApi;
use node::{Node, Options};
use os::{Component, Error, LinkKind, Result, VolumeId, Win32, WinPath};

use super::files;
use crate::real::{self, code};
use crate::{CaseControl, Fixture, names, seam};

/// How long the removal of a case's folder may take.
const TIMEOUT: Duration = Duration::from_secs(60);

const LOOPBACK: &str = "127.0.0.1";

/// Runs the cases about files below a folder, one after the other, and removes their files: returns their number, and
/// the failed ones with the reason.
///
/// # Errors
/// The folder's volume is not known, or a case's own folder cannot be made.
pub fn file_cases(folder: &WinPath) -> Result<(usize, Vec<String>)> {
    let native = os_windows::node(names::EVENT_SOURCE);
    let node = Arc::new(Node::new(native, Options::default()));
    let cases = seam::cases().filter(|case| case.name.starts_with("files::"));
    let mut failures = Vec::new();
    let mut count = 0;
    for (case, number) in cases.zip(0_usize..) {
        let own = NativeFolder::below(&node, folder, &format!("wincsi-case-{number}"))?;
        let fixture = Fixture::new(node.os().clone(), Box::new(own));
        count = number + 1;
        failures.extend(
            (case.run)(&fixture)
                .err()
                .map(|why| format!("{}: {why}", case.name)),
        );
    }
    Ok((count, failures))
}

/// One case's folder. Dropping this removes it; what cannot be removed stays, as a sign.
pub struct NativeFolder {
    node: Arc<Node>,
    folder: WinPath,
    volume: VolumeId,
    listener: TcpListener,
}

impl NativeFolder {
    /// Makes the folder of this name below another.
    ///
    /// # Errors
    /// It cannot be made, or its volume is not known.
    pub fn below(node: &Arc<Node>, folder: &WinPath, name: &str) -> Result<Self> {
        let name = Component::parse(name)
            .map_err(|_| Error::new("CreateDirectoryW", name, Win32::INVALID_NAME))?;
        let own = folder.join(name);
        let os = node.os();
        os.files.create_directory(&own)?;
        let listener = TcpListener::bind((LOOPBACK, 0));
        Ok(Self {
            volume: os.volumes.mounted_at(&folder.prefix(0))?,
            node: Arc::clone(node),
            folder: own,
            listener: listener.map_err(|error| Error::new("bind", LOOPBACK, code(&error)))?,
        })
    }
}

impl CaseControl for NativeFolder {
    fn folder(&self) -> &WinPath {
        &self.folder
    }

    fn volume(&self) -> VolumeId {
        self.volume
    }

    fn listener(&self) -> Option<(String, u16)> {
        let address = self.listener.local_addr().ok()?;
        Some((LOOPBACK.to_owned(), address.port()))
    }

    fn write_file(&self, path: &WinPath, content: &[u8]) -> Result<()> {
        files::write(path, content)
    }

    fn read_file(&self, path: &WinPath) -> Result<Vec<u8>> {
        files::read(path)
    }

    fn set_read_only(&self, path: &WinPath) -> Result<()> {
        files::set_read_only(path)
    }

    fn create_reparse_point(&self, path: &WinPath, kind: LinkKind, data: &[u8]) -> Result<()> {
        files::create_reparse_point(self.node.os(), path, kind, data)
    }

    fn become_reparse_point(&self, directory: &WinPath, data: &[u8]) -> Result<()> {
        real::become_reparse_point(directory, data)
    }

    /// On every Windows Server, the optimisation of drives (started on demand); under Wine, an unused cache of fonts
    /// (its printing is running now and then).
    fn idle_service(&self) -> Option<&'static str> {
        Some(match real::wine_version() {
            Some(_) => "FontCache",
            None => "defragsvc",
        })
    }
}

impl Drop for NativeFolder {
    fn drop(&mut self) {
        let node: &dyn NodeApi = &*self.node;
        let filesystem = node.filesystem();
        let _ = filesystem.remove_tree(&self.folder, node.deadline(TIMEOUT));
    }
}
