//! From a configuration to a running server.

use std::any::Any;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{env, io};

use node::{Kept, Node, Waits};
use os::{Facility, Os, WinPath};
use os_sim::{ClockMode, CreateError, SimNode};
use program::http::HttpServer;
use transport::{
    BindError, DrainReport, Endpoint, EndpointError, EndpointFailure, Server, ServerOptions,
    Waiting,
};
use wire::Group;

use crate::disk_guards::DiskGuards;
use crate::flags::Config;
use crate::health::Health;
use crate::metrics::NodeKind;
use crate::monitoring::{self, Monitored, SharedServer};
use crate::paths::{WorkingDirError, WorkingDirs};
use crate::reclaim::Reclaiming;
use crate::{Middleware, MiddlewareError, PipeOperations, groups, pipe_security};

#[cfg_attr(windows, path = "native/windows.rs")]
#[cfg_attr(not(windows), path = "native/elsewhere.rs")]
mod native;

/// Starts serving by the configuration. All endpoints answer when this returns, except those served by another process:
/// these are logged, make the server unready, and are tried until they are free.
///
/// # Errors
/// A working folder is no path, there is no node to serve (outside Windows, without a simulated one), or the policy,
/// the audit log or an endpoint is unavailable; or other processes serve all endpoints. An unavailable HTTP address is
/// no error: it is logged and tried again.
pub fn start(config: &Config) -> Result<RunningServer, StartError> {
    let working_dirs = working_dirs(config)?;
    let middleware = Middleware::open(config)?;
    let os = os_meter::metered(node_of(config)?, &middleware.metrics().meter());
    let server = node::Server {
        kept: kept(config, &working_dirs),
        waits: Arc::new(RunningSlots),
        notes: config.state_dir.clone(),
    };
    let node = Node::in_server(os, options(config), server);
    // It is not set before: the metrics are this server's own.
    let _ = middleware.metrics().node.set(node.clone());
    let disk_guards = DiskGuards::start(node.clone());
    let operations = Arc::new(PipeOperations::new(node, working_dirs));
    operations.clear_leftovers();
    let services = groups::registry().into_services(&operations, &middleware);
    prepare(&config.listen)?;
    let endpoints = services
        .into_iter()
        .map(|(group, service)| {
            let endpoint = Endpoint::local(&config.listen, &group.pipe_name())?;
            Ok((group, endpoint, service))
        })
        .collect::<Result<Vec<_>, EndpointError>>()?;
    let names: Vec<_> = endpoints
        .iter()
        .map(|(group, endpoint, _)| (*group, endpoint.clone()))
        .collect();
    let endpoints = endpoints
        .into_iter()
        .map(|(_, endpoint, service)| (endpoint, service));
    let options = server_options(config);
    warn_of_other_servers(&options.security);
    let server = Server::bind_free(endpoints.collect(), options)?;
    tracing::info!(
        "serving {}; require-privacy={}, working directories: {:?}, for volumes also: {:?}",
        served(&names, &server.taken()),
        config.require_privacy,
        config.roots(),
        config.volume_dirs
    );
    let names = names
        .into_iter()
        .map(|(group, endpoint)| (group.name, endpoint));
    let monitored = Monitored {
        node: kind(config),
        metrics: Arc::clone(middleware.metrics()),
        health: Health::new(kind(config), names.collect()),
        disk_guards,
        server: SharedServer::new(server),
    };
    Ok(RunningServer::new(config, monitored))
}

fn working_dirs(config: &Config) -> Result<WorkingDirs, WorkingDirError> {
    let working_dirs = WorkingDirs::parse(config.roots())?;
    let with_volumes = working_dirs.with_volume_dirs(config.volume_dirs.clone())?;
    Ok(with_volumes.confined_by(config.confinement))
}

/// A call waiting for another leaves its place among the running calls.
struct RunningSlots;

impl Waits for RunningSlots {
    fn begin(&self) -> Option<Box<dyn Any>> {
        let waiting = Waiting::begin();
        waiting.map(|waiting| Box::new(waiting) as Box<dyn Any>)
    }
}

/// The served groups and versions, in one line.
fn served(names: &[(&Group, Endpoint)], taken: &[Endpoint]) -> String {
    let served = names
        .iter()
        .filter(|(_, endpoint)| !taken.contains(endpoint))
        .map(|(group, _)| group.to_string());
    served.collect::<Vec<_>>().join(" ")
}

/// A server with its pages and threads. Dropping it closes all at once.
pub struct RunningServer {
    server: SharedServer,
    /// The address of `/metrics` and the pages of health, where they are served.
    metrics: Option<HttpServer>,
    health: Option<HttpServer>,
    _reclaiming: Option<Reclaiming>,
}

impl RunningServer {
    fn new(config: &Config, monitored: Monitored) -> Self {
        let server = monitored.server.clone();
        let monitored = Arc::new(monitored);
        let metrics = config.metrics_address.as_ref();
        let health = config.healthz_address.as_ref();
        Self {
            metrics: metrics.map(|address| monitoring::serve_all(address, &monitored)),
            health: health.map(|address| monitoring::serve_health(address, &monitored)),
            _reclaiming: Reclaiming::start(&server),
            server,
        }
    }

    /// Where `/metrics` and the pages of health are served, if they are by now.
    #[must_use]
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics.as_ref().and_then(HttpServer::address)
    }

    /// Where the pages of health alone are served, if it is by now.
    #[must_use]
    pub fn healthz_address(&self) -> Option<SocketAddr> {
        self.health.as_ref().and_then(HttpServer::address)
    }

    /// Accepts no more, and waits for running calls, but not longer than `drain`; see
    /// [`Server::shutdown`]. The pages are served until then.
    #[must_use]
    pub fn shutdown(self, drain: Duration) -> Option<DrainReport> {
        self.server.take().map(|server| server.shutdown(drain))
    }
}

impl Drop for RunningServer {
    /// Others share the server, and may be using it; it ends here all the same.
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            let _ = server.shutdown(Duration::ZERO);
        }
    }
}

/// Why the server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An endpoint cannot be had.
    #[error("{0}{advice}", advice = advice(.0))]
    Bind(BindError),
    /// The folder for sockets is no absolute path.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// The folder for sockets cannot be made.
    #[error("socket folder {folder}: {source}")]
    Folder {
        folder: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// This system is no Windows.
    #[error(
        "only Windows has disks, shares and services that can be served: name a simulated node with -simulate=FOLDER"
    )]
    NoBackend,
    /// The requested facility cannot be native beside a simulated node.
    #[error("facility {0} cannot be this system's own beside a simulated node")]
    NotNative(Facility),
    /// The policy or the audit log is unavailable.
    #[error(transparent)]
    Middleware(#[from] MiddlewareError),
    /// The simulated node does not open.
    #[error("simulated node: {0}")]
    Simulation(#[from] CreateError),
    /// A working folder is no path.
    #[error(transparent)]
    WorkingDir(#[from] WorkingDirError),
}

impl From<BindError> for StartError {
    fn from(error: BindError) -> Self {
        Self::Bind(error)
    }
}

/// Advice for pipes that this account may not serve: csi-proxy's Go server lets any account serve its pipes; these
/// belong to SYSTEM and Administrators.
fn advice(error: &BindError) -> &'static str {
    let is_refused = |failure: &EndpointFailure| {
        let is_pipe = matches!(failure.endpoint, Endpoint::Pipe(_));
        is_pipe && failure.source.kind() == io::ErrorKind::PermissionDenied
    };
    match error {
        BindError::Endpoints(failures) if failures.iter().any(is_refused) => {
            "; the pipes are for SYSTEM and Administrators to serve: start as one of them, or name an owner and GA for this account by -pipe-security"
        }
        _ => "",
    }
}

/// Windows serves itself. A simulated node runs only by its flag, and says so: nobody may take it for a real one.
fn node_of(config: &Config) -> Result<Os, StartError> {
    match &config.simulate {
        Some(folder) => simulated_node(folder, &config.native),
        None => this_machine(),
    }
}

fn this_machine() -> Result<Os, StartError> {
    let os = native::node().ok_or(StartError::NoBackend)?;
    tracing::info!("native node: the disks, shares and services of this machine");
    Ok(os)
}

fn simulated_node(folder: &Path, natives: &[Facility]) -> Result<Os, StartError> {
    tracing::warn!(
        "SIMULATED NODE in {}: nothing here touches a real disk",
        folder.display()
    );
    let mut os = simulated(folder)?.os();
    for &facility in natives {
        os = native::take(os, facility).ok_or(StartError::NotNative(facility))?;
    }
    Ok(os)
}

fn kind(config: &Config) -> NodeKind {
    match config.simulate {
        Some(_) => NodeKind::Simulated,
        None => NodeKind::Windows,
    }
}

/// A folder without a node gets the demo's.
fn simulated(folder: &Path) -> Result<SimNode, CreateError> {
    if SimNode::exists(folder) {
        return SimNode::open(folder, ClockMode::Real);
    }
    os_sim::demo::create(folder, ClockMode::Real)
}

fn options(config: &Config) -> node::Options {
    let mut options = node::Options::default();
    options.disk_guard = config.disk_guard;
    options.format_guard = config.format_guard;
    options.privacy = match config.require_privacy {
        true => node::Privacy::New,
        false => node::Privacy::Unasked,
    };
    options
}

/// Paths that a volume must not hold to be formatted over its filesystem; `None`, and then none is, if one of these
/// paths is unknown.
fn kept(config: &Config, working_dirs: &WorkingDirs) -> Option<Kept> {
    match own_files(config) {
        Ok(files) => Some(Kept {
            working_folders: working_dirs.roots().to_vec(),
            files,
        }),
        Err(error) => {
            tracing::warn!("no volume that has a filesystem is formatted: {error}");
            None
        }
    }
}

/// The paths of this program and its files, as far as they can be on a volume of the node.
fn own_files(config: &Config) -> io::Result<Vec<WinPath>> {
    let program = env::current_exe()?;
    let log = config.log.files();
    let named = [
        Some(&program),
        config.audit_log.as_ref(),
        log.as_ref(),
        config.policy_file.as_ref(),
    ];
    let own = named
        .into_iter()
        .flatten()
        .map(|path| native::on_node(path));
    let mut own = own.collect::<io::Result<Vec<_>>>()?;
    own.push(config.state_dir.clone());
    Ok(own.into_iter().flatten().collect())
}

fn server_options(config: &Config) -> ServerOptions {
    let mut options = ServerOptions::default();
    options.call_timeout = config.call_timeout;
    options.max_held_bytes = config.max_held_bytes;
    options.max_idle = config.max_connection_idle;
    options.metadata = Some(wire::FORMAT_GUARD);
    if let Some(security) = &config.pipe_security {
        options.security.clone_from(security);
    }
    options
}

fn warn_of_other_servers(security: &str) {
    let others = pipe_security::others_who_serve(security);
    if !others.is_empty() {
        tracing::warn!(
            "-pipe-security lets others serve the pipes too, and so receive what drivers send ({}): to let them call alone, give them 0x12019b",
            others.join(", ")
        );
    }
}

fn prepare(folder: &Path) -> Result<(), StartError> {
    native::socket_folder(folder).map_err(|source| StartError::Folder {
        folder: folder.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use std::io;

    use transport::{BindError, Endpoint, EndpointFailure};

    use super::{StartError, server_options};
    use crate::flags::{self, Invocation};

    /// As a person's account gets it: Go's server lets any account serve its own pipes.
    #[test]
    fn a_start_that_may_not_serve_its_pipes_says_what_to_do() {
        let text = |endpoint: &Endpoint, kind: io::ErrorKind| {
            let failure = EndpointFailure {
                endpoint: endpoint.clone(),
                source: kind.into(),
            };
            StartError::from(BindError::Endpoints(vec![failure])).to_string()
        };
        let pipe = Endpoint::pipe("csi-proxy-disk-v1").expect("a name");
        let denied = text(&pipe, io::ErrorKind::PermissionDenied);
        assert!(denied.contains("csi-proxy-disk-v1: ") && denied.contains("-pipe-security"));
        assert!(!text(&pipe, io::ErrorKind::AddrInUse).contains("-pipe-security"));
        let socket = Endpoint::socket("/run/x");
        let denied = text(&socket, io::ErrorKind::PermissionDenied);
        assert!(!denied.contains("-pipe-security"), "{denied}");
    }

    /// Guards: P1
    #[test]
    fn pipes_get_the_security_of_the_flag() {
        let security = |line: &[&str]| {
            let line = line.iter().map(|&flag| flag.to_owned());
            match flags::parse(line) {
                Ok(Invocation::Serve(config)) => server_options(&config).security,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(security(&[]), "O:BAD:P(A;;GA;;;SY)(A;;GA;;;BA)");
        let flag = "-pipe-security=D:P(A;;GA;;;SY)(A;;GRGW;;;LS)";
        assert_eq!(security(&[flag]), "D:P(A;;GA;;;SY)(A;;GRGW;;;LS)");
    }
}
