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

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::api::{self, RIGHTS};
use super::life::{FILE, Life, TEXT, UNSTAGED};
use super::machine;
use super::node::Node;
use super::objects::{self, Objects, text};
use super::running::occurrences;
use crate::env::Helm;
use crate::host::{self, Host};
use crate::test::chart as cases;
use crate::{chart, process, samba, trial};

const LIMIT: Duration = Duration::from_secs(60);

/// The page 0x83 identifier of the disk that is attached to the first node.
const DISK: &str = "60022480000000000000000000000001";

const NODES: &str = "/api/v1/nodes";
const CSI_DRIVER: &str = "/apis/storage.k8s.io/v1/csidrivers/wincsi.io";
pub(super) const SMB_DRIVER: &str = "smb.csi.k8s.io";
const SETS: &str = "/apis/apps/v1/namespaces/wincsi";
pub(super) const NODE_SET: &str = "daemonsets/wincsi-node";
const CONTROLLER: &str = "wincsi:wincsi-controller";

/// The logs of pods of node plugins, and of the nodes' kubelets.
const PLUGINS: &str = "-wincsi-node-";
const KUBELETS: &str = "kubelet-node-";

/// Each switch, and its pods.
const SWITCHES: [(&str, &str); 4] = [
    ("node", NODE_SET),
    ("smbNode", "daemonsets/wincsi-node-smb"),
    ("csiProxy", "daemonsets/wincsi-csi-proxy"),
    ("controller", "deployments/wincsi-controller"),
];

/// What is there before an installation: a file, changed so; its place; why Helm refuses, if it does.
type There = (String, Vec<(String, String)>, String, String);

/// An installation, from its first to its last step.
pub(super) struct Installation<'a> {
    /// That of a pod with a disk, on the first node.
    pub(super) life: Life<'a>,
    /// Under Wine there is none.
    second: Option<&'a Node<'a>>,
    pub(super) helm: [Helm; 2],
    /// Of the switches' pages.
    ports: [u16; 4],
    /// Text that a shell, Helm or Kubernetes might read.
    node_id: String,
    /// How many pods of node plugins have begun.
    begun: usize,
}

impl<'a> Installation<'a> {
    pub(super) fn of(life: Life<'a>, second: Option<&'a Node<'a>>) -> Result<Self> {
        Ok(Self {
            life,
            second,
            helm: Helm::both()?,
            ports: host::free_ports()?,
            node_id: cases::data::<Vec<String>>("hostile")?.concat(),
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
            self.mend(&published_at)?;
            self.install_each(second)?;
            self.refuse_snapshots()?;
            self.move_controller(second)?;
            let forbidden = self.forbidden()?;
            self.install_all(second, &published_at)?;
            self.expect_rights()?;
            self.use_share()?;
            let is_so = self.forbidden()? == forbidden;
            ensure!(is_so, "the controller's pod lacks rights");
        }
        self.end()
    }

    /// The default switch, over a DaemonSet as kubectl applies it.
    fn install(&mut self) -> Result<()> {
        let (api, pods) = (self.life.plane.api.clone(), self.nodes());
        let port = self.ports[0].to_string();
        let applied = Objects::at("deploy/node-hostprocess.yaml")?.with(&[("29655", &port)])?;
        applied.apply(&api)?;
        self.wait_for_pods(NODE_SET, pods)?;
        let uid = self.uid_of_set()?;
        // The first play's.
        self.life.delete(CSI_DRIVER)?;
        for (file, changes, path, refused) in cases::data::<Vec<There>>("there")? {
            let changes: Vec<_> = changes.iter().map(|(from, to)| (&**from, &**to)).collect();
            Objects::at(&file)?.with(&changes)?.apply(&api)?;
            let words = ["install", "wincsi", "--take-ownership", "--force-conflicts"];
            let error = self.helm(0, &words, Some(&json!({}))).err();
            let error = error.map_or(String::new(), |error| format!("{error:#}"));
            ensure!(
                error.contains(&refused) && error.is_empty() == refused.is_empty(),
                "over {changes:?}: {error:?}"
            );
            self.life.delete(&path)?;
        }
        self.wait_for_pods(NODE_SET, pods)?;
        self.wait_for_drivers(pods, &[objects::DRIVER], None)?;
        ensure!(self.uid_of_set()? == uid, "the DaemonSet is another one");
        let shown_by = format!(
            "refused over two other CSIDrivers and the other mode's DaemonSet; then an applied \
             DaemonSet is taken over, its {pods} pods are ready, and CSINode of each has the \
             driver, with hostile text for its node's id"
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
        let (node, objects) = (self.life.node, self.example()?);
        node.attach_disk(DISK)?;
        objects.apply(&self.life.plane.api)?;
        let (published_at, place) = self.begin_pod(&objects, "data")?;
        let shown_by = format!("of a claim, scheduled to {}; {place}", node.name);
        self.life.done("disk pod Running", &shown_by);
        Ok(published_at)
    }

    /// The objects of a pod with the disk.
    pub(super) fn example(&self) -> Result<Objects> {
        let image = "mcr.microsoft.com/windows/nanoserver:TAG_OF_THE_NODES_BUILD";
        let values = [
            ("UNIQUE_ID_OF_THE_DISK", DISK),
            ("NAME-OF-THE-NODE", self.life.node.name),
            (image, machine::RUNS_NOTHING),
        ];
        Objects::at("deploy/example.yaml")?.with(&values)
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

    /// A release for each switch but the default; the second node becomes one of Linux.
    fn install_each(&mut self, second: &Node<'_>) -> Result<()> {
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
        for (switch, set) in &SWITCHES[1..] {
            let release = switch.to_lowercase();
            let mut values = json!({"node": {"enabled": false}});
            values[switch] = json!({"enabled": true});
            self.helm(0, &["install", &release], Some(&values))?;
            self.wait_for_pods(set, 1)?;
            if *switch == "smbNode" {
                self.wait_for_drivers(1, &[SMB_DRIVER], None)?;
            }
            self.helm(0, &["uninstall", &release], None)?;
            self.wait_for_no_pod()?;
        }
        let shown_by = "smbNode, csiProxy, controller: its pod is ready, and goes";
        self.life.done("each switch alone", shown_by);
        Ok(())
    }

    /// All switches, by the other Helm.
    fn install_all(&mut self, second: &Node<'_>, published_at: &str) -> Result<()> {
        let values = all_switches(&self.life.node.samba.option());
        self.helm(1, &["install", "wincsi"], Some(&values))?;
        for (_, set) in SWITCHES {
            self.wait_for_pods(set, 1)?;
        }
        self.wait_for_drivers(1, &[objects::DRIVER, SMB_DRIVER], None)?;
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
        let objects = Objects::read("share.yaml")?.with(&values)?;
        objects.apply(&self.life.plane.api)?;
        let paths = objects.paths();
        let volume = self.life.wait_for(&paths[1], objects::bound_to)?;
        let (_, place) = self.begin_pod(&objects, &volume)?;
        let is_there = place.ends_with(&format!("/{volume}/{FILE}"));
        ensure!(is_there, "the file lies at {place}");
        self.use_snapshot()?;
        self.life.grow_claims(&paths[1..2])?;
        self.life
            .wait_for(&objects::volume_path(&volume), |volume| {
                (text(volume, "/spec/capacity/storage")? == objects::GROWN).then_some(())
            })?;
        let grown = objects::GROWN;
        let shown_by =
            format!("the controller's pod made {volume}, which grew to {grown}; {place}");
        self.life.done("share pod Running", &shown_by);
        self.delete_staged(&paths[..2])?;
        self.life.wait_until_gone(&objects::volume_path(&volume))?;
        self.life.wait_until_left(&[], &[])?;
        let shown_by = "the folder is gone from Samba";
        self.life.done("share PV deleted", shown_by);
        Ok(())
    }

    /// Ends the pod with the disk, and then what is installed.
    fn end(&mut self) -> Result<()> {
        self.delete_staged(&Objects::at("deploy/example.yaml")?.paths())?;
        self.life.node.expect_no_record()?;
        self.helm(0, &["uninstall", "wincsi"], None)?;
        self.wait_for_no_pod()?;
        let said = |pattern| self.printed(PLUGINS, pattern);
        let (begun, drained) = (said(trial::PLUGIN_SERVES)?, said("drained: 0 calls run")?);
        ensure!(
            begun == drained,
            "of {begun} pods hooks have drained {drained}"
        );
        let ended = self.expect_ended()?;
        let users = self.audited()?;
        let shown_by = format!(
            "no record; hooks have drained all {begun} pods, {ended}; who asked the API server: \
             {users}"
        );
        self.life.done("uninstalled", &shown_by);
        Ok(())
    }

    /// Deletes a pod and what else there is of its volume, and waits until a driver has unstaged one more.
    fn delete_staged(&mut self, paths: &[String]) -> Result<()> {
        let unstaged = self.printed(PLUGINS, UNSTAGED)?;
        paths.iter().try_for_each(|path| self.life.delete(path))?;
        let logs = self.life.running.logs().to_owned();
        self.life.running.wait("the volume is unstaged", || {
            Ok((printed_by(&logs, PLUGINS, UNSTAGED)? > unstaged).then_some(()))
        })
    }

    /// Each container of ours has ended with 0 on the signal, before it was killed; under Wine none sees the signal.
    fn expect_ended(&self) -> Result<&'static str> {
        if let Host::Wine(_) = self.life.node.host {
            return Ok("all were killed");
        }
        let said = |pattern: &str| self.printed(KUBELETS, pattern);
        for program in ["wincsi.exe", "csi-proxy.exe", "wincsi-controller"] {
            let started = said(&format!("started {program}"))?;
            let ended = said(&format!("{program} ended with 0"))?;
            let is_so = started > 0 && started == ended;
            ensure!(is_so, "{program}: {ended} of {started} ended with 0");
        }
        ensure!(said("killed: ")? == 0, "a container was killed");
        Ok("none was killed")
    }

    /// Applies the pod, and writes a file when it runs. Returns where its volume is published, and the file's place.
    fn begin_pod(&mut self, objects: &Objects, volume: &str) -> Result<(String, String)> {
        let pod = objects.pods.first().context("no pod")?;
        let published_at = self.life.begin_pod(pod, volume)?;
        self.life.wait_for(&api::path(pod), objects::runs)?;
        let place = self.life.write_file_at(&published_at)?;
        Ok((published_at, place))
    }

    pub(super) fn helm(&self, which: usize, words: &[&str], values: Option<&Value>) -> Result<()> {
        let mut command = self.helm[which].command(words);
        command.args(["--namespace", "wincsi", "--kubeconfig"]);
        command.arg(&self.life.plane.kubeconfig);
        if let Some(values) = values {
            command.arg(chart::folder());
            for (name, values) in [("all", &self.values()), ("values", values)] {
                let file = self.life.running.dir().join(name);
                fs::write(&file, values.to_string())?;
                command.arg("--values").arg(file);
            }
        }
        let done = process::capture(&mut command, LIMIT)?;
        ensure!(done.status.success(), "helm {words:?}: {}", done.output);
        let has_label = !done.output.contains("pod-security");
        ensure!(has_label, "the notes want a label that the namespace has");
        Ok(())
    }

    /// Those of all releases.
    fn values(&self) -> Value {
        let [node, smb, csi_proxy, controller] = self.ports;
        let mut values = chart::images();
        let env = json!({"WINCSI_NODEID": self.node_id});
        values["node"] = json!({"port": node, "logLevel": 4, "env": env});
        values["smbNode"] = json!({"port": smb});
        values["csiProxy"] = json!({"port": csi_proxy});
        values["controller"] = json!({"metricsPort": controller});
        values
    }

    /// How many nodes there are for Windows at first.
    pub(super) fn nodes(&self) -> u64 {
        if self.second.is_some() { 2 } else { 1 }
    }

    /// Waits until so many pods of a set are ready, all of its newest template. Returns how many at most were not at a
    /// time.
    pub(super) fn wait_for_pods(&mut self, set: &str, number: u64) -> Result<u64> {
        let (path, node, begun) = (format!("{SETS}/{set}"), self.life.node, &mut self.begun);
        let (api, logs) = (&self.life.plane.api, self.life.running.logs().to_owned());
        let mut away = 0;
        self.life.running.wait(&path, || {
            let all_begun = printed_by(&logs, PLUGINS, trial::PLUGIN_SERVES)?;
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

    pub(super) fn wait_for_no_pod(&mut self) -> Result<()> {
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
            let node_id = &self.node_id;
            self.life.wait_for(&path, |csi_node| {
                let drivers = csi_node["spec"]["drivers"].as_array()?;
                let is = |one: &Value, name: &str| {
                    one["name"] == name
                        && one["allocatable"]["count"].as_u64() == count
                        && (name != objects::DRIVER || one["nodeID"] == **node_id)
                };
                let has = |name: &&str| drivers.iter().any(|one| is(one, name));
                names.iter().all(has).then_some(())
            })?;
        }
        Ok(())
    }

    fn printed(&self, name: &str, pattern: &str) -> Result<usize> {
        printed_by(self.life.running.logs(), name, pattern)
    }

    /// The disk's file is in its place, and nothing was unstaged.
    pub(super) fn expect_staged(&self, published_at: &str) -> Result<()> {
        self.life.node.read_as_pod(published_at, FILE, TEXT)?;
        let unstaged = self.printed(PLUGINS, "NodeUnstageVolume")?;
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

    /// What was asked of the API server.
    fn requests(&self) -> Result<Vec<Value>> {
        let log = fs::read_to_string(&self.life.plane.audit).context("read the audit log")?;
        // The last one is perhaps being written.
        let (log, _) = log.rsplit_once('\n').context("no request")?;
        let requests: Result<_, _> = log.lines().map(serde_json::from_str).collect();
        requests.context("read a request")
    }

    /// What it has forbidden to the controller's account, in order. When a release goes, its roles go before its pods.
    pub(super) fn forbidden(&self) -> Result<Vec<String>> {
        let account = format!("system:serviceaccount:{CONTROLLER}");
        let is_one = |request: &&Value| {
            request["user"]["username"] == *account && request["responseStatus"]["code"] == 403
        };
        let requests = self.requests()?;
        let resource = |request| text(request, "/objectRef/resource").unwrap_or_default();
        let forbidden = requests.iter().filter(is_one).map(resource);
        Ok(forbidden.map(str::to_owned).collect())
    }

    /// Who has asked the API server. Of all pods only the controller's may, and only for it kubelet may ask for a token.
    fn audited(&self) -> Result<String> {
        let (mut users, mut tokens) = (BTreeSet::new(), BTreeSet::new());
        for request in self.requests()? {
            let part = |place: &str| text(&request, place).unwrap_or_default().to_owned();
            users.insert(part("/user/username"));
            if part("/objectRef/subresource") == "token" {
                let account = ["/objectRef/namespace", "/objectRef/name"].map(part);
                tokens.insert(account.join(":"));
            }
        }
        let controllers = format!("system:serviceaccount:{CONTROLLER}");
        let (mut known, mut of_pods) = (vec!["admin", "system:apiserver"], vec![]);
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

/// How often all programs have said this whose logs have this in their names.
fn printed_by(logs: &Path, name: &str, pattern: &str) -> Result<usize> {
    let mut names = trial::names(logs)?;
    names.retain(|log| log.contains(name));
    let times = names
        .iter()
        .map(|log| occurrences(&logs.join(log), pattern));
    Ok(times.sum())
}

/// All switches, and a class of shares at a port.
fn all_switches(port: &str) -> Value {
    let secret = |of: &str| {
        let name = |part: &str| format!("csi.storage.k8s.io/{of}-secret-{part}");
        [(name("name"), "share"), (name("namespace"), "default")]
    };
    let secrets = |users: &[&str]| -> Value { users.iter().copied().flat_map(secret).collect() };
    let mut parameters = secrets(&["provisioner", "node-stage", "node-publish"]);
    parameters["source"] = samba::SOURCE.into();
    json!({
        "smbNode": {"enabled": true},
        "csiProxy": {"enabled": true},
        "controller": {
            "enabled": true, "enableSnapshotter": true, "secretNamespaces": ["default"],
        },
        "volumeSnapshotClasses": [{"name": "share", "parameters": secrets(&["snapshotter"])}],
        "storageClasses": [{
            "name": "share", "parameters": parameters, "mountOptions": [port],
            "allowVolumeExpansion": true,
        }],
    })
}
