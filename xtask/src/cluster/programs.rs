//! The programs of the cluster: Debian's, those built from Go modules, and ours.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::kubelet::{self, module_folder};
use crate::cargo::{self, Build};
use crate::env::{self, Go, GoModule};
use crate::host::Host;
use crate::{process, trial};

/// A first build takes some thirteen processor minutes, and six more for Windows; the results stay in Go's cache.
pub(super) const BUILD: Duration = Duration::from_secs(60 * 60);

const SIDECARS: [&str; 4] = [
    "csi-provisioner",
    "csi-attacher",
    "csi-resizer",
    "csi-snapshotter",
];

/// The module of snapshots' objects.
const SNAPSHOT_API: &str = "github.com/kubernetes-csi/external-snapshotter/client/v8";

pub(super) struct Programs {
    pub(super) etcd: PathBuf,
    pub(super) apiserver: PathBuf,
    pub(super) controller_manager: PathBuf,
    pub(super) scheduler: PathBuf,
    /// The controllers beside a CSI driver, with their names.
    pub(super) sidecars: [(&'static str, PathBuf); 4],
    pub(super) snapshot_controller: PathBuf,
    /// The folder of the CRDs of snapshots.
    pub(super) snapshot_crds: PathBuf,
    /// Csi-driver-smb's controller, to move from.
    pub(super) smbplugin: PathBuf,
    /// Kubelet's code without containers.
    pub(super) kubelet: PathBuf,
    /// `wincsi node`, for the host.
    pub(super) plugin: PathBuf,
    /// Makes the simulated node, writes there as a pod does, and makes, attaches and grows its disks.
    pub(super) trial: PathBuf,
    /// Makes folders of shares; for images a static program.
    pub(super) share_controller: PathBuf,
    /// For the host.
    pub(super) csi_proxy: PathBuf,
}

impl Programs {
    /// Builds missing programs; kubelet and the driver for the host, all else for this machine.
    pub(super) fn build(host: Host<'_>, go: &Go) -> Result<Self> {
        let dir = cargo::work_dir("cluster/bin")?;
        let mut builds = Builds { begun: 0, all: 8 };
        let of_go = |module, packages: &[&str]| build(go, module, packages, &dir);
        let plane = [
            "kube-apiserver",
            "kube-controller-manager",
            "kube-scheduler",
        ];
        let [apiserver, controller_manager, scheduler] = plane.map(|name| dir.join(name));
        builds.next("Kubernetes' API server, controllers and scheduler", || {
            of_go(env::GO_CLUSTER, &["tool"])
        })?;
        builds.next("the controllers beside a driver, and of snapshots", || {
            of_go(env::GO_SIDECARS, &["tool"])
        })?;
        builds.next("csi-driver-smb's controller", || {
            of_go(env::GO_SMBPLUGIN, &["tool"])
        })?;
        let kubelet = builds.next("kubelet", || kubelet::build(host, go))?;
        let mut ours = |package, binary, target| {
            let build = Build {
                package,
                binary,
                profile: "dev",
                target,
            };
            builds.next(binary, || build.run())
        };
        Ok(Self {
            etcd: env::find_program("etcd").context("no etcd")?,
            apiserver,
            controller_manager,
            scheduler,
            sidecars: SIDECARS.map(|name| (name, dir.join(name))),
            snapshot_controller: dir.join("snapshot-controller"),
            snapshot_crds: module_folder(go, env::GO_SIDECARS, SNAPSHOT_API)?.join("config/crd"),
            smbplugin: dir.join("smbplugin"),
            kubelet,
            plugin: ours(trial::PLUGIN_PACKAGE, trial::PLUGIN, host.target())?,
            csi_proxy: ours("wincsi-proxy", "csi-proxy", host.target())?,
            trial: ours(trial::PACKAGE, trial::PROGRAM, None)?,
            share_controller: ours(
                trial::SHARE_CONTROLLER,
                trial::SHARE_CONTROLLER,
                Some(cargo::STATIC),
            )?,
        })
    }
}

/// The builds, of which the first takes minutes the first time.
struct Builds {
    begun: u32,
    all: u32,
}

impl Builds {
    fn next<T>(&mut self, what: &str, build: impl FnOnce() -> Result<T>) -> Result<T> {
        self.begun += 1;
        let (Self { begun, all }, began) = (&self, Instant::now());
        println!("cluster: build {begun} of {all}: {what}");
        let built = build()?;
        let seconds = began.elapsed().as_secs();
        println!("cluster: build {begun} of {all} took {seconds} s");
        Ok(built)
    }
}

fn build(go: &Go, module: GoModule, packages: &[&str], to: &Path) -> Result<()> {
    let mut command = go.command(module, &["build", "-trimpath", "-ldflags"]);
    command
        .arg(linker_flags()?)
        .arg("-o")
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
