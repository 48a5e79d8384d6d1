//! `cargo xtask coverage`: the lines of `os-windows` executed by its tests under Wine.
//!
//! It compiles everything again, with flags of its own, so it is no part of `cargo xtask test`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;

use crate::host::Host;
use crate::test::{Artifact, Built};
use crate::{cargo, env, process, wine};

mod lines;
mod tools;

use self::lines::Lines;
use self::tools::Tools;

const BUILD: Duration = Duration::from_secs(30 * 60);

/// The prefix made for it included.
const ONE_PROGRAM: Duration = Duration::from_secs(15 * 60);

/// The measured sources, and the programs that run them.
const SOURCES: &str = "crates/os-windows/src/";
const PACKAGES: [&str; 3] = [
    "wincsi-conformance",
    "wincsi-os-windows",
    "wincsi-os-windows-testkit",
];

/// Measure which lines of os-windows its tests execute under Wine
#[derive(Args)]
pub(crate) struct Coverage {}

impl Coverage {
    pub(crate) fn run(self) -> Result<ExitCode> {
        env::provide(Host::WINE_NEEDS)?;
        let dir = cargo::work_dir("coverage")?;
        let tools = Tools::provide(&dir)?;
        let programs = build(&tools, &dir.join("target"))?;
        let profiles = emptied(&dir.join("profiles"))?;
        for (number, program) in programs.iter().enumerate() {
            execute(program, &profiles.join(number.to_string()))?;
        }
        let programs: Vec<_> = programs.into_iter().map(|one| one.exe).collect();
        let export = tools.export(&programs, &profiles)?;
        let lines = Lines::read(&export, &cargo::root().join(SOURCES))?;
        print!("{lines}");
        Ok(ExitCode::SUCCESS)
    }
}

fn build(tools: &Tools, target: &Path) -> Result<Vec<Artifact>> {
    let mut command = cargo::cargo();
    command.args(["test", "--no-run", "--lib", "--tests"]);
    command.args(PACKAGES.map(|name| format!("--package={name}")));
    command.args(["--target", cargo::WINDOWS]);
    command.arg("--message-format=json-render-diagnostics");
    tools.instrument(&mut command);
    command.env("CARGO_TARGET_DIR", target);
    let (done, messages) = process::data(&mut command, BUILD)?;
    done.success("the tests cannot be built")?;
    Ok(Built::read(&messages, &cargo::root())?.tests)
}

fn emptied(dir: &Path) -> Result<PathBuf> {
    if dir.exists() {
        fs::remove_dir_all(dir).with_context(|| format!("empty {}", dir.display()))?;
    }
    fs::create_dir_all(dir).with_context(|| format!("create {}", dir.display()))?;
    Ok(dir.to_owned())
}

/// Runs a program in a prefix of its own, made with the name of the profiles: a service gets its environment from
/// there.
fn execute(program: &Artifact, profiles: &Path) -> Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("wine-runner").arg(&program.exe);
    command.current_dir(&program.dir);
    let name = profiles.join("%p-%m.profraw");
    command.env("LLVM_PROFILE_FILE", wine::windows_path(&name));
    process::capture(&mut command, ONE_PROGRAM)?.success(&program.name)?;
    println!("coverage: {} ran", program.name);
    Ok(())
}
