use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use os::Facility;
use os_meter::{Ending, Meter, MeteredOperation};

use super::Count;
use super::exposition::{Exposition, Kind};
use super::histogram::Histogram;

/// In seconds: from a call answered from the kernel's memory to a hung one.
const BOUNDS: [f64; 11] = [
    0.0001, 0.001, 0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 60.0, 120.0,
];

/// The series of the operations of the system. There are as many as the program has names.
#[derive(Default)]
pub struct OperationSeries(RwLock<BTreeMap<Key, Arc<Series>>>);

type Key = (Facility, &'static str, &'static str);

struct Series {
    label: String,
    began: Count,
    ended: Count,
    failed: Count,
    seconds: Histogram<11>,
}

impl Meter for OperationSeries {
    fn began(&self, operation: &MeteredOperation) {
        self.series(operation).began.add_one();
    }

    fn ended(&self, operation: &MeteredOperation, took: Duration, ending: Ending) {
        let series = self.series(operation);
        series.ended.add_one();
        if ending == Ending::Failed {
            series.failed.add_one();
        }
        series.seconds.observe(took);
    }
}

impl OperationSeries {
    fn series(&self, operation: &MeteredOperation) -> Arc<Series> {
        let key = (operation.facility, operation.name, operation.subject);
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(series) = known.get(&key) {
            return Arc::clone(series);
        }
        drop(known);
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let new = || Arc::new(Series::new(operation));
        Arc::clone(known.entry(key).or_insert_with(new))
    }

    pub fn render(&self, page: &mut Exposition) {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let all: Vec<_> = known
            .iter()
            .map(|(key, series)| (key.0, Arc::clone(series)))
            .collect();
        drop(known);
        let name = "wincsi_os_operation_seconds";
        let help = "How long operations of the operating system took, in seconds.";
        page.family(name, help, Kind::Histogram);
        for (facility, series) in &all {
            series.seconds.render(page, name, &series.labels(*facility));
        }
        let name = "wincsi_os_operation_failures_total";
        page.family(name, "Operations that failed.", Kind::Counter);
        for (facility, series) in &all {
            page.sample(name, &series.labels(*facility), series.failed.value());
        }
        let name = "wincsi_os_operations_running";
        page.family(name, "Operations that have not ended yet.", Kind::Gauge);
        for (facility, series) in &all {
            page.sample(name, &series.labels(*facility), series.running());
        }
    }
}

impl Series {
    fn new(operation: &MeteredOperation) -> Self {
        let label = format!("{} {}", operation.name, operation.subject);
        Self {
            label: label.trim_end().to_owned(),
            began: Count::default(),
            ended: Count::default(),
            failed: Count::default(),
            seconds: Histogram::new(&BOUNDS),
        }
    }

    fn labels(&self, facility: Facility) -> [(&str, &str); 2] {
        [("facility", facility.name()), ("operation", &self.label)]
    }

    /// The ended calls are read first, so the number is never negative.
    fn running(&self) -> u64 {
        let ended = self.ended.value();
        self.began.value().saturating_sub(ended)
    }
}
