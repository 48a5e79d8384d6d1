//! The control plane: etcd, the API server, and the controllers of volumes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::json;

use super::Steps;
use super::api::Api;
use super::programs::Programs;
use super::running::RunningCluster;
use crate::{host, process};

const SHORT: Duration = Duration::from_secs(30);

/// Etcd's sockets, in its private working folder: it does not authenticate clients. It requires a port in their names.
const CLIENTS: &str = "unix://clients:0";
const PEERS: &str = "unix://peers:0";

/// The controllers needed by volumes and by what is installed; the others have nothing to do here.
const CONTROLLERS: [&str; 12] = [
    "daemonset-controller",
    "deployment-controller",
    "garbage-collector-controller",
    "node-lifecycle-controller",
    "persistentvolume-attach-detach-controller",
    "persistentvolume-binder-controller",
    "persistentvolume-expander-controller",
    "persistentvolume-protection-controller",
    "persistentvolumeclaim-protection-controller",
    "replicaset-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
];

/// All requests are recorded, without their bodies.
const AUDIT: &str =
    r#"{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "Metadata"}]}"#;

/// The account of pods that name none.
const ACCOUNT: &str = "/api/v1/namespaces/default/serviceaccounts/default";

/// A running control plane.
pub(super) struct Plane {
    pub(super) api: Api,
    /// For programs calling the API server as the user with all rights.
    pub(super) kubeconfig: PathBuf,
    pub(super) logs: PathBuf,
    /// The requests to the API server, one a line.
    pub(super) audit: PathBuf,
}

impl Plane {
    pub(super) fn start(
        running: &mut RunningCluster,
        programs: &Programs,
        steps: &Steps,
    ) -> Result<Self> {
        let dir = running.dir().join("plane");
        fs::create_dir(&dir).context("make a folder for the control plane")?;
        let [secure] = host::free_ports()?;
        let etcd = start_etcd(running, programs, &dir)?;
        steps.done("etcd up", "/health on its socket says so");
        let (token, certificate) = (random_token()?, dir.join("apiserver.crt"));
        let api = Api::new(
            format!("https://127.0.0.1:{secure}"),
            &certificate,
            &token,
            &dir,
        )?;
        let audit = running.logs().join("audit.jsonl");
        let mut apiserver = apiserver(programs, &dir, &etcd, secure, &token)?;
        apiserver.arg(format!("--audit-log-path={}", audit.display()));
        running.start("kube-apiserver", &mut apiserver)?;
        running.wait("the API server is ready", || api.is_well("/readyz"))?;
        steps.done("apiserver ready", &format!("{}/readyz says so", api.url));
        let kubeconfig = write_kubeconfig(&dir, &api, &token)?;
        start_controllers(running, programs, &kubeconfig)?;
        running.wait(ACCOUNT, || api.find(ACCOUNT))?;
        // Wine has no links as kubelet writes tokens with.
        api.merge(ACCOUNT, &json!({"automountServiceAccountToken": false}))?;
        Ok(Self {
            api,
            audit,
            kubeconfig,
            logs: running.logs().to_owned(),
        })
    }
}

fn start_etcd(running: &mut RunningCluster, programs: &Programs, dir: &Path) -> Result<String> {
    let mut etcd = Command::new(&programs.etcd);
    etcd.current_dir(dir)
        .arg("--data-dir")
        .arg(dir.join("etcd"));
    etcd.args(["--listen-client-urls", CLIENTS]);
    etcd.args(["--advertise-client-urls", CLIENTS]);
    etcd.args(["--listen-peer-urls", PEERS]);
    etcd.args(["--initial-advertise-peer-urls", PEERS]);
    etcd.args(["--initial-cluster", &format!("default={PEERS}")]);
    running.start("etcd", &mut etcd)?;
    let socket = dir.join(CLIENTS.trim_start_matches("unix://"));
    running.wait("etcd is up", || {
        let mut curl = Command::new("curl");
        curl.arg("--silent").arg("--unix-socket").arg(&socket);
        let printed = process::capture(curl.arg("http://localhost/health"), SHORT)?.output;
        Ok(printed.contains("\"health\":\"true\"").then_some(()))
    })?;
    Ok(format!("unix://{}", socket.display()))
}

fn apiserver(
    programs: &Programs,
    dir: &Path,
    etcd: &str,
    port: u16,
    token: &str,
) -> Result<Command> {
    let tokens = dir.join("tokens.csv");
    fs::write(&tokens, format!("{token},admin,admin,\"system:masters\"\n"))?;
    let (key, policy) = (signing_key(dir)?, dir.join("audit.json"));
    fs::write(&policy, AUDIT)?;
    let mut apiserver = Command::new(&programs.apiserver);
    apiserver
        .arg(format!("--etcd-servers={etcd}"))
        .arg(format!("--secure-port={port}"))
        .arg(format!("--cert-dir={}", dir.display()))
        .arg(format!("--token-auth-file={}", tokens.display()))
        .arg(format!("--service-account-key-file={}", key.display()))
        .arg(format!(
            "--service-account-signing-key-file={}",
            key.display()
        ))
        .arg(format!("--service-account-issuer=https://127.0.0.1:{port}"))
        .args(["--bind-address=127.0.0.1", "--advertise-address=127.0.0.1"])
        .args(["--authorization-mode=RBAC", "--allow-privileged=true"])
        .args(["--service-cluster-ip-range=10.0.0.0/24"])
        .args(["--endpoint-reconciler-type=none"])
        .arg(format!("--audit-policy-file={}", policy.display()));
    Ok(apiserver)
}

fn start_controllers(
    running: &mut RunningCluster,
    programs: &Programs,
    kubeconfig: &Path,
) -> Result<()> {
    let mut controllers = Command::new(&programs.controller_manager);
    controllers
        .arg(format!("--kubeconfig={}", kubeconfig.display()))
        .arg(format!("--controllers={}", CONTROLLERS.join(",")))
        .arg("--root-ca-file")
        .arg(kubeconfig.with_file_name("apiserver.crt"));
    let mut scheduler = Command::new(&programs.scheduler);
    scheduler.arg(format!("--kubeconfig={}", kubeconfig.display()));
    for (name, program) in [
        ("kube-controller-manager", &mut controllers),
        ("kube-scheduler", &mut scheduler),
    ] {
        program.args(["--leader-elect=false", "--secure-port=0"]);
        running.start(name, program)?;
    }
    Ok(())
}

/// The API server's signing key; it is not kept.
fn signing_key(dir: &Path) -> Result<PathBuf> {
    let key = dir.join("signing.key");
    let mut openssl = Command::new("openssl");
    openssl.args("ecparam -name prime256v1 -genkey -noout -out".split(' '));
    process::capture(openssl.arg(&key), SHORT)?.success("openssl")?;
    Ok(key)
}

/// Names the certificate as it lies beside it, since a Windows program names folders otherwise.
fn write_kubeconfig(dir: &Path, api: &Api, token: &str) -> Result<PathBuf> {
    let file = dir.join("kubeconfig");
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{
            "name": "trial",
            "cluster": {"server": api.url, "certificate-authority": "apiserver.crt"},
        }],
        "users": [{"name": "admin", "user": {"token": token}}],
        "contexts": [{"name": "trial", "context": {"cluster": "trial", "user": "admin"}}],
        "current-context": "trial",
    });
    fs::write(&file, config.to_string()).context("write the kubeconfig")?;
    Ok(file)
}

fn random_token() -> Result<String> {
    let mut openssl = Command::new("openssl");
    let printed =
        process::capture(openssl.args(["rand", "-hex", "16"]), SHORT)?.success("openssl")?;
    Ok(printed.trim().to_owned())
}
