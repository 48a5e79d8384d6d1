//! A server on a simulated node with an iSCSI server nearby and services of its own.

use std::fs;
use std::path::Path;

use os_sim::iscsi::IscsiControl;
use os_sim::{ClockMode, NodeSpec, ServiceSpec, SimNode, Start, demo};

use crate::support::Proxy;

pub(crate) use os_sim::demo::{
    ISCSI_ADDRESS as ADDRESS, ISCSI_GUARDED_TARGET as GUARDED, ISCSI_PROOF as PROOF,
    ISCSI_SECRET as SECRET, ISCSI_TARGET as OPEN,
};
pub(crate) const SERIAL: &str = "VMware-56 4d 01 02 03 04 05 06-07 08 09 0a 0b 0c 0d 0e";

/// A node whose initiator service starts by itself, served.
pub(crate) fn proxy() -> Proxy {
    proxy_of(&spec())
}

pub(crate) fn proxy_of(spec: &NodeSpec) -> Proxy {
    Proxy::start_on(|node| prepare(node, spec))
}

/// The servers around the node.
pub(crate) fn servers(proxy: &Proxy) -> IscsiControl {
    IscsiControl::at(proxy.node())
}

/// The demo's node with this specification, from its next start on.
fn prepare(node: &Path, spec: &NodeSpec) {
    let demo = demo::create(node, ClockMode::Real).expect("the demo's node");
    demo.kill();
    drop(demo);
    let text = toml::to_string(spec).expect("a node's specification");
    fs::write(node.join("node.toml"), text).expect("it can be written");
    let node = SimNode::open(node, ClockMode::Real).expect("it opens");
    node.reboot().expect("it starts");
    node.kill();
}

/// A node whose initiator service starts by itself.
pub(crate) fn spec() -> NodeSpec {
    let mut spec = NodeSpec {
        serial: format!(" {SERIAL}  "),
        ..NodeSpec::named("node-1")
    };
    for service in &mut spec.service {
        if service.name == "MSiSCSI" {
            service.start = Start::Automatic;
        }
    }
    spec.service.push(service("base", &[]));
    spec.service.push(service("left", &["base"]));
    spec.service.push(service("right", &["base"]));
    spec.service.push(service("top", &["left", "right"]));
    spec
}

fn service(name: &str, depends_on: &[&str]) -> ServiceSpec {
    ServiceSpec {
        command: None,
        name: name.to_owned(),
        display_name: format!("The {name}"),
        start: Start::Automatic,
        depends_on: depends_on.iter().map(|&name| name.to_owned()).collect(),
        dies_at_start: false,
    }
}
