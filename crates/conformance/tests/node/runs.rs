//! The run of a plan: a case that fails, panics, hangs or has no fixture costs only itself and is
//! reported.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use libtest_mimic::{Failed, Trial};
use os::Win32;
use wincsi_conformance::cases::Own;
use wincsi_conformance::experiments::{Sight, Trial as Experiment};
use wincsi_conformance::plan::Planned;
use wincsi_conformance::run::{self, MakeFixture, Run, Summary};
use wincsi_conformance::{CaseResult, Failure, NodeFixture, inventory};

use super::simulated::Simulated;

/// Longer than any ending case here.
const LONG: Duration = Duration::from_secs(300);

const MACHINE: &str = "a simulated node";

type Attempt = fn() -> Result<(), Failed>;

pub(crate) fn trials() -> impl Iterator<Item = Trial> {
    let all: [(&str, Attempt); 5] = [
        (
            "runs::what_fails_or_panics_costs_itself_alone",
            fails_or_panics,
        ),
        (
            "runs::after_a_case_that_does_not_end_nothing_is_tried",
            does_not_end,
        ),
        ("runs::a_case_without_a_stand_has_failed", without_a_stand),
        ("runs::each_disk_of_the_machine_is_told", inventory_of_disks),
        (
            "runs::what_an_experiment_saw_is_told_and_recorded",
            observed,
        ),
    ];
    all.into_iter()
        .map(|(name, trial)| Trial::test(name, trial))
}

const GOOD: Own = Own {
    name: "a::good",
    run: |_| Ok(()),
};
const BAD: Own = Own {
    name: "a::bad",
    run: |_| Err(Failure::Wrong("two\nlines".to_owned())),
};
const WILD: Own = Own {
    name: "a::wild",
    run: wild,
};
#[allow(clippy::panic, reason = "the case is about a panic")]
fn wild(_: &dyn NodeFixture) -> CaseResult {
    panic!("as told");
}

fn simulated() -> MakeFixture {
    Arc::new(|| {
        let made = Simulated::new().map_err(|error| error.to_string())?;
        Ok(Box::new(made) as Box<dyn NodeFixture>)
    })
}

fn ran(cases: &[Own], make: &MakeFixture, limit: Duration) -> Result<(Summary, String), Failed> {
    let plan: Vec<_> = cases.iter().map(Planned::of).collect();
    ran_whole(&plan, make, limit, None)
}

fn ran_whole(
    plan: &[Planned],
    make: &MakeFixture,
    limit: Duration,
    record: Option<&Path>,
) -> Result<(Summary, String), Failed> {
    let mut out = Vec::new();
    let run = Run {
        make: Arc::clone(make),
        limit,
        record: record.map(Path::to_owned),
        machine: MACHINE.to_owned(),
    };
    let summary = run::run(plan, &run, &mut out)?;
    Ok((summary, String::from_utf8(out)?))
}

fn fails_or_panics() -> Result<(), Failed> {
    let (summary, written) = ran(&[BAD, WILD, GOOD], &simulated(), LONG)?;
    assert_eq!((summary.passed, summary.failed, summary.not_run), (1, 2, 0));
    assert!(!summary.is_good() && !summary.is_hung);
    let lines: Vec<_> = written.lines().collect();
    assert_eq!(lines.len(), 4, "{written}");
    assert!(
        lines[0].starts_with("FAILED   a::bad (") && lines[0].ends_with(": two lines"),
        "{written}"
    );
    assert!(lines[1].ends_with("panicked: as told"), "{written}");
    assert!(lines[2].starts_with("ok       a::good ("), "{written}");
    let counts = "1 passed, 2 failed, 0 not run; assumptions: 0 settled, 0 contradicted";
    assert_eq!(lines[3], counts);
    Ok(())
}

/// It makes nothing that would need removal: its thread never ends.
fn does_not_end() -> Result<(), Failed> {
    let make: MakeFixture = Arc::new(|| {
        loop {
            std::thread::park();
        }
    });
    let (summary, written) = ran(&[GOOD, BAD], &make, Duration::from_millis(1))?;
    assert!(summary.is_hung && !summary.is_good());
    assert_eq!((summary.passed, summary.failed, summary.not_run), (0, 1, 1));
    assert!(
        written.contains("FAILED   a::good: did not end within"),
        "{written}"
    );
    let after = "not run  a::bad: a case before it did not end";
    assert!(written.contains(after), "{written}");
    Ok(())
}

fn without_a_stand() -> Result<(), Failed> {
    let make: MakeFixture = Arc::new(|| Err("no volume".to_owned()));
    let (summary, written) = ran(&[GOOD], &make, LONG)?;
    assert_eq!(summary.failed, 1);
    assert!(written.contains("no volume"), "{written}");
    Ok(())
}

/// One is settled, and one fails before it sees anything.
fn observed() -> Result<(), Failed> {
    const TRIALS: [Experiment; 2] = [
        Experiment {
            name: "a::settled",
            number: 9,
            run: |_| Ok(vec![Sight::of(true, "as\nassumed")]),
        },
        Experiment {
            name: "a::unequipped",
            number: 3,
            run: |_| Err(Failure::Unequipped("share to map")),
        },
    ];
    let plan: Vec<_> = TRIALS.iter().map(Planned::experiment).collect();
    let folder = tempfile::tempdir()?;
    let (summary, written) = ran_whole(&plan, &simulated(), LONG, Some(folder.path()))?;
    assert!(summary.is_good());
    let lines: Vec<_> = written.lines().collect();
    assert!(lines[0].starts_with("made     a::settled ("), "{written}");
    let settled = format!("seen: 9 | {MACHINE} | settled | as assumed");
    let impossible =
        format!("seen: 3 | {MACHINE} | not possible here | the fixture has no share to map");
    assert_eq!([lines[1], lines[3]], [&settled, &impossible]);
    let written = fs::read_to_string(folder.path().join("windows.txt"))?;
    assert_eq!(written, format!("{settled}\n{impossible}\n"));
    Ok(())
}

/// One answers, and one does not know the question.
fn inventory_of_disks() -> Result<(), Failed> {
    let fixture = Simulated::new()?;
    let [first, second] = [fixture.plug(1 << 30)?, fixture.plug(1 << 30)?];
    fixture.refuse("IOCTL_STORAGE_QUERY_PROPERTY", second, Win32::NOT_SUPPORTED);
    let lines = inventory::lines(&*fixture.os().disks)?;
    let of = |disk| {
        let begins = format!("disk {disk}: ");
        lines.iter().find(|line| line.starts_with(&begins))
    };
    let written = of(first).ok_or("not told")?;
    assert!(written.contains("no table; page 0x83: "), "{written}");
    assert!(
        written.ends_with(" bytes; offline: true, read-only: true, write-protected: false"),
        "{written}"
    );
    let refused = of(second).ok_or("not told")?;
    assert!(
        refused.contains("page 0x83: IOCTL_STORAGE_QUERY_PROPERTY"),
        "{refused}"
    );
    Ok(())
}
