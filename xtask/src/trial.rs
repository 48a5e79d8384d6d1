//! The trial driver and its simulated node, as csi-sanity and the cluster meet them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Result;

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

/// Makes the node in a folder, and answers which folder of this machine is its drive C.
pub(crate) fn make_node(tool: &Path, folder: &Path) -> Result<PathBuf> {
    let mut command = Command::new(tool);
    command.arg("make").arg(folder).args(["--name", NODE]);
    let said = process::capture(&mut command, SHORT)?.success("trial-node make")?;
    Ok(PathBuf::from(said.trim()))
}
