//! The move from csi-driver-smb's own controller to ours, and back: docs/migrate-csi-driver-smb.md has its steps.
//!
//! Its controller mounts the share. No kernel of ours has cifs, so in its PATH there is a `mount` that binds Samba's folder.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::api;
use super::install::{Installation, SMB_DRIVER};
use super::node::{Node, PROVISIONER};
use super::objects::{self, Objects, text};
use crate::{env, samba, trial};

const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/smb-csi-k8s-io";

/// Csi-provisioner's lines of it.
const ASKS: &str = r#"to acquire leader lease..." lock="kube-system/smb-csi-k8s-io""#;
const ACQUIRED: &str = r#"acquired lease" lock="kube-system/smb-csi-k8s-io""#;

/// The programs to end: csi-driver-smb's controller, and the csi-provisioner beside it.
const SMBPLUGIN: &str = "smbplugin";
const ITS_PROVISIONER: &str = "smb-provisioner";

/// The name of its machine, which holds the lease: all pods here have this machine's.
const HOST: &str = "csi-smb-controller";
const ELECTION: [&str; 2] = [
    "--leader-election",
    "--leader-election-namespace=kube-system",
];

/// Two claims' places and volumes: without `subDir` in the class, and with it.
type Claims = Vec<(String, String)>;

impl Installation<'_> {
    /// From there to ours and back, each deletes what the other has made. Ours runs on this node.
    pub(super) fn move_controller(&mut self, node: &Node<'_>) -> Result<()> {
        self.start_smbplugin(node)?;
        let theirs = self.claim(node, "old", "")?;
        self.end_smbplugin()?;
        let version = env::GO_SMBPLUGIN.version_of("github.com/kubernetes-csi/csi-driver-smb")?;
        let shown_by = format!("csi-driver-smb {version} makes two folders, and is killed");
        self.life.done("smbplugin", &shown_by);

        let forbidden = self.forbidden()?;
        let values = json!({
            "node": {"enabled": false},
            "controller": {
                "enabled": true, "driverName": SMB_DRIVER, "leaseNamespace": "kube-system",
                "secretNamespaces": ["default"],
            },
        });
        self.helm(0, &["install", "move"], Some(&values))?;
        self.wait_for_pods("deployments/wincsi-controller", 1)?;
        self.life.wait_for(LEASE, |lease| {
            let holder = text(lease, "/spec/holderIdentity")?;
            (![HOST, ""].contains(&holder)).then_some(())
        })?;
        self.delete_claims(node, &theirs, &["old-named"])?;
        let ours = self.claim(node, "new", "#")?;
        let shown_by = "the controller's pod leads in kube-system: it deletes the folder without \
            subDir, leaves the other, and makes two";
        self.life.done("moved to ours", shown_by);

        self.start_smbplugin(node)?;
        self.life.running.wait_for_line(ITS_PROVISIONER, ASKS)?;
        let (other, named) = ours.split_at(1);
        self.delete_claims(node, named, &["old-named", &*other[0].1])?;
        let acquired = self.life.running.times_printed(ITS_PROVISIONER, ACQUIRED)?;
        ensure!(acquired == 0, "both lead");
        // Csi-provisioner wants to watch them too, and does without.
        let lacks = &self.forbidden()?[forbidden.len()..];
        let is_so = lacks.iter().all(|it| it == "volumesnapshots");
        ensure!(is_so, "ours lacks rights for {lacks:?}");
        self.helm(0, &["uninstall", "move"], None)?;
        self.wait_for_no_pod()?;
        self.life.running.wait_for_line(ITS_PROVISIONER, ACQUIRED)?;
        self.delete_claims(node, other, &["old-named"])?;
        self.end_smbplugin()?;
        let shown_by = "ours deletes one of them while the old csi-provisioner waits for the lease; \
            once ours is gone, csi-driver-smb deletes the other";
        self.life.done("moved back", shown_by);
        Ok(())
    }

    fn start_smbplugin(&mut self, node: &Node<'_>) -> Result<()> {
        let [bin, socket, work] = ["bin", "smbplugin.sock", "work"].map(|it| node.dir.join(it));
        let mount = env::find_program("mount").context("no mount")?;
        let (mount, share) = (mount.display(), node.samba.root());
        let text = format!(
            "#!/bin/sh\nfor target; do :; done\nexec {mount} --bind {} \"$target\"\n",
            share.display()
        );
        fs::create_dir_all(&bin)?;
        fs::write(bin.join("mount"), text)?;
        fs::set_permissions(bin.join("mount"), PermissionsExt::from_mode(0o755))?;
        let path = std::env::var("PATH")?;
        let mut smbplugin = alone("--mount", "exec \"$@\"");
        smbplugin.arg(&node.programs.smbplugin);
        smbplugin.arg(format!("--endpoint=unix://{}", socket.display()));
        smbplugin.arg("--working-mount-dir").arg(work);
        smbplugin.env("PATH", format!("{}:{path}", bin.display()));
        let running = &mut *self.life.running;
        running.start(SMBPLUGIN, &mut smbplugin)?;
        running.wait_for_line(SMBPLUGIN, "Listening for connections")?;
        let provisioner = node.sidecar(PROVISIONER, &socket)?;
        let mut named = alone("--uts", &format!("hostname {HOST} && exec \"$@\""));
        named.arg(provisioner.get_program());
        named.args(provisioner.get_args()).args(ELECTION);
        running.start(ITS_PROVISIONER, &mut named)
    }

    fn end_smbplugin(&mut self) -> Result<()> {
        let mut both = [ITS_PROVISIONER, SMBPLUGIN].iter();
        both.try_for_each(|name| self.life.running.kill(name))
    }

    /// Makes claims of this name, whose handles end so, and looks for their folders.
    fn claim(&mut self, node: &Node<'_>, name: &str, end: &str) -> Result<Claims> {
        let (user, port) = (samba::user(), node.samba.option());
        let values = [
            ("CLAIM", name),
            ("SAMBA_USER", &user),
            ("SAMBA_PORT", &port),
        ];
        let objects = Objects::read("move.yaml")?.with(&values)?;
        objects.apply(&self.life.plane.api)?;
        let volumes = self.life.wait_for_claims(&objects)?;
        let named = format!("{name}-named");
        let (first, second) = (&volumes[0], &volumes[1]);
        for (volume, folder, handle) in [
            (first, first, format!("{first}#")),
            (second, &named, format!("{named}#{second}")),
        ] {
            let made = self
                .life
                .wait_for(&objects::volume_path(volume), |volume| {
                    text(volume, "/spec/csi/volumeHandle").map(str::to_owned)
                })?;
            let handle = format!("127.0.0.1/encrypted#{handle}{end}");
            ensure!(made == handle, "the handle is {made}, not {handle}");
            let folder = node.samba.root().join(folder);
            ensure!(folder.is_dir(), "{} is not there", folder.display());
            fs::write(folder.join("file"), handle)?;
        }
        let paths = objects.claims().map(api::path);
        Ok(paths.zip(volumes).collect())
    }

    /// Deletes claims; then the share has these folders.
    fn delete_claims(
        &mut self,
        node: &Node<'_>,
        claims: &[(String, String)],
        left: &[&str],
    ) -> Result<()> {
        for (path, volume) in claims {
            self.life.delete(path)?;
            self.life.wait_until_gone(&objects::volume_path(volume))?;
        }
        let mut folders = trial::names(&node.samba.root())?;
        folders.retain(|name| name != ".wincsi");
        ensure!(folders == left, "the share has {folders:?}, not {left:?}");
        Ok(())
    }
}

/// A shell's script in a namespace of its own, for the program and its arguments that follow.
fn alone(namespace: &str, script: &str) -> Command {
    let mut command = Command::new("unshare");
    if samba::local_user() != "root" {
        command.args(["--map-current-user", "--keep-caps"]);
    }
    command.args([namespace, "sh", "-c", script, "sh"]);
    command
}
