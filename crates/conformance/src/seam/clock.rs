use std::time::Duration;

use os::{Deadline, Facility};

use crate::case::declare;
use crate::failure::holds;
use crate::{CaseResult, Fixture};

declare!("clock", &[Facility::Clock];
    it_never_goes_back,
    a_sleep_lets_its_time_pass,
    a_deadline_passes_with_the_clock,
    the_wall_clock_counts_from_the_unix_epoch,
);

fn it_never_goes_back(fixture: &Fixture) -> CaseResult {
    let clock = fixture.clock();
    let moments: Vec<_> = std::iter::repeat_with(|| clock.now()).take(1000).collect();
    holds(
        "each moment is no earlier than the one before",
        moments.is_sorted(),
    )
}

fn a_sleep_lets_its_time_pass(fixture: &Fixture) -> CaseResult {
    let clock = fixture.clock();
    let nap = Duration::from_millis(20);
    let before = clock.now();
    clock.sleep(nap);
    holds("the time has passed", before.until(clock.now()) >= nap)
}

fn a_deadline_passes_with_the_clock(fixture: &Fixture) -> CaseResult {
    let clock = fixture.clock();
    let nap = Duration::from_millis(20);
    let deadline = Deadline::within(clock, nap);
    holds(
        "no more is left than was given",
        deadline.left(clock) <= Some(nap),
    )?;
    clock.sleep(nap);
    holds("nothing is left afterwards", deadline.left(clock).is_none())?;
    holds(
        "for ever does not end",
        Deadline::NEVER.left(clock).is_some(),
    )
}

fn the_wall_clock_counts_from_the_unix_epoch(fixture: &Fixture) -> CaseResult {
    const YEAR: u64 = 31_556_952;
    let years = fixture.clock().wall().as_secs() / YEAR;
    holds(
        "it is after 2020 and before 2200",
        (50..230).contains(&years),
    )
}
