//! `wincsi node` on a simulated node, with a controller for tests, as csi-sanity and the cluster meet them.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::host::Host;
use crate::process;

/// The node plugin: its package and program.
pub(crate) const PLUGIN_PACKAGE: &str = "wincsi-driver";
pub(crate) const PLUGIN: &str = "wincsi";

/// Beside it in a trial: the package, and its program, which makes the node and writes there as a pod does, is the
/// controller, and plays the demo.
pub(crate) const PACKAGE: &str = "wincsi-trial-driver";
pub(crate) const PROGRAM: &str = "trial";

/// The controller of shares: its package, and its program.
pub(crate) const SHARE_CONTROLLER: &str = "wincsi-controller";

pub(crate) const NODE: &str = "trial-node";

/// A server beside the node, its share, and the share's user.
const SERVER: &str = "files.example.com";
const SHARE: &str = "data";
const USER: &str = r"FILES\pods";
pub(crate) const PASSWORD: &str = "correct horse";

/// The plugin's log line when it serves CSI and its registration, and the controller's output.
pub(crate) const PLUGIN_SERVES: &str = "] ready";
pub(crate) const CONTROLLER_SERVES: &str = "serving ";

/// Where in the node's folder the plugin has its records.
pub(crate) const RECORDS: &str = "records";

const SHORT: Duration = Duration::from_secs(60);

/// Fails if there is a record of a volume in the plugin's folder. The lock of the records' process stays there.
pub(crate) fn expect_no_record(folder: &Path) -> Result<()> {
    let mut names = names(folder)?;
    names.retain(|name| name != "lock");
    ensure!(names.is_empty(), "wincsi has records left: {names:?}");
    Ok(())
}

/// What a folder has, in order.
pub(crate) fn names(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<_> = names.collect();
    names.sort();
    Ok(names)
}

/// A folder closed to all but this user: for tokens, and for sockets, whose server insists on it.
pub(crate) fn private_dir() -> Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("wincsi-trial-");
    let dir = builder.permissions(Permissions::from_mode(0o700)).tempdir();
    dir.context("make a folder")
}

/// `wincsi node` on the node in a folder; where it serves is left to say.
pub(crate) fn plugin(host: Host<'_>, exe: &Path, folder: &Path) -> Command {
    let mut command = host.command(exe);
    command.args(["node", "-host=sim", "-controller", "-v=4"]);
    command.arg(format!("-nodeid={NODE}"));
    command.arg(format!("-simulate={}", host.path(folder)));
    let records = folder.join(RECORDS);
    command.arg(format!("-state-dir={}", host.path(&records)));
    command
}

/// The controller of shares, at a socket.
pub(crate) fn share_controller(exe: &Path, socket: &Path) -> Command {
    let mut command = Command::new(exe);
    command.arg("-v=5");
    command.arg(format!("-endpoint=unix:{}", socket.display()));
    command
}

/// The controller of the disks and LUNs of the node in a folder, at a socket.
pub(crate) fn controller(exe: &Path, folder: &Path, socket: &Path) -> Command {
    let mut command = Command::new(exe);
    command.args(["controller", "--endpoint"]).arg(socket);
    command.args(["--node-id", NODE, "--node"]).arg(folder);
    command
}

/// Makes the node in a folder beside a server, and returns this machine's folder of its drive C.
pub(crate) fn make_node(tool: &Path, folder: &Path, name: &str) -> Result<PathBuf> {
    let printed = run(tool, "make", folder, &["--name", name])?;
    make_share(tool, folder, &[SERVER, SHARE, USER, PASSWORD])?;
    Ok(PathBuf::from(printed.trim()))
}

/// Makes a server beside the node: its name, its share, the share's user and password, and perhaps a port. Returns this
/// machine's folder of the share.
pub(crate) fn make_share(tool: &Path, folder: &Path, server: &[&str]) -> Result<PathBuf> {
    let printed = run(tool, "share", folder, server)?;
    Ok(PathBuf::from(printed.trim()))
}

/// Fails when the node has a share mapped.
pub(crate) fn expect_no_mapping(tool: &Path, folder: &Path) -> Result<()> {
    let mapped = mappings(tool, folder)?;
    ensure!(mapped.is_empty(), "the node has mappings left: {mapped:?}");
    Ok(())
}

/// The node's mapped shares.
pub(crate) fn mappings(tool: &Path, folder: &Path) -> Result<Vec<String>> {
    let printed = run(tool, "mappings", folder, &[])?;
    Ok(printed.lines().map(str::to_owned).collect())
}

/// The node's iSCSI sessions, and the portals that it knows.
pub(crate) fn initiator(tool: &Path, folder: &Path) -> Result<Vec<String>> {
    let printed = run(tool, "sessions", folder, &[])?;
    Ok(printed.lines().map(str::to_owned).collect())
}

/// Fails when the node has an iSCSI session, or knows a portal.
pub(crate) fn expect_initiator_unused(tool: &Path, folder: &Path) -> Result<()> {
    let known = initiator(tool, folder)?;
    ensure!(known.is_empty(), "the node's initiator has {known:?} left");
    Ok(())
}

fn run(tool: &Path, verb: &str, folder: &Path, more: &[&str]) -> Result<String> {
    let mut command = Command::new(tool);
    command.args(["node", verb]).arg(folder).args(more);
    process::capture(&mut command, SHORT)?.success(&format!("trial node {verb}"))
}
