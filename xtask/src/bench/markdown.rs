//! docs/benchmarks.md: the part that each benchmark writes stands between two marks; what a person
//! wrote around them stays.

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

/// What was measured on one host.
#[derive(Debug)]
pub(super) struct Section<'a> {
    pub(super) host: &'static str,
    pub(super) contestants: Vec<Contestant<'a>>,
    pub(super) results: Results<'a>,
    pub(super) exe_bytes: u64,
    pub(super) profile: &'static str,
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
        let place = match self.host {
            "wine" => "Named pipes under Wine",
            _ => "Unix sockets on Linux",
        };
        let mut lines = vec![format!("## {place}"), String::new()];
        lines.extend(self.speed_table());
        lines.push(String::new());
        lines.extend(self.footprint_table());
        lines.push(String::new());
        lines.extend(self.targets());
        lines.push(String::new());
        lines
    }

    fn speed_table(&self) -> Vec<String> {
        let mut lines = vec![
            "| clients | server | calls/s | p50 µs | p99 µs | CPU | wineserver CPU | calls/s : Go |"
                .to_owned(),
            "|---:|---|---:|---:|---:|---:|---:|---:|".to_owned(),
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
        format!(
            "| {clients} | {} | {:.0} | {:.0} | {:.0} | {:.3} | {:.3} | {:.2} |",
            contestant.name(),
            median(|s| s.load.per_second),
            median(|s| s.load.p50_us),
            median(|s| s.load.p99_us),
            median(|s| s.cpu),
            median(|s| s.wineserver_cpu),
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
                contestant.name()
            ));
        }
        lines
    }

    fn targets(&self) -> Vec<String> {
        let mut lines = vec![
            "| target | reached | |".to_owned(),
            "|---|---:|---|".to_owned(),
        ];
        for (clients, target) in CLIENTS.into_iter().zip(SPEED_TARGETS) {
            let speed = self.ours(clients, |s| s.load.per_second);
            lines.push(at_least(
                &format!("calls/s at {clients}, times Go's"),
                speed,
                target,
            ));
            let p99 = self.ours(clients, |s| s.load.p99_us);
            lines.push(at_most(&format!("p99 at {clients}, times Go's"), p99, 1.0));
            let cpu = self.ours(clients, |s| s.cpu);
            lines.push(at_most(
                &format!("CPU per call at {clients}, times Go's"),
                cpu,
                CPU_TARGET,
            ));
        }
        let memory = self.results.memory(Contestant::Ours) / self.results.memory(Contestant::Go);
        lines.push(at_most("memory, times Go's", memory, MEMORY_TARGET));
        lines.push(self.exe_target());
        lines
    }

    fn exe_target(&self) -> String {
        let size = format!(
            "{}.{:02}",
            self.exe_bytes / 1_000_000,
            self.exe_bytes / 10_000 % 100
        );
        let verdict = verdict(self.exe_bytes < EXE_TARGET);
        format!(
            "| exe under 6 MB (profile {}) | {size} MB | {verdict} |",
            self.profile
        )
    }

    fn ours(&self, clients: u32, figure: fn(&Sample) -> f64) -> f64 {
        self.ratio(Contestant::Ours, clients, figure)
    }

    /// A figure as a multiple of the Go peer's.
    fn ratio(&self, contestant: Contestant<'a>, clients: u32, figure: fn(&Sample) -> f64) -> f64 {
        let go = self.results.median(Contestant::Go, clients, figure);
        self.results.median(contestant, clients, figure) / go
    }
}

fn at_least(what: &str, value: f64, target: f64) -> String {
    format!(
        "| {what}: at least {target:.2} | {value:.2} | {} |",
        verdict(value >= target)
    )
}

fn at_most(what: &str, value: f64, target: f64) -> String {
    format!(
        "| {what}: at most {target:.2} | {value:.2} | {} |",
        verdict(value <= target)
    )
}

fn verdict(reached: bool) -> &'static str {
    if reached { "yes" } else { "**no**" }
}

/// The old text with what stands between the benchmark's marks exchanged, or with marks at its end.
fn replace(old: &str, benchmark: &str, text: &str) -> String {
    let begin = format!("<!-- written by `cargo xtask bench {benchmark}` -->\n");
    let (before, rest) = old.split_once(&begin).unwrap_or((old, ""));
    let after = rest.split_once(END).map_or("", |(_, after)| after);
    format!("{before}{begin}\n{}\n\n{END}{after}", text.trim_end())
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn a_target_is_judged() {
        assert_eq!(at_least("x", 1.9, 1.8), "| x: at least 1.80 | 1.90 | yes |");
        assert_eq!(
            at_most("x", 1.1, 1.0),
            "| x: at most 1.00 | 1.10 | **no** |"
        );
        assert!(at_least("x", f64::NAN, 1.0).ends_with("**no** |"));
    }
}
