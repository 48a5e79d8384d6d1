//! Many staged volumes beside few: the numbers, and their tables.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use super::procfs::Private;
use super::results::median;

/// The start's comparison of records and node, in milliseconds.
const RECONCILE_TARGET: f64 = 2_000.0;

/// Private memory, in KiB: 20 MB.
const MEMORY_TARGET: u64 = 20_000_000 / 1024;

/// Milliseconds, by how many volumes are staged.
#[derive(Debug, Default)]
pub(super) struct Staged(BTreeMap<u32, Figures>);

#[derive(Debug, Default)]
struct Figures {
    open: Vec<f64>,
    reconcile: Vec<f64>,
    recorded: Vec<f64>,
    stats: Vec<f64>,
}

impl Staged {
    pub(super) fn parse(output: &str) -> Result<Self> {
        let mut staged = Self::default();
        for line in output.lines() {
            let words: Vec<_> = line.split_whitespace().collect();
            let [what, volumes, milliseconds] = words.as_slice() else {
                anyhow::bail!("an unknown line: {line}");
            };
            let volumes = volumes.parse().with_context(|| line.to_owned())?;
            let milliseconds = milliseconds.parse().with_context(|| line.to_owned())?;
            let figures = staged.0.entry(volumes).or_default();
            match *what {
                "open" => figures.open.push(milliseconds),
                "reconcile" => figures.reconcile.push(milliseconds),
                "recorded" => figures.recorded.push(milliseconds),
                _ => figures.stats.push(milliseconds),
            }
        }
        Ok(staged)
    }

    pub(super) fn render(&self) -> String {
        let mut lines = vec![
            format!(
                "| staged volumes | records read ms | reconciled ms | at most {RECONCILE_TARGET} \
                 | reconciled with field latencies ms | at most {RECONCILE_TARGET} | stats p50 ms |"
            ),
            "|---:|---:|---:|---|---:|---|---:|".to_owned(),
        ];
        lines.extend(self.0.iter().map(|(volumes, figures)| {
            let reconcile = median(figures.reconcile.clone());
            let recorded = median(figures.recorded.clone());
            format!(
                "| {volumes} | {:.0} | {reconcile:.0} | {} | {recorded:.0} | {} | {:.3} |",
                median(figures.open.clone()),
                verdict(reconcile <= RECONCILE_TARGET),
                verdict(recorded <= RECONCILE_TARGET),
                median(figures.stats.clone()),
            )
        }));
        lines.join("\n")
    }
}

/// Private memory of `wincsi node` at rest.
#[derive(Debug)]
pub(super) struct Memory {
    pub(super) volumes: u32,
    pub(super) none: Private,
    pub(super) many: Private,
}

impl Memory {
    pub(super) fn render(&self) -> String {
        let megabytes =
            |kib: u64| format!("{}.{}", kib * 1024 / 1_000_000, kib * 1024 / 100_000 % 10);
        let row = |volumes: u32, Private { written, clean }: Private| {
            let verdict = verdict(written < MEMORY_TARGET);
            let [written, clean] = [written, clean].map(megabytes);
            format!("| {volumes} | {written} | {verdict} | {clean} |")
        };
        [
            "| records | private MB of `wincsi node` that it wrote | under 20 | pages of its exe, MB |".to_owned(),
            "|---:|---:|---|---:|".to_owned(),
            row(0, self.none),
            row(self.volumes, self.many),
        ]
        .join("\n")
    }
}

fn verdict(is_reached: bool) -> &'static str {
    if is_reached { "yes" } else { "**no**" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_of_volumes_has_a_row_with_its_medians() {
        let output = "open 10 1\nreconcile 10 2\nrecorded 10 5\nstats 10 0.5\nstats 10 0.1\nstats 10 0.2\n\
                      open 1000 3\nreconcile 1000 2500\nrecorded 1000 1500\nstats 1000 0.4\n";
        let table = Staged::parse(output).unwrap().render();
        let rows: Vec<_> = table.lines().skip(2).collect();
        let expected = [
            "| 10 | 1 | 2 | yes | 5 | yes | 0.200 |",
            "| 1000 | 3 | 2500 | **no** | 1500 | yes | 0.400 |",
        ];
        assert_eq!(rows, expected);
        assert!(Staged::parse("a writer panicked\n").is_err());
    }

    #[test]
    fn memory_is_judged_in_megabytes() {
        let memory = Memory {
            volumes: 9,
            none: Private {
                written: 4_000,
                clean: 30_000,
            },
            many: Private {
                written: 30_000,
                clean: 4_000,
            },
        };
        let table = memory.render();
        assert!(table.contains("| 0 | 4.0 | yes | 30.7 |"), "{table}");
        assert!(table.ends_with("| 9 | 30.7 | **no** | 4.0 |"), "{table}");
    }
}
