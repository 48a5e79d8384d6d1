//! A CSI controller for tests, plugging simulated disks into a node of `wincsi node -host=sim`, or of any other
//! process, and making LUNs of the server beside it: the two share the node's folder.

mod luns;
mod service;
mod shares;
mod volume;

use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use driver::kubelet::{Identity, Router};
use program::log;
use transport::{Endpoint, Server, ServerOptions};

use self::service::Controller;

/// A CSI controller for tests: it makes, attaches and grows the disks of a simulated node, and makes LUNs.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Where it serves CSI: unix:PATH or tcp://127.0.0.1:PORT.
    #[arg(long)]
    endpoint: Endpoint,
    /// The folder of the simulated node.
    #[arg(long)]
    node: PathBuf,
    /// The node's id, as its plugin reports it.
    #[arg(long)]
    node_id: String,
    /// Where the controller of shares serves CSI. Without it there are none.
    #[arg(long)]
    shares: Option<Endpoint>,
}

/// How long calls may run on after a signal.
const DRAIN: Duration = Duration::from_secs(4);

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    log::start(&log::Options {
        verbosity: 4,
        ..log::Options::default()
    })?;
    let (stop, stopped) = mpsc::channel();
    let stop = move || {
        let _ = stop.send(());
    };
    ctrlc::set_handler(stop).context("cannot watch for signals")?;
    let server = serve(arguments)?;
    println!("serving {}", arguments.endpoint);
    let _ = stopped.recv();
    server.shutdown(DRAIN);
    Ok(())
}

fn serve(arguments: &Arguments) -> anyhow::Result<Server> {
    let mut router = Router::default();
    let identity = Identity {
        name: driver::NAME.to_owned(),
        has_controller: true,
        has_topology: false,
    };
    identity.register(&mut router);
    let shares = arguments.shares.clone();
    Controller::new(&arguments.node, &arguments.node_id, shares).register(&mut router);
    let services = vec![(arguments.endpoint.clone(), Arc::new(router) as _)];
    Ok(Server::bind(services, ServerOptions::default())?)
}
