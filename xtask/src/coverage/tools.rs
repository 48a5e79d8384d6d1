//! A compiler and linker for counting lines in programs for `x86_64-pc-windows-gnu`.
//!
//! Rust's library for this target comes without the profiler's runtime (E0463). The one for `x86_64-pc-windows-gnullvm`
//! has it: objects of C; they link here too if an unstable flag stops the compiler's search for its own. GNU's linker
//! loses the data for a report, so rust-lld links; it needs GCC's start objects and folders by name. It may collect no
//! sections, or it would drop the table of functions.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::{cargo, env, process};

const INSTALL: Duration = Duration::from_secs(15 * 60);
const LIMIT: Duration = Duration::from_secs(10 * 60);

/// The target with the profiler's runtime in its library.
const HAS_RUNTIME: &str = "x86_64-pc-windows-gnullvm";

const GCC: &str = "x86_64-w64-mingw32-gcc";

/// Between flags in cargo's variable.
const SEPARATOR: &str = "\u{1f}";

pub(super) struct Tools {
    /// LLVM's programs.
    programs: PathBuf,
    flags: Vec<String>,
}

impl Tools {
    /// Finds or installs them; their products lie in this folder.
    pub(super) fn provide(dir: &Path) -> Result<Self> {
        rustup(&["component", "add", "llvm-tools"])?;
        rustup(&["target", "add", HAS_RUNTIME])?;
        let programs = library(None)?.with_file_name("bin");
        let runtime = dir.join("runtime");
        unpack(&programs, &runtime)?;
        let flags = flags(&runtime)?;
        Ok(Self { programs, flags })
    }

    /// Has cargo count lines in its builds.
    pub(super) fn instrument(&self, command: &mut Command) {
        command.env("CARGO_ENCODED_RUSTFLAGS", self.flags.join(SEPARATOR));
        // For the one unstable flag.
        command.env("RUSTC_BOOTSTRAP", "1");
    }

    /// The lines executed by these programs, from these profiles, in lcov's format.
    pub(super) fn export(&self, programs: &[PathBuf], profiles: &Path) -> Result<String> {
        let merged = profiles.with_extension("profdata");
        let mut merge = Command::new(self.programs.join("llvm-profdata"));
        merge.args(["merge", "--sparse", "--output"]);
        merge.arg(&merged).arg(profiles);
        process::capture(&mut merge, LIMIT)?.success("llvm-profdata merge")?;
        let mut export = Command::new(self.programs.join("llvm-cov"));
        export.args(["export", "--format=lcov", "--instr-profile"]);
        export.arg(merged);
        for program in programs {
            export.arg("--object").arg(program);
        }
        let (done, text) = process::data(&mut export, LIMIT)?;
        done.success("llvm-cov export")?;
        Ok(text)
    }
}

fn rustup(arguments: &[&str]) -> Result<()> {
    let program = env::find_program("rustup").context("no rustup")?;
    let mut command = Command::new(program);
    command.args(arguments).current_dir(cargo::root());
    process::capture(&mut command, INSTALL)?.success(&process::describe(&command))?;
    Ok(())
}

/// The folder of Rust's library for a target; None is this machine.
fn library(target: Option<&str>) -> Result<PathBuf> {
    let mut command = Command::new("rustc");
    command
        .arg("--print=target-libdir")
        .current_dir(cargo::root());
    if let Some(target) = target {
        command.args(["--target", target]);
    }
    let output = process::capture(&mut command, LIMIT)?.success("rustc --print")?;
    Ok(PathBuf::from(output.trim()))
}

/// Makes `libprofiler.a` of the runtime's objects, without objects compiled from Rust.
fn unpack(programs: &Path, dir: &Path) -> Result<()> {
    if dir.exists() {
        fs::remove_dir_all(dir).with_context(|| format!("empty {}", dir.display()))?;
    }
    fs::create_dir_all(dir).with_context(|| format!("create {}", dir.display()))?;
    let archive = |arguments: &[&str], files: &[PathBuf]| {
        let mut command = Command::new(programs.join("llvm-ar"));
        command.args(arguments).args(files).current_dir(dir);
        process::capture(&mut command, LIMIT)?.success("llvm-ar")
    };
    archive(&["x"], &[runtime()?])?;
    let is_of_c = |path: &PathBuf| {
        let name = path.to_string_lossy();
        name.ends_with(".o") && !name.ends_with(".rcgu.o")
    };
    let files = fs::read_dir(dir)?.map(|entry| Ok(entry?.path()));
    let files: Vec<_> = files.collect::<Result<_>>()?;
    let objects: Vec<_> = files.into_iter().filter(is_of_c).collect();
    archive(&["crs", "libprofiler.a"], &objects).map(drop)
}

fn runtime() -> Result<PathBuf> {
    let dir = library(Some(HAS_RUNTIME))?;
    for entry in fs::read_dir(&dir).with_context(|| format!("read {}", dir.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("libprofiler_builtins") && name.ends_with(".rlib") {
            return Ok(path);
        }
    }
    anyhow::bail!("{} has no profiler's runtime", dir.display())
}

fn flags(runtime: &Path) -> Result<Vec<String>> {
    let (start, begin) = (of_gcc("crt2.o")?, of_gcc("crtbegin.o")?);
    let folders = [
        runtime.display().to_string(),
        folder(&start),
        folder(&begin),
    ];
    let mut flags: Vec<_> = [
        "-Cinstrument-coverage",
        "-Zno-profiler-runtime",
        "-Clinker=rust-lld",
        "-Clinker-flavor=ld.lld",
        "-Clink-self-contained=no",
        "-Clink-arg=--no-gc-sections",
    ]
    .map(str::to_owned)
    .into();
    flags.extend(folders.map(|folder| format!("-Lnative={folder}")));
    flags.extend([start, begin].map(|object| format!("-Clink-arg={}", object.display())));
    let arguments = "--undefined=__llvm_profile_runtime --start-group -lprofiler -lmingwex -lmsvcrt \
                     -lkernel32 --end-group";
    let arguments = arguments.split_whitespace();
    flags.extend(arguments.map(|argument| format!("-Clink-arg={argument}")));
    Ok(flags)
}

fn folder(file: &Path) -> String {
    let folder = file.parent().unwrap_or(file);
    folder.display().to_string()
}

/// Where GCC has a file of its own.
fn of_gcc(name: &str) -> Result<PathBuf> {
    let mut command = Command::new(GCC);
    command.arg(format!("-print-file-name={name}"));
    let output = process::capture(&mut command, LIMIT)?.success(GCC)?;
    let path = PathBuf::from(output.trim());
    anyhow::ensure!(path.is_absolute(), "{GCC} has no {name}");
    Ok(path)
}
