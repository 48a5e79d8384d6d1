//! The figures of servers on a pipe or a socket, and their tables.

use std::fs;

use anyhow::{Context, Result};

use super::pipe::CLIENTS;
use super::servers::{Contestant, Kind};
use super::{median, verdict};
use crate::host::Host;

/// Calls per second at 1, 8 and 32 clients, as multiples of the Go peer's.
const SPEED_TARGETS: [f64; 3] = [1.8, 1.5, 1.3];
const CPU_TARGET: f64 = 0.5;
const MEMORY_TARGET: f64 = 1.0 / 3.0;
const EXE_TARGET: u64 = 6_000_000;

/// One run of one server at one number of clients.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) per_second: f64,
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
    /// CPU seconds of the server per 1,000 calls.
    pub(super) cpu: f64,
    /// CPU seconds of the wineserver per 1,000 calls; 0 without Wine.
    pub(super) wineserver_cpu: f64,
}

/// A server, and what was measured of it in all rounds.
pub(super) struct Server {
    pub(super) contestant: Contestant,
    /// By the number of clients.
    pub(super) samples: Vec<(u32, Sample)>,
    /// Above the idle program.
    pub(super) memory_kib: Vec<f64>,
    pub(super) threads: Vec<f64>,
    /// Seconds from process start to the first answer; the raw echo has none.
    pub(super) first_answers: Vec<f64>,
}

impl Server {
    pub(super) fn new(contestant: Contestant) -> Self {
        Self {
            contestant,
            samples: Vec::new(),
            memory_kib: Vec::new(),
            threads: Vec::new(),
            first_answers: Vec::new(),
        }
    }

    fn median(&self, clients: u32, figure: fn(&Sample) -> f64) -> f64 {
        let samples = self.samples.iter().filter(|(of, _)| *of == clients);
        median(samples.map(|(_, sample)| figure(sample)))
    }

    pub(super) fn memory(&self) -> f64 {
        median(self.memory_kib.iter().copied())
    }
}

/// The measurements on one host.
pub(super) struct Section<'a> {
    pub(super) host: Host<'a>,
    pub(super) servers: Vec<Server>,
    pub(super) profile: &'static str,
}

impl Section<'_> {
    pub(super) fn render(&self) -> Result<String> {
        let go = self.of(Kind::Go)?;
        if let Host::Linux = self.host {
            let tables = [self.speed_table(go), self.footprint_table()];
            return Ok(format!(
                "### Unix sockets on Linux\n\n{}",
                tables.join("\n\n")
            ));
        }
        let tables = [
            self.speed_table(go),
            self.footprint_table(),
            self.targets(go)?,
        ];
        Ok(format!(
            "### Named pipes under Wine\n\n{}",
            tables.join("\n\n")
        ))
    }

    /// The first of a kind: of csi-proxies ours.
    fn of(&self, kind: Kind) -> Result<&Server> {
        let mut servers = self.servers.iter();
        let found = servers.find(|server| server.contestant.kind == kind);
        found.with_context(|| format!("{kind:?} was not measured"))
    }

    /// Under Wine all servers look at Wine's own files; on Linux csi-proxy alone has a simulated node behind it.
    fn name(&self, server: &Server) -> String {
        let Contestant { name, kind, .. } = &server.contestant;
        match (self.host, kind) {
            (Host::Linux, Kind::Proxy) => format!("{name}, simulated node"),
            _ => name.clone(),
        }
    }

    fn speed_table(&self, go: &Server) -> String {
        let (wine, rule) = match self.host {
            Host::Wine(_) => (" wineserver CPU |", "---:|"),
            Host::Linux => ("", ""),
        };
        let mut text = format!(
            "| clients | server | calls/s | p50 µs | p99 µs | CPU |{wine} calls/s : Go |\n\
             |---:|---|---:|---:|---:|---:|{rule}---:|"
        );
        for clients in CLIENTS {
            for server in &self.servers {
                text += &format!("\n{}", self.speed_row(server, clients, go));
            }
        }
        text
    }

    fn speed_row(&self, server: &Server, clients: u32, go: &Server) -> String {
        let median = |figure: fn(&Sample) -> f64| server.median(clients, figure);
        let wine = match self.host {
            Host::Wine(_) => format!(" {:.3} |", median(|s| s.wineserver_cpu)),
            Host::Linux => String::new(),
        };
        format!(
            "| {clients} | {} | {:.0} | {:.0} | {:.0} | {:.3} |{wine} {:.2} |",
            self.name(server),
            median(|s| s.per_second),
            median(|s| s.p50_us),
            median(|s| s.p99_us),
            median(|s| s.cpu),
            median(|s| s.per_second) / go.median(clients, |s| s.per_second),
        )
    }

    fn footprint_table(&self) -> String {
        let mut text = "| server | memory MiB | first answer ms |\n|---|---:|---:|".to_owned();
        let servers = self.servers.iter();
        for server in servers.filter(|server| server.contestant.kind != Kind::RawEcho) {
            let first = median(server.first_answers.iter().copied()) * 1_000.0;
            let memory = server.memory() / 1_024.0;
            text += &format!("\n| {} | {memory:.1} | {first:.0} |", self.name(server));
        }
        text
    }

    fn targets(&self, go: &Server) -> Result<String> {
        let ours = self.of(Kind::Proxy)?;
        let [one, eight, many] = SPEED_TARGETS;
        let speed = format!("calls/s: at least {one}, {eight}, {many}");
        let cpu = format!("CPU: at most {CPU_TARGET}");
        let row = |what: &str, figure: fn(&Sample) -> f64, is_reached: fn(f64, f64) -> bool| {
            let cells = CLIENTS
                .into_iter()
                .zip(SPEED_TARGETS)
                .map(|(clients, speed)| {
                    let ratio = ours.median(clients, figure) / go.median(clients, figure);
                    format!(" {ratio:.2} {} |", verdict(is_reached(ratio, speed)))
                });
            format!("| {what} |{}", cells.collect::<String>())
        };
        let memory = ours.memory() / go.memory();
        let memory_verdict = verdict(memory <= MEMORY_TARGET);
        let [first, second, third] = CLIENTS;
        let rows = [
            format!("| target, times the Go peer's | {first} | {second} | {third} |"),
            "|---|---:|---:|---:|".to_owned(),
            row(&speed, |s| s.per_second, |ratio, speed| ratio >= speed),
            row("p99: at most 1", |s| s.p99_us, |ratio, _| ratio <= 1.0),
            row(&cpu, |s| s.cpu, |ratio, _| ratio <= CPU_TARGET),
            format!("| memory: at most a third | | | {memory:.2} {memory_verdict} |"),
            self.exe_target(fs::metadata(&ours.contestant.exe)?.len()),
        ];
        Ok(rows.join("\n"))
    }

    fn exe_target(&self, bytes: u64) -> String {
        let (profile, verdict) = (self.profile, verdict(bytes < EXE_TARGET));
        let size = format!("{}.{:02}", bytes / 1_000_000, bytes / 10_000 % 100);
        format!("| exe under 6 MB (profile {profile}) | | | {size} MB {verdict} |")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(name: &str, kind: Kind, per_second: f64) -> Server {
        let mut server = Server::new(Contestant {
            name: name.to_owned(),
            kind,
            exe: "/proc/self/exe".into(),
        });
        for clients in CLIENTS {
            let sample = Sample {
                per_second,
                p50_us: 1.0,
                p99_us: 1.0,
                cpu: per_second,
                wineserver_cpu: 0.0,
            };
            server.samples.push((clients, sample));
        }
        server
    }

    fn section() -> Section<'static> {
        let go = server("Go peer", Kind::Go, 1_000.0);
        Section {
            host: Host::Linux,
            servers: vec![go, server("csi-proxy", Kind::Proxy, 1_600.0)],
            profile: "release",
        }
    }

    #[test]
    fn a_target_is_judged() {
        let section = section();
        let text = section.targets(section.of(Kind::Go).unwrap()).unwrap();
        for row in [
            "| calls/s: at least 1.8, 1.5, 1.3 | 1.60 **no** | 1.60 yes | 1.60 yes |",
            "| p99: at most 1 | 1.00 yes | 1.00 yes | 1.00 yes |",
            "| CPU: at most 0.5 | 1.60 **no** | 1.60 **no** | 1.60 **no** |",
            "| memory: at most a third | | | NaN **no** |",
        ] {
            assert!(text.contains(row), "{row}\n{text}");
        }
        let row = "| exe under 6 MB (profile release) | | | 5.99 MB yes |";
        assert_eq!(section.exe_target(5_999_999), row);
        assert!(section.exe_target(EXE_TARGET).contains("**no**"));
    }

    #[test]
    fn a_server_of_a_simulated_node_has_no_target() {
        let text = section().render().unwrap();
        let row = "| 1 | csi-proxy, simulated node | 1600 |";
        assert!(text.contains(row), "{text}");
        assert!(
            !text.contains("target") && !text.contains("wineserver"),
            "{text}"
        );
    }
}
