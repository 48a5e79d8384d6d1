//! Numbers, and their evaluation.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde_json::Value;

use super::contestant::Contestant;

/// A load generator's measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Load {
    /// Calls answered by the server, with those of the warm-up.
    pub(super) answered: f64,
    pub(super) per_second: f64,
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
}

impl Load {
    pub(super) fn parse(output: &str) -> Result<Self> {
        let value = json(output)?;
        let number = |key: &str| {
            value[key]
                .as_f64()
                .with_context(|| format!("no {key} in {output}"))
        };
        Ok(Self {
            answered: number("answered")?,
            per_second: number("per_second")?,
            p50_us: number("p50_us")?,
            p99_us: number("p99_us")?,
        })
    }
}

/// When the first caller was answered, in seconds since 1970.
pub(super) fn first_answer(output: &str) -> Result<f64> {
    let nanos = json(output)?["first_unix_ns"]
        .as_f64()
        .context("no first_unix_ns")?;
    Ok(nanos / 1e9)
}

/// The line of JSON in a program's output.
fn json(output: &str) -> Result<Value> {
    let line = output.lines().find(|line| line.starts_with('{'));
    let line = line.with_context(|| format!("no JSON in {output:?}"))?;
    serde_json::from_str(line).with_context(|| format!("read {line}"))
}

/// One run of one server at one number of clients.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) load: Load,
    /// CPU seconds of the server per 1,000 calls.
    pub(super) cpu: f64,
    /// CPU seconds of the wineserver per 1,000 calls; 0 without Wine.
    pub(super) wineserver_cpu: f64,
}

/// A server's fixed figures, with any client.
#[derive(Clone, Copy, Debug)]
pub(super) struct Footprint {
    /// KiB above the idle program.
    pub(super) memory_kib: f64,
    /// Seconds from process start to the first answer; the raw echo has none.
    pub(super) first_answer: Option<f64>,
}

/// The measurements on one host.
#[derive(Debug, Default)]
pub(super) struct Results<'a> {
    samples: BTreeMap<(Contestant<'a>, u32), Vec<Sample>>,
    footprints: BTreeMap<Contestant<'a>, Vec<Footprint>>,
}

impl<'a> Results<'a> {
    pub(super) fn add(&mut self, contestant: Contestant<'a>, clients: u32, sample: Sample) {
        self.samples
            .entry((contestant, clients))
            .or_default()
            .push(sample);
    }

    pub(super) fn add_footprint(&mut self, contestant: Contestant<'a>, footprint: Footprint) {
        self.footprints
            .entry(contestant)
            .or_default()
            .push(footprint);
    }

    /// The median of a figure over the rounds.
    pub(super) fn median(
        &self,
        contestant: Contestant<'a>,
        clients: u32,
        figure: impl Fn(&Sample) -> f64,
    ) -> f64 {
        let samples = self.samples.get(&(contestant, clients));
        median(samples.into_iter().flatten().map(figure).collect())
    }

    /// KiB above the idle program, median.
    pub(super) fn memory(&self, contestant: Contestant<'a>) -> f64 {
        let footprints = self.footprints.get(&contestant).into_iter().flatten();
        median(footprints.map(|footprint| footprint.memory_kib).collect())
    }

    /// Seconds to the first answer, median.
    pub(super) fn first_answer(&self, contestant: Contestant<'a>) -> Option<f64> {
        let footprints = self.footprints.get(&contestant).into_iter().flatten();
        let times: Vec<f64> = footprints
            .filter_map(|footprint| footprint.first_answer)
            .collect();
        (!times.is_empty()).then(|| median(times))
    }
}

/// The middle value; of two the lower.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len().saturating_sub(1) / 2;
    values.get(middle).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_the_median() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0]), 1.0);
        assert!(median(Vec::new()).is_nan());
    }

    #[test]
    fn a_load_is_read_from_the_line_of_json() {
        let output = "noise\n{\"answered\":10,\"per_second\":5.5,\"p50_us\":1,\"p99_us\":2}\n";
        let load = Load {
            answered: 10.0,
            per_second: 5.5,
            p50_us: 1.0,
            p99_us: 2.0,
        };
        assert_eq!(Load::parse(output).unwrap(), load);
        assert!(Load::parse("{}").is_err());
        assert!(Load::parse("").is_err());
    }
}
