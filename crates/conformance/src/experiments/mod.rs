//! Our code's unproved assumptions on Windows: cases that observe the answer and compare.
//!
//! An experiment does not fail: an answer other than the assumed one is its purpose, and is reported as `contradicted`.
//! One impossible on the machine is `not possible here`.

mod assumptions;
mod disks;
mod folders;
mod handles;
mod iscsi;
mod methods;
mod objects;
mod observation;
mod shares;
mod sizes;
mod storage;

use std::fmt;

use os::schema::Method;
use os::{Arguments, Deadline, Outcome, Provider, Returned, Target};

use crate::cases::TIMEOUT;
use crate::{CaseResult, Failure, NodeFixture};

pub use assumptions::{ASSUMPTIONS, Assumption};
pub use handles::{Counts, Load, churn};
pub use observation::{Observation, Verdict};

/// One experiment that runs by itself.
#[derive(Debug, Clone, Copy)]
pub struct Experiment {
    /// Its assumption's.
    pub number: u8,
    /// Without `experiments::`, with which it begins.
    pub name: &'static str,
    pub run: fn(&dyn NodeFixture) -> CaseResult<Vec<Sight>>,
}

/// An experiment's observation, and its verdict on the assumption.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sight {
    pub verdict: Verdict,
    /// The system's answer.
    pub seen: String,
}

impl Sight {
    /// A possible one: settled when the system answered as assumed, contradicted otherwise.
    #[must_use]
    pub fn of(is_as_assumed: bool, seen: impl fmt::Display) -> Self {
        let verdict = match is_as_assumed {
            true => Verdict::Settled,
            false => Verdict::Contradicted,
        };
        Self {
            verdict,
            seen: seen.to_string(),
        }
    }

    /// Adds another observation of the same experiment.
    pub fn add(&mut self, is_as_assumed: bool, seen: impl fmt::Display) {
        if !is_as_assumed {
            self.verdict = Verdict::Contradicted;
        }
        self.seen += &format!("; {seen}");
    }

    /// As a line of the record has it.
    #[must_use]
    pub fn observed(self, experiment: u8, machine: &str) -> Observation {
        Observation {
            experiment,
            machine: machine.to_owned(),
            verdict: self.verdict,
            seen: self.seen,
        }
    }

    /// The machine lacks a part that it needs.
    #[must_use]
    pub fn not_possible(why: impl fmt::Display) -> Self {
        Self {
            verdict: Verdict::NotPossible,
            seen: why.to_string(),
        }
    }

    /// Whether it shows anything.
    #[must_use]
    pub fn is_possible(&self) -> bool {
        self.verdict != Verdict::NotPossible
    }
}

type Sights = CaseResult<Vec<Sight>>;

/// Those that a program makes by itself: by number, except the last, which stops a service.
pub fn all() -> impl Iterator<Item = Experiment> {
    let of = |is_last: bool| {
        let all = ASSUMPTIONS.iter().filter_map(|one| one.experiment);
        all.filter(move |one| (one.number == LOST_SHARE) == is_last)
    };
    of(false).chain(of(true))
}

const LOST_SHARE: u8 = 3;

/// A provider method's answer.
struct Answer(os::Result<Outcome>);

impl Answer {
    fn of(
        fixture: &dyn NodeFixture,
        provider: &dyn Provider,
        target: Target<'_>,
        method: &Method,
        arguments: &Arguments,
    ) -> Self {
        Self(provider.invoke(target, method.name, arguments, deadline(fixture)))
    }

    fn code(&self) -> Option<u32> {
        match self.0.as_ref().ok()?.code {
            Returned::Code(code) => Some(code),
            Returned::Null => None,
        }
    }

    fn is_success(&self) -> bool {
        self.code() == Some(0)
    }

    /// The method did it, or the experiment ends.
    fn required(self) -> CaseResult {
        match self.is_success() {
            true => Ok(()),
            false => Err(Failure::Wrong(self.to_string())),
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Ok(outcome) => match &outcome.extended {
                Some(system_text) => write!(f, "returned {} ({system_text})", outcome.code),
                None => write!(f, "returned {}", outcome.code),
            },
            Err(error) => write!(f, "the call failed: {:?}: {error}", error.cause),
        }
    }
}

/// A failed call of the kernel with its number, or the success.
fn outcome_text<T>(done: &os::Result<T>) -> String {
    match done {
        Ok(_) => "success".to_owned(),
        Err(error) => match error.win32() {
            Some(code) => format!("{} ({error})", code.0),
            None => error.to_string(),
        },
    }
}

fn deadline(fixture: &dyn NodeFixture) -> Deadline {
    Deadline::within(&*fixture.os().clock, TIMEOUT)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::Verdict::{Contradicted, Settled};
    use super::{ASSUMPTIONS, Observation};

    macro_rules! scripts {
        ($($name:literal,)*) => {
            [$(($name, include_str!(concat!("../../scripts/", $name))),)*]
        };
    }

    /// The observing files; they share `observe.ps1`, and `run.ps1` runs some of them.
    const SCRIPTS: [(&str, &str); 8] = scripts![
        "container-pipe.yaml",
        "disks.ps1",
        "host-process-pod.yaml",
        "page-files.ps1",
        "return-values.ps1",
        "smb-away.ps1",
        "smb-class.ps1",
        "stale-size.ps1",
    ];

    /// The experiments observed by a file, or by its program as it says.
    fn numbers(text: &str) -> BTreeSet<u8> {
        let behind = |words: &str| {
            let parts = text.split(words).skip(1);
            let digits = parts.map(|part| part.split(|one: char| !one.is_ascii_digit()));
            let first = digits.filter_map(|mut digits| digits.next()?.parse().ok());
            first.collect::<Vec<u8>>()
        };
        let all = ["Write-Seen ", "# Experiment: "].map(behind);
        all.into_iter().flatten().collect()
    }

    /// The writers of observations by PowerShell. All other scripts call the first.
    const WRITERS: [(&str, &str); 2] = scripts!["observe.ps1", "container-pipe.yaml",];

    #[test]
    fn a_line_that_powershell_writes_is_an_observation() {
        for (name, text) in WRITERS {
            let written = text.split('"').find(|one| one.starts_with("seen: "));
            let written = written.unwrap_or_else(|| panic!("{name} writes none"));
            let parts: Vec<_> = written.splitn(4, " | ").collect();
            let [_, machine, verdict, seen] = parts[..] else {
                panic!("{name}: {written}");
            };
            assert_eq!(verdict.to_lowercase(), "$verdict", "{name}");
            for (verdict, word) in [(Settled, "settled"), (Contradicted, "contradicted")] {
                assert!(text.contains(&format!("'{word}'")), "{name}");
                let ours = Observation {
                    experiment: 20,
                    machine: machine.to_owned(),
                    verdict,
                    seen: seen.to_owned(),
                };
                let line = written.replace("$Experiment", "20");
                let line = line.replace(parts[2], word);
                assert_eq!(line, ours.to_string(), "{name}");
            }
        }
    }

    #[test]
    fn a_script_observes_what_the_table_says_of_it() {
        for (name, text) in SCRIPTS {
            let wanted = ASSUMPTIONS.iter().filter(|one| one.scripts.contains(&name));
            let wanted: BTreeSet<_> = wanted.map(|one| one.number).collect();
            assert_eq!(numbers(text), wanted, "{name}");
        }
        let named = ASSUMPTIONS.iter().flat_map(|one| one.scripts);
        for name in named {
            assert!(SCRIPTS.iter().any(|(known, _)| known == name), "{name}");
        }
    }
}
