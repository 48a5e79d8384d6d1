//! The pages for monitoring.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use program::http::{BindAddress, Detail, HttpServer, Page, Site, Status};
use program::metrics::CONTENT_TYPE;
use transport::{Endpoint, Server};

use crate::disk_guards::DiskGuards;
use crate::health::Health;
use crate::metrics::{Metrics, NodeKind};

/// The server while it runs. The pages share it to report its use, and so does the thread that tries the taken
/// endpoints.
#[derive(Clone)]
pub(crate) struct SharedServer(Arc<Mutex<Option<Arc<Server>>>>);

impl SharedServer {
    pub(crate) fn new(server: Server) -> Self {
        Self(Arc::new(Mutex::new(Some(Arc::new(server)))))
    }

    /// The server; others can use and end it meanwhile. `None` after its end.
    pub(crate) fn get(&self) -> Option<Arc<Server>> {
        self.lock().clone()
    }

    /// Takes it from all. Earlier holders may still use it.
    pub(crate) fn take(&self) -> Option<Arc<Server>> {
        self.lock().take()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Server>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The parts reported by the pages.
pub(crate) struct Monitored {
    pub(crate) node: NodeKind,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) health: Health,
    pub(crate) disk_guards: Arc<DiskGuards>,
    pub(crate) server: SharedServer,
}

/// Serves `/metrics` and the pages of health.
pub(crate) fn serve_all(address: &BindAddress, of: &Arc<Monitored>) -> HttpServer {
    let site = Arc::new(All(Arc::clone(of)));
    HttpServer::start(address, site, "/metrics, /healthz, /livez and /readyz")
}

/// Serves the pages of health alone.
pub(crate) fn serve_health(address: &BindAddress, of: &Arc<Monitored>) -> HttpServer {
    let site = Arc::new(HealthAlone(Arc::clone(of)));
    HttpServer::start(address, site, "/healthz, /livez and /readyz")
}

struct All(Arc<Monitored>);

impl Site for All {
    fn at_once(&self, path: &str) -> Option<Page> {
        life_page(path)
    }

    fn page(&self, path: &str, detail: Detail) -> Option<Page> {
        match path {
            "/metrics" => Some(self.0.metrics_page()),
            _ => self.0.health_page(path, detail),
        }
    }
}

struct HealthAlone(Arc<Monitored>);

impl Site for HealthAlone {
    fn at_once(&self, path: &str) -> Option<Page> {
        life_page(path)
    }

    fn page(&self, path: &str, detail: Detail) -> Option<Page> {
        self.0.health_page(path, detail)
    }
}

impl Monitored {
    fn metrics_page(&self) -> Page {
        let usage = self.server.get().map(|server| server.usage());
        Page {
            status: Status::Ok,
            content_type: CONTENT_TYPE,
            body: self.metrics.render(self.node, usage),
        }
    }

    fn health_page(&self, path: &str, detail: Detail) -> Option<Page> {
        match (path, detail) {
            ("/healthz", Detail::Verbose) => {
                let disks = self.disk_guards.lines();
                Some(self.health.page(&self.taken(), &disks))
            }
            ("/healthz", Detail::Brief) => Some(self.health.page(&self.taken(), &[])),
            ("/readyz", _) => Some(self.health.readiness_page(&self.taken())),
            _ => None,
        }
    }

    /// The endpoints served by other processes.
    fn taken(&self) -> Vec<Endpoint> {
        let server = self.server.get();
        server.map(|server| server.taken()).unwrap_or_default()
    }
}

/// Shows that the process lives: without a query or a lock, so no trouble of storage restarts it.
fn life_page(path: &str) -> Option<Page> {
    (path == "/livez").then(|| Page::text(Status::Ok, "ok\n"))
}
