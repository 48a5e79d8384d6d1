//! Who does the work on the node.

use std::path::Path;
use std::sync::Arc;

use wincsi::sim::{ClockMode, CreateError, NodeSpec, SimNode};
use wincsi::{Node, NodeApi, NotWindows, Options, pipes};

use crate::flags::{Config, Host as Mode};
use crate::machine::{Machine, Own, Simulated};

/// The node, and the machine below it.
pub struct Host {
    /// The operations.
    pub node: Arc<dyn NodeApi>,
    /// Kubelet's files and the event log.
    pub machine: Arc<dyn Machine>,
}

/// The node cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// There is no Windows here.
    #[error("{0}: name a simulated node with -host=sim -simulate=FOLDER")]
    NotWindows(#[from] NotWindows),
    /// `-host=sim` needs a folder.
    #[error("-host=sim needs -simulate=FOLDER")]
    NoFolder,
    /// The simulated node does not open.
    #[error("simulated node: {0}")]
    Simulation(#[from] CreateError),
}

/// The node that the configuration names.
///
/// # Errors
/// It cannot be had.
pub fn open(config: &Config) -> Result<Host, HostError> {
    let node: Arc<dyn NodeApi> = match config.host {
        Mode::Native => {
            let os = wincsi::native(crate::EVENT_SOURCE)?;
            Arc::new(Node::new(os, Options::default()))
        }
        Mode::Proxy => match &config.proxy_sockets {
            Some(folder) => Arc::new(pipes::Node::sockets(folder)),
            None => Arc::new(pipes::Node::pipes()),
        },
        Mode::Simulated => {
            let folder = config.simulate.as_deref().ok_or(HostError::NoFolder)?;
            return simulated(folder, &config.node_id);
        }
    };
    let machine = Arc::new(Own);
    Ok(Host { node, machine })
}

fn simulated(folder: &Path, name: &str) -> Result<Host, HostError> {
    tracing::warn!(
        "SIMULATED NODE in {}: nothing here touches a real disk",
        folder.display()
    );
    let node = match SimNode::exists(folder) {
        true => SimNode::open(folder, ClockMode::Real)?,
        false => SimNode::create(folder, &NodeSpec::named(name), ClockMode::Real)?,
    };
    Ok(Host {
        node: Arc::new(Node::new(node.os(), Options::default())),
        machine: Arc::new(Simulated(node.files().clone())),
    })
}
