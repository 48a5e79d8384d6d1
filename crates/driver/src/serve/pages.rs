use std::sync::Arc;

use program::http::{Detail, HttpServer, Page, Site, Status};
use program::metrics::{self, Calls, Exposition};
use transport::{Server, Usage};

use super::probe::{LIMIT, NodeProbe};
use super::reconcile::Reconciled;
use super::registrar::Registrar;
use crate::admission::Admission;
use crate::doctor::Doctor;
use crate::flags::Config;
use crate::life::Volumes;

pub(super) struct Pages {
    pub(super) calls: Arc<Calls>,
    pub(super) admission: Arc<Admission>,
    pub(super) doctor: Arc<Doctor>,
    /// None when a sidecar registers the driver.
    pub(super) registrar: Option<Arc<Registrar>>,
    pub(super) server: Arc<Server>,
    pub(super) reconciled: Reconciled,
    pub(super) probe: Arc<NodeProbe>,
    pub(super) volumes: Arc<Volumes>,
}

impl Site for Pages {
    /// That the process lives: no lock and no storage, so that no dead server has it restarted.
    fn at_once(&self, path: &str) -> Option<Page> {
        (path == "/healthz").then(|| Page::text(Status::Ok, "ok\n"))
    }

    fn page(&self, path: &str, _detail: Detail) -> Option<Page> {
        match path {
            "/metrics" => Some(self.metrics()),
            "/readyz" => Some(match self.readiness() {
                Ok(()) => Page::text(Status::Ok, "ok\n"),
                Err(reason) => Page::text(Status::Unavailable, format!("{reason}\n")),
            }),
            _ => None,
        }
    }
}

impl Pages {
    /// At each address that the command line has, and to the doctor.
    pub(super) fn serve(
        self: &Arc<Self>,
        config: &Config,
    ) -> (Option<HttpServer>, Option<HttpServer>) {
        let site = Arc::downgrade(self);
        self.doctor
            .learn_metrics(move || Some(site.upgrade()?.metrics().body));
        let served = |at| HttpServer::start(at, Arc::clone(self) as _, ALL);
        let [metrics, health] = [&config.metrics_address, &config.health_address];
        (metrics.as_ref().map(served), health.as_ref().map(served))
    }

    pub(super) fn metrics(&self) -> Page {
        let mut page = Exposition::default();
        self.calls.render(&mut page);
        metrics::render_usage(&mut page, self.usage());
        metrics::render_process(&mut page);
        if let Some(registrar) = &self.registrar {
            registrar.registration.render(&mut page);
        }
        let help = "Whether the records were compared with the node since the start: 1 or 0.";
        let is_reconciled = u8::from(self.reconciled.is_done());
        page.gauge("wincsi_reconciled", help, is_reconciled);
        let help = "Whether the driver is being drained and works on no volume: 1 or 0.";
        let is_draining = u8::from(!self.admission.is_open());
        page.gauge("wincsi_draining", help, is_draining);
        self.volumes.render(&mut page);
        self.doctor.render(&mut page);
        Page {
            status: Status::Ok,
            content_type: metrics::CONTENT_TYPE,
            body: page.into_text(),
        }
    }

    /// What the sockets of CSI and of the registration hold together.
    fn usage(&self) -> Usage {
        let mut all = self.server.usage();
        let registrar = self.registrar.as_ref();
        if let Some(more) = registrar.and_then(|registrar| registrar.usage()) {
            all.connections += more.connections;
            all.running_calls += more.running_calls;
            all.waiting_calls += more.waiting_calls;
            all.threads += more.threads;
            all.held_bytes += more.held_bytes;
            all.turned_away += more.turned_away;
            all.failed_accepts += more.failed_accepts;
            all.refused_calls += more.refused_calls;
        }
        all
    }

    /// The cheap reasons first: the node is asked only when nothing else is missing.
    fn readiness(&self) -> Result<(), String> {
        if !self.admission.is_open() {
            return Err(String::from("the driver is being drained"));
        }
        if let Some(registrar) = &self.registrar {
            registrar.require_registered()?;
        }
        if !self.reconciled.is_done() {
            return Err(String::from("the records are being compared with the node"));
        }
        self.probe.ask(LIMIT).map_err(|error| error.to_string())
    }
}

const ALL: &str = "/metrics, /healthz and /readyz";
