//! The step for `wincsi node` by csi-sanity, and as kubelet dials a driver.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::outcome::Outcome;
use super::program::Program;
use super::verdict::Language;
use super::{Session, go};
use crate::host::Host;
use crate::process::Background;
use crate::{env, trial};

#[allow(clippy::unwrap_used, clippy::panic, reason = "it is test code")]
#[path = "../../../crates/smb/tests/samba/smbd.rs"]
mod smbd;

use self::smbd::Samba;

const START: Duration = Duration::from_secs(60);
const RUN: Duration = Duration::from_secs(5 * 60);

pub(super) fn linux(session: &Session) -> Result<Outcome> {
    let built = session.built(Host::Linux)?;
    let programs = Programs {
        plugin: built.binary(trial::PLUGIN)?,
        trial: built.binary(trial::PROGRAM)?,
        controller: built.binary(CONTROLLER)?,
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
        ("csi-sanity with Samba", "TestSanity", Volumes::Samba),
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
    Shares,
    /// Of one iSCSI target, with CHAP.
    Luns,
    /// Folders that `wincsi-controller` makes on a Samba, of which the node reaches the same files.
    Samba,
}

impl Volumes {
    /// Their StorageClass' parameters, and their Secret.
    fn of_class(self) -> Option<(Value, Value)> {
        match self {
            Self::Disks => None,
            Self::Shares => Some((
                json!({"source": trial::source()}),
                json!({"username": trial::USER, "password": trial::PASSWORD}),
            )),
            Self::Luns => Some((
                json!({"driver": "synology-iscsi"}),
                json!({
                    "node-db.node.session.auth.authmethod": "CHAP",
                    "node-db.node.session.auth.username": "pods",
                    "node-db.node.session.auth.password": trial::PASSWORD,
                }),
            )),
            Self::Samba => Some((
                json!({"source": format!("//{SAMBA}/{SHARE}")}),
                json!({"username": user(), "password": smbd::PASSWORD}),
            )),
        }
    }
}

/// The controller of shares, and the share of a Samba beside it.
const CONTROLLER: &str = "wincsi-controller";
const SAMBA: &str = "127.0.0.1";
const SHARE: &str = "encrypted";

/// How many cases pass with it, which attaches nothing to nodes.
const LEAST_WITH_SAMBA: &str = "44";

/// The Samba's user, as the node logs on.
fn user() -> String {
    format!(r"FILES\{}", smbd::user())
}

struct Programs<'a> {
    plugin: &'a Path,
    trial: &'a Path,
    controller: &'a Path,
}

/// A driver with a node of its own: `wincsi node`, and the controller for tests, or that of shares.
struct DriverFixture {
    plugin: Background,
    controller: Background,
    /// Beside the controller of shares.
    samba: Option<Samba>,
    dir: tempfile::TempDir,
    node: PathBuf,
    drive_c: PathBuf,
    trial: PathBuf,
}

impl DriverFixture {
    fn set(programs: &Programs<'_>, volumes: Volumes) -> Result<Self> {
        let dir = trial::private_dir()?;
        let [node, at_controller] = ["node", "controller"].map(|name| dir.path().join(name));
        let drive_c = trial::make_node(programs.trial, &node)?;
        let samba = match volumes {
            Volumes::Samba => Some(samba_beside(programs.trial, &node)?),
            _ => None,
        };
        let mut plugin = trial::plugin(Host::Linux, programs.plugin, &node);
        let at = dir.path().display();
        plugin.arg(format!("-endpoint=unix:{at}/csi"));
        plugin.arg(format!("-registration-endpoint=unix:{at}/registration"));
        let log = dir.path().join("wincsi.log");
        let mut plugin = Background::start("wincsi", &mut plugin, &log)?;
        let (mut controller, serves) = match &samba {
            Some(_) => {
                let mut controller = Command::new(programs.controller);
                controller.arg(format!("-endpoint=unix:{}", at_controller.display()));
                (controller, trial::PLUGIN_SERVES)
            }
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
            command.env("WINCSI_MOUNT_OPTION", port(samba));
            command.env("WINCSI_LEAST_PASSED", LEAST_WITH_SAMBA);
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
            of_controller["mountOptions"] = json!(port(samba));
        }
        let secrets = json!({
            "CreateVolumeSecret": of_controller,
            "DeleteVolumeSecret": of_controller,
            "ControllerValidateVolumeCapabilitiesSecret": of_controller,
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
            expect_no_folder(&samba.root())?;
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

/// A Samba whose shares are the files of one that the node has beside it, under the same name.
fn samba_beside(trial: &Path, node: &Path) -> Result<Samba> {
    let share = trial::make_share(trial, node, [SAMBA, SHARE, &user(), smbd::PASSWORD])?;
    let samba = Samba::start();
    fs::remove_dir(samba.root()).context("remove the share's folder")?;
    symlink(share, samba.root()).context("put the node's in its place")?;
    Ok(samba)
}

fn port(samba: &Samba) -> String {
    format!("port={}", samba.port())
}

/// Fails if the controller left a volume, or a record.
fn expect_no_folder(root: &Path) -> Result<()> {
    let names = |folder: &Path| -> Result<Vec<_>> {
        let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
        entries.map(|entry| Ok(entry?.file_name())).collect()
    };
    let records = root.join(".wincsi");
    let (volumes, own) = (names(root)?, names(&records)?);
    ensure!(
        volumes == [".wincsi"] && own == ["deleted"] && names(&records.join("deleted"))?.is_empty(),
        "the controller left {volumes:?}, {own:?}"
    );
    Ok(())
}
