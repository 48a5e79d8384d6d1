//! wincsi's node plugin on a simulated node, with a controller that plugs disks in: for csi-sanity and the cluster.
//!
//! The Node service, the records and the registration are those of `wincsi node`. What is here makes, attaches and grows
//! the simulated disks, which no node plugin does.

mod controller;
mod volume;

use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use anyhow::Context as _;
use clap::{Parser, ValueEnum};
use driver::disk::{DiskVolumes, Kubelet};
use driver::kubelet::{Controlling, Identity, NodeInfo, NodeService, Registration, Router};
use driver::machine::Simulated;
use driver::record::Store;
use program::log;
use program::metrics::Calls;
use transport::{Endpoint, Server, ServerOptions, Service};
use wincsi::sim::{ClockMode, HardwareControl, NodeSpec, SimNode};
use wincsi::{Node, Options};
use wire::csi::v1::NodePublishVolumeResponse;
use wire::csi::v1::node::NodePublishVolume;

use crate::controller::Controller;

/// The driver's name in Kubernetes.
const NAME: &str = "trial.wincsi.example.com";

/// Kubelet's folder on the node.
const KUBELET: &str = r"C:\var\lib\kubelet";

/// A CSI driver for tests, on a simulated node.
#[derive(Parser)]
struct Arguments {
    /// Where it serves CSI: unix:PATH or tcp://127.0.0.1:PORT.
    #[arg(long)]
    endpoint: Endpoint,
    /// Which part of the driver it is.
    #[arg(long, value_enum, default_value_t = Part::All)]
    part: Part,
    /// The folder of the simulated node; it is made when there is none.
    #[arg(long)]
    node: PathBuf,
    /// Where it serves kubelet's registration, in the same forms.
    #[arg(long)]
    registration: Option<Endpoint>,
    /// The address of --endpoint as kubelet is to dial it; as given there unless this is set.
    #[arg(long)]
    kubelet_endpoint: Option<String>,
    /// The node's name in Kubernetes.
    #[arg(long, default_value = "trial-node")]
    node_id: String,
    /// Report that a volume is published, and do nothing: what a test of a harness has to find.
    #[arg(long)]
    broken_publish: bool,
}

#[derive(Clone, Copy, Eq, PartialEq, ValueEnum)]
enum Part {
    /// Both.
    All,
    /// What stands on the node.
    Node,
    /// What plugs disks in, beside a process that has the node open.
    Controller,
}

/// How long calls may run on after a signal.
const DRAIN: Duration = Duration::from_secs(4);

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    log::start(&log::Options {
        verbosity: 4,
        ..log::Options::default()
    })?;
    println!(
        "SIMULATED NODE in {}: nothing here touches a real disk",
        arguments.node.display()
    );
    let (stop, stopped) = mpsc::channel();
    let stop = move || {
        let _ = stop.send(());
    };
    ctrlc::set_handler(stop).context("cannot watch for signals")?;
    let server = serve(&arguments)?;
    println!("serving {}", arguments.endpoint);
    let _ = stopped.recv();
    server.shutdown(DRAIN);
    Ok(())
}

fn serve(arguments: &Arguments) -> anyhow::Result<Server> {
    let calls = Arc::<Calls>::default();
    let plugin = plugin(arguments, &calls)?;
    let mut services = vec![(arguments.endpoint.clone(), service(plugin))];
    if let Some(endpoint) = &arguments.registration {
        let dialled = arguments.kubelet_endpoint.clone();
        let dialled = dialled.unwrap_or_else(|| arguments.endpoint.to_string());
        let mut router = Router::counting(&calls);
        Registration::new(NAME, &dialled).register(&mut router);
        services.push((endpoint.clone(), service(router)));
    }
    Ok(Server::bind(services, ServerOptions::default())?)
}

fn plugin(arguments: &Arguments, calls: &Arc<Calls>) -> anyhow::Result<Router> {
    let mut router = Router::counting(calls);
    let identity = Identity {
        name: NAME.to_owned(),
        controlling: Controlling::Somewhere,
    };
    identity.register(&mut router);
    if arguments.part != Part::Controller {
        register_node(arguments, &mut router)?;
    }
    if arguments.part != Part::Node {
        let hardware = HardwareControl::at(&arguments.node);
        Controller::new(hardware, &arguments.node_id).register(&mut router);
    }
    Ok(router)
}

fn register_node(arguments: &Arguments, router: &mut Router) -> anyhow::Result<()> {
    let sim = simulated(arguments)?;
    let node = Arc::new(Node::new(sim.os(), Options::default()));
    let machine = Arc::new(Simulated(sim.files().clone()));
    let kubelet = Kubelet {
        driver_name: NAME.to_owned(),
        folder: KUBELET.parse().ok(),
    };
    let store = Store::open(&arguments.node.join("records"))?;
    let info = NodeInfo {
        id: arguments.node_id.clone(),
        ..NodeInfo::default()
    };
    let volumes = Arc::new(DiskVolumes::new(node, store, machine, kubelet));
    NodeService::new(volumes, info).register(router);
    if arguments.broken_publish {
        router.on::<NodePublishVolume>(|_| Ok(NodePublishVolumeResponse {}));
    }
    Ok(())
}

fn simulated(arguments: &Arguments) -> anyhow::Result<SimNode> {
    let (folder, name) = (&arguments.node, &arguments.node_id);
    Ok(match SimNode::exists(folder) {
        true => SimNode::open(folder, ClockMode::Real)?,
        false => SimNode::create(folder, &NodeSpec::named(name), ClockMode::Real)?,
    })
}

fn service(router: Router) -> Arc<dyn Service> {
    Arc::new(router)
}
