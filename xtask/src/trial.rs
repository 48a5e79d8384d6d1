//! The trial driver and its simulated node, as csi-sanity and the cluster meet them.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::process;

/// The package, its driver, and its program that makes the node and writes there as a pod does.
pub(crate) const PACKAGE: &str = "wincsi-trial-driver";
pub(crate) const DRIVER: &str = "trial-driver";
pub(crate) const TOOL: &str = "trial-node";

/// The node's name.
pub(crate) const NODE: &str = "trial-node";

/// What the driver prints when it serves.
pub(crate) const SERVES: &str = "serving ";

const SHORT: Duration = Duration::from_secs(60);

/// A folder that this user alone may enter: one with tokens, and with sockets, whose server insists on it.
pub(crate) fn private_dir() -> Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("wincsi-trial-");
    let dir = builder.permissions(Permissions::from_mode(0o700)).tempdir();
    dir.context("make a folder")
}

/// Makes the node in a folder, and answers which folder of this machine is its drive C.
pub(crate) fn make_node(tool: &Path, folder: &Path) -> Result<PathBuf> {
    let mut command = Command::new(tool);
    command.arg("make").arg(folder).args(["--name", NODE]);
    let printed = process::capture(&mut command, SHORT)?.success("trial-node make")?;
    Ok(PathBuf::from(printed.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_else_may_enter_a_private_folder() {
        let dir = private_dir().unwrap();
        let mode = dir.path().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
}
