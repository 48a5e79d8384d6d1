//! What the chores need of the machine: found, else installed, else named in an error.
//!
//! A fresh Debian 12 with git, cargo and apt gets everything from here: Debian packages, Rust targets and Go. Go loads
//! modules by itself.

use std::env;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

mod go;
mod helm;
mod packages;

pub(crate) use go::{
    BENCH as GO_BENCH, CLIENTS as GO_CLIENTS, CLUSTER as GO_CLUSTER, DEPLOY as GO_DEPLOY, Go,
    Module as GoModule, SANITY as GO_SANITY, SIDECARS as GO_SIDECARS, SMBPLUGIN as GO_SMBPLUGIN,
};
pub(crate) use helm::Helm;

/// A chore's requirement.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Need {
    /// The cluster's parts from Debian: its database, and its API client.
    Cluster,
    /// The Go command, new enough for our modules.
    Go,
    /// Helm 3 and Helm 4, built from their modules.
    Helm,
    /// Readers of an image and its hives.
    Image,
    /// The makers of the filesystems of the signature fixtures.
    Mkfs,
    /// Rust's standard library for Windows with the MSVC runtime (check and clippy only).
    Msvc,
    /// The server that the SMB client is tested with, and a client beside ours.
    Samba,
    /// Rust's standard library for static programs.
    Static,
    /// A linker, and Rust's standard library, for Windows programs.
    Windows,
    /// Runs Windows programs.
    Wine,
}

/// Whether this run may skip nothing.
pub(crate) fn is_ci() -> bool {
    env::var("CI").is_ok_and(|value| value == "true" || value == "1")
}

/// Finds or installs the needs, and fails if one is missing then.
pub(crate) fn provide(needs: &[Need]) -> Result<()> {
    let mut missing = packages::provide(needs);
    if needs.contains(&Need::Go)
        && let Err(error) = Go::provide()
    {
        missing.push(format!("Go ({error:#})"));
    }
    if needs.contains(&Need::Helm)
        && let Err(error) = Helm::both()
    {
        missing.push(format!("Helm ({error:#})"));
    }
    ensure!(
        missing.is_empty(),
        "missing: {}; `test --only linux` and `tidy --quick` need less",
        missing.join("; ")
    );
    Ok(())
}

/// Debian's folders of programs that an ordinary user's PATH may lack.
const MORE: [&str; 3] = ["/usr/sbin", "/sbin", "/usr/lib/wine"];

/// Finds a program on PATH and in Debian's folders beside it.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(MORE.map(PathBuf::from));
    let mut files = folders.map(|dir| dir.join(name));
    files.find(|file| is_program(file))
}

fn is_program(file: &Path) -> bool {
    let metadata = file.metadata();
    metadata.is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}
