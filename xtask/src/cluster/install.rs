//! The second play: what a real Helm installs from the chart. The pods of its DaemonSets and of its Deployment start the
//! programs of our images.
//!
//! There are two nodes, both for Windows. As the controller runs on Linux alone, the second starts again for it once
//! it has shown what two nodes show.

use std::collections::BTreeSet;
use std::fs;
use std::mem;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::api::{self, RIGHTS};
use super::life::{FILE, Life, TEXT, UNSTAGED};
use super::machine;
use super::node::Node;
use super::objects::{self, Objects, text};
use super::running::occurrences;
use crate::env::Helm;
use crate::host::Host;
use crate::{chart, process, samba, trial};

const LIMIT: Duration = Duration::from_secs(60);

/// The page 0x83 identifier of the disk that is attached to the first node.
const DISK: &str = "60022480000000000000000000000001";

const NODES: &str = "/api/v1/nodes";
const PODS: &str = "/api/v1/namespaces/default/pods";
const CLAIMS: &str = "/api/v1/namespaces/default/persistentvolumeclaims";
const CSI_DRIVER: &str = "/apis/storage.k8s.io/v1/csidrivers/wincsi.io";
const SETS: &str = "/apis/apps/v1/namespaces/wincsi";
const NODE_SET: &str = "daemonsets/wincsi-node";
const CONTROLLER: &str = "wincsi:wincsi-controller";

/// An installation, from its first to its last step.
pub(super) struct Installation<'a> {
    /// That of a pod with a disk, on the first node.
    life: Life<'a>,
    /// Under Wine there is none.
    second: Option<&'a Node<'a>>,
    helm: [Helm; 2],
    /// How many pods of node plugins have begun.
    begun: usize,
}

impl<'a> Installation<'a> {
    pub(super) fn of(life: Life<'a>, second: Option<&'a Node<'a>>) -> Result<Self> {
        Ok(Self {
            life,
            second,
            helm: Helm::both()?,
            begun: 0,
        })
    }

    /// Under Wine the default switch alone.
    pub(super) fn play(&mut self) -> Result<()> {
        self.install()?;
        let published_at = self.use_disk()?;
        if let Some(second) = self.second {
            self.upgrade(&published_at)?;
            self.uninstall(&published_at)?;
            self.install_all(second, &published_at)?;
            self.expect_rights()?;
            self.use_share()?;
        }
        self.end()
    }

    /// The default switch, over a DaemonSet as kubectl applies it; the first play's CSIDriver has another
    /// `attachRequired`.
    fn install(&mut self) -> Result<()> {
        let applied = Objects::at("deploy/node-hostprocess.yaml")?;
        applied.apply(&self.life.plane.api)?;
        let pods = self.nodes();
        self.wait_for_pods(NODE_SET, pods)?;
        let uid = self.uid_of_set()?;
        let values = json!({"node": {"logLevel": 4}});
        let words = ["install", "wincsi", "--take-ownership", "--force-conflicts"];
        let Err(refused) = self.helm(0, &words, Some(&values)) else {
            bail!("Helm changes attachRequired");
        };
        let (refused, reason) = (format!("{refused:#}"), "with another attachRequired");
        ensure!(refused.contains(reason), "refused otherwise: {refused}");
        self.life.plane.api.delete(CSI_DRIVER)?;
        self.helm(0, &words, Some(&values))?;
        self.wait_for_pods(NODE_SET, pods)?;
        self.wait_for_drivers(pods, &[objects::DRIVER], None)?;
        ensure!(self.uid_of_set()? == uid, "the DaemonSet is another one");
        let shown_by = format!(
            "refused over a CSIDriver {reason}; then an applied DaemonSet is taken over, its {pods} \
             pods are ready, and CSINode of each has the driver"
        );
        self.life.done("helm install", &shown_by);
        Ok(())
    }

    fn uid_of_set(&self) -> Result<Value> {
        let set = self.life.plane.api.find(&format!("{SETS}/{NODE_SET}"))?;
        Ok(set.context("no DaemonSet")?["metadata"]["uid"].take())
    }

    /// A pod with a disk; returns where its volume is published.
    fn use_disk(&mut self) -> Result<String> {
        let node = self.life.node;
        let values = [
            ("UNIQUE_ID_OF_THE_DISK", DISK),
            ("NAME-OF-THE-NODE", node.name),
        ];
        let objects = Objects::at("deploy/example.yaml")?.with(&values);
        node.attach_disk(DISK)?;
        objects.apply(&self.life.plane.api)?;
        let (published_at, place) = self.begin_pod(&objects, "data")?;
        let shown_by = format!("of a claim, scheduled to {}; {place}", node.name);
        self.life.done("disk pod Running", &shown_by);
        Ok(published_at)
    }

    /// A changed value, and back.
    fn upgrade(&mut self, published_at: &str) -> Result<()> {
        let values = json!({"node": {"env": {"WINCSI_MAX_VOLUMES": "8"}}});
        let upgrade = ["upgrade", "wincsi", "--reuse-values"];
        for (step, words, values, count) in [
            ("helm upgrade", &upgrade[..], Some(&values), Some(8)),
            ("helm rollback", &["rollback", "wincsi", "1"], None, None),
        ] {
            self.helm(0, words, values)?;
            let away = self.wait_for_pods(NODE_SET, self.nodes())?;
            ensure!(away == 1, "{away} pods were away at a time");
            self.wait_for_drivers(self.nodes(), &[objects::DRIVER], count)?;
            self.expect_staged(published_at)?;
            let count = count.map_or("no".to_owned(), |count| count.to_string());
            let shown_by = format!("node by node; CSINode has {count} count; no volume unstaged");
            self.life.done(step, &shown_by);
        }
        Ok(())
    }

    /// The CSIDriver and the volume stay.
    fn uninstall(&mut self, published_at: &str) -> Result<()> {
        self.helm(0, &["uninstall", "wincsi"], None)?;
        self.wait_for_no_pod()?;
        let left = self.life.plane.api.find(CSI_DRIVER)?;
        ensure!(left.is_some(), "helm uninstall has removed the CSIDriver");
        self.expect_staged(published_at)?;
        let shown_by = "no pod; CSIDriver, PV and the running pod's file are there";
        self.life.done("helm uninstall", shown_by);
        Ok(())
    }

    /// All switches at once, by the other Helm; the second node becomes one of Linux.
    fn install_all(&mut self, second: &Node<'_>, published_at: &str) -> Result<()> {
        machine::end(self.life.running, second)?;
        machine::start(self.life.running, second, 2, "linux")?;
        let first = format!("{NODES}/{}", self.life.node.name);
        let labels = json!({"metadata": {"labels": {"wincsi.io/smb": "true"}}});
        self.life.plane.api.merge(&first, &labels)?;
        self.life
            .wait_for(&format!("{NODES}/{}", second.name), |node| {
                let system = text(node, "/metadata/labels/kubernetes.io~1os")?;
                (system == "linux" && objects::holds(node, "Ready")).then_some(())
            })?;
        let values = all_switches(&self.life.node.samba.option());
        self.helm(1, &["install", "wincsi"], Some(&values))?;
        for set in [
            NODE_SET,
            "daemonsets/wincsi-node-smb",
            "daemonsets/wincsi-csi-proxy",
            "deployments/wincsi-controller",
        ] {
            self.wait_for_pods(set, 1)?;
        }
        self.wait_for_drivers(1, &[objects::DRIVER, "smb.csi.k8s.io"], None)?;
        self.expect_staged(published_at)?;
        let shown_by = format!(
            "all four switches by Helm 3: {} has both drivers and csi-proxy, {}, now of Linux, the \
             controller; all ready",
            self.life.node.name, second.name
        );
        self.life.done("installed again", &shown_by);
        Ok(())
    }

    /// A claim of a share, whose folder the controller's pod makes.
    fn use_share(&mut self) -> Result<()> {
        let port = self.life.node.samba.option();
        let values = [("SAMBA_USER", &*samba::user()), ("SAMBA_PORT", &port)];
        let objects = Objects::read("share.yaml")?.with(&values);
        objects.apply(&self.life.plane.api)?;
        let claim = format!("{CLAIMS}/share");
        let volume = self.life.wait_for(&claim, objects::bound_to)?;
        let (_, place) = self.begin_pod(&objects, &volume)?;
        let is_there = place.ends_with(&format!("/{volume}/{FILE}"));
        ensure!(is_there, "the file lies at {place}");
        let shown_by = format!("the controller's pod made {volume}; {place}");
        self.life.done("share pod Running", &shown_by);
        self.delete(&format!("{PODS}/share"))?;
        self.delete(&claim)?;
        self.life.wait_until_gone(&objects::volume_path(&volume))?;
        self.life.wait_until_left(&[], &[])?;
        let forbidden = self.printed("wincsi-controller", "forbidden")?;
        ensure!(forbidden == 0, "the controller's pod lacks rights");
        let shown_by = "the folder is gone from Samba; the server has forbidden the pod nothing";
        self.life.done("share PV deleted", shown_by);
        Ok(())
    }

    /// Ends the pod with the disk, and then what is installed.
    fn end(&mut self) -> Result<()> {
        self.delete(&format!("{PODS}/writer"))?;
        self.delete(&format!("{CLAIMS}/data"))?;
        self.delete(&objects::volume_path("data"))?;
        let unstaged = self.printed("wincsi-node", UNSTAGED)?;
        ensure!(unstaged > 0, "the driver has not unstaged the disk");
        self.life.node.expect_no_record()?;
        self.helm(0, &["uninstall", "wincsi"], None)?;
        self.wait_for_no_pod()?;
        let said = |pattern| self.printed("wincsi-node", pattern);
        let (begun, drained) = (said(trial::PLUGIN_SERVES)?, said("drained: 0 calls run")?);
        ensure!(
            begun == drained,
            "of {begun} pods hooks have drained {drained}"
        );
        let users = self.audited()?;
        let shown_by = format!(
            "no record; hooks have drained all {begun} pods; who asked the API server: {users}"
        );
        self.life.done("uninstalled", &shown_by);
        Ok(())
    }

    fn delete(&mut self, path: &str) -> Result<()> {
        self.life.plane.api.delete(path)?;
        self.life.wait_until_gone(path)
    }

    /// Applies the pod, and writes a file when it runs. Returns where its volume is published, and the file's place.
    fn begin_pod(&mut self, objects: &Objects, volume: &str) -> Result<(String, String)> {
        let pod = objects.pods.first().context("no pod")?;
        let published_at = self.life.begin_pod(pod, volume)?;
        self.life.wait_for(&api::path(pod)?, objects::runs)?;
        let place = self.life.write_file_at(&published_at)?;
        Ok((published_at, place))
    }

    fn helm(&self, which: usize, words: &[&str], values: Option<&Value>) -> Result<()> {
        let mut command = self.helm[which].command(words);
        command.args(["--namespace", "wincsi", "--kubeconfig"]);
        command.arg(&self.life.plane.kubeconfig);
        if let Some(values) = values {
            command.arg(chart::folder());
            for (name, values) in [("images", &chart::images()), ("values", values)] {
                let file = self.life.running.dir().join(name);
                fs::write(&file, values.to_string())?;
                command.arg("--values").arg(file);
            }
        }
        let done = process::capture(&mut command, LIMIT)?;
        ensure!(done.status.success(), "helm {words:?}: {}", done.output);
        Ok(())
    }

    /// How many nodes there are for Windows at first.
    fn nodes(&self) -> u64 {
        if self.second.is_some() { 2 } else { 1 }
    }

    /// Waits until so many pods of a set are ready, all of its newest template. Returns how many at most were not at a
    /// time.
    fn wait_for_pods(&mut self, set: &str, number: u64) -> Result<u64> {
        let (path, node, begun) = (format!("{SETS}/{set}"), self.life.node, &mut self.begun);
        let (api, logs) = (&self.life.plane.api, self.life.running.logs().to_owned());
        let mut away = 0;
        self.life.running.wait(&path, || {
            let all_begun = printed_by(&logs, "wincsi-node", trial::PLUGIN_SERVES)?;
            if all_begun > mem::replace(begun, all_begun) {
                node.sockets.show_registration()?;
            }
            let set = api.find(&path)?.unwrap_or_default();
            let status = |name: &str| set["status"][name].as_u64();
            let either = |one, other| status(one).or(status(other)).unwrap_or_default();
            let ready = either("numberReady", "readyReplicas");
            let newest = either("updatedNumberScheduled", "updatedReplicas");
            let all = either("currentNumberScheduled", "replicas");
            away = away.max(number.saturating_sub(ready));
            let is_seen = status("observedGeneration") == set["metadata"]["generation"].as_u64();
            Ok((is_seen && [ready, newest, all] == [number; 3]).then_some(()))
        })?;
        Ok(away)
    }

    fn wait_for_no_pod(&mut self) -> Result<()> {
        let pods = "/api/v1/namespaces/wincsi/pods";
        self.life.wait_for(pods, |list| {
            list["items"].as_array()?.is_empty().then_some(())
        })
    }

    /// Waits until CSINode of each of the first nodes has these drivers, each for so many volumes.
    fn wait_for_drivers(&mut self, nodes: u64, names: &[&str], count: Option<u64>) -> Result<()> {
        let second = self.second.filter(|_| nodes == 2);
        for node in [Some(self.life.node), second].into_iter().flatten() {
            let path = format!("/apis/storage.k8s.io/v1/csinodes/{}", node.name);
            self.life.wait_for(&path, |csi_node| {
                let drivers = csi_node["spec"]["drivers"].as_array()?;
                let is = |one: &Value, name: &str| {
                    one["name"] == name && one["allocatable"]["count"].as_u64() == count
                };
                let has = |name: &&str| drivers.iter().any(|one| is(one, name));
                names.iter().all(has).then_some(())
            })?;
        }
        Ok(())
    }

    fn printed(&self, pods: &str, pattern: &str) -> Result<usize> {
        printed_by(self.life.running.logs(), pods, pattern)
    }

    /// The disk's file is in its place, and nothing was unstaged.
    fn expect_staged(&self, published_at: &str) -> Result<()> {
        self.life.node.read_as_pod(published_at, FILE, TEXT)?;
        let unstaged = self.printed("wincsi-node", "NodeUnstageVolume")?;
        ensure!(unstaged == 0, "a volume was unstaged");
        Ok(())
    }

    /// The server says of the controller's account what the chart's roles say, and nothing else.
    fn expect_rights(&self) -> Result<()> {
        let cluster = self.rules("clusterroles/wincsi-controller-wincsi")?;
        let own = self.rules("namespaces/wincsi/roles/wincsi-controller")?;
        let secrets = self.rules("namespaces/default/roles/wincsi-controller-wincsi-secrets")?;
        let mut number = 0;
        for (namespace, more) in [
            ("wincsi", own),
            ("default", secrets),
            ("kube-system", BTreeSet::new()),
        ] {
            let everybodys = self.life.plane.api.rights("wincsi:default", namespace)?;
            let mut rights = self.life.plane.api.rights(CONTROLLER, namespace)?;
            rights.retain(|right| !everybodys.contains(right));
            let expected: BTreeSet<_> = cluster.union(&more).cloned().collect();
            ensure!(
                rights == expected,
                "in {namespace} the account may {rights:#?}, the chart says {expected:#?}"
            );
            number += rights.len();
        }
        let shown_by = format!("{number} rules in three namespaces: the chart's and no other");
        self.life.done("controller rights", &shown_by);
        Ok(())
    }

    fn rules(&self, role: &str) -> Result<BTreeSet<String>> {
        let role = self.life.plane.api.find(&format!("{RIGHTS}/{role}"))?;
        Ok(api::rules(&role.context("no role")?["rules"]))
    }

    /// Who has asked the API server. Of all pods only the controller's may, and only for it kubelet may ask for a token.
    fn audited(&self) -> Result<String> {
        let log = fs::read_to_string(&self.life.plane.audit).context("read the audit log")?;
        let (mut users, mut tokens) = (BTreeSet::new(), BTreeSet::new());
        for line in log.lines() {
            let request: Value = serde_json::from_str(line).context("read a request")?;
            let part = |place: &str| text(&request, place).unwrap_or_default().to_owned();
            users.insert(part("/user/username"));
            if part("/objectRef/subresource") == "token" {
                let account = ["/objectRef/namespace", "/objectRef/name"].map(part);
                tokens.insert(account.join(":"));
            }
        }
        let (mut known, mut of_pods) = (vec!["admin", "system:apiserver"], vec![]);
        let controllers = format!("system:serviceaccount:{CONTROLLER}");
        if let Host::Linux = self.life.node.host {
            known.push(&controllers);
            of_pods.push(CONTROLLER);
        }
        ensure!(
            users.iter().eq(&known),
            "{users:?} have asked the API server"
        );
        ensure!(
            tokens.iter().eq(&of_pods),
            "there were tokens of {tokens:?}"
        );
        Ok(known.join(", "))
    }
}

/// How often all pods whose names begin so have said this.
fn printed_by(logs: &Path, pods: &str, pattern: &str) -> Result<usize> {
    let mut times = 0;
    for log in fs::read_dir(logs)? {
        let log = log?.path();
        let name = log.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("node-") && name.contains(&format!("-{pods}-")) {
            times += occurrences(&log, pattern);
        }
    }
    Ok(times)
}

/// All switches, and a class of shares at a port.
pub(super) fn all_switches(port: &str) -> Value {
    let secret = |of: &str| {
        let name = |part: &str| format!("csi.storage.k8s.io/{of}-secret-{part}");
        [(name("name"), "share"), (name("namespace"), "default")]
    };
    let users = ["provisioner", "node-stage", "node-publish"];
    let mut parameters: Value = users.into_iter().flat_map(secret).collect();
    parameters["source"] = samba::SOURCE.into();
    json!({
        "node": {"logLevel": 4},
        "smbNode": {"enabled": true},
        "csiProxy": {"enabled": true},
        "controller": {"enabled": true, "secretNamespaces": ["default"]},
        "storageClasses": [{
            "name": "share", "parameters": parameters, "mountOptions": [port],
        }],
    })
}
