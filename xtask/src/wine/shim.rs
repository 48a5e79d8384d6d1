//! A DLL missing in Wine 8; see `wine/bcryptprimitives.c`.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::{cargo, process};

const NAME: &str = "bcryptprimitives.dll";
const COMPILE: Duration = Duration::from_secs(120);

/// Puts the DLL into a prefix if its Wine has none of its own.
pub(super) fn install(system32: &Path) -> Result<()> {
    let place = system32.join(NAME);
    if place.exists() {
        return Ok(());
    }
    let built = cargo::work_dir("shim")?.join(format!("{}-{NAME}", std::process::id()));
    compile(&built)?;
    fs::rename(&built, &place).with_context(|| format!("put {NAME} into {}", place.display()))
}

fn compile(to: &Path) -> Result<()> {
    let source = cargo::root().join("xtask/wine/bcryptprimitives.c");
    let mut command = Command::new("x86_64-w64-mingw32-gcc");
    command
        .args(["-shared", "-O2", "-s", "-o"])
        .arg(to)
        .arg(source)
        .arg("-ladvapi32");
    process::capture(&mut command, COMPILE)?
        .success("compile bcryptprimitives.c")
        .map(drop)
}
