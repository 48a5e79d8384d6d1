//! An experiment's observation on one machine, as a line of a record.

use std::fmt;
use std::str::FromStr;

use crate::experiments::experiment;

/// One experiment's observation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Observation {
    /// The experiment's number.
    pub experiment: u8,
    /// Its machine: build of Windows, maker and model.
    pub machine: String,
    /// The verdict on the assumption.
    pub verdict: Verdict,
    /// Windows's answer.
    pub seen: String,
}

/// An observation's verdict on its experiment's assumption.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Windows answered as our code assumes.
    Settled,
    /// Windows answered something else.
    Contradicted,
    /// The machine lacks a part that the experiment needs.
    NotPossible,
}

impl Verdict {
    const ALL: [Self; 3] = [Self::Settled, Self::Contradicted, Self::NotPossible];

    /// The word in a record.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Settled => "settled",
            Self::Contradicted => "contradicted",
            Self::NotPossible => "not possible here",
        }
    }
}

/// `5 | Windows 10.0.20348, Example Model | settled | SetAttributes returned 0`, on one line.
impl fmt::Display for Observation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, word) = (self.experiment, self.verdict.word());
        let [machine, seen] = [&self.machine, &self.seen].map(|text| one_line(text));
        write!(
            f,
            "{number} | {} | {word} | {seen}",
            machine.replace('|', "/")
        )
    }
}

/// A line without an observation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoObservation;

impl FromStr for Observation {
    type Err = NoObservation;

    fn from_str(line: &str) -> Result<Self, NoObservation> {
        let mut parts = line.splitn(4, " | ");
        let mut next = || parts.next().ok_or(NoObservation);
        let [number, machine, word, seen] = [next()?, next()?, next()?, next()?];
        let number = number
            .parse()
            .ok()
            .filter(|number| experiment(*number).is_some());
        let verdict = Verdict::ALL
            .into_iter()
            .find(|verdict| verdict.word() == word);
        Ok(Self {
            experiment: number.ok_or(NoObservation)?,
            machine: machine.to_owned(),
            verdict: verdict.ok_or(NoObservation)?,
            seen: seen.to_owned(),
        })
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observation() -> Observation {
        Observation {
            experiment: 5,
            machine: "Windows 10.0.20348, Example Model".to_owned(),
            verdict: Verdict::Contradicted,
            seen: "SetAttributes returned 41003 | then 0".to_owned(),
        }
    }

    #[test]
    fn an_observation_is_read_as_it_was_written() {
        for verdict in Verdict::ALL {
            let written = Observation {
                verdict,
                ..observation()
            };
            assert_eq!(written.to_string().parse(), Ok(written));
        }
    }

    #[test]
    fn an_observation_is_one_line_and_a_machine_has_no_bar() {
        let odd = Observation {
            machine: "a | b".to_owned(),
            seen: "two\r\nlines".to_owned(),
            ..observation()
        };
        assert_eq!(odd.to_string(), "5 | a / b | contradicted | two lines");
    }

    #[test]
    fn a_line_of_another_form_is_refused() {
        for line in [
            "",
            "5",
            "5 | machine | settled",
            "5 | machine | perhaps | seen",
            "0 | machine | settled | seen",
            "x | machine | settled | seen",
        ] {
            assert_eq!(line.parse::<Observation>(), Err(NoObservation), "{line}");
        }
    }
}
