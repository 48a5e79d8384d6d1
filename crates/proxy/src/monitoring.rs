//! The pages for those who watch the node.

use std::sync::{Arc, Mutex, PoisonError};

use transport::Server;

use crate::health::Health;
use crate::http::{BindAddress, HttpServer, Page, Site, Status};
use crate::metrics::{self, Metrics, NodeKind};

/// The server while it runs. It is shared with the pages, which tell of its use.
pub(crate) type SharedServer = Arc<Mutex<Option<Server>>>;

/// What the pages tell of.
pub(crate) struct Monitored {
    pub(crate) node: NodeKind,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) health: Health,
    pub(crate) server: SharedServer,
}

/// Serves `/metrics` and `/healthz`.
pub(crate) fn serve_all(address: &BindAddress, of: &Arc<Monitored>) -> HttpServer {
    let site = Arc::new(All(Arc::clone(of)));
    HttpServer::start(address, site, "/metrics and /healthz")
}

/// Serves `/healthz` alone.
pub(crate) fn serve_health(address: &BindAddress, of: &Arc<Monitored>) -> HttpServer {
    HttpServer::start(address, Arc::new(HealthAlone(Arc::clone(of))), "/healthz")
}

struct All(Arc<Monitored>);

impl Site for All {
    fn page(&self, path: &str) -> Option<Page> {
        match path {
            "/metrics" => Some(self.0.metrics_page()),
            _ => self.0.health_page(path),
        }
    }
}

struct HealthAlone(Arc<Monitored>);

impl Site for HealthAlone {
    fn page(&self, path: &str) -> Option<Page> {
        self.0.health_page(path)
    }
}

impl Monitored {
    fn metrics_page(&self) -> Page {
        let server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        let usage = server.as_ref().map(Server::usage);
        drop(server);
        Page {
            status: Status::Ok,
            content_type: metrics::CONTENT_TYPE,
            body: self.metrics.render(self.node, usage),
        }
    }

    fn health_page(&self, path: &str) -> Option<Page> {
        (path == "/healthz").then(|| self.health.page())
    }
}
