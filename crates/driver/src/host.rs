//! Who does the work on the node.

use std::path::Path;
use std::sync::Arc;

use wincsi::sim::{ClockMode, CreateError, NodeSpec, SimNode};
use wincsi::{Node, NodeApi, NotWindows, Options, pipes};

use crate::flags::{Config, Host};

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
pub fn node(config: &Config) -> Result<Arc<dyn NodeApi>, HostError> {
    Ok(match config.host {
        Host::Native => {
            let os = wincsi::native(crate::NAME)?;
            Arc::new(Node::new(os, Options::default()))
        }
        Host::Proxy => match &config.proxy_sockets {
            Some(folder) => Arc::new(pipes::Node::sockets(folder)),
            None => Arc::new(pipes::Node::pipes()),
        },
        Host::Simulated => {
            let folder = config.simulate.as_deref().ok_or(HostError::NoFolder)?;
            simulated(folder, &config.node_id)?
        }
    })
}

fn simulated(folder: &Path, name: &str) -> Result<Arc<dyn NodeApi>, HostError> {
    tracing::warn!(
        "SIMULATED NODE in {}: nothing here touches a real disk",
        folder.display()
    );
    let node = match SimNode::exists(folder) {
        true => SimNode::open(folder, ClockMode::Real)?,
        false => SimNode::create(folder, &NodeSpec::named(name), ClockMode::Real)?,
    };
    Ok(Arc::new(Node::new(node.os(), Options::default())))
}
