//! The programs of the cluster: Debian's, those built from Go modules, and ours.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};

use super::wine;
use crate::cargo::{self, Build};
use crate::env::{self, Go, GoModule};
use crate::host::Host;
use crate::{process, trial};

/// A first build takes some thirteen processor minutes, and six more for Windows; the results stay in Go's cache.
pub(super) const BUILD: Duration = Duration::from_secs(60 * 60);

pub(super) struct Programs {
    pub(super) etcd: PathBuf,
    pub(super) apiserver: PathBuf,
    pub(super) controller_manager: PathBuf,
    pub(super) attacher: PathBuf,
    pub(super) provisioner: PathBuf,
    pub(super) resizer: PathBuf,
    /// Kubelet's code without containers.
    pub(super) kubelet: PathBuf,
    /// `wincsi node`, for the host.
    pub(super) plugin: PathBuf,
    /// Makes, attaches and grows simulated disks.
    pub(super) controller: PathBuf,
    /// Makes the simulated node, and writes there as a pod does.
    pub(super) node: PathBuf,
}

impl Programs {
    /// Builds missing programs; kubelet and the driver for the host, all else for this machine.
    pub(super) fn build(host: Host<'_>, go: &Go) -> Result<Self> {
        println!("cluster: building, which takes many minutes the first time");
        let dir = cargo::work_dir("cluster/bin")?;
        build(go, env::GO_CLUSTER, &["tool"], &dir)?;
        build(go, env::GO_SIDECARS, &["tool"], &dir)?;
        let kubelet = match host {
            Host::Linux => {
                build(go, env::GO_CLUSTER, &["./kubelet"], &dir)?;
                dir.join("kubelet")
            }
            Host::Wine(_) => wine::build_kubelet(go)?,
        };
        Ok(Self {
            etcd: debians("etcd")?,
            apiserver: dir.join("kube-apiserver"),
            controller_manager: dir.join("kube-controller-manager"),
            attacher: dir.join("csi-attacher"),
            provisioner: dir.join("csi-provisioner"),
            resizer: dir.join("csi-resizer"),
            kubelet,
            plugin: ours(trial::PLUGIN_PACKAGE, trial::PLUGIN, host)?,
            controller: ours(trial::PACKAGE, trial::CONTROLLER, Host::Linux)?,
            node: ours(trial::PACKAGE, trial::TOOL, Host::Linux)?,
        })
    }
}

fn build(go: &Go, module: GoModule, packages: &[&str], to: &Path) -> Result<()> {
    let mut command = go.command(module, &["build", "-trimpath"]);
    command
        .args(["-ldflags", &linker_flags()?, "-o"])
        .arg(to)
        .args(packages);
    let built = process::follow(&mut command, BUILD)?;
    built
        .success(&format!("go build of {}", module.name))
        .map(drop)
}

/// Without a version Kubernetes claims to be older than anything, and the controllers beside a driver refuse it.
pub(super) fn linker_flags() -> Result<String> {
    let version = env::GO_CLUSTER.version_of("k8s.io/kubernetes")?;
    let mut parts = version.trim_start_matches('v').split('.');
    let (major, minor) = (parts.next(), parts.next());
    let (major, minor) = major.zip(minor).with_context(|| version.clone())?;
    let flags = [
        ("gitVersion", &*version),
        ("gitMajor", major),
        ("gitMinor", minor),
    ]
    .map(|(name, value)| format!("-X k8s.io/component-base/version.{name}={value}"));
    Ok(format!("-s -w {}", flags.join(" ")))
}

fn debians(name: &str) -> Result<PathBuf> {
    env::find_program(name).with_context(|| format!("no {name}"))
}

fn ours(package: &str, binary: &str, host: Host<'_>) -> Result<PathBuf> {
    Build {
        package,
        binary,
        profile: "dev",
        target: host.target(),
    }
    .run()
}
