use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use transport::Code;

use super::Count;
use super::exposition::{Exposition, Kind};
use super::histogram::Histogram;

/// csi-proxy's, in seconds.
const BOUNDS: [f64; 14] = [
    0.001, 0.01, 0.1, 0.3, 0.6, 1.0, 3.0, 6.0, 9.0, 20.0, 30.0, 60.0, 90.0, 120.0,
];

/// gRPC has 17 codes.
const CODES: u8 = 17;

/// The series of all RPCs, by their path.
#[derive(Default)]
pub struct Calls(Mutex<BTreeMap<&'static str, Arc<CallSeries>>>);

/// The series of one RPC, with the names and labels of csi-proxy's gRPC interceptors.
pub struct CallSeries {
    service: String,
    method: &'static str,
    started: Count,
    sent: Count,
    handled: [AtomicU64; CODES as usize],
    seconds: Histogram<14>,
}

impl CallSeries {
    /// A call came in.
    pub fn began(&self) {
        self.started.add_one();
    }

    /// A call was answered. A failed one counts as sent too, as in csi-proxy: its interceptor
    /// (go-grpc-middleware's `providers/prometheus`, up to 1.1.0) does not check the error.
    pub fn ended(&self, code: Code, took: Duration) {
        self.sent.add_one();
        self.handled[usize::from(code.number())].fetch_add(1, Ordering::Relaxed);
        self.seconds.observe(took);
    }

    fn labels(&self) -> [(&str, &str); 3] {
        [
            ("grpc_method", self.method),
            ("grpc_service", &self.service),
            ("grpc_type", "unary"),
        ]
    }

    fn handled_with(&self, code: Code) -> u64 {
        self.handled[usize::from(code.number())].load(Ordering::Relaxed)
    }
}

impl Calls {
    pub fn series(
        &self,
        group: &'static wire::Group,
        method: &'static wire::Method,
    ) -> Arc<CallSeries> {
        let mut series = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || {
            Arc::new(CallSeries {
                service: format!("{}.{}", group.package, group.service),
                method: method.name,
                started: Count::default(),
                sent: Count::default(),
                handled: [const { AtomicU64::new(0) }; CODES as usize],
                seconds: Histogram::new(&BOUNDS),
            })
        };
        Arc::clone(series.entry(method.path).or_insert_with(new))
    }

    /// The families, and the series of each, in the order of Go's library: by name, then by the
    /// values of the labels. A series exists from its first count on.
    pub fn render(&self, page: &mut Exposition) {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<_> = all.values().cloned().collect();
        all.sort_by(|one, other| one.labels().cmp(&other.labels()));
        render_handled(page, &all);
        render_seconds(page, &all);
        // A unary call has one message, received when the call starts.
        let help = "Total number of RPC stream messages received on the server.";
        render_count(page, ("msg_received", help), &all, |series| &series.started);
        let help = "Total number of gRPC stream messages sent by the server.";
        render_count(page, ("msg_sent", help), &all, |series| &series.sent);
        let help = "Total number of RPCs started on the server.";
        render_count(page, ("started", help), &all, |series| &series.started);
    }
}

fn render_handled(page: &mut Exposition, all: &[Arc<CallSeries>]) {
    let name = "grpc_server_handled_total";
    let help = "Total number of RPCs completed on the server, regardless of success or failure.";
    page.family(name, help, Kind::Counter);
    let mut codes: Vec<_> = (0..CODES)
        .map(|code| Code::from_number(code.into()))
        .collect();
    codes.sort_by_key(|code| code.name());
    for code in codes {
        for series in all {
            let count = series.handled_with(code);
            if count > 0 {
                let labels = [&[("grpc_code", code.name())], &series.labels()[..]].concat();
                page.sample(name, &labels, count);
            }
        }
    }
}

fn render_seconds(page: &mut Exposition, all: &[Arc<CallSeries>]) {
    let name = "grpc_server_handling_seconds";
    let help = "Histogram of response latency (seconds) of gRPC that had been application-level handled by the server.";
    page.family(name, help, Kind::Histogram);
    for series in all.iter().filter(|series| series.sent.value() > 0) {
        series.seconds.render(page, name, &series.labels());
    }
}

fn render_count(
    page: &mut Exposition,
    (name, help): (&str, &str),
    all: &[Arc<CallSeries>],
    count: fn(&CallSeries) -> &Count,
) {
    let name = format!("grpc_server_{name}_total");
    page.family(&name, help, Kind::Counter);
    for series in all.iter().filter(|series| count(series).value() > 0) {
        page.sample(&name, &series.labels(), count(series).value());
    }
}
