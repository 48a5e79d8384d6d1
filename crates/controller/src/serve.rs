//! From a configuration to a running controller.

use std::env;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use driver::admission::Admission;
use driver::kubelet::{Identity, Router};
use program::http::{Detail, HttpServer, Page, Site, Status};
use program::metrics::{self, Calls, Exposition};
use transport::{BindError, DrainReport, Server, ServerOptions};

use crate::flags::Config;
use crate::service::Controller;

const PATHS: &str = "/metrics, /healthz and /readyz";

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Bind(#[from] BindError),
    #[error("-endpoint is empty")]
    NoEndpoint,
}

/// A controller that serves. Dropping it ends all at once.
pub struct RunningServer {
    server: Option<Arc<Server>>,
    pages: Option<HttpServer>,
}

/// Starts serving: CSI answers when this returns.
pub fn start(config: &Config) -> Result<RunningServer, StartError> {
    let variables = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let strays = program::flags::stray_variables::<Config>(variables);
    strays.for_each(|warning| tracing::warn!("{warning}"));
    let endpoint = config.endpoint.clone().ok_or(StartError::NoEndpoint)?;
    let (calls, admission) = (Arc::<Calls>::default(), Arc::<Admission>::default());
    let mut router = Router::new(&calls, &admission);
    let identity = Identity {
        name: config.driver_name.clone(),
        has_controller: true,
        has_topology: false,
    };
    identity.register(&mut router);
    let controller = Arc::new(Controller::new(config));
    controller.register(&mut router);
    let services = vec![(endpoint.clone(), Arc::new(router) as _)];
    let mut options = ServerOptions::default();
    // Sidecars that restart are no lines of the log.
    options.quiet_clients = true;
    let server = Arc::new(Server::bind(services, options)?);
    tracing::info!("serving CSI as {} at {endpoint}", config.driver_name);
    let site = Pages {
        calls,
        server: Arc::clone(&server),
        controller,
    };
    let serve = |address| HttpServer::start(address, Arc::new(site), PATHS);
    let pages = config.metrics_address.as_ref().map(serve);
    Ok(RunningServer {
        server: Some(server),
        pages,
    })
}

struct Pages {
    calls: Arc<Calls>,
    server: Arc<Server>,
    controller: Arc<Controller>,
}

impl Site for Pages {
    /// That the process lives; whether a server of files does is no reason to start it again.
    fn at_once(&self, path: &str) -> Option<Page> {
        let is_known = ["/healthz", "/readyz"].contains(&path);
        is_known.then(|| Page::text(Status::Ok, "ok\n"))
    }

    fn page(&self, path: &str, _detail: Detail) -> Option<Page> {
        (path == "/metrics").then(|| self.metrics())
    }
}

impl Pages {
    fn metrics(&self) -> Page {
        let mut page = Exposition::default();
        self.calls.render(&mut page);
        metrics::render_usage(&mut page, self.server.usage());
        metrics::render_process(&mut page);
        self.controller.render(&mut page);
        Page {
            status: Status::Ok,
            content_type: metrics::CONTENT_TYPE,
            body: page.into_text(),
        }
    }
}

impl RunningServer {
    /// Where the pages are served, if they are by now.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.pages.as_ref().and_then(HttpServer::address)
    }

    /// Accepts no more, and waits for the calls that run, but not longer than `drain`. A delete that goes on behind its
    /// call ends with the process; the next call goes on.
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
