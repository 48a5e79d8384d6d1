use super::exposition::{Exposition, Kind};

/// The system's figures of this process, under the names of Prometheus's client libraries. Unknown ones are left out.
#[derive(Debug, Default)]
pub(super) struct Figures {
    /// In seconds, user and system together.
    pub(super) cpu: Option<f64>,
    /// Handles on Windows.
    pub(super) open_fds: Option<u64>,
    pub(super) max_fds: Option<u64>,
    pub(super) resident_bytes: Option<u64>,
    pub(super) virtual_bytes: Option<u64>,
    /// In seconds since the Unix epoch.
    pub(super) started: Option<f64>,
    pub(super) threads: Option<u64>,
}

impl Figures {
    pub(super) fn render(&self, page: &mut Exposition) {
        let name = "process_cpu_seconds_total";
        let help = "Total user and system CPU time spent in seconds.";
        put(page, name, help, Kind::Counter, self.cpu);
        let name = "process_start_time_seconds";
        let help = "Start time of the process since unix epoch in seconds.";
        put(page, name, help, Kind::Gauge, self.started);
        for (name, help, value) in [
            (
                "process_open_fds",
                "Number of open file descriptors; handles on Windows.",
                self.open_fds,
            ),
            (
                "process_max_fds",
                "Maximum number of open file descriptors.",
                self.max_fds,
            ),
            (
                "process_resident_memory_bytes",
                "Resident memory size in bytes.",
                self.resident_bytes,
            ),
            (
                "process_virtual_memory_bytes",
                "Virtual memory size in bytes.",
                self.virtual_bytes,
            ),
            (
                "process_threads",
                "Number of OS threads in the process.",
                self.threads,
            ),
        ] {
            put(page, name, help, Kind::Gauge, value);
        }
    }
}

fn put(
    page: &mut Exposition,
    name: &str,
    help: &str,
    kind: Kind,
    value: Option<impl std::fmt::Display>,
) {
    if let Some(value) = value {
        page.family(name, help, kind);
        page.sample(name, &[], value);
    }
}
