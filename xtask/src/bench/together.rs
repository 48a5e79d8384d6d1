//! Calls one at a time and many at a time: the numbers, and their table.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use super::results::median;

/// The last of many at a time may take so many times the slowest alone.
const TARGET: f64 = 2.0;

/// One build's measurements.
#[derive(Debug, Default)]
pub(super) struct Together {
    calls: Vec<String>,
    rounds: Vec<BTreeMap<String, Round>>,
}

/// One call in one round, in milliseconds.
#[derive(Debug, Default)]
struct Round {
    alone: Vec<f64>,
    last: Option<Last>,
}

/// Many at a time, in milliseconds: until the last was answered, and of processor time.
#[derive(Clone, Copy, Debug)]
struct Last {
    milliseconds: f64,
    processor: f64,
}

impl Together {
    /// Reads the lines of one round.
    pub(super) fn add(&mut self, output: &str) -> Result<()> {
        let mut round = BTreeMap::<String, Round>::new();
        for line in output.lines() {
            let words: Vec<_> = line.split_whitespace().collect();
            let [what, call, _, milliseconds, processor] = words.as_slice() else {
                anyhow::bail!("an unknown line: {line}");
            };
            let number = |word: &str| word.parse::<f64>().with_context(|| line.to_owned());
            let (milliseconds, processor) = (number(milliseconds)?, number(processor)?);
            if !self.calls.iter().any(|known| known == call) {
                self.calls.push((*call).to_owned());
            }
            let of_call = round.entry((*call).to_owned()).or_default();
            match *what {
                "alone" => of_call.alone.push(milliseconds),
                _ => {
                    of_call.last = Some(Last {
                        milliseconds,
                        processor,
                    })
                }
            }
        }
        anyhow::ensure!(!round.is_empty(), "nothing was measured");
        self.rounds.push(round);
        Ok(())
    }

    /// The table of all builds.
    pub(super) fn render<'a>(
        volumes: u32,
        builds: impl Iterator<Item = (&'a str, &'a Self)> + Clone,
    ) -> String {
        let head = format!(
            "| call | build | alone: ms | slowest ms | {volumes} at a time: last ms | last : slowest \
             | at most {TARGET} | processor ms |"
        );
        let mut lines = vec![head, "|---|---|---:|---:|---:|---:|---|---:|".to_owned()];
        let calls = builds.clone().next().map(|(_, first)| &first.calls);
        for call in calls.into_iter().flatten() {
            lines.extend(builds.clone().map(|(name, build)| build.row(call, name)));
        }
        lines.join("\n")
    }

    fn row(&self, call: &str, name: &str) -> String {
        let ratio = self.median(call, |round| round.last() / round.slowest());
        format!(
            "| {call} | {name} | {:.1} | {:.1} | {:.1} | {ratio:.2} | {} | {:.0} |",
            self.median(call, |round| median(round.alone.clone())),
            self.median(call, Round::slowest),
            self.median(call, Round::last),
            if ratio <= TARGET { "yes" } else { "**no**" },
            self.median(call, Round::processor),
        )
    }

    fn median(&self, call: &str, figure: impl Fn(&Round) -> f64) -> f64 {
        let rounds = self.rounds.iter().filter_map(|round| round.get(call));
        median(rounds.map(figure).collect())
    }
}

impl Round {
    fn slowest(&self) -> f64 {
        self.alone.iter().copied().fold(f64::NAN, f64::max)
    }

    fn last(&self) -> f64 {
        self.last.map_or(f64::NAN, |last| last.milliseconds)
    }

    fn processor(&self) -> f64 {
        self.last.map_or(f64::NAN, |last| last.processor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(outputs: &[&str]) -> String {
        let mut together = Together::default();
        for output in outputs {
            together.add(output).unwrap();
        }
        let table = Together::render(100, [("ours", &together)].into_iter());
        table.lines().nth(2).unwrap().to_owned()
    }

    #[test]
    fn the_ratio_is_that_of_the_last_to_the_slowest_alone() {
        let alone = "alone Stage 1 1000 10\nalone Stage 1 2000 10\n";
        let quick = format!("{alone}last Stage 100 3000 400\n");
        let slow = format!("{alone}last Stage 100 9000 600\n");
        let expected = "| Stage | ours | 1000.0 | 2000.0 | 3000.0 | 1.50 | yes | 400 |";
        assert_eq!(row(&[&quick, &slow, &quick]), expected);
        assert!(row(&[&slow]).ends_with("| 4.50 | **no** | 600 |"));
    }

    #[test]
    fn a_round_without_a_figure_is_an_error_or_misses_the_target() {
        assert!(Together::default().add("").is_err());
        assert!(Together::default().add("a caller panicked\n").is_err());
        assert!(row(&["alone Stage 1 1000 10\n"]).contains("**no** |"));
    }
}
