//! From a configuration to a running driver.

mod pages;
mod probe;
mod reconcile;
mod registrar;

use std::env;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use program::http::HttpServer;
use program::metrics::Calls;
use transport::{BindError, DrainReport, Endpoint, Server, ServerOptions, SocketFolder};
use wincsi::{Error, NodeApi};
use wire::csi::v1::NodeGetInfoResponse;

use self::pages::Pages;
use self::probe::NodeProbe;
use self::reconcile::Reconciled;
use self::registrar::{Keeper, Registrar};
use crate::admission::Admission;
use crate::doctor::{Doctor, Periodic};
use crate::flags::{self, Config};
use crate::host::{self, Host, HostError, Placement};
use crate::in_flight::CALLS;
use crate::kinds::{self, Row};
use crate::kubelet::{Identity, Registration, Router, serve_node};
use crate::life::{Kubelet, Volumes};
use crate::lifecycle;
use crate::record::{Store, StoreError};

/// How long the firmware may take to report its UUID.
const FIRMWARE: Duration = Duration::from_secs(30);

/// How long a process may take to end after the calls that it drains.
const END: Duration = Duration::from_secs(2);

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Bind(#[from] BindError),
    #[error(transparent)]
    Host(#[from] HostError),
    #[error("-nodeid is empty, and the firmware reports no UUID: {0}")]
    NodeId(Error),
    #[error("a tcp endpoint needs -state-dir")]
    NoRecords,
    #[error(transparent)]
    Records(#[from] StoreError),
}

/// A driver that serves. Dropping it ends all at once.
pub struct RunningServer {
    server: Option<Arc<Server>>,
    pages: Option<HttpServer>,
    health: Option<HttpServer>,
    keeper: Option<Keeper>,
    _looks: Periodic,
    _site: Arc<Pages>,
}

/// Starts serving: CSI answers when this returns, and kubelet finds the registration.
pub fn start(config: &Config) -> Result<RunningServer, StartError> {
    let variables = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    flags::stray_variables(variables).for_each(|warning| tracing::warn!("{warning}"));
    let placement = Placement::by(|name| env::var(name).ok());
    // First: the process before this one may work on the node until it ends.
    let kinds = kinds::table(config.kinds.clone());
    let store = records(config, &kinds)?;
    let Host { node, machine } = host::open(config, &placement)?;
    let info = info(config, node.as_ref())?;
    let kubelet = Kubelet {
        driver_name: config.driver_name.clone(),
        folder: config.kubelet_folder(),
    };
    let volumes = Volumes::new(Arc::clone(&node), store, machine, kubelet, kinds);
    let volumes = Arc::new(volumes);
    let (calls, admission) = (Arc::<Calls>::default(), Arc::<Admission>::default());
    let mut router = Router::new(&calls, &admission);
    identity(config).register(&mut router);
    serve_node(&volumes, info, &mut router);
    lifecycle::serve(&admission, &mut router);
    let doctor = Doctor::new(&volumes, config.own_registry());
    doctor.serve(&mut router);
    let services = vec![(config.csi_endpoint(), Arc::new(router) as _)];
    let server = Arc::new(Server::bind(services, options())?);
    tracing::info!(
        "serving CSI as {} at {}",
        config.driver_name,
        config.csi_endpoint()
    );
    // The last step: what kubelet finds has to answer, and so has all that it calls then.
    let keeper = registered(config, &calls, &admission);
    let registrar = keeper.as_ref().map(|keeper| Arc::clone(&keeper.registrar));
    teach(&doctor, registrar.clone());
    let looks = Periodic::of(&doctor);
    let site = Arc::new(Pages {
        calls,
        admission,
        doctor,
        registrar,
        server: Arc::clone(&server),
        reconciled: Reconciled::in_background(&volumes),
        probe: NodeProbe::of(node, &config.kubelet_path),
        volumes,
    });
    let (pages, health) = site.serve(config);
    Ok(RunningServer {
        server: Some(server),
        pages,
        health,
        keeper,
        _looks: looks,
        _site: site,
    })
}

/// Of the sockets of CSI.
fn options() -> ServerOptions {
    let mut options = ServerOptions::default();
    // Kubelet makes a connection for each call.
    options.quiet_clients = true;
    // The records lie beside the socket, unless a flag says where.
    options.socket_folder = SocketFolder::OwnWithFiles;
    options.max_process_calls = CALLS;
    // `wincsi node drain` is another process.
    options.max_running_calls = CALLS + options.reserved_calls;
    options
}

/// The doctor asks the registrar that registers the driver here; without one a sidecar does.
fn teach(doctor: &Doctor, registrar: Option<Arc<Registrar>>) {
    doctor.learn_registration(move || Some(registrar.as_ref()?.require_registered()));
}

/// Waits for a process that is being stopped, which has `-drain-timeout` for its calls.
fn records(config: &Config, kinds: &[Row]) -> Result<Store, StartError> {
    let folder = config.records().ok_or(StartError::NoRecords)?;
    let patience = config.drain_timeout.saturating_add(END);
    Ok(Store::open_within(&folder, &Row::forms(kinds), patience)?)
}

fn info(config: &Config, node: &dyn NodeApi) -> Result<NodeGetInfoResponse, StartError> {
    let id = match config.node_id.as_str() {
        "" => {
            let uuid = node.system().uuid(node.deadline(FIRMWARE));
            uuid.map_err(StartError::NodeId)?
        }
        id => id.to_owned(),
    };
    Ok(NodeGetInfoResponse {
        node_id: id,
        max_volumes_per_node: config.max_volumes,
        accessible_topology: config.topology.message(),
    })
}

fn identity(config: &Config) -> Identity {
    Identity {
        name: config.driver_name.clone(),
        has_controller: config.has_controller,
        has_topology: config.topology.message().is_some(),
    }
}

fn registered(config: &Config, calls: &Arc<Calls>, admission: &Arc<Admission>) -> Option<Keeper> {
    if !config.registers {
        return None;
    }
    let (clock, endpoint) = (Arc::new(Instant::now), dialled(config));
    let registration = Registration::new(clock, &config.driver_name, &endpoint);
    let registration = Arc::new(registration);
    let mut router = Router::new(calls, admission);
    registration.register(&mut router);
    let registrar = Registrar {
        endpoint: config.registry_endpoint(),
        service: Arc::new(router),
        registration,
        admission: Arc::clone(admission),
        patience: config.registration_timeout,
        served: Default::default(),
        trouble: Default::default(),
    };
    registrar.begin();
    Some(Keeper::of(registrar))
}

/// How kubelet dials CSI: the path of a socket as it is, which old kubelets take for one.
fn dialled(config: &Config) -> String {
    let served = || match config.csi_endpoint() {
        Endpoint::Socket(path) => path.display().to_string(),
        endpoint => endpoint.to_string(),
    };
    config.kubelet_endpoint.clone().unwrap_or_else(served)
}

impl RunningServer {
    /// Where the pages are served, if they are by now.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.pages.as_ref().and_then(HttpServer::address)
    }

    /// Where the pages are served for probes, if they are by now.
    pub fn health_address(&self) -> Option<SocketAddr> {
        self.health.as_ref().and_then(HttpServer::address)
    }

    /// Accepts no more, and waits for the calls that run, but not longer than `drain`. The registration socket's file
    /// stays, so that kubelet keeps the driver in CSINode until the next process replaces it.
    #[must_use]
    pub fn shutdown(mut self, drain: Duration) -> Option<DrainReport> {
        // First: a kubelet that registers the driver now would call a CSI that refuses.
        self.keeper = None;
        self.server.take().map(|server| server.shutdown(drain))
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        self.keeper = None;
        if let Some(server) = self.server.take() {
            let _ = server.shutdown(Duration::ZERO);
        }
    }
}
