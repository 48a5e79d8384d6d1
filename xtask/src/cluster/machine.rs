//! The machines of pods: images, and what a pod's programs need of a simulated node in place of what the pod says.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::node::Node;
use super::plane::Plane;
use super::programs::Programs;
use super::running::RunningCluster;
use crate::host::Host;
use crate::{env, image, process};

const SHORT: Duration = Duration::from_secs(60);

/// Where a runtime puts an image on a node (hcsshim, internal/jobcontainers).
const ROOT: &str = "hpc";

/// The image of pods that only have volumes.
pub(super) const RUNS_NOTHING: &str = "example.com/trial:1";

const REGISTRY: &str = "registry.example.com";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What a node's runtime reads.
const SETTINGS: &str = "containers.json";

/// Makes the nodes, without pods: two for Windows, or one that is Wine.
pub(super) fn nodes<'a>(
    running: &mut RunningCluster,
    programs: &'a Programs,
    plane: &'a Plane,
    host: Host<'a>,
) -> Result<Vec<Node<'a>>> {
    let names: &[_] = match host {
        Host::Linux => &["node-a", "node-b"],
        Host::Wine(_) => &["node-a"],
    };
    let images = images(running.dir(), programs, host)?;
    let make = |(name, number): (&&'static str, usize)| {
        let node = Node::make(running, programs, plane, host, name)?;
        describe(&node, plane, &images)?;
        start(running, &node, number, "windows")?;
        Ok(node)
    };
    names.iter().zip(1..).map(make).collect()
}

/// The images that pods name.
fn images(dir: &Path, programs: &Programs, host: Host<'_>) -> Result<Value> {
    let mut images = json!({RUNS_NOTHING: {}});
    let (layout, root) = (dir.join("layout"), dir.join(ROOT));
    fs::create_dir(&root)?;
    let of_node = format!("{REGISTRY}/wincsi:{VERSION}");
    if let Host::Wine(prefix) = host {
        image::write(&programs.plugin, &programs.csi_proxy, &layout)?;
        let mut unpacked = unpack(&layout, &root)?;
        symlink(root.join("Files"), prefix.drive_c().join(ROOT))?;
        unpacked["Root"] = format!(r"C:\{ROOT}").into();
        images[of_node] = unpacked;
        return Ok(images);
    }
    // Linux cannot start the programs of that image. Their builds for Linux have their names.
    symlink(&programs.plugin, root.join("wincsi.exe"))?;
    symlink(&programs.csi_proxy, root.join("csi-proxy.exe"))?;
    images[of_node] = json!({"Root": root});
    image::write_controller(&programs.share_controller, &layout)?;
    let root = dir.join("controller");
    fs::create_dir(&root)?;
    images[format!("{REGISTRY}/wincsi-controller:{VERSION}")] = unpack(&layout, &root)?;
    for (name, program) in &programs.sidecars {
        let module = match *name {
            "csi-provisioner" => "github.com/kubernetes-csi/external-provisioner/v6",
            "csi-resizer" => "github.com/kubernetes-csi/external-resizer/v2",
            "csi-snapshotter" => "github.com/kubernetes-csi/external-snapshotter/v8",
            _ => continue,
        };
        let version = env::GO_SIDECARS.version_of(module)?;
        let sidecar = json!({"Root": program.parent(), "Entrypoint": [name], "CallsAPI": true});
        images[format!("registry.k8s.io/sig-storage/{name}:{version}")] = sidecar;
    }
    Ok(images)
}

/// Unpacks the layers of a layout's image, and returns how it starts.
fn unpack(layout: &Path, root: &Path) -> Result<Value> {
    let blob = |described: &Value| {
        let digest = described["digest"].as_str().unwrap_or_default();
        layout.join("blobs").join(digest.replace(':', "/"))
    };
    let read = |file: &Path| -> Result<Value> { Ok(serde_json::from_slice(&fs::read(file)?)?) };
    let index = read(&layout.join("index.json"))?;
    let manifest = read(&blob(&index["manifests"][0]))?;
    for layer in manifest["layers"].as_array().context("no layers")? {
        let mut tar = Command::new("tar");
        tar.arg("-xzf").arg(blob(layer)).arg("-C").arg(root);
        process::capture(&mut tar, SHORT)?.success("tar")?;
    }
    let config = &read(&blob(&manifest["config"]))?["config"];
    Ok(json!({"Root": root, "Entrypoint": config["Entrypoint"], "Env": config["Env"]}))
}

/// Writes for a node's runtime what its containers need.
fn describe(node: &Node<'_>, plane: &Plane, images: &Value) -> Result<()> {
    let path = |name: &str| node.host.path(&node.dir.join(name));
    let unix = |name: &str| format!("unix:{}", node.dir.join(name).display());
    let sockets = &node.sockets;
    let settings = json!({
        "Folder": path(""),
        "Logs": node.host.path(&plane.logs),
        "Server": plane.api.url,
        "Images": images,
        "Variables": {
            "wincsi-node": {
                "WINCSI_HOST": "sim",
                "WINCSI_SIMULATE": path("node"),
                "WINCSI_STATE_DIR": path("node/records"),
                "WINCSI_ENDPOINT": sockets.csi,
                "WINCSI_REGISTRATION_ENDPOINT": sockets.registration,
                "WINCSI_KUBELET_ENDPOINT": sockets.for_kubelet,
            },
            "wincsi-node-smb": {
                "WINCSI_HOST": "sim",
                "WINCSI_SIMULATE": path("smb"),
                "WINCSI_STATE_DIR": path("smb-records"),
                "WINCSI_ENDPOINT": unix("smb.sock"),
                "WINCSI_REGISTRATION_ENDPOINT":
                    unix("kubelet/plugins_registry/smb.csi.k8s.io-reg.sock"),
                "WINCSI_KUBELET_ENDPOINT": path("smb-translator.sock"),
            },
            "wincsi-csi-proxy": {
                "CSI_PROXY_SIMULATE": path("proxy"),
                "CSI_PROXY_LISTEN": path("pipes"),
            },
        },
    });
    fs::write(node.dir.join(SETTINGS), settings.to_string()).context("write a node's settings")
}

/// Starts kubelet on the node of this number, as one of a system.
pub(super) fn start(
    running: &mut RunningCluster,
    node: &Node<'_>,
    number: usize,
    system: &str,
) -> Result<()> {
    let mut kubelet = node.kubelet();
    let path = |name: &str| node.dir.join(name);
    kubelet.args(["--containers", &node.host.path(&path(SETTINGS))]);
    if let Host::Linux = node.host {
        let [listen, driver] = ["smb-translator.sock", "smb.sock"].map(path);
        kubelet.arg(format!(
            "--driver={}={}",
            listen.display(),
            driver.display()
        ));
    }
    kubelet.env("MACHINE_GOOS", system);
    kubelet.env("MACHINE_LOOPBACK", format!("127.0.0.{number}"));
    running.start(&name(node), &mut kubelet)
}

/// Ends kubelet and all of its containers at once.
pub(super) fn end(running: &mut RunningCluster, node: &Node<'_>) -> Result<()> {
    running.kill(&name(node))
}

fn name(node: &Node<'_>) -> String {
    format!("kubelet-{}", node.name)
}
