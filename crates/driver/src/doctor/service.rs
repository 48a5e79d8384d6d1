//! The running driver looks at its own node.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, OnceLock, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use program::metrics::{Exposition, Kind};
use transport::Endpoint;
use wire::lifecycle::v1::lifecycle::Examine;

use super::report::{Report, Way};
use super::subject::{Driver, Provider, Subject};
use super::table::CHECKS;
use crate::kubelet::Router;
use crate::life::Volumes;
use crate::record::Store;
use crate::unpoisoned::Unpoisoned;

/// Kubelet has registered a driver by then, also after a reset of the node.
const FIRST: Duration = Duration::from_secs(150);

/// How often the metric is renewed.
const PACE: Duration = Duration::from_secs(5 * 60);

/// Whether kubelet has registered the driver, or why not; `None` leaves that to a sidecar.
type Registered = dyn Fn() -> Option<Result<(), String>> + Send + Sync;

/// Looks at the node of the driver that runs.
pub struct Doctor {
    volumes: Arc<Volumes>,
    registry: Endpoint,
    registered: OnceLock<Box<Registered>>,
    last: Unpoisoned<Option<Report>>,
    /// One look at a time.
    turn: Unpoisoned<()>,
}

impl Doctor {
    /// Of a driver with these volumes, which kubelet finds there.
    pub fn new(volumes: &Arc<Volumes>, registry: Endpoint) -> Arc<Self> {
        Arc::new(Self {
            volumes: Arc::clone(volumes),
            registry,
            registered: OnceLock::new(),
            last: Unpoisoned::default(),
            turn: Unpoisoned::default(),
        })
    }

    /// Answers the command's RPC.
    pub fn serve(self: &Arc<Self>, router: &mut Router) {
        let doctor = Arc::clone(self);
        router.on::<Examine>(move |_| Ok(doctor.examine().to_message()));
    }

    /// Whom to ask whether kubelet has registered the driver. Until then it is taken for the sidecar's matter.
    pub fn learn_registration(
        &self,
        registered: impl Fn() -> Option<Result<(), String>> + Send + Sync + 'static,
    ) {
        let _ = self.registered.set(Box::new(registered));
    }

    /// Looks now. Others who ask meanwhile wait; no call for a volume does.
    pub fn examine(&self) -> Report {
        let _turn = self.turn.lock();
        let ctx = self.volumes.context();
        let ((subject, looked), called) = ctx.running.observed(|| {
            let store = &ctx.store;
            let registered = self.registered.get().and_then(|registered| registered());
            let mut subject = Subject::new(
                Ok(ctx.node.as_ref()),
                Driver::Own(registered),
                ctx.kubelet.folder.clone(),
                self.registry.clone(),
                (store.records().collect(), unreadable(store)),
            );
            let boot = subject.ask(Provider::System, |node, until| node.system().boot_id(until));
            subject.boot = boot.ok().map(|boot| boot.0);
            let looked = subject.look();
            (subject, looked)
        });
        let report = subject.report(Way::Driver, looked, &called);
        *self.last.lock() = Some(report.clone());
        report
    }

    /// Adds what the last look found to a page of metrics; nothing before the first.
    pub fn render(&self, page: &mut Exposition) {
        let last = self.last.lock();
        let Some(report) = &*last else {
            return;
        };
        let help = "Findings of wincsi doctor's checks at the last look.";
        page.family("wincsi_findings", help, Kind::Gauge);
        for check in CHECKS {
            let found = report.findings.iter().filter(|one| one.check == check.id);
            let labels = [("check", check.id), ("severity", check.severity.name())];
            page.sample("wincsi_findings", &labels, found.count());
        }
    }
}

/// The log of the start names each.
fn unreadable(store: &Store) -> Vec<String> {
    let (count, folder) = (store.unreadable(), store.folder().display());
    let text = format!("{count} files in {folder} are no records that this wincsi reads");
    Vec::from_iter((count > 0).then_some(text))
}

/// Looks again and again until it is dropped.
pub(crate) struct Periodic(Option<(Sender<()>, JoinHandle<()>)>);

impl Periodic {
    pub(crate) fn of(doctor: &Arc<Doctor>) -> Self {
        let (sender, end) = mpsc::channel();
        // Between looks it keeps no records from the next driver.
        let doctor = Arc::downgrade(doctor);
        let look = move || {
            let mut wait = FIRST;
            while end.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                let Some(doctor) = Weak::upgrade(&doctor) else {
                    return;
                };
                let found = doctor.examine().findings;
                tracing::debug!("doctor: {} findings", found.len());
                wait = PACE;
            }
        };
        let thread = thread::Builder::new().name(String::from("doctor"));
        let spawned = thread.spawn(look).inspect_err(|error| {
            tracing::error!("the node is not looked at: no thread: {error}");
        });
        Self(spawned.ok().map(|thread| (sender, thread)))
    }
}

impl Drop for Periodic {
    fn drop(&mut self) {
        // A look may hang for seconds, and holds nothing that an end needs.
        drop(self.0.take());
    }
}
