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
#[derive(Clone, Copy)]
pub struct Trial {
    /// Its name: `experiments::` and its assumption's `case`.
    pub name: &'static str,
    pub number: u8,
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

    /// The machine lacks a part that it needs.
    #[must_use]
    pub fn not_possible(why: impl fmt::Display) -> Self {
        Self {
            verdict: Verdict::NotPossible,
            seen: why.to_string(),
        }
    }
}

type Sights = CaseResult<Vec<Sight>>;

/// All of them, by number, except one that stops a service: nothing is tried after a hung one.
pub fn all() -> impl Iterator<Item = &'static Trial> {
    ALL.iter()
}

/// Declares the experiments: each is a function of the table's name.
macro_rules! declare {
    ($($number:literal $module:ident::$case:ident,)*) => {
        const ALL: &[Trial] = &[
            $(Trial {
                name: concat!("experiments::", stringify!($case)),
                number: $number,
                run: $module::$case,
            },)*
        ];
    };
}

declare! {
    1 disks::raw_layout,
    2 disks::page_files,
    4 folders::calls_by_handle,
    5 methods::read_only_offline,
    6 methods::return_values,
    7 methods::offline_under_lock,
    8 sizes::refs_sizes,
    9 folders::vanished_volume,
    10 disks::disk_paths,
    11 sizes::stale_size,
    12 methods::format_at_once,
    13 shares::map_twice,
    14 shares::mapping_keys,
    15 shares::refused_mappings,
    16 methods::refused_methods,
    17 iscsi::refused_portal,
    18 disks::disk_identity,
    19 folders::mounted_folder,
    21 objects::all_properties,
    35 folders::file_link,
    36 folders::held_mounted_folder,
    37 methods::online_read_only,
    44 methods::write_protection,
    3 shares::lost_share,
}

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
    use super::{ASSUMPTIONS, Observation, Trial, all};

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
    fn the_cases_are_those_of_the_table() {
        let name = |trial: &Trial| trial.name.strip_prefix("experiments::");
        let made: BTreeSet<_> = all().map(|trial| (trial.number, name(trial))).collect();
        let wanted = ASSUMPTIONS.iter().filter(|one| one.case.is_some());
        let wanted: BTreeSet<_> = wanted.map(|one| (one.number, one.case)).collect();
        assert_eq!(all().count(), made.len());
        assert_eq!(made, wanted);
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
