use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use transport::Code;

use super::Count;
use super::histogram::Histogram;
use super::text::{Exposition, Kind};

/// csi-proxy's, in seconds.
const BOUNDS: [f64; 14] = [
    0.001, 0.01, 0.1, 0.3, 0.6, 1.0, 3.0, 6.0, 9.0, 20.0, 30.0, 60.0, 90.0, 120.0,
];

/// gRPC has 17 codes.
const CODES: u8 = 17;

/// The series of all RPCs, by their path.
#[derive(Default)]
pub(super) struct Calls(Mutex<BTreeMap<&'static str, Arc<CallSeries>>>);

/// The series of one RPC, with the names and labels of csi-proxy's gRPC interceptors.
pub(crate) struct CallSeries {
    service: String,
    method: &'static str,
    started: Count,
    sent: Count,
    handled: [AtomicU64; CODES as usize],
    seconds: Histogram<14>,
}

impl CallSeries {
    /// A call came in.
    pub(crate) fn began(&self) {
        self.started.add_one();
    }

    /// A call was answered.
    pub(crate) fn ended(&self, code: Code, took: Duration) {
        if code == Code::Ok {
            self.sent.add_one();
        }
        self.handled[usize::from(code.number())].fetch_add(1, Ordering::Relaxed);
        self.seconds.observe(took);
    }

    fn labels(&self) -> [(&str, &str); 3] {
        [
            ("grpc_type", "unary"),
            ("grpc_service", &self.service),
            ("grpc_method", self.method),
        ]
    }

    fn render_handled(&self, page: &mut Exposition, name: &str) {
        for number in 0..CODES {
            let count = self.handled[usize::from(number)].load(Ordering::Relaxed);
            if count > 0 {
                let code = Code::from_number(number.into()).name();
                let labels = [&self.labels()[..], &[("grpc_code", code)]].concat();
                page.sample(name, &labels, count);
            }
        }
    }
}

impl Calls {
    pub(super) fn series(
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

    pub(super) fn render(&self, page: &mut Exposition) {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let used: Vec<_> = all
            .values()
            .filter(|series| series.started.value() > 0)
            .cloned()
            .collect();
        drop(all);
        render_count(page, "started", "RPCs started on", &used, |series| {
            &series.started
        });
        // A unary call has one message, which has come when the call starts.
        let name = "msg_received";
        render_count(page, name, "RPC messages received on", &used, |series| {
            &series.started
        });
        render_count(page, "msg_sent", "RPC messages sent by", &used, |series| {
            &series.sent
        });
        render_ends(page, &used);
    }
}

fn render_count(
    page: &mut Exposition,
    name: &str,
    what: &str,
    used: &[Arc<CallSeries>],
    count: fn(&CallSeries) -> &Count,
) {
    let name = format!("grpc_server_{name}_total");
    let help = format!("Total number of {what} the server.");
    page.family(&name, &help, Kind::Counter);
    for series in used {
        page.sample(&name, &series.labels(), count(series).value());
    }
}

fn render_ends(page: &mut Exposition, used: &[Arc<CallSeries>]) {
    let name = "grpc_server_handled_total";
    let help = "Total number of RPCs completed on the server, by their code.";
    page.family(name, help, Kind::Counter);
    for series in used {
        series.render_handled(page, name);
    }
    let name = "grpc_server_handling_seconds";
    let help = "How long RPCs took on the server, in seconds.";
    page.family(name, help, Kind::Histogram);
    for series in used {
        series.seconds.render(page, name, &series.labels());
    }
}
