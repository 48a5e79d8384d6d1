//! The table at the end of a test run, and after it all red results.

use std::fmt::Write;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;

use super::outcome::{Counts, Failure, Outcome};
use crate::env;

/// How many failures are shown with their output; of the others the closing list has the names.
const SHOWN: usize = 10;

/// How many programs of a run may be unsteady; more of them are no accident.
const MOST_UNSTEADY: usize = 3;

/// A line of the table.
#[derive(Debug)]
pub(super) struct Row {
    step: &'static str,
    about: &'static str,
    outcome: Outcome,
    took: Duration,
}

impl Row {
    pub(super) fn ran(
        step: &'static str,
        about: &'static str,
        outcome: Result<Outcome>,
        took: Duration,
    ) -> Self {
        let outcome = outcome.unwrap_or_else(|error| {
            Outcome::failed(Failure::of_error("the step could not go on", &error))
        });
        Self {
            step,
            about,
            outcome: outcome.not_empty("the step"),
            took,
        }
    }
}

/// Prints the table, with the set-up time, the red results and the closing line, and returns the exit status of the
/// run.
pub(super) fn print(set_up: Duration, rows: &[Row]) -> ExitCode {
    let reds = reds(rows, env::is_ci());
    let table = table(set_up, rows);
    print!("{table}{}{}", details(rows), closing(rows, &reds));
    if reds.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Why the run is red, a line each; none if it is green. The exit status follows from this list
/// alone, so a run cannot be red without saying why.
fn reds(rows: &[Row], strict: bool) -> Vec<String> {
    let mut reds = Vec::new();
    for Row { step, outcome, .. } in rows {
        let Counts {
            failed, skipped, ..
        } = outcome.counts;
        let named = outcome.failures.iter().map(|failure| &failure.what);
        reds.extend(named.map(|what| format!("{step}: {what}")));
        if outcome.failures.is_empty() && failed > 0 {
            reds.push(format!("{step}: {failed} failed without a name"));
        }
        if strict && skipped > 0 {
            reds.push(format!(
                "{step}: {skipped} skipped, where CI may skip nothing"
            ));
        }
    }
    let unsteady: usize = rows.iter().map(|row| row.outcome.unsteady.len()).sum();
    if unsteady > MOST_UNSTEADY {
        reds.push(format!(
            "{unsteady} programs were green only the second time"
        ));
    }
    if rows.iter().all(|row| row.outcome.counts.passed == 0) {
        reds.push("no test has passed".to_owned());
    }
    reds
}

fn table(set_up: Duration, rows: &[Row]) -> String {
    let mut text = format!(
        "\n{:<11} {:>7} {:>7} {:>7} {:>7} {:>7}  what\n",
        "step", "passed", "failed", "skipped", "build", "run"
    );
    for row in rows {
        text += &line(row);
    }
    let steps: Duration = rows.iter().map(|row| row.took).sum();
    let (all, set_up) = (minutes(set_up + steps), minutes(set_up));
    let _ = writeln!(text, "minutes in all: {all}, set-up {set_up}\n");
    for Row { step, outcome, .. } in rows {
        for note in &outcome.notes {
            let _ = writeln!(text, "{step}: {note}");
        }
    }
    text
}

fn line(row: &Row) -> String {
    let Row { step, about, .. } = row;
    let Counts {
        passed,
        failed,
        skipped,
    } = row.outcome.counts;
    let running = row.took.saturating_sub(row.outcome.building);
    let (build, run) = (minutes(row.outcome.building), minutes(running));
    format!("{step:<11} {passed:>7} {failed:>7} {skipped:>7} {build:>7} {run:>7}  {about}\n")
}

/// The failures, with their output.
fn details(rows: &[Row]) -> String {
    let mut text = String::new();
    let all = rows.iter().flat_map(|Row { step, outcome, .. }| {
        let all = outcome.failures.iter().chain(&outcome.unsteady);
        all.map(move |failure| (step, failure))
    });
    for (step, failure) in all.take(SHOWN) {
        let (what, excerpt) = (&failure.what, failure.excerpt());
        let _ = writeln!(text, "\n---- {step}: {what}\n{excerpt}");
    }
    text
}

/// The last lines, the rest of a cut log: all unsteady and red results, and the counts.
fn closing(rows: &[Row], reds: &[String]) -> String {
    let mut text = String::from("\n");
    let mut total = Counts::default();
    for Row { step, outcome, .. } in rows {
        total += outcome.counts;
        for Failure { what, .. } in &outcome.unsteady {
            let _ = writeln!(
                text,
                "UNSTEADY: {step}: {what}; green when it was run again"
            );
        }
    }
    for red in reds {
        let _ = writeln!(text, "RED: {red}");
    }
    let Counts {
        passed,
        failed,
        skipped,
    } = total;
    text + &format!("{passed} passed, {failed} failed, {skipped} skipped\n")
}

/// Minutes and seconds.
fn minutes(time: Duration) -> String {
    format!("{}:{:02}", time.as_secs() / 60, time.as_secs() % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row([passed, failed, skipped]: [u32; 3]) -> Row {
        let counts = Counts {
            passed,
            failed,
            skipped,
        };
        let outcome = Outcome {
            counts,
            ..Outcome::default()
        };
        Row::ran("wine", "", Ok(outcome), Duration::ZERO)
    }

    fn failed() -> Row {
        let mut row = row([3, 1, 0]);
        let failure = Failure::new("calls.rs: exit status: 1", "connection reset");
        row.outcome.failures.push(failure);
        row
    }

    #[test]
    fn a_run_is_red_for_named_reasons_alone() {
        assert!(reds(&[row([3, 0, 0])], true).is_empty());
        assert_eq!(reds(&[failed()], false), ["wine: calls.rs: exit status: 1"]);
        let nameless = row([3, 2, 0]);
        assert_eq!(reds(&[nameless], false), ["wine: 2 failed without a name"]);
    }

    #[test]
    fn what_is_skipped_is_red_where_nothing_may_be() {
        let rows = [row([3, 0, 1])];
        assert!(reds(&rows, false).is_empty());
        assert_eq!(reds(&rows, true).len(), 1);
        assert_eq!(reds(&[row([0, 0, 1])], false), ["no test has passed"]);
    }

    fn unsteady(programs: usize) -> Row {
        let mut row = row([3, 0, 0]);
        let once = || Failure::new("calls.rs: failed a", "once");
        row.outcome.unsteady.extend((0..programs).map(|_| once()));
        row
    }

    #[test]
    fn what_is_unsteady_is_shown_and_too_much_of_it_is_red() {
        let rows = [unsteady(3)];
        assert!(reds(&rows, true).is_empty());
        let named = "UNSTEADY: wine: calls.rs: failed a; green when it was run again\n";
        assert!(closing(&rows, &[]).contains(named));
        assert!(details(&rows).contains("\nonce\n"));
        let found = reds(&[unsteady(3), unsteady(1)], false);
        assert_eq!(found, ["4 programs were green only the second time"]);
    }

    #[test]
    fn a_step_in_which_no_test_ran_is_red() {
        let rows = [row([3, 0, 0]), row([0, 0, 0])];
        assert_eq!(reds(&rows, false), ["wine: the step: no test ran"]);
    }

    #[test]
    fn an_error_of_a_step_is_named_with_its_text() {
        let error = anyhow::anyhow!("csi-proxy: no ready\nits log");
        let rows = [Row::ran("demo", "", Err(error), Duration::ZERO)];
        let wanted = "demo: the step could not go on: csi-proxy: no ready";
        assert_eq!(reds(&rows, false)[0], wanted);
        assert!(details(&rows).contains("\nits log\n"));
    }

    #[test]
    fn the_last_lines_say_what_is_red() {
        let rows = [failed()];
        let text = closing(&rows, &reds(&rows, false));
        let wanted = "\nRED: wine: calls.rs: exit status: 1\n3 passed, 1 failed, 0 skipped\n";
        assert_eq!(text, wanted);
        assert!(details(&rows).contains("connection reset"));
    }
}
