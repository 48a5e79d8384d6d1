//! What a look found, as a person, a program and another process read it.

use std::fmt;

use program::escape::one_line;
use program::hidden;
use serde::de::Error as _;
use serde::{Deserialize, Serialize};

/// The version of the report in JSON. A field is added without a new one.
const VERSION: u32 = 1;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Volumes work, and something may keep them from it later.
    Warning,
    /// A volume or a call fails, or will at its next use. A severity that this program does not know is read so.
    #[serde(other)]
    Error,
}

/// Who looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// The driver that runs.
    Driver,
    /// The command itself, as no driver answered.
    Command,
}

/// What one check found.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Finding {
    pub check: String,
    pub severity: Severity,
    /// A server, a target, a volume or a part of Windows; empty if it is the whole node.
    pub object: String,
    pub text: String,
    pub advice: String,
    /// The page and its section.
    pub page: String,
}

/// What a check could not look at.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Unseen {
    pub check: String,
    pub reason: String,
    /// Whether the host has no such view at all.
    pub is_lasting: bool,
}

/// What a look found.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Report {
    version: u32,
    pub way: Way,
    /// How many checks there are.
    pub checks: usize,
    pub findings: Vec<Finding>,
    pub unseen: Vec<Unseen>,
}

impl Severity {
    pub fn name(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl Report {
    pub(super) fn new(
        way: Way,
        checks: usize,
        findings: Vec<Finding>,
        unseen: Vec<Unseen>,
    ) -> Self {
        let report = Self {
            version: VERSION,
            way,
            checks,
            findings,
            unseen,
        };
        report.shown()
    }

    /// Reads what [`Self::to_json`] wrote, perhaps by a later program with more fields.
    pub(super) fn read(text: &str) -> serde_json::Result<Self> {
        let report: Self = serde_json::from_str(text)?;
        match report.version {
            VERSION => Ok(report.shown()),
            other => {
                let text = format!("it has version {other}, and this program reads {VERSION}");
                Err(serde_json::Error::custom(text))
            }
        }
    }

    /// Without the names that no text shows, and without what would lead a terminal: the report may be anyone's.
    fn shown(mut self) -> Self {
        let findings = self.findings.iter_mut();
        let findings = findings.flat_map(|one| {
            let Finding {
                check,
                object,
                text,
                advice,
                page,
                ..
            } = one;
            [check, object, text, advice, page]
        });
        let unseen = self.unseen.iter_mut();
        let unseen = unseen.flat_map(|one| [&mut one.check, &mut one.reason]);
        for text in findings.chain(unseen) {
            *text = one_line(&hidden::shown(text));
        }
        self
    }

    /// 0: nothing found; 1: warnings; 3: errors; 4: nothing found, and not all could be looked at.
    pub fn exit_code(&self) -> u8 {
        let worst = self.findings.iter().map(|finding| finding.severity).max();
        match worst {
            Some(Severity::Error) => 3,
            Some(Severity::Warning) => 1,
            None if self.unseen.iter().any(|unseen| !unseen.is_lasting) => 4,
            None => 0,
        }
    }

    /// The report as JSON, of one line.
    pub fn to_json(&self) -> String {
        // Strings and numbers have JSON.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Who looked, and a line for each finding and for each that could not be looked at.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let who = match self.way {
            Way::Driver => "the running driver",
            Way::Command => "this command, as no driver answered,",
        };
        write!(f, "{who} looked: {} checks", self.checks)?;
        if self.findings.is_empty() {
            f.write_str("\nnothing known")?;
        }
        for finding in &self.findings {
            let (severity, check) = (finding.severity.name(), &finding.check);
            write!(f, "\n{severity} {check}: {}. ", finding.text)?;
            write!(f, "Do: {}. See {}", finding.advice, finding.page)?;
        }
        for unseen in &self.unseen {
            write!(f, "\nnot seen {}: {}", unseen.check, unseen.reason)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(severities: &[Severity], doubts: &[bool]) -> Report {
        let finding = |severity: &Severity| Finding {
            check: String::from("c"),
            severity: *severity,
            object: String::new(),
            text: String::from("it is so"),
            advice: String::from("mend it"),
            page: String::from("p"),
        };
        let unseen = |is_lasting: &bool| Unseen {
            check: String::from("u"),
            reason: String::from("why"),
            is_lasting: *is_lasting,
        };
        let findings = severities.iter().map(finding).collect();
        Report::new(
            Way::Driver,
            2,
            findings,
            doubts.iter().map(unseen).collect(),
        )
    }

    #[test]
    fn the_exit_code_is_of_the_gravest() {
        use Severity::{Error, Warning};
        for (severities, doubts, code) in [
            (&[][..], &[][..], 0),
            (&[], &[true], 0),
            (&[], &[true, false], 4),
            (&[Warning], &[false], 1),
            (&[Warning, Error, Warning], &[false], 3),
        ] {
            let report = report(severities, doubts);
            assert_eq!(report.exit_code(), code, "{report}");
        }
    }

    #[test]
    fn a_report_reads_as_it_was_written() {
        let written = report(&[Severity::Warning, Severity::Error], &[true]);
        assert_eq!(Report::read(&written.to_json()).unwrap(), written);
        // A later program's.
        let later = written.to_json().replace("\"warning\"", "\"fatal\"");
        let later = later.replacen('{', "{\"more\":[1],", 1);
        assert_eq!(Report::read(&later).unwrap().exit_code(), 3);
        assert!(Report::read("").is_err());
    }
}
