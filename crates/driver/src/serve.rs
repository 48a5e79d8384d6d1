//! From a configuration to a running driver.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use program::http::{Detail, HttpServer, Page, Site, Status};
use program::metrics::{self, Calls, Exposition};
use transport::{BindError, DrainReport, Endpoint, Server, ServerOptions, Service};
use wincsi::{Error, NodeApi};

use crate::disk::{DiskVolumes, Kubelet};
use crate::flags::{Config, Registering};
use crate::host::{self, Host, HostError};
use crate::kubelet::{Controlling, Identity, NodeInfo, NodeService, Registration, Router};
use crate::record::{Store, StoreError};

/// How long the firmware may take to report its UUID.
const FIRMWARE: Duration = Duration::from_secs(30);

/// Why the driver did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An endpoint cannot be served.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The node cannot be had.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The node has no id.
    #[error("-nodeid is empty, and the firmware reports no UUID: {0}")]
    NodeId(Error),
    /// Nothing says where records go.
    #[error("a tcp endpoint needs -state-dir")]
    NoRecords,
    /// The records cannot be read.
    #[error(transparent)]
    Records(#[from] StoreError),
}

/// A driver that serves. Dropping it ends all at once.
pub struct RunningServer {
    server: Option<Arc<Server>>,
    pages: Option<HttpServer>,
}

/// Starts serving: CSI answers when this returns, and kubelet finds the registration.
///
/// # Errors
/// See [`StartError`].
pub fn start(config: &Config) -> Result<RunningServer, StartError> {
    let Host { node, machine } = host::open(config)?;
    let info = info(config, node.as_ref())?;
    let store = Store::open(&config.records().ok_or(StartError::NoRecords)?)?;
    let calls = Arc::<Calls>::default();
    let registration = Registration::new(&config.driver_name, &dialled(config));
    let kubelet = Kubelet {
        driver_name: config.driver_name.clone(),
        folder: config.kubelet_folder(),
    };
    let volumes = Arc::new(DiskVolumes::new(node, store, machine, kubelet));
    let mut services = vec![(config.csi_endpoint(), csi(config, volumes, info, &calls))];
    if config.registration == Registering::Itself {
        services.push((config.registry_endpoint(), registry(&registration, &calls)));
    }
    let server = Arc::new(Server::bind(services, ServerOptions::default())?);
    tracing::info!(
        "serving CSI as {} at {}",
        config.driver_name,
        config.csi_endpoint()
    );
    let site = Pages {
        calls,
        is_expected: config.registration == Registering::Itself,
        registration,
        server: Arc::clone(&server),
    };
    let serve = |address| HttpServer::start(address, Arc::new(site), PAGES);
    let pages = config.metrics_address.as_ref().map(serve);
    let server = Some(server);
    Ok(RunningServer { server, pages })
}

fn info(config: &Config, node: &dyn NodeApi) -> Result<NodeInfo, StartError> {
    let id = match config.node_id.as_str() {
        "" => {
            let uuid = node.system().uuid(node.deadline(FIRMWARE));
            uuid.map_err(StartError::NodeId)?
        }
        id => id.to_owned(),
    };
    Ok(NodeInfo {
        id,
        max_volumes: config.max_volumes,
        luns: config.azure_luns,
        topology: config.topology.clone(),
    })
}

/// How kubelet dials CSI: the path of a socket as it is, which old kubelets take for one.
fn dialled(config: &Config) -> String {
    let served = || match config.csi_endpoint() {
        Endpoint::Socket(path) => path.display().to_string(),
        endpoint => endpoint.to_string(),
    };
    config.kubelet_endpoint.clone().unwrap_or_else(served)
}

fn csi(
    config: &Config,
    volumes: Arc<DiskVolumes>,
    info: NodeInfo,
    calls: &Arc<Calls>,
) -> Arc<dyn Service> {
    let mut router = Router::counting(calls);
    let identity = Identity {
        name: config.driver_name.clone(),
        controlling: Controlling::Nowhere,
    };
    identity.register(&mut router);
    NodeService::new(volumes, info).register(&mut router);
    Arc::new(router)
}

fn registry(registration: &Registration, calls: &Arc<Calls>) -> Arc<dyn Service> {
    let mut router = Router::counting(calls);
    registration.register(&mut router);
    Arc::new(router)
}

impl RunningServer {
    /// Where the pages are served, if they are by now.
    #[must_use]
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.pages.as_ref().and_then(HttpServer::address)
    }

    /// Accepts no more, and waits for the calls that run, but not longer than `drain`.
    #[must_use]
    pub fn shutdown(mut self, drain: Duration) -> Option<DrainReport> {
        self.server.take().map(|server| server.shutdown(drain))
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            let _ = server.shutdown(Duration::ZERO);
        }
    }
}

const PAGES: &str = "/metrics, /healthz and /readyz";

struct Pages {
    calls: Arc<Calls>,
    is_expected: bool,
    registration: Registration,
    server: Arc<Server>,
}

impl Site for Pages {
    /// That the process lives: no lock and no storage, so that no dead server has it restarted.
    fn at_once(&self, path: &str) -> Option<Page> {
        (path == "/healthz").then(|| Page::text(Status::Ok, "ok\n"))
    }

    fn page(&self, path: &str, _detail: Detail) -> Option<Page> {
        match path {
            "/metrics" => Some(self.metrics()),
            "/readyz" => Some(self.readiness()),
            _ => None,
        }
    }
}

impl Pages {
    fn metrics(&self) -> Page {
        let mut page = Exposition::default();
        self.calls.render(&mut page);
        metrics::render_usage(&mut page, self.server.usage());
        metrics::render_process(&mut page);
        Page {
            status: Status::Ok,
            content_type: metrics::CONTENT_TYPE,
            body: page.into_text(),
        }
    }

    fn readiness(&self) -> Page {
        match self.is_expected && !self.registration.is_registered() {
            true => Page::text(
                Status::Unavailable,
                "kubelet has not registered the driver\n",
            ),
            false => Page::text(Status::Ok, "ok\n"),
        }
    }
}
