//! The step for `wincsi node` by csi-sanity, and as kubelet dials a driver.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::outcome::Outcome;
use super::program::Program;
use super::verdict::Language;
use super::{Session, go};
use crate::host::Host;
use crate::process::Background;
use crate::{env, samba, trial};

const START: Duration = Duration::from_secs(60);
const RUN: Duration = Duration::from_secs(5 * 60);

pub(super) fn linux(session: &Session) -> Result<Outcome> {
    let built = session.built(Host::Linux)?;
    let programs = Programs {
        plugin: built.binary(trial::PLUGIN)?,
        trial: built.binary(trial::PROGRAM)?,
        share_controller: built.binary(trial::SHARE_CONTROLLER)?,
    };
    let started = Instant::now();
    let test = go::build_test(Host::Linux, env::GO_SANITY, "sanity")?;
    let mut outcome = Outcome {
        building: started.elapsed(),
        ..Outcome::default()
    };
    for (name, tests, volumes) in [
        ("csi-sanity", "TestSanity", Volumes::Disks),
        ("csi-sanity with shares", "TestSanity", Volumes::Shares),
        ("csi-sanity with LUNs", "TestSanity", Volumes::Luns),
        ("kubelet's dials", "TestKubeletsDials", Volumes::Disks),
        (
            "csi-sanity's judge",
            "TestACaseThatHasToRunFailsWhenItIsLeftOut",
            Volumes::Disks,
        ),
    ] {
        outcome.add(Outcome::steady(name, || {
            DriverFixture::set(&programs, volumes)?.run(&test, name, tests, volumes)
        })?);
    }
    Ok(outcome)
}

/// The kind of csi-sanity's volumes.
#[derive(Clone, Copy)]
enum Volumes {
    Disks,
    /// Folders that `wincsi-controller` makes on a Samba, of which the node reaches the same files.
    Shares,
    /// Of one iSCSI target, with CHAP.
    Luns,
}

impl Volumes {
    /// Their StorageClass' parameters, and their Secret.
    fn of_class(self) -> Option<(Value, Value)> {
        match self {
            Self::Disks => None,
            Self::Shares => Some((
                json!({"source": samba::SOURCE}),
                json!({"username": samba::user(), "password": samba::PASSWORD}),
            )),
            Self::Luns => Some((
                json!({"driver": "synology-iscsi"}),
                json!({
                    "node-db.node.session.auth.authmethod": "CHAP",
                    "node-db.node.session.auth.username": "pods",
                    "node-db.node.session.auth.password": trial::PASSWORD,
                }),
            )),
        }
    }
}

/// How many cases pass with the controller of shares, which attaches nothing to nodes.
const LEAST_WITH_SHARES: &str = "63";

/// The port at which the node has the share: csi-sanity's calls of the node have no mount options.
const PORT_OF_NODE: u16 = 445;

struct Programs<'a> {
    plugin: &'a Path,
    trial: &'a Path,
    share_controller: &'a Path,
}

/// A driver with a node of its own: `wincsi node`, and the controller for tests, or that of shares.
struct DriverFixture {
    plugin: Background,
    controller: Background,
    /// Beside the controller of shares.
    samba: Option<samba::Share>,
    dir: tempfile::TempDir,
    node: PathBuf,
    drive_c: PathBuf,
    trial: PathBuf,
}

impl DriverFixture {
    fn set(programs: &Programs<'_>, volumes: Volumes) -> Result<Self> {
        let dir = trial::private_dir()?;
        let [node, at_controller] = ["node", "controller"].map(|name| dir.path().join(name));
        let drive_c = trial::make_node(programs.trial, &node, trial::NODE)?;
        let samba = match volumes {
            Volumes::Shares => {
                let port = Some(PORT_OF_NODE);
                Some(samba::Share::beside(programs.trial, &node, port)?)
            }
            Volumes::Disks | Volumes::Luns => None,
        };
        let mut plugin = trial::plugin(Host::Linux, programs.plugin, &node);
        let at = dir.path().display();
        plugin.arg(format!("-endpoint=unix:{at}/csi"));
        plugin.arg(format!("-registration-endpoint=unix:{at}/registration"));
        let log = dir.path().join("wincsi.log");
        let mut plugin = Background::start("wincsi", &mut plugin, &log)?;
        let (mut controller, serves) = match &samba {
            Some(_) => (
                trial::share_controller(programs.share_controller, &at_controller),
                trial::PLUGIN_SERVES,
            ),
            None => (
                trial::controller(programs.trial, &node, &at_controller),
                trial::CONTROLLER_SERVES,
            ),
        };
        let log = dir.path().join("controller.log");
        let mut controller = Background::start("controller", &mut controller, &log)?;
        plugin.wait_for_line(trial::PLUGIN_SERVES, START)?;
        controller.wait_for_line(serves, START)?;
        Ok(Self {
            plugin,
            controller,
            samba,
            dir,
            node,
            drive_c,
            trial: programs.trial.to_owned(),
        })
    }

    /// Each case of csi-sanity counts.
    fn run(self, test: &Path, name: &str, tests: &str, volumes: Volumes) -> Result<Outcome> {
        let mut command = self.command(test, tests);
        if let Some((parameters, secrets)) = volumes.of_class() {
            command.env("WINCSI_PARAMETERS", parameters.to_string());
            command.env("WINCSI_SECRETS", self.write_secrets(&secrets)?);
        }
        if let Some(samba) = &self.samba {
            command.env("WINCSI_MOUNT_OPTION", samba.option());
            command.env("WINCSI_LEAST_PASSED", LEAST_WITH_SHARES);
        }
        let program = Program {
            step: "sanity",
            name,
            limit: RUN,
            language: Language::Go,
        };
        let mut outcome = program.run(&mut command)?.not_empty(name);
        outcome.check(name, self.expect_nothing_left());
        for failure in &mut outcome.failures {
            for (name, program) in [("wincsi", &self.plugin), ("controller", &self.controller)] {
                failure.output += &format!("\nthe end of {name}'s log:\n{}", program.tail());
            }
        }
        Ok(outcome)
    }

    /// The file of secrets for csi-sanity.
    fn write_secrets(&self, secret: &Value) -> Result<PathBuf> {
        let mut of_controller = secret.clone();
        if let Some(samba) = &self.samba {
            of_controller["mountOptions"] = json!(samba.option());
        }
        let mut of_lists = of_controller.clone();
        of_lists["source"] = json!(samba::SOURCE);
        let secrets = json!({
            "CreateVolumeSecret": of_controller,
            "DeleteVolumeSecret": of_controller,
            "ControllerValidateVolumeCapabilitiesSecret": of_controller,
            "CreateSnapshotSecret": of_controller,
            "DeleteSnapshotSecret": of_controller,
            "ListSnapshotsSecret": of_lists,
            "NodeStageVolumeSecret": secret,
            "NodePublishVolumeSecret": secret,
        });
        let file = self.dir.path().join("secrets.yaml");
        fs::write(&file, secrets.to_string()).context("write the secrets")?;
        Ok(file)
    }

    fn expect_nothing_left(&self) -> Result<()> {
        trial::expect_no_record(&self.node.join(trial::RECORDS))?;
        trial::expect_no_mapping(&self.trial, &self.node)?;
        if let Some(samba) = &self.samba {
            samba.expect_left(&[], &[])?;
        }
        trial::expect_initiator_unused(&self.trial, &self.node)
    }

    fn command(&self, test: &Path, tests: &str) -> Command {
        let socket = |name| format!("unix:{}", self.dir.path().join(name).display());
        let mut command = Command::new(test);
        command
            .args(["-test.v", "-test.count=1", "--ginkgo.no-color"])
            .arg(format!("-test.run=^({tests})$"))
            .env("WINCSI_ENDPOINT", socket("csi"))
            .env("WINCSI_CONTROLLER_ENDPOINT", socket("controller"))
            .env("WINCSI_REGISTRATION", self.dir.path().join("registration"))
            .env("WINCSI_DRIVE_C", &self.drive_c);
        command
    }
}
