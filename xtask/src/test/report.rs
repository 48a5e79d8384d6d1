//! The table at the end of a test run.

use super::Outcome;
use super::counts::Counts;
use crate::env;
use crate::env::Need;
use crate::env::Provision;
use anyhow::Result;
use std::process::ExitCode;
use std::time::Duration;

/// A line of the table.
#[derive(Debug)]
pub(super) struct Row {
    step: &'static str,
    note: String,
    counts: Counts,
    building: Duration,
    took: Duration,
}

impl Row {
    pub(super) fn ran(
        step: &'static str,
        about: &str,
        outcome: Result<Outcome>,
        took: Duration,
    ) -> Self {
        match outcome {
            Ok(Outcome { counts, building }) => Self {
                step,
                note: about.to_owned(),
                counts,
                building,
                took,
            },
            Err(error) => {
                eprintln!("error in step {step}: {error:#}");
                let note = first_line(&format!("{error:#}"));
                Self {
                    step,
                    note,
                    counts: Counts::one_failed(),
                    building: Duration::ZERO,
                    took,
                }
            }
        }
    }

    pub(super) fn skipped(step: &'static str, reason: String) -> Self {
        println!("\n== {step}: skipped, {reason}");
        let note = format!("skipped: {}", first_line(&reason));
        let counts = Counts::skipped(1);
        Self {
            step,
            note,
            counts,
            building: Duration::ZERO,
            took: Duration::ZERO,
        }
    }
}

/// A row for the fixtures whose mkfs tools this machine lacks.
pub(super) fn missing_tools(provision: &Provision) -> Option<Row> {
    let reason = provision.lacks(Need::Mkfs)?;
    let mut row = Row::skipped("fixtures", reason);
    row.counts.skipped = u32::try_from(provision.count_missing(Need::Mkfs)).unwrap_or(u32::MAX);
    Some(row)
}

/// Prints the table and the closing line, and answers the exit status of the run.
pub(super) fn print(rows: &[Row]) -> ExitCode {
    println!(
        "\n{:<11} {:>7} {:>7} {:>7} {:>7} {:>7}  what",
        "step", "passed", "failed", "skipped", "build", "run"
    );
    for row in rows {
        println!("{}", line(row));
    }
    let total: Counts = rows.iter().map(|row| row.counts).sum();
    let took: Duration = rows.iter().map(|row| row.took).sum();
    println!("minutes in all: {}\n", minutes(took));
    println!(
        "{} passed, {} failed, {} skipped",
        total.passed, total.failed, total.skipped
    );
    verdict(total, env::is_ci())
}

fn verdict(total: Counts, strict: bool) -> ExitCode {
    let nothing_ran = total.passed == 0;
    if total.failed > 0 || nothing_ran || (strict && total.skipped > 0) {
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn line(row: &Row) -> String {
    let Counts {
        passed,
        failed,
        skipped,
    } = row.counts;
    let running = row.took.saturating_sub(row.building);
    let (build, run) = (minutes(row.building), minutes(running));
    format!(
        "{:<11} {passed:>7} {failed:>7} {skipped:>7} {build:>7} {run:>7}  {}",
        row.step, row.note
    )
}

/// Minutes and seconds.
fn minutes(time: Duration) -> String {
    format!("{}:{:02}", time.as_secs() / 60, time.as_secs() % 60)
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(passed: u32, failed: u32, skipped: u32, strict: bool) -> String {
        format!(
            "{:?}",
            verdict(
                Counts {
                    passed,
                    failed,
                    skipped
                },
                strict
            )
        )
    }

    #[test]
    fn the_verdict_follows_the_counts() {
        let (good, bad) = (
            format!("{:?}", ExitCode::SUCCESS),
            format!("{:?}", ExitCode::FAILURE),
        );
        assert_eq!(code(3, 0, 1, false), good);
        assert_eq!(code(3, 0, 1, true), bad);
        assert_eq!(code(3, 1, 0, false), bad);
        assert_eq!(code(0, 0, 0, false), bad);
    }
}
