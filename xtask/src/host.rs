//! Where a program runs: on this machine, or as a Windows program under Wine.

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::cargo;
use crate::env::Need;
use crate::wine::{self, Prefix};

#[derive(Clone, Copy, Debug)]
pub(crate) enum Host<'a> {
    Linux,
    Wine(&'a Prefix),
}

impl Host<'_> {
    /// Requirements for running a program under Wine.
    pub(crate) const WINE_NEEDS: &'static [Need] = &[Need::Windows, Need::Wine];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::Wine(_) => "wine",
        }
    }

    /// Cargo's target; None is this machine.
    pub(crate) fn target(self) -> Option<&'static str> {
        match self {
            Self::Linux => None,
            Self::Wine(_) => Some(cargo::WINDOWS),
        }
    }

    /// Go's name of the system.
    pub(crate) fn goos(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::Wine(_) => "windows",
        }
    }

    pub(crate) fn command(self, program: &Path) -> Command {
        match self {
            Self::Linux => Command::new(program),
            Self::Wine(prefix) => prefix.command(program),
        }
    }

    /// A path of this machine as a program on the host reads it.
    pub(crate) fn path(self, path: &Path) -> String {
        match self {
            Self::Linux => path.display().to_string(),
            Self::Wine(_) => wine::windows_path(path),
        }
    }
}

/// Unused ports. All are held until the last is found, so none is given twice.
pub(crate) fn free_ports<const N: usize>() -> Result<[u16; N]> {
    let mut ports = [0; N];
    let mut held = Vec::new();
    for port in &mut ports {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("find a free port")?;
        *port = listener.local_addr()?.port();
        held.push(listener);
    }
    Ok(ports)
}
