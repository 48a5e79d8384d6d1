//! A folder named by the caller, for the cases about files.

use std::sync::Arc;
use std::time::Duration;

use node::api::NodeApi;
use node::{Node, Options};
use os::{Component, Error, LinkKind, Result, VolumeId, Win32, WinPath};
use os_suite::{CaseControl, Fixture};
use os_windows_testkit::real;

use super::files;
use crate::names;

/// How long the removal of a case's folder may take.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Runs the cases of `os-suite` about files below a folder, one after the other, and removes their files: returns their
/// number, and the failed ones with the reason.
///
/// # Errors
/// The folder's volume is not known, or a case's own folder cannot be made.
pub fn file_cases(folder: &WinPath) -> Result<(usize, Vec<String>)> {
    let native = os_windows::node(names::EVENT_SOURCE);
    let node = Arc::new(Node::new(native, Options::default()));
    let cases = os_suite::cases().filter(|case| case.name.starts_with("files::"));
    let mut failures = Vec::new();
    let mut count = 0;
    for (case, number) in cases.zip(0_usize..) {
        let bound = Bound::below(&node, folder, number)?;
        let fixture = Fixture::of(Box::new(bound)).with_os(node.os());
        count = number + 1;
        failures.extend(
            (case.run)(&fixture)
                .err()
                .map(|why| format!("{}: {why}", case.name)),
        );
    }
    Ok((count, failures))
}

/// One case's folder.
struct Bound {
    node: Arc<Node>,
    folder: WinPath,
    volume: VolumeId,
}

impl Bound {
    fn below(node: &Arc<Node>, folder: &WinPath, number: usize) -> Result<Self> {
        let name = format!("wincsi-case-{number}");
        let name = Component::parse(&name)
            .map_err(|_| Error::new("CreateDirectoryW", &name, Win32::INVALID_NAME))?;
        let own = folder.join(name);
        let os = node.os();
        os.files.create_directory(&own)?;
        Ok(Self {
            volume: os.volumes.mounted_at(&folder.prefix(0))?,
            node: Arc::clone(node),
            folder: own,
        })
    }
}

impl CaseControl for Bound {
    fn folder(&self) -> &WinPath {
        &self.folder
    }

    fn volume(&self) -> VolumeId {
        self.volume
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
}

impl Drop for Bound {
    fn drop(&mut self) {
        let node: &dyn NodeApi = &*self.node;
        let filesystem = node.filesystem();
        let _ = filesystem.remove_tree(&self.folder, node.deadline(TIMEOUT));
    }
}
