//! How much longer an innocent client waits beside an attacker: the numbers, and their table.

use std::fmt;

use anyhow::{Context, Result};

use super::machine::Here;
use super::results::median;

/// The p50 beside an attacker may be so many times the control's.
const TARGET: f64 = 10.0;

/// One process's attack on a server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attack {
    title: &'static str,
    /// Its name in `bench/attack`.
    pub(super) kind: &'static str,
    pub(super) connections: u32,
}

/// How long the calls of an innocent client took, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Latency {
    p50: f64,
    p99: f64,
}

/// Two innocents' waits in the same seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub(super) attacked: Latency,
    pub(super) control: Latency,
    /// The attacker's rate, in MB/s.
    pub(super) megabytes: f64,
}

/// All rounds of an attack on a server.
#[derive(Debug)]
pub(super) struct Line<'a> {
    pub(super) attack: Attack,
    server: &'a str,
    pub(super) pairs: Vec<Pair>,
}

impl Attack {
    pub(super) const fn new(title: &'static str, kind: &'static str, connections: u32) -> Self {
        Self {
            title,
            kind,
            connections,
        }
    }
}

impl fmt::Display for Attack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} connections", self.title, self.connections)
    }
}

impl Latency {
    /// Reads lines of microseconds.
    pub(super) fn parse(output: &str) -> Result<Self> {
        let micros: Result<Vec<f64>, _> = output.lines().map(str::parse).collect();
        let mut micros = micros.with_context(|| format!("times in {output:?}"))?;
        anyhow::ensure!(!micros.is_empty(), "no call was answered");
        micros.sort_by(f64::total_cmp);
        Ok(Self {
            p50: percentile(&micros, 50) / 1_000.0,
            p99: percentile(&micros, 99) / 1_000.0,
        })
    }
}

/// The smallest value not exceeded by so many of a hundred.
fn percentile(sorted: &[f64], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted
        .get(rank.saturating_sub(1))
        .copied()
        .unwrap_or(f64::NAN)
}

/// An attacker's own count of bytes sent, per second; an attack that sent nothing shows nothing.
pub(super) fn megabytes(output: &str, seconds: u32) -> Result<f64> {
    let mut words = output.split_whitespace().skip_while(|word| *word != "sent");
    let sent = words.nth(1).and_then(|word| word.parse::<f64>().ok());
    let sent = sent.filter(|sent| *sent > 0.0);
    let sent = sent.with_context(|| format!("the attacker sent nothing: {output}"))?;
    Ok(sent / 1e6 / f64::from(seconds))
}

/// The chapter of docs/benchmarks.md.
pub(super) fn render(here: &Here, profile: &str, rounds: u32, lines: &[Line<'_>]) -> String {
    let head = [
        format!("Measured on {} with `cargo xtask bench attack`.", here.date),
        String::new(),
        format!("- {}", here.machine()),
        format!("- Software: {}, profile {profile}", here.rust),
        format!("- Medians of {rounds} rounds; the last ratio is the median of each round's own"),
        String::new(),
        "| one process attacks | connections | server | attacked: p50 ms | p99 ms \
         | control: p50 ms | p99 ms | attacker MB/s | p50 : control | at most 10 |"
            .to_owned(),
        "|---|---:|---|---:|---:|---:|---:|---:|---:|---|".to_owned(),
    ];
    let rows = lines.iter().map(Line::render);
    head.into_iter().chain(rows).collect::<Vec<_>>().join("\n")
}

impl<'a> Line<'a> {
    pub(super) fn new(attack: Attack, server: &'a str) -> Self {
        Self {
            attack,
            server,
            pairs: Vec::new(),
        }
    }

    fn render(&self) -> String {
        let Attack {
            title, connections, ..
        } = self.attack;
        let ratio = self.median(|it| it.attacked.p50 / it.control.p50);
        format!(
            "| {title} | {connections} | {} | {:.2} | {:.1} | {:.2} | {:.1} | {:.1} | {ratio:.1} | {} |",
            self.server,
            self.median(|it| it.attacked.p50),
            self.median(|it| it.attacked.p99),
            self.median(|it| it.control.p50),
            self.median(|it| it.control.p99),
            self.median(|it| it.megabytes),
            if ratio <= TARGET { "yes" } else { "**no**" },
        )
    }

    fn median(&self, figure: impl Fn(&Pair) -> f64) -> f64 {
        median(self.pairs.iter().map(figure).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(attacked: f64, control: f64) -> Pair {
        let latency = |p50| Latency {
            p50,
            p99: 2.0 * p50,
        };
        Pair {
            attacked: latency(attacked),
            control: latency(control),
            megabytes: 3.0,
        }
    }

    fn line(pairs: Vec<Pair>) -> Line<'static> {
        Line {
            pairs,
            ..Line::new(Attack::new("PING", "ping", 4), "ours")
        }
    }

    #[test]
    fn percentiles_are_calls_that_were_made() {
        let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(percentile(&hundred, 50), 50.0);
        assert_eq!(percentile(&hundred, 99), 99.0);
        assert_eq!(percentile(&[1.0, 2.0, 3.0], 50), 2.0);
        assert_eq!(percentile(&[1.0, 2.0, 3.0], 99), 3.0);
    }

    #[test]
    fn latencies_are_sorted_as_numbers_and_told_in_milliseconds() {
        let latency = Latency::parse("1000\n200\n9000\n").unwrap();
        assert_eq!(latency, Latency { p50: 1.0, p99: 9.0 });
        assert!(Latency::parse("").is_err());
        assert!(Latency::parse("12\nthread panicked\n").is_err());
    }

    #[test]
    fn an_attack_that_sends_nothing_is_an_error() {
        assert_eq!(
            megabytes("attacking\nsent 10000000 opened 4\n", 5).unwrap(),
            2.0
        );
        assert!(megabytes("attacking\nsent 0 opened 4\n", 5).is_err());
        assert!(megabytes("attacking\n", 5).is_err());
    }

    #[test]
    fn the_ratio_is_the_median_of_each_rounds_own() {
        let line = line(vec![pair(50.0, 5.0), pair(30.0, 1.0), pair(6.0, 2.0)]);
        assert_eq!(
            line.render(),
            "| PING | 4 | ours | 30.00 | 60.0 | 2.00 | 4.0 | 3.0 | 10.0 | yes |"
        );
    }

    #[test]
    fn a_ratio_over_the_target_or_none_is_missed() {
        assert!(
            line(vec![pair(10.1, 1.0)])
                .render()
                .ends_with("| 10.1 | **no** |")
        );
        assert!(line(Vec::new()).render().ends_with("| **no** |"));
    }
}
