//! Cargo, seen from a task: its folders, and a build's products.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;
use std::{env, fs};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::process;
use crate::test::Built;

/// The target of the Windows side here.
pub(crate) const WINDOWS: &str = "x86_64-pc-windows-gnu";

/// The target of static programs for Linux.
pub(crate) const STATIC: &str = "x86_64-unknown-linux-musl";

/// The target of released Windows binaries; here it can be checked, not linked.
pub(crate) const MSVC: &str = "x86_64-pc-windows-msvc";

const BUILD_LIMIT: Duration = Duration::from_secs(40 * 60);

/// The root of the workspace: the one of the starting `cargo run`, else the one of the compilation.
pub(crate) fn root() -> PathBuf {
    let manifest = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let manifest = manifest.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    manifest.parent().map(Path::to_owned).unwrap_or(manifest)
}

/// Cargo's target folder, also for tasks' files.
pub(crate) fn target_dir() -> Result<&'static Path> {
    static DIR: OnceLock<PathBuf> = OnceLock::new();
    if let Some(dir) = DIR.get() {
        return Ok(dir);
    }
    let metadata = metadata()?;
    let dir = metadata["target_directory"]
        .as_str()
        .context("cargo metadata: target_directory")?;
    Ok(DIR.get_or_init(|| PathBuf::from(dir)))
}

/// A folder below the target folder, made when it is not there.
pub(crate) fn work_dir(name: &str) -> Result<PathBuf> {
    let dir = target_dir()?.join("xtask").join(name);
    fs::create_dir_all(&dir).with_context(|| format!("create {}", dir.display()))?;
    Ok(dir)
}

/// `cargo metadata` of the workspace without dependencies.
pub(crate) fn metadata() -> Result<Value> {
    let mut command = cargo();
    command.args(["metadata", "--no-deps", "--format-version=1"]);
    let output = command.output().context("run cargo metadata")?;
    serde_json::from_slice(&output.stdout).context("read cargo metadata")
}

/// A cargo command in the workspace's root.
pub(crate) fn cargo() -> Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

/// The options of a build.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Build<'a> {
    pub(crate) package: &'a str,
    pub(crate) binary: &'a str,
    pub(crate) profile: &'a str,
    /// None builds for this machine.
    pub(crate) target: Option<&'a str>,
}

impl Build<'_> {
    /// Builds the binary, showing cargo's messages, and answers where it is.
    pub(crate) fn run(&self) -> Result<PathBuf> {
        let mut command = cargo();
        command.args(["build", "--bin", self.binary]);
        command.args(["--package", self.package, "--profile", self.profile]);
        command.args(["--message-format=json-render-diagnostics"]);
        if let Some(target) = self.target {
            command.args(["--target", target]);
        }
        let (done, messages) = process::data(&mut command, BUILD_LIMIT)?;
        done.success(&process::describe(&command))?;
        let built = Built::read(&messages, &root())?;
        built.binary(self.binary).map(ToOwned::to_owned)
    }
}
