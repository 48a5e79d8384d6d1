//! The running driver looks at its own node.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Condvar, OnceLock, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use std::{io, mem};

use program::metrics::{Exposition, Kind};
use transport::{Code, Endpoint, Status};
use wire::lifecycle::v1::ExamineResponse;
use wire::lifecycle::v1::lifecycle::Examine;

use super::aside::Aside;
use super::bundle;
use super::report::{Report, Way};
use super::subject::{Driver, Site, Subject};
use super::table::CHECKS;
use crate::flags::Config;
use crate::kubelet::Router;
use crate::life::Volumes;
use crate::unpoisoned::Unpoisoned;

/// Kubelet has registered a driver by then, also after a reset of the node.
const FIRST: Duration = Duration::from_secs(150);

/// How often the metric is renewed.
const PACE: Duration = Duration::from_secs(5 * 60);

/// How long the command's question waits for another look.
const PATIENCE: Duration = Duration::from_secs(5);

/// Whether kubelet has registered the driver, or why not; `None` leaves that to a sidecar.
type Registered = dyn Fn() -> Option<Result<(), String>> + Send + Sync;

/// The page of metrics; none once it is gone.
type Metrics = dyn Fn() -> Option<String> + Send + Sync;

type Bundles = [io::Result<Vec<u8>>; 2];

/// Looks at the node of the driver that runs.
pub struct Doctor {
    volumes: Arc<Volumes>,
    site: Site,
    registered: OnceLock<Box<Registered>>,
    metrics: OnceLock<Box<Metrics>>,
    last: Unpoisoned<Option<Report>>,
    /// Whether one looks: one does at a time.
    is_looking: Unpoisoned<bool>,
    ended: Condvar,
}

impl Doctor {
    /// Of a driver with these volumes, which kubelet finds there, unless a sidecar registers it.
    pub fn new(volumes: &Arc<Volumes>, registry: Option<Endpoint>) -> Arc<Self> {
        let ctx = volumes.context();
        let site = Site {
            kubelet: ctx.kubelet.folder.clone(),
            registry,
            records: Some(ctx.store.folder().to_owned()),
            forms: ctx.store.forms().to_owned(),
            aside: Aside::default(),
        };
        Arc::new(Self {
            volumes: Arc::clone(volumes),
            site,
            registered: OnceLock::new(),
            metrics: OnceLock::new(),
            last: Unpoisoned::default(),
            is_looking: Unpoisoned::default(),
            ended: Condvar::new(),
        })
    }

    /// Answers the command's RPC.
    pub fn serve(self: &Arc<Self>, router: &mut Router) {
        let doctor = Arc::clone(self);
        router.on::<Examine>(move |request| {
            let report = doctor.examine(PATIENCE);
            let busy = || Status::new(Code::Unavailable, "another look has not ended");
            let report = report.ok_or_else(busy)?.to_json();
            let page = doctor.metrics.get().filter(|_| request.with_metrics);
            let metrics = page.and_then(|page| page()).unwrap_or_default();
            Ok(ExamineResponse { report, metrics })
        });
    }

    /// Whom to ask whether kubelet has registered the driver. Until then it is taken for the sidecar's matter.
    pub fn learn_registration(
        &self,
        registered: impl Fn() -> Option<Result<(), String>> + Send + Sync + 'static,
    ) {
        let _ = self.registered.set(Box::new(registered));
    }

    /// Whom to ask for the page of metrics, as long as it is there.
    pub(crate) fn learn_metrics(&self, page: impl Fn() -> Option<String> + Send + Sync + 'static) {
        let _ = self.metrics.set(Box::new(page));
    }

    /// Looks now, and waits so long for another look to end, or returns none. No call for a volume waits.
    pub fn examine(&self, patience: Duration) -> Option<Report> {
        self.examined(patience, |_, _| ())
            .map(|(report, ())| report)
    }

    /// A look, and its bundle with names and without: for tests, as `wincsi collect` is another process.
    #[doc(hidden)]
    pub fn bundles(&self, metrics: &str, config: &Config) -> Option<(Report, Bundles)> {
        self.examined(Duration::ZERO, |subject, report| {
            bundle::both(subject, report, metrics, config)
        })
    }

    fn examined<T>(
        &self,
        patience: Duration,
        then: impl FnOnce(&Subject<'_>, &Report) -> T,
    ) -> Option<(Report, T)> {
        let _turn = self.take_turn(patience)?;
        let ctx = self.volumes.context();
        let ((subject, looked), called) = ctx.running.observed(|| {
            let registered = self.registered.get().and_then(|registered| registered());
            let node = Ok(ctx.node.as_ref());
            let subject = Subject::new(node, Driver::Own(registered), &self.site);
            let looked = subject.look();
            (subject, looked)
        });
        let report = subject.report(Way::Driver, looked, &called);
        *self.last.lock() = Some(report.clone());
        let then = then(&subject, &report);
        Some((report, then))
    }

    fn take_turn(&self, patience: Duration) -> Option<Turn<'_>> {
        let is_looking = self.is_looking.lock();
        let waited = self
            .ended
            .wait_timeout_while(is_looking, patience, |it| *it);
        let (mut is_looking, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let is_free = !mem::replace(&mut *is_looking, true);
        is_free.then(|| Turn(self))
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

/// The right to look, until it is dropped.
struct Turn<'a>(&'a Doctor);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.0.is_looking.lock() = false;
        self.0.ended.notify_one();
    }
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
                // A look that runs renews the metric too.
                let report = doctor.examine(Duration::ZERO);
                tracing::debug!(
                    "doctor: {} findings",
                    report.map_or(0, |it| it.findings.len())
                );
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
