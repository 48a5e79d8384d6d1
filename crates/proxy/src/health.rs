//! Whether the server answers its clients.

use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use transport::{CallError, Channel, ChannelOptions, Endpoint};

use crate::http::{Page, Status};
use crate::metrics::NodeKind;

/// How long an answer holds: whoever asks faster gets the last one.
const FRESH: Duration = Duration::from_secs(1);

/// How long all endpoints together may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// A method that no service has: the answer shows that the endpoint is served, and nothing was done.
const NOTHING: &str = "/wincsi.Health/Check";

/// Looks at the endpoints as a client does.
pub(crate) struct Health {
    node: NodeKind,
    endpoints: Vec<Endpoint>,
    last: Mutex<Option<(Instant, Report)>>,
}

#[derive(Clone)]
struct Report {
    answering: usize,
    silent: Vec<String>,
}

impl Health {
    pub(crate) fn new(node: NodeKind, endpoints: Vec<Endpoint>) -> Self {
        Self {
            node,
            endpoints,
            last: Mutex::default(),
        }
    }

    /// `ok` and status 200 when every endpoint answers; what is served in both cases.
    pub(crate) fn page(&self) -> Page {
        let report = self.report();
        let is_good = report.silent.is_empty();
        let (status, word) = match is_good {
            true => (Status::Ok, "ok"),
            false => (Status::Unavailable, "not ok"),
        };
        let mut body = format!(
            "{word}\nnode: {}\nendpoints: {} of {} answer\n",
            self.node.name(),
            report.answering,
            self.endpoints.len()
        );
        for silent in &report.silent {
            // Writing to a String cannot fail.
            let _ = writeln!(body, "{silent}");
        }
        Page::text(status, body)
    }

    /// One look at a time: others wait for it, and share what it saw.
    fn report(&self) -> Report {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, report)) = &*last
            && at.elapsed() < FRESH
        {
            return report.clone();
        }
        let report = self.look();
        *last = Some((Instant::now(), report.clone()));
        report
    }

    fn look(&self) -> Report {
        let deadline = Instant::now() + PATIENCE;
        let failures = self
            .endpoints
            .iter()
            .map(|endpoint| ask(endpoint, deadline));
        let silent: Vec<String> = failures.filter_map(Result::err).collect();
        Report {
            answering: self.endpoints.len() - silent.len(),
            silent,
        }
    }
}

/// Any status is an answer, one that says that the server is busy included.
fn ask(endpoint: &Endpoint, deadline: Instant) -> Result<(), String> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(format!("{endpoint}: not asked, the others took too long"));
    }
    let mut options = ChannelOptions::default();
    options.connect_timeout = left;
    let answer = Channel::connect(endpoint.clone(), options)
        .and_then(|channel| channel.call(NOTHING, &[], deadline));
    match answer {
        Ok(_) | Err(CallError::Status(_)) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}
