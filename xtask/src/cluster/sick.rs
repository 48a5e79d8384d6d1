//! A node that is sick, from a pod that waits to the command in doctor's text that mends it: docs/stuck.md has the same
//! words.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::failures::{self, PAGE};
use super::install::{Installation, NODE_SET};
use super::life::{FILE, TEXT};
use super::node::Node;
use super::objects::{self, text};
use crate::{cargo, process};

const LIMIT: Duration = Duration::from_secs(60);

/// A folder that no kubelet has here, and the check that finds it.
const WRONG: &str = r"D:\kubelet";
const CHECK: &str = "kubelet-folder";

/// What doctor's text has before its command.
const BY_HELM: &str = "; with Helm: ";

const POD: &str = "/api/v1/namespaces/default/pods/reader";

/// The page's commands but doctor's own.
const DESCRIBE: &str = "$ kubectl describe pod reader\n";
const DOCTOR: &str = "$ kubectl exec --namespace wincsi DRIVERPOD -- wincsi.exe doctor\n";
const RUNS: &str = "$ kubectl get pod reader --output jsonpath={.status.phase}\nRunning\n";

impl Installation<'_> {
    /// The chart is installed with another folder than kubelet's: a pod waits, until doctor's command has run.
    pub(super) fn mend(&mut self, published_at: &str) -> Result<()> {
        let node = self.life.node;
        self.install_sick(node)?;
        let objects = self.example()?.with(&[("name: writer", "name: reader")])?;
        let pod = objects.pods.first().context("no pod")?;
        let its_place = self.life.begin_pod(pod, "data")?;
        let event = self.life.event(pod.name())?;
        self.life.wait_for(POD, waits)?;
        let report = self.life.running.wait("the driver answers doctor", || {
            let report: Value = serde_json::from_str(&doctor(node, &["-json"], 3)?)?;
            Ok((report["way"] == "driver").then_some(report))
        })?;
        let (sick, command) = (doctor(node, &[], 3)?, command(&report)?);
        self.run(&command)?;
        self.wait_for_pods(NODE_SET, self.nodes())?;
        self.life.wait_for(POD, objects::runs)?;
        node.read_as_pod(&its_place, FILE, TEXT)?;
        let well = doctor(node, &[], 0)?;
        let seen = format!("{DESCRIBE}{event}\n{DOCTOR}{sick}$ {command}\n{RUNS}{DOCTOR}{well}");
        print!("{seen}");
        failures::compare(&failures::page()?, DESCRIBE, &seen)?;
        let shown_by = format!(
            "doctor says {CHECK}, and what {PAGE} has; its command ran, the pod runs and has the file"
        );
        self.life.done("node mended", &shown_by);
        self.life.delete(POD)?;
        self.life.expect_unpublished(&its_place)?;
        self.helm(0, &["uninstall", "wincsi"], None)?;
        self.wait_for_no_pod()?;
        self.expect_staged(published_at)
    }

    /// Kubelet forgets the last release's driver before.
    fn install_sick(&mut self, node: &Node<'_>) -> Result<()> {
        node.sockets.remove_registration()?;
        let csi_node = format!("/apis/storage.k8s.io/v1/csinodes/{}", node.name);
        self.life.wait_for(&csi_node, |csi_node| {
            (!objects::has_driver(csi_node)).then_some(())
        })?;
        let values = json!({"windows": {"kubelet": WRONG}});
        self.helm(0, &["install", "wincsi"], Some(&values))
    }

    /// Runs a command of Helm in a shell, in the project's folder, as a person does.
    fn run(&self, command: &str) -> Result<()> {
        let mut shell = Command::new("sh");
        shell.arg("-c");
        shell.arg(format!(r#"helm() {{ "$HELM" "$@"; }}; {command}"#));
        shell.env("HELM", self.helm[0].command(&[]).get_program());
        shell.env("KUBECONFIG", &self.life.plane.kubeconfig);
        shell.current_dir(cargo::root());
        process::capture(&mut shell, LIMIT)?
            .success(command)
            .map(drop)
    }
}

fn waits(pod: &Value) -> Option<()> {
    let reason = "/status/containerStatuses/0/state/waiting/reason";
    (text(pod, reason)? == "ContainerCreating").then_some(())
}

/// What doctor prints as in the pod of a node's driver, and ends with this code.
fn doctor(node: &Node<'_>, words: &[&str], code: i32) -> Result<String> {
    let mut doctor = Command::new(&node.programs.plugin);
    doctor.arg("doctor").args(words);
    doctor.env("WINCSI_ENDPOINT", &node.sockets.csi);
    let done = process::capture(&mut doctor, LIMIT)?;
    let is_so = done.status.code() == Some(code);
    ensure!(
        is_so,
        "doctor: {}, not {code}\n{}",
        done.status,
        done.output
    );
    Ok(done.output)
}

/// The command in the first finding's advice.
fn command(report: &Value) -> Result<String> {
    let found = text(report, "/findings/0/check");
    ensure!(found == Some(CHECK), "doctor reports {report}");
    let advice = text(report, "/findings/0/advice").context("no advice")?;
    let (_, command) = advice.split_once(BY_HELM).context("no command of Helm")?;
    Ok(command.to_owned())
}
