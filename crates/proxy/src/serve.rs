//! From a configuration to a running server.

use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use node::Node;
use os::Os;
use os_sim::ClockMode;
use os_sim::CreateError;
use os_sim::SimNode;
use transport::BindError;
use transport::EndpointError;
use transport::Server;
use transport::ServerOptions;

use crate::Operations;
use crate::flags::Config;
use crate::groups;
use crate::paths::WorkingDirError;
use crate::paths::WorkingDirs;

#[cfg_attr(windows, path = "native/windows.rs")]
#[cfg_attr(not(windows), path = "native/elsewhere.rs")]
mod native;

/// Starts serving as the configuration says. All endpoints answer when this returns.
///
/// # Errors
/// A working folder is no path, there is no node to serve, or an endpoint cannot be had.
pub fn start(config: &Config) -> Result<Server, StartError> {
    let working_dirs = WorkingDirs::parse(config.roots())?.reaching(config.reach);
    let node = Node::new(node_of(config)?, options(config));
    let operations = Arc::new(Operations::new(node, working_dirs));
    let services = groups::registry().into_services(&operations);
    prepare(&config.listen)?;
    let served: Vec<_> = services
        .iter()
        .map(|(group, _)| group.to_string())
        .collect();
    let endpoints = services
        .into_iter()
        .map(|(group, service)| Ok((client::endpoint(&config.listen, group)?, service)))
        .collect::<Result<_, EndpointError>>()?;
    let server = Server::bind(endpoints, server_options(config))?;
    tracing::info!(
        "serving {}; require-privacy={}, working directories: {:?}",
        served.join(" "),
        config.require_privacy,
        config.roots()
    );
    Ok(server)
}

/// Why the server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An endpoint cannot be had.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The folder for sockets is no absolute path.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// The folder for sockets cannot be made.
    #[error("socket folder {folder}: {source}")]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There is no native storage backend on this system.
    #[error(
        "no native storage backend on this system yet: name a simulated node with -simulate=FOLDER"
    )]
    NoBackend,
    /// A facility was asked for natively that has no native implementation here.
    #[error("facility {0} has no native implementation on this system")]
    NotNative(os::Facility),
    /// The simulated node does not open.
    #[error("simulated node: {0}")]
    Simulation(#[from] CreateError),
    /// A working folder is no path.
    #[error(transparent)]
    WorkingDir(#[from] WorkingDirError),
}

/// A simulated node runs only when it is named, and says so: nobody may take it for a real one.
fn node_of(config: &Config) -> Result<Os, StartError> {
    let Some(folder) = &config.simulate else {
        return Err(StartError::NoBackend);
    };
    tracing::warn!(
        "SIMULATED NODE in {}: nothing here touches a real disk",
        folder.display()
    );
    let mut os = simulated(folder)?.os();
    for facility in &config.native {
        os = native::take(os, *facility).ok_or(StartError::NotNative(*facility))?;
    }
    Ok(os)
}

/// A folder without a node gets the one that the demo plays on.
fn simulated(folder: &Path) -> Result<SimNode, CreateError> {
    if SimNode::exists(folder) {
        return SimNode::open(folder, ClockMode::Real);
    }
    os_sim::demo::create(folder, ClockMode::Real)
}

fn options(config: &Config) -> node::Options {
    node::Options {
        format_guard: config.format_guard,
        require_privacy: config.require_privacy,
    }
}

fn server_options(config: &Config) -> ServerOptions {
    let mut options = ServerOptions::default();
    options.call_timeout = config.call_timeout;
    if let Some(security) = &config.pipe_security {
        options.security.clone_from(security);
    }
    options
}

fn prepare(folder: &Path) -> Result<(), StartError> {
    native::socket_folder(folder).map_err(|source| StartError::Folder {
        folder: folder.to_owned(),
        source,
    })
}
