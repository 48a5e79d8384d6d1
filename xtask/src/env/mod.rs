//! The chores' needs of the machine: found, else installed, else named.
//!
//! A fresh Debian 12 with git, cargo and apt gets everything from here: the Rust target, Debian
//! packages, Go and the Go modules. A missing tool is named with the steps skipped because of it;
//! with `CI=true` it is an error instead.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;

mod apt;
mod go;
mod packages;
mod path;
mod rust;

pub(crate) use go::{
    BENCH as GO_BENCH, CLIENTS as GO_CLIENTS, CLUSTER as GO_CLUSTER, DEPLOY as GO_DEPLOY, Go,
    Module as GoModule, SANITY as GO_SANITY, SIDECARS as GO_SIDECARS,
};
pub(crate) use path::find as find_program;

/// Find or install all that the chores need
#[derive(Args)]
pub(crate) struct Setup {}

impl Setup {
    pub(crate) fn run(self) -> Result<ExitCode> {
        let provision = provide(&Need::ALL)?;
        if provision.missing.is_empty() {
            println!("setup: all is there");
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// A chore's requirement.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Need {
    /// The cluster's parts from Debian: its database, and its API client.
    Cluster,
    /// The Go command, new enough for our modules.
    Go,
    /// The Go modules of our Go programs.
    GoModules,
    /// Readers of an image and its hives.
    Image,
    /// The linker for Windows programs.
    Mingw,
    /// The tools for the filesystems of the signature fixtures.
    Mkfs,
    /// Rust's standard library for Windows with the MSVC runtime (check and clippy only).
    MsvcTarget,
    /// Rust's standard library for Windows.
    WindowsTarget,
    /// Runs Windows programs.
    Wine,
}

impl Need {
    pub(crate) const ALL: [Self; 9] = [
        Self::WindowsTarget,
        Self::MsvcTarget,
        Self::Mingw,
        Self::Wine,
        Self::Mkfs,
        Self::Go,
        Self::GoModules,
        Self::Cluster,
        Self::Image,
    ];

    /// The steps skipped without it.
    fn skipped(self) -> &'static str {
        match self {
            Self::Cluster => "the cluster",
            Self::Go | Self::GoModules => "all tests and benchmarks with the official Go client",
            Self::Image => "the tests of the image",
            Self::Mingw | Self::WindowsTarget => "everything that builds a Windows program",
            Self::Mkfs => "the tests of this tool's signature",
            Self::MsvcTarget => "check and clippy for the MSVC target",
            Self::Wine => "everything that runs a Windows program",
        }
    }
}

/// The found and installed tools.
#[derive(Debug, Default)]
pub(crate) struct Provision {
    go: Option<PathBuf>,
    missing: BTreeMap<Need, Vec<String>>,
}

impl Provision {
    /// Why a need is not met; None when it is.
    pub(crate) fn lacks(&self, need: Need) -> Option<String> {
        self.missing.get(&need).map(|reasons| reasons.join("; "))
    }

    /// How many things are missing for a need.
    pub(crate) fn count_missing(&self, need: Need) -> usize {
        self.missing.get(&need).map_or(0, Vec::len)
    }

    /// The Go command.
    pub(crate) fn go(&self) -> Result<Go> {
        match &self.go {
            Some(program) => Ok(Go::new(program)),
            None => bail!(
                "no Go command: {}",
                self.lacks(Need::Go).unwrap_or_default()
            ),
        }
    }

    /// Fails when one of the needs is not met.
    pub(crate) fn require(&self, needs: &[Need]) -> Result<()> {
        for need in needs {
            if let Some(reason) = self.lacks(*need) {
                bail!("cannot go on without {need:?}: {reason}");
            }
        }
        Ok(())
    }

    fn note(&mut self, need: Need, reason: String) {
        println!(
            "missing: {reason}; skipped because of it: {}",
            need.skipped()
        );
        self.missing.entry(need).or_default().push(reason);
    }
}

/// Whether this run may skip nothing.
pub(crate) fn is_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true" || value == "1")
}

/// Finds or installs the needs.
pub(crate) fn provide(needs: &[Need]) -> Result<Provision> {
    let mut provision = Provision::default();
    packages::provide(needs, &mut provision);
    rust::provide(needs, &mut provision);
    go::provide(needs, &mut provision);
    if is_ci() && !provision.missing.is_empty() {
        bail!("CI=true, and this is missing: {:?}", provision.missing);
    }
    Ok(provision)
}
