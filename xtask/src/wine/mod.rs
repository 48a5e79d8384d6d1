//! Wine: a Windows of its own for each test run.
//!
//! A prefix is a machine of its own: pipes, services, drive C. Its own for each run keeps runs apart, and a
//! fresh one keeps a run's leftovers from the next.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::process::{self, Finished, interrupt};
use crate::{cargo, env};

pub(crate) mod runner;
mod shim;

/// Wine's programs by name: Debian 12 has them in its library folder, Debian 13 on PATH.
pub(crate) const LOADERS: &[&str] = &["wine64", "wine"];
const SERVERS: &[&str] = &["wineserver64", "wineserver"];

const BOOT: Duration = Duration::from_secs(180);

/// How long the server stays without a program: longer than any build between two of them, and not
/// for ever, so a killed run does not leave it behind for good.
const LINGER: &str = "-p3600";
const SERVER: Duration = Duration::from_secs(30);

/// A fresh Wine prefix, ended and removed when dropped.
#[derive(Debug)]
pub(crate) struct Prefix {
    dir: PathBuf,
    loader: PathBuf,
}

impl Prefix {
    /// Makes a prefix and boots it; about 7 s.
    pub(crate) fn create() -> Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let parent = cargo::work_dir("wine")?;
        remove_orphans(&parent)?;
        let dir = parent.join(format!("{}-{number}", std::process::id()));
        let prefix = Self {
            dir,
            loader: loader()?,
        };
        prefix.boot()?;
        shim::install(&prefix.system32())?;
        Ok(prefix)
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where Linux sees drive C.
    pub(crate) fn drive_c(&self) -> PathBuf {
        self.dir.join("drive_c")
    }

    /// A command for a Windows program in this prefix.
    pub(crate) fn command(&self, exe: &Path) -> Command {
        let mut command = self.wine();
        command.arg(exe);
        command
    }

    fn wine(&self) -> Command {
        let mut command = at_fixed_addresses(&self.loader);
        self.surround(&mut command);
        command
    }

    /// The environment of every program in this prefix. The overrides keep Wine from offering to
    /// download its .NET and browser parts, and from writing menu entries; Wine takes the encoding
    /// of file names from the locale.
    fn surround(&self, command: &mut Command) {
        command
            .env("WINEPREFIX", &self.dir)
            .env("WINEARCH", "win64")
            .env("WINEDEBUG", "-all")
            .env("LC_ALL", "C.UTF-8")
            .env("WINEDLLOVERRIDES", "mscoree,mshtml=;winemenubuilder.exe=d")
            .env_remove("DISPLAY");
    }

    /// Makes the prefix, and then starts the server for the whole run.
    ///
    /// Debian's server (`-p0`) shuts down as soon as no program is left, and starts again with the next one. Between
    /// these a program has been seen cut off before its first instruction ("wine client error:0: recvmsg: Connection
    /// reset by peer"). This could not be reproduced at will; a lasting server has no shutdown for a start to meet.
    ///
    /// The server of the prefix's first boot cannot be the lasting one: under it no service of ours has ever started
    /// (Wine 8: error 1053 after 10 s, each time), under the next one each does. So the machine is restarted after its
    /// installation.
    fn boot(&self) -> Result<()> {
        fs::create_dir(&self.dir).with_context(|| format!("create {}", self.dir.display()))?;
        let mut command = self.wine();
        command.args(["wineboot", "-i"]);
        process::capture(&mut command, BOOT)?.success("wineboot -i")?;
        self.end_server()?;
        self.ask_server(LINGER)?.success("wineserver")?;
        Ok(())
    }

    fn system32(&self) -> PathBuf {
        self.drive_c().join("windows/system32")
    }

    /// Ends all programs of the prefix, then waits until its server is gone.
    fn end_server(&self) -> Result<()> {
        for step in ["-k", "-w"] {
            self.ask_server(step)?;
        }
        Ok(())
    }

    /// Runs Wine's server program; a started server is ready when this returns.
    fn ask_server(&self, option: &str) -> Result<Finished> {
        let server = SERVERS.iter().find_map(|name| env::find_program(name));
        let mut command = Command::new(server.context("no wineserver")?);
        self.surround(&mut command);
        process::capture(command.arg(option), SERVER)
    }
}

impl Drop for Prefix {
    fn drop(&mut self) {
        if let Err(error) = interrupt::regardless(|| self.end_server()) {
            eprintln!("warning: end Wine in {}: {error:#}", self.dir.display());
        }
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// A Linux path as a Windows program sees it: drive Z is the root.
pub(crate) fn windows_path(path: &Path) -> String {
    format!("Z:{}", path.display()).replace('/', "\\")
}

/// Wine's version, from Wine itself.
pub(crate) fn version() -> Result<String> {
    let mut command = Command::new(loader()?);
    let output = process::capture(command.arg("--version"), SERVER)?.success("wine --version")?;
    Ok(output.trim().to_owned())
}

fn loader() -> Result<PathBuf> {
    LOADERS
        .iter()
        .find_map(|name| env::find_program(name))
        .context("no Wine")
}

/// A command for Wine's loader with fixed addresses, also for all programs it starts, unless the container forbids
/// this.
///
/// With random ones a start of Wine 8 fails now and then, without our code: twice in 1,502 ("failed to map the shared
/// user data: c0000018", for 0x7ffe0000, and `CreateProcess` returns 1359 in the parent program); with fixed ones never
/// in 1,038.
fn at_fixed_addresses(loader: &Path) -> Command {
    static MAY_BE: OnceLock<bool> = OnceLock::new();
    let fixed = || {
        let mut command = Command::new("setarch");
        command.arg("--addr-no-randomize");
        command
    };
    let works =
        || process::capture(fixed().arg("true"), SERVER).is_ok_and(|done| done.status.success());
    if !MAY_BE.get_or_init(works) {
        return Command::new(loader);
    }
    let mut command = fixed();
    command.arg(loader);
    command
}

/// Removes the prefixes of killed runs: the folder's name begins with the run's pid.
fn remove_orphans(parent: &Path) -> Result<()> {
    for entry in fs::read_dir(parent)?.flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.split_once('-'));
        let alive = |pid: &str| Path::new("/proc").join(pid).exists();
        if owner.is_some_and(|(pid, _)| !alive(pid)) {
            drop(Prefix {
                dir: entry.path(),
                loader: loader()?,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wine_is_started_with_addresses_that_are_not_random() {
        let mut shell = at_fixed_addresses(Path::new("/bin/sh"));
        shell.args(["-c", "exec cat /proc/self/personality"]);
        let printed = process::capture(&mut shell, SERVER).unwrap();
        let bits = u32::from_str_radix(printed.output.trim(), 16).unwrap();
        let is_wrapped = shell.get_program() == "setarch";
        assert_eq!(bits & 0x0004_0000 != 0, is_wrapped, "{bits:x}");
    }
}
