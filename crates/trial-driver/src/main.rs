//! The least CSI driver that csi-sanity and a real Kubernetes accept: `examples/driver` behind gRPC.
//!
//! It plays on a simulated node alone, whose disks its controller makes, attaches and grows. So it shows that the
//! library carries a driver, and the harnesses have something to drive before there is a real one. It keeps no
//! records, and answers most failures with `Unavailable`: it is no driver to copy; `examples/driver` is.

mod controller;
mod identity;
mod node;
mod registration;
mod router;
mod volume;

use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use ::node::{Node, Options};
use anyhow::Context as _;
use clap::Parser;
use example_driver::Driver;
use os_sim::{ClockMode, HardwareControl, NodeSpec, SimNode};
use transport::{Endpoint, Server, ServerOptions, Service};

use crate::controller::Controller;
use crate::identity::Identity;
use crate::node::{NodeService, Publishing};
use crate::registration::Registration;
use crate::router::Router;

/// A CSI driver for tests, on a simulated node.
#[derive(Parser)]
struct Arguments {
    /// Where it serves CSI: unix:PATH or tcp://127.0.0.1:PORT.
    #[arg(long)]
    endpoint: Endpoint,
    /// The folder of the simulated node; it is made when there is none.
    #[arg(long)]
    node: PathBuf,
    /// Where it serves kubelet's registration, in the same forms.
    #[arg(long)]
    registration: Option<Endpoint>,
    /// The address of --endpoint as kubelet is to dial it; as given there unless this is said.
    #[arg(long)]
    kubelet_endpoint: Option<String>,
    /// The node's name in Kubernetes.
    #[arg(long, default_value = "trial-node")]
    node_id: String,
    /// Say that a volume is published, and do nothing: what a test of a harness has to find.
    #[arg(long)]
    broken_publish: bool,
}

/// How long calls may run on after a signal.
const DRAIN: Duration = Duration::from_secs(4);

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
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
    let plugin = plugin(arguments)?;
    let mut services = vec![(arguments.endpoint.clone(), service(plugin))];
    if let Some(endpoint) = &arguments.registration {
        let dialled = arguments.kubelet_endpoint.clone();
        let dialled = dialled.unwrap_or_else(|| arguments.endpoint.to_string());
        let registration = Registration::of(dialled).router();
        services.push((endpoint.clone(), service(registration)));
    }
    Ok(Server::bind(services, ServerOptions::default())?)
}

fn plugin(arguments: &Arguments) -> anyhow::Result<Router> {
    let simulated = match SimNode::exists(&arguments.node) {
        true => SimNode::open(&arguments.node, ClockMode::Real)?,
        false => SimNode::create(
            &arguments.node,
            &NodeSpec::named(&arguments.node_id),
            ClockMode::Real,
        )?,
    };
    let node = Arc::new(Node::new(simulated.os(), Options::default()));
    let records = r"C:\var\lib\kubelet\plugins\trial\shares".parse()?;
    let publishing = match arguments.broken_publish {
        true => Publishing::Broken,
        false => Publishing::Works,
    };
    let hardware = HardwareControl::at(&arguments.node);
    let controller = Controller::new(hardware.clone(), &arguments.node_id);
    let service = NodeService {
        driver: Driver::new(node.clone(), records),
        node,
        hardware,
        id: arguments.node_id.clone(),
        publishing,
    };
    let mut router = Router::default();
    Identity.register(&mut router);
    controller.register(&mut router);
    service.register(&mut router);
    Ok(router)
}

fn service(router: Router) -> Arc<dyn Service> {
    Arc::new(router)
}
