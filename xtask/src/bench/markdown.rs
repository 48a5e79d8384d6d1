//! docs/benchmarks.md: each benchmark's part is between two marks; a person's text around them
//! stays.

use std::fs;

use anyhow::{Context, Result};

use super::contestant::Contestant;
use super::machine::Machine;
use super::pipe::{CLIENTS, Plan};
use super::results::{Results, Sample};
use crate::cargo;

const END: &str = "<!-- end of what the benchmark writes -->\n";
const TITLE: &str = "# Benchmarks\n\n";

/// Calls per second at 1, 8 and 32 clients, as multiples of the Go peer's.
const SPEED_TARGETS: [f64; 3] = [1.8, 1.5, 1.3];
const CPU_TARGET: f64 = 0.5;
const MEMORY_TARGET: f64 = 1.0 / 3.0;
const EXE_TARGET: u64 = 6_000_000;

/// The measurements on one host.
#[derive(Debug)]
pub(super) struct Section<'a> {
    pub(super) host: &'static str,
    pub(super) contestants: Vec<Contestant<'a>>,
    pub(super) results: Results<'a>,
    pub(super) exe_bytes: u64,
    pub(super) profile: &'static str,
}

/// A figure at a number of clients, as a multiple of the Go peer's.
#[derive(Clone, Copy)]
struct Reached {
    ratio: f64,
    /// The target there, if it is the calls per second.
    speed: f64,
}

/// Puts the text between a benchmark's marks in docs/benchmarks.md.
pub(super) fn write(benchmark: &str, text: &str) -> Result<()> {
    let path = cargo::root().join("docs/benchmarks.md");
    let old = fs::read_to_string(&path).unwrap_or_else(|_| TITLE.to_owned());
    fs::create_dir_all(cargo::root().join("docs"))?;
    fs::write(&path, replace(&old, benchmark, text))
        .with_context(|| format!("write {}", path.display()))?;
    println!("written: docs/benchmarks.md");
    Ok(())
}

/// The report of all hosts.
pub(super) fn render(machine: &Machine, plan: Plan, sections: &[Section<'_>]) -> String {
    let Plan { rounds, calls, .. } = plan;
    let mut lines = vec![
        format!(
            "Measured on {} with `cargo xtask bench pipe`.",
            machine.here.date
        ),
        String::new(),
        format!("- {}", machine.here.machine()),
        format!(
            "- Software: {}, {}, {}",
            machine.wine, machine.here.rust, machine.go
        ),
        format!(
            "- Driven by the official Go client 1.3.0, filesystem v1 PathExists, {rounds} rounds of \
             {calls} calls in turn, medians; client and server share the cores"
        ),
        "- CPU is seconds per 1,000 calls; memory is private, above a program that does nothing"
            .to_owned(),
        String::new(),
    ];
    for section in sections {
        lines.extend(section.render());
    }
    lines.join("\n")
}

impl<'a> Section<'a> {
    fn render(&self) -> Vec<String> {
        let place = match self.is_wine() {
            true => "Named pipes under Wine",
            false => "Unix sockets on Linux",
        };
        let mut lines = vec![format!("### {place}"), String::new()];
        lines.extend(self.speed_table());
        lines.push(String::new());
        lines.extend(self.footprint_table());
        lines.push(String::new());
        if self.is_wine() {
            lines.extend(self.targets());
            lines.push(String::new());
        }
        lines
    }

    fn is_wine(&self) -> bool {
        self.host == "wine"
    }

    /// Under Wine all servers look at Wine's own files; on Linux csi-proxy alone has a simulated node behind it.
    fn name(&self, contestant: Contestant<'a>) -> String {
        let name = contestant.name();
        match contestant {
            Contestant::Ours | Contestant::Rival(_) if !self.is_wine() => {
                format!("{name}, simulated node")
            }
            _ => name.to_owned(),
        }
    }

    fn speed_table(&self) -> Vec<String> {
        let (wine, rule) = match self.is_wine() {
            true => (" wineserver CPU |", "---:|"),
            false => ("", ""),
        };
        let mut lines = vec![
            format!("| clients | server | calls/s | p50 µs | p99 µs | CPU |{wine} calls/s : Go |"),
            format!("|---:|---|---:|---:|---:|---:|{rule}---:|"),
        ];
        for clients in CLIENTS {
            lines.extend(
                self.contestants
                    .iter()
                    .map(|it| self.speed_row(*it, clients)),
            );
        }
        lines
    }

    fn speed_row(&self, contestant: Contestant<'a>, clients: u32) -> String {
        let median = |figure: fn(&Sample) -> f64| self.results.median(contestant, clients, figure);
        let wine = match self.is_wine() {
            true => format!(" {:.3} |", median(|s| s.wineserver_cpu)),
            false => String::new(),
        };
        format!(
            "| {clients} | {} | {:.0} | {:.0} | {:.0} | {:.3} |{wine} {:.2} |",
            self.name(contestant),
            median(|s| s.load.per_second),
            median(|s| s.load.p50_us),
            median(|s| s.load.p99_us),
            median(|s| s.cpu),
            self.ratio(contestant, clients, |s| s.load.per_second),
        )
    }

    fn footprint_table(&self) -> Vec<String> {
        let mut lines = vec![
            "| server | memory MiB | first answer ms |".to_owned(),
            "|---|---:|---:|".to_owned(),
        ];
        let servers = self.contestants.iter().copied();
        for contestant in servers.filter(|it| *it != Contestant::RawEcho) {
            let first = self.results.first_answer(contestant).unwrap_or(f64::NAN) * 1_000.0;
            let memory = self.results.memory(contestant) / 1_024.0;
            lines.push(format!(
                "| {} | {memory:.1} | {first:.0} |",
                self.name(contestant)
            ));
        }
        lines
    }

    fn targets(&self) -> Vec<String> {
        let [one, eight, many] = SPEED_TARGETS;
        let speed = format!("calls/s: at least {one}, {eight}, {many}");
        let cpu = format!("CPU: at most {CPU_TARGET}");
        let memory = self.results.memory(Contestant::Ours) / self.results.memory(Contestant::Go);
        let [first, second, third] = CLIENTS;
        vec![
            format!("| target, times the Go peer's | {first} | {second} | {third} |"),
            "|---|---:|---:|---:|".to_owned(),
            self.target(&speed, |s| s.load.per_second, |at| at.ratio >= at.speed),
            self.target("p99: at most 1", |s| s.load.p99_us, |at| at.ratio <= 1.0),
            self.target(&cpu, |s| s.cpu, |at| at.ratio <= CPU_TARGET),
            format!(
                "| memory: at most a third | | | {memory:.2} {} |",
                verdict(memory <= MEMORY_TARGET)
            ),
            self.exe_target(),
        ]
    }

    fn target(
        &self,
        what: &str,
        figure: fn(&Sample) -> f64,
        is_reached: fn(Reached) -> bool,
    ) -> String {
        let cells = CLIENTS.into_iter().zip(SPEED_TARGETS);
        let cells = cells.map(|(clients, speed)| {
            let ratio = self.ratio(Contestant::Ours, clients, figure);
            format!(
                " {ratio:.2} {} |",
                verdict(is_reached(Reached { ratio, speed }))
            )
        });
        format!("| {what} |{}", cells.collect::<String>())
    }

    fn exe_target(&self) -> String {
        let size = format!(
            "{}.{:02}",
            self.exe_bytes / 1_000_000,
            self.exe_bytes / 10_000 % 100
        );
        let verdict = verdict(self.exe_bytes < EXE_TARGET);
        format!(
            "| exe under 6 MB (profile {}) | | | {size} MB {verdict} |",
            self.profile
        )
    }

    /// A figure as a multiple of the Go peer's.
    fn ratio(&self, contestant: Contestant<'a>, clients: u32, figure: fn(&Sample) -> f64) -> f64 {
        let go = self.results.median(Contestant::Go, clients, figure);
        self.results.median(contestant, clients, figure) / go
    }
}

fn verdict(reached: bool) -> &'static str {
    if reached { "yes" } else { "**no**" }
}

/// The old text with the part between the benchmark's marks replaced, or with marks at its end.
fn replace(old: &str, benchmark: &str, text: &str) -> String {
    let begin = format!("<!-- written by `cargo xtask bench {benchmark}` -->\n");
    let (before, rest) = old.split_once(&begin).unwrap_or((old, ""));
    let after = rest.split_once(END).map_or("", |(_, after)| after);
    format!("{before}{begin}\n{}\n\n{END}{after}", text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::super::results::Load;
    use super::*;

    #[test]
    fn what_a_person_wrote_stays() {
        let begin = "<!-- written by `cargo xtask bench pipe` -->\n";
        let first = replace("# Title\n\n", "pipe", "one");
        let second = replace(&format!("{first}\n## Why\n"), "pipe", "two");
        assert_eq!(
            second,
            format!("# Title\n\n{begin}\ntwo\n\n{END}\n## Why\n")
        );
    }

    #[test]
    fn what_another_benchmark_wrote_stays() {
        let first = replace("# Title\n\n", "pipe", "pipes");
        let both = replace(&format!("{first}\n"), "attack", "attacks");
        assert_eq!(replace(&both, "pipe", "pipes"), both);
        let renewed = replace(&both, "attack", "others");
        assert_eq!(renewed, both.replace("attacks", "others"));
    }

    fn section(host: &'static str) -> String {
        let mut results = Results::default();
        for (contestant, per_second) in [(Contestant::Go, 1_000.0), (Contestant::Ours, 1_600.0)] {
            for clients in CLIENTS {
                let load = Load {
                    answered: 1.0,
                    per_second,
                    p50_us: 1.0,
                    p99_us: 1.0,
                };
                let sample = Sample {
                    load,
                    cpu: per_second,
                    wineserver_cpu: 0.0,
                };
                results.add(contestant, clients, sample);
            }
        }
        let section = Section {
            host,
            contestants: vec![Contestant::Go, Contestant::Ours],
            results,
            exe_bytes: 5_999_999,
            profile: "release",
        };
        section.render().join("\n")
    }

    #[test]
    fn a_target_is_judged() {
        let text = section("wine");
        for row in [
            "| calls/s: at least 1.8, 1.5, 1.3 | 1.60 **no** | 1.60 yes | 1.60 yes |",
            "| p99: at most 1 | 1.00 yes | 1.00 yes | 1.00 yes |",
            "| CPU: at most 0.5 | 1.60 **no** | 1.60 **no** | 1.60 **no** |",
            "| memory: at most a third | | | NaN **no** |",
            "| exe under 6 MB (profile release) | | | 5.99 MB yes |",
        ] {
            assert!(text.contains(row), "{row}\n{text}");
        }
    }

    #[test]
    fn a_server_of_a_simulated_node_is_measured_against_no_target() {
        let text = section("linux");
        assert!(
            text.contains("| 1 | csi-proxy, simulated node | 1600 |"),
            "{text}"
        );
        assert!(
            !text.contains("target") && !text.contains("wineserver"),
            "{text}"
        );
    }
}
