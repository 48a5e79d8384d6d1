//! Rust's standard library for the Windows targets.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use super::{Need, Provision, path};
use crate::{cargo, process};

const PROBE: Duration = Duration::from_secs(60);
const INSTALL: Duration = Duration::from_secs(15 * 60);

const TARGETS: [(Need, &str); 2] = [
    (Need::WindowsTarget, cargo::WINDOWS),
    (Need::MsvcTarget, cargo::MSVC),
];

pub(super) fn provide(needs: &[Need], provision: &mut Provision) {
    for (need, target) in TARGETS.iter().filter(|(need, _)| needs.contains(need)) {
        if let Err(error) = ensure(target) {
            provision.note(*need, format!("Rust target {target} ({error:#})"));
        }
    }
}

fn ensure(target: &str) -> Result<()> {
    if library(target)?.is_dir() {
        return Ok(());
    }
    let rustup = path::find("rustup").context("no rustup to install it with")?;
    println!("setup: installing Rust target {target}");
    let mut command = Command::new(rustup);
    command
        .args(["target", "add", target])
        .current_dir(cargo::root());
    process::capture(&mut command, INSTALL)?
        .success("rustup target add")
        .map(drop)
}

fn library(target: &str) -> Result<PathBuf> {
    let mut command = Command::new("rustc");
    command
        .args(["--print=target-libdir", "--target", target])
        .current_dir(cargo::root());
    let output = process::capture(&mut command, PROBE)?.success("rustc --print")?;
    Ok(PathBuf::from(output.trim()))
}
